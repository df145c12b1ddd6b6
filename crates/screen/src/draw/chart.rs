//! What the charts share: the columns of time, the scale at the left, the axis below.

use dnsdyno_text::units::{length, setting};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::words::cut;
use crate::history::Column;
use crate::palette::Palette;
use crate::state::View;

/// The place of a chart: beside its scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plot {
    pub(super) area: Rect,
    /// Columns of the history that have a place; not more than there are columns of the terminal.
    places: usize,
    /// The place of the first column that is shown.
    first: usize,
    /// Columns of the stretch that are older than what is shown.
    skipped: usize,
    /// Whether the places are all of a run whose end is known.
    is_complete: bool,
}

impl Plot {
    /// The plot in an area of a chart.
    pub(super) fn of(view: &View, area: Rect) -> Plot {
        let width = area.width.saturating_sub(SCALE);
        let plot = Rect { x: area.x + area.width - width, width, ..area };
        let (width, have) = (usize::from(width), view.stretch.columns.len());
        let end = view.facts.end_ns.map(|end_ns| end_ns.div_ceil(view.stretch.column_ns.max(1)));
        let planned = end.and_then(|end| usize::try_from(end).ok()).map(|end| end.max(have));
        match planned.filter(|planned| (1..=width).contains(planned) && view.stretch.first == 0) {
            Some(places) => Plot { area: plot, places, first: 0, skipped: 0, is_complete: true },
            None => {
                let skipped = have.saturating_sub(width);
                let first = width - (have - skipped);
                Plot { area: plot, places: width, first, skipped, is_complete: false }
            }
        }
    }

    /// The columns that are shown, with their places: the first column of the terminal, and how many.
    pub(super) fn columns<'a>(&self, view: &'a View) -> impl Iterator<Item = (u16, u16, &'a Column)> {
        let Plot { area, places, first, .. } = *self;
        let shown = view.stretch.columns.iter().skip(self.skipped);
        let begins = move |place: usize| (place * usize::from(area.width) / places.max(1)) as u16;
        shown.zip(first..places).map(move |(column, place)| {
            let (from, to) = (begins(place), begins(place + 1));
            (area.x + from, to - from, column)
        })
    }
}

/// Writes a label and its mark on the scale at the left of a line of a chart.
pub(super) fn scale(buffer: &mut Buffer, area: Rect, y: u16, label: &str, mark: char, style: Style) {
    let width = usize::from(SCALE) - 2;
    let label = format!("{label:>width$} {mark}");
    cut(buffer, Rect { y, height: 1, width: SCALE.min(area.width), ..area }, &label, style);
}

/// Writes a symbol into each of `wide` cells.
pub(super) fn fill(buffer: &mut Buffer, x: u16, y: u16, wide: u16, symbol: &str, style: Style) {
    for x in x..x.saturating_add(wide) {
        if let Some(cell) = buffer.cell_mut((x, y)) {
            cell.set_symbol(symbol).set_style(style);
        }
    }
}

/// The axis of time below the charts.
pub(super) fn time_axis(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    if area.is_empty() {
        return;
    }
    let plot = Plot::of(view, area);
    let width = usize::from(plot.area.width);
    let column_ns = view.stretch.column_ns;
    let (from, to) = if plot.is_complete {
        ("0 s".to_owned(), view.facts.end_ns.map(length).unwrap_or_default())
    } else {
        let shown_ns = column_ns.saturating_mul(width as u64);
        (format!("{} ago", length(shown_ns)), "now".to_owned())
    };
    let is_merged = column_ns > view.facts.interval_ns.max(SECOND_NS);
    let middle = if is_merged { format!("{} a column", setting(column_ns)) } else { String::new() };
    let line = |left: &str, right: &str| {
        let filled = width.saturating_sub(left.chars().count() + right.chars().count() + 2);
        let (middle, rest) = match filled.checked_sub(middle.chars().count() + 2) {
            Some(rest) if !middle.is_empty() => (format!(" {middle} "), rest),
            _ => (String::new(), filled),
        };
        format!("{left} {}{middle}{} {right}", "─".repeat(rest / 2), "─".repeat(rest - rest / 2))
    };
    scale(buffer, area, area.y, "", '└', palette.quiet());
    cut(buffer, plot.area, &line(&from, &to), palette.quiet());
}

const SECOND_NS: u64 = 1_000_000_000;

/// Columns of the scale.
pub(super) const SCALE: u16 = 11;
