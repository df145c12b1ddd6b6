//! One line of a shell, in a process group of its own that never outlives it.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_text::shown;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};

/// How far a timetable still goes.
#[derive(Debug, Default)]
pub(super) struct Stop {
    state: Mutex<State>,
    told: Condvar,
}

/// In the order in which they follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// Rounds begin at their instants.
    #[default]
    Going,
    /// None begins; those that have begun are carried out.
    Ending,
    /// Every command is ended at once.
    Stopped,
}

impl Stop {
    /// Goes on to this state.
    pub(super) fn goes_to(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.told.notify_all();
    }

    pub(super) fn state(&self) -> State {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `instant`, or until this state is reached; returns whether it is not.
    pub(super) fn wait(&self, instant: Instant, until: State) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while *state < until {
            let left = instant.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            state = self.told.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }
}

/// How a line has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) how: How,
    pub(super) took: Duration,
    /// `None` = a signal ended it.
    pub(super) exit_code: Option<i32>,
    /// The last line that it printed, safe to show.
    pub(super) output: String,
}

/// How a line has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// By itself.
    Exited,
    /// It had not ended in time.
    TimedOut,
    /// The timetable was stopped.
    Stopped,
    /// It was not started.
    NotStarted,
}

/// Carries out a line of a shell, and ends whatever of it still runs after `timeout`, or when it has ended.
pub(super) fn carry_out(line: &str, marks: &[(&str, OsString)], timeout: Duration, stop: &Stop) -> Ended {
    let begun = Instant::now();
    let not_started = |error: io::Error| Ended {
        how: How::NotStarted,
        took: begun.elapsed(),
        exit_code: None,
        output: error.to_string(),
    };
    let started = start(line, marks);
    let (mut child, printed) = match started {
        Ok(started) => started,
        Err(error) => return not_started(error),
    };
    let how = watch(&child, begun + timeout, stop);
    let took = begun.elapsed();
    // The process was not waited for, so that its id, which is that of the group, belongs to no other.
    let _ = rustix::process::kill_process_group(Pid::from_child(&child), Signal::KILL);
    let status = child.wait();
    let exit_code = status.ok().and_then(|status| status.code()).filter(|_| how == How::Exited);
    Ended { how, took, exit_code, output: printed.last_line() }
}

fn start(line: &str, marks: &[(&str, OsString)]) -> io::Result<(Child, Printed)> {
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line).envs(marks.iter().map(|(name, value)| (name, value)));
    command.process_group(0).stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let child = command.spawn()?;
    // Ours are closed, so that the pipe ends with the processes of the line.
    drop(command);
    Ok((child, Printed::read(reader)))
}

/// Waits until the process has ended, without taking its status.
fn watch(child: &Child, deadline: Instant, stop: &Stop) -> How {
    let exit = match rustix::process::pidfd_open(Pid::from_child(child), PidfdFlags::empty()) {
        Ok(exit) => exit,
        // Too many open files: nothing is known of it, and it is ended.
        Err(_) => return How::NotStarted,
    };
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = Timespec::try_from(left.min(STOP_CHECK)).ok();
        let ready = rustix::event::poll(&mut [PollFd::new(&exit, PollFlags::IN)], wait.as_ref());
        if ready.is_ok_and(|ready| ready > 0) {
            return How::Exited;
        }
        if stop.state() == State::Stopped {
            return How::Stopped;
        }
        if left.is_zero() {
            return How::TimedOut;
        }
    }
}

/// The end of what a line prints, read by a thread so that the pipe is never full.
#[derive(Debug)]
struct Printed {
    tail: Arc<Mutex<Vec<u8>>>,
    reader: Option<thread::JoinHandle<()>>,
}

impl Printed {
    fn read(mut pipe: io::PipeReader) -> Printed {
        let tail = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&tail);
        let read = move || {
            let mut part = [0; 4_096];
            while let Ok(read @ 1..) = pipe.read(&mut part) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(part.get(..read).unwrap_or_default());
                let too_many = kept.len().saturating_sub(MOST_KEPT);
                kept.drain(..too_many);
            }
        };
        Printed { tail, reader: thread::Builder::new().name("printed".into()).spawn(read).ok() }
    }

    /// The last line with text. A process that left the group can hold the pipe: it is not waited for.
    fn last_line(self) -> String {
        let end = Instant::now() + PRINTED_WITHIN;
        while self.reader.as_ref().is_some_and(|reader| !reader.is_finished()) && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&tail);
        let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
        shown(last.unwrap_or_default(), MOST_SHOWN).into_owned()
    }
}

/// How often a command that runs is looked after, at least.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// How long what is in the pipe may take after the end of the processes.
const PRINTED_WITHIN: Duration = Duration::from_millis(500);

/// Bytes of the end that are kept.
const MOST_KEPT: usize = 4_096;

/// Characters of a line.
const MOST_SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use dnsdyno_sys::process::Stat;

    fn carried_out(line: &str, timeout_ms: u64) -> Ended {
        let marks = [("DNSDYNO_ROUND", OsString::from("7"))];
        carry_out(line, &marks, Duration::from_millis(timeout_ms), &Stop::default())
    }

    #[test]
    fn a_line_has_its_exit_code_and_its_last_words() {
        let ended = carried_out("echo one; echo round $DNSDYNO_ROUND >&2; echo; exit 3", 60_000);
        assert_eq!((ended.how, ended.exit_code, ended.output.as_str()), (How::Exited, Some(3), "round 7"));
        let ended = carried_out("yes | head -c 10000000; echo done", 60_000);
        assert_eq!((ended.exit_code, ended.output.as_str()), (Some(0), "done"));
    }

    #[test]
    fn what_does_not_end_in_time_is_ended_with_all_that_it_started() {
        let ended = carried_out("sleep 1000 & echo $!; sleep 1000", 200);
        assert_eq!((ended.how, ended.exit_code), (How::TimedOut, None));
        let left: u32 = ended.output.parse().unwrap();
        let gone = (0..500).any(|_| {
            thread::sleep(Duration::from_millis(10));
            // A zombie of a namespace without a reaper counts as gone.
            Stat::of(left).is_none_or(|stat| stat.has_ended())
        });
        assert!(gone, "{left}");
        // What a line that has ended leaves in its group ends too.
        let ended = carried_out("sleep 1000 & echo $!", 60_000);
        assert_eq!((ended.how, ended.exit_code), (How::Exited, Some(0)));
    }

    #[test]
    fn a_stopped_timetable_ends_its_commands() {
        let stop = Arc::new(Stop::default());
        let later = Arc::clone(&stop);
        let stopper = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            later.goes_to(State::Stopped);
        });
        let ended = carry_out("sleep 1000", &[], Duration::from_secs(600), &stop);
        assert_eq!(ended.how, How::Stopped);
        stopper.join().unwrap();
        assert!(!stop.wait(Instant::now() + Duration::from_secs(600), State::Ending));
    }
}
