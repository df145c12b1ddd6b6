//! What all tables of intervals have in common: the columns that place an interval, and those of a latency.

use dnsdyno_measure::{Latency, PERCENTILES, Quantile};
use dnsdyno_record::{Digest, Header, Row};
use dnsdyno_text::safe;

use crate::figures::{judged, longest, lost, row_asked, row_rate, sent, share};

/// Titles of [`place`].
pub(super) const PLACE_TITLES: [&str; 9] =
    ["run_id", "index", "phase", "from_ns", "to_ns", "asked_qps", "sent_qps", "answered_qps", "loss_share"];

/// Which run and which part of it, with the label `phase` where it has one; its rates, and its loss.
pub(super) fn place(header: &Header, row: &Row, phase: Option<&str>) -> [String; PLACE_TITLES.len()] {
    let tally = &row.tally;
    [
        label(&header.run_id),
        row.index.to_string(),
        phase.map(label).unwrap_or_default(),
        row.from_ns.to_string(),
        row.to_ns.to_string(),
        text(row_asked(row).filter(|_| row.asked_micro > 0)),
        text(row_rate(row, sent(tally))),
        text(row_rate(row, tally.ends.answered)),
        text(share(lost(tally), judged(tally))),
    ]
}

/// Titles of [`latency`].
pub(super) fn latency_titles() -> impl Iterator<Item = String> {
    let own = |titles: &'static [&str]| titles.iter().map(|title| (*title).to_owned());
    let percentiles = PERCENTILES.iter().map(|(key, ..)| format!("{key}_ns"));
    own(&["min_ns", "avg_ns"]).chain(percentiles).chain(own(&["max_ns", BEYOND_TITLE]))
}

/// The cells of a latency.
///
/// One that is beyond the timeout is written as the timeout, and the last cell names the lowest of which that is true.
pub(super) fn latency(latency: Latency<'_>, timeout_ns: u64) -> impl Iterator<Item = String> {
    let shortest = text(latency.answered.exact().map(|exact| exact.min_ns));
    let percentiles = PERCENTILES.map(|(key, _, q)| (key, latency.percentile(q)));
    let all = percentiles.into_iter().chain([("max", longest(latency))]);
    let beyond = all.clone().find(|(_, at)| *at == Some(Quantile::BeyondTimeout));
    let figures = all.map(move |(_, at)| text(at.map(|at| at.written(timeout_ns).ns)));
    let beyond = beyond.map_or("", |(key, _)| key).to_owned();
    [shortest, text(latency.answered.mean_ns())].into_iter().chain(figures).chain([beyond])
}

/// What somebody said in this part of the run.
pub(super) fn notes(run: &Digest, row: &Row) -> String {
    let is_in = |at_ns: u64| (row.from_ns..row.to_ns).contains(&at_ns);
    let notes = run.events.iter().filter(|event| event.is_note() && is_in(event.at_ns));
    no_formula(notes.map(|note| safe(&note.message)).collect::<Vec<_>>().join("; "))
}

/// Text of a record.
fn label(text: &str) -> String {
    no_formula(safe(text))
}

/// A spreadsheet would take a text that begins as a formula for a formula.
fn no_formula(text: String) -> String {
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text }
}

/// A figure, or an empty cell where it is not known, or not carried by the number of queries.
fn text(figure: Option<impl ToString>) -> String {
    figure.map_or(String::new(), |figure| figure.to_string())
}

/// The title of the number of intervals that lack the part of an agent.
pub(super) const PARTIAL_TITLE: &str = "partial";

/// The title of [`notes`].
pub(super) const NOTES_TITLE: &str = "notes";

/// The last title of a latency.
pub(super) const BEYOND_TITLE: &str = "beyond_timeout_from";
