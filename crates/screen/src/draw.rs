//! The picture: a view and a buffer in, cells out. Nothing here knows a terminal, a clock or a thread.
//!
//! ```text
//!   head        which run, its step, how far it is
//!   rates       asked, sent, answered; over time where there is room
//!   latency     percentiles; a heat map over time, with what was not answered above it
//!   parts       responses by RCODE, losses, connections, transports of a mix
//!   generator   its own state, its doubts, the workers where there is room
//!   keys
//! ```
//!
//! A terminal without room for this has the figures alone.

mod chart;
mod connections;
mod figures;
mod generator;
mod head;
mod help;
mod latency;
mod mix;
mod rates;
mod watched;
pub(crate) mod words;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::options::Options;
use crate::palette::Palette;
use crate::show::Scene;
use crate::state::{State, View};

impl Scene for State {
    type View = View;

    fn version(&self) -> u64 {
        State::version(self)
    }

    fn view(&self, elapsed_ns: u64, width: u16, options: Options) -> View {
        State::view(self, elapsed_ns, columns(width), options.is_whole)
    }

    fn draw(view: &View, options: Options, palette: &Palette, buffer: &mut Buffer) {
        draw(view, options, palette, buffer);
    }
}

/// Draws the view.
pub(crate) fn draw(view: &View, options: Options, palette: &Palette, buffer: &mut Buffer) {
    let area = buffer.area;
    if area.width < NARROWEST || area.height < LOWEST {
        figures::draw(view, palette, buffer, area);
    } else {
        full(view, options, palette, buffer, area);
    }
    if options.has_help {
        help::draw(palette, buffer, area);
    }
}

/// Columns of the charts on a terminal of this width.
pub(crate) fn columns(width: u16) -> usize {
    usize::from(width.saturating_sub(chart::SCALE + 2 * MARGIN))
}

fn full(view: &View, options: Options, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let parts = Parts::of(view, area.height);
    let mut rows = Rows(Rect { x: area.x + MARGIN, width: area.width - 2 * MARGIN, ..area });
    head::draw(view, palette, buffer, rows.take(1));
    head::progress(view, palette, buffer, rows.take(1));
    rows.take(parts.gap);
    rates::figures(view, palette, buffer, rows.take(1));
    rates::chart(view, palette, buffer, rows.take(parts.rates));
    if view.facts.send_only {
        chart::time_axis(view, palette, buffer, rows.take(1));
    } else {
        rows.take(parts.second_gap);
        latency::figures(view, palette, buffer, rows.take(1));
        latency::chart(view, palette, buffer, rows.take(parts.latency));
        chart::time_axis(view, palette, buffer, rows.take(1));
        figures::rcodes(view, palette, buffer, rows.take(1));
    }
    figures::losses(view, palette, buffer, rows.take(1));
    connections::draw(view, palette, buffer, rows.take(parts.connections));
    watched::draw(view, palette, buffer, rows.take(parts.watched));
    mix::draw(view, palette, buffer, rows.take(parts.mix));
    generator::draw(view, palette, buffer, rows.take(1));
    generator::workers(view, palette, buffer, rows.take(parts.workers));
    generator::message(view, palette, buffer, rows.take(1));
    help::keys(options, palette, buffer, rows.take(1));
}

/// How many lines the parts have whose height is not fixed.
struct Parts {
    gap: u16,
    second_gap: u16,
    rates: u16,
    latency: u16,
    connections: u16,
    watched: u16,
    mix: u16,
    workers: u16,
}

impl Parts {
    fn of(view: &View, height: u16) -> Parts {
        let at_least = |least: u16, lines: u16| if height >= least { lines } else { 0 };
        let connections = u16::from(view.total.arrivals.connections.is_some());
        let watched = u16::from(view.losses.is_some());
        let mix = at_least(ROOMY, view.facts.mix.len().min(MOST_MEMBERS) as u16);
        let workers = at_least(ROOMY + mix, generator::lines_of_workers(view));
        let (gap, second_gap) = (at_least(20, 1), at_least(22, 1));
        let fixed = if view.facts.send_only { 8 } else { 10 };
        let gaps = if view.facts.send_only { gap } else { gap + second_gap };
        let free = height.saturating_sub(fixed + gaps + connections + watched + mix + workers);
        let rates = match (view.facts.send_only, free) {
            (true, _) => free,
            (false, 0..9) => 0,
            (false, _) => (free / 3).clamp(3, MOST_RATES),
        };
        Parts { gap, second_gap, rates, latency: free - rates, connections, watched, mix, workers }
    }
}

/// Takes lines from the top of an area.
struct Rows(Rect);

impl Rows {
    fn take(&mut self, lines: u16) -> Rect {
        let lines = lines.min(self.0.height);
        let taken = Rect { height: lines, ..self.0 };
        self.0 = Rect { y: self.0.y + lines, height: self.0.height - lines, ..self.0 };
        taken
    }
}

/// Columns that are left free at each side.
const MARGIN: u16 = 1;

/// Columns and lines of the smallest terminal with charts.
const NARROWEST: u16 = 60;
const LOWEST: u16 = 16;

/// Lines from which there is room for tables.
const ROOMY: u16 = 28;

/// Lines of the chart of rates at most: latencies need them more.
const MOST_RATES: u16 = 12;

/// Lines of the table of members: more of them than transports would hide the charts.
const MOST_MEMBERS: usize = 8;

#[cfg(test)]
mod tests;
