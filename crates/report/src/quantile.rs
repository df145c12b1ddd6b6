//! A percentile as text.

use dnsdyno_measure::Quantile;

use dnsdyno_text::layout::NOTHING;
use dnsdyno_text::units::{duration, setting};

/// A percentile as text: `1.23 ms`, `>5 s` where it is among the unanswered, `-` for none.
pub fn quantile(quantile: Option<Quantile>, timeout_ns: u64) -> String {
    match quantile {
        Some(Quantile::At(ns)) => duration(ns),
        Some(Quantile::BeyondTimeout) => format!(">{}", setting(timeout_ns)),
        None => NOTHING.to_owned(),
    }
}
