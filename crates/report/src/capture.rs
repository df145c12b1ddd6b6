//! What is in a capture, as text.

use dnsdyno_capture::contents::{Client, Contents, Rate, Share};
use dnsdyno_capture::{CaptureCounts, SkipReason, WrittenCounts};
use jiff::Timestamp;

use dnsdyno_text::layout::{NARROWEST, Table, flow_after};
use dnsdyno_text::units::{count, counted, duration, length, percent, rate};

/// What is in a capture, in lines of at most `width` columns (40 at least).
pub fn capture_text(contents: &Contents, width: usize) -> String {
    let mut out = Lines { text: String::new(), width: width.max(NARROWEST) };
    head(&mut out, contents);
    clients(&mut out, contents);
    questions(&mut out, contents);
    answers(&mut out, contents);
    read(&mut out, &contents.read);
    out.text
}

/// Why nothing was written of so many messages that were read.
pub fn nothing_written_text(read: u64, written: &WrittenCounts) -> String {
    if read == 0 {
        return "the captures have no DNS message; `dnsdyno capture show` says what they have".to_owned();
    }
    let left_out = written_text(written);
    if left_out.is_empty() {
        return format!(
            "none of the {} is selected: nothing was written",
            counted(read, "message", "messages")
        );
    }
    let selected = written.responses_left_out.saturating_add(written.unsuitable_left_out);
    let of = counted(selected, "message that is selected", "messages that are selected");
    format!("nothing was written of the {of}: {}; choose another format with --format", left_out.join(", "))
}

/// What was written of a capture, and what its format could not hold.
pub fn written_text(written: &WrittenCounts) -> Vec<String> {
    let losses = [
        (written.responses_left_out, "responses left out: the format holds queries only"),
        (written.unsuitable_left_out, "messages left out: the format cannot hold them"),
        (written.flags_lost, "queries written without all of their flags: RD, AD and CD can be written"),
        (written.records_lost, "queries written without all additional records, such as TSIG"),
        (written.transport_lost, "messages of DoT, DoH or DoQ written as TCP on port 53"),
    ];
    let losses = losses.iter().filter(|(lost, _)| *lost > 0);
    losses.map(|(lost, what)| format!("{} {what}", count(*lost))).collect()
}

/// Lines with a label before their text.
struct Lines {
    text: String,
    width: usize,
}

impl Lines {
    /// A label, and items with commas between them.
    fn line(&mut self, label: &str, items: impl IntoIterator<Item = String>) {
        let mut items: Vec<String> = items.into_iter().collect();
        let last = items.len().saturating_sub(1);
        items.iter_mut().take(last).for_each(|item| item.push(','));
        if !items.is_empty() {
            let lead = format!("{label:LABEL$}");
            flow_after(&mut self.text, &lead, items, " ", LABEL, self.width);
        }
    }

    /// The most frequent ones, with their shares of `total`.
    fn shares(&mut self, label: &str, shares: &[Share], total: u64) {
        let shown = shares.iter().take(SHARES_SHOWN);
        let shown = shown.map(|share| format!("{} {}", share.name, percent(part(share.count, total))));
        let rest: u64 = shares.iter().skip(SHARES_SHOWN).map(|share| share.count).sum();
        let others = shares.len().saturating_sub(SHARES_SHOWN);
        let rest =
            (others > 0).then(|| format!("{} others {}", count(others as u64), percent(part(rest, total))));
        self.line(label, shown.chain(rest));
    }
}

fn head(out: &mut Lines, contents: &Contents) {
    if let (Some(from), Some(to)) = (contents.from_unix_ns, contents.to_unix_ns) {
        out.line("time", [format!("{} to {}", instant(from), instant(to)), length(to - from)]);
    }
    let messages =
        [counted(contents.queries, "query", "queries"), counted(contents.responses, "response", "responses")];
    let malformed =
        (contents.malformed > 0).then(|| format!("{} of them malformed", count(contents.malformed)));
    out.line("messages", messages.into_iter().chain(malformed));
    let mean = |bytes: u64, messages: u64, what| {
        (messages > 0)
            .then(|| format!("{what} {} bytes", count((bytes as f64 / messages as f64).round() as u64)))
    };
    let query = mean(contents.query_bytes, contents.queries, "query");
    let response = mean(contents.response_bytes, contents.responses, "response");
    out.line("mean size", query.into_iter().chain(response));
    rates(out, contents);
    let messages = contents.queries + contents.responses;
    let transports = contents.transports.iter();
    let of = |all: u64| percent(part(all, messages));
    out.line("transports", transports.map(|t| format!("{} {}", t.name, of(t.queries + t.responses))));
}

fn rates(out: &mut Lines, contents: &Contents) {
    let Rate { part_ns, queries, responses, .. } = &contents.rate;
    let (what, parts) = if contents.queries > 0 { ("queries", queries) } else { ("responses", responses) };
    let total: u64 = parts.iter().sum();
    let covered_ns = contents.to_unix_ns.zip(contents.from_unix_ns).map_or(0, |(to, from)| to - from);
    if total == 0 || covered_ns == 0 {
        return;
    }
    let highest = parts.iter().max().copied().unwrap_or(0);
    let per_second = |messages: u64, ns: u64| rate(messages as f64 / (ns as f64 * 1e-9));
    let mean = format!("{} {what}/s on average", per_second(total, covered_ns));
    let peak = format!("{}/s in the busiest {}", per_second(highest, *part_ns), length(*part_ns));
    out.line("rate", [mean, peak]);
    let columns = out.width - LABEL;
    if parts.len() > 1 {
        out.text.push_str(&" ".repeat(LABEL));
        out.text.push_str(&sparkline(parts, columns));
        out.text.push('\n');
    }
}

fn clients(out: &mut Lines, contents: &Contents) {
    let clients = &contents.clients;
    if clients.clients == 0 {
        return;
    }
    let about = if clients.is_estimate { "about " } else { "" };
    let share = |share, part| format!("the busiest {part} make {} of the queries", percent(share));
    let shares = (clients.clients >= 10).then(|| share(clients.share_of_first_tenth, "10 %"));
    let first = (clients.clients >= 100).then(|| share(clients.share_of_first_hundredth, "1 %"));
    let estimate = clients.is_estimate.then(|| {
        format!(
            "estimated from {} of the clients, each with all of its queries",
            percent(clients.counted_share)
        )
    });
    let number = format!("{about}{}", count(clients.clients));
    out.line("clients", [number].into_iter().chain(shares).chain(first).chain(estimate));
    let queries: u64 = clients.classes.iter().map(|class| class.queries).sum();
    let mut table = Table::default();
    let column = |cell: &dyn Fn(usize) -> String| (0..clients.classes.len()).map(cell).collect();
    let class = |n: usize| &clients.classes[n];
    table.right("queries", 0, column(&|n| format!("{} to {}", count(class(n).from), count(class(n).to))));
    table.right("clients", 0, column(&|n| count(class(n).clients)));
    table.right("of all clients", 2, column(&|n| percent(part(class(n).clients, clients.clients))));
    table.right("of all queries", 1, column(&|n| percent(part(class(n).queries, queries))));
    let mut text = String::new();
    table.write(&mut text, out.width - TABLE_INDENT);
    text.lines().for_each(|line| out.text.push_str(&format!("{}{line}\n", " ".repeat(TABLE_INDENT))));
    let busiest = |client: &Client| format!("{} {}", client.address, count(client.queries));
    out.line("busiest", clients.top.iter().take(CLIENTS_SHOWN).map(busiest));
    let servers = contents.servers.iter().take(SERVERS_SHOWN);
    let messages = contents.queries + contents.responses;
    out.line("servers", servers.map(|s| format!("{} {}", s.address, percent(part(s.messages, messages)))));
}

fn questions(out: &mut Lines, contents: &Contents) {
    out.shares("types", &contents.types, contents.queries);
    out.shares("classes", &contents.other_classes, contents.queries);
    out.shares("opcodes", &contents.other_opcodes, contents.queries);
    let edns = &contents.edns;
    if contents.queries == 0 {
        return;
    }
    let of_queries = format!("{} of the queries", percent(part(edns.queries, contents.queries)));
    let sizes = edns.sizes.iter().take(SIZES_SHOWN);
    let sizes = sizes.map(|size| format!("size {} {}", size.name, percent(part(size.count, edns.queries))));
    let do_bit = (edns.queries > 0).then(|| format!("DO {}", percent(part(edns.dnssec_ok, edns.queries))));
    out.line("EDNS", [of_queries].into_iter().chain(do_bit).chain(sizes));
    out.shares("options", &edns.options, edns.queries);
}

fn answers(out: &mut Lines, contents: &Contents) {
    out.shares("RCODEs", &contents.rcodes, contents.responses);
    if contents.truncated > 0 {
        let share = percent(part(contents.truncated, contents.responses));
        out.line("truncated", [format!("{share} of the responses")]);
    }
    let pairs = &contents.pairs;
    if contents.queries > 0 && contents.responses > 0 {
        let others = [
            (pairs.unanswered, "without a response"),
            (pairs.repeated, "repeated with the same ID"),
            (pairs.without_query, "responses without a query"),
        ];
        let others = others.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n)));
        out.line("answered", [counted(pairs.answered, "query", "queries")].into_iter().chain(others));
        out.line("latency", pairs.latency.iter().map(|p| format!("{} {}", p.name, duration(p.ns))));
    }
}

fn read(out: &mut Lines, read: &CaptureCounts) {
    out.line("read", [counted(read.frames, "frame", "frames")]);
    let skipped = read.skipped.by_reason().map(|(reason, n)| format!("{} {}", count(n), reason.words()));
    out.line("not used", skipped);
    if read.messages == 0 && read.skipped.of(SkipReason::OtherPort) > 0 {
        out.line("advice", ["DNS is read at port 53; for another port add --port PORT".to_owned()]);
    }
    let tcp = [
        (read.tcp_reordered, "segments put in order"),
        (read.tcp_repeated, "repeated"),
        (read.tcp_gaps, "gaps"),
        (read.tcp_without_start, "streams without their start"),
        (read.tcp_lost_bytes, "bytes of no whole message"),
        (read.tcp_short_messages, "lengths that no message has"),
    ];
    let tcp = tcp.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n)));
    out.line("TCP", tcp);
    let others = [
        (read.reordered, "messages put in order"),
        (read.out_of_order, "messages too late to be put in order: earlier than the one before"),
        (read.without_instant, "without an instant of their own"),
        (read.repeated_queries, "queries that are also with their response: counted once"),
        (read.unknown_blocks, "blocks of unknown types"),
        (read.forgotten, "streams or datagrams forgotten: too many were open"),
    ];
    let others = others.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n)));
    out.line("note", others);
}

fn part(count: u64, total: u64) -> f64 {
    if total == 0 { 0.0 } else { count as f64 / total as f64 }
}

/// An instant in UTC, to the millisecond. Later ones than a calendar has are given as a number.
fn instant(unix_ns: u64) -> String {
    let timestamp = Timestamp::from_nanosecond(unix_ns.into());
    timestamp.map_or_else(
        |_| format!("{} s after 1970", unix_ns / 1_000_000_000),
        |at| at.strftime("%Y-%m-%d %H:%M:%S.%3f UTC").to_string(),
    )
}

/// Parts of the time as bars from nothing to the highest, in at most `columns` columns.
fn sparkline(parts: &[u64], columns: usize) -> String {
    let columns = columns.clamp(1, parts.len());
    // Each column has the highest of its parts: a burst stays visible.
    let bars: Vec<u64> = (0..columns)
        .map(|column| {
            let (from, to) = (column * parts.len() / columns, (column + 1) * parts.len() / columns);
            parts[from..to].iter().max().copied().unwrap_or(0)
        })
        .collect();
    let highest = bars.iter().max().copied().unwrap_or(0).max(1);
    let bar = |n: &u64| match n {
        0 => ' ',
        n => BARS[((n * BARS.len() as u64).div_ceil(highest) - 1) as usize],
    };
    bars.iter().map(bar).collect::<String>().trim_end().to_owned()
}

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Columns before the text of a line.
const LABEL: usize = 12;

/// Before a table, which has a gap of its own.
const TABLE_INDENT: usize = 10;

/// What is frequent; the rest is summed, and is in the JSON.
const SHARES_SHOWN: usize = 8;
const SIZES_SHOWN: usize = 4;
const CLIENTS_SHOWN: usize = 5;
const SERVERS_SHOWN: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_shows_the_highest_of_what_a_column_stands_for() {
        assert_eq!(sparkline(&[1, 2, 3, 4, 5, 6, 7, 8], 8), "▁▂▃▄▅▆▇█");
        assert_eq!(sparkline(&[0, 80, 0, 0, 10, 0], 3), "█ ▁");
        assert_eq!(sparkline(&[5], 40), "█");
    }

    #[test]
    fn instants_have_their_date_and_any_number_is_one() {
        assert_eq!(instant(1_718_884_800_123_000_000), "2024-06-20 12:00:00.123 UTC");
        assert!(!instant(u64::MAX).is_empty());
    }

    #[test]
    fn that_nothing_was_written_has_its_reason() {
        let nothing = WrittenCounts::default();
        assert!(nothing_written_text(0, &nothing).contains("have no DNS message"));
        assert!(nothing_written_text(7, &nothing).contains("none of the 7 messages is selected"));
        let unsuitable = WrittenCounts { unsuitable_left_out: 1, ..nothing };
        let text = nothing_written_text(7, &unsuitable);
        assert!(text.contains("of the 1 message that is selected: 1 messages left out"), "{text}");
        assert!(text.contains("the format cannot hold them") && text.contains("--format"), "{text}");
    }

    #[test]
    fn what_a_format_cannot_hold_is_said_with_its_number() {
        let written = WrittenCounts { messages: 5, transport_lost: 2, ..WrittenCounts::default() };
        assert_eq!(written_text(&written), ["2 messages of DoT, DoH or DoQ written as TCP on port 53"]);
        assert!(written_text(&WrittenCounts::default()).is_empty());
    }
}
