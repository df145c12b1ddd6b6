//! The steps of traced queries as events of the Trace Event Format, which Perfetto and chrome://tracing read.
//!
//! A query is an asynchronous event: `b` (begin) and `e` (end) with its number as ID, and in it one for each part of
//! its time. Parts follow each other, so that a viewer shows them in one row.
//!
//! ```text
//!   due            sent                                   received   ended
//!    ├── waiting ──┼────────────── server ──────────────────┼─ pairing ┤
//!                  └ departed    (connect, handshake)
//! ```

use dnsdyno_engine::{How, TraceStep, TracedConnection, TracedQuery};
use dnsdyno_wire::{name_to_text, rcode_name, type_name};
use serde_json::{Value, json};

/// Events as text, those that are not written yet.
pub(super) struct Events {
    text: String,
    has_any: bool,
    unwritten_queries: u64,
    written_queries: u64,
}

impl Events {
    /// With the names of this many workers.
    pub(super) fn new(workers: usize) -> Events {
        let mut events =
            Events { text: String::new(), has_any: false, unwritten_queries: 0, written_queries: 0 };
        for worker in 0..workers {
            let name = |event: &str, name: String| {
                let arguments = json!({"name": name});
                json!({"ph": "M", "name": event, "pid": PROCESS, "tid": worker, "args": arguments})
            };
            if worker == 0 {
                events.push(&name("process_name", "dnsdyno".to_owned()));
            }
            events.push(&name("thread_name", format!("worker {worker}")));
        }
        events
    }

    /// Adds what a step of a worker shows.
    pub(super) fn add(&mut self, worker: usize, step: &TraceStep) {
        match step {
            TraceStep::Departed { number, at_ns } => self.instant(worker, *number, "departed", *at_ns),
            TraceStep::Retried { number, at_ns } => self.instant(worker, *number, "retried", *at_ns),
            TraceStep::Ended(query) => {
                self.query(worker, query);
                self.unwritten_queries += 1;
            }
        }
    }

    fn query(&mut self, worker: usize, query: &TracedQuery) {
        let (number, end_ns) = (query.number, query.received_ns.unwrap_or(query.ended_ns).max(query.due_ns));
        self.push(&event(
            "b",
            (worker, number),
            &question(query),
            query.due_ns,
            Some(arguments(worker, query)),
        ));
        let sent_ns = query.sent.map(|sent| sent.at_ns);
        self.part(worker, number, "waiting", query.due_ns, sent_ns.unwrap_or(query.ended_ns));
        let mut handed_ns = sent_ns;
        if let (Some(sent_ns), Some(fallback)) = (sent_ns, query.fallback) {
            self.part(worker, number, "UDP", sent_ns, fallback.truncated_ns);
            handed_ns = fallback.sent.map(|sent| sent.at_ns);
            let until_ns = handed_ns.unwrap_or(query.ended_ns);
            self.part(worker, number, "waiting for a client", fallback.truncated_ns, until_ns);
        }
        if let Some(handed_ns) = handed_ns {
            self.push(&event("b", (worker, number), "server", handed_ns, None));
            self.connection(worker, number, query.connection, handed_ns..end_ns);
            self.push(&event("e", (worker, number), "server", end_ns, None));
        }
        if let Some(received_ns) = query.received_ns {
            self.part(worker, number, "pairing", received_ns, query.ended_ns);
        }
        self.push(&event("e", (worker, number), &question(query), query.ended_ns, None));
    }

    /// The parts of a connection that a query has waited for.
    fn connection(
        &mut self,
        worker: usize,
        number: u64,
        connection: Option<TracedConnection>,
        within: std::ops::Range<u64>,
    ) {
        let Some(TracedConnection { opened_ns, established_ns, handshake }) = connection else { return };
        let has_waited = |done_ns: u64| done_ns > within.start && done_ns <= within.end;
        if let Some(established_ns) = established_ns.filter(|at_ns| has_waited(*at_ns)) {
            self.part(worker, number, "connect", opened_ns.max(within.start), established_ns);
        }
        if let Some((_, begun_ns, done_ns)) = handshake.filter(|(.., done_ns)| has_waited(*done_ns)) {
            // A handshake of QUIC is that of its connection too.
            let after_ns = established_ns.filter(|at_ns| *at_ns < done_ns).unwrap_or(0);
            self.part(worker, number, "handshake", begun_ns.max(within.start).max(after_ns), done_ns);
        }
    }

    fn part(&mut self, worker: usize, number: u64, name: &str, from_ns: u64, to_ns: u64) {
        self.push(&event("b", (worker, number), name, from_ns, None));
        self.push(&event("e", (worker, number), name, to_ns.max(from_ns), None));
    }

    fn instant(&mut self, worker: usize, number: u64, name: &str, at_ns: u64) {
        self.push(&event("n", (worker, number), name, at_ns, Some(json!({"at_ns": at_ns}))));
    }

    fn push(&mut self, event: &Value) {
        if std::mem::replace(&mut self.has_any, true) {
            self.text.push_str(",\n");
        }
        self.text.push_str(&event.to_string());
    }

    /// The events that are not written yet.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Their length in octets.
    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// What stands after the last event, with how many queries the file has.
    pub(super) fn end(&self) -> String {
        let queries = self.written_queries + self.unwritten_queries;
        format!("\n],\"otherData\":{{\"generator\":\"dnsdyno\",\"queries\":{queries}}}}}\n")
    }

    /// Queries that are not written yet.
    pub(super) fn unwritten_queries(&self) -> u64 {
        self.unwritten_queries
    }

    /// Queries that are written.
    pub(super) fn written_queries(&self) -> u64 {
        self.written_queries
    }

    /// They are written.
    pub(super) fn written(&mut self) {
        self.text.clear();
        self.written_queries += std::mem::take(&mut self.unwritten_queries);
    }
}

/// An event of a query. Its time is in microseconds, as the format has it.
fn event(
    phase: &str,
    (worker, number): (usize, u64),
    name: &str,
    at_ns: u64,
    arguments: Option<Value>,
) -> Value {
    let mut event = json!({
        "ph": phase, "cat": "query", "id": format!("0x{number:x}"), "name": name, "pid": PROCESS, "tid": worker,
        "ts": at_ns as f64 / 1e3,
    });
    if let Some(arguments) = arguments {
        event["args"] = arguments;
    }
    event
}

/// What is known of a query, with all instants in nanoseconds since the start of the run.
fn arguments(worker: usize, query: &TracedQuery) -> Value {
    let answered = query.received_ns.zip(query.sent);
    let fallback = query.fallback;
    let mut arguments = json!({
        "number": query.number,
        "question": question(query),
        "worker": worker,
        "member": query.member,
        "end": query.how.map_or("sent", How::word),
        "due_ns": query.due_ns,
        "ended_ns": query.ended_ns,
    });
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            arguments[name] = value;
        }
    };
    add("reason", query.how.and_then(How::reason).map(Value::from));
    add("channel", query.sent.map(|sent| sent.channel.into()));
    add("message_id", query.sent.map(|sent| sent.id.into()));
    add("sent_ns", query.sent.map(|sent| sent.at_ns.into()));
    add("truncated_ns", fallback.map(|fallback| fallback.truncated_ns.into()));
    add("sent_over_tcp_ns", fallback.and_then(|fallback| fallback.sent).map(|sent| sent.at_ns.into()));
    add("received_ns", query.received_ns.map(Value::from));
    add("rcode", query.response.map(|(rcode, _)| rcode_name(rcode).into()));
    add("response_bytes", query.response.map(|(_, bytes)| bytes.into()));
    add("response_ns", answered.map(|(at_ns, _)| at_ns.saturating_sub(query.due_ns).into()));
    add("service_ns", answered.map(|(at_ns, sent)| at_ns.saturating_sub(sent.at_ns).into()));
    if let Some(TracedConnection { opened_ns, established_ns, handshake }) = query.connection {
        add("connection_opened_ns", Some(opened_ns.into()));
        add("connection_established_ns", established_ns.map(Value::from));
        add("handshake_begun_ns", handshake.map(|(_, begun_ns, _)| begun_ns.into()));
        add("handshake_done_ns", handshake.map(|(.., done_ns)| done_ns.into()));
    }
    arguments
}

/// `www.example A`.
fn question(query: &TracedQuery) -> String {
    match query.question.split_last_chunk::<4>() {
        Some((name, [high, low, ..])) => {
            format!("{} {}", name_to_text(name), type_name(u16::from_be_bytes([*high, *low])))
        }
        None => "query".to_owned(),
    }
}

/// The number of the only process.
const PROCESS: u32 = 1;

#[cfg(test)]
mod tests;
