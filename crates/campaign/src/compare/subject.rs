//! What is compared: runs of dnsdyno, and results of other programs.

use dnsdyno_plan::expect::{ComparedMetric, Durations, Metric};
use dnsdyno_record::Headline;

use super::error::CompareError;
use super::figure::{Missing, OfRun, of_run};
use super::imported::ImportedRun;
use super::run::ComparedRun;
use super::side::Side;

/// A run of a comparison.
#[derive(Clone, Debug)]
pub enum Subject {
    /// Of dnsdyno.
    Run(Box<ComparedRun>),
    /// The result of another program.
    Imported(Box<ImportedRun>),
}

/// From when the latencies of a comparison count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LatencyFrom {
    /// As each run is headed: all are of dnsdyno.
    Headline,
    /// As the other programs count: the service time, or the response time.
    Other(Headline),
    /// Not from the same instant in all results: they are not compared.
    Several,
}

impl From<ComparedRun> for Subject {
    fn from(run: ComparedRun) -> Subject {
        Subject::Run(Box::new(run))
    }
}

impl From<ImportedRun> for Subject {
    fn from(run: ImportedRun) -> Subject {
        Subject::Imported(Box::new(run))
    }
}

impl Subject {
    /// Its name among the others.
    pub fn label(&self) -> &str {
        match self {
            Subject::Run(run) => &run.label,
            Subject::Imported(run) => &run.label,
        }
    }

    /// The run, where it is one of dnsdyno.
    pub fn run(&self) -> Option<&ComparedRun> {
        match self {
            Subject::Run(run) => Some(run),
            Subject::Imported(_) => None,
        }
    }

    pub(super) fn imported(&self) -> Option<&ImportedRun> {
        match self {
            Subject::Run(_) => None,
            Subject::Imported(run) => Some(run),
        }
    }

    pub(super) fn set_label(&mut self, label: String) {
        match self {
            Subject::Run(run) => run.label = label,
            Subject::Imported(run) => run.label = label,
        }
    }

    /// Whether they are the same run, which would count twice.
    pub(super) fn is(&self, other: &Subject) -> bool {
        let key = |run: &ComparedRun| (run.digest.header.run_id.clone(), run.digest.header.started_unix_ns);
        match (self, other) {
            (Subject::Run(run), Subject::Run(other)) => key(run) == key(other),
            (Subject::Imported(run), Subject::Imported(other)) => run.is(other),
            _ => false,
        }
    }

    /// The figure of a metric.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn figure(&self, metric: &ComparedMetric, from: LatencyFrom) -> Result<OfRun, Missing> {
        let metric = match (metric.metric, from) {
            (Metric::Duration(Durations::Headline, figure), LatencyFrom::Other(headline)) => {
                let which = match headline {
                    Headline::Service => Durations::Service,
                    Headline::Response => Durations::Response,
                };
                ComparedMetric { metric: Metric::Duration(which, figure), ..metric.clone() }
            }
            (Metric::Duration(Durations::Headline, _), LatencyFrom::Several) => {
                return Err(Missing::OtherInstant);
            }
            _ => metric.clone(),
        };
        match self {
            Subject::Run(run) => of_run(metric.metric, &run.digest).ok_or(Missing::TooFew),
            Subject::Imported(run) => run.figure(&metric),
        }
    }

    /// Whether its rate is that of the server: it waits for answers before it sends more.
    pub(super) fn is_closed_loop(&self) -> bool {
        match self {
            Subject::Run(run) => run.digest.header.headline == Headline::Service,
            Subject::Imported(run) => run.result.is_closed_loop,
        }
    }

    /// Whether it waits for no answers.
    pub(super) fn is_send_only(&self) -> bool {
        self.run().is_some_and(|run| run.digest.header.send_only)
    }
}

impl LatencyFrom {
    /// That of these runs.
    pub(super) fn of(subjects: &[&Subject]) -> LatencyFrom {
        let mut others = subjects.iter().filter_map(|subject| Some(subject.imported()?.result.latency_from));
        match others.next() {
            None => LatencyFrom::Headline,
            Some(first) if others.all(|other| other == first) => LatencyFrom::Other(first),
            Some(_) => LatencyFrom::Several,
        }
    }
}

/// Both sides, with short labels; each run counts once.
pub(super) fn prepared(
    baseline: Vec<Subject>,
    candidate: Vec<Subject>,
) -> Result<[Vec<Subject>; 2], CompareError> {
    let runs = baseline.len();
    let mut all: Vec<Subject> = baseline.into_iter().chain(candidate).collect();
    for (i, run) in all.iter().enumerate() {
        if let Some(other) = all[..i].iter().find(|other| other.is(run)) {
            return Err(CompareError::Twice {
                first: other.label().to_owned(),
                second: run.label().to_owned(),
            });
        }
    }
    shorten(&mut all);
    let candidate = all.split_off(runs);
    let sides = [all, candidate];
    for (runs, side) in sides.iter().zip([Side::Baseline, Side::Candidate]) {
        if runs.is_empty() {
            return Err(CompareError::NoRuns { side });
        }
    }
    Ok(sides)
}

/// The last parts of the paths, as many as make them different.
fn shorten(runs: &mut [Subject]) {
    let last_parts = |label: &str, count: usize| {
        let parts: Vec<&str> = label.split('/').filter(|part| !part.is_empty()).collect();
        parts[parts.len().saturating_sub(count)..].join("/")
    };
    let longest = runs.iter().map(|run| run.label().split('/').count()).max().unwrap_or(1);
    for count in 1..=longest {
        let mut short: Vec<String> = runs.iter().map(|run| last_parts(run.label(), count)).collect();
        let labels = short.clone();
        short.sort();
        short.dedup();
        if short.len() == runs.len() {
            runs.iter_mut().zip(labels).for_each(|(run, label)| run.set_label(label));
            return;
        }
    }
}
