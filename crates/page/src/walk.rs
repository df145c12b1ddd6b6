//! A row of a record as cells: every counter by its path in the record, and the percentiles of its durations.

use dnsdyno_measure::{Counter, Group, Histogram, Latency, Quantile, Visitor};
use dnsdyno_record::figures::{longest, sent};
use dnsdyno_record::{Header, Headline, Row};

use crate::columns::{Columns, Value};
use crate::data::Unit;
use crate::path::CounterPath;
use crate::watched::Chosen;

/// The columns that each level has.
pub(crate) const ALWAYS: [(&str, Unit); 5] = [
    ("from_ns", Unit::Ns),
    ("covered_ns", Unit::Ns),
    ("scheduled", Unit::Count),
    ("sent", Unit::Count),
    ("ends.answered", Unit::Count),
];

/// Puts a row into the columns, and ends it there.
pub(crate) fn put_row(columns: &mut Columns, header: &Header, chosen: &Chosen, row: &Row) {
    let mut walk = Walk { columns, path: CounterPath::new(header) };
    walk.number("from_ns", row.from_ns);
    walk.number("covered_ns", row.covered_ns);
    walk.number("idle_ns", row.idle_ns);
    walk.number("asked_micro", row.asked_micro);
    walk.number("sent", sent(&row.tally));
    walk.headline(header.latency_of(&row.tally));
    let (other, latency) = match header.headline {
        Headline::Response => ("service", row.tally.service_latency()),
        Headline::Service => ("response", row.tally.response_latency()),
    };
    walk.durations(other, latency);
    row.tally.visit_each(&mut walk);
    for (place, member) in row.tally.members.iter().enumerate() {
        walk.durations(&format!("members.{place}.response"), member.response_latency());
        walk.durations(&format!("members.{place}.service"), member.service_latency());
    }
    row.arrivals.visit("arrivals", &mut walk);
    row.workers.visit("workers", &mut walk);
    chosen.put(columns, row);
    columns.end_row();
}

struct Walk<'a> {
    columns: &'a mut Columns,
    path: CounterPath<'a>,
}

impl Walk<'_> {
    fn number(&mut self, key: &str, number: u64) {
        // Most counters of most rows are 0.
        if number > 0 {
            let length = self.path.enter(key);
            self.columns.count(self.path.text(), unit_of(key), number);
            self.path.leave(length);
        }
    }

    /// The latency of the heat map and of the lines over it.
    fn headline(&mut self, latency: Latency<'_>) {
        if latency.count() == 0 {
            return;
        }
        let exact = latency.answered.exact();
        for (key, q) in PERCENTILES {
            self.quantile("latency", key, latency.percentile(q));
        }
        self.quantile("latency", "min", exact.map(|exact| Quantile::At(exact.min_ns)));
        self.quantile("latency", "max", longest(latency));
        self.quantile("latency", "avg", latency.answered.mean_ns().map(Quantile::At));
    }

    fn durations(&mut self, key: &str, latency: Latency<'_>) {
        if latency.count() == 0 {
            return;
        }
        let length = self.path.enter(key);
        self.number("count", latency.count());
        self.path.leave(length);
        for (percentile, q) in [("p50", 0.5), ("p99", 0.99)] {
            self.quantile(key, percentile, latency.percentile(q));
        }
        self.quantile(key, "max", longest(latency));
    }

    fn quantile(&mut self, key: &str, percentile: &str, quantile: Option<Quantile>) {
        let length = self.path.enter(key);
        self.path.enter(percentile);
        let value = match quantile {
            Some(Quantile::At(ns)) => Value::Number(ns),
            Some(Quantile::BeyondTimeout) => Value::Beyond,
            None => Value::Nothing,
        };
        self.columns.figure(self.path.text(), Unit::Ns, value);
        self.path.leave(length);
    }
}

impl Visitor for Walk<'_> {
    fn count(&mut self, key: &str, count: u64) {
        self.number(key, count);
    }

    fn histogram(&mut self, key: &str, histogram: &Histogram) {
        // These two have unanswered queries, which are not in their histograms.
        let is_latency = matches!(key, "response" | "service");
        if histogram.count() > 0 && !is_latency {
            self.durations(key, Latency { answered: histogram, unanswered: 0 });
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

fn unit_of(key: &str) -> Unit {
    match key {
        key if key.ends_with("_ns") => Unit::Ns,
        key if key.contains("bytes") => Unit::Bytes,
        "asked_micro" => Unit::Micro,
        "in_flight_max" | "open_max" => Unit::Gauge,
        _ => Unit::Count,
    }
}

/// Of the headline latency: those of a summary, and those of a box plot.
const PERCENTILES: [(&str, f64); 7] = [
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99_9", 0.999),
];
