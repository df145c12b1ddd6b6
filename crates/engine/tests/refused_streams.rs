//! A query that waits to be asked again while another connection of its client fails: which requests have left is known
//! of each, over one simulated client.

use std::collections::VecDeque;

use dnsdyno_engine::{Control, Job, Live, Observer, Source, run};
use dnsdyno_measure::{ConnectFailure, ConnectionEnd, NotSentReason, StreamFailure};
use dnsdyno_plan::schedule::{Constant, Load};
use dnsdyno_queries::QueriesBuilder;
use dnsdyno_record::{Ended, Interval};
use dnsdyno_transport::{Batch, ConnectionEvent, NextClient, Resources, Sent, Sink, Transport, Wake};
use dnsdyno_wire::QueryForm;

const MS: u64 = 1_000_000;

/// Its first connection refuses the stream of its query and ends, the second never opens, and the third answers.
#[derive(Default)]
struct Client {
    now_ns: u64,
    connections: u32,
    sent: VecDeque<Vec<u8>>,
    is_new: bool,
}

impl Transport for Client {
    const CONNECTS: bool = true;

    fn begin(&mut self, _: u64) {}

    fn channels(&self) -> usize {
        1
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn next_client(&mut self) -> Result<NextClient, NotSentReason> {
        match self.is_new {
            true => Err(NotSentReason::NoFreeConnection),
            false => Ok(NextClient { channel: 0, capacity: 8 }),
        }
    }

    fn send(&mut self, _: usize, batch: &Batch) -> Sent {
        self.sent.extend(batch.iter().map(<[u8]>::to_vec));
        self.is_new = true;
        Sent { accepted: batch.len(), stopped: None }
    }

    fn receive(&mut self, sink: &mut impl Sink) {
        if !std::mem::take(&mut self.is_new) {
            return;
        }
        let now_ns = self.now_ns;
        self.connections += 1;
        sink.connection(0, now_ns, ConnectionEvent::Opened);
        let sent = std::mem::take(&mut self.sent);
        if self.connections == 2 {
            sink.connection(0, now_ns, ConnectionEvent::NothingSent);
            return sink.connection(0, now_ns, ConnectionEvent::Failed(ConnectFailure::TimedOut));
        }
        sink.connection(0, now_ns, ConnectionEvent::Established { opened_ns: now_ns });
        for mut message in sent {
            let id = u16::from_be_bytes([message[0], message[1]]);
            message[2] |= 0x80;
            if self.connections == 1 {
                sink.stream_failed(0, id, now_ns, StreamFailure::Refused);
            } else {
                sink.answer(0, now_ns, now_ns, Some(now_ns), &message);
            }
        }
        sink.connection(0, now_ns, ConnectionEvent::Ended { end: ConnectionEnd::ByUs, answers: 1 });
    }

    fn wait(&mut self, until_ns: u64, _: Wake) {
        if !self.is_new {
            self.now_ns = self.now_ns.max(until_ns.min(self.now_ns + MS));
        }
    }

    fn resources(&mut self) -> Resources {
        Resources::default()
    }
}

struct Nobody;

impl Observer for Nobody {
    fn passed(&mut self, _: &Live<'_>) {}
    fn settled(&mut self, _: &Interval) {}
    fn stopping(&mut self, _: u64) {}
}

#[test]
fn a_request_is_counted_for_each_message_that_has_left() {
    let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
    builder.push(b"\x03www\x07example\x00", 1).unwrap();
    let queries = builder.finish();
    // The second query is due before the first is asked again, ten milliseconds after it was refused.
    let curve = Constant { rate_qps: 200.0, duration_ns: Some(1_000 * MS) }.curve().unwrap();
    let job = Job {
        source: Source::Whole(&queries),
        load: &Load::Open { curve, window: None },
        part: None,
        limit: Some((2, Ended::ByCount)),
        end_ns: Some(1_000 * MS),
        timeout_ns: 1_000 * MS,
        interval_ns: 1_000 * MS,
        send_only: false,
        stop_limits: Default::default(),
        strips_edns: false,
        cpus: &[],
        own_files: false,
        start_unix_ns: 0,
        query_logs: None,
        known_answers: None,
        trace: None,
    };
    let sum = run(&job, vec![Client::default()], 0, &|| 0, &Control::default(), &mut Nobody);
    let sent: u64 = sum.tally.types.iter().map(|count| count.sent).sum();
    assert_eq!((sum.tally.ends.answered, sent), (2, 2), "{:?}", sum.tally.ends);
    // The first query has left twice, the second once.
    assert_eq!((sum.tally.requests, sum.tally.retried), (3, 1));
}
