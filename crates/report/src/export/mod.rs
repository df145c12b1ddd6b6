//! Records in the formats that other programs read.
//!
//! ```text
//!   runs/NAME ──► Run ──► Format ──► standard output, a file, or a folder with a file for each run
//!                          └─ a row of FORMATS, written in a file of its own
//! ```
//!
//! A record is read interval by interval while it is written, so that one of 48 hours takes no more memory than one of
//! a minute.

mod error;
mod format;
mod github;
mod gnuplot;
mod hgrm;
mod hlog;
mod junit;
mod output;
mod run;
#[cfg(test)]
mod sample;
mod shotgun;
mod tables;
mod xml;

pub use error::ExportError;
pub use format::{FORMATS, Format};
pub use output::{write_file, write_folder};
pub use run::Run;
pub use xml::Element;
