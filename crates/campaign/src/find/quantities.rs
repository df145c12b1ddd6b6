//! The quantities among the options of a search, from their texts: each is within its bounds, or an error says which.

use dnsdyno_text::notation::{parse_count, parse_duration_ns, parse_percent, parse_rate_qps};

use super::error::FindError;
use super::options::Method;

/// A load.
pub(super) fn load(option: &'static str, text: Option<&str>) -> Result<Option<f64>, FindError> {
    let Some(text) = text else { return Ok(None) };
    let load = parse_rate_qps(text).map_err(|error| FindError::Quantity { option, error })?;
    match load > 0.0 && load <= HIGHEST_LOAD {
        true => Ok(Some(load)),
        false => {
            Err(FindError::Range { option, text: text.to_owned(), needs: "needs more than 0, at most 1G" })
        }
    }
}

/// The length of a trial, in ns.
pub(super) fn duration(option: &'static str, text: &str) -> Result<u64, FindError> {
    let ns = parse_duration_ns(text).map_err(|error| FindError::Quantity { option, error })?;
    match (SHORTEST_TRIAL_NS..=DAY_NS).contains(&ns) {
        true => Ok(ns),
        false => Err(FindError::Range { option, text: text.to_owned(), needs: "needs 200ms to 24h" }),
    }
}

/// Half of the width of the interval; the usual one where none is given.
pub(super) fn precision(text: Option<&str>, method: Method) -> Result<f64, FindError> {
    let Some(text) = text else { return Ok(if method.is_by_book() { BOOK_PRECISION } else { PRECISION }) };
    let share = parse_percent(text).map_err(|error| FindError::Quantity { option: "precision", error })?;
    match (0.001..=0.2).contains(&share) {
        true => Ok(share),
        false => {
            Err(FindError::Range { option: "precision", text: text.to_owned(), needs: "needs 0.1% to 20%" })
        }
    }
}

/// A whole number within bounds.
pub(super) fn whole(
    option: &'static str,
    text: Option<&str>,
    least: u64,
    most: u64,
) -> Result<Option<u32>, FindError> {
    let Some(text) = text else { return Ok(None) };
    let number = parse_count(text).map_err(|error| FindError::Quantity { option, error })?;
    match (least..=most).contains(&number) {
        true => Ok(Some(number as u32)),
        false if option == "trials" => {
            Err(FindError::Range { option, text: text.to_owned(), needs: "needs 10 to 10000" })
        }
        false => Err(FindError::Range { option, text: text.to_owned(), needs: "needs 1 to 1000" }),
    }
}

/// A shorter trial is mostly its start.
const SHORTEST_TRIAL_NS: u64 = 200_000_000;

/// Half of the width of the interval.
const PRECISION: f64 = 0.02;

/// Where the binary search of the RFCs ends: neighbouring loads differ by so much.
const BOOK_PRECISION: f64 = 0.001;

const HIGHEST_LOAD: f64 = 1e9;
const DAY_NS: u64 = 86_400_000_000_000;
