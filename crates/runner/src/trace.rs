//! Writes the trace of a run, in a thread of its own.
//!
//! ```text
//!   worker ──► log ═══ steps of traced queries ═══► writing ──► trace.json (Trace Event Format)
//! ```
//!
//! A worker never waits for the file: what does not fit into its queue is counted as lost, and told at the end.

mod events;
mod file;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, thread};

use dnsdyno_engine::{TraceLog, TraceStep};
use dnsdyno_plan::Plan;
use dnsdyno_text::safe;
use dnsdyno_text::units::{count, counted};
use rtrb::{Consumer, Producer, RingBuffer};

use self::events::Events;
use self::file::TraceFile;
use crate::error::RunError;

/// The trace of a run.
pub(crate) struct Tracing {
    /// The log of each worker, until it is taken.
    logs: Mutex<Vec<Option<Log>>>,
    queues: Mutex<Vec<Consumer<TraceStep>>>,
    lost: Arc<AtomicU64>,
    /// The file that the user names; otherwise it is in the folder of the run.
    file: Option<TraceFile>,
}

/// The trace of a run that has begun.
pub(crate) struct TraceWriting {
    thread: Option<JoinHandle<(u64, io::Result<()>)>>,
    path: PathBuf,
    lost: Arc<AtomicU64>,
    failed: Option<io::Error>,
}

/// What became of a trace.
#[derive(Debug)]
pub struct Traced {
    /// The file.
    pub path: PathBuf,
    /// Queries in it.
    pub queries: u64,
    /// Queries that were to be traced, and could not be.
    pub lost: u64,
    /// Why the file ends early.
    pub failed: Option<io::Error>,
}

impl Traced {
    /// What became of it, in words.
    pub fn sentence(&self) -> String {
        let path = safe(&self.path.display().to_string());
        let lost = match self.lost {
            0 => String::new(),
            lost => format!("; {} more could not be traced: trace fewer", counted(lost, "query", "queries")),
        };
        let queries = counted(self.queries, "query", "queries");
        match &self.failed {
            None => format!("{queries} traced in {path}{lost}"),
            Some(error) => {
                format!("the trace {path} ends early, with {queries}: {error}; {} lost", count(self.lost))
            }
        }
    }
}

impl Tracing {
    /// The trace of a plan; `None` where it has none.
    ///
    /// # Errors
    /// The file that the user names cannot be created.
    pub(crate) fn of(plan: &Plan) -> Result<Option<Tracing>, RunError> {
        plan.trace.as_ref().map(|trace| Tracing::prepare(plan.workers, trace.file.as_deref())).transpose()
    }

    fn prepare(workers: usize, path: Option<&Path>) -> Result<Tracing, RunError> {
        let create = |path: &Path| {
            TraceFile::create(path).map_err(|source| RunError::Trace { path: path.to_owned(), source })
        };
        let file = path.map(create).transpose()?;
        let lost = Arc::<AtomicU64>::default();
        let (logs, queues): (Vec<_>, Vec<_>) = (0..workers)
            .map(|_| {
                let (queue, out) = RingBuffer::new(STEPS_QUEUED);
                (Some(Log { queue, lost: lost.clone() }), out)
            })
            .unzip();
        Ok(Tracing { logs: Mutex::new(logs), queues: Mutex::new(queues), lost, file })
    }

    /// The log of a worker.
    pub(crate) fn log_of(&self, worker: u32) -> Box<dyn TraceLog> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        match logs.get_mut(worker as usize).and_then(Option::take) {
            Some(log) => Box::new(log),
            None => Box::new(NoTrace),
        }
    }

    /// Begins to write; into the `folder` of the run, unless the user has named a file. Takes the queues; the logs
    /// stay.
    pub(crate) fn begin(&mut self, folder: Option<&Path>) -> TraceWriting {
        let queues = std::mem::take(self.queues.get_mut().unwrap_or_else(PoisonError::into_inner));
        let lost = self.lost.clone();
        let path = match (&self.file, folder) {
            (Some(file), _) => file.path().to_owned(),
            (None, folder) => folder.unwrap_or(Path::new("")).join(FILE),
        };
        let begin = |file: Option<TraceFile>| {
            let file = file.map_or_else(|| TraceFile::create(&path), Ok)?;
            let (lost, thread) = (lost.clone(), thread::Builder::new().name("trace".to_owned()));
            thread.spawn(move || write_all(queues, file, &lost))
        };
        match begin(self.file.take()) {
            Ok(thread) => TraceWriting { thread: Some(thread), path, lost, failed: None },
            Err(error) => TraceWriting { thread: None, path, lost, failed: Some(error) },
        }
    }
}

impl TraceWriting {
    /// Writes what is left, after all logs are gone.
    pub(crate) fn finish(self) -> Traced {
        let (queries, written) = match self.thread.map(JoinHandle::join) {
            Some(Ok(written)) => written,
            Some(Err(_)) => (0, Err(io::Error::other("the thread that writes it has failed"))),
            None => (0, Ok(())),
        };
        let lost = self.lost.load(Ordering::Relaxed);
        Traced { path: self.path, queries, lost, failed: self.failed.or(written.err()) }
    }
}

/// The log of one worker.
struct Log {
    queue: Producer<TraceStep>,
    lost: Arc<AtomicU64>,
}

impl TraceLog for Log {
    fn step(&mut self, step: TraceStep) {
        let is_end = matches!(step, TraceStep::Ended(_));
        if self.queue.push(step).is_err() && is_end {
            self.lost();
        }
    }

    fn lost(&mut self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }
}

/// For a worker that is not traced.
pub(crate) struct NoTrace;

impl TraceLog for NoTrace {
    fn step(&mut self, _: TraceStep) {}

    fn lost(&mut self) {}
}

/// Writes until all workers have ended and their queues are empty. Returns how many queries the file has.
fn write_all(
    mut queues: Vec<Consumer<TraceStep>>,
    mut file: TraceFile,
    lost: &AtomicU64,
) -> (u64, io::Result<()>) {
    let (mut events, mut failed) = (Events::new(queues.len()), Ok(()));
    loop {
        // In this order: what was written before a worker ended must not be missed.
        let is_over = queues.iter().all(Consumer::is_abandoned);
        let mut is_idle = true;
        for (worker, queue) in queues.iter_mut().enumerate() {
            for _ in 0..STEPS_AT_ONCE {
                let Ok(step) = queue.pop() else { break };
                is_idle = false;
                match failed {
                    Ok(()) => events.add(worker, &step),
                    // Nothing more is written; what is lost is counted.
                    Err(_) if matches!(step, TraceStep::Ended(_)) => {
                        lost.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(_) => {}
                }
            }
        }
        if failed.is_ok() && (events.bytes() >= WRITTEN_AT_ONCE || is_idle) {
            failed = file.append(&events);
            match failed {
                Ok(()) => events.written(),
                Err(_) => {
                    lost.fetch_add(events.unwritten_queries(), Ordering::Relaxed);
                }
            }
        }
        match (is_idle, is_over) {
            (true, true) => return (events.written_queries(), failed),
            (true, false) => thread::sleep(IDLE),
            (false, _) => {}
        }
    }
}

/// Its file in the folder of a run.
const FILE: &str = "trace.json";

/// Steps of a worker that wait to be written.
const STEPS_QUEUED: usize = 32_768;

/// Steps of one worker that are written before those of the next.
const STEPS_AT_ONCE: usize = 256;

/// Octets that are collected before they are written.
const WRITTEN_AT_ONCE: usize = 256 << 10;

/// How long a thread without steps sleeps: the file is at most so far behind.
const IDLE: Duration = Duration::from_millis(20);
