//! The table of all counters of a run, by their paths in the record.

use dnsdyno_measure::{Counter, Group, Histogram, Latency, Visitor};
use dnsdyno_record::{Digest, Header};
use dnsdyno_report::quantile;
use dnsdyno_text::units;

use crate::path::CounterPath;

/// A row for each counter that is not 0: its path, its count and, of durations, p50, p99 and maximum.
pub(crate) fn rows(digest: &Digest) -> Vec<Vec<String>> {
    let mut walk = Walk { path: CounterPath::new(&digest.header), header: &digest.header, rows: Vec::new() };
    digest.tally().visit_each(&mut walk);
    digest.arrivals().visit("arrivals", &mut walk);
    walk.rows
}

struct Walk<'a> {
    path: CounterPath<'a>,
    header: &'a Header,
    rows: Vec<Vec<String>>,
}

impl Walk<'_> {
    fn row(&mut self, key: &str, cells: [String; 4]) {
        let length = self.path.enter(key);
        self.rows.push([self.path.text().to_owned()].into_iter().chain(cells).collect());
        self.path.leave(length);
    }
}

impl Visitor for Walk<'_> {
    fn count(&mut self, key: &str, count: u64) {
        if count > 0 {
            self.row(key, [units::count(count), String::new(), String::new(), String::new()]);
        }
    }

    fn histogram(&mut self, key: &str, histogram: &Histogram) {
        let durations = Latency { answered: histogram, unanswered: 0 };
        let text = |at| quantile(at, self.header.timeout_ns);
        if let Some(exact) = histogram.exact() {
            let [p50, p99] = [0.5, 0.99].map(|q| text(durations.percentile(q)));
            self.row(key, [units::count(histogram.count()), p50, p99, units::duration(exact.max_ns)]);
        }
    }

    fn group(&mut self, key: &str, group: Option<&dyn Group>) {
        if let Some(group) = group {
            let length = self.path.enter(key);
            group.visit_each(self);
            self.path.leave(length);
        }
    }
}
