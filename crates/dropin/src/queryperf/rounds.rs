//! The round-trip times and ends of the queries, counted one by one, because the original's table has entries of its
//! own length and its intermediate statistics any interval.

use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dnsdyno_runner::{How, QueryEnd, QueryLog, Unpaired, Why};
use dnsdyno_text::shown;
use dnsdyno_wire::{name_to_text, peek, type_name};

use crate::console::Console;
use crate::queryperf::settings::Settings;
use crate::texts::RCODES;

/// What was counted over a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) sent: u64,
    pub(super) timed_out: u64,
    pub(super) answered: u64,
    pub(super) sum_ns: u128,
    sum_squares_ns2: u128,
    pub(super) min_ns: u64,
    pub(super) max_ns: u64,
    /// Times beyond the table.
    pub(super) out_of_range: u64,
    pub(super) rcodes: [u64; 16],
}

/// The counts of a run.
#[derive(Default)]
pub(super) struct Rounds {
    pub(super) all: Counts,
    /// Since the last intermediate statistics.
    pub(super) interval: Counts,
    /// Answers by round-trip time.
    table: Vec<u64>,
}

/// The log of a worker.
pub(super) struct Log {
    rounds: Arc<Mutex<Rounds>>,
    console: Arc<Console>,
    is_verbose: bool,
    entry_us: u32,
}

impl Counts {
    fn add(&mut self, end: &QueryEnd<'_>, is_out_of_range: bool) {
        match end.how {
            How::Answered => {
                let time_ns = end.at_ns.saturating_sub(end.sent_ns);
                self.sent += 1;
                self.min_ns = if self.answered == 0 { time_ns } else { self.min_ns.min(time_ns) };
                self.max_ns = self.max_ns.max(time_ns);
                self.answered += 1;
                self.sum_ns += u128::from(time_ns);
                self.sum_squares_ns2 += u128::from(time_ns) * u128::from(time_ns);
                self.out_of_range += u64::from(is_out_of_range);
                self.rcodes[usize::from(end.rcode & 0xF)] += 1;
            }
            How::AnsweredWrong | How::TimedOut | How::Refused => {
                self.sent += 1;
                self.timed_out += 1;
            }
            // The original is killed by a signal; ours counts what it was waiting for as sent.
            How::Interrupted if end.id != 0 => self.sent += 1,
            How::Interrupted | How::NotSent(_) => {}
        }
    }

    /// The average in seconds.
    pub(super) fn average_s(&self) -> f64 {
        if self.answered == 0 { 0.0 } else { self.sum_ns as f64 / self.answered as f64 / 1e9 }
    }

    /// The standard deviation in seconds.
    pub(super) fn stddev_s(&self) -> f64 {
        let average_ns = self.average_s() * 1e9;
        let mean_square = self.sum_squares_ns2 as f64 / (self.answered.max(1)) as f64;
        (mean_square - average_ns * average_ns).max(0.0).sqrt() / 1e9
    }
}

impl Rounds {
    pub(super) fn new(settings: &Settings) -> Rounds {
        let entries = settings.entries.min(MOST_ENTRIES) as usize;
        Rounds { table: vec![0; entries], ..Rounds::default() }
    }

    /// The file of the histogram: a line for each entry, with its middle in microseconds and its share in percent.
    pub(super) fn histogram(&self, entry_us: u32) -> String {
        let mut file = String::new();
        for (number, count) in self.table.iter().enumerate() {
            let middle_us = number as f64 * f64::from(entry_us) + f64::from(entry_us) / 2.0;
            let share = *count as f64 / self.all.answered.max(1) as f64 * 100.0;
            let _ = writeln!(file, "{middle_us:.6} {share:.3}");
        }
        file
    }
}

impl Log {
    pub(super) fn new(rounds: &Arc<Mutex<Rounds>>, console: &Arc<Console>, settings: &Settings) -> Log {
        Log {
            rounds: Arc::clone(rounds),
            console: Arc::clone(console),
            is_verbose: settings.is_verbose,
            entry_us: settings.entry_us.max(1),
        }
    }

    /// `> NOERROR www.example A`.
    fn print(&self, word: &str, end: &QueryEnd<'_>) {
        let question = peek(end.query).ok().and_then(|query| Some((query.qname(), query.qtype()?)));
        if let Some((name, qtype)) = question {
            let text = format!("{} {}", name_to_text(name), type_name(qtype));
            self.console.line(&format!("> {word} {}", shown(&text, LONGEST_SHOWN)));
        }
    }
}

impl QueryLog for Log {
    fn ended(&mut self, end: &QueryEnd<'_>) {
        let mut rounds = locked(&self.rounds);
        let entry = end.at_ns.saturating_sub(end.sent_ns) / 1_000 / u64::from(self.entry_us);
        let is_answered = end.how == How::Answered;
        let mut is_out_of_range = false;
        if is_answered {
            match rounds.table.get_mut(entry as usize) {
                Some(count) => *count += 1,
                None => is_out_of_range = !rounds.table.is_empty(),
            }
        }
        rounds.all.add(end, is_out_of_range);
        rounds.interval.add(end, is_out_of_range);
        drop(rounds);
        match end.how {
            How::Answered if self.is_verbose => self.print(RCODES[usize::from(end.rcode & 0xF)], end),
            How::TimedOut | How::Refused if self.is_verbose => self.print("T", end),
            How::TimedOut | How::Refused => {
                self.console.line(&format!("[Timeout] Query timed out: msg id {}", end.id));
            }
            _ => {}
        }
    }

    fn unpaired(&mut self, received: &Unpaired<'_>) {
        match (received.why, received.bytes) {
            (Why::Unexpected, [high, low, ..]) => self.console.tell(&format!(
                "Warning: Received a response with an unexpected (maybe timed out) id: {}\n",
                u16::from_be_bytes([*high, *low])
            )),
            (Why::Malformed, _) if self.is_verbose => self.console.tell("Malformed response\n"),
            _ => {}
        }
    }
}

/// The counts; a thread that panicked with them has ended the run anyway.
pub(super) fn locked(rounds: &Mutex<Rounds>) -> MutexGuard<'_, Rounds> {
    rounds.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Entries of the table: 80 MB, a hundred times as many as usual.
const MOST_ENTRIES: u32 = 10_000_000;

/// Characters of a question that are shown.
const LONGEST_SHOWN: usize = 4_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::tests::Printed;

    const QUERY: &[u8] = b"\0\0\x01\0\0\x01\0\0\0\0\0\0\x03www\x07example\0\0\x1c\0\x01";

    fn end(how: How, time_us: u64) -> QueryEnd<'static> {
        let (sent_ns, at_ns) = (5_000, 5_000 + time_us * 1_000);
        QueryEnd {
            how,
            index: 0,
            query: QUERY,
            id: 7,
            due_ns: 0,
            sent_ns,
            at_ns,
            rcode: 3,
            response: &[],
            expected: &[],
        }
    }

    #[test]
    fn each_query_is_counted_by_its_end_and_its_time() {
        let (console, printed) = Printed::console();
        let settings = Settings { entries: 3, entry_us: 100, ..Settings::default() };
        let rounds = Arc::new(Mutex::new(Rounds::new(&settings)));
        let mut log = Log::new(&rounds, &Arc::new(console), &settings);
        for time_us in [50, 250, 299, 300] {
            log.ended(&end(How::Answered, time_us));
        }
        log.ended(&end(How::TimedOut, 0));
        let rounds = locked(&rounds);
        let Counts { sent, timed_out, answered, min_ns, max_ns, out_of_range, .. } = rounds.all;
        assert_eq!((sent, timed_out, answered, out_of_range), (5, 1, 4, 1));
        assert_eq!((min_ns, max_ns, rounds.all.rcodes[3]), (50_000, 300_000, 4));
        assert!((rounds.all.average_s() - 224.75e-6).abs() < 1e-12);
        assert!((rounds.all.stddev_s() - 102.896e-6).abs() < 1e-9, "{}", rounds.all.stddev_s());
        assert_eq!(rounds.histogram(100), "50.000000 25.000\n150.000000 0.000\n250.000000 50.000\n");
        assert_eq!(printed.out(), "[Timeout] Query timed out: msg id 7\n");
    }

    #[test]
    fn each_query_is_a_line_where_that_is_wanted() {
        let (console, printed) = Printed::console();
        let settings = Settings { is_verbose: true, ..Settings::default() };
        let rounds = Arc::new(Mutex::new(Rounds::new(&settings)));
        let mut log = Log::new(&rounds, &Arc::new(console), &settings);
        log.ended(&end(How::Answered, 1));
        log.ended(&end(How::TimedOut, 1));
        log.unpaired(&Unpaired { why: Why::Unexpected, bytes: &[1, 0] });
        assert_eq!(printed.out(), "> NXDOMAIN www.example AAAA\n> T www.example AAAA\n");
        let warning = "Warning: Received a response with an unexpected (maybe timed out) id: 256\n";
        assert_eq!(printed.error(), warning);
    }
}
