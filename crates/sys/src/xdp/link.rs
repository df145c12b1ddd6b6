//! Ties a loaded program to an interface with a BPF link, which ends with its value and with the process.
//!
//! The link is made here and not by the loading library, because that falls back to the older
//! way by netlink where the kernel refuses a link, and a program attached so replaces another
//! one and outlives a process that is killed.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A program that is attached to an interface until this value is dropped, or until the process ends.
pub(super) struct Link(OwnedFd);

/// Attaches the program to an interface.
pub(super) fn attach(program: BorrowedFd<'_>, interface: u32, generic: bool) -> io::Result<Link> {
    let flags = if generic { XDP_FLAGS_SKB_MODE } else { XDP_FLAGS_DRV_MODE };
    let attributes = LinkAttributes {
        program: program.as_raw_fd() as u32,
        target: interface,
        attach_type: BPF_XDP,
        flags,
    };
    // SAFETY: the attributes are valid for reads of the given size; the kernel takes shorter ones
    // than it knows as filled up with zeros.
    let fd = unsafe {
        libc::syscall(libc::SYS_bpf, BPF_LINK_CREATE, &raw const attributes, size_of::<LinkAttributes>())
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just made the descriptor for us, it has no other owner.
    Ok(Link(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) }))
}

impl Drop for Link {
    fn drop(&mut self) {
        // Closing the descriptor is not enough: a child that another thread has forked and that has not yet called
        // `exec` holds a copy of it, and the program would stay until then.
        let link = self.0.as_raw_fd() as u32;
        // SAFETY: the attributes are valid for reads of the given size. There is nothing to do about a failure:
        // the interface is gone then, and the program with it.
        unsafe { libc::syscall(libc::SYS_bpf, BPF_LINK_DETACH, &raw const link, size_of::<u32>()) };
    }
}

/// The start of `union bpf_attr` for this command.
#[repr(C)]
struct LinkAttributes {
    program: u32,
    target: u32,
    attach_type: u32,
    flags: u32,
}

const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_LINK_DETACH: libc::c_long = 34;
const BPF_XDP: u32 = 37;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;
