//! The table of all counters of a run, by their paths in the record.

use dnsdyno_measure::{Counter, Group, Latency};
use dnsdyno_record::{Digest, Header};
use dnsdyno_report::cells::{Cells, CounterPath, EachCounter};
use dnsdyno_report::quantile;
use dnsdyno_text::units;

/// A row for each counter that is not 0: its path, its count and, of durations, p50, p99 and maximum.
pub(crate) fn rows(digest: &Digest) -> Vec<Vec<String>> {
    let header = &digest.header;
    let rows = Rows { header, rows: Vec::new() };
    let mut each = EachCounter::new(digest.tally(), CounterPath::new(header, Vec::new()), rows);
    digest.tally().visit_each(&mut each);
    digest.arrivals().visit("arrivals", &mut each);
    each.cells.rows
}

struct Rows<'a> {
    header: &'a Header,
    rows: Vec<Vec<String>>,
}

impl Cells for Rows<'_> {
    const ZEROS: bool = false;

    fn count(&mut self, path: &str, count: u64) {
        self.rows.push([path, &units::count(count), "", "", ""].map(str::to_owned).into());
    }

    fn durations(&mut self, path: &mut CounterPath<'_>, latency: Latency<'_>, _: bool) {
        // As counted: the unanswered queries are in counters of their own.
        let durations = Latency { unanswered: 0, ..latency };
        if let Some(exact) = durations.answered.exact() {
            let [p50, p99] = [0.5, 0.99].map(|q| quantile(durations.percentile(q), self.header.timeout_ns));
            let (count, max) = (units::count(durations.count()), units::duration(exact.max_ns));
            self.rows.push(vec![path.text().to_owned(), count, p50, p99, max]);
        }
    }
}
