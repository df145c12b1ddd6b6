//! When queries left this host, as stamped by the kernel.

use crate::Histogram;
use crate::counter::counters;

counters! {
    /// Sends whose departure the kernel was asked to stamp: a sample of them.
    pub struct SendStamps {
        /// Kernel's stamp − actual send, of each stamped send: the time in our own system call, in the kernel's network
        /// stack and in its queues, which is in the service time. A batch is one actual send, and one of its packets is
        /// stamped; packets that the kernel handles as one (segmentation offload) are stamped as one.
        pub delay: Histogram,
        /// Sends that were to be stamped and whose stamp did not come.
        pub missing: u64,
    }
}

impl SendStamps {
    /// Sends with a stamp.
    pub fn taken(&self) -> u64 {
        self.delay.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrivals;

    #[test]
    fn stamps_are_added_and_a_run_without_them_is_told_from_one_without_delay() {
        let mut one = SendStamps { missing: 1, ..SendStamps::default() };
        one.delay.record(3_000);
        let stamped = Arrivals { send_stamps: Some(Box::new(one)), ..Arrivals::default() };
        let mut both = Arrivals::default();
        assert_eq!(both.send_stamps, None);
        both.merge(&stamped);
        both.merge_in_time(&stamped);
        let sum = both.send_stamps.as_deref().unwrap();
        assert_eq!((sum.taken(), sum.missing), (2, 2));
        both.clear();
        assert_eq!(both.send_stamps, Some(Box::default()), "measured, and nothing to count yet");
    }
}
