//! The summaries of k6: that of `--summary-export`, the data of `handleSummary`, and the machine-readable one (1.0.0)
//! of k6 1.5 and later. Of the requests over HTTP; times are in milliseconds, whatever the unit of the text is.
//!
//! ```text
//!   --summary-export   {"metrics":{"http_reqs":{"count":…,"rate":…},…}}
//!   handleSummary      {"metrics":{"http_reqs":{"type":"counter","values":{"count":…,"rate":…}},…},"state":{…}}
//!   machine-readable   {"version":"1.0.0","config":{"duration":…},"results":{"metrics":[{"name":"http_reqs",…}]}}
//! ```

use std::collections::BTreeMap;

use dnsdyno_record::Headline;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::imported::{Imported, Latencies};

#[derive(Deserialize)]
struct Summary {
    #[serde(default)]
    metrics: BTreeMap<String, Map<String, Value>>,
    results: Option<Results>,
    metadata: Option<Metadata>,
    config: Option<Config>,
}

#[derive(Deserialize)]
struct Results {
    #[serde(default)]
    metrics: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(default)]
    values: Map<String, Value>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(rename = "k6Version")]
    version: Option<String>,
}

#[derive(Deserialize)]
struct Config {
    /// In seconds.
    duration: Option<f64>,
}

/// Reads it.
///
/// # Errors
/// It is damaged, or no request was made over HTTP.
pub(super) fn parse(text: &str) -> Result<Imported, String> {
    let summary: Summary = serde_json::from_str(text)
        .map_err(|error| format!("it is damaged ({error}): make the summary of k6 again"))?;
    let metrics = Metrics::of(&summary);
    let requests = metrics.figure(REQUESTS, &["count"]).filter(|count| *count >= 1.0);
    let Some(requests) = requests else {
        return Err("it has no http_reqs: of k6, the requests over HTTP are read (DNS over HTTPS)".to_owned());
    };
    let seconds = summary.config.as_ref().and_then(|config| config.duration).filter(|seconds| *seconds > 0.0);
    let rate = metrics.figure(REQUESTS, &["rate"]).or_else(|| seconds.map(|seconds| requests / seconds));
    let failed = metrics.figure("http_req_failed", &["rate", "value"]).filter(|share| *share <= 1.0);
    // A request that failed has a duration, too: at once, or after the timeout of the script. Only without any are the
    // durations those of answers.
    let name = match failed {
        Some(0.0) => DURATION.to_owned(),
        _ => format!("{DURATION}{{expected_response:true}}"),
    };
    let average_ns = metrics.figure(&name, &["avg"]).map(|ms| ms * NS_PER_MS);
    let version =
        summary.metadata.as_ref().and_then(|metadata| metadata.version.as_deref()).unwrap_or_default();
    Ok(Imported {
        // No summary names the executor, and dropped_iterations is absent from a constant-arrival-rate run that dropped
        // none: what is taken for an open loop has its latencies judged first, and its rate all the same.
        is_closed_loop: false,
        queries: Some(requests as u64),
        answered: failed.map(|share| (requests * (1.0 - share)).round() as u64),
        sent_qps: rate,
        answered_qps: rate.zip(failed).map(|(rate, share)| rate * (1.0 - share)),
        average_ns,
        latencies: match failed {
            Some(0.0) => metrics.percentiles(),
            _ => Latencies::None,
        },
        ..Imported::of(format!("k6 {version}").trim_end().to_owned(), Headline::Service)
    })
}

/// The metrics by name, in whichever form.
struct Metrics<'a>(BTreeMap<&'a str, &'a Map<String, Value>>);

impl Metrics<'_> {
    fn of(summary: &Summary) -> Metrics<'_> {
        let by_name = summary.metrics.iter().map(|(name, metric)| {
            (name.as_str(), metric.get("values").and_then(Value::as_object).unwrap_or(metric))
        });
        let listed = summary.results.iter().flat_map(|results| &results.metrics);
        Metrics(by_name.chain(listed.map(|metric| (metric.name.as_str(), &metric.values))).collect())
    }

    /// A figure of a metric, by the first of these names that it has.
    fn figure(&self, metric: &str, names: &[&str]) -> Option<f64> {
        let values = self.0.get(metric)?;
        let figure = names.iter().find_map(|name| values.get(*name)).and_then(Value::as_f64)?;
        Some(figure).filter(|figure| figure.is_finite() && *figure >= 0.0)
    }

    fn percentiles(&self) -> Latencies {
        let Some(values) = self.0.get(DURATION) else { return Latencies::None };
        let one = |(name, value): (&String, &Value)| {
            let percent = match name.as_str() {
                "med" => 50.0,
                // p(99.9) of the older forms, p99 of the newest.
                _ => name.strip_prefix('p')?.trim_matches(['(', ')']).parse::<f64>().ok()?,
            };
            let ms = value.as_f64().filter(|ms| (0.0..LONGEST_MS).contains(ms))?;
            (0.0..100.0).contains(&percent).then_some((percent / 100.0, ms * NS_PER_MS))
        };
        let stated: Vec<(f64, f64)> = values.iter().filter_map(one).collect();
        if stated.is_empty() { Latencies::None } else { Latencies::Stated(stated) }
    }
}

const REQUESTS: &str = "http_reqs";
const DURATION: &str = "http_req_duration";
const NS_PER_MS: f64 = 1e6;

/// A year: more is no duration of a request.
const LONGEST_MS: f64 = 365.0 * 86_400e3;
