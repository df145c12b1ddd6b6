//! The engine: workers that share nothing, and a collector that adds up what they hand out.
//!
//! [`run`] takes a validated [`Job`] and one transport for each worker, and gives the [`Sum`] of
//! the run with the evidence for its verdict; an [`Observer`] is told of each interval as it passes and as it
//! settles. The engine opens no socket and reads no clock: both belong to the transport, so the imaginary link makes
//! the whole of it repeatable.
#![forbid(unsafe_code)]

mod collector;
mod connections;
mod control;
mod fallback;
mod groups;
mod inflight;
mod job;
mod ledger;
mod made;
mod pace;
mod pairing;
mod sending;
mod worker;

pub use collector::{Live, Observer};
pub use control::{Asked, Control};
pub use job::{Job, preparation_ns};
pub use ledger::HeldBack;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use dnsdyno_record::Sum;
use dnsdyno_sys::thread::{own_open_files, pin_to_cpu};
use dnsdyno_transport::{Group, Sink, Transport, Wake};
use rtrb::RingBuffer;

use crate::collector::{Collector, WorkerDesk};
use crate::connections::Connections;
use crate::control::Signals;
use crate::groups::Groups;
use crate::inflight::{InFlight, Lanes};
use crate::ledger::Ledger;
use crate::pairing::Pairing;
use crate::sending::{Sending, Share};
use crate::worker::Worker;

/// Runs the job over the transports, one worker each, and returns when each query has ended. If a worker or the
/// observer panics, the others end at once, and the run has failed.
///
/// `epoch_ns` is handed to each transport as the common start. `wall_offset_ns` says how far the
/// wall clock is ahead of the monotonic one, for the detection of steps.
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
    let lanes = &job.lanes(&transports);
    let (at_work, has_failed) = (&AtomicUsize::new(workers), &AtomicBool::new(false));
    let signals = Signals::new(control, has_failed);
    let collector = thread::current();
    thread::scope(|scope| {
        let mut desks = Vec::with_capacity(workers);
        for (number, mut transport) in transports.into_iter().enumerate() {
            let (page_in, page_out) = RingBuffer::new(PAGES_ON_THE_WAY);
            let (blank_in, blank_out) = RingBuffer::new(PAGES_ON_THE_WAY);
            let cpu = job.cpus.get(number).copied();
            let collector = collector.clone();
            let share = Share { worker: number as u32, workers: workers as u32 };
            let thread = scope.spawn(move || {
                let _failing = signals.fail_on_panic();
                // First of all, so that its memory is near. A CPU that went away meanwhile is no
                // reason to end: the kernel then chooses.
                let _ = cpu.map(pin_to_cpu);
                // Without it, connections beyond the limit fail, and are counted so.
                let _ = job.own_files.then(own_open_files);
                let here = AtWork(at_work, collector);
                // The table and the ledger are made where they are used, so that their memory
                // lies near the worker's CPU.
                let groups = transport.groups();
                let own = |(group, lanes): (&Group, &Lanes)| Lanes { channels: group.channels, ..*lanes };
                let own: Vec<Lanes> = groups.iter().zip(lanes).map(own).collect();
                let table = InFlight::of(&own, job.timeout_ns);
                let groups = Groups::new(&groups);
                // Of a mix of one, all that is known of it is known of the run.
                let members = if groups.members() > 1 { groups.members() } else { 0 };
                let spare = (2 * job.timeout_ns / job.interval_ns + 4).min(MOST_SPARE_TALLIES) as usize;
                let (types, is_open) = (job.queries.types().len(), job.load.curve().is_some());
                let ledger = Ledger::new(job.interval_ns, types, members, is_open, spare, page_in, blank_out);
                let connections = Connections::new(if T::CONNECTS { transport.channels() } else { 0 });
                let modes = (job.send_only, job.strips_edns);
                let pairing = Pairing::new(job.queries, table, ledger, groups, connections, modes);
                let sending = Sending::new(job.patience(), share);
                transport.begin(epoch_ns);
                let mut transport = Worker::new(transport, job.pace(share), sending, pairing, signals).run();
                // A worker that panics leaves it too.
                drop(here);
                while transport.serves_others() && at_work.load(Ordering::Acquire) > 0 {
                    transport.wait(transport.now_ns() + LINGER_NS, Wake::OnArrival);
                    transport.receive(&mut Nobody);
                }
            });
            desks.push(WorkerDesk::new(page_out, blank_in, thread));
        }
        // The pages of the workers would not be taken any more.
        let _failing = signals.fail_on_panic();
        Collector::new(job, channels as u64, desks, wall_offset_ns, control).collect(observer)
    })
}

/// Counts a worker, when it is dropped, as one that has done its part, and wakes the collector.
struct AtWork<'a>(&'a AtomicUsize, thread::Thread);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
        self.1.unpark();
    }
}

/// Takes what a worker receives when its ledger is closed.
struct Nobody;

impl Sink for Nobody {
    fn packet(&mut self, _: usize, _: u64, _: &[u8]) {}

    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}
}

/// How long a worker that is done sleeps while it passes on what is received for others; an arrival
/// wakes it.
const LINGER_NS: u64 = 1_000_000;

/// Pages that may wait for the collector: at one-second intervals more than eight minutes of a
/// disk that stands still. Past that they wait in memory that the worker must ask for.
const PAGES_ON_THE_WAY: usize = 1_024;

/// Tallies made in advance; a long timeout over short intervals may need more, and gets them
/// when it does.
const MOST_SPARE_TALLIES: u64 = 64;
