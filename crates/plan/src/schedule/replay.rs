//! The unchanged instants of a source.

use std::sync::Arc;

use super::curve::{Curve, CurveError};

/// Queries that are due at the instants of their source.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// When each query is due, in nanoseconds since the start, ascending.
    pub instants: Arc<[u64]>,
}

impl Replay {
    /// One phase, `replay`, which ends after the last query.
    pub fn curve(&self) -> Result<Curve, CurveError> {
        Curve::of_instants(Arc::clone(&self.instants), "replay")
    }
}
