//! Lines about single queries, printed by a thread of its own: a worker hands over what happened, and formats nothing.
//!
//! With `-v` each query is printed, and a worker waits while the printer is behind. Otherwise only timeouts and
//! unexpected responses are printed, and a worker never waits: what does not fit into the queue is counted, and the
//! count is printed at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use dnsdyno_runner::{How, QueryEnd, QueryLog, Unpaired};
use dnsdyno_wire::{name_to_text, peek, type_name};

use crate::console::Console;
use crate::suppress::Suppress;
use crate::texts::{RCODES, seconds};

/// What is printed of single queries.
#[derive(Clone, Debug)]
pub(crate) struct Printing {
    /// Each query.
    pub(crate) is_verbose: bool,
    pub(crate) suppress: Suppress,
    /// The word for one of them where it times out.
    pub(crate) unit: &'static str,
    /// The text of each query, by its number in the source; a query beyond them is printed as it is sent.
    pub(crate) texts: Arc<[Box<str>]>,
    /// What is printed of any other.
    pub(crate) own: Own,
}

/// What is printed of a query whose text is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    /// Its name and type.
    Question,
    /// Its name alone: the zone of an update.
    Zone,
    /// That it is binary.
    Nothing,
}

impl Printing {
    /// Only of responses that no query explains.
    pub(crate) fn of_responses(suppress: Suppress) -> Printing {
        let suppress = Suppress { timeouts: true, ..suppress };
        Printing { is_verbose: false, suppress, unit: "Query", texts: Arc::default(), own: Own::Question }
    }
}

/// The printer of a run.
pub(crate) struct Printer {
    sender: SyncSender<Line>,
    thread: JoinHandle<()>,
    printing: Arc<Printing>,
    lost: Arc<AtomicU64>,
    console: Arc<Console>,
}

/// The log of one worker.
struct Log {
    sender: SyncSender<Line>,
    printing: Arc<Printing>,
    lost: Arc<AtomicU64>,
}

/// A line to print.
enum Line {
    Answered { rcode: u16, text: Text, latency_us: u64 },
    TimedOut { text: Text },
    TimedOutId { id: u16 },
    Interrupted { text: Text },
    NotSent { reason: &'static str },
    Unexpected { id: u16 },
    Short,
}

/// The text of a query.
enum Text {
    /// In the source.
    Number(u32),
    /// Of its own.
    Own(String),
}

impl Printer {
    /// Starts its thread.
    pub(crate) fn start(printing: Printing, console: &Arc<Console>) -> std::io::Result<Printer> {
        let (sender, receiver) = sync_channel(MOST_WAITING);
        let printing = Arc::new(printing);
        let (its, to) = (Arc::clone(&printing), Arc::clone(console));
        let thread =
            thread::Builder::new().name("printer".into()).spawn(move || print(&receiver, &its, &to))?;
        Ok(Printer { sender, thread, printing, lost: Arc::default(), console: Arc::clone(console) })
    }

    /// The log of another worker.
    pub(crate) fn log(&self) -> Box<dyn QueryLog> {
        let (sender, printing) = (self.sender.clone(), Arc::clone(&self.printing));
        Box::new(Log { sender, printing, lost: Arc::clone(&self.lost) })
    }

    /// Prints what is left, after all logs are gone.
    pub(crate) fn finish(self) {
        drop(self.sender);
        let _ = self.thread.join();
        let lost = self.lost.load(Ordering::Relaxed);
        if lost > 0 {
            self.console.warning(&format!("{lost} more messages like these were not printed"));
        }
    }
}

impl QueryLog for Log {
    fn ended(&mut self, end: &QueryEnd<'_>) {
        let Printing { is_verbose, suppress, .. } = *self.printing;
        let line = match end.how {
            How::Answered if is_verbose => Line::Answered {
                rcode: end.rcode,
                text: self.text(end),
                latency_us: end.at_ns.saturating_sub(end.sent_ns) / 1_000,
            },
            How::TimedOut | How::Refused if suppress.timeouts => return,
            How::TimedOut | How::Refused if is_verbose => Line::TimedOut { text: self.text(end) },
            How::TimedOut | How::Refused => Line::TimedOutId { id: end.id },
            How::Interrupted if is_verbose => Line::Interrupted { text: self.text(end) },
            How::NotSent(reason) if is_verbose && !suppress.send_failed => {
                Line::NotSent { reason: reason.words() }
            }
            _ => return,
        };
        self.hand_over(line);
    }

    fn unpaired(&mut self, received: &Unpaired<'_>) {
        let line = match received.bytes {
            [a, b, _, _, ..] if !self.printing.suppress.unexpected => {
                Line::Unexpected { id: u16::from_be_bytes([*a, *b]) }
            }
            [_, _, _, _, ..] => return,
            _ => Line::Short,
        };
        self.hand_over(line);
    }
}

impl Log {
    fn text(&self, end: &QueryEnd<'_>) -> Text {
        if (end.index as usize) < self.printing.texts.len() {
            return Text::Number(end.index);
        }
        let question = peek(end.query).ok().and_then(|query| Some((query.qname(), query.qtype()?)));
        Text::Own(match (question, self.printing.own) {
            (Some((name, qtype)), Own::Question) => format!("{} {}", name_to_text(name), type_name(qtype)),
            (Some((name, _)), Own::Zone) => name_to_text(name),
            _ => NO_TEXT.to_owned(),
        })
    }

    fn hand_over(&self, line: Line) {
        // The printer ends after the logs, so a queue without a reader is not possible.
        if self.printing.is_verbose {
            let _ = self.sender.send(line);
        } else if self.sender.try_send(line).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn print(lines: &Receiver<Line>, printing: &Printing, console: &Console) {
    let text_of = |text: Text| match text {
        Text::Own(text) => text,
        Text::Number(number) => {
            printing.texts.get(number as usize).map_or_else(String::new, |text| text.to_string())
        }
    };
    for line in lines {
        match line {
            Line::Answered { rcode, text, latency_us } => {
                let rcode = RCODES[usize::from(rcode & 0xF)];
                console.line(&format!("> {rcode} {} {}", text_of(text), seconds(latency_us)));
            }
            Line::TimedOut { text } => console.line(&format!("> T {}", text_of(text))),
            Line::TimedOutId { id } => {
                console.line(&format!("[Timeout] {} timed out: msg id {id}", printing.unit))
            }
            Line::Interrupted { text } => console.line(&format!("> I {}", text_of(text))),
            Line::NotSent { reason } => console.warning(&format!("failed to send packet: {reason}")),
            Line::Unexpected { id } => {
                console.warning(&format!("received a response with an unexpected (maybe timed out) id: {id}"))
            }
            Line::Short => console.warning("received short response"),
        }
    }
}

/// What a message without a readable question is called.
const NO_TEXT: &str = "binary input";

/// Lines that wait for the printer.
const MOST_WAITING: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::tests::Printed;
    use dnsdyno_measure::NotSentReason;
    use dnsdyno_runner::Why;

    const QUERY: &[u8] = b"\0\0\x01\0\0\x01\0\0\0\0\0\0\x03www\x07example\0\0\x1c\0\x01";

    fn end(how: How, index: u32) -> QueryEnd<'static> {
        let (id, due_ns, sent_ns, at_ns) = (7, 0, 1_000, 124_999);
        QueryEnd {
            how,
            index,
            query: QUERY,
            id,
            due_ns,
            sent_ns,
            at_ns,
            rcode: 19,
            response: &[],
            expected: &[],
        }
    }

    fn printed(is_verbose: bool, suppress: &str) -> (String, String) {
        let (console, printed) = Printed::console();
        let suppress = Suppress::read(suppress).unwrap();
        let texts = ["www.example. aaaa".into()].into();
        let printer = Printer::start(
            Printing { is_verbose, suppress, unit: "Query", texts, own: Own::Question },
            &Arc::new(console),
        )
        .unwrap();
        let mut log = printer.log();
        log.ended(&end(How::Answered, 0));
        log.ended(&end(How::Answered, 1));
        for how in [How::TimedOut, How::Interrupted, How::NotSent(NotSentReason::NoRoute)] {
            log.ended(&end(how, 0));
        }
        log.unpaired(&Unpaired { why: Why::Unexpected, bytes: &[1, 0, 0, 0] });
        log.unpaired(&Unpaired { why: Why::Malformed, bytes: &[1, 0, 0] });
        drop(log);
        printer.finish();
        (printed.out(), printed.error())
    }

    const UNEXPECTED: &str = "Warning: received a response with an unexpected (maybe timed out) id: 256\n\
        Warning: received short response\n";

    #[test]
    fn each_query_is_a_line_where_that_is_wanted() {
        let (out, error) = printed(true, "");
        let lines = "> NXDOMAIN www.example. aaaa 0.000123\n> NXDOMAIN www.example AAAA 0.000123\n\
                     > T www.example. aaaa\n> I www.example. aaaa\n";
        assert_eq!(out, lines);
        assert_eq!(error, format!("Warning: failed to send packet: no route\n{UNEXPECTED}"));
    }

    #[test]
    fn otherwise_timeouts_and_unexpected_responses_are_lines_unless_they_are_suppressed() {
        let want = ("[Timeout] Query timed out: msg id 7\n".to_owned(), UNEXPECTED.to_owned());
        assert_eq!(printed(false, ""), want);
        let (out, error) = printed(false, "timeouts,unexpected");
        assert_eq!((out, error), (String::new(), "Warning: received short response\n".to_owned()));
    }
}
