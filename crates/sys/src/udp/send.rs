//! Sending: a batch in as few headers as its lengths allow.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

use super::Messages;
use super::address::RawAddress;

/// Sends batches of packets.
pub struct Sender {
    headers: Box<[libc::mmsghdr]>,
    iovecs: Box<[libc::iovec]>,
    controls: Box<[SegmentControl]>,
    peers: Box<[RawAddress]>,
    /// How many messages each header carries, of the call under way.
    run_lengths: Box<[u32]>,
    segment: bool,
}

// SAFETY: the raw pointers in the headers are written anew by each call, from memory that this
// call borrows; between calls nobody reads them, so they may move to another thread.
unsafe impl Send for Sender {}

/// What became of a batch.
#[derive(Debug)]
pub struct Sent {
    /// The first so many messages were taken by the kernel.
    pub accepted: usize,
    /// Why the next one was not; `None` where all were taken.
    pub error: Option<io::Error>,
}

impl Sender {
    /// A sender for up to `batch` packets a call; `segment` where the socket can do GSO.
    pub fn new(batch: usize, segment: bool) -> Self {
        // SAFETY: all-zero is a valid value of these C structs (null pointers, zero lengths).
        let (header, iovec): (libc::mmsghdr, libc::iovec) = unsafe { std::mem::zeroed() };
        Sender {
            headers: vec![header; batch].into(),
            iovecs: vec![iovec; batch].into(),
            controls: vec![SegmentControl::default(); batch].into(),
            peers: vec![RawAddress::default(); batch].into(),
            run_lengths: vec![0; batch].into(),
            segment,
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

    /// Calls the kernel until all messages are taken or one is refused.
    fn send_all(
        &mut self,
        socket: &impl AsFd,
        messages: Messages<'_>,
        peer_of: impl Fn(usize) -> Option<SocketAddr>,
    ) -> Sent {
        let mut accepted = 0;
        while accepted < messages.len() {
            let runs = self.fill_headers(messages, accepted, &peer_of);
            // SAFETY: the first `runs` headers point to memory that outlives the call: `messages`
            // (borrowed by the caller) and our own arrays. The kernel only reads it, but for
            // msg_len of our headers.
            let taken = unsafe {
                libc::sendmmsg(
                    socket.as_fd().as_raw_fd(),
                    self.headers.as_mut_ptr(),
                    runs as libc::c_uint,
                    libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
                )
            };
            if taken > 0 {
                accepted += self.run_lengths[..taken as usize].iter().sum::<u32>() as usize;
                continue;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The way to the peer cannot cut packets (no checksum offload, a tunnel, a
                // segment longer than its MTU): whoever needs it gets single packets from now on.
                Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE) if self.run_lengths[0] > 1 => {
                    self.segment = false;
                }
                _ => return Sent { accepted, error: Some(error) },
            }
        }
        Sent { accepted, error: None }
    }

    /// Lays out headers for the messages from `first` on; returns how many headers.
    fn fill_headers(
        &mut self,
        messages: Messages<'_>,
        first: usize,
        peer_of: &impl Fn(usize) -> Option<SocketAddr>,
    ) -> usize {
        let (mut at, mut run) = (first, 0);
        while at < messages.len() && run < self.headers.len() {
            let peer = peer_of(at);
            let count = if self.segment { equal_run(messages, at, |i| peer_of(i) == peer) } else { 1 };
            let bytes = messages.run(at, count);
            self.iovecs[run] =
                libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
            self.run_lengths[run] = count as u32;
            let header = &mut self.headers[run].msg_hdr;
            header.msg_iov = &mut self.iovecs[run];
            header.msg_iovlen = 1;
            (header.msg_name, header.msg_namelen) = match peer {
                Some(peer) => self.peers[run].set(peer),
                None => (std::ptr::null_mut(), 0),
            };
            (header.msg_control, header.msg_controllen) = if count > 1 {
                self.controls[run].set(messages.get(at).len() as u16)
            } else {
                (std::ptr::null_mut(), 0)
            };
            at += count;
            run += 1;
        }
        run
    }
}

/// How many messages from `first` on have its length and may share its header: all of one size,
/// within what the kernel cuts at once. (A shorter last one would be allowed too; it is left to
/// the next run so that a refused packet has one size.)
pub(crate) fn equal_run(messages: Messages<'_>, first: usize, same_peer: impl Fn(usize) -> bool) -> usize {
    let length = messages.get(first).len();
    if length == 0 {
        return 1;
    }
    let most = MOST_SEGMENTS.min(MOST_SEGMENTED_BYTES / length).max(1);
    let mut count = 1;
    while count < most
        && first + count < messages.len()
        && messages.get(first + count).len() == length
        && same_peer(first + count)
    {
        count += 1;
    }
    count
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

/// Packets that one send may be cut into; kernels before 6.9 refuse more.
const MOST_SEGMENTS: usize = 64;

/// Bytes of one such send: a UDP packet's most, less the longest headers.
const MOST_SEGMENTED_BYTES: usize = 65_000;
