//! Where the agents of a run are: `--on`.
//!
//! ```text
//!   local:3                          three processes on this host
//!   lg1   ssh://lg1                  over the user's own ssh, with its configuration
//!   ssh://user@lg1:2222/opt/dnsdyno  … with another port, and the program's path there
//!   exec:kubectl exec -i lg1 -- dnsdyno   … by any command that ends with the program: for containers
//!   nats://broker?site=tyo           the agents of these labels that wait at a broker
//!   lg1*2,lg2                        twice the share of lg2
//! ```

use std::process::Command;
use std::sync::Arc;

use dnsdyno_text::secret::without_credentials;

use crate::broker::{Access, Broker, BrokerUrl};
use crate::broker_files::BrokerFiles;
use crate::error::ClusterError;
use crate::link::Link;
use crate::presence;
use crate::process_link;
use crate::signing::Addressee;

/// One agent that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Its name in records and messages.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// Its share of the load against those of the others; `None` = by its CPUs.
    pub weight: Option<u32>,
}

/// Where an agent is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A process on this host.
    Local,
    /// A process that `ssh` starts.
    Ssh {
        /// As `ssh` takes it: `HOST` or `USER@HOST`.
        destination: String,
        /// Where it is not that of the user's configuration.
        port: Option<u16>,
        /// The program there.
        program: String,
    },
    /// A process that a command starts, whose words are these: its standard input and output are those of the agent.
    Exec(Vec<String>),
    /// Agents that wait at a broker: as many as are found there.
    Nats(BrokerUrl),
}

/// An agent with the link to it.
pub(crate) struct Connected {
    pub(crate) destination: Destination,
    pub(crate) link: Link,
    /// To whom its tasks are signed, where anyone may be at the other end of the link.
    pub(crate) addressee: Option<Addressee>,
    /// The object store of its broker.
    pub(crate) broker_files: Option<Arc<BrokerFiles>>,
}

impl Destination {
    /// Reads the list of `--on`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse_list(text: &str) -> Result<Vec<Destination>, ClusterError> {
        let mut all = Vec::new();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let bad = |why: &str| {
                let text = without_credentials(item).into_owned();
                ClusterError::Destination { text, why: why.to_owned() }
            };
            let (place, weight) = match item.rsplit_once('*') {
                None => (item, None),
                Some((place, weight)) => {
                    let weight = weight.trim().parse().ok().filter(|weight| (1..=HEAVIEST).contains(weight));
                    (
                        place.trim(),
                        Some(weight.ok_or_else(|| bad("a weight is a whole number from 1 to 1000"))?),
                    )
                }
            };
            match place.strip_prefix("local") {
                Some(count) if count.is_empty() || count.starts_with(':') => {
                    let count = count.strip_prefix(':').unwrap_or("1").parse::<usize>().ok();
                    let count = count.filter(|count| (1..=MOST_LOCAL).contains(count));
                    let count = count.ok_or_else(|| bad("write local:N, with at most 64 processes"))?;
                    let local = Destination { name: "local".to_owned(), place: Place::Local, weight };
                    all.extend(std::iter::repeat_n(local, count));
                }
                _ if BrokerUrl::is_meant(place) => {
                    let url = BrokerUrl::parse(place).map_err(|why| bad(&why))?;
                    all.push(Destination { name: "nats".to_owned(), place: Place::Nats(url), weight });
                }
                _ if place.starts_with("exec:") => all.push(exec(place, weight).ok_or_else(|| bad(EXEC))?),
                _ => all.push(ssh(place, weight).ok_or_else(|| bad(SSH))?),
            }
        }
        match all.is_empty() {
            true => Err(ClusterError::Destination { text: text.to_owned(), why: SSH.to_owned() }),
            false => Ok(all),
        }
    }

    /// Links to the agents: starts those of a process, and finds those that wait at a broker. Also returns the
    /// connections, which must outlive the links.
    ///
    /// # Errors
    /// One cannot be started, or there are none.
    pub(crate) fn connect_all(
        wanted: Vec<Destination>,
        access: &Access,
    ) -> Result<(Vec<Connected>, Vec<Broker>), ClusterError> {
        let (mut all, mut brokers) = (Vec::new(), Vec::new());
        for one in numbered(wanted) {
            let Place::Nats(url) = &one.place else {
                let link = one.connect()?;
                all.push(Connected { destination: one, link, addressee: None, broker_files: None });
                continue;
            };
            let broker = Broker::connect(url, access)?;
            let files = Arc::new(BrokerFiles::of(&broker));
            for agent in presence::find(&broker, url)? {
                let (link, to) = presence::open(&broker, &agent)?;
                let destination = Destination { name: agent.name, ..one.clone() };
                let broker_files = Some(Arc::clone(&files));
                all.push(Connected { destination, link, addressee: Some(to), broker_files });
            }
            brokers.push(broker);
        }
        let names = numbered(all.iter().map(|one| one.destination.clone()).collect());
        all.iter_mut().zip(names).for_each(|(one, name)| one.destination = name);
        Ok((all, brokers))
    }

    /// Starts the agent and links to it.
    fn connect(&self) -> Result<Link, ClusterError> {
        let cannot = |program: &str| {
            let program = program.to_owned();
            move |source| ClusterError::Start { name: self.name.clone(), program, source }
        };
        match &self.place {
            // These are found, not started.
            Place::Nats(_) => Err(cannot("nats")(std::io::ErrorKind::Unsupported.into())),
            Place::Local => {
                let own = std::env::current_exe().map_err(cannot("dnsdyno"))?;
                let mut command = Command::new(own);
                command.args(AGENT);
                process_link::start(command).map_err(cannot("dnsdyno"))
            }
            Place::Exec(words) => {
                let (program, rest) =
                    words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
                let mut command = Command::new(program);
                command.args(rest).args(AGENT);
                process_link::start(command).map_err(cannot(program))
            }
            Place::Ssh { destination, port, program } => {
                let mut command = Command::new("ssh");
                command.args(["-T", "-x", "-a"]);
                for option in SSH_OPTIONS {
                    command.args(["-o", option]);
                }
                if let Some(port) = port {
                    command.args(["-p", &port.to_string()]);
                }
                command.args(["--", destination, program]).args(AGENT);
                process_link::start(command).map_err(cannot("ssh"))
            }
        }
    }
}

/// Words between blanks, without a shell. The name is the word after `-i`, `-it` or `exec`, or else the last but one.
fn exec(text: &str, weight: Option<u32>) -> Option<Destination> {
    let words: Vec<String> = text.strip_prefix("exec:")?.split_whitespace().map(ToOwned::to_owned).collect();
    let of_container = words.windows(2).rev().find_map(|pair| match pair {
        [flag, name] if ["-i", "exec"].contains(&flag.as_str()) && !name.starts_with('-') => {
            Some(name.as_str())
        }
        _ => None,
    });
    let name = of_container.or(words.first().map(String::as_str))?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = name.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    let name = name.trim_start_matches(['.', '-']).to_owned();
    (!name.is_empty()).then_some(Destination { name, place: Place::Exec(words), weight })
}

fn ssh(text: &str, weight: Option<u32>) -> Option<Destination> {
    let rest = text.strip_prefix("ssh://").unwrap_or(text);
    if rest.contains("://") {
        return None;
    }
    let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let (destination, port) = match host.rsplit_once(':') {
        // An address of IPv6 has several colons, and a port only after brackets.
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, Some(port.parse().ok()?)),
        _ => (host, None),
    };
    let name = destination.rsplit('@').next()?.trim_matches(['[', ']']);
    // What begins with a dash would be an option of ssh, and a name is a part of a path.
    let is_name = |text: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:%".contains(c);
        !text.is_empty() && !text.starts_with(['-', '.']) && text.chars().all(is_plain)
    };
    let user_is_plain = destination.split_once('@').is_none_or(|(user, _)| is_name(user));
    let path_is_plain = |path: &str| path.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    if !is_name(name) || !user_is_plain || !path.is_none_or(path_is_plain) {
        return None;
    }
    let program =
        path.filter(|path| !path.is_empty()).map_or("dnsdyno".to_owned(), |path| format!("/{path}"));
    let place = Place::Ssh { destination: destination.replace(['[', ']'], ""), port, program };
    Some(Destination { name: name.replace([':', '%'], "-"), place, weight })
}

/// Gives each a name of its own.
fn numbered(mut all: Vec<Destination>) -> Vec<Destination> {
    let names: Vec<String> = all.iter().map(|one| one.name.clone()).collect();
    for (number, one) in all.iter_mut().enumerate() {
        if names.iter().filter(|name| **name == one.name).count() > 1 {
            let earlier = names[..number].iter().filter(|name| **name == one.name).count();
            one.name = format!("{}-{}", one.name, earlier + 1);
        }
    }
    all
}

/// What an agent is started with.
const AGENT: [&str; 2] = ["agent", "--stdio"];

/// It asks nothing, and notices that the other side is gone.
const SSH_OPTIONS: [&str; 6] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=2",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "LogLevel=ERROR",
];

const SSH: &str = "write HOST, ssh://USER@HOST:PORT, ssh://HOST/PATH/OF/dnsdyno, local:N, exec:COMMAND or \
                   nats://BROKER?LABEL=VALUE, each with *WEIGHT if wanted";
const EXEC: &str = "write a command that ends with the program, such as exec:podman exec -i lg1 dnsdyno";
const HEAVIEST: u32 = 1_000;
const MOST_LOCAL: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn ssh_place(destination: &str, port: Option<u16>, program: &str) -> Place {
        Place::Ssh { destination: destination.to_owned(), port, program: program.to_owned() }
    }

    #[test]
    fn each_form_of_a_destination_is_read() {
        let list = "local:2, lg1*2,ssh://root@lg2:2222/opt/bin/dnsdyno,ssh://[2001:db8::1]:22";
        let all = numbered(Destination::parse_list(list).unwrap());
        let shown: Vec<_> =
            all.iter().map(|one| (one.name.as_str(), one.weight, one.place.clone())).collect();
        assert_eq!(
            shown,
            [
                ("local-1", None, Place::Local),
                ("local-2", None, Place::Local),
                ("lg1", Some(2), ssh_place("lg1", None, "dnsdyno")),
                ("lg2", None, ssh_place("root@lg2", Some(2222), "/opt/bin/dnsdyno")),
                ("2001-db8--1", None, ssh_place("2001:db8::1", Some(22), "dnsdyno")),
            ]
        );
        let all =
            Destination::parse_list("exec:kubectl exec -i lg-0 -- dnsdyno*3, exec:/opt/dnsdyno").unwrap();
        let names: Vec<_> = all.iter().map(|one| (one.name.as_str(), one.weight)).collect();
        assert_eq!(names, [("lg-0", Some(3)), ("opt-dnsdyno", None)]);
        assert_eq!(all[1].place, Place::Exec(vec!["/opt/dnsdyno".to_owned()]));
        let all = Destination::parse_list("nats://me:pw@lg.test?site=tyo&count=2*3").unwrap();
        let Place::Nats(url) = &all[0].place else { panic!("{all:?}") };
        assert_eq!((url.to_string().as_str(), all[0].weight), ("nats://lg.test?site=tyo&count=2", Some(3)));
        let said = Destination::parse_list("nats://me:pw@lg.test?site").unwrap_err().to_string();
        assert!(!said.contains("pw"), "{said}");
    }

    #[test]
    fn what_is_no_destination_is_refused_and_nothing_reaches_a_shell() {
        let bad = [
            "",
            ",",
            "exec:",
            "local:0",
            "local:x",
            "lg1*0",
            "lg1*x",
            "nats://",
            "nats://a?site",
            "-oProxyCommand=x",
            "lg1;id",
        ];
        for text in bad.iter().chain(&["ssh://a/b;c", "ssh://$(id)", "..", "a b", "lg1:port", "ssh://../x"]) {
            assert!(Destination::parse_list(text).is_err(), "{text}");
        }
    }
}
