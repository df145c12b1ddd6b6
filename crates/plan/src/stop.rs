//! What ends a run, besides the end of its load.

use crate::draft::Draft;
use crate::error::PlanError;
use crate::units::{parse_count, parse_duration_ns};
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
