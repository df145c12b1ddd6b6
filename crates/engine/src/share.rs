//! Which of the workers one is, and what of the source is its part.

/// A worker's share of the clients of a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// The number of the worker in this process.
    pub(crate) own: u32,
    /// Its number among all workers of the load, which several processes may make.
    pub(crate) worker: u32,
    /// The number of all workers.
    pub(crate) workers: u32,
}

impl Share {
    /// Whether this worker sends the queries of this client.
    pub(crate) fn contains(&self, client: Option<u32>) -> bool {
        client.is_some_and(|client| client % self.workers == self.worker)
    }
}
