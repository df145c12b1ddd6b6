//! Packets with headers of our own, sent through the kernel's network device layer.
//!
//! ```text
//!   one call   [ for the kernel | Ethernet IP UDP | message 1 | message 2 | ... ]
//!   the wire   [ Ethernet IP UDP | message 1 ] [ Ethernet IP UDP | message 2 ] ...
//! ```
//!
//! Where a driver has to copy, AF_XDP sends packet by packet, each with a round through the whole
//! stack of its own. A packet socket takes messages of one length as one long packet, which is cut
//! behind the stack (UDP segmentation offload), so the rounds are shared.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use crate::checked;
use crate::interface::Interface;
use crate::udp::{Messages, Run, Runs, Sent};

/// Room for the headers of a packet: Ethernet, a tag, IPv6, UDP, and some.
pub const HEADER_ROOM: usize = 80;

/// A packet socket of one interface.
pub struct PacketSender {
    fd: OwnedFd,
    heads: Box<[Head]>,
    iovecs: Box<[[libc::iovec; 2]]>,
    runs: Runs,
}

// SAFETY: the raw pointers in the headers are written anew by each call, from memory that this
// call borrows; between calls they are not read, so they may move to another thread.
unsafe impl Send for PacketSender {}

/// The headers before the messages of a run.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Head {
    /// Puts the end of the kernel's header on a multiple of eight.
    padding: [u8; 6],
    kernel: VirtioNetHeader,
    frame: [u8; HEADER_ROOM],
}

/// `struct virtio_net_hdr`: the work that is left to the kernel.
#[repr(C)]
#[derive(Clone, Copy)]
struct VirtioNetHeader {
    flags: u8,
    gso_type: u8,
    header_length: u16,
    segment_size: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

impl PacketSender {
    /// A sender of up to `batch` messages a call. Needs the privilege to open packet sockets.
    pub fn open(interface: &Interface, batch: usize) -> io::Result<Self> {
        // Protocol 0: nothing is received.
        // SAFETY: the call takes no pointer.
        let fd = checked(unsafe {
            libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0)
        })?;
        // SAFETY: the kernel just made the descriptor for us, it has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        crate::socket::set(&fd, libc::SOL_PACKET, PACKET_VNET_HDR, 1)?;
        crate::socket::set_send_buffer(&fd, SEND_BUFFER)?;
        bind(&fd, interface)?;
        let empty = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Ok(PacketSender {
            fd,
            heads: vec![Head::EMPTY; batch].into(),
            iovecs: vec![[empty; 2]; batch].into(),
            runs: Runs::new(batch, true),
        })
    }

    /// Sends without blocking.
    ///
    /// `write_header` gets a number of payload bytes, writes the headers up to and with UDP of a
    /// packet of so many, the sum of the pseudo header standing for the UDP checksum, and says how
    /// long they are.
    pub fn send(
        &mut self,
        messages: Messages<'_>,
        write_header: impl Fn(usize, &mut [u8; HEADER_ROOM]) -> usize,
    ) -> Sent {
        let PacketSender { fd, heads, iovecs, runs } = self;
        let lay_out = |Run { number, first, count }: Run, header: &mut libc::msghdr| {
            let bytes = messages.run(first, count);
            let head = &mut heads[number];
            let length = write_header(bytes.len(), &mut head.frame).clamp(UDP_LENGTH, HEADER_ROOM);
            head.kernel = VirtioNetHeader::new(length, messages.get(first).len(), count);
            let start =
                std::ptr::from_mut(head).cast::<u8>().wrapping_add(std::mem::offset_of!(Head, kernel));
            iovecs[number] = [
                libc::iovec { iov_base: start.cast(), iov_len: size_of::<VirtioNetHeader>() + length },
                libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() },
            ];
            header.msg_iov = iovecs[number].as_mut_ptr();
            header.msg_iovlen = 2;
        };
        // SAFETY: the headers point to `messages`, borrowed by the caller, and to arrays of ours.
        unsafe { runs.send(fd.as_fd(), messages, |_, _| true, lay_out) }
    }
}

impl Head {
    const EMPTY: Self = Head {
        padding: [0; 6],
        kernel: VirtioNetHeader {
            flags: 0,
            gso_type: 0,
            header_length: 0,
            segment_size: 0,
            checksum_start: 0,
            checksum_offset: 0,
        },
        frame: [0; HEADER_ROOM],
    };
}

impl VirtioNetHeader {
    /// For `count` messages of `message` bytes behind `headers` bytes.
    fn new(headers: usize, message: usize, count: usize) -> Self {
        let is_cut = count > 1;
        VirtioNetHeader {
            flags: VIRTIO_NET_HDR_F_NEEDS_CSUM,
            gso_type: if is_cut { VIRTIO_NET_HDR_GSO_UDP_L4 } else { 0 },
            header_length: headers as u16,
            segment_size: if is_cut { message as u16 } else { 0 },
            checksum_start: (headers - UDP_LENGTH) as u16,
            checksum_offset: 6,
        }
    }
}

fn bind(fd: &OwnedFd, interface: &Interface) -> io::Result<()> {
    // SAFETY: all-zero is a valid value of this struct of integers.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_ifindex = interface.index() as i32;
    // SAFETY: the address is valid for reads of the given length.
    checked(unsafe {
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length)
    })?;
    Ok(())
}

/// Bytes of a UDP header.
const UDP_LENGTH: usize = 8;

/// Space for packets that wait to be sent.
const SEND_BUFFER: usize = 4 << 20;

/// `linux/if_packet.h`.
const PACKET_VNET_HDR: i32 = 15;

/// `linux/virtio_net.h`.
const VIRTIO_NET_HDR_F_NEEDS_CSUM: u8 = 1;
const VIRTIO_NET_HDR_GSO_UDP_L4: u8 = 5;
