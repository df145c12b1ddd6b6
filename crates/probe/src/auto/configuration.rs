//! Where a server of this host has its statistics, by its command line and its configuration.

use std::net::IpAddr;
use std::path::PathBuf;

use dnsdyno_plan::{At, ServerWatch};
use dnsdyno_servers::{Configuration, STATISTICS, Server, StatisticsKind, server_of};

use crate::command::Command;
use crate::written::{Form, after, in_section, words};

/// A server that was found.
pub(super) struct Process {
    pub(super) command: Command,
    /// The address at which it is asked.
    pub(super) target: IpAddr,
    /// It is in another network namespace.
    pub(super) is_elsewhere: bool,
}

/// Whether a server offers its statistics.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Statistics {
    /// They can be asked for.
    At(ServerWatch),
    /// They cannot; what to do, after "for its statistics".
    Missing(String),
}

/// Where a server of this software has its statistics.
pub(super) fn statistics_of(software: &str, process: &Process) -> Statistics {
    let server = server_of(software);
    let Some((server, configuration)) =
        server.and_then(|server| Some((server, server.configuration.as_ref()?)))
    else {
        // Its own way, where it has one: openmetrics is for programs that have none.
        let kind = STATISTICS.iter().find(|row| row.server == Some(software)).map(|row| row.kind);
        let row = kind.unwrap_or(StatisticsKind::OpenMetrics).row();
        return Statistics::Missing(format!("name them: --watch {}=…, {}", row.word, row.values));
    };
    let text = match text_of(configuration, process) {
        Ok(text) => text,
        Err(why) => return Statistics::Missing(why),
    };
    let place = text.and_then(|text| finder(server)(&Found { process, words: &words(&text), text: &text }));
    match place {
        Some((at, keys)) if process.can_reach(&at) => {
            Statistics::At(ServerWatch { kind: configuration.statistics, at, keys, rndc: None })
        }
        Some((at, _)) => Statistics::Missing(format!(
            "let it offer them at {} instead of {}, which cannot be reached from here",
            process.target, at
        )),
        None => {
            Statistics::Missing(format!("add to its configuration: {}", configuration.to_have_statistics))
        }
    }
}

/// Where statistics are, and the keys to ask for them.
type Place = (At, Option<PathBuf>);

/// The statistics in a configuration: where, and the keys.
type Finder = fn(&Found<'_>) -> Option<Place>;

fn finder(server: &Server) -> Finder {
    match server.word {
        "bind" => bind,
        "unbound" => |found| remote_control(found, StatisticsKind::Unbound),
        "nsd" => |found| remote_control(found, StatisticsKind::Nsd),
        "knot" => knot,
        "knot-resolver" => knot_resolver,
        "pdns" => |found| powerdns(found, "pdns.controlsocket"),
        "pdns-recursor" => |found| powerdns(found, "pdns_recursor.controlsocket"),
        "coredns" => coredns,
        _ => |_| None,
    }
}

/// The configuration of a process, as far as it can be read; `None` where there is none.
fn text_of(configuration: &Configuration, process: &Process) -> Result<Option<String>, String> {
    let (command, form) = (&process.command, Form::of(configuration));
    let read = |path: &str| {
        let placed = command.configuration(path, &form)?;
        Ok(command.read(&placed, &form).map(|whole| whole.text))
    };
    let named = command.option(configuration.option).map(|path| match configuration.file_in_folder {
        Some(file) => format!("{path}/{file}"),
        None => path.to_owned(),
    });
    match named {
        // Another one is not its configuration.
        Some(path) => read(&path),
        None => Ok(configuration.usual.iter().find_map(|path| read(path).ok().flatten())),
    }
}

/// A configuration, and its words.
struct Found<'a> {
    process: &'a Process,
    text: &'a str,
    words: &'a [String],
}

impl Found<'_> {
    /// The word after this one.
    fn after(&self, name: &str) -> Option<&str> {
        after(self.words, name)
    }

    /// A path of the server, as it is seen from here.
    fn path(&self, path: &str) -> PathBuf {
        self.process.command.file(path)
    }

    /// An address to ask at: every address of a server stands for that at which it is asked.
    fn host(&self, address: &str) -> String {
        let target = self.process.target;
        match address.parse::<IpAddr>() {
            Ok(ip) if !ip.is_unspecified() => in_url(ip),
            _ if address == "*" || address.is_empty() || address.parse::<IpAddr>().is_ok() => in_url(target),
            _ => address.to_owned(),
        }
    }
}

impl Process {
    /// Whether statistics there can be asked for from this network namespace.
    fn can_reach(&self, at: &At) -> bool {
        match at {
            At::Path(path) => path.exists(),
            At::Url(_) | At::Address(_) => {
                let text = at.to_string();
                let is_loopback = ["127.", "[::1]", "localhost"]
                    .iter()
                    .any(|own| text.trim_start_matches("http://").starts_with(own));
                !(self.is_elsewhere && is_loopback)
            }
        }
    }
}

/// `statistics-channels { inet 127.0.0.1 port 8053 allow { any; }; };`
fn bind(found: &Found<'_>) -> Option<Place> {
    let begin = found.words.iter().position(|word| word == "statistics-channels")?;
    let channel = &found.words[begin..];
    let (address, port) = (after(channel, "inet")?, after(channel, "port").unwrap_or("80"));
    Some((At::Url(format!("http://{}:{port}/", found.host(address)).into()), None))
}

/// `net.listen('/run/control', nil, { kind = 'control' })` in the program of Knot Resolver.
fn knot_resolver(found: &Found<'_>) -> Option<Place> {
    let lines = found.text.lines().map(str::trim).filter(|line| !line.starts_with("--"));
    let line =
        lines.into_iter().find(|line| line.starts_with("net.listen(") && line.contains("'control'"))?;
    let path = line.split('\'').find(|part| part.starts_with('/'))?;
    Some((At::Path(found.path(path)), None))
}

/// `remote-control:` of Unbound and NSD.
fn remote_control(found: &Found<'_>, kind: StatisticsKind) -> Option<Place> {
    found.after("control-enable").filter(|enabled| *enabled == "yes")?;
    let interface = found.after("control-interface").unwrap_or("127.0.0.1");
    if interface.contains('/') {
        return Some((At::Path(found.path(interface)), None));
    }
    let usual_port = kind.row().usual_port.map(|port| port.to_string()).unwrap_or_default();
    let (address, port) = interface.split_once('@').unwrap_or((interface, &usual_port));
    let port = found.after("control-port").unwrap_or(port);
    let keys = found.after("control-key-file").and_then(|file| Some(found.path(file).parent()?.to_owned()));
    Some((At::Address(format!("{}:{port}", found.host(address))), keys))
}

/// The control socket of Knot DNS is always there: at the path of its command line, or at that of `listen` in
/// `control`, which is from its `rundir`.
fn knot(found: &Found<'_>) -> Option<Place> {
    if let Some(socket) = found.process.command.option("-s") {
        return Some((At::Path(found.path(socket)), None));
    }
    let rundir = in_section(found.text, "server", "rundir").unwrap_or_else(|| "/run/knot".to_owned());
    let socket = in_section(found.text, "control", "listen").unwrap_or_else(|| "knot.sock".to_owned());
    let path = if socket.starts_with('/') { socket } else { format!("{rundir}/{socket}") };
    Some((At::Path(found.path(&path)), None))
}

/// The control socket of PowerDNS, in its `socket-dir`, which may be on the command line.
fn powerdns(found: &Found<'_>, file: &str) -> Option<Place> {
    let folder = found.process.command.option("--socket-dir").or_else(|| found.after("socket-dir"));
    let usual = if file.contains("recursor") { "/run/pdns-recursor" } else { "/run/pdns" };
    Some((At::Path(found.path(&format!("{}/{file}", folder.unwrap_or(usual)))), None))
}

/// `prometheus [ADDRESS:PORT]` of a Corefile.
fn coredns(found: &Found<'_>) -> Option<Place> {
    found.words.iter().find(|word| *word == "prometheus")?;
    let at = found.after("prometheus").unwrap_or_default();
    let (address, port) =
        at.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).unwrap_or(("localhost", "9153"));
    Some((At::Url(format!("http://{}:{port}/metrics", found.host(address)).into()), None))
}

fn in_url(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(arguments: &[&str]) -> Process {
        let command = Command::told(std::process::id(), arguments);
        Process { command, target: "10.77.0.2".parse().unwrap(), is_elsewhere: true }
    }

    fn found(software: &str, text: &str, arguments: &[&str]) -> Option<Place> {
        let process = process(arguments);
        finder(server_of(software).unwrap())(&Found { process: &process, text, words: &words(text) })
    }

    #[test]
    fn the_statistics_of_each_software_are_found_in_its_configuration() {
        let url = |text: &str| Some((At::Url(text.into()), None));
        let path = |text: &str| Some((At::Path(text.into()), None));
        let channel =
            "// inet 9.9.9.9 port 1;\nstatistics-channels {\n  inet * port 8053 allow { any; }; # x\n};";
        assert_eq!(found("bind", channel, &[]), url("http://10.77.0.2:8053/"));
        assert_eq!(found("bind", "options { /* statistics-channels */ };", &[]), None);
        let control = "remote-control:\n  control-enable: yes\n  control-interface: \"/run/nsd/nsd.ctl\"\n";
        assert_eq!(found("nsd", control, &[]), path("/run/nsd/nsd.ctl"));
        let control = "remote-control:\n control-enable: yes\n control-port: 99\n control-key-file: \
          /etc/u/unbound_control.key\n";
        let expected = Some((At::Address("127.0.0.1:99".to_owned()), Some("/etc/u".into())));
        assert_eq!(found("unbound", control, &[]), expected);
        assert_eq!(found("unbound", "control-enable: no", &[]), None);
        let control = "server:\n  rundir: \"/tmp/k\"\n  listen: 127.0.0.1@53\n";
        assert_eq!(found("knot", control, &[]), path("/tmp/k/knot.sock"));
        assert_eq!(found("knot", control, &["knotd", "-s", "/x/y.sock"]), path("/x/y.sock"));
        // `listen` of the server is where it is asked for names.
        let named = |listen: &str| format!("{control}control:\n  timeout: 5\n  listen: \"{listen}\"\n");
        assert_eq!(found("knot", &named("ctl"), &[]), path("/tmp/k/ctl"));
        assert_eq!(found("knot", &named("/x/ctl"), &[]), path("/x/ctl"));
        let control = "-- net.listen('/x/old', nil, { kind = 'control' })\n\
          net.listen('127.0.0.1', 53, { kind = 'dns' })\n\
          net.listen('/run/k/control', nil, { kind = 'control' })\n";
        assert_eq!(found("knot-resolver", control, &[]), path("/run/k/control"));
        assert_eq!(found("knot-resolver", "net.listen('::1', 53, { kind = 'dns' })", &[]), None);
        assert_eq!(found("pdns", "socket-dir=/tmp/p\n", &[]), path("/tmp/p/pdns.controlsocket"));
        let arguments = ["pdns_server", "--socket-dir=/tmp/q"];
        assert_eq!(found("pdns", "", &arguments), path("/tmp/q/pdns.controlsocket"));
        assert_eq!(
            found("coredns", ".:53 {\n  prometheus :9253\n}", &[]),
            url("http://10.77.0.2:9253/metrics")
        );
        assert_eq!(found("coredns", ".:53 {\n  prometheus\n}", &[]), url("http://localhost:9153/metrics"));
    }

    #[test]
    fn what_cannot_be_reached_from_here_is_said_with_what_to_do() {
        let process = process(&[]);
        assert!(!process.can_reach(&At::Url("http://127.0.0.1:8053/".into())));
        assert!(process.can_reach(&At::Url("http://10.77.0.2:8053/".into())));
        assert!(!process.can_reach(&At::Path("/none/knot.sock".into())));
        let missing = |software| match statistics_of(software, &process) {
            Statistics::Missing(how) => how,
            Statistics::At(_) => panic!("found"),
        };
        assert!(missing("hickory").starts_with("name them: --watch openmetrics=…, a URL"));
        assert!(
            missing("dnsdist").starts_with("name them: --watch dnsdist=…, a URL"),
            "it has a way of its own"
        );
    }
}
