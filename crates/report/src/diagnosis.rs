//! Which bottleneck the evidence of a run shows: the series of what was watched, joined with how the queries ended.
//!
//! ```text
//!   the record ──► Timeline ────────────┐
//!                  lost, slow, figures  ├─► Losses::explain, rule by rule ──► Finding ──► Diagnosis
//!   rules.toml ──► Track ───────────────┘   a cause before its effects
//!                  on the sources of this run
//! ```
//!
//! docs/diagnose.md says to users how evidence is judged.

mod campaign;
mod cross_check;
mod found;
mod judge;
mod rules;
mod sources;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod timeline;
mod tracks;
mod words;

use std::path::Path;

use dnsdyno_record::{Digest, Line, ReadError, RunReader};

pub use campaign::{
    CellOfExperiment, ChosenRun, ExperimentDiagnosis, SearchDiagnosis, experiment_diagnosis_json,
    experiment_diagnosis_text, search_diagnosis_json, search_diagnosis_text,
};
use cross_check::cross_check;
pub use found::{Comparison, Diagnosis, Evidence, Explained, Finding, Parameter, Trouble};
use judge::{Explanation, Losses};
use rules::{Loss, rules};
use sources::Sources;
pub use text::{diagnosis_json, diagnosis_text, first_finding_text};
use timeline::Timeline;
use tracks::Track;
use words::{Described, verdict_of};

use crate::check::only_refusals;
use dnsdyno_text::safe;
use dnsdyno_text::units::{count, counted};

/// Diagnoses the run whose record is at `path`, a run's folder or its file.
///
/// # Errors
/// As [`RunReader`].
pub fn diagnosis(path: &Path) -> Result<Diagnosis, ReadError> {
    let digest = Digest::read(path)?;
    let lines = RunReader::open(path)?;
    let mut diagnoser = Diagnoser::new(&digest);
    for line in lines {
        if let Line::Interval(interval) = line? {
            diagnoser.add(&interval);
        }
    }
    Ok(diagnoser.finish())
}

/// Diagnoses a run while its intervals are read.
struct Diagnoser<'a> {
    digest: &'a Digest,
    sources: Sources,
    tracks: Vec<Track<'a>>,
    timeline: Timeline,
}

impl<'a> Diagnoser<'a> {
    fn new(digest: &'a Digest) -> Diagnoser<'a> {
        let sources = Sources::of(digest);
        let tracks = Track::all(rules(), &sources, &digest.header);
        let timeline = Timeline::new(&digest.header, &tracks);
        Diagnoser { digest, sources, tracks, timeline }
    }

    fn add(&mut self, interval: &dnsdyno_record::Interval) {
        self.timeline.add(&self.digest.header, interval, &self.sources, &self.tracks);
    }

    fn finish(self) -> Diagnosis {
        let Diagnoser { digest, sources, tracks, timeline } = self;
        let timeline = timeline.finish(&sources, &tracks);
        let mut losses = Losses::of(&timeline);
        let checked = cross_check(digest, &sources);
        let found: Vec<Explanation> = rules()
            .iter()
            .enumerate()
            .filter_map(|(number, rule)| losses.explain(number, rule, &tracks, &timeline))
            .collect();
        let found = in_order(found);
        let has_servfail = timeline.entries.iter().any(|entry| entry.lost[Loss::Servfail as usize] > 0);
        let has_wrong = timeline.entries.iter().any(|entry| entry.lost[Loss::Wrong as usize] > 0);
        let lost = match (has_wrong, has_servfail) {
            (true, _) => ("query without a right answer", "queries without a right answer"),
            (false, true) => {
                ("query without an answer or with SERVFAIL", "queries without an answer or with SERVFAIL")
            }
            (false, false) => ("unanswered query", "unanswered queries"),
        };
        let described = Described {
            rules: rules(),
            tracks: &tracks,
            sources: &sources,
            timeline: &timeline,
            losses: &losses,
            lost,
        };
        let mut findings: Vec<_> =
            found.iter().filter_map(|explanation| described.finding(explanation)).collect();
        findings.extend(lost_on_path(&described, &found, checked.lost_on_path));
        let on_path: u64 = findings.iter().skip(found.len()).map(|found| found.explains.unanswered).sum();
        let trouble = Trouble {
            unanswered: losses.unanswered(),
            due: described.due(),
            slow_intervals: losses.slow(),
            intervals: timeline.entries.iter().filter(|entry| entry.due > 0).count() as u64,
        };
        let generator: Vec<_> = digest.warnings().iter().map(|warning| safe(&warning.to_string())).collect();
        let unexplained = losses.left().saturating_sub(on_path);
        let mut verdict = match findings.is_empty() && trouble.unanswered == 0 && trouble.slow_intervals == 0
        {
            true => nothing_to_explain(digest, &trouble),
            false => verdict(&findings, &trouble, sources.is_watched(), lost, timeline.words()),
        };
        if !generator.is_empty() {
            verdict.insert_str(0, "Rate and loss are in doubt. ");
        }
        Diagnosis {
            verdict,
            watched: sources.is_watched(),
            generator,
            trouble,
            findings,
            cross_check: checked.comparisons,
            not_compared: checked.not_compared,
            unexplained,
        }
    }
}

/// What explains most first, but a cause before what it causes: a server without CPU time lets its queue overflow, also
/// in seconds in which the CPU alone would not show it.
fn in_order(mut found: Vec<Explanation>) -> Vec<Explanation> {
    // The generator's own side first: it says whether the rest is about the server.
    let most_first = |explanation: &Explanation| {
        let is_generator = explanation.rule == 0;
        std::cmp::Reverse((is_generator, explanation.unanswered, explanation.slow))
    };
    found.sort_by_key(most_first);
    let is_behind = |effect: &Explanation, cause: &Explanation| {
        let name = rules().get(effect.rule).map(|rule| &rule.name);
        let behind = rules().get(cause.rule).map(|rule| &rule.behind);
        name.zip(behind).is_some_and(|(name, behind)| behind.contains(name))
    };
    let mut ordered: Vec<Explanation> = Vec::new();
    // In the file of rules causes stand above their effects, so there is always one without a cause that is left.
    while let Some(next) =
        (0..found.len()).find(|at| !found.iter().any(|cause| is_behind(&found[*at], cause)))
    {
        ordered.push(found.remove(next));
    }
    ordered
}

/// Queries and responses that left one host and did not arrive at the other one, as far as nothing else explains them.
fn lost_on_path(described: &Described<'_>, found: &[Explanation], lost_on_path: u64) -> Option<Finding> {
    let rule = rules().iter().find(|rule| rule.name == PATH_LOSS)?;
    // Such a rule may have counted several datagrams as one packet: then the rest is not known to be anybody's.
    let is_found = found.iter().any(|explanation| {
        rules().get(explanation.rule).is_some_and(|rule| ON_PATH.contains(&rule.name.as_str()))
    });
    let of = described.losses.unanswered();
    let unanswered = lost_on_path.min(described.losses.left());
    // Packets that a kernel has counted together, and readings that were late, leave a small rest.
    let least = of.max(described.due()).div_ceil(100);
    if is_found || unanswered < LEAST_LOST_ON_PATH.max(least) {
        return None;
    }
    let sentence = format!(
        "{} of the {} are as many as left one host and did not arrive at the other: see the comparison of both sides.",
        count(unanswered),
        counted(of, described.lost.0, described.lost.1)
    );
    Some(Finding {
        rule: rule.name.clone(),
        title: rule.title.clone(),
        sentence,
        explains: Explained { unanswered, of, ..Explained::default() },
        share: unanswered as f64 / of.max(1) as f64,
        advice: rule.advice.clone(),
        check: rule.check.clone(),
        source: rule.source.clone(),
        ..Finding::default()
    })
}

/// That there is nothing to explain, as far as the record can tell.
fn nothing_to_explain(digest: &Digest, trouble: &Trouble) -> String {
    let cut = if digest.is_complete() || digest.in_progress { "" } else { " The record is incomplete." };
    if digest.header.send_only {
        return format!("No response was awaited (--send-only): nothing is known of lost queries.{cut}");
    }
    if trouble.due == 0 {
        return format!("No query has ended: nothing is known of the server.{cut}");
    }
    match only_refusals(digest) {
        Some(names) => format!(
            "No query was lost, but every response was {names}: the figures are those of this error, not of answers.\
             {cut}"
        ),
        None => match digest.tally().ends.interrupted {
            0 => format!(
                "No query was lost, and no interval was slower than others: there is nothing to explain.{cut}"
            ),
            interrupted => format!(
                "No query was lost, and no interval was slower than others; {} interrupted: nothing is known of the \
                 server's answers to them.{cut}",
                counted(interrupted, "query was", "queries were")
            ),
        },
    }
}

fn verdict(
    findings: &[Finding],
    trouble: &Trouble,
    is_watched: bool,
    lost: (&str, &str),
    slow: (&str, &str),
) -> String {
    match findings {
        [first, ..] => verdict_of(first, lost, slow),
        [] => {
            let what = match trouble.unanswered {
                0 => format!("the {} with slow responses", counted(trouble.slow_intervals, slow.0, slow.1)),
                unanswered => format!("the {}", counted(unanswered, lost.0, lost.1)),
            };
            let hint = if is_watched { "" } else { "; nothing was watched: run again with --watch auto" };
            format!("Nothing here explains {what}{hint}.")
        }
    }
}

/// The rule for what no counter of a host has.
const PATH_LOSS: &str = "path-loss";

/// Rules whose packets are missing on the other side too.
const ON_PATH: [&str; 5] = ["link", "conntrack", "backlog", "fragments", PATH_LOSS];

/// Fewer may have been lost by chance.
const LEAST_LOST_ON_PATH: u64 = 3;
