//! Capabilities: parts of what root may do.

use std::io;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySets, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities,
};

pub use rustix::thread::CapabilitySet;

/// Gives up the capabilities of the calling thread but `kept`, for good: they are not in its permitted, inheritable and
/// ambient sets any more, and where it may change the bounding set, no program that it starts as root gets them.
///
/// # Errors
/// The kernel refuses it; a thread may always give up what it has.
pub fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    let held = capabilities(None)?;
    let CapabilitySets { effective, permitted, inheritable } = held;
    // Before the capability for it is given up. What of this is refused is told, and the rest is done all the same.
    let bounded = if effective.contains(CapabilitySet::SETPCAP) { bound(kept) } else { Ok(()) };
    // A kernel before Linux 4.3 has no such set.
    let _ = clear_ambient_capability_set();
    let sets = CapabilitySets {
        effective: effective & kept,
        permitted: permitted & kept,
        inheritable: inheritable & kept,
    };
    // A sandbox around this process may refuse the call, or end who makes it: not where there is nothing to give up.
    if sets != held {
        set_capabilities(None, sets)?;
    }
    bounded
}

/// What a thread needs to read the maps of a program in the kernel and to detach it: CAP_BPF, before Linux 5.8
/// CAP_SYS_ADMIN. Only where the kernel reserves all of bpf(2) for the privileged; closing a program never needs it.
pub fn of_bpf() -> CapabilitySet {
    let knows_bpf = rustix::thread::capability_is_in_bounding_set(CapabilitySet::BPF).is_ok();
    if knows_bpf { CapabilitySet::BPF } else { CapabilitySet::SYS_ADMIN }
}

/// Takes all but `kept` out of the bounding set.
fn bound(kept: CapabilitySet) -> io::Result<()> {
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if kept.contains(one) {
            continue;
        }
        match remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            // The kernel has no capability of this number, and none of a higher one.
            Err(Errno::INVAL) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
