//! What is watched beside the load: the losses of the last seconds.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::words::{item, row, text};
use crate::palette::{Palette, Tone};
use crate::state::View;

/// The line of watched losses; nothing where nothing is watched.
pub(super) fn draw(view: &View, palette: &Palette, buffer: &mut Buffer, area: Rect) {
    let Some(losses) = &view.losses else { return };
    let mut items = vec![text("watched", palette.quiet())];
    for loss in losses {
        let label = format!("{} of {}", loss.name, loss.label);
        items.push(item(&label, &loss.now, palette, palette.style(Tone::Bad)));
    }
    if losses.is_empty() {
        items.push(text("no losses in the last ten intervals", Style::new()));
    }
    row(buffer, area, &items, None);
}
