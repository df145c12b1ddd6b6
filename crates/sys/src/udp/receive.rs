//! Receiving: many packets a call, cut where the kernel had joined them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd};

use super::address::{Addresses, RawAddress};

/// Receives batches of packets.
pub struct Receiver {
    buffers: Box<[u8]>,
    headers: Box<[libc::mmsghdr]>,
    iovecs: Box<[libc::iovec]>,
    controls: Box<[Control]>,
    peers: Box<[RawAddress]>,
    /// Headers that the last call filled, to be made ready again by the next.
    filled: usize,
}

// SAFETY: the raw pointers lead only to boxed arrays of the same struct, which move with it.
unsafe impl Send for Receiver {}

impl Receiver {
    /// A receiver for up to `batch` pieces a call, each as long as a UDP packet can be.
    pub fn new(batch: usize) -> Self {
        // SAFETY: all-zero is a valid value of these C structs (null pointers, zero lengths).
        let (header, iovec): (libc::mmsghdr, libc::iovec) = unsafe { std::mem::zeroed() };
        let mut receiver = Receiver {
            buffers: vec![0; batch * BUFFER_STRIDE].into(),
            headers: vec![header; batch].into(),
            iovecs: vec![iovec; batch].into(),
            controls: vec![Control::default(); batch].into(),
            peers: vec![RawAddress::default(); batch].into(),
            filled: batch,
        };
        for (i, buffer) in receiver.buffers.chunks_exact_mut(BUFFER_STRIDE).enumerate() {
            receiver.iovecs[i] = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: BUFFER_STRIDE };
            let header = &mut receiver.headers[i].msg_hdr;
            header.msg_iov = &mut receiver.iovecs[i];
            header.msg_iovlen = 1;
            header.msg_name = std::ptr::from_mut(&mut receiver.peers[i]).cast();
            header.msg_control = std::ptr::from_mut(&mut receiver.controls[i]).cast();
        }
        receiver
    }

    /// Takes what waits at the socket, without blocking; `Ok(0)` where nothing does.
    ///
    /// Returns the number of pieces (see [`packets`](Self::packets)). After a full batch more may
    /// wait. Errors are those of the socket, including ICMP errors of a connected one.
    pub fn receive(&mut self, socket: &impl AsFd) -> io::Result<usize> {
        for header in &mut self.headers[..self.filled] {
            header.msg_hdr.msg_namelen = size_of::<RawAddress>() as libc::socklen_t;
            header.msg_hdr.msg_controllen = size_of::<Control>() as _;
        }
        self.filled = 0;
        // SAFETY: every header points to buffers of this struct with their true lengths; the
        // timeout is null, which is allowed.
        let received = unsafe {
            libc::syscall(
                libc::SYS_recvmmsg,
                socket.as_fd().as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut::<libc::timespec>(),
            )
        };
        if received < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
                _ => Err(error),
            };
        }
        self.filled = received as usize;
        Ok(self.filled)
    }

    /// Whether the last call filled every buffer, so that more may wait.
    pub fn is_full(&self) -> bool {
        self.filled == self.headers.len()
    }

    /// The packets of the last call, in order, cut where the kernel had joined them; each with
    /// the index of its piece, for [`addresses`](Self::addresses).
    #[inline]
    pub fn packets(&self) -> impl Iterator<Item = (usize, &[u8])> + '_ {
        (0..self.filled).flat_map(move |i| {
            let length = (self.headers[i].msg_len as usize).min(BUFFER_STRIDE);
            let bytes = &self.buffers[i * BUFFER_STRIDE..][..length];
            let segment = self.segment_size(i).unwrap_or(length);
            // An empty packet is a packet too, and has no chunk.
            let empty = (length == 0).then_some(bytes);
            empty.into_iter().chain(bytes.chunks(segment.max(1))).map(move |packet| (i, packet))
        })
    }

    /// Who sent piece `i` of the last call, and to which address.
    #[inline]
    pub fn addresses(&self, i: usize) -> Option<Addresses> {
        let peer = self.peers.get(i).and_then(RawAddress::get)?;
        Some(Addresses { peer, local: self.local(i) })
    }

    /// The address of this host that piece `i` was sent to. The kernel reports an IPv4 address at an IPv6 socket in
    /// its mapped form, and takes it so from a sender.
    fn local(&self, i: usize) -> Option<IpAddr> {
        if let Some(data) = self.control(i, libc::SOL_IP, libc::IP_PKTINFO) {
            // struct in_pktinfo: interface, address of ours, destination. After a broadcast the latter is not ours.
            let (address, _) = data.get(4..)?.split_first_chunk::<4>()?;
            return Some(Ipv4Addr::from(*address).into());
        }
        let (address, _) = self.control(i, libc::SOL_IPV6, libc::IPV6_PKTINFO)?.split_first_chunk::<16>()?;
        Some(Ipv6Addr::from(*address)).filter(|address| !address.is_multicast()).map(IpAddr::from)
    }

    /// When piece `i` of the last call reached this host, on the wall clock, in nanoseconds; `None`
    /// without [`stamp_arrivals`](crate::socket::stamp_arrivals).
    #[inline]
    pub fn arrival_wall_ns(&self, i: usize) -> Option<u64> {
        let data = self.control(i, libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS)?;
        // struct timespec: seconds and nanoseconds, 64 bits each.
        let (seconds, rest) = data.split_first_chunk()?;
        let (nanoseconds, _) = rest.split_first_chunk()?;
        let (seconds, nanoseconds) = (i64::from_ne_bytes(*seconds), i64::from_ne_bytes(*nanoseconds));
        Some(seconds as u64 * 1_000_000_000 + nanoseconds as u64)
    }

    /// The size of the packets in piece `i`, where the kernel joined several.
    #[inline]
    fn segment_size(&self, i: usize) -> Option<usize> {
        let (size, _) = self.control(i, libc::SOL_UDP, libc::UDP_GRO)?.split_first_chunk()?;
        usize::try_from(i32::from_ne_bytes(*size)).ok().filter(|size| *size > 0)
    }

    /// The data of the control message of this kind that came with piece `i`.
    #[inline]
    fn control(&self, i: usize, level: i32, kind: i32) -> Option<&[u8]> {
        let length: usize = self.headers[i].msg_hdr.msg_controllen as _;
        let mut rest = &self.controls[i].0[..length.min(size_of::<Control>())];
        // struct cmsghdr: length of itself and its data, level, type; padded to eight bytes.
        while let Some((header, _)) = rest.split_first_chunk::<CONTROL_HEADER>() {
            let word =
                |at: usize| i32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
            let (length, _) = header.split_first_chunk()?;
            let length = usize::from_ne_bytes(*length);
            if (word(8), word(12)) == (level, kind) {
                return rest.get(CONTROL_HEADER..length);
            }
            rest = rest.get(length.max(CONTROL_HEADER).next_multiple_of(8)..)?;
        }
        None
    }
}

/// Space for the control messages with the time of receipt, with the stamps that a kernel before 6.12 adds where
/// departures are stamped, with the size of joined packets, and with the address that they were sent to.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; 192]);

impl Default for Control {
    fn default() -> Self {
        Control([0; 192])
    }
}

/// Bytes of a `struct cmsghdr` where a long has eight.
const CONTROL_HEADER: usize = size_of::<libc::cmsghdr>();

/// Distance of two receive buffers: a whole UDP packet, and a cache line more so that the starts
/// of the buffers do not all compete for the same set of the cache.
const BUFFER_STRIDE: usize = 65_536 + 64;
