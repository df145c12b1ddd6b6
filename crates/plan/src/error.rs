//! Errors in a draft. Each message says what to do; options are named as flags, and the keys of a plan file have the
//! same names.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use dnsdyno_queries::TsigError;
use dnsdyno_text::notation::UnitError;

use crate::expect::ExpectError;
use crate::kinds::Family;
use crate::schedule::CurveError;

/// Why a draft is not a valid plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// The plan file cannot be read.
    #[error("cannot read the plan file {path}: {reason}", path = path.display())]
    ReadPlan {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        reason: String,
    },
    /// The content of the plan file is not valid.
    #[error("the plan file {path} is not valid: {reason}", path = path.display())]
    BadPlan {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and key.
        reason: String,
    },
    /// The plan cannot be written as TOML.
    #[error("the plan cannot be written as TOML: {0}")]
    WritePlan(String),
    /// A value that cannot be read.
    #[error("--{option}: {source}")]
    Unit {
        /// The option without its dashes.
        option: &'static str,
        /// What is wrong with its value.
        source: UnitError,
    },
    /// An expectation or a condition that cannot be read.
    #[error("--{option}: {source}")]
    Expectation {
        /// The option without its dashes.
        option: &'static str,
        /// What is wrong with it.
        source: ExpectError,
    },
    /// An option of the source of queries that cannot be read.
    #[error("--{option}: {reason}")]
    Source {
        /// The option without its dashes.
        option: &'static str,
        /// What is wrong with its value.
        reason: String,
    },
    /// A value of the wrong kind.
    #[error("--{option}: `{text}` is not {expected}")]
    Value {
        /// The option without its dashes.
        option: &'static str,
        /// What was given.
        text: String,
        /// What is valid.
        expected: &'static str,
    },
    /// A key for signatures that cannot be used. Its text is not shown: it has the secret.
    #[error("--{option}: {source}")]
    Tsig {
        /// The option without its dashes.
        option: &'static str,
        /// What is wrong with it.
        source: TsigError,
    },
    /// A value outside its limits.
    #[error("--{option} {given} is out of range: use {min} to {max}")]
    OutOfRange {
        /// The option without its dashes.
        option: &'static str,
        /// What was given.
        given: String,
        /// The lowest value allowed.
        min: String,
        /// The highest value allowed.
        max: String,
    },
    /// A limit of less than a query in a second.
    #[error("--rate-limit must be at least 1: for fewer queries use --rate, such as --rate 0.5")]
    SlowLimit,
    /// A weight of a member that gives it no share.
    #[error("weight: {0}")]
    BadWeight(String),
    /// A value that must be above 0.
    #[error("--{option} must be above 0")]
    Zero {
        /// The option without its dashes.
        option: &'static str,
    },
    /// No server.
    #[error("no server given: use -s ADDRESS, such as -s 127.0.0.1")]
    NoServer,
    /// The server is neither a name nor an address.
    #[error("`{text}` is not a server: {advice}")]
    BadServer {
        /// What was given.
        text: String,
        /// What to write instead.
        advice: String,
    },
    /// The file of servers cannot be used.
    #[error("--servers {path}: {reason}", path = path.display())]
    BadServers {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Two of the servers have the same address and port.
    #[error(
        "the servers `{}` and `{}` are the same, {address}, which would be there twice: remove one, or give it a \
         weight, such as `{}=2`",
        names[0], names[1], names[0]
    )]
    SameServer {
        /// Both as given.
        names: [String; 2],
        /// The address of both.
        address: SocketAddr,
    },
    /// A setting of one member of a mix.
    #[error("the member `{name}`: {source}")]
    Member {
        /// Its name.
        name: String,
        /// What is wrong.
        source: Box<PlanError>,
    },
    /// Members that a report could not tell apart.
    #[error("two members have the name `{name}`: give each another one, with `name`")]
    SameName {
        /// The name.
        name: String,
    },
    /// More members than a run can have.
    #[error("{members} members (each server with each transport) are too many: use at most {most}")]
    TooManyMembers {
        /// The number of members.
        members: usize,
        /// The largest number.
        most: usize,
    },
    /// The server's port is given twice, and differently.
    #[error("the port is given twice, {in_server} with the server and {in_option} with --port: remove one")]
    TwoPorts {
        /// The port in the server.
        in_server: u16,
        /// The port of the option.
        in_option: u16,
    },
    /// The name has no address.
    #[error("the server `{server}` has no address: {reason}; give an address instead of the name")]
    Unresolved {
        /// The name.
        server: String,
        /// The error of the resolver.
        reason: String,
    },
    /// The server has addresses, but none of the requested family.
    #[error(
        "the server `{server}` has no {wanted} address: change what asks for one (--family, --local-address or \
         --source-prefix), or give another server"
    )]
    WrongFamily {
        /// The server as given.
        server: String,
        /// The family that --family or --local-address requires.
        wanted: Family,
    },
    /// `--family` and `--local-address` contradict each other.
    #[error("--local-address {local} is not a {family} address, which --family requires: change one of them")]
    LocalFamily {
        /// The local address.
        local: IpAddr,
        /// The requested family.
        family: Family,
    },
    /// A public server without permission to load it.
    #[error(
        "{address} is a public address, and a load test looks like an attack to its operator and to every network \
         on the path. If you own it, or its owner has agreed, add --i-may-load-this-server"
    )]
    MayNotLoad {
        /// The address of the server.
        address: IpAddr,
    },
    /// No queries.
    #[error("no queries given: use a file with -d FILE (- for standard input), or names with --ask")]
    NoQueries,
    /// Queries from two sources.
    #[error("--{first} and --{second} both give the queries: remove one")]
    TwoSources {
        /// One of them.
        first: &'static str,
        /// Another.
        second: &'static str,
    },
    /// More than one load.
    #[error("--{first} and --{second} both set the load: remove one")]
    TwoLoads {
        /// One of them.
        first: &'static str,
        /// Another.
        second: &'static str,
    },
    /// An option that cannot be used in this run.
    #[error("--{option} {sentence}")]
    Unusable {
        /// The option without its dashes.
        option: &'static str,
        /// The reason and what to do: the text after the name of the option.
        sentence: String,
    },
    /// A load without an option that it needs.
    #[error("--{load} needs --{missing}: add it, such as --{missing} {example}")]
    Incomplete {
        /// The option that chose the load.
        load: &'static str,
        /// The option that is missing.
        missing: &'static str,
        /// A valid value.
        example: &'static str,
    },
    /// A load that cannot be scheduled.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// Intervals too short for the timeout.
    #[error(
        "--interval {interval} is too short for --timeout {timeout}: each interval is kept in memory until its \
         queries have ended. Use --interval {shortest} or more, or a shorter timeout"
    )]
    ShortInterval {
        /// The given interval.
        interval: String,
        /// The timeout.
        timeout: String,
        /// The shortest possible interval.
        shortest: String,
    },
    /// A window larger than the IDs of the sockets.
    #[error(
        "--outstanding {outstanding} is more than the message IDs of {clients} socket(s) (65536 each): use \
         --clients {needed} or more"
    )]
    TooManyOutstanding {
        /// The window.
        outstanding: u32,
        /// The sockets.
        clients: usize,
        /// The number of sockets that the window needs.
        needed: usize,
    },
    /// A mix that cannot be read.
    #[error("--mix {text}: {reason}; example: udp=60,tcp=40")]
    BadMix {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Fewer local ports than sockets.
    #[error(
        "--local-ports {ports} has {held} port(s), and {clients} socket(s) need one each: widen the range, or use \
         --clients {held}"
    )]
    TooFewPorts {
        /// The range as given.
        ports: String,
        /// The number of ports in it.
        held: usize,
        /// The sockets.
        clients: usize,
    },
    /// A percentile that the run can never have enough queries for.
    #[error(
        "--{option} '{text}': {percentile} needs {needed} queries, and {place}: {advice}, or use a lower percentile"
    )]
    TooFewQueries {
        /// The option without its dashes.
        option: &'static str,
        /// The expectation as given.
        text: Box<str>,
        /// The percentile.
        percentile: Box<str>,
        /// The queries that it needs.
        needed: Box<str>,
        /// Where they are too few, and how many there are.
        place: Box<str>,
        /// What gives more.
        advice: &'static str,
    },
}
