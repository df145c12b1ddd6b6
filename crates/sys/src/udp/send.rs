//! Sending: a batch in as few headers as its lengths allow.

use std::mem::offset_of;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use super::Messages;
use super::address::{Addresses, RawAddress};
use super::runs::{Run, Runs, Sent};

/// Sends batches of packets.
pub struct Sender {
    runs: Runs,
    iovecs: Box<[libc::iovec]>,
    controls: Box<[Control]>,
    peers: Box<[RawAddress]>,
    /// Where [`send`](Self::send) sends to; `None` for a connected socket.
    destination: Option<SocketAddr>,
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
            destination: None,
        }
    }

    /// The same sender for sockets that are not connected: [`send`](Self::send) sends to `destination`.
    #[must_use]
    pub fn to(self, destination: SocketAddr) -> Self {
        Sender { destination: Some(destination), ..self }
    }

    /// Sends without blocking over a socket that is connected, or to the destination of this sender.
    pub fn send(&mut self, socket: &impl AsFd, messages: Messages<'_>) -> Sent {
        self.send_stamped(socket, messages, NONE)
    }

    /// The same, and asks the kernel to note when message number `stamped` leaves this host: the note comes through the
    /// socket's [error queue](super::ErrorQueue), if the socket may have one
    /// ([`stamp_departures`](crate::socket::stamp_departures)). A run of messages leaves as one.
    pub fn send_stamped(&mut self, socket: &impl AsFd, messages: Messages<'_>, stamped: usize) -> Sent {
        let to = self.destination.map(Addresses::from);
        self.send_all(socket, messages, |_| to, stamped)
    }

    /// Sends each message to its own peer, from the address that it is to come from, without blocking; `to` is as long
    /// as `messages`.
    pub fn send_to(&mut self, socket: &impl AsFd, messages: Messages<'_>, to: &[Addresses]) -> Sent {
        self.send_all(socket, messages, |i| to.get(i).copied(), NONE)
    }

    fn send_all(
        &mut self,
        socket: &impl AsFd,
        messages: Messages<'_>,
        to: impl Fn(usize) -> Option<Addresses>,
        stamped: usize,
    ) -> Sent {
        let Sender { runs, iovecs, controls, peers, .. } = self;
        let lay_out = |Run { number, first, count }: Run, header: &mut libc::msghdr| {
            let bytes = messages.run(first, count);
            iovecs[number] = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
            header.msg_iov = &mut iovecs[number];
            header.msg_iovlen = 1;
            let to = to(first);
            (header.msg_name, header.msg_namelen) = match to {
                Some(to) => peers[number].set(to.peer),
                None => (std::ptr::null_mut(), 0),
            };
            let segment = (count > 1).then(|| messages.get(first).len() as u16);
            let is_stamped = stamped.wrapping_sub(first) < count;
            let local = to.and_then(|to| to.local);
            let (control, length) = controls[number].set(is_stamped, segment, local);
            (header.msg_control, header.msg_controllen) = (control, length as _);
        };
        // SAFETY: the headers point to `messages`, borrowed by the caller, and to arrays of ours.
        unsafe { runs.send(socket.as_fd(), messages, |a, b| to(a) == to(b), lay_out) }
    }
}

/// No message is stamped.
const NONE: usize = usize::MAX;

/// The control messages of one header, laid out as the kernel reads them, one after the other: some of them that follow
/// one another are passed to it.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control {
    stamp: StampControl,
    segment: SegmentControl,
    local: LocalControl,
}

impl Control {
    /// The control messages that ask for these, as pointer and length: a stamp, segments of this length, and a source
    /// address. A stamp and a source address go together only with segments; without them there is no stamp.
    #[inline]
    fn set(
        &mut self,
        is_stamped: bool,
        segment: Option<u16>,
        local: Option<IpAddr>,
    ) -> (*mut libc::c_void, usize) {
        let start = match (is_stamped, segment, local) {
            (false, None, None) => return (std::ptr::null_mut(), 0),
            (true, Some(_), _) | (true, None, None) => offset_of!(Control, stamp),
            (false, Some(_), _) => offset_of!(Control, segment),
            (_, None, Some(_)) => offset_of!(Control, local),
        };
        if let Some(size) = segment {
            self.segment.size = size;
        }
        let end = match (local, segment) {
            (Some(local), _) => offset_of!(Control, local) + self.local.set(local),
            (None, Some(_)) => offset_of!(Control, local),
            (None, None) => offset_of!(Control, segment),
        };
        (std::ptr::from_mut(self).wrapping_byte_add(start).cast(), end - start)
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

/// Says which address the datagram is to come from.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct LocalControl {
    header: libc::cmsghdr,
    /// A `struct in_pktinfo` or `in6_pktinfo`.
    data: [u8; 24],
}

impl LocalControl {
    /// Returns the octets that the control message takes.
    fn set(&mut self, local: IpAddr) -> usize {
        // The interface is 0, which leaves it to the route, or to the scope of the peer.
        self.data = [0; 24];
        let (level, kind, length) = match local {
            IpAddr::V4(address) => {
                self.data[4..8].copy_from_slice(&address.octets());
                (libc::SOL_IP, libc::IP_PKTINFO, size_of::<libc::in_pktinfo>())
            }
            IpAddr::V6(address) => {
                self.data[..16].copy_from_slice(&address.octets());
                (libc::SOL_IPV6, libc::IPV6_PKTINFO, size_of::<libc::in6_pktinfo>())
            }
        };
        self.header = control_header(level, kind, length);
        (size_of::<libc::cmsghdr>() + length).next_multiple_of(8)
    }
}

/// The header of a control message with this many octets of data.
fn control_header(level: i32, kind: i32, length: usize) -> libc::cmsghdr {
    // SAFETY: all-zero is a valid cmsghdr; in musl's a part of the length that the kernel reads is padding.
    let mut header: libc::cmsghdr = unsafe { std::mem::zeroed() };
    header.cmsg_len = (size_of::<libc::cmsghdr>() + length) as _;
    (header.cmsg_level, header.cmsg_type) = (level, kind);
    header
}

impl Default for Control {
    fn default() -> Self {
        Control {
            stamp: StampControl {
                header: control_header(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, size_of::<u32>()),
                flags: libc::SOF_TIMESTAMPING_TX_SOFTWARE,
                padding: 0,
            },
            segment: SegmentControl {
                header: control_header(libc::SOL_UDP, libc::UDP_SEGMENT, size_of::<u16>()),
                size: 0,
                padding: [0; 3],
            },
            local: LocalControl { header: control_header(libc::SOL_IP, libc::IP_PKTINFO, 0), data: [0; 24] },
        }
    }
}
