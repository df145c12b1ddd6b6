//! Which clients belong to a worker, and which of them serve a tracking area.

/// A worker's part of the clients: client `i` belongs to worker `i % workers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Which worker, from 0 on.
    pub worker: u32,
    /// How many workers there are; 0 counts as 1.
    pub workers: u32,
}

impl Share {
    /// How many of `clients` belong to it.
    pub(crate) fn clients(self, clients: u32) -> u32 {
        self.below(clients)
    }

    pub(crate) fn has(self, client: u32) -> bool {
        client % self.workers.max(1) == self.worker
    }

    /// The number of a client within the worker.
    pub(crate) fn local(self, client: u32) -> u32 {
        client / self.workers.max(1)
    }

    /// The number of a client in the whole run.
    pub(crate) fn global(self, local: u32) -> u32 {
        local * self.workers.max(1) + self.worker
    }

    /// How many of the clients 0 to `end` - 1 belong to it.
    fn below(self, end: u32) -> u32 {
        let workers = self.workers.max(1);
        if self.worker >= workers { 0 } else { (end + workers - 1 - self.worker) / workers }
    }
}

/// How tracking areas are spread over clients: each is served by some that follow one another, and the next area by
/// those that follow, around the circle of all clients. So every client serves as many areas as any other, or one more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) clients: u32,
    pub(crate) per_area: u32,
    pub(crate) share: Share,
}

impl Spread {
    /// How many clients of the worker serve an area.
    pub(crate) fn count(self, area: u32) -> u32 {
        let (first, end, rest) = self.circle(area);
        self.share.below(end) - self.share.below(first) + self.share.below(rest)
    }

    /// One of those clients by its number within the worker; `nth` is less than their number.
    pub(crate) fn nth(self, area: u32, nth: u32) -> u32 {
        let (first, end, _) = self.circle(area);
        let before = self.share.below(first);
        let in_line = self.share.below(end) - before;
        if nth < in_line { before + nth } else { nth - in_line }
    }

    /// Whether a client of the whole run serves an area.
    pub(crate) fn serves(self, area: u32, client: u32) -> bool {
        let (first, end, rest) = self.circle(area);
        (first..end).contains(&client) || client < rest
    }

    /// The clients of an area: from the first to the end, and those before `rest` after the circle has closed.
    fn circle(self, area: u32) -> (u32, u32, u32) {
        let first = (u64::from(area) * u64::from(self.per_area) % u64::from(self.clients)) as u32;
        let end = u64::from(first) + u64::from(self.per_area);
        let rest = end.saturating_sub(u64::from(self.clients)) as u32;
        (first, end.min(u64::from(self.clients)) as u32, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_of_all_workers_are_those_that_serve_an_area() {
        for (clients, per_area, workers) in [(1, 1, 1), (7, 1, 2), (7, 3, 2), (5, 5, 3), (4, 2, 8)] {
            for area in 0..20 {
                let mut found = Vec::new();
                for worker in 0..workers {
                    let share = Share { worker, workers };
                    let spread = Spread { clients, per_area, share };
                    let of_worker = (0..spread.count(area)).map(|nth| share.global(spread.nth(area, nth)));
                    found.extend(of_worker);
                }
                found.sort_unstable();
                let spread = Spread { clients, per_area, share: Share { worker: 0, workers: 1 } };
                let served: Vec<u32> = (0..clients).filter(|client| spread.serves(area, *client)).collect();
                assert_eq!(found, served, "{clients} clients, {per_area} for area {area}, {workers} workers");
                assert_eq!(served.len(), per_area as usize);
            }
        }
    }

    #[test]
    fn a_client_has_a_number_in_its_worker() {
        let share = Share { worker: 1, workers: 3 };
        assert_eq!(share.clients(8), 3);
        assert_eq!((share.has(4), share.has(5), share.local(4), share.global(1)), (true, false, 1, 4));
        assert_eq!(Share { worker: 5, workers: 3 }.clients(100), 0, "there is no such worker");
    }
}
