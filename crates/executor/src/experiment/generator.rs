//! Where the load comes from: the CPUs of the generator, and the namespace that is joined to that of the server.

use std::error::Error;
use std::time::{Duration, Instant};

use dnsdyno_lab::LabError;
use dnsdyno_record::{Event, Header};
use dnsdyno_runner::{Note, Observer};
use dnsdyno_sys::clock;
use dnsdyno_sys::thread::{allowed_cpus, run_on_cpus};

use super::cpus::Cpus;
use super::happen::Clock;
use super::servers::Standing;
use super::watcher::Watcher;

/// Does `work` where a server can be reached, on the CPUs of the generator.
pub(super) fn at_generator<R>(
    standing: &Standing,
    cpus: &Cpus,
    work: impl FnOnce() -> R,
) -> Result<R, LabError> {
    let _stay = standing.pair().map(|pair| pair.near().stay()).transpose()?;
    let _pinned = Pinned::to(&cpus.generator);
    Ok(work())
}

/// Keeps the calling thread, and those that it starts, on some CPUs until it is dropped.
struct Pinned {
    before: Vec<usize>,
}

impl Pinned {
    fn to(cpus: &[usize]) -> Option<Pinned> {
        let before = allowed_cpus().ok().filter(|_| !cpus.is_empty())?;
        run_on_cpus(cpus).ok()?;
        Some(Pinned { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // It was allowed to run there before.
        let _ = run_on_cpus(&self.before);
    }
}

/// Tells the clock of the events when a run begins, and the user what a run says.
pub(super) struct Beginning<'a> {
    pub(super) clock: &'a Clock,
    pub(super) watcher: &'a mut dyn Watcher,
}

impl Observer for Beginning<'_> {
    fn begins(&mut self, header: &Header, _: Option<u64>) -> Result<(), Box<dyn Error + Send + Sync>> {
        // The first query is due a moment later, when the workers are ready.
        let left_ns = header.started_unix_ns.saturating_sub(clock::wall_ns());
        self.clock.begin(Instant::now() + Duration::from_nanos(left_ns).min(MOST_PREPARATION));
        Ok(())
    }

    fn happened(&mut self) -> Vec<Event> {
        self.clock.take_marks()
    }

    fn note(&mut self, note: &Note<'_>) {
        if let Note::RecordTrouble(error) = note {
            self.watcher.says(&error.to_string());
        }
    }
}

/// A wall clock that was set meanwhile must not hold events back for longer.
const MOST_PREPARATION: Duration = Duration::from_secs(10);
