//! Reports on a record, for people, programs and pass/fail checks.
//!
//! Everything here reads a [`Digest`](dnsdyno_record::Digest) or the lines of a record and nothing else, so that a run
//! that has just ended and an old one are reported in the same way.
#![forbid(unsafe_code)]

mod agents;
mod answer;
pub mod bounds;
mod caching;
mod capture;
pub mod cells;
mod check;
mod checks;
mod connections;
pub mod diagnosis;
mod doctor;
pub mod expect;
pub mod export;
mod fallback;
mod figures;
mod hints;
pub mod import;
mod intervals;
mod json;
mod live;
mod load;
mod objects;
mod prediction;
mod quantile;
mod replay;
mod rows;
mod schema;
mod steps;
pub mod tables;
mod text;
mod verdict;
mod watched;
mod workers;

pub use answer::{Answer, Figure, answer};
pub use caching::{caching_lines, kind_lines};
pub use capture::{capture_text, nothing_written_text, written_text};
pub use check::{check_line, refusal};
pub use checks::{cookie_counts, tsig_counts};
pub use diagnosis::{Diagnosis, diagnosis, diagnosis_json, diagnosis_text, first_finding_text};
pub use doctor::{Examination, HostFinding, Persistent, Weight, examination_text, examine, findings_text};
pub use figures::{row_asked, row_rate, row_rate_cell, share};
pub use hints::hint_texts;
pub use intervals::{Csv, EveryCounter};
pub use json::{json_line, summary_json, write_json};
pub use live::{Figure as LiveFigure, LiveFigures};
pub use load::{HELD_RULE, Knee, LoadPoint, LoadResponse, PointsOfLoad, RatesOfRuns};
pub use objects::quantile as quantile_json;
pub use prediction::{prediction_json, prediction_text};
pub use quantile::quantile;
pub use schema::SUMMARY_SCHEMA;
#[cfg(feature = "schema")]
pub use schema::summary_schema;
pub use steps::rates;
pub use text::head::{head, servers};
pub use text::queries::ends_with_words;
pub use text::summary;
pub use verdict::{State, Verdict, verdict};
pub use workers::workers;

#[cfg(test)]
mod sample;
