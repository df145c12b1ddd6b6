//! The transactions of a worker: its queries from when they are due until they have ended.
//!
//! A query waits in the queue of its group, and is outstanding from the instant at which it is sent until it is
//! answered, refused, timed out or interrupted. A query that falls back from UDP to TCP waits for a client, and is then
//! outstanding once more.

use dnsdyno_queries::{Queries, WorkerShare};
use dnsdyno_transport::Resources;

use crate::answers::Checker;
use crate::connections::Connections;
use crate::fallback::Fallback;
use crate::groups::Groups;
use crate::inflight::InFlight;
use crate::job::{Job, UNMEASURED};
use crate::ledger::Ledger;
use crate::query_log::Log;
use crate::rewriter::Rewriter;
use crate::share::Share;
use crate::supply::Supply;
use crate::trace::Trace;

/// The outstanding queries of a worker, those that wait to be sent, and its ledger.
pub(crate) struct Transactions<'a> {
    pub(crate) queries: Box<dyn Supply + 'a>,
    /// The queries where they are one block.
    pub(crate) whole: Option<&'a Queries>,
    pub(crate) table: InFlight,
    pub(crate) ledger: Ledger,
    pub(crate) groups: Groups,
    pub(crate) connections: Connections,
    pub(crate) fallback: Fallback,
    pub(crate) rewriter: Rewriter,
    pub(crate) send_only: bool,
    pub(crate) log: Log,
    pub(crate) trace: Option<Box<Trace>>,
    pub(crate) checker: Option<Box<Checker<'a>>>,
    /// The queries where they are one block, sent as loaded, and only counted: the fast case.
    pub(crate) plain: Option<&'a Queries>,
    /// Outstanding queries in a build that pairs no responses; otherwise 0.
    pub(crate) unpaired: u32,
}

impl<'a> Transactions<'a> {
    /// For a worker with these groups of channels.
    pub(crate) fn new(
        job: &Job<'a>,
        Share { own, worker, workers }: Share,
        table: InFlight,
        ledger: Ledger,
        groups: Groups,
        connections: Connections,
    ) -> Self {
        let share = WorkerShare { worker, workers, start_unix_ns: job.start_unix_ns };
        let queries = job.source.supply(own, table.slots());
        let whole = job.source.whole();
        let rewriter = Rewriter::new(&*queries, share, table.slots(), table.channels());
        let log = Log(job.query_logs.map(|log_of| log_of(own)));
        let clients = if connections.is_used() { table.channels() } else { 0 };
        Transactions {
            fallback: Fallback::of(&groups, table.fallback(), job.strips_edns),
            plain: whole.filter(|_| rewriter.is_empty() && !log.is_some()),
            whole,
            rewriter,
            queries,
            log,
            checker: job.known_answers.map(|known| Box::new(Checker::new(known))),
            trace: job.trace.map(|trace| Trace::new(trace, own, clients)),
            table,
            ledger,
            groups,
            connections,
            send_only: job.send_only,
            unpaired: 0,
        }
    }

    /// Queries that are outstanding, or scheduled and waiting to be sent.
    pub(crate) fn outstanding(&self) -> u32 {
        self.groups.waiting() + if UNMEASURED { self.unpaired } else { self.table.live() }
    }

    /// The client that sends a query; `None` where any client may.
    #[inline]
    pub(crate) fn client_of(&self, query: u32) -> Option<u32> {
        match self.whole {
            Some(queries) => queries.client(query as usize),
            None => self.queries.client(query),
        }
    }

    /// Whether responses are waited for.
    #[inline]
    pub(crate) fn expects_responses(&self) -> bool {
        !self.send_only && !UNMEASURED
    }

    /// Passes the wall intervals that are over to the collector. The next one starts with the present numbers of
    /// queries and connections.
    pub(crate) fn roll(&mut self, now_ns: u64, resources: impl FnOnce() -> Resources) {
        if now_ns >= self.ledger.wall_end_ns() {
            self.count_clients(now_ns, false);
            self.ledger.roll(now_ns, resources);
            self.note_outstanding();
            if self.connections.is_used() {
                self.note_open();
            }
        }
    }

    /// Adds what simulated clients have counted since the last time.
    #[cold]
    pub(crate) fn count_clients(&mut self, now_ns: u64, is_end: bool) {
        self.queries.count_clients(self.ledger.arrivals(), now_ns, is_end);
    }

    /// Updates the largest number of outstanding queries.
    pub(crate) fn note_outstanding(&mut self) {
        let live = u64::from(self.table.live());
        let arrivals = self.ledger.arrivals();
        arrivals.in_flight_max = arrivals.in_flight_max.max(live);
    }

    /// Updates the largest number of open connections in the interval.
    pub(crate) fn note_open(&mut self) {
        let open = self.connections.open;
        let counts = self.ledger.arrivals().connections_mut();
        counts.open_max = counts.open_max.max(open);
    }
}
