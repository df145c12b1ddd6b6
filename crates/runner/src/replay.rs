//! Prepares the replay of a capture: reads it once, where that is possible, to know its clients and types; gives each
//! client a socket or connection; and starts the thread that feeds the workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use dnsdyno_engine::{Control, FeedConfig, Feeds};
use dnsdyno_plan::replay::Roster;
use dnsdyno_plan::{Load, Plan};
use dnsdyno_queries::replay::{QueryReader, Scan, USUAL_TYPES};
use dnsdyno_queries::{Full, Loaded, Own, QueriesBuilder, SourceError};
use dnsdyno_record::{Ended, Header, Sum};
use dnsdyno_transport::{Description, Kind};
use dnsdyno_wire::{QueryForm, TYPE_NS};

use crate::error::RunError;
use crate::feeder::{Fed, Feeder, WaitsForReady, ready};
use crate::load::unless_stopped;
use crate::observer::{Note, Observer};
use crate::sockets::most_clients;

/// A replay that is ready to start.
pub(crate) struct Replay {
    /// The plan with the number of clients.
    pub(crate) plan: Plan,
    /// The first query, with which the server is checked.
    pub(crate) first: Loaded,
    seats: Vec<u32>,
    scan: Option<Scan>,
}

impl Replay {
    /// Reads the capture once, unless the number of clients was given or it is standard input.
    pub(crate) fn prepare(
        plan: &Plan,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Replay, RunError> {
        let mut plan = plan.clone();
        let is_read_once = plan.replay.file.is_none() || plan.replay.has_clients;
        let scanned = if is_read_once { None } else { Some(scan(&plan, control, observer)?) };
        let (scan, clients) = scanned.unzip();
        let found = clients.as_ref().map(|clients| clients.iter().map(|of_member| *of_member as usize).sum());
        let wanted = match found {
            Some(found) => found,
            None if plan.replay.has_clients => plan.clients,
            None => UNCOUNTED_CLIENTS,
        };
        let most = most_clients(&plan);
        let least = plan.part.of as usize;
        plan.clients = wanted.clamp(least, most.max(least));
        let seats = seats(&plan, clients.as_deref());
        let shared = found.filter(|found| *found > plan.clients);
        observer.note(&Note::Replay {
            queries: scan.as_ref().map(|scan| scan.queries),
            lasts_ns: scan.as_ref().map(|scan| scan.lasted_ns),
            clients: plan.clients,
            shared_by: shared,
            is_counted: scan.is_some() || plan.replay.has_clients,
        });
        let first = first_query(&plan, control)?;
        Ok(Replay { plan, first, seats, scan })
    }

    /// Gives each member of a mix, or the one transport, a socket or connection for each of its clients.
    pub(crate) fn seat(&self, kind: Kind, description: &mut Description) {
        if kind == Kind::Xdp {
            let longest = self.scan.as_ref().map_or(LONGEST_UNREAD, |scan| scan.longest_bytes);
            description.xdp.longest_message = longest;
            return;
        }
        let all = |number: usize| self.seats.get(number).map_or(1, |seats| *seats as usize);
        let seats = |number: usize| self.plan.part.share(all(number));
        description.clients = description.clients.max(seats(0));
        if description.members.is_empty() {
            description.clients = seats(0);
        }
        for (number, member) in description.members.iter_mut().enumerate() {
            let parts = [Some(&mut member.first), member.fallback.as_mut()];
            parts.into_iter().flatten().for_each(|part| part.description.clients = seats(number));
        }
    }

    /// What the record says of the source.
    pub(crate) fn describe(&self, header: &mut Header) {
        let speed = self.plan.replay.speed;
        if self.plan.load == Load::OfSource {
            let speed = if speed == 1.0 { String::new() } else { format!(", {speed} times as fast") };
            header.load = format!("replay with the timing of the capture{speed}");
        }
        header.types = self.types();
        header.queries = self.scan.as_ref().map_or(0, |scan| scan.queries);
        header.queries_hash = self.scan.as_ref().map(|scan| scan.hash.clone());
        header.udp_sockets = None;
    }

    /// When the last query is due, where that is known.
    pub(crate) fn end_of_schedule_ns(&self) -> Option<u64> {
        let stop = &self.plan.stop;
        let pass_ns = (self.scan.as_ref()?.lasted_ns as f64 / self.plan.replay.speed) as u64;
        let by_passes_ns = stop.passes.map(|passes| pass_ns.saturating_mul(passes));
        [by_passes_ns, stop.duration_ns].into_iter().flatten().min()
    }

    fn types(&self) -> Vec<u16> {
        self.scan.as_ref().map_or_else(|| USUAL_TYPES.to_vec(), |scan| scan.types.clone())
    }

    /// Starts to read. `plan` is that of the run, with the numbers that are known after opening.
    pub(crate) fn start(
        &self,
        plan: &Plan,
        control: &Control,
        stops_time: bool,
    ) -> Result<Feeding, RunError> {
        let reader = open(plan, control)?;
        let seats = match plan.backend.xdp() {
            Some(_) => vec![plan.clients as u32],
            None => self.seats.clone(),
        };
        let types = self.types();
        let config = FeedConfig { types: types.clone(), has_clients: true, maker: None, stops_time };
        let (feeds, ins) = Feeds::new(config, plan.workers);
        let length = self.scan.as_ref().map(|scan| scan.queries);
        let feeder = Feeder::new(plan, reader, types, seats, length);
        let (ready, wait) = ready();
        let (sender, fed) = channel();
        // Not a scoped thread: a reader that waits for standard input must not hold up the end of the run.
        let thread = std::thread::Builder::new().name("feeder".to_owned());
        thread.spawn(move || drop(sender.send(feeder.feed(ins, ready)))).map_err(RunError::Thread)?;
        Ok(Feeding { feeds, wait, fed })
    }
}

/// A capture that is being read.
pub(crate) struct Feeding {
    pub(crate) feeds: Feeds,
    wait: WaitsForReady,
    fed: Receiver<Fed>,
}

impl Feeding {
    /// Waits until the workers have their first queries.
    pub(crate) fn wait(&self) {
        self.wait.wait();
    }

    /// Adds to the sum what was read.
    pub(crate) fn finish(self, plan: &Plan, sum: &mut Sum) {
        drop(self.feeds);
        let Ok(fed) = self.fed.recv_timeout(LAST_READ) else { return };
        sum.replay = Some(fed.counts);
        sum.passes = fed.passes;
        let own_count = plan.stop.count.map(|count| plan.part.queries_before(count));
        match (fed.error, &sum.ended) {
            (Some(why), Ended::ByTime | Ended::ByCount | Ended::ByPasses) => {
                sum.ended = Ended::Failed { why }
            }
            (None, Ended::ByTime) if own_count == Some(sum.tally.scheduled) => sum.ended = Ended::ByCount,
            (None, Ended::ByTime) if plan.stop.duration_ns.is_none() => sum.ended = Ended::ByPasses,
            _ => {}
        }
    }
}

/// Reads the whole capture; with what it holds, the number of clients of each member of the mix.
fn scan(plan: &Plan, control: &Control, observer: &mut dyn Observer) -> Result<(Scan, Vec<u32>), RunError> {
    let reader = open(plan, control)?;
    let origin = reader.origin().to_owned();
    observer.note(&Note::ReadingCapture { origin: &origin, queries: 0 });
    let mut roster = Roster::new(&plan.mix, plan.seed);
    let found = Arc::new(Found::default());
    let (its, mut told) = (Arc::clone(&found), 0);
    let waiting = || {
        let queries = found.queries.load(Ordering::Relaxed);
        if queries > told {
            told = queries;
            observer.note(&Note::ReadingCapture { origin: &origin, queries });
        }
    };
    let scanned = unless_stopped(control, waiting, move || {
        let scan = Scan::of(reader, &mut |address| _ = roster.seat(address), &mut |queries| {
            its.queries.store(queries, Ordering::Relaxed);
            !its.is_stopped.load(Ordering::Relaxed)
        });
        scan.map(|scan| scan.map(|scan| (scan, roster.of_member().to_vec())))
    });
    let scanned = scanned.inspect_err(|_| found.is_stopped.store(true, Ordering::Relaxed))?;
    let (scan, clients) = scanned.map_err(SourceError::from)?.ok_or(RunError::ReaderFailed)?;
    match scan.queries {
        0 => Err(SourceError::NoQueryInCapture { origin, skipped: scan.skipped }.into()),
        _ => Ok((scan, clients)),
    }
}

/// How far a capture has been read.
#[derive(Default)]
struct Found {
    queries: AtomicU64,
    is_stopped: AtomicBool,
}

/// Opens the capture: its first octets may never come.
fn open(plan: &Plan, control: &Control) -> Result<QueryReader, RunError> {
    let capture = plan.replay.clone();
    Ok(unless_stopped(control, || (), move || capture.open())?.map_err(SourceError::from)?)
}

/// The first query of the capture, for the check of the server. Standard input cannot be read twice: then a common
/// query.
fn first_query(plan: &Plan, control: &Control) -> Result<Loaded, RunError> {
    let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
    let full = |full: Full| {
        let origin = "the capture".to_owned();
        SourceError::TooLarge { origin, line: 0, most_bytes: full.most_bytes }
    };
    match &plan.replay.file {
        Some(_) => {
            let mut reader = open(plan, control)?;
            let origin = reader.origin().to_owned();
            let first = move || reader.next_query().map(|query| query.map(|query| query.message.to_vec()));
            let message = unless_stopped(control, || (), first)?.map_err(SourceError::from)?;
            let none = || SourceError::NoQueryInCapture { origin, skipped: String::new() };
            let message = message.ok_or_else(none)?;
            builder.push_message(&message, Own::default()).map_err(full)?;
        }
        None => builder.push(ROOT, TYPE_NS).map_err(full)?,
    }
    let queries = builder.finish();
    Ok(Loaded {
        hash: queries.hash(),
        queries,
        bad_lines: 0,
        first_bad: Vec::new(),
        idn_names: 0,
        first_idn: None,
    })
}

/// The clients of each member of the mix; `counted` is their number in the capture.
fn seats(plan: &Plan, counted: Option<&[u32]>) -> Vec<u32> {
    let members = plan.mix.members.len().max(1);
    let counted = counted.filter(|clients| clients.len() == members);
    let found: usize = counted.map_or(0, |clients| clients.iter().map(|seats| *seats as usize).sum());
    let of_member = |number: usize| {
        let share = match (counted, plan.mix.members.get(number)) {
            (Some(clients), _) if found > 0 => f64::from(clients[number]) / found as f64,
            (None, Some(member)) => plan.mix.share(member),
            _ => 1.0,
        };
        // Each worker has a socket of each member.
        ((plan.clients as f64 * share).round() as u32).max(plan.part.of)
    };
    (0..members).map(of_member).collect()
}

/// Clients of a capture that is read only once, where their number was not given.
const UNCOUNTED_CLIENTS: usize = 1_000;

/// How long the end of a run waits for what the reader has counted.
const LAST_READ: Duration = Duration::from_secs(2);

/// The longest message that a capture may have which was not read before.
const LONGEST_UNREAD: usize = 65_535;

const ROOT: &[u8] = b"\0";
