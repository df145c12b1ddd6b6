//! `dnsdyno respond`: the reference DNS server, whose counts show whether a generator counts correctly.

use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Arg, Args, ValueEnum};
use dnsdyno_responder::xdp::{XdpConfig, XdpResponder};
use dnsdyno_responder::{
    Buckets, CertificateFiles, Config, Echo, Error, Faults, Responder, Resumption, Rule, Running,
    TlsSettings, TlsVersions, Transport, Zone,
};
use dnsdyno_sys::rights::{CapabilitySet, of_bpf};
use dnsdyno_sys::xdp::{Attach, Attached};
use dnsdyno_text::notation::{parse_duration_ns, parse_size_bytes};
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::address::address_and_port;
use crate::exit::{Failure, OK, Outcome};
use crate::message::print_error;
use crate::rights;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_args(with_units))]
pub(crate) struct RespondFlags {
    /// Address and port for UDP and TCP; port 0 chooses a free one; may be repeated
    #[arg(short, long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5300",
        value_parser = address_and_port)]
    listen: Vec<SocketAddr>,
    /// Threads on each port of UDP, TCP, DoT and DoH; each may have as many files open as the process
    #[arg(short = 'T', long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// Let other responders listen on the same ports: the kernel distributes clients (SO_REUSEPORT)
    #[arg(long)]
    share_port: bool,
    /// Serve UDP only
    #[arg(long)]
    no_tcp: bool,
    /// End after this time, such as 30s [default: at Ctrl-C]
    #[arg(long = "for", value_name = "T")]
    duration: Option<String>,

    /// Also serve DNS over TLS at this address and port; may be repeated
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address_and_port, help_heading = "Encrypted")]
    dot: Vec<SocketAddr>,
    /// Also serve DNS over HTTP/2 at this address and port, path /dns-query; may be repeated
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address_and_port, help_heading = "Encrypted")]
    doh: Vec<SocketAddr>,
    /// Also serve DNS over QUIC at this address and port; may be repeated
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address_and_port, help_heading = "Encrypted")]
    doq: Vec<SocketAddr>,
    /// Also serve DNS over HTTP/3 at this address and port, path /dns-query; may be repeated
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address_and_port, help_heading = "Encrypted")]
    doh3: Vec<SocketAddr>,
    /// Certificate chain (PEM) [default: one is created for localhost and the addresses]
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "Encrypted")]
    cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "Encrypted")]
    key: Option<PathBuf>,
    /// Write the CA certificate for clients to this file (PEM) before listening
    #[arg(long, value_name = "FILE", help_heading = "Encrypted")]
    write_ca: Option<PathBuf>,
    /// Support only this version of TLS (DoQ and DoH/3 always use 1.3)
    #[arg(long, value_enum, value_name = "VERSION", help_heading = "Encrypted")]
    tls_version: Option<TlsVersion>,
    /// Disable session resumption: each connection needs a full handshake
    #[arg(long, conflicts_with = "early_data", help_heading = "Encrypted")]
    no_resumption: bool,
    /// Accept early data (0-RTT) over DoT, DoQ and DoH/3
    #[arg(long, help_heading = "Encrypted")]
    early_data: bool,
    /// Close connections without outstanding queries after this time
    #[arg(long, value_name = "T", default_value = "10s")]
    idle: String,
    /// Maximum number of connections on an address; further ones are closed when accepted
    #[arg(long, value_name = "N", default_value_t = 65_536)]
    max_connections: usize,

    /// Address in responses to queries of type A
    #[arg(long, value_name = "IPV4", default_value = "192.0.2.1", help_heading = "Answers")]
    address: Ipv4Addr,
    /// Address in responses to queries of type AAAA
    #[arg(long, value_name = "IPV6", default_value = "2001:db8::1", help_heading = "Answers")]
    address6: Ipv6Addr,
    /// Answer from this zone file instead
    #[arg(long, value_name = "FILE", conflicts_with = "size", help_heading = "Answers")]
    zone: Option<PathBuf>,
    /// The zone's origin, if the file has no $ORIGIN
    #[arg(long, value_name = "NAME", requires = "zone", help_heading = "Answers")]
    origin: Option<String>,
    /// Answer every query with a message of this many bytes instead
    #[arg(long, value_name = "BYTES", help_heading = "Answers")]
    size: Option<u16>,
    /// Over UDP send only truncated responses (TC=1, no records)
    #[arg(long, help_heading = "Answers")]
    truncate: bool,

    #[command(flatten)]
    faults: Faults,

    /// Answer plain queries in the kernel, in the driver of --interface; others are passed to the sockets
    ///
    /// An XDP program answers queries over UDP as --zone, --address or --truncate say. TCP, and anything but
    /// a plain query under the zone's name, is passed to the sockets of --listen, which must be addresses
    /// of the interface. Needs root (or CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON). The program is detached
    /// when the responder ends in any way; another program is never replaced. Queries answered in the
    /// kernel bypass the firewall. Between veth interfaces, responses reach only an end that has an XDP
    /// program too, such as that of --backend xdp.
    #[arg(long, requires = "interface", help_heading = "In the kernel")]
    xdp: bool,
    /// The interface that receives the queries
    #[arg(long, value_name = "NAME", requires = "xdp", help_heading = "In the kernel")]
    interface: Option<String>,
    /// Run the program in the driver (native), in the kernel's stack (generic), or as the driver supports
    #[arg(
        long,
        value_enum,
        value_name = "MODE",
        default_value = "auto",
        requires = "xdp",
        help_heading = "In the kernel"
    )]
    xdp_mode: XdpMode,

    /// Write the counts of what the responder did to this file at the end, instead of printing them
    #[arg(long, value_name = "FILE", help_heading = "Counts")]
    book: Option<PathBuf>,
    /// Include the histogram buckets of the delays in the counts
    #[arg(long, help_heading = "Counts")]
    buckets: bool,
}

/// The options of faults with the units of all our options, which the responder does not know.
fn with_units(option: Arg) -> Arg {
    let length = |text: &str| parse_duration_ns(text).map(Duration::from_nanos);
    let size = |text: &str| parse_size_bytes(text).map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    match option.get_id().as_str() {
        "limit_queue" => option.value_parser(length),
        "leak_bytes" => option.value_parser(size),
        _ => option,
    }
}

/// Versions of TLS that `--tls-version` can select.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum TlsVersion {
    #[value(name = "1.2")]
    V12,
    #[value(name = "1.3")]
    V13,
}

/// Where the program in the kernel runs.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum XdpMode {
    Auto,
    Native,
    Generic,
}

const EXAMPLES: &str = "\
The counts are printed as JSON at the end, and at each SIGUSR1.

Examples:
  dnsdyno respond --delay lognormal:2ms,0.5 --loss 1%
  dnsdyno respond --listen 127.0.0.1:0 --stall 3s..4s --for 15s --book book.json
  dnsdyno respond --zone example.zone --origin example.
  dnsdyno respond --dot 127.0.0.1:8853 --doh 127.0.0.1:8443 --doq 127.0.0.1:8853 --write-ca ca.pem
  dnsdyno respond --dot 127.0.0.1:8853 --close-after 10 --tls-alert 1%
  dnsdyno respond --xdp --interface eth1 --listen 192.0.2.53:53 --zone example.zone";

pub(crate) fn respond(flags: RespondFlags) -> Outcome {
    let length = flags.length()?;
    check_book(flags.book.as_deref())?;
    // Until its zone is read, a signal ends the program: the file may be a pipe that gives nothing.
    let config = flags.config()?;
    // Installed before the responder reports that it listens: it may be stopped right after that.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1]).map_err(Failure::run_failed)?;
    let running = flags.start(config)?;
    flags.write_ca(&running)?;
    rights::keep(flags.rights());
    let transports = if flags.no_tcp { "UDP" } else { "UDP and TCP" };
    let addresses: Vec<_> = running.addresses().iter().map(ToString::to_string).collect();
    let encrypted: String = [Transport::Dot, Transport::Doh, Transport::Doq, Transport::Doh3]
        .into_iter()
        .flat_map(|transport| running.addresses_of(transport).into_iter().map(move |at| (transport, at)))
        .map(|(transport, at)| format!(", {at} ({transport})"))
        .collect();
    let place = match (running.program(), &flags.interface) {
        (Some(Attached::Native), Some(name)) => format!(", answering in the driver of {name}"),
        (Some(Attached::Generic), Some(name)) => format!(", answering in the kernel's stack on {name}"),
        _ => String::new(),
    };
    print_error(&format!(
        "responder: listening on {} ({transports}){encrypted}{place}; Ctrl-C to stop",
        addresses.join(" ")
    ));
    if let Some(sentence) = running.addresses().iter().find_map(wildcard_sentence) {
        print_error(&format!("responder: {sentence}"));
    }
    serve(&running, &mut signals, length, flags.buckets()).map_err(Failure::run_failed)?;
    write_book(flags.book.as_deref(), &running.stop().to_json(flags.buckets()))
}

/// What it means to listen on a wildcard address.
pub(crate) fn wildcard_sentence(address: &SocketAddr) -> Option<String> {
    let ip = address.ip();
    let what = if ip.is_ipv4() { "IPv4 address" } else { "address" };
    ip.is_unspecified().then(|| {
        format!("{ip} stands for each {what} of this host: who asks one of them gets the response from the same one")
    })
}

/// What it means that a thread of the responder has as many files open as it may.
fn out_of_files_sentence(limit: u64) -> String {
    format!(
        "new connections wait: a thread has {limit} files open, which is the limit (ulimit -n). Add --threads: each \
         thread may have as many. Or raise the hard limit of open files (ulimit -Hn)"
    )
}

/// Whether counts can be written to a file later: its folder is there.
pub(crate) fn check_book(path: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match folder.is_dir() && !path.is_dir() {
        true => Ok(()),
        false => Err(Failure::bad_input(anyhow::anyhow!(
            "--book {}: name a file in a folder that exists",
            path.display()
        ))),
    }
}

/// Writes counts to a file, or prints them: also where the file takes nothing.
pub(crate) fn write_book(path: Option<&Path>, book: &Value) -> Outcome {
    let written = path.map(|path| (path, std::fs::write(path, format!("{book:#}\n"))));
    if let Some((_, Ok(()))) = written {
        return Ok(OK);
    }
    writeln!(std::io::stdout(), "{book:#}").map_err(Failure::run_failed)?;
    match written {
        Some((path, Err(error))) => Err(Failure::run_failed(anyhow::Error::from(error).context(format!(
            "cannot write the counts to {}, so that they are on standard output",
            path.display()
        )))),
        _ => Ok(OK),
    }
}

/// Waits until the time is over or a signal ends it; prints the counts at SIGUSR1.
fn serve(
    running: &Running,
    signals: &mut Signals,
    length: Option<Duration>,
    buckets: Buckets,
) -> anyhow::Result<()> {
    let end = length.map(|length| Instant::now() + length);
    let mut is_told = false;
    loop {
        if !is_told && let Some(limit) = running.out_of_files() {
            is_told = true;
            print_error(&format!("responder: {}", out_of_files_sentence(limit)));
        }
        for signal in signals.pending() {
            if signal != SIGUSR1 {
                return Ok(());
            }
            writeln!(std::io::stdout(), "{:#}", running.book().to_json(buckets))?;
        }
        let left = end.map_or(SIGNAL_POLL, |end| end.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(SIGNAL_POLL));
    }
}

impl RespondFlags {
    /// What it needs after it listens: to ask the program in the kernel for its counts, and to write the file of counts
    /// where the user may. The threads that answer have given up all.
    fn rights(&self) -> CapabilitySet {
        let of_program = if self.xdp { of_bpf() } else { CapabilitySet::empty() };
        let of_book = if self.book.is_some() { CapabilitySet::DAC_OVERRIDE } else { CapabilitySet::empty() };
        of_program | of_book
    }

    fn length(&self) -> Result<Option<Duration>, Failure> {
        let length = self.duration.as_deref().map(parse_duration_ns).transpose();
        let length = length.context("--for").map_err(Failure::bad_input)?;
        Ok(length.map(Duration::from_nanos))
    }

    /// Writes the certificates that a client must trust, with --write-ca.
    fn write_ca(&self, running: &Running) -> Result<(), Failure> {
        let Some(path) = &self.write_ca else { return Ok(()) };
        let Some(pem) = running.trust_pem() else {
            return Err(Failure::bad_input(anyhow::anyhow!(
                "--write-ca needs an encrypted listener: add --dot, --doh, --doq or --doh3"
            )));
        };
        std::fs::write(path, pem)
            .with_context(|| format!("cannot write the certificate to {}", path.display()))
            .map_err(Failure::run_failed)
    }

    fn tls(&self) -> TlsSettings {
        TlsSettings {
            files: match (&self.cert, &self.key) {
                (Some(chain), Some(key)) => Some(CertificateFiles { chain: chain.clone(), key: key.clone() }),
                _ => None,
            },
            versions: match self.tls_version {
                None => TlsVersions::Both,
                Some(TlsVersion::V12) => TlsVersions::Only12,
                Some(TlsVersion::V13) => TlsVersions::Only13,
            },
            resumption: match (self.no_resumption, self.early_data) {
                (true, _) => Resumption::Off,
                (false, true) => Resumption::EarlyData,
                (false, false) => Resumption::Tickets,
            },
        }
    }

    fn buckets(&self) -> Buckets {
        if self.buckets { Buckets::With } else { Buckets::Without }
    }

    fn start(&self, responder: Config) -> Result<Running, Failure> {
        let Some(interface) = &self.interface else {
            return Responder::start(responder).map_err(|error| match error {
                Error::Tls(_) | Error::Faults(_) => Failure::bad_input(error),
                _ => Failure::run_failed(error),
            });
        };
        let attach = match self.xdp_mode {
            XdpMode::Auto => Attach::Auto,
            XdpMode::Native => Attach::Native,
            XdpMode::Generic => Attach::Generic,
        };
        let config = XdpConfig { interface: interface.clone(), attach, responder };
        XdpResponder::start(config).map_err(|error| match error.is_bad_input() {
            true => Failure::bad_input(error),
            false => Failure::run_failed(error),
        })
    }

    fn config(&self) -> Result<Config, Failure> {
        let (listen, listen_also) = match self.listen.split_first() {
            Some((first, others)) => (*first, others.to_vec()),
            None => (Config::default().listen, Vec::new()),
        };
        Ok(Config {
            listen,
            listen_also,
            rule: self.rule()?,
            faults: self.faults.clone(),
            threads: self.threads,
            share_port: self.share_port,
            tcp: !self.no_tcp,
            dot: self.dot.clone(),
            doh: self.doh.clone(),
            doq: self.doq.clone(),
            doh3: self.doh3.clone(),
            tls: self.tls(),
            idle: Duration::from_nanos(
                parse_duration_ns(&self.idle).context("--idle").map_err(Failure::bad_input)?,
            ),
            connections_max: self.max_connections,
            ..Config::default()
        })
    }

    fn rule(&self) -> Result<Rule, Failure> {
        let rule = match (&self.zone, self.size) {
            (Some(path), _) => {
                let zone = Zone::load(path, self.origin.as_deref()).map_err(Failure::bad_input)?;
                Rule::Zone(Arc::new(zone))
            }
            (None, Some(bytes)) => Rule::FixedSize { bytes },
            (None, None) => Rule::Echo(Echo { a: self.address, aaaa: self.address6, ..Echo::default() }),
        };
        Ok(if self.truncate { Rule::Truncate(Box::new(rule)) } else { rule })
    }
}

/// How often signals are checked.
const SIGNAL_POLL: Duration = Duration::from_millis(20);
