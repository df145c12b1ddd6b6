//! A search with several goals: each trial is judged for all of them, and the next one is made for the goal whose limit
//! is known worst, where it tells most for its time.
//!
//! ```text
//!                    ┌─► Search of a goal ─┐ widest interval     ┌─► each goal learns the trial
//!   a trial ─────────┼─► Search of a goal ─┼──────► its next ────┤
//!                    └─► Search of a goal ─┘        trial        └─► its verdict for each goal
//! ```
//!
//! A goal that says how long its criteria must be met has a [`Search`] beside it, its scout, whose trials are short.
//! They show where the long ones are worth their time, and exclude loads by far; what is told about the goal follows
//! from trials that are as long as it asks.

use dnsdyno_plan::Draft;
use dnsdyno_record::Digest;

use super::finder::{Finder, TrialsSoFar};
use super::finding::{FindNote, Finding, GoalFinding, Outcome};
use super::lengths::conditions;
use super::order;
use super::search::{Made, Next, Search};
use super::settings::Settings;
use super::trial::{OfGoal, Purpose, Trial};
use crate::step::{Campaign, Request, Step};

/// The search for the limits of several goals.
#[derive(Clone, Debug)]
pub struct GoalSearch {
    settings: Settings,
    goals: Vec<OneGoal>,
    trials: Vec<Trial>,
    cut: u32,
    next: Decision,
}

/// The search for the limit of a goal.
#[derive(Clone, Debug)]
struct OneGoal {
    name: String,
    search: Search,
    /// The search with short trials, where the goal asks for long ones.
    scout: Option<Search>,
    /// What each of them wants next; `None` where it has its limit.
    wants: Option<Next>,
    scout_wants: Option<Next>,
}

/// What is done next.
#[derive(Clone, Debug)]
enum Decision {
    Try(Proposal),
    Done(Box<Finding>),
}

/// A trial that a goal wants.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Proposal {
    /// The number of the goal, and whether it is of its scout.
    goal: usize,
    is_of_scout: bool,
    purpose: Purpose,
    load: f64,
    planned_ns: u64,
    rest_ns: u64,
}

impl GoalSearch {
    /// A search with these settings.
    pub fn new(settings: Settings) -> GoalSearch {
        let goals: Vec<OneGoal> = settings
            .goals
            .iter()
            .map(|goal| {
                let of_goal = settings.of_goal(goal);
                let scout = Settings { held_ns: None, ..of_goal.clone() };
                OneGoal {
                    name: goal.name.clone().unwrap_or_default(),
                    search: Search::new(of_goal),
                    scout: goal.held_ns.map(|_| Search::new(scout)),
                    wants: None,
                    scout_wants: None,
                }
            })
            .collect();
        let first = Proposal {
            goal: 0,
            is_of_scout: false,
            purpose: Purpose::WarmUp,
            load: settings.start,
            planned_ns: 0,
            rest_ns: 0,
        };
        let mut search =
            GoalSearch { settings, goals, trials: Vec::new(), cut: 0, next: Decision::Try(first) };
        search.next = Decision::Try(search.with_length(first));
        search
    }

    fn decide(&mut self) -> Decision {
        self.goals.iter_mut().for_each(OneGoal::decide);
        self.steer();
        let proposals: Vec<Proposal> = (0..self.goals.len()).filter_map(|at| self.proposal(at)).collect();
        match self.best(&proposals) {
            Some(proposal) => Decision::Try(self.with_length(proposal)),
            None => self.beyond(),
        }
    }

    /// What a goal wants; while its scout has not shown where the limit is, what that wants.
    fn proposal(&self, at: usize) -> Option<Proposal> {
        let goal = self.goals.get(at)?;
        let is_of_scout = goal.scouts();
        let (wants, search) = match (is_of_scout, &goal.scout) {
            (true, Some(scout)) => (&goal.scout_wants, scout),
            _ => (&goal.wants, &goal.search),
        };
        let Some(Next::Try(purpose, load)) = *wants else { return None };
        let (planned_ns, rest_ns) = (search.lasts_ns(purpose, load), search.rest_ns(purpose));
        Some(Proposal { goal: at, is_of_scout, purpose, load, planned_ns, rest_ns })
    }

    /// The proposal that tells most, for its time, about the goal whose interval is widest; before all goals have one,
    /// the one with the lowest load, which tells each of them something.
    fn best(&self, proposals: &[Proposal]) -> Option<Proposal> {
        let begins = |one: &&Proposal| !matches!(one.purpose, Purpose::Near | Purpose::Recover);
        if let Some(first) = proposals.iter().filter(begins).min_by(|a, b| a.load.total_cmp(&b.load)) {
            return Some(*first);
        }
        let width = |one: &Proposal| self.goals.get(one.goal).map_or(0.0, OneGoal::width);
        let widest = *proposals.iter().max_by(|one, other| width(one).total_cmp(&width(other)))?;
        // A search that lets the server recover, or looks by short trials, knows why.
        if widest.purpose != Purpose::Near || widest.is_of_scout {
            return Some(widest);
        }
        let goal = self.goals.get(widest.goal)?;
        let serves = |one: &&Proposal| one.purpose == Purpose::Near && one.planned_ns >= widest.planned_ns;
        let tells = |one: &Proposal| goal.search.tells(one.load) / one.planned_ns.max(1) as f64;
        let most = proposals.iter().filter(serves).max_by(|one, other| tells(one).total_cmp(&tells(other)));
        most.filter(|most| tells(most) > tells(&widest) * BETTER).copied().or(Some(widest))
    }

    /// Tells each long search what the short one has shown.
    fn steer(&mut self) {
        for goal in &mut self.goals {
            let shown = goal.scout.as_ref().and_then(Search::interval_now);
            if goal.search.steer_to(shown) {
                goal.wants = goal.search.decide_near();
            }
        }
    }

    /// Where the limits can be stated: what is beyond the highest of them, and the end.
    fn beyond(&mut self) -> Decision {
        let load = |goal: &OneGoal| match goal.search.outcome() {
            Outcome::Capacity { load, .. } => Some(load),
            _ => None,
        };
        let loads = self.goals.iter().enumerate().filter_map(|(at, goal)| Some((at, load(goal)?)));
        let highest = loads.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(at, _)| at);
        if let Some((at, goal)) = highest.and_then(|at| Some((at, self.goals.get_mut(at)?)))
            && let Next::Try(purpose, load) = goal.search.after()
        {
            let (planned_ns, rest_ns) = (goal.search.lasts_ns(purpose, load), goal.search.rest_ns(purpose));
            let proposal = Proposal { goal: at, is_of_scout: false, purpose, load, planned_ns, rest_ns };
            return Decision::Try(self.with_length(proposal));
        }
        Decision::Done(Box::new(self.finding()))
    }

    /// A trial that begins a search is long enough for the criteria of each goal.
    fn with_length(&self, proposal: Proposal) -> Proposal {
        let needed_ns =
            self.goals.iter().map(|goal| goal.search.needed_ns(proposal.purpose, proposal.load)).max();
        Proposal { planned_ns: proposal.planned_ns.max(needed_ns.unwrap_or(0)), ..proposal }
    }

    fn request(&self, proposal: &Proposal) -> Request {
        let Proposal { purpose, load, planned_ns, rest_ns, .. } = *proposal;
        let request = self.settings.request_of(purpose, load, planned_ns, rest_ns);
        let stop_when = conditions(&self.certain_losses(proposal));
        let name = self.goals.get(proposal.goal).map_or("", |goal| &goal.name);
        let why = format!("{name}: {}", request.why);
        Request { draft: Draft { stop_when, ..request.draft }, why, ..request }
    }

    /// Losses that end a trial: it has then failed for the goal that wants it, and for each other one that needs all of
    /// it. For the others it is long enough by then.
    fn certain_losses(&self, proposal: &Proposal) -> Vec<(u64, f64)> {
        let Proposal { load, planned_ns, .. } = *proposal;
        let needs_all = |goal: &OneGoal| goal.search.held_ns().is_some_and(|held_ns| held_ns <= planned_ns);
        let goals = self.goals.iter().enumerate();
        let mut all =
            goals.filter(|(at, goal)| *at == proposal.goal || needs_all(goal)).map(|(_, goal)| goal);
        let Some(first) = all.next() else { return Vec::new() };
        let first = first.search.certain_losses(load, planned_ns);
        all.fold(first, |losses, goal| {
            let of_goal = goal.search.certain_losses(load, planned_ns);
            let both = losses.into_iter().filter_map(|(for_ns, share)| {
                let (_, other) = of_goal.iter().find(|(other_ns, _)| *other_ns == for_ns)?;
                Some((for_ns, share.max(*other)))
            });
            both.collect()
        })
    }

    fn finding(&self) -> Finding {
        let Settings { method, what, .. } = self.settings;
        let of_goal = |goal: &OneGoal| goal.search.goal_finding(goal.search.outcome());
        let mut goals: Vec<GoalFinding> = self.goals.iter().map(of_goal).collect();
        let mut notes = in_common(&mut goals);
        notes.extend(order::hold(&self.settings.goals, &mut goals));
        let first = goals.first();
        Finding {
            method,
            what,
            criteria: first.map(|goal| goal.criteria.clone()).unwrap_or_default(),
            outcome: first
                .map_or(Outcome::Undecided { load: self.settings.start }, |goal| goal.outcome.clone()),
            belief: first.map(|goal| goal.belief.clone()).unwrap_or_default(),
            goals,
            notes,
            trials: self.trials.clone(),
            cut: self.cut,
        }
    }
}

/// Takes the notes that each goal has from them: they are about the server, or the generator.
fn in_common(goals: &mut [GoalFinding]) -> Vec<FindNote> {
    let first = goals.first().map(|goal| goal.notes.clone()).unwrap_or_default();
    let is_common = |note: &FindNote| goals.iter().all(|goal| goal.notes.contains(note));
    let common: Vec<FindNote> = first.into_iter().filter(is_common).collect();
    goals.iter_mut().for_each(|goal| goal.notes.retain(|note| !common.contains(note)));
    common
}

impl OneGoal {
    fn decide(&mut self) {
        self.wants = self.search.decide_near();
        self.scout_wants = self.scout.as_mut().and_then(Search::decide_near);
    }

    /// Whether the scout has not shown yet where long trials are worth their time.
    fn scouts(&self) -> bool {
        let Some(scout) = &self.scout else { return false };
        let is_open = matches!(self.scout_wants, Some(Next::Try(..)));
        is_open && scout.half_width_now().is_none_or(|half| half > SCOUTED * self.search.precision())
    }

    /// Half of the width of its interval, as a multiple of what is wanted.
    fn width(&self) -> f64 {
        self.search.half_width_now().map_or(f64::INFINITY, |half| half / self.search.precision())
    }

    /// Takes the record of a trial; returns what it says.
    fn take(&mut self, run: &Digest, made: &Made, is_mine: Option<bool>) -> Trial {
        if let Some(scout) = &mut self.scout {
            scout.take(run, &Made { is_own: is_mine == Some(true), ..*made });
        }
        self.search.take(run, &Made { is_own: is_mine == Some(false), ..*made })
    }
}

impl Campaign for GoalSearch {
    type Result = Finding;

    fn next(&self) -> Step<Finding> {
        match &self.next {
            Decision::Done(finding) => Step::Done((**finding).clone()),
            Decision::Try(proposal) => Step::Run(Box::new(self.request(proposal))),
        }
    }

    fn learn(&mut self, run: &Digest) {
        let Decision::Try(proposal) = self.next else { return };
        let Proposal { purpose, load, planned_ns, rest_ns, .. } = proposal;
        let made = Made { purpose, load, planned_ns, rest_ns, is_own: false };
        let mut seen: Vec<(String, Trial, bool)> = Vec::new();
        for (at, goal) in self.goals.iter_mut().enumerate() {
            let is_mine = (at == proposal.goal).then_some(proposal.is_of_scout);
            let trial = goal.take(run, &made, is_mine);
            let is_long_enough = goal.search.is_long_enough(&trial);
            seen.push((goal.name.clone(), trial, is_long_enough));
        }
        let goals = seen.iter().map(|(goal, trial, is_long_enough)| OfGoal {
            goal: goal.clone(),
            verdict: trial.verdict.clone(),
            is_long_enough: *is_long_enough,
        });
        let goals: Vec<OfGoal> = goals.collect();
        if let Some((_, trial, _)) = seen.into_iter().next() {
            self.trials.push(Trial { purpose, goals, ..trial });
        }
        self.next = self.decide();
    }

    fn learn_cut(&mut self, _run: &Digest) {
        self.cut += 1;
    }
}

impl Finder for GoalSearch {
    fn made(&self) -> TrialsSoFar<'_> {
        TrialsSoFar { trials: &self.trials, bracket: None }
    }
}

/// A trial for another goal is made in the place of its own where it tells so many times as much for its time.
const BETTER: f64 = 1.1;

/// Short trials look until half of the width of their interval is so many times what is wanted.
const SCOUTED: f64 = 2.0;
