//! Where a server of this host has its statistics, by its command line and its configuration.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use dnsdyno_plan::{At, ServerKind, ServerWatch};

/// A server that was found.
pub(super) struct Process {
    pub(super) pid: u32,
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
    let Some(kind) = KINDS.iter().find(|kind| kind.software == software) else {
        return Statistics::Missing(format!("name them: --watch {}=URL", ServerKind::OpenMetrics.word()));
    };
    let arguments = arguments_of(process.pid);
    let named = option(&arguments, kind.option).map(|path| match kind.file_in_folder {
        Some(file) => format!("{path}/{file}"),
        None => path.to_owned(),
    });
    let candidates = named.into_iter().chain(kind.usual.iter().map(|path| (*path).to_owned()));
    let text = candidates.map(|path| process.file(&path)).find_map(|path| fs::read_to_string(path).ok());
    let place =
        text.and_then(|text| (kind.find)(&Found { process, arguments: &arguments, words: &words(&text) }));
    match place {
        Some((at, keys)) if process.can_reach(&at) => {
            Statistics::At(ServerWatch { kind: kind.kind, at, keys })
        }
        Some((at, _)) => Statistics::Missing(format!(
            "let it offer them at {} instead of {}, which cannot be reached from here",
            process.target,
            match at {
                At::Url(text) | At::Address(text) => text,
                At::Path(path) => path.display().to_string(),
            }
        )),
        None => Statistics::Missing(format!("add to its configuration: {}", kind.add)),
    }
}

/// Where statistics are, and the keys to ask for them.
type Place = (At, Option<PathBuf>);

/// How statistics of one software are found.
struct Kind {
    /// As in [`dnsdyno_measure::SOFTWARE`].
    software: &'static str,
    kind: ServerKind,
    /// The option of the command line that names the configuration.
    option: &'static str,
    /// The configuration, where that option names a folder.
    file_in_folder: Option<&'static str>,
    /// Where the configuration is without it.
    usual: &'static [&'static str],
    /// The statistics in a configuration: where, and the keys.
    find: fn(&Found<'_>) -> Option<Place>,
    /// What to write into the configuration to have them.
    add: &'static str,
}

const KINDS: [Kind; 7] = [
    Kind {
        software: "bind",
        kind: ServerKind::Bind,
        option: "-c",
        file_in_folder: None,
        usual: &["/etc/bind/named.conf", "/etc/named.conf"],
        find: bind,
        add: "statistics-channels { inet 127.0.0.1 port 8053 allow { 127.0.0.1; }; };",
    },
    Kind {
        software: "unbound",
        kind: ServerKind::Unbound,
        option: "-c",
        file_in_folder: None,
        usual: &["/etc/unbound/unbound.conf"],
        find: |found| remote_control(found, "8953"),
        add: "remote-control: control-enable: yes, server: extended-statistics: yes",
    },
    Kind {
        software: "nsd",
        kind: ServerKind::Nsd,
        option: "-c",
        file_in_folder: None,
        usual: &["/etc/nsd/nsd.conf"],
        find: |found| remote_control(found, "8952"),
        add: "remote-control: control-enable: yes, control-interface: /run/nsd/nsd.ctl",
    },
    Kind {
        software: "knot",
        kind: ServerKind::Knot,
        option: "-c",
        file_in_folder: None,
        usual: &["/etc/knot/knot.conf"],
        find: knot,
        add: "control: listen: knot.sock, and template: global-module: mod-stats",
    },
    Kind {
        software: "pdns",
        kind: ServerKind::Pdns,
        option: "--config-dir",
        file_in_folder: Some("pdns.conf"),
        usual: &["/etc/powerdns/pdns.conf", "/etc/pdns/pdns.conf"],
        find: |found| powerdns(found, "pdns.controlsocket"),
        add: "socket-dir=/run/pdns",
    },
    Kind {
        software: "pdns-recursor",
        kind: ServerKind::Pdns,
        option: "--config-dir",
        file_in_folder: Some("recursor.conf"),
        usual: &["/etc/powerdns/recursor.conf"],
        find: |found| powerdns(found, "pdns_recursor.controlsocket"),
        add: "socket-dir=/run/pdns-recursor",
    },
    Kind {
        software: "coredns",
        kind: ServerKind::OpenMetrics,
        option: "-conf",
        file_in_folder: None,
        usual: &["/etc/coredns/Corefile", "Corefile"],
        find: coredns,
        add: "prometheus 127.0.0.1:9153",
    },
];

/// A configuration, in words.
struct Found<'a> {
    process: &'a Process,
    arguments: &'a [String],
    words: &'a [String],
}

impl Found<'_> {
    /// The word after this one.
    fn after(&self, name: &str) -> Option<&str> {
        after(self.words, name)
    }

    /// A path of the server, as it is seen from here.
    fn path(&self, path: &str) -> PathBuf {
        self.process.file(path)
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
    /// A path of the process: in its root, and from its working folder.
    fn file(&self, path: &str) -> PathBuf {
        let of = |link: &str| PathBuf::from(format!("/proc/{}/{link}", self.pid));
        let in_root = match Path::new(path).strip_prefix("/") {
            Ok(path) => of("root").join(path),
            Err(_) => of("cwd").join(path),
        };
        // The root of most servers is ours; then the path itself is shorter, and a control socket's path may be long.
        let is_ours = fs::read_link(of("root")).is_ok_and(|root| root == Path::new("/"));
        if is_ours && path.starts_with('/') { path.into() } else { in_root }
    }

    /// Whether statistics there can be asked for from this network namespace.
    fn can_reach(&self, at: &At) -> bool {
        match at {
            At::Path(path) => path.exists(),
            At::Url(text) | At::Address(text) => {
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
    Some((At::Url(format!("http://{}:{port}/", found.host(address))), None))
}

/// `remote-control:` of Unbound and NSD.
fn remote_control(found: &Found<'_>, usual_port: &str) -> Option<Place> {
    found.after("control-enable").filter(|enabled| *enabled == "yes")?;
    let interface = found.after("control-interface").unwrap_or("127.0.0.1");
    if interface.contains('/') {
        return Some((At::Path(found.path(interface)), None));
    }
    let (address, port) = interface.split_once('@').unwrap_or((interface, usual_port));
    let port = found.after("control-port").unwrap_or(port);
    let keys = found.after("control-key-file").and_then(|file| Some(found.path(file).parent()?.to_owned()));
    Some((At::Address(format!("{}:{port}", found.host(address))), keys))
}

/// The control socket of Knot DNS is always there, in its `rundir`.
fn knot(found: &Found<'_>) -> Option<Place> {
    let rundir = found.after("rundir").unwrap_or("/run/knot");
    let socket =
        option(found.arguments, "-s").or_else(|| found.after("listen").filter(|path| path.contains(".sock")));
    let socket = socket.unwrap_or("knot.sock");
    let path = if socket.starts_with('/') { socket.to_owned() } else { format!("{rundir}/{socket}") };
    Some((At::Path(found.path(&path)), None))
}

/// The control socket of PowerDNS, in its `socket-dir`, which may be on the command line.
fn powerdns(found: &Found<'_>, file: &str) -> Option<Place> {
    let folder = option(found.arguments, "--socket-dir").or_else(|| found.after("socket-dir"));
    let usual = if file.contains("recursor") { "/run/pdns-recursor" } else { "/run/pdns" };
    Some((At::Path(found.path(&format!("{}/{file}", folder.unwrap_or(usual)))), None))
}

/// `prometheus [ADDRESS:PORT]` of a Corefile.
fn coredns(found: &Found<'_>) -> Option<Place> {
    found.words.iter().find(|word| *word == "prometheus")?;
    let at = found.after("prometheus").unwrap_or_default();
    let (address, port) =
        at.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).unwrap_or(("localhost", "9153"));
    Some((At::Url(format!("http://{}:{port}/metrics", found.host(address))), None))
}

fn in_url(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

fn after<'a>(words: &'a [String], name: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| word == name)?;
    words.get(at + 1).map(String::as_str)
}

/// The words of a command line.
fn arguments_of(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).split('\0').map(str::to_owned).collect()
}

/// The value of an option: `-c FILE`, `-cFILE`, `--config-dir=FOLDER`.
fn option<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    arguments.iter().enumerate().skip(1).find_map(|(at, argument)| {
        let value = argument.strip_prefix(name)?;
        match value.strip_prefix('=') {
            Some(value) => Some(value),
            None if value.is_empty() => arguments.get(at + 1).map(String::as_str),
            None if name.starts_with("--") => None,
            None => Some(value),
        }
    })
}

/// The words of a configuration without its comments. What ends a word in any of the languages ends it here: `:` and
/// `=`
/// after a name, `;`, braces and quotes.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some((comment, after)) = rest.split_once("/*") {
        words.extend(comment.lines().flat_map(words_of_line));
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    words.extend(rest.lines().flat_map(words_of_line));
    words
}

fn words_of_line(line: &str) -> Vec<String> {
    let comment = line.find('#').into_iter().chain(find_slashes(line)).min();
    let line = &line[..comment.unwrap_or(line.len())];
    let parts = line.split(|c: char| c.is_whitespace() || "{};\"'=".contains(c));
    parts.map(|word| word.trim_end_matches(':').to_owned()).filter(|word| !word.is_empty()).collect()
}

/// `//` begins a comment, except in a URL.
fn find_slashes(line: &str) -> Option<usize> {
    line.find("//").filter(|at| !line[..*at].ends_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(software: &str, text: &str, arguments: &[&str]) -> Option<Place> {
        let process =
            Process { pid: std::process::id(), target: "10.77.0.2".parse().unwrap(), is_elsewhere: true };
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let kind = KINDS.iter().find(|kind| kind.software == software).unwrap();
        (kind.find)(&Found { process: &process, arguments: &arguments, words: &words(text) })
    }

    #[test]
    fn the_statistics_of_each_software_are_found_in_its_configuration() {
        let url = |text: &str| Some((At::Url(text.to_owned()), None));
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
    fn options_of_a_command_line_are_read_in_their_forms() {
        let words = ["named", "-g", "-c", "/a", "-t/b", "--config-dir=/c"].map(str::to_owned);
        let read = |name| option(&words, name);
        assert_eq!(["-c", "-t", "--config-dir", "-x"].map(read), [Some("/a"), Some("/b"), Some("/c"), None]);
    }

    #[test]
    fn what_cannot_be_reached_from_here_is_said_with_what_to_do() {
        let process =
            Process { pid: std::process::id(), target: "10.77.0.2".parse().unwrap(), is_elsewhere: true };
        assert!(!process.can_reach(&At::Url("http://127.0.0.1:8053/".to_owned())));
        assert!(process.can_reach(&At::Url("http://10.77.0.2:8053/".to_owned())));
        assert!(!process.can_reach(&At::Path("/none/knot.sock".into())));
        let Statistics::Missing(how) = statistics_of("hickory", &process) else { panic!("found") };
        assert_eq!(how, "name them: --watch openmetrics=URL");
    }
}
