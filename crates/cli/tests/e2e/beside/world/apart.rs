//! A place for a world and a resolver: a network namespace in which the whole prefix of the name servers is local, with
//! a way out of it that is watched; and clients that ask. The example `cold_names` has it too.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use std::{fs, io};

use dnsdyno_lab::{
    Hierarchy, Namespace, Need, Place, Server, ServerOptions, ServerSpec, VethPair, Zone, require,
};
use dnsdyno_wire::{QueryForm, encode_name, parse_type};
use domain::base::Message;
use serde_json::Value;

use super::resolvers::Resolver;

/// The namespace, and what leaves it.
pub(crate) struct Apart {
    pair: VethPair,
    sent_before: u64,
}

impl Apart {
    /// Makes it; `None` (reported) where that needs rights that are not there.
    pub(crate) fn new() -> Option<Apart> {
        if !require(&[Need::Root]) {
            return None;
        }
        let pair = VethPair::new(1).unwrap();
        let near = pair.near();
        // Without IPv6 the kernel sends nothing of its own; what a resolver sends to anyone else would take this way.
        let no_ipv6 = ["all", "default"].map(|of| format!("/proc/sys/net/ipv6/conf/{of}/disable_ipv6"));
        near.enter(|| no_ipv6.iter().for_each(|path| fs::write(path, "1").unwrap())).unwrap();
        near.ip(&["route", "add", "local", PREFIX, "dev", "lo"]).unwrap();
        near.ip(&["route", "add", "default", "via", &pair.far().ipv4.to_string()]).unwrap();
        let mut apart = Apart { pair, sent_before: 0 };
        apart.sent_before = apart.sent();
        Some(apart)
    }

    /// Packets that left since it was made.
    pub(crate) fn left(&self) -> u64 {
        self.sent() - self.sent_before
    }

    /// Datagrams that came to a port that is closed, since it was made: answers that no one waits for any more.
    pub(crate) fn came_too_late(&self) -> u64 {
        let table =
            self.pair.near().enter(|| fs::read_to_string("/proc/thread-self/net/snmp")).unwrap().unwrap();
        let mut rows = table.lines().filter_map(|line| line.strip_prefix("Udp: ")).map(str::split_whitespace);
        let (Some(names), Some(values)) = (rows.next(), rows.next()) else { panic!("{table}") };
        let count = names.zip(values).find(|(name, _)| *name == "NoPorts").map(|(_, count)| count.parse());
        count.unwrap_or_else(|| panic!("{table}")).unwrap()
    }

    fn sent(&self) -> u64 {
        let near = self.pair.near();
        let text = near.ip(&["-s", "-j", "link", "show", near.interface]).unwrap();
        let links: Value = serde_json::from_str(&text).unwrap();
        links[0]["stats64"]["tx"]["packets"].as_u64().unwrap_or_else(|| panic!("{text}"))
    }

    /// The namespace that the world and the resolver are in.
    pub(crate) fn namespace(&self) -> &Namespace {
        self.pair.near()
    }

    /// Starts a resolver that knows the root of a world, whose hints and anchor are in this folder; `None` (reported)
    /// where it is not installed.
    pub(crate) fn resolver(&self, folder: &Path, resolver: &Resolver) -> Option<Server> {
        if !require(&[Need::Server(resolver.name)]) {
            return None;
        }
        let anchor = Some(folder.join("root.key")).filter(|path| path.exists());
        let options = ServerOptions {
            zone: Zone::from_text(".", "").unwrap(),
            place: Place::in_namespace(self.pair.near()),
            hierarchy: Some(Hierarchy { hints: folder.join("root.hints"), anchor }),
            parts: resolver.parts.iter().map(|part| (*part).to_owned()).collect(),
            ..ServerOptions::default()
        };
        let spec = ServerSpec::named(resolver.name).unwrap();
        Some(spec.start(&options).unwrap_or_else(|error| panic!("{error}")))
    }

    /// What `count` gives in the namespace once it has not changed for this long: a resolver goes on with what no
    /// client waits for.
    pub(crate) fn settled(&self, quiet: Duration, count: impl Fn() -> Vec<u64> + Send + Sync) -> Vec<u64> {
        let counted = || {
            let mut counts = count();
            loop {
                thread::sleep(quiet);
                let before = std::mem::replace(&mut counts, count());
                if counts == before {
                    return counts;
                }
            }
        };
        self.pair.near().enter(counted).unwrap()
    }

    /// Asks a resolver all questions, as many at a time as there are clients; the answers in their order, `None` where
    /// none came.
    pub(crate) fn ask_all(
        &self,
        server: SocketAddr,
        questions: &[Question],
        clients: usize,
    ) -> Vec<Option<Message<Vec<u8>>>> {
        let next = AtomicUsize::new(0);
        let ask = || {
            let mut answers = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(question) = questions.get(at) else { return answers };
                answers.push((at, question.ask_patiently(server)));
            }
        };
        let all = || {
            thread::scope(|scope| {
                let clients: Vec<_> = (0..clients).map(|_| scope.spawn(ask)).collect();
                clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<_>>()
            })
        };
        let mut answers = self.pair.near().enter(all).unwrap();
        answers.sort_unstable_by_key(|(at, _)| *at);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }
}

/// A question with its query.
pub(crate) struct Question {
    /// The name without the final dot.
    pub(crate) name: String,
    pub(crate) rtype: String,
    pub(crate) query: Vec<u8>,
}

impl Question {
    /// A question with the DO bit, from a line of a query file. The identifier is 0.
    pub(crate) fn new(line: &str) -> Question {
        let (name, rtype) = line.split_once(' ').unwrap();
        let (mut wire, mut query) = (Vec::new(), Vec::new());
        encode_name(name.as_bytes(), &mut wire).unwrap();
        let form = QueryForm { dnssec_ok: true, edns_size: Some(1_232), ..QueryForm::default() };
        form.encode(&wire, parse_type(rtype).unwrap(), &mut query);
        Question { name: name.to_owned(), rtype: rtype.to_owned(), query }
    }

    /// Asks over UDP once.
    pub(crate) fn over_udp(&self, server: SocketAddr, within: Duration) -> io::Result<Vec<u8>> {
        // Connected: an answer from another address is not taken.
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect(server)?;
        socket.set_read_timeout(Some(within))?;
        socket.send(&self.query)?;
        let mut answer = vec![0; usize::from(u16::MAX)];
        let length = socket.recv(&mut answer)?;
        answer.truncate(length);
        Ok(answer)
    }

    /// Asks over TCP once.
    pub(crate) fn over_tcp(&self, server: SocketAddr) -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(server)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(&[&(self.query.len() as u16).to_be_bytes()[..], &self.query].concat())?;
        let mut length = [0; 2];
        stream.read_exact(&mut length)?;
        let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    }

    /// Asks a resolver again and again: Unbound drops an answer that took longer than its `discard-timeout`, and has it
    /// for whoever asks again.
    pub(crate) fn ask_again(&self, server: SocketAddr) -> Option<Message<Vec<u8>>> {
        let answer = (0..TRIES).find_map(|_| self.over_udp(server, AGAIN).ok())?;
        Message::from_octets(answer).ok()
    }

    /// Asks a resolver, which may need long; over TCP where the answer was cut.
    fn ask_patiently(&self, server: SocketAddr) -> Option<Message<Vec<u8>>> {
        let answer = self.ask_again(server)?;
        match answer.header().tc() {
            true => Message::from_octets(self.over_tcp(server).ok()?).ok(),
            false => Some(answer),
        }
    }
}

/// The last lines of the log of a server.
pub(crate) fn log_of(server: &Server) -> String {
    let log = fs::read_to_string(server.log_path()).unwrap_or_default();
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

/// Local in the namespace.
pub(crate) const PREFIX: &str = "100.64.0.0/10";

/// How long a resolver may take for an answer, on a busy host, from cold.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How often a client asks, and how long it waits each time.
const TRIES: u32 = 12;
const AGAIN: Duration = Duration::from_millis(2_500);
