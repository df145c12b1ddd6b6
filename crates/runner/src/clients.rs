//! Simulated clients with caches as the source of a run: their queries for the engine, and what they count for the
//! record.

use std::sync::Arc;

use dnsdyno_clients::{Ask, Checked, CheckedKinds, Ended, Names, Outcome, Population, RetryServer, Share};
use dnsdyno_engine::{ClientModel, ClientModels, Control, Upcoming};
use dnsdyno_measure::{Arrivals, CachingClients};
use dnsdyno_plan::Plan;
use dnsdyno_queries::{Loaded, QuerySource};
use dnsdyno_record::Header;
use dnsdyno_transport::{Description, Kind as TransportKind};
use dnsdyno_wire::{QUESTION_FIXED_LEN, QueryForm, TYPE_A, TYPE_AAAA, TYPE_NAPTR, TYPE_SRV};

use crate::error::RunError;
use crate::load::{load, unless_stopped};
use crate::observer::Observer;
use crate::sockets::most_clients;

/// Clients that are ready to start.
pub(crate) struct SimulatedClients {
    /// The plan with the number of sockets.
    pub(crate) plan: Plan,
    /// What procedures begin with: the server is checked with it.
    pub(crate) first: Loaded,
    checked: Arc<CheckedKinds>,
}

impl SimulatedClients {
    /// Those of a plan, if they are its source. Each client gets a socket of its own, as far as there are ports and
    /// files.
    pub(crate) fn of(
        plan: &Plan,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Option<SimulatedClients>, RunError> {
        let QuerySource::Clients(source) = &plan.source else { return Ok(None) };
        let its = source.clone();
        let checked = Arc::new(unless_stopped(control, || (), move || its.open())??);
        let mut plan = plan.clone();
        if !source.has_sockets {
            let least = plan.part.of as usize;
            let most = most_clients(&plan).max(least);
            plan.clients = (checked.clients() as usize).clamp(least, most);
        }
        let first = load(&plan, control, observer)?;
        Ok(Some(SimulatedClients { plan, first, checked }))
    }

    /// Gives each client a socket, or a connection.
    pub(crate) fn seat(&self, kind: TransportKind, description: &mut Description) {
        if kind == TransportKind::Xdp {
            description.xdp.longest_message = LONGEST_QUERY;
            return;
        }
        let clients = self.plan.part.share(self.plan.clients);
        description.clients = clients;
        for member in &mut description.members {
            let parts = [Some(&mut member.first), member.fallback.as_mut()];
            parts.into_iter().flatten().for_each(|part| part.description.clients = clients);
        }
    }

    /// What the record says of the source.
    pub(crate) fn describe(&self, header: &mut Header) {
        let one = |(at, kind): (usize, &Checked)| {
            let description = kind.description();
            let (clients, size) = (description.clients, description.cache.entries);
            let counted_in = description.cache.count.words();
            let name = self.checked.names().get(at).map_or(String::new(), |name| format!(" {name}"));
            format!("{clients}{name} clients, each with a cache of {size} {counted_in}")
        };
        let kinds: Vec<String> = self.checked.kinds().iter().enumerate().map(one).collect();
        header.load = format!("what is needed by {}", kinds.join("; by "));
        header.client_kinds = self.checked.names().to_vec();
        header.types = self.types();
        header.udp_sockets = None;
    }

    /// What clients ask for, in the order of the slots of types.
    fn types(&self) -> Vec<u16> {
        let mut types = Vec::new();
        for kind in self.checked.kinds() {
            let of_kind = match kind.description().names {
                Names::Epc(_) => &[TYPE_NAPTR, TYPE_SRV, TYPE_A, TYPE_AAAA][..],
                Names::Stub(_) => self.first.queries.types(),
            };
            types.extend(of_kind.iter().filter(|rtype| !types.contains(*rtype)).copied().collect::<Vec<_>>());
        }
        types
    }

    /// The clients of each worker of the plan of the run.
    pub(crate) fn models(&self, plan: &Plan) -> ClientModels {
        let (types, checked) = (self.types(), self.checked.clone());
        let (part, seed, form) = (plan.part, plan.seed, plan.form);
        let end_ns = plan.stop.duration_ns.unwrap_or(u64::MAX);
        let members = plan.mix.members.len() as u32;
        ClientModels::new(types.clone(), move |own| {
            let (worker, workers) = (part.worker(own), part.of);
            let share = Share { worker, workers };
            Box::new(Model {
                clients: Population::new(&checked, share, seed.wrapping_add(u64::from(worker)), 0),
                servers: checked.kinds().iter().map(|kind| kind.description().retries.server).collect(),
                members,
                form,
                types: types.clone(),
                end_ns,
                next: None,
                number: u64::from(worker),
                workers: u64::from(workers),
                sent: Vec::new(),
            })
        })
    }
}

/// The clients of a worker, as the engine asks them.
struct Model {
    clients: Population,
    /// Which server is asked, by kind of client, of so many.
    servers: Vec<RetryServer>,
    members: u32,
    form: QueryForm,
    types: Vec<u16>,
    /// Nothing is asked at this instant or later.
    end_ns: u64,
    next: Option<Ask>,
    /// The number of the next query in the run; those of a worker are `workers` apart.
    number: u64,
    workers: u64,
    /// By the number of an ask.
    sent: Vec<Sent>,
}

/// A query that was taken.
#[derive(Clone, Default)]
struct Sent {
    client: u32,
    type_slot: u8,
    member: Option<u8>,
    message: Vec<u8>,
}

impl Model {
    fn sent(&self, query: u32) -> Option<&Sent> {
        self.sent.get(query as usize)
    }
}

impl ClientModel for Model {
    fn upcoming(&mut self, now_ns: u64) -> Upcoming {
        if self.next.is_none() {
            self.next = self.clients.next_ask(now_ns.min(self.end_ns.saturating_sub(1)));
        }
        match &self.next {
            Some(ask) => Upcoming::Query { due_ns: ask.due_ns, number: self.number },
            None if now_ns >= self.end_ns => Upcoming::Over,
            None => {
                let next_ns = self.clients.next_event_ns().unwrap_or(u64::MAX);
                Upcoming::NotYet { known_to_ns: next_ns.min(self.end_ns) }
            }
        }
    }

    fn take_next(&mut self) -> u32 {
        let Some(ask) = self.next.take() else { return 0 };
        self.clients.count_sent(&ask);
        self.number += self.workers;
        let place = ask.id as usize;
        if self.sent.len() <= place {
            self.sent.resize(place + 1, Sent::default());
        }
        let question = self.clients.question(ask.id);
        let (name, fixed) = question.split_at(question.len().saturating_sub(QUESTION_FIXED_LEN));
        let qtype = fixed.first_chunk().map_or(0, |qtype| u16::from_be_bytes(*qtype));
        if let Some(sent) = self.sent.get_mut(place) {
            sent.client = ask.client;
            let kind = place % self.servers.len().max(1);
            let server = self.servers.get(kind).and_then(|one| one.of(ask.client, ask.retry, self.members));
            sent.member = server.and_then(|server| u8::try_from(server).ok());
            sent.type_slot = self.types.iter().position(|known| *known == qtype).unwrap_or(0) as u8;
            sent.message.clear();
            self.form.encode(name, qtype, &mut sent.message);
        }
        ask.id
    }

    fn message(&self, query: u32) -> &[u8] {
        self.sent(query).map_or(&[], |sent| &sent.message)
    }

    fn question(&self, query: u32) -> &[u8] {
        self.clients.question(query)
    }

    fn client(&self, query: u32) -> u32 {
        self.sent(query).map_or(0, |sent| sent.client)
    }

    fn type_slot(&self, query: u32) -> u8 {
        self.sent(query).map_or(0, |sent| sent.type_slot)
    }

    fn member(&self, query: u32) -> Option<u8> {
        self.sent(query).and_then(|sent| sent.member)
    }

    fn ended(&mut self, query: u32, at_ns: u64, response: Option<&[u8]>) {
        match response {
            Some(message) => self.clients.answered(query, at_ns, message),
            None => self.clients.failed(query),
        }
    }

    fn count(&mut self, counts: &mut Arrivals, now_ns: u64, is_end: bool) {
        if is_end {
            self.clients.finish(now_ns);
        }
        let number = self.clients.kinds();
        for (at, of_kind) in self.clients.take_counts(add_time).enumerate() {
            let all = counts.clients_mut();
            let entries = all.entries;
            all.merge_in_time(of_kind);
            all.entries = entries + of_kind.entries;
            if number > 1
                && let Some(kind) = counts.client_kinds_mut(number).get_mut(at)
            {
                kind.merge_in_time(of_kind);
            }
        }
    }
}

/// Adds the time of a procedure that found what it looked for.
fn add_time(counts: &mut CachingClients, ended: &Ended) {
    if ended.outcome == Outcome::Done {
        counts.time_mut(ended.kind).record(ended.ended_ns.saturating_sub(ended.began_ns));
    }
}

/// Octets of the longest query: the longest name, and EDNS.
const LONGEST_QUERY: usize = 320;
