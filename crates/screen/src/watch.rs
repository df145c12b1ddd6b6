//! What is watched without a load, as it moves: on the screen of a terminal, as lines, or as JSON.
//!
//! ```text
//!   WatchRunner ──► WatchScreen ─┬─► Moving ──► picture ──► terminal      standard error, as the screen of a run
//!     sampled()     observer     ├─► lines, a series each                 standard output
//!                                └─► a JSON object an interval            standard output
//! ```

mod draw;

use std::error::Error;
use std::io;
use std::sync::Arc;

use dnsdyno_record::{Digest, Event, Header, Interval};
use dnsdyno_report::json_line;
use dnsdyno_runner::{Control, Note, Observer, StopCause};
use dnsdyno_text::safe;
use serde_json::{Value, json};

use crate::moving::SeriesTracks;
use crate::place::Place;
use crate::show::Show;
use crate::{Leave, Progress};

/// How what moves is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchForm {
    /// For people.
    Shown(Progress),
    /// A JSON object an interval.
    Json,
}

/// What the program does for it.
#[derive(Debug)]
pub struct WatchProgram {
    /// Prints a message to standard error, whatever its text contains.
    pub print: fn(&str),
    /// Writes a line to standard output.
    pub write: fn(&str) -> io::Result<()>,
}

/// Shows what moves.
#[derive(Debug)]
pub struct WatchScreen {
    form: WatchForm,
    program: WatchProgram,
    control: Arc<Control>,
    shown: Shown,
    place: Place,
    /// Why standard output takes nothing more.
    failed: Option<io::Error>,
}

#[derive(Debug)]
enum Shown {
    Nowhere,
    Lines(SeriesTracks),
    Screen { show: Arc<Show<SeriesTracks>>, kept: Vec<String> },
}

impl WatchScreen {
    /// For watching that `control` can end.
    pub fn new(form: WatchForm, control: Arc<Control>, program: WatchProgram) -> WatchScreen {
        WatchScreen { form, program, control, shown: Shown::Nowhere, place: Place::default(), failed: None }
    }

    /// Leaves the screen if there is one by then: for a process that ends at once.
    pub fn leave(&self) -> Leave {
        self.place.leave()
    }

    /// Leaves the screen, and prints the messages that came meanwhile; as JSON the sum.
    ///
    /// # Errors
    /// Standard output could not be written.
    pub fn finish(&mut self, digest: Option<&Digest>) -> io::Result<()> {
        if let Shown::Screen { show, kept } = std::mem::replace(&mut self.shown, Shown::Nowhere) {
            show.close();
            kept.iter().for_each(|message| (self.program.print)(message));
        }
        if let (WatchForm::Json, Some(digest)) = (self.form, digest) {
            self.object(&json!({ "sum": { "to_ns": digest.to_ns(), "watched": digest.watched() } }));
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    fn object(&mut self, value: &Value) {
        self.write(&json_line(value));
    }

    /// After an error nothing more is written, and the watching ends.
    fn write(&mut self, line: &str) {
        if self.failed.is_none()
            && let Err(error) = (self.program.write)(line)
        {
            self.failed = Some(error);
            self.control.end(StopCause::Interrupt);
        }
    }

    fn print(&mut self, message: String) {
        match &mut self.shown {
            Shown::Screen { show, kept } => {
                show.state().note(message.strip_prefix("dnsdyno: ").unwrap_or(&message));
                if kept.len() < MOST_KEPT {
                    kept.push(message);
                }
            }
            _ => (self.program.print)(&message),
        }
    }

    fn event(&mut self, event: &Event) {
        if self.form == WatchForm::Json {
            self.object(&json!({ "event": event }));
        } else {
            self.print(format!("dnsdyno: {}", event.words()));
        }
    }
}

impl Observer for WatchScreen {
    fn note(&mut self, note: &Note<'_>) {
        match note {
            Note::Watching(found) => self.print(format!("dnsdyno: {}", safe(found))),
            Note::Event(event) => self.event(event),
            Note::RecordTrouble(error) => self.print(format!("dnsdyno: {error}")),
            // The others are about a load.
            _ => {}
        }
    }

    fn begins(&mut self, header: &Header, end_ns: Option<u64>) -> Result<(), Box<dyn Error + Send + Sync>> {
        let terminal = match self.form {
            WatchForm::Shown(progress) => self.place.take(progress),
            WatchForm::Json => None,
        };
        let moving = SeriesTracks::new(header, end_ns);
        for missing in moving.missing() {
            self.print(format!("dnsdyno: {missing}"));
        }
        self.shown = match (terminal, self.form) {
            (Some(terminal), _) => {
                Shown::Screen { show: Show::begin(terminal, header, moving)?, kept: Vec::new() }
            }
            (None, WatchForm::Shown(Progress::Auto | Progress::Lines)) => Shown::Lines(moving),
            (None, _) => Shown::Nowhere,
        };
        if self.form == WatchForm::Json {
            let (started_unix_ns, interval_ns) = (header.started_unix_ns, header.interval_ns);
            let watched = &header.watched;
            self.object(&json!({
                "started_unix_ns": started_unix_ns, "interval_ns": interval_ns, "watched": watched,
            }));
        }
        Ok(())
    }

    fn sampled(&mut self, interval: &Interval) {
        let Interval { index, from_ns, to_ns, watched, .. } = interval;
        if self.form == WatchForm::Json {
            self.object(&json!({ "index": index, "from_ns": from_ns, "to_ns": to_ns, "watched": watched }));
        }
        let lines = match &mut self.shown {
            Shown::Nowhere => Vec::new(),
            Shown::Screen { show, .. } => {
                show.state().sampled(interval);
                Vec::new()
            }
            Shown::Lines(moving) => {
                moving.sampled(interval);
                moving.lines()
            }
        };
        lines.iter().for_each(|line| self.write(line));
    }
}

/// However it ends, the terminal is left as it was.
impl Drop for WatchScreen {
    fn drop(&mut self) {
        let _ = self.finish(None);
    }
}

/// Messages that are kept for after the screen; a record has all of them.
const MOST_KEPT: usize = 100;
