//! When questions are asked again or given up: one timer for each question that was sent.
//!
//! Each retry waits twice as long as the one before, so the timers of one retry are due in the order in which they were
//! started, and are kept in a queue of their own. A question that was answered leaves its timer behind, which is
//! dropped when it comes to the front.

use std::collections::VecDeque;

use crate::asks::Asks;

/// A timer of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timer {
    /// When it ends.
    pub(crate) due_ns: u64,
    /// The number of the question.
    pub(crate) ask: u32,
    /// Which of the questions that have had this number.
    pub(crate) serial: u64,
}

/// The timers of a worker, by the number of the retry.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    of_retry: Vec<VecDeque<Timer>>,
}

impl Timers {
    /// Starts the timer of a question's first query (0), or of a retry.
    pub(crate) fn start(&mut self, retry: u32, timer: Timer) {
        let place = retry as usize;
        while self.of_retry.len() <= place {
            self.of_retry.push(VecDeque::new());
        }
        let queue = &mut self.of_retry[place];
        // A query that was handed out late may be due before one that was handed out earlier.
        let later = queue.iter().rev().take_while(|other| other.due_ns > timer.due_ns).count();
        queue.insert(queue.len() - later, timer);
    }

    /// When the next one ends. Timers of questions that have ended count until [`drop_ended`](Self::drop_ended).
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.of_retry.iter().filter_map(|queue| queue.front()).map(|timer| timer.due_ns).min()
    }

    /// Takes the next one.
    pub(crate) fn take(&mut self) -> Option<Timer> {
        let first = |queue: &&mut VecDeque<Timer>| queue.front().map_or(u64::MAX, |timer| timer.due_ns);
        self.of_retry.iter_mut().min_by_key(first)?.pop_front()
    }

    /// Drops the timers at the front whose questions have ended.
    pub(crate) fn drop_ended(&mut self, asks: &Asks) {
        for queue in &mut self.of_retry {
            while queue.front().is_some_and(|timer| !asks.is(timer.ask, timer.serial)) {
                queue.pop_front();
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.of_retry.clear();
    }
}
