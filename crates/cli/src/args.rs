//! The table of flags: parsing, short and long help, man pages and completions come from here.
//!
//! Flags are only read here. What they mean, and whether they go together, is decided where a
//! [`Draft`] becomes a plan; a plan file says the same in the same words.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use dnsdyno_plan::{Draft, Family, HttpMethod, TlsVersions, TransportKind};

use crate::cmd::respond::RespondFlags;

/// A dynamometer for DNS servers: a known load, and what it does to the server.
///
/// dnsdyno puts a known load on a DNS server and shows how much it holds, how its latency tail
/// grows, where it breaks, and whether the load generator itself was the limit.
#[derive(Debug, Parser)]
#[command(name = "dnsdyno", version, styles = STYLES, after_help = crate::exit::HELP, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Put a load on a server and measure it
    Run(Box<RunFlags>),
    /// Print the summary of a run again, from its record
    Show(ShowFlags),
    /// Be a DNS server that lies, delays and loses on command, and keeps a book of it
    Respond(Box<RespondFlags>),
    /// The main job against the built-in responder, no set-up
    Demo(DemoFlags),
    /// Write the man pages into a folder
    #[command(hide = true)]
    Man {
        /// Where to write them.
        folder: PathBuf,
    },
    /// Print completions for a shell
    #[command(hide = true)]
    Completions {
        /// The shell.
        shell: Shell,
    },
}

#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub(crate) struct RunFlags {
    #[command(flatten)]
    pub(crate) target: TargetFlags,
    #[command(flatten)]
    pub(crate) queries: QueryFlags,
    #[command(flatten)]
    pub(crate) load: LoadFlags,
    #[command(flatten)]
    pub(crate) connections: ConnectionFlags,
    #[command(flatten)]
    pub(crate) encryption: EncryptionFlags,
    #[command(flatten)]
    pub(crate) generator: GeneratorFlags,
    #[command(flatten)]
    pub(crate) way: WayFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct TargetFlags {
    #[arg(
        short,
        long,
        value_name = "SERVER",
        help = "The server: NAME, ADDRESS, ADDRESS:PORT, [IPV6]:PORT or ADDRESS@PORT"
    )]
    server: Option<String>,
    /// Its port [default: 53; of DoT and DoQ 853, of DoH 443]
    #[arg(short, long)]
    port: Option<u16>,
    /// Use only addresses of this family: any, v4 or v6
    #[arg(short = 'f', long, value_name = "FAMILY")]
    family: Option<Family>,
    /// Send to a public address: it is yours, or its owner agreed
    #[arg(long)]
    i_may_load_this_server: bool,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Queries")]
pub(crate) struct QueryFlags {
    /// File of queries, "name type" a line as for dnsperf; - for standard input
    #[arg(short = 'd', long, value_name = "FILE")]
    queries: Option<String>,
    /// Ask for this name, "name", "name TYPE" or "name/TYPE"; may be given several times
    #[arg(short, long, value_name = "NAME")]
    ask: Vec<String>,
    /// Make a bad line of the file an error; else it is skipped and counted
    #[arg(long)]
    strict: bool,
    /// Ask in the order of the file; else, in closed loop and from 100k qps on, questions of one
    /// length are put together within 2,048 lines, which is faster
    #[arg(long)]
    keep_order: bool,
    /// EDNS with this UDP payload size
    #[arg(long, value_name = "BYTES")]
    edns_size: Option<u16>,
    /// Set the DO bit (DNSSEC OK); implies EDNS
    #[arg(long, visible_alias = "do")]
    dnssec_ok: bool,
    /// Ask for the server's identity (NSID); implies EDNS
    #[arg(long)]
    nsid: bool,
    /// Clear the RD bit, which is set by default as in dnsperf
    #[arg(long, visible_alias = "no-rd")]
    no_recursion: bool,
    /// Set the CD bit
    #[arg(long, visible_alias = "cd")]
    checking_disabled: bool,
    /// Set the AD bit
    #[arg(long, visible_alias = "ad")]
    authentic_data: bool,
    /// Class of the queries [default: IN]
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Load (one shape, a window, or both; default: --outstanding 100)")]
pub(crate) struct LoadFlags {
    /// Closed loop: keep N queries outstanding. With a rate or another shape: hold a query back while N are
    #[arg(short = 'q', long, value_name = "N")]
    outstanding: Option<u32>,
    /// Open loop: this many queries a second, such as 50k
    #[arg(short = 'r', long, value_name = "QPS")]
    rate: Option<String>,
    /// From A to B queries a second, evenly, --over T; then --hold H at B
    #[arg(long, value_name = "A..B")]
    ramp: Option<String>,
    /// The length of the ramp
    #[arg(long, value_name = "T")]
    over: Option<String>,
    /// From A to B queries a second in steps of --step, each held for --hold
    #[arg(long, value_name = "A..B")]
    stair: Option<String>,
    /// The height of a step of the stair
    #[arg(long, value_name = "QPS")]
    step: Option<String>,
    /// BASE queries a second, and PEAK for the last --hold H of each --every T, --for D in all
    #[arg(long, value_name = "BASE..PEAK")]
    burst: Option<String>,
    /// The distance of two bursts
    #[arg(long, value_name = "T")]
    every: Option<String>,
    /// How long a step, a burst, or the rate after a ramp is held
    #[arg(long, value_name = "T")]
    hold: Option<String>,
    /// A plan file (TOML) with any of these, or with pieces of any rate; flags win over it
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Do not wait for answers; without a rate, send as fast as this host can
    #[arg(long)]
    send_only: bool,
    /// End after this time, such as 30s or 10m
    #[arg(short = 'l', long = "for", value_name = "T")]
    duration: Option<String>,
    /// End after this many queries
    #[arg(short = 'n', long, value_name = "N")]
    count: Option<String>,
    /// End after this many passes through the file
    #[arg(long, value_name = "N")]
    passes: Option<u64>,
    /// How long to wait for an answer [default: 5s]
    #[arg(short = 't', long, value_name = "T")]
    timeout: Option<String>,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Transport")]
pub(crate) struct ConnectionFlags {
    /// udp, tcp, udp+tcp (asks again over TCP what is truncated over UDP), dot, doh (HTTP/2) or doq
    /// [default: udp]
    #[arg(long, value_name = "TRANSPORT")]
    transport: Option<TransportKind>,
    /// Several transports by weight, such as udp=60,tcp=15,dot=25; with a port of its own as dot@8853=25,
    /// else encrypted ones have their usual port and the others that of the server
    #[arg(long, value_name = "MIX")]
    mix: Option<String>,
    /// Close a connection after Q queries, and open another; 0 keeps it [default: 0, and 1 where
    /// truncated answers are asked again]
    #[arg(long, value_name = "Q", visible_alias = "num-queries-per-conn")]
    queries_per_connection: Option<u32>,
    /// Close a connection on which nothing was under way for this time [default: never]
    #[arg(long, value_name = "T")]
    idle_timeout: Option<String>,
    /// Let the first query of a connection travel with its SYN (TCP Fast Open)
    #[arg(long)]
    fast_open: bool,
    /// Over udp+tcp, the EDNS of what is asked again: same as over UDP, or none [default: same]
    #[arg(long, value_name = "EDNS")]
    tcp_edns: Option<String>,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Encryption (with --transport dot, doh or doq)")]
pub(crate) struct EncryptionFlags {
    /// Believe any certificate
    #[arg(long)]
    insecure: bool,
    /// Trust the certificates in this PEM file, instead of the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<String>,
    /// The name in the server's certificate [default: the server as given by -s]
    #[arg(long, value_name = "NAME")]
    sni: Option<String>,
    /// Speak only this version of TLS: 1.2 or 1.3
    #[arg(long, value_name = "VERSION")]
    tls_version: Option<TlsVersions>,
    /// Make a full handshake each time; else sessions are resumed where the server allows
    #[arg(long)]
    no_resumption: bool,
    /// Let queries travel with the first flight of a resumed handshake (0-RTT)
    #[arg(long)]
    early_data: bool,
    /// How long a handshake may take [default: 5s]
    #[arg(long, value_name = "T")]
    handshake_timeout: Option<String>,
    /// DoH: get or post [default: post]
    #[arg(long, value_name = "METHOD")]
    http_method: Option<HttpMethod>,
    /// DoH: the path to ask at [default: /dns-query]
    #[arg(long, value_name = "PATH")]
    http_path: Option<String>,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Generator")]
pub(crate) struct GeneratorFlags {
    /// Threads [default: one a core]
    #[arg(short = 'T', long, value_name = "N")]
    workers: Option<usize>,
    /// Let the kernel move the workers between CPUs; else each stays on one, where there are enough
    #[arg(long)]
    no_pin: bool,
    /// Sockets, or clients with a connection each, over all workers [default: one a worker; with
    /// AF_XDP 256 source ports; with --queries-per-connection, or over udp+tcp, the window, or
    /// 1000]; beside clients there is a UDP socket a worker, where UDP is part of the transport
    #[arg(short = 'c', long, value_name = "N")]
    clients: Option<usize>,
    /// Send from this address; over TCP also from those up to the end of ADDRESS/LENGTH, in turn
    #[arg(long, value_name = "ADDRESS", visible_alias = "local")]
    local_address: Option<String>,
    /// Send from these ports, such as 20000..20099
    #[arg(long, value_name = "A..B")]
    local_ports: Option<String>,
    /// Receive buffer of each socket [default: 4M]
    #[arg(long, value_name = "BYTES")]
    receive_buffer: Option<String>,
    /// What chance starts from; the same seed asks for the same load
    #[arg(long, value_name = "N")]
    seed: Option<String>,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Way out")]
pub(crate) struct WayFlags {
    /// sockets; xdp, which passes by the kernel's network stack (needs root, and an Ethernet
    /// interface); or auto, which takes xdp where it can be had [default: sockets]
    #[arg(long, value_name = "BACKEND")]
    backend: Option<String>,
    /// AF_XDP: the interface [default: the one that the route leads over]
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// AF_XDP: send to this Ethernet address [default: looked up]
    #[arg(long, value_name = "MAC")]
    next_hop: Option<String>,
    /// AF_XDP: the VLAN tag of the queries
    #[arg(long, value_name = "ID")]
    vlan: Option<u16>,
    /// AF_XDP: send from ADDRESS on to the end of its prefix, all of which you have routed back to
    /// the interface
    #[arg(long, value_name = "ADDRESS/LENGTH")]
    source_prefix: Option<String>,
    /// AF_XDP: run the program that picks out the answers in the driver (native), in the kernel's
    /// stack (generic), or as the driver can [default: auto]
    #[arg(long, value_name = "MODE")]
    xdp_mode: Option<String>,
    /// AF_XDP: zero-copy, copy, or as the driver can [default: auto]
    #[arg(long, value_name = "WAY")]
    xdp_copy: Option<String>,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Folder of the record [default: runs/DATE-TIME]
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// A name for the run
    #[arg(long)]
    name: Option<String>,
    /// A remark on the run
    #[arg(long)]
    note: Option<String>,
    /// Length of an interval of the record [default: 1s, or less for short phases]
    #[arg(long, value_name = "T")]
    interval: Option<String>,
    /// Fail (exit code 1) unless this holds, such as 'loss<0.1%' or 'p99<5ms'; several times
    #[arg(short, long, value_name = "EXPECTATION")]
    pub(crate) expect: Vec<String>,
    /// Say nothing while running
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Show what each worker did and used
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowFlags {
    /// Folders of runs
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Show what each worker did and used
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Print the summary as one JSON object a run
    #[arg(long)]
    pub(crate) json: bool,
    /// Fail (exit code 1) unless this holds, such as 'loss<0.1%' or 'p99<5ms'; several times
    #[arg(short, long, value_name = "EXPECTATION")]
    pub(crate) expect: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoFlags {
    /// Folder of the record [default: runs/DATE-TIME]
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Say nothing while running
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl RunFlags {
    /// What the flags say, and nothing that they do not.
    pub(crate) fn draft(&self) -> Draft {
        let RunFlags { target, queries, load, connections, encryption, generator, way, output } = self;
        let set = |flag: bool| flag.then_some(true);
        Draft {
            name: output.name.clone(),
            note: output.note.clone(),
            server: target.server.clone(),
            port: target.port,
            family: target.family,
            transport: connections.transport,
            mix: connections.mix.clone(),
            i_may_load_this_server: set(target.i_may_load_this_server),
            queries: queries.queries.clone(),
            ask: (!queries.ask.is_empty()).then(|| queries.ask.clone()),
            strict: set(queries.strict),
            keep_order: set(queries.keep_order),
            recursion_desired: queries.no_recursion.then_some(false),
            checking_disabled: set(queries.checking_disabled),
            authentic_data: set(queries.authentic_data),
            dnssec_ok: set(queries.dnssec_ok),
            edns_size: queries.edns_size,
            nsid: set(queries.nsid),
            class: queries.class.clone(),
            outstanding: load.outstanding,
            rate: load.rate.clone(),
            ramp: load.ramp.clone(),
            over: load.over.clone(),
            stair: load.stair.clone(),
            step: load.step.clone(),
            burst: load.burst.clone(),
            every: load.every.clone(),
            hold: load.hold.clone(),
            duration: load.duration.clone(),
            count: load.count.clone(),
            passes: load.passes,
            timeout: load.timeout.clone(),
            interval: output.interval.clone(),
            workers: generator.workers,
            pin: generator.no_pin.then_some(false),
            clients: generator.clients,
            queries_per_connection: connections.queries_per_connection,
            idle_timeout: connections.idle_timeout.clone(),
            fast_open: set(connections.fast_open),
            insecure: set(encryption.insecure),
            ca: encryption.ca.clone(),
            sni: encryption.sni.clone(),
            tls_version: encryption.tls_version,
            resumption: encryption.no_resumption.then_some(false),
            early_data: set(encryption.early_data),
            handshake_timeout: encryption.handshake_timeout.clone(),
            http_method: encryption.http_method,
            http_path: encryption.http_path.clone(),
            tcp_edns: connections.tcp_edns.clone(),
            local_address: generator.local_address.clone(),
            local_ports: generator.local_ports.clone(),
            backend: way.backend.clone(),
            interface: way.interface.clone(),
            next_hop: way.next_hop.clone(),
            vlan: way.vlan,
            source_prefix: way.source_prefix.clone(),
            xdp_mode: way.xdp_mode.clone(),
            xdp_copy: way.xdp_copy.clone(),
            receive_buffer: generator.receive_buffer.clone(),
            send_only: set(load.send_only),
            seed: generator.seed.clone(),
            piece: None,
        }
    }
}

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXAMPLES: &str = "\
Examples:
  dnsdyno run -s 127.0.0.1 -d queries.txt --rate 50k --for 30s
  dnsdyno run -s 127.0.0.1:5300 -d queries.txt --outstanding 100 --for 10s
  dnsdyno run -s ::1 -a 'www.example AAAA' --stair 2k..25k --step 1k --hold 60s
  dnsdyno run -s 127.0.0.1 -d queries.txt --ramp 0..100k --over 60s --expect 'loss<0.1%'";

const LONG_EXAMPLES: &str = "\
Examples:
  dnsdyno run -s 127.0.0.1 -d queries.txt --rate 50k --for 30s
  dnsdyno run -s 127.0.0.1:5300 -d queries.txt --outstanding 100 --for 10s
  dnsdyno run -s ::1 -a 'www.example AAAA' --stair 2k..25k --step 1k --hold 60s
  dnsdyno run -s 127.0.0.1 -d queries.txt --ramp 0..100k --over 60s --expect 'loss<0.1%'
  dnsdyno run -s 192.0.2.53 -d queries.txt --backend xdp --outstanding 1000 --for 30s
  dnsdyno run -s 192.0.2.53 -d queries.txt --transport tcp --clients 10 --rate 20k --for 30s
  dnsdyno run -s 192.0.2.53 -d queries.txt --transport udp+tcp --edns-size 1232 --rate 5k --for 30s
  dnsdyno run -s 192.0.2.53 -d queries.txt --mix udp=60,tcp=15,dot=25 --rate 20k --for 30s
  dnsdyno run -s 192.0.2.53 -d queries.txt --transport dot --ca ca.pem --clients 10 --rate 20k --for 30s
  dnsdyno run -s dns.example -d queries.txt --transport doh --http-method get --outstanding 100 --for 30s

A run repeated from its own record:
  dnsdyno run --plan runs/NAME/plan.toml

Plan files say the same as the flags, and more by pieces:
  server = \"127.0.0.1\"
  queries = \"queries.txt\"
  [[piece]]
  rate = \"1k\"
  for = \"10s\"
  [[piece]]
  rate = \"1k..20k\"
  for = \"30s\"

Expectations: loss, p50, p90, p95, p99, p99.9, max, avg, rate, answered, timeouts, any RCODE,
fallback, lateness.p99 and generator, each with < <= > >= or =, such as 'p99<5ms' or 'generator=ok'.";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_of_flags_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn what_is_not_said_stays_open() {
        assert_eq!(RunFlags::default().draft(), Draft::default());
    }

    #[test]
    fn a_flag_says_what_the_same_key_of_a_plan_file_says() {
        let typed = "dnsdyno run -s 127.0.0.1:5300 -d q.txt --stair 1k..5k --step 1k --hold 10s -t 2s \
                     -c 4 --backend xdp --interface eth0 --next-hop 2:0:0:0:0:1 --vlan 7 --source-prefix ::/0 \
                     --xdp-mode native --xdp-copy copy --no-pin --no-rd \
                     --do --edns-size 1232 --local-ports 2000..2003 --name n --insecure --ca c --sni s \
                     --tls-version 1.3 --no-resumption --early-data --handshake-timeout 1s --http-method get \
                     --http-path /q --transport udp+tcp --tcp-edns none";
        let Verb::Run(flags) = Cli::parse_from(typed.split_whitespace()).verb else { panic!("no run") };
        let file = "server = \"127.0.0.1:5300\"\nqueries = \"q.txt\"\nstair = \"1k..5k\"\nstep = \"1k\"\n\
                    hold = \"10s\"\ntimeout = \"2s\"\nclients = 4\nbackend = \"xdp\"\ninterface = \"eth0\"\n\
                    next-hop = \"2:0:0:0:0:1\"\nvlan = 7\nsource-prefix = \"::/0\"\nxdp-mode = \"native\"\n\
                    xdp-copy = \"copy\"\npin = false\nrecursion-desired = false\n\
                    dnssec-ok = true\nedns-size = 1232\nlocal-ports = \"2000..2003\"\nname = \"n\"\n\
                    insecure = true\nca = \"c\"\nsni = \"s\"\ntls-version = \"1.3\"\nresumption = false\n\
                    early-data = true\nhandshake-timeout = \"1s\"\nhttp-method = \"get\"\nhttp-path = \"/q\"\n\
                    transport = \"udp+tcp\"\ntcp-edns = \"none\"";
        assert_eq!(flags.draft(), Draft::from_toml(file).unwrap());
    }
}
