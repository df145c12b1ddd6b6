//! An imaginary server and an imaginary link: real messages, no sockets and no clock.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::HashMap;

use dnsdyno_clients::{Ask, Clients, Description, Share};
use dnsdyno_wire::{encode_name, name_to_text, parse_type, type_name};

pub(crate) const S: u64 = 1_000_000_000;

/// Memory that no test comes near to.
pub(crate) const PLENTY: u64 = 1 << 32;

/// A name and a type.
type Key = (Vec<u8>, u16);

/// A zone in memory, and what was asked of it.
#[derive(Default)]
pub(crate) struct Server {
    zone: HashMap<Key, (u32, Vec<Vec<u8>>)>,
    additional: HashMap<Key, Vec<Key>>,
    rcode: u8,
    pub(crate) asked: Vec<String>,
}

impl Server {
    /// Adds records of one name and type; their data as text: `order preference flags service replacement` of NAPTR,
    /// `priority weight target` of SRV, anything for an address.
    pub(crate) fn add(&mut self, owner: &str, rtype: &str, ttl_s: u32, data: &[&str]) -> &mut Self {
        let data = data.iter().map(|text| encode(rtype, text)).collect();
        self.zone.insert(key(owner, rtype), (ttl_s, data));
        self
    }

    /// Takes the records of one name and type away.
    pub(crate) fn remove(&mut self, owner: &str, rtype: &str) {
        self.zone.remove(&key(owner, rtype));
    }

    /// Lets responses to a question carry other sets in their additional section.
    pub(crate) fn bring(&mut self, question: (&str, &str), brought: &[(&str, &str)]) -> &mut Self {
        let brought = brought.iter().map(|(owner, rtype)| key(owner, rtype)).collect();
        self.additional.insert(key(question.0, question.1), brought);
        self
    }

    /// Answers everything with an RCODE from now on; 0: as usual.
    pub(crate) fn refuse(&mut self, rcode: u8) {
        self.rcode = rcode;
    }

    /// The response to a question, as it is on the wire.
    pub(crate) fn respond(&mut self, question: &[u8]) -> Vec<u8> {
        let mut message = Vec::new();
        self.respond_into(question, &mut message);
        let (name, rest) = question.split_at(question.len() - 4);
        self.asked.push(format!(
            "{} {}",
            name_to_text(name),
            type_name(u16::from_be_bytes([rest[0], rest[1]]))
        ));
        message
    }

    /// The same, without a note of what was asked.
    pub(crate) fn respond_into(&self, question: &[u8], message: &mut Vec<u8>) {
        let (name, rest) = question.split_at(question.len() - 4);
        let asked = (name.to_vec(), u16::from_be_bytes([rest[0], rest[1]]));
        message.clear();
        message.extend_from_slice(&[0, 0, 0x84, self.rcode, 0, 1, 0, 0, 0, 0, 0, 0]);
        message.extend_from_slice(question);
        let mut counts = [0u16; 3];
        if self.rcode == 0 {
            counts[0] = self.put(&asked, true, message);
            if counts[0] == 0 {
                // Records of another type: no data. No records at all: no such name.
                if !self.zone.keys().any(|(owner, _)| *owner == asked.0) {
                    message[3] |= 3;
                }
                counts[1] = self.put(&key("zone.test", "SOA"), false, message);
            }
            for brought in self.additional.get(&asked).into_iter().flatten() {
                counts[2] += self.put(brought, false, message);
            }
        }
        for (at, count) in counts.iter().enumerate() {
            message[6 + 2 * at..8 + 2 * at].copy_from_slice(&count.to_be_bytes());
        }
    }

    fn put(&self, key: &Key, is_answer: bool, message: &mut Vec<u8>) -> u16 {
        let Some((ttl_s, data)) = self.zone.get(key) else { return 0 };
        for data in data {
            if is_answer {
                message.extend_from_slice(&[0xc0, 12]);
            } else {
                message.extend_from_slice(&key.0);
            }
            message.extend_from_slice(&key.1.to_be_bytes());
            message.extend_from_slice(&[0, 1]);
            message.extend_from_slice(&ttl_s.to_be_bytes());
            message.extend_from_slice(&(data.len() as u16).to_be_bytes());
            message.extend_from_slice(data);
        }
        data.len() as u16
    }
}

fn key(owner: &str, rtype: &str) -> Key {
    (name(owner), parse_type(rtype).unwrap())
}

pub(crate) fn name(text: &str) -> Vec<u8> {
    let mut wire = Vec::new();
    encode_name(text.as_bytes(), &mut wire).unwrap();
    wire
}

fn encode(rtype: &str, text: &str) -> Vec<u8> {
    let words: Vec<&str> = text.split(' ').collect();
    let number = |text: &str| text.parse::<u16>().unwrap().to_be_bytes();
    let string = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    match (rtype, &words[..]) {
        ("NAPTR", [order, preference, flags, service, replacement]) => {
            let flags = if *flags == "-" { "" } else { flags };
            let (service, expression) = service.split_once('!').unwrap_or((service, ""));
            let texts = [string(flags), string(service), string(expression)].concat();
            [&number(order)[..], &number(preference), &texts, &name(replacement)].concat()
        }
        ("SRV", [priority, weight, target]) => {
            [&number(priority)[..], &number(weight), &2123_u16.to_be_bytes(), &name(target)].concat()
        }
        ("SOA", [minimum]) => {
            let mut data = [name("ns.test"), name("root.test"), vec![0; 16]].concat();
            data.extend_from_slice(&minimum.parse::<u32>().unwrap().to_be_bytes());
            data
        }
        ("CNAME", [target]) => name(target),
        ("AAAA", _) => vec![1; 16],
        _ => vec![10, 0, 0, 1],
    }
}

/// Clients of a description in JSON, all in one worker.
pub(crate) fn clients(json: &str) -> Clients {
    of_worker(json, Share { worker: 0, workers: 1 }, 7)
}

pub(crate) fn of_worker(json: &str, share: Share, seed: u64) -> Clients {
    let checked = Description::parse(json).unwrap().check(PLENTY).unwrap();
    Clients::new(&checked, share, seed, 0)
}

/// Lets the clients run until an instant, with a link that takes no time.
pub(crate) fn drive(
    clients: &mut Clients,
    until_ns: u64,
    mut respond: impl FnMut(&Ask, &[u8], &mut Vec<u8>),
) {
    let mut message = Vec::new();
    while let Some(now_ns) = clients.next_event_ns().filter(|now_ns| *now_ns <= until_ns) {
        while let Some(ask) = clients.next_ask(now_ns) {
            clients.count_sent(&ask);
            respond(&ask, clients.question(ask.id), &mut message);
            clients.answered(ask.id, now_ns, &message);
        }
    }
}
