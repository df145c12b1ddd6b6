//! What is known of a run in progress, fed by its observer: the text of its header, and counts of bounded size.
//!
//! [`State::view`] copies what one picture needs, so that nothing waits for the drawing. Time is an argument.

use std::sync::Arc;

use dnsdyno_measure::{Arrivals, Tally, Warning, WorkerUse};
use dnsdyno_record::{AgentInfo, Header, Headline, Interval, Phase, missing_words};
use dnsdyno_report::LiveFigures;
use dnsdyno_runner::Live;
use dnsdyno_text::safe;
use dnsdyno_text::units::{length, rate};

use crate::history::{Column, History, Stretch};
use crate::moving::{MovedSeries, SeriesTracks};
use crate::recent::{Recent, Sum};
use crate::span::Span;

/// A run in progress.
#[derive(Debug)]
pub(crate) struct State {
    facts: Arc<Facts>,
    stage: Stage,
    last: Recent<Passed>,
    recent: Recent<Passed>,
    total: Passed,
    settled: Recent<Settled>,
    missing: Option<String>,
    latest: History,
    whole: History,
    /// What is watched; `None` where nothing is.
    moving: Option<SeriesTracks>,
    note: Option<String>,
    judged: Option<Vec<Warning>>,
    /// Changes whenever the picture may.
    version: u64,
}

/// What the header says, safe to show.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) name: Option<String>,
    pub(crate) target: String,
    pub(crate) transport: String,
    pub(crate) load: String,
    pub(crate) phases: Vec<Phase>,
    pub(crate) mix: Vec<String>,
    pub(crate) agents: Vec<AgentInfo>,
    pub(crate) workers: u32,
    pub(crate) interval_ns: u64,
    pub(crate) timeout_ns: u64,
    /// When the last query is due, where the plan limits the time.
    pub(crate) end_ns: Option<u64>,
    pub(crate) is_open: bool,
    pub(crate) headline: Headline,
    pub(crate) send_only: bool,
}

/// Where a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It sends.
    Running,
    /// It was stopped, for this reason, and waits for outstanding queries.
    Stopping(String),
}

/// The counts of wall intervals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passed {
    pub(crate) to_ns: u64,
    pub(crate) span: Span,
    /// Queries due.
    pub(crate) asked: f64,
    pub(crate) arrivals: Arrivals,
}

/// The counts of settled intervals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settled {
    pub(crate) span: Span,
    pub(crate) tally: Tally,
    pub(crate) workers: Vec<WorkerUse>,
}

/// What one picture shows.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) facts: Arc<Facts>,
    pub(crate) stage: Stage,
    /// Time since the start of the run.
    pub(crate) elapsed_ns: u64,
    /// The last second, or the last interval where it is longer.
    pub(crate) last: Passed,
    /// The last ten seconds, or the last interval where it is longer.
    pub(crate) recent: Passed,
    /// All of the run.
    pub(crate) total: Passed,
    /// The last ten seconds of which every query has ended.
    pub(crate) settled: Settled,
    /// Which agents have not given their part of the last settled interval: then no rate is that of the load.
    pub(crate) missing: Option<String>,
    pub(crate) stretch: Stretch,
    /// The watched losses of the last seconds; `None` where nothing is watched.
    pub(crate) losses: Option<Vec<MovedSeries>>,
    pub(crate) note: Option<String>,
    /// The doubts of the generator about itself so far; `None` before the first interval has settled.
    pub(crate) judged: Option<Vec<Warning>>,
}

impl State {
    /// The state of a run that begins.
    pub(crate) fn new(header: &Header, end_ns: Option<u64>) -> State {
        let facts = Arc::new(Facts::of(header, end_ns));
        let interval_ns = facts.interval_ns;
        let column_ns = facts.column_ns();
        State {
            stage: Stage::Running,
            last: Recent::new(SECOND_NS, interval_ns),
            recent: Recent::new(RECENT_NS, interval_ns),
            total: Passed::default(),
            settled: Recent::new(RECENT_NS, interval_ns),
            missing: None,
            latest: History::latest(column_ns),
            whole: History::whole(column_ns),
            moving: (!header.watched.is_empty()).then(|| SeriesTracks::new(header, end_ns)),
            note: None,
            judged: None,
            version: 0,
            facts,
        }
    }

    /// Adds a wall interval.
    pub(crate) fn passed(&mut self, live: &Live<'_>) {
        let passed = Passed::of(live, self.facts.interval_ns);
        let from_ns = live.to_ns.saturating_sub(self.facts.interval_ns);
        let column = Column::of(passed.span, passed.asked, live.arrivals);
        self.last.add(from_ns, &passed);
        self.recent.add(from_ns, &passed);
        self.total.add(&passed);
        self.latest.add(from_ns, &column);
        self.whole.add(from_ns, &column);
        self.version += 1;
    }

    /// Adds a settled interval.
    pub(crate) fn settled(&mut self, interval: &Interval) {
        self.settled.add(interval.from_ns, &Settled::of(interval));
        self.missing = missing_words(&self.facts.agents, &interval.agents);
        self.version += 1;
    }

    /// Adds what was read beside the load.
    pub(crate) fn sampled(&mut self, interval: &Interval) {
        self.moving.iter_mut().for_each(|moving| moving.sampled(interval));
        self.version += 1;
    }

    /// The run is stopped, for this reason.
    pub(crate) fn stopping(&mut self, why: String) {
        self.stage = Stage::Stopping(why);
        self.version += 1;
    }

    /// The latest message.
    pub(crate) fn note(&mut self, note: &str) {
        self.note = Some(safe(note));
        self.version += 1;
    }

    /// The doubts so far.
    pub(crate) fn judged(&mut self, doubts: Vec<Warning>) {
        self.version += u64::from(self.judged.as_ref() != Some(&doubts));
        self.judged = Some(doubts);
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// What a picture shows `elapsed_ns` after the start of the run, with charts of at most `width` columns.
    pub(crate) fn view(&self, elapsed_ns: u64, width: usize, is_whole: bool) -> View {
        let stretch = match is_whole {
            true => self.whole.stretch(width, self.facts.end_ns),
            false => self.latest.stretch(width, None),
        };
        View {
            facts: Arc::clone(&self.facts),
            stage: self.stage.clone(),
            elapsed_ns: elapsed_ns.max(self.total.to_ns),
            last: self.last.sum(),
            recent: self.recent.sum(),
            total: self.total.clone(),
            settled: self.settled.sum(),
            missing: self.missing.clone(),
            stretch,
            losses: self.moving.as_ref().map(SeriesTracks::losses),
            note: self.note.clone(),
            judged: self.judged.clone(),
        }
    }
}

impl Facts {
    fn of(header: &Header, end_ns: Option<u64>) -> Facts {
        let agent = |agent: &AgentInfo| AgentInfo { name: safe(&agent.name), ..AgentInfo::default() };
        let phase = |phase: &Phase| Phase { label: safe(&phase.label), ..phase.clone() };
        Facts {
            name: header.name.as_deref().map(safe),
            target: safe(&header.target),
            transport: safe(&header.transport),
            load: safe(&header.load),
            phases: header.phases.iter().map(phase).collect(),
            mix: header.mix.iter().map(|member| safe(member.label())).collect(),
            agents: header.agents.iter().map(agent).collect(),
            workers: header.workers,
            interval_ns: header.interval_ns.max(1),
            timeout_ns: header.timeout_ns,
            end_ns,
            is_open: header.headline == Headline::Response,
            headline: header.headline,
            send_only: header.send_only,
        }
    }

    /// The time of one column: a second, less where the run is too short for that many columns.
    fn column_ns(&self) -> u64 {
        let short_ns = self.end_ns.map_or(SECOND_NS, |end_ns| end_ns / SHORT_COLUMNS);
        short_ns.min(SECOND_NS).max(self.interval_ns)
    }
}

impl View {
    /// The part of the load in which the run is: its number, from 1, and itself; `None` where there is one part only.
    pub(crate) fn step(&self) -> Option<(usize, &Phase)> {
        let at_ns = self.elapsed_ns;
        let place =
            self.facts.phases.iter().position(|phase| (phase.from_ns..phase.to_ns).contains(&at_ns))?;
        (self.facts.phases.len() > 1).then(|| (place + 1, &self.facts.phases[place]))
    }

    /// The figures of these counts.
    pub(crate) fn figures<'a>(&self, passed: &'a Passed) -> LiveFigures<'a> {
        let figures = passed.figures(self.facts.is_open, self.facts.timeout_ns);
        LiveFigures { is_partial: self.missing.is_some(), ..figures }
    }

    /// What the run does at this instant, and the share of its time that is over where that is known.
    pub(crate) fn progress(&self) -> (String, Option<f64>) {
        let left_ns = self.facts.end_ns.map(|end_ns| end_ns.saturating_sub(self.elapsed_ns));
        let share = self.facts.end_ns.map(|end_ns| self.elapsed_ns as f64 / end_ns.max(1) as f64);
        let words = match (&self.stage, left_ns) {
            (Stage::Stopping(why), _) => format!("stopping: {why}; waiting for outstanding queries"),
            (Stage::Running, Some(0)) => "waiting for responses".to_owned(),
            (Stage::Running, Some(left_ns)) if left_ns < SECOND_NS => "less than 1 s left".to_owned(),
            (Stage::Running, Some(left_ns)) => format!("{} left", length(left_ns / SECOND_NS * SECOND_NS)),
            (Stage::Running, None) => "until it is ended".to_owned(),
        };
        let words = match &self.missing {
            Some(missing) => format!("{missing}; {words}"),
            None => words,
        };
        (words, share.map(|share| share.clamp(0.0, 1.0)))
    }

    /// The largest rate in the chart, a second.
    pub(crate) fn most_qps(&self) -> f64 {
        let most = |column: &Column| {
            let counts = [column.asked, column.sent as f64, column.answered as f64];
            counts.into_iter().map(|count| column.rate_qps(count)).fold(0.0, f64::max)
        };
        self.stretch.columns.iter().map(most).fold(0.0, f64::max)
    }
}

/// A rate with its unit.
pub(crate) fn per_second(count: u64, span: Span) -> String {
    format!("{}/s", rate(dnsdyno_record::figures::rate_qps(count, span.of_rates_ns())))
}

impl Passed {
    /// The counts of one wall interval.
    pub(crate) fn of(live: &Live<'_>, interval_ns: u64) -> Passed {
        let asked_qps = if live.asked_qps.is_finite() { live.asked_qps } else { 0.0 };
        Passed {
            to_ns: live.to_ns,
            span: Span::new(interval_ns, live.covered_ns),
            asked: asked_qps * live.covered_ns.min(interval_ns) as f64 * 1e-9,
            arrivals: live.arrivals.clone(),
        }
    }
}

impl Sum for Passed {
    fn add(&mut self, later: &Self) {
        self.to_ns = self.to_ns.max(later.to_ns);
        self.span.add(later.span);
        self.asked += later.asked;
        self.arrivals.merge_in_time(&later.arrivals);
    }
}

impl Settled {
    fn of(interval: &Interval) -> Settled {
        Settled {
            span: Span::new(interval.to_ns.saturating_sub(interval.from_ns), interval.covered_ns()),
            tally: interval.tally.clone(),
            workers: interval.workers.clone(),
        }
    }
}

impl Sum for Settled {
    fn add(&mut self, later: &Self) {
        self.span.add(later.span);
        self.tally.merge_in_time(&later.tally);
        dnsdyno_measure::Counter::merge_in_time(&mut self.workers, &later.workers);
    }
}

const SECOND_NS: u64 = 1_000_000_000;

/// The time of percentiles and shares: at 1,000 queries a second they carry a p99.9.
pub(crate) const RECENT_NS: u64 = 10 * SECOND_NS;

/// Columns of a run that is shorter than so many seconds.
const SHORT_COLUMNS: u64 = 60;
