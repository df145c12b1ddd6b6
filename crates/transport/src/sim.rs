//! The simulated link: no socket, no clock, and the same responses for the same seed.
//!
//! Time advances only while the worker waits. A long run therefore takes only the time of its computation, and the
//! instant of each event does not depend on the host.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, PoisonError};

use dnsdyno_wire::HEADER_LEN;

pub use crate::description::SimConfig;
use crate::description::{Description, Open, OpenError, Pause};
use crate::random::Random;
use crate::{Batch, Resources, Sent, Sink, Stopped, Transport, Wake};

/// The simulated channels of one worker.
pub struct SimTransport {
    config: SimConfig,
    channels: usize,
    now_ns: u64,
    /// When the server will have processed all queries that it has received.
    served_ns: u64,
    random: Random,
    /// Future events, the earliest first.
    events: BinaryHeap<Reverse<Event>>,
    /// Numbers the events, so that those of one instant keep their order.
    last_number: u64,
    truth: Arc<Mutex<SimTruth>>,
    pause: Pause,
}

/// What the link did, for tests to compare with the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimTruth {
    /// Queries received.
    pub taken: u64,
    /// Queries lost.
    pub lost: u64,
    /// Duplicate responses sent.
    pub duplicated: u64,
    /// Responses with another question.
    pub wrong_questions: u64,
    /// Queries refused.
    pub refused: u64,
}

/// The delivery of a response, or of an error of the network.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at_ns: u64,
    number: u64,
    channel: usize,
    refused: bool,
    bytes: Vec<u8>,
}

impl SimTransport {
    /// A link with this many channels; `worker` makes each worker's random numbers different.
    pub fn new(config: SimConfig, worker: u64, channels: usize) -> Self {
        SimTransport {
            random: Random::of_worker(config.seed, worker),
            config,
            channels,
            now_ns: 0,
            served_ns: 0,
            events: BinaryHeap::new(),
            last_number: 0,
            truth: Arc::default(),
            pause: Pause::default(),
        }
    }

    /// What the link did, readable after the link has been moved into the engine.
    pub fn truth(&self) -> Arc<Mutex<SimTruth>> {
        self.truth.clone()
    }

    fn note(&self, what: impl FnOnce(&mut SimTruth)) {
        what(&mut self.truth.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn schedule(&mut self, at_ns: u64, channel: usize, refused: bool, bytes: Vec<u8>) {
        self.last_number += 1;
        self.events.push(Reverse(Event { at_ns, number: self.last_number, channel, refused, bytes }));
    }

    /// When the server will have processed a query received now; `None` if its queue is full.
    fn serve(&mut self) -> Option<u64> {
        let SimConfig { service_ns, queue, .. } = self.config;
        let begins_ns = self.served_ns.max(self.now_ns);
        let bound_ns = service_ns.saturating_mul(queue.try_into().unwrap_or(u64::MAX));
        if service_ns > 0 && begins_ns - self.now_ns > bound_ns {
            return None;
        }
        self.served_ns = begins_ns + service_ns;
        Some(self.served_ns)
    }

    /// When the response to a query that the server has processed at `served_ns` is received.
    fn response_at(&mut self, served_ns: u64) -> u64 {
        let SimConfig { delay_ns, jitter_ns, slow, slow_ns, .. } = self.config;
        let mut at_ns = served_ns + delay_ns + self.random.exponential(jitter_ns as f64) as u64;
        if self.random.happens(slow) {
            at_ns += self.random.exponential(slow_ns as f64) as u64;
        }
        match self.config.stall_ns {
            Some((from_ns, to_ns)) if (from_ns..to_ns).contains(&at_ns) => to_ns,
            _ => at_ns,
        }
    }

    fn take(&mut self, channel: usize, message: &[u8]) {
        self.note(|truth| truth.taken += 1);
        if self.random.happens(self.config.loss) {
            self.note(|truth| truth.lost += 1);
            return;
        }
        if self.random.happens(self.config.refused) {
            self.note(|truth| truth.refused += 1);
            let at_ns = self.now_ns + self.config.delay_ns;
            return self.schedule(at_ns, channel, true, message.to_vec());
        }
        let Some(served_ns) = self.serve() else { return self.note(|truth| truth.lost += 1) };
        let at_ns = self.response_at(served_ns);
        let mut response = message.to_vec();
        response[2] |= 0x80; // QR: this is a response.
        if self.random.happens(self.config.wrong_questions) {
            self.note(|truth| truth.wrong_questions += 1);
            response[HEADER_LEN + 1] ^= 0x01; // Another first letter.
        }
        if self.random.happens(self.config.duplicates) {
            self.note(|truth| truth.duplicated += 1);
            self.schedule(at_ns + 1, channel, false, response.clone());
        }
        self.schedule(at_ns, channel, false, response);
    }
}

impl Open for SimTransport {
    fn open_all(description: &Description) -> Result<Vec<Self>, OpenError> {
        let open = |worker| SimTransport {
            pause: description.sim_pause.clone(),
            ..SimTransport::new(description.sim, worker as u64, description.clients_of(worker))
        };
        Ok((0..description.workers).map(open).collect())
    }

    fn files(_: &Description) -> usize {
        0
    }
}

impl Transport for SimTransport {
    fn begin(&mut self, _epoch_ns: u64) {}

    fn channels(&self) -> usize {
        self.channels
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn send(&mut self, channel: usize, batch: &Batch) -> Sent {
        let messages = batch.messages();
        let accepted = messages.len().min(self.config.capacity.saturating_sub(self.events.len()));
        (0..accepted).for_each(|i| self.take(channel, messages.get(i)));
        let stopped = (accepted < messages.len()).then_some(Stopped::Full);
        Sent { accepted, stopped }
    }

    fn receive(&mut self, sink: &mut impl Sink) {
        while self.events.peek().is_some_and(|Reverse(event)| event.at_ns <= self.now_ns) {
            let Some(Reverse(event)) = self.events.pop() else { return };
            if event.refused {
                sink.refused(event.channel, event.at_ns, &event.bytes);
            } else {
                sink.packet(event.channel, event.at_ns, &event.bytes);
            }
        }
    }

    fn wait(&mut self, until_ns: u64, wake: Wake) {
        self.pause.wait();
        let next_ns = match (wake.on_arrival, self.events.peek()) {
            (true, Some(Reverse(event))) => event.at_ns,
            _ => u64::MAX,
        };
        let late_ns = match self.config.oversleep_ns {
            0 => 0,
            mean_ns => self.random.exponential(mean_ns as f64) as u64,
        };
        self.now_ns = self.now_ns.max(until_ns.min(next_ns).saturating_add(late_ns));
    }

    fn resources(&mut self) -> Resources {
        Resources::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, PartialEq, Debug)]
    struct Seen(Vec<(usize, u64, Vec<u8>)>);

    impl Sink for Seen {
        fn packet(&mut self, channel: usize, at_ns: u64, bytes: &[u8]) {
            self.0.push((channel, at_ns, bytes.to_vec()));
        }
        fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}
    }

    fn ten_thousand_queries(seed: u64) -> (Seen, SimTruth) {
        let mut link =
            SimTransport::new(SimConfig { seed, loss: 0.1, duplicates: 0.1, ..SimConfig::default() }, 0, 2);
        let mut seen = Seen::default();
        let mut batch = Batch::new(1, 64);
        for i in 0..10_000u32 {
            batch.clear();
            batch.push(&[0; 33])[4..8].copy_from_slice(&i.to_be_bytes());
            assert_eq!(link.send(i as usize % 2, &batch), Sent { accepted: 1, stopped: None });
            link.wait(link.now_ns() + 10_000, Wake::ON_ARRIVAL);
            link.receive(&mut seen);
        }
        link.wait(u64::MAX / 2, Wake::ON_ARRIVAL);
        while !link.events.is_empty() {
            link.receive(&mut seen);
            link.wait(u64::MAX / 2, Wake::ON_ARRIVAL);
        }
        let truth = *link.truth().lock().unwrap();
        (seen, truth)
    }

    #[test]
    fn the_same_seed_gives_the_same_responses_and_another_seed_others() {
        assert_eq!(ten_thousand_queries(7), ten_thousand_queries(7));
        assert_ne!(ten_thousand_queries(7), ten_thousand_queries(8));
    }

    #[test]
    fn a_server_with_a_capacity_answers_in_sequence_and_drops_queries_when_its_queue_is_full() {
        let config = SimConfig {
            service_ns: 1_000_000,
            queue: 3,
            delay_ns: 500,
            jitter_ns: 0,
            ..SimConfig::default()
        };
        let mut link = SimTransport::new(config, 0, 1);
        let mut seen = Seen::default();
        let mut batch = Batch::new(1, 64);
        for _ in 0..10 {
            batch.clear();
            batch.push(&[0; 33]);
            link.send(0, &batch);
        }
        while !link.events.is_empty() {
            link.wait(u64::MAX / 2, Wake::ON_ARRIVAL);
            link.receive(&mut seen);
        }
        // One is being processed, three wait.
        assert_eq!(
            seen.0.iter().map(|seen| seen.1).collect::<Vec<_>>(),
            [1, 2, 3, 4].map(|i| i * 1_000_000 + 500)
        );
        assert_eq!(link.truth().lock().unwrap().lost, 6);
    }

    #[test]
    fn every_query_is_lost_or_answered_and_some_twice() {
        let (seen, truth) = ten_thousand_queries(3);
        assert_eq!(seen.0.len() as u64, truth.taken - truth.lost + truth.duplicated);
        assert!((800..1200).contains(&truth.lost), "{truth:?}");
        assert!(seen.0.is_sorted_by_key(|(_, at_ns, _)| *at_ns));
    }
}
