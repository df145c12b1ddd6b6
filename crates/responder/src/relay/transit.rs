//! What is on its way: decided by the links, kept in the store, due in the schedule.
//!
//! Time is an argument here too.

use crate::queue::DelayQueue;
use crate::relay::counts::Datagrams;
use crate::relay::error::RelayError;
use crate::relay::link::{Fate, Link};
use crate::relay::store::{Place, Store};
use crate::relay::toward::Toward;
use crate::relay::way::Path;

/// The path and all that is on it.
#[derive(Debug)]
pub(crate) struct Transit {
    links: [Link; 2],
    store: Store,
    schedule: DelayQueue<Due>,
    /// Datagrams in the schedule, without second copies, by direction.
    held: [u64; 2],
}

/// What is due.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    /// A datagram of, or to, a client; or the second copy of one.
    Datagram { toward: Toward, client: u32, place: Place, is_copy: bool },
    /// Octets of a connection.
    Octets { toward: Toward, connection: u64, place: Place },
    /// The end of one direction of a connection, or of all of it.
    End { toward: Toward, connection: u64, is_reset: bool },
    /// A connection may be read again.
    Read { toward: Toward, connection: u64 },
}

impl Transit {
    pub(crate) fn new(path: &Path, memory_octets: usize) -> Result<Transit, RelayError> {
        let links = [Link::new(&path.to_server, path.seed, 0)?, Link::new(&path.to_client, path.seed, 1)?];
        Ok(Transit { links, store: Store::new(memory_octets), schedule: DelayQueue::new(), held: [0; 2] })
    }

    pub(crate) fn link(&mut self, toward: Toward) -> &mut Link {
        &mut self.links[toward.index()]
    }

    pub(crate) fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Takes a datagram in, and counts it; returns how many of it are held now: 0, 1 or 2.
    #[inline]
    pub(crate) fn take(
        &mut self,
        toward: Toward,
        client: u32,
        arrival_ns: u64,
        (bytes, header_octets): (&[u8], usize),
        counts: &mut Datagrams,
    ) -> u32 {
        let way = toward.index();
        match self.links[way].datagram(arrival_ns, bytes.len() + header_octets) {
            Fate::Lost => counts.lost += 1,
            Fate::QueueFull => counts.queue_full += 1,
            Fate::Passed { due_ns, twice, at_once } => {
                let Some(place) = self.store.put(bytes) else {
                    counts.over_bound += 1;
                    return 0;
                };
                self.schedule.push(due_ns, Due::Datagram { toward, client, place, is_copy: false });
                self.held[way] += 1;
                counts.at_once += u64::from(at_once);
                let again = if twice { self.store.put(bytes) } else { None };
                let Some(place) = again else { return 1 };
                self.schedule.push(due_ns, Due::Datagram { toward, client, place, is_copy: true });
                return 2;
            }
        }
        0
    }

    /// Adds what is due later.
    pub(crate) fn push(&mut self, due_ns: u64, due: Due) {
        self.schedule.push(due_ns, due);
    }

    /// When the first is due.
    pub(crate) fn next_due_ns(&self) -> Option<u64> {
        self.schedule.next_due_ns()
    }

    /// Takes the first, with its instant, if it is due at `now_ns`.
    #[inline]
    pub(crate) fn pop_due(&mut self, now_ns: u64) -> Option<(u64, Due)> {
        let (due_ns, due) = self.schedule.pop_due_with(now_ns)?;
        if let Due::Datagram { toward, is_copy: false, .. } = due {
            self.held[toward.index()] -= 1;
        }
        Some((due_ns, due))
    }

    /// Datagrams on their way, without second copies.
    pub(crate) fn held(&self, toward: Toward) -> u64 {
        self.held[toward.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::store::{PIECE, SMALLEST};
    use crate::relay::way::Way;

    fn path(to_server: &str, to_client: &str) -> Path {
        let way = |words| Way::default().with(words).unwrap();
        Path { to_server: way(to_server), to_client: way(to_client), seed: 1 }
    }

    #[test]
    fn each_direction_has_its_own_path_and_each_datagram_leaves_when_it_is_due() {
        let mut transit = Transit::new(&path("delay=5ms", "delay=2ms"), 8 * PIECE).unwrap();
        let mut counts = Datagrams::default();
        assert_eq!(transit.take(Toward::Server, 3, 1_000_000, (b"query", 28), &mut counts), 1);
        assert_eq!(transit.take(Toward::Client, 4, 1_500_000, (b"answer", 28), &mut counts), 1);
        assert_eq!(transit.next_due_ns(), Some(3_500_000));
        assert!(transit.pop_due(3_499_999).is_none());
        let Some((3_500_000, Due::Datagram { toward: Toward::Client, client: 4, place, .. })) =
            transit.pop_due(9_000_000)
        else {
            panic!("the answer is due first");
        };
        assert_eq!(transit.store().get(place), b"answer");
        assert_eq!((transit.held(Toward::Server), transit.held(Toward::Client)), (1, 0));
        assert!(transit.pop_due(5_999_999).is_none());
        assert!(matches!(transit.pop_due(6_000_000), Some((6_000_000, Due::Datagram { client: 3, .. }))));
        assert_eq!(counts, Datagrams::default());
    }

    #[test]
    fn each_datagram_ends_once_however_many_copies_it_has() {
        let mut transit =
            Transit::new(&path("loss=20% duplicate=20% rate=8mbit queue=1ms", ""), 8 * PIECE).unwrap();
        let mut counts = Datagrams::default();
        let mut slots = 0;
        for n in 0..10_000u64 {
            counts.received += 1;
            slots += u64::from(transit.take(Toward::Server, 0, n * 60_000, (&[0; 72], 28), &mut counts));
        }
        assert_eq!(counts.received, counts.ended() + transit.held(Toward::Server));
        assert!(counts.lost > 1_000 && counts.queue_full > 100, "{counts:?}");
        let due: Vec<Due> = std::iter::from_fn(|| transit.pop_due(u64::MAX)).map(|(_, due)| due).collect();
        let copies = due.iter().filter(|due| matches!(due, Due::Datagram { is_copy: true, .. })).count();
        assert_eq!((due.len() as u64, transit.held(Toward::Server)), (slots, 0));
        assert!(copies > 500, "{copies}");
    }

    #[test]
    fn what_the_memory_cannot_hold_is_dropped_and_counted() {
        let mut transit = Transit::new(&path("delay=60min", ""), PIECE).unwrap();
        let mut counts = Datagrams::default();
        let slots = (PIECE / SMALLEST) as u64;
        for n in 0..slots + 10 {
            transit.take(Toward::Server, 0, n, (&[0; 100], 28), &mut counts);
        }
        assert_eq!((counts.over_bound, transit.held(Toward::Server)), (10, slots));
    }
}
