//! A run of several agents, from their start to one record.
//!
//! ```text
//!   started ──► headers joined ──► lines, as they come ──► sums ──► clocks again ──► received
//! ```

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use dnsdyno_record::{AgentInfo, Ended, Header, HostInfo, Join, RunWriter, command_line, join_headers};
use dnsdyno_runner::{
    Asked, Beginning, Control, FinishedRun, Keep, Note, Observer, OpenHere, Parties, Recording, RunError,
    StopCause,
};
use dnsdyno_sys::clock;
use dnsdyno_sys::clock::monotonic_ns as now_ns;
use dnsdyno_text::units::duration;

use crate::agent::ALIVE_EVERY;
use crate::clock_round::ClockRound;
use crate::joining::{AgentState, Joining};
use crate::live::LiveJoin;
use crate::messages::{Order, Report, Stop};
use crate::session::{Event, Session};
use crate::starting::{Agents, DRAIN_NS, LOOK_AGAIN, LOST_AFTER_NS, Started};

/// A run that is made by agents.
pub(crate) struct Running<'a> {
    pub(crate) agents: Agents<'a>,
    pub(crate) keep: &'a Keep,
}

impl Running<'_> {
    pub(crate) fn run(mut self, observer: &mut dyn Observer) -> Result<FinishedRun, RunError> {
        let here = OpenHere::open(self.agents.plan, observer)?;
        let started = self.agents.start(observer);
        if started.is_err() {
            // Those that are ready do not wait for a start.
            self.agents.stop_all(Stop::Interrupt, true);
            self.agents.drain();
        }
        let Started { headers, hosts, plans, epoch_ns, early } = started?;
        let mut agents: Vec<AgentInfo> = self.infos();
        agents.iter_mut().zip(&headers).for_each(|(agent, header)| agent.workers = header.workers);
        let folder = self.keep.folder(self.agents.plan.name.as_deref());
        let here = here.start(epoch_ns, self.agents.plan.interval_ns);
        let mut header = self.header(&headers, agents, folder.as_deref(), epoch_ns);
        header.watched.extend_from_slice(here.watched());
        observer.note(&Note::Checked(&header.checks));
        let copies = match &folder {
            Some(folder) => self.copies(folder, &headers, &plans, &hosts).map_err(RunError::Record)?,
            None => headers.iter().map(|_| None).collect(),
        };
        let end_ns = self.agents.plan.load.curve().and_then(|curve| curve.duration_ns()).or(self
            .agents
            .plan
            .stop
            .duration_ns);
        let draft = self.agents.plan.to_draft();
        let host = HostInfo::gather(self.agents.plan.target.address.ip());
        let beginning = Beginning {
            plan: self.agents.plan,
            draft: &draft,
            folder: folder.as_deref(),
            header: &header,
            host: &host,
            start_ns: Some((epoch_ns, header.started_unix_ns)),
            schedule_end_ns: end_ns,
        };
        let control = self.agents.control;
        let recording = Recording::begin(beginning, Parties { control, observer, copy: None })?;
        let live = LiveJoin::new(headers.len());
        let join = Join::new(&header, &headers);
        let ends = headers.iter().map(|_| AgentState::default()).collect();
        let mut joining = Joining {
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
        early.into_iter().for_each(|(number, event)| self.happened(&mut joining, number, event));
        Ok(self.follow(joining))
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
                wall_clock_bound_ns: session.facts.wall_clock_bound_ns,
            };
            first_worker += workers;
            info
        };
        self.agents.sessions.iter().zip(&self.agents.workers).map(info).collect()
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
            run_id: format!(
                "{}-{:08x}",
                name.unwrap_or_default(),
                (started_unix_ns ^ self.agents.plan.seed) as u32
            ),
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
        let all = self.agents.sessions.iter().zip(headers).zip(plans).zip(hosts);
        all.map(|(((session, header), plan), host)| {
            RunWriter::create(&folder_of(session), header, plan, host).map(|copy| Some(copy.without_rows()))
        })
        .collect()
    }

    /// Joins the records until every agent has ended or is lost.
    fn follow(mut self, mut joining: Joining<'_>) -> FinishedRun {
        let mut told = Told::default();
        let mut last_look_ns = now_ns();
        let mut deadline_ns = u64::MAX;
        while !joining.join.is_over() && now_ns() < deadline_ns {
            if let Ok((number, event)) = self.agents.events.recv_timeout(LOOK_AGAIN) {
                self.agents.sessions[number].heard_ns = now_ns();
                self.happened(&mut joining, number, event);
            }
            if let Some(how) = told.next(self.agents.control, joining.stops()) {
                if how == Asked::StopSending {
                    let at_ns = joining.live.passed_ns();
                    if !joining.stops() {
                        joining.recording.stopping(at_ns);
                    }
                } else {
                    deadline_ns = now_ns() + DRAIN_NS;
                }
                self.agents.stop_all(stop_of(self.agents.control.cause()), how == Asked::EndNow);
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
        let name = self.agents.sessions[number].name().to_owned();
        match event {
            Event::Clock(exchange) => self.agents.sessions[number].clock.add(exchange),
            Event::Line(line) => {
                if let Err(why) = joining.line(number, &name, &line) {
                    self.lose(joining, number, &format!("its record cannot be read: {why}"));
                }
            }
            Event::Gone(words) => {
                self.agents.sessions[number].gone = Some(words.clone());
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
        let name = self.agents.sessions[number].name().to_owned();
        joining.join.lost(number, why);
        joining.live.close(number);
        let share = f64::from(self.agents.workers[number]) / f64::from(self.agents.plan.part.of.max(1));
        let figures = [("agent", name.clone().into()), ("share", share.into())];
        joining.event("agent_lost", format!("the agent {name} is lost: {why}"), &figures);
        if !self.agents.faults.goes_on && joining.failed.is_none() {
            joining.failed = Some(format!("the agent {name} is lost: {why}"));
        }
    }

    /// Names agents that say nothing; those that are silent for too long are no longer waited for.
    fn look_for_silence(&mut self, joining: &mut Joining<'_>) {
        for number in 0..self.agents.sessions.len() {
            let silent_ns = now_ns().saturating_sub(self.agents.sessions[number].heard_ns);
            let name = self.agents.sessions[number].name().to_owned();
            let state = &mut joining.ends[number];
            if joining.join.has_sum(number) || self.agents.sessions[number].gone.is_some() {
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

    /// Waits a while until the agents that have given their sums have ended.
    fn wait_for_ends(&mut self, joining: &mut Joining<'_>) {
        let deadline_ns = now_ns() + LAST_CLOCKS_NS;
        let ends = |number: usize, joining: &Joining<'_>| {
            !joining.join.has_sum(number) || joining.ends[number].is_whole || joining.ends[number].is_lost
        };
        while now_ns() < deadline_ns && !(0..self.agents.sessions.len()).all(|number| ends(number, joining)) {
            let Ok((number, event)) = self.agents.events.recv_timeout(LOOK_AGAIN) else { continue };
            self.agents.sessions[number].heard_ns = now_ns();
            self.happened(joining, number, event);
        }
    }

    /// Looks at the clocks again, ends the record, and lets the agents forget the run.
    fn end(mut self, mut joining: Joining<'_>) -> FinishedRun {
        joining.take();
        let (left, watched) = joining.here.finish();
        left.iter().for_each(|interval| joining.record(interval));
        self.wait_for_ends(&mut joining);
        self.look_at_clocks_again(&mut joining);
        for (number, session) in self.agents.sessions.iter().enumerate() {
            if joining.ends[number].is_whole && joining.join.has_sum(number) {
                session.outbox.message(&Order::Received);
            }
        }
        let Joining { join, recording, failed, limit, .. } = joining;
        let ended = match (failed, self.agents.control.cause()) {
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
        let is_there =
            |number: &usize| self.agents.sessions[*number].gone.is_none() && !joining.ends[*number].is_lost;
        let there: Vec<usize> = (0..self.agents.sessions.len()).filter(is_there).collect();
        there.iter().for_each(|number| self.agents.sessions[*number].clock = Default::default());
        let deadline_ns = now_ns() + LAST_CLOCKS_NS + there.len() as u64 * LAST_CLOCKS_OF_ONE_NS;
        let mut round = ClockRound::begin(self.agents.sessions, there.clone(), LAST_EXCHANGES);
        while round.missing().is_some() && now_ns() < deadline_ns {
            let Ok((from, event)) = self.agents.events.recv_timeout(LOOK_AGAIN) else { continue };
            self.agents.sessions[from].heard_ns = now_ns();
            let was_clock = matches!(event, Event::Clock(_));
            self.happened(joining, from, event);
            if was_clock {
                round.answered(self.agents.sessions, from);
            }
        }
        for number in there {
            joining.join.end_mut(number).clock = self.agents.sessions[number].clock.offset();
        }
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

/// The folder of a run that has the records of its agents.
const AGENTS_FOLDER: &str = "agents";

/// An agent says twice a second that it is there.
const SILENT_AFTER_NS: u64 = 2 * ALIVE_EVERY.as_nanos() as u64 + 1_000_000_000;

/// How long the last look at the clocks may take, and what each of many agents adds.
const LAST_CLOCKS_NS: u64 = 500_000_000;
const LAST_CLOCKS_OF_ONE_NS: u64 = 5_000_000;

/// Exchanges of it.
const LAST_EXCHANGES: u64 = 20;
