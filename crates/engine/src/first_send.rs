//! The first query of a worker: how late a run has started.

/// When a first query was due, and when it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FirstSend {
    /// 0 in a closed loop: all its windows are open from the start.
    pub(crate) due_ns: u64,
    pub(crate) sent_ns: u64,
}
