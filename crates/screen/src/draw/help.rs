//! The keys, and the help that explains the picture.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use super::words::{cut, row, text};
use crate::options::Options;
use crate::palette::Palette;

/// The line of keys.
pub(super) fn keys(options: Options, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let key = |key: &'static str, does: &'static str| {
        Line::from(vec![Span::styled(key, palette.figure()), Span::styled(does, palette.quiet())])
    };
    let items = [
        key("q", " ends, again to stop at once"),
        key("w", if options.is_whole { " last seconds" } else { " whole run" }),
        key("p", if options.is_paused { " goes on" } else { " pauses" }),
        key("?", " help"),
    ];
    let state = options.is_paused.then(|| text("the picture is paused, the run is not", palette.figure()));
    row(buffer, area, &items, state);
}

/// Explains the picture, over it.
pub(super) fn draw(palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let widest = HELP.iter().map(|line| line.chars().count()).max().unwrap_or(0) as u16;
    let (width, height) = ((widest + 4).min(area.width), (HELP.len() as u16 + 2).min(area.height));
    let (x, y) = (area.x + (area.width - width) / 2, area.y + (area.height - height) / 2);
    let inside = draw_window(buffer, Rect { x, y, width, height }, "┌ help ", palette.quiet());
    for (line, words) in (0..inside.height).zip(HELP) {
        let words = format!(" {words}");
        cut(buffer, Rect { y: inside.y + line, height: 1, ..inside }, &words, Style::new());
    }
}

/// Empties a part of the picture and draws a border around it, whose upper line begins with `title`. Returns what is
/// inside; a part without room for a border is left empty.
fn draw_window(buffer: &mut Buffer, window: Rect, title: &str, style: Style) -> Rect {
    for position in window.positions() {
        buffer[position].reset();
    }
    let Rect { x, y, width, height } = window;
    if width < 2 || height < 2 {
        return Rect { width: 0, height: 0, ..window };
    }
    let inside = Rect { x: x + 1, y: y + 1, width: width - 2, height: height - 2 };
    let line = "─".repeat(usize::from(inside.width));
    let rest: String = line.chars().skip(title.chars().count() - 1).collect();
    cut(buffer, Rect { height: 1, ..window }, &format!("{title}{rest}┐"), style);
    for y in inside.top()..inside.bottom() {
        for x in [window.left(), window.right() - 1] {
            buffer[(x, y)].set_symbol("│").set_style(style);
        }
    }
    cut(buffer, Rect { y: y + height - 1, height: 1, ..window }, &format!("└{line}┘"), style);
    inside
}

/// What to press on a terminal without room for more.
pub(super) const ENDS: &str = "q ends";

const HELP: [&str; 13] = [
    "Rates are of the last second, percentiles,",
    "RCODEs and loss of the last ten; a query is",
    "lost when its timeout has passed.",
    "",
    "Heat map: time from left to right, latency",
    "upwards; lighter is more responses. Above it:",
    "the share of queries without a response.",
    "",
    "q, Ctrl-C  ends the run; again: at once",
    "w          all of the run, or its last seconds",
    "p          pauses the picture, not the run",
    "Ctrl-Z     stops the process; `fg` goes on",
    "?          closes this help",
];
