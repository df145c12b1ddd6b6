//! Imaginary servers, with the generator that loads them and the clock on the wall.

use dnsdyno_measure::{Arrivals, Evidence, Tally};
use dnsdyno_plan::Draft;
use dnsdyno_plan::expect::StopCondition;
use dnsdyno_record::expect::StopWatch;
use dnsdyno_record::{Digest, Ended, Event, HELD_UNTIL, Header, Headline, Interval, Phase, Sum};
use dnsdyno_text::notation::{parse_duration_ns, parse_range, parse_rate_qps};

use super::super::*;
use crate::CommandOutcome;

pub(super) const SECOND: u64 = 1_000_000_000;
pub(super) const MS: u64 = 1_000_000;

/// What the generator does in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ours {
    /// Queries that were lost were sent late, in bursts, and no others; of seconds in which all were lost, half of
    /// them.
    Bursts,
    /// Its sockets dropped the responses that are missing.
    Drops,
    /// It sent each query late, by what its response took too long.
    SendsLate,
    /// It needed twice the time for the load.
    IsBehind,
}

/// How a second goes: queries lost, queries with SERVFAIL, and the longest response time.
pub(super) type Behaviour = Box<dyn Fn(&Now) -> (u64, u64, u64)>;

/// The second that is asked for.
pub(super) struct Now {
    /// Of the load, in this run.
    pub(super) second: u64,
    pub(super) qps: u64,
    /// Of load since the server was started.
    pub(super) loaded: u64,
}

/// A server, the host of its generator, and the clock on the wall.
pub(super) struct World {
    pub(super) server: Behaviour,
    pub(super) loaded: u64,
    pub(super) now_ns: u64,
    pub(super) runs: u64,
    /// What the generator does in the run of this number, from 1.
    pub(super) ours: Vec<(u64, Ours)>,
    /// The run of this number ends at this second, as with `kill -9`.
    pub(super) cuts: Vec<(u64, u64)>,
    /// What the commands do.
    pub(super) results: Vec<CommandResult>,
    /// What was requested.
    pub(super) asked: Vec<String>,
}

pub(super) fn world(server: impl Fn(&Now) -> (u64, u64, u64) + 'static) -> World {
    World {
        server: Box::new(server),
        loaded: 0,
        now_ns: 1_000 * SECOND,
        runs: 0,
        ours: Vec::new(),
        cuts: Vec::new(),
        results: Vec::new(),
        asked: Vec::new(),
    }
}

/// All is well.
pub(super) const FINE: (u64, u64, u64) = (0, 0, MS);

/// 2 to 10 queries a second in steps of a minute, then 10 minutes, then an hour.
pub(super) fn wanted() -> QualifyOptions {
    QualifyOptions {
        stair: Some("2..10".into()),
        step: Some("1".into()),
        long: Some("1h".into()),
        ..QualifyOptions::default()
    }
}

const TIMETABLE: &str = "for = \"1m\"\n[[task]]\nname = \"add\"\nevery = \"20s\"\nrun = \"x\"\n\
                         [[task.look-for]]\nname = \"secondary\"\nrun = \"y\"\nwithin = \"5s\"\n";

pub(super) fn with_commands() -> QualifyOptions {
    QualifyOptions { function: Some(TIMETABLE.into()), ..wanted() }
}

/// Three rounds; in each of `failed` the secondary shows nothing.
pub(super) fn results(failed: &[u32]) -> Vec<CommandResult> {
    let result = |round: u32, look_for: Option<&str>| CommandResult {
        task: "add".into(),
        round,
        look_for: look_for.map(str::to_owned),
        at_ns: 0,
        took_ns: u64::from(round) * 10 * MS,
        attempts: 1,
        outcome: match look_for.is_some() && failed.contains(&round) {
            true => CommandOutcome::TimedOut,
            false => CommandOutcome::Ok,
        },
        exit_code: Some(0),
        output: String::new(),
    };
    (1..=3).flat_map(|round| [result(round, None), result(round, Some("secondary"))]).collect()
}

impl World {
    /// The record of a run with these options; the second value says whether it was cut off.
    pub(super) fn run(&mut self, draft: &Draft) -> (Digest, bool) {
        self.runs += 1;
        let seconds = |text: &Option<String>| parse_duration_ns(text.as_deref().unwrap()).unwrap() / SECOND;
        let rates: Vec<(u64, u64)> = match &draft.stair {
            Some(range) => {
                let (from, to) = parse_range(range, parse_rate_qps).unwrap();
                (from as u64..=to as u64).map(|qps| (qps, seconds(&draft.hold))).collect()
            }
            None => {
                let qps = parse_rate_qps(draft.rate.as_deref().unwrap()).unwrap() as u64;
                vec![(qps, seconds(&draft.duration))]
            }
        };
        let mut digest = Digest::new(self.header(&rates));
        let conditions = draft.stop_when.iter().flatten().map(|text| StopCondition::parse(text).unwrap());
        let mut watch = StopWatch::new(&conditions.collect::<Vec<_>>());
        let cut = self.cuts.iter().find(|(run, _)| *run == self.runs).map(|(_, second)| *second);
        let (mut ended, mut left, mut last_answer_ns) = (Ended::ByTime, u64::MAX, None);
        let due = rates.iter().flat_map(|(qps, hold)| (0..*hold).map(|_| *qps)).collect::<Vec<_>>();
        let mut made = 0;
        for (second, qps) in (0..).zip(&due) {
            if cut == Some(second) || left == 0 {
                break;
            }
            left -= 1;
            let now = Now { second, qps: *qps, loaded: self.loaded };
            let interval = self.interval(&now);
            if interval.tally.ends.answered > 0 {
                last_answer_ns = Some((second + 1) * SECOND);
            }
            digest.interval(&interval);
            (self.loaded, made) = (self.loaded + 1, second + 1);
            let header = digest.header.clone();
            let met = watch.interval(&header, &interval).map(|(condition, _)| condition.text.clone());
            if let (Some(text), Ended::ByTime) = (met, &ended) {
                let figures = [(HELD_UNTIL.to_owned(), ((second + 1) * SECOND).into())];
                let (kind, message) = ("condition".into(), String::new());
                digest.event(&Event { at_ns: 0, kind, message, figures: figures.into_iter().collect() });
                // Judged a timeout later.
                (ended, left) = (Ended::ByCondition { condition: text }, 1);
            }
        }
        self.now_ns += made * SECOND;
        if cut.is_none() {
            let scheduled_until_ns =
                made * SECOND * if self.now_ours() == Some(Ours::IsBehind) { 2 } else { 1 };
            let sum = sum(&digest, made, ended, last_answer_ns, scheduled_until_ns);
            let verdict = digest.judge(Some(&sum));
            digest.sum(&sum.judged(verdict));
        }
        (digest, cut.is_some())
    }

    fn header(&self, rates: &[(u64, u64)]) -> Header {
        let mut from = 0;
        let phase = |(qps, hold): &(u64, u64)| {
            from += hold;
            Phase { label: qps.to_string(), from_ns: (from - hold) * SECOND, to_ns: from * SECOND }
        };
        let phases: Vec<_> = rates.iter().map(phase).collect();
        Header {
            run_id: format!("run {}", self.runs),
            started_unix_ns: self.now_ns,
            timeout_ns: SECOND,
            headline: Headline::Response,
            types: vec![1],
            phases: if phases.len() > 1 { phases } else { Vec::new() },
            ..Header::default()
        }
    }

    /// What the generator does in the run that is being made.
    fn now_ours(&self) -> Option<Ours> {
        self.ours.iter().find(|(run, _)| *run == self.runs).map(|(_, ours)| *ours)
    }

    fn interval(&self, now: &Now) -> Interval {
        let (lost, servfail, longest_ns) = (self.server)(now);
        let ours = self.now_ours();
        let mut tally = Tally::new(1);
        tally.scheduled = now.qps;
        tally.ends.answered = now.qps - lost;
        tally.ends.timed_out = lost;
        let late_ns = if ours == Some(Ours::SendsLate) { longest_ns - MS } else { 0 };
        (0..now.qps - lost).for_each(|_| {
            tally.response.record(longest_ns);
            tally.service.record(longest_ns - late_ns);
            tally.lateness.record(late_ns);
            tally.own_delay.record(late_ns);
            tally.response_least.record(longest_ns - late_ns);
        });
        let late = if lost == now.qps { lost / 2 } else { lost };
        let late = if ours == Some(Ours::Bursts) { late } else { 0 };
        (0..lost).for_each(|number| tally.lateness.record(if number < late { 5 * MS } else { 0 }));
        tally.lost_late = late;
        let dropped = if ours == Some(Ours::Drops) { lost } else { 0 };
        (0..now.qps - lost - servfail).for_each(|_| tally.rcodes.add(0, 1));
        (0..servfail).for_each(|_| tally.rcodes.add(2, 1));
        Interval {
            agents: Vec::new(),
            index: now.second,
            from_ns: now.second * SECOND,
            to_ns: (now.second + 1) * SECOND,
            covered_ns: None,
            asked_qps: now.qps as f64,
            tally,
            arrivals: Arrivals { sent: now.qps, socket_drops: dropped, ..Arrivals::default() },
            workers: Vec::new(),
            watched: Vec::new(),
        }
    }

    /// Carries a qualification out. After each run that was cut off it is made anew from what was learned, as after
    /// `kill -9`, and the state must be the same.
    pub(super) fn qualify(&mut self, wanted: &QualifyOptions) -> Qualified {
        let fresh = || Qualify::new(wanted.read().unwrap(), Draft::default());
        let mut campaign = fresh();
        let mut learned: Vec<(Digest, bool, Vec<CommandResult>)> = Vec::new();
        for _ in 0..200 {
            let request = match campaign.next() {
                Step::Done(result) => return result,
                Step::Run(request) => request,
            };
            self.asked.push(request.why.clone());
            self.now_ns += request.rest_ns;
            let (digest, cut) = self.run(&request.draft);
            let results = if request.commands { self.results.clone() } else { Vec::new() };
            learned.push((digest, cut, results));
            if cut {
                self.now_ns += 90 * SECOND;
                campaign = fresh();
                learned.iter().for_each(|run| learn(&mut campaign, run));
            } else {
                learned.last().iter().for_each(|run| learn(&mut campaign, run));
            }
        }
        panic!("it does not end: {:?}", self.asked)
    }
}

pub(super) fn learn(campaign: &mut Qualify, (digest, cut, results): &(Digest, bool, Vec<CommandResult>)) {
    campaign.learn_commands(results);
    if *cut { campaign.learn_cut(digest) } else { campaign.learn(digest) }
}

fn sum(
    digest: &Digest,
    seconds: u64,
    ended: Ended,
    last_answer_ns: Option<u64>,
    scheduled_until_ns: u64,
) -> Sum {
    let schedule_ns = seconds * SECOND;
    let arrivals = digest.arrivals().clone();
    let evidence = Evidence {
        open_loop: true,
        schedule_ns,
        scheduled_until_ns,
        workers: 1,
        socket_drops: arrivals.socket_drops,
        ..Evidence::default()
    };
    Sum {
        to_ns: (seconds + 1) * SECOND,
        tally: digest.tally().clone(),
        arrivals,
        ended,
        evidence,
        last_answer_ns,
        schedule_ns,
        passes: 1.0,
        ..Sum::default()
    }
}
