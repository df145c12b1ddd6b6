//! Changes of a path while things pass: asked for by whoever has the relay, made by its thread between two rounds, and
//! noted in the book.
//!
//! ```text
//!   Relay::change ── Order ──► the thread: both links get their new courses ──► the book
//!                 ◄────────── Change, which is made ─────────────────────────┘
//! ```

use std::sync::mpsc::{Receiver, Sender, channel};

use crate::relay::counts::{Change, RelayCounts};
use crate::relay::error::RelayError;
use crate::relay::link::Course;
use crate::relay::toward::Toward;
use crate::relay::transit::Transit;
use crate::relay::way::Path;

/// A change that is asked for.
pub(crate) struct Order {
    courses: [Course; 2],
    said: [String; 2],
    made: Sender<Change>,
}

impl Order {
    /// The order for this path, and where its change is told.
    ///
    /// # Errors
    /// What is impossible of the path, or a file of latencies that cannot be read.
    pub(crate) fn new(path: &Path) -> Result<(Order, Receiver<Change>), RelayError> {
        let courses = [Course::new(&path.to_server)?, Course::new(&path.to_client)?];
        let said = [&path.to_server, &path.to_client].map(ToString::to_string);
        let (made, told) = channel();
        Ok((Order { courses, said, made }, told))
    }

    /// Makes the change, and books it; its instants are those of [`Change`].
    pub(crate) fn carry_out(
        self,
        [at_ns, at_unix_ns]: [u64; 2],
        transit: &mut Transit,
        counts: &mut RelayCounts,
    ) {
        for (toward, course) in Toward::BOTH.into_iter().zip(self.courses) {
            transit.link(toward).change(course);
        }
        let [to_server, to_client] = self.said;
        let change = Change {
            at_ns,
            at_unix_ns,
            to_server,
            to_client,
            to_server_before: counts.to_server.datagrams,
            to_client_before: counts.to_client.datagrams,
        };
        match counts.changes.len() < MOST_CHANGES {
            true => counts.changes.push(change.clone()),
            false => counts.changes_not_listed += 1,
        }
        // Whoever asked may have gone.
        let _ = self.made.send(change);
    }
}

/// More are counted only: a copy of the book has all of them.
const MOST_CHANGES: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::store::PIECE;
    use crate::relay::way::Way;

    fn path(words: &str) -> Path {
        let way = Way::default().with(words).unwrap();
        Path { to_server: way.clone(), to_client: way, seed: 1 }
    }

    #[test]
    fn what_was_received_before_a_change_keeps_its_delay_and_the_book_has_the_instant() {
        let mut transit = Transit::new(&path("delay=50ms"), 4 * PIECE).unwrap();
        let mut counts = RelayCounts::default();
        let ms = 1_000_000;
        let take = |transit: &mut Transit, counts: &mut RelayCounts, at_ns: u64| {
            counts.to_server.datagrams.received += 1;
            transit.take(Toward::Server, 0, at_ns, (b"query", 28), &mut counts.to_server.datagrams)
        };
        assert_eq!(take(&mut transit, &mut counts, ms), 1);
        let (order, told) = Order::new(&path("delay=5ms loss=100%")).unwrap();
        order.carry_out([2 * ms, 0], &mut transit, &mut counts);
        assert_eq!(take(&mut transit, &mut counts, 3 * ms), 0, "it is lost");
        let (order, _) = Order::new(&path("delay=5ms")).unwrap();
        order.carry_out([4 * ms, 0], &mut transit, &mut counts);
        assert_eq!(take(&mut transit, &mut counts, 5 * ms), 1);
        // The last one overtakes the first.
        let dues: Vec<u64> = std::iter::from_fn(|| transit.pop_due(u64::MAX)).map(|(due, _)| due).collect();
        assert_eq!(dues, [10 * ms, 51 * ms]);
        let before: Vec<(u64, u64, u64)> = counts
            .changes
            .iter()
            .map(|change| (change.at_ns, change.to_server_before.received, change.to_server_before.lost))
            .collect();
        assert_eq!(before, [(2 * ms, 1, 0), (4 * ms, 2, 1)]);
        let first = told.recv().unwrap();
        assert_eq!((first.to_server.as_str(), &first), ("delay 5ms, loss 100%", &counts.changes[0]));
    }

    #[test]
    fn the_list_of_changes_is_bounded_and_the_rest_is_counted() {
        let mut transit = Transit::new(&path(""), 4 * PIECE).unwrap();
        let mut counts = RelayCounts::default();
        for n in 0..MOST_CHANGES as u64 + 3 {
            let (order, _) = Order::new(&path("delay=1ms")).unwrap();
            order.carry_out([n, 0], &mut transit, &mut counts);
        }
        assert_eq!((counts.changes.len(), counts.changes_not_listed), (MOST_CHANGES, 3));
    }

    #[test]
    fn an_impossible_change_is_refused() {
        assert!(Order::new(&path("reorder=1%")).is_err_and(|error| error.is_bad_input()));
    }
}
