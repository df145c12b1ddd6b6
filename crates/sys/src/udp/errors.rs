//! The error queue of a socket: ICMP errors, each with the packet that caused it, and the stamps of packets that have
//! left.

use std::os::fd::{AsFd, AsRawFd};

/// Reads the error queue of sockets.
pub struct ErrorQueue {
    packet: Box<[u8]>,
    control: Box<[u64]>,
}

/// An entry of the queue.
#[derive(Clone, Copy, Debug)]
pub enum Queued<'a> {
    /// An ICMP error, or a local error.
    Refusal(Refusal<'a>),
    /// A packet has left this host whose stamp was asked for.
    Departure(Departure),
}

/// One ICMP error (or local error) of a socket.
#[derive(Clone, Copy, Debug)]
pub struct Refusal<'a> {
    /// The error number, such as `ECONNREFUSED` for "port unreachable".
    pub errno: i32,
    /// The start of the UDP payload that it is about, as far as ICMP quoted it.
    pub quoted: &'a [u8],
}

/// When a packet was passed to the network card (or over the loopback interface).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// How many packets of this socket were to be stamped before it (modulo 2^32).
    pub number: u32,
    /// The wall clock then, in nanoseconds.
    pub wall_ns: u64,
}

impl ErrorQueue {
    /// Room for one entry.
    pub fn new() -> Self {
        ErrorQueue { packet: vec![0; 65_536].into(), control: vec![0; 64].into() }
    }

    /// Takes the next entry of the socket's queue; `None` where there is none.
    pub fn next(&mut self, socket: &impl AsFd) -> Option<Queued<'_>> {
        let mut iovec = libc::iovec { iov_base: self.packet.as_mut_ptr().cast(), iov_len: self.packet.len() };
        // SAFETY: all-zero is a valid msghdr.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = &mut iovec;
        header.msg_iovlen = 1;
        header.msg_control = self.control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&*self.control) as _;
        // SAFETY: the header points to buffers of this struct with their true lengths.
        let length = unsafe {
            libc::recvmsg(socket.as_fd().as_raw_fd(), &mut header, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT)
        };
        if length < 0 {
            return None;
        }
        let Controls { error, stamp } = controls(&header);
        let error = error?;
        if error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING {
            // Without the time (never seen) it is as early as can be, and belongs to no packet.
            let wall_ns = stamp.map_or(0, |at| at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64);
            return Some(Queued::Departure(Departure { number: error.ee_data, wall_ns }));
        }
        Some(Queued::Refusal(Refusal {
            errno: error.ee_errno as i32,
            quoted: &self.packet[..length as usize],
        }))
    }
}

impl Default for ErrorQueue {
    fn default() -> Self {
        Self::new()
    }
}

/// What the control messages of an entry say.
#[derive(Default)]
struct Controls {
    /// `IP_RECVERR`.
    error: Option<libc::sock_extended_err>,
    /// The software stamp, the first of the three of `SCM_TIMESTAMPING`.
    stamp: Option<libc::timespec>,
}

fn controls(header: &libc::msghdr) -> Controls {
    let mut found = Controls::default();
    // SAFETY: the kernel filled the control buffer of `header` with whole control messages, and
    // set msg_controllen; the macros walk within it. Each kind has the data that is read from it.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while !control.is_null() {
            let data = libc::CMSG_DATA(control);
            match ((*control).cmsg_level, (*control).cmsg_type) {
                (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                    found.error = Some(std::ptr::read_unaligned(data.cast()));
                }
                (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) => {
                    found.stamp = Some(std::ptr::read_unaligned(data.cast()));
                }
                _ => {}
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    found
}
