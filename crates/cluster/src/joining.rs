//! The records of the agents of a run while they are joined, and what the agents say beside them.

use std::collections::HashSet;

use dnsdyno_record::{Ended, Event, Header, Interval, Join, Line, RunWriter};
use dnsdyno_runner::{Note, Recording, WatchedHere};

use crate::live::LiveJoin;

/// The records of the agents while they are joined.
pub(crate) struct Joining<'a> {
    pub(crate) join: Join,
    pub(crate) headers: Vec<Header>,
    pub(crate) recording: Recording<'a>,
    /// The records of the agents, as they came.
    pub(crate) copies: Vec<Option<RunWriter>>,
    pub(crate) here: WatchedHere,
    pub(crate) live: LiveJoin,
    pub(crate) ends: Vec<AgentState>,
    /// What was said by any agent.
    pub(crate) said: HashSet<String>,
    /// Why the run has failed.
    pub(crate) failed: Option<String>,
    /// The limit that an agent has reached, which stops all.
    pub(crate) limit: Option<Ended>,
}

#[derive(Default)]
pub(crate) struct AgentState {
    pub(crate) is_silent: bool,
    pub(crate) is_lost: bool,
    /// Its whole record was sent.
    pub(crate) is_whole: bool,
}

impl Joining<'_> {
    /// Whether something else than the user stops the run.
    pub(crate) fn stops(&self) -> bool {
        self.failed.is_some() || self.limit.is_some()
    }

    /// Takes a line of an agent's record.
    pub(crate) fn line(&mut self, number: usize, name: &str, line: &[u8]) -> Result<(), String> {
        let read = Line::decode(line, &self.headers[number]).map_err(|error| error.to_string())?;
        let copy = self.copies[number].as_mut();
        match read {
            Some(Line::Interval(interval)) => {
                // What the copy cannot keep, its own host has.
                copy.into_iter().for_each(|copy| drop(copy.interval(&interval)));
                if !self.join.interval(number, *interval) {
                    self.said(name, LATE);
                }
            }
            Some(Line::Event(event)) => {
                copy.into_iter().for_each(|copy| drop(copy.event(&event)));
                if LIMIT_KINDS.contains(&event.kind.as_str()) {
                    self.limit.get_or_insert(Ended::Interrupted);
                }
                if !STOP_KINDS.contains(&event.kind.as_str()) {
                    let message = format!("{name}: {}", event.message);
                    self.recording.event(&Event { message, ..event });
                }
            }
            Some(Line::Sum(sum)) => {
                copy.into_iter().for_each(|copy| drop(copy.finish(&sum)));
                self.copies[number] = None;
                if let (Some(limit), Ended::ByCondition { .. }) = (&mut self.limit, &sum.ended) {
                    *limit = sum.ended.clone();
                }
                self.live.close(number);
                self.join.sum(number, *sum);
            }
            None => {}
        }
        Ok(())
    }

    /// Records what is complete, and shows what has passed.
    pub(crate) fn take(&mut self) {
        for event in self.here.events() {
            self.recording.event(&event);
        }
        while let Some(interval) = self.join.take_next() {
            self.recording.settled(&interval);
            if let Some(whole) = self.here.add(interval) {
                self.record(&whole);
            }
        }
        while let Some(interval) = self.here.take_next() {
            self.record(&interval);
        }
        self.live.show(self.recording.observer());
    }

    pub(crate) fn record(&mut self, interval: &Interval) {
        self.recording.observer().sampled(interval);
        self.recording.record(interval);
    }

    pub(crate) fn said(&mut self, name: &str, words: &str) {
        if self.said.insert(words.to_owned()) {
            self.recording.observer().note(&Note::Said(&format!("{name}: {words}")));
        }
    }

    pub(crate) fn event(&mut self, kind: &str, message: String, figures: &[(&str, serde_json::Value)]) {
        let figures = figures.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let at_ns = self.live.passed_ns();
        self.recording.event(&Event { at_ns, kind: kind.to_owned(), message, figures });
    }
}

/// The kinds of events of a run that was stopped by its coordinator, which has recorded its own.
const STOP_KINDS: [&str; 5] = ["interrupt", "terminate", "hang_up", "condition", "no_longer_waiting"];

/// The kinds of those that a limit of a worker makes.
pub(crate) const LIMIT_KINDS: [&str; 2] = ["behind", "outstanding"];

/// What is said of them.
const LATE: &str = "intervals came that were recorded without it: `dnsdyno merge` puts them in";
