//! Who is told how an experiment goes on.

use dnsdyno_campaign::experiment::Outcome;

/// Who is told how an experiment goes on.
pub trait Watcher {
    /// Something that a person should know.
    fn says(&mut self, text: &str);

    /// So many runs of earlier parts were read again, and so many of them had been cut off.
    fn resumed(&mut self, ended: u32, cut: u32);

    /// A run begins; so many are left with it, if none is discarded.
    fn begins(&mut self, why: &str, left: u64);

    /// A search has made a trial.
    fn goes_on(&mut self, text: &str);

    /// A run has ended, and says this, if anything.
    fn ended(&mut self, outcome: &Outcome, says: &str);
}
