//! Connections and handshakes of the last ten seconds.

use dnsdyno_measure::{Connections, HandshakeKind, Histogram, Latency, Quantile};
use dnsdyno_text::units::{count, duration};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::words::{item, row, text};
use crate::palette::{Palette, Tone};
use crate::state::{View, per_second};

/// The line of connections; nothing where the run has none.
pub(super) fn draw(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let Some(connections) = view.recent.arrivals.connections.as_deref() else { return };
    let span = view.recent.span;
    let figure = |label: &str, figure: &str| item(label, figure, palette, Style::new());
    let mut items = vec![
        text("connections", palette.quiet()),
        figure("open", &count(connections.open_max)),
        figure("established", &per_second(connections.established, span)),
    ];
    items.extend(median(&connections.connect).map(|took| figure("connect p50", &took)));
    items.extend(handshakes(connections).map(|took| figure("handshake p50", &took)));
    let failed = failed(view);
    if failed > 0 {
        items.push(item("failed", &count(failed), palette, palette.style(Tone::Bad)));
    }
    row(buffer, area, &items, None);
}

/// The median of the handshakes of all kinds.
fn handshakes(connections: &Connections) -> Option<String> {
    let encrypted = connections.encrypted.as_deref()?;
    let mut all = Histogram::new();
    HandshakeKind::ALL.into_iter().for_each(|kind| all.merge(encrypted.handshake(kind)));
    median(&all)
}

fn median(durations: &Histogram) -> Option<String> {
    match (Latency { answered: durations, unanswered: 0 }).quantile(0.5) {
        Some(Quantile::At(ns)) => Some(duration(ns)),
        _ => None,
    }
}

/// Connections and handshakes that failed since the start.
fn failed(view: &View) -> u64 {
    let connections = view.total.arrivals.connections.as_deref();
    let encrypted = connections.and_then(|connections| connections.encrypted.as_deref());
    connections.map_or(0, Connections::failed_total)
        + encrypted.map_or(0, |encrypted| encrypted.failed.total())
}
