//! The error queue of a socket: ICMP errors, each with the packet that caused it.

use std::os::fd::{AsFd, AsRawFd};

/// Reads ICMP errors, each with the start of the packet that caused it.
pub struct ErrorQueue {
    packet: Box<[u8]>,
    control: Box<[u64]>,
}

/// One ICMP error (or local error) of a socket.
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
