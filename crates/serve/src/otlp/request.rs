//! Families of metrics as an OTLP request: what was counted since the one before ("delta").

use prost::Message;

use crate::metrics::buckets::{BOUNDS_NS, Buckets, seconds};
use crate::metrics::families::{Family, Labels, Samples};

use super::messages::{
    AnyValue, DELTA, Data, ExportMetricsServiceRequest, Gauge, Histogram, HistogramDataPoint,
    InstrumentationScope, KeyValue, Metric, NumberDataPoint, Resource, ResourceMetrics, ScopeMetrics, Sum,
    Value,
};

/// The time of which a request tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) from_unix_ns: u64,
    pub(crate) to_unix_ns: u64,
}

/// The bytes of the request.
pub(crate) fn request(families: Vec<Family>, span: Span) -> Vec<u8> {
    let mut attributes = vec![attribute("service.name", "dnsdyno")];
    let mut metrics = Vec::new();
    for family in families {
        match family.samples {
            Samples::Info(labels) => attributes.extend(labels.iter().map(|(key, value)| {
                let key = match *key {
                    "run_id" => "service.instance.id".to_owned(),
                    "version" => "service.version".to_owned(),
                    key => format!("dnsdyno.{key}"),
                };
                attribute(&key, value)
            })),
            ref samples => metrics.extend(data(samples, span).map(|data| Metric {
                name: family.name.to_owned(),
                description: family.help.to_owned(),
                unit: unit(family.name).to_owned(),
                data: Some(data),
            })),
        }
    }
    let scope = InstrumentationScope { name: "dnsdyno".to_owned() };
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope), metrics }];
    let resource_metrics = vec![ResourceMetrics { resource: Some(Resource { attributes }), scope_metrics }];
    ExportMetricsServiceRequest { resource_metrics }.encode_to_vec()
}

/// The samples of a family; `None` where nothing was counted.
fn data(samples: &Samples, span: Span) -> Option<Data> {
    let sum = |data_points: Vec<_>| Sum { data_points, aggregation_temporality: DELTA, is_monotonic: true };
    match samples {
        Samples::Counter(samples) => {
            let counted = samples.iter().filter(|(_, count)| *count > 0);
            let count = |count: &u64| Value::AsInt(i64::try_from(*count).unwrap_or(i64::MAX));
            let points: Vec<_> = counted.map(|(labels, n)| number(labels, count(n), span)).collect();
            (!points.is_empty()).then(|| Data::Sum(sum(points)))
        }
        Samples::Seconds(seconds) => {
            Some(Data::Sum(sum(vec![number(&Vec::new(), Value::AsDouble(*seconds), span)])))
        }
        Samples::Gauge(samples) => {
            let points = samples.iter().map(|(labels, value)| number(labels, Value::AsDouble(*value), span));
            Some(Data::Gauge(Gauge { data_points: points.collect() }))
        }
        Samples::Histogram(samples) => {
            let counted = samples.iter().filter(|(_, buckets)| buckets.count() > 0);
            let data_points: Vec<_> = counted.map(|(labels, buckets)| point(labels, buckets, span)).collect();
            let histogram = Histogram { data_points, aggregation_temporality: DELTA };
            (!histogram.data_points.is_empty()).then_some(Data::Histogram(histogram))
        }
        Samples::Info(_) => None,
    }
}

fn number(labels: &Labels, value: Value, span: Span) -> NumberDataPoint {
    NumberDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: span.from_unix_ns,
        time_unix_nano: span.to_unix_ns,
        value: Some(value),
    }
}

fn point(labels: &Labels, buckets: &Buckets, span: Span) -> HistogramDataPoint {
    HistogramDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: span.from_unix_ns,
        time_unix_nano: span.to_unix_ns,
        count: buckets.count(),
        sum: Some(buckets.sum_seconds()),
        bucket_counts: buckets.counts.to_vec(),
        explicit_bounds: BOUNDS_NS.iter().map(|ns| seconds(*ns)).collect(),
    }
}

fn attributes(labels: &Labels) -> Vec<KeyValue> {
    let named = labels.iter().filter(|(_, value)| !value.is_empty());
    named.map(|(key, value)| attribute(key, value)).collect()
}

fn attribute(key: &str, value: &str) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { string_value: Some(value.to_owned()) }) }
}

/// The unit by UCUM, which the name tells.
fn unit(name: &str) -> &'static str {
    match name.rsplit('_').next() {
        Some("seconds") => "s",
        Some("bytes") => "By",
        _ => "1",
    }
}
