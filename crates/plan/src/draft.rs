//! A plan as the user gives it: by flags, by a plan file, or both. Nothing is checked yet, nothing filled in.
//!
//! An option has one place, its field of [`Draft`]: flag, help, man page, completion, key of the plan file and line
//! of the record's `plan.toml` are made from it. Flags and plan file use the same words: `--edns-size 1232` is
//! `edns-size = 1232`; a flag that switches something off, such as `--no-pin`, is `pin = false`. Quantities stay
//! as the text the user wrote until [`Draft::validate`] reads them.
//!
//! Where an option has no meaning in every run, it has a row in [`RULES`].

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::addresses::SourcePrefix;
use crate::error::PlanError;
use crate::kinds::TlsVersions::Only12;
use crate::kinds::TransportKind::{Doh, Doq, UdpTcp};
use crate::kinds::{Family, HttpMethod, TlsVersions, TransportKind};
use crate::quantity::{needed_quantity, quantity};

/// What the user asked for; `None` = not said. Text fields with a unit hold what [`crate::units`] reads, such as
/// `50k` or `1.5s`.
#[derive(Debug, Clone, Default, PartialEq, Args, Serialize, Deserialize)]
#[group(skip)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Draft {
    /// The server.
    #[arg(short, long, value_name = "SERVER", help_heading = SERVER,
        help = "The server: NAME, ADDRESS, ADDRESS:PORT, [IPV6]:PORT or ADDRESS@PORT")]
    pub server: Option<String>,
    /// Its port [default: 53; of DoT and DoQ 853, of DoH 443]
    #[arg(short, long, help_heading = SERVER)]
    pub port: Option<u16>,
    /// Use only addresses of this family: any, v4 or v6
    #[arg(short = 'f', long, value_name = "FAMILY", help_heading = SERVER)]
    pub family: Option<Family>,
    /// Send to a public address: it is yours, or its owner agreed
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = SERVER)]
    pub i_may_load_this_server: Option<bool>,
    /// File of queries, "name type" a line as for dnsperf; - for standard input
    #[arg(short = 'd', long, value_name = "FILE", help_heading = QUERIES)]
    pub queries: Option<String>,
    /// Ask for this name, "name", "name TYPE" or "name/TYPE"; may be given several times
    #[arg(short, long, value_name = "NAME", help_heading = QUERIES)]
    pub ask: Option<Vec<String>>,
    /// Make a bad line of the file an error; else it is skipped and counted
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = QUERIES)]
    pub strict: Option<bool>,
    /// Send in the order of the file; else, in closed loop and from 100k qps on, queries of equal
    /// length are grouped within 2,048 lines, which is faster
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = QUERIES)]
    pub keep_order: Option<bool>,
    /// EDNS with this UDP payload size
    #[arg(long, value_name = "BYTES", help_heading = QUERIES)]
    pub edns_size: Option<u16>,
    /// Set the DO bit (DNSSEC OK); implies EDNS
    #[arg(long, visible_alias = "do", num_args = 0, default_missing_value = "true", help_heading = QUERIES)]
    pub dnssec_ok: Option<bool>,
    /// Ask for the server's identity (NSID); implies EDNS
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = QUERIES)]
    pub nsid: Option<bool>,
    /// Clear the RD bit, which is set by default as in dnsperf
    #[arg(long = "no-recursion", visible_alias = "no-rd", num_args = 0, default_missing_value = "false",
        help_heading = QUERIES)]
    pub recursion_desired: Option<bool>,
    /// Set the CD bit
    #[arg(long, visible_alias = "cd", num_args = 0, default_missing_value = "true", help_heading = QUERIES)]
    pub checking_disabled: Option<bool>,
    /// Set the AD bit
    #[arg(long, visible_alias = "ad", num_args = 0, default_missing_value = "true", help_heading = QUERIES)]
    pub authentic_data: Option<bool>,
    /// Class of the queries [default: IN]
    #[arg(long, value_name = "CLASS", help_heading = QUERIES)]
    pub class: Option<String>,
    /// Closed loop: keep N queries outstanding. With a rate or another shape: hold a query back while N are
    #[arg(short = 'q', long, value_name = "N", help_heading = LOAD)]
    pub outstanding: Option<u32>,
    /// Open loop: this many queries a second, such as 50k
    #[arg(short = 'r', long, value_name = "QPS", help_heading = LOAD)]
    #[serde(deserialize_with = "quantity")]
    pub rate: Option<String>,
    /// From A to B queries a second, evenly, --over T; then --hold H at B
    #[arg(long, value_name = "A..B", help_heading = LOAD)]
    pub ramp: Option<String>,
    /// The length of the ramp
    #[arg(long, value_name = "T", help_heading = LOAD)]
    #[serde(deserialize_with = "quantity")]
    pub over: Option<String>,
    /// From A to B queries a second in steps of --step, each held for --hold
    #[arg(long, value_name = "A..B", help_heading = LOAD)]
    pub stair: Option<String>,
    /// The height of a step of the stair
    #[arg(long, value_name = "QPS", help_heading = LOAD)]
    #[serde(deserialize_with = "quantity")]
    pub step: Option<String>,
    /// BASE queries a second, and PEAK for the last --hold H of each --every T, --for D in all
    #[arg(long, value_name = "BASE..PEAK", help_heading = LOAD)]
    pub burst: Option<String>,
    /// The distance of two bursts
    #[arg(long, value_name = "T", help_heading = LOAD)]
    #[serde(deserialize_with = "quantity")]
    pub every: Option<String>,
    /// How long a step, a burst, or the rate after a ramp is held
    #[arg(long, value_name = "T", help_heading = LOAD)]
    #[serde(deserialize_with = "quantity")]
    pub hold: Option<String>,
    /// Do not wait for responses; without a rate, send as fast as this host can
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = LOAD)]
    pub send_only: Option<bool>,
    /// End after this time, such as 30s or 10m
    #[arg(short = 'l', long = "for", value_name = "T", help_heading = LOAD)]
    #[serde(rename = "for", deserialize_with = "quantity")]
    pub duration: Option<String>,
    /// End after this many queries
    #[arg(short = 'n', long, value_name = "N", help_heading = LOAD)]
    #[serde(deserialize_with = "quantity")]
    pub count: Option<String>,
    /// End after this many passes through the file
    #[arg(long, value_name = "N", help_heading = LOAD)]
    pub passes: Option<u64>,
    /// How long to wait for a response [default: 5s]
    #[arg(short = 't', long, value_name = "T", help_heading = LOAD)]
    #[serde(deserialize_with = "quantity")]
    pub timeout: Option<String>,
    /// udp, tcp, udp+tcp (retries truncated responses over TCP), dot, doh (HTTP/2) or doq
    /// [default: udp]
    #[arg(long, value_name = "TRANSPORT", help_heading = TRANSPORT)]
    pub transport: Option<TransportKind>,
    /// Several transports by weight, such as udp=60,tcp=15,dot=25; with a port of its own as dot@8853=25,
    /// else encrypted ones have their usual port and the others that of the server
    #[arg(long, value_name = "MIX", help_heading = TRANSPORT)]
    pub mix: Option<String>,
    /// Close a connection after Q queries, and open another; 0 keeps it [default: 0, and 1 where
    /// truncated responses are retried]
    #[arg(long, value_name = "Q", visible_alias = "num-queries-per-conn", help_heading = TRANSPORT)]
    pub queries_per_connection: Option<u32>,
    /// Close a connection that had no query outstanding for this time [default: never]
    #[arg(long, value_name = "T", help_heading = TRANSPORT)]
    #[serde(deserialize_with = "quantity")]
    pub idle_timeout: Option<String>,
    /// Let the first query of a connection travel with its SYN (TCP Fast Open)
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = TRANSPORT)]
    pub fast_open: Option<bool>,
    /// Over udp+tcp, the EDNS of queries retried over TCP: same as over UDP, or none [default: same]
    #[arg(long, value_name = "EDNS", help_heading = TRANSPORT)]
    pub tcp_edns: Option<String>,
    /// Disable the verification of certificates
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = ENCRYPTION)]
    pub insecure: Option<bool>,
    /// Trust the certificates in this PEM file, instead of the system's
    #[arg(long, value_name = "FILE", help_heading = ENCRYPTION)]
    pub ca: Option<String>,
    /// The name in the server's certificate [default: the server as given by -s]
    #[arg(long, value_name = "NAME", help_heading = ENCRYPTION)]
    pub sni: Option<String>,
    /// Speak only this version of TLS: 1.2 or 1.3
    #[arg(long, value_name = "VERSION", help_heading = ENCRYPTION)]
    pub tls_version: Option<TlsVersions>,
    /// Make a full handshake each time; else sessions are resumed where the server allows
    #[arg(long = "no-resumption", num_args = 0, default_missing_value = "false", help_heading = ENCRYPTION)]
    pub resumption: Option<bool>,
    /// Let queries travel with the first flight of a resumed handshake (0-RTT)
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = ENCRYPTION)]
    pub early_data: Option<bool>,
    /// How long a handshake may take [default: 5s]
    #[arg(long, value_name = "T", help_heading = ENCRYPTION)]
    #[serde(deserialize_with = "quantity")]
    pub handshake_timeout: Option<String>,
    /// DoH: get or post [default: post]
    #[arg(long, value_name = "METHOD", help_heading = ENCRYPTION)]
    pub http_method: Option<HttpMethod>,
    /// DoH: the path to ask at [default: /dns-query]
    #[arg(long, value_name = "PATH", help_heading = ENCRYPTION)]
    pub http_path: Option<String>,
    /// Threads [default: one a core]
    #[arg(short = 'T', long, value_name = "N", help_heading = GENERATOR)]
    pub workers: Option<usize>,
    /// Let the kernel move the workers between CPUs; else each stays on one, where there are enough
    #[arg(long = "no-pin", num_args = 0, default_missing_value = "false", help_heading = GENERATOR)]
    pub pin: Option<bool>,
    /// Sockets, or clients with a connection each, over all workers [default: one a worker; with
    /// AF_XDP 256 source ports; with --queries-per-connection, or over udp+tcp, the window, or
    /// 1000]; beside clients there is a UDP socket a worker, where UDP is part of the transport
    #[arg(short = 'c', long, value_name = "N", help_heading = GENERATOR)]
    pub clients: Option<usize>,
    /// Send from this address; over TCP also from those up to the end of ADDRESS/LENGTH, in turn
    #[arg(long, value_name = "ADDRESS", visible_alias = "local", help_heading = GENERATOR)]
    pub local_address: Option<String>,
    /// Send from these ports, such as 20000..20099
    #[arg(long, value_name = "A..B", help_heading = GENERATOR)]
    #[serde(deserialize_with = "quantity")]
    pub local_ports: Option<String>,
    /// Receive buffer of each socket [default: 4M]
    #[arg(long, value_name = "BYTES", help_heading = GENERATOR)]
    #[serde(deserialize_with = "quantity")]
    pub receive_buffer: Option<String>,
    /// Random seed; the same seed gives the same load
    #[arg(long, value_name = "N", help_heading = GENERATOR)]
    #[serde(deserialize_with = "quantity")]
    pub seed: Option<String>,
    /// sockets; xdp, which bypasses the kernel's network stack (needs root, and an Ethernet
    /// interface); or auto, which takes xdp where it can be had [default: sockets]
    #[arg(long, value_name = "BACKEND", help_heading = BACKEND)]
    pub backend: Option<String>,
    /// AF_XDP: the interface [default: the one that the route leads over]
    #[arg(long, value_name = "NAME", help_heading = BACKEND)]
    pub interface: Option<String>,
    /// AF_XDP: send to this Ethernet address [default: looked up]
    #[arg(long, value_name = "MAC", help_heading = BACKEND)]
    pub next_hop: Option<String>,
    /// AF_XDP: the VLAN tag of the queries
    #[arg(long, value_name = "ID", help_heading = BACKEND)]
    pub vlan: Option<u16>,
    /// AF_XDP: send from ADDRESS on to the end of its prefix, all of which you have routed back to
    /// the interface
    #[arg(long, value_name = "ADDRESS/LENGTH", help_heading = BACKEND)]
    pub source_prefix: Option<String>,
    /// AF_XDP: run the program that selects the responses in the driver (native), in the kernel's
    /// stack (generic), or as the driver can [default: auto]
    #[arg(long, value_name = "MODE", help_heading = BACKEND)]
    pub xdp_mode: Option<String>,
    /// AF_XDP: zero-copy, copy, or as the driver can [default: auto]
    #[arg(long, value_name = "MODE", help_heading = BACKEND)]
    pub xdp_copy: Option<String>,
    /// A name for the run
    #[arg(long, help_heading = OUTPUT)]
    pub name: Option<String>,
    /// A remark on the run
    #[arg(long, help_heading = OUTPUT)]
    pub note: Option<String>,
    /// Length of an interval of the record [default: 1s, or less for short phases]
    #[arg(long, value_name = "T", help_heading = OUTPUT)]
    #[serde(deserialize_with = "quantity")]
    pub interval: Option<String>,

    /// Open loop: any pieces, in the order of time. Only in a plan file.
    #[arg(skip)]
    pub piece: Option<Vec<PieceDraft>>,
}

/// One piece of a load in a plan file.
///
/// ```toml
/// [[piece]]
/// rate = "0..10k"
/// for = "30s"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PieceDraft {
    /// One rate, or `A..B` for one that changes evenly; 0 = a pause.
    #[serde(deserialize_with = "needed_quantity")]
    pub rate: String,
    /// How long the piece lasts.
    #[serde(rename = "for", deserialize_with = "needed_quantity")]
    pub duration: String,
    /// What a report calls it; its rate where this is not said.
    #[serde(default)]
    pub label: Option<String>,
}

impl Draft {
    /// The options that each choose the shape of an open loop, of those that were given.
    pub(crate) fn load_shapes(&self) -> impl Iterator<Item = &'static str> + use<> {
        [
            ("rate", self.rate.is_some()),
            ("ramp", self.ramp.is_some()),
            ("stair", self.stair.is_some()),
            ("burst", self.burst.is_some()),
            ("piece", self.piece.is_some()),
        ]
        .into_iter()
        .filter_map(|(option, given)| given.then_some(option))
    }

    /// How packets are to leave, in the user's word.
    pub(crate) fn backend(&self) -> &str {
        self.backend.as_deref().unwrap_or("sockets")
    }

    /// Whether more than one address may be sent from.
    fn has_local_prefix(&self) -> bool {
        self.local_address.as_deref().and_then(SourcePrefix::parse).is_some_and(|prefix| !prefix.is_host())
    }

    /// Refuses the first option that has no meaning in this run. `transports` are those of the mix, or the one of
    /// the run.
    pub(crate) fn refuse_misfits(
        &self,
        transport: TransportKind,
        transports: &[TransportKind],
    ) -> Result<(), PlanError> {
        let run = Run { draft: self, transports };
        match RULES.iter().find(|(_, is_given, fits, _)| is_given(self) && !fits(&run)) {
            Some((option, .., sentence)) => {
                let sentence = sentence.replace("{transport}", &transport.to_string());
                Err(PlanError::Misfit { option, sentence })
            }
            None => Ok(()),
        }
    }
}

/// What decides whether an option has a meaning.
struct Run<'a> {
    draft: &'a Draft,
    transports: &'a [TransportKind],
}

impl Run<'_> {
    fn has(&self, kind: TransportKind) -> bool {
        self.transports.contains(&kind)
    }

    fn has_steps(&self) -> bool {
        self.draft.ramp.is_some() || self.draft.stair.is_some() || self.draft.burst.is_some()
    }

    fn connects(&self) -> bool {
        self.transports.iter().any(|kind| kind.connects())
    }

    fn has_xdp(&self) -> bool {
        self.draft.backend() != "sockets"
    }

    fn has_one_backend(&self) -> bool {
        self.draft.backend() != "auto"
    }

    fn is_encrypted(&self) -> bool {
        self.transports.iter().any(|kind| kind.is_encrypted())
    }
}

/// An option; whether it is given; in which runs it has a meaning; and what the user reads after its name where it
/// has none.
type Rule = (&'static str, fn(&Draft) -> bool, fn(&Run<'_>) -> bool, &'static str);

/// Which option fits which load, transport and backend, and which other options.
const RULES: &[Rule] = &[
    ("over", |d| d.over.is_some(), |run| run.draft.ramp.is_some(), RAMP),
    ("step", |d| d.step.is_some(), |run| run.draft.stair.is_some(), STAIR),
    ("every", |d| d.every.is_some(), |run| run.draft.burst.is_some(), BURST),
    ("hold", |d| d.hold.is_some(), |run| run.has_steps(), HELD),
    ("send-only", |d| d.send_only == Some(true), |run| run.draft.outstanding.is_none(), NO_WINDOW),
    ("interface", |d| d.interface.is_some(), |run| run.has_xdp(), XDP),
    ("next-hop", |d| d.next_hop.is_some(), |run| run.has_xdp(), XDP),
    ("vlan", |d| d.vlan.is_some(), |run| run.has_xdp(), XDP),
    ("source-prefix", |d| d.source_prefix.is_some(), |run| run.has_xdp(), XDP),
    ("xdp-mode", |d| d.xdp_mode.is_some(), |run| run.has_xdp(), XDP),
    ("xdp-copy", |d| d.xdp_copy.is_some(), |run| run.has_xdp(), XDP),
    ("next-hop", |d| d.next_hop.is_some(), |run| run.has_one_backend(), NOT_AUTO),
    ("vlan", |d| d.vlan.is_some(), |run| run.has_one_backend(), NOT_AUTO),
    ("source-prefix", |d| d.source_prefix.is_some(), |run| run.has_one_backend(), NOT_AUTO),
    ("local-address", |d| d.local_address.is_some(), |run| run.draft.source_prefix.is_none(), ONE_SOURCE),
    ("transport", |d| d.transport.is_some(), |run| run.draft.mix.is_none(), ONE_TRANSPORT),
    ("tcp-edns", |d| d.tcp_edns.is_some(), |run| run.has(UdpTcp), FALLBACK),
    ("queries-per-connection", |d| d.queries_per_connection.is_some(), |run| run.connects(), CONNECTIONS),
    ("idle-timeout", |d| d.idle_timeout.is_some(), |run| run.connects(), CONNECTIONS),
    ("fast-open", |d| d.fast_open == Some(true), |run| run.connects(), CONNECTIONS),
    ("local-address", Draft::has_local_prefix, |run| run.connects(), CONNECTIONS),
    ("send-only", |d| d.send_only == Some(true), |run| !run.connects(), SENDING_ONLY),
    ("backend", |d| d.backend() != "sockets", |run| !run.connects(), DATAGRAMS),
    ("local-ports", |d| d.local_ports.is_some(), |run| !run.connects(), PORTS),
    ("insecure", |d| d.insecure == Some(true), |run| run.is_encrypted(), ENCRYPTED),
    ("ca", |d| d.ca.is_some(), |run| run.is_encrypted(), ENCRYPTED),
    ("sni", |d| d.sni.is_some(), |run| run.is_encrypted(), ENCRYPTED),
    ("tls-version", |d| d.tls_version.is_some(), |run| run.is_encrypted(), ENCRYPTED),
    ("no-resumption", |d| d.resumption == Some(false), |run| run.is_encrypted(), ENCRYPTED),
    ("early-data", |d| d.early_data == Some(true), |run| run.is_encrypted(), ENCRYPTED),
    ("handshake-timeout", |d| d.handshake_timeout.is_some(), |run| run.is_encrypted(), ENCRYPTED),
    ("http-method", |d| d.http_method.is_some(), |run| run.has(Doh), HTTP),
    ("http-path", |d| d.http_path.is_some(), |run| run.has(Doh), HTTP),
    ("tls-version 1.2", |d| d.tls_version == Some(Only12), |run| !run.has(Doq), QUIC),
    ("early-data", |d| d.early_data == Some(true), |run| run.draft.tls_version != Some(Only12), EARLY),
    ("early-data", |d| d.early_data == Some(true), |run| run.draft.resumption != Some(false), RESUMED),
    ("ca", |d| d.ca.is_some(), |run| run.draft.insecure != Some(true), TRUST),
];

const RAMP: &str = "has no meaning without --ramp: add that, or leave it out";
const STAIR: &str = "has no meaning without --stair: add that, or leave it out";
const BURST: &str = "has no meaning without --burst: add that, or leave it out";
const HELD: &str = "has no meaning without --ramp, --stair or --burst: add that, or leave it out";
const NO_WINDOW: &str = "waits for no responses, so --outstanding has no meaning: leave it out to send as fast as this \
                         host can, or give a --rate";
const XDP: &str = "is for AF_XDP, and this run uses sockets: add --backend xdp, or leave it out";
const NOT_AUTO: &str = "changes the packets in a way that sockets cannot, so --backend auto could not fall back to \
                        them: use --backend xdp, or leave it out";
const ONE_SOURCE: &str = "and --source-prefix both say where queries come from: leave one out";
const ONE_TRANSPORT: &str = "and --mix both say how messages travel: leave one out";
const FALLBACK: &str = "is about queries retried over TCP: add --transport udp+tcp, or leave it out";
const CONNECTIONS: &str =
    "is about connections, and {transport} has none: add --transport tcp, or leave it out";
const SENDING_ONLY: &str = "does not go with --transport {transport}: a connection stalls when its responses are \
                            not read: leave it out";
const DATAGRAMS: &str = "does not go with --transport {transport}: AF_XDP sends datagrams only: leave it out";
const PORTS: &str = "does not go with --transport {transport}: a port rests after its connection, so the kernel \
                     must choose: leave it out, and use --local-address for more of them";
const ENCRYPTED: &str =
    "is about encryption, and {transport} has none: add --transport dot, doh or doq, or leave it out";
const HTTP: &str = "is about HTTP, and {transport} has none: add --transport doh, or leave it out";
const QUIC: &str = "does not go with --transport doq: QUIC has TLS 1.3 in it: leave the version out";
const EARLY: &str = "does not go with --tls-version 1.2: only TLS 1.3 has early data: leave one out";
const RESUMED: &str =
    "does not go with --no-resumption: early data travels in a session that is resumed: leave one out";
const TRUST: &str =
    "does not go with --insecure: one says whom to trust, the other disables verification: leave one out";

/// The heading of the options that say how much load, which a `--plan` of the command line belongs to.
pub const LOAD: &str = "Load (one shape, a window, or both; default: --outstanding 100)";
const SERVER: &str = "Server";
const QUERIES: &str = "Queries";
const TRANSPORT: &str = "Transport";
const ENCRYPTION: &str = "Encryption (with --transport dot, doh or doq)";
const GENERATOR: &str = "Generator";
const BACKEND: &str = "Backend";
const OUTPUT: &str = "Output";

#[cfg(test)]
mod tests;
