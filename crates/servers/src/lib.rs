//! The servers that dnsdyno knows, each described once: what its process is called, where its configuration and its
//! statistics are, and which of its parameters bear on what is measured.
//!
//! ```text
//!   SERVERS      a row a program     bind, nsd, pdns-recursor, …
//!   STATISTICS   a row a way to ask  bind=URL, pdns=URL, openmetrics=URL
//!   SERIES       a row a name that all servers' statistics have in common
//! ```
//!
//! Options and processes are read with these rows, the statistics of a server are written with these names, and the
//! rules of a diagnosis may use no others. What may be tuned of a server and its host is data too: [`tuning`].
#![forbid(unsafe_code)]

mod series;
mod server;
mod statistics;
mod table;
pub mod tuning;

pub use series::{Measure, SERIES, Series, is_series, series_of};
pub use server::{Configuration, Language, Parameter, Server};
pub use statistics::{Place, STATISTICS, Statistics, StatisticsKind};
pub use table::{SERVERS, server_of, server_of_process};
