//! Lines of labelled figures: as many whole ones as fit.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget;

use crate::palette::Palette;

/// A label and its figure.
pub(crate) type Item = Line<'static>;

/// `p99 1.31 ms`: the label quiet, the figure in this style.
pub(crate) fn item(label: &str, figure: &str, palette: &Palette, style: Style) -> Item {
    let style = palette.figure().patch(style);
    let figure = Span::styled(figure.to_owned(), style);
    match label {
        "" => Line::from(figure),
        label => Line::from(vec![Span::styled(format!("{label} "), palette.quiet()), figure]),
    }
}

/// Text in one style.
pub(crate) fn text(text: &str, style: Style) -> Item {
    Line::from(Span::styled(text.to_owned(), style))
}

/// Writes items from the left and one at the right end; those that do not fit are left out, the last first.
pub(crate) fn row(buffer: &mut Buffer, area: Rect, items: &[Item], right: Option<Item>) {
    if area.is_empty() {
        return;
    }
    let mut width = usize::from(area.width);
    if let Some(right) = right.filter(|right| right.width() <= width) {
        width -= right.width();
        let x = area.x + width as u16;
        right.render(Rect { x, width: area.width - width as u16, height: 1, ..area }, buffer);
        width = width.saturating_sub(GAP);
    }
    let mut at = 0;
    for item in items {
        let gap = if at == 0 { 0 } else { GAP };
        if at + gap + item.width() > width {
            break;
        }
        let x = area.x + (at + gap) as u16;
        item.render(Rect { x, width: item.width() as u16, height: 1, ..area }, buffer);
        at += gap + item.width();
    }
}

/// Writes one text, cut at the end of the area with `…`.
pub(crate) fn cut(buffer: &mut Buffer, area: Rect, words: &str, style: Style) {
    if area.is_empty() {
        return;
    }
    let whole = text(words, style);
    if whole.width() <= usize::from(area.width) {
        return whole.render(Rect { height: 1, ..area }, buffer);
    }
    let mut shown = String::new();
    for c in words.chars() {
        shown.push(c);
        if Span::raw(shown.as_str()).width() + 1 > usize::from(area.width) {
            shown.pop();
            break;
        }
    }
    shown.push('…');
    text(&shown, style).render(Rect { height: 1, ..area }, buffer);
}

/// Columns between items.
const GAP: usize = 3;
