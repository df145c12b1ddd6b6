//! Loads the queries of a plan.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use dnsdyno_engine::{Asked, Control, StopCause};
use dnsdyno_plan::Plan;
use dnsdyno_queries::{InputBounds, Loaded, Reading};

use crate::error::RunError;
use crate::memory::free_bytes;
use crate::observer::{Note, Observer};

/// Reads the queries, and reports the malformed lines. The input may have no end, and give nothing: whoever stops the
/// run ends the reading.
pub(crate) fn load(plan: &Plan, control: &Control, observer: &mut dyn Observer) -> Result<Loaded, RunError> {
    let bounds = Arc::new(InputBounds::within(free_bytes()));
    let reading = Reading { bounds: Arc::clone(&bounds), ..plan.reading() };
    let source = plan.source.clone();
    let mut told_bytes = FIRST_TOLD_BYTES;
    let waiting = || {
        let read_bytes = bounds.read_bytes();
        if read_bytes >= told_bytes {
            told_bytes = read_bytes.saturating_mul(2);
            observer.note(&Note::ReadsOn {
                read_bytes,
                most_read_bytes: bounds.most_read_bytes,
                most_kept_bytes: bounds.most_kept_bytes as u64,
            });
        }
    };
    let read = unless_stopped(control, waiting, move || source.load(&reading));
    let mut loaded = read.inspect_err(|_| bounds.stop())??;
    plan.refuse_too_few(Some(loaded.queries.len() as u64))?;
    for bad in &loaded.first_bad {
        observer.note(&Note::SkippedLine(bad));
    }
    let more = loaded.bad_lines - loaded.first_bad.len() as u64;
    if more > 0 {
        observer.note(&Note::SkippedMore(more));
    }
    if let Some((name, sent)) = &loaded.first_idn {
        observer.note(&Note::InternationalizedNames { count: loaded.idn_names, name, sent });
    }
    for maker in plan.messages.makers()? {
        loaded.queries = loaded.queries.made_by(maker);
    }
    Ok(loaded)
}

/// Does `work`, which may block, in a thread of its own, and calls `waiting` meanwhile.
///
/// # Errors
/// The run was stopped before it was done. The thread is left behind: what it waits for may never come.
pub(crate) fn unless_stopped<T: Send + 'static>(
    control: &Control,
    mut waiting: impl FnMut(),
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RunError> {
    let (sender, done) = channel();
    let thread = thread::Builder::new().name("reader".to_owned());
    thread.spawn(move || drop(sender.send(work()))).map_err(RunError::Thread)?;
    loop {
        match done.recv_timeout(LOOK_AGAIN) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Disconnected) => return Err(RunError::ReaderFailed),
            Err(RecvTimeoutError::Timeout) => waiting(),
        }
        if control.asked() != Asked::Nothing {
            return Err(RunError::StoppedBefore(control.cause().unwrap_or(StopCause::Interrupt)));
        }
    }
}

/// How often a stop is looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Input that is said to be read still: more than the files of most people.
const FIRST_TOLD_BYTES: u64 = 128 << 20;
