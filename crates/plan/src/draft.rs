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
//! An option is in a group of `groups`; one that cannot be used in every run has a row in `rules`.

use clap::Args;
use dnsdyno_queries::{QueriesFormat, TsigText};
use dnsdyno_text::secret::Masked;
use serde::{Deserialize, Serialize};

use crate::kinds::{Family, HttpMethod, TlsVersions, TransportKind};
use crate::member_draft::MemberDraft;
use crate::quantity::{needed_quantity, number, quantity};
use crate::worker_count::WorkerCount;

/// The user's options; `None` = not given. Text fields with a unit hold what [`dnsdyno_text::notation`] reads, such as
/// `50k` or `1.5s`.
#[derive(Debug, Clone, Default, PartialEq, Args, Serialize, Deserialize)]
#[group(skip)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Draft {
    /// The format of a plan file, see [`check_format`](crate::check_format). Only in a plan file.
    #[arg(skip)]
    #[serde(skip_serializing)]
    pub format: Option<u32>,
    /// The server.
    #[arg(short, long, value_name = "SERVER", help_heading = SERVER,
        help = "The server: NAME, ADDRESS, ADDRESS:PORT, [IPV6]:PORT or ADDRESS@PORT. Several get the \
                queries in turn, or by weight: A,B,C or A=3,B=1")]
    pub server: Option<String>,
    /// File of servers: on each line one as for -s, and its weight where it has one (`ADDRESS WEIGHT`)
    #[arg(long, value_name = "FILE", help_heading = SERVER)]
    pub servers: Option<String>,
    /// The server's port [default: 53; DoT and DoQ 853, DoH and DoH/3 443]
    #[arg(value_parser = number::<u16>, short, long, help_heading = SERVER)]
    pub port: Option<u16>,
    /// Use only addresses of this family: any, v4 or v6
    #[arg(short = 'f', long, value_name = "FAMILY", help_heading = SERVER)]
    pub family: Option<Family>,
    /// Allow a public address: you own the server, or its owner has agreed
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = SERVER)]
    #[serde(skip_serializing)]
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
    /// Compare each answer with the one in the capture, or, of another source, with the one that the server gives
    /// before the load: RCODE and records, not TTL and order
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = QUERIES)]
    pub check_answers: Option<bool>,
    /// With --check-answers: ask the questions at this rate before the load [default: 5k]
    #[arg(long, value_name = "QPS", help_heading = QUERIES)]
    #[serde(deserialize_with = "quantity")]
    pub first_pass_rate: Option<String>,
    /// With --check-answers: ask the questions for so long before the load, at the most; each at least twice
    /// [default: 20s]
    #[arg(long, value_name = "T", help_heading = QUERIES)]
    #[serde(deserialize_with = "quantity")]
    pub first_pass_for: Option<String>,
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
    /// Send this client subnet (ECS), such as 192.0.2.0/24; source is that of the address of --source-prefix that the
    /// query is sent from (/24, of IPv6 /56), source/32 of that length; implies EDNS
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
    pub tsig: Option<TsigText>,
    /// The same with the key in a file of BIND, NSD or Knot, as tsig-keygen or keymgr writes it
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
    /// udp, tcp, udp+tcp (retries truncated responses over TCP), dot, doh (HTTP/2), doq or
    /// doh3 (HTTP/3) [default: udp]
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
    /// Append the secrets of TLS sessions to this file, with which Wireshark decrypts a capture (SSLKEYLOGFILE)
    #[arg(long, value_name = "FILE", help_heading = ENCRYPTION)]
    pub tls_key_log: Option<String>,
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
    /// Number of threads, or auto: the fewest with which the load is made, by trials of a second each before the run.
    /// They send this load, or a rate at its peak, to the server [default: as many as the load needs by tables of
    /// costs, at most one per CPU, or one per two CPUs if the server is on this host]
    #[arg(short = 'T', long, value_name = "N", help_heading = GENERATOR)]
    pub workers: Option<WorkerCount>,
    /// Make only a part of the load, where several processes make it together: 3/6 is worker 3 of the 6 that all of
    /// them have, 3-4/6 workers 3 and 4. Rates, windows and clients are those of the whole load. With --on, agents get
    /// theirs
    #[arg(long, value_name = "WORKERS/ALL", help_heading = GENERATOR)]
    pub part: Option<String>,
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
    /// Over UDP, send from the addresses from ADDRESS to the end of its prefix, which must be routed back to this host
    /// (AF_XDP: to the interface) and need not be configured; several by weight: 10.0.0.0/16=3,10.9.0.0/24=1. Each
    /// client has one
    #[arg(long, value_name = "ADDRESS/LENGTH", visible_alias = "sources", help_heading = GENERATOR)]
    pub source_prefix: Option<String>,
    /// Send from these ports, such as 20000..20099; with --source-prefix, those of each address
    #[arg(long, value_name = "A..B", visible_alias = "source-ports", help_heading = GENERATOR)]
    #[serde(deserialize_with = "quantity")]
    pub local_ports: Option<String>,
    /// Over UDP, take responses from any address and port; otherwise only from those that the query was sent to
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = GENERATOR)]
    pub any_source: Option<bool>,
    /// Receive buffer size of each socket [default: 4M]
    #[arg(long, value_name = "BYTES", help_heading = GENERATOR)]
    #[serde(deserialize_with = "quantity")]
    pub receive_buffer: Option<String>,
    /// Send buffer size of each UDP socket [default: 1M]
    #[arg(long, value_name = "BYTES", help_heading = GENERATOR)]
    #[serde(deserialize_with = "quantity")]
    pub send_buffer: Option<String>,
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
    /// process=PID; the statistics of a server, such as bind=URL (also unbound, nsd, knot,
    /// knot-resolver, pdns, dnsdist, mariadb, world, openmetrics); or ssh://HOST. May be repeated
    #[arg(long, value_name = "WHAT", help_heading = OUTPUT)]
    pub watch: Option<Vec<Masked>>,
    /// Trace one query of each N with all its instants, as 1/N such as 1/1000: `trace.json` in the folder of the
    /// run, in the Trace Event Format that Perfetto opens
    #[arg(long, value_name = "1/N", help_heading = OUTPUT)]
    #[serde(deserialize_with = "quantity")]
    pub trace: Option<String>,
    /// Write the trace to this file instead
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub trace_file: Option<String>,
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
    /// The value of `--backend`, or its default.
    pub(crate) fn backend(&self) -> &str {
        self.backend.as_deref().unwrap_or("sockets")
    }
}

/// The heading of the options of the load, which `--plan` also belongs to.
pub const LOAD: &str = "Load (a shape, --outstanding, or both; default: --outstanding 100)";
const SERVER: &str = "Server";
const QUERIES: &str = "Queries";
const MESSAGES: &str = "Messages (flags, EDNS, TSIG)";
const TRANSPORT: &str = "Transport";
const ENCRYPTION: &str = "Encryption (with --transport dot, doh, doq or doh3)";
const GENERATOR: &str = "Generator";
const BACKEND: &str = "Network path";
const PASS: &str = "Pass or fail";
const OUTPUT: &str = "Output";
