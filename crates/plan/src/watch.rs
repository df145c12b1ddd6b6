//! What is watched beside the load: `--watch WHAT`.
//!
//! ```text
//!   auto                               what can be found
//!   host  host=PID                     this host; the network namespace of a process
//!   process  process=PID               what listens at the target; this process
//!   bind=URL                           the statistics of a server; see [`STATISTICS`]
//!   bind=PATH,rndc                     … in the file that `rndc stats` writes, which is given before each reading
//!   unbound=ADDRESS:PORT,keys=FOLDER   … over TLS, with the keys of its control protocol
//!   pdns=URL,keys=FILE                 … with the API key in a file
//!   mariadb=PATH                       … of the database behind it, by its local socket
//!   world=PATH                         … of the name servers behind a resolver, `dnsdyno world`
//!   ssh://USER@HOST:PORT/PID           host and process there; without PID what listens at the target
//! ```

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use dnsdyno_servers::{Place, STATISTICS, StatisticsKind};
use dnsdyno_text::secret::{Masked, without_credentials};

use crate::draft::Draft;
use crate::error::PlanError;

/// One thing to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// What can be found without being told.
    Auto,
    /// The kernel of this host; with a process, in the network namespace of that.
    Host {
        /// The process.
        pid: Option<u32>,
    },
    /// A process; without a number, that which listens at the target.
    Process {
        /// The process.
        pid: Option<u32>,
    },
    /// The statistics of a server.
    Server(ServerWatch),
    /// Host and process of another host, over SSH.
    Ssh(SshWatch),
}

/// The statistics of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerWatch {
    /// How they are asked for.
    pub kind: StatisticsKind,
    /// Where.
    pub at: At,
    /// What proves who asks: a folder with the TLS keys of a control protocol, or a file with an API key.
    pub keys: Option<PathBuf>,
    /// Of BIND's statistics file: what has it written before each reading.
    pub rndc: Option<Rndc>,
}

/// `rndc`, which has BIND write its statistics file. No other program is ever started for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rndc {
    /// The file of its configuration (`-c`); `None` = that which it takes by itself.
    pub configuration: Option<PathBuf>,
}

/// Where a server has its statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// `http://127.0.0.1:8053/`.
    Url(Masked),
    /// `127.0.0.1:8953`: name or address, with the port.
    Address(String),
    /// A local socket, or a file.
    Path(PathBuf),
}

/// A host that is reached over SSH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshWatch {
    /// As `ssh` takes it: `HOST` or `USER@HOST`.
    pub destination: String,
    /// Where it is not that of the user's configuration.
    pub port: Option<u16>,
    /// The process to watch; `None` = what listens at the target.
    pub pid: Option<u32>,
}

/// Without the credentials of a URL.
impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Url(url) => write!(f, "{url}"),
            At::Address(text) => f.write_str(text),
            At::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

impl At {
    fn place(&self) -> Place {
        match self {
            At::Url(_) => Place::Url,
            At::Address(_) => Place::Address,
            At::Path(_) => Place::Path,
        }
    }
}

impl FromStr for Watch {
    type Err = String;

    fn from_str(text: &str) -> Result<Watch, String> {
        if let Some(rest) = text.strip_prefix("ssh://") {
            return SshWatch::parse(rest).map(Watch::Ssh);
        }
        let (word, value) = text.split_once('=').map_or((text, None), |(word, value)| (word, Some(value)));
        match (word, value) {
            ("auto", None) => Ok(Watch::Auto),
            ("host", value) => Ok(Watch::Host { pid: value.map(pid).transpose()? }),
            ("process", value) => Ok(Watch::Process { pid: value.map(pid).transpose()? }),
            (word, value) => match StatisticsKind::of(word) {
                Some(kind) => ServerWatch::parse(kind, value.unwrap_or_default()).map(Watch::Server),
                None => Err(format!(
                    "{:?} cannot be watched: write auto, host, host=PID, process, process=PID, ssh://HOST, or a \
                     server's statistics by one of {}=…",
                    without_credentials(text),
                    STATISTICS.map(|row| row.word).join("=…, ")
                )),
            },
        }
    }
}

impl ServerWatch {
    fn parse(kind: StatisticsKind, value: &str) -> Result<ServerWatch, String> {
        let row = kind.row();
        let (at, keys) = match value.rsplit_once(",keys=") {
            Some((at, keys)) => (at, Some(PathBuf::from(keys))),
            None => (value, None),
        };
        let (at, rndc) = match kind {
            StatisticsKind::Bind => Rndc::split(at),
            _ => (at, None),
        };
        let at = match at {
            url if url.starts_with("http://") || url.starts_with("https://") => At::Url(url.into()),
            path if path.contains('/') => At::Path(path.into()),
            "" => return Err(format!("{} needs {}", row.word, row.values)),
            address => At::Address(with_port(address, row.usual_port)),
        };
        let file = rndc.as_ref().and_then(|rndc| rndc.configuration.as_ref());
        let is_known = row.places.contains(&at.place())
            && !keys.iter().chain(file).any(|path| path.as_os_str().is_empty())
            && (rndc.is_none() || at.place() == Place::Path);
        if is_known {
            Ok(ServerWatch { kind, at, keys, rndc })
        } else {
            Err(format!("{}={}: use {}", row.word, without_credentials(value), row.values))
        }
    }
}

impl Rndc {
    /// A text without `,rndc` or `,rndc=FILE` at its end, and what that says.
    fn split(text: &str) -> (&str, Option<Rndc>) {
        match text.rsplit_once(",rndc") {
            Some((at, "")) => (at, Some(Rndc::default())),
            Some((at, rest)) if rest.starts_with('=') => {
                (at, Some(Rndc { configuration: Some(rest[1..].into()) }))
            }
            _ => (text, None),
        }
    }
}

/// Adds the usual port to an address without one. `ADDRESS@PORT`, as servers write it, is read too.
fn with_port(address: &str, port: Option<u16>) -> String {
    let address = match address.rsplit_once('@') {
        Some((address, port)) if address.contains(':') => format!("[{address}]:{port}"),
        Some((address, port)) => format!("{address}:{port}"),
        None => address.to_owned(),
    };
    let has_port = match address.rfind(']') {
        Some(end) => address[end..].contains(':'),
        None => address.matches(':').count() == 1,
    };
    match port.filter(|_| !has_port) {
        Some(port) if address.contains(':') && !address.starts_with('[') => format!("[{address}]:{port}"),
        Some(port) => format!("{address}:{port}"),
        None => address,
    }
}

impl SshWatch {
    fn parse(text: &str) -> Result<SshWatch, String> {
        let bad = || {
            format!(
                "ssh://{text}: write ssh://HOST, ssh://USER@HOST:PORT, or ssh://HOST/PID for one process there"
            )
        };
        let (place, process) = text.split_once('/').map_or((text, None), |(place, pid)| (place, Some(pid)));
        let process =
            process.filter(|process| !process.is_empty()).map(pid).transpose().map_err(|_| bad())?;
        let host_begins = place.rfind('@').map_or(0, |at| at + 1);
        let (destination, port) = match place[host_begins..].rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (&place[..host_begins + host.len()], Some(port.parse().map_err(|_| bad())?))
            }
            _ => (place, None),
        };
        // A destination that begins with a dash would be an option of ssh.
        let is_word = |text: &str| {
            !text.starts_with('-') && text.chars().all(|c| !c.is_whitespace() && !c.is_control())
        };
        if destination[host_begins.min(destination.len())..].is_empty() || !is_word(destination) {
            return Err(bad());
        }
        Ok(SshWatch { destination: destination.replace(['[', ']'], ""), port, pid: process })
    }
}

fn pid(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|pid| *pid > 0).ok_or_else(|| format!("{text:?} is not the number of a process"))
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbered = |f: &mut fmt::Formatter<'_>, word, pid: &Option<u32>| match pid {
            Some(pid) => write!(f, "{word}={pid}"),
            None => f.write_str(word),
        };
        match self {
            Watch::Auto => f.write_str("auto"),
            Watch::Host { pid } => numbered(f, "host", pid),
            Watch::Process { pid } => numbered(f, "process", pid),
            Watch::Server(ServerWatch { kind, at, keys, rndc }) => {
                write!(f, "{}={at}", kind.row().word)?;
                match rndc {
                    Some(Rndc { configuration: Some(file) }) => write!(f, ",rndc={}", file.display())?,
                    Some(Rndc { configuration: None }) => f.write_str(",rndc")?,
                    None => {}
                }
                keys.as_ref().map_or(Ok(()), |keys| write!(f, ",keys={}", keys.display()))
            }
            Watch::Ssh(SshWatch { destination, port, pid }) => {
                write!(f, "ssh://")?;
                match destination.rsplit_once('@') {
                    Some((user, host)) if host.contains(':') => write!(f, "{user}@[{host}]")?,
                    None if destination.contains(':') => write!(f, "[{destination}]")?,
                    _ => f.write_str(destination)?,
                }
                port.map_or(Ok(()), |port| write!(f, ":{port}"))?;
                pid.map_or(Ok(()), |pid| write!(f, "/{pid}"))
            }
        }
    }
}

impl Watch {
    /// Reads what a draft watches, with paths made absolute.
    pub(crate) fn of(draft: &mut Draft, working_dir: &Path) -> Result<Vec<Watch>, PlanError> {
        let mut all = Vec::new();
        for text in draft.watch.iter_mut().flatten() {
            if text.is_masked() {
                let reason = format!("{text}: {}", NOT_IN_A_RECORD);
                return Err(PlanError::Source { option: "watch", reason });
            }
            let mut watch: Watch =
                text.exposed().parse().map_err(|reason| PlanError::Source { option: "watch", reason })?;
            if let Watch::Server(server) = &mut watch {
                let at = match &mut server.at {
                    At::Path(path) => Some(path),
                    _ => None,
                };
                let of_rndc = server.rndc.as_mut().and_then(|rndc| rndc.configuration.as_mut());
                let paths = server.keys.iter_mut().chain(at).chain(of_rndc);
                for path in paths {
                    *path = working_dir.join(&*path);
                }
            }
            *text = watch.to_string().into();
            all.push(watch);
        }
        Ok(all)
    }
}

const NOT_IN_A_RECORD: &str =
    "a record never contains what a URL has for its user: give --watch again, with the whole URL";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Watch, String> {
        text.parse()
    }

    #[test]
    fn everything_is_written_as_it_is_read() {
        for text in [
            "auto",
            "host",
            "host=4711",
            "process",
            "process=4711",
            "bind=http://127.0.0.1:8053/",
            "bind=/var/cache/bind/named.stats",
            "bind=/var/cache/bind/named.stats,rndc",
            "bind=/var/cache/bind/named.stats,rndc=/etc/rndc.conf",
            "unbound=127.0.0.1:8953,keys=/etc/unbound",
            "unbound=[::1]:8953",
            "nsd=/run/nsd/nsd.ctl",
            "knot=/run/knot/knot.sock",
            "pdns=http://[::1]:8081/,keys=/etc/key",
            "dnsdist=https://127.0.0.1:8083/",
            "openmetrics=http://127.0.0.1:9153/metrics",
            "ssh://ns1.example",
            "ssh://user@ns1.example:2222/4711",
            "ssh://user@[2001:db8::1]:22",
        ] {
            assert_eq!(read(text).map(|watch| watch.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn a_control_protocol_has_its_usual_port_and_the_form_of_servers_is_read() {
        for (text, read_as) in [
            ("unbound=127.0.0.1", "unbound=127.0.0.1:8953"),
            ("unbound=127.0.0.1@900", "unbound=127.0.0.1:900"),
            ("nsd=::1", "nsd=[::1]:8952"),
            ("nsd=::1@900", "nsd=[::1]:900"),
            ("nsd=[::1]", "nsd=[::1]:8952"),
        ] {
            assert_eq!(read(text).map(|watch| watch.to_string()).as_deref(), Ok(read_as), "{text}");
        }
    }

    #[test]
    fn credentials_are_in_no_text_and_what_a_record_has_in_their_place_is_refused() {
        let url = "bind=http://me:pw@[::1]:8053/";
        assert_eq!(
            read(url).map(|watch| watch.to_string()).as_deref(),
            Ok("bind=http://(secret)@[::1]:8053/")
        );
        for text in ["binds=http://me:pw@[::1]/", "knot=http://me:pw@[::1]/"] {
            let error = read(text).expect_err(text);
            assert!(!error.contains("pw"), "{error}");
        }
        let mut draft = Draft { watch: Some(vec![url.into()]), ..Draft::default() };
        Watch::of(&mut draft, Path::new("/")).expect("a URL");
        let error = Watch::of(&mut draft, Path::new("/")).expect_err("that of a record").to_string();
        assert!(error.contains("give --watch again"), "{error}");
    }

    #[test]
    fn what_cannot_be_watched_is_refused_with_what_to_write() {
        for (text, part) in [
            ("", "write auto"),
            ("cpu", "write auto"),
            ("auto=1", "write auto"),
            ("host=x", "number of a process"),
            ("process=0", "number of a process"),
            ("bind", "bind=http"),
            ("bind=127.0.0.1:8053", "use a URL"),
            ("bind=http://127.0.0.1:8053/,rndc", "use a URL"),
            ("bind=/named.stats,rndc=", "use a URL"),
            ("knot=http://127.0.0.1/", "control socket"),
            ("pdns=http://127.0.0.1/,keys=", "API key"),
            ("ssh://", "ssh://USER@HOST"),
            ("ssh://-oProxyCommand=x", "ssh://USER@HOST"),
            ("ssh://a b", "ssh://USER@HOST"),
            ("ssh://host:port", "ssh://USER@HOST"),
            ("ssh://host/named", "ssh://USER@HOST"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
