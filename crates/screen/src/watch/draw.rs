//! The picture of what moves: a series a line, with its rate, its sum and its last minute.

use dnsdyno_text::units::length;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use crate::draw::words::{cut, row, text};
use crate::moving::{MovedSeries, SeriesTracks};
use crate::options::Options;
use crate::palette::{Palette, Tone};
use crate::show::Scene;

/// What one picture shows.
pub(crate) struct View {
    head: String,
    time: String,
    movers: Vec<MovedSeries>,
    note: Option<String>,
}

impl Scene for SeriesTracks {
    type View = View;

    fn version(&self) -> u64 {
        self.version
    }

    fn view(&self, elapsed_ns: u64, _width: u16, _options: Options) -> View {
        let elapsed_ns = elapsed_ns.max(self.to_ns);
        let left = self.end_ns.map(|end_ns| end_ns.saturating_sub(elapsed_ns) / SECOND_NS * SECOND_NS);
        let left = left.map_or(String::new(), |left_ns| format!(", {} left", length(left_ns)));
        View {
            head: format!("watching {}", self.labels().join(", ")),
            time: format!("{}{left}", length(elapsed_ns / SECOND_NS * SECOND_NS)),
            movers: self.movers(),
            note: self.note.clone(),
        }
    }

    fn draw(view: &View, options: Options, palette: &Palette, buffer: &mut Buffer) {
        let area = buffer.area;
        let line = |y: u16| Rect { x: area.x + 1, y, width: area.width.saturating_sub(2), height: 1 };
        let place = Places::of(line(0).width);
        let time_width = view.time.chars().count() as u16 + 3;
        let head = Rect { width: line(0).width.saturating_sub(time_width), ..line(0) };
        cut(buffer, head, &view.head, palette.figure());
        row(buffer, line(0), &[], Some(text(&view.time, palette.quiet())));
        let titles = ["series", "now", "in all", "last minute", "of"];
        place.cells(buffer, line(2), titles, [palette.quiet(); 5]);
        let last = area.height.saturating_sub(1);
        let lines = last.saturating_sub(3 + u16::from(view.note.is_some()));
        if view.movers.is_empty() {
            cut(buffer, line(3), "nothing has moved in the last minute", palette.quiet());
        }
        for (mover, y) in view.movers.iter().take(usize::from(lines)).zip(3..) {
            let tone = if mover.is_loss { palette.style(Tone::Bad) } else { Style::new() };
            let spark = spark(&mover.values, usize::from(place.spark));
            let cells = [&mover.name, &mover.now, &mover.total, &spark, &mover.label];
            let figure = palette.figure().patch(tone);
            let spark_style = if mover.is_loss { tone } else { palette.style(Tone::Answered) };
            let styles = [tone, figure, Style::new(), spark_style, palette.quiet()];
            place.cells(buffer, line(y), cells.map(String::as_str), styles);
        }
        if let Some(note) = &view.note {
            cut(buffer, line(last.saturating_sub(1)), note, palette.style(Tone::Refused));
        }
        let more = view.movers.len().saturating_sub(usize::from(lines));
        let more = if more > 0 { format!("{more} more series moved   ") } else { String::new() };
        let pause = if options.is_paused { "p go on" } else { "p pause" };
        cut(buffer, line(last), &format!("{more}q quit   {pause}"), palette.quiet());
    }
}

/// The columns, by the width of the terminal.
struct Places {
    name: u16,
    spark: u16,
    label: u16,
}

impl Places {
    fn of(width: u16) -> Places {
        let free = width.saturating_sub(2 * FIGURE);
        let name = (free / 2).clamp(12.min(free), 44);
        let rest = free - name.min(free);
        let label = if rest >= 34 { rest.min(64) / 3 } else { 0 };
        let spark = rest.saturating_sub(label + 2 * GAP).min(60);
        Places { name, spark, label }
    }

    /// Writes a line: text, two figures at the right of their columns, text, text.
    fn cells(&self, buffer: &mut Buffer, line: Rect, cells: [&str; 5], styles: [Style; 5]) {
        let widths = [self.name, FIGURE, FIGURE, self.spark, self.label];
        let mut x = line.x;
        for (place, (width, (cell, style))) in
            widths.into_iter().zip(cells.into_iter().zip(styles)).enumerate()
        {
            let is_figure = matches!(place, 1 | 2);
            let room = usize::from(width.saturating_sub(u16::from(place == 0)));
            let padded = if is_figure { format!("{cell:>room$}") } else { cell.to_owned() };
            let gap = if place == 3 || place == 4 { GAP } else { 0 };
            let right = line.x + line.width;
            let from = (x + gap).min(right);
            cut(buffer, Rect { x: from, width: (room as u16).min(right - from), ..line }, &padded, style);
            x = (x + gap + width).min(right);
        }
    }
}

/// The last values as a line of blocks, the newest at the right; a space where nothing was read.
fn spark(values: &[Option<u64>], width: usize) -> String {
    let shown = &values[values.len().saturating_sub(width)..];
    let most = shown.iter().flatten().copied().max().unwrap_or(0).max(1);
    let block = |value: &Option<u64>| match value {
        None => ' ',
        Some(value) => {
            let step = (*value as f64 / most as f64 * (BLOCKS.len() - 1) as f64).ceil() as usize;
            BLOCKS[step.min(BLOCKS.len() - 1)]
        }
    };
    let pad = width.saturating_sub(shown.len());
    " ".repeat(pad) + &shown.iter().map(block).collect::<String>()
}

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Columns of a figure, and between others.
const FIGURE: u16 = 13;
const GAP: u16 = 2;

const SECOND_NS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palette::Depth;

    fn picture(width: u16, height: u16) -> Vec<String> {
        let mover = |name: &str, is_loss| MovedSeries {
            label: "named (4711)".into(),
            name: name.into(),
            now: "1,234/s".into(),
            total: "4,765".into(),
            values: vec![Some(0), None, Some(4), Some(8)],
            is_loss,
        };
        let view = View {
            head: "watching this host, named (4711)".into(),
            time: "12 s".into(),
            movers: vec![mover("udp.drops", true), mover("queries.udp", false), mover("open", false)],
            note: Some("BIND cannot be read".into()),
        };
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        SeriesTracks::draw(&view, Options::default(), &Palette::new(Depth::None), &mut buffer);
        let cell = |x, y| buffer[(x, y)].symbol().to_owned();
        (0..height)
            .map(|y| (0..width).map(|x| cell(x, y)).collect::<String>().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn a_series_has_its_rate_its_sum_its_minute_and_its_source() {
        let lines = picture(100, 8);
        assert!(lines[0].starts_with(" watching this host, named (4711)") && lines[0].ends_with("12 s"));
        let words: Vec<_> = lines[3].split_whitespace().collect();
        assert_eq!(words, ["udp.drops", "1,234/s", "4,765", "▁", "▅█", "named", "(4711)"]);
        assert_eq!((lines[6].trim(), lines[7].trim()), ("BIND cannot be read", "q quit   p pause"));
    }

    #[test]
    fn a_small_terminal_shows_what_fits_and_says_how_many_more_there_are() {
        let lines = picture(40, 7);
        assert!(lines[3].contains("udp.drops") && lines[3].contains("1,234/s"), "{lines:?}");
        assert!(lines[6].contains("1 more series moved"), "{lines:?}");
        for (width, height) in [(24, 6), (1, 1), (500, 200)] {
            picture(width, height);
        }
    }

    #[test]
    fn the_newest_value_is_at_the_right_and_the_highest_is_a_full_block() {
        assert_eq!(spark(&[Some(1), Some(8), None, Some(0)], 6), "  ▂█ ▁");
        assert_eq!(spark(&[Some(1), Some(2), Some(3)], 2), "▆█");
        assert_eq!(spark(&[], 2), "  ");
    }
}
