//! The description of clients: a JSON file, written by `dnsdyno data` beside the zones that it describes, and read by
//! `--source epc:FILE`. What `data` does not know has a default, and is there to be changed.

pub(crate) mod check;

use std::path::Path;

use dnsdyno_text::encoding::read_text;
use serde::{Deserialize, Serialize};

use crate::keys::unknown_key;
use crate::zone::Zone;

/// The clients of a run, all of one kind.
///
/// Every field is always written: what is written is how [`Description::read`] knows the keys that there are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// What the clients ask for.
    #[serde(flatten)]
    pub names: Names,
    /// How many clients there are. Each has a cache of its own.
    #[serde(default = "one")]
    pub clients: u32,
    /// The cache of each client.
    #[serde(default)]
    pub cache: Cache,
    /// What the users of all clients together do.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// How a client asks again when no response comes.
    #[serde(default)]
    pub retries: Retries,
    /// What happens at set instants.
    #[serde(default)]
    pub events: Vec<Event>,
    /// What the zones hold that are asked for; only a prediction needs it.
    #[serde(default)]
    pub zone: Option<Zone>,
}

fn one() -> u32 {
    1
}

/// What clients of a kind ask for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Names {
    /// The mobility management of a mobile core: gateways by tracking area and by access point.
    Epc(Mobile),
    /// Hosts that look names up, each through a cache of its own.
    Stub(Stubs),
}

/// A mobile operator's names (3GPP TS 23.003 §19.4.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mobile {
    /// The mobile country code: three digits.
    pub mcc: String,
    /// The mobile network code, two or three digits; padded to three in names.
    pub mnc: String,
    /// The tracking area codes, the most used first.
    pub tacs: Vec<u16>,
    /// The access points by their network identifier (`internet`, `spmode.ne.jp`), the most used first.
    pub apns: Vec<String>,
    /// What is looked for in the responses, and what is looked up beside it.
    #[serde(default)]
    pub lookups: Lookups,
}

/// What a client of a mobile core looks for (TS 29.303; S-NAPTR, RFC 3958).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lookups {
    /// The protocols of the interface to the serving gateway: a record with any of them is a candidate.
    pub sgw: Vec<String>,
    /// The same for the gateway to the packet network.
    pub pgw: Vec<String>,
    /// The network capability that a record must have (`nr` matches `+nc-nr` and `+nc-nr.5gs`); none: records without
    /// any.
    pub capability: Option<String>,
    /// Whether IPv4 addresses (A) are looked up.
    pub ipv4: bool,
    /// Whether IPv6 addresses (AAAA) are looked up.
    pub ipv6: bool,
    /// Whether records of the additional section are taken instead of a query for them.
    pub additional: bool,
    /// Users who need other gateways than the rest, such as those with IPv6 alone. They share the client's cache.
    pub others: Vec<OtherUsers>,
}

/// A part of the users, and what they need instead of what the rest needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherUsers {
    /// Which part of all users they are, 0 to 1.
    pub part: f64,
    /// The network capability that a record must have; none: records without any.
    #[serde(default)]
    pub capability: Option<String>,
    /// Whether IPv4 addresses (A) are looked up for them.
    #[serde(default)]
    pub ipv4: bool,
    /// Whether IPv6 addresses (AAAA) are looked up for them.
    #[serde(default)]
    pub ipv6: bool,
}

impl Default for Lookups {
    fn default() -> Self {
        Lookups {
            sgw: vec!["x-s5-gtp".to_owned()],
            pgw: vec!["x-s5-gtp".to_owned()],
            capability: None,
            ipv4: true,
            ipv6: false,
            additional: true,
            others: Vec::new(),
        }
    }
}

/// Names that hosts look up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stubs {
    /// A file of lines `name type`, the most used first; relative to the description.
    pub queries: std::path::PathBuf,
}

/// The cache of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cache {
    /// How much it holds, in what `count` counts; 0: no cache.
    pub entries: u32,
    /// What is evicted when it is full.
    pub policy: Policy,
    /// What one entry is, and what it takes of the cache.
    pub count: Count,
}

impl Default for Cache {
    fn default() -> Self {
        Cache { entries: 10_000, policy: Policy::Ttl, count: Count::Rrsets }
    }
}

/// Which entry of a full cache is evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// That with the smallest remaining TTL.
    Ttl,
    /// That which was stored first.
    Fifo,
    /// That which was used the longest time ago.
    Lru,
    /// That which was used least often.
    Lfu,
}

/// What one entry of a cache is, and how much of `cache.entries` it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Count {
    /// A question with all that came with its response: it takes one.
    Names,
    /// Each set of records of a name and type, also of the additional section: it takes one.
    Rrsets,
    /// The same sets: each takes as many as it has records, and one where it says that there are none.
    Records,
    /// A question with all that came with its response: it takes as many as the response has octets.
    Octets,
}

/// What the users of all clients together do: Poisson processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Arrivals {
    /// Attaches a second (`epc`), or lookups a second (`stub`).
    pub attaches: f64,
    /// Changes of the tracking area a second that need another serving gateway (`epc`).
    pub handovers: f64,
    /// The exponent of the Zipf distribution over tracking areas; 0: all are equal.
    pub tac_zipf: f64,
    /// The same over access points, or over the names of `stub`.
    pub apn_zipf: f64,
    /// How many clients serve one tracking area. With 1 each area is asked for by one client, and each access point by
    /// all of them.
    pub clients_per_tac: u32,
    /// Factors of both rates, spread evenly over `day_s`, with straight lines between them; empty: none.
    pub curve: Vec<f64>,
    /// The length of the curve in seconds, after which it begins anew.
    pub day_s: f64,
}

impl Default for Arrivals {
    fn default() -> Self {
        Arrivals {
            attaches: 1_000.0,
            handovers: 1_000.0,
            tac_zipf: 0.0,
            apn_zipf: 1.0,
            clients_per_tac: 1,
            curve: Vec::new(),
            day_s: 86_400.0,
        }
    }
}

impl Count {
    /// Whether a question is one entry with all that came with its response.
    pub(crate) fn is_whole_response(self) -> bool {
        matches!(self, Count::Names | Count::Octets)
    }

    /// What a size is counted in, in words.
    pub fn words(self) -> &'static str {
        match self {
            Count::Names => "names",
            Count::Rrsets => "RRsets",
            Count::Records => "records",
            Count::Octets => "bytes",
        }
    }

    /// The least that an entry takes.
    pub(crate) fn least(self) -> u32 {
        match self {
            Count::Names | Count::Rrsets | Count::Records => 1,
            // A header, and a question for the root.
            Count::Octets => 17,
        }
    }
}

/// How a client asks again: a query and `retries` more, each after twice the time of the one before. The response to
/// any of them answers the question, however late it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retries {
    /// After so many seconds without a response.
    pub first_s: f64,
    /// How often at most.
    pub retries: u32,
    /// Which server of several is asked.
    pub server: RetryServer,
}

impl Default for Retries {
    fn default() -> Self {
        Retries { first_s: 3.0, retries: 2, server: RetryServer::Any }
    }
}

/// Which of the servers of a run a client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetryServer {
    /// Whichever is next in the mix of the run.
    Any,
    /// Always the same: client 0 the first server, client 1 the second, and so on in turn.
    Same,
    /// That one first, and for each retry the next.
    Next,
}

impl RetryServer {
    /// Which of `servers` is asked by a client for a retry (0: the first query); `None`: the mix decides.
    pub fn of(self, client: u32, retry: u32, servers: u32) -> Option<u32> {
        let first = client % servers.max(1);
        match self {
            RetryServer::Any => None,
            RetryServer::Same => Some(first),
            RetryServer::Next => Some((first + retry) % servers.max(1)),
        }
    }
}

/// Something that happens at an instant of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Seconds after the begin.
    pub at_s: f64,
    /// What happens.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What can happen to clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum EventKind {
    /// A client restarts: its cache is empty, and its users attach again.
    Restart {
        /// Which client, from 0 on.
        client: u32,
        /// How many users attach again.
        attaches: u32,
        /// In how many seconds they do.
        within_s: f64,
    },
    /// Many users attach in one tracking area.
    Mass {
        /// The tracking area.
        tac: u16,
        /// How many users attach.
        attaches: u32,
        /// In how many seconds they do.
        within_s: f64,
    },
}

/// Why a description cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    /// A file cannot be read.
    #[error("{path}: {error}")]
    Unreadable {
        /// Which file.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// It is not what was expected.
    #[error("{path}: {problem}")]
    Wrong {
        /// Which file.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// A value that cannot be used.
    #[error("{key}: {problem}")]
    Value {
        /// Its key, with dots between levels.
        key: String,
        /// What is wrong, and what to do.
        problem: String,
    },
}

impl Description {
    /// Reads a description. Whether its values can be used is said by [`check`](Self::check).
    ///
    /// # Errors
    /// If the file cannot be read, is not a description, or has a key that does not exist.
    pub fn read(path: &Path) -> Result<Self, DescriptionError> {
        let shown = || path.display().to_string();
        let wrong = |problem| DescriptionError::Wrong { path: shown(), problem };
        let text = read_text(path).map_err(|error| DescriptionError::Unreadable { path: shown(), error })?;
        let mut description = Self::parse(&text).map_err(wrong)?;
        if let Some(folder) = path.parent() {
            description.find_queries_in(folder);
        }
        Ok(description)
    }

    /// Takes the file of queries of a `stub` as relative to a folder.
    pub(crate) fn find_queries_in(&mut self, folder: &Path) {
        if let Names::Stub(stubs) = &mut self.names {
            stubs.queries = folder.join(&stubs.queries);
        }
    }

    /// The same clients with the records of another description: what its zones hold, and what its users look for.
    #[must_use]
    pub fn with_records_of(mut self, other: Description) -> Self {
        if let (Names::Epc(own), Names::Epc(its)) = (&mut self.names, other.names) {
            own.lookups = its.lookups;
        }
        self.zone = other.zone;
        self
    }

    /// Reads a description from its text.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let description: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let given = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let known = serde_json::to_value(&description).map_err(|error| error.to_string())?;
        match unknown_key(&given, &known) {
            Some(key) => Err(format!("there is no key `{key}`: remove it, or look at its spelling")),
            None => Ok(description),
        }
    }
}
