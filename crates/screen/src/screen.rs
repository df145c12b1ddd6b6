//! The observer of a run that shows its progress: on the screen of a terminal, as lines, or not at all.
//!
//! It writes to standard error, so that standard output has only the summary.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dnsdyno_record::{Check, Digest, Header, Headline, Interval};
use dnsdyno_report::{check_line, refusal, summary};
use dnsdyno_runner::{Live, Note, Observer};
use dnsdyno_text::safe;
use dnsdyno_text::units::counted;

use crate::lines::{self, Lines};
use crate::place::{Leave, Place, Progress};
use crate::show::Show;
use crate::state::{Passed, State};
use crate::terminal::width_of_lines;

/// What the program does for the screen.
#[derive(Debug)]
pub struct Program {
    /// Prints a message to standard error, whatever its text contains.
    pub print: fn(&str),
    /// The columns of standard output.
    pub width: fn() -> usize,
    /// Set when the user asks for the state of the run.
    pub state_requests: Arc<AtomicBool>,
}

/// Shows the progress of a run.
#[derive(Debug)]
pub struct Screen {
    progress: Progress,
    program: Program,
    shown: Shown,
    place: Place,
    run: Option<Run>,
}

/// What of the header each line needs.
#[derive(Clone, Copy, Debug)]
struct Run {
    interval_ns: u64,
    timeout_ns: u64,
    is_open: bool,
    /// End of the settled intervals that were judged last.
    judged_to_ns: u64,
}

/// Where the progress is.
#[derive(Debug)]
enum Shown {
    Nowhere,
    Lines(Box<Lines>),
    Screen {
        show: Arc<Show<State>>,
        /// Messages for after the screen.
        kept: Vec<String>,
        /// Messages that are not kept, because there are too many.
        more: u64,
    },
}

impl Screen {
    /// A screen for a run.
    pub fn new(progress: Progress, program: Program) -> Screen {
        let shown = if progress == Progress::Quiet { Shown::Nowhere } else { Shown::Lines(Box::default()) };
        Screen { progress, program, shown, place: Place::default(), run: None }
    }

    /// Leaves the screen if there is one by then: for a process that ends at once.
    pub fn leave(&self) -> Leave {
        self.place.leave()
    }

    /// Leaves the screen, and prints the messages that came during the run.
    pub fn finish(&mut self) {
        match std::mem::replace(&mut self.shown, Shown::Nowhere) {
            Shown::Nowhere => {}
            Shown::Lines(mut lines) => {
                if let Some(rest) = lines.rest() {
                    self.line(&rest);
                }
            }
            Shown::Screen { show, kept, more } => {
                show.close();
                kept.iter().for_each(|message| (self.program.print)(message));
                if more > 0 {
                    let more = counted(more, "more message", "more messages");
                    (self.program.print)(&format!("dnsdyno: {more}, which are in the record"));
                }
            }
        }
    }

    /// What the server answered before the load; of a quiet run only what makes the run worthless.
    fn checked(&mut self, checks: &[Check]) {
        if self.progress != Progress::Quiet {
            checks.iter().for_each(|check| self.print(&format!("check: {}", check_line(check))));
        }
        refusal(checks).iter().for_each(|sentence| self.print(&format!("dnsdyno: {sentence}")));
    }

    /// Prints a message, after the screen where there is one.
    fn print(&mut self, message: &str) {
        match &mut self.shown {
            Shown::Nowhere | Shown::Lines(_) => (self.program.print)(message),
            Shown::Screen { show, kept, more } => {
                let first = message.lines().next().unwrap_or_default();
                show.state().note(first.strip_prefix("dnsdyno: ").unwrap_or(first));
                if kept.len() < MOST_KEPT {
                    kept.push(message.to_owned());
                } else {
                    *more += 1;
                }
            }
        }
    }

    fn line(&self, passed: &Passed) {
        let Some(run) = self.run else { return };
        (self.program.print)(&lines::line(passed, run.is_open, run.timeout_ns, width_of_lines()));
    }
}

impl Observer for Screen {
    fn note(&mut self, note: &Note<'_>) {
        let message = match (note, note.sentence()) {
            (Note::Checked(checks), _) => return self.checked(checks),
            (Note::Stopping(event), _) => {
                let why = safe(&event.message);
                // The summary says it too: it is not kept for after the screen.
                if let Shown::Screen { show, .. } = &self.shown {
                    return show.state().stopping(why);
                }
                format!("stopping ({why}): waiting for outstanding queries (Ctrl-C again ends immediately)")
            }
            (_, sentence) => format!("dnsdyno: {}", sentence.unwrap_or_default()),
        };
        self.print(&message);
    }

    /// From here on, signals stop the run, not the program.
    fn begins(
        &mut self,
        header: &Header,
        schedule_end_ns: Option<u64>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.run = Some(Run {
            interval_ns: header.interval_ns,
            timeout_ns: header.timeout_ns,
            // The rate of a replay is known only when it is read.
            is_open: header.headline == Headline::Response && !header.phases.is_empty(),
            judged_to_ns: 0,
        });
        if let Some(terminal) = self.place.take(self.progress) {
            let show = Show::begin(terminal, header, State::new(header, schedule_end_ns))?;
            self.shown = Shown::Screen { show, kept: Vec::new(), more: 0 };
        }
        Ok(())
    }

    fn passed(&mut self, live: &Live<'_>) {
        let Some(run) = self.run else { return };
        match &mut self.shown {
            Shown::Nowhere => {}
            Shown::Lines(lines) => {
                if let Some(passed) = lines.add(&Passed::of(live, run.interval_ns)) {
                    self.line(&passed);
                }
            }
            Shown::Screen { show, .. } => show.state().passed(live),
        }
    }

    fn settled(&mut self, interval: &Interval) {
        if let Shown::Screen { show, .. } = &self.shown {
            show.state().settled(interval);
        }
    }

    fn sampled(&mut self, interval: &Interval) {
        if let Shown::Screen { show, .. } = &self.shown {
            show.state().sampled(interval);
        }
    }

    fn idle(&mut self, digest: &Digest) {
        if self.program.state_requests.swap(false, Ordering::Relaxed) {
            self.print(&summary(digest, (self.program.width)()));
        }
        if let (Shown::Screen { show, .. }, Some(run)) = (&self.shown, &mut self.run) {
            let to_ns = digest.to_ns();
            if to_ns >= run.judged_to_ns.saturating_add(JUDGED_EVERY_NS) {
                run.judged_to_ns = to_ns;
                let doubts = digest.warnings();
                show.state().judged(doubts);
            }
        }
    }
}

/// However a run ends, the terminal is left as it was.
impl Drop for Screen {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Messages that are kept for after the screen; the record has all of them.
const MOST_KEPT: usize = 100;

/// How much of the run is between two verdicts.
const JUDGED_EVERY_NS: u64 = 1_000_000_000;
