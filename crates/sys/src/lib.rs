//! All `unsafe` code of dnsdyno: system calls that have no safe interface elsewhere.
//!
//! The functions here move bytes and read counters. They know nothing of DNS, decide nothing,
//! and keep no global state but what the allocator does at its end. Each `unsafe` block says why it is sound.

pub mod clock;
pub mod interface;
pub mod memory;
pub mod namespace;
pub mod netlink;
pub mod packet;
pub mod poll;
pub mod process;
pub mod programs;
pub mod rights;
pub mod sleeper;
pub mod socket;
pub mod thread;
pub mod udp;
pub mod xdp;

use std::io;

/// Turns the −1 of a system call into the error that `errno` holds.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
