//! The index of a compressed record: for each group of intervals its position in the file and its roll-up.
//!
//! It only saves time: without it, or if it is torn or of another run, all lines are read. An entry is believed as far
//! as it fits: its place is in the file and after that of the entry before, and the sum of the run is that of all rows.

use std::path::Path;

use dnsdyno_measure::bounded;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::input;
use crate::limits::MOST_GROUPS;
use crate::regular::open_regular;
use crate::row::MAX_EVENTS;
use crate::store::INDEX_HEADER;
use crate::{Event, INDEX_FILE, Row};

/// A merged group of intervals, with its position in the file.
#[derive(Deserialize)]
pub(crate) struct RollUp {
    pub(crate) from_byte: u64,
    pub(crate) to_byte: u64,
    pub(crate) lines: u64,
    /// The events between the intervals, up to the limit of a summary.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_EVENTS>")]
    pub(crate) events: Vec<Event>,
    /// Number of further events.
    pub(crate) more_events: u64,
    pub(crate) row: Row,
}

/// Position and size of a group.
#[derive(Deserialize)]
pub(crate) struct Place {
    pub(crate) from_byte: u64,
    pub(crate) to_byte: u64,
    pub(crate) lines: u64,
    runid: String,
    pub(crate) row: Extent,
}

#[derive(Deserialize)]
pub(crate) struct Extent {
    pub(crate) intervals: u64,
    pub(crate) to_ns: u64,
}

/// The positions of the groups in the compressed file `run`, from its index: up to the first implausible one.
pub(crate) fn places(run: &Path, run_id: &str) -> Vec<Place> {
    let Ok(length) = std::fs::metadata(run).map(|metadata| metadata.len()) else { return Vec::new() };
    let mut at_byte = 0;
    let plausible = |mut place: Place| {
        let follows =
            at_byte <= place.from_byte && place.from_byte < place.to_byte && place.to_byte <= length;
        let is_of_run = std::mem::take(&mut place.runid) == run_id;
        at_byte = place.to_byte;
        (follows && is_of_run).then_some(place)
    };
    entries(run).map_while(plausible).take(MOST_GROUPS).collect()
}

/// The entries of the index one by one, because together they need more memory than the summary.
pub(crate) fn entries<T: DeserializeOwned>(run: &Path) -> impl Iterator<Item = T> {
    let file = open_regular(&run.with_file_name(INDEX_FILE)).ok();
    let mut index = file.and_then(|file| input::unpacked(file).ok());
    let mut line = Vec::new();
    let mut next = move || {
        input::read_line(index.as_mut()?, &mut line, 0).ok()?;
        Some(std::mem::take(&mut line))
    };
    let is_index = next().is_some_and(|line| line == INDEX_HEADER);
    // At the end of the file the line is empty, which is no entry.
    let entry = move || serde_json::from_slice(&next()?).ok();
    std::iter::from_fn(entry).take_while(move |_| is_index)
}

/// The group that the writer has started and not ended.
pub(crate) struct OpenGroup {
    /// Its identity, see [`Header::group_of`](crate::Header).
    pub(crate) which: (u64, Option<usize>),
    pub(crate) lines: u64,
    row: Row,
    events: Vec<Event>,
    more_events: u64,
}

/// A [`RollUp`] without its position.
#[derive(Serialize)]
struct Text<'a> {
    runid: &'a str,
    events: &'a [Event],
    more_events: u64,
    row: &'a Row,
}

impl OpenGroup {
    pub(crate) fn new(which: (u64, Option<usize>), types: usize) -> OpenGroup {
        OpenGroup { which, lines: 0, row: Row::empty(types), events: Vec::new(), more_events: 0 }
    }

    pub(crate) fn row(&mut self, row: &Row) {
        self.lines += 1;
        self.row.merge(row);
    }

    /// `before` is the number of events in the record before this one.
    pub(crate) fn event(&mut self, event: &Event, before: u64) {
        self.lines += 1;
        if before < MAX_EVENTS as u64 {
            self.events.push(event.clone());
        } else {
            self.more_events += 1;
        }
    }

    /// The text of its roll-up; `None` where the group has no interval.
    pub(crate) fn roll_up(&self, runid: &str) -> Option<Vec<u8>> {
        let text = Text { runid, events: &self.events, more_events: self.more_events, row: &self.row };
        if self.row.intervals == 0 { None } else { serde_json::to_vec(&text).ok() }
    }
}
