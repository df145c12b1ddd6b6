//! Which run it is, and how far.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::words::{cut, item, row, text};
use crate::palette::{Palette, Tone};
use crate::state::{Stage, View};

/// The name, the server, the load; the time at the right.
pub(super) fn draw(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let facts = &view.facts;
    let time = match facts.end_ns {
        Some(end_ns) => format!("{} / {}", clock(view.elapsed_ns), clock(end_ns)),
        None => clock(view.elapsed_ns),
    };
    let right = text(&time, palette.figure());
    let free = area.width.saturating_sub(right.width() as u16 + 2);
    row(buffer, area, &[], Some(right));
    let name = facts.name.as_ref().map_or(String::new(), |name| format!("{name}   "));
    let words = format!("dnsdyno   {name}{} {}   {}", facts.target, facts.transport, facts.load);
    cut(buffer, Rect { width: free, ..area }, &words, palette.figure());
}

/// The step of the load, a bar, the time left.
pub(super) fn progress(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let (words, share) = view.progress();
    let style = match view.stage {
        Stage::Stopping(_) => palette.style(Tone::Refused),
        Stage::Running if view.missing.is_some() => palette.style(Tone::Bad),
        Stage::Running => palette.quiet(),
    };
    let step = view.step().map(|(number, phase)| {
        let of = format!("step {number} of {}:", view.facts.phases.len());
        item(&of, &phase.label, palette, Default::default())
    });
    let step_width = step.as_ref().map_or(0, |step| step.width() as u16 + 3);
    let words_width = text(&words, style).width() as u16 + 3;
    let bar = area.width.saturating_sub(step_width + words_width);
    let items: Vec<_> = step.into_iter().collect();
    match share.filter(|_| bar >= SHORTEST_BAR) {
        Some(share) => {
            row(buffer, area, &items, Some(text(&words, style)));
            let filled = (f64::from(bar) * share) as u16;
            let at = |x: u16, width: u16| Rect { x: area.x + step_width + x, width, ..area };
            cut(buffer, at(0, filled), &"━".repeat(filled.into()), palette.style(Tone::Answered));
            cut(buffer, at(filled, bar - filled), &"─".repeat((bar - filled).into()), palette.quiet());
        }
        None => {
            let left = area.width.saturating_sub(words_width);
            if step_width > left {
                return cut(buffer, area, &words, style);
            }
            row(buffer, area, &items, None);
            let rest = Rect { x: area.x + step_width, width: area.width - step_width, ..area };
            cut(buffer, rest, &words, style);
        }
    }
}

/// `00:06:41`; of a run of days the hours go on.
fn clock(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// A shorter bar shows nothing.
const SHORTEST_BAR: u16 = 8;
