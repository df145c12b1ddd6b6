//! Lines on their way to a [`Store`], which a thread of its own feeds: whoever measures never waits for a disk or
//! for the compression.
//!
//! ```text
//!   push ──► | line | line | … |  ──► thread ──► store     oldest first, up to a limit of bytes
//!                 dropped ◄──┘ where the limit is passed
//! ```

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::store::{Item, Store};

/// What of a record is not on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsaved {
    /// Lines kept in memory, to be tried again.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Lines given up, because no more could be kept.
    pub dropped: u64,
}

impl Unsaved {
    /// Whether all is on disk.
    pub fn is_nothing(&self) -> bool {
        *self == Unsaved::default()
    }
}

/// The queue, and the thread behind it. Dropping it tries once more to write what is kept.
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
    /// The line that the thread holds, and since when the disk has it.
    in_hand: u64,
    writing_since: Option<Instant>,
    /// Rounds asked for, and those done: in a round the thread writes until nothing is left or the disk refuses.
    wanted: u64,
    done: u64,
    wants_sync: bool,
    ends: bool,
    /// Why the last round wrote no more.
    error: Option<io::Error>,
}

impl Queue {
    /// # Errors
    /// There is no further thread to be had.
    pub(crate) fn new(store: Store, limit_bytes: u64) -> io::Result<Queue> {
        let state = State { limit_bytes, ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let theirs = shared.clone();
        let thread =
            std::thread::Builder::new().name("record".to_owned()).spawn(move || theirs.write(store))?;
        Ok(Queue { shared, thread: Some(thread) })
    }

    /// Adds an item after those kept.
    ///
    /// # Errors
    /// The disk took nothing in the last round, or has not answered for long: the item is kept.
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
        state.trouble()
    }

    /// Waits for a round over all that is kept; with `sync`, until the disk has it.
    ///
    /// # Errors
    /// The disk refused something: it is kept.
    pub(crate) fn wait(&self, sync: bool) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.wanted += 1;
        state.wants_sync |= sync;
        let round = state.wanted;
        self.shared.changed.notify_all();
        while state.done < round && !self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
            let waited = self.shared.changed.wait_timeout(state, LOOK_AGAIN);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        match &state.error {
            Some(error) => Err(same(error)),
            None if state.done < round => Err(io::Error::other("the thread that writes it has ended")),
            None => Ok(()),
        }
    }

    /// What is not on the disk now.
    pub(crate) fn unsaved(&self) -> Unsaved {
        let state = self.shared.lock();
        Unsaved { lines: state.unsaved.lines + state.in_hand, ..state.unsaved }
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
    fn trouble(&self) -> io::Result<()> {
        if let Some(error) = &self.error {
            return Err(same(error));
        }
        match self.writing_since {
            Some(since) if since.elapsed() > STANDSTILL => {
                Err(io::Error::new(io::ErrorKind::TimedOut, "the disk has not answered for 5 s"))
            }
            _ => Ok(()),
        }
    }

    /// The newest lines are worth more: the last one is the sum.
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
            self.in_hand = 1;
        }
        self.writing_since = item.is_some().then(Instant::now);
        item
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread: a round after another, until the queue is dropped.
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
            (state.in_hand, state.writing_since) = (store.unsaved_lines(), None);
            self.changed.notify_all();
        }
    }

    fn round(&self, store: &mut Store) -> io::Result<()> {
        loop {
            store.settle()?;
            let mut state = self.lock();
            state.in_hand = 0;
            let Some(item) = state.pop() else { return Ok(()) };
            drop(state);
            store.put(item)?;
        }
    }
}

/// The same error once more: the thread keeps one, and each caller is given it.
fn same(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// A disk that answers later than this stands still: the user is told.
const STANDSTILL: Duration = Duration::from_secs(5);

/// How often a waiting writer looks whether its thread is still there.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
