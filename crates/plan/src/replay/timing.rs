//! When the queries of a capture are due: as they were captured, faster or slower, or as a load shape says.

use crate::schedule::{Cursor, Load};

/// The instants of a replay.
#[derive(Debug)]
pub struct Timing {
    kind: Kind,
    /// No query is due at this instant or later.
    end_ns: u64,
    /// The instant of the last query.
    last_ns: u64,
}

#[derive(Debug)]
enum Kind {
    Captured(Captured),
    Curve(Cursor),
    /// A closed loop has no instants.
    None,
}

/// The timing of the capture itself.
#[derive(Debug)]
struct Captured {
    speed: f64,
    /// When the first query of the pass was captured.
    first_unix_ns: Option<u64>,
    /// When it is due.
    begins_ns: u64,
    /// The queries of the pass.
    queries: u64,
}

impl Timing {
    /// For this load. A capture is replayed `speed` times as fast as it was captured; `end_ns` is where the run ends.
    pub fn new(load: &Load, speed: f64, end_ns: Option<u64>) -> Timing {
        let kind = match load {
            Load::OfSource => {
                Kind::Captured(Captured { speed, first_unix_ns: None, begins_ns: 0, queries: 0 })
            }
            Load::Open { curve, .. } => Kind::Curve(curve.cursor(0, 1)),
            Load::Closed { .. } | Load::Limited { .. } => Kind::None,
        };
        Timing { kind, end_ns: end_ns.unwrap_or(u64::MAX), last_ns: 0 }
    }

    /// When the next query is due, which was captured at `at_unix_ns`: never before the query before it. `None` = it is
    /// not, and none after it.
    pub fn next(&mut self, at_unix_ns: u64) -> Option<Due> {
        let due_ns = match &mut self.kind {
            Kind::None => return Some(Due { at_ns: None }),
            Kind::Captured(captured) => captured.due_ns(at_unix_ns),
            Kind::Curve(cursor) => {
                let (_, due_ns) = cursor.next_due()?;
                due_ns
            }
        };
        // What came too late to be put in order.
        self.last_ns = self.last_ns.max(due_ns);
        (self.last_ns < self.end_ns).then_some(Due { at_ns: Some(self.last_ns) })
    }

    /// The capture begins again: after as much time as its queries have between them in the mean.
    pub fn begin_pass(&mut self) {
        if let Kind::Captured(captured) = &mut self.kind {
            let gaps = captured.queries.saturating_sub(1).max(1);
            let gap_ns = (self.last_ns - captured.begins_ns.min(self.last_ns)) / gaps;
            captured.begins_ns = self.last_ns.saturating_add(gap_ns.max(1));
            (captured.first_unix_ns, captured.queries) = (None, 0);
        }
    }
}

impl Captured {
    fn due_ns(&mut self, at_unix_ns: u64) -> u64 {
        self.queries += 1;
        let first_unix_ns = *self.first_unix_ns.get_or_insert(at_unix_ns);
        let offset_ns = at_unix_ns.saturating_sub(first_unix_ns);
        // Exact where nothing is scaled.
        let offset_ns = if self.speed == 1.0 { offset_ns } else { (offset_ns as f64 / self.speed) as u64 };
        self.begins_ns.saturating_add(offset_ns)
    }
}

/// When a query is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// In nanoseconds since the start of the run; `None` in a closed loop.
    pub at_ns: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Constant;

    const START_UNIX_NS: u64 = 1_700_000_000_000_000_000;

    fn instants(timing: &mut Timing, offsets_ns: &[u64]) -> Vec<Option<u64>> {
        let due = |offset_ns: &u64| timing.next(START_UNIX_NS + offset_ns).map(|due| due.at_ns.unwrap());
        offsets_ns.iter().map(due).collect()
    }

    const OF_SOURCE: Load = Load::OfSource;

    #[test]
    fn queries_are_due_as_they_were_captured_and_never_before_the_one_before() {
        let mut timing = Timing::new(&OF_SOURCE, 1.0, None);
        assert_eq!(
            instants(&mut timing, &[5, 105, 100, 1_005, 0]),
            [Some(0), Some(100), Some(100), Some(1_000), Some(1_000)]
        );
    }

    #[test]
    fn a_replay_is_faster_or_slower_and_ends_with_the_run() {
        let mut twice = Timing::new(&OF_SOURCE, 2.0, Some(400));
        assert_eq!(instants(&mut twice, &[0, 100, 700, 800]), [Some(0), Some(50), Some(350), None]);
        let mut half = Timing::new(&OF_SOURCE, 0.5, None);
        assert_eq!(instants(&mut half, &[0, 100]), [Some(0), Some(200)]);
    }

    #[test]
    fn a_second_pass_follows_after_the_mean_gap() {
        let mut timing = Timing::new(&OF_SOURCE, 1.0, None);
        instants(&mut timing, &[0, 10, 40]);
        timing.begin_pass();
        assert_eq!(instants(&mut timing, &[0, 10, 40]), [Some(60), Some(70), Some(100)]);
        timing.begin_pass();
        assert_eq!(instants(&mut timing, &[0]), [Some(120)]);
    }

    #[test]
    fn a_load_shape_replaces_the_timing_and_a_closed_loop_has_none() {
        let curve = Constant { rate_qps: 1_000.0, duration_ns: Some(3_000_000) }.curve().unwrap();
        let mut timing = Timing::new(&Load::Open { curve, window: None }, 1.0, None);
        assert_eq!(instants(&mut timing, &[9, 1, 7, 8]), [Some(0), Some(1_000_000), Some(2_000_000), None]);
        let mut closed = Timing::new(&Load::Closed { outstanding: 3 }, 1.0, None);
        assert_eq!(closed.next(5), Some(Due { at_ns: None }));
    }
}
