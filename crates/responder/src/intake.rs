//! What happens to every query, over any transport: it is answered, faults are decided, and the time is
//! set at which its response is due. The transports differ only in how bytes are received and sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::answer::{Reply, Rule, answer};
use crate::book::{ResponseInfo, Side};
use crate::faults::{ConnectionFault, Decider, Fault, Faults, FaultsError, Limit, Stall};
use crate::kind::Transport;
use crate::message::{FORMERR, Silence};

/// Processes the queries of one socket.
pub(crate) struct Intake {
    rule: Arc<Rule>,
    decider: Decider,
    stall: Option<Stall>,
    limit: Option<Limit>,
    queue: Duration,
    leak_bytes: usize,
    /// What the queries so far have left.
    leaked: Vec<Box<[u8]>>,
    start: Arc<FirstQuery>,
    transport: Transport,
}

/// A response that was appended, and when it may be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accepted {
    pub(crate) info: ResponseInfo,
    pub(crate) due_ns: u64,
}

/// Why a message gets no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// It is not a query: too short, or a response itself.
    NotAQuery,
    /// On command.
    Dropped,
}

/// What all sockets of a responder agree on: the instant of the first query, and until when it works on queries.
#[derive(Debug, Default)]
pub(crate) struct FirstQuery {
    /// 0 = none yet (the monotonic clock is past 0 on a running machine).
    at_ns: AtomicU64,
    /// When the work on the last query that was taken ends.
    busy_until_ns: AtomicU64,
}

impl Intake {
    /// `stream` distinguishes the sockets of one responder.
    pub(crate) fn new(
        rule: Arc<Rule>,
        faults: &Faults,
        stream: u64,
        start: Arc<FirstQuery>,
        transport: Transport,
    ) -> Result<Intake, FaultsError> {
        Ok(Intake {
            rule,
            decider: faults.decider(stream)?,
            stall: faults.stall,
            limit: faults.limit,
            queue: faults.queue(),
            leak_bytes: faults.leak_bytes,
            leaked: Vec::new(),
            start,
            transport,
        })
    }

    /// Processes one message, received at `now_ns`, and appends the response to `out`. Books the
    /// message, and its end where it gets no response.
    #[inline]
    pub(crate) fn process(
        &mut self,
        message: &[u8],
        now_ns: u64,
        side: &mut Side,
        out: &mut Vec<u8>,
    ) -> Result<Accepted, Unanswered> {
        side.counts.received += 1;
        if self.leak_bytes > 0 {
            // Not zeros: those the kernel would not give memory for before they are touched.
            self.leaked.push(vec![1; self.leak_bytes].into_boxed_slice());
        }
        let begin = out.len();
        let (rcode, truncated) = match answer(&self.rule, message, self.transport.via(), out) {
            Reply::Answer { rcode, truncated } => (rcode, truncated),
            Reply::Silence(Silence::TooShort) => {
                side.counts.ignored_short += 1;
                return Err(Unanswered::NotAQuery);
            }
            Reply::Silence(Silence::NotAQuery) => {
                side.counts.ignored_responses += 1;
                return Err(Unanswered::NotAQuery);
            }
        };
        side.counts.malformed += u64::from(rcode == u16::from(FORMERR));
        let decision = self.decider.decide();
        let Some(worked_ns) = self.worked(now_ns, decision.work_ns) else {
            out.truncate(begin);
            side.counts.over_limit += 1;
            return Err(Unanswered::Dropped);
        };
        let (stalled, due_ns) = self.due(now_ns, decision.delay_ns);
        let due_ns = due_ns.max(worked_ns.saturating_add(decision.delay_ns));
        side.counts.stalled += u64::from(stalled);
        let fault = match decision.fault {
            Some(Fault::Loss) => {
                out.truncate(begin);
                side.counts.dropped += 1;
                return Err(Unanswered::Dropped);
            }
            Some(fault) if !fault.is_possible(self.transport) => None,
            Some(fault @ (Fault::WrongId | Fault::WrongQuestion | Fault::WrongAnswer | Fault::Garbage)) => {
                self.decider.corrupt(fault, out, begin).then_some(fault)
            }
            fault => fault,
        };
        Ok(Accepted { info: ResponseInfo { received_ns: now_ns, fault, rcode, truncated }, due_ns })
    }

    /// The fault of the next connection.
    pub(crate) fn decide_connection(&mut self) -> Option<ConnectionFault> {
        self.decider.decide_connection().filter(|fault| fault.is_possible(self.transport))
    }

    /// When the work on a query of `now_ns` ends; `None` where the queue is full.
    fn worked(&self, now_ns: u64, work_ns: u64) -> Option<u64> {
        let Some(limit) = &self.limit else { return Some(now_ns) };
        let after_ns = now_ns.saturating_sub(self.start.at_or_set(now_ns));
        if u128::from(after_ns) < limit.after.as_nanos() {
            return Some(now_ns);
        }
        let taken = |busy_until_ns: u64| {
            let begins_ns = busy_until_ns.max(now_ns);
            let is_full = u128::from(begins_ns - now_ns) > self.queue.as_nanos();
            (!is_full).then(|| begins_ns.saturating_add(work_ns))
        };
        let before = self.start.busy_until_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken);
        before.ok().map(|busy_until_ns| busy_until_ns.max(now_ns).saturating_add(work_ns))
    }

    /// Whether a query of `now_ns` is held by the stall, and when its response is due.
    fn due(&self, now_ns: u64, delay_ns: u64) -> (bool, u64) {
        let due_ns = now_ns + delay_ns;
        let Some(stall) = self.stall else { return (false, due_ns) };
        let start_ns = self.start.at_or_set(now_ns);
        let after_ns = u128::from(now_ns.saturating_sub(start_ns));
        if !(stall.from.as_nanos()..stall.to.as_nanos()).contains(&after_ns) {
            return (false, due_ns);
        }
        let end_ns = start_ns.saturating_add(u64::try_from(stall.to.as_nanos()).unwrap_or(u64::MAX));
        (true, due_ns.max(end_ns))
    }
}

impl FirstQuery {
    fn at_or_set(&self, now_ns: u64) -> u64 {
        match self.at_ns.load(Ordering::Relaxed) {
            0 => match self.at_ns.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => now_ns,
                Err(first_ns) => first_ns,
            },
            first_ns => first_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{Delay, Share};

    fn intake(faults: Faults, via: Transport) -> Intake {
        Intake::new(Arc::new(Rule::default()), &faults, 0, Arc::default(), via).unwrap()
    }

    fn query() -> Vec<u8> {
        let mut bytes = Vec::new();
        dnsdyno_wire::QueryForm::default().encode(b"\x03www\x00", 1, &mut bytes);
        bytes
    }

    const ALL: fn() -> Share = || Share::new(1.0).unwrap();

    #[test]
    fn a_stall_holds_the_queries_received_in_it_until_its_end() {
        let stall = Some(Stall { from: Duration::from_nanos(100), to: Duration::from_nanos(200) });
        let delay = Some(Delay::Fixed(Duration::from_nanos(20)));
        let mut intake = intake(Faults { stall, delay, ..Faults::default() }, Transport::Udp);
        let mut side = Side::default();
        let mut due = |now| intake.process(&query(), now, &mut side, &mut Vec::new()).unwrap().due_ns;
        let dues = [5_000, 5_099, 5_100, 5_150, 5_190, 5_200].map(&mut due);
        assert_eq!(dues, [5_020, 5_119, 5_200, 5_200, 5_210, 5_220]);
        assert_eq!(side.counts.stalled, 3);
    }

    #[test]
    fn a_limit_works_on_one_query_after_another_and_drops_what_its_queue_cannot_hold() {
        let ns = Duration::from_nanos;
        let limit = Some(Limit { work: Delay::Fixed(ns(100)), after: Duration::ZERO });
        let faults = Faults { limit, limit_queue: Some(ns(200)), ..Faults::default() };
        let mut intake = intake(faults, Transport::Udp);
        let mut side = Side::default();
        let mut due =
            |now| intake.process(&query(), now, &mut side, &mut Vec::new()).ok().map(|taken| taken.due_ns);
        // One is worked on and two wait; the fourth is dropped, and the next comes when the first has left.
        let dues = [1_000, 1_000, 1_000, 1_000, 1_101, 5_000].map(&mut due);
        assert_eq!(dues, [Some(1_100), Some(1_200), Some(1_300), None, Some(1_400), Some(5_100)]);
        assert_eq!((side.counts.over_limit, side.counts.received), (1, 6));
    }

    #[test]
    fn a_limit_begins_at_its_time() {
        let second = Duration::from_secs(1);
        let limit = Some(Limit { work: Delay::Fixed(second / 10), after: 5 * second });
        let faults = Faults { limit, limit_queue: Some(second), ..Faults::default() };
        let mut intake = intake(faults, Transport::Udp);
        let mut side = Side::default();
        let mut answered = |now_s: u64, queries: u32| {
            let is_answered =
                |_: &u32| intake.process(&query(), now_s * 1_000_000_000, &mut side, &mut Vec::new()).is_ok();
            (0..queries).filter(is_answered).count()
        };
        assert_eq!(answered(1, 100), 100, "before its time");
        // The one that is worked on, and ten that wait.
        assert_eq!(answered(7, 100), 11);
        assert_eq!((answered(8, 10), answered(8, 10)), (10, 0));
        assert_eq!(answered(60, 11), 11);
        assert_eq!(side.counts.over_limit, 89 + 10);
    }

    #[test]
    fn a_leak_keeps_its_memory_for_each_query() {
        let mut intake = intake(Faults { leak_bytes: 1_000, ..Faults::default() }, Transport::Udp);
        for _ in 0..3 {
            intake.process(&query(), 0, &mut Side::default(), &mut Vec::new()).unwrap();
        }
        assert_eq!(intake.leaked.iter().map(|left| left.len()).sum::<usize>(), 3_000);
    }

    #[test]
    fn a_reset_over_udp_is_a_normal_response() {
        let faults = Faults { reset: ALL(), ..Faults::default() };
        let mut side = Side::default();
        let mut fault = |via| {
            let taken = intake(faults.clone(), via).process(&query(), 0, &mut side, &mut Vec::new());
            taken.unwrap().info.fault
        };
        assert_eq!((fault(Transport::Udp), fault(Transport::Tcp)), (None, Some(Fault::Reset)));
    }

    #[test]
    fn a_query_without_a_question_cannot_get_a_wrong_question() {
        let faults = Faults { wrong_question: ALL(), ..Faults::default() };
        let (mut side, mut out) = (Side::default(), Vec::new());
        let taken = intake(faults, Transport::Udp).process(&[0; 12], 0, &mut side, &mut out).unwrap();
        assert_eq!((taken.info.fault, taken.info.rcode, side.counts.malformed), (None, 1, 1));
    }

    #[test]
    fn lost_and_ignored_messages_leave_no_bytes_and_are_booked() {
        let faults = Faults { loss: ALL(), ..Faults::default() };
        let mut intake = intake(faults, Transport::Udp);
        let (mut side, mut out) = (Side::default(), b"before".to_vec());
        let mut response = query();
        response[2] |= 0x80;
        for message in [&query()[..], &response, b"short"] {
            assert!(intake.process(message, 0, &mut side, &mut out).is_err());
        }
        assert_eq!(out, b"before");
        let counts = side.counts;
        assert_eq!((counts.dropped, counts.ignored_responses, counts.ignored_short), (1, 1, 1));
        assert_eq!((counts.received, counts.ended()), (3, 3));
    }
}
