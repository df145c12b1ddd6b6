//! What the tests of the engine have in common: a simulated link on whose way a test stands, and an observer that hears
//! nothing.

#![allow(dead_code, reason = "no test uses all of it")]

use dnsdyno_engine::{Live, Observer};
use dnsdyno_measure::NotSentReason;
use dnsdyno_record::Interval;
use dnsdyno_transport::sim::SimTransport;
use dnsdyno_transport::{Batch, Resources, Sent, Sink, Transport, Wake};

/// What a test does with a batch that is sent over a channel.
type Sending = Box<dyn FnMut(&mut SimTransport, usize, &Batch) -> Sent + Send>;

/// How many queries a channel can accept at an instant.
type Capacity = Box<dyn Fn(u64, usize) -> Result<usize, NotSentReason> + Send>;

/// A simulated link whose batches and capacities are those of a test.
pub(crate) struct Intercepted {
    link: SimTransport,
    send: Sending,
    capacity_of: Capacity,
}

impl Intercepted {
    pub(crate) fn new(
        link: SimTransport,
        send: impl FnMut(&mut SimTransport, usize, &Batch) -> Sent + Send + 'static,
    ) -> Intercepted {
        Intercepted { link, send: Box::new(send), capacity_of: Box::new(|_, _| Ok(usize::MAX)) }
    }

    pub(crate) fn with_capacity(
        self,
        capacity_of: impl Fn(u64, usize) -> Result<usize, NotSentReason> + Send + 'static,
    ) -> Intercepted {
        Intercepted { capacity_of: Box::new(capacity_of), ..self }
    }
}

impl Transport for Intercepted {
    fn begin(&mut self, epoch_ns: u64) {
        self.link.begin(epoch_ns);
    }

    fn channels(&self) -> usize {
        self.link.channels()
    }

    fn now_ns(&self) -> u64 {
        self.link.now_ns()
    }

    fn capacity_of(&self, channel: usize) -> Result<usize, NotSentReason> {
        (self.capacity_of)(self.now_ns(), channel)
    }

    fn send(&mut self, channel: usize, batch: &Batch) -> Sent {
        (self.send)(&mut self.link, channel, batch)
    }

    fn receive(&mut self, sink: &mut impl Sink) {
        self.link.receive(sink);
    }

    fn wait(&mut self, until_ns: u64, wake: Wake) {
        self.link.wait(until_ns, wake);
    }

    fn resources(&mut self) -> Resources {
        self.link.resources()
    }
}

pub(crate) struct Silence;

impl Observer for Silence {
    fn passed(&mut self, _: &Live<'_>) {}
    fn settled(&mut self, _: &Interval) {}
    fn stopping(&mut self, _: u64) {}
}
