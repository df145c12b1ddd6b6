//! AF_XDP: packets that bypass the kernel's network stack, between the interface's queue and our memory.
//!
//! ```text
//!            ┌── Redirect: responses to us ──► rx ring ──┐
//!  queue ────┤                                            ├── UMEM: frames that belong to the
//!            └── everything else ──► the host             │   kernel and to us in turn
//!  queue ◄── tx ring ─────────────────────────────────────┘
//! ```
//!
//! [`Redirect`] is the program that picks packets out; it lives as long as its value, or the
//! process. [`Socket`] is one queue's rings. [`Injector`] sends many packets at once where the driver
//! copies. [`Reflect`] is the other end for tests and for measuring ourselves; [`Respond`] sends responses
//! there that were made in advance. No file is left under `/sys/fs/bpf`, no program on the interface.
//!
//! The kernel looks interfaces up in the network namespace of the calling thread: attach and bind
//! on a thread of the namespace in which the [`Interface`](crate::interface::Interface) was found.

mod ends;
mod inject;
mod link;
mod program;
mod respond;
mod ring;
mod socket;
mod umem;

pub use ends::{Discard, Pass};
pub use inject::Injector;
pub use program::{Filter, Redirect, Reflect};
pub use respond::{Address, Chunk, Counts, Records, RecordsKind, Respond, Settings, Slot};
pub use socket::{CopyMode, Flushed, Socket, SocketConfig, Statistics};

use std::io;

/// Where in the interface a program is to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attach {
    /// In the driver, and where it cannot, in the kernel's stack.
    #[default]
    Auto,
    /// In the driver.
    Native,
    /// In the kernel's stack: any interface can, slower.
    Generic,
}

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attached {
    /// In the driver.
    Native,
    /// In the kernel's stack.
    Generic,
}

/// Why AF_XDP, or a program in the kernel, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum XdpError {
    /// The object of a program lacks what this build expects of it.
    #[error(
        "this dnsdyno was built with other programs for the kernel than it expects: run scripts/build-ebpf and \
         build again, or use --backend sockets"
    )]
    OtherObject,
    /// The process lacks a capability.
    #[error(
        "AF_XDP needs privileges ({what}: {source}): run as root, or give the program \
         CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and CAP_IPC_LOCK (setcap), or use --backend sockets"
    )]
    NoPrivilege {
        /// What was refused.
        what: &'static str,
        /// What the kernel reported.
        source: io::Error,
    },
    /// The kernel is too old, or built without.
    #[error(
        "this kernel has no {what}: AF_XDP needs Linux 5.9 or later with CONFIG_XDP_SOCKETS; use --backend sockets"
    )]
    KernelLacks {
        /// What it lacks.
        what: &'static str,
    },
    /// The driver cannot run XDP programs.
    #[error(
        "the driver of {interface} does not support XDP programs ({source}): use --xdp-mode generic, which \
         works on any interface, or auto"
    )]
    NoDriverSupport {
        /// The interface.
        interface: String,
        /// What the kernel reported.
        source: io::Error,
    },
    /// The driver has no zero copy.
    #[error(
        "the driver of {interface} does not support zero copy on queue {queue}: use --xdp-copy auto or copy"
    )]
    NoZeroCopy {
        /// The interface.
        interface: String,
        /// The queue.
        queue: u32,
    },
    /// Another program is attached.
    #[error(
        "another XDP program is attached to {interface} (that of another run?), which is not replaced: see \
         `ip link show {interface}`; `ip link set dev {interface} xdp off` removes it, if it is not needed"
    )]
    OtherProgram {
        /// The interface.
        interface: String,
    },
    /// Another AF_XDP socket has the queue.
    #[error(
        "queue {queue} of {interface} belongs to another AF_XDP socket: does another run use this interface?"
    )]
    QueueTaken {
        /// The interface.
        interface: String,
        /// The queue.
        queue: u32,
    },
    /// The interface does not have the queue.
    #[error("{interface} has no queue {queue}: see `ethtool -l {interface}`")]
    NoQueue {
        /// The interface.
        interface: String,
        /// The queue.
        queue: u32,
    },
    /// The interface is down.
    #[error("{interface} is down: `ip link set {interface} up`")]
    InterfaceDown {
        /// The interface.
        interface: String,
    },
    /// There is no such interface.
    #[error("there is no interface {interface}: see `ip link`")]
    NoInterface {
        /// The interface.
        interface: String,
    },
    /// The process may not lock so much memory.
    #[error("this process may not lock more memory: raise `ulimit -l`, or give CAP_IPC_LOCK")]
    MemoryLocked,
    /// Anything else.
    #[error("AF_XDP on {interface}: {what} failed: {reason}")]
    Other {
        /// The interface.
        interface: String,
        /// The step that failed.
        what: &'static str,
        /// What the kernel, or the loader, reported.
        reason: String,
    },
}

fn other(interface: &str, what: &'static str, reason: impl ToString) -> XdpError {
    XdpError::Other { interface: interface.to_owned(), what, reason: reason.to_string() }
}
