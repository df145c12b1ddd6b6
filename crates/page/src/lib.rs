//! The report page: one HTML file, made from records, that opens without a network.
//!
//! ```text
//!   record ──► Digest ──────────────► sentence, figures, tables, curves ─┐
//!      │                                                                 ├─► PageData, JSON ──┐
//!      └─ interval by interval ──► levels ──► columns and heat ──► blob ─┘                    ├─► one HTML file
//!                                                              web/dist: the page's program ──┘
//! ```
//!
//! Intervals are read one by one, and only their bytes in the columns are kept: some hundred for each.
//! What the page shows as text is made here, by the code of the summary; the page's program only draws.
#![forbid(unsafe_code)]

mod columns;
mod comparison;
mod counters;
mod curves;
pub mod data;
mod document;
mod error;
mod experiment;
mod folder;
mod heat;
mod history;
mod html;
mod labels;
mod levels;
mod limits;
mod made;
mod marks;
mod pack;
mod partial;
mod qualification;
mod run;
mod search;
mod tables;
mod tuning;
mod walk;
mod watched;

use std::path::{Path, PathBuf};

pub use error::PageError;
pub use experiment::experiment;
pub use folder::{is_run, is_search, runs_below, runs_in};
pub use history::{HistoryLinks, history};
pub use html::{html, is_ours, live_json};
pub use made::{quoted, utc};
pub use qualification::qualification;
pub use run::{Blob, run_data};
pub use search::{SearchLinks, SearchSummary, search, search_summary};
pub use tuning::tuning;

use data::{Comparison, Kind, LoadResponse, PageData, Run};
use dnsdyno_record::{Digest, ReadError, RunReader};
use dnsdyno_report::RatesOfRuns;
use error::MOST_RUNS;

/// How a page is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// The title, where the user gave one.
    pub title: Option<String>,
    /// The program and its version.
    pub made_by: String,
    /// Now, nanoseconds since 1970.
    pub made_unix_ns: u64,
}

/// The page of these runs, as an HTML file.
///
/// # Errors
/// A record cannot be read.
pub fn report(runs: &[PathBuf], options: &Options) -> Result<Vec<u8>, PageError> {
    let (page, blobs) = report_data(runs, options)?;
    html(&page, &blobs)
}

/// The data of the page of these runs.
///
/// # Errors
/// A record cannot be read.
pub fn report_data(runs: &[PathBuf], options: &Options) -> Result<(PageData, Vec<Blob>), PageError> {
    let (runs, blobs, load_response) = all_runs(runs)?;
    let title = options.title.clone().unwrap_or_else(|| title_of(&runs));
    let page = PageData { load_response, ..page(Kind::Report, title, runs, options) };
    Ok((page, blobs))
}

/// The page of a comparison of the runs `a` with the runs `b`, as an HTML file.
///
/// # Errors
/// As [`comparison_data`].
pub fn comparison(
    a: &[PathBuf],
    b: &[PathBuf],
    comparison: Comparison,
    options: &Options,
) -> Result<Vec<u8>, PageError> {
    let (page, blobs) = comparison_data(a, b, comparison, options)?;
    html(&page, &blobs)
}

/// The data of the page of a comparison. The runs are called there as in `comparison`.
///
/// # Errors
/// A record cannot be read.
pub fn comparison_data(
    a: &[PathBuf],
    b: &[PathBuf],
    comparison: Comparison,
    options: &Options,
) -> Result<(PageData, Vec<Blob>), PageError> {
    let (mut runs, blobs, _) = all_runs(&[a, b].concat())?;
    let labels = comparison.a.runs.iter().chain(&comparison.b.runs);
    runs.iter_mut().zip(labels).for_each(|(run, label)| run.label.clone_from(label));
    let title = options.title.clone().unwrap_or_else(|| "comparison".to_owned());
    let page = PageData { comparison: Some(comparison), ..page(Kind::Comparison, title, runs, options) };
    Ok((page, blobs))
}

/// A page without comparison, folder or address.
pub fn page(kind: Kind, title: String, runs: Vec<Run>, options: &Options) -> PageData {
    PageData {
        format: data::FORMAT,
        kind,
        title,
        made_by: options.made_by.clone(),
        made_at: utc(options.made_unix_ns),
        runs,
        load_response: None,
        comparison: None,
        folder: None,
        live: None,
        home: None,
    }
}

/// What [`all_runs`] gives.
type AllRuns = (Vec<Run>, Vec<Blob>, Option<LoadResponse>);

/// The runs with their series, and their load against response where each had one rate.
fn all_runs(paths: &[PathBuf]) -> Result<AllRuns, PageError> {
    if paths.len() > MOST_RUNS {
        return Err(PageError::TooMany { runs: paths.len() });
    }
    let headers = paths.iter().map(|path| Ok(RunReader::open(path)?.header().clone()));
    let headers = headers.collect::<Result<Vec<_>, ReadError>>()?;
    let labels = labels::labels(paths.iter().map(PathBuf::as_path).zip(&headers));
    let most_bytes = run::MOST_SERIES_BYTES / paths.len().max(1);
    let (mut runs, mut blobs, mut rates) = (Vec::new(), Vec::new(), RatesOfRuns::default());
    for (number, (path, label)) in paths.iter().zip(labels).enumerate() {
        let digest = Digest::read(path)?;
        rates.add(&digest);
        let (mut run, blob) = run::of_digest(path, &digest, label, most_bytes)?;
        run.series.blob = number;
        runs.push(run);
        blobs.push(blob);
    }
    Ok((runs, blobs, rates.finish().map(LoadResponse::from)))
}

fn title_of(runs: &[Run]) -> String {
    match runs {
        [one] => one.label.clone(),
        [first, others @ ..] => format!("{} and {} more", first.label, others.len()),
        [] => "no runs".to_owned(),
    }
}

/// The path for a message.
fn shown(path: &Path) -> String {
    dnsdyno_text::shown(&path.to_string_lossy(), LONGEST_PATH).into_owned()
}

/// Characters of a path in a message, which no system exceeds.
const LONGEST_PATH: usize = 4_096;
