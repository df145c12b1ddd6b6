//! A world of this program beside a resolver: started, ended, asked for the truth.

use std::net::IpAddr;

use dnsdyno_record::Digest;
use rustix::process::Signal;
use serde_json::Value;

use super::apart::{Apart, PATIENCE, PREFIX, Question};
use crate::support::{Started, Workplace};

impl Apart {
    /// Starts a world of these options, which writes its hints, anchor and book into the folder.
    pub(crate) fn world<'a>(&self, work: &'a Workplace, options: &str) -> Started<'a> {
        let anchor = if options.contains("--signed") { "--anchor root.key" } else { "" };
        let words = format!("world {options} --prefix {PREFIX} --hints root.hints {anchor} --book book.json");
        let mut started = work.start_in(self.namespace(), &words);
        started.until("it serves", || work.stderr().contains("Ctrl-C to stop"));
        started
    }

    /// Makes a run from the namespace; gives its record.
    pub(crate) fn run(&self, work: &Workplace, words: &str, folder: &str) -> Digest {
        work.start_in(self.namespace(), words).wait_within(PATIENCE * 4).gives(0);
        work.record(folder)
    }
}

/// Ends a world as Ctrl-C does, and reads its book.
pub(crate) fn book_of(work: &Workplace, world: Started<'_>) -> Value {
    world.signal(Signal::INT);
    world.wait_within(PATIENCE * 20).gives(0);
    let book: Value = serde_json::from_str(&work.read("book.json")).unwrap();
    // What the world itself lost would be missing in each comparison.
    let own = ["/kernel_drops", "/ends/over_bound", "/ends/send_errors", "/ends/outside"];
    assert!(own.iter().all(|own| book.pointer(own).and_then(Value::as_u64) == Some(0)), "{book:#}");
    book
}

/// Questions that a world of these options gives.
pub(crate) fn questions(work: &Workplace, number: u32, options: &str) -> Vec<Question> {
    let ran = work.dnsdyno(&format!("world questions {number} {options} --prefix {PREFIX}")).gives(0);
    let questions: Vec<_> = ran.stdout.lines().map(Question::new).collect();
    assert_eq!(questions.len(), number as usize);
    questions
}

/// What the world says of the names of questions.
pub(crate) fn truth(work: &Workplace, questions: &[Question], options: &str) -> Vec<Value> {
    truth_of(work, questions, &format!("{options} --prefix {PREFIX}"))
}

/// The same of a world at other addresses.
pub(crate) fn truth_of(work: &Workplace, questions: &[Question], options: &str) -> Vec<Value> {
    let names: Vec<_> = questions.iter().map(|question| question.name.as_str()).collect();
    let ran = work.dnsdyno(&format!("world explain --json {options} {}", names.join(" "))).gives(0);
    let truth: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(truth.len(), questions.len());
    truth
}

/// The addresses of the servers of the zone that a name is in.
pub(crate) fn servers_of(truth: &Value) -> Vec<IpAddr> {
    let zone = truth["zones"].as_array().and_then(|zones| zones.last()).unwrap();
    let servers = zone["servers"].as_array().unwrap().iter();
    servers.map(|server| server["addresses"][0].as_str().unwrap().parse().unwrap()).collect()
}
