//! Over HTTP: the folder of runs as pages, and the metrics of a run in progress.
#![forbid(unsafe_code)]

mod http;
mod listen;
mod metrics;

pub use listen::parse_listen;
pub use metrics::{Metrics, MetricsError};
