//! The time of intervals: how long they are, and how much of it the load covers.

/// The time of one or several intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    /// Their length: what CPU time is a share of.
    pub(crate) length_ns: u64,
    /// How much of it the load covers.
    pub(crate) covered_ns: u64,
}

impl Span {
    pub(crate) fn new(length_ns: u64, covered_ns: u64) -> Span {
        Span { length_ns, covered_ns: covered_ns.min(length_ns) }
    }

    /// The divisor of rates: what the load covers. After it, when only responses come, the length.
    pub(crate) fn of_rates_ns(self) -> u64 {
        if self.covered_ns > 0 { self.covered_ns } else { self.length_ns }
    }

    pub(crate) fn add(&mut self, later: Span) {
        self.length_ns = self.length_ns.saturating_add(later.length_ns);
        self.covered_ns = self.covered_ns.saturating_add(later.covered_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_over_what_the_load_covers_and_after_it_over_all_of_the_time() {
        let mut span = Span::new(250, 200);
        assert_eq!(span.of_rates_ns(), 200);
        span.add(Span::new(250, 0));
        assert_eq!((span.of_rates_ns(), span.length_ns), (200, 500));
        assert_eq!(Span::new(250, 0).of_rates_ns(), 250);
    }
}
