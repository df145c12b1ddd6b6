//! Reads the results that each generator prints.

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::rig::Finished;

/// The format of a generator's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// The object of `dnsdyno run --json`.
    Dnsdyno,
    /// The statistics of dnsperf and resperf, which have the same format.
    Nominum,
    /// kxdpgun's totals.
    Kxdpgun,
    /// The best step of calidns.
    Calidns,
    /// flamethrower's summary.
    Flame,
    /// The counts of dnstcpbench.
    Dnstcpbench,
}

/// The results that a generator reports.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reported {
    /// Queries sent in total.
    pub(crate) sent: u64,
    /// Responses received in total.
    pub(crate) answered: u64,
    /// The time of sending.
    pub(crate) seconds: f64,
    /// Responses a second of the best step, for generators with steps.
    pub(crate) best_qps: Option<f64>,
    /// Its warnings about itself; only dnsdyno has them.
    pub(crate) warnings: Vec<String>,
}

impl OutputFormat {
    /// Reads the results from the output.
    pub(crate) fn read(self, finished: &Finished) -> anyhow::Result<Reported> {
        match self {
            Self::Dnsdyno => dnsdyno(&finished.stdout),
            Self::Nominum => nominum(&finished.stdout),
            Self::Kxdpgun => kxdpgun(&finished.stdout),
            Self::Calidns => calidns(&finished.stdout),
            Self::Flame => flame(&finished.stdout),
            Self::Dnstcpbench => dnstcpbench(&finished.stdout, finished.wall.as_secs_f64()),
        }
    }
}

impl Reported {
    fn plain(sent: u64, answered: u64, seconds: f64) -> Self {
        Self { sent, answered, seconds, best_qps: None, warnings: Vec::new() }
    }
}

fn dnsdyno(stdout: &str) -> anyhow::Result<Reported> {
    let summary: Value = serde_json::from_str(stdout)?;
    let number =
        |place: &str| summary.pointer(place).and_then(Value::as_u64).with_context(|| format!("no {place}"));
    let warnings = summary["generator"]["warnings"].as_array().into_iter().flatten();
    Ok(Reported {
        warnings: warnings.filter_map(|warning| Some(warning["text"].as_str()?.to_owned())).collect(),
        ..Reported::plain(
            number("/queries/sent")?,
            number("/queries/answered")?,
            number("/run/schedule_ns")? as f64 / 1e9,
        )
    })
}

fn nominum(stdout: &str) -> anyhow::Result<Reported> {
    let figure = |name: &str| first_word_after(stdout, name);
    Ok(Reported::plain(
        figure("Queries sent:")?.parse()?,
        figure("Queries completed:")?.parse()?,
        figure("Run time (s):")?.parse()?,
    ))
}

/// With `-r` it does not count responses and prints no line for them.
fn kxdpgun(stdout: &str) -> anyhow::Result<Reported> {
    let answered = first_word_after(stdout, "total replies:").map_or(Ok(0), str::parse)?;
    Ok(Reported::plain(
        first_word_after(stdout, "total queries:")?.parse()?,
        answered,
        first_word_after(stdout, "duration:")?.parse()?,
    ))
}

/// calidns raises the rate in steps; a step prints three lines:
///
/// ```text
///   Aiming at 60000qps (RD=0) for 1 seconds at cache hitrate 100%, need 1 misses, 60000 queries, ...
///   Achieved 59999.1 qps over 1.00002 seconds
///   Received 60000 packets over 1.05004 seconds (100%, adjusted received rate 57140.6 qps)
/// ```
fn calidns(stdout: &str) -> anyhow::Result<Reported> {
    let mut said = Reported { best_qps: Some(0.0), ..Reported::plain(0, 0, 0.0) };
    let mut lines = stdout.lines();
    while let Some(line) = lines.next() {
        let Some(rest) = line.strip_prefix("Aiming at ") else { continue };
        let (Some(achieved), Some(received)) = (lines.next(), lines.next()) else { break };
        // The last step has no such line where the queries ran out.
        let Some(received) = received.strip_prefix("Received ") else { break };
        let asked: u64 = rest.split_once("misses, ").and_then(|(_, rest)| first_word(rest)).parse_to()?;
        let seconds: f64 = achieved.split_once(" over ").and_then(|(_, rest)| first_word(rest)).parse_to()?;
        let answers: u64 = first_word(received).parse_to()?;
        said.sent += asked;
        said.answered += answers;
        said.seconds += seconds;
        said.best_qps = said.best_qps.map(|best| best.max(answers as f64 / seconds));
    }
    ensure!(said.seconds > 0.0, "no step of calidns is complete");
    Ok(said)
}

fn flame(stdout: &str) -> anyhow::Result<Reported> {
    let figure = |name: &str| first_word_after(stdout, name);
    Ok(Reported::plain(
        figure("total sent  :")?.parse()?,
        figure("total rcvd  :")?.parse()?,
        figure("runtime     :")?.parse()?,
    ))
}

/// Answered queries, and all others. The time is that of the whole run, because it prints none.
fn dnstcpbench(stdout: &str, seconds: f64) -> anyhow::Result<Reported> {
    let figure = |name: &str| -> anyhow::Result<u64> {
        let (_, rest) = stdout.split_once(name).with_context(|| format!("no {name:?}"))?;
        Some(rest.trim_start().split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default()).parse_to()
    };
    let answered = figure("OK:")?;
    let others = figure("network errors:")? + figure("other errors:")? + figure("Timeouts:")?;
    Ok(Reported::plain(answered + others, answered, seconds))
}

/// The first word after `name` on the line that starts with it.
fn first_word_after<'a>(text: &'a str, name: &str) -> anyhow::Result<&'a str> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
    line.and_then(first_word).with_context(|| format!("no line {name:?}"))
}

fn first_word(text: &str) -> Option<&str> {
    text.split_whitespace().next()
}

/// A number that must be present.
trait ParseTo {
    fn parse_to<T: std::str::FromStr>(self) -> anyhow::Result<T>;
}

impl ParseTo for Option<&str> {
    fn parse_to<T: std::str::FromStr>(self) -> anyhow::Result<T> {
        self.and_then(|word| word.parse().ok()).context("a figure is missing")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statistics_of_dnsperf_are_read() {
        let text = "Statistics:\n\n  Queries sent:         1000\n  Queries completed:    990 (99.00%)\n\
                    \x20 Queries lost:         10 (1.00%)\n\n  Run time (s):         2.000000\n";
        assert_eq!(nominum(text).unwrap(), Reported::plain(1000, 990, 2.0));
    }

    #[test]
    fn the_summary_of_dnsdyno_is_read_with_its_warnings() {
        let text = r#"{"run": {"schedule_ns": 2000000000}, "queries": {"sent": 10, "answered": 9},
                       "generator": {"ok": false, "warnings": [{"name": "late", "text": "sent late"}]}}"#;
        let said = dnsdyno(text).unwrap();
        assert_eq!((said.sent, said.answered, said.seconds), (10, 9, 2.0));
        assert_eq!(said.warnings, ["sent late"]);
    }

    #[test]
    fn the_totals_of_kxdpgun_are_read_with_answers_and_without() {
        // What kxdpgun 3.2.6 printed.
        let text = "using interface near, XDP threads 1, UDP, native mode\n\
                    thread#00: sent 622016, received 621836\n\
                    total queries:     622016 (311008 pps)\n\
                    total replies:     621836 (310918 pps) (99%)\n\
                    average DNS reply size: 34 B\n\
                    average Ethernet reply rate: 189038144 bps (189.04 Mbps)\n\
                    responded NOERROR:   621836\n\
                    duration: 2 s\n";
        assert_eq!(kxdpgun(text).unwrap(), Reported::plain(622_016, 621_836, 2.0));
        let dropping = "total queries:     2000000 (1000000 pps)\nduration: 2 s\n";
        assert_eq!(kxdpgun(dropping).unwrap(), Reported::plain(2_000_000, 0, 2.0));
    }

    #[test]
    fn the_best_complete_step_of_calidns_counts() {
        // What calidns 4.7 printed, with a step before it and one that it could not start.
        let text = "Generated 2 ready to use queries\n\
                    Aiming at 60000qps (RD=0) for 1 seconds at cache hitrate 100%, need 1 misses, 60000 queries, \
                    have 2 unknown left!\n\
                    Achieved 59999.1 qps over 1.0 seconds\n\
                    Received 60000 packets over 1.05004 seconds (100%, adjusted received rate 57140.6 qps)\n\
                    Aiming at 500000qps (RD=0) for 1 seconds at cache hitrate 100%, need 1 misses, 500000 \
                    queries, have 1 unknown left!\n\
                    Achieved 188139 qps over 2.65761 seconds\n\
                    Received 89280 packets over 2.70876 seconds (17.856%, adjusted received rate 32959.7 qps)\n\
                    Aiming at 500000qps (RD=0) for 1 seconds at cache hitrate 100%, need 1 misses, 500000 \
                    queries, have 0 unknown left!\n\
                    Not enough queries remaining (need at least 1 and got 0, please add more to the query file), \
                    exiting.\n";
        let said = calidns(text).unwrap();
        assert_eq!((said.sent, said.answered, said.best_qps), (560_000, 149_280, Some(60_000.0)));
        assert!(calidns("Generated 2 ready to use queries\n").is_err());
    }

    #[test]
    fn the_summary_of_flamethrower_is_read() {
        let text = "------\nrun id      : 7ffd\nrun start   : 2026-01-01T00:00:00Z\nruntime     : 5.02 s\n\
                    total sent  : 36000\ntotal rcvd  : 35990\nmin resp    : 0.1 ms\n";
        assert_eq!(flame(text).unwrap(), Reported::plain(36_000, 35_990, 5.02));
    }

    #[test]
    fn the_counts_of_dnstcpbench_are_read() {
        // What dnstcpbench 4.7 printed, but for the errors.
        let text = "Average qps: 1176.47, median qps: 1131.09\n\
                    Average UDP latency: 9730.9usec, median: 8463.73usec\n\
                    Average TCP latency: 29253.9usec, median: 3310.15usec\n\
                    OK: 20000, network errors: 3, other errors: 2\n\
                    Timeouts: 1\nTruncateds: 20000, auth answers: 20000\n";
        assert_eq!(dnstcpbench(text, 16.5).unwrap(), Reported::plain(20_006, 20_000, 16.5));
        assert!(dnstcpbench("OK: x, network errors: 3, other errors: 2\nTimeouts: 1\n", 1.0).is_err());
    }

    #[test]
    fn a_figure_that_is_missing_is_named() {
        let error = nominum("  Queries sent:  5\n").unwrap_err().to_string();
        assert!(error.contains("Queries completed"), "{error}");
        assert!(dnsdyno("{}").unwrap_err().to_string().contains("/queries/sent"));
    }
}
