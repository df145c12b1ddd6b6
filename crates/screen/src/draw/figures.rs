//! Responses by RCODE and losses; and the figures alone, for a terminal without room for charts.

use dnsdyno_text::units::{length, percent};
use dnsdyno_wire::rcode_name;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::words::{Item, cut, item, row, text};
use super::{generator, head, help};
use crate::palette::{Palette, Tone};
use crate::state::{Stage, View};

/// The shares of RCODEs among the responses of the last ten seconds that have settled.
pub(super) fn rcodes(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let rcodes = &view.settled.tally.rcodes;
    let total = rcodes.total();
    let mut shares: Vec<(u16, u64)> = rcodes.iter().collect();
    shares.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown = shares.into_iter().map(|(code, count)| {
        let share = percent(count as f64 / total.max(1) as f64);
        item(&rcode_name(code), &share, palette, Style::new())
    });
    let items: Vec<Item> = match total {
        0 => vec![text("responses -", palette.quiet())],
        _ => [text("responses", palette.quiet())].into_iter().chain(shown).collect(),
    };
    row(buffer, area, &items, None);
}

/// What was lost since the start, by kind.
pub(super) fn losses(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let losses = view.figures(&view.total).losses();
    let mut items = vec![text("since the start", palette.quiet())];
    if losses.is_empty() {
        items.push(text("no losses", palette.quiet()));
    }
    items.extend(losses.iter().map(|figure| {
        let tone = if figure.what == "refused" { Tone::Refused } else { Tone::Bad };
        item(figure.what, &figure.text, palette, palette.style(tone))
    }));
    row(buffer, area, &items, None);
}

/// The figures alone: the time, the block of figures, the generator, as far as there are lines.
pub(super) fn draw(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let line = |number: u16| Rect { y: area.y + number, height: 1, ..area };
    let (words, _) = view.progress();
    let first = format!("{}  {words}", length(view.elapsed_ns / 1_000_000_000 * 1_000_000_000));
    let mut lines = vec![(first, palette.quiet())];
    let block = view.figures(&view.last).block(usize::from(area.width));
    lines.extend(block.lines().map(|figures| (figures.to_owned(), palette.figure())));
    lines.push((generator::words(view), generator::style(view, palette)));
    if let Stage::Running = view.stage {
        lines.push((help::ENDS.to_owned(), palette.quiet()));
    }
    for (number, (words, style)) in (0..area.height).zip(&lines) {
        cut(buffer, line(number), words, *style);
    }
    if area.height > lines.len() as u16 + 1 {
        head::draw(view, palette, buffer, line(area.height - 1));
    }
}
