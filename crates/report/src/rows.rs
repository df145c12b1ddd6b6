//! The table of rows: one per phase, or one per few seconds.

use dnsdyno_record::{Digest, Headline, Row};
use dnsdyno_text::layout::{NOTHING, Table};
use dnsdyno_text::safe;
use dnsdyno_text::units::{percent, seconds};

use crate::bounds::cell;
use crate::figures::{
    headline, judged, lateness, longest, lost, row_asked, row_rate, row_rate_cell, sent, share,
};
use crate::quantile::quantile;

/// Appends the table.
pub(crate) fn write(out: &mut String, digest: &Digest, width: usize) {
    if let Some(table) = table(digest) {
        out.push('\n');
        table.write(out, width);
    }
}

/// The table; `None` where a single row would repeat the totals.
pub(crate) fn table(digest: &Digest) -> Option<Table> {
    let rows = digest.rows();
    if rows.len() < 2 {
        return None;
    }
    let mut table = Table::default();
    // Steps may begin at whole seconds though their intervals are shorter.
    let is_whole = rows.iter().all(|row| row.from_ns.is_multiple_of(SECOND_NS));
    let step_ns = if is_whole { SECOND_NS } else { digest.header.interval_ns };
    table.right("from s", 0, cells(rows, |row| seconds(row.from_ns, step_ns)));
    table.left("phase", 6, cells(rows, |row| row.label.as_deref().map(safe).unwrap_or_default()));
    if digest.header.headline == Headline::Response {
        table.right("asked/s", 1, cells(rows, |row| row_rate_cell(row_asked(row))));
    }
    if digest.header.send_only || digest.header.headline == Headline::Service {
        table.right(
            "sent/s",
            if digest.header.send_only { 0 } else { 1 },
            cells(rows, |row| row_rate_cell(row_rate(row, sent(&row.tally)))),
        );
    }
    if digest.header.send_only {
        let p99 = |row: &Row| lateness(&row.tally).percentile(0.99);
        table.right("lateness p99", 2, cells(rows, |row| quantile(p99(row), digest.header.timeout_ns)));
    } else {
        response_columns(&mut table, digest, rows);
    }
    Some(table)
}

/// The columns on responses.
fn response_columns(table: &mut Table, digest: &Digest, rows: &[Row]) {
    let timeout_ns = digest.header.timeout_ns;
    let at = |row: &Row, q: f64| cell(digest.percentile_of(row, q), timeout_ns);
    let answered = |row: &Row| row_rate_cell(row_rate(row, row.tally.ends.answered));
    table.right("answered/s", 0, cells(rows, answered));
    let loss = |row: &Row| share(lost(&row.tally), judged(&row.tally)).map_or(NOTHING.to_owned(), percent);
    table.right("loss", 0, cells(rows, loss));
    table.right("p50", 3, cells(rows, |row| at(row, 0.5)));
    table.right("p99", 0, cells(rows, |row| at(row, 0.99)));
    table.right("p99.9", 5, cells(rows, |row| at(row, 0.999)));
    table.right("max", 4, cells(rows, |row| quantile(longest(headline(digest, &row.tally)), timeout_ns)));
}

/// One cell per row.
fn cells(rows: &[Row], cell: impl Fn(&Row) -> String) -> Vec<String> {
    rows.iter().map(cell).collect()
}

const SECOND_NS: u64 = 1_000_000_000;
