//! The servers of a run: one, or several with their weights, from `-s a,b=3` or from a file.

use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;

use dnsdyno_text::encoding::decoded;

use crate::draft::Draft;
use crate::error::PlanError;
use crate::target::{Resolve, Target, Wanted, target_is_harmless};
use crate::values::{absolute, weight};

/// One of the servers of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Server {
    pub(crate) target: Target,
    /// Its weight against those of the others; above 0.
    pub(crate) weight: f64,
}

/// What looks up servers, and whether they may be loaded.
pub(crate) struct Lookup<'a> {
    pub(crate) resolve: Resolve<'a>,
    pub(crate) working_dir: &'a Path,
    /// The address to send from.
    pub(crate) local_address: Option<IpAddr>,
}

impl Lookup<'_> {
    /// The servers of a draft with their addresses, and what the draft then says: names, ports and weights. Empty where
    /// the draft names none.
    pub(crate) fn servers(&self, draft: &mut Draft, usual_port: u16) -> Result<Vec<Server>, PlanError> {
        let asked = asked(draft, self.working_dir)?;
        let mut servers: Vec<Server> = Vec::with_capacity(asked.len());
        for (server, weight) in asked {
            let target = self.find(draft, &server, draft.port, usual_port)?;
            if let Some(other) = servers.iter().find(|other| other.target.address == target.address) {
                let names = [other.target.asked.clone(), target.asked];
                return Err(PlanError::SameServer { names, address: target.address });
            }
            servers.push(Server { target, weight });
        }
        match &servers[..] {
            [] => {}
            [only] => {
                draft.server = Some(only.target.asked.clone());
                draft.port = Some(only.target.address.port());
            }
            several => {
                draft.server = Some(several.iter().map(Server::text).collect::<Vec<_>>().join(","));
                draft.port = None;
            }
        }
        draft.servers = None;
        Ok(servers)
    }

    /// One server, which the user may load.
    pub(crate) fn find(
        &self,
        draft: &mut Draft,
        server: &str,
        port: Option<u16>,
        usual_port: u16,
    ) -> Result<Target, PlanError> {
        let family = *draft.family.get_or_insert_default();
        let local_address = self.local_address;
        let target = Wanted { server, port, usual_port, family, local_address }.find(self.resolve)?;
        let address = target.address.ip();
        if draft.i_may_load_this_server != Some(true) && !target_is_harmless(address) {
            return Err(PlanError::MayNotLoad { address });
        }
        Ok(target)
    }
}

impl Server {
    /// As `-s` reads it: with its port, and with a weight other than 1.
    fn text(&self) -> String {
        let server = self.target.with_port();
        if self.weight == 1.0 { server } else { format!("{server}={}", self.weight) }
    }
}

/// The names of servers for a reader: without ports where they differ without.
pub(crate) fn names(servers: &[Server]) -> Vec<String> {
    let is_alone = |name: &str| servers.iter().filter(|other| other.target.asked == name).count() == 1;
    let name = |server: &Server| match is_alone(&server.target.asked) {
        true => server.target.asked.clone(),
        false => server.target.with_port(),
    };
    servers.iter().map(name).collect()
}

/// The servers as the user wrote them, with their weights.
fn asked(draft: &mut Draft, working_dir: &Path) -> Result<Vec<(String, f64)>, PlanError> {
    if let Some(path) = &mut draft.servers {
        let path = absolute(path, working_dir);
        let bad = |reason: String| PlanError::BadServers { path: path.clone(), reason };
        return in_text(&read(&path).map_err(bad)?).map_err(bad);
    }
    let item = |item: &str| match with_weight(item) {
        None => Ok((item.trim().to_owned(), 1.0)),
        Some((server, text)) => {
            let bad = |reason| PlanError::BadServer { text: item.trim().to_owned(), advice: reason };
            Ok((server.trim().to_owned(), weight(text).map_err(bad)?))
        }
    };
    draft.server.iter().flat_map(|text| text.split(',')).map(item).collect()
}

/// A server and its weight: `A=3`. In a URL, which is no server and is refused as one, it would be a part of its query.
fn with_weight(item: &str) -> Option<(&str, &str)> {
    item.split_once('=').filter(|(server, _)| !server.contains("://"))
}

/// A server on each line, and its weight where it has one, behind a blank or, as on the command line, `=`; `#` starts a
/// comment.
fn in_text(text: &str) -> Result<Vec<(String, f64)>, String> {
    let mut servers = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(server) = words.next() else { continue };
        let (server, behind_sign) = with_weight(server).map_or((server, None), |(s, w)| (s, Some(w)));
        let wrong =
            |reason: &str| format!("line {number}: {reason}: write `ADDRESS WEIGHT`, such as `192.0.2.1 2`");
        let weight = match (behind_sign, words.next()) {
            (Some(_), Some(_)) => return Err(wrong("it has more than a server and its weight")),
            (Some(text), None) | (None, Some(text)) => weight(text).map_err(|reason| wrong(&reason))?,
            (None, None) => 1.0,
        };
        if words.next().is_some() {
            return Err(wrong("it has more than a server and its weight"));
        }
        if server.contains(',') {
            return Err(wrong("one line has one server"));
        }
        servers.push((server.to_owned(), weight));
    }
    if servers.is_empty() {
        return Err("it has no server: write one on each line".to_owned());
    }
    Ok(servers)
}

fn read(path: &Path) -> Result<String, String> {
    let mut octets = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut octets));
    match read {
        Err(error) => Err(error.to_string()),
        Ok(_) if octets.len() as u64 > MAX_BYTES => Err("it is larger than 64 KiB".to_owned()),
        Ok(_) => decoded(octets).map_err(|error| error.to_string()),
    }
}

/// Far more than the servers that a run may have.
const MAX_BYTES: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(text: &str) -> Result<(Vec<Server>, Draft), PlanError> {
        let mut draft = Draft::from_toml(text).expect("a plan file");
        let resolve: Resolve<'_> = &|_, port| Ok(vec![([127, 0, 0, 9], port).into()]);
        let lookup = Lookup { resolve, working_dir: Path::new("/"), local_address: None };
        lookup.servers(&mut draft, 53).map(|servers| (servers, draft))
    }

    fn found(text: &str) -> Vec<(String, f64)> {
        let (servers, _) = lookup(text).expect(text);
        servers.iter().map(|server| (server.target.address.to_string(), server.weight)).collect()
    }

    #[test]
    fn servers_are_separated_by_commas_and_may_have_weights_and_ports() {
        let two = found("server = \"192.0.2.1=3, [::1]:5300\"");
        assert_eq!(two, [("192.0.2.1:53".to_owned(), 3.0), ("[::1]:5300".to_owned(), 1.0)]);
        let two = found("server = \"192.0.2.1,192.0.2.2\"\nport = 99");
        assert_eq!(two, [("192.0.2.1:99".to_owned(), 1.0), ("192.0.2.2:99".to_owned(), 1.0)]);
        assert_eq!(found(""), []);
    }

    #[test]
    fn the_draft_then_has_each_server_with_its_port_and_gives_the_same_servers() {
        let (servers, draft) = lookup("server = \"name=2,::1,192.0.2.1:7\"\nport = 7").expect("servers");
        assert_eq!((draft.server.as_deref(), draft.port), (Some("name:7=2,[::1]:7,192.0.2.1:7"), None));
        assert_eq!(lookup(&draft.to_toml().expect("a plan file")).expect("servers").0, servers);
        let (_, one) = lookup("server = \"192.0.2.1:7\"").expect("a server");
        assert_eq!((one.server.as_deref(), one.port), (Some("192.0.2.1"), Some(7)));
    }

    #[test]
    fn a_file_has_a_server_on_each_line() {
        let text = "# ours\n192.0.2.1 3\n\n  192.0.2.2@5300   # the new one\n";
        assert_eq!(
            in_text(text),
            Ok(vec![("192.0.2.1".to_owned(), 3.0), ("192.0.2.2@5300".to_owned(), 1.0)])
        );
        for (text, words) in [
            ("", "no server"),
            ("a\nb x", "line 2: `x` is not a weight"),
            ("a 1 2", "line 1: it has more"),
            ("a=1 2", "write `ADDRESS WEIGHT`"),
            ("a=", "write `ADDRESS WEIGHT`"),
            ("a,b", "line 1: one line has one server"),
            ("a 0", "not a weight above 0"),
        ] {
            let error = in_text(text).expect_err(text);
            assert!(error.contains(words), "{error}");
        }
        // The file of a user who wrote it as on the command line.
        let as_with_s = include_str!("../tests/cases/18-servers-with-weight.txt");
        assert_eq!(in_text(as_with_s), Ok(vec![("127.0.0.1:5380".to_owned(), 2.0)]));
        let error = lookup("servers = \"/none\"").expect_err("no file").to_string();
        assert!(error.contains("/none") && error.contains("--servers"), "{error}");
    }

    #[test]
    fn a_file_may_begin_with_a_byte_order_mark() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = folder.path().join("servers.txt");
        std::fs::write(&path, "\u{feff}192.0.2.1 2\n").expect("a file for the test");
        assert_eq!(read(&path).and_then(|text| in_text(&text)), Ok(vec![("192.0.2.1".to_owned(), 2.0)]));
        std::fs::write(&path, b"1\x009\x002\0").expect("a file for the test");
        assert!(read(&path).is_err_and(|reason| reason.contains("UTF-16")));
    }

    #[test]
    fn a_server_that_is_there_twice_and_one_that_is_none_are_refused() {
        let error = |server: &str| lookup(&format!("server = \"{server}\"")).expect_err(server).to_string();
        let twice = error("name,127.0.0.9");
        assert!(twice.contains("`name` and `127.0.0.9`") && twice.contains("127.0.0.9:53"), "{twice}");
        assert!(error("192.0.2.1=0").contains("not a weight above 0"));
        assert!(error("192.0.2.1,").contains("`` is not a server"));
        assert!(error("192.0.2.1,192.0.2.1").contains("twice"));
    }

    #[test]
    fn each_server_is_asked_for_its_permission() {
        let error = |server: &str| lookup(&format!("server = \"{server}\""));
        let public = PlanError::MayNotLoad { address: [192, 0, 3, 1].into() };
        assert_eq!(error("127.0.0.1,192.0.3.1").err(), Some(public));
    }

    #[test]
    fn a_name_has_its_port_only_where_it_is_there_twice() {
        let (servers, _) = lookup("server = \"::1@1,::1@2,192.0.2.1@3\"").expect("servers");
        assert_eq!(names(&servers), ["[::1]:1", "[::1]:2", "192.0.2.1"]);
    }
}
