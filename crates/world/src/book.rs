//! The book of a world: what each server was asked, and how each query ended.
//!
//! Each message that was received ends once:
//!
//! ```text
//!  received = sent + send errors + not sent (connection closed) + held
//!           + lost + dropped by a fault + ignored + outside + over the bound
//! ```

use std::collections::{BTreeMap, HashMap};

use dnsdyno_wire::{rcode_name, type_name};
use serde_json::{Map, Value, json};

use crate::Transport;
use crate::answer::ReplyKind;
use crate::servers::ServerId;
use crate::shares::Fault;
use crate::tree::Hierarchy;
use crate::world::{Effect, Handled};

/// Counts of a world, or of a part of its threads.
#[derive(Clone, Debug, Default)]
pub struct Book {
    pub(crate) ends: Ends,
    by_type: BTreeMap<u16, u64>,
    by_rcode: BTreeMap<u16, u64>,
    /// Of all servers.
    total: ServerCounts,
    servers: HashMap<ServerId, ServerCounts>,
    /// By the second after the start in which a query came.
    seconds: BTreeMap<u32, SecondCounts>,
    pub(crate) connections: Connections,
    pub(crate) kernel_drops: u64,
    /// Why threads stopped, where they did.
    pub(crate) failures: Vec<String>,
}

/// How messages ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) send_errors: u64,
    /// The connection was closed before its answer was due or written.
    pub(crate) unsent: u64,
    pub(crate) held: u64,
    pub(crate) lost: u64,
    pub(crate) dropped: u64,
    pub(crate) ignored: u64,
    pub(crate) outside: u64,
    pub(crate) over_bound: u64,
    pub(crate) truncated: u64,
}

/// What connections did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Connections {
    pub(crate) accepted: u64,
    pub(crate) turned_away: u64,
    pub(crate) closed_by_client: u64,
    pub(crate) closed_idle: u64,
    pub(crate) lost: u64,
}

/// What one server was asked.
#[derive(Clone, Debug, Default)]
struct ServerCounts {
    udp: u64,
    tcp: u64,
    edns: u64,
    dnssec_ok: u64,
    lost: u64,
    /// By type; few servers are asked for more than five.
    types: Vec<(u16, u64)>,
    kinds: [u64; ReplyKind::ALL.len()],
    truncated: u64,
    faults: [u64; Fault::ALL.len()],
}

/// What came in one second.
#[derive(Clone, Copy, Debug, Default)]
struct SecondCounts {
    udp: u64,
    tcp: u64,
    answered: u64,
}

impl Book {
    /// Messages that were received.
    pub fn received(&self) -> u64 {
        self.ends.received
    }

    /// Answers that the kernel has taken.
    pub fn sent(&self) -> u64 {
        self.ends.sent
    }

    /// What its threads, or the kernel for them, did not do as they should: a figure of a resolver may then be the
    /// world's.
    pub fn warnings(&self) -> Vec<String> {
        let counted = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let all = [
            counted(
                self.kernel_drops,
                "queries were dropped by the kernel, because the world read them too late",
            ),
            counted(self.ends.over_bound, "answers were dropped, because too many waited for their distance"),
            counted(self.ends.send_errors, "answers could not be sent"),
            counted(self.ends.outside, "queries went to addresses of the prefix that no name server has"),
            counted(self.connections.turned_away, "connections were turned away: too many are open"),
        ];
        all.into_iter().flatten().chain(self.failures.iter().cloned()).collect()
    }

    /// Books a message that was handled. What is answered is booked again when it was sent.
    #[inline]
    pub(crate) fn note(&mut self, handled: &Handled, via: Transport, second: u32) {
        self.ends.received += 1;
        match handled.effect {
            Effect::Answered { rcode, is_truncated, .. } => {
                *self.by_rcode.entry(rcode).or_default() += 1;
                self.ends.truncated += u64::from(is_truncated);
            }
            Effect::Lost => self.ends.lost += 1,
            Effect::Dropped => self.ends.dropped += 1,
            Effect::Ignored => self.ends.ignored += 1,
            Effect::Outside => self.ends.outside += 1,
        }
        let is_answered = matches!(handled.effect, Effect::Answered { .. });
        let counts = self.seconds.entry(second).or_default();
        counts.add(via, is_answered);
        let Some(server) = handled.server else { return };
        if let Some(asked) = handled.asked {
            *self.by_type.entry(asked.rtype).or_default() += 1;
        }
        if handled.effect != Effect::Ignored {
            self.total.note(handled, via);
            self.servers.entry(server).or_default().note(handled, via);
        }
    }

    /// Adds the counts of another thread.
    pub(crate) fn merge(&mut self, other: &Book) {
        self.merge_sums(other);
        for (server, counts) in &other.servers {
            self.servers.entry(*server).or_default().merge(counts);
        }
        for (second, counts) in &other.seconds {
            let sum = self.seconds.entry(*second).or_default();
            sum.udp += counts.udp;
            sum.tcp += counts.tcp;
            sum.answered += counts.answered;
        }
    }

    /// Adds the counts of another thread, but for those of each server and of each second: there are thousands.
    pub(crate) fn merge_sums(&mut self, other: &Book) {
        self.ends.merge(&other.ends);
        self.total.merge(&other.total);
        self.connections.merge(&other.connections);
        self.kernel_drops += other.kernel_drops;
        self.failures.extend(other.failures.iter().cloned());
        other.by_type.iter().for_each(|(rtype, count)| *self.by_type.entry(*rtype).or_default() += count);
        other.by_rcode.iter().for_each(|(rcode, count)| *self.by_rcode.entry(*rcode).or_default() += count);
    }

    /// The book as JSON; `start_wall_ns` is when its seconds begin.
    pub(crate) fn to_json(&self, hierarchy: &Hierarchy, start_wall_ns: u64) -> Value {
        let mut json = self.sums_to_json();
        let mut servers: Vec<_> = self.servers.iter().collect();
        servers.sort_unstable_by_key(|(server, _)| **server);
        let seconds = self.seconds.iter().map(|(second, counts)| {
            json!({"second": second, "udp": counts.udp, "tcp": counts.tcp, "answered": counts.answered})
        });
        let rest = [
            ("seed", hierarchy.rules.options.seed.into()),
            ("start_wall_ns", start_wall_ns.into()),
            ("seconds", seconds.collect()),
            ("servers", servers.iter().map(|(id, counts)| counts.to_json(**id, hierarchy)).collect()),
        ];
        json.extend(rest.map(|(key, value): (_, Value)| (key.to_owned(), value)));
        json.into()
    }

    /// The sums of all servers as JSON.
    pub(crate) fn sums_to_json(&self) -> Map<String, Value> {
        let rcodes: Map<_, _> = self
            .by_rcode
            .iter()
            .map(|(rcode, count)| (rcode_name(*rcode).into_owned(), (*count).into()))
            .collect();
        let types = types_json(self.by_type.iter().map(|(rtype, count)| (*rtype, *count)));
        let sums = [
            ("format", 1.into()),
            ("received", self.ends.received.into()),
            ("udp", self.total.udp.into()),
            ("tcp", self.total.tcp.into()),
            ("edns", self.total.edns.into()),
            ("dnssec_ok", self.total.dnssec_ok.into()),
            ("ends", self.ends.to_json()),
            ("replies", self.total.kinds_json()),
            ("rcodes", rcodes.into()),
            ("types", types),
            ("faults", self.total.faults_json()),
            ("connections", self.connections.to_json()),
            ("kernel_drops", self.kernel_drops.into()),
            ("failures", self.failures.clone().into()),
        ];
        sums.into_iter().map(|(key, value): (_, Value)| (key.to_owned(), value)).collect()
    }
}

impl Ends {
    fn merge(&mut self, other: &Ends) {
        let Ends {
            received,
            sent,
            send_errors,
            unsent,
            held,
            lost,
            dropped,
            ignored,
            outside,
            over_bound,
            truncated,
        } = other;
        self.received += received;
        self.sent += sent;
        self.send_errors += send_errors;
        self.unsent += unsent;
        self.held += held;
        self.lost += lost;
        self.dropped += dropped;
        self.ignored += ignored;
        self.outside += outside;
        self.over_bound += over_bound;
        self.truncated += truncated;
    }

    /// Messages whose end is known; the others are on their way.
    #[cfg(test)]
    pub(crate) fn ended(&self) -> u64 {
        self.sent
            + self.send_errors
            + self.unsent
            + self.held
            + self.lost
            + self.dropped
            + self.ignored
            + self.outside
            + self.over_bound
    }

    fn to_json(self) -> Value {
        json!({
            "sent": self.sent,
            "send_errors": self.send_errors,
            "unsent": self.unsent,
            "held": self.held,
            "lost": self.lost,
            "dropped": self.dropped,
            "ignored": self.ignored,
            "outside": self.outside,
            "over_bound": self.over_bound,
            "truncated": self.truncated,
        })
    }
}

impl Connections {
    fn merge(&mut self, other: &Connections) {
        let Connections { accepted, turned_away, closed_by_client, closed_idle, lost } = other;
        self.accepted += accepted;
        self.turned_away += turned_away;
        self.closed_by_client += closed_by_client;
        self.closed_idle += closed_idle;
        self.lost += lost;
    }

    fn to_json(self) -> Value {
        json!({
            "accepted": self.accepted,
            "turned_away": self.turned_away,
            "closed_by_client": self.closed_by_client,
            "closed_idle": self.closed_idle,
            "lost": self.lost,
        })
    }
}

impl SecondCounts {
    fn add(&mut self, via: Transport, is_answered: bool) {
        self.udp += u64::from(via == Transport::Udp);
        self.tcp += u64::from(via == Transport::Tcp);
        self.answered += u64::from(is_answered);
    }
}

impl ServerCounts {
    fn note(&mut self, handled: &Handled, via: Transport) {
        self.udp += u64::from(via == Transport::Udp);
        self.tcp += u64::from(via == Transport::Tcp);
        if let Some(asked) = handled.asked {
            self.edns += u64::from(asked.has_edns);
            self.dnssec_ok += u64::from(asked.dnssec_ok);
            self.add_type(asked.rtype, 1);
        }
        if let Effect::Answered { kind, is_truncated, .. } = handled.effect {
            self.kinds[kind as usize] += 1;
            self.truncated += u64::from(is_truncated);
        }
        self.lost += u64::from(handled.effect == Effect::Lost);
        if let Some(fault) = handled.fault {
            self.faults[fault as usize] += 1;
        }
    }

    fn add_type(&mut self, rtype: u16, count: u64) {
        match self.types.iter_mut().find(|(known, _)| *known == rtype) {
            Some((_, sum)) => *sum += count,
            None => self.types.push((rtype, count)),
        }
    }

    fn merge(&mut self, other: &ServerCounts) {
        self.udp += other.udp;
        self.tcp += other.tcp;
        self.edns += other.edns;
        self.dnssec_ok += other.dnssec_ok;
        self.lost += other.lost;
        self.truncated += other.truncated;
        other.types.iter().for_each(|(rtype, count)| self.add_type(*rtype, *count));
        self.kinds.iter_mut().zip(other.kinds).for_each(|(sum, count)| *sum += count);
        self.faults.iter_mut().zip(other.faults).for_each(|(sum, count)| *sum += count);
    }

    fn to_json(&self, id: ServerId, hierarchy: &Hierarchy) -> Value {
        let server = hierarchy.server(id);
        let (v4, v6) = hierarchy.addresses(id);
        json!({
            "server": hierarchy.server_text(id),
            "addresses": v4.into_iter().chain(v6).map(|address| address.to_string()).collect::<Vec<_>>(),
            "region": server.region,
            "rtt_ns": server.rtt.as_nanos() as u64,
            "fault": server.fault.map(Fault::key),
            "udp": self.udp,
            "tcp": self.tcp,
            "edns": self.edns,
            "dnssec_ok": self.dnssec_ok,
            "lost": self.lost,
            "truncated": self.truncated,
            "types": types_json(self.types.iter().copied()),
            "replies": self.kinds_json(),
            "faults": self.faults_json(),
        })
    }

    fn kinds_json(&self) -> Value {
        let of = |kind: &ReplyKind| (kind.key().to_owned(), self.kinds[*kind as usize].into());
        Value::Object(ReplyKind::ALL.iter().map(of).collect())
    }

    /// The faults that were met.
    fn faults_json(&self) -> Value {
        let of = |fault: &Fault| (fault.key().to_owned(), self.faults[*fault as usize]);
        let met = Fault::ALL.iter().map(of).filter(|(_, count)| *count > 0);
        Value::Object(met.map(|(key, count)| (key, count.into())).collect())
    }
}

fn types_json(types: impl Iterator<Item = (u16, u64)>) -> Value {
    Value::Object(types.map(|(rtype, count)| (type_name(rtype).into_owned(), count.into())).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tree::tests::hierarchy;
    use crate::world::Asked;

    fn handled(server: u32, effect: Effect, fault: Option<Fault>) -> Handled {
        let asked = Some(Asked { rtype: 28, has_edns: true, dnssec_ok: false });
        Handled { server: Some(ServerId(server)), asked, effect, delay: Duration::ZERO, fault }
    }

    #[test]
    fn what_is_booked_by_two_threads_is_their_sum() {
        let answered = Effect::Answered { kind: ReplyKind::Referral, rcode: 0, is_truncated: true };
        let mut books = [Book::default(), Book::default()];
        books[0].note(&handled(3, answered, None), Transport::Udp, 0);
        books[0].note(&handled(3, Effect::Lost, None), Transport::Udp, 0);
        books[1].note(&handled(3, Effect::Dropped, Some(Fault::Silent)), Transport::Tcp, 0);
        books[1].note(&handled(900, answered, Some(Fault::Slow)), Transport::Udp, 7);
        let outside = Handled { server: None, asked: None, ..handled(0, Effect::Outside, None) };
        books[1].note(&outside, Transport::Udp, 7);
        books[1].ends.sent += 1;
        let mut whole = Book::default();
        books.iter().for_each(|book| whole.merge(book));
        let json = whole.to_json(&hierarchy("--zones 1k"), 5);
        let number = |at: &str| json.pointer(at).and_then(Value::as_u64).unwrap_or(0);
        let expected = [
            ("/received", 5),
            ("/udp", 3),
            ("/tcp", 1),
            ("/edns", 4),
            ("/ends/sent", 1),
            ("/ends/lost", 1),
            ("/ends/dropped", 1),
            ("/ends/outside", 1),
            ("/ends/truncated", 2),
            ("/replies/referral", 2),
            ("/rcodes/NOERROR", 2),
            ("/types/AAAA", 4),
            ("/faults/silent", 1),
            ("/faults/slow", 1),
            ("/seconds/0/second", 0),
            ("/seconds/0/udp", 2),
            ("/seconds/0/tcp", 1),
            ("/seconds/0/answered", 1),
            ("/seconds/1/second", 7),
            ("/seconds/1/udp", 2),
            ("/servers/0/udp", 2),
            ("/servers/0/lost", 1),
            ("/servers/0/types/AAAA", 3),
            ("/servers/1/faults/slow", 1),
            ("/start_wall_ns", 5),
        ];
        for (at, count) in expected {
            assert_eq!(number(at), count, "{at} in {json:#}");
        }
        assert_eq!(json["servers"][0]["server"], "d.dns-root.");
        assert_eq!(whole.warnings().len(), 1, "{:?}", whole.warnings());
    }
}
