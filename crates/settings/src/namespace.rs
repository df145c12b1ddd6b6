//! The network namespace whose values are changed: how it is known again, entered, and found after a keeper's death.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};

/// A network namespace, as a journal names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Namespace {
    /// Its name for `ip netns`, if it was entered by that: for the person who reads the journal.
    pub(crate) name: Option<String>,
    /// The number of its inode: as long as it is there, no other one has the same.
    pub(crate) inode: u64,
    /// Whether it is that of the host, in which everything is after a reboot.
    pub(crate) is_of_host: bool,
}

/// Where a namespace of a journal is.
#[derive(Debug)]
pub(crate) enum Found {
    /// The thread is in it.
    Here,
    /// It can be entered by this file.
    Elsewhere(File),
    /// It is no more.
    Gone,
}

impl Namespace {
    /// The one of the calling thread, which has entered it by this name.
    pub(crate) fn current(name: Option<String>) -> io::Result<Namespace> {
        let inode = inode_of(Path::new(CURRENT))?;
        // Only root may look at the first process; without root no other namespace is entered either.
        let is_of_host = inode_of(Path::new(OF_HOST)).map_or(true, |of_host| of_host == inode);
        Ok(Namespace { name, inode, is_of_host })
    }

    /// Looks for it, from the calling thread.
    pub(crate) fn find(&self, was_booted_since: bool) -> Found {
        if was_booted_since {
            return if self.is_of_host { Found::Here } else { Found::Gone };
        }
        let is_this = |path: &PathBuf| inode_of(path).is_ok_and(|inode| inode == self.inode);
        if is_this(&CURRENT.into()) {
            return Found::Here;
        }
        // Not by its name alone: a server may still run in a namespace whose name was removed.
        let places = everywhere();
        let opened = places.iter().filter(|path| is_this(path)).find_map(|path| File::open(path).ok());
        opened.map_or(Found::Gone, Found::Elsewhere)
    }

    /// Whether both are the same.
    pub(crate) fn is(&self, other: &Namespace) -> bool {
        self.inode == other.inode
    }
}

/// Moves the calling thread into the namespace of this name for `ip netns`, or of the process of this number, for good.
/// Threads that it starts are there too. Returns the name, where it is one.
pub(crate) fn enter(name: &str) -> io::Result<Option<String>> {
    let is_name = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    let named = Path::new(NAMED).join(name);
    if is_name && named.exists() {
        enter_file(&File::open(named)?)?;
        return Ok(Some(name.to_owned()));
    }
    let process: u32 = name.parse().map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
    enter_file(&File::open(format!("/proc/{process}/ns/net"))?)?;
    Ok(None)
}

/// Moves the calling thread into the namespace that the file stands for, for good.
pub(crate) fn enter_file(file: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// The files of all namespaces that can be seen: with a name, or of a process.
fn everywhere() -> Vec<PathBuf> {
    let entries = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries(NAMED).map(|entry| entry.path()).collect();
    let is_process = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.parse::<u32>().is_ok())
    };
    let processes = entries("/proc").map(|entry| entry.path()).filter(is_process);
    files.extend(processes.map(|path| path.join("ns/net")));
    files
}

fn inode_of(path: &Path) -> io::Result<u64> {
    Ok(fs::metadata(path)?.ino())
}

/// Where `ip netns` keeps its namespaces.
const NAMED: &str = "/run/netns";

/// The namespace of the calling thread.
const CURRENT: &str = "/proc/thread-self/ns/net";

/// The namespace of the first process.
const OF_HOST: &str = "/proc/1/ns/net";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_namespace_of_this_thread_is_found_here() {
        let current = Namespace::current(None).unwrap();
        assert!(matches!(current.find(false), Found::Here));
        let other = Namespace { inode: 1, ..current.clone() };
        assert!(!current.is(&other));
        assert!(matches!(other.find(false), Found::Gone));
    }

    #[test]
    fn after_a_reboot_only_the_namespace_of_the_host_is_still_there() {
        let of_host = Namespace { name: None, inode: 1, is_of_host: true };
        assert!(matches!(of_host.find(true), Found::Here));
        let other = Namespace { name: Some("far".to_owned()), inode: 1, is_of_host: false };
        assert!(matches!(other.find(true), Found::Gone));
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_none() {
        for name in ["", "..", "../../proc/1/ns/net", "no-such-namespace-of-dnsdyno"] {
            assert_eq!(enter(name).unwrap_err().kind(), io::ErrorKind::NotFound, "{name}");
        }
    }
}
