//! The same messages, counted at each place between the generator and the server: where they were lost.
//!
//! ```text
//!   sent ──► arrived at the server's host ──► put into queues ──► read by its programs ──► counted by the server
//!       the path                 the server's kernel     the queue              the server
//!   received ◄── arrived at our sockets ◄── sent by the server's host ◄── sent by the server
//!       our host               the path                 the server's kernel
//! ```
//!
//! What our own host has sent is not one of the places: its kernel counts datagrams that are sent at once as one.

use dnsdyno_measure::Side;
use dnsdyno_record::{Digest, Event};
use dnsdyno_text::units::{count, percent};

use super::found::Comparison;
use super::rules::{Kind, Over};
use super::sources::{Source, Sources};

/// What the places say.
pub(super) struct CrossCheck {
    pub(super) comparisons: Vec<Comparison>,
    /// What cannot be compared, and why.
    pub(super) not_compared: Vec<String>,
    /// Packets that left one host and did not arrive at the other one.
    pub(super) lost_on_path: u64,
}

/// A place at which messages were counted.
struct Place {
    words: String,
    count: u64,
    /// What lies before it.
    after: Between,
}

/// What lies between two places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Between {
    Nothing,
    GeneratorHost,
    Path,
    ServerKernel,
    ServerQueue,
    Server,
    /// Everything from the generator to the server's own counter.
    Way,
}

impl Between {
    fn key(self) -> &'static str {
        match self {
            Between::Nothing => "",
            Between::GeneratorHost => "generator-host",
            Between::Path => "path",
            Between::ServerKernel => "server-kernel",
            Between::ServerQueue => "server-queue",
            Between::Server => "server",
            Between::Way => "way",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Between::Nothing => "",
            Between::GeneratorHost => "on our host",
            Between::Path => "on the path",
            Between::ServerKernel => "in the kernel of the server's host",
            Between::ServerQueue => "in receive queues, where the server had left them to the end",
            Between::Server => "in the server",
            Between::Way => "between the generator and the server",
        }
    }
}

/// Compares what the record has.
pub(super) fn cross_check(digest: &Digest, sources: &Sources) -> CrossCheck {
    let mut found = CrossCheck { comparisons: Vec::new(), not_compared: Vec::new(), lost_on_path: 0 };
    if digest.header.send_only || digest.tally().scheduled == 0 || !sources.is_watched() {
        return found;
    }
    if !digest.header.mix.is_empty() {
        let why = "the load has several servers or transports, whose packets are not told apart";
        found.not_compared.push(why.to_owned());
        return found;
    }
    if sources.iter().any(|source| source.kind == Kind::Host && source.side == Side::Both) {
        found.not_compared.push(
            "generator and server share a host: its counters have the packets of both, and of all other programs"
                .to_owned(),
        );
    }
    // Which of two has answered is not known, and the sum may have every query twice.
    for (kind, what) in [(Kind::Host, "hosts"), (Kind::Server, "servers' statistics")] {
        let watched = sources.iter().filter(|source| source.kind == kind && source.side == Side::Server);
        if watched.count() > 1 {
            found.not_compared.push(format!(
                "{what}: several are watched of the server, and what each of them has of this load is not known"
            ));
        }
    }
    let is_cut = |event: &Event| ["watch_lost", "watch_restart"].contains(&event.kind.as_str());
    if digest.events.iter().any(is_cut) {
        let why = "what is watched was lost, or began again with 0, within the run: what it counted meanwhile is \
                   not known";
        found.not_compared.push(why.to_owned());
        return found;
    }
    queries_over_udp(digest, sources, &mut found);
    match digest.header.transport.as_str() {
        "udp" => responses(digest, sources, &mut found),
        _ => found.not_compared.push(
            "over connections: a query is sent again when its connection is lost, and responses to connections that \
             were closed meanwhile are nobody's"
                .to_owned(),
        ),
    }
    found
}

fn queries_over_udp(digest: &Digest, sources: &Sources, found: &mut CrossCheck) {
    if !Over::Udp.is_in(&digest.header.transport) || digest.header.transport.starts_with("do") {
        return;
    }
    let sent =
        digest.tally().fallback.as_ref().map_or(digest.tally().requests, |fallback| fallback.udp_requests);
    let by_generator =
        || Place { words: "sent by the generator".into(), count: sent, after: Between::Nothing };
    let mut places = vec![by_generator()];
    let on = |side, names: &[&str]| host_counts(sources, side, names);
    let read = on(Side::Server, &["snmp.Udp.InDatagrams", "snmp6.Udp6InDatagrams"]);
    let failed = on(
        Side::Server,
        &["snmp.Udp.InErrors", "snmp6.Udp6InErrors", "snmp.Udp.NoPorts", "snmp6.Udp6NoPorts"],
    );
    if let Some(read) = read {
        let known = read.saturating_add(failed.unwrap_or(0));
        // The kernel counts a datagram as received when a program takes it from its queue.
        let unread = delivered(sources).unwrap_or(0).saturating_sub(known);
        let mut place = |words: &str, count, after| places.push(Place { words: words.into(), count, after });
        place("arrived at the server's host", known.saturating_add(unread), Between::Path);
        if unread > 0 {
            place("put into queues of its programs", read.saturating_add(unread), Between::ServerKernel);
            place("read by them", read, Between::ServerQueue);
        } else {
            place("given to its programs", read, Between::ServerKernel);
        }
    }
    let counted = server_counts(sources, "queries.udp");
    let counted = if digest.header.transport == "udp" {
        counted.or(server_counts(sources, "queries"))
    } else {
        counted
    };
    let by_server =
        |after| counted.map(|count| Place { words: "counted by the server".into(), count, after });
    match of_others(sources, &places) {
        // What the host has counted beside these queries would look as if the server had lost it.
        others if others > 0 && counted.is_some() => {
            compare(QUERIES_OVER_UDP, &places, found);
            found.not_compared.push(format!(
                "{QUERIES_OVER_UDP} at the host with those of the server: {} at least are of other traffic there, such \
                 as what the server asks others",
                count(others)
            ));
            let ends: Vec<Place> = [by_generator()].into_iter().chain(by_server(Between::Way)).collect();
            compare(QUERIES_OVER_UDP, &ends, found);
        }
        _ => {
            places.extend(by_server(Between::Server));
            compare(QUERIES_OVER_UDP, &places, found);
        }
    }
}

/// Packets of other programs at the server's host, or of the server's own questions to others, as far as they are seen:
/// more have arrived than the generator has sent, or more have left than the server has answered.
fn of_others(sources: &Sources, places: &[Place]) -> u64 {
    let arrived = match places {
        [sent, arrived, ..] => arrived.count.saturating_sub(sent.count),
        _ => return 0,
    };
    let left = host_counts(sources, Side::Server, &["snmp.Udp.OutDatagrams", "snmp6.Udp6OutDatagrams"]);
    let answered = server_counts(sources, "responses");
    arrived.max(left.zip(answered).map_or(0, |(left, answered)| left.saturating_sub(answered)))
}

fn responses(digest: &Digest, sources: &Sources, found: &mut CrossCheck) {
    let (tally, anomalies) = (digest.tally(), &digest.arrivals().anomalies);
    let mut places = Vec::new();
    let of_server = server_counts(sources, "responses");
    if let Some(count) = of_server {
        places.push(Place { words: "sent by the server".into(), count, after: Between::Nothing });
    }
    let out = host_counts(sources, Side::Server, &["snmp.Udp.OutDatagrams", "snmp6.Udp6OutDatagrams"]);
    // A resolver's host sends queries of its own too.
    if let Some(count) = out.filter(|out| of_server.is_none_or(|responses| *out <= responses)) {
        places.push(Place { words: "sent by its host".into(), count, after: Between::ServerKernel });
    }
    let others = anomalies.unpaired_total().saturating_sub(anomalies.malformed);
    // A response after its interval was written has no RCODE.
    let answered = tally.rcodes.total().max(tally.ends.answered + tally.ends.answered_late);
    let received = answered + others + digest.arrivals().rejected();
    let drops = digest.arrivals().socket_drops;
    let arrived = "arrived at the generator's sockets".to_owned();
    places.push(Place { words: arrived, count: received + drops, after: Between::Path });
    if drops > 0 {
        let words = "received by the generator".to_owned();
        places.push(Place { words, count: received, after: Between::GeneratorHost });
    }
    compare("responses", &places, found);
}

/// Compares each place with the one before it.
fn compare(what: &str, places: &[Place], found: &mut CrossCheck) {
    for pair in places.windows(2) {
        let [from, to] = pair else { continue };
        if to.count > from.count.saturating_mul(2).saturating_add(SMALL) {
            found.not_compared.push(format!(
                "{what}: {} {}, but {} {}: other traffic is counted there too",
                count(from.count),
                from.words,
                count(to.count),
                to.words
            ));
            continue;
        }
        let missing =
            i64::try_from(from.count).unwrap_or(i64::MAX) - i64::try_from(to.count).unwrap_or(i64::MAX);
        if to.after == Between::Path {
            found.lost_on_path += u64::try_from(missing).unwrap_or(0);
        }
        let difference = match missing {
            0 => "none is missing".to_owned(),
            1.. => format!(
                "{} ({}) lost {}",
                count(missing.unsigned_abs()),
                percent(missing as f64 / from.count.max(1) as f64),
                to.after.words()
            ),
            _ => format!("{} more: of other programs", count(missing.unsigned_abs())),
        };
        found.comparisons.push(Comparison {
            from: from.words.clone(),
            from_count: from.count,
            to: to.words.clone(),
            to_count: to.count,
            between: to.after.key().to_owned(),
            missing,
            sentence: format!(
                "{what}: {} {}, {} {}: {difference}.",
                count(from.count),
                from.words,
                count(to.count),
                to.words
            ),
            messages: what.to_owned(),
        });
    }
}

/// The sum of counters of the host of one side; `None` where the first is not read, or there are several hosts.
fn host_counts(sources: &Sources, side: Side, names: &[&str]) -> Option<u64> {
    let host = only(sources, Kind::Host, side)?;
    host.totals.counters.get(*names.first()?)?;
    Some(names.iter().map(|name| host.totals.counter(name)).sum())
}

/// The source of this kind, where there is one only.
fn only(sources: &Sources, kind: Kind, side: Side) -> Option<&Source> {
    let mut of_kind = sources.iter().filter(|source| source.kind == kind && source.side == side);
    of_kind.next().filter(|_| of_kind.next().is_none())
}

/// Datagrams of UDP that arrived at the server's host, whether or not a program has read them: all that IP has
/// delivered, without what was of other protocols. `None` where a counter is missing.
fn delivered(sources: &Sources) -> Option<u64> {
    let on = |name| host_counts(sources, Side::Server, &[name]);
    let of_ip = on("snmp.Ip.InDelivers")?.saturating_add(on("snmp6.Ip6InDelivers").unwrap_or(0));
    let of_others = [on("snmp.Tcp.InSegs")?, on("snmp.Icmp.InMsgs")?, on("snmp6.Icmp6InMsgs").unwrap_or(0)];
    Some(of_others.into_iter().fold(of_ip, u64::saturating_sub))
}

/// A counter of the server's statistics.
fn server_counts(sources: &Sources, name: &str) -> Option<u64> {
    only(sources, Kind::Server, Side::Server)?.totals.counters.get(name).copied()
}

const QUERIES_OVER_UDP: &str = "queries over UDP";

/// A few packets of other programs, such as a resolver's, are on any host.
const SMALL: u64 = 100;
