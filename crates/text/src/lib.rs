//! Text as people read and write it: quantities in both directions, terminal layout, tables, Markdown, text of others
//! made safe to show, and as files have it. It does not know what it shows.
#![forbid(unsafe_code)]

pub mod encoding;
mod foreign;
pub mod layout;
pub mod markdown;
pub mod notation;
pub mod units;

pub use foreign::{acts_on_a_terminal, safe, shown};
