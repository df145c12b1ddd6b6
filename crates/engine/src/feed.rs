//! Queries that are given to the workers while they run, in chunks, because their source is too long to be loaded.
//!
//! ```text
//!   a thread that reads the source ──► FeedIn ═══ chunks ═══► worker
//!                                         ▲                     │
//!                                         └═══ empty chunks ════┘
//! ```
//!
//! The queue of a worker is bounded. A worker that finds it empty although the source has not ended waits, which it
//! counts: what is then sent late is the reader's fault.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dnsdyno_queries::{Chunk, Maker};
use rtrb::{Consumer, Producer, RingBuffer};

/// The workers' ends of the queues of a run.
pub struct Feeds {
    types: Vec<u16>,
    has_clients: bool,
    maker: Option<Arc<dyn Maker>>,
    ends: Mutex<Vec<Option<FeedOut>>>,
}

/// The reader's end of the queue to one worker. When it is dropped, the source has ended for this worker.
pub struct FeedIn {
    chunks: Producer<Chunk>,
    spent: Consumer<Chunk>,
    is_held: Arc<AtomicBool>,
}

/// The worker's end.
pub(crate) struct FeedOut {
    pub(crate) chunks: Consumer<Chunk>,
    pub(crate) spent: Producer<Chunk>,
    /// Whether time stands still while the queue is empty, as on a simulated link.
    pub(crate) stops_time: bool,
    /// Whether the reader waits for a worker whose queue is full.
    is_held: Arc<AtomicBool>,
}

/// What the chunks of a run have in common.
pub struct FeedConfig {
    /// The query types, in the order of their slots.
    pub types: Vec<u16>,
    /// Whether the source says which client sends each query.
    pub has_clients: bool,
    /// Changes each message when it is sent.
    pub maker: Option<Arc<dyn Maker>>,
    /// Whether a worker whose queue is empty waits without its time going on: for simulated links.
    pub stops_time: bool,
}

impl Feeds {
    /// The queues to this many workers.
    pub fn new(config: FeedConfig, workers: usize) -> (Feeds, Vec<FeedIn>) {
        let is_held = Arc::<AtomicBool>::default();
        let queue = || {
            let (chunks, chunks_out) = RingBuffer::new(CHUNKS_QUEUED);
            let (spent_in, spent) = RingBuffer::new(2 * CHUNKS_QUEUED);
            let (stops_time, is_held) = (config.stops_time, is_held.clone());
            let input = FeedIn { chunks, spent, is_held: is_held.clone() };
            (input, Some(FeedOut { chunks: chunks_out, spent: spent_in, stops_time, is_held }))
        };
        let (ins, outs) = (0..workers).map(|_| queue()).unzip();
        let FeedConfig { types, has_clients, maker, .. } = config;
        (Feeds { types, has_clients, maker, ends: Mutex::new(outs) }, ins)
    }

    /// The query types, in the order of their slots.
    pub fn types(&self) -> &[u16] {
        &self.types
    }

    pub(crate) fn has_clients(&self) -> bool {
        self.has_clients
    }

    pub(crate) fn maker(&self) -> Option<Arc<dyn Maker>> {
        self.maker.clone()
    }

    /// The end of a worker; `None` if there is none or it was taken before.
    pub(crate) fn take(&self, worker: u32) -> Option<FeedOut> {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.get_mut(worker as usize)?.take()
    }
}

impl FeedIn {
    /// Passes a chunk to the worker.
    ///
    /// # Errors
    /// Returns the chunk if the queue is full.
    #[expect(clippy::result_large_err, reason = "some 400 bytes are moved, once for thousands of queries")]
    pub fn push(&mut self, chunk: Chunk) -> Result<(), Chunk> {
        let pushed = self.chunks.push(chunk).map_err(|rtrb::PushError::Full(chunk)| chunk);
        self.is_held.store(pushed.is_err(), Ordering::Relaxed);
        pushed
    }

    /// Whether the queue is full.
    pub fn is_full(&self) -> bool {
        self.chunks.is_full()
    }

    /// Whether the worker takes no more chunks: it has ended.
    pub fn is_abandoned(&self) -> bool {
        self.chunks.is_abandoned()
    }

    /// A chunk whose memory may be used again.
    pub fn spent(&mut self) -> Chunk {
        self.spent.pop().unwrap_or_default()
    }
}

impl FeedOut {
    /// Whether the reader waits for a worker, so that it is not the one that is behind.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Relaxed)
    }

    /// The next chunk, or whether there will be none.
    pub(crate) fn next(&mut self) -> Next {
        // In this order: what was pushed before the reader ended must not be missed.
        let is_over = self.chunks.is_abandoned();
        match self.chunks.pop() {
            Ok(chunk) => Next::Chunk(chunk),
            Err(_) if is_over => Next::Over,
            Err(_) => Next::NotYet,
        }
    }
}

/// What a worker finds in its queue.
#[expect(clippy::large_enum_variant, reason = "a chunk is moved once for thousands of queries")]
pub(crate) enum Next {
    Chunk(Chunk),
    NotYet,
    Over,
}

/// Chunks that may wait for a worker: at 1M qps the reader may pause for 65 ms.
const CHUNKS_QUEUED: usize = 16;
