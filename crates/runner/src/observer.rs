//! The messages of a run to its caller.

use std::error::Error;

use dnsdyno_engine::Live;
use dnsdyno_measure::AnswerChecks;
use dnsdyno_queries::BadLine;
use dnsdyno_record::{Check, Digest, Event, Header, Interval, WriteError};
use dnsdyno_text::safe;
use dnsdyno_text::units::{bytes, count, counted, length, rate};

use crate::trace::Traced;

/// Receives the progress of a run. Each method is optional.
pub trait Observer {
    /// A message for the user.
    fn note(&mut self, _note: &Note<'_>) {}

    /// The run begins: its record exists, and the first query is due soon. The last one is due at `schedule_end_ns`,
    /// where the plan limits the time.
    ///
    /// # Errors
    /// An error ends the run before anything is sent.
    fn begins(
        &mut self,
        _header: &Header,
        _schedule_end_ns: Option<u64>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }

    /// A wall interval has ended.
    fn passed(&mut self, _live: &Live<'_>) {}

    /// All queries that were due in an interval have ended.
    fn settled(&mut self, _interval: &Interval) {}

    /// The samples of an interval are known: what was read beside the load. Not called where nothing is watched.
    fn sampled(&mut self, _interval: &Interval) {}

    /// Called several times a second; `digest` has the intervals that have settled.
    fn idle(&mut self, _digest: &Digest) {}

    /// What the caller has made happen beside the load since the last call, such as changes to the server: events for
    /// the record. Called several times a second, and once at the end.
    fn happened(&mut self) -> Vec<Event> {
        Vec::new()
    }
}

/// An observer that ignores everything.
impl Observer for () {}

/// Two observers of one run; an error of either ends it.
impl<A: Observer + ?Sized, B: Observer + ?Sized> Observer for (&mut A, &mut B) {
    fn note(&mut self, note: &Note<'_>) {
        self.0.note(note);
        self.1.note(note);
    }

    fn begins(
        &mut self,
        header: &Header,
        schedule_end_ns: Option<u64>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.0.begins(header, schedule_end_ns)?;
        self.1.begins(header, schedule_end_ns)
    }

    fn passed(&mut self, live: &Live<'_>) {
        self.0.passed(live);
        self.1.passed(live);
    }

    fn settled(&mut self, interval: &Interval) {
        self.0.settled(interval);
        self.1.settled(interval);
    }

    fn sampled(&mut self, interval: &Interval) {
        self.0.sampled(interval);
        self.1.sampled(interval);
    }

    fn idle(&mut self, digest: &Digest) {
        self.0.idle(digest);
        self.1.idle(digest);
    }

    fn happened(&mut self) -> Vec<Event> {
        let mut events = self.0.happened();
        events.extend(self.1.happened());
        events
    }
}

/// An observer that a run may have.
impl<A: Observer> Observer for Option<A> {
    fn note(&mut self, note: &Note<'_>) {
        self.iter_mut().for_each(|observer| observer.note(note));
    }

    fn begins(
        &mut self,
        header: &Header,
        schedule_end_ns: Option<u64>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.iter_mut().try_for_each(|observer| observer.begins(header, schedule_end_ns))
    }

    fn passed(&mut self, live: &Live<'_>) {
        self.iter_mut().for_each(|observer| observer.passed(live));
    }

    fn settled(&mut self, interval: &Interval) {
        self.iter_mut().for_each(|observer| observer.settled(interval));
    }

    fn sampled(&mut self, interval: &Interval) {
        self.iter_mut().for_each(|observer| observer.sampled(interval));
    }

    fn idle(&mut self, digest: &Digest) {
        self.iter_mut().for_each(|observer| observer.idle(digest));
    }

    fn happened(&mut self) -> Vec<Event> {
        self.iter_mut().flat_map(|observer| observer.happened()).collect()
    }
}

/// A message for the user of a run.
#[derive(Debug)]
pub enum Note<'a> {
    /// A malformed line of the source was skipped.
    SkippedLine(&'a BadLine),
    /// Number of further lines skipped.
    SkippedMore(u64),
    /// Reading of the queries goes on.
    ReadsOn {
        /// Octets of input so far, unpacked.
        read_bytes: u64,
        /// After so many it is an error that the input goes on.
        most_read_bytes: u64,
        /// So is it if the queries take more.
        most_kept_bytes: u64,
    },
    /// Names with other letters than those of ASCII are sent as A-labels.
    InternationalizedNames {
        /// How many.
        count: u64,
        /// The first of them.
        name: &'a str,
        /// What is sent for it.
        sent: &'a str,
    },
    /// A capture is read once before its replay.
    ReadingCapture {
        /// Its name.
        origin: &'a str,
        /// Queries read so far.
        queries: u64,
    },
    /// A capture will be replayed.
    Replay {
        /// Its queries and how long it lasts, where it was read before.
        queries: Option<u64>,
        /// From its first query to its last.
        lasts_ns: Option<u64>,
        /// Clients of the run.
        clients: usize,
        /// How many clients the capture has, where that is more.
        shared_by: Option<usize>,
        /// Whether they were counted.
        is_counted: bool,
    },
    /// AF_XDP is not available, for this reason: the run uses sockets, as its plan allows.
    SocketsInstead(String),
    /// What the server answered before the load, over each transport.
    Checked(&'a [Check]),
    /// An event, which the record contains too.
    Event(&'a Event),
    /// The run is stopped, by the user or by a condition: it sends nothing more and waits for outstanding queries.
    /// The event says why, and the record contains it too.
    Stopping(&'a Event),
    /// What is watched without being told, or how to watch more.
    Watching(&'a str),
    /// What an agent of the run says.
    Said(&'a str),
    /// The answers that differ from the recorded ones could not be written into the run's folder.
    AnswersNotKept(&'a std::io::Error),
    /// The questions are asked before the load, so that the answers can be checked under it.
    AskingFirst {
        /// How many different ones.
        questions: u64,
        /// How often each.
        passes: u64,
        /// At this rate.
        rate_qps: f64,
    },
    /// They were asked: how many there are, and what is known of them.
    AskedFirst(&'a AnswerChecks),
    /// The trace of the run is written.
    Traced(&'a Traced),
    /// The record cannot be written now. Sent once per run.
    RecordTrouble(&'a WriteError),
}

impl Note<'_> {
    /// The message in words; `None` where it is more than a sentence.
    pub fn sentence(&self) -> Option<String> {
        Some(match self {
            Note::Checked(_) | Note::Stopping(_) => return None,
            Note::SkippedLine(bad) => format!("skipped {bad}"),
            Note::SkippedMore(lines) => {
                format!("skipped {}", counted(*lines, "more malformed line", "more malformed lines"))
            }
            Note::ReadsOn { read_bytes, most_read_bytes, most_kept_bytes } => {
                let [read, most_read, most_kept] =
                    [read_bytes, most_read_bytes, most_kept_bytes].map(|octets| bytes(*octets as f64));
                format!(
                    "the queries are still being read: {read} so far. It is an error if they go on after {most_read}, \
                     or take more than {most_kept} of memory; Ctrl-C ends the reading"
                )
            }
            Note::InternationalizedNames { count: names, name, sent } => {
                let (names, are) = (count(*names), if *names == 1 { "name is" } else { "names are" });
                format!("{names} internationalized {are} sent with A-labels, the first `{name}` as `{sent}`")
            }
            Note::ReadingCapture { origin, queries: 0 } => {
                format!("reading {} once, to count its clients", safe(origin))
            }
            Note::ReadingCapture { queries, .. } => {
                format!("{} so far", counted(*queries, "query", "queries"))
            }
            Note::Replay { queries, lasts_ns, clients, shared_by, is_counted } => {
                replay(*queries, *lasts_ns, *clients, *shared_by, *is_counted)
            }
            Note::SocketsInstead(why) => format!("using sockets, because AF_XDP is not available: {why}"),
            Note::Watching(words) | Note::Said(words) => safe(words),
            Note::Event(event) => event.words(),
            Note::AnswersNotKept(error) => {
                format!("cannot write the answers that differ into the folder of the run: {error}")
            }
            Note::AskingFirst { questions, passes, rate_qps } => format!(
                "asking {} {passes} times each before the load, at {}/s, to know the answers",
                counted(*questions, "question", "questions"),
                rate(*rate_qps)
            ),
            Note::AskedFirst(checks) => asked_first(checks),
            Note::Traced(traced) => traced.sentence(),
            Note::RecordTrouble(error) => error.to_string(),
        })
    }
}

/// What is known of the answers before the load, in words.
fn asked_first(checks: &AnswerChecks) -> String {
    let kinds = [
        (checks.questions_known, "got the same answer each time"),
        (checks.questions_changing, "got answers that change, which are not checked"),
        (checks.questions_unanswered, "got none, and are not checked"),
        (checks.questions_not_asked, "were not asked, and are not checked: see --first-pass-for"),
    ];
    let kinds = kinds.iter().filter(|(number, _)| *number > 0);
    let kinds: Vec<String> = kinds.map(|(number, words)| format!("{} {words}", count(*number))).collect();
    format!("of {}: {}", counted(checks.questions, "question", "questions"), kinds.join("; "))
}

/// What a replay begins with, in words.
fn replay(
    queries: Option<u64>,
    lasts_ns: Option<u64>,
    clients: usize,
    shared_by: Option<usize>,
    is_counted: bool,
) -> String {
    let clients = counted(clients as u64, "client", "clients");
    let shared = shared_by.map_or(String::new(), |all| {
        format!("; the capture has {}, which share their sockets", count(all as u64))
    });
    match (queries, lasts_ns) {
        (Some(queries), Some(lasts_ns)) => format!(
            "replaying {} over {} of {clients}{shared}",
            counted(queries, "query", "queries"),
            length(lasts_ns)
        ),
        _ if is_counted => format!("replaying with {clients}{shared}"),
        _ => format!("replaying with {clients}, which were not counted: -c sets another number"),
    }
}
