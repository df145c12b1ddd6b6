//! The agents of a run, until all have started.
//!
//! ```text
//!   tasks ──► files that are lacking ──► all ready ──► start, by each clock ──► headers
//! ```

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use dnsdyno_plan::{Draft, Plan, Watch};
use dnsdyno_record::{Header, HostInfo};
use dnsdyno_runner::{Control, Note, Observer, RunError, is_here};
use dnsdyno_sys::clock::monotonic_ns as now_ns;
use dnsdyno_text::secret::Masked;
use dnsdyno_text::units::duration;

use crate::clocks::by_clock_of;
use crate::error::ClusterError;
use crate::faults::Faults;
use crate::files::{Files, ONLY_ITS_HOST};
use crate::joining::LIMIT_KINDS;
use crate::messages::{Order, Report, Stop, Task};
use crate::session::{Event, Session};
use crate::signed::Nonce;
use crate::signing::Signer;

/// The agents of a run, with what they are to make.
pub(crate) struct Agents<'a> {
    pub(crate) sessions: &'a mut Vec<Session>,
    pub(crate) events: &'a Receiver<(usize, Event)>,
    pub(crate) faults: Faults,
    /// The workers of each agent.
    pub(crate) workers: Vec<u32>,
    pub(crate) plan: &'a Plan,
    pub(crate) control: &'a Control,
    /// What signs tasks, where they have to be.
    pub(crate) signer: Option<Signer>,
    /// Those that have a task, and have not refused it.
    pub(crate) busy: HashSet<usize>,
}

/// What came from an agent, with the number of that agent.
pub(crate) type Heard = (usize, Event);

/// What an agent has said before the start.
#[derive(Default)]
struct Readiness {
    preparation_ns: Option<u64>,
    host: HostInfo,
}

/// A run whose agents have started.
pub(crate) struct Started {
    pub(crate) headers: Vec<Header>,
    pub(crate) hosts: Vec<HostInfo>,
    pub(crate) plans: Vec<String>,
    pub(crate) epoch_ns: u64,
    /// What came after the headers of some agents, before those of others.
    pub(crate) early: Vec<Heard>,
}

impl Agents<'_> {
    /// Gets every agent ready, and starts all.
    pub(crate) fn start(&mut self, observer: &mut dyn Observer) -> Result<Started, RunError> {
        let (files, plans) = self.send_tasks()?;
        let ready = self.wait_until_ready(&files, observer)?;
        for session in self.sessions.iter() {
            let offset = session.offset();
            // Of two agents the bounds add up.
            if offset.bound_ns.saturating_mul(2) > self.faults.start_within_ns {
                return Err(ClusterError::Clock {
                    name: session.name().to_owned(),
                    bound: duration(offset.bound_ns.saturating_mul(2)),
                    wanted: duration(self.faults.start_within_ns),
                }
                .into());
            }
        }
        let preparation_ns = ready.iter().filter_map(|one| one.preparation_ns).max().unwrap_or(0);
        let epoch_ns = now_ns() + preparation_ns + START_MARGIN_NS;
        for session in self.sessions.iter() {
            session.outbox.message_now(|| Order::Start { epoch_ns: by_clock_of(session.offset(), epoch_ns) });
        }
        let (headers, early) = self.wait_for_headers()?;
        let hosts = ready.into_iter().map(|one| one.host).collect();
        Ok(Started { headers, hosts, plans, epoch_ns, early })
    }

    /// Sends each agent its part of the plan. Returns the files that it names, and the plans.
    fn send_tasks(&mut self) -> Result<(Files, Vec<String>), RunError> {
        let mut draft = Draft {
            workers: None,
            // The coordinator judges what all agents together have done.
            expect: None,
            expect_each: None,
            stop_when: limits_of(self.plan),
            watch: watched_there(self.plan),
            ..self.plan.to_draft()
        };
        let nonces = self.nonces()?;
        let files = Files::of(&mut draft, self.signer.is_none())?;
        let tsig = draft.tsig.take().map(|key| key.exposed().to_owned());
        if tsig.is_some() && self.signer.is_some() {
            return Err(ClusterError::Option { option: "tsig", why: NO_SECRETS }.into());
        }
        if self.signer.is_some() && self.plan.watch.iter().any(|watch| matches!(watch, Watch::Server(_))) {
            return Err(ClusterError::Option { option: "watch", why: ONLY_ITS_HOST }.into());
        }
        let of = self.plan.part.of;
        let (mut first, mut plans) = (0, Vec::new());
        let watch = draft.watch.take();
        for (number, (session, workers)) in self.sessions.iter().zip(&self.workers).enumerate() {
            // A host is watched once, however many agents it has.
            let is_first = |earlier: &Session| earlier.facts.host != session.facts.host;
            draft.watch = watch.clone().filter(|_| self.sessions[..number].iter().all(is_first));
            draft.part = Some(match workers {
                1 => format!("{}/{of}", first + 1),
                _ => format!("{}-{}/{of}", first + 1, first + workers),
            });
            first += workers;
            let plan = draft.to_toml().map_err(RunError::PlanFile)?;
            plans.push(plan.clone());
            let exposed = |text: &Masked| text.exposed().to_owned();
            let task = Task {
                agent: session.name().to_owned(),
                plan,
                watch: draft.watch.as_ref().map(|all| all.iter().map(exposed).collect()),
                may_load: self.plan.draft.i_may_load_this_server == Some(true),
                tsig: tsig.clone(),
                files: files.infos(),
            };
            session.outbox.message(&match (&self.signer, &session.addressee, &nonces[number]) {
                (Some(signer), Some(to), Some(nonce)) => {
                    Order::Signed(Box::new(signer.sign(to, nonce, &task)))
                }
                _ => Order::Prepare(Box::new(task)),
            });
        }
        self.busy = (0..self.sessions.len()).collect();
        Ok((files, plans))
    }

    /// A nonce of each agent whose task has to be signed.
    fn nonces(&mut self) -> Result<Vec<Option<Nonce>>, RunError> {
        let mut nonces: Vec<Option<Nonce>> = self.sessions.iter().map(|_| None).collect();
        let signed: Vec<usize> =
            (0..nonces.len()).filter(|number| self.sessions[*number].addressee.is_some()).collect();
        signed.iter().for_each(|number| self.sessions[*number].outbox.message(&Order::Nonce));
        while signed.iter().any(|number| nonces[*number].is_none()) {
            if let Some((number, Event::Report(Report::Nonce(nonce)))) = self.next_event()? {
                nonces[number] = Some(nonce);
            }
        }
        Ok(nonces)
    }

    /// Sends the files that are asked for, and waits until each agent is ready.
    fn wait_until_ready(
        &mut self,
        files: &Files,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Readiness>, RunError> {
        let mut ready: Vec<Readiness> = self.sessions.iter().map(|_| Readiness::default()).collect();
        let mut said = HashSet::new();
        while ready.iter().any(|one| one.preparation_ns.is_none()) {
            let Some((number, event)) = self.next_event()? else { continue };
            match event {
                Event::Report(Report::Lacks { hashes }) => self.give_files(number, files, &hashes)?,
                Event::Report(Report::NotStored { hash }) => self.send_file(number, files, &hash)?,
                Event::Report(Report::Ready { preparation_ns, host }) => {
                    ready[number] = Readiness { preparation_ns: Some(preparation_ns), host: *host };
                }
                Event::Report(Report::Said { words }) if said.insert(words.clone()) => {
                    observer.note(&Note::Said(&format!("{}: {words}", self.sessions[number].name())));
                }
                Event::Report(Report::Refused { why, cause }) => {
                    let name = self.sessions[number].name().to_owned();
                    return Err(ClusterError::Refused { name, why, cause }.into());
                }
                _ => {}
            }
        }
        Ok(ready)
    }

    /// Gives an agent the files that it lacks: by the object store of its broker, if there is one.
    fn give_files(&self, number: usize, files: &Files, hashes: &[String]) -> Result<(), RunError> {
        let session = &self.sessions[number];
        for hash in hashes {
            let Some((info, path)) = files.find(hash) else { continue };
            let is_stored =
                session.broker_files.as_ref().is_some_and(|store| store.put(hash, info.bytes, path).is_ok());
            match is_stored {
                true => session.outbox.message(&Order::Stored { hash: hash.clone(), bytes: info.bytes }),
                false => self.send_file(number, files, hash)?,
            }
        }
        Ok(())
    }

    fn send_file(&self, number: usize, files: &Files, hash: &str) -> Result<(), RunError> {
        let Some((info, _)) = files.find(hash) else { return Ok(()) };
        let outbox = &self.sessions[number].outbox;
        outbox.message(&Order::File { hash: hash.to_owned(), bytes: info.bytes });
        let goes_on = || self.control.cause().is_none();
        files.read(hash, &mut |part| outbox.part_of_file(part.to_vec(), goes_on))?;
        Ok(())
    }

    /// Each agent's record begins with its header.
    ///
    /// What comes of some agents before the headers of others is kept for later.
    fn wait_for_headers(&mut self) -> Result<(Vec<Header>, Vec<Heard>), RunError> {
        let mut headers: Vec<Option<Header>> = self.sessions.iter().map(|_| None).collect();
        let mut early = Vec::new();
        while headers.iter().any(Option::is_none) {
            match self.next_event()? {
                Some((number, Event::Line(line))) if headers[number].is_none() => {
                    let header =
                        Header::decode(&line).map_err(|error| ClusterError::Join(error.to_string()))?;
                    headers[number] = Some(header);
                }
                Some((number, Event::Report(Report::Refused { why, cause }))) => {
                    let name = self.sessions[number].name().to_owned();
                    return Err(ClusterError::Refused { name, why, cause }.into());
                }
                heard => early.extend(heard),
            }
        }
        Ok((headers.into_iter().flatten().collect(), early))
    }

    /// The next event before the start; `None` where there was none for a while.
    fn next_event(&mut self) -> Result<Option<(usize, Event)>, RunError> {
        if let Some(cause) = self.control.cause() {
            return Err(RunError::StoppedBefore(cause));
        }
        let (number, event) = match self.events.recv_timeout(LOOK_AGAIN) {
            Ok(heard) => heard,
            Err(RecvTimeoutError::Timeout) => {
                let silent = |session: &&Session| now_ns().saturating_sub(session.heard_ns) > LOST_AFTER_NS;
                let Some(session) = self.sessions.iter().find(silent) else { return Ok(None) };
                let why = format!("silent for {}", duration(LOST_AFTER_NS));
                return Err(ClusterError::Lost { name: session.name().to_owned(), why }.into());
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(ClusterError::Join("no agent is left".to_owned()).into());
            }
        };
        let session = &mut self.sessions[number];
        session.heard_ns = now_ns();
        match event {
            Event::Gone(why) => Err(ClusterError::Lost { name: session.name().to_owned(), why }.into()),
            Event::Clock(exchange) => {
                session.clock.add(exchange);
                Ok(None)
            }
            event => {
                if matches!(event, Event::Report(Report::Refused { .. })) {
                    self.busy.remove(&number);
                }
                Ok(Some((number, event)))
            }
        }
    }

    /// Waits until the agents have ended what they were told to stop.
    pub(crate) fn drain(&mut self) {
        let deadline_ns = now_ns() + DRAIN_NS;
        let mut waiting = std::mem::take(&mut self.busy);
        while !waiting.is_empty() && now_ns() < deadline_ns {
            let heard = self.events.recv_timeout(LOOK_AGAIN);
            if let Ok((number, Event::Report(Report::Ended | Report::Refused { .. }) | Event::Gone(_))) =
                heard
            {
                waiting.remove(&number);
                self.sessions[number].outbox.message(&Order::Received);
            }
        }
    }

    pub(crate) fn stop_all(&self, how: Stop, at_once: bool) {
        self.sessions.iter().for_each(|session| session.outbox.message(&Order::Stop { how, at_once }));
    }
}

/// The limits at which an agent stops by itself, at once: they are those of its workers. What is judged by the figures
/// of intervals is judged by the coordinator.
fn limits_of(plan: &Plan) -> Option<Vec<String>> {
    let is_limit =
        |text: &&String| LIMIT_KINDS.iter().any(|kind| text.trim().to_lowercase().starts_with(kind));
    plan.draft.stop_when.as_ref().map(|all| all.iter().filter(is_limit).cloned().collect())
}

/// What each agent watches: its own host, and what its load is put on. What is reached over SSH is reached from here.
fn watched_there(plan: &Plan) -> Option<Vec<Masked>> {
    let is_there = |(watch, _): &(&Watch, &Masked)| !is_here(watch);
    let texts = plan.draft.watch.as_ref()?;
    Some(plan.watch.iter().zip(texts).filter(is_there).map(|(_, text)| text.clone()).collect())
}

const NO_SECRETS: &str = "secrets do not pass a broker: put the key into a file of the same path on each agent's host, \
                          and give --tsig-file PATH, from the root";

/// From the order to the start, beside what the workers need: the way of the order, and the folder of the record.
const START_MARGIN_NS: u64 = 300_000_000;

/// An agent that was silent for so long is no longer waited for.
pub(crate) const LOST_AFTER_NS: u64 = 10_000_000_000;

/// How long the end of agents is waited for that were told to end at once.
pub(crate) const DRAIN_NS: u64 = 3_000_000_000;

/// How often signals and silence are looked for.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(20);
