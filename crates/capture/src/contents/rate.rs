//! Messages in parts of the time, which become longer with the capture.

use serde::Serialize;

/// Messages in parts of the time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// Where the first part begins, in nanoseconds since 1970.
    pub from_unix_ns: u64,
    /// The length of a part.
    pub part_ns: u64,
    /// Queries in each part.
    pub queries: Vec<u64>,
    /// Responses in each part.
    pub responses: Vec<u64>,
}

#[derive(Default)]
pub(super) struct Counter {
    from_unix_ns: Option<u64>,
    /// As a power of ten of [`SHORTEST_NS`].
    coarser: u32,
    parts: Vec<[u64; 2]>,
}

impl Counter {
    /// A message before the first one is counted with it.
    pub(super) fn add(&mut self, at_unix_ns: u64, is_response: bool) {
        let from_unix_ns = *self.from_unix_ns.get_or_insert(at_unix_ns);
        let after_ns = at_unix_ns.saturating_sub(from_unix_ns);
        while after_ns / self.part_ns() >= MAX_PARTS as u64 {
            self.coarser += 1;
            self.parts = self
                .parts
                .chunks(10)
                .map(|ten| ten.iter().fold([0; 2], |sum, part| [sum[0] + part[0], sum[1] + part[1]]))
                .collect();
        }
        let place = (after_ns / self.part_ns()) as usize;
        if place >= self.parts.len() {
            self.parts.resize(place + 1, [0; 2]);
        }
        self.parts[place][usize::from(is_response)] += 1;
    }

    pub(super) fn rate(&self) -> Rate {
        Rate {
            from_unix_ns: self.from_unix_ns.unwrap_or(0),
            part_ns: self.part_ns(),
            queries: self.parts.iter().map(|part| part[0]).collect(),
            responses: self.parts.iter().map(|part| part[1]).collect(),
        }
    }

    fn part_ns(&self) -> u64 {
        SHORTEST_NS.saturating_mul(10u64.saturating_pow(self.coarser))
    }
}

/// 10 ms to begin with: a minute of them.
const SHORTEST_NS: u64 = 10_000_000;
const MAX_PARTS: usize = 6_000;
