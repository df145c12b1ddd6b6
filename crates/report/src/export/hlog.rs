//! The HdrHistogram log, version 1.3: a histogram for each interval, in nanoseconds.
//!
//! ```text
//!   #[Histogram log format version 1.3]
//!   #[StartTime: 1760000000.000 (seconds since epoch)]
//!   "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
//!   Tag=response,0.000,1.000,40.108,HISTFAAAA…
//! ```
//!
//! The histograms are those of the record, with the same buckets. A query without an answer in time is in them with the
//! timeout, so that a percentile read from the log is that of the summary.

use std::io::{self, Write};
use std::time::Duration;

use dnsdyno_measure::{CEILING_NS, Latency, SIGNIFICANT_DIGITS};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError, Tag};

use crate::export::{ExportError, Run};

pub(crate) fn write(run: &Run, mut out: &mut dyn Write) -> Result<(), ExportError> {
    let header = &run.digest.header;
    let started_s = header.started_unix_ns as f64 * 1e-9;
    writeln!(out, "#[Histogram log format version 1.3]")?;
    writeln!(out, "#[StartTime: {started_s:.3} (seconds since epoch)]")?;
    writeln!(out, "#[BaseTime: {started_s:.3} (seconds since epoch)]")?;
    writeln!(out, "{LEGEND}")?;
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new();
    log.with_max_value_divisor(MAX_VALUE_DIVISOR);
    let mut log = log.begin_log_with(&mut out, &mut serializer)?;
    for interval in run.intervals()? {
        let interval = interval?;
        let histogram = with_unanswered(run.latency(&interval.tally), header.timeout_ns);
        // Readers divide by the length: it is that of the load in the interval.
        let length_ns = match interval.covered_ns() {
            0 => interval.to_ns.saturating_sub(interval.from_ns),
            covered_ns => covered_ns,
        };
        let (start, length) = (Duration::from_nanos(interval.from_ns), Duration::from_nanos(length_ns));
        log.write_histogram(&histogram, start, length, Tag::new(run.latency_word())).map_err(as_io)?;
    }
    Ok(())
}

/// Where queries without an answer in time are: at the timeout, or at the longest time of an answer where that is
/// longer, as a response time can be.
pub(crate) fn of_unanswered_ns(latency: Latency<'_>, timeout_ns: u64) -> u64 {
    timeout_ns.max(latency.answered.exact().map_or(0, |exact| exact.max_ns))
}

/// The histogram of all queries, those without an answer in time among them.
pub(crate) fn with_unanswered(latency: Latency<'_>, timeout_ns: u64) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, CEILING_NS, SIGNIFICANT_DIGITS)
        .expect("the layout of all histograms is one of HdrHistogram's");
    for bucket in latency.answered.buckets() {
        histogram.saturating_record_n(bucket.from_ns, bucket.count);
    }
    // Of nothing recorded it would take the longest duration.
    if latency.unanswered > 0 {
        histogram.saturating_record_n(of_unanswered_ns(latency, timeout_ns), latency.unanswered);
    }
    histogram
}

fn as_io<E: std::error::Error + Send + Sync + 'static>(error: IntervalLogWriterError<E>) -> io::Error {
    match error {
        IntervalLogWriterError::IoError(error) => error,
        IntervalLogWriterError::SerializeError(error) => io::Error::other(error),
    }
}

/// The titles, as HdrHistogram writes them.
const LEGEND: &str = r#""StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram""#;

/// The column `Interval_Max` is in milliseconds, as HdrHistogram has it by default; the histograms stay in nanoseconds.
const MAX_VALUE_DIVISOR: f64 = 1e6;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;
    use crate::export::sample;

    #[test]
    fn the_log_has_the_histogram_of_each_interval_and_timeouts_are_in_it() {
        let seconds = [sample::second(0, 2_000, 0), sample::second(1, 4_000, 100)];
        let run = sample::recorded(&sample::header(), &seconds);
        let mut out = Vec::new();
        write(&run.run, &mut out).unwrap();
        // The legend is not part of the format of the crate's own reader.
        let text = String::from_utf8(out).unwrap().replace(&format!("{LEGEND}\n"), "");
        assert!(text.contains("Tag=response,0.000,1.000,40.108,"), "{text}");
        let mut read = BTreeMap::new();
        for entry in IntervalLogIterator::new(text.as_bytes()) {
            if let LogEntry::Interval(line) = entry.unwrap() {
                let packed = base64::decode(line.encoded_histogram());
                let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut &packed[..]).unwrap();
                assert_eq!(line.tag().map(|tag| tag.as_str().to_owned()).as_deref(), Some("response"));
                assert_eq!(line.duration(), Duration::from_secs(1));
                read.insert(line.start_timestamp(), histogram);
            }
        }
        let read: Vec<_> = read.into_values().collect();
        assert_eq!(read.len(), 2);
        let answered = Latency { answered: &seconds[0].tally.response, unanswered: 0 };
        assert_eq!(read[0], with_unanswered(answered, 5_000_000_000));
        assert_eq!(read[0].value_at_quantile(0.9), answered.answered.at_rank(1_800).unwrap());
        assert_eq!((read[1].len(), read[1].count_at(5_000_000_000)), (4_000, 100));
    }

    /// The little of base64 that a test needs.
    mod base64 {
        pub(super) fn decode(text: &str) -> Vec<u8> {
            let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            let (mut out, mut bits, mut count) = (Vec::new(), 0_u32, 0);
            for byte in text.bytes().filter(|byte| *byte != b'=') {
                bits = bits << 6 | alphabet.iter().position(|known| *known == byte).unwrap() as u32;
                count += 6;
                if count >= 8 {
                    count -= 8;
                    out.push((bits >> count) as u8);
                }
            }
            out
        }
    }
}
