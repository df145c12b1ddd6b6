//! Whether a run counts: what its own record says against it.

use dnsdyno_record::figures::{judged, lost, sent};
use dnsdyno_record::{Digest, Ended, Row};

use super::behind::limit;
use crate::doubts::with_effect;

/// What makes a run of a load doubtful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strictness {
    /// By how much the rates answered in the last windows may differ, in thousandths; `None` = not looked at, because
    /// the load or the server is to change during the run.
    pub steady_permille: Option<u32>,
    /// Whether answers may be errors of any kind.
    pub any_answer: bool,
    /// Whether runs count whose rate or loss was in doubt, or whose host had no CPU for a time.
    pub keeps_doubtful: bool,
}

/// Why a run does not count.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// The server answered wrongly, or not at all: the run says nothing about its speed.
    Void(String),
    /// The record is incomplete, or the run was ended before its time.
    Incomplete(String),
    /// Rate or loss may not be those of the server, for these reasons by name.
    Unsure(String),
    /// The hypervisor gave the CPU to others, for this share of the time.
    Steal(f64),
    /// The rates answered in the last windows differ by this share.
    NotSteady(f64),
    /// The server failed: it died, or did not start.
    Failed(String),
}

impl Doubt {
    /// Whether the run has figures of the server, if doubtful ones.
    pub fn has_figures(&self) -> bool {
        matches!(self, Doubt::Unsure(_) | Doubt::Steal(_) | Doubt::NotSteady(_))
    }
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Doubt::Void(why) => write!(f, "void: {why}"),
            Doubt::Incomplete(why) => write!(f, "incomplete: {why}"),
            Doubt::Unsure(why) => write!(f, "in doubt: {why}"),
            Doubt::Steal(share) => {
                write!(f, "the host had no CPU for {:.1} % of the time (steal)", share * 100.0)
            }
            Doubt::NotSteady(share) => {
                write!(
                    f,
                    "not steady: the rates answered in the last {WINDOWS} windows differ by {:.1} %",
                    share * 100.0
                )
            }
            Doubt::Failed(why) => f.write_str(why),
        }
    }
}

/// What speaks against a run, by its record; nothing if it counts.
pub fn doubts(run: &Digest, strictness: Strictness) -> Vec<Doubt> {
    let mut found = Vec::new();
    found.extend(incomplete(run).map(Doubt::Incomplete));
    if !strictness.any_answer {
        found.extend(wrong_answers(run).map(Doubt::Void));
    }
    let is_kept = strictness.keeps_doubtful;
    // What late sends have added to a percentile is in its ends, by which servers are compared.
    let unsure: Vec<String> = with_effect(run).iter().map(|doubt| doubt.name().replace('_', " ")).collect();
    if !unsure.is_empty() && !is_kept {
        found.push(Doubt::Unsure(unsure.join(", ")));
    }
    let of_world = limit(run).filter(|limit| limit.is_a_doubt() && !is_kept);
    found.extend(of_world.map(|limit| Doubt::Unsure(limit.to_string())));
    found.extend(steal(run).filter(|share| *share > MOST_STEAL && !is_kept).map(Doubt::Steal));
    if let Some(permille) = strictness.steady_permille {
        let most = f64::from(permille) / 1000.0;
        found.extend(unsteadiness(run).filter(|share| *share > most).map(Doubt::NotSteady));
    }
    found
}

fn incomplete(run: &Digest) -> Option<String> {
    match run.ended() {
        _ if run.has_gap() => Some("lines of the record are lost".to_owned()),
        None => Some("the record has no end".to_owned()),
        Some(Ended::ByTime | Ended::ByCount | Ended::ByPasses | Ended::ByCondition { .. }) if run.torn => {
            Some("the last line of the record is cut".to_owned())
        }
        Some(Ended::ByTime | Ended::ByCount | Ended::ByPasses | Ended::ByCondition { .. }) => None,
        Some(Ended::Failed { .. }) => Some("the run failed".to_owned()),
        Some(_) => Some("the run was stopped".to_owned()),
    }
}

/// Answers that no server gives that has what it is asked for, and answers to other questions.
fn wrong_answers(run: &Digest) -> Option<String> {
    let tally = run.tally();
    if run.header.send_only || sent(tally) == 0 {
        return None;
    }
    let answered = tally.rcodes.total();
    if answered == 0 {
        return Some(format!("none of {} queries was answered", judged(tally)));
    }
    let wrong = |(code, name): &(u16, &str)| {
        let count = tally.rcodes.of(*code);
        (count as f64 > answered as f64 * MOST_WRONG)
            .then(|| format!("{:.1} % of the answers are {name}", count as f64 / answered as f64 * 100.0))
    };
    let found: Vec<String> = WRONG.iter().filter_map(wrong).collect();
    if !found.is_empty() {
        return Some(found.join(", "));
    }
    let anomalies = &run.arrivals().anomalies;
    let odd = anomalies.wrong_question + anomalies.malformed;
    (odd as f64 > answered as f64 * MOST_WRONG)
        .then(|| format!("{odd} responses are malformed, or answer another question"))
}

/// The share of the time for which the CPUs of the host were given to other hosts; `None` where it was not read.
fn steal(run: &Digest) -> Option<f64> {
    let mut share = None;
    for samples in run.watched().iter().flatten() {
        let of_cpus = || samples.counters.iter().filter(|(name, _)| is_time_of_cpu(name));
        let all: u64 = of_cpus().map(|(_, ns)| *ns).fold(0, u64::saturating_add);
        let stolen: u64 = of_cpus()
            .filter(|(name, _)| name.ends_with(".steal_ns"))
            .map(|(_, ns)| *ns)
            .fold(0, u64::saturating_add);
        if all > 0 {
            share = Some((stolen as f64 / all as f64).max(share.unwrap_or(0.0)));
        }
    }
    share
}

/// `cpu0.steal_ns`.
fn is_time_of_cpu(name: &str) -> bool {
    let number = name.strip_prefix("cpu").and_then(|rest| rest.split_once('.'));
    number.is_some_and(|(number, what)| {
        !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) && what.ends_with("_ns")
    })
}

/// By what share of their mean the rates answered in the last windows differ; `None` where there are not so many
/// windows. The last row of a run may be a part of a window, and is then left out.
fn unsteadiness(run: &Digest) -> Option<f64> {
    let rows = run.rows();
    let longest = rows.iter().map(|row| row.covered_ns).max()?;
    let whole: Vec<&Row> = rows.iter().filter(|row| row.covered_ns == longest).collect();
    let last = whole.len().checked_sub(WINDOWS).and_then(|from| whole.get(from..))?;
    let rates = || last.iter().map(|row| row.tally.ends.answered as f64);
    let mean = rates().sum::<f64>() / WINDOWS as f64;
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    (mean > 0.0).then(|| (most - least) / mean)
}

/// The share of the queries that were lost.
pub(crate) fn loss(run: &Digest) -> Option<f64> {
    let of = judged(run.tally());
    (of > 0).then(|| lost(run.tally()) as f64 / of as f64)
}

/// Codes that say that the server does not have, or does not do, what it is asked for.
const WRONG: [(u16, &str); 4] = [(1, "FORMERR"), (2, "SERVFAIL"), (4, "NOTIMP"), (5, "REFUSED")];

/// More than this share of the answers is no accident.
const MOST_WRONG: f64 = 0.01;

/// The share of stolen time from which a run is in doubt.
const MOST_STEAL: f64 = 0.01;

/// The windows at the end of a run that are compared: its last intervals.
pub(super) const WINDOWS: usize = 3;
