//! Long batches as frames that the kernel makes and gives to the driver, where that is possible.

use dnsdyno_sys::netlink::netdev::Netdev;
use dnsdyno_sys::xdp::{Injector, Redirect};

/// One worker's injector.
pub(super) struct Injection {
    pub(super) injector: Injector,
    netdev: Netdev,
    interface: u32,
    /// When it was last asked whether the interface sends such frames.
    asked_ns: u64,
}

impl Injection {
    /// The injector of worker `number`; `None` where the program has no room for it, or the kernel cannot inject.
    pub(super) fn open(redirect: &mut Redirect, number: usize, interface: u32) -> Option<Self> {
        let injector = redirect.injector(number as u32)?;
        Some(Injection { injector, netdev: Netdev::open().ok()?, interface, asked_ns: 0 })
    }

    /// Whether the interface sends such frames. It silently drops them once its other end, if that is virtual, has
    /// neither a program nor GRO any more; so this is asked again.
    #[inline]
    pub(super) fn is_possible(&mut self, now_ns: u64) -> bool {
        if now_ns < self.asked_ns + ASKED_AGAIN_NS {
            return true;
        }
        self.asked_ns = now_ns;
        self.netdev.sends_frames(self.interface).is_ok_and(|sends| sends)
    }
}

/// Whether the interface sends frames of programs, which is known only on a kernel that can inject them.
pub(super) fn is_possible_on(interface: u32) -> bool {
    Netdev::open().and_then(|mut netdev| netdev.sends_frames(interface)).unwrap_or(false)
}

/// The longest message that is injected, in bytes: a frame of it fits into the ring.
pub(super) const LONGEST_INJECTED: usize = 1_900;

/// From so many messages on a call for all of them costs less than the way through the stack.
pub(super) const INJECTED_FROM: usize = 96;

/// How long the interface is assumed to send: the question takes some microseconds.
const ASKED_AGAIN_NS: u64 = 10_000_000;
