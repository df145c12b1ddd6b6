//! How a procedure comes to its gateways: from record to record, through all branches, stage by stage.
//!
//! The stages of an attach are: the serving gateways of the tracking area, the gateways of the access point, and the
//! addresses of the pair that was selected. A pair is selected from full lists, so every branch that leads to a gateway
//! is followed; but the addresses of gateways that are not taken are never needed. In the load that the carrier
//! measured, 98 of 100 queries were for NAPTR: SRV and addresses came in additional sections, so a client takes them
//! from there before it asks (`lookups.additional`).

use std::collections::VecDeque;

use dnsdyno_measure::{CachingClients, LookupStep, ProcedureKind};
use dnsdyno_wire::{TYPE_A, TYPE_AAAA, TYPE_NAPTR, TYPE_SRV};
use rand::rngs::Xoshiro256PlusPlus;

use crate::asks::{Asks, Waiter};
use crate::cache::{Cache, Found, Stored};
use crate::description::{Count, Lookups};
use crate::ids::{BundleId, NameId, QuestionId, SetId};
use crate::procedure::{Ended, Followed, Outcome, Procedures, Stage};
use crate::repeated::Responses;
use crate::selection::{Candidate, Rank, Selection};
use crate::sets::{Known, PGW, RecordKind, SGW, of_users};
use crate::share::Share;

/// A chain of records longer than this is not followed. Two NAPTR and one SRV are usual.
const MOST_DEPTH: u8 = 8;

/// A stage has no more questions than this: one response can have thousands of records that lead on.
const MOST_BRANCHES: usize = 1_024;

/// A procedure selects from no more gateways of a kind than this: each response can name thousands.
const MOST_CANDIDATES: usize = 16_384;

/// The procedures under way, what they ask and what they know.
#[derive(Debug)]
pub(crate) struct Resolution {
    pub(crate) share: Share,
    pub(crate) lookups: Lookups,
    pub(crate) count: Count,
    pub(crate) known: Known,
    pub(crate) responses: Responses,
    pub(crate) cache: Cache,
    pub(crate) selection: Selection,
    pub(crate) random: Xoshiro256PlusPlus,
    pub(crate) procedures: Procedures,
    pub(crate) asks: Asks,
    /// Questions to be sent, in order.
    pub(crate) ready: VecDeque<u32>,
    pub(crate) ended: Vec<Ended>,
    pub(crate) counts: CachingClients,
}

impl Resolution {
    /// Starts the first stage of a procedure.
    pub(crate) fn start(&mut self, number: u32, question: QuestionId, at_ns: u64) {
        let procedure = self.procedures.get_mut(number);
        if procedure.kind == ProcedureKind::Lookup {
            procedure.needed = SGW;
        }
        let gateways = of_users(SGW, self.procedures.get(number).users);
        self.follow_from_start(number, question, gateways);
        self.go_on(number, at_ns);
    }

    /// Gives the response to one who waits for it.
    pub(crate) fn resolve(&mut self, waiter: Waiter, question: QuestionId, bundle: BundleId, at_ns: u64) {
        let procedure = self.procedures.get_mut(waiter.procedure);
        procedure.waiting -= 1;
        procedure.bundles.push(bundle);
        if let Some(set) = self.known.sets.find(bundle, question) {
            self.apply(waiter.procedure, waiter.followed, set);
        }
        self.go_on(waiter.procedure, at_ns);
    }

    /// Looks up what the procedure has come to, and goes on to the next stage when one is complete.
    pub(crate) fn go_on(&mut self, number: u32, at_ns: u64) {
        loop {
            self.look_up_all(number, at_ns);
            let procedure = self.procedures.get(number);
            if procedure.waiting > 0 {
                return;
            }
            let stage = procedure.stage;
            let went_on = match stage {
                Stage::Sgw => self.end_sgw(number),
                Stage::Pgw => self.end_pgw(number),
                Stage::Last => self.take_next(number),
            };
            if !went_on {
                let procedure = self.procedures.get(number);
                let is_done = procedure.stage == Stage::Last && procedure.found == procedure.needed;
                let outcome = match (is_done, procedure.unanswered) {
                    (true, _) => Outcome::Done,
                    (false, true) => Outcome::Unanswered,
                    (false, false) => Outcome::NotFound,
                };
                return self.end(number, outcome, at_ns);
            }
        }
    }

    /// Ends a procedure.
    pub(crate) fn end(&mut self, number: u32, outcome: Outcome, at_ns: u64) {
        let procedure = self.procedures.get(number);
        let kind = procedure.kind;
        let client = self.share.global(procedure.client);
        self.ended.push(Ended { kind, client, outcome, began_ns: procedure.began_ns, ended_ns: at_ns });
        let counter = match outcome {
            Outcome::Done => &mut self.counts.done,
            Outcome::Unanswered | Outcome::NotFound => &mut self.counts.failed,
            Outcome::Interrupted => &mut self.counts.interrupted,
        };
        counter.add(kind, 1);
        self.procedures.end(number);
    }

    /// Stores what a response of so many octets says. Where a whole response is an entry, it lasts as long as the
    /// shortest of its TTLs; else each of its sets is an entry of its own.
    pub(crate) fn store(&mut self, asked: (u32, QuestionId), bundle: BundleId, octets: usize, at_ns: u64) {
        let (cache, counts, held) = (&mut self.cache, &mut self.counts, self.responses.held());
        if self.count.is_whole_response() {
            let ttl_s = held.iter().map(|held| held.ttl_s).min().unwrap_or(0);
            let octets = u32::try_from(octets).unwrap_or(u32::MAX);
            let takes = if self.count == Count::Octets { octets } else { 1 };
            cache.put(asked, Stored { value: bundle.0, ttl_s, takes }, at_ns, counts);
            return;
        }
        for held in held {
            let takes = if self.count == Count::Records { held.records.max(1) } else { 1 };
            let stored = Stored { value: held.set.0, ttl_s: held.ttl_s, takes };
            cache.put((asked.0, held.question), stored, at_ns, counts);
        }
    }

    fn end_sgw(&mut self, number: u32) -> bool {
        let procedure = self.procedures.get_mut(number);
        if procedure.sgws.is_empty() {
            return false;
        }
        if let Some(second) = procedure.second {
            procedure.stage = Stage::Pgw;
            let gateways = of_users(PGW, procedure.users);
            self.follow_from_start(number, second, gateways);
            return true;
        }
        let selected = self.selection.one(&procedure.sgws, &mut self.random);
        selected.is_some_and(|sgw| self.look_for(number, &[(sgw, SGW)]))
    }

    fn end_pgw(&mut self, number: u32) -> bool {
        let procedure = self.procedures.get_mut(number);
        let (names, random) = (&mut self.known.names, &mut self.random);
        match self.selection.pair(&procedure.sgws, &procedure.pgws, names, random) {
            Some((sgw, pgw)) if sgw == pgw => self.look_for(number, &[(sgw, SGW | PGW)]),
            Some((sgw, pgw)) => self.look_for(number, &[(sgw, SGW), (pgw, PGW)]),
            None => false,
        }
    }

    /// Selects again, without the gateways for which there is no address. One for which nobody answered is not passed
    /// over, because the others have the same servers.
    fn take_next(&mut self, number: u32) -> bool {
        let procedure = self.procedures.get_mut(number);
        let missing = procedure.needed & !procedure.found;
        if missing == 0 || procedure.unanswered || procedure.kind == ProcedureKind::Lookup {
            return false;
        }
        for without in procedure.followed.iter().filter(|followed| followed.gateways & missing != 0) {
            let host = self.known.names.name_of(without.question);
            procedure.sgws.retain(|candidate| without.gateways & SGW == 0 || candidate.host != host);
            procedure.pgws.retain(|candidate| without.gateways & PGW == 0 || candidate.host != host);
        }
        procedure.found = 0;
        self.counts.passed_over += 1;
        if procedure.second.is_some() { self.end_pgw(number) } else { self.end_sgw(number) }
    }

    /// Starts the last stage: one address of each gateway is needed, and all that are looked up are asked for.
    fn look_for(&mut self, number: u32, hosts: &[(NameId, u8)]) -> bool {
        let procedure = self.procedures.get_mut(number);
        let other = usize::from(procedure.users).checked_sub(1).and_then(|at| self.lookups.others.get(at));
        let (ipv4, ipv6) =
            other.map_or((self.lookups.ipv4, self.lookups.ipv6), |users| (users.ipv4, users.ipv6));
        let types = [(ipv4, TYPE_A), (ipv6, TYPE_AAAA)];
        procedure.stage = Stage::Last;
        procedure.followed.clear();
        procedure.looked_up = 0;
        for (host, gateways) in hosts {
            procedure.needed |= gateways;
            for (_, qtype) in types.iter().filter(|(wanted, _)| *wanted) {
                let question = self.known.names.question(*host, *qtype);
                let followed =
                    Followed { question, parent: None, depth: 0, rank: Rank::default(), gateways: *gateways };
                procedure.followed.push(followed);
            }
        }
        true
    }

    fn follow_from_start(&mut self, number: u32, question: QuestionId, gateways: u8) {
        let procedure = self.procedures.get_mut(number);
        procedure.followed.clear();
        procedure.looked_up = 0;
        let followed = Followed { question, parent: None, depth: 0, rank: Rank::default(), gateways };
        procedure.followed.push(followed);
    }

    /// Looks up the questions that the stage has come to, and those that they lead to.
    fn look_up_all(&mut self, number: u32, at_ns: u64) {
        loop {
            let procedure = self.procedures.get_mut(number);
            let Some(followed) = procedure.followed.get(procedure.looked_up) else { return };
            let (index, question) = (procedure.looked_up as u32, followed.question);
            procedure.looked_up += 1;
            if let Some(set) = self.look_up(number, index, question, at_ns) {
                self.apply(number, index, set);
            }
        }
    }

    /// What is known of a question: from what the procedure has, from the cache; else it is asked.
    fn look_up(&mut self, number: u32, index: u32, question: QuestionId, at_ns: u64) -> Option<SetId> {
        let procedure = self.procedures.get_mut(number);
        let sets = &self.known.sets;
        if let Some(set) = procedure.bundles.iter().rev().find_map(|bundle| sets.find(*bundle, question)) {
            self.counts.brought += 1;
            return Some(set);
        }
        let client = procedure.client;
        let found = self.cache.get(client, question, at_ns, &mut self.counts);
        if let Found::Valid(value) = found {
            self.counts.hits += 1;
            if self.count.is_whole_response() {
                procedure.bundles.push(BundleId(value));
                return sets.find(BundleId(value), question);
            }
            return Some(SetId(value));
        }
        procedure.waiting += 1;
        let id = match self.asks.find(client, question) {
            Some(id) => {
                self.counts.joined += 1;
                id
            }
            None => {
                self.counts.misses += 1;
                self.counts.misses_evicted += u64::from(found == Found::Evicted);
                let (kind, step) = (procedure.kind, self.step(number, index, question));
                let id = self.asks.add(client, question, kind, step, at_ns);
                self.ready.push_back(id);
                id
            }
        };
        self.asks.wait(id, number, index);
        None
    }

    fn step(&self, number: u32, index: u32, question: QuestionId) -> LookupStep {
        let procedure = self.procedures.get(number);
        match self.known.names.type_of(question) {
            _ if procedure.kind == ProcedureKind::Lookup => LookupStep::Name,
            TYPE_NAPTR if index > 0 => LookupStep::NextNaptr,
            TYPE_NAPTR if procedure.stage == Stage::Sgw => LookupStep::TacNaptr,
            TYPE_NAPTR => LookupStep::ApnNaptr,
            TYPE_SRV => LookupStep::Srv,
            TYPE_AAAA => LookupStep::Aaaa,
            _ => LookupStep::A,
        }
    }

    /// Takes what a set says: candidates, addresses, and questions that follow.
    fn apply(&mut self, number: u32, index: u32, set: SetId) {
        let records = self.known.sets.records(set).len();
        let procedure = self.procedures.get_mut(number);
        let Some(from) = procedure.followed.get(index as usize).copied() else { return };
        if procedure.stage == Stage::Last {
            if records > 0 {
                procedure.found |= from.gateways;
            }
            return;
        }
        for at in 0..records {
            let Some(record) = self.known.sets.records(set).get(at).copied() else { return };
            let rank = from.rank.then(from.depth, record.order, record.preference);
            let is_wanted = record.gateways & from.gateways != 0;
            match record.kind {
                RecordKind::Host if is_wanted => self.add_candidate(number, record.target, rank, 1),
                RecordKind::Service if is_wanted => self.follow(number, index, record.target, TYPE_SRV, rank),
                RecordKind::Next if is_wanted => self.follow(number, index, record.target, TYPE_NAPTR, rank),
                // The root as a target: the service is not there (RFC 2782).
                RecordKind::Server if self.known.names.labels(record.target) > 0 => {
                    // The weight of SRV is no preference.
                    let rank = from.rank.then(from.depth, record.order, 0);
                    self.add_candidate(number, record.target, rank, record.preference);
                }
                _ => {}
            }
        }
    }

    fn add_candidate(&mut self, number: u32, host: NameId, rank: Rank, weight: u16) {
        let procedure = self.procedures.get_mut(number);
        let list = if procedure.stage == Stage::Sgw { &mut procedure.sgws } else { &mut procedure.pgws };
        if list.len() >= MOST_CANDIDATES {
            self.counts.bounded += 1;
            return;
        }
        list.push(Candidate { host, rank, weight });
    }

    /// Adds a question that a record leads to. One on the way to it is a loop; one on another way is known already.
    fn follow(&mut self, number: u32, parent: u32, target: NameId, qtype: u16, rank: Rank) {
        let question = self.known.names.question(target, qtype);
        let procedure = self.procedures.get_mut(number);
        let Some(from) = procedure.followed.get(parent as usize).copied() else { return };
        if procedure.followed.iter().any(|other| other.question == question) {
            let mut way = Some(from);
            while let Some(above) = way {
                if above.question == question {
                    self.counts.loops += 1;
                    return;
                }
                way = above.parent.and_then(|parent| procedure.followed.get(parent as usize).copied());
            }
            return;
        }
        if from.depth >= MOST_DEPTH || procedure.followed.len() >= MOST_BRANCHES {
            self.counts.bounded += 1;
            return;
        }
        let followed =
            Followed { question, parent: Some(parent), depth: from.depth + 1, rank, gateways: from.gateways };
        procedure.followed.push(followed);
    }
}
