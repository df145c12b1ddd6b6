//! The latencies of a summary: response time, service time and the lateness of sends, under each other.
//!
//! Where response and service time differ, the difference is the generator's own lateness, or the wait behind a
//! stalled server: so both are shown, in the same columns. How much of a percentile may be ours has a line where it is
//! too much.

use dnsdyno_measure::{Latency, PERCENTILES, Quantile};
use dnsdyno_record::{Digest, Headline};
use dnsdyno_text::layout::{NOTHING, Table, paragraph};
use dnsdyno_text::units::{count, duration};

use crate::bounds::{cell, row_of_ours};
use crate::figures::{headline, latency, lateness, longest, other};
use crate::quantile::quantile;

/// Appends the table.
pub(super) fn write(out: &mut String, digest: &Digest, width: usize) {
    let Some(table) = table(digest) else { return };
    out.push('\n');
    paragraph(out, &heading(digest), 0, 2, width);
    table.write(out, width);
    left_out(out, digest, width);
}

/// The latencies; `None` where nothing was measured.
pub(crate) fn table(digest: &Digest) -> Option<Table> {
    let lines = lines(digest);
    if lines.iter().all(|line| line.latency.count() == 0) {
        return None;
    }
    let timeout_ns = digest.header.timeout_ns;
    let column = |cell: &dyn Fn(&Line<'_>) -> Option<Quantile>| -> Vec<String> {
        lines.iter().map(|line| quantile(cell(line), timeout_ns)).collect()
    };
    let ours = if digest.header.send_only { None } else { row_of_ours(digest) };
    // The line of what may be ours is below the latency that it is a part of.
    let with_ours = |mut cells: Vec<String>, of_ours: &str| {
        if ours.is_some() {
            cells.insert(1, of_ours.to_owned());
        }
        cells
    };
    let names = lines.iter().map(|line| line.name.to_owned()).collect();
    let mut table = Table::default();
    table.left("", 0, with_ours(names, "ours, at most"));
    let shortest = |line: &Line<'_>| line.latency.answered.exact().map(|e| Quantile::At(e.min_ns));
    table.right("min", 6, with_ours(column(&shortest), ""));
    let average = |line: &Line<'_>| line.latency.answered.mean_ns().map_or(NOTHING.to_owned(), duration);
    table.right("avg", 3, with_ours(lines.iter().map(average).collect(), ""));
    for (place, (key, title, q)) in PERCENTILES.into_iter().enumerate() {
        let dispensable = DISPENSABLE.iter().find(|(known, _)| *known == key).map_or(0, |(_, rank)| *rank);
        let mut cells = column(&|line| line.latency.percentile(q));
        if let Some(ours) = &ours {
            cells[0] = cell(digest.percentile(q), timeout_ns);
            cells = with_ours(cells, &ours[place]);
        }
        table.right(title, dispensable, cells);
    }
    table.right("max", 1, with_ours(column(&|line| longest(line.latency)), ""));
    Some(table)
}

/// A line of the table.
struct Line<'a> {
    name: &'static str,
    latency: Latency<'a>,
}

/// The headline first. The lateness is judged in an open loop only.
fn lines(digest: &Digest) -> Vec<Line<'_>> {
    let (tally, first) = (digest.tally(), digest.header.headline);
    let mut lines = Vec::new();
    if !digest.header.send_only {
        for which in [first, other(first)] {
            let name = match which {
                Headline::Response => "response time",
                Headline::Service => "service time",
            };
            lines.push(Line { name, latency: latency(which, tally) });
        }
    }
    let lateness = lateness(tally);
    if first == Headline::Response && lateness.count() > 0 {
        lines.push(Line { name: "send lateness", latency: lateness });
    }
    lines
}

fn heading(digest: &Digest) -> String {
    if digest.header.send_only {
        return "send lateness, from when the query was due".to_owned();
    }
    let latency = headline(digest, digest.tally());
    let first = match digest.header.headline {
        Headline::Response => "response time from when the query was due, service time from when it was sent",
        Headline::Service => "service time from when the query was sent, response time from when it was due",
    };
    match (latency.answered.count(), latency.unanswered) {
        (0, _) => format!("no query was answered in time; {first}"),
        (_, 0) => format!("{first}; timeouts included"),
        _ => format!("{first}; timeouts included, except in min and avg"),
    }
}

/// The percentiles that the number of queries does not carry, so that nobody looks for them.
fn left_out(out: &mut String, digest: &Digest, width: usize) {
    let latency = match digest.header.send_only {
        true => lateness(digest.tally()),
        false => headline(digest, digest.tally()),
    };
    let missing = PERCENTILES.iter().find(|(.., q)| latency.percentile(*q).is_none());
    if let Some((_, title, _)) = missing {
        let text = format!("no {title} and above: {} queries are too few", count(latency.count()));
        paragraph(out, &text, 2, 4, width);
    }
}

/// The percentiles that a narrow terminal can do without.
const DISPENSABLE: [(&str, u8); 3] = [("p90", 4), ("p95", 5), ("p99_9", 2)];
