//! Over HTTP: a folder of runs as pages, and the metrics of a run in progress.
#![forbid(unsafe_code)]

mod folder;
mod http;
mod listen;
mod metrics;
mod otlp;

pub use folder::{BoundFolder, FolderServer, ServeError};
pub use listen::parse_listen;
pub use metrics::{Metrics, MetricsError};
pub use otlp::{Otlp, OtlpEndpoint, OtlpError};
