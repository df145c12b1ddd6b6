//! A limit at which a run stops at once: `behind>=1000`, `outstanding>=65536`. The workers check it themselves, because
//! the figures of an interval are known only when its queries have ended.

use dnsdyno_text::shown;

use super::bound::{Bound, Unit};
use super::{Comparison, ExpectError, MAX_SHOWN};

/// A number of queries, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopLimit {
    /// Due and not sent.
    Behind(u32),
    /// Outstanding when another is due.
    Outstanding(u32),
}

impl StopLimit {
    /// Reads a limit; `None` where the text is about something else.
    ///
    /// # Errors
    /// Where it is a limit with another comparison, a time, or no whole number above 0.
    pub(crate) fn parse(text: &str) -> Result<Option<StopLimit>, ExpectError> {
        let Some((name, comparison, bound)) = Comparison::split(text) else { return Ok(None) };
        let limit = match name.to_lowercase().as_str() {
            "behind" => StopLimit::Behind,
            "outstanding" => StopLimit::Outstanding,
            _ => return Ok(None),
        };
        let queries = match Bound::parse(bound, Unit::Count) {
            Some(Bound::Count(count)) if (1.0..=f64::from(u32::MAX)).contains(&count) => count as u32,
            _ => 0,
        };
        if comparison != Comparison::GreaterOrEqual || queries == 0 {
            let (text, name) = (shown(text.trim(), MAX_SHOWN).into_owned(), name.to_lowercase());
            return Err(ExpectError::Limit { text, name });
        }
        Ok(Some(limit(queries)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_of_queries_that_is_reached() {
        let read = |text: &str| StopLimit::parse(text).unwrap();
        assert_eq!(read("behind>=1000"), Some(StopLimit::Behind(1_000)));
        assert_eq!(read(" Outstanding >= 64k "), Some(StopLimit::Outstanding(64_000)));
        assert_eq!(read("loss>1% for 3s"), None);
        assert_eq!(read("behind"), None, "not a comparison; another reader says so");
        for text in
            ["behind>1000", "behind=5", "behind>=0", "behind>=0.5", "behind>=1%", "outstanding>=5 for 3s"]
        {
            let error = StopLimit::parse(text).unwrap_err().to_string();
            assert!(error.contains(text) && error.contains(">=1000"), "{error}");
        }
    }
}
