//! The text of a search: a line for each trial, the answer in a sentence, a short table, what else is to be known.

use dnsdyno_measure::{Bounds, Quantile};
use dnsdyno_record::expect::Decision;
use dnsdyno_report::bounds::cell;
use dnsdyno_report::expect::{ends_text, measured_text};
use dnsdyno_report::quantile;
use dnsdyno_text::layout::{NOTHING, paragraph};
use dnsdyno_text::safe;
use dnsdyno_text::units::{count, counted, length, percent, rate};

use super::mlrsearch::{goal_answer, goal_text};
use crate::find::{
    FindNote, Finding, GoalFinding, IntervalKind, Method, OfGoal, Outcome, Reason, Trial, TrialVerdict,
    TrialsSoFar, Undecided, What, Why,
};

/// The head of the lines of trials.
pub fn trial_head(method: Method, what: What) -> String {
    let load = if method == Method::Window { "outstanding" } else { what.unit() };
    let last = if method == Method::Window { "rate × mean latency" } else { "limit so far, or why" };
    format!(
        "{:>5}  {load:>13}  {:>11}  {:>8}  {:>8}  {:>8}  {:<9}  {last}\n",
        "trial", "answered/s", "loss", "p50", "p99", "verdict"
    )
}

/// The line of the last trial.
pub fn trial_line(method: Method, made: TrialsSoFar<'_>) -> String {
    let Some(trial) = made.trials.last() else { return String::new() };
    let bracket = made.bracket.map(|(from, to)| format!("{}..{}", rate(from), rate(to)));
    line_of(method, trial, bracket.unwrap_or_default())
}

fn line_of(method: Method, trial: &Trial, bracket: String) -> String {
    let time = |bounds: Option<Bounds>| cell(bounds, trial.timeout_ns);
    let (verdict, why) = match trial.goals.as_slice() {
        [] => verdict_text(&trial.verdict),
        goals => of_goals(goals),
    };
    let little = trial.mean_ns.filter(|_| method == Method::Window);
    let little = little.map(|mean| format!("{:.1}", trial.answered_qps * mean as f64 * 1e-9));
    let last: Vec<String> =
        [little, Some(bracket).filter(|text| !text.is_empty()), why].into_iter().flatten().collect();
    let line = format!(
        "{:>5}  {:>13}  {:>11}  {:>8}  {:>8}  {:>8}  {verdict:<9}  {}",
        trial.number,
        rate(trial.load),
        rate(trial.answered_qps),
        percent(trial.loss()),
        time(trial.p50),
        time(trial.p99),
        last.join("  ")
    );
    format!("{}\n", line.trim_end())
}

/// A verdict in a word, and why.
fn verdict_text(verdict: &TrialVerdict) -> (&'static str, Option<String>) {
    match verdict {
        TrialVerdict::Passed => ("pass", None),
        TrialVerdict::Failed(unmet) => {
            let unmet = unmet
                .iter()
                .map(|of| format!("{} ({})", safe(&of.criterion), measured_text(&of.ends.measured)));
            ("fail", Some(unmet.collect::<Vec<_>>().join(", ")))
        }
        TrialVerdict::Undecided(Undecided { criteria, reasons }) => {
            let open = criteria
                .iter()
                .map(|of| format!("{} ({})", safe(&of.criterion), ends_text(&of.ends, Decision::Undecided)));
            let why: Vec<String> = open.chain(reasons.iter().cloned()).collect();
            ("undecided", Some(why.join(", ")))
        }
    }
}

/// The verdicts for several goals: the word that they have in common, and each with why.
fn of_goals(goals: &[OfGoal]) -> (&'static str, Option<String>) {
    let texts: Vec<_> = goals.iter().map(|of| (of, verdict_text(&of.verdict))).collect();
    let first = texts.first().map_or("", |(_, (word, _))| word);
    let is_common = texts.iter().all(|(of, (word, _))| *word == first && of.is_long_enough);
    let each = texts.iter().map(|(of, (word, why))| {
        let short = if of.is_long_enough { "" } else { ", but short" };
        let why = why.iter().map(|why| format!(" {why}")).collect::<String>();
        format!("{} {word}{short}{why}", safe(&of.goal))
    });
    match is_common && first == "pass" {
        true => (first, None),
        false => (if is_common { first } else { "differs" }, Some(each.collect::<Vec<_>>().join("; "))),
    }
}

/// The answer in one line.
pub fn answer_line(finding: &Finding) -> String {
    let took_ns = match finding.method {
        Method::Stair | Method::Ramp => finding.trials.iter().map(|trial| trial.lasted_ns).sum(),
        _ => finding.trials.iter().map(|trial| trial.took_ns).sum(),
    };
    let trials = finding.trials.len() as u64;
    let trials = match finding.method {
        Method::Stair => counted(trials, "step", "steps"),
        Method::Ramp => "1 ramp".to_owned(),
        Method::Window => counted(trials, "window", "windows"),
        _ => counted(trials, "trial", "trials"),
    };
    let spent = format!("{trials}, {}", length(took_ns));
    format!("{}, {spent}", of_goals_or_one(finding))
}

/// What was found, for each goal where there are several.
fn of_goals_or_one(finding: &Finding) -> String {
    let (what, unit) = (finding.what, finding.what.unit());
    let by_the_rfc = finding.goal_results().map(|result| goal_answer(result, unit));
    let named = finding.goals.iter().filter(|goal| goal.name.is_some()).map(|goal| goal_line(goal, what));
    let each: Vec<String> = by_the_rfc.chain(named).collect();
    match finding.method {
        Method::Window => of_outcome(&finding.outcome, unit, "outstanding"),
        _ if each.is_empty() => outcome_text(&finding.outcome, what),
        _ => each.join("; "),
    }
}

/// What was found for a goal, with its name.
fn goal_line(goal: &GoalFinding, what: What) -> String {
    format!("{}: {}", safe(goal.name.as_deref().unwrap_or_default()), outcome_text(&goal.outcome, what))
}

/// An outcome in a line.
pub(super) fn outcome_text(outcome: &Outcome, what: What) -> String {
    of_outcome(outcome, what.unit(), what.unit())
}

/// The same, where the loads have another unit than the result.
fn of_outcome(outcome: &Outcome, unit: &str, load_unit: &str) -> String {
    match outcome {
        Outcome::Capacity { load, from, to, interval } => capacity(*load, (*from, *to), *interval, unit),
        Outcome::AtLeast { load, why } => {
            let why = match why {
                Why::Generator => "beyond that the generator or its host may be the limit",
                Why::Most => "no higher load was tried",
                Why::Trials => "the trials that were allowed do not tell how much more (--trials)",
            };
            format!("capacity at least {} {unit}: {why}", rate(*load))
        }
        Outcome::NotMet { lowest, criteria } => {
            let criteria: Vec<String> = criteria.iter().map(|text| safe(text)).collect();
            format!("not met at the lowest load of {} {load_unit}: {}", rate(*lowest), criteria.join(", "))
        }
        Outcome::Unstable { share, from, to } => format!(
            "no capacity: about {:.0} % of the trials failed whatever their load, from {} to {} {unit}",
            share * 100.0,
            rate(*from),
            rate(*to)
        ),
        Outcome::Undecided { load } => format!(
            "nothing can be said of the server: at {} {load_unit} it depends on the generator or its host whether the \
             criteria are met",
            rate(*load)
        ),
    }
}

/// A limit with its bounds, and what these are.
fn capacity(load: f64, (from, to): (f64, f64), interval: IntervalKind, unit: &str) -> String {
    let (load, bounds) = (rate(load), format!("{}..{}", rate(from), rate(to)));
    match interval {
        IntervalKind::Confidence => format!("capacity {load} {unit}, 95 %: {bounds}"),
        IntervalKind::Bracket => {
            format!("capacity {load} {unit} (the highest step that passed), the next failed: {bounds}")
        }
        IntervalKind::Percentiles => {
            format!("throughput {load} {unit} (median), 1st to 99th percentile: {bounds}")
        }
        IntervalKind::RelevantBounds => format!("capacity {bounds} {unit} (Relevant Lower and Upper Bound)"),
        IntervalKind::Range => format!("capacity about {load} {unit} ({bounds} by the different rules)"),
    }
}

fn load_unit(finding: &Finding) -> &'static str {
    if finding.method == Method::Window { "outstanding" } else { finding.what.unit() }
}

/// The whole result: the answer, the curve of what was answered, and what else is to be known.
pub fn finding_text(finding: &Finding, width: usize) -> String {
    let mut out = String::new();
    match finding.has_names() {
        true => goals(&mut out, finding, width),
        false => {
            paragraph(&mut out, &answer_line(finding), 0, 2, width);
            paragraph(&mut out, &format!("criteria: {}", listed(&finding.criteria)), 2, 4, width);
        }
    }
    if finding.cut > 0 {
        let cut = counted(u64::from(finding.cut), "run was", "runs were");
        paragraph(&mut out, &format!("{cut} cut off, and made again"), 2, 4, width);
    }
    let curve = curve(finding, width);
    if !curve.is_empty() {
        out.push('\n');
        out.push_str(&curve);
    }
    let notes: Vec<String> = finding.notes.iter().map(|note| note_text(note, finding.what)).collect();
    if !notes.is_empty() {
        out.push('\n');
        notes.iter().for_each(|note| paragraph(&mut out, note, 2, 4, width));
    }
    out
}

/// Each goal: what was found, its criteria, why its search has ended, what else is to be known of it.
fn goals(out: &mut String, finding: &Finding, width: usize) {
    for goal in &finding.goals {
        paragraph(out, &goal_line(goal, finding.what), 0, 2, width);
        let held = goal.held_ns.map(|held_ns| format!(", held for {}", length(held_ns))).unwrap_or_default();
        let trials = counted(goal.trials.len() as u64, "trial counts", "trials count");
        let figures = format!(
            "{}{held}; {trials}, {} of load; {}",
            listed(&goal.criteria),
            length(goal.load_ns),
            reason_text(goal.reason)
        );
        paragraph(out, &figures, 2, 4, width);
        goal.notes.iter().for_each(|note| paragraph(out, &note_text(note, finding.what), 2, 4, width));
    }
    let took_ns = finding.trials.iter().map(|trial| trial.took_ns).sum();
    let trials = counted(finding.trials.len() as u64, "trial", "trials");
    paragraph(out, &format!("{trials}, {}", length(took_ns)), 0, 2, width);
}

/// Why no more trials were made for a goal.
fn reason_text(reason: Reason) -> &'static str {
    match reason {
        Reason::Precise => "ended at the precision that was wanted",
        Reason::Trials => "ended because the allowed trials are used up",
        Reason::Generator => "ended where the generator or its host may be the limit",
        Reason::Most => "ended at the highest load that was allowed",
        Reason::NotMet => "ended at the lowest load",
        Reason::Unstable => "ended because too many trials fail whatever their load",
        Reason::Undecided => "ended because its trials stay undecided",
    }
}

fn listed(criteria: &[String]) -> String {
    criteria.iter().map(|text| safe(text)).collect::<Vec<_>>().join(", ")
}

/// What was answered at each load, as bars; loads of several trials are one line.
fn curve(finding: &Finding, width: usize) -> String {
    let mut points: Vec<(f64, Vec<&Trial>)> = Vec::new();
    let mut trials: Vec<&Trial> = finding.trials.iter().filter(|trial| trial.passed().is_some()).collect();
    trials.sort_by(|a, b| a.load.total_cmp(&b.load));
    for trial in trials {
        match points.last_mut() {
            Some((load, of)) if trial.load <= *load * SAME_LINE => of.push(trial),
            _ => points.push((trial.load, vec![trial])),
        }
    }
    if points.len() < 2 {
        return String::new();
    }
    let mean = |of: &[&Trial]| of.iter().map(|trial| trial.answered_qps).sum::<f64>() / of.len() as f64;
    let most = points.iter().map(|(_, of)| mean(of)).fold(1e-9, f64::max);
    let room = width.saturating_sub(FIGURES_WIDTH).clamp(10, 50);
    let load_head = load_unit(finding);
    let mut out = format!("  {load_head:>13}  {:>11}  {:>9}  {:>8}\n", "answered/s", "passed", "p99");
    for (_, of) in &points {
        let load = of.iter().map(|trial| trial.load).sum::<f64>() / of.len() as f64;
        let passed = of.iter().filter(|trial| trial.passed() == Some(true)).count();
        let mut slow: Vec<(Quantile, u64)> =
            of.iter().filter_map(|trial| Some((trial.p99?.upper, trial.timeout_ns))).collect();
        slow.sort_unstable();
        let p99 = slow
            .get(slow.len() / 2)
            .map_or(NOTHING.to_owned(), |(p99, timeout_ns)| quantile(Some(*p99), *timeout_ns));
        let bar = "#".repeat((mean(of) / most * room as f64).round() as usize);
        let line = format!(
            "  {:>13}  {:>11}  {:>9}  {p99:>8}  {bar}",
            rate(load),
            rate(mean(of)),
            format!("{passed} of {}", of.len())
        );
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A note as a sentence.
pub(super) fn note_text(note: &FindNote, what: What) -> String {
    let unit = what.unit();
    let share = |share: &f64| format!("{:.1} %", share * 100.0);
    match note {
        FindNote::Warm { trials } => format!("warm-up: the server was warm after {trials} trials"),
        FindNote::NotWarm => NOT_WARM.to_owned(),
        FindNote::Noise { share: noise } => format!(
            "noise: the limit differs by {} from trial to trial (standard deviation); longer trials make it less",
            share(noise)
        ),
        FindNote::Lapses { share: lapses } => format!(
            "lapses: about {} of the trials failed whatever their load, as with a bad second now and then; look at \
             their records",
            share(lapses)
        ),
        FindNote::Imprecise { reached, wanted, trials_needed } => format!(
            "precision: ±{} is reached, ±{} was wanted; that would take about {} trials (--trials)",
            share(reached),
            share(wanted),
            count(u64::from(*trials_needed))
        ),
        FindNote::Drift { from, to } => format!(
            "drift: the limit moved during the search, from about {} to {} {unit}; the result is that of its end. Find \
             out what changes with time before you use it",
            rate(*from),
            rate(*to)
        ),
        FindNote::Hysteresis { from, to } => format!(
            "hysteresis: after an overload the server holds less, about {}..{} {unit}, until the load was lower than \
             that: plan for this figure, not for the capacity",
            rate(*from),
            rate(*to)
        ),
        FindNote::Collapse { load, answered_qps, peak_load, peak_qps } => format!(
            "congestion collapse: at {} {unit} only {} queries a second were answered, at {} {unit} it was {}: beyond \
             its limit the server answers fewer, not as many",
            rate(*load),
            rate(*answered_qps),
            rate(*peak_load),
            rate(*peak_qps)
        ),
        FindNote::Undecided { load, trials, criteria, reasons, open } => {
            let on =
                format!("{} from {} {unit} on", counted(u64::from(*trials), "trial", "trials"), rate(*load));
            let (what, then) = (depends_on(criteria, reasons), then_counted(*open, unit));
            format!("undecided: of {on} {what}; {then}")
        }
        FindNote::Errors { share: errors } => format!(
            "errors: {} of the queries in trials that passed were answered with SERVFAIL or REFUSED, which \
             no criterion forbids; to forbid it: --while 'servfail=0' --while 'refused=0'",
            percent(*errors)
        ),
        FindNote::UsualLoss { share: lost } => format!(
            "loss: {} of the queries were lost at low loads too; so much is put down to chance, or to the path. For a \
             bound of your own: --while 'loss<…'",
            percent(*lost)
        ),
        FindNote::Knee { rule, load, at_ns: 0, figures } => format!("{rule}: at {} ({figures})", rate(*load)),
        FindNote::Knee { rule, load, at_ns, figures } => {
            format!("{rule}: at {} {unit}, after {} ({figures})", rate(*load), length(*at_ns))
        }
        FindNote::Order { strict, loose, is_contradicted, is_used } => {
            order_text(&safe(strict), &safe(loose), *is_contradicted, *is_used)
        }
        FindNote::GoalResult(result) => goal_text(result, unit),
        FindNote::NotByTheBook { text } => format!("not by the book: {text}"),
    }
}

/// What the order of two goals is.
fn order_text(strict: &str, loose: &str, is_contradicted: bool, is_used: bool) -> String {
    if is_contradicted {
        return format!(
            "order: {strict} is stricter than {loose}, and yet the whole interval of its limit is above that of \
             {loose}: the server has changed between their trials, or something else has; do not use either before you \
             know what"
        );
    }
    let held = if is_used { "; the intervals are held to this" } else { "" };
    format!("order: {strict} is stricter than {loose}, so its limit is not above that{held}")
}

/// Why it is undecided whether trials have passed.
fn depends_on(criteria: &[String], reasons: &[String]) -> String {
    let criteria: Vec<String> = criteria.iter().map(|text| safe(text)).collect();
    let what = match criteria.is_empty() {
        true => "the load was not made as it was asked for".to_owned(),
        false => format!(
            "it depends on what the generator or its host has added whether they meet {}",
            criteria.join(", ")
        ),
    };
    if reasons.is_empty() { what } else { format!("{what} ({})", reasons.join(", ")) }
}

/// What becomes of trials that are undecided; `open` are the loads in which the interval allows for both.
fn then_counted(open: Option<(f64, f64)>, unit: &str) -> String {
    match open {
        Some((from, to)) => format!(
            "the interval allows for both in those from {} to {} {unit}, and the others count neither for the server \
             nor against it",
            rate(from),
            rate(to)
        ),
        None => "they count neither for the server nor against it".to_owned(),
    }
}

/// The sentence of a server that may not have been warm.
const NOT_WARM: &str = "warm-up: no two trials in a row at the first load agreed: the server may not have been warm, \
                        or is not steady; see --from and --trial";

/// Loads that differ by less are one line.
const SAME_LINE: f64 = 1.01;

/// The columns before the bars.
const FIGURES_WIDTH: usize = 51;
