//! Why agents cannot be used.

use std::io;
use std::path::PathBuf;

use crate::messages::RefusalCause;
use crate::signing::KeyError;

/// Why agents cannot be used. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// `--on` names something else.
    #[error("--on {text}: {why}")]
    Destination {
        /// What was given.
        text: String,
        /// What is expected.
        why: String,
    },
    /// The program of a link cannot be started.
    #[error("{name}: {program} cannot be started: {source}")]
    Start {
        /// The agent.
        name: String,
        /// The program.
        program: String,
        /// The error of the system.
        source: io::Error,
    },
    /// An agent has not answered.
    #[error("{name}: no agent answered: {words}; this must work without a question: {command}")]
    NoAgent {
        /// The agent.
        name: String,
        /// What was said instead.
        words: String,
        /// What to try by hand.
        command: String,
    },
    /// A broker cannot be used.
    #[error("{url}: {why}")]
    Broker {
        /// The broker.
        url: String,
        /// Why.
        why: String,
        /// Whether it refuses, or the files for it cannot be read: trying again is of no use.
        is_refused: bool,
    },
    /// Agents that are wanted are not there.
    #[error(
        "{url}: {found} agents have these labels: start more (`dnsdyno agent --nats URL --label KEY=VALUE`) \
         or ask for fewer labels"
    )]
    FewAgents {
        /// The broker.
        url: String,
        /// Those that are.
        found: usize,
    },
    /// An agent cannot be called so.
    #[error("`{name}` cannot be the name of an agent: give --name of letters, digits, - and _")]
    Name {
        /// The name.
        name: String,
    },
    /// No task can be signed.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// An agent speaks another protocol.
    #[error(
        "{name}: its dnsdyno {theirs} speaks protocol {protocol} of agents, and this one ({ours}) speaks {own}: \
         install the same version on both"
    )]
    OtherProtocol {
        /// The agent.
        name: String,
        /// Its version.
        theirs: String,
        /// Its protocol.
        protocol: u32,
        /// The version here.
        ours: String,
        /// The protocol here.
        own: u32,
    },
    /// There are fewer workers than agents.
    #[error(
        "{workers} workers cannot be divided over {agents} agents: give at least as many workers, or fewer agents"
    )]
    FewWorkers {
        /// Workers.
        workers: u32,
        /// Agents.
        agents: u32,
    },
    /// The workers cannot be divided by the weights.
    #[error(
        "{workers} workers cannot be divided by weights of {sum} together: each worker has the same share, so use a \
         multiple of {sum}, or leave --workers away"
    )]
    Weights {
        /// Workers.
        workers: u32,
        /// Sum of the weights.
        sum: u32,
    },
    /// An option that means one host.
    #[error("--{option} cannot be used with --on: {why}")]
    Option {
        /// The option.
        option: &'static str,
        /// Why, and what to do.
        why: &'static str,
    },
    /// A file of the plan cannot be read.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file of the plan has changed while it was sent.
    #[error("{path} has changed while it was sent to the agents: start again", path = path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// An agent refuses the run.
    #[error("{name}: {why}")]
    Refused {
        /// The agent.
        name: String,
        /// In its words.
        why: String,
        /// What it is about.
        cause: RefusalCause,
    },
    /// An agent was lost before the start.
    #[error("{name} was lost before the start: {why}")]
    Lost {
        /// The agent.
        name: String,
        /// Why.
        why: String,
    },
    /// The clocks are not known well enough.
    #[error(
        "{name}: its clock is known to {bound} only, and the start is to be within {wanted}: use a shorter or quieter \
         way to it, or give --start-within {bound} or more"
    )]
    Clock {
        /// The agent.
        name: String,
        /// How well.
        bound: String,
        /// How well it has to be.
        wanted: String,
    },
    /// The system gives no thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// Agents give records that cannot be joined.
    #[error("the records of the agents cannot be joined: {0}")]
    Join(String),
}
