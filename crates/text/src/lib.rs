//! Text as people read and write it: quantities in both directions, terminal layout, tables, Markdown, charts as SVG,
//! text of others made safe to show. It does not know what it shows.
#![forbid(unsafe_code)]

mod foreign;
pub mod layout;
pub mod markdown;
pub mod notation;
pub mod svg;
pub mod units;

pub use foreign::{acts_on_a_terminal, escaped, safe, shown};
