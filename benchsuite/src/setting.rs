//! What every benchmark is given, and where the clone is that it belongs to.

use std::path::{Path, PathBuf};

use crate::rig::Rig;

/// What every benchmark is given.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Starts programs and pins them.
    pub(crate) rig: Rig,
    /// The dnsdyno to measure.
    pub(crate) dnsdyno: PathBuf,
    /// A dnsdyno that does not measure, where it is there.
    pub(crate) unmeasured: Option<PathBuf>,
    /// A query file for the loopback: one line, [`QUERY`](crate::programs::QUERY).
    pub(crate) queries: PathBuf,
    /// The name of what answers, as typed.
    pub(crate) against: String,
    /// Turns of each program.
    pub(crate) pairs: usize,
    /// Length of a turn.
    pub(crate) seconds: u32,
    /// Queries outstanding on sockets.
    pub(crate) outstanding: u32,
    /// Queries outstanding over AF_XDP.
    pub(crate) xdp_outstanding: u32,
    /// Length of the runs of `memory` and `churn`.
    pub(crate) minutes: u32,
}

/// The clone this program was built in; its report belongs there.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}
