//! The exit code that a signal leads to.

use dnsdyno_record::{Digest, Ended};

/// The exit code of a run that has ended: that of the signal, but 0 where Ctrl-C ended it, as in the originals.
pub(crate) fn signal_code(digest: &Digest) -> u8 {
    match digest.ended() {
        Some(Ended::Terminated) => TERMINATED,
        Some(Ended::HungUp) => HUNG_UP,
        _ => 0,
    }
}

/// 128 + SIGTERM.
const TERMINATED: u8 = 143;

/// 128 + SIGHUP.
const HUNG_UP: u8 = 129;
