//! A plan: what a run does, in full, after every rule was checked. Nothing checks again after this.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use dnsdyno_wire::{QueryForm, class_name};
use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::connections::ConnectionPlan;
use crate::draft::{Draft, PieceDraft};
use crate::encryption::EncryptionPlan;
use crate::mix::Mix;
use crate::schedule::{Load, Phase, Piece, Shape};
use crate::source::QuestionSource;
use crate::target::Target;
use crate::units::{format_duration_ns, format_rate_qps, format_size_bytes};

/// What a run does. Made by [`Draft::validate`].
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// A name for the run.
    pub name: Option<String>,
    /// A remark, kept in the record.
    pub note: Option<String>,
    /// The server.
    pub target: Target,
    /// Which addresses of the server were allowed.
    pub family: Family,
    /// How messages travel.
    pub transport: TransportKind,
    /// The transports of a mix, where `transport` is one.
    pub mix: Mix,
    /// How long connections live, where the transport has any.
    pub connections: ConnectionPlan,
    /// How they are encrypted, where they are.
    pub encryption: EncryptionPlan,
    /// Where the queries come from.
    pub source: QuestionSource,
    /// Whether a bad line of the query file is an error.
    pub strict: bool,
    /// Whether questions keep the order of their source at any rate (see [`Plan::groups_by_length`]).
    pub keep_order: bool,
    /// What all queries have in common.
    pub form: QueryForm,
    /// How much load, and when.
    pub load: Load,
    /// The shape the curve was made from; `None` in a closed loop.
    pub shape: Option<Shape>,
    /// What ends the run; the first that comes true. An open-loop curve also ends it where it ends.
    pub stop: Stop,
    /// How long an answer is waited for, in nanoseconds.
    pub timeout_ns: u64,
    /// How long an interval of the record is, in nanoseconds.
    pub interval_ns: u64,
    /// Threads that send and receive: at least 1, at most `clients`, and at most the closed-loop window.
    pub workers: usize,
    /// Whether each of them stays on a CPU of its own, where there are enough.
    pub pin: bool,
    /// Sockets, in all workers together (of AF_XDP: source ports), or, where the transport has connections,
    /// clients with a connection each: at least `workers`.
    pub clients: usize,
    /// The address to send from; `None` = the system chooses. Of the same family as the target.
    pub local_address: Option<IpAddr>,
    /// Where connections start from several addresses, from that one to the end of its prefix: the length of
    /// the prefix in bits.
    pub local_prefix: Option<u8>,
    /// The ports to send from, at least `clients` of them; `None` = the system chooses.
    pub local_ports: Option<PortRange>,
    /// How packets leave.
    pub backend: Backend,
    /// The receive buffer asked of the system for each socket, in bytes.
    pub receive_buffer_bytes: u32,
    /// Whether answers are neither awaited nor counted. Only in open loop.
    pub send_only: bool,
    /// What random choices start from.
    pub seed: u64,
    /// The user's word that the server may be loaded.
    pub i_may_load_this_server: bool,
    /// What was changed of what the user asked for, to be shown to them.
    pub notes: Vec<Note>,
}

impl Plan {
    /// UDP sockets beside the clients with connections: one a worker for each member of a mix that has
    /// them, as over UDP alone. `None` where there are none beside clients.
    pub fn udp_sockets(&self) -> Option<usize> {
        let has_sockets = |transport| matches!(transport, TransportKind::Udp | TransportKind::UdpTcp);
        let in_mix = self.mix.members.iter().filter(|member| has_sockets(member.transport)).count();
        let members = in_mix + usize::from(self.transport == TransportKind::UdpTcp);
        (members > 0).then_some(members * self.workers)
    }

    /// Whether questions of one length are put together: where batches are to be expected, which is in
    /// closed loop and from 100,000 queries a second on, and the user does not forbid it.
    pub fn groups_by_length(&self) -> bool {
        let peak = |phase: &Phase| phase.rate_from_qps.max(phase.rate_to_qps);
        let batches = self
            .load
            .curve()
            .is_none_or(|curve| curve.phases().iter().map(peak).fold(0.0, f64::max) >= GROUPING_RATE_QPS);
        batches && !self.keep_order
    }

    /// A draft that says the whole plan in plain words: validated again, it is the same plan.
    pub fn to_draft(&self) -> Draft {
        let mut draft = Draft {
            name: self.name.clone(),
            note: self.note.clone(),
            server: Some(self.target.asked.clone()),
            port: Some(self.target.address.port()),
            family: Some(self.family),
            transport: Some(self.transport),
            i_may_load_this_server: self.i_may_load_this_server.then_some(true),
            strict: Some(self.strict),
            keep_order: Some(self.keep_order),
            recursion_desired: Some(self.form.recursion_desired),
            checking_disabled: Some(self.form.checking_disabled),
            authentic_data: Some(self.form.authentic_data),
            dnssec_ok: Some(self.form.dnssec_ok),
            edns_size: self.form.edns_size,
            nsid: Some(self.form.nsid),
            class: Some(class_name(self.form.class).into_owned()),
            duration: self.stop.duration_ns.map(format_duration_ns),
            count: self.stop.count.map(|count| count.to_string()),
            passes: self.stop.passes,
            timeout: Some(format_duration_ns(self.timeout_ns)),
            interval: Some(format_duration_ns(self.interval_ns)),
            workers: Some(self.workers),
            pin: Some(self.pin),
            clients: Some(self.clients),
            local_address: self.local_address.map(|address| match self.local_prefix {
                Some(length) => format!("{address}/{length}"),
                None => address.to_string(),
            }),
            local_ports: self.local_ports.map(|ports| ports.to_string()),
            receive_buffer: Some(format_size_bytes(u64::from(self.receive_buffer_bytes))),
            send_only: Some(self.send_only),
            seed: Some(self.seed.to_string()),
            ..Draft::default()
        };
        self.backend.to_draft(&mut draft);
        self.connections.to_draft(&mut draft);
        self.encryption.to_draft(self.transport, &self.mix, &mut draft);
        self.mix.to_draft(&mut draft);
        match &self.source {
            QuestionSource::File(path) => draft.queries = Some(path.display().to_string()),
            QuestionSource::Stdin => draft.queries = Some("-".to_owned()),
            QuestionSource::Given(items) => draft.ask = Some(items.clone()),
        }
        if !self.send_only {
            draft.outstanding = self.load.window();
        }
        if let Some(shape) = &self.shape {
            draft_shape(shape, &mut draft);
        }
        draft
    }
}

/// What ends a run. At least one is set unless the load itself ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stop {
    /// After this time, in nanoseconds.
    pub duration_ns: Option<u64>,
    /// After this many queries.
    pub count: Option<u64>,
    /// After all queries were asked this many times.
    pub passes: Option<u64>,
}

impl Stop {
    /// After how many queries the run ends, with `questions` of them in a pass; `None` = not by number.
    pub fn query_limit(&self, questions: usize) -> Option<u64> {
        let by_passes = self.passes.map(|passes| passes.saturating_mul(questions as u64));
        match (self.count, by_passes) {
            (Some(count), Some(limit)) => Some(count.min(limit)),
            (count, limit) => count.or(limit),
        }
    }
}

/// How messages travel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TransportKind {
    /// UDP, one message a datagram.
    #[default]
    Udp,
    /// TCP, messages one after the other on connections (RFC 7766).
    Tcp,
    /// UDP, and TCP for what was truncated over UDP.
    #[serde(rename = "udp+tcp")]
    UdpTcp,
    /// TLS, messages as over TCP (RFC 7858).
    Dot,
    /// HTTP/2 over TLS, a stream for each query (RFC 8484).
    Doh,
    /// QUIC, a stream for each query (RFC 9250).
    Doq,
    /// Several by weight; chosen by `mix`.
    #[serde(skip_deserializing)]
    Mix,
}

impl TransportKind {
    /// Whether messages travel over connections, some of them at least.
    pub fn connects(self) -> bool {
        self != TransportKind::Udp
    }

    /// Whether queries leave by UDP sockets, some of them at least.
    pub fn has_udp(self) -> bool {
        matches!(self, TransportKind::Udp | TransportKind::UdpTcp | TransportKind::Mix)
    }

    /// Whether they are encrypted.
    pub fn is_encrypted(self) -> bool {
        matches!(self, TransportKind::Dot | TransportKind::Doh | TransportKind::Doq)
    }

    /// The port that servers listen on.
    pub fn default_port(self) -> u16 {
        match self {
            TransportKind::Udp | TransportKind::Tcp | TransportKind::UdpTcp | TransportKind::Mix => 53,
            TransportKind::Dot | TransportKind::Doq => 853,
            TransportKind::Doh => 443,
        }
    }
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TransportKind::Udp => "udp",
            TransportKind::Tcp => "tcp",
            TransportKind::UdpTcp => "udp+tcp",
            TransportKind::Dot => "dot",
            TransportKind::Doh => "doh",
            TransportKind::Doq => "doq",
            TransportKind::Mix => "mix",
        })
    }
}

impl FromStr for TransportKind {
    type Err = String;

    fn from_str(text: &str) -> Result<TransportKind, String> {
        match text {
            "udp" => Ok(TransportKind::Udp),
            "tcp" => Ok(TransportKind::Tcp),
            "udp+tcp" => Ok(TransportKind::UdpTcp),
            "dot" => Ok(TransportKind::Dot),
            "doh" => Ok(TransportKind::Doh),
            "doq" => Ok(TransportKind::Doq),
            _ => Err(format!("`{text}` is not a transport: use udp, tcp, udp+tcp, dot, doh or doq")),
        }
    }
}

/// Which addresses may be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Both.
    #[default]
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

impl Family {
    /// The family of an address.
    pub fn of(address: IpAddr) -> Family {
        if address.is_ipv4() { Family::V4 } else { Family::V6 }
    }

    /// Whether an address belongs to it.
    pub fn admits(self, address: IpAddr) -> bool {
        self == Family::Any || self == Family::of(address)
    }
}

impl fmt::Display for Family {
    /// As a word before "address".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Any => "IP",
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        })
    }
}

impl FromStr for Family {
    type Err = String;

    fn from_str(text: &str) -> Result<Family, String> {
        match text {
            "any" => Ok(Family::Any),
            "v4" => Ok(Family::V4),
            "v6" => Ok(Family::V6),
            _ => Err(format!("`{text}` is not an address family: use any, v4 or v6")),
        }
    }
}

/// Local ports, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRange {
    /// The first port, at least 1.
    pub first: u16,
    /// The last port, not before the first.
    pub last: u16,
}

impl PortRange {
    /// How many ports it holds, at least 1.
    pub fn count(&self) -> usize {
        usize::from(self.last - self.first) + 1
    }

    /// The ports in order.
    pub fn ports(&self) -> std::ops::RangeInclusive<u16> {
        self.first..=self.last
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.first, self.last)
    }
}

/// Something the user asked for that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Fewer workers than asked for.
    FewerWorkers {
        /// How many were asked for.
        asked: usize,
        /// How many there are.
        used: usize,
        /// The option that has no room for more.
        limited_by: &'static str,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::FewerWorkers { asked, used, limited_by } => {
                write!(f, "{used} workers instead of {asked}: --{limited_by} has no work for more")
            }
        }
    }
}

/// Says a shape in the words of a draft.
fn draft_shape(shape: &Shape, draft: &mut Draft) {
    let range = |from, to| Some(format!("{}..{}", format_rate_qps(from), format_rate_qps(to)));
    match shape {
        Shape::Constant(shape) => draft.rate = Some(format_rate_qps(shape.rate_qps)),
        Shape::Ramp(shape) => {
            draft.ramp = range(shape.from_qps, shape.to_qps);
            draft.over = Some(format_duration_ns(shape.over_ns));
            draft.hold = (shape.hold_ns > 0).then(|| format_duration_ns(shape.hold_ns));
        }
        Shape::Stair(shape) => {
            draft.stair = range(shape.from_qps, shape.to_qps);
            draft.step = Some(format_rate_qps(shape.step_qps));
            draft.hold = Some(format_duration_ns(shape.hold_ns));
        }
        Shape::Burst(shape) => {
            draft.burst = range(shape.base_qps, shape.peak_qps);
            draft.every = Some(format_duration_ns(shape.every_ns));
            draft.hold = Some(format_duration_ns(shape.hold_ns));
        }
        Shape::Pieces(shape) => draft.piece = Some(shape.pieces.iter().map(draft_piece).collect()),
    }
}

fn draft_piece(piece: &Piece) -> PieceDraft {
    let (from, to) = (format_rate_qps(piece.rate_from_qps), format_rate_qps(piece.rate_to_qps));
    PieceDraft {
        rate: if from == to { from } else { format!("{from}..{to}") },
        duration: format_duration_ns(piece.duration_ns),
        label: Some(piece.label.clone()),
    }
}

/// Below this rate queries leave one by one, and their order costs nothing.
const GROUPING_RATE_QPS: f64 = 100_000.0;
