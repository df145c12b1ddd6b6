//! The number of threads and sockets of a run: every worker has a socket and, in a closed loop, at least one query.

use std::fmt;

use dnsdyno_queries::Sources;

use crate::backend::Backend;
use crate::connections::ConnectionPlan;
use crate::draft::Draft;
use crate::error::PlanError;
use crate::kinds::TransportKind;
use crate::mix::Mix;
use crate::part::Part;
use crate::schedule::Load;
use crate::usual_workers::UsualWorkers;
use crate::values::{above_zero, limited, read_as};
use crate::worker_count::WorkerCount;

/// Threads and sockets.
pub(crate) struct Workers {
    /// Those of this process among all.
    pub(crate) part: Part,
    /// Of the whole load.
    pub(crate) clients: usize,
    /// Where the user gave no number, and nothing else limits it.
    pub(crate) usual: Option<UsualWorkers>,
    pub(crate) notes: Vec<Note>,
}

/// A change to the options of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Fewer workers than requested.
    FewerWorkers {
        /// The requested number.
        requested: usize,
        /// The actual number.
        used: usize,
        /// The option that limits it.
        limited_by: &'static str,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::FewerWorkers { requested, used, limited_by } => {
                write!(f, "{used} workers instead of {requested}: --{limited_by} is the limit")
            }
        }
    }
}

/// Over what queries are sent.
pub(crate) struct Over<'a> {
    pub(crate) backend: &'a Backend,
    pub(crate) transport: TransportKind,
    pub(crate) mix: &'a Mix,
    pub(crate) connections: &'a ConnectionPlan,
    /// Source addresses of UDP sockets, or of AF_XDP.
    pub(crate) sources: Option<&'a Sources>,
}

impl Workers {
    /// Reads them from a draft, where `usual` is the default number of workers.
    pub(crate) fn of(
        draft: &mut Draft,
        usual: UsualWorkers,
        load: &Load,
        over: &Over<'_>,
    ) -> Result<Workers, PlanError> {
        let Over { backend, transport, mix, connections, sources } = *over;
        let wanted = wanted(draft)?;
        for (option, value, most) in
            [("workers", wanted, PORTS_OF_AN_ADDRESS), ("clients", draft.clients, MAX_CLIENTS)]
        {
            if let Some(number) = above_zero(option, value)? {
                limited(option, number as u64, 1..=most as u64, |number| number.to_string())?;
            }
        }
        let window = load.window();
        let part = part(draft, wanted)?;
        // AF_XDP has a worker for each queue of the interface, if there are CPUs for them.
        let usual_workers = if backend.xdp().is_some() { usual.cpus } else { usual.workers };
        let usual_workers = usual_workers.clamp(1, PORTS_OF_AN_ADDRESS);
        let requested = part.map_or(wanted.unwrap_or(usual_workers), |part| part.of as usize);
        let (mut workers, mut notes) = (requested, Vec::new());
        // A worker sends a query in a second at the least.
        let rate_limit = match load {
            Load::Limited { most_qps, .. } => Some(*most_qps as usize),
            _ => None,
        };
        let limits = [
            ("clients", draft.clients),
            ("outstanding", window.map(|window| window as usize)),
            ("rate-limit", rate_limit),
        ];
        for (limited_by, limit) in limits {
            part.map_or(Ok(()), |part| part.check(limited_by, limit))?;
            let Some(limit) = limit.filter(|limit| *limit < workers) else { continue };
            workers = limit;
            // No note where the user gave no number.
            if wanted.is_some() {
                notes = vec![Note::FewerWorkers { requested, used: limit, limited_by }];
            }
        }
        let of_members = mix.members.iter().map(|member| &member.connections);
        let mut plans = [connections].into_iter().chain(of_members);
        let queries_each = plans.find_map(|plan| plan.queries_each.or(plan.queries_each_again));
        let servers = mix.servers().count().max(1);
        let sources = sources.filter(|_| backend.xdp().is_none());
        let of_sources = sources.map(|sources| sources.usual_clients().min(MOST_SOURCES) as usize);
        let usual_clients = of_sources.unwrap_or_else(|| match (backend.xdp(), queries_each, window) {
            (Some(_), ..) => XDP_CLIENTS.max(workers),
            // A short-lived connection carries few queries at once: each query of the window may need its own.
            (None, Some(_), Some(window)) => (window as usize).clamp(workers, PORTS_OF_AN_ADDRESS),
            (None, Some(_), None) => SHORT_LIVED_CLIENTS.max(workers),
            // Not fewer because of fewer workers: a server, each of several, spreads them over its threads.
            (None, None, _) => {
                let each = window.map_or(usual.cpus, |window| usual.cpus.min(window as usize)).max(workers);
                (servers * each).min(PORTS_OF_AN_ADDRESS)
            }
        });
        let clients = draft.clients.unwrap_or(usual_clients.max(workers));
        let is_usual =
            wanted.is_none() && part.is_none() && backend.xdp().is_none() && usual.workers == workers;
        let usual = is_usual.then_some(usual);
        check_window(window.unwrap_or(0), workers, clients, servers, transport)?;
        let part = part.unwrap_or(Part::whole(workers));
        draft.workers = Some(WorkerCount::Number(part.workers as usize));
        draft.clients = Some(clients);
        Ok(Workers { part, clients, usual, notes })
    }
}

/// Sockets of many source addresses, where nothing is said: each is an open file.
const MOST_SOURCES: u64 = 65_536;

/// The number that the draft asks for.
fn wanted(draft: &Draft) -> Result<Option<usize>, PlanError> {
    match draft.workers {
        None => Ok(None),
        Some(WorkerCount::Number(number)) => Ok(Some(number)),
        Some(WorkerCount::Auto) => {
            Err(PlanError::Unusable { option: "workers", sentence: NOT_MEASURED.to_owned() })
        }
    }
}

/// A number that is found by trials is not known here.
const NOT_MEASURED: &str = "auto needs trials, which only `dnsdyno run` on this host makes: write a number, such as \
                            the one that it finds";

/// The part of the load, if the user wants only one; it says how many workers this process has.
fn part(draft: &Draft, wanted: Option<usize>) -> Result<Option<Part>, PlanError> {
    let part = read_as("part", &draft.part, Part::parse, PART)?;
    match part.zip(wanted).filter(|(part, workers)| part.workers as usize != *workers) {
        None => Ok(part),
        Some((part, workers)) => Err(PlanError::Unusable {
            option: "part",
            sentence: format!(
                "{part} is {} workers, and --workers {workers} says otherwise: remove it",
                part.workers
            ),
        }),
    }
}

const PART: &str = "a part of a load: write WORKER/ALL or FIRST-LAST/ALL, such as 1/3 or 2-3/3";

/// Refuses a window that is larger than the number of message IDs of the sockets.
fn check_window(
    outstanding: u32,
    workers: usize,
    clients: usize,
    servers: usize,
    transport: TransportKind,
) -> Result<(), PlanError> {
    // Each worker has its share of the window and of the sockets; with clients, each worker has one socket. The whole
    // window may wait for one of several servers.
    let share = outstanding.div_ceil(workers as u32) as usize;
    let has_both = transport.has_udp() && transport.connects();
    let sockets = if has_both { 1 } else { (clients / workers / servers).max(1) };
    if share <= sockets * IDS_PER_SOCKET {
        return Ok(());
    }
    if has_both {
        let most = (workers * IDS_PER_SOCKET) as u64;
        limited("outstanding", u64::from(outstanding), 1..=most, |number| number.to_string())?;
    }
    let needed = workers * servers * share.div_ceil(IDS_PER_SOCKET);
    Err(PlanError::TooManyOutstanding { outstanding, clients, needed })
}

/// A message ID has 16 bits.
const IDS_PER_SOCKET: usize = 1 << 16;

/// Source ports of AF_XDP: enough for a network card, or a server with a socket per CPU, to distribute the queries
/// evenly over some tens of queues.
const XDP_CLIENTS: usize = 256;

/// Clients with short-lived connections where only a rate is given: so many queries may be outstanding.
const SHORT_LIVED_CLIENTS: usize = 1_000;

/// Each socket needs a port of its own; where the user says nothing, all have one address.
const PORTS_OF_AN_ADDRESS: usize = 65_535;

/// Clients that a user may ask for: with several addresses, here or of servers, the same port serves several of them.
const MAX_CLIENTS: usize = 1 << 20;
