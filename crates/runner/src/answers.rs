//! Holds the answers of a replay against those of its capture, in a thread of its own.
//!
//! ```text
//!   worker ──► log ═══ query, recorded and present answer ═══► comparing ──► AnswerCounts, the first that differ
//! ```
//!
//! A worker never waits for the comparison: what does not fit into its queue is counted as not compared.

mod differing;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use dnsdyno_engine::{How, QueryEnd, QueryLog};
use dnsdyno_measure::AnswerCounts;
use dnsdyno_queries::replay::{Compared, compare};
use rtrb::{Consumer, Producer, RingBuffer};

use self::differing::Differing;
use crate::error::RunError;

/// The comparison of a run.
pub(crate) struct Answers {
    /// The log of each worker, until it is taken.
    logs: Mutex<Vec<Option<Log>>>,
    uncompared: Arc<Uncompared>,
    comparing: JoinHandle<(AnswerCounts, Differing)>,
}

/// What workers count themselves.
#[derive(Default)]
struct Uncompared {
    unanswered: AtomicU64,
    only_now: AtomicU64,
    not_compared: AtomicU64,
}

impl Answers {
    /// Starts to compare the answers of this many workers.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn start(workers: usize) -> Result<Answers, RunError> {
        let uncompared = Arc::<Uncompared>::default();
        let (mut logs, mut queues) = (Vec::new(), Vec::new());
        for _ in 0..workers {
            let (queue, out) = RingBuffer::new(QUEUE_BYTES);
            logs.push(Some(Log { queue, frame: Vec::new(), uncompared: uncompared.clone() }));
            queues.push(out);
        }
        let thread = std::thread::Builder::new().name("answers".to_owned());
        let comparing = thread.spawn(move || compare_all(queues)).map_err(RunError::Thread)?;
        Ok(Answers { logs: Mutex::new(logs), uncompared, comparing })
    }

    /// The log of a worker.
    pub(crate) fn log_of(&self, worker: u32) -> Box<dyn QueryLog> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        match logs.get_mut(worker as usize).and_then(Option::take) {
            Some(log) => Box::new(log),
            None => Box::new(NoLog),
        }
    }

    /// Compares what is left, and writes the first answers that differ into the folder of the run.
    pub(crate) fn finish(self, folder: Option<&Path>) -> (AnswerCounts, std::io::Result<()>) {
        drop(self.logs);
        let (mut counts, differing) = self.comparing.join().unwrap_or_default();
        let Uncompared { unanswered, only_now, not_compared } = &*self.uncompared;
        counts.unanswered = unanswered.load(Ordering::Relaxed);
        counts.only_now = only_now.load(Ordering::Relaxed);
        counts.not_compared += not_compared.load(Ordering::Relaxed);
        let written = folder.map_or(Ok(()), |folder| differing.write(folder));
        (counts, written)
    }
}

/// The log of one worker.
struct Log {
    queue: Producer<u8>,
    frame: Vec<u8>,
    uncompared: Arc<Uncompared>,
}

impl QueryLog for Log {
    fn ended(&mut self, end: &QueryEnd<'_>) {
        let Uncompared { unanswered, only_now, not_compared } = &*self.uncompared;
        match (end.how, end.expected.is_empty()) {
            (How::Answered, false) => {
                Frame::of(end).write(&mut self.frame);
                if self.queue.push_entire_slice(&self.frame).is_err() {
                    not_compared.fetch_add(1, Ordering::Relaxed);
                }
            }
            (How::Answered, true) => drop(only_now.fetch_add(1, Ordering::Relaxed)),
            (How::TimedOut | How::Refused, false) => drop(unanswered.fetch_add(1, Ordering::Relaxed)),
            _ => {}
        }
    }
}

/// For a worker whose answers are not compared.
pub(crate) struct NoLog;

impl QueryLog for NoLog {
    fn ended(&mut self, _: &QueryEnd<'_>) {}
}

/// A query with both answers, as it is written into the queue of a worker.
struct Frame<'a> {
    due_ns: u64,
    query: &'a [u8],
    recorded: &'a [u8],
    present: &'a [u8],
}

impl<'a> Frame<'a> {
    fn of(end: &QueryEnd<'a>) -> Self {
        Frame { due_ns: end.due_ns, query: end.query, recorded: end.expected, present: end.response }
    }

    fn write(&self, frame: &mut Vec<u8>) {
        frame.clear();
        frame.extend_from_slice(&self.due_ns.to_ne_bytes());
        for part in [self.query, self.recorded, self.present] {
            frame.extend_from_slice(&(part.len() as u32).to_ne_bytes());
        }
        [self.query, self.recorded, self.present].iter().for_each(|part| frame.extend_from_slice(part));
    }
}

/// Reads the next frame of a queue into `buffer`; `None` if there is none. A frame is written at once, so that the
/// whole of it is there.
fn read<'a>(queue: &mut Consumer<u8>, buffer: &'a mut Vec<u8>) -> Option<Frame<'a>> {
    let mut head = [0; 20];
    queue.pop_entire_slice(&mut head).ok()?;
    let (due, lengths) = head.split_first_chunk()?;
    let mut lengths = lengths
        .chunks_exact(4)
        .map(|length| length.first_chunk().map_or(0, |length| u32::from_ne_bytes(*length) as usize));
    let (query, recorded, present) = (lengths.next()?, lengths.next()?, lengths.next()?);
    buffer.clear();
    buffer.resize(query + recorded + present, 0);
    queue.pop_entire_slice(buffer).ok()?;
    let (query, answers) = buffer.split_at(query);
    let (recorded, present) = answers.split_at(recorded);
    Some(Frame { due_ns: u64::from_ne_bytes(*due), query, recorded, present })
}

/// Compares until all workers have ended and their queues are empty.
fn compare_all(mut queues: Vec<Consumer<u8>>) -> (AnswerCounts, Differing) {
    let (mut counts, mut differing, mut buffer) = (AnswerCounts::default(), Differing::default(), Vec::new());
    loop {
        // In this order: what was written before a worker ended must not be missed.
        let is_over = queues.iter().all(Consumer::is_abandoned);
        let mut is_idle = true;
        for queue in &mut queues {
            for _ in 0..FRAMES_AT_ONCE {
                let Some(frame) = read(queue, &mut buffer) else { break };
                is_idle = false;
                let compared = compare(frame.recorded, frame.present);
                match compared {
                    Compared::Same => counts.same += 1,
                    Compared::Different => counts.different += 1,
                    Compared::Better => counts.better += 1,
                    Compared::Worse => counts.worse += 1,
                }
                if compared != Compared::Same {
                    differing.add(compared, frame.due_ns, frame.query, frame.recorded, frame.present);
                }
            }
        }
        match (is_idle, is_over) {
            (true, true) => return (counts, differing),
            (true, false) => std::thread::sleep(IDLE),
            (false, _) => {}
        }
    }
}

/// The queue of a worker: some ten thousand answers.
const QUEUE_BYTES: usize = 4 << 20;

/// Answers of one worker that are compared before those of the next.
const FRAMES_AT_ONCE: usize = 256;

const IDLE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn end<'a>(how: How, expected: &'a [u8], response: &'a [u8]) -> QueryEnd<'a> {
        QueryEnd {
            how,
            index: 0,
            query: b"q",
            id: 0,
            due_ns: 7,
            sent_ns: 8,
            at_ns: 9,
            rcode: 0,
            response,
            expected,
        }
    }

    #[test]
    fn each_answer_is_compared_or_counted_and_a_full_queue_does_not_hold_up_a_worker() {
        let (queue, out) = RingBuffer::new(60);
        let uncompared = Arc::<Uncompared>::default();
        let mut log = Log { queue, frame: Vec::new(), uncompared: uncompared.clone() };
        let noerror = [0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        log.ended(&end(How::Answered, &noerror, &noerror));
        log.ended(&end(How::Answered, &noerror, &noerror));
        log.ended(&end(How::Answered, b"", &noerror));
        log.ended(&end(How::TimedOut, &noerror, b""));
        log.ended(&end(How::TimedOut, b"", b""));
        log.ended(&end(How::Interrupted, &noerror, b""));
        drop(log);
        let (counts, _) = compare_all(vec![out]);
        assert_eq!(counts, AnswerCounts { same: 1, ..AnswerCounts::default() });
        let counted = [&uncompared.unanswered, &uncompared.only_now, &uncompared.not_compared];
        assert_eq!(counted.map(|count| count.load(Ordering::Relaxed)), [1, 1, 1]);
    }
}
