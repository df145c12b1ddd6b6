//! The settings of a search: the options of the user, validated once, and the run that they make of a load.

use dnsdyno_plan::Draft;
use dnsdyno_plan::expect::Expectation;
use dnsdyno_text::notation::{format_duration_ns, format_rate_qps, parse_duration_ns, parse_rate_qps};
use dnsdyno_text::units::{length, rate};

use super::criteria::Criteria;
use super::error::FindError;
use super::goal::Goal;
use super::mlrsearch::goal::SearchGoal;
use super::options::{Method, Options, What};
use super::quantities::{duration, load, precision, whole};
use super::refuse::{refuse_load, refuse_others};
use super::trial::Purpose;
use super::written::GoalError;
use crate::step::Request;

/// The settings of a search, validated.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub(super) method: Method,
    pub(super) what: What,
    /// The criteria of a trial; of several goals, those of the first.
    pub(super) criteria: Criteria,
    /// What is searched for, at least one; none of `mlrsearch`.
    pub(super) goals: Vec<Goal>,
    /// The goals of `mlrsearch`, the strictest first; none of another method.
    pub(super) search_goals: Vec<SearchGoal>,
    /// Everything but the load.
    pub(super) draft: Draft,
    pub(super) start: f64,
    pub(super) least: f64,
    pub(super) most: f64,
    /// How long a trial lasts where the criteria do not need more.
    pub(super) trial_ns: u64,
    /// Whether the user gave that.
    pub(super) is_trial_given: bool,
    /// How long a load must be held, where the goal says so.
    pub(super) held_ns: Option<u64>,
    /// The usual lowest load, where trials at it would be too long and the user gave none.
    pub(super) raised_from: Option<f64>,
    pub(super) rest_ns: u64,
    /// Half of the width of the interval, as a share.
    pub(super) precision: f64,
    pub(super) most_trials: u32,
    pub(super) per_client_qps: f64,
    pub(super) repeats: u32,
}

impl Settings {
    /// The length of a trial at a load: as long as the criteria need, at the least.
    pub fn trial_ns(&self, load: f64) -> u64 {
        self.needed_ns(load).max(self.trial_ns).max(self.held_ns.unwrap_or(0))
    }

    /// Validates the options of a search; `draft` are those of its runs.
    ///
    /// # Errors
    /// The first option that is not valid.
    pub fn new(options: &Options, draft: &Draft) -> Result<Settings, FindError> {
        let method = Method::of(options.method.as_deref())?;
        let what = What::of(options.what.as_deref())?;
        refuse_load(draft, method, what)?;
        refuse_others(options, draft, method, what)?;
        if method == Method::MlrSearch {
            return Settings::of_mlrsearch(options, draft);
        }
        let goals = goals(options, method)?;
        let queries_needed = goals.iter().map(|goal| goal.criteria.queries_needed()).max().unwrap_or(0);
        let (usual_start, usual_least, usual_most) = what.usual_loads();
        let least = load("least", options.least.as_deref())?;
        let most = load("most", options.most.as_deref())?;
        let start = load("from", options.start.as_deref())?;
        let trial_ns = options.trial.as_deref().map(|text| duration("trial", text)).transpose()?;
        let trial_ns = trial_ns.or(method.is_by_book().then_some(BOOK_TRIAL_NS));
        let per_client = load("per-client", options.per_client.as_deref())?.unwrap_or(1.0);
        let queries_each = if what == What::Clients { per_client } else { 1.0 };
        // The usual lowest load is none that needs hours; one that the user wants is tried however long it takes.
        let longest_s = trial_ns.unwrap_or(0).max(LONGEST_TRIAL_NS) as f64 * 1e-9;
        let fewest = (queries_needed as f64 / longest_s / queries_each).ceil();
        let fits_least = usual_least.max(fewest).min(most.or(start).unwrap_or(f64::INFINITY));
        let lowest = least.unwrap_or(fits_least);
        let most_load = most.unwrap_or(usual_most.max(lowest));
        let first = start.unwrap_or(usual_start.clamp(lowest.min(most_load), most_load));
        let mut settings = Settings {
            method,
            what,
            draft: draft.clone(),
            start: first,
            least: if start.is_some() && least.is_none() { lowest.min(first) } else { lowest },
            most: most_load,
            trial_ns: trial_ns.unwrap_or(TRIAL_NS),
            is_trial_given: options.trial.is_some(),
            held_ns: None,
            raised_from: None,
            rest_ns: match options.rest.as_deref() {
                Some(text) if text.trim() == "0" => 0,
                Some(text) => {
                    parse_duration_ns(text).map_err(|error| FindError::Quantity { option: "rest", error })?
                }
                None => REST_NS,
            },
            precision: precision(options.precision.as_deref(), method)?,
            most_trials: whole("trials", options.trials.as_deref(), 10, 10_000)?
                .unwrap_or(usual_trials(&goals)),
            per_client_qps: per_client,
            repeats: whole("repeats", options.repeats.as_deref(), 1, 1_000)?.unwrap_or(BOOK_REPEATS),
            criteria: goals.first().map_or(Criteria::new(Vec::new()), |goal| goal.criteria.clone()),
            goals,
            search_goals: Vec::new(),
        };
        if method == Method::Rfc8219 && draft.timeout.is_none() {
            settings.draft.timeout = Some("1s".to_owned());
        }
        let is_raised = settings.least > usual_least
            && least.is_none()
            && start.is_none_or(|start| start > settings.least);
        settings.raised_from = is_raised.then_some(usual_least);
        settings.is_ordered()?;
        if method == Method::Stair {
            settings.has_enough_queries()?;
            settings.has_rows_of_steps()?;
        }
        match settings.longest_ns() {
            longest if longest > MONTH_NS => Err(FindError::TooLong(length(longest))),
            _ => Ok(settings),
        }
    }

    /// Those of `mlrsearch`: as of a search, but with goals instead of criteria.
    fn of_mlrsearch(options: &Options, draft: &Draft) -> Result<Settings, FindError> {
        let shared = Options { method: None, goals: Vec::new(), ..options.clone() };
        let mut settings = Settings::new(&shared, draft)?;
        let final_ns = options.trial.is_some().then_some(settings.trial_ns);
        let goals = SearchGoal::all(&options.goals, final_ns).map_err(Box::new)?;
        settings.method = Method::MlrSearch;
        settings.criteria = Criteria { expectations: Vec::new(), no_loss_beyond_chance: false };
        settings.trial_ns = goals.iter().map(|goal| goal.final_trial_ns).max().unwrap_or(TRIAL_NS);
        if options.trials.is_none() {
            settings.most_trials = MOST_TRIALS_OF_GOALS;
        }
        // The usual lowest load is one at which a trial of each goal has the queries that it needs.
        let fewest = goals.iter().map(|goal| goal.queries_needed() / (goal.final_trial_ns as f64 * 1e-9));
        let fewest = fewest.fold(0.0, f64::max) * settings.least / settings.qps(settings.least);
        let raised = settings.rounded(fewest).min(settings.start);
        if options.least.is_none() && raised > settings.least {
            settings.raised_from = Some(settings.least);
            settings.least = raised;
        }
        (settings.goals, settings.search_goals) = (Vec::new(), goals);
        let longest_ns = settings.longest_ns();
        if longest_ns > MONTH_NS { Err(FindError::TooLong(length(longest_ns))) } else { Ok(settings) }
    }

    fn is_ordered(&self) -> Result<(), FindError> {
        let Settings { least, start, most, .. } = *self;
        let is_ordered = match self.method {
            Method::Stair | Method::Ramp => start < most,
            _ => least <= start && start <= most,
        };
        let text = |load: f64| format_rate_qps(load);
        match is_ordered {
            true => Ok(()),
            false => Err(FindError::Order { least: text(least), start: text(start), most: text(most) }),
        }
    }

    /// How it searches.
    pub fn method(&self) -> Method {
        self.method
    }

    /// What it searches for.
    pub fn what(&self) -> What {
        self.what
    }

    /// What is searched for: one goal without a name, or several with names; none of `mlrsearch`.
    pub fn goals(&self) -> &[Goal] {
        &self.goals
    }

    /// The goals of `mlrsearch`.
    pub fn search_goals(&self) -> &[SearchGoal] {
        &self.search_goals
    }

    /// Whether its goals have names.
    pub(super) fn has_names(&self) -> bool {
        self.goals.iter().any(|goal| goal.name.is_some())
    }

    /// The settings of a search for one goal.
    pub(super) fn of_goal(&self, goal: &Goal) -> Settings {
        Settings {
            criteria: goal.criteria.clone(),
            held_ns: goal.held_ns,
            goals: vec![goal.clone()],
            ..self.clone()
        }
    }

    /// The criteria.
    pub fn criteria(&self) -> &Criteria {
        &self.criteria
    }

    /// The first load, the lowest and the highest.
    pub fn loads(&self) -> (f64, f64, f64) {
        (self.start, self.least, self.most)
    }

    /// The windows, in queries outstanding, from the smallest; none of other methods.
    pub fn windows(&self) -> Vec<u32> {
        let within = RUNGS.iter().copied().filter(|window| f64::from(*window) <= self.most);
        if self.method == Method::Window { within.collect() } else { Vec::new() }
    }

    /// Half of the width of the interval that is wanted, as a share.
    pub fn precision(&self) -> f64 {
        self.precision
    }

    /// The most runs.
    pub fn most_runs(&self) -> u64 {
        match self.method {
            Method::Search => u64::from(self.most_trials) + 1 + MOST_AFTER,
            Method::MlrSearch => u64::from(self.most_trials),
            Method::Stair | Method::Ramp => 1,
            Method::Window => self.windows().len() as u64,
            Method::Rfc2544 | Method::Rfc8219 => {
                let halvings =
                    ((self.most / self.least).log2() / self.precision).log2().max(1.0).ceil() as u64;
                u64::from(self.repeats) * (halvings + 4).max(6)
            }
        }
    }

    /// The longest that the search may take, in ns: each trial as long as it can be, with its pause, and with a timeout
    /// at its end.
    pub fn longest_ns(&self) -> u64 {
        let timeout = self.draft.timeout.as_deref().and_then(|text| parse_duration_ns(text).ok());
        let timeout_ns = timeout.unwrap_or(5_000_000_000);
        let run_ns = match self.method {
            Method::Ramp => self.ramp_ns(),
            Method::Stair => self.stair_steps().saturating_mul(self.hold_ns()),
            _ => {
                let of_goals = self.goals.iter().map(|goal| self.of_goal(goal).trial_ns(self.least));
                of_goals.max().unwrap_or(0).max(self.trial_ns(self.least))
            }
        };
        let each = run_ns.saturating_add(timeout_ns).saturating_add(self.rest_ns.saturating_mul(4));
        each.saturating_mul(self.most_runs())
    }

    /// The shortest trial with the queries that the criteria need.
    pub(super) fn needed_ns(&self, load: f64) -> u64 {
        self.length_of(self.criteria.queries_needed() as f64, load)
    }

    /// How long so many queries take at a load.
    pub(super) fn length_of(&self, queries: f64, load: f64) -> u64 {
        ((queries / self.qps(load) * 1e3).ceil() * 1e6) as u64
    }

    /// Queries per second of a load.
    pub(super) fn qps(&self, load: f64) -> f64 {
        if self.what == What::Clients { load * self.per_client_qps } else { load }
    }

    /// A load that is easy to read, and to type: four digits.
    pub(super) fn rounded(&self, load: f64) -> f64 {
        rounded_load(load, self.what == What::Clients)
    }

    /// The run of a trial of the usual length.
    pub(super) fn request(&self, purpose: Purpose, load: f64, rest_ns: u64) -> Request {
        self.request_of(purpose, load, self.trial_ns(load), rest_ns)
    }

    /// The run of a trial.
    pub(super) fn request_of(&self, purpose: Purpose, load: f64, lasts_ns: u64, rest_ns: u64) -> Request {
        let mut draft = Draft {
            rate: Some(format_rate_qps(self.qps(load))),
            duration: Some(format_duration_ns(lasts_ns)),
            ..self.of_trials(lasts_ns)
        };
        match self.what {
            What::Queries => (),
            What::Connections => draft.queries_per_connection = Some(1),
            What::Clients => draft.clients = Some(load.round().max(1.0) as usize),
        }
        let load = rate(load);
        Request {
            draft,
            rest_ns,
            commands: false,
            why: format!("{}: {load} {}", purpose.text(), self.what.unit()),
        }
    }

    /// What all trials have.
    pub(super) fn of_trials(&self, lasts_ns: u64) -> Draft {
        let mut expect: Vec<String> = Vec::new();
        for expected in self.goals.iter().flat_map(|goal| &goal.criteria.expectations) {
            if !expect.contains(&expected.text) {
                expect.push(expected.text.clone());
            }
        }
        let interval_ns = match self.method {
            Method::Stair => interval_of_step_ns(lasts_ns),
            _ => (lasts_ns / ROWS_OF_TRIAL / 1_000_000 * 1_000_000).clamp(SHORTEST_ROW_NS, LONGEST_ROW_NS),
        };
        Draft {
            expect: (!expect.is_empty()).then_some(expect),
            interval: self.draft.interval.clone().or_else(|| Some(format_duration_ns(interval_ns))),
            ..self.draft.clone()
        }
    }

    /// The length of a ramp.
    pub(super) fn ramp_ns(&self) -> u64 {
        let given = self.draft.over.as_deref().and_then(|text| parse_duration_ns(text).ok());
        given.unwrap_or(RAMP_NS)
    }

    /// The length of a step of a stair.
    pub(super) fn hold_ns(&self) -> u64 {
        let given = self.draft.hold.as_deref().and_then(|text| parse_duration_ns(text).ok());
        given.unwrap_or(HOLD_NS)
    }

    /// The height of a step of a stair.
    pub(super) fn step_qps(&self) -> f64 {
        let given = self.draft.step.as_deref().and_then(|text| parse_rate_qps(text).ok());
        given.filter(|step| *step > 0.0).unwrap_or(self.start)
    }

    pub(super) fn stair_steps(&self) -> u64 {
        ((self.most - self.start) / self.step_qps()).floor().max(0.0) as u64 + 1
    }
}

/// The goals with names, or the one goal that the criteria are.
fn goals(options: &Options, method: Method) -> Result<Vec<Goal>, FindError> {
    if !options.goals.is_empty() {
        return match options.criteria.is_empty() {
            true => Ok(Goal::read_all(&options.goals).map_err(Box::new)?),
            false => Err(Box::new(GoalError::BesideWhile).into()),
        };
    }
    let expectations = options.criteria.iter().map(|text| Expectation::parse(text));
    let criteria = match (method, options.criteria.is_empty()) {
        (Method::Rfc2544 | Method::Rfc8219, true) => {
            Criteria { expectations: vec![Expectation::parse("loss=0")?], no_loss_beyond_chance: false }
        }
        _ => Criteria::new(expectations.collect::<Result<_, _>>()?),
    };
    Ok(vec![Goal { name: None, criteria, held_ns: None }])
}

/// The most trials where the user gives no number: more for each goal after the first, and for each goal with a
/// duration, whose limit short trials look for before the long ones.
fn usual_trials(goals: &[Goal]) -> u32 {
    let searches = goals.len() + goals.iter().filter(|goal| goal.held_ns.is_some()).count();
    MOST_TRIALS + MORE_TRIALS * (searches.saturating_sub(1) as u32)
}

/// The interval of a stair: its steps are whole numbers of intervals, so that each has a row of its own.
fn interval_of_step_ns(hold_ns: u64) -> u64 {
    let fewest = hold_ns.div_ceil(LONGEST_ROW_NS).max(ROWS_OF_TRIAL.min(hold_ns / SHORTEST_ROW_NS)).max(1);
    let whole = (fewest..=fewest * 100).find(|rows| hold_ns.is_multiple_of(*rows));
    whole.map_or(hold_ns, |rows| hold_ns / rows)
}

/// A load with four digits; clients are whole.
pub(super) fn rounded_load(load: f64, is_whole: bool) -> f64 {
    let unit = 10f64.powf(load.max(1e-6).log10().floor() - 3.0);
    let rounded = (load / unit).round() * unit;
    if is_whole || rounded >= 1_000.0 { rounded.round().max(1.0) } else { rounded }
}

/// A trial lasts at least so long: a second in which a server does something else is then a tenth of it.
const TRIAL_NS: u64 = 10_000_000_000;

/// And at most so long at the usual lowest load, where the criteria need many queries.
const LONGEST_TRIAL_NS: u64 = 60_000_000_000;

/// Rows of a trial: enough to see a queue grow.
const ROWS_OF_TRIAL: u64 = 10;

/// How long a row of a trial is at least, and at most.
const SHORTEST_ROW_NS: u64 = 20_000_000;
const LONGEST_ROW_NS: u64 = 1_000_000_000;

/// Between trials: enough for the packets that are still under way.
const REST_NS: u64 = 500_000_000;

/// As resperf: 60 s, to --most.
const RAMP_NS: u64 = 60_000_000_000;

/// A minute, as operators' stairs have it.
const HOLD_NS: u64 = 60_000_000_000;

const MOST_TRIALS: u32 = 60;

/// A goal after the first shares half of its trials with the others.
const MORE_TRIALS: u32 = 30;

/// RFC 9971 has no bound. Two goals with the usual settings take about twenty trials without noise.
const MOST_TRIALS_OF_GOALS: u32 = 1_000;

/// Trials beyond the limit and after it.
const MOST_AFTER: u64 = 18;

/// RFC 2544, section 24, and RFC 8219, section 9: trials of at least 60 s; section 26 and RFC 8219: 20 repeats.
const BOOK_TRIAL_NS: u64 = 60_000_000_000;
const BOOK_REPEATS: u32 = 20;

const MONTH_NS: u64 = 31 * 86_400_000_000_000;

/// The windows.
const RUNGS: [u32; 12] = [5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000];
