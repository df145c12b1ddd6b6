//! The interface between a decision and whoever makes runs: a step out, a record in.
//!
//! ```text
//!   next ──► Run(request) ──► (a Runner) ──► Digest ──► learn ──► next ──► … ──► Done(result)
//! ```

use dnsdyno_plan::Draft;
use dnsdyno_record::Digest;

use crate::commands::CommandResult;

/// Decides, from the records so far, what to do next. Nothing is kept but what the records say: a campaign that is made
/// anew and learns the same records in the same order is in the same state, so that it can be resumed after any end.
pub trait Campaign {
    /// What it finds out.
    type Result;

    /// What to do next. It is the same until a record is learned.
    fn next(&self) -> Step<Self::Result>;

    /// Takes the record of the run that was requested last.
    fn learn(&mut self, run: &Digest);

    /// Takes the results of the commands that were carried out beside a run, before its record is learned, whole or cut
    /// off.
    fn learn_commands(&mut self, _results: &[CommandResult]) {}

    /// Takes what there is of the record of such a run that was cut off, by the end of the program or of the host.
    fn learn_cut(&mut self, _run: &Digest) {}
}

/// What a campaign wants.
#[derive(Clone, Debug)]
pub enum Step<R> {
    /// A run; its record is learned.
    Run(Box<Request>),
    /// Nothing: this is the result.
    Done(R),
}

/// A run to be made.
#[derive(Clone, Debug)]
pub struct Request {
    /// The options of the run.
    pub draft: Draft,
    /// How long no load is sent before it, in ns.
    pub rest_ns: u64,
    /// Whether commands of the user are carried out beside it; their results are learned with its record.
    pub commands: bool,
    /// What it is for, in a few words for people: "doubling: 8,000 qps".
    pub why: String,
}
