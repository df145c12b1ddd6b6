//! Several makers for one run, in order: those that make the question, then EDNS options, last the signature.

use std::sync::Arc;

use super::maker::{Checked, Maker, QueryToMake, ResponseToCheck, WorkerMaker, WorkerShare};

/// Makers that change each message one after the other.
#[derive(Debug)]
pub(super) struct Makers(Vec<Arc<dyn Maker>>);

impl Makers {
    /// `first`, and then `then`.
    pub(super) fn chain(first: Arc<dyn Maker>, then: Arc<dyn Maker>) -> Makers {
        Makers(vec![first, then])
    }
}

impl Maker for Makers {
    fn begin(&self, share: WorkerShare) -> Box<dyn WorkerMaker> {
        Box::new(WorkerMakers(self.0.iter().map(|maker| maker.begin(share)).collect()))
    }

    fn changes_question(&self) -> bool {
        self.0.iter().any(|maker| maker.changes_question())
    }

    fn checks_responses(&self) -> bool {
        self.0.iter().any(|maker| maker.checks_responses())
    }

    fn longest_addition(&self) -> usize {
        self.0.iter().map(|maker| maker.longest_addition()).sum()
    }
}

struct WorkerMakers(Box<[Box<dyn WorkerMaker>]>);

impl WorkerMaker for WorkerMakers {
    fn make(&mut self, query: &QueryToMake, message: &mut Vec<u8>) {
        self.0.iter_mut().for_each(|maker| maker.make(query, message));
    }

    fn make_bare(&mut self, query: &QueryToMake, message: &mut Vec<u8>) {
        self.0.iter_mut().for_each(|maker| maker.make_bare(query, message));
    }

    fn prepare(&mut self, slots: usize, channels: usize) {
        self.0.iter_mut().for_each(|maker| maker.prepare(slots, channels));
    }

    /// The last maker is asked first: a message whose signature is wrong says nothing else. Its findings are not kept
    /// if the response is not accepted.
    fn check(&mut self, response: &ResponseToCheck<'_>) -> Checked {
        let mut checked = Checked::default();
        for maker in self.0.iter_mut().rev() {
            checked = checked.and(maker.check(response));
            if !checked.is_accepted() {
                break;
            }
        }
        checked
    }
}
