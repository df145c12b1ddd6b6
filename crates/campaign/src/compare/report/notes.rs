//! What a reader must know of the runs, in words.

use dnsdyno_record::Headline;
use dnsdyno_text::safe;
use dnsdyno_text::units::{count, counted};

use crate::compare::{Comparison, Missing, Note, PastBaseline, Side};

/// A note on the runs, with what to do.
pub fn note(note: &Note) -> String {
    match note {
        Note::InDoubt { runs, warnings } => {
            let warnings = warnings.iter().map(|name| name.replace('_', " ")).collect::<Vec<_>>().join(", ");
            format!("{}: rate and loss are in doubt ({warnings}): they may not be the server's", all(runs))
        }
        Note::Incomplete { runs } => {
            format!(
                "{}: the record is incomplete; its figures are those of the recorded intervals",
                all(runs)
            )
        }
        Note::OnlyRefusals { runs } => format!(
            "{}: every response was REFUSED or SERVFAIL: the figures are those of this error, not of answers",
            all(runs)
        ),
        Note::EndedEarly { runs } => format!("{}: the run was ended before its time", all(runs)),
        Note::NotMeasured { metrics, run, why } => left_out(metrics, run, *why),
        Note::Imported { programs, with_ours, latency_from } => imported(programs, *with_ours, *latency_from),
        Note::Past(past) => baseline(past),
        Note::NotInterleaved { first } => {
            let (first, second) = match first {
                Side::Baseline => ("baseline", "candidate"),
                Side::Candidate => ("candidate", "baseline"),
            };
            format!(
                "all runs of the {first} were made before those of the {second}: what changed on the hosts between \
                 them looks like a difference of the servers; make them in turn"
            )
        }
        Note::NoPlan { run } => {
            format!("{}: it has no plan.toml that can be read, so options were not compared", safe(run))
        }
        Note::NoHash { run } => {
            format!(
                "{}: the record does not say which queries were sent; only their number was compared",
                safe(run)
            )
        }
        Note::Versions { versions } => {
            format!("the runs were made by several versions of dnsdyno: {}", safe(&versions.join(", ")))
        }
    }
}

/// `p99, p99.9 are left out: …`
fn left_out(metrics: &[String], run: &str, why: Missing) -> String {
    let are = if metrics.len() == 1 { "is" } else { "are" };
    let named = metrics.iter().map(|metric| safe(metric)).collect::<Vec<_>>().join(", ");
    let run = safe(run);
    let why = match (why, metrics.len()) {
        (Missing::TooFew, 1) => format!("{run} has too few queries for it, or is too short"),
        (Missing::TooFew, _) => format!("{run} has too few queries for them, or is too short"),
        (Missing::NotInFormat, _) => format!("not in the format of {run}"),
        (Missing::OtherInstant, _) => {
            "the programs count latencies from different instants, the sending or when it was due".to_owned()
        }
    };
    format!("{named} {are} left out: {why}")
}

/// What is said of a bound whose metric is in no row.
pub(super) fn not_measured(comparison: &Comparison, bound: &str) -> String {
    let name = bound.split(['+', '-']).next().unwrap_or_default().trim().to_lowercase();
    let why = comparison.notes.iter().find_map(|note| match note {
        Note::NotMeasured { metrics, run, why } => {
            let metric = metrics.iter().find(|metric| **metric == name)?;
            Some(left_out(std::slice::from_ref(metric), run, *why))
        }
        _ => None,
    });
    why.unwrap_or_else(|| "not measured in all runs".to_owned())
}

fn imported(programs: &[(String, Vec<String>)], with_ours: bool, latency_from: Option<Headline>) -> String {
    let runs = |(program, runs): &(String, Vec<String>)| format!("{} is of {}", all(runs), safe(program));
    let each = programs.iter().map(runs).collect::<Vec<_>>().join("; ");
    let differs = match (with_ours, programs.len()) {
        (false, 1) => "",
        _ => "; what differs between the programs that measured looks like a difference of the servers",
    };
    let counted = match latency_from {
        Some(Headline::Service) => "; latencies count from the sending (service time)",
        Some(Headline::Response) => "; latencies count from when a query was due (response time)",
        None => "",
    };
    let unchecked = "; what was asked is compared only as far as the file says it";
    format!("{each}{differs}{counted}{unchecked}")
}

fn baseline(past: &PastBaseline) -> String {
    format!("the baseline is the past: {}; left out: {}", units(past), past.left_out)
        .replace("; left out: nothing was left out", "")
}

/// `12 sessions`, or `9 runs of this session`.
pub(super) fn units(past: &PastBaseline) -> String {
    let units = past.units as u64;
    match past.are_sessions {
        true => counted(units, "session of the same kind", "sessions of the same kind"),
        false => counted(units, "run of this session", "runs of this session"),
    }
}

/// How much of a past is needed. A session is what was made without a pause of an hour.
pub(super) fn units_needed(past: &PastBaseline, new_runs: usize) -> String {
    let needed = format!("at least {} are needed", count(past.fewest as u64));
    let made = match new_runs {
        1 => "for 1 new run".to_owned(),
        runs => format!("for {runs} new runs"),
    };
    match new_runs {
        0..3 => format!("{needed} {made}; fewer for 3 new runs or more."),
        _ => format!("{needed} {made} (a pause of an hour begins another session)."),
    }
}

/// All labels of runs.
fn all(runs: &[String]) -> String {
    runs.iter().map(|run| safe(run)).collect::<Vec<_>>().join(", ")
}
