//! The summary of a run as text, for an operator and one screen.

use dnsdyno_measure::{Anomalies, Ends, Quantile, Tally, shown};
use dnsdyno_record::{BackendInfo, Digest, Ended, Header, Headline};
use dnsdyno_wire::{rcode_name, type_name};

use crate::connections;
use crate::fallback;
use crate::figures::{
    headline, judged, latency, lateness, longest, lost, other, rate_qps, sent, share, socket_drops,
};
use crate::layout::{Table, flow, paragraph};
use crate::rows::{self, quantile};
use crate::units::{count, duration, length, percent, rate, setting};

/// The summary of `digest` in lines of at most `width` columns (40 at least), with a newline
/// after the last.
///
/// The rate of a run whose generator was in doubt is never reported as the server's limit.
pub fn summary(digest: &Digest, width: usize) -> String {
    let width = width.max(NARROWEST);
    let mut out = String::new();
    incomplete(&mut out, digest, width);
    head(&mut out, digest, width);
    queries(&mut out, digest, width);
    anomalies(&mut out, &digest.arrivals().anomalies, width);
    responses(&mut out, digest, width);
    latencies(&mut out, digest, width);
    fallback::write_mix(&mut out, digest, width);
    fallback::write(&mut out, digest, width);
    connections::write(&mut out, digest, width);
    rows::write(&mut out, digest, width);
    events(&mut out, digest, width);
    verdict(&mut out, digest, width);
    out
}

/// What is missing in the record is printed first, so that partial figures are not taken for the whole.
fn incomplete(out: &mut String, digest: &Digest, width: usize) {
    if let Some(Ended::Failed { why }) = digest.ended() {
        paragraph(out, &format!("FAILED: {why}. The figures cover the time until then."), 0, 2, width);
    }
    if digest.is_complete() {
        return;
    }
    let torn = if digest.torn { "; its last line is incomplete" } else { "" };
    let text = format!(
        "INCOMPLETE: the run was cut off or is still going on; the record ends at {}{torn}. The figures cover the \
         recorded intervals.",
        length(digest.to_ns())
    );
    paragraph(out, &text, 0, 2, width);
}

fn head(out: &mut String, digest: &Digest, width: usize) {
    let header = &digest.header;
    let mut entry = |key: &str, text: &str| {
        let mut words = text.split_whitespace().map(str::to_owned);
        let first = format!("{key:<HEAD_INDENT$}{}", words.next().unwrap_or_default());
        flow(out, [first].into_iter().chain(words), " ", 0, HEAD_INDENT, width);
    };
    entry("server", &server(header));
    if let Some(text) = backend(&header.backend) {
        entry("backend", &text);
    }
    entry("load", &header.load);
    let skipped = match header.bad_lines {
        0 => String::new(),
        lines => format!(", {} skipped", counted(lines, "malformed line")),
    };
    let passes = digest.sum.as_ref().map_or(String::new(), |sum| format!(", {:.2} passes", sum.passes));
    let noun = if header.queries == 1 { "query" } else { "queries" };
    entry("source", &format!("{} {noun}{skipped}{passes}", count(header.queries)));
    let has_sockets = header.backend.xdp.is_none() && header.transport == "udp";
    let udp_sockets = header
        .udp_sockets
        .map_or(String::new(), |sockets| format!(" and {}", counted(u64::from(sockets), "UDP socket")));
    let reason = header
        .workers_reason
        .as_ref()
        .map_or(String::new(), |reason| format!(" ({})", shown(reason, LONGEST_REASON)));
    let generator = format!(
        "dnsdyno {}, {}{reason}, {}{udp_sockets}, timeout {}",
        header.version,
        counted(u64::from(header.workers), "worker"),
        counted(u64::from(header.clients), if has_sockets { "socket" } else { "client" }),
        setting(header.timeout_ns)
    );
    entry("generator", &generator);
    entry("ran", &format!("{}{}", length(digest.to_ns()), ended(digest)));
    for (key, text) in [("name", &header.name), ("note", &header.note)] {
        text.iter().for_each(|text| entry(key, text));
    }
}

/// The backend, unless it is the default.
fn backend(backend: &BackendInfo) -> Option<String> {
    let Some(xdp) = &backend.xdp else {
        return backend.why.as_ref().map(|why| format!("sockets, because AF_XDP is not available: {why}"));
    };
    let copy = if xdp.zero_copy { "zero copy" } else { "copy" };
    let vlan = xdp.vlan.map_or(String::new(), |vlan| format!(", VLAN {vlan}"));
    let why = backend.why.as_ref().map_or(String::new(), |why| format!(" (auto: {why})"));
    Some(format!(
        "AF_XDP on {}, {}, {} mode, {copy}, from {} ports {}..{} to {}{vlan}{why}",
        xdp.interface,
        counted(u64::from(xdp.queues), "queue"),
        xdp.mode,
        xdp.source,
        xdp.first_port,
        xdp.last_port,
        xdp.next_hop,
    ))
}

/// The server; only its address if the user gave just that.
fn server(header: &Header) -> String {
    let address = header.address.to_string();
    let is_named = header.target != header.address.ip().to_string() && header.target != address;
    let target = if is_named { format!("{} ({address})", header.target) } else { address };
    let several: Vec<_> = header.mix.iter().map(|member| member.transport.as_str()).collect();
    match several.is_empty() {
        true => format!("{target} over {}", header.transport),
        false => format!("{target} over {}", several.join(", ")),
    }
}

fn ended(digest: &Digest) -> &'static str {
    match digest.ended() {
        Some(Ended::ByTime) => ", to the end of the schedule",
        Some(Ended::ByCount) => ", to the given number of queries",
        Some(Ended::ByPasses) => ", to the given number of passes",
        Some(Ended::Interrupted) => ", ended by the user",
        Some(Ended::Failed { .. }) => ", ended by a failure",
        None => " so far",
    }
}

/// Each query scheduled, by its end; only the ends that occurred.
fn queries(out: &mut String, digest: &Digest, width: usize) {
    let (tally, over_ns) = (digest.tally(), digest.schedule_ns());
    let Ends { answered, answered_late, timed_out, refused, interrupted, .. } = tally.ends;
    let not_sent = tally.ends.not_sent.total();
    // Queries of a lost connection end as refused, whoever ended it.
    let refused_words = match digest.arrivals().connections {
        Some(_) => "refused or connection lost",
        None => "refused by the network",
    };
    let lines = [
        ("scheduled", tally.scheduled, true),
        ("sent", sent(tally), true),
        ("answered", answered, !digest.header.send_only),
        ("answered late", answered_late, answered_late > 0),
        ("timed out", timed_out, timed_out > 0),
        (refused_words, refused, refused > 0),
        ("not sent", not_sent, not_sent > 0),
        ("interrupted", interrupted, interrupted > 0),
    ];
    let shown: Vec<_> = lines.into_iter().filter(|(.., is_shown)| *is_shown).collect();
    let mut table = Table::default();
    table.left("queries", 0, shown.iter().map(|(label, ..)| (*label).to_owned()).collect());
    table.right("", 0, shown.iter().map(|(_, n, _)| count(*n)).collect());
    let per_second = |n: u64| format!("{}/s", rate(rate_qps(n, over_ns)));
    table.right("", 1, shown.iter().map(|(_, n, _)| per_second(*n)).collect());
    let of_scheduled = |n: u64| share(n, tally.scheduled).map_or("-".to_owned(), percent);
    table.right("", 0, shown.iter().map(|(_, n, _)| of_scheduled(*n)).collect());
    out.push('\n');
    table.write(out, width);
    reasons(out, digest, width);
}

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
    }
    let drops = socket_drops(digest);
    if drops > 0 {
        let text = format!(
            "our own sockets dropped at least {}: this many of the timeouts are not the server's loss",
            counted(drops, "packet")
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
        counts.name,
        counted(counts.sent, "packet"),
        count(counts.send_dropped),
        counted(counts.send_errors, "error"),
    );
    paragraph(out, &text, 2, 4, width);
}

fn anomalies(out: &mut String, anomalies: &Anomalies, width: usize) {
    let counts = [
        ("duplicates", anomalies.duplicates),
        ("unexpected ID", anomalies.unexpected),
        ("wrong question", anomalies.wrong_question),
        ("malformed", anomalies.malformed),
        ("truncated", anomalies.truncated),
    ];
    let seen = counts.into_iter().filter(|(_, n)| *n > 0).map(|(label, n)| format!("{label} {}", count(n)));
    line_of(out, "other", seen.collect(), width);
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
            let answered = share(n.answered, n.sent).map_or("-".to_owned(), percent);
            match digest.header.send_only {
                true => format!("{} {}", type_name(*rtype), count(n.sent)),
                false => format!("{} {} ({answered} answered)", type_name(*rtype), count(n.sent)),
            }
        })
        .collect();
    if by_type.len() > 1 {
        line_of(out, "type", by_type, width);
    }
}

/// A key and its items, wrapped; nothing where there are none.
fn line_of(out: &mut String, key: &str, items: Vec<String>, width: usize) {
    if !items.is_empty() {
        let first = format!("{key:<8}{}", items[0]);
        flow(out, [first].into_iter().chain(items.into_iter().skip(1)), "   ", 2, 10, width);
    }
}

fn latencies(out: &mut String, digest: &Digest, width: usize) {
    let (tally, timeout_ns) = (digest.tally(), digest.header.timeout_ns);
    let late = lateness(tally);
    out.push('\n');
    if !digest.header.send_only {
        let first = digest.header.headline;
        paragraph(out, &format!("{}, timeouts included", headline_name(first)), 0, 2, width);
        flow(out, long_line(digest, tally), "   ", 2, 2, width);
        let second = latency(other(first), tally);
        let figures = QUANTILES_SHORT.map(|(label, q)| (label, second.quantile(q)));
        let figures = figures.into_iter().chain([("max", longest(second))]);
        named_line(out, &format!("{}:", headline_name(other(first))), figures, timeout_ns, width);
    }
    if digest.header.headline == Headline::Response && late.count() > 0 {
        let figures = QUANTILES_SHORT.map(|(label, q)| (label, late.quantile(q)));
        let figures = figures.into_iter().chain([("max", longest(late))]);
        named_line(out, "lateness (actual send after it was due):", figures, timeout_ns, width);
    }
}

/// A few figures on the line of their name, if they fit.
fn named_line<'a>(
    out: &mut String,
    name: &str,
    figures: impl Iterator<Item = (&'a str, Option<Quantile>)>,
    timeout_ns: u64,
    width: usize,
) {
    let items = figures.map(|(label, figure)| format!("{label} {}", quantile(figure, timeout_ns)));
    if name.chars().count() > width {
        paragraph(out, name, 0, 2, width);
        flow(out, items, "   ", 2, 2, width);
    } else {
        flow(out, [name.to_owned()].into_iter().chain(items), "   ", 0, 2, width);
    }
}

fn long_line(digest: &Digest, tally: &Tally) -> Vec<String> {
    let latency = headline(digest, tally);
    let timeout_ns = digest.header.timeout_ns;
    let Some(exact) = latency.answered.exact() else {
        return vec!["no query was answered in time".to_owned()];
    };
    let average = duration(latency.answered.mean_ns().unwrap_or(0));
    let mut items = vec![format!("min {}", duration(exact.min_ns)), format!("avg {average}")];
    items
        .extend(QUANTILES.map(|(label, q)| format!("{label} {}", quantile(latency.quantile(q), timeout_ns))));
    items.push(format!("max {}", quantile(longest(latency), timeout_ns)));
    if latency.unanswered > 0 {
        items.push("(min and avg: answered only)".to_owned());
    }
    items
}

fn headline_name(which: Headline) -> &'static str {
    match which {
        Headline::Response => "response time, from the instant the query was due",
        Headline::Service => "service time, from the actual send",
    }
}

fn events(out: &mut String, digest: &Digest, width: usize) {
    if digest.events.is_empty() {
        return;
    }
    out.push('\n');
    for event in digest.events.iter().take(EVENTS_SHOWN) {
        paragraph(out, &format!("at {}: {}", length(event.at_ns), event.message), 0, 2, width);
    }
    let more = digest.events.len().saturating_sub(EVENTS_SHOWN) as u64 + digest.more_events;
    if more > 0 {
        out.push_str(&format!("and {} in the record\n", counted(more, "more event")));
    }
}

/// The verdict, and the line with the rate, which depends on it.
fn verdict(out: &mut String, digest: &Digest, width: usize) {
    let warnings = digest.warnings();
    out.push('\n');
    match (&digest.sum, warnings.as_slice()) {
        (Some(sum), []) => {
            // Unknown in a short run, whose start would be most of it.
            let share = Some(sum.evidence.busiest_worker_cpu).filter(|share| *share > 0.0);
            let used =
                share.map(|share| format!(" (the busiest worker used {:.0} % of a CPU)", share * 100.0));
            paragraph(out, &format!("generator: ok{}", used.unwrap_or_default()), 0, 2, width);
        }
        (None, []) => paragraph(out, "generator: no verdict, the run did not end normally", 0, 2, width),
        (_, warnings) => {
            out.push_str("generator: in doubt\n");
            warnings.iter().for_each(|warning| paragraph(out, &format!("- {warning}"), 2, 4, width));
        }
    }
    for note in digest.notes() {
        paragraph(out, &format!("noted, without effect on the figures: {note}"), 2, 4, width);
    }
    let doubt = match (warnings.is_empty(), digest.is_complete()) {
        (false, _) => " (the generator was in doubt: this is not the server's limit)",
        (true, false) => " so far",
        (true, true) => "",
    };
    paragraph(out, &format!("{}{doubt}", rate_line(digest)), 0, 2, width);
}

fn rate_line(digest: &Digest) -> String {
    let (tally, over_ns) = (digest.tally(), digest.schedule_ns());
    let per_second = |n| rate(rate_qps(n, over_ns));
    if digest.header.send_only {
        return format!("rate: {} queries/s sent", per_second(sent(tally)));
    }
    let loss = share(lost(tally), judged(tally)).map_or("-".to_owned(), percent);
    format!("rate: {} answered/s, loss {loss}", per_second(tally.ends.answered))
}

/// `1 worker`, `8 sockets`.
fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];

const QUANTILES_SHORT: [(&str, f64); 2] = [("p50", 0.5), ("p99", 0.99)];

/// Characters of the reason for a number of workers.
const LONGEST_REASON: usize = 80;

/// The column of the values of the head.
const HEAD_INDENT: usize = 11;

/// A record may have hundreds; more would not fit on a screen.
const EVENTS_SHOWN: usize = 5;

/// A narrower table has no space for the important columns.
const NARROWEST: usize = 40;

#[cfg(test)]
mod tests;
