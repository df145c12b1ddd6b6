//! The members of a mix: a line each, of the last ten seconds that have settled.

use dnsdyno_measure::MemberTally;
use dnsdyno_record::Headline;
use dnsdyno_text::shown;
use dnsdyno_text::units::{count, duration, setting};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::words::{item, row, text};
use crate::palette::{Palette, Tone};
use crate::state::{View, per_second};

/// The lines of the members; the last one says how many have none.
pub(super) fn draw(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let settled = &view.settled;
    let none = MemberTally::default();
    let members = &view.facts.mix;
    let hidden = members.len().saturating_sub(usize::from(area.height));
    let lines = area.height - u16::from(hidden > 0).min(area.height);
    let width = members.iter().map(|name| name.chars().count()).max().unwrap_or(0).clamp(8, LONGEST_NAME);
    if hidden > 0 && area.height > 0 {
        let words = format!("and {} more, which the summary has", hidden + 1);
        row(buffer, Rect { y: area.y + lines, height: 1, ..area }, &[text(&words, palette.quiet())], None);
    }
    for (line, name) in (0..lines).zip(members) {
        let member = settled.tally.members.get(usize::from(line)).unwrap_or(&none);
        let lost = member.ends.unanswered();
        let latency = match view.facts.headline {
            Headline::Response => member.response_latency(),
            Headline::Service => member.service_latency(),
        };
        let at = |q: f64| match latency.percentile(q).map(|at| at.written(view.facts.timeout_ns)) {
            Some(written) if written.beyond_timeout => format!(">{}", setting(written.ns)),
            Some(written) => duration(written.ns),
            None => "-".to_owned(),
        };
        let style = if lost > 0 { palette.style(Tone::Bad) } else { Style::new() };
        let rate = |count: u64| match view.missing {
            Some(_) => format!("{:>11}", "partial"),
            None => format!("{:>11}", per_second(count, settled.span)),
        };
        let items = [
            text(&format!("{:<width$}", shown(name, width)), palette.figure()),
            item("asked", &rate(member.scheduled), palette, Style::new()),
            item("answered", &rate(member.ends.answered), palette, palette.style(Tone::Answered)),
            item("p50", &format!("{:>7}", at(0.5)), palette, Style::new()),
            item("p99", &format!("{:>7}", at(0.99)), palette, palette.style(Tone::High)),
            item("lost", &count(lost), palette, style),
        ];
        row(buffer, Rect { y: area.y + line, height: 1, ..area }, &items, None);
    }
}

/// Columns of a name at most: an IPv4 address with its port fits.
const LONGEST_NAME: usize = 24;
