//! The text of dnsperf, 2.0 to 2.16.

use dnsdyno_record::Headline;

use super::asked::CommandLine;
use super::buckets::{Counted, CountedBucket};
use super::imported::{Imported, Latencies};

/// Whether a text is one of dnsperf.
pub(super) fn is_one(text: &str) -> bool {
    text.lines().any(|line| line.trim() == BANNER) || statistics(text).is_some()
}

/// Reads it.
///
/// # Errors
/// The statistics are missing, or a line of them is not as dnsperf prints it.
pub(super) fn parse(text: &str) -> Result<Imported, String> {
    let block = statistics(text).ok_or(
        "it has no statistics: dnsperf prints them when it ends, after the line \"Statistics:\"; give its whole output",
    )?;
    let value = |name: &str| block.iter().find_map(|(key, value)| (*key == name).then_some(*value));
    let needed = |name: &str| {
        let found = value(&format!("Queries {name}")).or_else(|| value(&format!("Updates {name}")));
        found.ok_or_else(|| {
            format!("the line \"Queries {name}:\" is missing: give the whole output of dnsperf")
        })
    };
    let count = |name: &str| needed(name).and_then(|text| number::<u64>(text, name));
    let (sent, completed, lost) = (count("sent")?, count("completed")?, count("lost")?);
    let run_time_s: Option<f64> =
        value("Run time (s)").map(|text| number(text, "Run time (s)")).transpose()?;
    let command = command_line(text);
    let average = value("Average Latency (s)").map(|text| number::<f64>(text, "Average Latency (s)"));
    Ok(Imported {
        asked: command.as_ref().map(CommandLine::asked),
        is_closed_loop: command.as_ref().is_some_and(|command| !command.has_rate()),
        ended_early: reason(text) == Some(INTERRUPTED),
        queries: completed.checked_add(lost),
        answered: Some(completed),
        sent_qps: run_time_s.filter(|seconds| *seconds > 0.0).map(|seconds| sent as f64 / seconds),
        answered_qps: Some(needed("per second").and_then(|text| number(text, "per second"))?),
        average_ns: average.transpose()?.filter(|_| completed > 0).map(|seconds| seconds * 1e9),
        latencies: latencies(text, completed, lost, command.as_ref())?,
        rcodes: value("Response codes").map(rcodes).transpose()?,
        ..Imported::of(format!("dnsperf {}", version(text)).trim_end().to_owned(), Headline::Service)
    })
}

/// The lines "name: value" of the last block of statistics, up to those of the connections.
fn statistics(text: &str) -> Option<Vec<(&str, &str)>> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let begins = lines.iter().rposition(|line| *line == "Statistics:")?;
    let block = lines[begins + 1..].iter().take_while(|line| !ENDS.contains(line));
    let pairs: Vec<_> = block
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.trim(), value.trim()))
        .collect();
    // That of resperf has no line of lost queries there.
    pairs.iter().any(|(key, _)| ["Queries lost", "Updates lost"].contains(key)).then_some(pairs)
}

/// The first word of a value, as a number that is not negative.
fn number<T: std::str::FromStr + PartialOrd + Default>(text: &str, name: &str) -> Result<T, String> {
    let word = text.split_whitespace().next().unwrap_or_default();
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = word.parse::<T>().ok().filter(|number| is_plain && *number >= T::default());
    number.ok_or_else(|| format!("\"{name}\" is followed by no number: give the output of dnsperf unchanged"))
}

/// `NOERROR 9 (90.00%), NXDOMAIN 1 (10.00%)`
fn rcodes(text: &str) -> Result<Vec<(String, u64)>, String> {
    let one = |part: &str| {
        let (name, count) = part.trim().split_once(' ').unwrap_or((part.trim(), ""));
        let is_word = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let count = number(count, name)?;
        let wrong = || format!("\"{name}\" is no RCODE: give the output of dnsperf unchanged");
        is_word(name).then(|| (name.to_owned(), count)).ok_or_else(wrong)
    };
    text.split(',').filter(|part| !part.trim().is_empty()).map(one).collect()
}

/// The histogram of `-O latency-histogram`, if it is there: that of the queries, which is the first.
fn latencies(
    text: &str,
    completed: u64,
    lost: u64,
    command: Option<&CommandLine>,
) -> Result<Latencies, String> {
    let block = text.rsplit("\nStatistics:").next().unwrap_or_default();
    // That of the connections follows.
    let block = block.split("\nConnection Statistics:").next().unwrap_or_default();
    let Some((_, rows)) = block.split_once("Latency bucket (s):") else { return Ok(Latencies::None) };
    let row = |line: &str| -> Option<CountedBucket> {
        let (range, count) = line.trim().split_once(':')?;
        let (from, to) = range.split_once(" - ")?;
        let ns = |text: &str| text.trim().parse::<f64>().ok().map(|seconds| seconds * 1e9);
        Some(CountedBucket { from_ns: ns(from)?, to_ns: ns(to)?, count: count.trim().parse().ok()? })
    };
    let buckets: Vec<CountedBucket> = rows.lines().skip(1).map_while(row).collect();
    let timeout_ns = command.map_or(f64::NAN, CommandLine::timeout_ns);
    // Where the timeout is not known, a percentile beyond it would be invented.
    if !timeout_ns.is_finite() {
        return Ok(Latencies::None);
    }
    let counted = Counted::new(buckets, lost, timeout_ns)?;
    match counted.answered() == completed {
        true => Ok(Latencies::Counted(counted)),
        false => Err(format!(
            "its histogram has {} of {completed} answered queries: give the output of dnsperf unchanged",
            counted.answered()
        )),
    }
}

fn version(text: &str) -> &str {
    let words =
        |line: &str| line.trim().starts_with("Version ") || line.trim().starts_with("Nominum Version ");
    text.lines().find(|line| words(line)).and_then(|line| line.split_whitespace().last()).unwrap_or_default()
}

fn command_line(text: &str) -> Option<CommandLine> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("[Status] Command line:"))?;
    let words: Vec<String> = line.split_whitespace().skip(1).map(str::to_owned).collect();
    Some(CommandLine::new(&words))
}

/// Why it ended; `None` where it does not say so.
fn reason(text: &str) -> Option<&str> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("[Status] Testing complete ("))?;
    line.strip_suffix(')')
}

const BANNER: &str = "DNS Performance Testing Tool";
const INTERRUPTED: &str = "interruption";

/// The lines with which the next blocks begin.
const ENDS: [&str; 3] = ["Connection Statistics:", "DNS-over-HTTPS statistics:", "Latency bucket (s):"];
