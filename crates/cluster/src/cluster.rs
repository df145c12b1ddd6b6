//! The coordinator: a [`Runner`] whose runs are made by agents.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_measure::Facts;
use dnsdyno_plan::{Draft, Plan, WorkerCount};
use dnsdyno_runner::{CheckFailed, Control, FinishedRun, Observer, Plans, RunError, RunJob, Runner};

use crate::agent::ALIVE_EVERY;
use crate::agent_run::MakeRunner;
use crate::broker::{Access, Broker};
use crate::calibration::weigh;
use crate::clock_round::ClockRound;
use crate::deal::{Hand, Needed, deal};
use crate::error::ClusterError;
use crate::faults::Faults;
use crate::link::{Link, Outbox};
use crate::messages::{AgentFacts, Order, RefusalCause, Report, name_apart};
use crate::on::{Connected, Destination, Place};
use crate::running::Running;
use crate::session::{Event, Session};
use crate::signing::Signer;
use crate::starting::Agents;

/// Agents that make runs together.
pub struct Cluster {
    sessions: Vec<Session>,
    events: Receiver<(usize, Event)>,
    faults: Faults,
    /// What validates options here.
    alone: MakeRunner,
    /// How fast each host is, where that was asked.
    speeds: Vec<Option<f64>>,
    /// The file of the key that signs tasks.
    key: PathBuf,
    /// The agents hear of the coordinator while it is there.
    _alive: Arc<Vec<Outbox>>,
    /// After everything that sends over them: each waits until that is sent.
    _brokers: Vec<Broker>,
}

impl Cluster {
    /// Starts the agents, and waits until each has answered. Options are validated as for a run `alone`, on this host.
    ///
    /// # Errors
    /// An agent cannot be started, does not answer, or is of a version that cannot be used.
    pub fn connect(
        destinations: Vec<Destination>,
        faults: Faults,
        access: &Access,
        alone: MakeRunner,
    ) -> Result<Cluster, ClusterError> {
        let (connected, brokers) = Destination::connect_all(destinations, access)?;
        let key = access.key.clone().unwrap_or_else(Signer::usual_path);
        Cluster::begin(connected, brokers, faults, (key, alone))
    }

    /// The same with links that were made in another way.
    ///
    /// # Errors
    /// As of [`connect`](Self::connect).
    pub fn over(
        links: Vec<(Destination, Link)>,
        faults: Faults,
        alone: MakeRunner,
    ) -> Result<Cluster, ClusterError> {
        let direct =
            |(destination, link)| Connected { destination, link, addressee: None, broker_files: None };
        let rest = (Signer::usual_path(), alone);
        Cluster::begin(links.into_iter().map(direct).collect(), vec![], faults, rest)
    }

    fn begin(
        connected: Vec<Connected>,
        brokers: Vec<Broker>,
        faults: Faults,
        (key, alone): (PathBuf, MakeRunner),
    ) -> Result<Cluster, ClusterError> {
        let (sender, events) = channel();
        let open = |(number, connected)| Session::open(connected, number, sender.clone());
        let sessions: Vec<Session> =
            connected.into_iter().enumerate().map(open).collect::<Result<_, ClusterError>>()?;
        let alive = Arc::new(sessions.iter().map(|session| session.outbox.clone()).collect());
        say_alive(&alive).map_err(ClusterError::Thread)?;
        let (speeds, _alive, _brokers) = (vec![None; sessions.len()], alive, brokers);
        let mut cluster = Cluster { sessions, events, faults, alone, speeds, key, _alive, _brokers };
        cluster.greet()?;
        cluster.look_at_clocks(CLOCK_EXCHANGES)?;
        if cluster.has_to_weigh() {
            cluster.calibrate()?;
        }
        Ok(cluster)
    }

    /// The agents: name, what each says of its host, and its clock against the one here.
    pub fn agents(&self) -> impl Iterator<Item = (&Destination, &AgentFacts, dnsdyno_record::ClockOffset)> {
        self.sessions.iter().map(|session| (&session.destination, &session.facts, session.offset()))
    }

    fn greet(&mut self) -> Result<(), ClusterError> {
        let deadline = Instant::now() + FIRST_ANSWER;
        let mut missing: Vec<usize> = (0..self.sessions.len()).collect();
        while let Some(first) = missing.first().copied() {
            let waits = deadline.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(waits) {
                Ok((number, Event::Report(Report::Hello { protocol, facts }))) => {
                    self.sessions[number].greeted(protocol, facts)?;
                    missing.retain(|one| *one != number);
                }
                Ok((number, Event::Gone(words))) => return Err(self.no_agent(number, words)),
                Ok(_) => {}
                Err(_) => {
                    return Err(self.no_agent(first, format!("nothing within {} s", FIRST_ANSWER.as_secs())));
                }
            }
        }
        name_apart(self.sessions.iter_mut().map(|session| &mut session.facts).collect());
        Ok(())
    }

    /// Whether the shares of the agents are by what their hosts can do.
    fn has_to_weigh(&self) -> bool {
        let is_other = |session: &Session| session.facts.host != self.sessions[0].facts.host;
        self.sessions.iter().all(|session| session.destination.weight.is_none())
            && self.sessions.iter().any(is_other)
    }

    /// The number of the first agent of each host.
    fn first_of_hosts(&self) -> Vec<usize> {
        let is_first = |number: &usize| {
            let host = &self.sessions[*number].facts.host;
            self.sessions[..*number].iter().all(|earlier| earlier.facts.host != *host)
        };
        (0..self.sessions.len()).filter(is_first).collect()
    }

    /// Asks each host once how fast it is. One that cannot say it now is taken for as fast as the others.
    fn calibrate(&mut self) -> Result<(), ClusterError> {
        let answers = self.ask_hosts(&Order::Calibrate, |report| match report {
            Report::Calibrated { speed } => Some(speed),
            _ => None,
        })?;
        let speed_of = |session: &Session| {
            let same =
                |(number, _): &&(usize, Option<f64>)| self.sessions[*number].facts.host == session.facts.host;
            answers.iter().find(same).and_then(|(_, speed)| *speed)
        };
        self.speeds = self.sessions.iter().map(speed_of).collect();
        Ok(())
    }

    /// What a doctor wants to know of each host, with the number of the first agent there; `None` where it cannot be
    /// gathered now. Takes a second.
    ///
    /// # Errors
    /// An agent is lost.
    pub fn examine(&mut self) -> Result<Vec<(usize, Option<Facts>)>, ClusterError> {
        self.ask_hosts(&Order::Examine, |report| match report {
            Report::Examined { facts } => Some(facts),
            _ => None,
        })
    }

    /// Asks the first agent of each host, and waits for the answers.
    fn ask_hosts<T>(
        &mut self,
        question: &Order,
        answer: impl Fn(Report) -> Option<T>,
    ) -> Result<Vec<(usize, T)>, ClusterError> {
        let mut missing = self.first_of_hosts();
        let mut answers = Vec::with_capacity(missing.len());
        missing.iter().for_each(|number| self.sessions[*number].outbox.message(question));
        let deadline = Instant::now() + FIRST_ANSWER;
        while let Some(first) = missing.first().copied() {
            let waits = deadline.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(waits) {
                Ok((number, Event::Report(report))) => {
                    let Some(answer) = answer(report) else { continue };
                    answers.push((number, answer));
                    missing.retain(|one| *one != number);
                }
                Ok((number, Event::Gone(words))) => return Err(self.lost(number, words)),
                Ok(_) => {}
                Err(_) => return Err(self.lost(first, "it does not answer".to_owned())),
            }
        }
        answers.sort_by_key(|(number, _)| *number);
        Ok(answers)
    }

    fn no_agent(&self, number: usize, words: String) -> ClusterError {
        let destination = &self.sessions[number].destination;
        let command = match &destination.place {
            Place::Local => "dnsdyno agent --stdio </dev/null".to_owned(),
            Place::Nats(url) => format!("dnsdyno agents '{url}'"),
            Place::Exec(words) => format!("{} --version", words.join(" ")),
            Place::Ssh { destination, port, program } => {
                let port = port.map(|port| format!("-p {port} ")).unwrap_or_default();
                format!("ssh -o BatchMode=yes {port}{destination} {program} --version")
            }
        };
        ClusterError::NoAgent { name: destination.name.clone(), words, command }
    }

    /// Exchanges the time with each agent.
    pub(crate) fn look_at_clocks(&mut self, exchanges: u64) -> Result<(), ClusterError> {
        let all = (0..self.sessions.len()).collect();
        let mut round = ClockRound::begin(&self.sessions, all, exchanges);
        let mut deadline = Instant::now() + FIRST_ANSWER;
        while let Some(first) = round.missing() {
            let waits = deadline.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(waits) {
                Ok((from, Event::Clock(exchange))) => {
                    // After a pause between two runs, in which nobody has listened, it is not silent.
                    self.sessions[from].heard_ns = exchange.back_ns;
                    self.sessions[from].clock.add(exchange);
                    round.answered(&self.sessions, from);
                    deadline = Instant::now() + FIRST_ANSWER;
                }
                Ok((from, Event::Gone(words))) => return Err(self.lost(from, words)),
                Ok(_) if Instant::now() < deadline => {}
                Ok(_) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(self.lost(first, "it does not say what time it is".to_owned()));
                }
            }
        }
        Ok(())
    }

    fn lost(&self, number: usize, why: String) -> ClusterError {
        ClusterError::Lost { name: self.sessions[number].name().to_owned(), why }
    }

    fn hands(&self) -> Vec<Hand> {
        let hand = |session: &Session| {
            let (weight, cpus) = (session.destination.weight, session.facts.cpus);
            Hand { weight, cpus, speed: 1.0 }
        };
        let mut hands: Vec<Hand> = self.sessions.iter().map(hand).collect();
        weigh(&mut hands, &self.speeds);
        hands
    }
}

impl Runner for Cluster {
    fn validate(&self, draft: &Draft) -> Result<Plans, RunError> {
        if draft.part.is_some() {
            let why = "each agent gets a part of its own: remove it";
            return Err(ClusterError::Option { option: "part", why }.into());
        }
        if draft.trace.is_some() {
            let why = "a trace is written on the host that sends: trace a run without --on";
            return Err(ClusterError::Option { option: "trace", why }.into());
        }
        let runner = (self.alone)();
        let alone = runner.validate(draft)?.plan;
        let workers: u32 = deal(&self.hands(), needed(draft, &alone))?.iter().sum();
        // An exact number: the plan is that of one process with all workers.
        runner.validate(&Draft { workers: Some(WorkerCount::Number(workers as usize)), ..draft.clone() })
    }

    fn run(
        &mut self,
        job: &RunJob<'_>,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<FinishedRun, RunError> {
        if job.query_logs.is_some() {
            let why = "single queries are logged in one process only: remove it".to_owned();
            return Err(RunError::Agents { why, is_bad_input: true });
        }
        let workers = deal(&self.hands(), Needed::Exactly(job.plans.plan.part.of))?;
        self.look_at_clocks(CLOCK_EXCHANGES)?;
        let has_to_sign = self.sessions.iter().any(|session| session.addressee.is_some());
        let signer = has_to_sign.then(|| Signer::read(&self.key)).transpose().map_err(ClusterError::Key)?;
        let agents = Agents {
            signer,
            busy: HashSet::new(),
            sessions: &mut self.sessions,
            events: &self.events,
            faults: self.faults,
            workers,
            plan: &job.plans.plan,
            control,
        };
        Running { agents, keep: &job.keep }.run(observer)
    }
}

impl From<ClusterError> for RunError {
    fn from(error: ClusterError) -> RunError {
        let is_bad_input = match &error {
            ClusterError::Refused { cause: RefusalCause::Check, .. } => {
                let (sentences, checks) = (vec![error.to_string()], Vec::new());
                return RunError::Check(CheckFailed { sentences, checks });
            }
            ClusterError::Refused { cause, .. } => *cause == RefusalCause::BadInput,
            ClusterError::Destination { .. }
            | ClusterError::Option { .. }
            | ClusterError::FewWorkers { .. }
            | ClusterError::Weights { .. }
            | ClusterError::File { .. }
            | ClusterError::Key(_)
            | ClusterError::Name { .. } => true,
            _ => false,
        };
        RunError::Agents { why: error.to_string(), is_bad_input }
    }
}

/// The workers that a load needs, by the plan that one host would have.
fn needed(draft: &Draft, alone: &Plan) -> Needed {
    match (draft.workers, &alone.usual_workers) {
        (Some(WorkerCount::Number(workers)), _) => Needed::Exactly(workers as u32),
        (None, Some(usual)) if alone.load.is_open() && !usual.is_limited => {
            Needed::AtLeast(alone.workers as u32)
        }
        _ => Needed::AllCpus,
    }
}

/// Tells the agents twice a second that the coordinator is there, as long as it is.
fn say_alive(outboxes: &Arc<Vec<Outbox>>) -> std::io::Result<()> {
    let outboxes: Weak<Vec<Outbox>> = Arc::downgrade(outboxes);
    thread::Builder::new().name("alive".to_owned()).spawn(move || {
        while let Some(outboxes) = outboxes.upgrade() {
            outboxes.iter().for_each(|outbox| outbox.message(&Order::Alive));
            drop(outboxes);
            thread::sleep(ALIVE_EVERY);
        }
    })?;
    Ok(())
}

/// How long the first answer of an agent may take: with the connection of `ssh`.
const FIRST_ANSWER: Duration = Duration::from_secs(20);

/// Exchanges of the time before each run: the shortest of so many has waited for nobody.
const CLOCK_EXCHANGES: u64 = 40;
