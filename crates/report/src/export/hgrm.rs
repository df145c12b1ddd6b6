//! The percentiles of a run as text, as HdrHistogram's `outputPercentileDistribution` writes them, in milliseconds.
//!
//! ```text
//!          Value     Percentile TotalCount 1/(1-Percentile)
//!
//!       0.411647 0.000000000000          1           1.00
//!       0.509951 0.500000000000       2012           2.00
//! ```

use std::io::Write;

use dnsdyno_text::units::{count, setting};

use crate::export::hlog::{of_unanswered_ns, with_unanswered};
use crate::export::{ExportError, Run};

pub(crate) fn write(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    let timeout_ns = run.digest.header.timeout_ns;
    let latency = run.latency(run.digest.tally());
    let histogram = with_unanswered(latency, timeout_ns);
    let longest_ns = match latency.unanswered {
        0 => latency.answered.exact().map_or(0, |exact| exact.max_ns),
        _ => of_unanswered_ns(latency, timeout_ns),
    };
    writeln!(out, "{:>12} {:>14} {:>10} {:>14}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")?;
    let mut total = 0;
    for step in histogram.iter_quantiles(STEPS_PER_HALF) {
        total += step.count_since_last_iteration();
        let value_ns = histogram.highest_equivalent(step.value_iterated_to()).min(longest_ns);
        let quantile = step.quantile_iterated_to();
        write!(out, "{:12.6} {quantile:.12} {total:10}", ms(value_ns as f64))?;
        match quantile < 1.0 {
            true => writeln!(out, " {:14.2}", 1.0 / (1.0 - quantile))?,
            false => writeln!(out)?,
        }
    }
    let (mean_ms, stddev_ms) = (ms(histogram.mean()), ms(histogram.stdev()));
    writeln!(out, "#[Mean    = {mean_ms:12.6}, StdDeviation   = {stddev_ms:12.6}]")?;
    writeln!(out, "#[Max     = {:12.6}, Total count    = {:12}]", ms(longest_ns as f64), histogram.len())?;
    writeln!(out, "#[Buckets = {:12}, SubBuckets     = {:12}]", histogram.buckets(), SUB_BUCKETS)?;
    writeln!(
        out,
        "# Values in milliseconds: {} time of {} queries; {} without an answer in time are in it with {}.",
        run.latency_word(),
        count(histogram.len()),
        count(latency.unanswered),
        match of_unanswered_ns(latency, timeout_ns) {
            longer_ns if longer_ns > timeout_ns => format!("the longest time, {}", setting(longer_ns)),
            _ => format!("the timeout, {}", setting(timeout_ns)),
        }
    )?;
    Ok(())
}

fn ms(ns: f64) -> f64 {
    ns * 1e-6
}

/// Lines from a percentile to half of the distance that is left to 100 %; the default of HdrHistogram.
const STEPS_PER_HALF: u32 = 5;

/// Of the layout of all our histograms, with two significant digits.
const SUB_BUCKETS: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::sample;

    fn lines(run: &sample::Recorded) -> Vec<Vec<f64>> {
        let mut out = Vec::new();
        write(&run.run, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let figures = text.lines().skip(2).filter(|line| !line.starts_with('#'));
        figures.map(|line| line.split_whitespace().map(|cell| cell.parse().unwrap()).collect()).collect()
    }

    #[test]
    fn the_percentiles_are_those_of_the_summary() {
        let run = sample::recorded(&sample::header(), &[sample::second(0, 10_000, 0)]);
        let lines = lines(&run);
        let latency = run.run.latency(run.run.digest.tally());
        for q in [0.5, 0.75, 0.9375] {
            let line = lines.iter().find(|line| line[1] == q).unwrap();
            let rank = (q * 10_000.0) as u64;
            let difference_ms = line[0] - latency.answered.at_rank(rank).unwrap() as f64 * 1e-6;
            assert!(difference_ms.abs() < 1e-6, "at {q}: {difference_ms} ms");
            assert!(line[2] >= rank as f64, "at {q}: {line:?}");
        }
        let last = lines.last().unwrap();
        assert_eq!((last[0], last[1], last[2], last.len()), (40.009, 1.0, 10_000.0, 3));
    }

    #[test]
    fn queries_without_an_answer_are_at_the_timeout_and_a_run_without_any_has_no_lines() {
        let run = sample::recorded(&sample::header(), &[sample::second(0, 100, 60)]);
        assert!(lines(&run).iter().any(|line| line[..2] == [5_000.0, 0.5]));
        assert!(lines(&sample::recorded(&sample::header(), &[])).is_empty());
        // A response time can be longer.
        let mut second = sample::second(0, 100, 60);
        let tally = &mut second.tally;
        (tally.ends.answered, tally.ends.timed_out) = (41, 59);
        tally.types[0].answered += 1;
        tally.rcodes.add(0, 1);
        tally.service.record(400_000);
        tally.response.record(7_000_000_000);
        let lines = lines(&sample::recorded(&sample::header(), &[second]));
        assert!(lines.iter().all(|line| line[0] < 100.0 || line[0] == 7_000.0), "{lines:?}");
    }
}
