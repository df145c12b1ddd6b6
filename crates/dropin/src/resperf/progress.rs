//! Follows a run: adds up its points, says in which phase it is, and ends the wait for the last answers.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dnsdyno_record::{Digest, Event, Header, Interval};
use dnsdyno_runner::{Control, Note, Observer, StopCause};

use crate::console::Console;
use crate::resperf::plot::Plot;
use crate::resperf::settings::Settings;
use crate::source_lines::warning_of;

/// What is known of a run while it is made.
pub(super) struct Progress<'a> {
    settings: &'a Settings,
    console: &'a Console,
    control: &'a Control,
    pub(super) plot: Plot,
    started: Option<Instant>,
    phase: Phase,
    /// When the load was ended early.
    ended_early_ns: Option<u64>,
}

/// In the order of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Ramp,
    Constant,
    Wait,
}

impl<'a> Progress<'a> {
    pub(super) fn new(settings: &'a Settings, console: &'a Console, control: &'a Arc<Control>) -> Self {
        let plot = Plot::new(settings.points);
        Progress { settings, console, control, plot, started: None, phase: Phase::Ramp, ended_early_ns: None }
    }

    /// The run is over: says what was not said yet.
    pub(super) fn finish(&mut self) {
        if self.phase < Phase::Wait {
            self.enter(Phase::Constant);
            self.enter(Phase::Wait);
        }
        if let Some(at_ns) = self.ended_early_ns {
            self.plot.cut_at(at_ns);
        }
        self.console.line("[Status] Testing complete");
    }

    /// How long queries were due.
    pub(super) fn load_ns(&self) -> u64 {
        self.ended_early_ns.unwrap_or(self.settings.load.length_ns())
    }

    fn enter(&mut self, phase: Phase) {
        if self.phase >= phase {
            return;
        }
        self.phase = phase;
        match phase {
            Phase::Wait => self.console.line("[Status] Waiting for more responses"),
            Phase::Constant if self.settings.load.constant_ns > 0 => {
                self.console.line("[Status] Ramp-up done, sending constant traffic");
            }
            _ => return,
        }
        self.console.flush();
    }

    /// The load was ended early.
    fn stopped(&mut self, event: &Event) {
        // The end of the wait is no end of the load.
        if self.phase == Phase::Wait {
            return;
        }
        self.ended_early_ns = Some(event.at_ns);
        let load = &self.settings.load;
        if event.at_ns >= load.ramp_ns {
            self.enter(Phase::Constant);
        }
        match self.control.cause() {
            Some(StopCause::Behind) => {
                let queries = self.control.reached().map_or(0, |reached| reached.queries);
                self.console.line(&format!(
                    "[Status] Fell behind by {queries} queries, ending test at {:.0} qps",
                    load.rate_qps(event.at_ns as f64)
                ));
            }
            Some(StopCause::Outstanding) => {
                let limit = self.settings.max_outstanding;
                self.console.line(&format!("[Status] Reached {limit} outstanding queries"));
            }
            _ => {}
        }
        self.enter(Phase::Wait);
    }
}

impl Observer for Progress<'_> {
    fn note(&mut self, note: &Note<'_>) {
        match note {
            Note::Stopping(event) => self.stopped(event),
            Note::SkippedLine(bad) => self.console.warning(&warning_of(bad)),
            Note::SkippedMore(count) => self.console.warning(&format!("{count} more lines like these")),
            _ => {}
        }
    }

    fn begins(&mut self, _: &Header, _: Option<u64>) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.started = Some(Instant::now());
        Ok(())
    }

    fn settled(&mut self, interval: &Interval) {
        self.plot.add(interval);
    }

    fn idle(&mut self, _: &Digest) {
        let Some(elapsed) = self.started.map(|started| started.elapsed()) else { return };
        let load = &self.settings.load;
        let (ramp, length) = (Duration::from_nanos(load.ramp_ns), Duration::from_nanos(load.length_ns()));
        if self.phase < Phase::Wait && elapsed >= ramp {
            self.enter(Phase::Constant);
        }
        if elapsed >= length {
            self.enter(Phase::Wait);
        }
        if elapsed >= length + LONGEST_WAIT {
            self.control.end(StopCause::NoLongerWaiting);
        }
    }
}

/// How long answers are waited for after the load, if it was not ended early.
const LONGEST_WAIT: Duration = Duration::from_secs(40);
