//! A row of a record as cells: every counter by its path in the record, and the percentiles of its durations.

use dnsdyno_measure::{Counter, Group, Latency, Quantile, Visitor};
use dnsdyno_record::figures::{longest, sent};
use dnsdyno_record::{Header, Headline, Row};
use dnsdyno_report::cells::{Cells, CounterPath, EachCounter};

use crate::columns::{Columns, Value};
use crate::data::Unit;
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
    let tally = &row.tally;
    let mut each = EachCounter::new(tally, CounterPath::new(header, Vec::new()), Cell { columns });
    each.count("from_ns", row.from_ns);
    each.count("covered_ns", row.covered_ns);
    each.count("idle_ns", row.idle_ns);
    each.count("asked_micro", row.asked_micro);
    each.count("sent", sent(tally));
    each.count("partial_intervals", row.partial_intervals);
    each.cells.headline(header.latency_of(tally));
    let (other, latency) = match header.headline {
        Headline::Response => ("service", tally.service_latency()),
        Headline::Service => ("response", tally.response_latency()),
    };
    put_latency(&mut each, other, latency);
    tally.visit_each(&mut each);
    each.at("members", |each| {
        for (place, member) in tally.members.iter().enumerate() {
            each.at(&place.to_string(), |each| {
                put_latency(each, "response", member.response_latency());
                put_latency(each, "service", member.service_latency());
            });
        }
    });
    put_agents(&mut each, row);
    row.arrivals.visit("arrivals", &mut each);
    row.workers.visit("workers", &mut each);
    chosen.put(columns, row);
    columns.end_row();
}

/// What of the row is of each agent.
fn put_agents(each: &mut EachCounter<'_, Cell<'_>>, row: &Row) {
    each.at("agents", |each| {
        for (place, agent) in row.agents.iter().enumerate().take(MOST_AGENTS) {
            each.at(&place.to_string(), |each| {
                put_latency(each, "response", agent.response_latency());
                put_latency(each, "service", agent.service_latency());
                agent.visit_each(each);
            });
        }
    });
}

fn put_latency(each: &mut EachCounter<'_, Cell<'_>>, key: &str, latency: Latency<'_>) {
    if latency.count() > 0 {
        each.at(key, |each| each.cells.latency(&mut each.path, latency));
    }
}

/// Writes cells of a row.
struct Cell<'a> {
    columns: &'a mut Columns,
}

impl Cell<'_> {
    /// The latency of the heat map and of the lines over it.
    fn headline(&mut self, latency: Latency<'_>) {
        if latency.count() == 0 {
            return;
        }
        let exact = latency.answered.exact();
        for (path, q) in PERCENTILES {
            self.quantile(path, latency.percentile(q));
        }
        self.quantile("latency.min", exact.map(|exact| Quantile::At(exact.min_ns)));
        self.quantile("latency.max", longest(latency));
        self.quantile("latency.avg", latency.answered.mean_ns().map(Quantile::At));
    }

    /// Another latency, at its path.
    fn latency(&mut self, path: &mut CounterPath<'_>, latency: Latency<'_>) {
        let length = path.enter("count");
        self.count(path.text(), latency.count());
        path.leave(length);
        let [p50, p99] = [0.5, 0.99].map(|q| latency.percentile(q));
        for (key, quantile) in [("p50", p50), ("p99", p99), ("max", longest(latency))] {
            path.enter(key);
            self.quantile(path.text(), quantile);
            path.leave(length);
        }
    }

    fn quantile(&mut self, path: &str, quantile: Option<Quantile>) {
        let value = match quantile {
            Some(Quantile::At(ns)) => Value::Number(ns),
            Some(Quantile::BeyondTimeout) => Value::Beyond,
            None => Value::Nothing,
        };
        self.columns.figure(path, Unit::Ns, value);
    }
}

impl Cells for Cell<'_> {
    const ZEROS: bool = false;

    fn count(&mut self, path: &str, count: u64) {
        self.columns.count(path, unit_of(path), count);
    }

    fn durations(&mut self, path: &mut CounterPath<'_>, latency: Latency<'_>, may_time_out: bool) {
        // The latencies of queries have places of their own.
        if !may_time_out {
            self.latency(path, latency);
        }
    }
}

fn unit_of(path: &str) -> Unit {
    match path.rsplit('.').next().unwrap_or(path) {
        key if key.ends_with("_ns") => Unit::Ns,
        key if key.contains("bytes") => Unit::Bytes,
        "asked_micro" => Unit::Micro,
        "in_flight_max" | "open_max" => Unit::Gauge,
        _ => Unit::Count,
    }
}

/// Agents whose figures over time are on the page.
pub(crate) const MOST_AGENTS: usize = 64;

/// Of the headline latency: those of a summary, and those of a box plot.
const PERCENTILES: [(&str, f64); 7] = [
    ("latency.p25", 0.25),
    ("latency.p50", 0.5),
    ("latency.p75", 0.75),
    ("latency.p90", 0.9),
    ("latency.p95", 0.95),
    ("latency.p99", 0.99),
    ("latency.p99_9", 0.999),
];
