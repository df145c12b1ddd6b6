//! The queue of lines for a [`Store`], which its own thread writes: the measurement never waits for the disk or the
//! compression.
//!
//! ```text
//!   push ──► | line | line | … |  ──► thread ──► store     oldest first, up to a limit of bytes
//!                 dropped ◄──┘ above the limit
//! ```

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::store::{Item, Store};

/// The part of a record that is not on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsaved {
    /// Lines kept in memory, to be retried.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Lines lost, because no more could be kept.
    pub dropped: u64,
}

impl Unsaved {
    /// Whether all is on disk.
    pub fn is_nothing(&self) -> bool {
        *self == Unsaved::default()
    }
}

/// The queue and its thread. Dropping it retries once to write the lines kept.
pub(crate) struct Queue {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    unsaved: Unsaved,
    limit_bytes: u64,
    /// Lines that the thread is writing, and since when.
    in_progress: u64,
    writing_since: Option<Instant>,
    /// Rounds requested, and rounds done: in a round the thread writes until the queue is empty or a write fails.
    wanted: u64,
    done: u64,
    wants_sync: bool,
    ends: bool,
    /// The error that ended the last round.
    error: Option<io::Error>,
}

impl Queue {
    /// # Errors
    /// The thread cannot be created.
    pub(crate) fn new(store: Store, limit_bytes: u64) -> io::Result<Queue> {
        let state = State { limit_bytes, ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let theirs = shared.clone();
        let thread =
            std::thread::Builder::new().name("record".to_owned()).spawn(move || theirs.write(store))?;
        Ok(Queue { shared, thread: Some(thread) })
    }

    /// Appends an item.
    ///
    /// # Errors
    /// The last round failed, or a write takes too long: the item is kept.
    pub(crate) fn push(&self, item: Item) -> io::Result<()> {
        let mut state = self.shared.lock();
        if let Item::Line(line) = &item {
            state.unsaved.lines += 1;
            state.unsaved.bytes += line.len() as u64;
        }
        state.items.push_back(item);
        state.drop_beyond_limit();
        state.wanted += 1;
        self.shared.changed.notify_all();
        state.check()
    }

    /// Waits for a round that writes all items kept; with `sync`, until they are on the disk.
    ///
    /// # Errors
    /// A write failed: its lines are kept.
    pub(crate) fn wait(&self, sync: bool) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.wanted += 1;
        state.wants_sync |= sync;
        let round = state.wanted;
        self.shared.changed.notify_all();
        while state.done < round && !self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
            let waited = self.shared.changed.wait_timeout(state, CHECK_INTERVAL);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        match &state.error {
            Some(error) => Err(same(error)),
            None if state.done < round => Err(io::Error::other("the thread that writes it has ended")),
            None => Ok(()),
        }
    }

    /// The lines that are not on disk now.
    pub(crate) fn unsaved(&self) -> Unsaved {
        let state = self.shared.lock();
        Unsaved { lines: state.unsaved.lines + state.in_progress, ..state.unsaved }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.wanted += 1;
        state.ends = true;
        drop(state);
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl State {
    fn check(&self) -> io::Result<()> {
        if let Some(error) = &self.error {
            return Err(same(error));
        }
        match self.writing_since {
            Some(since) if since.elapsed() > SLOW_WRITE => {
                Err(io::Error::new(io::ErrorKind::TimedOut, "the disk has not answered for 5 s"))
            }
            _ => Ok(()),
        }
    }

    /// Drops the oldest lines: the newest ones matter more, because the last one is the sum.
    fn drop_beyond_limit(&mut self) {
        while self.unsaved.bytes > self.limit_bytes && self.unsaved.lines > 1 {
            let oldest = self.items.iter().position(|item| matches!(item, Item::Line(_)));
            let Some(Item::Line(line)) = oldest.and_then(|place| self.items.remove(place)) else { return };
            self.unsaved.lines -= 1;
            self.unsaved.bytes -= line.len() as u64;
            self.unsaved.dropped += 1;
        }
    }

    fn pop(&mut self) -> Option<Item> {
        let item = self.items.pop_front();
        if let Some(Item::Line(line)) = &item {
            self.unsaved.lines -= 1;
            self.unsaved.bytes -= line.len() as u64;
            self.in_progress = 1;
        }
        self.writing_since = item.is_some().then(Instant::now);
        item
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread: one round after another, until the queue is dropped.
    fn write(&self, mut store: Store) {
        loop {
            let mut state = self.lock();
            while state.done == state.wanted {
                if state.ends {
                    return;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let (round, sync) = (state.wanted, std::mem::take(&mut state.wants_sync));
            state.writing_since = Some(Instant::now());
            drop(state);
            let mut written = self.round(&mut store);
            if sync && written.is_ok() {
                written = store.sync();
            }
            let mut state = self.lock();
            (state.done, state.error) = (round, written.err());
            (state.in_progress, state.writing_since) = (store.unsaved_lines(), None);
            self.changed.notify_all();
        }
    }

    fn round(&self, store: &mut Store) -> io::Result<()> {
        loop {
            store.settle()?;
            let mut state = self.lock();
            state.in_progress = 0;
            let Some(item) = state.pop() else { return Ok(()) };
            drop(state);
            store.put(item)?;
        }
    }
}

/// A copy of an error: the thread stores one, and each caller gets it.
fn same(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// A write that takes longer is reported to the user.
const SLOW_WRITE: Duration = Duration::from_secs(5);

/// How often a waiting caller checks whether the thread still runs.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);
