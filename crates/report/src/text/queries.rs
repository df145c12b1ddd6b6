//! The queries of a summary by their ends, why they were lost, and the responses by what was in them.

use dnsdyno_measure::{Anomalies, Arrivals, Ends, Tally};
use dnsdyno_record::Digest;
use dnsdyno_text::layout::{NOTHING, Table, flow_after, paragraph};
use dnsdyno_text::safe;
use dnsdyno_text::units::{count, counted, duration, percent, rate};
use dnsdyno_wire::{rcode_name, type_name};

use crate::caching::{caching_lines, kind_lines};
use crate::checks::{cookie_counts, tsig_counts};
use crate::connections::explain;
use crate::figures::{mean_bytes, run_rate, run_rate_cell, sent, share, socket_drops};

/// Appends the sections.
pub(super) fn write(out: &mut String, digest: &Digest, width: usize) {
    ends(out, digest, width);
    reasons(out, digest, width);
    anomalies(out, &digest.arrivals().anomalies, width);
    checks(out, digest.arrivals(), width);
    for (name, words) in kind_lines(digest) {
        line_of(out, &safe(&name), words, width);
    }
    responses(out, digest, width);
    sizes(out, digest, width);
    line_of(out, "peak", peak_in_words(digest), width);
}

/// Of a run whose load follows from clients: its busiest interval, with its types and transports.
fn peak_in_words(digest: &Digest) -> Vec<String> {
    let Some(peak) = digest.peak().filter(|_| digest.arrivals().clients.is_some()) else { return Vec::new() };
    let interval = duration(peak.to_ns.saturating_sub(peak.from_ns));
    let (at, per_s) = (duration(peak.from_ns), rate(peak.per_s()));
    let mut words = vec![format!("{per_s} messages/s in the busiest {interval}, from {at} on")];
    let of = |part: u64, whole: u64| share(part, whole).map_or(NOTHING.to_owned(), percent);
    if digest.tally().fallback.is_some() {
        words.push(format!("UDP {}", of(peak.requests - peak.over_tcp.min(peak.requests), peak.requests)));
        words.push(format!("TCP {}", of(peak.over_tcp, peak.requests)));
    }
    let queries = peak.types.iter().sum();
    let typed = digest.header.types.iter().zip(&peak.types).filter(|(_, n)| **n > 0);
    words.extend(typed.map(|(rtype, n)| format!("{} {} of the queries", type_name(*rtype), of(*n, queries))));
    words
}

fn ends(out: &mut String, digest: &Digest, width: usize) {
    out.push('\n');
    ends_table(digest).write(out, width);
}

/// Each query scheduled, by its end; only the ends that occurred.
pub(crate) fn ends_table(digest: &Digest) -> Table {
    let tally = digest.tally();
    let mut shown = vec![("scheduled", tally.scheduled), ("sent", sent(tally))];
    let is_shown = |(end, n): &(&str, u64)| match *end {
        ANSWERED => !digest.header.send_only,
        // As many as were sent.
        SENT_ONLY => false,
        _ => *n > 0,
    };
    shown.extend(ends_with_words(digest).into_iter().filter(is_shown));
    let cells = |cell: &dyn Fn(u64) -> String| shown.iter().map(|(_, n)| cell(*n)).collect();
    let mut table = Table::default();
    table.left("queries", 0, shown.iter().map(|(label, _)| (*label).to_owned()).collect());
    table.right("", 0, cells(&count));
    let per_second = |n| match run_rate(digest, n) {
        Some(qps) => format!("{}/s", rate(qps)),
        None => run_rate_cell(digest, n),
    };
    table.right("", 2, cells(&per_second));
    let of_scheduled = |n: u64| share(n, tally.scheduled).map_or(NOTHING.to_owned(), percent);
    table.right("", 1, cells(&of_scheduled));
    table
}

/// How many queries ended in each way, with its words.
pub fn ends_with_words(digest: &Digest) -> [(&'static str, u64); 8] {
    let Ends {
        answered,
        answered_late,
        answered_wrong,
        timed_out,
        refused,
        not_sent,
        interrupted,
        sent_only,
    } = digest.tally().ends;
    // Queries of a lost connection end as refused, whoever ended it.
    let refused_words = match &digest.arrivals().connections {
        Some(connections) if connections.encrypted.is_some() => "connection or stream failed",
        Some(_) => "connection failed",
        None => "refused by the network",
    };
    [
        (ANSWERED, answered),
        ("answered late", answered_late),
        ("answered wrongly", answered_wrong),
        ("timed out", timed_out),
        (refused_words, refused),
        ("not sent", not_sent.total()),
        ("interrupted", interrupted),
        (SENT_ONLY, sent_only),
    ]
}

const ANSWERED: &str = "answered";
const SENT_ONLY: &str = "sent only";

/// Losses that are not the server's.
fn reasons(out: &mut String, digest: &Digest, width: usize) {
    let Tally { held_back, held_back_ns, .. } = *digest.tally();
    if held_back > 0 {
        let (queries, mean) = (count(held_back), duration(held_back_ns / held_back));
        paragraph(out, &format!("held back by the window: {queries}, for {mean} on average"), 2, 4, width);
    }
    let not_sent = &digest.tally().ends.not_sent;
    if not_sent.total() > 0 {
        let listed = not_sent.by_reason().map(|(reason, n)| format!("{} {}", reason.words(), count(n)));
        let text = format!("not sent: {}", listed.collect::<Vec<_>>().join(", "));
        paragraph(out, &text, 2, 4, width);
        let reasons = not_sent.by_reason().map(|(reason, _)| ("not_sent", reason.key(), reason.words()));
        explain(out, digest, reasons, width);
    }
    let drops = socket_drops(digest);
    if drops > 0 {
        let text = format!(
            "our own sockets dropped at least {}: this many of the timeouts are not the server's loss",
            counted(drops, "packet", "packets")
        );
        paragraph(out, &text, 2, 4, width);
    }
    if digest.header.send_only {
        let text = "send-only: no wait for responses; sent is what the kernel accepted, scheduled what was attempted";
        paragraph(out, text, 2, 4, width);
        interface(out, digest, width);
    }
}

/// The counters of the interface, for a run without responses.
fn interface(out: &mut String, digest: &Digest, width: usize) {
    let Some(counts) = digest.sum.as_ref().and_then(|sum| sum.interface.as_ref()) else { return };
    let text = format!(
        "the interface {} counted {} sent, {} dropped and {} on sending (including other programs; segmented \
         packets may count as one)",
        safe(&counts.name),
        counted(counts.sent, "packet", "packets"),
        count(counts.send_dropped),
        counted(counts.send_errors, "error", "errors"),
    );
    paragraph(out, &text, 2, 4, width);
}

fn anomalies(out: &mut String, anomalies: &Anomalies, width: usize) {
    let seen = anomalies.each().filter(|(_, n)| *n > 0).map(|(label, n)| format!("{label} {}", count(n)));
    line_of(out, "other", seen.collect(), width);
}

/// Signatures, cookies and simulated clients, where the run has them.
fn checks(out: &mut String, arrivals: &Arrivals, width: usize) {
    let words = |counts: Vec<(String, u64)>| {
        counts.into_iter().map(|(what, n)| format!("{what} {}", count(n))).collect()
    };
    if let Some(tsig) = &arrivals.tsig {
        line_of(out, "TSIG", words(tsig_counts(tsig)), width);
    }
    if let Some(cookies) = &arrivals.cookies {
        line_of(out, "cookies", words(cookie_counts(cookies)), width);
    }
    for (label, words) in arrivals.clients.iter().flat_map(|clients| caching_lines(clients)) {
        line_of(out, label, words, width);
    }
}

/// RCODEs, and types where there is more than one.
fn responses(out: &mut String, digest: &Digest, width: usize) {
    let tally = digest.tally();
    let total = tally.rcodes.total();
    let rcode = |(code, n)| {
        format!("{} {} ({})", rcode_name(code), count(n), percent(share(n, total).unwrap_or(0.0)))
    };
    line_of(out, "RCODE", tally.rcodes.iter().map(rcode).collect(), width);
    let typed = digest.header.types.iter().zip(&tally.types).filter(|(_, n)| n.sent > 0);
    let by_type: Vec<_> = typed
        .map(|(rtype, n)| {
            let answered = share(n.answered, n.sent).map_or(NOTHING.to_owned(), percent);
            let name = type_name(*rtype);
            match (digest.header.send_only, tally.ends.not_sent.total()) {
                (true, _) => format!("{name} {}", count(n.sent)),
                (false, 0) => format!("{name} {} ({answered} answered)", count(n.sent)),
                // The line of the ends has shares of all that were due.
                (false, _) => format!("{name} {} ({answered} of those sent answered)", count(n.sent)),
            }
        })
        .collect();
    if by_type.len() > 1 {
        line_of(out, "type", by_type, width);
    }
}

/// Sizes of DNS messages, without the headers of the transport.
fn sizes(out: &mut String, digest: &Digest, width: usize) {
    let tally = digest.tally();
    let of = [
        ("queries", mean_bytes(tally.bytes_sent, tally.requests), tally.query_bytes_max),
        ("responses", mean_bytes(tally.bytes_answered, tally.rcodes.total()), tally.response_bytes_max),
    ];
    let known = of.into_iter().filter_map(|(name, mean, largest)| Some((name, mean?, largest)));
    let texts = known.map(|(name, mean, largest)| match largest {
        _ if mean == largest => format!("{name} {}", counted(mean, "byte", "bytes")),
        // A record of an older version does not have it.
        0 => format!("{name} {} on average", counted(mean, "byte", "bytes")),
        _ => format!("{name} {} on average, {} at most", counted(mean, "byte", "bytes"), count(largest)),
    });
    line_of(out, "size", texts.collect(), width);
}

/// A key and its items, wrapped; nothing where there are none.
fn line_of(out: &mut String, key: &str, items: Vec<String>, width: usize) {
    if !items.is_empty() {
        flow_after(out, &format!("  {key:<7} "), items, "   ", 10, width);
    }
}
