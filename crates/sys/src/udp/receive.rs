//! Receiving: many packets a call, cut where the kernel had joined them.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

use super::address::RawAddress;

/// Receives batches of packets.
pub struct Receiver {
    buffers: Box<[u8]>,
    headers: Box<[libc::mmsghdr]>,
    iovecs: Box<[libc::iovec]>,
    controls: Box<[GroControl]>,
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
            controls: vec![GroControl::default(); batch].into(),
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
    /// Returns the number of pieces (see [`packets`](Self::packets)). A full batch says that more
    /// may wait. Errors are those of the socket, an ICMP error told to a connected one included.
    pub fn receive(&mut self, socket: &impl AsFd) -> io::Result<usize> {
        for header in &mut self.headers[..self.filled] {
            header.msg_hdr.msg_namelen = size_of::<RawAddress>() as libc::socklen_t;
            header.msg_hdr.msg_controllen = size_of::<GroControl>();
        }
        self.filled = 0;
        // SAFETY: every header points to buffers of this struct with their true lengths; the
        // timeout is null, which is allowed.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
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
    /// the index of its piece, for [`peer`](Self::peer).
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

    /// Who sent piece `i` of the last call.
    pub fn peer(&self, i: usize) -> Option<SocketAddr> {
        self.peers.get(i).and_then(RawAddress::get)
    }

    /// The size of the packets in piece `i`, where the kernel joined several.
    #[inline]
    fn segment_size(&self, i: usize) -> Option<usize> {
        let header = &self.headers[i].msg_hdr;
        if header.msg_controllen < size_of::<libc::cmsghdr>() {
            return None;
        }
        let control = &self.controls[i];
        let is_gro = control.header.cmsg_level == libc::SOL_UDP && control.header.cmsg_type == libc::UDP_GRO;
        (is_gro && control.size > 0).then_some(control.size as usize)
    }
}

/// Room for the control message that tells the size of joined packets.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct GroControl {
    header: libc::cmsghdr,
    size: i32,
    padding: i32,
}

impl Default for GroControl {
    fn default() -> Self {
        let header = libc::cmsghdr { cmsg_len: 0, cmsg_level: 0, cmsg_type: 0 };
        GroControl { header, size: 0, padding: 0 }
    }
}

/// Distance of two receive buffers: a whole UDP packet, and a cache line more so that the starts
/// of the buffers do not all compete for the same set of the cache.
const BUFFER_STRIDE: usize = 65_536 + 64;
