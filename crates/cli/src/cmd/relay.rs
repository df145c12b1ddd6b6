//! `dnsdyno relay`: a path between two programs that delays, loses, reorders and limits what passes.

use std::collections::VecDeque;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use clap::Args;
use dnsdyno_responder::relay::netem::KernelNetem;
use dnsdyno_responder::relay::{Path, PathDelay, Rate, Relay, RelayOptions, Way};
use dnsdyno_responder::{Buckets, Share};
use dnsdyno_text::notation::{parse_duration_ns, parse_size_bytes};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::address::address_and_port;
use crate::cmd::respond::{check_book, wildcard_sentence, write_book};
use crate::exit::{Failure, Outcome};
use crate::message::print_error;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RelayFlags {
    /// Address and port where clients send to, for UDP and TCP; port 0 chooses a free one
    #[arg(short, long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5399", value_parser = address_and_port)]
    listen: SocketAddr,
    /// Address and port of the server
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address_and_port)]
    to: SocketAddr,
    /// Pass on UDP only
    #[arg(long)]
    no_tcp: bool,
    /// End after this time, such as 30s [default: at Ctrl-C]
    #[arg(long = "for", value_name = "T")]
    duration: Option<String>,

    /// Delay in each direction (a round trip takes it twice): 5ms, uniform:1ms..5ms, normal:5ms,1ms, exp:2ms,
    /// lognormal:2ms,0.5, pareto:2ms,2.5, or file:NAME with one latency a line
    #[arg(long, value_name = "DELAY", default_value = "0", help_heading = PATH)]
    delay: PathDelay,
    /// No packet overtakes another one, even if its delay is shorter
    #[arg(long, help_heading = PATH)]
    keep_order: bool,
    /// Share of datagrams that are lost, such as 1%
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = PATH)]
    loss: Share,
    /// How many datagrams are lost in a row, on average [default: each loss is independent]
    #[arg(long, value_name = "N", help_heading = PATH)]
    loss_burst: Option<f64>,
    /// Share of datagrams that arrive twice
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = PATH)]
    duplicate: Share,
    /// Share of datagrams that are not delayed, and so overtake others
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = PATH)]
    reorder: Share,
    /// Bits that pass in a second, with the headers of IP and UDP or TCP, such as 100mbit
    #[arg(long, value_name = "RATE", help_heading = PATH)]
    rate_limit: Option<Rate>,
    /// How long a packet waits for the rate at most; one that would wait longer is dropped
    #[arg(long, value_name = "T", default_value = "100ms", help_heading = PATH)]
    queue: String,
    /// What differs on the way to the server, such as 'delay=5ms loss=0' (also burst, duplicate, reorder, rate,
    /// queue, order=keep)
    #[arg(long, value_name = "WORDS", help_heading = PATH)]
    to_server: Option<String>,
    /// What differs on the way to the client
    #[arg(long, value_name = "WORDS", help_heading = PATH)]
    to_client: Option<String>,
    /// Change the path after this time, such as '10s delay=100ms loss=2%', in both directions or, as in '20s to-client
    /// loss=0', in one; what is not said stays. May be repeated
    #[arg(long, value_name = "'T WORDS'", help_heading = PATH)]
    at: Vec<String>,
    /// Random seed: the same seed and the same order of datagrams give the same losses and delays
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = PATH)]
    seed: u64,

    /// UDP clients at the same time; each has a socket of its own towards the server
    #[arg(long, value_name = "N", default_value_t = 16_384, help_heading = BOUNDS)]
    max_clients: usize,
    /// Close the socket of a UDP client that was idle for this time (or up to twice as long)
    #[arg(long, value_name = "T", default_value = "10s", help_heading = BOUNDS)]
    idle: String,
    /// TCP connections at the same time; further ones are closed when accepted
    #[arg(long, value_name = "N", default_value_t = 4_096, help_heading = BOUNDS)]
    max_connections: usize,
    /// Memory for what is on its way; what does not fit is dropped and counted
    #[arg(long, value_name = "BYTES", default_value = "256M", help_heading = BOUNDS)]
    memory: String,

    /// Write the counts of what the relay did to this file at the end, instead of printing them
    #[arg(long, value_name = "FILE", help_heading = "Counts")]
    book: Option<PathBuf>,
    /// Include the histogram buckets of how late datagrams were sent in the counts
    #[arg(long, help_heading = "Counts")]
    buckets: bool,
}

const PATH: &str = "The path (each direction has all of it)";
const BOUNDS: &str = "Bounds";

const EXAMPLES: &str = "\
The counts are printed as JSON at the end, and at each SIGUSR1. What the relay itself lost, or sent late, is said on
standard error. Loss, duplicates and reordering are for UDP: TCP has the delay and the rate.

Examples:
  dnsdyno relay --to 127.0.0.1:53 --delay 10ms --loss 1%
  dnsdyno relay --listen 127.0.0.1:0 --to 192.0.2.53:53 --delay normal:50ms,5ms --keep-order
  dnsdyno relay --to 127.0.0.1:53 --loss 2% --loss-burst 5 --to-client 'loss=0'
  dnsdyno relay --to 127.0.0.1:53 --delay 5ms --at '10s delay=50ms' --at '20s delay=5ms' --for 30s
  dnsdyno relay --to 127.0.0.1:53 --rate-limit 10mbit --queue 50ms --for 60s --book relay.json";

pub(crate) fn relay(flags: &RelayFlags) -> Outcome {
    let length = flags.duration.as_deref().map(|text| duration("--for", text)).transpose()?;
    check_book(flags.book.as_deref())?;
    let options = flags.options()?;
    let changes = flags.changes(&options.path)?;
    // Installed before the relay reports that it listens: it may be stopped right after that.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1]).map_err(Failure::run_failed)?;
    let relay = Relay::start(options.clone()).map_err(|error| match error.is_bad_input() {
        true => Failure::bad_input(error),
        false => Failure::run_failed(error),
    })?;
    flags.print_start(&relay, &options);
    flags.wait(&relay, &mut signals, length, changes).map_err(Failure::run_failed)?;
    let counts = relay.stop();
    for warning in counts.warnings() {
        print_error(&format!("relay: {warning}"));
    }
    write_book(flags.book.as_deref(), &counts.to_json(flags.buckets()))
}

impl RelayFlags {
    fn options(&self) -> Result<RelayOptions, Failure> {
        let both = Way {
            delay: self.delay.clone(),
            keep_order: self.keep_order,
            loss: self.loss,
            loss_burst: self.loss_burst,
            duplicate: self.duplicate,
            reorder: self.reorder,
            rate: self.rate_limit,
            queue: duration("--queue", &self.queue)?,
        };
        let way = |name: &'static str, words: &Option<String>| {
            let way = both.with(words.as_deref().unwrap_or_default());
            way.context(name).map_err(Failure::bad_input)
        };
        let path = Path {
            to_server: way("--to-server", &self.to_server)?,
            to_client: way("--to-client", &self.to_client)?,
            seed: self.seed,
        };
        let memory = parse_size_bytes(&self.memory).context("--memory").map_err(Failure::bad_input)?;
        Ok(RelayOptions {
            listen: self.listen,
            path,
            tcp: !self.no_tcp,
            clients_max: self.max_clients,
            idle: duration("--idle", &self.idle)?,
            connections_max: self.max_connections,
            memory_octets: usize::try_from(memory).unwrap_or(usize::MAX),
            ..RelayOptions::to(self.to)
        })
    }

    /// The first line has the addresses.
    fn print_start(&self, relay: &Relay, options: &RelayOptions) {
        let transports = if self.no_tcp { "UDP" } else { "UDP and TCP" };
        let Path { to_server, to_client, .. } = &options.path;
        let mut said = vec![format!(
            "listening on {} ({transports}), passing on to {}; Ctrl-C to stop",
            relay.address(),
            relay.server()
        )];
        said.extend(wildcard_sentence(&relay.address()));
        said.extend([format!("to the server: {to_server}"), format!("to the client: {to_client}")]);
        said.push(format!("it delays by itself; {}", KernelNetem::look().sentence()));
        if !self.no_tcp && (to_server.spares_streams() || to_client.spares_streams()) {
            said.push(
                "TCP has the delay and the rate only: a byte stream loses nothing and keeps its order".into(),
            );
        }
        if relay.most_per_second() < FEW_PER_SECOND {
            said.push(format!(
                "its memory of {} holds {} short datagrams a second with these delays, and drops more; raise --memory \
                 for more",
                self.memory,
                relay.most_per_second()
            ));
        }
        let (clients, connections) = relay.bounds();
        if (clients, connections) != (options.clients_max, options.connections_max) {
            said.push(format!(
                "the limit of open files allows {clients} UDP clients and {connections} TCP connections only; raise it \
                 (ulimit -n)"
            ));
        }
        said.iter().for_each(|line| print_error(&format!("relay: {line}")));
    }

    /// The path after each change, in the order of their instants, which are times since the start.
    fn changes(&self, path: &Path) -> Result<VecDeque<(Duration, Path)>, Failure> {
        let mut all = Vec::new();
        for text in &self.at {
            let wrong =
                move |error: anyhow::Error| Failure::bad_input(error.context(format!("--at '{text}'")));
            let (at, words) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
            let at = parse_duration_ns(at).map_err(|error| wrong(error.into()))?;
            if words.trim().is_empty() {
                return Err(wrong(anyhow!("say what changes, such as '10s delay=100ms loss=2%'")));
            }
            all.push((Duration::from_nanos(at), words.trim(), wrong));
        }
        all.sort_by_key(|(at, ..)| *at);
        let mut path = path.clone();
        let mut changes = VecDeque::new();
        for (at, words, wrong) in all {
            path = changed(&path, words).map_err(&wrong)?;
            changes.push_back((at, path.clone()));
        }
        Ok(changes)
    }

    /// Waits until the time is over or a signal ends it; prints the counts at SIGUSR1, and makes the changes of the
    /// path.
    fn wait(
        &self,
        relay: &Relay,
        signals: &mut Signals,
        length: Option<Duration>,
        mut changes: VecDeque<(Duration, Path)>,
    ) -> anyhow::Result<()> {
        let began = Instant::now();
        let left = |until: Duration| until.saturating_sub(began.elapsed());
        loop {
            for signal in signals.pending() {
                if signal != SIGUSR1 {
                    return Ok(());
                }
                writeln!(std::io::stdout(), "{:#}", relay.counts().to_json(self.buckets()))?;
            }
            if length.is_some_and(|length| left(length).is_zero()) {
                return Ok(());
            }
            while changes.front().is_some_and(|(at, _)| left(*at).is_zero()) {
                let Some((_, path)) = changes.pop_front() else { break };
                let change = relay.change(&path)?;
                print_error(&format!(
                    "relay: after {:.3} s: to the server: {}; to the client: {}",
                    change.at_ns as f64 * 1e-9,
                    change.to_server,
                    change.to_client
                ));
            }
            let next = changes.front().map(|(at, _)| left(*at));
            let wait = [length.map(left), next].into_iter().flatten().fold(SIGNAL_POLL, Duration::min);
            std::thread::sleep(wait);
        }
    }

    fn buckets(&self) -> Buckets {
        if self.buckets { Buckets::With } else { Buckets::Without }
    }
}

/// The path with what `words` say instead: of both directions, or of that which the first of them names.
fn changed(path: &Path, words: &str) -> anyhow::Result<Path> {
    let (direction, of_one) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let (server, client) = match direction {
        "to-server" => (of_one, ""),
        "to-client" => ("", of_one),
        _ => (words, words),
    };
    let path = Path {
        to_server: path.to_server.with(server)?,
        to_client: path.to_client.with(client)?,
        seed: path.seed,
    };
    path.to_server.validate()?;
    path.to_client.validate()?;
    Ok(path)
}

fn duration(name: &'static str, text: &str) -> Result<Duration, Failure> {
    let duration = parse_duration_ns(text).context(name).map_err(Failure::bad_input)?;
    Ok(Duration::from_nanos(duration))
}

/// What one CPU passes on: a memory for less is worth a word.
const FEW_PER_SECOND: u64 = 400_000;

/// How often signals are checked.
const SIGNAL_POLL: Duration = Duration::from_millis(20);
