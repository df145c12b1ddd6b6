//! The procedures under way: what each has found, and what it waits for.

use dnsdyno_measure::ProcedureKind;

use crate::ids::{BundleId, QuestionId};
use crate::selection::{Candidate, Rank};

/// How a procedure ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// With all that was looked for.
    Done,
    /// Without, because a question was given up.
    Unanswered,
    /// Without, although all was answered: there are no such records, or none that is wanted.
    NotFound,
    /// Under way at the end of the run.
    Interrupted,
}

/// A procedure that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// What the user did.
    pub kind: ProcedureKind,
    /// The client, from 0 on, of all clients of the run.
    pub client: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// When it began: the instant at which the user arrived.
    pub began_ns: u64,
    /// When its last step ended; the same instant if all was in the cache.
    pub ended_ns: u64,
}

/// The steps of a procedure, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The serving gateways of the tracking area.
    Sgw,
    /// The gateways of the access point.
    Pgw,
    /// The addresses of the gateways that were selected, or the name of a `stub`.
    Last,
}

/// A question of a stage, and the way to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Followed {
    pub(crate) question: QuestionId,
    /// Which of the stage led to it.
    pub(crate) parent: Option<u32>,
    pub(crate) depth: u8,
    pub(crate) rank: Rank,
    /// For which gateways it is an address.
    pub(crate) gateways: u8,
}

/// A procedure under way.
#[derive(Debug)]
pub(crate) struct Procedure {
    pub(crate) kind: ProcedureKind,
    /// The client by its number within the worker.
    pub(crate) client: u32,
    pub(crate) began_ns: u64,
    /// The kind of its user, as in [`of_users`](crate::sets::of_users).
    pub(crate) users: u8,
    /// The question by access point.
    pub(crate) second: Option<QuestionId>,
    pub(crate) stage: Stage,
    /// How many responses it waits for.
    pub(crate) waiting: u32,
    pub(crate) unanswered: bool,
    /// What must be found in the last stage, and what was: bits of gateways.
    pub(crate) needed: u8,
    pub(crate) found: u8,
    pub(crate) sgws: Vec<Candidate>,
    pub(crate) pgws: Vec<Candidate>,
    /// What came with responses, and with entries of the cache.
    pub(crate) bundles: Vec<BundleId>,
    /// The questions of the stage, and how many of them were looked up.
    pub(crate) followed: Vec<Followed>,
    pub(crate) looked_up: usize,
    is_free: bool,
}

/// All procedures under way, by number. The memory of those that ended is used again.
#[derive(Debug, Default)]
pub(crate) struct Procedures {
    all: Vec<Procedure>,
    free: Vec<u32>,
}

impl Procedures {
    /// How many are under way.
    pub(crate) fn len(&self) -> usize {
        self.all.len() - self.free.len()
    }

    pub(crate) fn begin(&mut self, kind: ProcedureKind, client: u32, began_ns: u64) -> u32 {
        let stage = if kind == ProcedureKind::Lookup { Stage::Last } else { Stage::Sgw };
        if let Some(number) = self.free.pop() {
            let procedure = &mut self.all[number as usize];
            procedure.sgws.clear();
            procedure.pgws.clear();
            procedure.bundles.clear();
            procedure.followed.clear();
            (procedure.kind, procedure.client, procedure.began_ns) = (kind, client, began_ns);
            (procedure.users, procedure.second, procedure.stage) = (0, None, stage);
            (procedure.waiting, procedure.looked_up) = (0, 0);
            (procedure.needed, procedure.found) = (0, 0);
            (procedure.unanswered, procedure.is_free) = (false, false);
            return number;
        }
        self.all.push(Procedure {
            kind,
            client,
            began_ns,
            users: 0,
            second: None,
            stage,
            waiting: 0,
            unanswered: false,
            needed: 0,
            found: 0,
            sgws: Vec::new(),
            pgws: Vec::new(),
            bundles: Vec::new(),
            followed: Vec::new(),
            looked_up: 0,
            is_free: false,
        });
        (self.all.len() - 1) as u32
    }

    pub(crate) fn get(&self, number: u32) -> &Procedure {
        &self.all[number as usize]
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> &mut Procedure {
        &mut self.all[number as usize]
    }

    pub(crate) fn end(&mut self, number: u32) {
        self.all[number as usize].is_free = true;
        self.free.push(number);
    }

    /// The numbers of those under way.
    pub(crate) fn under_way(&self) -> Vec<u32> {
        let all = self.all.iter().enumerate();
        all.filter(|(_, procedure)| !procedure.is_free).map(|(number, _)| number as u32).collect()
    }
}
