//! The summary of a run as text, for an operator and one screen.

pub(crate) mod head;
pub(crate) mod latencies;
pub(crate) mod queries;
mod verdict;

use dnsdyno_record::{Digest, Event};
use dnsdyno_text::layout::{NARROWEST, paragraph};
use dnsdyno_text::units::{counted, length};

use crate::agents;
use crate::connections;
use crate::fallback;
use crate::hints;
use crate::replay;
use crate::rows;
use crate::watched;

/// The summary of `digest` in lines of at most `width` columns (40 at least), with a newline
/// after the last.
///
/// The rate of a run whose generator was in doubt is never reported as the server's limit.
pub fn summary(digest: &Digest, width: usize) -> String {
    let width = width.max(NARROWEST);
    let mut out = String::new();
    head::write(&mut out, digest, width);
    if digest.header.is_watch_only() {
        watched::write(&mut out, digest, width);
        events(&mut out, digest, width);
        return out;
    }
    queries::write(&mut out, digest, width);
    replay::write(&mut out, digest, width);
    latencies::write(&mut out, digest, width);
    agents::write(&mut out, digest, width);
    fallback::write_mix(&mut out, digest, width);
    fallback::write(&mut out, digest, width);
    connections::write(&mut out, digest, width);
    rows::write(&mut out, digest, width);
    watched::write(&mut out, digest, width);
    events(&mut out, digest, width);
    hints::write(&mut out, digest, width);
    verdict::write(&mut out, digest, width);
    out
}

fn events(out: &mut String, digest: &Digest, width: usize) {
    if digest.events.is_empty() {
        return;
    }
    out.push('\n');
    let mut others = 0;
    // What somebody has said is not hidden by what was measured.
    let is_shown = |event: &&Event| {
        others += usize::from(!event.is_note());
        event.is_note() || others <= EVENTS_SHOWN
    };
    for event in digest.events.iter().filter(is_shown) {
        let text = format!("at {}: {}", length(event.at_ns), event.words());
        paragraph(out, &text, 0, 2, width);
    }
    let more = others.saturating_sub(EVENTS_SHOWN) as u64 + digest.more_events;
    if more > 0 {
        out.push_str(&format!("and {} in the record\n", counted(more, "more event", "more events")));
    }
}

/// Beside notes. A record may have hundreds; more would not fit on a screen.
const EVENTS_SHOWN: usize = 5;

#[cfg(test)]
mod tests;
