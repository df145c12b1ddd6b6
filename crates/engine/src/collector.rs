//! Adds up the pages of the workers to intervals, and to the sum of the run.
//!
//! The pages of an interval are added in the order of the workers, not of their arrival, so that the same pages always
//! give the same record.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use dnsdyno_measure::{Arrivals, ConnectFailure, Evidence, PerClient, Tally, Truncated, add_explanations};
use dnsdyno_plan::Part;
use dnsdyno_plan::schedule::Load;
use dnsdyno_record::figures::rate_qps;
use dnsdyno_record::{Ended, Interval, Sum, WorkerUse};
use dnsdyno_transport::Resources;
use rtrb::{Consumer, Producer};

use crate::control::{Asked, Control};
use crate::coverage::{Coverage, Exhausted};
use crate::job::Job;
use crate::ledger::{Blank, Closing, Page};

/// Observes the progress of a run.
pub trait Observer {
    /// A wall interval is over.
    fn passed(&mut self, live: &Live<'_>);

    /// An interval has settled: all queries that were due in it have ended. Called in order.
    fn settled(&mut self, interval: &Interval);

    /// The run is stopped; `at_ns` is the end of the last wall interval reported. Called once.
    fn stopping(&mut self, at_ns: u64);

    /// Called several times a second, so that the observer can react to something else.
    fn idle(&mut self) {}
}

/// The last wall interval.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// Its number.
    pub index: u64,
    /// Its end.
    pub to_ns: u64,
    /// Time of it that the load covers: less than its length where the load begins or ends within it.
    pub covered_ns: u64,
    /// The scheduled rate over that time; 0 in closed loop.
    pub asked_qps: f64,
    /// What was sent and received, over all workers.
    pub arrivals: &'a Arrivals,
}

/// The collector's state of one worker.
pub(crate) struct WorkerHandle<'scope> {
    pages: Consumer<Page>,
    blanks: Producer<Blank>,
    thread: Option<ScopedJoinHandle<'scope, ()>>,
    /// The resources in its last page: pages have totals, intervals have differences.
    resources: Resources,
    closing: Option<Closing>,
    /// Why it ended without closing its ledger.
    failure: Option<String>,
    /// Its largest shares of a CPU in an interval of the load, ascending.
    busiest: [f64; BUSY_INTERVALS],
}

/// Why a worker has not begun, before the error of the system.
const NO_THREAD: &str = "the system gives no thread for a worker: use fewer --workers, or let this process have more \
                         memory and processes (`ulimit -v`, `ulimit -u`)";

impl<'scope> WorkerHandle<'scope> {
    pub(crate) fn new(
        pages: Consumer<Page>,
        blanks: Producer<Blank>,
        thread: io::Result<ScopedJoinHandle<'scope, ()>>,
    ) -> Self {
        let (thread, failure) = match thread {
            Ok(thread) => (Some(thread), None),
            Err(error) => (None, Some(format!("{NO_THREAD}: {error}"))),
        };
        WorkerHandle {
            pages,
            blanks,
            thread,
            resources: Resources::default(),
            closing: None,
            failure,
            busiest: [0.0; BUSY_INTERVALS],
        }
    }

    fn is_over(&self) -> bool {
        self.closing.is_some() || self.failure.is_some()
    }

    fn note_busy(&mut self, share: f64) {
        // The first page after a stall has the CPU time of several intervals.
        let share = share.min(1.0);
        if share > self.busiest[0] {
            self.busiest[0] = share;
            self.busiest.sort_by(f64::total_cmp);
        }
    }
}

/// The pages of one interval, by worker.
struct IntervalPages {
    tallies: Vec<Option<Box<Tally>>>,
    arrivals: Vec<Option<Box<Arrivals>>>,
    /// When the last query was scheduled, of the workers that had scheduled all of theirs when they gave their pages.
    exhausted_ns: Option<u64>,
    /// Whether a worker may schedule more.
    goes_on: bool,
    is_reported: bool,
}

impl IntervalPages {
    fn note_exhausted(&mut self, at_ns: Option<u64>) {
        self.goes_on |= at_ns.is_none();
        self.exhausted_ns = self.exhausted_ns.max(at_ns);
    }

    /// When the last query of all workers was scheduled.
    fn exhausted(&self, control: &Control) -> Option<Exhausted> {
        let at_ns = self.exhausted_ns.filter(|_| !self.goes_on)?;
        Some(Exhausted { at_ns, is_stopped: control.asked() != Asked::Nothing })
    }
}

pub(crate) struct Collector<'a, 'scope> {
    job: &'a Job<'a>,
    sockets: u64,
    workers: Vec<WorkerHandle<'scope>>,
    waiting: BTreeMap<u64, IntervalPages>,
    next_settled: u64,
    tally: Tally,
    arrivals: Arrivals,
    uses: Vec<WorkerUse>,
    wall_offset_ns: &'a dyn Fn() -> i64,
    last_offset_ns: i64,
    worst_step_ns: i64,
    control: &'a Control,
    coverage: Coverage<'a>,
    has_reported_stop: bool,
    /// The end of the last wall interval reported.
    reported_up_to_ns: u64,
    /// Whether the limit of a closed loop has held it back, in one interval at least.
    was_limited: bool,
}

impl<'a, 'scope> Collector<'a, 'scope> {
    pub(crate) fn new(
        job: &'a Job<'a>,
        sockets: u64,
        workers: Vec<WorkerHandle<'scope>>,
        wall_offset_ns: &'a dyn Fn() -> i64,
        control: &'a Control,
    ) -> Self {
        Collector {
            job,
            sockets,
            waiting: BTreeMap::new(),
            next_settled: 0,
            tally: Tally::new(job.source.types().len()),
            arrivals: Arrivals::default(),
            uses: vec![WorkerUse::default(); workers.len()],
            last_offset_ns: wall_offset_ns(),
            worst_step_ns: 0,
            control,
            coverage: Coverage::new(job, workers.len()),
            has_reported_stop: false,
            reported_up_to_ns: 0,
            was_limited: false,
            wall_offset_ns,
            workers,
        }
    }

    /// Reads pages until all workers are done.
    pub(crate) fn collect(mut self, observer: &mut dyn Observer) -> Sum {
        loop {
            let over = self.workers.iter().all(WorkerHandle::is_over);
            if !self.has_reported_stop && self.control.asked() != Asked::Nothing {
                self.has_reported_stop = true;
                observer.stopping(self.reported_up_to_ns);
            }
            observer.idle();
            let has_pages = self.take_pages();
            if has_pages {
                self.report_complete(observer);
            } else if over {
                break;
            } else {
                self.detect_failures();
                // A worker that is done wakes this thread.
                thread::park_timeout(POLL_INTERVAL);
            }
        }
        self.report_complete(observer);
        self.sum()
    }

    /// Reads the pages that wait; returns whether there were any.
    fn take_pages(&mut self) -> bool {
        let mut has_pages = false;
        for number in 0..self.workers.len() {
            while let Ok(page) = self.workers[number].pages.pop() {
                has_pages = true;
                match page {
                    Page::Settled { index, tally, exhausted_ns } => {
                        let pages = self.interval_pages(index);
                        pages.tallies[number] = Some(tally);
                        pages.note_exhausted(exhausted_ns);
                    }
                    Page::Passed { index, mut arrivals, resources, exhausted_ns } => {
                        let end_ns = (index + 1) * self.job.interval_ns;
                        // The last query of a schedule is due a little before the end of its interval.
                        let least_ns = end_ns - self.job.interval_ns / LOAD_PART;
                        let is_of_load = exhausted_ns.is_none_or(|exhausted_ns| exhausted_ns >= least_ns);
                        self.add_resources(number, &mut arrivals, resources, is_of_load);
                        let pages = self.interval_pages(index);
                        pages.arrivals[number] = Some(arrivals);
                        pages.note_exhausted(exhausted_ns);
                    }
                    Page::Done(closing) => self.workers[number].closing = Some(*closing),
                }
            }
        }
        has_pages
    }

    /// Adds the resources used since the page before to the arrivals. Intervals after the load are not busy.
    fn add_resources(
        &mut self,
        number: usize,
        arrivals: &mut Arrivals,
        resources: Resources,
        is_of_load: bool,
    ) {
        let worker = &mut self.workers[number];
        let before = std::mem::replace(&mut worker.resources, resources);
        arrivals.cpu_ns = resources.cpu_ns.saturating_sub(before.cpu_ns);
        arrivals.cpu_wait_ns = resources.cpu_wait_ns.saturating_sub(before.cpu_wait_ns);
        arrivals.socket_drops = resources.socket_drops.saturating_sub(before.socket_drops);
        if is_of_load {
            worker.note_busy(arrivals.cpu_ns as f64 / self.job.interval_ns as f64);
        }
    }

    fn interval_pages(&mut self, index: u64) -> &mut IntervalPages {
        let workers = self.workers.len();
        self.waiting.entry(index).or_insert_with(|| IntervalPages {
            tallies: (0..workers).map(|_| None).collect(),
            arrivals: (0..workers).map(|_| None).collect(),
            exhausted_ns: None,
            goes_on: false,
            is_reported: false,
        })
    }

    /// Reports the complete intervals to the observer.
    fn report_complete(&mut self, observer: &mut dyn Observer) {
        let over: Vec<bool> = self.workers.iter().map(WorkerHandle::is_over).collect();
        let indexes: Vec<u64> = self.waiting.keys().copied().collect();
        for index in indexes {
            let Some(interval_pages) = self.waiting.get_mut(&index) else { continue };
            if interval_pages.is_reported || !is_complete(&interval_pages.arrivals, &over) {
                continue;
            }
            interval_pages.is_reported = true;
            let arrivals = merged(&interval_pages.arrivals);
            let exhausted = interval_pages.exhausted(self.control);
            let span_ns = self.span_ns(index);
            let to_ns = span_ns.end;
            let (covered_ns, asked) = self.coverage.of_passed(span_ns, arrivals.sent, exhausted);
            let asked_qps = rate_qps(asked, covered_ns);
            self.reported_up_to_ns = to_ns;
            observer.passed(&Live { index, to_ns, covered_ns, asked_qps, arrivals: &arrivals });
            self.check_clock_step();
        }
        while let Some(interval_pages) = self.waiting.get(&self.next_settled)
            && interval_pages.is_reported
            && is_complete(&interval_pages.tallies, &over)
        {
            self.settle(observer);
        }
    }

    /// Adds up the next interval, reports it, and returns the empty pages to the workers.
    fn settle(&mut self, observer: &mut dyn Observer) {
        let index = self.next_settled;
        let Some(interval_pages) = self.waiting.remove(&index) else { return };
        self.next_settled += 1;
        let mut tally = Tally::new(self.job.source.types().len());
        interval_pages.tallies.iter().flatten().for_each(|page| tally.merge(page));
        let span_ns = self.span_ns(index);
        let length_ns = span_ns.end - span_ns.start;
        let exhausted = interval_pages.exhausted(self.control);
        let before = self.tally.scheduled;
        let covered_ns = self.coverage.of_settled(span_ns.clone(), before, tally.scheduled, exhausted);
        self.was_limited |= self.is_limit(rate_qps(tally.scheduled, covered_ns));
        let uses: Vec<WorkerUse> = interval_pages.arrivals.iter().map(use_of).collect();
        let interval = Interval {
            index,
            from_ns: span_ns.start,
            to_ns: span_ns.end,
            covered_ns: (covered_ns < length_ns).then_some(covered_ns),
            // In a settled interval, all due queries were scheduled.
            asked_qps: if self.job.load.is_open() { rate_qps(tally.scheduled, covered_ns) } else { 0.0 },
            tally,
            arrivals: merged(&interval_pages.arrivals),
            workers: uses,
            agents: Vec::new(),
            watched: Vec::new(),
        };
        self.tally.merge(&interval.tally);
        self.arrivals.merge_in_time(&interval.arrivals);
        self.uses.iter_mut().zip(&interval.workers).for_each(|(sum, used)| sum.merge(used));
        observer.settled(&interval);
        self.return_blanks(interval_pages);
    }

    fn return_blanks(&mut self, interval_pages: IntervalPages) {
        let pages = interval_pages.tallies.into_iter().zip(interval_pages.arrivals);
        for (worker, (tally, arrivals)) in self.workers.iter_mut().zip(pages) {
            // If the queue is full, the worker has enough empty pages.
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

    fn span_ns(&self, index: u64) -> Range<u64> {
        index * self.job.interval_ns..(index + 1) * self.job.interval_ns
    }

    fn check_clock_step(&mut self) {
        let offset_ns = (self.wall_offset_ns)();
        let step_ns = offset_ns - self.last_offset_ns;
        self.last_offset_ns = offset_ns;
        // NTP slews by up to 0.5 ms a second, and the clocks are compared once in an interval.
        let is_slew = step_ns.unsigned_abs() <= self.job.interval_ns / 2_000;
        if !is_slew && step_ns.unsigned_abs() > self.worst_step_ns.unsigned_abs() {
            self.worst_step_ns = step_ns;
        }
    }

    /// A worker whose thread has ended without closing its ledger has failed.
    fn detect_failures(&mut self) {
        for worker in &mut self.workers {
            let ended = worker.thread.as_ref().is_some_and(ScopedJoinHandle::is_finished);
            if worker.is_over() || !ended || !worker.pages.is_empty() {
                continue;
            }
            let Some(Err(panic)) = worker.thread.take().map(ScopedJoinHandle::join) else { continue };
            let message = panic.downcast_ref::<String>().map(String::as_str);
            let message =
                message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
            worker.failure = Some(message.to_owned());
        }
    }

    /// The sum, after all workers are done. The caller adds the missing evidence and decides on the verdict.
    fn sum(mut self) -> Sum {
        let closings = || self.workers.iter().filter_map(|worker| worker.closing.as_ref());
        let late_after_settled = closings().map(|closing| closing.late_after_settled).sum();
        let end_ns = closings().map(|closing| closing.end_ns).max().unwrap_or(0);
        let last_answer_ns = closings().filter_map(|closing| closing.last_answer_ns).max();
        let ended = self.ended();
        let schedule_ns = self.schedule_ns(&ended, closings().map(|closing| closing.exhausted_ns).max());
        let evidence = self.evidence(schedule_ns, end_ns);
        let mut explanations = Vec::new();
        closings()
            .for_each(|closing| add_explanations(&mut explanations, closing.explanations.iter().cloned()));
        let by_channel = closings().flat_map(|closing| closing.sent_by_channel.iter().copied());
        let queries_per_client = PerClient::of(by_channel);
        let answer_checks = closings().filter_map(|closing| closing.answer_checks).reduce(|mut all, more| {
            all.merge(&more);
            all
        });
        let truncated = Truncated::joined(closings().filter_map(|closing| closing.truncated.as_ref()));
        self.tally.ends.came_late_after_all(late_after_settled);
        Sum {
            to_ns: end_ns,
            warnings: Vec::new(),
            notes: Vec::new(),
            ended,
            evidence,
            late_after_settled,
            workers: self.uses,
            schedule_ns,
            last_answer_ns,
            passes: self
                .job
                .source
                .len()
                .map_or(0.0, |queries| self.tally.scheduled as f64 / queries.max(1) as f64),
            interface: None,
            queries_per_client,
            agents: Vec::new(),
            explanations,
            truncated,
            answer_checks,
            // The caller, which reads the source and compares the answers, adds both.
            replay: None,
            answers: None,
            watched: Vec::new(),
            tally: self.tally,
            arrivals: self.arrivals,
        }
    }

    fn part(&self) -> Part {
        self.job.part(self.workers.len())
    }

    fn ended(&self) -> Ended {
        if let Some(why) = self.workers.iter().find_map(|worker| worker.failure.clone()) {
            return Ended::Failed { why: format!("a worker failed: {why}") };
        }
        if self
            .workers
            .iter()
            .any(|worker| worker.closing.as_ref().is_some_and(|closing| closing.interrupted))
        {
            return Ended::Interrupted;
        }
        match &self.job.limit {
            Some((limit, what)) if self.tally.scheduled >= self.part().queries_before(*limit) => what.clone(),
            _ => Ended::ByTime,
        }
    }

    /// The time over which queries were due: the whole schedule, if it was completed.
    fn schedule_ns(&self, ended: &Ended, exhausted_ns: Option<u64>) -> u64 {
        let exhausted_ns = exhausted_ns.unwrap_or(0);
        match (ended, self.job.load) {
            (Ended::ByTime, Load::Open { curve, .. }) => curve.duration_ns().unwrap_or(exhausted_ns),
            (Ended::ByTime, Load::Closed { .. } | Load::Limited { .. }) => {
                self.job.end_ns.unwrap_or(exhausted_ns)
            }
            // Until the query after the last one would have been due.
            (Ended::ByCount | Ended::ByPasses, Load::Open { curve, .. }) => {
                let next = self.part().number_of(self.tally.scheduled);
                curve.due_at(next).or(curve.duration_ns()).unwrap_or(exhausted_ns)
            }
            _ => exhausted_ns,
        }
    }

    /// Whether so many queries a second are what the limit of a closed loop lets through.
    fn is_limit(&self, qps: f64) -> bool {
        match self.job.load {
            Load::Limited { most_qps, .. } => {
                qps >= LIMIT_REACHED * self.part().share(most_qps.ceil() as usize) as f64
            }
            _ => false,
        }
    }

    /// The window that alone has set the rate of this process, for the whole run; 0 where there was none.
    fn window(&self) -> u64 {
        let window = match self.job.load {
            Load::Closed { outstanding } => Some(*outstanding),
            Load::Limited { outstanding, .. } => Some(*outstanding).filter(|_| !self.was_limited),
            Load::Open { curve, window } => window.filter(|_| curve.is_constant()),
            Load::OfSource => None,
        };
        window.map_or(0, |window| self.part().share(window as usize) as u64)
    }

    fn evidence(&self, schedule_ns: u64, end_ns: u64) -> Evidence {
        let length_ns = end_ns.max(1) as f64;
        // In a shorter run, the start takes most of the CPU time.
        let is_long_enough = end_ns >= SHORTEST_JUDGED_NS;
        let busy = |worker: &WorkerHandle<'_>| {
            if !is_long_enough {
                return 0.0;
            }
            let counted = worker.busiest.iter().filter(|share| **share > 0.0).count().max(1);
            let peak = worker.busiest.iter().sum::<f64>() / counted as f64;
            peak.max(worker.resources.cpu_ns as f64 / length_ns).min(1.0)
        };
        let waited = |worker: &WorkerHandle<'_>| match is_long_enough {
            true => worker.resources.cpu_wait_ns as f64 / length_ns,
            false => 0.0,
        };
        let closings = || self.workers.iter().filter_map(|worker| worker.closing.as_ref());
        Evidence {
            open_loop: self.job.load.is_open(),
            schedule_ns,
            workers: self.workers.len() as u64,
            window: self.window(),
            timeout_ns: self.job.timeout_ns,
            scheduled_until_ns: closings().map(|closing| closing.exhausted_ns).max().unwrap_or(0),
            socket_drops: self.arrivals.socket_drops,
            fragments: self.workers.iter().map(|worker| worker.resources.fragments).max().unwrap_or(0),
            lasted_ns: end_ns,
            first_send_late_ns: closings()
                .filter_map(|closing| closing.first_send)
                .min()
                .map(|first| first.sent_ns.saturating_sub(first.due_ns)),
            partial_intervals: 0,
            // The caller, which opened the transports, adds what concerns the interface.
            interface_packets: None,
            interface_send_drops: 0,
            interface_receive_drops: 0,
            datagrams_only: false,
            id_waits: closings().map(|closing| closing.id_waits).sum(),
            connection_waits: closings().map(|closing| closing.connection_waits).sum(),
            reader_waits: closings().map(|closing| closing.reader_waits.times).sum(),
            reader_waited_ns: closings().map(|closing| closing.reader_waits.total_ns).max().unwrap_or(0),
            connects_without_port: self
                .arrivals
                .connections
                .as_ref()
                .map_or(0, |connections| connections.failed(ConnectFailure::NoLocalPort)),
            // Nor are the ports of this host known here.
            first_local_port: 0,
            last_local_port: 0,
            sockets: self.sockets,
            busiest_worker_cpu: self.workers.iter().map(busy).fold(0.0, f64::max),
            worst_worker_wait: self.workers.iter().map(waited).fold(0.0, f64::max),
            clock_step_ns: self.worst_step_ns,
            // The caller adds them too.
            neighbours: Vec::new(),
        }
    }
}

/// Whether each worker has passed on its page, or is done.
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

/// CPU use is evaluated in runs of at least a second.
const SHORTEST_JUDGED_NS: u64 = 1_000_000_000;

/// An interval is one of the load where all but this part of it was.
const LOAD_PART: u64 = 10;

/// So much of its limit is what a closed loop sends that the limit holds back.
const LIMIT_REACHED: f64 = 0.95;

/// How often pages are read: too short to be noticed on a screen, long enough to use almost no CPU time.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Intervals in which a worker must have been busy before its CPU counts as saturated: a single one may be a short
/// disturbance of the host.
const BUSY_INTERVALS: usize = 5;
