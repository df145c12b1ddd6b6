//! Makes what is on the timetable of a run happen, beside its load.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dnsdyno_lab::RunningCommand;
use dnsdyno_record::Event as Mark;
use serde::Serialize;

use super::servers::Standing;
use super::timetable::{Action, Event};

/// What came of an event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct EventRecord {
    /// Since the start of the run.
    pub(super) at_ns: u64,
    pub(super) what: String,
    /// How long it took; `None` where it had not ended with the run.
    pub(super) took_ns: Option<u64>,
    /// Whether it succeeded.
    pub(super) succeeded: bool,
    pub(super) outcome: String,
}

/// When a run has begun and ended, for the thread of its events; and what has happened, for the record of the run.
#[derive(Debug, Default)]
pub(super) struct Clock {
    state: Mutex<RunTime>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct RunTime {
    began: Option<Instant>,
    has_ended: bool,
    marks: Vec<Mark>,
}

impl Clock {
    /// The first query is due at this instant.
    pub(super) fn begin(&self, at: Instant) {
        self.lock().began = Some(at);
        self.changed.notify_all();
    }

    /// What has happened since the last call.
    pub(super) fn take_marks(&self) -> Vec<Mark> {
        std::mem::take(&mut self.lock().marks)
    }

    fn mark(&self, mark: Mark) {
        self.lock().marks.push(mark);
    }

    /// The run has ended, or was not made.
    pub(super) fn end(&self) {
        self.lock().has_ended = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, RunTime> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the start; `None` where there is none.
    fn began(&self) -> Option<Instant> {
        let waits = |state: &mut RunTime| state.began.is_none() && !state.has_ended;
        let state = self.changed.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        state.began
    }

    /// Waits until an instant; returns whether the run still goes on then.
    fn goes_on_at(&self, instant: Instant) -> bool {
        let mut state = self.lock();
        loop {
            let left = instant.saturating_duration_since(Instant::now());
            if state.has_ended || left.is_zero() {
                return !state.has_ended;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Makes the events of a run happen; returns when the run has ended, with what came of them.
pub(super) fn happen(events: &[Event], standing: &Standing, clock: &Clock) -> Vec<EventRecord> {
    let mut happened = Vec::new();
    let Some(began) = clock.began().filter(|_| !events.is_empty()) else { return happened };
    // Each event with the instant at which it is due next; the first of them is done next.
    let mut due: Vec<(u64, &Event)> = events.iter().map(|event| (event.at_ns, event)).collect();
    let mut running: Vec<(RunningCommand, u64, String)> = Vec::new();
    let since = |instant: Instant| {
        u64::try_from(instant.saturating_duration_since(began).as_nanos()).unwrap_or(u64::MAX)
    };
    loop {
        due.sort_by_key(|(at_ns, _)| *at_ns);
        let next = due.first().map(|(at_ns, _)| began + Duration::from_nanos(*at_ns));
        // Commands that run are looked at now and then, so that how long they take is known.
        let look = (!running.is_empty()).then(|| Instant::now() + LOOK_AGAIN);
        let Some(wake) = next.into_iter().chain(look).min() else { break };
        if !clock.goes_on_at(wake) {
            break;
        }
        collect_ended(&mut running, &mut happened, since(Instant::now()), clock);
        let Some((at_ns, event)) = due.first().copied().filter(|(at_ns, _)| *at_ns <= since(Instant::now()))
        else {
            continue;
        };
        match event.every_ns {
            Some(every_ns) => {
                due.iter_mut().take(1).for_each(|first| first.0 = at_ns.saturating_add(every_ns))
            }
            None => drop(due.remove(0)),
        }
        let (from, what) = (since(Instant::now()), event.words());
        clock.mark(begun(from, &what));
        match &event.action {
            Action::Command(command) => match standing.command(command) {
                Ok(command) => running.push((command, from, what)),
                Err(error) => happened.push(failed(from, what, error.to_string())),
            },
            action => {
                let done = act(action, event.helper.as_deref(), standing, clock);
                let took_ns = since(Instant::now()) - from;
                let one = match done {
                    Ok(()) => EventRecord {
                        at_ns: from,
                        what,
                        took_ns: Some(took_ns),
                        succeeded: true,
                        outcome: DONE.to_owned(),
                    },
                    Err(reason) => failed(from, what, reason),
                };
                clock.mark(ended(&one));
                happened.push(one);
            }
        }
    }
    collect_ended(&mut running, &mut happened, since(Instant::now()), clock);
    for (mut command, at_ns, what) in running {
        let _ = command.kill();
        happened.push(failed(at_ns, what, "had not ended with the run, and was ended".to_owned()));
    }
    happened.sort_by_key(|one| one.at_ns);
    happened
}

fn failed(at_ns: u64, what: String, outcome: String) -> EventRecord {
    EventRecord { at_ns, what, took_ns: None, succeeded: false, outcome }
}

/// Moves the commands that have ended to what has happened.
fn collect_ended(
    running: &mut Vec<(RunningCommand, u64, String)>,
    happened: &mut Vec<EventRecord>,
    now_ns: u64,
    clock: &Clock,
) {
    for at in (0..running.len()).rev() {
        let Some((command, from, what)) = running.get_mut(at) else { continue };
        let (succeeded, outcome) = match command.ended() {
            Ok(None) => continue,
            Ok(Some(status)) => (status.success(), status.to_string()),
            Err(error) => (false, error.to_string()),
        };
        let took_ns = Some(now_ns.saturating_sub(*from));
        let one = EventRecord { at_ns: *from, what: std::mem::take(what), took_ns, succeeded, outcome };
        clock.mark(ended(&one));
        happened.push(one);
        running.remove(at);
    }
}

fn act(action: &Action, helper: Option<&str>, standing: &Standing, clock: &Clock) -> Result<(), String> {
    let signal = |action: &Action| standing.act(action, helper).map_err(|error| error.to_string());
    let time = match action {
        Action::Pause(time) => time,
        Action::Path(change) => return standing.change_path(change),
        other => return signal(other),
    };
    signal(&Action::Stop)?;
    clock.goes_on_at(Instant::now() + *time);
    signal(&Action::Continue)
}

/// The event of the record for what begins.
fn begun(at_ns: u64, what: &str) -> Mark {
    Mark { at_ns, kind: "happens".to_owned(), message: in_short(what), figures: Default::default() }
}

/// The event of the record for what has ended.
fn ended(one: &EventRecord) -> Mark {
    let took_ns = one.took_ns.unwrap_or(0);
    let message = format!("{}: {}, after {:.3} s", in_short(&one.what), one.outcome, took_ns as f64 * 1e-9);
    let figures = [("took_ns", took_ns.into()), ("succeeded", one.succeeded.into())];
    let figures = figures.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
    Mark { at_ns: one.at_ns.saturating_add(took_ns), kind: "happened".to_owned(), message, figures }
}

/// The first line of a command says what it is.
fn in_short(what: &str) -> String {
    let line = what.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(LONGEST_MARK) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// As much as fits above a chart.
const LONGEST_MARK: usize = 80;

/// The outcome of what succeeded.
const DONE: &str = "done";

const LOOK_AGAIN: Duration = Duration::from_millis(20);
