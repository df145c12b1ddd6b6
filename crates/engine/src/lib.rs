//! The engine: workers that share no state, and a collector that adds up their results.
//!
//! [`run`] takes a validated [`Job`] and one transport per worker, and returns the [`Sum`] of the run with the evidence
//! for its verdict. An [`Observer`] is called for each interval, when it has passed and when it has settled. The engine
//! opens no socket and reads no clock: both belong to the transport, so that runs over the simulated link are
//! repeatable.
#![forbid(unsafe_code)]

mod answers;
mod clients;
mod collector;
mod connections;
mod control;
mod coverage;
mod ends;
mod fallback;
mod feed;
mod first_send;
mod groups;
mod inflight;
mod job;
mod ledger;
mod limit;
mod lost;
mod pace;
mod pairing;
mod passing;
mod pauses;
mod query_before;
mod query_log;
mod question;
mod rewriter;
mod sender;
mod sent;
mod share;
mod source;
mod stop_limits;
mod stream;
mod supply;
mod trace;
mod tracing;
mod transactions;
mod truncated;
mod upcoming;
mod worker;

pub use answers::{Known, KnownAnswers};
pub use clients::{ClientModel, ClientModels};
pub use collector::{Live, Observer};
pub use control::{Asked, Control, Reached, StopCause};
pub use feed::{FeedConfig, FeedIn, Feeds};
pub use job::{Job, preparation_ns};
pub use query_log::{How, QueryEnd, QueryLog, QueryLogs, Unpaired, Why};
pub use source::Source;
pub use trace::{
    TraceJob, TraceLog, TraceSample, TraceStep, TracedConnection, TracedFallback, TracedQuery, TracedSend,
};
pub use upcoming::Upcoming;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use dnsdyno_record::Sum;
use dnsdyno_sys::rights::{CapabilitySet, keep_only, of_bpf};
use dnsdyno_sys::thread::{own_open_files, pin_to_cpu};
use dnsdyno_transport::{Batch, Group, Sink, Transport, Wake};
use rtrb::RingBuffer;

use crate::collector::{Collector, WorkerHandle};
use crate::connections::Connections;
use crate::control::Signals;
use crate::groups::Groups;
use crate::inflight::{GroupSlots, InFlight};
use crate::ledger::Ledger;
use crate::pauses::Pauses;
use crate::sender::Sender;
use crate::share::Share;
use crate::transactions::Transactions;
use crate::worker::Worker;

/// Runs the job over the transports, one worker each, and returns when all queries have ended. If a worker or the
/// observer panics, the other threads end at once, and the run has failed.
///
/// `epoch_ns` is the start of the run, common to all transports. `wall_offset_ns` returns how far the wall clock is
/// ahead of the monotonic clock, to detect steps.
pub fn run<T: Transport + Send>(
    job: &Job<'_>,
    transports: Vec<T>,
    epoch_ns: u64,
    wall_offset_ns: &dyn Fn() -> i64,
    control: &Control,
    observer: &mut dyn Observer,
) -> Sum {
    let workers = transports.len();
    let channels: usize = transports.iter().map(Transport::channels).sum();
    let slots = &job.group_slots(&transports);
    let (active_workers, has_failed) = (&AtomicUsize::new(workers), &AtomicBool::new(false));
    let signals = Signals::new(control, has_failed);
    let collector = thread::current();
    thread::scope(|scope| {
        let mut handles = Vec::with_capacity(workers);
        for (number, mut transport) in transports.into_iter().enumerate() {
            let (page_in, page_out) = RingBuffer::new(PAGES_QUEUED);
            let (blank_in, blank_out) = RingBuffer::new(PAGES_QUEUED);
            let cpu = job.cpus.get(number).copied();
            let collector = collector.clone();
            let (own, part) = (number as u32, job.part(workers));
            let share = Share { own, worker: part.worker(own), workers: part.of };
            let thread = thread::Builder::new().spawn_scoped(scope, move || {
                let _failing = signals.fail_on_panic();
                // First, so that the worker's memory is near its CPU. If the CPU is no longer available, the kernel
                // chooses another.
                let _ = cpu.map(pin_to_cpu);
                // If this fails, connections beyond the limit fail and are counted.
                let _ = job.own_files.then(own_open_files);
                let active = ActiveWorker(active_workers, collector);
                // The table and the ledger are created on the worker's thread, so that their memory is near its CPU.
                let groups = transport.groups();
                let own =
                    |(group, all): (&Group, &GroupSlots)| GroupSlots { channels: group.channels, ..*all };
                let own: Vec<GroupSlots> = groups.iter().zip(slots).map(own).collect();
                let table = InFlight::of(&own, job.timeout_ns);
                let at_once = groups.iter().map(|group| group.at_once).max().unwrap_or(Batch::USUAL);
                // Several servers over UDP are a mix of transports none of which connects.
                let connects = groups.iter().any(|group| group.connects);
                let groups = Groups::new(&groups);
                // The counters of the only member of a mix would be those of the run.
                let members = if groups.members() > 1 { groups.members() } else { 0 };
                let spare = (2 * job.timeout_ns / job.interval_ns + 4).min(MOST_SPARE_TALLIES) as usize;
                let (types, is_open) = (job.source.types().len(), job.load.is_open());
                let ledger = Ledger::new(job.interval_ns, types, members, is_open, spare, page_in, blank_out);
                let clients = if connects { transport.channels() } else { 0 };
                let connections = Connections::new(clients, Pauses::new(clients, &groups, job.timeout_ns));
                let transactions = Transactions::new(job, share, table, ledger, groups, connections);
                let picker = job.source.picker(share);
                let sender = Sender::new(job.send_limits(), share, picker, (transport.channels(), at_once));
                // All is open. What others send is read from here on with the rights of a user; where the kernel
                // refuses that, as those of the thread that has started this one.
                let _ = keep_only(if T::HAS_PROGRAM { of_bpf() } else { CapabilitySet::empty() });
                transport.begin(epoch_ns);
                let pace = job.pace(share);
                let mut transport = Worker::new(transport, pace, sender, transactions, signals).run();
                // Also dropped if the worker panics.
                drop(active);
                while transport.serves_others() && active_workers.load(Ordering::Acquire) > 0 {
                    transport.wait(transport.now_ns() + LINGER_NS, Wake::ON_ARRIVAL);
                    transport.receive(&mut Discard);
                }
            });
            if thread.is_err() {
                has_failed.store(true, Ordering::Relaxed);
                active_workers.fetch_sub(1, Ordering::Release);
            }
            handles.push(WorkerHandle::new(page_out, blank_in, thread));
        }
        // If the collector panics, the workers must end: nothing reads their pages any more.
        let _failing = signals.fail_on_panic();
        Collector::new(job, channels as u64, handles, wall_offset_ns, control).collect(observer)
    })
}

/// When dropped, counts the worker as done and wakes the collector.
struct ActiveWorker<'a>(&'a AtomicUsize, thread::Thread);

impl Drop for ActiveWorker<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
        self.1.unpark();
    }
}

/// Ignores what a worker receives after its ledger is closed.
struct Discard;

impl Sink for Discard {
    fn packet(&mut self, _: usize, _: u64, _: &[u8]) {}

    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}
}

/// How long a worker that is done sleeps, unless a packet arrives, while it forwards packets to other workers.
const LINGER_NS: u64 = 1_000_000;

/// Pages that may wait for the collector: more than eight minutes of a stalled disk at one-second intervals. Further
/// pages wait in memory that the worker must allocate.
const PAGES_QUEUED: usize = 1_024;

/// Tallies allocated in advance, at most. A long timeout with short intervals may need more: they are allocated when
/// needed.
const MOST_SPARE_TALLIES: u64 = 64;
