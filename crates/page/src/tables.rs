//! The tables of a run: those of the summary, and the counts by type, RCODE, reason and part.

use dnsdyno_measure::{By, Connections, Encrypted, Fallback, HandshakeKind, Histogram, Key, Latency};
use dnsdyno_record::{Digest, MembersBy};
use dnsdyno_report::{caching_lines, cookie_counts, kind_lines, quantile, tables, tsig_counts};
use dnsdyno_text::units;
use dnsdyno_wire::{rcode_name, type_name};

use crate::counters;
use crate::data::{Table, TableColumn};
use crate::watched;

/// All tables that have rows, in the order of the page.
pub(crate) fn of(digest: &Digest) -> Vec<Table> {
    let (rows_id, rows_title) = match digest.rows_are_phases() {
        true => ("steps", "By step"),
        false => ("time", "Over time"),
    };
    if digest.header.is_watch_only() {
        let mut all: Vec<_> = of_watched(digest).into();
        all.retain(|table| !table.rows.is_empty());
        return all;
    }
    let of_summary = [
        (rows_id, rows_title, tables::rows(digest)),
        ("latencies", "Latencies", tables::latencies(digest)),
        ("ends", "How the queries ended", Some(tables::ends(digest))),
    ];
    let mut all: Vec<Table> = Vec::new();
    all.extend(of_summary.into_iter().filter_map(|(id, title, table)| Some(as_is(id, title, &table?))));
    all.extend([not_sent(digest), types(digest), rcodes(digest), anomalies(digest)]);
    all.extend(checks(digest));
    all.extend(tables::agents(digest).map(|table| as_is("agents", "By agent", &table)));
    all.extend(tables::mix(digest).map(|table| {
        let title = match digest.header.members_by() {
            Some(MembersBy::Server) => "By server",
            Some(MembersBy::Member) => "By member",
            Some(MembersBy::Transport) | None => "By transport",
        };
        as_is("members", title, &table)
    }));
    if let Some(connections) = &digest.arrivals().connections {
        all.extend(of_connections(connections));
    }
    if let Some(fallback) = &digest.tally().fallback {
        all.extend(of_fallback(fallback));
    }
    let truncated = tables::truncated(digest);
    all.extend(truncated.map(|table| as_is("truncated", "Questions that fell back to TCP", &table)));
    all.extend(tables::workers(digest).map(|table| as_is("workers", "By worker", &table)));
    all.extend(of_watched(digest));
    all.push(table(
        "counters",
        "All counters that are not 0, by their paths in the record",
        &["counter", "count", "p50", "p99", "max"],
        counters::rows(digest),
    ));
    all.retain(|table| !table.rows.is_empty());
    all
}

/// A table of the summary.
fn as_is(id: &'static str, title: &'static str, table: &dnsdyno_text::layout::Table) -> Table {
    let columns: Vec<_> = table.columns().collect();
    let height = columns.first().map_or(0, |column| column.cells.len());
    Table {
        id,
        title,
        columns: columns.iter().map(|column| titled(&column.title, column.is_left)).collect(),
        rows: (0..height)
            .map(|row| {
                columns.iter().map(|column| column.cells.get(row).cloned().unwrap_or_default()).collect()
            })
            .collect(),
    }
}

/// A table whose first column is text and whose others are figures.
fn table(id: &'static str, title: &'static str, titles: &[&str], rows: Vec<Vec<String>>) -> Table {
    let columns = titles.iter().enumerate().map(|(place, title)| titled(title, place == 0)).collect();
    Table { id, title, columns, rows }
}

fn titled(title: &str, is_left: bool) -> TableColumn {
    let align = if is_left { "left" } else { "right" };
    TableColumn { title: title.to_owned(), unit: String::new(), align }
}

/// What was read beside the load.
fn of_watched(digest: &Digest) -> [Table; 3] {
    let text = |id, title, titles: &[&str], right: usize, rows| {
        let columns =
            titles.iter().enumerate().map(|(place, title)| titled(title, place < titles.len() - right));
        Table { id, title, columns: columns.collect(), rows }
    };
    [
        text("watched", "Watched series", &["series", "of", "", "value"], 1, watched::series_rows(digest)),
        text("settings", "Parameters", &["parameter", "value", "of"], 0, watched::setting_rows(digest)),
        text(
            "sources",
            "Watched sources",
            &["source", "kind", "of", "software", "series", "moved", "not read"],
            0,
            watched::source_rows(digest),
        ),
    ]
}

fn not_sent(digest: &Digest) -> Table {
    let tally = digest.tally();
    let row = |(reason, n): (dnsdyno_measure::NotSentReason, u64)| {
        vec![reason.words().to_owned(), units::count(n), of_whole(n, tally.scheduled)]
    };
    let rows = tally.ends.not_sent.by_reason().map(row).collect();
    table("not_sent", "Not sent, by reason", &["reason", "queries", "of scheduled"], rows)
}

fn types(digest: &Digest) -> Table {
    let typed = digest.header.types.iter().zip(&digest.tally().types).filter(|(_, n)| n.sent > 0);
    let rows = typed.map(|(rtype, n)| {
        let answered = match digest.header.send_only {
            true => ["-".to_owned(), "-".to_owned()],
            false => [units::count(n.answered), of_whole(n.answered, n.sent)],
        };
        [type_name(*rtype).into_owned(), units::count(n.sent)].into_iter().chain(answered).collect()
    });
    table("types", "By query type", &["type", "sent", "answered", "share answered"], rows.collect())
}

fn rcodes(digest: &Digest) -> Table {
    let rcodes = &digest.tally().rcodes;
    let total = rcodes.total();
    let row = |(code, n)| vec![rcode_name(code).into_owned(), units::count(n), of_whole(n, total)];
    table("rcodes", "By RCODE", &["RCODE", "responses", "share"], rcodes.iter().map(row).collect())
}

fn anomalies(digest: &Digest) -> Table {
    let arrivals = digest.arrivals();
    let counts = arrivals.anomalies.each().chain([("dropped at our own sockets", arrivals.socket_drops)]);
    table("anomalies", "Other packets", &["what", "packets"], counted(counts))
}

/// Signatures and cookies of responses, where the run has them.
fn checks(digest: &Digest) -> Vec<Table> {
    let arrivals = digest.arrivals();
    let rows = |counts: Vec<(String, u64)>| {
        counts.into_iter().map(|(what, n)| vec![what, units::count(n)]).collect::<Vec<_>>()
    };
    let tsig = arrivals.tsig.as_ref().map(|tsig| rows(tsig_counts(tsig)));
    let cookies = arrivals.cookies.as_ref().map(|cookies| rows(cookie_counts(cookies)));
    let line = |(label, words): (&str, Vec<String>)| vec![label.to_owned(), words.join(", ")];
    let kinds = kind_lines(digest).into_iter().map(|(name, words)| vec![name, words.join(", ")]);
    let clients = arrivals
        .clients
        .as_ref()
        .map(|clients| caching_lines(clients).into_iter().map(line).chain(kinds).collect());
    let clients = clients.map(|rows| table("clients", "Simulated clients", &["what", "found"], rows));
    let columns = ["what", "responses"];
    let tsig = tsig.map(|rows| table("tsig", "Signatures (TSIG)", &columns, rows));
    let cookies = cookies.map(|rows| table("cookies", "DNS cookies", &columns, rows));
    [tsig, cookies, clients].into_iter().flatten().collect()
}

fn of_connections(connections: &Connections) -> Vec<Table> {
    let counts = [
        ("opened", connections.opened),
        ("established", connections.established),
        ("most at once", connections.open_max),
        ("queries on an open connection", connections.reused),
        ("pauses of clients", connections.pauses),
    ];
    let by_reason = reasons("failed: ", &connections.failed).chain(reasons("", &connections.ended));
    let rows = counted(counts).into_iter().chain(by_reason).collect();
    let durations = [
        ("connect, from the SYN", &connections.connect),
        ("first byte, from the SYN", &connections.first_byte),
        ("query, from sending it over its connection", &connections.query),
    ];
    let mut tables = vec![
        table("connections", "Connections", &["what", "count"], rows),
        of_durations("connection_times", "Times of connections", durations),
    ];
    tables.extend(connections.encrypted.iter().flat_map(|encrypted| of_handshakes(encrypted)));
    tables
}

fn of_handshakes(encrypted: &Encrypted) -> [Table; 3] {
    let handshakes = [
        ("full", encrypted.handshake(HandshakeKind::Full)),
        ("resumed", encrypted.handshake(HandshakeKind::Resumed)),
        ("early (0-RTT)", encrypted.handshake(HandshakeKind::Early)),
    ];
    let failed = reasons("", &encrypted.failed).collect();
    let statuses = encrypted.statuses.iter().map(|(code, n)| vec![format!("HTTP {code}"), units::count(n)]);
    let streams = statuses.chain(reasons("without a response: ", &encrypted.streams)).collect();
    [
        of_durations("handshakes", "Handshakes", handshakes),
        table("handshakes_failed", "Failed handshakes, by reason", &["reason", "handshakes"], failed),
        table("streams", "Streams", &["what", "streams"], streams),
    ]
}

fn of_fallback(fallback: &Fallback) -> [Table; 2] {
    let counts = [
        ("sent over UDP", fallback.udp_requests),
        ("truncated, and retried over TCP", fallback.started),
        ("answered over TCP", fallback.answered),
        ("sent over TCP", fallback.tcp_requests),
        ("sent over TCP again, after a lost connection", fallback.tcp_retried),
    ];
    let rows = counted(counts).into_iter().chain(reasons("failed: ", &fallback.failed)).collect();
    let parts = [
        ("UDP, to the truncated response", &fallback.udp),
        ("waiting for a client", &fallback.waiting),
        ("connect", &fallback.connect),
        ("TCP query, once connected", &fallback.query),
    ];
    [
        table("fallback", "Fallback to TCP", &["what", "transactions"], rows),
        of_durations("fallback_parts", "Parts of a transaction", parts),
    ]
}

fn of_durations<const N: usize>(
    id: &'static str,
    title: &'static str,
    durations: [(&str, &Histogram); N],
) -> Table {
    let row = |(name, histogram): (&str, &Histogram)| {
        let exact = histogram.exact()?;
        let latency = Latency { answered: histogram, unanswered: 0 };
        // Without unanswered queries none is beyond a timeout, whichever it is.
        let at = |q| quantile(latency.percentile(q), 0);
        let count = units::count(histogram.count());
        Some(vec![name.to_owned(), count, at(0.5), at(0.99), units::duration(exact.max_ns)])
    };
    let rows = durations.into_iter().filter_map(row).collect();
    table(id, title, &["what", "count", "p50", "p99", "max"], rows)
}

/// The reasons that occurred, in words.
fn reasons<'a, K: Key, const N: usize>(
    before: &'a str,
    by: &'a By<K, u64, N>,
) -> impl Iterator<Item = Vec<String>> + 'a {
    by.by_reason().map(move |(reason, n)| vec![format!("{before}{}", reason.words()), units::count(n)])
}

/// The counts that are not 0.
fn counted<'a>(counts: impl IntoIterator<Item = (&'a str, u64)>) -> Vec<Vec<String>> {
    let seen = counts.into_iter().filter(|(_, n)| *n > 0);
    seen.map(|(name, n)| vec![name.to_owned(), units::count(n)]).collect()
}

fn of_whole(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".to_owned(),
        _ => units::percent(part as f64 / whole as f64),
    }
}
