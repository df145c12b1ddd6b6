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
    controls: Box<[SegmentControl]>,
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
            controls: vec![SegmentControl::default(); batch].into(),
            peers: vec![RawAddress::default(); batch].into(),
        }
    }

    /// Sends over a connected socket without blocking.
    pub fn send(&mut self, socket: &impl AsFd, messages: Messages<'_>) -> Sent {
        self.send_all(socket, messages, |_| None)
    }

    /// Sends each message to its own peer without blocking; `peers` is as long as `messages`.
    pub fn send_to(&mut self, socket: &impl AsFd, messages: Messages<'_>, peers: &[SocketAddr]) -> Sent {
        self.send_all(socket, messages, |i| peers.get(i).copied())
    }

    fn send_all(
        &mut self,
        socket: &impl AsFd,
        messages: Messages<'_>,
        peer_of: impl Fn(usize) -> Option<SocketAddr>,
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
            (header.msg_control, header.msg_controllen) = if count > 1 {
                controls[number].set(messages.get(first).len() as u16)
            } else {
                (std::ptr::null_mut(), 0)
            };
        };
        // SAFETY: the headers point to `messages`, borrowed by the caller, and to arrays of ours.
        unsafe { runs.send(socket.as_fd(), messages, |a, b| peer_of(a) == peer_of(b), lay_out) }
    }
}

/// A control message that asks for segmentation, laid out as the kernel reads it.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct SegmentControl {
    header: libc::cmsghdr,
    size: u16,
    padding: [u16; 3],
}

impl SegmentControl {
    fn set(&mut self, size: u16) -> (*mut libc::c_void, usize) {
        self.size = size;
        (std::ptr::from_mut(self).cast(), size_of::<SegmentControl>())
    }
}

impl Default for SegmentControl {
    fn default() -> Self {
        let header = libc::cmsghdr {
            cmsg_len: size_of::<libc::cmsghdr>() + size_of::<u16>(),
            cmsg_level: libc::SOL_UDP,
            cmsg_type: libc::UDP_SEGMENT,
        };
        SegmentControl { header, size: 0, padding: [0; 3] }
    }
}
