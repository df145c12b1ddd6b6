//! An agent on a NATS broker: it waits there, answers who looks for it, and serves coordinators.
//!
//! Several coordinators may have a session at once, so that agents can be listed during a run; the first that gives a
//! signed task has the agent's load until its session ends.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use async_nats::Message;
use tokio::sync::watch;
use tokio_stream::StreamExt;

use crate::agent::{Agent, GONE_AFTER_NS, Guarded, Turn, serve_guarded};
use crate::broker::{Access, Broker, BrokerUrl, Labels, is_label};
use crate::broker_files::BrokerFiles;
use crate::error::ClusterError;
use crate::nats_link::{self, Direction, Side, subject};
use crate::presence::{FIND, Opened, Opening, Presence, Question, opening_subject};
use crate::signing::{Addressee, Door, is_id, random_id};

/// An agent that waits on a broker.
#[derive(Debug)]
pub struct NatsAgent {
    /// What it may load, and where it keeps records.
    pub agent: Agent,
    /// The broker.
    pub url: BrokerUrl,
    /// How the agent proves who it is there.
    pub access: Access,
    /// Its name; `None` = that of the host.
    pub name: Option<String>,
    /// Its labels.
    pub labels: Labels,
    /// Takes what its host's owner should know: refused tasks, records that were not received.
    pub log: fn(&str),
}

/// Serves coordinators until `stop` says so.
///
/// # Errors
/// The broker refuses, or the name is none.
pub fn serve_nats(agent: NatsAgent, stop: &dyn Fn() -> bool) -> Result<(), ClusterError> {
    let name = agent.name.clone().unwrap_or_else(name_of_host);
    if !is_label(&name) {
        return Err(ClusterError::Name { name });
    }
    let Some(broker) = connect(&agent, stop)? else { return Ok(()) };
    let lost = |why: String| ClusterError::Broker { url: agent.url.to_string(), why, is_refused: false };
    let instance = random_id().map_err(|error| lost(error.to_string()))?;
    let presence = Presence { name: name.clone(), instance, labels: agent.labels.clone() };
    (agent.log)(&format!("the agent {name} waits at {}", agent.url));
    if agent.agent.permission.trusted_keys().is_empty() {
        (agent.log)("it trusts no key, and so makes no run: put trusted-keys into its agent.toml");
    }
    let (openings, opened) = sync_channel(MOST_SESSIONS);
    let (stopping, stopped) = watch::channel(false);
    let (client, mut ended) = (broker.client.clone(), stopped.clone());
    broker.spawn(async move {
        tokio::select! {
            answered = answer(client, presence, openings) => drop(answered),
            _ = ended.changed() => {}
        }
    });
    let mut sessions = Sessions {
        agent: &agent,
        broker: &broker,
        name,
        turn: Turn::default(),
        all: HashMap::new(),
        stopped,
    };
    while !stop() {
        match opened.recv_timeout(LOOK_AGAIN) {
            Ok(asked) => sessions.open(asked),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(lost("the connection has ended".to_owned()));
            }
        }
        sessions.forget_ended();
    }
    let _ = stopping.send(true);
    sessions.wait();
    Ok(())
}

/// Connects; a broker that cannot be reached is waited for.
fn connect(agent: &NatsAgent, stop: &dyn Fn() -> bool) -> Result<Option<Broker>, ClusterError> {
    let mut said = false;
    loop {
        match Broker::connect(&agent.url, &agent.access) {
            Ok(broker) => return Ok(Some(broker)),
            Err(ClusterError::Broker { is_refused: false, why, .. }) => {
                if !std::mem::replace(&mut said, true) {
                    (agent.log)(&format!("{}: {why}; waiting for it", agent.url));
                }
            }
            Err(error) => return Err(error),
        }
        let again = Instant::now() + CONNECT_AGAIN;
        while Instant::now() < again {
            if stop() {
                return Ok(None);
            }
            thread::sleep(LOOK_AGAIN);
        }
    }
}

/// A coordinator that wants a session, and where it waits for the answer.
struct Asked {
    opening: Opening,
    reply: async_nats::Subject,
}

/// Answers who looks for agents, and hands on who wants a session.
async fn answer(
    client: async_nats::Client,
    presence: Presence,
    openings: SyncSender<Asked>,
) -> Result<(), async_nats::SubscribeError> {
    let mut searches = client.subscribe(FIND).await?;
    let mut wanted = client.subscribe(opening_subject(&presence.name)).await?;
    let answer = serde_json::to_vec(&presence).unwrap_or_default();
    loop {
        tokio::select! {
            message = searches.next() => {
                let Some(Message { payload, reply: Some(reply), .. }) = message else { break };
                let is_meant = |question: Question| presence.has(&question.labels);
                if serde_json::from_slice(&payload).is_ok_and(is_meant) {
                    let _ = client.publish(reply, answer.clone().into()).await;
                }
            }
            message = wanted.next() => {
                let Some(Message { payload, reply: Some(reply), .. }) = message else { break };
                let Ok(opening) = serde_json::from_slice::<Opening>(&payload) else { continue };
                // Another agent of this name may be meant.
                if opening.instance == presence.instance && is_id(&opening.session) {
                    // Whoever asks too often is not answered.
                    let _ = openings.try_send(Asked { opening, reply });
                }
            }
        }
    }
    Ok(())
}

/// The sessions of an agent.
struct Sessions<'a> {
    agent: &'a NatsAgent,
    broker: &'a Broker,
    name: String,
    turn: Turn,
    all: HashMap<String, JoinHandle<Option<PathBuf>>>,
    stopped: watch::Receiver<bool>,
}

impl Sessions<'_> {
    fn open(&mut self, asked: Asked) {
        let Asked { opening, reply } = asked;
        let answer = match self.all.contains_key(&opening.session) {
            // The answer was lost.
            true => Opened::Ready,
            false if self.all.len() >= MOST_SESSIONS => {
                Opened::Refused { why: format!("it serves {MOST_SESSIONS} coordinators already") }
            }
            false => match self.begin(&opening.session) {
                Ok(()) => Opened::Ready,
                Err(why) => Opened::Refused { why },
            },
        };
        let answer = serde_json::to_vec(&answer).unwrap_or_default();
        let client = self.broker.client.clone();
        self.broker.wait(async move { drop(client.publish(reply, answer.into()).await) });
    }

    fn begin(&mut self, session: &str) -> Result<(), String> {
        let to = Addressee { agent: self.name.clone(), session: session.to_owned() };
        let (client, from) = (self.broker.client.clone(), subject(&to, Direction::To));
        let subscribed = self.broker.wait(async move { client.subscribe(from).await });
        let subscriber = subscribed.and_then(Result::ok).ok_or("its connection has ended")?;
        let side = Side {
            subject: subject(&to, Direction::From),
            subscriber,
            silent_for: Some(Duration::from_nanos(GONE_AFTER_NS)),
            stop: Some(self.stopped.clone()),
        };
        let link = nats_link::begin(self.broker, side);
        let agent = Agent {
            permission: self.agent.agent.permission.clone(),
            folder: self.agent.agent.folder.join(&session[..8]),
            runner: self.agent.agent.runner,
        };
        let guarded = Guarded {
            door: Door::new(to, agent.permission.trusted_keys().to_vec()),
            broker_files: BrokerFiles::of(self.broker),
            turn: self.turn.clone(),
            log: self.agent.log,
        };
        let spawned = thread::Builder::new()
            .name("session".to_owned())
            .spawn(move || serve_guarded(agent, link, guarded).unwrap_or_default());
        self.all.insert(session.to_owned(), spawned.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Takes leave of the sessions that have ended.
    fn forget_ended(&mut self) {
        let log = self.agent.log;
        for (_, ended) in self.all.extract_if(|_, thread| thread.is_finished()) {
            if let Ok(Some(kept)) = ended.join() {
                let kept = kept.display();
                log(&format!("the coordinator has not received the record whole: it is in {kept}"));
            }
        }
    }

    /// Waits for the end of all, for a while.
    fn wait(&mut self) {
        let deadline = Instant::now() + ENDS_WITHIN;
        while !self.all.is_empty() && Instant::now() < deadline {
            self.forget_ended();
            thread::sleep(LOOK_AGAIN);
        }
        // Its own folder, when no record is left in it.
        let _ = std::fs::remove_dir(&self.agent.agent.folder);
    }
}

/// The name of this host, as a part of a subject.
fn name_of_host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let name: String = name.trim().chars().map(|c| if is_plain(c) { c } else { '-' }).take(63).collect();
    name.trim_start_matches('-').to_owned()
}

/// How often is looked for coordinators, and for the end.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

const CONNECT_AGAIN: Duration = Duration::from_secs(1);

/// How long an agent that is to end waits for its run.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

const MOST_SESSIONS: usize = 16;
