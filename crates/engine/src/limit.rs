//! The limit of a closed loop that must not send more than so many queries in a second.

/// One worker's part of the limit. Time is divided into seconds: in each, queries are an equal time apart; those that
/// could not be sent are sent later in the same second, or never.
pub(crate) struct Limit {
    /// The time from one query to the next.
    step_ns: u64,
    /// The most queries of a second.
    most: u64,
    /// Those sent in this second.
    taken: u64,
    /// The end of this second.
    second_ends_ns: u64,
    /// The earliest instant of the next query.
    next_ns: u64,
}

impl Limit {
    /// A limit of `most_qps`, at least one query in a second.
    pub(crate) fn new(most_qps: u32) -> Self {
        let most = u64::from(most_qps.max(1));
        Limit { step_ns: SECOND_NS / most, most, taken: 0, second_ends_ns: 0, next_ns: 0 }
    }

    /// Whether a query may be sent now.
    pub(crate) fn permits(&mut self, now_ns: u64) -> bool {
        if now_ns >= self.second_ends_ns {
            let over_ns = (now_ns - self.second_ends_ns) % SECOND_NS;
            self.second_ends_ns = now_ns - over_ns + SECOND_NS;
            (self.taken, self.next_ns) = (0, self.second_ends_ns - SECOND_NS);
        }
        self.taken < self.most && self.next_ns <= now_ns
    }

    /// A query is sent.
    pub(crate) fn take(&mut self) {
        self.taken += 1;
        self.next_ns += self.step_ns;
    }

    /// The earliest instant of the next query.
    pub(crate) fn next_ns(&self) -> u64 {
        if self.taken < self.most { self.next_ns.min(self.second_ends_ns) } else { self.second_ends_ns }
    }
}

const SECOND_NS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// The instants of the queries in milliseconds, if each is sent as soon as it is permitted and `is_free`.
    fn sent_ms(most_qps: u32, for_ms: u64, is_free: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut limit = Limit::new(most_qps);
        let mut sent = Vec::new();
        for ms in 0..for_ms {
            while is_free(ms) && limit.permits(ms * 1_000_000) {
                limit.take();
                sent.push(ms);
            }
        }
        sent
    }

    #[test]
    fn queries_are_an_equal_time_apart() {
        assert_eq!(sent_ms(4, 2_000, |_| true), [0, 250, 500, 750, 1_000, 1_250, 1_500, 1_750]);
        assert_eq!(sent_ms(1_000, 3_000, |_| true).len(), 3_000);
        assert_eq!(sent_ms(1, 1_500, |_| true), [0, 1_000]);
    }

    #[test]
    fn time_that_was_lost_is_made_up_within_its_second_only() {
        assert_eq!(sent_ms(4, 1_600, |ms| ms >= 600), [600, 600, 600, 750, 1_000, 1_250, 1_500]);
        let sent = sent_ms(100, 5_000, |ms| !(1_500..3_700).contains(&ms));
        for second in 0..5 {
            let count = sent.iter().filter(|ms| **ms / 1_000 == second).count();
            assert!(count <= 100, "{count} in second {second}");
        }
        assert_eq!(sent.len(), 100 + 50 + 100 + 100);
    }

    #[test]
    fn the_next_query_is_due_one_step_later_or_in_the_next_second() {
        let mut limit = Limit::new(2);
        assert!(limit.permits(100));
        limit.take();
        assert_eq!((limit.permits(200), limit.next_ns()), (false, 500_000_000));
        assert!(limit.permits(500_000_100));
        limit.take();
        assert_eq!((limit.permits(900_000_000), limit.next_ns()), (false, 1_000_000_000));
    }
}
