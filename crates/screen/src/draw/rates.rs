//! The rates: asked, sent and answered, as figures and over time.
//!
//! ```text
//!    10,000 ┤        ──▁▁▁▁     asked, a line where it is above
//!           ┤   ▂▂▃▃▃▅▅▆▆▆      answered, filled; sent where nothing is waited for
//!         0 ┤ ▃▇████████████
//! ```

use dnsdyno_text::units::{percent, rate};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::chart::{Plot, fill, scale};
use super::words::{Item, item, row};
use crate::palette::{Palette, Tone};
use crate::state::View;

/// The figures of the last second, and the loss of the last ten.
pub(super) fn figures(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let now = view.figures(&view.last);
    let is_shown = |what: &str| !(view.facts.send_only && what == "answered");
    let rates = now.rates().into_iter().filter(|figure| is_shown(figure.what));
    let mut items: Vec<Item> = rates
        .map(|figure| {
            let style = match figure.what {
                "answered" => palette.style(Tone::Answered),
                _ => Default::default(),
            };
            let unit = if view.missing.is_some() { "" } else { "/s" };
            item(figure.what, &format!("{}{unit}", figure.text), palette, style)
        })
        .collect();
    items.extend(loss(view, palette));
    let outstanding = view.last.arrivals.in_flight_max;
    if !view.facts.send_only {
        let most = dnsdyno_text::units::count(outstanding);
        items.push(item("outstanding", &most, palette, Default::default()));
    }
    row(buffer, area, &items, None);
}

/// The share of the queries that ended in the last ten seconds without a response in time.
fn loss(view: &View, palette: &Palette) -> Option<Item> {
    let arrivals = &view.recent.arrivals;
    let lost = arrivals.timed_out + arrivals.refused + arrivals.wrong + arrivals.not_sent;
    let ended = arrivals.answered + lost;
    let style = if lost > 0 { palette.style(Tone::Bad) } else { Default::default() };
    (ended > 0).then(|| item("loss", &percent(lost as f64 / ended as f64), palette, style))
}

/// The rates over time.
pub(super) fn chart(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    if area.is_empty() {
        return;
    }
    let plot = Plot::of(view, area);
    let most = round_up(view.most_qps());
    let lines = usize::from(area.height);
    for line in 0..area.height {
        let label = match line {
            0 => rate(most),
            last if last + 1 == area.height => "0".to_owned(),
            _ => String::new(),
        };
        scale(buffer, area, area.y + line, &label, '┤', palette.quiet());
    }
    let (answered, asked) = (palette.style(Tone::Answered), palette.quiet());
    let eighths = |qps: f64| ((qps / most) * (lines * 8) as f64).round() as usize;
    for (x, wide, column) in plot.columns(view) {
        let shown = if view.facts.send_only { column.sent } else { column.answered };
        let high = eighths(column.rate_qps(shown as f64)).max(usize::from(shown > 0));
        for line in 0..lines {
            let part = high.saturating_sub(line * 8).min(8);
            let y = area.y + (lines - 1 - line) as u16;
            if part > 0 {
                fill(buffer, x, y, wide, EIGHTHS[part - 1], answered);
            }
        }
        let asked_at = eighths(column.rate_qps(column.asked)).saturating_sub(1);
        let line = asked_at / 8;
        // Where it is above what is filled; else it is met.
        if column.asked > 0.0 && line * 8 >= high && line < lines {
            let mark = ["▁", "─", "▔"][(asked_at % 8 / 3).min(2)];
            fill(buffer, x, area.y + (lines - 1 - line) as u16, wide, mark, asked);
        }
    }
}

/// The next round figure that is not below `qps`.
fn round_up(qps: f64) -> f64 {
    if !qps.is_finite() || qps <= 1.0 {
        return 1.0;
    }
    let power = 10_f64.powf(qps.log10().floor());
    // The queries of a second are some more or less than its rate.
    let fits = |step: &f64| step * power * 1.03 >= qps;
    [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0].into_iter().find(fits).unwrap_or(10.0) * power
}

/// A cell that is filled from below, by eighths.
const EIGHTHS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_ends_with_a_round_figure_that_is_not_below_the_largest_rate() {
        let cases = [(0.0, 1.0), (f64::NAN, 1.0), (999.0, 1_000.0), (1_020.0, 1_000.0), (1_100.0, 1_500.0)];
        cases.into_iter().for_each(|(qps, most)| assert_eq!(round_up(qps), most, "{qps}"));
        assert_eq!(round_up(48_300.0), 50_000.0);
    }
}
