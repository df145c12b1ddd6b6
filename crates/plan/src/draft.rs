//! A plan as the user gives it: by flags, by a plan file, or both. Unchecked, without defaults.
//!
//! An option is defined once, as a field of [`Draft`]: flag, help, man page, completion, key of the plan file and
//! line of the record's `plan.toml` are generated from it. Flags and keys have the same names: `--edns-size 1232`
//! is `edns-size = 1232`; a flag that disables something, such as `--no-pin`, is `pin = false`. Quantities are
//! kept as the user's text until [`Draft::validate`] parses them.
//!
//! A short option has the meaning that it has in dnsperf, or one that dnsperf does not use; `dnsdyno-cli` answers the
//! other short options of dnsperf with what to write instead.
//!
//! An option that cannot be used in every run has a row in [`RULES`].

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::addresses::SourcePrefix;
use crate::error::PlanError;
use crate::kinds::TlsVersions::Only12;
use crate::kinds::TransportKind::{Doh, Doq, UdpTcp};
use crate::kinds::{Family, HttpMethod, TlsVersions, TransportKind};
use crate::quantity::{needed_quantity, number, quantity};

/// The user's options; `None` = not given. Text fields with a unit hold what [`crate::units`] reads, such as `50k`
/// or `1.5s`.
#[derive(Debug, Clone, Default, PartialEq, Args, Serialize, Deserialize)]
#[group(skip)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Draft {
    /// The server.
    #[arg(short, long, value_name = "SERVER", help_heading = SERVER,
        help = "The server: NAME, ADDRESS, ADDRESS:PORT, [IPV6]:PORT or ADDRESS@PORT")]
    pub server: Option<String>,
    /// The server's port [default: 53; DoT and DoQ 853, DoH 443]
    #[arg(value_parser = number::<u16>, short, long, help_heading = SERVER)]
    pub port: Option<u16>,
    /// Use only addresses of this family: any, v4 or v6
    #[arg(short = 'f', long, value_name = "FAMILY", help_heading = SERVER)]
    pub family: Option<Family>,
    /// Allow a public address: you own the server, or its owner has agreed
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = SERVER)]
    pub i_may_load_this_server: Option<bool>,
    /// File of queries, "name type" a line as for dnsperf; - for standard input
    #[arg(short = 'd', long, value_name = "FILE", help_heading = QUERIES)]
    pub queries: Option<String>,
    /// Query this name: "name", "name TYPE" or "name/TYPE"; may be repeated
    #[arg(long, value_name = "NAME", help_heading = QUERIES)]
    pub ask: Option<Vec<String>>,
    /// Refuse a file with a malformed line; by default such lines are skipped and counted, and a
    /// file that has more of them than others is refused
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = QUERIES)]
    pub strict: Option<bool>,
    /// Skip malformed lines of the file, however many they are
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = QUERIES)]
    pub lenient: Option<bool>,
    /// Keep the order of the file. By default, in closed loop and from 100k qps, queries of equal
    /// length are grouped within 2,048 lines, which is faster
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = QUERIES)]
    pub keep_order: Option<bool>,
    /// Use EDNS with this UDP payload size
    #[arg(value_parser = number::<u16>, long, value_name = "BYTES", help_heading = QUERIES)]
    pub edns_size: Option<u16>,
    /// Use this EDNS version, to see whether the server returns BADVERS; implies EDNS [default: 0]
    #[arg(value_parser = number::<u8>, long, value_name = "N", help_heading = QUERIES)]
    pub edns_version: Option<u8>,
    /// Set the DO bit (DNSSEC OK); implies EDNS
    #[arg(short = 'D', long, visible_alias = "do", num_args = 0, default_missing_value = "true",
        help_heading = QUERIES)]
    pub dnssec_ok: Option<bool>,
    /// Request the server's identifier (NSID); implies EDNS
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
    /// Closed loop: keep N queries outstanding; with a rate or another shape: at most N outstanding,
    /// further queries are delayed
    #[arg(value_parser = number::<u32>, short = 'q', long, value_name = "N", help_heading = LOAD)]
    pub outstanding: Option<u32>,
    /// Open loop: this many queries per second, such as 50k
    #[arg(short = 'Q', visible_short_alias = 'r', long, value_name = "QPS", help_heading = LOAD)]
    #[serde(deserialize_with = "quantity")]
    pub rate: Option<String>,
    /// From A to B queries per second, linearly, --over T; then --hold H at B
    #[arg(long, value_name = "A..B", help_heading = LOAD)]
    pub ramp: Option<String>,
    /// The length of the ramp
    #[arg(long, value_name = "T", help_heading = LOAD)]
    #[serde(deserialize_with = "quantity")]
    pub over: Option<String>,
    /// From A to B queries per second in steps of --step, each held for --hold
    #[arg(long, value_name = "A..B", help_heading = LOAD)]
    pub stair: Option<String>,
    /// The height of a step of the stair
    #[arg(long, value_name = "QPS", help_heading = LOAD)]
    #[serde(deserialize_with = "quantity")]
    pub step: Option<String>,
    /// BASE queries per second, and PEAK for the last --hold H of each --every T, --for D in total
    #[arg(long, value_name = "BASE..PEAK", help_heading = LOAD)]
    pub burst: Option<String>,
    /// The time from one burst to the next
    #[arg(long, value_name = "T", help_heading = LOAD)]
    #[serde(deserialize_with = "quantity")]
    pub every: Option<String>,
    /// The length of a step, of a burst, or of the constant rate after a ramp
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
    #[arg(long, value_name = "N", help_heading = LOAD)]
    #[serde(deserialize_with = "quantity")]
    pub count: Option<String>,
    /// End after this many passes through the file
    #[arg(value_parser = number::<u64>, short = 'n', long, value_name = "N", help_heading = LOAD)]
    pub passes: Option<u64>,
    /// How long to wait for a response [default: 5s]
    #[arg(short = 't', long, value_name = "T", help_heading = LOAD)]
    #[serde(deserialize_with = "quantity")]
    pub timeout: Option<String>,
    /// udp, tcp, udp+tcp (retries truncated responses over TCP), dot, doh (HTTP/2) or doq
    /// [default: udp]
    #[arg(short = 'm', long, value_name = "TRANSPORT", help_heading = TRANSPORT)]
    pub transport: Option<TransportKind>,
    /// Several transports by weight, such as udp=60,tcp=15,dot=25. With a port: dot@8853=25; by
    /// default encrypted transports use their usual port, the others the server's
    #[arg(long, value_name = "MIX", help_heading = TRANSPORT)]
    pub mix: Option<String>,
    /// Close a connection after Q queries and open another; 0 keeps it [default: 0; with udp+tcp 1]
    #[arg(value_parser = number::<u32>, long, value_name = "Q", visible_alias = "num-queries-per-conn",
        help_heading = TRANSPORT)]
    pub queries_per_connection: Option<u32>,
    /// Close a connection without outstanding queries after this time [default: never]
    #[arg(long, value_name = "T", help_heading = TRANSPORT)]
    #[serde(deserialize_with = "quantity")]
    pub idle_timeout: Option<String>,
    /// Send the first query of a connection with its SYN (TCP Fast Open)
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = TRANSPORT)]
    pub fast_open: Option<bool>,
    /// With udp+tcp, EDNS of the retry over TCP: same as over UDP, or none [default: same]
    #[arg(long, value_name = "EDNS", help_heading = TRANSPORT)]
    pub tcp_edns: Option<String>,
    /// Disable certificate verification
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = ENCRYPTION)]
    pub insecure: Option<bool>,
    /// Trust the certificates in this PEM file instead of the system's
    #[arg(long, value_name = "FILE", help_heading = ENCRYPTION)]
    pub ca: Option<String>,
    /// The name in the server's certificate [default: the server as given by -s]
    #[arg(long, value_name = "NAME", help_heading = ENCRYPTION)]
    pub sni: Option<String>,
    /// Use only this version of TLS: 1.2 or 1.3
    #[arg(long, value_name = "VERSION", help_heading = ENCRYPTION)]
    pub tls_version: Option<TlsVersions>,
    /// Do not resume TLS sessions: make a full handshake for each connection
    #[arg(long = "no-resumption", num_args = 0, default_missing_value = "false", help_heading = ENCRYPTION)]
    pub resumption: Option<bool>,
    /// Send queries with the first flight of a resumed handshake (0-RTT)
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = ENCRYPTION)]
    pub early_data: Option<bool>,
    /// Timeout of a handshake [default: 5s]
    #[arg(long, value_name = "T", help_heading = ENCRYPTION)]
    #[serde(deserialize_with = "quantity")]
    pub handshake_timeout: Option<String>,
    /// DoH: get or post [default: post]
    #[arg(long, value_name = "METHOD", help_heading = ENCRYPTION)]
    pub http_method: Option<HttpMethod>,
    /// DoH: the path of the URI [default: /dns-query]
    #[arg(long, value_name = "PATH", help_heading = ENCRYPTION)]
    pub http_path: Option<String>,
    /// Number of threads [default: one per CPU]
    #[arg(value_parser = number::<usize>, short = 'T', long, value_name = "N", help_heading = GENERATOR)]
    pub workers: Option<usize>,
    /// Do not pin workers to CPUs (by default each has its own, where there are enough)
    #[arg(long = "no-pin", num_args = 0, default_missing_value = "false", help_heading = GENERATOR)]
    pub pin: Option<bool>,
    /// Number of sockets, or of clients with one connection each, over all workers [default: one
    /// per worker; with AF_XDP 256 source ports; with --queries-per-connection or udp+tcp the
    /// window, or 1000]. Where UDP is part of the transport, each worker has one more UDP socket
    #[arg(value_parser = number::<usize>, short = 'c', long, value_name = "N", help_heading = GENERATOR)]
    pub clients: Option<usize>,
    /// Send from this address; over connections, ADDRESS/LENGTH uses the addresses from ADDRESS to
    /// the end of the prefix in turn
    #[arg(short = 'a', long, value_name = "ADDRESS", visible_alias = "local", help_heading = GENERATOR)]
    pub local_address: Option<String>,
    /// Send from these ports, such as 20000..20099
    #[arg(long, value_name = "A..B", help_heading = GENERATOR)]
    #[serde(deserialize_with = "quantity")]
    pub local_ports: Option<String>,
    /// Receive buffer size of each socket [default: 4M]
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
    /// AF_XDP: the interface [default: that of the route to the server]
    #[arg(long, value_name = "NAME", help_heading = BACKEND)]
    pub interface: Option<String>,
    /// AF_XDP: Ethernet address of the next hop [default: from the neighbour table]
    #[arg(long, value_name = "MAC", help_heading = BACKEND)]
    pub next_hop: Option<String>,
    /// AF_XDP: send with this VLAN ID
    #[arg(value_parser = number::<u16>, long, value_name = "ID", help_heading = BACKEND)]
    pub vlan: Option<u16>,
    /// AF_XDP: send from the addresses from ADDRESS to the end of its prefix, which must be routed
    /// back to the interface
    #[arg(long, value_name = "ADDRESS/LENGTH", help_heading = BACKEND)]
    pub source_prefix: Option<String>,
    /// AF_XDP: run the XDP program in the driver (native), in the kernel's stack (generic), or as the
    /// driver supports [default: auto]
    #[arg(long, value_name = "MODE", help_heading = BACKEND)]
    pub xdp_mode: Option<String>,
    /// AF_XDP: zero-copy, copy, or as the driver supports [default: auto]
    #[arg(long, value_name = "MODE", help_heading = BACKEND)]
    pub xdp_copy: Option<String>,
    /// Exit with code 1 unless this is true of the run, such as 'loss<0.1%' or 'p99<5ms'; may be
    /// repeated
    #[arg(long, value_name = "EXPECTATION", help_heading = PASS)]
    pub expect: Option<Vec<String>>,
    /// The same of each step of the load, or, where it has none, of each interval
    #[arg(long, value_name = "EXPECTATION", help_heading = PASS)]
    pub expect_each: Option<Vec<String>>,
    /// End the run when this holds, such as 'loss>1% for 3s'; may be repeated. Judged when the
    /// queries of an interval have ended: after losses, one --timeout later
    #[arg(long, value_name = "CONDITION", help_heading = PASS)]
    pub stop_when: Option<Vec<String>>,
    /// A name for the run
    #[arg(long, help_heading = OUTPUT)]
    pub name: Option<String>,
    /// A comment on the run
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
    /// One rate, or `A..B` for one that changes linearly; 0 = a pause.
    #[serde(deserialize_with = "needed_quantity")]
    pub rate: String,
    /// How long the piece lasts.
    #[serde(rename = "for", deserialize_with = "needed_quantity")]
    pub duration: String,
    /// Its name in a report [default: its rate].
    #[serde(default)]
    pub label: Option<String>,
}

impl Draft {
    /// The given options that each choose the shape of an open loop.
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

    /// The value of `--backend`, or its default.
    pub(crate) fn backend(&self) -> &str {
        self.backend.as_deref().unwrap_or("sockets")
    }

    /// Whether `--local-address` is a prefix of more than one address.
    fn has_local_prefix(&self) -> bool {
        self.local_address.as_deref().and_then(SourcePrefix::parse).is_some_and(|prefix| !prefix.is_host())
    }

    /// Refuses the first option that has no effect in this run. `transports` are those of the mix, or the one
    /// transport of the run.
    pub(crate) fn refuse_unusable(
        &self,
        transport: TransportKind,
        transports: &[TransportKind],
    ) -> Result<(), PlanError> {
        let run = Run { draft: self, transports };
        match RULES.iter().find(|(_, is_given, fits, _)| is_given(self) && !fits(&run)) {
            Some((option, .., sentence)) => {
                let sentence = sentence.replace("{transport}", &transport.to_string());
                Err(PlanError::Unusable { option, sentence })
            }
            None => Ok(()),
        }
    }
}

/// What decides whether an option has an effect.
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

/// An option; whether it is given; the runs in which it has an effect; and the text after its name in the error
/// for other runs.
type Rule = (&'static str, fn(&Draft) -> bool, fn(&Run<'_>) -> bool, &'static str);

/// Which option can be used with which load, transport and backend, and with which other options.
const RULES: &[Rule] = &[
    ("lenient", |d| d.lenient == Some(true), |run| run.draft.strict != Some(true), ONE_RULE),
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

const ONE_RULE: &str = "and --strict are opposites: remove one";
const RAMP: &str = "has no effect without --ramp: add that, or remove it";
const STAIR: &str = "has no effect without --stair: add that, or remove it";
const BURST: &str = "has no effect without --burst: add that, or remove it";
const HELD: &str = "has no effect without --ramp, --stair or --burst: add that, or remove it";
const NO_WINDOW: &str = "does not wait for responses, so --outstanding has no effect: remove it to send as fast \
                         as this host can, or add --rate";
const XDP: &str = "is for AF_XDP, and this run uses sockets: add --backend xdp, or remove it";
const NOT_AUTO: &str = "is not possible with sockets, so --backend auto could not fall back to them: use \
                        --backend xdp, or remove it";
const ONE_SOURCE: &str = "and --source-prefix both set the source address: remove one";
const ONE_TRANSPORT: &str = "and --mix both set the transport: remove one";
const FALLBACK: &str = "is for retries over TCP: add --transport udp+tcp, or remove it";
const CONNECTIONS: &str = "is for connections, and {transport} has none: add --transport tcp, or remove it";
const SENDING_ONLY: &str = "cannot be used with --transport {transport}: a connection stalls when its responses \
                            are not read: remove it";
const DATAGRAMS: &str = "cannot be used with --transport {transport}: AF_XDP sends UDP only: remove it";
const PORTS: &str = "cannot be used with --transport {transport}: a port is in TIME_WAIT after its \
                     connection, so the kernel must choose: remove it, and use --local-address for more ports";
const ENCRYPTED: &str =
    "is for encryption, and {transport} has none: add --transport dot, doh or doq, or remove it";
const HTTP: &str = "is for HTTP, and {transport} has none: add --transport doh, or remove it";
const QUIC: &str = "cannot be used with --transport doq: QUIC always uses TLS 1.3: remove the version";
const EARLY: &str = "cannot be used with --tls-version 1.2: only TLS 1.3 has early data: remove one";
const RESUMED: &str = "cannot be used with --no-resumption: early data needs a resumed session: remove one";
const TRUST: &str = "cannot be used with --insecure: one names the certificates to trust, the other disables \
                     verification: remove one";

/// The heading of the options of the load, which `--plan` also belongs to.
pub const LOAD: &str = "Load (a shape, --outstanding, or both; default: --outstanding 100)";
const SERVER: &str = "Server";
const QUERIES: &str = "Queries";
const TRANSPORT: &str = "Transport";
const ENCRYPTION: &str = "Encryption (with --transport dot, doh or doq)";
const GENERATOR: &str = "Generator";
const BACKEND: &str = "Backend";
const PASS: &str = "Pass or fail";
const OUTPUT: &str = "Output";

#[cfg(test)]
mod tests;
