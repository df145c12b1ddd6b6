//! The head of a summary: what was run, against what, and what is missing in the record.

use std::collections::HashSet;
use std::net::SocketAddr;

use dnsdyno_record::{BackendInfo, Digest, Ended, Header, MembersBy};
use dnsdyno_text::layout::{flow_after, paragraph, words};
use dnsdyno_text::safe;
use dnsdyno_text::units::{count, counted, length, percent, rate, setting};

use crate::check::check_line;

/// Appends the head.
pub(super) fn write(out: &mut String, digest: &Digest, width: usize) {
    for text in incomplete(digest) {
        paragraph(out, &text, 0, 2, width);
    }
    for (key, text) in head(digest) {
        flow_after(out, &format!("{key:<HEAD_INDENT$}"), words(&text), " ", HEAD_INDENT, width);
    }
}

/// What was run, against what and by what: keys with their texts.
pub fn head(digest: &Digest) -> Vec<(&'static str, String)> {
    let header = &digest.header;
    if header.is_watch_only() {
        return watch_only(digest);
    }
    let mut head = vec![("server", server(header))];
    head.extend(header.checks.iter().map(|found| ("check", check_line(found))));
    head.extend(backend(&header.backend).map(|text| ("backend", text)));
    head.push(("load", safe(&header.load)));
    head.push(("source", source(digest)));
    head.push(("generator", generator(header)));
    head.push(("ran", ran(digest)));
    head.extend(header.name.iter().map(|text| ("name", safe(text))));
    head.extend(header.note.iter().map(|text| ("note", safe(text))));
    head
}

/// Of a record without load.
fn watch_only(digest: &Digest) -> Vec<(&'static str, String)> {
    let header = &digest.header;
    let asked = Some(&header.target).filter(|target| !target.is_empty());
    let mut head: Vec<_> = asked.map(|target| ("server", safe(target))).into_iter().collect();
    head.push(("load", safe(&header.load)));
    head.extend(header.watched.iter().map(|watched| ("watched", safe(&watched.label))));
    head.push(("ran", format!("{}{}", length(digest.to_ns()), ended(digest))));
    head.extend(header.name.iter().map(|text| ("name", safe(text))));
    head.extend(header.note.iter().map(|text| ("note", safe(text))));
    head
}

/// What is missing in the record: told first, so that partial figures are not taken for the whole.
pub(crate) fn incomplete(digest: &Digest) -> Vec<String> {
    let mut texts = Vec::new();
    if let Some(Ended::Failed { why }) = digest.ended() {
        texts.push(format!("FAILED: {}. The figures cover the time until then.", safe(why)));
    }
    if !digest.is_complete() {
        let (until, torn) =
            (length(digest.to_ns()), if digest.torn { "; its last line is incomplete" } else { "" });
        texts.push(match digest.in_progress {
            true => format!(
                "IN PROGRESS: the record goes to {until} so far{torn}. The figures cover the recorded intervals."
            ),
            false => format!(
                "INCOMPLETE: nothing writes this record any more, and it ends at {until}, before the end of its \
                 run{torn}. The figures cover the recorded intervals."
            ),
        });
    }
    texts
}

/// The servers and the transports.
fn server(header: &Header) -> String {
    let mut transports: Vec<String> = header.mix.iter().map(|member| safe(&member.transport)).collect();
    if transports.is_empty() {
        transports.push(safe(&header.transport));
    }
    format!("{} over {}", servers(header), distinct(transports).join(", "))
}

/// The servers with their addresses and ports: two of one address are told apart. That which was looked at, of a record
/// without load.
pub fn servers(header: &Header) -> String {
    if header.is_watch_only() {
        return safe(&header.target);
    }
    let servers: Vec<_> = match header.members_by() {
        None | Some(MembersBy::Transport) => vec![named(&header.target, header.address)],
        Some(_) => header.mix.iter().map(|member| named(&member.server, member.address)).collect(),
    };
    let mut servers = distinct(servers);
    let more = servers.len().saturating_sub(SERVERS_NAMED);
    servers.truncate(SERVERS_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", servers.join(", "))
}

/// Each name once.
fn distinct(mut names: Vec<String>) -> Vec<String> {
    let mut known = HashSet::new();
    names.retain(|name| known.insert(name.clone()));
    names
}

/// A server; only its address if the user gave just that.
fn named(target: &str, address: SocketAddr) -> String {
    let is_named = target != address.ip().to_string() && target != address.to_string() && !target.is_empty();
    if is_named { format!("{} ({address})", safe(target)) } else { address.to_string() }
}

/// The table of the members has all of them.
const SERVERS_NAMED: usize = 4;

/// The backend, unless it is the default.
fn backend(backend: &BackendInfo) -> Option<String> {
    let Some(xdp) = &backend.xdp else {
        let why = backend.why.as_ref();
        return why.map(|why| format!("sockets, because AF_XDP is not available: {}", safe(why)));
    };
    let copy = match (xdp.zero_copy, xdp.injects) {
        (true, _) => "zero copy",
        (_, true) => "copy and injection",
        _ => "copy",
    };
    let vlan = xdp.vlan.map_or(String::new(), |vlan| format!(", VLAN {vlan}"));
    let why = backend.why.as_ref().map_or(String::new(), |why| format!(" (auto: {})", safe(why)));
    Some(format!(
        "AF_XDP on {}, {}, {} mode, {copy}, from {} ports {}..{} to {}{vlan}{why}",
        safe(&xdp.interface),
        counted(xdp.queues.into(), "queue", "queues"),
        safe(&xdp.mode),
        xdp.source,
        xdp.first_port,
        xdp.last_port,
        safe(&xdp.next_hop),
    ))
}

/// The queries, and how often each was sent.
fn source(digest: &Digest) -> String {
    let header = &digest.header;
    let skipped = match header.bad_lines {
        0 => String::new(),
        lines => format!(", {} skipped", counted(lines, "malformed line", "malformed lines")),
    };
    if digest.arrivals().clients.is_some() {
        let first = counted(header.queries, "question", "questions");
        return format!("simulated clients, whose users begin with one of {first}");
    }
    if header.queries == 0 {
        return "a capture that was read once".to_owned();
    }
    let repeated = digest.sum.as_ref().map_or(String::new(), |sum| repeated(sum.passes, header.queries));
    format!("{}{skipped}{repeated}", counted(header.queries, "query", "queries"))
}

fn repeated(passes: f64, queries: u64) -> String {
    match passes {
        _ if queries == 0 => String::new(),
        p if p < 1.0 => format!(", {} of them used", percent(p.max(0.0))),
        1.0 => ", each sent once".to_owned(),
        p if p.fract() == 0.0 => format!(", repeated {} times", count(p as u64)),
        p => format!(", repeated {} times", rate(p)),
    }
}

fn generator(header: &Header) -> String {
    let has_sockets = header.backend.xdp.is_none() && header.transport == "udp";
    let (one, many) = if has_sockets { ("socket", "sockets") } else { ("client", "clients") };
    let udp_sockets = header.udp_sockets.map_or(String::new(), |sockets| {
        format!(" and {}", counted(sockets.into(), "UDP socket", "UDP sockets"))
    });
    let reason = header.workers_reason.as_ref();
    let reason = reason.map_or(String::new(), |reason| format!(" ({})", safe(reason)));
    format!(
        "dnsdyno {}, {}{reason}, {}{udp_sockets}, timeout {}",
        safe(&header.version),
        counted(header.workers.into(), "worker", "workers"),
        counted(header.clients.into(), one, many),
        setting(header.timeout_ns)
    )
}

/// How long queries were due, how long they were sent where that is longer, how long the last responses took, and why
/// it ended.
fn ran(digest: &Digest) -> String {
    let (load_ns, sending_ns) = (digest.schedule_ns(), digest.sending_ns());
    let sent = match sending_ns > load_ns {
        true => format!(", sent in {}", length(sending_ns)),
        false => String::new(),
    };
    let drain_ns = digest.to_ns().saturating_sub(sending_ns);
    let drain = match drain_ns {
        SHORTEST_DRAIN_NS.. => format!(", drain {}", length(drain_ns)),
        _ => String::new(),
    };
    format!("load {}{sent}{drain}{}", length(load_ns), ended(digest))
}

/// Why it ended, unless with its schedule.
fn ended(digest: &Digest) -> String {
    match (digest.ended(), &digest.sum) {
        (Some(Ended::ByTime), _) => String::new(),
        (Some(Ended::ByPasses), Some(sum)) => {
            format!(", after {}", counted(sum.passes.round() as u64, "pass", "passes"))
        }
        (Some(Ended::ByCount | Ended::ByPasses), _) => {
            format!(", after {}", counted(digest.tally().scheduled, "query", "queries"))
        }
        (Some(Ended::ByCondition { condition }), _) => {
            format!(", ended by the condition {}", safe(condition))
        }
        (Some(Ended::Interrupted), _) => ", ended by the user".to_owned(),
        (Some(Ended::Terminated), _) => ", ended by SIGTERM".to_owned(),
        (Some(Ended::HungUp), _) => ", ended by SIGHUP".to_owned(),
        (Some(Ended::Failed { .. }), _) => ", ended by a failure".to_owned(),
        (None, _) if digest.in_progress => " so far".to_owned(),
        (None, _) => " in the record".to_owned(),
    }
}

/// The column of the values.
const HEAD_INDENT: usize = 11;

/// A shorter wait for the last responses is part of any run.
const SHORTEST_DRAIN_NS: u64 = 100_000_000;
