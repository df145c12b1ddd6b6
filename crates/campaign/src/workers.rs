//! Finds the fewest workers with which a load is made, by trials of it with more and more of them.
//!
//! ```text
//!   1, 2, 4, … all CPUs, in turn, three trials of each ──► the fewest that are enough ──► between them and the next
//!                                                                                         fewer, as long as it matters
//! ```
//!
//! In a closed loop so many are enough with which nearly as many answers come as with any number: more workers than the
//! server needs take its CPUs, or only wait. In an open loop so many are enough that send each query in time.

use dnsdyno_measure::{Quantile, Warning};
use dnsdyno_plan::{Draft, Group, Load, WorkerCount};
use dnsdyno_record::Digest;
use dnsdyno_record::figures::{lateness, rate_qps};
use dnsdyno_text::notation::{format_duration_ns, format_rate_qps};
use dnsdyno_text::units::rate;

use crate::step::{Campaign, Request, Step};

/// A search for the number of workers. It learns the digests of its trials, in their order.
#[derive(Clone, Debug)]
pub struct WorkerSearch {
    /// A trial, without its number of workers.
    trial: Draft,
    goal: Goal,
    /// Each number that is tried, the lowest first.
    counts: Vec<Tried>,
}

/// What the workers are for.
#[derive(Clone, Copy, Debug)]
enum Goal {
    /// Answers, as many as a closed loop gets.
    Answers,
    /// Queries, as many as a flood sends.
    Queries,
    /// To send this many queries per second in time.
    Rate(f64),
}

/// The trials with one number of workers.
#[derive(Clone, Debug)]
struct Tried {
    workers: usize,
    /// Of each trial: answers or queries per second, as the goal is.
    qps: Vec<f64>,
    /// Trials whose load was made in its time.
    in_time: usize,
}

/// The number that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkersFound {
    /// The fewest that are enough; where none is, those that send most.
    pub workers: usize,
    /// What the trials have shown, in words.
    pub why: String,
}

impl WorkerSearch {
    /// A search for the run of `draft`, with at most `most` workers. `load` is that of its plan; `None` where the
    /// queries are due at instants that their source says, of which a trial cannot know the highest rate.
    pub fn new(draft: &Draft, load: &Load, most: usize) -> Option<WorkerSearch> {
        if matches!(load, Load::OfSource) {
            return None;
        }
        let goal = match load.peak_qps() {
            Some(qps) => Goal::Rate(qps),
            None if draft.send_only == Some(true) => Goal::Queries,
            None => Goal::Answers,
        };
        let most = load.window().map_or(most, |window| most.min(window as usize));
        let most = draft.clients.map_or(most, |clients| most.min(clients)).max(1);
        let doubled = std::iter::successors(Some(1), |workers| Some(workers * 2));
        let counts = doubled.take_while(|workers| *workers < most).chain([most]);
        Some(WorkerSearch { trial: trial(draft, goal), goal, counts: counts.map(Tried::begun).collect() })
    }

    /// How many trials are made at first.
    pub fn first_trials(&self) -> usize {
        self.counts.len() * TURNS
    }

    /// The first number that was not tried as often as others: each is tried once before one is tried again.
    fn next_count(&self) -> Option<usize> {
        let fewest =
            self.counts.iter().map(|tried| tried.qps.len()).min().filter(|fewest| *fewest < TURNS)?;
        self.counts.iter().position(|tried| tried.qps.len() == fewest)
    }

    /// The place of the fewest that are enough.
    fn enough(&self) -> Option<usize> {
        match self.goal {
            Goal::Rate(_) => self.counts.iter().position(|tried| tried.in_time * 2 > TURNS),
            Goal::Answers | Goal::Queries => Some(self.nearly_best()),
        }
    }

    /// The place of the fewest by which nearly as much is done as by any number.
    fn nearly_best(&self) -> usize {
        let best = self.counts.iter().map(Tried::median_qps).fold(0.0, f64::max);
        self.counts.iter().position(|tried| tried.median_qps() >= best * NEARLY).unwrap_or(0)
    }

    /// A number that may be enough too, where it is fewer by so much that it matters.
    fn between(&self) -> Option<usize> {
        let place = self.enough()?;
        let enough = self.counts[place].workers;
        let less = place.checked_sub(1).map(|place| self.counts[place].workers)?;
        let gap = enough - less;
        (gap > 1 && gap * PRECISION > enough).then_some(less + gap / 2)
    }

    /// What the trials have shown, in words.
    fn why(&self, is_enough: bool) -> String {
        let figures = |tried: &Tried| format!("{} with {}", rate(tried.median_qps()), tried.workers);
        let figures = self.counts.iter().map(figures).collect::<Vec<_>>().join(", ");
        match self.goal {
            Goal::Answers => format!("by trials: answers/s {figures}"),
            Goal::Queries => format!("by trials: queries/s {figures}"),
            Goal::Rate(qps) if is_enough => {
                format!("by trials: the fewest that send {} qps in time", format_rate_qps(qps))
            }
            Goal::Rate(qps) => {
                format!("by trials: none sends {} qps in time; queries/s {figures}", format_rate_qps(qps))
            }
        }
    }
}

impl Campaign for WorkerSearch {
    type Result = WorkersFound;

    fn next(&self) -> Step<WorkersFound> {
        if let Some(count) = self.next_count() {
            let workers = self.counts[count].workers;
            let draft = Draft { workers: Some(WorkerCount::Number(workers)), ..self.trial.clone() };
            let why = format!("a trial with {workers}");
            return Step::Run(Box::new(Request { draft, rest_ns: 0, commands: false, why }));
        }
        let enough = self.enough();
        let place = enough.unwrap_or_else(|| self.nearly_best());
        Step::Done(WorkersFound { workers: self.counts[place].workers, why: self.why(enough.is_some()) })
    }

    fn learn(&mut self, run: &Digest) {
        let Some(count) = self.next_count() else { return };
        let ends = &run.tally().ends;
        let qps = match self.goal {
            Goal::Answers => rate_qps(ends.answered, run.sending_ns()),
            Goal::Queries | Goal::Rate(_) => {
                let sent = run.tally().scheduled.saturating_sub(ends.not_sent.total());
                // What is sent late was not sent in the time of the schedule.
                let until_ns = run.sum.as_ref().map_or(0, |sum| sum.evidence.scheduled_until_ns);
                rate_qps(sent, until_ns.max(run.schedule_ns()))
            }
        };
        let tried = &mut self.counts[count];
        tried.qps.push(qps);
        tried.in_time += usize::from(is_in_time(run));
        if self.next_count().is_none()
            && let Some(workers) = self.between()
        {
            let place = self.counts.partition_point(|tried| tried.workers < workers);
            self.counts.insert(place, Tried::begun(workers));
        }
    }
}

impl Tried {
    fn begun(workers: usize) -> Tried {
        Tried { workers, qps: Vec::new(), in_time: 0 }
    }

    /// The median of its trials, in queries per second; 0 without a trial.
    fn median_qps(&self) -> f64 {
        let mut sorted = self.qps.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }
}

/// Whether the load was made in its time, and its queries were sent when they were due.
fn is_in_time(run: &Digest) -> bool {
    let is_behind = run.warnings().iter().any(|warning| matches!(warning, Warning::SendsBehind { .. }));
    // A full window holds queries back, however many workers there are.
    let is_short = run.tally().held_back > 0 || run.tally().ends.not_sent.total() > 0;
    let p99 = lateness(run.tally()).quantile(0.99);
    !is_behind && !is_short && !matches!(p99, Some(Quantile::At(ns)) if ns > LATE_NS)
}

/// The options of a trial: the load at its peak, and nothing that judges, watches or keeps it.
fn trial(draft: &Draft, goal: Goal) -> Draft {
    let mut trial = draft.clone();
    for group in
        [Group::Shape, Group::End, Group::Expectations, Group::Conditions, Group::Watch, Group::Record]
    {
        trial.clear(group);
    }
    let rate = if let Goal::Rate(qps) = goal { Some(format_rate_qps(qps)) } else { None };
    let duration = Some(format_duration_ns(TRIAL_NS));
    let (check_answers, first_pass_rate, first_pass_for) = (None, None, None);
    Draft { rate, duration, check_answers, first_pass_rate, first_pass_for, tls_key_log: None, ..trial }
}

/// How long a trial sends, in ns.
const TRIAL_NS: u64 = 1_000_000_000;

/// How late a query is sent that is late, in ns: one of a hundred may be.
const LATE_NS: u64 = 1_000_000;

/// Trials of each number: the median of three is not that of a second in which the host did something else.
const TURNS: usize = 3;

/// So much of the most answers is as many: below what trials of a second can tell.
const NEARLY: f64 = 0.97;

/// Numbers that differ by less than one in so many are not told apart.
const PRECISION: usize = 8;

#[cfg(test)]
mod tests {
    use dnsdyno_measure::{Histogram, Tally};
    use dnsdyno_plan::Curve;
    use dnsdyno_plan::schedule::Piece;

    use super::*;
    use crate::find::imaginary::record_of;

    /// What a trial with so many workers gives, by its number too: queries of a second, and how long after their
    /// instants they are sent, in ns; the last one as late as the others.
    type Generator = fn(usize, usize) -> (u64, u64);

    fn workers_of(draft: &Draft) -> usize {
        match draft.workers {
            Some(WorkerCount::Number(number)) => number,
            other => panic!("{other:?} workers"),
        }
    }

    /// What is found, and how many trials it took.
    fn found(mut search: WorkerSearch, generator: Generator) -> (WorkersFound, usize) {
        for trial in 0.. {
            let request = match search.next() {
                Step::Done(found) => return (found, trial),
                Step::Run(request) => request,
            };
            let (queries, late_ns) = generator(workers_of(&request.draft), trial);
            let mut late = Histogram::default();
            late.record_n(late_ns, queries);
            let mut tally = Tally { scheduled: queries, lateness: late, ..Tally::default() };
            tally.ends.answered = queries;
            search.learn(&record_of(tally, TRIAL_NS, TRIAL_NS + late_ns));
        }
        unreachable!("a search ends")
    }

    fn closed(most: usize) -> WorkerSearch {
        let draft = Draft { outstanding: Some(1_000), ..Draft::default() };
        WorkerSearch::new(&draft, &Load::Closed { outstanding: 1_000 }, most).unwrap()
    }

    fn open(most: usize) -> WorkerSearch {
        let piece =
            Piece { rate_from_qps: 1e6, rate_to_qps: 2e6, duration_ns: 60_000_000_000, label: String::new() };
        let curve = Curve::new(vec![piece]).unwrap();
        let draft = Draft { ramp: Some("1M..2M".into()), over: Some("60s".into()), ..Draft::default() };
        WorkerSearch::new(&draft, &Load::Open { curve, window: None }, most).unwrap()
    }

    #[test]
    fn a_closed_loop_gets_the_fewest_workers_by_which_the_server_is_saturated() {
        // 100,000 a worker, until the server has no more; then they take what it needs.
        let limited: Generator =
            |workers, _| ((workers as u64 * 100_000).min(540_000 - workers as u64 * 500), 0);
        let (found, trials) = found(closed(16), limited);
        assert_eq!((found.workers, trials), (6, 21), "{found:?}");
        let said = "by trials: answers/s 100,000 with 1, 200,000 with 2, 400,000 with 4, 500,000 with 5, \
                    537,000 with 6, 536,000 with 8, 532,000 with 16";
        assert_eq!(found.why, said);
    }

    #[test]
    fn a_second_in_which_the_host_did_something_else_changes_nothing() {
        // The first trial of each number gives a tenth.
        let disturbed: Generator = |workers, trial| {
            let qps = if workers == 1 { 90_000 } else { 100_000 };
            (if trial < 2 { qps / 10 } else { qps }, 0)
        };
        assert_eq!(found(closed(2), disturbed).0.workers, 2);
        let equal: Generator = |_, trial| (if trial == 3 { 500_000 } else { 99_000 + trial as u64 }, 0);
        assert_eq!(found(closed(2), equal).0.workers, 1);
    }

    #[test]
    fn an_open_loop_gets_the_fewest_workers_that_send_its_highest_rate_in_time() {
        let three: Generator = |workers, _| (2_000_000, if workers < 3 { 5_000_000 } else { 20_000 });
        let search = open(8);
        let Step::Run(first) = search.next() else { panic!("no trial") };
        assert_eq!((first.draft.rate.as_deref(), first.draft.duration.as_deref()), (Some("2M"), Some("1s")));
        assert_eq!((first.draft.ramp, first.draft.over), (None, None));
        let (found, _) = found(search, three);
        assert_eq!((found.workers, &*found.why), (3, "by trials: the fewest that send 2M qps in time"));
    }

    #[test]
    fn where_no_number_sends_in_time_it_is_the_one_that_sends_most() {
        // All is sent, the later the fewer workers there are.
        let slow: Generator = |workers, _| (2_000_000, 4_000_000_000 / (workers as u64).min(4));
        let (found, _) = found(open(8), slow);
        assert_eq!(found.workers, 4);
        let said = "by trials: none sends 2M qps in time; queries/s 400,000 with 1, 666,667 with 2, 1,000,000 with 4";
        assert!(found.why.starts_with(said), "{found:?}");
    }

    #[test]
    fn a_window_that_holds_queries_back_is_no_rate_that_is_sent_in_time() {
        let mut search = open(2);
        while let Step::Run(_) = search.next() {
            let tally = Tally { scheduled: 500, held_back: 400, ..Tally::default() };
            search.learn(&record_of(tally, TRIAL_NS, TRIAL_NS));
        }
        let Step::Done(found) = search.next() else { panic!("it goes on") };
        assert!(found.workers == 1 && found.why.starts_with("by trials: none sends 2M qps"), "{found:?}");
    }

    #[test]
    fn a_window_and_clients_limit_what_is_tried() {
        let most = |draft: Draft, outstanding| {
            let search = WorkerSearch::new(&draft, &Load::Closed { outstanding }, 64).unwrap();
            search.counts.last().map(|tried| tried.workers)
        };
        assert_eq!(most(Draft::default(), 5), Some(5));
        assert_eq!(most(Draft { clients: Some(3), ..Draft::default() }, 5), Some(3));
        assert!(WorkerSearch::new(&Draft::default(), &Load::OfSource, 4).is_none());
        assert_eq!(closed(1).first_trials(), 3);
    }
}
