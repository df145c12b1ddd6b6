//! One AF_XDP socket: the four rings of a queue, and the frames that circulate in them.
//!
//! ```text
//!          ┌─ fill ───► kernel ─── rx ──► us ─┐          ┌─ tx ──► kernel ── completion ─► us ─┐
//!  frames ─┴──────────────── ◄────────────────┘  frames ─┴────────────────── ◄─────────────────┘
//! ```
//!
//! The first frames of the UMEM circulate on the left, the others on the right; none changes sides, so a
//! flood of responses cannot take the frames of the queries.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use super::ring::{Consumer, Producer};
use super::umem::Umem;
use super::{Attached, XdpError, other};
use crate::checked;
use crate::interface::Interface;

/// Whether packets are copied between driver and UMEM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyMode {
    /// Without a copy where the driver can.
    #[default]
    Auto,
    /// With a copy, by the kernel; every driver can.
    Copy,
    /// Without a copy, or not at all.
    ZeroCopy,
}

/// How a socket is to be.
#[derive(Clone, Copy, Debug)]
pub struct SocketConfig {
    /// The queue of the interface.
    pub queue: u32,
    /// Whether to copy. A program in generic mode can only copy.
    pub copy: CopyMode,
    /// Packets that may wait to be received: a power of two.
    pub rx_frames: u32,
    /// Packets that may wait to be sent: a power of two.
    pub tx_frames: u32,
    /// Bytes of a frame: 2,048 or 4,096. Of a received packet's, 256 are not for use.
    pub frame_size: u32,
}

impl SocketConfig {
    /// Places in each of the two rings on the sending side: twice as many as frames, for places that are
    /// cancelled.
    fn tx_places(&self) -> io::Result<u32> {
        self.tx_frames.checked_mul(2).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{} frames are too many", self.tx_frames))
        })
    }
}

/// What the kernel counted, since the socket was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets lost because no frame was free, or none was long enough.
    pub rx_dropped: u64,
    /// Packets lost because the rx ring was full.
    pub rx_ring_full: u64,
    /// How often the fill ring was found empty. In copy mode each is one packet in `rx_dropped`
    /// too; without a copy the network card may have had frames left, so it is not a count of
    /// packets.
    pub fill_ring_empty: u64,
}

/// What became of the packets written since the last flush.
#[derive(Debug)]
pub struct Flushed {
    /// The first so many were taken.
    pub accepted: usize,
    /// Why the next one was not; `None` where all were. The others have been taken back.
    pub error: Option<io::Error>,
}

/// One queue's rings. Its owner is one thread at a time.
pub struct Socket {
    // Dropped in this order: the rings' mappings, the socket, and only then the frames.
    rx: Consumer<libc::xdp_desc>,
    fill: Producer<u64>,
    tx: Producer<libc::xdp_desc>,
    completion: Consumer<u64>,
    fd: OwnedFd,
    umem: Umem,
    /// Frames of the tx side that are ours.
    free: Vec<u64>,
    queue: u32,
    zero_copy: bool,
    /// Places in the tx ring, at most, that were cancelled and not yet passed over.
    cancelled: u32,
    /// The last system call reported that the interface is down.
    is_down: bool,
}

// SAFETY: the raw pointers of the rings and the UMEM point to mappings that this value owns
// alone; nothing in it depends on the thread.
unsafe impl Send for Socket {}

impl Socket {
    /// Makes a socket and binds it to a queue. It receives packets once a program passes them to it.
    pub fn bind(interface: &Interface, attached: Attached, config: &SocketConfig) -> Result<Self, XdpError> {
        let name = interface.name();
        let fd = open().map_err(|error| refused_open(name, error))?;
        let umem = Umem::new(config.rx_frames, config.tx_frames, config.frame_size)
            .map_err(|error| other(name, "reserving memory", error))?;
        let tx_places = config.tx_places().map_err(|error| other(name, "making a ring", error))?;
        set_option(&fd, libc::XDP_UMEM_REG, &umem.registration())
            .map_err(|error| refused_memory(name, error))?;
        // As many places as frames go round on the ring's side, so the rings of the receiving side
        // are never full; on the sending side twice, for places that were cancelled.
        for (option, size) in [
            (libc::XDP_UMEM_FILL_RING, config.rx_frames),
            (libc::XDP_UMEM_COMPLETION_RING, tx_places),
            (libc::XDP_RX_RING, config.rx_frames),
            (libc::XDP_TX_RING, tx_places),
        ] {
            set_option(&fd, option, &size).map_err(|error| other(name, "making a ring", error))?;
        }
        let mut socket =
            map_rings(fd, umem, config, tx_places).map_err(|error| other(name, "mapping a ring", error))?;
        // In place before the queue is ours, so that the first packet finds a frame.
        for frame in 0..config.rx_frames {
            socket.fill.push(socket.umem.address(frame));
        }
        socket.fill.publish();
        bind_to_queue(&socket.fd, interface, attached, config)?;
        socket.zero_copy = is_zero_copy(&socket.fd);
        // More packets a system call than the kernel's 32, where it can (Linux 6.17); and room for
        // for packets that wait to be sent. Both only help, so a refusal is not an error.
        let _ = set_option(&socket.fd, XDP_MAX_TX_SKB_BUDGET, &MOST_A_CALL.min(config.tx_frames));
        let _ =
            crate::socket::set_send_buffer(&socket.fd, (config.tx_frames as usize).saturating_mul(SKB_BYTES));
        Ok(socket)
    }

    /// The queue that it is bound to.
    pub fn queue(&self) -> u32 {
        self.queue
    }

    /// Whether packets pass without a copy.
    pub fn is_zero_copy(&self) -> bool {
        self.zero_copy
    }

    /// Lets `fill` write a packet into a free frame and say how long it is; the packet leaves with
    /// the next [`flush`](Self::flush). False, without a call, where no frame is free.
    #[inline]
    pub fn write(&mut self, fill: impl FnOnce(&mut [u8]) -> usize) -> bool {
        if self.free.is_empty() {
            self.reclaim();
        }
        if self.tx.room() == 0 {
            return false;
        }
        let Some(address) = self.free.pop() else { return false };
        let Some(frame) = self.umem.frame_mut(address) else { return false };
        let length = fill(frame).min(frame.len());
        self.tx.push(libc::xdp_desc { addr: address, len: length as u32, options: 0 })
    }

    /// Sends what was written.
    pub fn flush(&mut self) -> Flushed {
        let flushed = self.flush_written();
        // Also where frames are left: the frames used last are still in the CPU's cache, and a
        // full completion ring would stop the kernel.
        self.reclaim();
        flushed
    }

    fn flush_written(&mut self) -> Flushed {
        if self.is_down && self.kick().is_err_and(|error| is_down(&error)) {
            // Not shown to the kernel yet, so it can be taken back in either mode.
            while let Some(packet) = self.tx.unpush() {
                self.free.push(packet.addr);
            }
            return Flushed { accepted: 0, error: Some(io::Error::from_raw_os_error(libc::ENETDOWN)) };
        }
        self.is_down = false;
        let first = self.tx.publish();
        if self.zero_copy { self.wake_driver(first) } else { self.push_through(first) }
    }

    /// How many packets were received, up to `most`.
    #[inline]
    pub fn arrived(&mut self, most: u32) -> u32 {
        self.rx.waiting().min(most)
    }

    /// Passes the next `count` packets to `each`, and returns their frames to the kernel.
    #[inline]
    pub fn receive(&mut self, count: u32, mut each: impl FnMut(&[u8])) {
        self.receive_stamped(count, |bytes, _| each(bytes));
    }

    /// The same, each packet with the instant of the monotonic clock at which the program took it
    /// from the interface; 0 where the driver had no room for it.
    #[inline]
    pub fn receive_stamped(&mut self, count: u32, mut each: impl FnMut(&[u8], u64)) {
        for _ in 0..count {
            let Some(packet) = self.rx.pop() else { break };
            let stamp_ns = self.umem.take_stamp(packet.addr);
            if let Some(bytes) = self.umem.packet(packet.addr, packet.len) {
                each(bytes, stamp_ns);
            }
            // There is room: so many frames as the ring has places go round on this side.
            self.fill.push(self.umem.frame_of(packet.addr));
        }
        self.rx.release();
        self.fill.publish();
        if self.zero_copy && self.fill.needs_wakeup() {
            // SAFETY: a null buffer of length 0, as AF_XDP wants it.
            unsafe {
                libc::recv(self.fd.as_raw_fd(), std::ptr::null_mut(), 0, libc::MSG_DONTWAIT);
            }
        }
    }

    /// What the kernel counted.
    pub fn statistics(&self) -> io::Result<Statistics> {
        // SAFETY: all-zero is a valid value of this struct of integers.
        let mut statistics: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        get_option(&self.fd, libc::XDP_STATISTICS, &mut statistics)?;
        Ok(Statistics {
            rx_dropped: statistics.rx_dropped,
            rx_ring_full: statistics.rx_ring_full,
            fill_ring_empty: statistics.rx_fill_ring_empty_descs,
        })
    }

    /// Takes back the frames of packets that were sent.
    #[inline]
    fn reclaim(&mut self) {
        while let Some(address) = self.completion.pop() {
            // Some kernels report a cancelled place too; its frame is free already.
            if address != CANCELLED {
                self.free.push(self.umem.frame_of(address));
            }
        }
        self.completion.release();
    }

    /// Zero copy: the driver reads the ring by itself, and is woken where it sleeps.
    fn wake_driver(&mut self, first: u32) -> Flushed {
        if self.tx.needs_wakeup() {
            self.is_down = self.kick().is_err_and(|error| is_down(&error));
        }
        Flushed { accepted: self.tx.published().wrapping_sub(first) as usize, error: None }
    }

    /// Copy mode: the kernel reads the ring in our system calls, a bounded number a call.
    fn push_through(&mut self, first: u32) -> Flushed {
        let end = self.tx.published();
        let count = end.wrapping_sub(first);
        let mut after = past(first, self.tx.consumed(), count);
        while after < count {
            let before = after;
            let result = self.kick();
            after = past(first, self.tx.consumed(), count);
            if after > before {
                self.cancelled = 0;
            }
            let error = match result {
                // It stops after a number of packets of its choice.
                Ok(()) if after > before => continue,
                Err(error) if after > before && error.raw_os_error() == Some(libc::EAGAIN) => continue,
                // It stops at each cancelled place, too, and does not show that it is past it.
                Ok(()) if self.cancelled > 0 => {
                    self.cancelled -= 1;
                    continue;
                }
                Ok(()) => io::Error::from_raw_os_error(libc::EAGAIN),
                Err(error) => error,
            };
            // "Busy" says that the interface has dropped the packet that was read last. Where it
            // was the first of the call, the kernel has not yet moved the counter past it.
            let dropped = error.raw_os_error() == Some(libc::EBUSY);
            let accepted = if dropped && after > before { after - 1 } else { after };
            self.cancel(first.wrapping_add(accepted + u32::from(dropped)), end);
            self.is_down = is_down(&error);
            return Flushed { accepted: accepted as usize, error: Some(error) };
        }
        Flushed { accepted: count as usize, error: None }
    }

    /// Takes published packets back, in copy mode. The kernel may have counted them already, so
    /// their places stay, with an address that it passes over.
    fn cancel(&mut self, from: u32, end: u32) {
        let mut number = from;
        while number != end {
            let nothing = libc::xdp_desc { addr: CANCELLED, len: 0, options: 0 };
            self.free.push(self.tx.replace(number, nothing).addr);
            self.cancelled += 1;
            number = number.wrapping_add(1);
        }
    }

    /// Has the kernel look at the tx ring.
    fn kick(&self) -> io::Result<()> {
        // SAFETY: a null buffer of length 0, as AF_XDP wants it.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// How far `counter` is past `first`, of at most `most`; 0 where it is behind.
fn past(first: u32, counter: u32, most: u32) -> u32 {
    let distance = counter.wrapping_sub(first);
    if distance > most { 0 } else { distance }
}

fn is_down(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV))
}

fn open() -> io::Result<OwnedFd> {
    // SAFETY: the call takes no pointer.
    let fd = checked(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the kernel just made the descriptor for us, it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn map_rings(fd: OwnedFd, umem: Umem, config: &SocketConfig, tx_places: u32) -> io::Result<Socket> {
    // SAFETY: all-zero is a valid value of this struct of integers.
    let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
    get_option(&fd, libc::XDP_MMAP_OFFSETS, &mut offsets)?;
    let completion = libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t;
    let fill = libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t;
    let socket = fd.as_fd();
    Ok(Socket {
        rx: Consumer::map(socket, libc::XDP_PGOFF_RX_RING, &offsets.rx, config.rx_frames)?,
        fill: Producer::map(socket, fill, &offsets.fr, config.rx_frames)?,
        tx: Producer::map(socket, libc::XDP_PGOFF_TX_RING, &offsets.tx, tx_places)?,
        completion: Consumer::map(socket, completion, &offsets.cr, tx_places)?,
        free: (0..config.tx_frames).rev().map(|frame| umem.address(config.rx_frames + frame)).collect(),
        fd,
        umem,
        queue: config.queue,
        zero_copy: false,
        cancelled: 0,
        is_down: false,
    })
}

fn bind_to_queue(
    fd: &OwnedFd,
    interface: &Interface,
    attached: Attached,
    config: &SocketConfig,
) -> Result<(), XdpError> {
    let copy = match (config.copy, attached) {
        (CopyMode::Copy, _) | (CopyMode::Auto, Attached::Generic) => libc::XDP_COPY,
        (CopyMode::ZeroCopy, _) => libc::XDP_ZEROCOPY,
        (CopyMode::Auto, Attached::Native) => 0,
    };
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: copy | libc::XDP_USE_NEED_WAKEUP,
        sxdp_ifindex: interface.index(),
        sxdp_queue_id: config.queue,
        sxdp_shared_umem_fd: 0,
    };
    let patience = Instant::now() + RELEASE;
    let error = loop {
        // SAFETY: the address is valid for reads of the given length.
        let bound = unsafe {
            libc::bind(
                fd.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_xdp>() as libc::socklen_t,
            )
        };
        match checked(bound) {
            Ok(_) => return Ok(()),
            // The kernel frees a queue some time after its last socket is closed.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && Instant::now() < patience => {
                std::thread::sleep(AGAIN);
            }
            Err(error) => break error,
        }
    };
    let (interface, queue) = (interface.name().to_owned(), config.queue);
    Err(match error.raw_os_error() {
        Some(libc::EBUSY) => XdpError::QueueTaken { interface, queue },
        Some(libc::EOPNOTSUPP) => XdpError::NoZeroCopy { interface, queue },
        Some(libc::ENETDOWN) => XdpError::InterfaceDown { interface },
        Some(libc::ENODEV) => XdpError::NoInterface { interface },
        Some(libc::EINVAL) => XdpError::NoQueue { interface, queue },
        Some(libc::EPERM | libc::EACCES) => {
            XdpError::NoPrivilege { what: "binding to a queue", source: error }
        }
        _ => other(&interface, "binding to a queue", error),
    })
}

fn is_zero_copy(fd: &OwnedFd) -> bool {
    let mut options = libc::xdp_options { flags: 0 };
    get_option(fd, libc::XDP_OPTIONS, &mut options).is_ok() && options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0
}

fn refused_open(interface: &str, error: io::Error) -> XdpError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => XdpError::NoPrivilege { what: "opening a socket", source: error },
        Some(libc::EAFNOSUPPORT) => XdpError::KernelLacks { what: "AF_XDP sockets" },
        _ => other(interface, "opening a socket", error),
    }
}

fn refused_memory(interface: &str, error: io::Error) -> XdpError {
    match error.raw_os_error() {
        Some(libc::ENOBUFS | libc::EPERM) => XdpError::MemoryLocked,
        _ => other(interface, "handing memory to the kernel", error),
    }
}

/// Sets an option of level `SOL_XDP` to a plain C value.
fn set_option<T: Copy>(fd: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: `value` is valid for reads of its size.
    checked(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_XDP,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// Reads an option of level `SOL_XDP` into a plain C struct; an older kernel fills less of it.
fn get_option<T: Copy>(fd: &OwnedFd, option: libc::c_int, value: &mut T) -> io::Result<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is valid for writes of the given length, and every bit pattern of the
    // structs that this file reads is a value.
    checked(unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::SOL_XDP, option, std::ptr::from_mut(value).cast(), &mut length)
    })?;
    Ok(())
}

/// How long the kernel may take to free a queue whose socket was closed just now.
const RELEASE: Duration = Duration::from_millis(500);

/// When a queue that is taken is tried again.
const AGAIN: Duration = Duration::from_millis(2);

/// An address that lies in no UMEM: the kernel passes over it.
const CANCELLED: u64 = u64::MAX;

/// How many packets one system call may send (`linux/if_xdp.h`; libc does not have it yet).
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// A batch of the engine and one more.
const MOST_A_CALL: u32 = 128;

/// What the kernel accounts for a small packet that waits to be sent.
const SKB_BYTES: usize = 1_024;
