//! The clients of all kinds of one worker, as one source of queries.
//!
//! The number of a query is that of its kind, of which the remainder says which kind it is; the number of a client is
//! that of its kind behind those of the kinds before it.

use dnsdyno_measure::CachingClients;

use crate::clients::{Ask, Clients};
use crate::kinds::CheckedKinds;
use crate::procedure::Ended;
use crate::share::Share;

/// The clients of one worker. The calls are those of [`Clients`].
#[derive(Debug)]
pub struct Population {
    kinds: Vec<Kind>,
}

#[derive(Debug)]
struct Kind {
    clients: Clients,
    /// The number of its first client. A multiple of the number of workers, so that each client stays with its worker.
    first_client: u32,
    /// What was counted of it since [`Population::take_counts`].
    counts: CachingClients,
}

impl Population {
    /// The clients of a worker, as [`Clients::new`].
    pub fn new(checked: &CheckedKinds, share: Share, seed: u64, start_ns: u64) -> Self {
        let workers = share.workers.max(1);
        let mut first_client = 0_u32;
        let mut kinds = Vec::new();
        for (number, kind) in (0_u64..).zip(checked.kinds()) {
            let seed = seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let clients = Clients::new(kind, share, seed, start_ns);
            kinds.push(Kind { clients, first_client, counts: CachingClients::default() });
            let next = kind.description().clients.div_ceil(workers).saturating_mul(workers);
            first_client = first_client.saturating_add(next);
        }
        Population { kinds }
    }

    /// How many kinds there are.
    pub fn kinds(&self) -> usize {
        self.kinds.len()
    }

    /// As [`Clients::next_event_ns`], of all kinds.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.kinds.iter().filter_map(|kind| kind.clients.next_event_ns()).min()
    }

    /// As [`Clients::next_ask`]: the kind whose next event is earliest comes first.
    pub fn next_ask(&mut self, now_ns: u64) -> Option<Ask> {
        let number = self.kinds.len() as u32;
        for _ in 0..number {
            let due = |kind: &Kind| kind.clients.next_event_ns().filter(|at_ns| *at_ns <= now_ns);
            let first = (0_u32..).zip(&mut self.kinds).filter_map(|(at, kind)| Some((due(kind)?, at, kind)));
            let (_, at, kind) = first.min_by_key(|(due_ns, at, _)| (*due_ns, *at))?;
            if let Some(ask) = kind.clients.next_ask(now_ns) {
                return Some(Ask { id: ask.id * number + at, client: kind.first_client + ask.client, ..ask });
            }
        }
        None
    }

    /// As [`Clients::count_sent`].
    pub fn count_sent(&mut self, ask: &Ask) {
        if let Some((kind, _)) = self.kind_mut(ask.id) {
            kind.clients.count_sent(ask);
        }
    }

    /// As [`Clients::question`].
    pub fn question(&self, id: u32) -> &[u8] {
        let number = self.kinds.len().max(1) as u32;
        let kind = self.kinds.get((id % number) as usize);
        kind.map_or(&[], |kind| kind.clients.question(id / number))
    }

    /// As [`Clients::answered`].
    pub fn answered(&mut self, id: u32, at_ns: u64, message: &[u8]) {
        if let Some((kind, id)) = self.kind_mut(id) {
            kind.clients.answered(id, at_ns, message);
        }
    }

    /// As [`Clients::failed`].
    pub fn failed(&mut self, id: u32) {
        if let Some((kind, id)) = self.kind_mut(id) {
            kind.clients.failed(id);
        }
    }

    /// As [`Clients::finish`].
    pub fn finish(&mut self, at_ns: u64) {
        self.kinds.iter_mut().for_each(|kind| kind.clients.finish(at_ns));
    }

    /// Takes what each kind has counted and the procedures that ended since the last call, and adds to the counts how
    /// many entries its caches have now. `note` is told of each procedure, to add its time.
    pub fn take_counts(
        &mut self,
        note: impl Fn(&mut CachingClients, &Ended),
    ) -> impl Iterator<Item = &CachingClients> {
        for Kind { clients, counts, .. } in &mut self.kinds {
            *counts = clients.take_counts();
            clients.ended().for_each(|ended| note(counts, &ended));
            counts.entries += clients.entries() as u64;
        }
        self.kinds.iter().map(|kind| &kind.counts)
    }

    fn kind_mut(&mut self, id: u32) -> Option<(&mut Kind, u32)> {
        let number = self.kinds.len().max(1) as u32;
        self.kinds.get_mut((id % number) as usize).map(|kind| (kind, id / number))
    }
}
