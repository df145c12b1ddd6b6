//! UDP in batches: many packets a system call, and many packets a trip through the stack.
//!
//! ```text
//!  messages back to back          runs of equal length           one sendmmsg
//!  |33|33|33|33|41|41|28|  ──►  |33 33 33 33|41 41|28|  ──►  3 headers; a run of several
//!                                                            carries UDP_SEGMENT = its length
//! ```
//!
//! A run crosses the stack once and is cut at its end (UDP GSO); on the other side UDP GRO hands
//! over what came in one piece, and [`Receiver`] cuts it again. Where the kernel has neither,
//! the same calls move one packet a header.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};

/// Messages that lie back to back: message `i` ends at `ends[i]` and starts where the one
/// before it ends.
#[derive(Clone, Copy, Debug)]
pub struct Messages<'a> {
    /// The bytes of all messages.
    bytes: &'a [u8],
    /// The end of each message in `bytes`, ascending.
    ends: &'a [u32],
    /// Where the first message starts.
    first: usize,
}

impl<'a> Messages<'a> {
    /// Messages that fill `bytes` up to the last of `ends`, which ascend.
    pub fn new(bytes: &'a [u8], ends: &'a [u32]) -> Self {
        Messages { bytes, ends, first: 0 }
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The messages after the first `count`.
    pub fn skip(self, count: usize) -> Messages<'a> {
        // The ends stay those of the whole buffer, so the start of the first is kept beside them.
        Messages { first: self.start(count), ends: &self.ends[count..], ..self }
    }

    /// Where message `i` starts; `i` may be the number of messages (the end of the last).
    fn start(&self, i: usize) -> usize {
        if i == 0 { self.first } else { self.ends[i - 1] as usize }
    }

    /// The bytes of message `i`.
    pub fn get(&self, i: usize) -> &'a [u8] {
        &self.bytes[self.start(i)..self.ends[i] as usize]
    }
}

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
            let (start, end) = (messages.start(at), messages.ends[at + count - 1] as usize);
            let bytes = &messages.bytes[start..end];
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
    /// Returns the number of pieces (see [`pieces`](Self::pieces)). A full batch says that more
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

/// Reads ICMP errors, each with the start of the packet that caused it.
pub struct ErrorQueue {
    packet: Box<[u8]>,
    control: Box<[u64]>,
}

/// One ICMP error (or local error) told to a socket.
#[derive(Clone, Copy, Debug)]
pub struct Refusal<'a> {
    /// The error number, such as `ECONNREFUSED` for "port unreachable".
    pub errno: i32,
    /// The start of the UDP payload that it is about, as far as ICMP quoted it.
    pub quoted: &'a [u8],
}

impl ErrorQueue {
    /// Room for one error.
    pub fn new() -> Self {
        ErrorQueue { packet: vec![0; 65_536].into(), control: vec![0; 64].into() }
    }

    /// Takes the next error from the socket's queue; `None` where there is none.
    pub fn next(&mut self, socket: &impl AsFd) -> Option<Refusal<'_>> {
        let mut iovec = libc::iovec { iov_base: self.packet.as_mut_ptr().cast(), iov_len: self.packet.len() };
        // SAFETY: all-zero is a valid msghdr.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = &mut iovec;
        header.msg_iovlen = 1;
        header.msg_control = self.control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&*self.control);
        // SAFETY: the header points to buffers of this struct with their true lengths.
        let length = unsafe {
            libc::recvmsg(socket.as_fd().as_raw_fd(), &mut header, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT)
        };
        if length < 0 {
            return None;
        }
        let errno = extended_error(&header)?;
        Some(Refusal { errno, quoted: &self.packet[..length as usize] })
    }
}

impl Default for ErrorQueue {
    fn default() -> Self {
        Self::new()
    }
}

/// The errno of the `IP_RECVERR` control message.
fn extended_error(header: &libc::msghdr) -> Option<i32> {
    // SAFETY: the kernel filled the control buffer of `header` with whole control messages, and
    // set msg_controllen; the macros walk within it.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while !control.is_null() {
            let (level, kind) = ((*control).cmsg_level, (*control).cmsg_type);
            if (level == libc::SOL_IP && kind == libc::IP_RECVERR)
                || (level == libc::SOL_IPV6 && kind == libc::IPV6_RECVERR)
            {
                let error: libc::sock_extended_err =
                    std::ptr::read_unaligned(libc::CMSG_DATA(control).cast());
                return Some(error.ee_errno as i32);
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    None
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

/// A socket address as the kernel lays it out, IPv4 or IPv6.
#[repr(C)]
#[derive(Clone, Copy)]
union RawAddress {
    family: libc::sa_family_t,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl RawAddress {
    fn set(&mut self, address: SocketAddr) -> (*mut libc::c_void, libc::socklen_t) {
        let length = match address {
            SocketAddr::V4(v4) => {
                self.v4 = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                    sin_zero: [0; 8],
                };
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                self.v6 = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                size_of::<libc::sockaddr_in6>()
            }
        };
        (std::ptr::from_mut(self).cast(), length as libc::socklen_t)
    }

    fn get(&self) -> Option<SocketAddr> {
        // SAFETY: the union is always initialised (zeroed, or written by the kernel or `set`),
        // all its members are plain integers, and the family says which one was written.
        unsafe {
            match i32::from(self.family) {
                libc::AF_INET => {
                    let ip = Ipv4Addr::from(self.v4.sin_addr.s_addr.to_ne_bytes());
                    Some(SocketAddrV4::new(ip, u16::from_be(self.v4.sin_port)).into())
                }
                libc::AF_INET6 => {
                    let ip = Ipv6Addr::from(self.v6.sin6_addr.s6_addr);
                    let port = u16::from_be(self.v6.sin6_port);
                    Some(SocketAddrV6::new(ip, port, self.v6.sin6_flowinfo, self.v6.sin6_scope_id).into())
                }
                _ => None,
            }
        }
    }
}

impl Default for RawAddress {
    fn default() -> Self {
        // SAFETY: all-zero is a valid value of every member; family 0 is AF_UNSPEC.
        unsafe { std::mem::zeroed() }
    }
}

/// Packets that one send may be cut into; kernels before 6.9 refuse more.
const MOST_SEGMENTS: usize = 64;

/// Bytes of one such send: a UDP packet's most, less the longest headers.
const MOST_SEGMENTED_BYTES: usize = 65_000;

/// Distance of two receive buffers: a whole UDP packet, and a cache line more so that the starts
/// of the buffers do not all compete for the same set of the cache.
const BUFFER_STRIDE: usize = 65_536 + 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket;
    use std::net::UdpSocket;
    use std::time::{Duration, Instant};

    fn back_to_back(messages: &[Vec<u8>]) -> (Vec<u8>, Vec<u32>) {
        let mut ends = Vec::new();
        let mut bytes = Vec::new();
        for message in messages {
            bytes.extend_from_slice(message);
            ends.push(bytes.len() as u32);
        }
        (bytes, ends)
    }

    fn receive_all(receiver: &mut Receiver, socket: &UdpSocket, count: usize) -> Vec<(SocketAddr, Vec<u8>)> {
        let (mut packets, end) = (Vec::new(), Instant::now() + Duration::from_secs(5));
        while packets.len() < count && Instant::now() < end {
            receiver.receive(socket).unwrap();
            packets.extend(receiver.packets().map(|(i, bytes)| (receiver.peer(i).unwrap(), bytes.to_vec())));
        }
        packets
    }

    /// Messages of mixed lengths, an empty one and runs longer than a segment limit among them.
    fn mixed() -> Vec<Vec<u8>> {
        let lengths = [33; 70].into_iter().chain([41, 41, 28, 0, 28, 1200, 1200, 33]);
        lengths.enumerate().map(|(i, length)| vec![i as u8; length]).collect()
    }

    fn every_packet_arrives_whole(bind: &str, segment: bool, join: bool) {
        let (server, client) = (UdpSocket::bind(bind).unwrap(), UdpSocket::bind(bind).unwrap());
        client.connect(server.local_addr().unwrap()).unwrap();
        if join {
            assert!(socket::join_received(&server));
        }
        let messages = mixed();
        let (bytes, ends) = back_to_back(&messages);
        let batch = Messages::new(&bytes, &ends);
        let sent = Sender::new(128, segment).send(&client, batch);
        assert!(sent.error.is_none() && sent.accepted == messages.len(), "{sent:?}");
        let mut receiver = Receiver::new(16);
        let packets = receive_all(&mut receiver, &server, messages.len());
        let from = client.local_addr().unwrap();
        assert_eq!(packets, messages.into_iter().map(|m| (from, m)).collect::<Vec<_>>());
    }

    #[test]
    fn packets_arrive_whole_one_by_one() {
        every_packet_arrives_whole("127.0.0.1:0", false, false);
        every_packet_arrives_whole("[::1]:0", false, false);
    }

    #[test]
    fn packets_arrive_whole_when_cut_by_the_kernel() {
        every_packet_arrives_whole("127.0.0.1:0", true, false);
        every_packet_arrives_whole("[::1]:0", true, false);
    }

    #[test]
    fn packets_arrive_whole_when_joined_by_the_kernel() {
        every_packet_arrives_whole("127.0.0.1:0", true, true);
        every_packet_arrives_whole("[::1]:0", true, true);
    }

    #[test]
    fn each_answer_goes_to_its_own_peer() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let clients: Vec<_> = (0..3).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
        let peers: Vec<_> = [0, 0, 1, 2, 1].iter().map(|c| clients[*c].local_addr().unwrap()).collect();
        let (bytes, ends) = back_to_back(&(0..5u8).map(|i| vec![i; 40]).collect::<Vec<_>>());
        let sent = Sender::new(8, true).send_to(&server, Messages::new(&bytes, &ends), &peers);
        assert_eq!(sent.accepted, 5);
        let mut receiver = Receiver::new(4);
        let firsts = [vec![0u8, 1], vec![2, 4], vec![3]];
        for (client, expected) in clients.iter().zip(firsts) {
            let got = receive_all(&mut receiver, client, expected.len());
            assert_eq!(got.iter().map(|(_, bytes)| bytes[0]).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_closed_port_refuses_each_packet_by_name() {
        for (bind, ipv6) in [("127.0.0.1:0", false), ("[::1]:0", true)] {
            let closed = UdpSocket::bind(bind).unwrap().local_addr().unwrap();
            let client = UdpSocket::bind(bind).unwrap();
            client.connect(closed).unwrap();
            socket::report_icmp_errors(&client, ipv6).unwrap();
            client.send(b"first").unwrap();
            let end = Instant::now() + Duration::from_secs(5);
            let mut queue = ErrorQueue::new();
            let refused = loop {
                if let Some(refusal) = queue.next(&client) {
                    break (refusal.errno, refusal.quoted.to_vec());
                }
                assert!(Instant::now() < end, "no ICMP error came");
            };
            assert_eq!(refused, (libc::ECONNREFUSED, b"first".to_vec()));
            assert!(queue.next(&client).is_none());
        }
    }
}
