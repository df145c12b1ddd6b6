//! What ends a run, besides the end of its load.

use dnsdyno_text::notation::{parse_count, parse_duration_ns};

use crate::draft::Draft;
use crate::error::PlanError;
use crate::expect::{ExpectError, StopCondition, StopLimit};
use crate::values::{above_zero, read};

/// What ends a run. At least one is set unless the load itself ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stop {
    /// After this time, in nanoseconds.
    pub duration_ns: Option<u64>,
    /// After this many queries.
    pub count: Option<u64>,
    /// After this many passes through the queries.
    pub passes: Option<u64>,
}

impl Stop {
    /// The limits given by the user, without defaults.
    pub(crate) fn of(draft: &Draft) -> Result<Stop, PlanError> {
        Ok(Stop {
            duration_ns: above_zero("for", read("for", &draft.duration, parse_duration_ns)?)?,
            count: above_zero("count", read("count", &draft.count, parse_count)?)?,
            passes: above_zero("passes", draft.passes)?,
        })
    }

    /// The number of queries after which the run ends, with `queries` in a pass; `None` = no limit.
    pub fn query_limit(&self, queries: usize) -> Option<u64> {
        let by_passes = self.passes.map(|passes| passes.saturating_mul(queries as u64));
        match (self.count, by_passes) {
            (Some(count), Some(limit)) => Some(count.min(limit)),
            (count, limit) => count.or(limit),
        }
    }
}

/// Limits at which a run stops at once, over all workers. Of several with the same name, the lowest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StopLimits {
    /// Queries that are due and not sent.
    pub behind: Option<u32>,
    /// Queries that are outstanding when another is due.
    pub outstanding: Option<u32>,
}

impl StopLimits {
    /// Reads what `--stop-when` says: limits, and conditions on the figures of an interval.
    pub(crate) fn read(texts: &Option<Vec<String>>) -> Result<(StopLimits, Vec<StopCondition>), ExpectError> {
        let (mut limits, mut conditions) = (StopLimits::default(), Vec::new());
        for text in texts.iter().flatten() {
            match StopLimit::parse(text)? {
                Some(StopLimit::Behind(queries)) => lower(&mut limits.behind, queries),
                Some(StopLimit::Outstanding(queries)) => lower(&mut limits.outstanding, queries),
                None => conditions.push(StopCondition::parse(text)?),
            }
        }
        Ok((limits, conditions))
    }
}

fn lower(limit: &mut Option<u32>, queries: u32) {
    *limit = Some(limit.map_or(queries, |other| other.min(queries)));
}
