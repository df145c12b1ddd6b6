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
use crate::member_draft::MemberDraft;
use crate::quantity::{needed_quantity, number, quantity};
use crate::source::QueriesFormat;

/// The user's options; `None` = not given. Text fields with a unit hold what [`crate::units`] reads, such as `50k`
/// or `1.5s`.
#[derive(Debug, Clone, Default, PartialEq, Args, Serialize, Deserialize)]
#[group(skip)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Draft {
    /// The server.
    #[arg(short, long, value_name = "SERVER", help_heading = SERVER,
        help = "The server: NAME, ADDRESS, ADDRESS:PORT, [IPV6]:PORT or ADDRESS@PORT. Several get the \
                queries in turn, or by weight: A,B,C or A=3,B=1")]
    pub server: Option<String>,
    /// File of servers: on each line one as for -s, and its weight where it has one
    #[arg(long, value_name = "FILE", help_heading = SERVER)]
    pub servers: Option<String>,
    /// The server's port [default: 53; DoT and DoQ 853, DoH 443]
    #[arg(value_parser = number::<u16>, short, long, help_heading = SERVER)]
    pub port: Option<u16>,
    /// Use only addresses of this family: any, v4 or v6
    #[arg(short = 'f', long, value_name = "FAMILY", help_heading = SERVER)]
    pub family: Option<Family>,
    /// Allow a public address: you own the server, or its owner has agreed
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = SERVER)]
    pub i_may_load_this_server: Option<bool>,
    /// Do not send a query before the load to see whether the server answers
    #[arg(long = "no-check", num_args = 0, default_missing_value = "false", help_heading = SERVER)]
    pub check: Option<bool>,
    /// File of queries, "name type" a line as for dnsperf; - for standard input. Compressed with
    /// gzip, zstd or xz, too
    #[arg(short = 'd', long, value_name = "FILE", help_heading = QUERIES)]
    pub queries: Option<String>,
    /// Format of the file: text, dnsperf (without our placeholders and options), queryperf, binary
    /// (as for dnsperf -B), csv (rank,name) or names [default: auto, by its first bytes]
    #[arg(long, value_name = "FORMAT", help_heading = QUERIES)]
    pub queries_format: Option<QueriesFormat>,
    /// Query this name: "name", "name TYPE" or "name/TYPE"; may be repeated. {rand:8} stands for a
    /// random label, {n:0..999} for a number
    #[arg(long, value_name = "NAME", help_heading = QUERIES)]
    pub ask: Option<Vec<String>>,
    /// Send the queries of this capture (pcap, pcapng or dnstap, compressed or not; - for standard input), by default
    /// at the instants at which they were captured; each source address becomes a client of its own
    #[arg(long, value_name = "FILE", help_heading = QUERIES)]
    pub replay: Option<String>,
    /// Replay so many times as fast as it was captured, such as 2 or 0.5 [default: 1]
    #[arg(long, value_name = "FACTOR", help_heading = QUERIES)]
    #[serde(deserialize_with = "quantity")]
    pub speed: Option<String>,
    /// Replay only queries to this server of the capture: ADDRESS, ADDRESS:PORT or [IPV6]:PORT; may be repeated
    #[arg(long, value_name = "SERVER", help_heading = QUERIES)]
    pub captured_server: Option<Vec<String>>,
    /// Compare each answer with the one in the capture: RCODE and records, not TTL and order
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = QUERIES)]
    pub check_answers: Option<bool>,
    /// Query the names and types of this zone file (master file)
    #[arg(long, value_name = "FILE", help_heading = QUERIES)]
    pub zone: Option<String>,
    /// With --zone: the name of the zone, where the file has no $ORIGIN
    #[arg(long, value_name = "NAME", help_heading = QUERIES)]
    pub origin: Option<String>,
    /// With --zone: this share of queries, such as 10%, is for names that do not exist
    #[arg(long, value_name = "SHARE", help_heading = QUERIES)]
    pub nxdomain: Option<String>,
    /// Make queries as flamethrower does: static, numberqname, randompkt, randomqname or randomlabel,
    /// with its arguments, such as "randomlabel lblsize=10 count=1000"; --ask is the base name
    #[arg(long, value_name = "GENERATOR", help_heading = QUERIES)]
    pub generator: Option<String>,
    /// Let simulated clients with caches ask, by the description in a file: epc:FILE for the mobility management of
    /// a mobile core (`dnsdyno data epc` writes one), stub:FILE for hosts. The load follows from what they need
    #[arg(long, value_name = "KIND:FILE", help_heading = QUERIES)]
    pub source: Option<String>,
    /// Types by weight, such as A=60,AAAA=30,HTTPS=10, instead of those of the source
    #[arg(long, value_name = "TYPES", help_heading = QUERIES)]
    pub types: Option<String>,
    /// in-turn; random; or zipf:EXPONENT, such as zipf:1.1: each at random, the first ones of the
    /// source more often [default: in-turn]
    #[arg(long, value_name = "ORDER", help_heading = QUERIES)]
    pub order: Option<String>,
    /// For a resolver: this share of queries, such as 90%, is for names in its cache
    #[arg(long, value_name = "SHARE", help_heading = QUERIES)]
    pub hit_rate: Option<String>,
    /// With --hit-rate: how long the resolver keeps a name, such as 300s
    #[arg(long, value_name = "T", help_heading = QUERIES)]
    #[serde(deserialize_with = "quantity")]
    pub ttl: Option<String>,
    /// With --hit-rate: the number of names that are asked for again and again [default: those of the
    /// source; 1000 for each name with a placeholder]
    #[arg(value_parser = number::<u32>, long, value_name = "N", help_heading = QUERIES)]
    pub hot: Option<u32>,
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
    #[arg(value_parser = number::<u16>, long, value_name = "BYTES", help_heading = MESSAGES)]
    pub edns_size: Option<u16>,
    /// Use this EDNS version, to see whether the server returns BADVERS; implies EDNS [default: 0]
    #[arg(value_parser = number::<u8>, long, value_name = "N", help_heading = MESSAGES)]
    pub edns_version: Option<u8>,
    /// Set the DO bit (DNSSEC OK); implies EDNS
    #[arg(short = 'D', long, visible_alias = "do", num_args = 0, default_missing_value = "true",
        help_heading = MESSAGES)]
    pub dnssec_ok: Option<bool>,
    /// Request the server's identifier (NSID); implies EDNS
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = MESSAGES)]
    pub nsid: Option<bool>,
    /// Clear the RD bit, which is set by default as in dnsperf
    #[arg(long = "no-recursion", visible_alias = "no-rd", num_args = 0, default_missing_value = "false",
        help_heading = MESSAGES)]
    pub recursion_desired: Option<bool>,
    /// Set the CD bit
    #[arg(long, visible_alias = "cd", num_args = 0, default_missing_value = "true", help_heading = MESSAGES)]
    pub checking_disabled: Option<bool>,
    /// Set the AD bit
    #[arg(long, visible_alias = "ad", num_args = 0, default_missing_value = "true", help_heading = MESSAGES)]
    pub authentic_data: Option<bool>,
    /// Class of the queries [default: IN]
    #[arg(long, value_name = "CLASS", help_heading = MESSAGES)]
    pub class: Option<String>,
    /// Add an EDNS option, CODE:HEX such as 65001:c0ffee; may be repeated; implies EDNS
    #[arg(long, value_name = "CODE:HEX", help_heading = MESSAGES)]
    pub edns_option: Option<Vec<String>>,
    /// Send this client subnet (ECS), such as 192.0.2.0/24; implies EDNS
    #[arg(long, value_name = "SUBNET", help_heading = MESSAGES)]
    pub ecs: Option<String>,
    /// Send a random client subnet of a range with each query: 10.0.0.0/8/24 is any /24 of 10.0.0.0/8
    #[arg(long, value_name = "RANGE/LENGTH", help_heading = MESSAGES)]
    pub ecs_range: Option<String>,
    /// Send one subnet of --ecs-range per client instead
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = MESSAGES)]
    pub ecs_per_client: Option<bool>,
    /// Use DNS cookies: one per client, with the server's cookie returned; implies EDNS
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = MESSAGES)]
    pub cookie: Option<bool>,
    /// Pad queries to a multiple of so many bytes, 128 by RFC 8467; implies EDNS
    #[arg(value_parser = number::<u16>, long, value_name = "BYTES", help_heading = MESSAGES)]
    pub padding: Option<u16>,
    /// Sign queries (TSIG), and verify responses: [ALGORITHM:]NAME:SECRET, the secret in base64
    /// [default algorithm: hmac-sha256]. Other users of this host can see it: see --tsig-file
    #[arg(long, value_name = "KEY", help_heading = MESSAGES)]
    pub tsig: Option<String>,
    /// The same with the key in a file, as tsig-keygen or keymgr writes it
    #[arg(long, value_name = "FILE", help_heading = MESSAGES)]
    pub tsig_file: Option<String>,
    /// Do not verify the signatures of responses
    #[arg(long = "no-tsig-verify", num_args = 0, default_missing_value = "false", help_heading = MESSAGES)]
    pub tsig_verify: Option<bool>,
    /// Closed loop: keep N queries outstanding; with a rate or another shape: at most N outstanding,
    /// further queries are delayed
    #[arg(value_parser = number::<u32>, short = 'q', long, value_name = "N", help_heading = LOAD)]
    pub outstanding: Option<u32>,
    /// Closed loop: send at most this many queries in each second, and do not make up for time in
    /// which the window was full
    #[arg(long, value_name = "QPS", help_heading = LOAD)]
    #[serde(deserialize_with = "quantity")]
    pub rate_limit: Option<String>,
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
    /// From A to B queries per second in steps of --step, each for --hold
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
    /// Announce another source address to the server (PROXY protocol 2), as a load balancer does:
    /// ADDRESS or ADDRESS:PORT; with /LENGTH the addresses of the prefix in turn, one per client
    #[arg(long, value_name = "ADDRESS", help_heading = TRANSPORT)]
    pub proxy_protocol: Option<String>,
    /// With udp+tcp, EDNS of the retry over TCP: same as over UDP, or none [default: same]
    #[arg(long, value_name = "EDNS", help_heading = TRANSPORT)]
    pub tcp_edns: Option<String>,
    /// Do not verify the certificate
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
    /// Number of threads [default: as many as the load needs, at most one per CPU, or one per two CPUs if the server
    /// is on this host]
    #[arg(value_parser = number::<usize>, short = 'T', long, value_name = "N", help_heading = GENERATOR)]
    pub workers: Option<usize>,
    /// Do not pin workers to CPUs (by default each has its own, where there are enough)
    #[arg(long = "no-pin", num_args = 0, default_missing_value = "false", help_heading = GENERATOR)]
    pub pin: Option<bool>,
    /// Let idle CPUs of this host sleep as deeply as they do without a load. By default they are kept ready while the
    /// load runs, where this process may do so (root)
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = GENERATOR)]
    pub deep_idle: Option<bool>,
    /// Number of sockets, or of clients with one connection each, over all workers [default: one
    /// per CPU; with AF_XDP 256 source ports; with --queries-per-connection or udp+tcp the
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
    /// Exit with code 1 if this is not true of the run, such as 'loss<0.1%' or 'p99<5ms', and with
    /// code 5 if the generator's own part may decide it; may be repeated
    #[arg(long, value_name = "EXPECTATION", help_heading = PASS)]
    pub expect: Option<Vec<String>>,
    /// The same of each step of the load, or, where it has none, of each interval
    #[arg(long, value_name = "EXPECTATION", help_heading = PASS)]
    pub expect_each: Option<Vec<String>>,
    /// End the run when this holds, such as 'loss>1% for 3s'; may be repeated. Judged when the
    /// queries of an interval have ended: after losses, one --timeout later. At once: 'behind>=N'
    /// (queries that are due and not sent) and 'outstanding>=N' (when another is due)
    #[arg(long, value_name = "CONDITION", help_heading = PASS)]
    pub stop_when: Option<Vec<String>>,
    /// Watch beside the load, and keep it in the record: auto; host or host=PID; process or
    /// process=PID; the statistics of a server, such as bind=URL (also unbound, nsd, knot, pdns,
    /// dnsdist, mariadb, openmetrics); or ssh://HOST. May be repeated
    #[arg(long, value_name = "WHAT", help_heading = OUTPUT)]
    pub watch: Option<Vec<String>>,
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
    /// Several servers or transports, with settings of their own. Only in a plan file.
    #[arg(skip)]
    pub member: Option<Vec<MemberDraft>>,
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

    fn is_signed(&self) -> bool {
        self.tsig.is_some() || self.tsig_file.is_some()
    }

    /// The value of `--backend`, or its default.
    pub(crate) fn backend(&self) -> &str {
        self.backend.as_deref().unwrap_or("sockets")
    }

    /// Whether `--stop-when` has a limit of this name.
    fn stops_at(&self, name: &str) -> bool {
        let is_of_name = |text: &String| text.trim().to_lowercase().starts_with(name);
        self.stop_when.iter().flatten().any(is_of_name)
    }

    /// Whether queries are due by a shape, and their responses are waited for.
    fn is_awaited(&self) -> bool {
        self.load_shapes().next().is_some() && self.send_only != Some(true)
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

    /// Whether a capture is replayed at the instants at which it was captured.
    fn has_own_timing(&self) -> bool {
        let Draft { replay, outstanding, .. } = self.draft;
        replay.is_some() && outstanding.is_none() && self.draft.load_shapes().next().is_none()
    }

    fn has_steps(&self) -> bool {
        self.draft.ramp.is_some() || self.draft.stair.is_some() || self.draft.burst.is_some()
    }

    fn is_closed_loop(&self) -> bool {
        self.draft.load_shapes().next().is_none() && self.draft.send_only != Some(true)
    }

    fn has_updates(&self) -> bool {
        self.draft.queries_format == Some(QueriesFormat::Updates)
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
    ("keep-order", |d| d.keep_order == Some(true), |run| run.draft.order.is_none(), ONE_ORDER),
    ("queries-format", |d| d.queries_format.is_some(), |run| run.draft.queries.is_some(), OF_A_FILE),
    ("origin", |d| d.origin.is_some(), |run| run.draft.zone.is_some(), OF_A_ZONE),
    ("nxdomain", |d| d.nxdomain.is_some(), |run| run.draft.zone.is_some(), OF_A_ZONE),
    ("ttl", |d| d.ttl.is_some(), |run| run.draft.hit_rate.is_some(), CACHE),
    ("hot", |d| d.hot.is_some(), |run| run.draft.hit_rate.is_some(), CACHE),
    ("order", |d| d.order.is_some(), |run| run.draft.hit_rate.is_none(), BY_CACHE),
    ("ecs", |d| d.ecs.is_some(), |run| run.draft.ecs_range.is_none(), ONE_SUBNET),
    ("ecs-per-client", |d| d.ecs_per_client == Some(true), |run| run.draft.ecs_range.is_some(), SUBNETS),
    ("tsig-file", |d| d.tsig_file.is_some(), |run| run.draft.tsig.is_none(), ONE_KEY),
    ("speed", |d| d.speed.is_some(), |run| run.has_own_timing(), TIMED),
    ("captured-server", |d| d.captured_server.is_some(), |run| run.draft.replay.is_some(), REPLAYED),
    ("check-answers", |d| d.check_answers == Some(true), |run| run.draft.replay.is_some(), REPLAYED),
    ("check-answers", |d| d.check_answers == Some(true), |run| run.draft.send_only != Some(true), ANSWERED),
    ("edns-size", |d| d.edns_size.is_some(), |run| run.draft.replay.is_none(), AS_CAPTURED),
    (
        "edns-version",
        |d| d.edns_version.is_some_and(|v| v > 0),
        |run| run.draft.replay.is_none(),
        AS_CAPTURED,
    ),
    ("dnssec-ok", |d| d.dnssec_ok == Some(true), |run| run.draft.replay.is_none(), AS_CAPTURED),
    ("nsid", |d| d.nsid == Some(true), |run| run.draft.replay.is_none(), AS_CAPTURED),
    ("no-recursion", |d| d.recursion_desired == Some(false), |run| run.draft.replay.is_none(), AS_CAPTURED),
    (
        "checking-disabled",
        |d| d.checking_disabled == Some(true),
        |run| run.draft.replay.is_none(),
        AS_CAPTURED,
    ),
    ("authentic-data", |d| d.authentic_data == Some(true), |run| run.draft.replay.is_none(), AS_CAPTURED),
    ("class", |d| d.class.is_some(), |run| run.draft.replay.is_none(), AS_CAPTURED),
    ("tsig", |d| d.tsig.is_some(), |run| run.draft.replay.is_none(), AS_CAPTURED),
    ("tsig-file", |d| d.tsig_file.is_some(), |run| run.draft.replay.is_none(), AS_CAPTURED),
    ("edns-option", |d| d.edns_option.is_some(), |run| run.draft.replay.is_none(), AS_CAPTURED),
    ("ecs", |d| d.ecs.is_some(), |run| run.draft.replay.is_none(), AS_CAPTURED),
    ("ecs-range", |d| d.ecs_range.is_some(), |run| run.draft.replay.is_none(), AS_CAPTURED),
    ("cookie", |d| d.cookie.is_some(), |run| run.draft.replay.is_none(), AS_CAPTURED),
    ("padding", |d| d.padding.is_some(), |run| run.draft.replay.is_none(), AS_CAPTURED),
    ("rate-limit", |d| d.rate_limit.is_some(), |run| run.draft.replay.is_none(), OF_CAPTURE),
    ("types", |d| d.types.is_some(), |run| run.draft.replay.is_none(), AS_CAPTURED),
    ("order", |d| d.order.is_some(), |run| run.draft.replay.is_none(), AS_CAPTURED),
    ("hit-rate", |d| d.hit_rate.is_some(), |run| run.draft.replay.is_none(), AS_CAPTURED),
    ("rate", |d| d.rate.is_some(), |run| run.draft.source.is_none(), BY_CLIENTS),
    ("ramp", |d| d.ramp.is_some(), |run| run.draft.source.is_none(), BY_CLIENTS),
    ("stair", |d| d.stair.is_some(), |run| run.draft.source.is_none(), BY_CLIENTS),
    ("burst", |d| d.burst.is_some(), |run| run.draft.source.is_none(), BY_CLIENTS),
    ("piece", |d| d.piece.is_some(), |run| run.draft.source.is_none(), BY_CLIENTS),
    ("outstanding", |d| d.outstanding.is_some(), |run| run.draft.source.is_none(), BY_CLIENTS),
    ("rate-limit", |d| d.rate_limit.is_some(), |run| run.draft.source.is_none(), BY_CLIENTS),
    ("count", |d| d.count.is_some(), |run| run.draft.source.is_none(), TIMED_CLIENTS),
    ("passes", |d| d.passes.is_some(), |run| run.draft.source.is_none(), TIMED_CLIENTS),
    ("send-only", |d| d.send_only == Some(true), |run| run.draft.source.is_none(), READING_CLIENTS),
    ("types", |d| d.types.is_some(), |run| run.draft.source.is_none(), ASKED_BY_CLIENTS),
    ("order", |d| d.order.is_some(), |run| run.draft.source.is_none(), ASKED_BY_CLIENTS),
    ("hit-rate", |d| d.hit_rate.is_some(), |run| run.draft.source.is_none(), ASKED_BY_CLIENTS),
    ("tsig", |d| d.is_signed(), |run| run.draft.source.is_none(), ASKED_BY_CLIENTS),
    ("cookie", |d| d.cookie == Some(true), |run| run.draft.source.is_none(), ASKED_BY_CLIENTS),
    ("padding", |d| d.padding.is_some(), |run| run.draft.source.is_none(), ASKED_BY_CLIENTS),
    ("ecs-range", |d| d.ecs_range.is_some(), |run| run.draft.source.is_none(), ASKED_BY_CLIENTS),
    ("no-tsig-verify", |d| d.tsig_verify == Some(false), |run| run.draft.is_signed(), SIGNED),
    ("over", |d| d.over.is_some(), |run| run.draft.ramp.is_some(), RAMP),
    ("step", |d| d.step.is_some(), |run| run.draft.stair.is_some(), STAIR),
    ("every", |d| d.every.is_some(), |run| run.draft.burst.is_some(), BURST),
    ("hold", |d| d.hold.is_some(), |run| run.has_steps(), HELD),
    ("send-only", |d| d.send_only == Some(true), |run| run.draft.outstanding.is_none(), NO_WINDOW),
    ("stop-when behind", |d| d.stops_at("behind"), |run| run.draft.load_shapes().next().is_some(), SHAPED),
    ("stop-when outstanding", |d| d.stops_at("outstanding"), |run| run.draft.is_awaited(), AWAITED),
    ("rate-limit", |d| d.rate_limit.is_some(), |run| run.is_closed_loop(), CLOSED),
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
    ("servers", |d| d.servers.is_some(), |run| run.draft.server.is_none(), ONE_LIST),
    ("transport", |d| d.transport.is_some(), |run| run.draft.mix.is_none(), ONE_TRANSPORT),
    ("transport", |d| d.transport.is_some(), |run| run.draft.member.is_none(), MEMBERS),
    ("mix", |d| d.mix.is_some(), |run| run.draft.member.is_none(), MEMBERS),
    ("tcp-edns", |d| d.tcp_edns.is_some(), |run| run.has(UdpTcp), FALLBACK),
    ("tcp-edns none", |d| d.tcp_edns.as_deref() == Some("none"), |run| !run.has_updates(), WHOLE_UPDATES),
    ("proxy-protocol", |d| d.proxy_protocol.is_some(), |run| !run.has_xdp(), NO_PROXY_XDP),
    ("proxy-protocol", |d| d.proxy_protocol.is_some(), |run| !run.has(Doq), NO_PROXY_QUIC),
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
const TIMED: &str = "is for a replay with the timing of its capture: add --replay and no load, or remove it";
const REPLAYED: &str = "is for the replay of a capture: add --replay, or remove it";
const ANSWERED: &str = "cannot be used with --send-only, which does not read answers: remove one";
const OF_CAPTURE: &str = "cannot be used with --replay: use --rate or --outstanding, or remove it";
const AS_CAPTURED: &str =
    "cannot be used with --replay, which sends queries as they were captured: remove it";
const BY_CLIENTS: &str = "cannot be used with --source: the load follows from what the clients need; change their \
                          number or their arrivals in its file, or remove it";
const TIMED_CLIENTS: &str =
    "cannot be used with --source: say how long the run lasts with --for, or remove it";
const READING_CLIENTS: &str =
    "cannot be used with --source: what clients ask depends on the responses: remove it";
const ASKED_BY_CLIENTS: &str =
    "cannot be used with --source: its clients send plain queries of their own: remove it";
const ONE_ORDER: &str = "and --order both set the order of the queries: remove one";
const OF_A_FILE: &str = "is for a file: give one with -d, or remove it";
const OF_A_ZONE: &str = "is for a zone file: give one with --zone, or remove it";
const CACHE: &str = "has no effect without --hit-rate: add that, or remove it";
const BY_CACHE: &str = "and --hit-rate both choose the next query: remove one";
const ONE_SUBNET: &str = "and --ecs-range both set the client subnet: remove one";
const SUBNETS: &str = "has no effect without --ecs-range: add that, or remove it";
const SIGNED: &str = "is for signed queries: add --tsig, or remove it";
const ONE_KEY: &str = "and --tsig both give the key: remove one";
const RAMP: &str = "has no effect without --ramp: add that, or remove it";
const STAIR: &str = "has no effect without --stair: add that, or remove it";
const BURST: &str = "has no effect without --burst: add that, or remove it";
const HELD: &str = "has no effect without --ramp, --stair or --burst: add that, or remove it";
const NO_WINDOW: &str = "does not wait for responses, so --outstanding has no effect: remove it to send as fast \
                         as this host can, or add --rate";
const SHAPED: &str = "is about a schedule, and a closed loop has none: add --rate, --ramp or another shape, or \
                      remove it";
const AWAITED: &str = "is for a run with --rate, --ramp or another shape that waits for responses: add a shape, \
                       remove --send-only, or remove it";
const CLOSED: &str = "is for a closed loop, and this run has a rate of its own: remove it";
const XDP: &str = "is for AF_XDP, and this run uses sockets: add --backend xdp, or remove it";
const NOT_AUTO: &str = "is not possible with sockets, so --backend auto could not fall back to them: use \
                        --backend xdp, or remove it";
const ONE_SOURCE: &str = "and --source-prefix both set the source address: remove one";
const ONE_LIST: &str = "and --server both name the server: remove one";
const MEMBERS: &str = "and the members of the plan file both set the transport: remove one";
const ONE_TRANSPORT: &str = "and --mix both set the transport: remove one";
const FALLBACK: &str = "is for retries over TCP: add --transport udp+tcp, or remove it";
const WHOLE_UPDATES: &str =
    "cannot be used with updates: a retry over TCP without EDNS has the question only: remove it";
const NO_PROXY_XDP: &str = "is not possible with AF_XDP: remove it, or use --backend sockets";
const NO_PROXY_QUIC: &str =
    "cannot be used with --transport doq: the PROXY protocol has no header for QUIC: remove it";
const CONNECTIONS: &str = "is for connections, and {transport} has none: add --transport tcp, or remove it";
const SENDING_ONLY: &str = "cannot be used with --transport {transport}: a connection stalls when its responses \
                            are not read: remove it";
const DATAGRAMS: &str = "cannot be used with --transport {transport}: AF_XDP sends UDP only: remove it";
const PORTS: &str = "cannot be used with --transport {transport}: connections use all local ports in turn: \
                     remove it, and use --local-address for more ports";
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
const MESSAGES: &str = "Messages (flags, EDNS, TSIG)";
const TRANSPORT: &str = "Transport";
const ENCRYPTION: &str = "Encryption (with --transport dot, doh or doq)";
const GENERATOR: &str = "Generator";
const BACKEND: &str = "Network path";
const PASS: &str = "Pass or fail";
const OUTPUT: &str = "Output";

#[cfg(test)]
mod tests;
