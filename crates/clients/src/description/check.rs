//! Whether the values of a description can be used, and what follows from them for all workers.

use std::collections::HashSet;

use dnsdyno_text::encoding::read_text;
use dnsdyno_wire::{CLASS_IN, TYPE_NAPTR, encode_name, parse_type};

use crate::sets::MOST_USERS;

use super::{Description, DescriptionError, EventKind, Lookups, Mobile, Names, Stubs};

/// What one entry of a cache takes in memory, in octets: itself, its places in tables, and the memory of its eviction.
/// Measured with a million entries (`tests/speed.rs`), and rounded up.
pub const ENTRY_OCTETS: u64 = 200;

/// More than this many clients of one run have no use, and their own memory is not in the estimate.
const MOST_CLIENTS: u32 = 1_000_000;

/// With the largest `first_s` and this many retries a client waits for a month.
const MOST_RETRIES: u32 = 10;

/// The longest time in seconds that a value can have: ten years.
const LONGEST_S: f64 = 315_360_000.0;

/// Each kind of users has two bits of what a record is for.
const MOST_OTHERS: usize = MOST_USERS - 1;

/// The codes that no tracking area has (TS 23.003 §19.4.2.3).
const RESERVED_TACS: [u16; 2] = [0x0000, 0xfffe];

/// A description whose values can be used.
#[derive(Debug, Clone)]
pub struct Checked {
    pub(crate) description: Description,
    /// What is asked first, by tracking area or by line of the queries; name, type and class on the wire.
    pub(crate) first: Vec<Vec<u8>>,
    /// What is asked then, by access point; empty for `stub`.
    pub(crate) second: Vec<Vec<u8>>,
}

impl Checked {
    /// The description itself.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// What the caches of all clients may take in memory, in octets.
    pub(crate) fn cache_octets(&self) -> u64 {
        self.description.cache_octets()
    }

    /// What procedures begin with: name, type and class on the wire.
    pub fn first_questions(&self) -> impl Iterator<Item = &[u8]> {
        self.first.iter().chain(&self.second).map(Vec::as_slice)
    }

    /// How many different questions procedures begin with: tracking areas and access points, or lines.
    pub fn questions(&self) -> usize {
        self.first.len() + self.second.len()
    }
}

impl Description {
    /// Checks all values, and reads the file of queries of a `stub`.
    ///
    /// `memory_octets` is what the caches of all clients may take.
    ///
    /// # Errors
    /// The first value that cannot be used, with what to do.
    pub fn check(self, memory_octets: u64) -> Result<Checked, DescriptionError> {
        self.check_clients(memory_octets)?;
        self.check_arrivals()?;
        self.check_retries()?;
        let (first, second) = match &self.names {
            Names::Epc(mobile) => {
                mobile.check(self.clients, self.arrivals.clients_per_tac)?;
                (mobile.tac_questions()?, mobile.apn_questions()?)
            }
            Names::Stub(stubs) => (stubs.questions()?, Vec::new()),
        };
        self.check_events()?;
        Ok(Checked { description: self, first, second })
    }

    fn cache_octets(&self) -> u64 {
        let most_entries = u64::from(self.cache.entries / self.cache.count.least());
        u64::from(self.clients) * most_entries * ENTRY_OCTETS
    }

    fn check_clients(&self, memory_octets: u64) -> Result<(), DescriptionError> {
        require((1..=MOST_CLIENTS).contains(&self.clients), "clients", || {
            format!("{} is not from 1 to {MOST_CLIENTS}", self.clients)
        })?;
        let needed = self.cache_octets();
        require(needed <= memory_octets, "cache.entries", || {
            let least = u64::from(self.cache.count.least());
            let fitting = memory_octets / ENTRY_OCTETS / u64::from(self.clients) * least;
            format!(
                "{} entries for each of {} clients may take {} MiB of memory, and {} MiB are allowed: give at most \
                 {fitting} entries, or fewer clients",
                self.cache.entries,
                self.clients,
                needed >> 20,
                memory_octets >> 20
            )
        })
    }

    fn check_arrivals(&self) -> Result<(), DescriptionError> {
        let arrivals = &self.arrivals;
        for (key, value) in [
            ("arrivals.attaches", arrivals.attaches),
            ("arrivals.handovers", arrivals.handovers),
            ("arrivals.tac_zipf", arrivals.tac_zipf),
            ("arrivals.apn_zipf", arrivals.apn_zipf),
        ] {
            not_negative(key, value)?;
        }
        let stub = matches!(self.names, Names::Stub(_));
        let rate = arrivals.attaches + if stub { 0.0 } else { arrivals.handovers };
        require(rate > 0.0 || !self.events.is_empty(), "arrivals.attaches", || {
            "nothing is ever asked: give a rate above 0, or an event".to_owned()
        })?;
        require(arrivals.day_s > 0.0 && arrivals.day_s <= LONGEST_S, "arrivals.day_s", || {
            format!("{} is no length of a day: give seconds above 0", arrivals.day_s)
        })?;
        for factor in &arrivals.curve {
            not_negative("arrivals.curve", *factor)?;
        }
        let any = arrivals.curve.is_empty() || arrivals.curve.iter().any(|factor| *factor > 0.0);
        require(any, "arrivals.curve", || "all factors are 0: give one above 0, or no curve".to_owned())
    }

    fn check_retries(&self) -> Result<(), DescriptionError> {
        let first_s = self.retries.first_s;
        require(first_s > 0.0 && first_s <= 3_600.0, "retries.first_s", || {
            format!("{first_s} is not above 0 and at most 3600 seconds")
        })?;
        require(self.retries.retries <= MOST_RETRIES, "retries.retries", || {
            format!("{} is more than {MOST_RETRIES}: each waits twice as long", self.retries.retries)
        })
    }

    fn check_events(&self) -> Result<(), DescriptionError> {
        for (at, event) in self.events.iter().enumerate() {
            let key = |name: &str| format!("events.{at}.{name}");
            not_negative(&key("at_s"), event.at_s)?;
            let within_s = match (&event.kind, &self.names) {
                (EventKind::Restart { client, within_s, .. }, _) => {
                    require(*client < self.clients, &key("client"), || {
                        format!(
                            "there is no client {client}: they are numbered from 0 to {}",
                            self.clients - 1
                        )
                    })?;
                    *within_s
                }
                (EventKind::Mass { tac, within_s, .. }, Names::Epc(mobile)) => {
                    require(mobile.tacs.contains(tac), &key("tac"), || {
                        format!("{tac} is none of the tracking areas: add it to `tacs`, or give one of them")
                    })?;
                    *within_s
                }
                (EventKind::Mass { .. }, Names::Stub(_)) => {
                    return Err(value(
                        &key("event"),
                        "`mass` has a tracking area: a `stub` can only `restart`",
                    ));
                }
            };
            not_negative(&key("within_s"), within_s)?;
        }
        Ok(())
    }
}

impl Mobile {
    fn check(&self, clients: u32, clients_per_tac: u32) -> Result<(), DescriptionError> {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        require(self.mcc.len() == 3 && digits(&self.mcc), "mcc", || {
            format!("`{}` is no mobile country code: write three digits, such as 440", self.mcc)
        })?;
        require(matches!(self.mnc.len(), 2 | 3) && digits(&self.mnc), "mnc", || {
            format!("`{}` is no mobile network code: write two or three digits, such as 010", self.mnc)
        })?;
        require(!self.tacs.is_empty(), "tacs", || {
            "there is none: give at least one tracking area".to_owned()
        })?;
        let mut seen = HashSet::new();
        for tac in &self.tacs {
            require(!RESERVED_TACS.contains(tac), "tacs", || {
                format!("{tac} ({tac:04x}) is reserved and no tracking area has it: remove it")
            })?;
            require(seen.insert(tac), "tacs", || format!("{tac} is there twice: remove one"))?;
        }
        require((1..=clients).contains(&clients_per_tac), "arrivals.clients_per_tac", || {
            format!("{clients_per_tac} is not from 1 to the number of clients, {clients}")
        })?;
        let served = self.tacs.len() as u64 * u64::from(clients_per_tac);
        require(served >= u64::from(clients), "arrivals.clients_per_tac", || {
            format!(
                "{} tracking areas with {clients_per_tac} clients each are too few for {clients} clients: some would \
                 have no users; add tracking areas, or let more clients share one",
                self.tacs.len()
            )
        })?;
        require(!self.apns.is_empty(), "apns", || {
            "there is none: give at least one access point".to_owned()
        })?;
        self.lookups.check()
    }

    /// The part of all names that says whose they are (TS 23.003 §19.2).
    fn operator(&self) -> String {
        format!("epc.mnc{:0>3}.mcc{}.3gppnetwork.org", self.mnc, self.mcc)
    }

    fn tac_questions(&self) -> Result<Vec<Vec<u8>>, DescriptionError> {
        let operator = self.operator();
        let name = |tac: &u16| {
            let [high, low] = tac.to_be_bytes();
            format!("tac-lb{low:02x}.tac-hb{high:02x}.tac.{operator}")
        };
        self.tacs.iter().map(|tac| question("tacs", &name(tac), TYPE_NAPTR)).collect()
    }

    fn apn_questions(&self) -> Result<Vec<Vec<u8>>, DescriptionError> {
        let operator = self.operator();
        let mut seen = HashSet::new();
        let encode = |apn: &String| {
            let asked = question("apns", &format!("{apn}.apn.{operator}"), TYPE_NAPTR)?;
            require(seen.insert(asked.to_ascii_lowercase()), "apns", || {
                format!("`{apn}` is there twice: remove one")
            })?;
            Ok(asked)
        };
        self.apns.iter().map(encode).collect()
    }
}

impl Lookups {
    fn check(&self) -> Result<(), DescriptionError> {
        for (key, protocols) in [("lookups.sgw", &self.sgw), ("lookups.pgw", &self.pgw)] {
            require(!protocols.is_empty(), key, || {
                "there is no protocol: give one, such as x-s5-gtp".to_owned()
            })?;
            for protocol in protocols {
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
                require(!protocol.is_empty() && protocol.bytes().all(plain), key, || {
                    format!(
                        "`{protocol}` is no protocol: write one such as x-s5-gtp; `capability` is a key of its own"
                    )
                })?;
            }
        }
        check_users("lookups", self.capability.as_deref(), self.ipv4 || self.ipv6)?;
        require(self.others.len() <= MOST_OTHERS, "lookups.others", || {
            format!("{} kinds of users are too many: give at most {MOST_OTHERS}", self.others.len())
        })?;
        for (at, users) in self.others.iter().enumerate() {
            let key = format!("lookups.others.{at}");
            require((0.0..=1.0).contains(&users.part), &format!("{key}.part"), || {
                format!("{} is no part of the users: give a number from 0 to 1", users.part)
            })?;
            check_users(&key, users.capability.as_deref(), users.ipv4 || users.ipv6)?;
        }
        let parts: f64 = self.others.iter().map(|users| users.part).sum();
        require(parts <= 1.0 + 1e-9, "lookups.others", || {
            format!(
                "all parts together are {parts}: they may be at most 1, and what is left is the rest of the users"
            )
        })
    }
}

/// Checks what users need, whose keys begin with `key`.
fn check_users(key: &str, capability: Option<&str>, has_address: bool) -> Result<(), DescriptionError> {
    if let Some(capability) = capability {
        let alphanumeric = capability.bytes().all(|byte| byte.is_ascii_alphanumeric());
        require((1..=5).contains(&capability.len()) && alphanumeric, &format!("{key}.capability"), || {
            format!(
                "`{capability}` is no network capability: write one to five letters or digits, such as nr"
            )
        })?;
    }
    require(has_address, &format!("{key}.ipv4"), || {
        "no address is looked up: let ipv4 or ipv6 be true".to_owned()
    })
}

impl Stubs {
    /// The questions of the file: lines `name type`, empty ones and comments with `#` or `;` left out.
    fn questions(&self) -> Result<Vec<Vec<u8>>, DescriptionError> {
        let path = || self.queries.display().to_string();
        let text =
            read_text(&self.queries).map_err(|error| DescriptionError::Unreadable { path: path(), error })?;
        let mut questions = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            let key = || format!("{}:{}", path(), number + 1);
            let mut words = line.split_whitespace();
            let (Some(name), Some(qtype), None) = (words.next(), words.next(), words.next()) else {
                return Err(value(&key(), "write a name and a type, such as `www.example A`"));
            };
            let qtype = parse_type(qtype).ok_or_else(|| value(&key(), &format!("`{qtype}` is no type")))?;
            questions.push(question(&key(), name, qtype)?);
        }
        require(!questions.is_empty(), &path(), || "there is no query in it: give at least one".to_owned())?;
        Ok(questions)
    }
}

/// Name, type and class on the wire.
fn question(key: &str, name: &str, qtype: u16) -> Result<Vec<u8>, DescriptionError> {
    let mut wire = Vec::new();
    encode_name(name.as_bytes(), &mut wire).map_err(|error| value(key, &format!("`{name}`: {error}")))?;
    wire.extend_from_slice(&qtype.to_be_bytes());
    wire.extend_from_slice(&CLASS_IN.to_be_bytes());
    Ok(wire)
}

fn not_negative(key: &str, given: f64) -> Result<(), DescriptionError> {
    require((0.0..=LONGEST_S).contains(&given), key, || {
        format!("{given} cannot be used: give a number from 0 to {LONGEST_S}")
    })
}

/// Refuses a value that cannot be used.
pub(crate) fn require(
    holds: bool,
    key: &str,
    problem: impl FnOnce() -> String,
) -> Result<(), DescriptionError> {
    if holds { Ok(()) } else { Err(value(key, &problem())) }
}

/// A value that cannot be used.
pub(crate) fn value(key: &str, problem: &str) -> DescriptionError {
    DescriptionError::Value { key: key.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests;
