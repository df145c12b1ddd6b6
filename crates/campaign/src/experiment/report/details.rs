//! What is shown of a cell beside rates and percentiles: how far its runs and their seconds are apart, the other
//! figures of the latency, what the server used, and the columns made of watched series.

use dnsdyno_text::layout::NOTHING;
use dnsdyno_text::safe;
use dnsdyno_text::units::{bits_per_s, bytes, percent};

use super::words::{latency, plain};
use crate::compare::Kind;
use crate::experiment::{CellResult, Column, ExperimentResult, Spread};

/// The titles of [`details`].
pub const DETAILS: [&str; 10] =
    ["mean/s", "lowest/s", "highest/s", "wobble", "avg", "min", "max", "CPU", "memory", "bits/s"];

/// The details of a cell, in the order of [`DETAILS`]: the median of the runs, but for the mean, the ends and the
/// memory, which say of which runs they are.
pub fn details(cell: &CellResult) -> [String; DETAILS.len()] {
    let of = |spread: Option<Spread>, text: &dyn Fn(Spread) -> String| {
        spread.map_or_else(|| NOTHING.to_owned(), text)
    };
    let mark = |spread: Spread| super::words::mark(Kind::Rate, cell, spread);
    [
        of(cell.answered, &|spread| format!("{}{}", mark(spread), plain(Kind::Rate, spread.mean))),
        of(cell.answered, &|spread| plain(Kind::Rate, spread.lowest.value)),
        of(cell.answered, &|spread| plain(Kind::Rate, spread.highest.value)),
        of(cell.wobble, &|spread| percent(spread.median.value)),
        of(cell.average, &|spread| latency(spread.median)),
        of(cell.shortest, &|spread| latency(spread.lowest)),
        of(cell.longest, &|spread| latency(spread.highest)),
        of(cell.cpu_share, &|spread| percent(spread.median.value)),
        of(cell.memory_bytes, &|spread| bytes(spread.highest.value)),
        of(cell.bits_per_s, &|spread| bits_per_s(spread.median.value)),
    ]
}

/// The columns of watched series that any cell has a figure for, and those of the file in any case, by their number.
pub fn columns(result: &ExperimentResult) -> impl Iterator<Item = (usize, &Column)> {
    let of_file = first_of_file(result);
    let has_figure =
        |at: usize| result.cells.iter().any(|cell| cell.columns.get(at).copied().flatten().is_some());
    result.columns.iter().enumerate().filter(move |(at, _)| *at >= of_file || has_figure(*at))
}

/// The columns of the file alone.
pub fn columns_of_file(result: &ExperimentResult) -> impl Iterator<Item = (usize, &Column)> {
    result.columns.iter().enumerate().skip(first_of_file(result))
}

/// The columns of each experiment come before those of the file.
fn first_of_file(result: &ExperimentResult) -> usize {
    result.columns.len().saturating_sub(result.design.columns.len())
}

/// The figure of a cell in a column: its median.
pub fn middle(cell: &CellResult, at: usize, column: &Column) -> String {
    let spread = cell.columns.get(at).copied().flatten();
    spread.map_or_else(|| NOTHING.to_owned(), |spread| column.text(spread.median.value))
}

/// The same with its range: `83 (71..90)`.
pub fn with_range(cell: &CellResult, at: usize, column: &Column) -> String {
    let Some(spread) = cell.columns.get(at).copied().flatten() else { return NOTHING.to_owned() };
    let [lowest, median, highest] =
        [spread.lowest, spread.median, spread.highest].map(|figure| column.text(figure.value));
    match lowest == highest {
        true => median,
        false => format!("{median} ({lowest}..{highest})"),
    }
}

/// The title of a column.
pub fn title(column: &Column) -> String {
    safe(&column.title)
}

/// What the details are.
pub const HELP: &str = "mean/s, lowest/s and highest/s: of the rates answered in the runs. wobble: how much the \
    answers that arrive in a second differ between the seconds of a run, as their standard deviation in percent of \
    their mean; of runs with three whole seconds or more and one rate. avg: of the answered queries. min and max: of \
    all runs. CPU: what the server's process used of one CPU while there was load. memory: the most that it had. \
    bits/s: of the responses, without the headers of UDP, TCP and IP.";
