//! The results of other programs as runs of a comparison.

use std::fs;
use std::path::PathBuf;

use dnsdyno_measure::Latency;
use dnsdyno_plan::expect::{ComparedMetric, Durations, Figure as Of, Metric, QueryCount, ResponseCount};
use dnsdyno_record::Headline;
use dnsdyno_report::import::{Ends, Imported, Latencies};

use super::figure::{Figure, Missing, OfRun};

/// The result of another program.
#[derive(Clone, Debug)]
pub struct ImportedRun {
    /// Its name among the others: that of its file.
    pub label: String,
    /// The file.
    pub path: PathBuf,
    /// What is in it.
    pub result: Imported,
}

impl ImportedRun {
    /// Whether the other one is the same file, or a copy of it. Results of short runs may well have the same figures.
    pub(super) fn is(&self, other: &ImportedRun) -> bool {
        let is_copy = || match (fs::read(&self.path), fs::read(&other.path)) {
            (Ok(mine), Ok(theirs)) => mine == theirs,
            _ => true,
        };
        self.path == other.path || (self.result == other.result && is_copy())
    }

    /// The figure of a metric.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn figure(&self, metric: &ComparedMetric) -> Result<OfRun, Missing> {
        let result = &self.result;
        let found = match metric.metric {
            Metric::Queries(QueryCount::Lost) => share(result, |queries, answered| queries - answered),
            Metric::Queries(QueryCount::Answered) => share(result, |_, answered| answered),
            Metric::Responses(ResponseCount::Rcode(_)) => return rcode(result, &metric.name),
            Metric::AnsweredRate => result.answered_qps.map(OfRun::exact),
            Metric::SentRate => result.sent_qps.map(OfRun::exact),
            Metric::Duration(which, figure) if is_counted(which, result) => return latency(result, figure),
            _ => None,
        };
        found.ok_or(Missing::NotInFormat)
    }
}

/// A share of the queries that ended.
fn share(result: &Imported, part: fn(u64, u64) -> u64) -> Option<OfRun> {
    let (queries, answered) = (result.queries.filter(|queries| *queries > 0)?, result.answered?);
    let of = |answered: u64| part(queries, answered) as f64 / queries as f64;
    Some(OfRun { whole: queries, ..OfRun::exact(of(answered.min(queries))) })
}

/// The share of the responses with an RCODE, of this name in a metric.
fn rcode(result: &Imported, name: &str) -> Result<OfRun, Missing> {
    let rcodes = result.rcodes.as_ref().ok_or(Missing::NotInFormat)?;
    let sum = |sum: u64, (_, count): &(String, u64)| sum.saturating_add(*count);
    let whole = rcodes.iter().fold(0, sum);
    if whole == 0 {
        return Err(Missing::TooFew);
    }
    let is_it = |(known, _): &&(String, u64)| known.eq_ignore_ascii_case(name);
    let part = rcodes.iter().filter(is_it).fold(0, sum);
    Ok(OfRun { whole, ..OfRun::exact(part as f64 / whole as f64) })
}

/// Whether the program counts durations from where the metric does.
fn is_counted(which: Durations, result: &Imported) -> bool {
    match which {
        Durations::Headline => true,
        Durations::Service => result.latency_from == Headline::Service,
        Durations::Response => result.latency_from == Headline::Response,
        Durations::Lateness => false,
    }
}

fn latency(result: &Imported, figure: Of) -> Result<OfRun, Missing> {
    match figure {
        Of::Average => average(result).ok_or(Missing::NotInFormat),
        Of::Quantile(q) => quantile(result, q),
        Of::Shortest | Of::Longest | Of::Slowest => Err(Missing::NotInFormat),
    }
}

/// The average as it was printed; else that of the buckets, between the two that they leave possible.
fn average(result: &Imported) -> Option<OfRun> {
    if let Some(average_ns) = result.average_ns {
        return Some(OfRun::exact(average_ns));
    }
    let Latencies::Counted(counted) = &result.latencies else { return None };
    counted.average_ns().map(|(from_ns, to_ns)| OfRun::rounded(from_ns, to_ns))
}

fn quantile(result: &Imported, q: f64) -> Result<OfRun, Missing> {
    let has_enough = |count: u64| if count >= Latency::needed(q) { Ok(()) } else { Err(Missing::TooFew) };
    match &result.latencies {
        Latencies::None => Err(Missing::NotInFormat),
        Latencies::Stated(stated) => {
            has_enough(result.queries.unwrap_or(0))?;
            let is_it = |(other, _): &&(f64, f64)| (other - q).abs() < 1e-9;
            let (_, ns) = stated.iter().find(is_it).ok_or(Missing::NotInFormat)?;
            Ok(OfRun::exact(*ns))
        }
        Latencies::Counted(counted) => {
            has_enough(counted.count())?;
            Ok(match counted.quantile(q).ok_or(Missing::TooFew)? {
                Ends::Between { from_ns, to_ns } => OfRun::rounded(from_ns, to_ns),
                Ends::BeyondTimeout { timeout_ns } => OfRun {
                    figure: Figure { value: timeout_ns, beyond_timeout: true },
                    ..OfRun::exact(timeout_ns)
                },
            })
        }
    }
}
