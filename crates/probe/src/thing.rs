//! What a source reads, in whatever way it was named: two sources of one thing would count everything twice.

use std::net::SocketAddr;

use crate::family::are_one;
use crate::files::{FileReader, Files, links_in};
use crate::place::namespace_in;
use crate::source::ReadError;

/// What a source reads. What could not be found out about it is `None` or empty, and is like nothing else.
#[derive(Clone, Debug)]
pub(crate) enum Thing {
    /// The counters of a kernel, in one of its network namespaces.
    Host(Option<Namespace>),
    /// Processes.
    Process {
        /// Where their numbers are known: by the kernel, in one of its namespaces of processes.
        numbered: Option<Namespace>,
        pids: Vec<u32>,
    },
    /// The statistics of a server.
    Statistics {
        software: Option<String>,
        /// The processes of this host that answer there.
        pids: Vec<u32>,
        at: Option<Spot>,
    },
}

/// A namespace of a running kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Namespace {
    /// What a kernel calls itself from its start to its end.
    boot: String,
    /// `net:[4026531840]`.
    name: String,
}

/// Where statistics are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// An address, and what is asked for there, where several things can be.
    Address(SocketAddr, String),
    /// A file or a local socket, by its device and number.
    File(u64, u64),
}

impl Thing {
    /// Whether it is known to be the same thing.
    pub(crate) fn is(&self, other: &Thing) -> bool {
        match (self, other) {
            (Thing::Host(a), Thing::Host(b)) => a.is_some() && a == b,
            (Thing::Process { numbered: a, pids }, Thing::Process { numbered: b, pids: others }) => {
                a.is_some() && a == b && pids.iter().any(|pid| others.contains(pid))
            }
            (
                Thing::Statistics { software: a, pids, at },
                Thing::Statistics { software: b, pids: others, at: there },
            ) => (at.is_some() && at == there) || (a.is_some() && a == b && are_one(pids, others)),
            _ => false,
        }
    }
}

impl Namespace {
    /// The network namespace of a process, by its folder in `/proc` of a host: `/proc/self`.
    ///
    /// # Errors
    /// The host cannot be reached.
    pub(crate) fn of_network(
        reader: &mut dyn FileReader,
        process: &str,
    ) -> Result<Option<Namespace>, ReadError> {
        Namespace::read(reader, process, namespace_in)
    }

    /// The namespace in which the processes of a host have the numbers that are seen there.
    ///
    /// # Errors
    /// The host cannot be reached.
    pub(crate) fn of_numbers(reader: &mut dyn FileReader) -> Result<Option<Namespace>, ReadError> {
        let name = |files: &Files, folder: &str| {
            links_in(files.text(folder)).find(|(name, _)| *name == "pid").map(|(_, target)| target.to_owned())
        };
        Namespace::read(reader, "/proc/self", name)
    }

    /// `net:[4026531840]`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn read(
        reader: &mut dyn FileReader,
        process: &str,
        name: fn(&Files, &str) -> Option<String>,
    ) -> Result<Option<Namespace>, ReadError> {
        let folder = format!("{process}/ns/");
        let files = reader.read(&[BOOT.to_owned(), folder.clone()])?;
        let boot = files.text(BOOT).trim();
        Ok(name(&files, &folder)
            .filter(|_| !boot.is_empty())
            .map(|name| Namespace { boot: boot.into(), name }))
    }
}

const BOOT: &str = "/proc/sys/kernel/random/boot_id";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::LocalFiles;

    #[test]
    fn the_same_thing_is_known_by_what_it_is_and_what_is_not_known_is_like_nothing() {
        let own = || Namespace::of_network(&mut LocalFiles, "/proc/self").unwrap();
        assert!(Thing::Host(own()).is(&Thing::Host(own())) && !Thing::Host(None).is(&Thing::Host(None)));
        let numbered = Namespace::of_numbers(&mut LocalFiles).unwrap();
        assert_ne!(numbered, own());
        let process = |pids: &[u32]| Thing::Process { numbered: numbered.clone(), pids: pids.to_vec() };
        assert!(process(&[3, 4]).is(&process(&[4])) && !process(&[3]).is(&process(&[4])));
        let of = |software: Option<&str>, pids: &[u32], at: Option<Spot>| Thing::Statistics {
            software: software.map(str::to_owned),
            pids: pids.to_vec(),
            at,
        };
        let there = || Some(Spot::Address("127.0.0.1:8053".parse().unwrap(), String::new()));
        let own = std::process::id();
        assert!(of(None, &[], there()).is(&of(Some("bind"), &[own], there())));
        assert!(of(Some("pdns"), &[own], there()).is(&of(Some("pdns"), &[own], Some(Spot::File(1, 2)))));
        assert!(!of(Some("pdns"), &[own], there()).is(&of(Some("bind"), &[own], Some(Spot::File(1, 2)))));
        assert!(!of(Some("pdns"), &[], None).is(&of(Some("pdns"), &[], None)));
        assert!(!of(None, &[own], None).is(&process(&[own])));
    }
}
