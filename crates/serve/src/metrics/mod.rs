//! The metrics of a run in progress: an observer that counts, and a server that tells.
//!
//! ```text
//!   collector's thread ── passed, settled ──► Metrics ──► State   (shared; copied when a reader holds it)
//!   server's thread    ◄── GET /metrics                    │
//!                      ──► text of what it was then ◄──────┘
//! ```
//!
//! Workers know nothing of it: the collector passes on what it has anyway, and a scrape takes a reference to the state
//! of that moment, so that neither waits for the other.

pub(crate) mod buckets;
pub(crate) mod families;
mod server;
mod shared;
pub(crate) mod state;
mod text;

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dnsdyno_record::{Digest, Header, Interval};
use dnsdyno_runner::{Live, Note, Observer};

use server::Scrapes;
use shared::Shared;
use state::Stage;

use crate::http::Server;

/// The metrics of a run, which it serves as long as it exists.
#[derive(Debug)]
pub struct Metrics {
    shared: Arc<Shared>,
    server: Server,
}

impl Metrics {
    /// Serves metrics at this address from now on.
    ///
    /// # Errors
    /// The address is in use, or not of this host.
    pub fn serve(address: SocketAddr) -> Result<Metrics, MetricsError> {
        let shared = Arc::new(Shared::default());
        let server = Server::start(address, Scrapes(Arc::clone(&shared)), NO_HELPERS)
            .map_err(|source| MetricsError { address, source })?;
        Ok(Metrics { shared, server })
    }

    /// Where they are served: the port is that of the system where 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// The run has ended. Its last state is served until it has been read once, at most for `longest`, and no longer
    /// than `goes_on` is true.
    pub fn finish(self, digest: &Digest, longest: Duration, goes_on: impl Fn() -> bool) {
        self.shared.change(|state| state.end(digest));
        let since = Instant::now();
        let is_read = || self.shared.last_scrapes.load(std::sync::atomic::Ordering::Acquire) > 0;
        while since.elapsed() < longest && !is_read() && goes_on() {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

impl Observer for Metrics {
    fn begins(
        &mut self,
        header: &Header,
        schedule_end_ns: Option<u64>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.shared.change(|state| state.begin(header, schedule_end_ns));
        Ok(())
    }

    fn note(&mut self, note: &Note<'_>) {
        if matches!(note, Note::Stopping(_)) {
            self.shared.change(|state| state.stage = Stage::Stopping);
        }
    }

    fn passed(&mut self, live: &Live<'_>) {
        self.shared.change(|state| state.pass(live));
    }

    fn settled(&mut self, interval: &Interval) {
        self.shared.change(|state| state.settle(interval));
    }

    fn sampled(&mut self, interval: &Interval) {
        self.shared.change(|state| state.sample(interval));
    }

    fn idle(&mut self, digest: &Digest) {
        if self.shared.now().is_behind(digest) {
            self.shared.change(|state| state.judge(digest));
        }
    }
}

/// The metrics cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve metrics at {address}: {source}; choose another address or port with --metrics")]
pub struct MetricsError {
    address: SocketAddr,
    source: io::Error,
}

/// No scrape waits for anything; the least that the runtime takes.
const NO_HELPERS: usize = 1;

/// How often the end of a wait is checked.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
