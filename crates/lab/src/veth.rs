//! Two network namespaces joined by a pair of virtual Ethernet interfaces: a cable on one host.
//!
//! ```text
//!   namespace "near"                      namespace "far"
//!   [near 10.77.0.1, fd77::1] ───────── [far 10.77.0.2, fd77::2]
//! ```
//!
//! Everything is gone when the [`VethPair`] is dropped; what a killed process left behind, the
//! next one takes away.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::LabError;

/// A cable between two namespaces. Needs the rights of root.
#[derive(Debug)]
pub struct VethPair {
    near: Namespace,
    far: Namespace,
}

/// One end of it. It is there as long as one of its copies is, so that a server that runs in it keeps it.
#[derive(Clone, Debug)]
pub struct Namespace {
    made: Arc<Made>,
    /// The interface in it.
    pub interface: &'static str,
    /// The interface's IPv4 address, in a /24.
    pub ipv4: Ipv4Addr,
    /// The interface's IPv6 address, in a /64.
    pub ipv6: Ipv6Addr,
}

/// The namespace itself.
#[derive(Debug)]
struct Made {
    name: String,
}

impl VethPair {
    /// Makes the namespaces, the interfaces with `queues` queues each, and the addresses, and
    /// puts everything up.
    pub fn new(queues: u32) -> Result<Self, LabError> {
        remove_left_namespaces();
        // From here on dropping takes away what has been made so far.
        let pair = VethPair { near: Namespace::new("near", 1)?, far: Namespace::new("far", 2)? };
        let queues = queues.to_string();
        let ends = ["numrxqueues", &queues, "numtxqueues", &queues];
        let peer = ["peer", "name", pair.far.interface, "netns", pair.far.name()];
        let link =
            [&["link", "add", pair.near.interface], &ends[..], &["type", "veth"], &peer, &ends].concat();
        pair.near.ip(&link)?;
        for end in [&pair.near, &pair.far] {
            let (ipv4, ipv6) = (format!("{}/24", end.ipv4), format!("{}/64", end.ipv6));
            end.ip(&["link", "set", "lo", "up"])?;
            end.ip(&["address", "add", &ipv4, "dev", end.interface])?;
            end.ip(&["address", "add", &ipv6, "dev", end.interface, "nodad"])?;
            end.ip(&["link", "set", end.interface, "up"])?;
        }
        Ok(pair)
    }

    /// The end that asks.
    pub fn near(&self) -> &Namespace {
        &self.near
    }

    /// The end of the server.
    pub fn far(&self) -> &Namespace {
        &self.far
    }
}

impl Namespace {
    fn new(interface: &'static str, number: u8) -> Result<Self, LabError> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{serial}-{interface}", std::process::id());
        ip(&["netns", "add", &name])?;
        Ok(Namespace {
            made: Arc::new(Made { name }),
            interface,
            ipv4: Ipv4Addr::new(10, 77, 0, number),
            ipv6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, u16::from(number)),
        })
    }

    /// Its name, for `ip netns exec`.
    pub fn name(&self) -> &str {
        &self.made.name
    }

    /// Runs `ip` with these arguments in the namespace and gives what it printed.
    pub fn ip(&self, arguments: &[&str]) -> Result<String, LabError> {
        ip(&[&["-n", self.name()], arguments].concat())
    }

    /// Runs `work` in the namespace, on a thread of its own; threads that it starts are in the
    /// namespace too. Sockets that it opens stay there wherever they are used later.
    ///
    /// # Panics
    /// Where `work` does.
    pub fn enter<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, LabError> {
        let failed = |source: io::Error| LabError::Namespace {
            command: format!("enter {}", self.name()),
            said: source.to_string(),
        };
        let file = File::open(self.path()).map_err(failed)?;
        let entered = thread::scope(|scope| {
            let thread = thread::Builder::new().spawn_scoped(scope, move || {
                move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
                Ok::<R, io::Error>(work())
            })?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        entered.map_err(failed)
    }

    /// Moves the calling thread into the namespace until the returned value is dropped. Threads that it starts
    /// meanwhile are there too, and stay. Where it is the first thread of the process, `/proc/net` is that of the
    /// namespace as well.
    ///
    /// # Errors
    /// [`LabError::Namespace`] where the system refuses it.
    pub fn stay(&self) -> Result<Stay, LabError> {
        let failed = |source: io::Error| LabError::Namespace {
            command: format!("enter {}", self.name()),
            said: source.to_string(),
        };
        let before = File::open("/proc/thread-self/ns/net").map_err(failed)?;
        let file = File::open(self.path()).map_err(failed)?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|error| failed(error.into()))?;
        Ok(Stay { before, _of_one_thread: PhantomData })
    }

    /// The file that stands for it, for `nsenter`.
    pub fn path(&self) -> PathBuf {
        Path::new(NAMESPACES).join(self.name())
    }
}

/// The calling thread is in a namespace; dropped, it is back where it was.
#[derive(Debug)]
pub struct Stay {
    before: File,
    /// Must be dropped by the thread that it is of.
    _of_one_thread: PhantomData<*const ()>,
}

impl Drop for Stay {
    fn drop(&mut self) {
        // The namespace that a thread came from can be entered again: it was open all the time.
        let _ = move_into_link_name_space(self.before.as_fd(), Some(LinkNameSpaceType::Network));
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // The interfaces are removed with it. A failure cannot be reported here; the next sweep
        // tries again.
        let _ = ip(&["netns", "delete", &self.name]);
    }
}

/// Takes away the namespaces of processes that are no more, and returns their names.
pub fn remove_left_namespaces() -> Vec<String> {
    let mut removed = Vec::new();
    let Ok(entries) = std::fs::read_dir(NAMESPACES) else { return removed };
    for name in entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        let is_left = process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists());
        if is_left && ip(&["netns", "delete", &name]).is_ok() {
            removed.push(name);
        }
    }
    removed
}

fn ip(arguments: &[&str]) -> Result<String, LabError> {
    let command = || format!("ip {}", arguments.join(" "));
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .map_err(|error| LabError::Namespace { command: command(), said: error.to_string() })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(LabError::Namespace { command: command(), said });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What the names of our namespaces start with; the process and a number follow.
const PREFIX: &str = "dnsdyno-";

/// Where `ip netns` keeps them.
const NAMESPACES: &str = "/run/netns";

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, UdpSocket};

    use super::*;
    use crate::{Need, require};

    fn exists(name: &str) -> bool {
        Path::new(NAMESPACES).join(name).exists()
    }

    #[test]
    fn packets_cross_the_cable_and_nothing_is_left_of_it() {
        if !require(&[Need::Root]) {
            return;
        }
        let pair = VethPair::new(2).unwrap();
        let names = [pair.near().name().to_owned(), pair.far().name().to_owned()];
        let ways: [(SocketAddr, SocketAddr); 2] = [
            ((pair.near().ipv4, 0).into(), (pair.far().ipv4, 0).into()),
            ((pair.near().ipv6, 0).into(), (pair.far().ipv6, 0).into()),
        ];
        for (near, far) in ways {
            let far = pair.far().enter(|| UdpSocket::bind(far).unwrap()).unwrap();
            let near = pair.near().enter(|| UdpSocket::bind(near).unwrap()).unwrap();
            near.send_to(b"hello", far.local_addr().unwrap()).unwrap();
            let mut buffer = [0; 16];
            assert_eq!(far.recv_from(&mut buffer).unwrap(), (5, near.local_addr().unwrap()));
        }
        assert!(names.iter().all(|name| exists(name)));
        drop(pair);
        assert!(!names.iter().any(|name| exists(name)));
    }

    #[test]
    fn what_a_dead_process_left_is_swept_away() {
        if !require(&[Need::Root]) {
            return;
        }
        let mut dead = Command::new("true").spawn().unwrap();
        let left = format!("{PREFIX}{}-0-near", dead.id());
        dead.wait().unwrap();
        ip(&["netns", "add", &left]).unwrap();
        let _pair = VethPair::new(1).unwrap();
        assert!(!exists(&left));
    }

    #[test]
    fn a_thread_that_stays_in_a_namespace_is_back_afterwards_where_it_was() {
        if !require(&[Need::Root]) {
            return;
        }
        let own = || std::fs::read_link("/proc/thread-self/ns/net").unwrap();
        let before = own();
        let pair = VethPair::new(1).unwrap();
        let stay = pair.near().stay().unwrap();
        assert_ne!(own(), before);
        UdpSocket::bind((pair.near().ipv4, 0)).unwrap();
        drop(stay);
        assert_eq!(own(), before);
    }
}
