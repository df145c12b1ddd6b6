//! A run of several agents, from their tasks to one record.
//!
//! ```text
//!   prepare ──► all ready ──► clocks ──► start ──► headers ──► lines, as they come ──► sums ──► received
//! ```

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use dnsdyno_plan::{Draft, Plan, Watch};
use dnsdyno_record::{
    AgentInfo, Ended, Event as RecordEvent, Header, HostInfo, Interval, Join, Line, RunWriter, command_line,
    join_headers,
};
use dnsdyno_runner::{
    Asked, Beginning, Control, FinishedRun, Keep, Note, Observer, OpenHere, Parties, Recording, RunError,
    StopCause, WatchedHere, is_here,
};
use dnsdyno_sys::clock;
use dnsdyno_text::secret::Masked;
use dnsdyno_text::units::duration;

use crate::agent::ALIVE_EVERY;
use crate::clocks::by_clock_of;
use crate::cluster::{Faults, now_ns};
use crate::error::ClusterError;
use crate::files::Files;
use crate::frame::{Frame, Kind};
use crate::live::LiveJoin;
use crate::messages::{Order, Report, Stop, Task};
use crate::session::{Event, Session};
use crate::signing::{Nonce, Signer};

/// A run that is made by agents.
pub(crate) struct Running<'a> {
    /// What signs tasks, where they have to be.
    pub(crate) signer: Option<Signer>,
    pub(crate) sessions: &'a mut Vec<Session>,
    pub(crate) events: &'a Receiver<(usize, Event)>,
    pub(crate) faults: Faults,
    /// The workers of each agent.
    pub(crate) workers: Vec<u32>,
    pub(crate) plan: &'a Plan,
    pub(crate) keep: &'a Keep,
    pub(crate) control: &'a Control,
}

/// What an agent has said before the start.
#[derive(Default)]
struct Readiness {
    preparation_ns: Option<u64>,
    host: HostInfo,
}

impl Running<'_> {
    pub(crate) fn run(mut self, observer: &mut dyn Observer) -> Result<FinishedRun, RunError> {
        let here = OpenHere::open(self.plan, observer)?;
        let started = self.begin(observer);
        if started.is_err() {
            // Those that are ready do not wait for a start.
            self.stop_all(Stop::Interrupt, true);
            self.drain();
        }
        let Started { headers, hosts, plans, epoch_ns } = started?;
        let mut agents: Vec<AgentInfo> = self.infos();
        agents.iter_mut().zip(&headers).for_each(|(agent, header)| agent.workers = header.workers);
        let folder = self.keep.folder(self.plan.name.as_deref());
        let here = here.start(epoch_ns, self.plan.interval_ns);
        let mut header = self.header(&headers, agents, folder.as_deref(), epoch_ns);
        header.watched.extend_from_slice(here.watched());
        observer.note(&Note::Checked(&header.checks));
        let copies = match &folder {
            Some(folder) => self.copies(folder, &headers, &plans, &hosts).map_err(RunError::Record)?,
            None => headers.iter().map(|_| None).collect(),
        };
        let end_ns =
            self.plan.load.curve().and_then(|curve| curve.duration_ns()).or(self.plan.stop.duration_ns);
        let draft = self.plan.to_draft();
        let host = HostInfo::gather(self.plan.target.address.ip());
        let beginning = Beginning {
            plan: self.plan,
            draft: &draft,
            folder: folder.as_deref(),
            header: &header,
            host: &host,
            start_ns: Some((epoch_ns, header.started_unix_ns)),
            schedule_end_ns: end_ns,
        };
        let control = self.control;
        let recording = Recording::begin(beginning, Parties { control, observer, copy: None })?;
        let live = LiveJoin::new(headers.len());
        let join = Join::new(&header, &headers);
        let ends = headers.iter().map(|_| AgentState::default()).collect();
        let joining = Joining {
            join,
            headers,
            recording,
            copies,
            here,
            live,
            ends,
            said: HashSet::new(),
            failed: None,
            limit: None,
        };
        Ok(self.follow(joining))
    }

    /// Gets every agent ready, and starts all.
    fn begin(&mut self, observer: &mut dyn Observer) -> Result<Started, RunError> {
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
        let headers = self.wait_for_headers()?;
        let hosts = ready.into_iter().map(|one| one.host).collect();
        Ok(Started { headers, hosts, plans, epoch_ns })
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
            let task = Task {
                agent: session.name().to_owned(),
                plan,
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
                Event::Report(Report::Lacks { hashes }) => self.send_files(number, files, &hashes)?,
                Event::Report(Report::Ready { preparation_ns, host }) => {
                    ready[number] = Readiness { preparation_ns: Some(preparation_ns), host: *host };
                }
                Event::Report(Report::Said { words }) if said.insert(words.clone()) => {
                    observer.note(&Note::Said(&format!("{}: {words}", self.sessions[number].name())));
                }
                Event::Report(Report::Refused { why, is_bad_input }) => {
                    let name = self.sessions[number].name().to_owned();
                    return Err(ClusterError::Refused { name, why, is_bad_input }.into());
                }
                _ => {}
            }
        }
        Ok(ready)
    }

    fn send_files(&self, number: usize, files: &Files, hashes: &[String]) -> Result<(), RunError> {
        let outbox = &self.sessions[number].outbox;
        for hash in hashes {
            let Some(bytes) = files.bytes(hash) else { continue };
            outbox.message(&Order::File { hash: hash.clone(), bytes });
            files.read(hash, &mut |part| outbox.frame(Frame { kind: Kind::File, octets: part.to_vec() }))?;
        }
        Ok(())
    }

    /// Each agent's record begins with its header.
    fn wait_for_headers(&mut self) -> Result<Vec<Header>, RunError> {
        let mut headers: Vec<Option<Header>> = self.sessions.iter().map(|_| None).collect();
        while headers.iter().any(Option::is_none) {
            match self.next_event()? {
                Some((number, Event::Line(line))) => {
                    let header =
                        Header::decode(&line).map_err(|error| ClusterError::Join(error.to_string()))?;
                    headers[number] = Some(header);
                }
                Some((number, Event::Report(Report::Refused { why, is_bad_input }))) => {
                    let name = self.sessions[number].name().to_owned();
                    return Err(ClusterError::Refused { name, why, is_bad_input }.into());
                }
                _ => {}
            }
        }
        Ok(headers.into_iter().flatten().collect())
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
            event => Ok(Some((number, event))),
        }
    }

    /// Waits until the agents have ended what they were told to stop.
    fn drain(&mut self) {
        let deadline_ns = now_ns() + DRAIN_NS;
        let mut waiting: HashSet<usize> = (0..self.sessions.len()).collect();
        while !waiting.is_empty() && now_ns() < deadline_ns {
            match self.events.recv_timeout(LOOK_AGAIN) {
                Ok((number, Event::Report(Report::Ended | Report::Refused { .. }) | Event::Gone(_))) => {
                    waiting.remove(&number);
                    self.sessions[number].outbox.message(&Order::Received);
                }
                Ok(_) => {}
                // An agent that was refused has nothing to end.
                Err(_) => {}
            }
        }
    }

    fn stop_all(&self, how: Stop, at_once: bool) {
        self.sessions.iter().for_each(|session| session.outbox.message(&Order::Stop { how, at_once }));
    }

    /// What the record says of the agents.
    fn infos(&self) -> Vec<AgentInfo> {
        let mut first_worker = 0;
        let info = |(session, workers): (&Session, &u32)| {
            let info = AgentInfo {
                name: session.name().to_owned(),
                host: session.facts.host.clone(),
                version: session.facts.version.clone(),
                kernel: session.facts.kernel.clone(),
                cpus: session.facts.cpus,
                workers: *workers,
                first_worker,
                clock: session.clock.offset(),
            };
            first_worker += workers;
            info
        };
        self.sessions.iter().zip(&self.workers).map(info).collect()
    }

    fn header(
        &self,
        headers: &[Header],
        agents: Vec<AgentInfo>,
        folder: Option<&Path>,
        epoch_ns: u64,
    ) -> Header {
        let name = folder.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let started_unix_ns = epoch_ns.saturating_add_signed(clock::wall_minus_monotonic_ns());
        let joined = join_headers(headers, agents).unwrap_or_default();
        Header {
            run_id: format!("{}-{:08x}", name.unwrap_or_default(), (started_unix_ns ^ self.plan.seed) as u32),
            started_unix_ns,
            command_line: command_line(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..joined
        }
    }

    /// The records of the agents, as they come, in `agents/NAME` of the run's folder.
    fn copies(
        &self,
        folder: &Path,
        headers: &[Header],
        plans: &[String],
        hosts: &[HostInfo],
    ) -> Result<Vec<Option<RunWriter>>, dnsdyno_record::WriteError> {
        let folder_of = |session: &Session| -> PathBuf { folder.join(AGENTS_FOLDER).join(session.name()) };
        let all = self.sessions.iter().zip(headers).zip(plans).zip(hosts);
        all.map(|(((session, header), plan), host)| {
            RunWriter::create(&folder_of(session), header, plan, host).map(Some)
        })
        .collect()
    }

    /// Joins the records until every agent has ended or is lost.
    fn follow(mut self, mut joining: Joining<'_>) -> FinishedRun {
        let mut told = Told::default();
        let mut last_look_ns = now_ns();
        let mut deadline_ns = u64::MAX;
        while !joining.join.is_over() && now_ns() < deadline_ns {
            if let Ok((number, event)) = self.events.recv_timeout(LOOK_AGAIN) {
                self.sessions[number].heard_ns = now_ns();
                self.happened(&mut joining, number, event);
            }
            if let Some(how) = told.next(self.control, joining.stops()) {
                if how == Asked::StopSending {
                    let at_ns = joining.live.passed_ns();
                    if !joining.stops() {
                        joining.recording.stopping(at_ns);
                    }
                } else {
                    deadline_ns = now_ns() + DRAIN_NS;
                }
                self.stop_all(stop_of(self.control.cause()), how == Asked::EndNow);
            }
            if now_ns().saturating_sub(last_look_ns) > LOOK_AGAIN.as_nanos() as u64 {
                last_look_ns = now_ns();
                self.look_for_silence(&mut joining);
                joining.recording.idle();
            }
            joining.take();
        }
        self.end(joining)
    }

    /// Takes what came from an agent.
    fn happened(&mut self, joining: &mut Joining<'_>, number: usize, event: Event) {
        let name = self.sessions[number].name().to_owned();
        match event {
            Event::Clock(exchange) => self.sessions[number].clock.add(exchange),
            Event::Line(line) => {
                if let Err(why) = joining.line(number, &name, &line) {
                    self.lose(joining, number, &format!("its record cannot be read: {why}"));
                }
            }
            Event::Gone(words) => {
                self.sessions[number].gone = Some(words.clone());
                if !joining.join.has_sum(number) {
                    self.lose(joining, number, &words);
                }
            }
            Event::Report(Report::Passed(passed)) => joining.live.add(number, *passed),
            Event::Report(Report::Said { words }) => joining.said(&name, &words),
            Event::Report(Report::Refused { why, .. }) if !joining.join.has_sum(number) => {
                self.lose(joining, number, &why);
            }
            Event::Report(Report::Ended) => joining.ends[number].is_whole = true,
            Event::Report(_) => {}
        }
    }

    /// An agent gives nothing more.
    fn lose(&mut self, joining: &mut Joining<'_>, number: usize, why: &str) {
        let name = self.sessions[number].name().to_owned();
        joining.join.lost(number, why);
        joining.live.close(number);
        let share = f64::from(self.workers[number]) / f64::from(self.plan.part.of.max(1));
        let figures = [("agent", name.clone().into()), ("share", share.into())];
        joining.event("agent_lost", format!("the agent {name} is lost: {why}"), &figures);
        if !self.faults.goes_on && joining.failed.is_none() {
            joining.failed = Some(format!("the agent {name} is lost: {why}"));
        }
    }

    /// Names agents that say nothing; those that are silent for too long are no longer waited for.
    fn look_for_silence(&mut self, joining: &mut Joining<'_>) {
        for number in 0..self.sessions.len() {
            let silent_ns = now_ns().saturating_sub(self.sessions[number].heard_ns);
            let name = self.sessions[number].name().to_owned();
            let state = &mut joining.ends[number];
            if joining.join.has_sum(number) || self.sessions[number].gone.is_some() {
                continue;
            }
            match (silent_ns > SILENT_AFTER_NS, state.is_silent) {
                (true, false) => {
                    state.is_silent = true;
                    let silent = duration(SILENT_AFTER_NS);
                    let figures = [("agent", name.clone().into())];
                    joining.event(
                        "agent_silent",
                        format!("the agent {name} has said nothing for {silent}"),
                        &figures,
                    );
                }
                (false, true) => {
                    state.is_silent = false;
                    if std::mem::take(&mut state.is_lost) {
                        joining.join.found(number);
                    }
                    let figures = [("agent", name.clone().into())];
                    joining.event("agent_back", format!("the agent {name} is there again"), &figures);
                }
                (true, true) if silent_ns > LOST_AFTER_NS && !state.is_lost => {
                    state.is_lost = true;
                    self.lose(joining, number, &format!("silent for {}", duration(LOST_AFTER_NS)));
                }
                _ => {}
            }
        }
    }

    /// Looks at the clocks again, ends the record, and lets the agents forget the run.
    fn end(mut self, mut joining: Joining<'_>) -> FinishedRun {
        joining.take();
        let (left, watched) = joining.here.finish();
        left.iter().for_each(|interval| joining.record(interval));
        self.look_at_clocks_again(&mut joining);
        for (number, session) in self.sessions.iter().enumerate() {
            if joining.ends[number].is_whole && joining.join.has_sum(number) {
                session.outbox.message(&Order::Received);
            }
        }
        let Joining { join, recording, failed, limit, .. } = joining;
        let ended = match (failed, self.control.cause()) {
            (Some(why), _) => Some(Ended::Failed { why }),
            // The recording says by what.
            (None, Some(_)) => Some(Ended::Interrupted),
            (None, None) => limit,
        };
        let mut sum = join.finish(ended);
        sum.watched.extend(watched);
        recording.finish(sum)
    }

    /// The clocks after the run, for their drift; from now on each of them counts anew.
    fn look_at_clocks_again(&mut self, joining: &mut Joining<'_>) {
        for number in 0..self.sessions.len() {
            let session = &mut self.sessions[number];
            if session.gone.is_some() || joining.ends[number].is_lost {
                continue;
            }
            session.clock = Default::default();
            session.ask_time();
            let deadline_ns = now_ns() + LAST_CLOCKS_NS;
            while self.sessions[number].clock.exchanges() < LAST_EXCHANGES && now_ns() < deadline_ns {
                let Ok((from, event)) = self.events.recv_timeout(LOOK_AGAIN) else { continue };
                self.sessions[from].heard_ns = now_ns();
                let was_clock = matches!(event, Event::Clock(_)) && from == number;
                self.happened(joining, from, event);
                if was_clock {
                    self.sessions[number].ask_time();
                }
            }
            joining.join.end_mut(number).clock = self.sessions[number].clock.offset();
        }
    }
}

/// A run whose agents have started.
struct Started {
    headers: Vec<Header>,
    hosts: Vec<HostInfo>,
    plans: Vec<String>,
    epoch_ns: u64,
}

/// The records of the agents while they are joined.
struct Joining<'a> {
    join: Join,
    headers: Vec<Header>,
    recording: Recording<'a>,
    /// The records of the agents, as they came.
    copies: Vec<Option<RunWriter>>,
    here: WatchedHere,
    live: LiveJoin,
    ends: Vec<AgentState>,
    /// What was said by any agent.
    said: HashSet<String>,
    /// Why the run has failed.
    failed: Option<String>,
    /// The limit that an agent has reached, which stops all.
    limit: Option<Ended>,
}

#[derive(Default)]
struct AgentState {
    is_silent: bool,
    is_lost: bool,
    /// Its whole record was sent.
    is_whole: bool,
}

impl Joining<'_> {
    /// Whether something else than the user stops the run.
    fn stops(&self) -> bool {
        self.failed.is_some() || self.limit.is_some()
    }

    /// Takes a line of an agent's record.
    fn line(&mut self, number: usize, name: &str, line: &[u8]) -> Result<(), String> {
        let read = Line::decode(line, &self.headers[number]).map_err(|error| error.to_string())?;
        let copy = self.copies[number].as_mut();
        match read {
            Some(Line::Interval(interval)) => {
                // What the copy cannot keep, its own host has.
                copy.into_iter().for_each(|copy| drop(copy.interval(&interval)));
                if !self.join.interval(number, *interval) {
                    self.said(name, LATE);
                }
            }
            Some(Line::Event(event)) => {
                copy.into_iter().for_each(|copy| drop(copy.event(&event)));
                if LIMIT_KINDS.contains(&event.kind.as_str()) {
                    self.limit.get_or_insert(Ended::Interrupted);
                }
                if !STOP_KINDS.contains(&event.kind.as_str()) {
                    let message = format!("{name}: {}", event.message);
                    self.recording.event(&RecordEvent { message, ..event });
                }
            }
            Some(Line::Sum(sum)) => {
                copy.into_iter().for_each(|copy| drop(copy.finish(&sum)));
                self.copies[number] = None;
                if let (Some(limit), Ended::ByCondition { .. }) = (&mut self.limit, &sum.ended) {
                    *limit = sum.ended.clone();
                }
                self.live.close(number);
                self.join.sum(number, *sum);
            }
            None => {}
        }
        Ok(())
    }

    /// Records what is complete, and shows what has passed.
    fn take(&mut self) {
        for event in self.here.events() {
            self.recording.event(&event);
        }
        while let Some(interval) = self.join.next() {
            self.recording.settled(&interval);
            if let Some(whole) = self.here.add(interval) {
                self.record(&whole);
            }
        }
        while let Some(interval) = self.here.next() {
            self.record(&interval);
        }
        self.live.show(self.recording.observer());
    }

    fn record(&mut self, interval: &Interval) {
        self.recording.observer().sampled(interval);
        self.recording.record(interval);
    }

    fn said(&mut self, name: &str, words: &str) {
        if self.said.insert(words.to_owned()) {
            self.recording.observer().note(&Note::Said(&format!("{name}: {words}")));
        }
    }

    fn event(&mut self, kind: &str, message: String, figures: &[(&str, serde_json::Value)]) {
        let figures = figures.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let at_ns = self.live.passed_ns();
        self.recording.event(&RecordEvent { at_ns, kind: kind.to_owned(), message, figures });
    }
}

/// What the agents were told so far.
#[derive(Default)]
struct Told {
    asked: Option<Asked>,
}

impl Told {
    /// What they have to be told now. `stops` says whether something else than the user stops the run.
    fn next(&mut self, control: &Control, stops: bool) -> Option<Asked> {
        let wanted = match control.asked() {
            Asked::Nothing if stops => Asked::StopSending,
            wanted => wanted,
        };
        let is_new = wanted != Asked::Nothing && self.asked.is_none_or(|asked| asked < wanted);
        if is_new {
            self.asked = Some(wanted);
        }
        is_new.then_some(wanted)
    }
}

fn stop_of(cause: Option<StopCause>) -> Stop {
    match cause {
        Some(StopCause::Terminate) => Stop::Terminate,
        Some(StopCause::HangUp) => Stop::HangUp,
        Some(StopCause::Condition) => Stop::Condition,
        Some(StopCause::NoLongerWaiting) => Stop::NoLongerWaiting,
        _ => Stop::Interrupt,
    }
}

/// The limits at which an agent stops by itself, at once: they are those of its workers. What is judged by the figures of
/// intervals is judged by the coordinator.
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

/// The kinds of events of a run that was stopped by its coordinator, which has recorded its own.
const STOP_KINDS: [&str; 5] = ["interrupt", "terminate", "hang_up", "condition", "no_longer_waiting"];

/// The kinds of those that a limit of a worker makes.
const LIMIT_KINDS: [&str; 2] = ["behind", "outstanding"];

const NO_SECRETS: &str = "secrets do not pass a broker: put the key into a file of the same path on each agent's host, and \
                          give --tsig-file PATH, from the root";

/// The folder of a run that has the records of its agents.
const AGENTS_FOLDER: &str = "agents";

const LATE: &str = "intervals came that were recorded without it: `dnsdyno merge` puts them in";

/// From the order to the start, beside what the workers need: the way of the order, and the folder of the record.
const START_MARGIN_NS: u64 = 300_000_000;

/// An agent says twice a second that it is there.
const SILENT_AFTER_NS: u64 = 2 * ALIVE_EVERY.as_nanos() as u64 + 1_000_000_000;

/// An agent that was silent for so long is no longer waited for.
const LOST_AFTER_NS: u64 = 10_000_000_000;

/// How long the end of agents is waited for that were told to end at once.
const DRAIN_NS: u64 = 3_000_000_000;

/// How long the last look at a clock may take.
const LAST_CLOCKS_NS: u64 = 500_000_000;

/// Exchanges of it.
const LAST_EXCHANGES: u64 = 20;

/// How often signals and silence are looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
