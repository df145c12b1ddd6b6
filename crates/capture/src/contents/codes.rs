//! Counts by a number of 16 bits: a type, an RCODE, a size.

use serde::Serialize;

/// How often something was met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// What it is.
    pub name: String,
    /// How often it was met.
    pub count: u64,
}

/// Counts by number; memory is taken with the first.
#[derive(Default)]
pub(super) struct Counter {
    counts: Vec<u64>,
}

impl Counter {
    pub(super) fn add(&mut self, code: u16) {
        if self.counts.is_empty() {
            self.counts.resize(1 << 16, 0);
        }
        self.counts[usize::from(code)] += 1;
    }

    /// What was counted, the most frequent first.
    pub(super) fn shares(&self, name: impl Fn(u16) -> String) -> Vec<Share> {
        let counted = (0..=u16::MAX).zip(&self.counts).filter(|(_, count)| **count > 0);
        let mut shares: Vec<_> = counted.map(|(code, &count)| Share { name: name(code), count }).collect();
        // Equal ones stay in the order of their numbers.
        shares.sort_by_key(|share| std::cmp::Reverse(share.count));
        shares
    }
}
