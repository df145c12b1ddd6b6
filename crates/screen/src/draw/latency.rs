//! The latency: percentiles as figures, and a heat map over time.
//!
//! ```text
//!    no answer ┤      ▂▇        queries without a response, as a share of those that ended
//!       100 ms ┤       ·
//!        10 ms ┤  ·  ·░▒·       time × logarithmic latency × logarithmic count
//!         1 ms ┤▒▓▓▒▓▓▒▓▓▒
//! ```
//!
//! A cell has two latencies, one above the other, where the terminal has enough colours; else it is shaded.

use dnsdyno_measure::FLOOR_NS;
use dnsdyno_text::units::{length, setting};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Style};

use super::chart::{Plot, fill, scale};
use super::words::{Item, item, row, text};
use crate::history::{BINS_A_DECADE, Column};
use crate::palette::{Palette, Tone};
use crate::state::View;

/// The percentiles of the last ten seconds, and the longest of them.
pub(super) fn figures(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let latencies = view.figures(&view.recent).latencies();
    let style = |title: &str| match title {
        "p50" => palette.style(Tone::Answered),
        "p99" => palette.style(Tone::High),
        "p99.9" => palette.style(Tone::Highest),
        _ => Style::new(),
    };
    let shown = latencies.iter().map(|(title, figure)| {
        let figure = figure.as_deref().unwrap_or("-");
        item(title, figure, palette, style(title))
    });
    let items: Vec<Item> = shown.collect();
    let kind = if view.facts.is_open { "response time" } else { "service time" };
    let right = match view.recent.span.length_ns {
        0 => kind.to_owned(),
        length_ns => format!("{kind}, {}", length(length_ns)),
    };
    row(buffer, area, &items, Some(text(&right, palette.quiet())));
}

/// The heat map.
pub(super) fn chart(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    if area.height < 2 {
        return;
    }
    let plot = Plot::of(view, area);
    unanswered(view, palette, buffer, area, &plot);
    let map = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let Some(range) = Range::of(view, &plot) else {
        (0..map.height).for_each(|line| scale(buffer, area, map.y + line, "", '┤', palette.quiet()));
        return;
    };
    let is_fine = palette.heat(0.0).is_some();
    let lines = usize::from(map.height);
    let pixels = if is_fine { lines * 2 } else { lines };
    let columns: Vec<_> =
        plot.columns(view).map(|(x, wide, column)| (x, wide, range.counts(column, pixels))).collect();
    let most = columns.iter().flat_map(|(.., counts)| counts).copied().fold(0.0, f64::max);
    let share = |count: f64| (count > 0.0).then(|| (count + 1.0).ln() / (most + 1.0).ln());
    for (x, wide, counts) in &columns {
        for line in 0..lines {
            let y = map.y + (lines - 1 - line) as u16;
            if is_fine {
                let [low, high] = [2 * line, 2 * line + 1]
                    .map(|pixel| share(counts[pixel]).and_then(|share| palette.heat(share)));
                two(buffer, *x, y, *wide, low, high);
            } else if let Some(share) = share(counts[line]) {
                fill(buffer, *x, y, *wide, shade(share), palette.style(Tone::Answered));
            }
        }
    }
    range.labels(lines).for_each(|(line, label)| {
        scale(buffer, area, map.y + (lines - 1 - line) as u16, &label, '┤', palette.quiet());
    });
}

/// The line of what was not answered.
fn unanswered(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect, plot: &Plot) {
    scale(buffer, area, area.y, "no answer", '┤', palette.quiet());
    for (x, wide, column) in plot.columns(view) {
        let ended = (column.answered + column.unanswered).max(1);
        let part = (column.unanswered as f64 / ended as f64 * 7.0).ceil() as usize;
        if column.unanswered > 0 {
            let symbol = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"][part.clamp(1, 8) - 1];
            fill(buffer, x, area.y, wide, symbol, palette.style(Tone::Bad));
        }
    }
}

/// Writes cells with two latencies, the lower one below.
fn two(buffer: &mut Buffer, x: u16, y: u16, wide: u16, low: Option<Color>, high: Option<Color>) {
    match (low, high) {
        (None, None) => {}
        (Some(low), None) => fill(buffer, x, y, wide, "▄", Style::new().fg(low)),
        (None, Some(high)) => fill(buffer, x, y, wide, "▀", Style::new().fg(high)),
        (Some(low), Some(high)) => fill(buffer, x, y, wide, "▀", Style::new().fg(high).bg(low)),
    }
}

fn shade(share: f64) -> &'static str {
    ["·", "░", "▒", "▓", "█"][((share * 5.0) as usize).min(4)]
}

/// The latencies that are shown: whole decades, counted from 1 µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    from: usize,
    to: usize,
}

impl Range {
    /// The decades with responses; `None` where there are none.
    fn of(view: &View, plot: &Plot) -> Option<Range> {
        let filled = plot.columns(view).flat_map(|(.., column)| filled(column));
        let (low, high) = filled.fold((usize::MAX, 0), |(low, high), bin| (low.min(bin), high.max(bin)));
        (low <= high).then(|| Range { from: low / BINS_A_DECADE, to: high / BINS_A_DECADE + 1 })
    }

    /// The responses of a column in each of `pixels` equal parts of the range, from below.
    fn counts(&self, column: &Column, pixels: usize) -> Vec<f64> {
        let (first, bins) = (self.from * BINS_A_DECADE, (self.to - self.from) * BINS_A_DECADE);
        let bin_at = |pixel: usize| first + pixel * bins / pixels.max(1);
        let count = |pixel: usize| {
            let (from, to) = (bin_at(pixel), bin_at(pixel + 1).max(bin_at(pixel) + 1));
            column.bins.iter().take(to).skip(from).map(|count| f64::from(*count)).sum()
        };
        (0..pixels).map(count).collect()
    }

    /// The labels of decades, and the marks between them: the line, from below, and its label.
    fn labels(&self, lines: usize) -> impl Iterator<Item = (usize, String)> {
        let (from, decades) = (self.from, self.to - self.from);
        (0..lines).map(move |line| {
            // The decade that begins in this line.
            let begins = |decade: &usize| decade * lines / decades == line;
            let label = (0..decades).find(begins).map(|decade| decade_label(from + decade));
            (line, label.unwrap_or_default())
        })
    }
}

/// `100 µs`, the beginning of a decade from 1 µs.
fn decade_label(decade: usize) -> String {
    setting(10_u64.saturating_pow(decade as u32).saturating_mul(FLOOR_NS))
}

/// The bins with responses.
fn filled(column: &Column) -> impl Iterator<Item = usize> {
    column.bins.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bin, _)| bin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_response_of_the_range_is_in_one_part_of_it() {
        let bins = (0..4 * BINS_A_DECADE as u32).collect();
        let column = Column { bins, ..Column::default() };
        let range = Range { from: 1, to: 3 };
        let all: u32 = (BINS_A_DECADE as u32..3 * BINS_A_DECADE as u32).sum();
        for pixels in [1, 2, 7, 10, 63, 64] {
            let counts = range.counts(&column, pixels);
            assert_eq!(counts.len(), pixels);
            assert_eq!(counts.iter().sum::<f64>(), f64::from(all), "{pixels}");
        }
    }

    #[test]
    fn decades_are_labelled_where_they_begin() {
        let range = Range { from: 2, to: 4 };
        let labels: Vec<_> = range.labels(6).filter(|(_, label)| !label.is_empty()).collect();
        assert_eq!(labels, [(0, "100 µs".to_owned()), (3, "1 ms".to_owned())]);
        let crowded: Vec<_> = Range { from: 0, to: 7 }.labels(3).map(|(_, label)| label).collect();
        assert_eq!(crowded, ["1 µs", "1 ms", "100 ms"]);
    }
}
