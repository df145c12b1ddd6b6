//! The metrics of a run as text: OpenMetrics 1.0, or the older format of Prometheus for clients that do not ask for it.

use std::collections::HashMap;
use std::fmt;
use std::fmt::Write;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;

use super::buckets::{BOUNDS_NS, seconds};
use super::families::{Family, Labels, Samples};

/// The text of OpenMetrics 1.0.
pub(crate) fn open_metrics(families: Vec<Family>) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Snapshot(families)));
    let mut text = String::new();
    text::encode(&mut text, &registry)?;
    Ok(text)
}

/// The text format 0.0.4 of Prometheus: the same samples, under comments that name each family as its samples are
/// named.
pub(crate) fn prometheus_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = "";
    for line in open_metrics.lines() {
        let comment = line.strip_prefix("# ").and_then(|comment| comment.split_once(' '));
        let (suffix, kind) = match comment {
            Some(("HELP", named)) => {
                help = named.split_once(' ').map_or("", |(_, help)| help);
                continue;
            }
            Some(("TYPE", named)) if named.ends_with(" counter") => ("_total", "counter"),
            Some(("TYPE", named)) if named.ends_with(" info") => ("_info", "gauge"),
            Some(("TYPE", named)) => ("", named.rsplit(' ').next().unwrap_or_default()),
            Some(("UNIT", _)) => continue,
            _ if line == "# EOF" => continue,
            _ => {
                text.push_str(line);
                text.push('\n');
                continue;
            }
        };
        let name = comment.and_then(|(_, named)| named.split(' ').next()).unwrap_or_default();
        // Writing to a text cannot fail.
        let _ = write!(text, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}\n");
    }
    text
}

/// What one scrape sees.
#[derive(Debug)]
struct Snapshot(Vec<Family>);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|family| encode(family, &mut encoder))
    }
}

fn encode(family: &Family, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let kind = match family.samples {
        Samples::Counter(_) | Samples::Seconds(_) => MetricType::Counter,
        Samples::Gauge(_) => MetricType::Gauge,
        Samples::Histogram(_) => MetricType::Histogram,
        Samples::Info(_) => MetricType::Info,
    };
    let mut metric = encoder.encode_descriptor(family.name, family.help, None, kind)?;
    match &family.samples {
        Samples::Counter(samples) => samples.iter().try_for_each(|(labels, count)| {
            with_labels(&mut metric, labels, |metric| metric.encode_counter(count, NO_EXEMPLAR))
        }),
        Samples::Seconds(seconds) => metric.encode_counter(seconds, NO_EXEMPLAR),
        Samples::Gauge(samples) => samples.iter().try_for_each(|(labels, value)| {
            with_labels(&mut metric, labels, |metric| metric.encode_gauge(value))
        }),
        Samples::Histogram(samples) => samples.iter().try_for_each(|(labels, buckets)| {
            let bounds = BOUNDS_NS.iter().map(|ns| seconds(*ns)).chain([f64::INFINITY]);
            let counts: Vec<(f64, u64)> = bounds.zip(buckets.counts).collect();
            let (sum, count) = (buckets.sum_seconds(), buckets.count());
            let exemplars = None::<&HashMap<usize, Exemplar<Labels, f64>>>;
            let write =
                |metric: &mut MetricEncoder<'_>| metric.encode_histogram(sum, count, &counts, exemplars);
            with_labels(&mut metric, labels, write)
        }),
        Samples::Info(labels) => metric.encode_info(labels),
    }
}

/// Writes a sample; one without labels has no braces either.
fn with_labels(
    metric: &mut MetricEncoder<'_>,
    labels: &Labels,
    write: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result {
    if labels.is_empty() { write(metric) } else { write(&mut metric.encode_family(labels)?) }
}

const NO_EXEMPLAR: Option<&Exemplar<Labels, f64>> = None;
