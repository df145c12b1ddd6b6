//! How the queries of a source are read, and in which order they are sent.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use dnsdyno_wire::QueryForm;
use serde::de::value::{Error as WordError, StrDeserializer};
use serde::{Deserialize, Serialize};

use super::bounds::InputBounds;
use super::types_by_weight::TypeWeights;

/// What a source needs to know of its plan.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// What all queries have in common.
    pub form: QueryForm,
    /// What is done with malformed lines.
    pub bad_lines: BadLines,
    /// What is sent of the source, and how often.
    pub selection: Selection,
    /// The random seed.
    pub seed: u64,
    /// Whether queries of equal length are grouped.
    pub groups_by_length: bool,
    /// How much may be read and kept.
    pub bounds: Arc<InputBounds>,
}

/// What is done with malformed lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BadLines {
    /// The first is an error.
    Refuse,
    /// They are skipped and counted; if they are the most, it is an error.
    #[default]
    SkipFew,
    /// They are skipped and counted.
    SkipAll,
}

/// What is sent of a source, and how often.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// The format of a file.
    pub format: QueriesFormat,
    /// Types by weight, instead of those of the source.
    pub types: Option<TypeWeights>,
    /// The share of names of a zone that do not exist, 0 to 1.
    pub nxdomain: f64,
    /// The order.
    pub order: Order,
    /// The wanted share of queries that the cache of a resolver has.
    pub hit_rate: Option<HitRate>,
}

/// The format of a file of queries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueriesFormat {
    /// By the first bytes: text, csv or binary.
    #[default]
    Auto,
    /// `name type`, with placeholders and options.
    Text,
    /// `name type` exactly as dnsperf reads it.
    Dnsperf,
    /// The same, and lines with `#` are skipped.
    Queryperf,
    /// Messages, each after its length in 2 octets (`dnsperf -B`).
    Binary,
    /// `rank,name`.
    Csv,
    /// One name a line.
    Names,
    /// Dynamic updates in blocks, as `dnsperf -u` reads them.
    Updates,
}

impl FromStr for QueriesFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<QueriesFormat, String> {
        QueriesFormat::deserialize(StrDeserializer::<WordError>::new(text)).map_err(|_| {
            format!(
                "`{text}` is not a format: use auto, text, dnsperf, queryperf, binary, csv, names or updates"
            )
        })
    }
}

/// In which order the queries of a source are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Order {
    /// That of the source, pass after pass.
    #[default]
    InTurn,
    /// Each pass in a random order.
    Random,
    /// Each at random; the n-th with a probability proportional to 1 / n^`exponent`.
    Zipf {
        /// The exponent, 0 to 10.
        exponent: f64,
    },
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Order, String> {
        let wrong =
            || format!("`{text}` is not an order: use in-turn, random or zipf:EXPONENT, such as zipf:1.1");
        match (text, text.strip_prefix("zipf:")) {
            ("in-turn", _) => Ok(Order::InTurn),
            ("random", _) => Ok(Order::Random),
            (_, Some(exponent)) => {
                let is_plain = exponent.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
                let exponent: f64 = exponent.parse().ok().filter(|_| is_plain).ok_or_else(wrong)?;
                match (0.0..=10.0).contains(&exponent) {
                    true => Ok(Order::Zipf { exponent }),
                    false => Err(format!("the exponent of {text} is out of range: use 0 to 10")),
                }
            }
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::InTurn => f.write_str("in-turn"),
            Order::Random => f.write_str("random"),
            Order::Zipf { exponent } => write!(f, "zipf:{exponent}"),
        }
    }
}

/// A wanted share of queries that the cache of a resolver has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HitRate {
    /// The share, 0 to 1.
    pub share: f64,
    /// How long the resolver keeps a name, in nanoseconds.
    pub ttl_ns: u64,
    /// The number of names that are asked for again and again; `None` = as many as the source has.
    pub hot: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_formats_are_read_as_they_are_written() {
        for text in ["in-turn", "random", "zipf:1.1", "zipf:0"] {
            assert_eq!(text.parse::<Order>().map(|order| order.to_string()).as_deref(), Ok(text));
        }
        for text in ["", "zipf", "zipf:", "zipf:-1", "zipf:11", "zipf:1e1", "zipf:nan", "Random"] {
            assert!(text.parse::<Order>().is_err(), "{text}");
        }
        assert_eq!("binary".parse(), Ok(QueriesFormat::Binary));
        assert!("pcap".parse::<QueriesFormat>().is_err_and(|error| error.contains("use auto, text")));
    }
}
