//! What is in a capture: how many messages of which kind, when, of whom, and how fast they were answered.
//!
//! A [`Survey`] counts messages as they come, in bounded memory, and gives the [`Contents`] at the end.

mod clients;
mod codes;
mod edns;
mod pairs;
mod rate;

pub use clients::{Class, Client, Clients};
pub use codes::Share;
pub use edns::Edns;
pub use pairs::Pairs;
pub use rate::Rate;

use std::collections::HashMap;
use std::net::SocketAddr;

use dnsdyno_measure::CaptureCounts;
use dnsdyno_wire::{CLASS_IN, class_name, peek, rcode_name, type_name};
use serde::Serialize;

use crate::message::{DnsMessage, Protocol};

/// What is in a capture.
#[derive(Clone, Debug, Serialize)]
pub struct Contents {
    /// The earliest instant, in nanoseconds since 1970; `None` without a message.
    pub from_unix_ns: Option<u64>,
    /// The latest instant.
    pub to_unix_ns: Option<u64>,
    /// Queries.
    pub queries: u64,
    /// Responses.
    pub responses: u64,
    /// Messages of these whose header or question cannot be read.
    pub malformed: u64,
    /// Octets of the queries.
    pub query_bytes: u64,
    /// Octets of the responses.
    pub response_bytes: u64,
    /// Messages in parts of the time.
    pub rate: Rate,
    /// Messages by transport.
    pub transports: Vec<Transport>,
    /// The clients, and how many queries they make.
    pub clients: Clients,
    /// The servers with the most messages.
    pub servers: Vec<Server>,
    /// Messages of other servers than these.
    pub messages_of_other_servers: u64,
    /// Types of the queries.
    pub types: Vec<Share>,
    /// Classes of the queries, other than IN.
    pub other_classes: Vec<Share>,
    /// Opcodes of the queries, other than QUERY.
    pub other_opcodes: Vec<Share>,
    /// RCODEs of the responses.
    pub rcodes: Vec<Share>,
    /// Responses with the TC bit.
    pub truncated: u64,
    /// EDNS of the queries.
    pub edns: Edns,
    /// Queries with their responses.
    pub pairs: Pairs,
    /// What was read, and what was not used.
    pub read: CaptureCounts,
}

/// The messages of a transport.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transport {
    /// Its word.
    pub name: &'static str,
    /// Queries over it.
    pub queries: u64,
    /// Responses over it.
    pub responses: u64,
}

/// The messages of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Server {
    /// Its address and port.
    pub address: SocketAddr,
    /// Queries to it and responses of it.
    pub messages: u64,
}

/// Counts the messages of a capture.
#[derive(Default)]
pub struct Survey {
    from_unix_ns: Option<u64>,
    to_unix_ns: Option<u64>,
    malformed: u64,
    bytes: [u64; 2],
    rate: rate::Counter,
    transports: [[u64; 2]; Protocol::ALL.len()],
    clients: clients::Counter,
    servers: HashMap<SocketAddr, u64>,
    messages_of_other_servers: u64,
    types: codes::Counter,
    other_classes: codes::Counter,
    other_opcodes: codes::Counter,
    rcodes: codes::Counter,
    truncated: u64,
    edns: edns::Counter,
    pairs: pairs::Counter,
}

impl Survey {
    /// Counts a message.
    pub fn add(&mut self, message: &DnsMessage<'_>) {
        let is_response = message.is_response();
        let direction = usize::from(is_response);
        let at_unix_ns = message.at_unix_ns;
        self.from_unix_ns = Some(self.from_unix_ns.map_or(at_unix_ns, |from| from.min(at_unix_ns)));
        self.to_unix_ns = Some(self.to_unix_ns.map_or(at_unix_ns, |to| to.max(at_unix_ns)));
        self.bytes[direction] += message.bytes.len() as u64;
        self.transports[message.protocol as usize][direction] += 1;
        self.rate.add(at_unix_ns, is_response);
        self.clients.add(message.client().ip(), is_response);
        self.pairs.add(message);
        let has_room = self.servers.len() < MAX_SERVERS;
        match self.servers.get_mut(&message.server()) {
            Some(messages) => *messages += 1,
            None if has_room => _ = self.servers.insert(message.server(), 1),
            None => self.messages_of_other_servers += 1,
        }
        let Ok(head) = peek(message.bytes) else {
            self.malformed += 1;
            return;
        };
        if is_response {
            self.rcodes.add(head.rcode);
            self.truncated += u64::from(head.is_truncated());
            return;
        }
        self.edns.add(message.bytes);
        if head.opcode() != 0 {
            self.other_opcodes.add(head.opcode().into());
        }
        if let Some(qtype) = head.qtype() {
            self.types.add(qtype);
            let class = head.question.last_chunk::<2>().map_or(CLASS_IN, |class| u16::from_be_bytes(*class));
            if class != CLASS_IN {
                self.other_classes.add(class);
            }
        }
    }

    /// What was counted, with what the readers have counted.
    pub fn contents(self, read: CaptureCounts) -> Contents {
        let [queries, responses] =
            [0, 1].map(|direction: usize| self.transports.iter().map(|counts| counts[direction]).sum());
        let transports = Protocol::ALL.into_iter().zip(self.transports);
        let transports = transports.filter(|(_, counts)| *counts != [0; 2]);
        let mut servers: Vec<Server> =
            self.servers.into_iter().map(|(address, messages)| Server { address, messages }).collect();
        servers.sort_by_key(|server| (std::cmp::Reverse(server.messages), server.address));
        let not_shown: u64 = servers.iter().skip(SERVERS_SHOWN).map(|server| server.messages).sum();
        servers.truncate(SERVERS_SHOWN);
        Contents {
            from_unix_ns: self.from_unix_ns,
            to_unix_ns: self.to_unix_ns,
            queries,
            responses,
            malformed: self.malformed,
            query_bytes: self.bytes[0],
            response_bytes: self.bytes[1],
            rate: self.rate.rate(),
            transports: transports
                .map(|(protocol, [queries, responses])| Transport {
                    name: protocol.word(),
                    queries,
                    responses,
                })
                .collect(),
            clients: self.clients.clients(),
            servers,
            messages_of_other_servers: self.messages_of_other_servers + not_shown,
            types: self.types.shares(|code| type_name(code).into_owned()),
            other_classes: self.other_classes.shares(|code| class_name(code).into_owned()),
            other_opcodes: self.other_opcodes.shares(opcode_name),
            rcodes: self.rcodes.shares(|code| rcode_name(code).into_owned()),
            truncated: self.truncated,
            edns: self.edns.edns(),
            pairs: self.pairs.pairs(),
            read,
        }
    }
}

fn opcode_name(code: u16) -> String {
    match code {
        1 => "IQUERY".to_owned(),
        2 => "STATUS".to_owned(),
        4 => "NOTIFY".to_owned(),
        5 => "UPDATE".to_owned(),
        6 => "DSO".to_owned(),
        code => format!("OPCODE{code}"),
    }
}

/// Servers that are counted: a resolver asks thousands.
const MAX_SERVERS: usize = 1 << 14;

/// Servers that are named.
const SERVERS_SHOWN: usize = 10;

#[cfg(test)]
mod tests;
