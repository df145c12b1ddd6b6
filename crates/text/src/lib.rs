//! Text as people read and write it: files of text, quantities in both directions, terminal layout, tables, Markdown,
//! axes of charts, text of others made safe to show, secrets that are not shown. It does not know what it shows.
#![forbid(unsafe_code)]

pub mod encoding;
mod foreign;
pub mod layout;
pub mod markdown;
pub mod notation;
pub mod secret;
pub mod svg;
pub mod units;

pub use foreign::{acts_on_a_terminal, escaped, preformatted, safe, shown, verbatim};
