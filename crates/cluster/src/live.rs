//! The wall intervals of the agents, joined for whoever looks on: what has passed, not what is recorded.

use std::collections::BTreeMap;

use dnsdyno_runner::{Live, Observer};

use crate::messages::Passed;

/// The wall intervals that not every agent has given yet.
pub(crate) struct LiveJoin {
    /// By their numbers.
    waiting: BTreeMap<u64, Vec<Option<Passed>>>,
    /// Whether more comes of an agent.
    is_open: Vec<bool>,
    passed_ns: u64,
}

impl LiveJoin {
    pub(crate) fn new(agents: usize) -> LiveJoin {
        LiveJoin { waiting: BTreeMap::new(), is_open: vec![true; agents], passed_ns: 0 }
    }

    pub(crate) fn add(&mut self, agent: usize, passed: Passed) {
        if passed.to_ns > self.passed_ns {
            let agents = self.is_open.len();
            let all = self.waiting.entry(passed.index).or_insert_with(|| (0..agents).map(|_| None).collect());
            all[agent] = Some(passed);
        }
    }

    /// No more comes of an agent.
    pub(crate) fn close(&mut self, agent: usize) {
        self.is_open[agent] = false;
    }

    /// The end of the last interval that was shown.
    pub(crate) fn passed_ns(&self) -> u64 {
        self.passed_ns
    }

    /// Shows the intervals that each agent has given of which more comes.
    pub(crate) fn show(&mut self, observer: &mut dyn Observer) {
        while let Some(first) = self.waiting.first_entry() {
            let is_complete =
                first.get().iter().zip(&self.is_open).all(|(passed, is_open)| passed.is_some() || !is_open);
            if !is_complete {
                return;
            }
            let parts = first.remove().into_iter().flatten();
            let joined = parts.reduce(|mut all, part| {
                all.arrivals.merge(&part.arrivals);
                all.covered_ns = all.covered_ns.max(part.covered_ns);
                all.asked_qps += part.asked_qps;
                all
            });
            let Some(Passed { index, to_ns, covered_ns, asked_qps, arrivals }) = joined else { continue };
            self.passed_ns = to_ns;
            observer.passed(&Live { index, to_ns, covered_ns, asked_qps, arrivals: &arrivals });
        }
    }
}

#[cfg(test)]
mod tests {
    use dnsdyno_measure::Arrivals;

    use super::*;

    #[derive(Default)]
    struct Seen(Vec<(u64, u64, f64)>);

    impl Observer for Seen {
        fn passed(&mut self, live: &Live<'_>) {
            self.0.push((live.index, live.arrivals.sent, live.asked_qps));
        }
    }

    fn passed(index: u64, sent: u64) -> Passed {
        let arrivals = Arrivals { sent, ..Arrivals::default() };
        Passed { index, to_ns: (index + 1) * 1_000, covered_ns: 1_000, asked_qps: sent as f64, arrivals }
    }

    #[test]
    fn an_interval_is_shown_when_each_agent_has_given_it_or_gives_no_more() {
        let (mut live, mut seen) = (LiveJoin::new(2), Seen::default());
        live.add(0, passed(0, 10));
        live.add(0, passed(1, 20));
        live.show(&mut seen);
        assert!(seen.0.is_empty());
        live.add(1, passed(0, 5));
        live.show(&mut seen);
        assert_eq!(seen.0, [(0, 15, 15.0)]);
        live.close(1);
        live.show(&mut seen);
        assert_eq!((seen.0.last(), live.passed_ns()), (Some(&(1, 20, 20.0)), 2_000));
        // Too late to be shown.
        live.add(1, passed(1, 7));
        live.show(&mut seen);
        assert_eq!(seen.0.len(), 2);
    }
}
