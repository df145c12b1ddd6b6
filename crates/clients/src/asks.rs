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
    /// To be sent.
    Ready,
    /// Sent.
    Sent,
    /// To be asked again when it is due, or to be given up.
    Waiting,
}

/// A question of a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) client: u32,
    pub(crate) question: QuestionId,
    pub(crate) kind: ProcedureKind,
    pub(crate) step: LookupStep,
    pub(crate) state: State,
    /// How often it was asked again.
    pub(crate) retries: u32,
    /// When it was, or will be, due: with [`State::Waiting`] after the last retry, when it is given up.
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
        let asked =
            Asked { client, question, kind, step, state: State::Ready, retries: 0, due_ns, first: None };
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
