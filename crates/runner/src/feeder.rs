//! Feeds a replay: a thread reads the capture and gives each worker, in chunks, the queries of its own clients.
//!
//! ```text
//!   QueryReader ──► Roster ──► Timing ──► chunk of the client's worker ──► queue ──► worker
//! ```
//!
//! A chunk is passed on when it is full, and all are when a tenth of a second of the schedule is complete: a worker
//! whose clients are silent then knows that it has no query until there. The thread waits while the queue of a worker
//! is full, so that little of the capture is in memory, however long it is.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use dnsdyno_engine::FeedIn;
use dnsdyno_measure::ReplayCounts;
use dnsdyno_plan::Plan;
use dnsdyno_plan::replay::{Roster, Timing};
use dnsdyno_queries::replay::{ORDERED_WITHIN_NS, QueryReader};
use dnsdyno_queries::{ChunkBuilder, Own, Streamed};

/// What a replay begins with.
pub(crate) struct Feeder {
    plan: Plan,
    reader: QueryReader,
    types: Vec<u16>,
    /// The seats of each member of the mix: clients beyond them share.
    seats: Vec<u32>,
    /// The number of its queries, where that is known.
    length: Option<u64>,
}

/// What was read in the end.
pub(crate) struct Fed {
    pub(crate) counts: ReplayCounts,
    /// Passes through the capture, with the fraction of the last one where its length is known.
    pub(crate) passes: f64,
    /// Why the capture could not be read to its end.
    pub(crate) error: Option<String>,
}

impl Feeder {
    /// For a plan with the final numbers of workers and clients, of which `seats` are for each member of its mix.
    pub(crate) fn new(
        plan: &Plan,
        reader: QueryReader,
        types: Vec<u16>,
        seats: Vec<u32>,
        length: Option<u64>,
    ) -> Feeder {
        Feeder { plan: plan.clone(), reader, types, seats, length }
    }

    /// Feeds the workers until the run needs no more.
    pub(crate) fn feed(self, ins: Vec<FeedIn>, ready: Ready) -> Fed {
        let Feeder { plan, mut reader, types, seats, mut length } = self;
        let has_members = plan.mix.is_some();
        let mut roster = Roster::new(&plan.mix, plan.seed);
        let mut timing = Timing::new(&plan.load, plan.replay.speed, plan.stop.duration_ns);
        let mut lines = Lines::new(ins, &types, ready);
        let most = plan.stop.count.unwrap_or(u64::MAX);
        let (mut number, mut pass, mut of_pass, mut error) = (0, 0, 0, None);
        let mut counts = ReplayCounts::default();
        while number < most {
            let query = match reader.next_query() {
                Ok(Some(query)) => query,
                Ok(None) => {
                    pass += 1;
                    let is_last = plan.stop.passes.is_some_and(|passes| pass >= passes);
                    length = Some(of_pass).filter(|queries| *queries > 0);
                    of_pass = 0;
                    // Standard input cannot be read again.
                    if is_last || length.is_none() || plan.replay.file.is_none() {
                        break;
                    }
                    match plan.replay.open() {
                        Ok(again) => {
                            counts.merge_in_time(&reader.counts());
                            reader = again;
                        }
                        Err(why) => {
                            error = Some(why.to_string());
                            break;
                        }
                    }
                    timing.begin_pass();
                    continue;
                }
                Err(why) => {
                    error = Some(why.to_string());
                    break;
                }
            };
            let Some(due) = timing.next(query.at_unix_ns) else { break };
            let seat = roster.seat(query.client);
            // More clients than sockets share them.
            let of_member = seats.get(usize::from(seat.member)).copied().unwrap_or(1).max(1);
            let client = seat.number % of_member;
            let streamed = Streamed {
                number,
                own: Own { at_ns: due.at_ns, client: Some(client) },
                member: has_members.then_some(seat.member),
                message: query.message,
                expected: query.expected,
            };
            // Those of clients of other processes are only counted.
            let own = (client % plan.part.of.max(1)).checked_sub(plan.part.first);
            let own = own.filter(|own| *own < plan.part.workers);
            let goes_on = lines.reach(due.at_ns.unwrap_or(0))
                && own.is_none_or(|own| lines.push(own as usize, &streamed));
            if !goes_on {
                break;
            }
            number += 1;
            of_pass += 1;
        }
        lines.end();
        error = error.or_else(|| (number == 0 && pass == 1).then(|| reader.no_query().to_string()));
        counts.merge_in_time(&reader.counts());
        counts.clients = roster.clients() as u64;
        let part = length.map_or(0.0, |length| of_pass as f64 / length as f64);
        Fed { counts, passes: pass as f64 + part, error }
    }
}

/// The chunks of all workers, and their queues.
struct Lines {
    lines: Vec<Line>,
    /// The end of the last part of the schedule that was passed on.
    passed_on_ns: u64,
    ready: Ready,
}

struct Line {
    input: FeedIn,
    builder: ChunkBuilder,
}

impl Lines {
    fn new(ins: Vec<FeedIn>, types: &[u16], ready: Ready) -> Self {
        let line = |input| Line { input, builder: ChunkBuilder::new(types) };
        Lines { lines: ins.into_iter().map(line).collect(), passed_on_ns: 0, ready }
    }

    /// The schedule is known up to this instant. Returns false if the run has ended.
    fn reach(&mut self, due_ns: u64) -> bool {
        if due_ns < self.passed_on_ns + PART_NS {
            return true;
        }
        self.passed_on_ns = due_ns;
        (0..self.lines.len()).all(|worker| self.pass_on(worker, due_ns))
    }

    /// Adds a query to the chunk of a worker. Returns false if the run has ended.
    fn push(&mut self, worker: usize, query: &Streamed<'_>) -> bool {
        if self.lines[worker].builder.is_full() && !self.pass_on(worker, self.passed_on_ns) {
            return false;
        }
        // A message of a capture is never longer than a DNS message can be.
        let _ = self.lines[worker].builder.push(query);
        true
    }

    /// Passes on the chunk of a worker, and waits while its queue is full. Returns false if no worker takes chunks any
    /// more.
    fn pass_on(&mut self, worker: usize, known_to_ns: u64) -> bool {
        let Line { input, builder } = &mut self.lines[worker];
        let spent = input.spent();
        let mut chunk = builder.take(known_to_ns, spent);
        while !self.lines[worker].input.is_abandoned() {
            match self.lines[worker].input.push(chunk) {
                Ok(()) => return true,
                Err(full) => chunk = full,
            }
            self.pass_on_others();
            self.ready.tell();
            std::thread::sleep(QUEUE_FULL);
        }
        self.lines.iter().any(|line| !line.input.is_abandoned())
    }

    /// While one queue is full, the other workers get what was read for them.
    fn pass_on_others(&mut self) {
        for Line { input, builder } in self.lines.iter_mut().filter(|line| !line.builder.is_empty()) {
            if !input.is_full() {
                let spent = input.spent();
                let _ = input.push(builder.take(self.passed_on_ns, spent));
            }
        }
    }

    /// The source has ended.
    fn end(mut self) {
        for worker in 0..self.lines.len() {
            self.pass_on(worker, self.passed_on_ns);
        }
        self.ready.tell();
    }
}

/// Tells that the queues are full, or hold all: the run may begin.
pub(crate) struct Ready(SyncSender<()>);

/// Waits for it.
pub(crate) struct WaitsForReady(Receiver<()>);

pub(crate) fn ready() -> (Ready, WaitsForReady) {
    let (sender, receiver) = sync_channel(1);
    (Ready(sender), WaitsForReady(receiver))
}

impl Ready {
    fn tell(&self) {
        // Told before: then the channel is full, or nobody waits any more.
        let _ = self.0.try_send(());
    }
}

impl WaitsForReady {
    /// Waits until the queues are full or hold all; not longer than a reader needs that is not far behind.
    pub(crate) fn wait(&self) {
        let _ = self.0.recv_timeout(LONGEST_START);
    }
}

/// A part of the schedule that is passed on even if no chunk is full.
const PART_NS: u64 = 100_000_000;

/// How long the reader sleeps while a queue is full: sixteen chunks last a hundred times as long.
const QUEUE_FULL: Duration = Duration::from_micros(500);

/// How long the start of a run waits for its first chunks, at most: a capture in progress gives its first query when so
/// much of it has passed that it is in order, and would be behind for the whole run otherwise.
const LONGEST_START: Duration = Duration::from_nanos(ORDERED_WITHIN_NS + 500_000_000);
