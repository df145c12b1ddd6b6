//! Sending: a batch in as few headers as its lengths allow.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use super::Messages;
use super::address::RawAddress;
use super::runs::{Run, Runs, Sent};

/// Sends batches of packets.
pub struct Sender {
    runs: Runs,
    iovecs: Box<[libc::iovec]>,
    controls: Box<[Control]>,
    peers: Box<[RawAddress]>,
}

// SAFETY: the raw pointers in the headers are written anew by each call, from memory that this
// call borrows; between calls they are not read, so they may move to another thread.
unsafe impl Send for Sender {}

impl Sender {
    /// A sender for up to `batch` packets a call; `segment` where the socket can do GSO.
    pub fn new(batch: usize, segment: bool) -> Self {
        let iovec = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Sender {
            runs: Runs::new(batch, segment),
            iovecs: vec![iovec; batch].into(),
            controls: vec![Control::default(); batch].into(),
            peers: vec![RawAddress::default(); batch].into(),
        }
    }

    /// Sends over a connected socket without blocking.
    pub fn send(&mut self, socket: &impl AsFd, messages: Messages<'_>) -> Sent {
        self.send_all(socket, messages, |_| None, NONE)
    }

    /// The same, and asks the kernel to note when message number `stamped` leaves this host: the note comes through the
    /// socket's [error queue](super::ErrorQueue), if the socket may have one
    /// ([`stamp_departures`](crate::socket::stamp_departures)). A run of messages leaves as one.
    pub fn send_stamped(&mut self, socket: &impl AsFd, messages: Messages<'_>, stamped: usize) -> Sent {
        self.send_all(socket, messages, |_| None, stamped)
    }

    /// Sends each message to its own peer without blocking; `peers` is as long as `messages`.
    pub fn send_to(&mut self, socket: &impl AsFd, messages: Messages<'_>, peers: &[SocketAddr]) -> Sent {
        self.send_all(socket, messages, |i| peers.get(i).copied(), NONE)
    }

    fn send_all(
        &mut self,
        socket: &impl AsFd,
        messages: Messages<'_>,
        peer_of: impl Fn(usize) -> Option<SocketAddr>,
        stamped: usize,
    ) -> Sent {
        let Sender { runs, iovecs, controls, peers } = self;
        let lay_out = |Run { number, first, count }: Run, header: &mut libc::msghdr| {
            let bytes = messages.run(first, count);
            iovecs[number] = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
            header.msg_iov = &mut iovecs[number];
            header.msg_iovlen = 1;
            (header.msg_name, header.msg_namelen) = match peer_of(first) {
                Some(peer) => peers[number].set(peer),
                None => (std::ptr::null_mut(), 0),
            };
            let is_stamped = stamped.wrapping_sub(first) < count;
            (header.msg_control, header.msg_controllen) = match (count > 1, is_stamped) {
                (false, false) => (std::ptr::null_mut(), 0),
                (false, true) => controls[number].stamped(),
                (true, false) => controls[number].segmented(messages.get(first).len() as u16),
                (true, true) => controls[number].both(messages.get(first).len() as u16),
            };
        };
        // SAFETY: the headers point to `messages`, borrowed by the caller, and to arrays of ours.
        unsafe { runs.send(socket.as_fd(), messages, |a, b| peer_of(a) == peer_of(b), lay_out) }
    }
}

/// No message is stamped.
const NONE: usize = usize::MAX;

/// The control messages of one header, laid out as the kernel reads them, one after the other: the first, the second or
/// both are passed to it.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control {
    stamp: StampControl,
    segment: SegmentControl,
}

impl Control {
    fn stamped(&mut self) -> (*mut libc::c_void, usize) {
        (std::ptr::from_mut(&mut self.stamp).cast(), size_of::<StampControl>())
    }

    fn segmented(&mut self, size: u16) -> (*mut libc::c_void, usize) {
        self.segment.size = size;
        (std::ptr::from_mut(&mut self.segment).cast(), size_of::<SegmentControl>())
    }

    fn both(&mut self, size: u16) -> (*mut libc::c_void, usize) {
        self.segment.size = size;
        (std::ptr::from_mut(self).cast(), size_of::<Control>())
    }
}

/// Asks for a stamp of the departure.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct StampControl {
    header: libc::cmsghdr,
    flags: u32,
    padding: u32,
}

/// Asks for segmentation.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct SegmentControl {
    header: libc::cmsghdr,
    size: u16,
    padding: [u16; 3],
}

impl Default for Control {
    fn default() -> Self {
        let header = |level, kind, length: usize| libc::cmsghdr {
            cmsg_len: size_of::<libc::cmsghdr>() + length,
            cmsg_level: level,
            cmsg_type: kind,
        };
        Control {
            stamp: StampControl {
                header: header(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, size_of::<u32>()),
                flags: libc::SOF_TIMESTAMPING_TX_SOFTWARE,
                padding: 0,
            },
            segment: SegmentControl {
                header: header(libc::SOL_UDP, libc::UDP_SEGMENT, size_of::<u16>()),
                size: 0,
                padding: [0; 3],
            },
        }
    }
}
