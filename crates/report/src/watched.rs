//! What was watched beside the load, as a few lines of a summary: the series that moved most.
//!
//! Shown are the counters that mean that something was lost or held back, the highest first; after them what each
//! process used of a CPU, and what each server counted. `--csv`, `--json` and the page have all of them.

use std::cmp::Reverse;

use dnsdyno_measure::series::{counts_loss, is_raw, rise_text, value_text};
use dnsdyno_measure::{Watched, WatchedKind};
use dnsdyno_record::Digest;

use dnsdyno_text::layout::{Table, paragraph};
use dnsdyno_text::safe;

/// Appends the section; nothing where nothing was watched.
pub(crate) fn write(out: &mut String, digest: &Digest, width: usize) {
    let watched = &digest.header.watched;
    if watched.is_empty() {
        return;
    }
    let moved = moved(digest);
    out.push_str("\nbeside the load\n");
    for what in watched.iter().flat_map(|watched| &watched.missing).take(MOST_MISSING) {
        paragraph(out, &format!("not read: {}", safe(what)), 2, 4, width);
    }
    let over_ns = digest.sending_ns();
    let cells = |cell: &dyn Fn(&Moved<'_>) -> String| moved.iter().map(cell).collect();
    let mut table = Table::default();
    table.left("series", 0, cells(&|moved| safe(moved.series)));
    table.left("of", 2, cells(&|moved| safe(&moved.watched.label)));
    table.right("rose by", 0, cells(&|moved| value_text(moved.series, moved.rise)));
    table.right("on average", 1, cells(&|moved| rise_text(moved.series, moved.rise, over_ns)));
    if moved.is_empty() {
        paragraph(out, "no counter of losses rose", 2, 4, width);
    } else {
        table.write(out, width);
    }
}

/// A counter that rose.
struct Moved<'a> {
    watched: &'a Watched,
    series: &'a str,
    rise: u64,
}

/// The counters of losses that rose most, and the few that say what processes and servers did.
fn moved(digest: &Digest) -> Vec<Moved<'_>> {
    let sources = digest.header.watched.iter().zip(digest.watched());
    let all = sources.flat_map(|(watched, samples)| {
        let counters = samples.iter().flat_map(|samples| &samples.counters);
        counters.map(move |(series, rise)| Moved { watched, series, rise: *rise })
    });
    let risen: Vec<_> = all.filter(|moved| moved.rise > 0 && !is_raw(moved.series)).collect();
    let (mut losses, others): (Vec<_>, Vec<_>) = risen.into_iter().partition(|moved| {
        // The parts of a sum, such as a socket's drops, are in the record.
        counts_loss(moved.series) && !PARTS.iter().any(|part| moved.series.starts_with(part))
    });
    losses.sort_by_key(|moved| Reverse(moved.rise));
    losses.truncate(MOST_LOSSES);
    let work = others.into_iter().filter(|moved| match moved.watched.kind {
        WatchedKind::Process => moved.series == "cpu_ns",
        WatchedKind::Server => matches!(moved.series, "queries" | "responses"),
        WatchedKind::Host => false,
    });
    losses.into_iter().chain(work.take(MOST_WORK)).collect()
}

/// The beginnings of names of series that are part of another one.
const PARTS: [&str; 3] = ["socket.", "softnet.cpu", "thread."];

/// More do not help to see what happened.
const MOST_LOSSES: usize = 6;

/// Sources may be many.
const MOST_WORK: usize = 4;

/// What cannot be read; the record has all of it.
const MOST_MISSING: usize = 3;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use dnsdyno_measure::{Samples, Side};

    use super::*;
    use crate::sample;

    fn watched_run(counters: &[(&str, u64)]) -> Digest {
        let watched = Watched {
            kind: WatchedKind::Process,
            side: Side::Server,
            label: "named (4711)".into(),
            software: Some("bind".into()),
            version: None,
            settings: BTreeMap::new(),
            unset: Vec::new(),
            missing: vec!["open files: you may not read them".into()],
        };
        let header = dnsdyno_record::Header { watched: vec![watched], ..sample::header() };
        let mut digest = Digest::new(header);
        let counters = counters.iter().map(|(name, rise)| ((*name).to_owned(), *rise)).collect();
        let samples = Samples { counters, gauges: BTreeMap::new() };
        digest.interval(&dnsdyno_record::Interval {
            watched: vec![Some(samples)],
            ..sample::second(0, 100, 0)
        });
        digest
    }

    fn text_of(digest: &Digest) -> String {
        let mut out = String::new();
        write(&mut out, digest, 80);
        out
    }

    #[test]
    fn counters_of_losses_come_first_and_parts_of_a_sum_are_left_out() {
        let text = text_of(&watched_run(&[
            ("cpu_ns", 500_000_000),
            ("udp.drops", 4_765),
            ("socket.udp.10.0.0.1:53/0.drops", 4_765),
            ("context_switches.voluntary", 9_000),
        ]));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], "beside the load");
        assert!(lines[2].contains("not read: open files"), "{text}");
        assert!(lines[4].contains("udp.drops") && lines[4].contains("4,765/s"), "{text}");
        assert!(lines[5].contains("cpu_ns") && lines[5].contains("50.00 %"), "{text}");
        assert_eq!(lines.len(), 6, "{text}");
    }

    #[test]
    fn a_run_without_sources_has_no_section_and_one_without_losses_says_so() {
        assert_eq!(text_of(&sample::stair()), "");
        assert!(text_of(&watched_run(&[])).contains("no counter of losses rose"));
    }
}
