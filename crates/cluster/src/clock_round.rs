//! A round of questions for the time: each agent several times, one question after the other, and of many agents a few
//! at once.

use std::collections::HashMap;

use crate::session::Session;

/// The questions that are open.
pub(crate) struct ClockRound {
    /// Not asked yet, the next one last.
    waiting: Vec<usize>,
    /// Those that are asked, and at how many exchanges each is done.
    asked: HashMap<usize, u64>,
    exchanges: u64,
}

impl ClockRound {
    /// Asks the first of these agents.
    pub(crate) fn begin(sessions: &[Session], mut agents: Vec<usize>, exchanges: u64) -> ClockRound {
        // Fewer at once would be exact and slow, more would wait for each other here.
        let at_once = (agents.len() / AGENTS_FOR_ONE).clamp(1, MOST_AT_ONCE);
        agents.reverse();
        let mut round = ClockRound { waiting: agents, asked: HashMap::new(), exchanges };
        (0..at_once).for_each(|_| round.ask_next(sessions));
        round
    }

    fn ask_next(&mut self, sessions: &[Session]) {
        if let Some(number) = self.waiting.pop() {
            self.asked.insert(number, sessions[number].clock.exchanges() + self.exchanges);
            sessions[number].ask_time();
        }
    }

    /// An exchange with this agent has been added to its clock.
    pub(crate) fn answered(&mut self, sessions: &[Session], number: usize) {
        let Some(done_at) = self.asked.get(&number) else { return };
        if sessions[number].clock.exchanges() < *done_at {
            return sessions[number].ask_time();
        }
        self.asked.remove(&number);
        self.ask_next(sessions);
    }

    /// An agent whose answer is missing; `None` when all have answered.
    pub(crate) fn missing(&self) -> Option<usize> {
        self.asked.keys().min().copied()
    }
}

/// One of so many agents is asked at a time.
const AGENTS_FOR_ONE: usize = 16;
const MOST_AT_ONCE: usize = 64;
