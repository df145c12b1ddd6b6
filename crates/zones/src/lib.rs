//! Zones made by rule: large, consistent, and described for those who ask for them.
//!
//! ```text
//! options ─► EpcData, MemberData, NumberData ─► Folder: zone files, catalog, server configuration, queries
//! ```
//!
//! The same options give the same bytes. Nothing is written outside of the folder, and what was begun and cannot be
//! finished is removed.
#![forbid(unsafe_code)]

mod catalog;
mod change;
mod epc;
mod error;
mod folder;
mod members;
mod numbers;
mod queries;
mod record;
mod servers;
mod zone;
#[cfg(test)]
mod zone_files;

pub use epc::{Addresses, AnswerSizes, AnswersOf, EpcData, EpcOptions, PerAnswer};
pub use error::DataError;
pub use folder::Folder;
pub use members::{MemberData, MemberOptions};
pub use numbers::{NumberData, NumberOptions};
