//! The engine: workers that share nothing, and a collector that adds up what they hand out.
//!
//! [`run`] takes a validated [`Job`] and one transport for each worker, and gives the [`Sum`] of
//! the run with the evidence for its verdict; an [`Observer`] is told of each interval as it passes
//! and as it settles. The engine opens no socket and reads no clock: both belong to the transport,
//! so the imaginary link makes the whole of it repeatable.
#![forbid(unsafe_code)]

mod book;
mod collector;
mod connections;
mod control;
mod inflight;
mod mix;
mod pace;
mod worker;

pub use collector::{Live, Observer};
pub use control::{Asked, Control};

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use dnsdyno_plan::schedule::Load;
use dnsdyno_plan::source::Questions;
use dnsdyno_record::{Ended, Sum};
use dnsdyno_sys::thread::{own_open_files, pin_to_cpu};
use dnsdyno_transport::{Group, Sink, Transport, Wake};
use rtrb::RingBuffer;

use crate::book::Book;
use crate::collector::{Collector, WorkerDesk};
use crate::connections::Connected;
use crate::inflight::{InFlight, Lanes};
use crate::mix::Mix;
use crate::pace::{Pace, Window};
use crate::worker::{Desk, Patience, Worker};

/// What a run is to do; the plan has validated it.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// What to ask, over and over.
    pub questions: &'a Questions,
    /// When to ask.
    pub load: &'a Load,
    /// Ask no more than this in all, and what that limit is called.
    pub limit: Option<(u64, Ended)>,
    /// Take up no query at this instant or later. Of an open loop this is part of the curve.
    pub end_ns: Option<u64>,
    /// How long an answer is waited for.
    pub timeout_ns: u64,
    /// Length of an interval of the record.
    pub interval_ns: u64,
    /// Whether nobody waits for answers.
    pub send_only: bool,
    /// Whether what is asked again over TCP carries no OPT record.
    pub strips_edns: bool,
    /// The CPU that each worker stays on; where there is none for it, the kernel chooses.
    pub cpus: &'a [usize],
    /// Whether each worker has a table of open files of its own, because all of them together have
    /// more than one table may hold.
    pub own_files: bool,
}

/// Runs the job over the transports, one worker each, and returns when each query has ended.
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
    let lanes = &lanes_of(&transports, job);
    let at_work = AtomicUsize::new(workers);
    let at_work = &at_work;
    let collector = thread::current();
    thread::scope(|scope| {
        let mut desks = Vec::with_capacity(workers);
        for (number, mut transport) in transports.into_iter().enumerate() {
            let (page_in, page_out) = RingBuffer::new(PAGES_ON_THE_WAY);
            let (blank_in, blank_out) = RingBuffer::new(PAGES_ON_THE_WAY);
            let types = job.questions.types().len();
            let is_open = matches!(job.load, Load::Open(_));
            let pace = pace_of(job, number, workers);
            let cpu = job.cpus.get(number).copied();
            let collector = collector.clone();
            let thread = scope.spawn(move || {
                // First of all, so that its memory is near. A CPU that went away meanwhile is no
                // reason to end: the kernel then chooses.
                let _ = cpu.map(pin_to_cpu);
                // Without it, connections beyond the limit fail, and are counted so.
                let _ = job.own_files.then(own_open_files);
                let here = AtWork(at_work, collector);
                // The table and the books are made where they are used, so that their memory
                // lies near the worker's CPU.
                let groups = transport.groups();
                let own = |(group, lanes): (&Group, &Lanes)| Lanes { channels: group.channels, ..*lanes };
                let own: Vec<Lanes> = groups.iter().zip(lanes).map(own).collect();
                let table = InFlight::of(&own, job.timeout_ns);
                let mix = T::MIXED.then(|| Box::new(Mix::new(&groups, &table, job.strips_edns)));
                let members = groups.iter().filter(|group| !group.is_second).count();
                // Of a mix of one, all that is known of it is known of the run.
                let members = if members > 1 { members } else { 0 };
                let spare = (2 * job.timeout_ns / job.interval_ns + 4).min(MOST_SPARE_TALLIES) as usize;
                let book = Book::new(job.interval_ns, types, members, is_open, spare, page_in, blank_out);
                let clients = if T::CONNECTS { transport.channels() } else { 0 };
                let desk = Desk {
                    questions: job.questions,
                    table,
                    book,
                    connected: Connected::new(clients),
                    mix,
                    send_only: job.send_only,
                    unpaired: 0,
                };
                transport.begin(epoch_ns);
                let patience = Patience { timeout_ns: job.timeout_ns, over_ns: over_ns(job) };
                let mut transport = Worker::new(transport, pace, desk, control, patience).run();
                // A worker that panics leaves it too.
                drop(here);
                while transport.serves_others() && at_work.load(Ordering::Acquire) > 0 {
                    transport.wait(transport.now_ns() + LINGER_NS, Wake::OnArrival);
                    transport.receive(&mut Nobody);
                }
            });
            desks.push(WorkerDesk::new(page_out, blank_in, thread));
        }
        let _stop_on_panic = StopOnPanic(control);
        Collector::new(job, channels as u64, desks, wall_offset_ns, control).collect(observer)
    })
}

/// Says of a worker, when it is dropped, that it has done its part, and wakes the collector.
struct AtWork<'a>(&'a AtomicUsize, thread::Thread);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
        self.1.unpark();
    }
}

/// For whom what a worker receives is, when its books are closed.
struct Nobody;

impl Sink for Nobody {
    fn packet(&mut self, _: usize, _: u64, _: &[u8]) {}

    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}
}

/// Ends the workers if the observer panics: nobody would take their pages any more.
struct StopOnPanic<'a>(&'a Control);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.press();
            self.0.press();
        }
    }
}

/// How long the workers of a run over these transports need to make their tables, at most: the
/// start of the run must lie that far ahead.
pub fn preparation_ns<T: Transport>(transports: &[T], load: &Load) -> u64 {
    let slots = |lanes: &Lanes| lanes.channels as u64 * u64::from(lanes.ids);
    let slots: u64 = lanes_by_load(transports, load).iter().map(slots).sum();
    PREPARATION_NS + slots * PREPARATION_NS_PER_SLOT
}

/// The channels of each group, of all transports together, and their IDs.
fn lanes_by_load<T: Transport>(transports: &[T], load: &Load) -> Vec<Lanes> {
    let of_each: Vec<Vec<Group>> = transports.iter().map(Transport::groups).collect();
    let groups = of_each.first().map_or(&[][..], |groups| groups);
    let lanes = |(number, group): (usize, &Group)| {
        let channels =
            of_each.iter().filter_map(|groups| groups.get(number)).map(|group| group.channels).sum();
        let ids = match group.connects {
            true => inflight::ids_per_client(channels, window_of(load), group.most_under_way),
            false => inflight::ids_per_channel(channels, window_of(load)),
        };
        Lanes { channels, ids, are_second: group.is_second }
    };
    groups.iter().enumerate().map(lanes).collect()
}

/// The same, but without IDs where nobody waits for answers.
fn lanes_of<T: Transport>(transports: &[T], job: &Job<'_>) -> Vec<Lanes> {
    let mut lanes = lanes_by_load(transports, job.load);
    if job.send_only {
        lanes.iter_mut().for_each(|lanes| lanes.ids = 0);
    }
    lanes
}

/// When a load that nobody answers is over, whatever has not left by then: with a rate that the
/// host cannot send, it would else go on past its time and seem to have sent more in it.
fn over_ns(job: &Job<'_>) -> u64 {
    match job.load {
        Load::Open(curve) if job.send_only => {
            curve.duration_ns().map_or(u64::MAX, |end_ns| end_ns + FLOOD_OVERTIME_NS)
        }
        _ => u64::MAX,
    }
}

/// The size of the closed loop's window.
fn window_of(load: &Load) -> Option<u64> {
    match load {
        Load::Open(_) => None,
        Load::Closed { outstanding } => Some(u64::from(*outstanding)),
    }
}

/// Worker `number`'s slice: every `workers`-th query, and its share of a window.
fn pace_of(job: &Job<'_>, number: usize, workers: usize) -> Pace {
    let limit = job.limit.as_ref().map_or(u64::MAX, |(limit, _)| *limit);
    let (number, workers) = (number as u64, workers as u64);
    match job.load {
        Load::Open(curve) => Pace::open(curve.cursor(number, workers).up_to(limit)),
        Load::Closed { outstanding } => {
            let outstanding = u64::from(*outstanding);
            let size = outstanding / workers + u64::from(number < outstanding % workers);
            Pace::closed(Window {
                size: size as u32,
                next: number,
                stride: workers,
                limit,
                end_ns: job.end_ns.unwrap_or(u64::MAX),
            })
        }
    }
}

/// How long a worker that is done sleeps while it passes on what comes for others; an arrival
/// wakes it.
const LINGER_NS: u64 = 1_000_000;

/// How long after the end of a load that nobody answers its last queries may leave.
const FLOOD_OVERTIME_NS: u64 = 10_000_000;

/// Time to start threads and make books.
const PREPARATION_NS: u64 = 50_000_000;

/// Time to touch 32 bytes of new memory, with room for a busy host.
const PREPARATION_NS_PER_SLOT: u64 = 60;

/// Pages that may wait for the collector: at one-second intervals more than eight minutes of a
/// disk that stands still. Past that they wait in memory that the worker must ask for.
const PAGES_ON_THE_WAY: usize = 1_024;

/// Tallies made in advance; a long timeout over short intervals may need more, and gets them
/// when it does.
const MOST_SPARE_TALLIES: u64 = 64;
