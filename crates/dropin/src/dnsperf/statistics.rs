//! The statistics of a run or of an interval, as dnsperf prints them.

use std::fmt::Write;

use crate::figures::{Durations, Figures};
use crate::hg64::buckets;
use crate::texts::{percent, rcodes, seconds};

/// What else is printed, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// `Queries` or `Updates`.
    pub(super) units: &'static str,
    pub(super) has_histogram: bool,
    /// The length of an interval; `None` = the statistics of the whole run.
    pub(super) interval_us: Option<u64>,
}

/// The text, of a run that has lasted this long.
pub(super) fn statistics(figures: &Figures, run_us: u64, form: Form) -> String {
    let mut text = String::new();
    let _ = write(&mut text, figures, run_us, form);
    text
}

fn write(out: &mut String, figures: &Figures, run_us: u64, form: Form) -> std::fmt::Result {
    let Figures { sent, answered, lost, interrupted, .. } = *figures;
    let units = form.units;
    writeln!(out, "{}Statistics:\n", if form.interval_us.is_some() { "Interval " } else { "" })?;
    writeln!(out, "  {units} sent:         {sent}")?;
    writeln!(out, "  {units} completed:    {answered} ({:.2}%)", percent(answered, sent))?;
    writeln!(out, "  {units} lost:         {lost} ({:.2}%)", percent(lost, sent))?;
    if interrupted > 0 {
        writeln!(out, "  {units} interrupted:  {interrupted} ({:.2}%)", percent(interrupted, sent))?;
    }
    if figures.unexpected > 0 {
        let share = percent(figures.unexpected, sent);
        writeln!(out, "  Unexpected IDs:       {} ({share:.2}%)", figures.unexpected)?;
    }
    writeln!(out, "\n  Response codes:       {}", rcodes(&figures.rcodes, answered))?;
    let (request, response) = figures.mean_bytes;
    writeln!(out, "  Average packet size:  request {request}, response {response}")?;
    writeln!(out, "  Run time (s):         {}", seconds(run_us))?;
    let rate_qps = figures.rate_qps(form.interval_us.unwrap_or(run_us));
    writeln!(out, "  {units} per second:   {rate_qps:.6}\n")?;
    latency(out, &figures.latency, form)?;
    if figures.latency.count > 1 && form.has_histogram {
        histogram(out, "answer count", &figures.histogram)?;
    }
    out.push('\n');
    let connections = &figures.connections;
    if !connections.is_any() {
        return Ok(());
    }
    let (attempts, successful) = (connections.attempts, connections.successful);
    let share = percent(successful, attempts);
    writeln!(out, "Connection Statistics:\n")?;
    writeln!(out, "  Connection attempts:  {attempts} ({successful} successful, {share:.2}%)\n")?;
    latency(out, &connections.latency, form)?;
    if connections.latency.count > 1 && form.has_histogram {
        histogram(out, "connection count", &connections.histogram)?;
    }
    out.push('\n');
    Ok(())
}

fn latency(out: &mut String, durations: &Durations, form: Form) -> std::fmt::Result {
    write!(out, "  Average Latency (s):  {}", seconds(durations.average_us()))?;
    match form.interval_us {
        None => {
            let (min, max) = (seconds(durations.min_us()), seconds(durations.max_us()));
            writeln!(out, " (min {min}, max {max})")?;
        }
        Some(_) => writeln!(out)?,
    }
    if durations.count > 1 {
        writeln!(out, "  Latency StdDev (s):   {:.6}", durations.stddev_s())?;
    }
    Ok(())
}

fn histogram(out: &mut String, what: &str, histogram: &dnsdyno_measure::Histogram) -> std::fmt::Result {
    writeln!(out, "  Latency bucket (s):   {what}")?;
    for bucket in buckets(histogram) {
        writeln!(out, "  {} - {}:  {}", seconds(bucket.from_us), seconds(bucket.to_us), bucket.count)?;
    }
    Ok(())
}
