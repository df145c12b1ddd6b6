//! Adds up what the workers hand out: pages in, intervals and the sum out.
//!
//! Pages of one interval are added in the order of the workers, not of their coming, so that
//! the same pages always give the same record.

use std::collections::BTreeMap;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use dnsdyno_measure::{Arrivals, ConnectFailure, Evidence, Tally};
use dnsdyno_plan::schedule::Load;
use dnsdyno_record::{Ended, Interval, Sum, WorkerUse};
use dnsdyno_transport::Resources;
use rtrb::{Consumer, Producer};

use crate::control::{Asked, Control};
use crate::job::Job;
use crate::ledger::{Blank, Closing, HeldBack, Page};

/// Is told how a run goes on.
pub trait Observer {
    /// A wall interval is over: what passed the sockets in it.
    fn passed(&mut self, live: &Live<'_>);

    /// An interval has settled: each query that was due in it has ended. Called in order.
    fn settled(&mut self, interval: &Interval);

    /// The user has asked to stop; `at_ns` is the end of the last wall interval told. Called once.
    fn stopping(&mut self, at_ns: u64);

    /// The run is over, and a full window held queries back past their intended instant.
    fn held_back(&mut self, _held_back: HeldBack) {}
}

/// The wall interval that is just over.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// Number of the interval.
    pub index: u64,
    /// The first instant after it.
    pub to_ns: u64,
    /// Rate that the schedule asked for in it; 0 in closed loop.
    pub asked_qps: f64,
    /// What passed the sockets, over all workers.
    pub arrivals: &'a Arrivals,
}

/// The collector's end of one worker.
pub(crate) struct WorkerDesk<'scope> {
    pages: Consumer<Page>,
    blanks: Producer<Blank>,
    thread: Option<ScopedJoinHandle<'scope, ()>>,
    /// Resources as of its last page: pages carry totals, intervals differences.
    resources: Resources,
    closing: Option<Closing>,
    /// Why it ended without closing its books.
    failure: Option<String>,
    /// The largest shares of a CPU that it used in an interval, ascending.
    busiest: [f64; BUSY_INTERVALS],
}

impl<'scope> WorkerDesk<'scope> {
    pub(crate) fn new(
        pages: Consumer<Page>,
        blanks: Producer<Blank>,
        thread: ScopedJoinHandle<'scope, ()>,
    ) -> Self {
        WorkerDesk {
            pages,
            blanks,
            thread: Some(thread),
            resources: Resources::default(),
            closing: None,
            failure: None,
            busiest: [0.0; BUSY_INTERVALS],
        }
    }

    fn is_over(&self) -> bool {
        self.closing.is_some() || self.failure.is_some()
    }

    fn note_busy(&mut self, share: f64) {
        // The first page after a standstill carries the use of several intervals.
        let share = share.min(1.0);
        if share > self.busiest[0] {
            self.busiest[0] = share;
            self.busiest.sort_by(f64::total_cmp);
        }
    }
}

/// The pages of one interval, by worker.
struct Sheets {
    tallies: Vec<Option<Box<Tally>>>,
    arrivals: Vec<Option<Box<Arrivals>>>,
    told_live: bool,
}

pub(crate) struct Collector<'a, 'scope> {
    job: &'a Job<'a>,
    sockets: u64,
    workers: Vec<WorkerDesk<'scope>>,
    waiting: BTreeMap<u64, Sheets>,
    next_settled: u64,
    tally: Tally,
    arrivals: Arrivals,
    uses: Vec<WorkerUse>,
    wall_offset_ns: &'a dyn Fn() -> i64,
    last_offset_ns: i64,
    worst_step_ns: i64,
    control: &'a Control,
    told_stopping: bool,
    /// The end of the last wall interval told.
    told_up_to_ns: u64,
}

impl<'a, 'scope> Collector<'a, 'scope> {
    pub(crate) fn new(
        job: &'a Job<'a>,
        sockets: u64,
        workers: Vec<WorkerDesk<'scope>>,
        wall_offset_ns: &'a dyn Fn() -> i64,
        control: &'a Control,
    ) -> Self {
        Collector {
            job,
            sockets,
            waiting: BTreeMap::new(),
            next_settled: 0,
            tally: Tally::new(job.queries.types().len()),
            arrivals: Arrivals::default(),
            uses: vec![WorkerUse::default(); workers.len()],
            last_offset_ns: wall_offset_ns(),
            worst_step_ns: 0,
            control,
            told_stopping: false,
            told_up_to_ns: 0,
            wall_offset_ns,
            workers,
        }
    }

    /// Takes pages until every worker is done.
    pub(crate) fn collect(mut self, observer: &mut dyn Observer) -> Sum {
        loop {
            let over = self.workers.iter().all(WorkerDesk::is_over);
            if !self.told_stopping && self.control.asked() != Asked::Nothing {
                self.told_stopping = true;
                observer.stopping(self.told_up_to_ns);
            }
            let came = self.take_pages();
            if came {
                self.hand_on(observer);
            } else if over {
                break;
            } else {
                self.notice_failures();
                // A worker that is done wakes us.
                thread::park_timeout(LOOK_AGAIN);
            }
        }
        self.hand_on(observer);
        let mut held_back = HeldBack::default();
        self.workers
            .iter()
            .filter_map(|worker| worker.closing)
            .for_each(|done| held_back.merge(&done.held_back));
        if held_back.queries > 0 {
            observer.held_back(held_back);
        }
        self.sum()
    }

    /// Takes the pages that wait; whether there were any.
    fn take_pages(&mut self) -> bool {
        let mut came = false;
        for number in 0..self.workers.len() {
            while let Ok(page) = self.workers[number].pages.pop() {
                came = true;
                match page {
                    Page::Settled { index, tally } => self.sheets(index).tallies[number] = Some(tally),
                    Page::Passed { index, mut arrivals, resources } => {
                        self.charge(number, &mut arrivals, resources);
                        self.sheets(index).arrivals[number] = Some(arrivals);
                    }
                    Page::Done(closing) => self.workers[number].closing = Some(closing),
                }
            }
        }
        came
    }

    /// Books on the arrivals what the host has spent since the page before.
    fn charge(&mut self, number: usize, arrivals: &mut Arrivals, resources: Resources) {
        let worker = &mut self.workers[number];
        let before = std::mem::replace(&mut worker.resources, resources);
        arrivals.cpu_ns = resources.cpu_ns.saturating_sub(before.cpu_ns);
        arrivals.cpu_wait_ns = resources.cpu_wait_ns.saturating_sub(before.cpu_wait_ns);
        arrivals.socket_drops = resources.socket_drops.saturating_sub(before.socket_drops);
        worker.note_busy(arrivals.cpu_ns as f64 / self.job.interval_ns as f64);
    }

    fn sheets(&mut self, index: u64) -> &mut Sheets {
        let workers = self.workers.len();
        self.waiting.entry(index).or_insert_with(|| Sheets {
            tallies: (0..workers).map(|_| None).collect(),
            arrivals: (0..workers).map(|_| None).collect(),
            told_live: false,
        })
    }

    /// Tells the observer of the intervals that are complete.
    fn hand_on(&mut self, observer: &mut dyn Observer) {
        let over: Vec<bool> = self.workers.iter().map(WorkerDesk::is_over).collect();
        let indexes: Vec<u64> = self.waiting.keys().copied().collect();
        for index in indexes {
            let Some(sheets) = self.waiting.get_mut(&index) else { continue };
            if sheets.told_live || !is_complete(&sheets.arrivals, &over) {
                continue;
            }
            sheets.told_live = true;
            let arrivals = merged(&sheets.arrivals);
            let to_ns = (index + 1) * self.job.interval_ns;
            let asked_qps = self.asked_qps(index);
            self.told_up_to_ns = to_ns;
            observer.passed(&Live { index, to_ns, asked_qps, arrivals: &arrivals });
            self.watch_the_clock();
        }
        while let Some(sheets) = self.waiting.get(&self.next_settled)
            && sheets.told_live
            && is_complete(&sheets.tallies, &over)
        {
            self.settle(observer);
        }
    }

    /// Adds up the next interval, tells of it, and gives the workers their books back.
    fn settle(&mut self, observer: &mut dyn Observer) {
        let index = self.next_settled;
        let Some(sheets) = self.waiting.remove(&index) else { return };
        self.next_settled += 1;
        let mut tally = Tally::new(self.job.queries.types().len());
        sheets.tallies.iter().flatten().for_each(|sheet| tally.merge(sheet));
        let is_open = self.job.load.curve().is_some();
        let uses: Vec<WorkerUse> = sheets.arrivals.iter().map(use_of).collect();
        let interval = Interval {
            index,
            from_ns: index * self.job.interval_ns,
            to_ns: (index + 1) * self.job.interval_ns,
            // Settled: what was due is what was taken up.
            asked_qps: if is_open { per_second(tally.scheduled, self.job.interval_ns) } else { 0.0 },
            tally,
            arrivals: merged(&sheets.arrivals),
            workers: uses,
        };
        self.tally.merge(&interval.tally);
        self.arrivals.merge_in_time(&interval.arrivals);
        self.uses.iter_mut().zip(&interval.workers).for_each(|(sum, used)| sum.merge(used));
        observer.settled(&interval);
        self.give_back(sheets);
    }

    fn give_back(&mut self, sheets: Sheets) {
        let pages = sheets.tallies.into_iter().zip(sheets.arrivals);
        for (worker, (tally, arrivals)) in self.workers.iter_mut().zip(pages) {
            // A full way back only means that the worker has blanks enough.
            if let Some(mut tally) = tally {
                tally.clear();
                let _ = worker.blanks.push(Blank::Tally(tally));
            }
            if let Some(mut arrivals) = arrivals {
                arrivals.clear();
                let _ = worker.blanks.push(Blank::Arrivals(arrivals));
            }
        }
    }

    /// The rate that the schedule asks for in an interval, from the number of queries due; nothing
    /// is asked past the limit, or once the user wants to stop.
    fn asked_qps(&self, index: u64) -> f64 {
        let Some(curve) = self.job.load.curve() else { return 0.0 };
        if self.told_stopping {
            return 0.0;
        }
        let limit = self.job.limit.as_ref().map_or(u64::MAX, |(limit, _)| *limit);
        let due_before = |t_ns: u64| if t_ns == 0 { 0 } else { curve.due_by(t_ns - 1).min(limit) };
        let from_ns = index * self.job.interval_ns;
        per_second(due_before(from_ns + self.job.interval_ns) - due_before(from_ns), self.job.interval_ns)
    }

    fn watch_the_clock(&mut self) {
        let offset_ns = (self.wall_offset_ns)();
        let step_ns = offset_ns - self.last_offset_ns;
        self.last_offset_ns = offset_ns;
        if step_ns.unsigned_abs() > self.worst_step_ns.unsigned_abs() {
            self.worst_step_ns = step_ns;
        }
    }

    /// A worker whose thread ended without closing its books has failed.
    fn notice_failures(&mut self) {
        for worker in &mut self.workers {
            let ended = worker.thread.as_ref().is_some_and(ScopedJoinHandle::is_finished);
            if worker.is_over() || !ended || !worker.pages.is_empty() {
                continue;
            }
            let Some(Err(panic)) = worker.thread.take().map(ScopedJoinHandle::join) else { continue };
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
            worker.failure = Some(said.to_owned());
        }
    }

    /// The sum, once every worker is done. The verdict is for whoever has all the evidence.
    fn sum(mut self) -> Sum {
        let closings = || self.workers.iter().filter_map(|worker| worker.closing);
        let late_after_settled = closings().map(|closing| closing.late_after_settled).sum();
        let end_ns = closings().map(|closing| closing.end_ns).max().unwrap_or(0);
        let ended = self.ended();
        let schedule_ns = self.schedule_ns(&ended, closings().map(|closing| closing.exhausted_ns).max());
        let evidence = self.evidence(schedule_ns, end_ns);
        self.tally.ends.came_late_after_all(late_after_settled);
        Sum {
            to_ns: end_ns,
            warnings: Vec::new(),
            ended,
            evidence,
            late_after_settled,
            workers: self.uses,
            schedule_ns,
            passes: self.tally.scheduled as f64 / self.job.queries.len().max(1) as f64,
            interface: None,
            tally: self.tally,
            arrivals: self.arrivals,
        }
    }

    fn ended(&self) -> Ended {
        if let Some(why) = self.workers.iter().find_map(|worker| worker.failure.clone()) {
            return Ended::Failed { why: format!("a worker failed: {why}") };
        }
        if self.workers.iter().any(|worker| worker.closing.is_some_and(|closing| closing.interrupted)) {
            return Ended::Interrupted;
        }
        match &self.job.limit {
            Some((limit, what)) if self.tally.scheduled >= *limit => what.clone(),
            _ => Ended::ByTime,
        }
    }

    /// Time over which queries were due: the whole schedule where it was played to its end.
    fn schedule_ns(&self, ended: &Ended, exhausted_ns: Option<u64>) -> u64 {
        let exhausted_ns = exhausted_ns.unwrap_or(0);
        match (ended, self.job.load) {
            (Ended::ByTime, Load::Open { curve, .. }) => curve.duration_ns().unwrap_or(exhausted_ns),
            (Ended::ByTime, Load::Closed { .. }) => self.job.end_ns.unwrap_or(exhausted_ns),
            // The query after the last would have been due then.
            (Ended::ByCount | Ended::ByPasses, Load::Open { curve, .. }) => {
                curve.due_at(self.tally.scheduled).or(curve.duration_ns()).unwrap_or(exhausted_ns)
            }
            _ => exhausted_ns,
        }
    }

    fn evidence(&self, schedule_ns: u64, end_ns: u64) -> Evidence {
        let length_ns = end_ns.max(1) as f64;
        // Of a shorter run the start is most of what is seen.
        let is_long_enough = end_ns >= SHORTEST_JUDGED_NS;
        let busy = |worker: &WorkerDesk<'_>| {
            if !is_long_enough {
                return 0.0;
            }
            let counted = worker.busiest.iter().filter(|share| **share > 0.0).count().max(1);
            let peak = worker.busiest.iter().sum::<f64>() / counted as f64;
            peak.max(worker.resources.cpu_ns as f64 / length_ns).min(1.0)
        };
        let waited = |worker: &WorkerDesk<'_>| match is_long_enough {
            true => worker.resources.cpu_wait_ns as f64 / length_ns,
            false => 0.0,
        };
        let closings = || self.workers.iter().filter_map(|worker| worker.closing);
        Evidence {
            open_loop: self.job.load.curve().is_some(),
            schedule_ns,
            socket_drops: self.arrivals.socket_drops,
            fragments: self.workers.iter().map(|worker| worker.resources.fragments).max().unwrap_or(0),
            lasted_ns: end_ns,
            // Of the interface, and of what leaves by it, whoever opened the transports knows.
            interface_packets: None,
            datagrams_only: false,
            id_waits: closings().map(|closing| closing.id_waits).sum(),
            connection_waits: closings().map(|closing| closing.connection_waits).sum(),
            connects_without_port: self
                .arrivals
                .connections
                .as_ref()
                .map_or(0, |connections| connections.failed(ConnectFailure::NoLocalPort)),
            sockets: self.sockets,
            busiest_worker_cpu: self.workers.iter().map(busy).fold(0.0, f64::max),
            worst_worker_wait: self.workers.iter().map(waited).fold(0.0, f64::max),
            clock_step_ns: self.worst_step_ns,
        }
    }
}

/// Whether every worker has given its page, or will give none any more.
fn is_complete<P>(pages: &[Option<P>], over: &[bool]) -> bool {
    pages.iter().zip(over).all(|(page, over)| page.is_some() || *over)
}

fn merged(pages: &[Option<Box<Arrivals>>]) -> Arrivals {
    let mut sum = Arrivals::default();
    pages.iter().flatten().for_each(|page| sum.merge(page));
    sum
}

fn use_of(page: &Option<Box<Arrivals>>) -> WorkerUse {
    page.as_ref().map_or_else(WorkerUse::default, |arrivals| WorkerUse {
        cpu_ns: arrivals.cpu_ns,
        cpu_wait_ns: arrivals.cpu_wait_ns,
        sent: arrivals.sent,
        answered: arrivals.answered,
    })
}

fn per_second(count: u64, interval_ns: u64) -> f64 {
    count as f64 * 1e9 / interval_ns as f64
}

/// CPU use is judged in runs of at least a second.
const SHORTEST_JUDGED_NS: u64 = 1_000_000_000;

/// A page is fetched this long after it was handed out, at most: too short to see on a screen,
/// long enough to cost no CPU.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Intervals that a worker must have been busy in before its CPU counts as used up: one alone
/// may be a hiccup of the host.
const BUSY_INTERVALS: usize = 5;
