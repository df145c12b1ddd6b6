//! A batch as runs: messages of one length share a header, and the kernel cuts them apart.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::Messages;

/// The headers of one `sendmmsg`, a run of messages each.
pub(crate) struct Runs {
    headers: Box<[libc::mmsghdr]>,
    /// How many messages each header of the current call carries.
    lengths: Box<[u32]>,
    segment: bool,
}

/// What became of a batch.
#[derive(Debug)]
pub struct Sent {
    /// The first so many messages were taken by the kernel.
    pub accepted: usize,
    /// Why the next one was not; `None` where all were taken.
    pub error: Option<io::Error>,
}

impl Runs {
    /// Headers for up to `batch` runs; `segment` where the interface can segment.
    pub(crate) fn new(batch: usize, segment: bool) -> Self {
        // SAFETY: all-zero is a valid value of this C struct (null pointers, zero lengths).
        let header: libc::mmsghdr = unsafe { std::mem::zeroed() };
        Runs { headers: vec![header; batch].into(), lengths: vec![0; batch].into(), segment }
    }

    /// Calls the kernel, without blocking, until all messages are taken or one is refused.
    ///
    /// `same_peer` says whether two messages go the same way. `lay_out` makes the header of run
    /// number `run`, of `count` messages from `first` on.
    ///
    /// # Safety
    /// What `lay_out` has a header point to must be valid until the next call of `send`.
    pub(crate) unsafe fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        messages: Messages<'_>,
        same_peer: impl Fn(usize, usize) -> bool,
        mut lay_out: impl FnMut(Run, &mut libc::msghdr),
    ) -> Sent {
        let mut accepted = 0;
        while accepted < messages.len() {
            let (mut first, mut number) = (accepted, 0);
            while first < messages.len() && number < self.headers.len() {
                let count = match self.segment {
                    true => equal_run(messages, first, |i| same_peer(first, i)),
                    false => 1,
                };
                lay_out(Run { number, first, count }, &mut self.headers[number].msg_hdr);
                self.lengths[number] = count as u32;
                first += count;
                number += 1;
            }
            // SAFETY: the first `number` headers are ours, and point to what the caller answers for.
            // The kernel only reads it, but for msg_len of our headers.
            let taken = unsafe {
                let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
                // The call itself: musl's function sends the messages one by one.
                libc::syscall(
                    libc::SYS_sendmmsg,
                    socket.as_raw_fd(),
                    self.headers.as_mut_ptr(),
                    number as libc::c_uint,
                    flags,
                )
            };
            if taken > 0 {
                accepted += self.lengths[..taken as usize].iter().sum::<u32>() as usize;
                continue;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The way out cannot cut packets (no checksum offload, a tunnel, a segment longer
                // than its MTU, a packet socket before 6.2): the caller gets single packets
                // from now on.
                Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE) if self.lengths[0] > 1 => {
                    self.segment = false;
                }
                _ => return Sent { accepted, error: Some(error) },
            }
        }
        Sent { accepted, error: None }
    }
}

/// Messages that share a header.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    /// Which header of the call.
    pub(crate) number: usize,
    /// The first message.
    pub(crate) first: usize,
    /// How many there are.
    pub(crate) count: usize,
}

/// How many messages from `first` on have its length and may share its header: all of one size,
/// within what the kernel cuts at once. (A shorter last one would be allowed too; it is left to
/// the next run so that a refused packet has one size.)
fn equal_run(messages: Messages<'_>, first: usize, same_peer: impl Fn(usize) -> bool) -> usize {
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

/// Packets that one send may be cut into; kernels before 6.9 refuse more.
const MOST_SEGMENTS: usize = 64;

/// Bytes of one such send: a UDP packet's most, less the longest headers.
const MOST_SEGMENTED_BYTES: usize = 65_000;
