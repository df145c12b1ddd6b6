//! The notes that somebody gives to a run in progress: a thread of their own looks for them, because a disk that blocks
//! must not hold up what collects the run.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_record::{Event, NoteIntake};
use dnsdyno_sys::clock;

/// The start of a run, on both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunStart {
    /// On the monotonic clock.
    pub(crate) epoch_ns: u64,
    /// On the wall clock, since 1970.
    pub(crate) unix_ns: u64,
}

/// The notes of a run.
pub(crate) struct Notes {
    /// Ends the thread when it is dropped.
    stop: Option<SyncSender<()>>,
    events: Receiver<Event>,
}

impl Notes {
    /// Looks for notes to the run that keeps its record in `folder`, until [`finish`](Self::finish). `None` where the
    /// run has no folder, or no thread.
    pub(crate) fn start(folder: Option<&Path>, start: RunStart) -> Option<Notes> {
        let mut intake = NoteIntake::of(folder?)?;
        let (stop, stopped) = sync_channel::<()>(0);
        let (sender, events) = channel();
        let look = move || {
            // A note that was not there at the last look was given after it, whatever the clock of its giver says.
            let mut after_ns = 0;
            loop {
                let is_last = stopped.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout);
                let now_ns = clock::monotonic_ns().saturating_sub(start.epoch_ns);
                while let Some(note) = intake.take() {
                    let given_ns = note.unix_ns.saturating_sub(start.unix_ns);
                    let at_ns = given_ns.clamp(after_ns.min(now_ns), now_ns);
                    if sender.send(Event::note(at_ns, note.text)).is_err() {
                        return;
                    }
                }
                after_ns = now_ns;
                if is_last {
                    return;
                }
            }
        };
        thread::Builder::new().name("notes".to_owned()).spawn(look).ok()?;
        Some(Notes { stop: Some(stop), events })
    }

    /// Those given since the last call.
    pub(crate) fn events(&mut self) -> Vec<Event> {
        self.events.try_iter().collect()
    }

    /// Looks a last time. A thread whose disk blocks ends with the program.
    pub(crate) fn finish(&mut self) -> Vec<Event> {
        drop(self.stop.take());
        let deadline = Instant::now() + LAST_LOOK;
        let rest = || self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok();
        std::iter::from_fn(rest).collect()
    }
}

/// Opening a file that does not exist takes some microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long the end of a run waits for the last look.
const LAST_LOOK: Duration = Duration::from_secs(1);
