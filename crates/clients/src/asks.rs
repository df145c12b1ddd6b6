//! The questions that clients are asking, each with those who wait for its response.

use dnsdyno_measure::{LookupStep, ProcedureKind};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use crate::ids::QuestionId;

/// Where a question stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Nobody asks it: the slot is free.
    Free,
    /// To be sent, for the first time or again.
    Ready,
    /// Sent, and waited for: until a response comes, or the timer of the last query ends.
    Sent,
}

/// A question of a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// Which of the questions that have had this number.
    pub(crate) serial: u64,
    pub(crate) client: u32,
    pub(crate) question: QuestionId,
    pub(crate) kind: ProcedureKind,
    pub(crate) step: LookupStep,
    pub(crate) state: State,
    /// How often it was asked again.
    pub(crate) retries: u32,
    /// When its last query was, or will be, due.
    pub(crate) due_ns: u64,
    /// The first of those who wait.
    first: Option<u32>,
}

/// Who waits for a response: which of its questions of which procedure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiter {
    pub(crate) procedure: u32,
    pub(crate) followed: u32,
    next: Option<u32>,
}

/// All questions that are asked, by number, and by client and question.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    slots: Vec<Asked>,
    free: Vec<u32>,
    by_question: HashTable<u32>,
    waiters: Vec<Waiter>,
    free_waiters: Vec<u32>,
    serials: u64,
    hasher: DefaultHashBuilder,
}

impl Asks {
    /// The number of a question that a client is asking.
    pub(crate) fn find(&self, client: u32, question: QuestionId) -> Option<u32> {
        let hash = self.hasher.hash_one((client, question));
        let same = |id: &u32| {
            let asked = &self.slots[*id as usize];
            asked.client == client && asked.question == question
        };
        self.by_question.find(hash, same).copied()
    }

    /// A question that is to be sent, and that the client is not asking.
    pub(crate) fn add(
        &mut self,
        client: u32,
        question: QuestionId,
        kind: ProcedureKind,
        step: LookupStep,
        due_ns: u64,
    ) -> u32 {
        self.serials += 1;
        let (serial, state) = (self.serials, State::Ready);
        let asked = Asked { serial, client, question, kind, step, state, retries: 0, due_ns, first: None };
        let id = put(&mut self.slots, &mut self.free, asked);
        let (slots, hasher) = (&self.slots, &self.hasher);
        let rehash = |id: &u32| {
            let asked = &slots[*id as usize];
            hasher.hash_one((asked.client, asked.question))
        };
        self.by_question.insert_unique(hasher.hash_one((client, question)), id, rehash);
        id
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Asked> {
        self.slots.get(id as usize).filter(|asked| asked.state != State::Free)
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Asked> {
        self.slots.get_mut(id as usize).filter(|asked| asked.state != State::Free)
    }

    /// Whether a question is still asked.
    pub(crate) fn is(&self, id: u32, serial: u64) -> bool {
        self.get(id).is_some_and(|asked| asked.serial == serial)
    }

    /// Lets a procedure wait for the response.
    pub(crate) fn wait(&mut self, id: u32, procedure: u32, followed: u32) {
        let Some(asked) = self.slots.get_mut(id as usize) else { return };
        let waiter = Waiter { procedure, followed, next: asked.first };
        asked.first = Some(put(&mut self.waiters, &mut self.free_waiters, waiter));
    }

    /// Ends a question. Its number is free; those who wait are taken one by one with [`waiter`](Self::waiter).
    pub(crate) fn end(&mut self, id: u32) -> Option<u32> {
        let asked = self.slots.get_mut(id as usize)?;
        asked.state = State::Free;
        let hash = self.hasher.hash_one((asked.client, asked.question));
        if let Ok(found) = self.by_question.find_entry(hash, |other| *other == id) {
            found.remove();
        }
        self.free.push(id);
        asked.first
    }

    /// Takes one who waits, and moves on to the next.
    pub(crate) fn waiter(&mut self, next: &mut Option<u32>) -> Option<Waiter> {
        let number = (*next)?;
        let waiter = *self.waiters.get(number as usize)?;
        self.free_waiters.push(number);
        *next = waiter.next;
        Some(waiter)
    }
}

fn put<T>(all: &mut Vec<T>, free: &mut Vec<u32>, value: T) -> u32 {
    match free.pop() {
        Some(number) => {
            all[number as usize] = value;
            number
        }
        None => {
            all.push(value);
            (all.len() - 1) as u32
        }
    }
}
