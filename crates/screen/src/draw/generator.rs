//! The generator's own state: its verdict so far, its CPUs, its lateness, what it lost.

use dnsdyno_measure::{Quantile, Warning};
use dnsdyno_record::figures::{lateness, rate_qps};
use dnsdyno_text::units::{count, duration, rate};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::words::{Item, cut, item, row, text};
use crate::palette::{Palette, Tone};
use crate::state::View;

/// The line of the generator.
pub(super) fn draw(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let plain = Style::new();
    let mut items = vec![text(&words(view), palette.figure().patch(style(view, palette)))];
    items.extend(busiest(view).map(|share| {
        let style = if share >= BUSY { palette.style(Tone::Bad) } else { plain };
        let workers = match view.facts.workers {
            1 => "worker".to_owned(),
            several => format!("busiest of {several} workers"),
        };
        item(&workers, &format!("{:.0} %", share * 100.0), palette, style)
    }));
    if let Some(Quantile::At(ns)) = lateness(&view.settled.tally).quantile(0.99) {
        items.push(item("lateness p99", &duration(ns), palette, plain));
    }
    let drops = view.total.arrivals.socket_drops;
    let style = if drops > 0 { palette.style(Tone::Bad) } else { plain };
    items.push(item("drops", &count(drops), palette, style));
    row(buffer, area, &items, None);
}

/// The verdict so far, in words.
pub(super) fn words(view: &View) -> String {
    match view.judged.as_deref() {
        None => "generator: no verdict yet".to_owned(),
        Some([]) => "generator: ✓ ok".to_owned(),
        Some(doubts) => {
            let names: Vec<String> = doubts.iter().map(|doubt| doubt.name().replace('_', " ")).collect();
            format!("generator: ! {}", names.join(", "))
        }
    }
}

/// Its colour.
pub(super) fn style(view: &View, palette: &Palette) -> Style {
    match view.judged.as_deref() {
        None => palette.quiet(),
        Some([]) => palette.style(Tone::Good),
        Some(_) => palette.style(Tone::Bad),
    }
}

/// The latest message; without one, what to do about the first doubt.
pub(super) fn message(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let doubt = || view.judged.as_deref().and_then(|doubts| doubts.first()).map(Warning::to_string);
    if let Some(message) = view.note.clone().or_else(doubt) {
        cut(buffer, area, &format!("! {}", dnsdyno_text::safe(&message)), palette.style(Tone::Refused));
    }
}

/// The share of a CPU and the rate of each worker, where there are several.
pub(super) fn workers(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let span = view.settled.span;
    let items: Vec<Item> = view
        .settled
        .workers
        .iter()
        .enumerate()
        .map(|(number, used)| {
            let share = used.cpu_ns as f64 / span.length_ns.max(1) as f64;
            let sent_qps = rate_qps(used.sent, span.of_rates_ns());
            let words = format!("{:>3.0} % {:>9}/s", share * 100.0, rate(sent_qps));
            let style = if share >= BUSY { palette.style(Tone::Bad) } else { Style::new() };
            item(&format!("worker {number:<2}"), &words, palette, style)
        })
        .collect();
    let mut rest = items.as_slice();
    for line in 0..area.height {
        let (now, later) = rest.split_at(rest.len().min(WORKERS_A_LINE));
        row(buffer, Rect { y: area.y + line, height: 1, ..area }, now, None);
        rest = later;
    }
}

/// Lines of the workers; none where there is one, of which the line of the generator says all.
pub(super) fn lines_of_workers(view: &View) -> u16 {
    match view.settled.workers.len() {
        0 | 1 => 0,
        workers => workers.div_ceil(WORKERS_A_LINE).min(MOST_LINES) as u16,
    }
}

/// The largest share of a CPU that a worker used in the last ten seconds that have settled.
fn busiest(view: &View) -> Option<f64> {
    let length_ns = Some(view.settled.span.length_ns).filter(|length_ns| *length_ns > 0)? as f64;
    let shares = view.settled.workers.iter().map(|used| used.cpu_ns as f64 / length_ns);
    shares.reduce(f64::max)
}

/// A worker that is idle for less than a tenth of its time has no reserve.
const BUSY: f64 = 0.9;

/// They fit on 80 columns.
const WORKERS_A_LINE: usize = 2;

/// Lines of workers at most: more of them than this hide the rest.
const MOST_LINES: usize = 4;
