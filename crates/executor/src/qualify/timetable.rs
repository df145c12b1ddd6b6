//! Carries out the tasks of a function test while its load is put on: each task in a thread of its own, what it looks
//! for in a thread for each.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dnsdyno_campaign::qualify::{Function, LookFor, Task};
use dnsdyno_campaign::{CommandOutcome, CommandResult};
use dnsdyno_record::Header;
use dnsdyno_runner::Observer;

use super::leftovers::mark_of;
use super::shell::{Ended, How, State, Stop, carry_out};
use crate::results::{Results, ResultsError};

/// The timetable of a run.
pub(super) struct Timetable {
    function: Function,
    folder: PathBuf,
    /// What each command finds in its environment.
    marks: Vec<(&'static str, OsString)>,
    stop: Arc<Stop>,
    results: Arc<Mutex<Kept>>,
    threads: Vec<JoinHandle<()>>,
}

/// Where the results go.
#[derive(Default)]
struct Kept {
    file: Option<Results>,
    failed: Option<ResultsError>,
}

/// What the threads of a timetable share.
#[derive(Clone)]
struct Shared {
    marks: Vec<(&'static str, OsString)>,
    stop: Arc<Stop>,
    results: Arc<Mutex<Kept>>,
    /// When the first query is due.
    epoch: Instant,
}

impl Timetable {
    /// For a run with its record in `folder`, of the qualification in `of`, at this rate.
    pub(super) fn new(function: &Function, of: &Path, folder: &Path, rate: &str) -> Timetable {
        Timetable {
            function: function.clone(),
            folder: folder.to_owned(),
            marks: vec![mark_of(of).into_variable(), ("DNSDYNO_RATE", rate.into())],
            stop: Arc::default(),
            results: Arc::default(),
            threads: Vec::new(),
        }
    }

    /// Ends it when the load has ended: rounds that have begun are carried out, if the load was put on `to_its_end`;
    /// else every command is ended.
    pub(super) fn finish(mut self, to_its_end: bool) -> Result<(), ResultsError> {
        self.stop.goes_to(if to_its_end { State::Ending } else { State::Stopped });
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
        let failed = self.results.lock().unwrap_or_else(PoisonError::into_inner).failed.take();
        failed.map_or(Ok(()), Err)
    }
}

impl Drop for Timetable {
    fn drop(&mut self) {
        self.stop.goes_to(State::Stopped);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl Observer for Timetable {
    fn begins(&mut self, header: &Header, _end_ns: Option<u64>) -> Result<(), Box<dyn Error + Send + Sync>> {
        let file = Results::begin(&self.folder)?;
        self.results.lock().unwrap_or_else(PoisonError::into_inner).file = Some(file);
        let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let until_ns =
            u128::from(header.started_unix_ns).saturating_sub(now_ns).min(LONGEST_START.as_nanos());
        let shared = Shared {
            marks: self.marks.clone(),
            stop: Arc::clone(&self.stop),
            results: Arc::clone(&self.results),
            epoch: Instant::now() + Duration::from_nanos(u64::try_from(until_ns).unwrap_or(0)),
        };
        for task in self.function.tasks.clone() {
            let shared = shared.clone();
            let thread = thread::Builder::new().name("commands".into());
            self.threads.push(thread.spawn(move || shared.carry_out(&task))?);
        }
        Ok(())
    }
}

impl Shared {
    /// Every round of a task, at its instant or when the one before it has ended.
    fn carry_out(&self, task: &Task) {
        for (round, at_ns) in (1..).zip(&task.at_ns) {
            if !self.stop.wait(self.epoch + Duration::from_nanos(*at_ns), State::Ending) {
                return;
            }
            self.round(task, round);
        }
    }

    fn round(&self, task: &Task, round: u32) {
        let mut marks = self.marks.clone();
        marks.push(("DNSDYNO_ROUND", round.to_string().into()));
        let result =
            |look_for: Option<&LookFor>, at: Instant, took: Duration, attempts, outcome, last: Ended| {
                CommandResult {
                    task: task.name.clone(),
                    round,
                    look_for: look_for.map(|look_for| look_for.name.clone()),
                    at_ns: ns(at.saturating_duration_since(self.epoch)),
                    took_ns: ns(took),
                    attempts,
                    outcome,
                    exit_code: last.exit_code,
                    output: last.output,
                }
            };
        if let Some(line) = &task.run {
            let at = Instant::now();
            let ended = carry_out(line, &marks, Duration::from_nanos(task.timeout_ns), &self.stop);
            let Some(outcome) = outcome(&ended, task.exit_code) else { return };
            self.keep(&result(None, at, ended.took, 1, outcome, ended));
            if outcome != CommandOutcome::Ok {
                // What it should have done cannot be seen.
                return;
            }
        }
        let since = Instant::now();
        thread::scope(|scope| {
            for look_for in &task.look_for {
                let (marks, result) = (&marks, &result);
                // A thread that cannot be started gives no result, which fails the test.
                let _ = thread::Builder::new().spawn_scoped(scope, move || {
                    let seen = self.look(look_for, marks, since, Duration::from_nanos(task.timeout_ns));
                    if let Some((attempts, outcome, last)) = seen {
                        self.keep(&result(Some(look_for), since, since.elapsed(), attempts, outcome, last));
                    }
                });
            }
        });
    }

    /// Looks again and again. `None` = it was stopped.
    fn look(
        &self,
        look_for: &LookFor,
        marks: &[(&str, OsString)],
        since: Instant,
        timeout: Duration,
    ) -> Option<(u32, CommandOutcome, Ended)> {
        let end = since + Duration::from_nanos(look_for.within_ns);
        for attempts in 1.. {
            let left = end.saturating_duration_since(Instant::now());
            let ended = carry_out(&look_for.run, marks, timeout.min(left), &self.stop);
            match outcome(&ended, 0)? {
                CommandOutcome::Ok => return Some((attempts, CommandOutcome::Ok, ended)),
                CommandOutcome::NotStarted => return Some((attempts, CommandOutcome::NotStarted, ended)),
                _ => {}
            }
            let next = Instant::now() + Duration::from_nanos(look_for.retry_ns);
            if next >= end {
                return Some((attempts, CommandOutcome::TimedOut, ended));
            }
            if !self.stop.wait(next, State::Stopped) {
                return None;
            }
        }
        None
    }

    fn keep(&self, result: &CommandResult) {
        let mut kept = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Err(error)) = kept.file.as_mut().map(|file| file.add(result)) {
            kept.failed.get_or_insert(error);
        }
    }
}

/// `None` = the timetable was stopped.
fn outcome(ended: &Ended, expected: i32) -> Option<CommandOutcome> {
    Some(match ended.how {
        How::Exited if ended.exit_code == Some(expected) => CommandOutcome::Ok,
        How::Exited => CommandOutcome::Failed,
        How::TimedOut => CommandOutcome::TimedOut,
        How::NotStarted => CommandOutcome::NotStarted,
        How::Stopped => return None,
    })
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The first query is due so soon after the begin of a run, at the latest: a wall clock that is set in between must not
/// hold the commands up.
const LONGEST_START: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results;

    fn made(text: &str, for_ms: u64, to_its_end: bool) -> Vec<CommandResult> {
        let folder = tempfile::tempdir().unwrap();
        let function = Function::from_toml(text).unwrap();
        let mut timetable = Timetable::new(&function, folder.path(), folder.path(), "5k");
        timetable.begins(&Header::default(), None).unwrap();
        thread::sleep(Duration::from_millis(for_ms));
        timetable.finish(to_its_end).unwrap();
        results::read(folder.path()).unwrap()
    }

    #[test]
    fn a_round_looks_until_it_sees_what_its_command_did() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("seen").display().to_string();
        let text = format!(
            "for = \"1m\"\n[[task]]\nname = \"add\"\nat = [\"0s\"]\nrun = \"(sleep 0.3; echo $DNSDYNO_RATE > {file}) \
             > /dev/null 2>&1 & test $DNSDYNO_ROUND = 1; wait\"\n[[task.look-for]]\nname = \"it\"\nrun = \
             \"grep -q 5k {file}\"\n\
             [[task.look-for]]\nname = \"none\"\nrun = \"echo not there; exit 1\"\nwithin = \"500ms\"\n\
             retry = \"50ms\"\n"
        );
        let mut results = made(&text, 0, true);
        // A round that was due at once has begun, or is not carried out at all.
        if results.is_empty() {
            results = made(&text, 2_000, true);
        }
        let of = |name: Option<&str>| {
            let of_it = |result: &&CommandResult| result.look_for.as_deref() == name;
            results.iter().find(of_it).unwrap_or_else(|| panic!("{results:?}"))
        };
        assert_eq!((of(None).outcome, of(Some("it")).outcome), (CommandOutcome::Ok, CommandOutcome::Ok));
        let none = of(Some("none"));
        assert_eq!((none.outcome, none.output.as_str()), (CommandOutcome::TimedOut, "not there"));
        assert!(none.attempts >= 1 && none.took_ns >= 400_000_000, "{none:?}");
    }

    #[test]
    fn a_load_that_ends_early_ends_the_commands_and_they_have_no_result() {
        let text =
            "for = \"1h\"\n[[task]]\nname = \"a\"\nevery = \"1m\"\nrun = \"sleep 1000\"\ntimeout = \"30m\"\n";
        let begun = Instant::now();
        assert_eq!(made(text, 100, false), []);
        assert!(begun.elapsed() < Duration::from_secs(600));
    }

    #[test]
    fn a_command_that_fails_is_not_followed_by_a_look() {
        let text = "for = \"1m\"\n[[task]]\nname = \"a\"\nat = [\"0s\"]\nrun = \"echo no key; exit 2\"\n\
                    [[task.look-for]]\nname = \"it\"\nrun = \"true\"\n";
        let results = made(text, 1_000, true);
        let [result] = &results[..] else { panic!("{results:?}") };
        assert_eq!((result.outcome, result.exit_code), (CommandOutcome::Failed, Some(2)));
        assert_eq!(result.output, "no key");
    }
}
