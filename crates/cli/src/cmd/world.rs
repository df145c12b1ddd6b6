//! `dnsdyno world`: the Internet in a box, for resolvers: a hierarchy of zones with its name servers, their distances
//! and their faults.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Args, Subcommand};
use dnsdyno_text::notation::parse_duration_ns;
use dnsdyno_text::units::{count, counted};
use dnsdyno_world::{Faults, ServeOptions, Serving, Shares, World, WorldError, WorldOptions, parse_share};
use dnsdyno_zones::Folder;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::cmd::respond::{check_book, write_book};
use crate::exit::{Failure, OK, Outcome};
use crate::message::print_error;

#[derive(Debug, Args)]
#[command(after_help = after_help(), args_conflicts_with_subcommands = true)]
pub(crate) struct WorldFlags {
    #[command(subcommand)]
    command: Option<WorldCommand>,
    #[command(flatten)]
    options: WorldOptions,

    /// Port of all name servers, for UDP and TCP; 0 chooses a free one
    #[arg(long, value_name = "PORT", default_value_t = 53)]
    port: u16,
    /// UDP sockets and threads
    #[arg(short = 'T', long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// End after this time, such as 30s [default: at Ctrl-C]
    #[arg(long = "for", value_name = "T")]
    duration: Option<String>,
    /// Write the hints of the root for a resolver to this file, once it is served
    #[arg(long, value_name = "FILE")]
    hints: Option<PathBuf>,
    /// With --signed: write the trust anchor, the DS and DNSKEY records of the root, to this file before serving
    #[arg(long, value_name = "FILE", requires = "signed")]
    anchor: Option<PathBuf>,
    /// Write the book to this file at the end, instead of printing it
    #[arg(long, value_name = "FILE")]
    book: Option<PathBuf>,
    /// Offer the sums of the book at this local socket while serving, for --watch world=SOCKET of a run
    #[arg(long, value_name = "SOCKET")]
    counters: Option<PathBuf>,
    /// With --capture: write to this file what of its answers is kept, and why not the others, as JSON; it is also told
    /// on standard error
    #[arg(long, value_name = "FILE", requires = "capture")]
    report: Option<PathBuf>,
    /// Do not serve: write the zones to this folder as zone files, with a configuration for Knot DNS; for small worlds
    #[arg(long, value_name = "FOLDER")]
    #[arg(conflicts_with_all = ["port", "threads", "duration", "book", "hints", "counters"])]
    write: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum WorldCommand {
    /// Print the truth about names: the delegations with all servers, and what is there
    Explain(ExplainFlags),
    /// Print questions for a resolver, as a query file: names drawn from the world, most of which are there
    Questions(QuestionFlags),
}

#[derive(Debug, Args)]
struct ExplainFlags {
    /// Names
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Print JSON, an array with an object for each name
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: WorldOptions,
}

#[derive(Debug, Args)]
struct QuestionFlags {
    /// How many
    #[arg(value_name = "N", value_parser = crate::cmd::data::number)]
    number: u32,
    /// Of the questions, this share repeats one of the first --warm questions of the world, such as 90%; each other one
    /// is new
    #[arg(long, value_name = "SHARE", requires = "warm", value_parser = parse_share)]
    hit: Option<f64>,
    /// With --hit: how many questions are asked before, those of `world questions N`
    #[arg(long, value_name = "N", requires = "hit", value_parser = crate::cmd::data::number)]
    warm: Option<u32>,
    #[command(flatten)]
    options: WorldOptions,
}

pub(crate) fn world(flags: &WorldFlags) -> Outcome {
    match &flags.command {
        Some(WorldCommand::Explain(flags)) => explain(flags),
        Some(WorldCommand::Questions(flags)) => questions(flags),
        None => match &flags.write {
            Some(folder) => write(flags, folder),
            None => serve(flags),
        },
    }
}

fn explain(flags: &ExplainFlags) -> Outcome {
    let world = World::new(&flags.options).map_err(failure)?;
    let explained = flags.names.iter().map(|name| world.explain(name)).collect::<Result<Vec<_>, _>>();
    let explained = explained.map_err(failure)?;
    let text = match flags.json {
        true => serde_json::to_string_pretty(&explained).map_err(Failure::run_failed)? + "\n",
        false => explained.iter().map(|explanation| explanation.to_text()).collect::<Vec<_>>().join("\n"),
    };
    std::io::stdout().write_all(text.as_bytes()).map_err(Failure::run_failed)?;
    Ok(OK)
}

fn questions(flags: &QuestionFlags) -> Outcome {
    let world = World::new(&flags.options).map_err(failure)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut repeating = flags.hit.zip(flags.warm).map(|(hit, warm)| world.repeating(hit, warm.into()));
    for number in 0..u64::from(flags.number) {
        let question = match &mut repeating {
            Some(repeating) => repeating.next_question().with_context(|| {
                format!("the world has no more new questions than those of the first {number} lines: take more --zones")
            }),
            None => Ok(world.question(number)),
        };
        writeln!(out, "{}", question.map_err(Failure::bad_input)?).map_err(Failure::run_failed)?;
    }
    out.flush().map_err(Failure::run_failed)?;
    Ok(OK)
}

fn write(flags: &WorldFlags, folder: &Path) -> Outcome {
    let world = World::new(&flags.options).map_err(failure)?;
    report(flags, &world)?;
    let folder = Folder::make(folder).map_err(|error| failure(error.into()))?;
    let written = world.write(folder).map_err(failure)?;
    write_anchor(flags, &world)?;
    let path = std::path::absolute(&written.folder).unwrap_or_else(|_| written.folder.clone());
    let text = format!(
        "{} with {} in all\nload:  Knot DNS  include: \"{}\"\n",
        counted(written.zones, "zone", "zones"),
        counted(written.records, "record", "records"),
        path.join("knot.conf").display()
    );
    std::io::stdout().write_all(text.as_bytes()).map_err(Failure::run_failed)?;
    Ok(OK)
}

fn serve(flags: &WorldFlags) -> Outcome {
    let length = flags.duration.as_deref().map(parse_duration_ns).transpose();
    let length = length.context("--for").map_err(Failure::bad_input)?.map(Duration::from_nanos);
    check_book(flags.book.as_deref())?;
    let world = World::new(&flags.options).map_err(failure)?;
    if world.other_types() > 0 {
        let lines = counted(world.other_types(), "line", "lines");
        print_error(&format!(
            "world: {lines} of the list have a type that is not made; their names have addresses"
        ));
    }
    report(flags, &world)?;
    write_anchor(flags, &world)?;
    // Installed before the world reports that it is served: it may be stopped right after that.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1]).map_err(Failure::run_failed)?;
    let servers = count(world.server_count().into());
    let options = ServeOptions { port: flags.port, threads: flags.threads };
    let mut serving = Serving::start(world, options).map_err(failure)?;
    if let Some(path) = &flags.counters {
        serving.offer_counters(path).map_err(failure)?;
    }
    if let Some(path) = &flags.hints {
        write_file(path, &serving.world().root_hints())?;
    }
    let prefix = flags.options.prefix;
    for prefix in [Some(flags.options.prefix), flags.options.prefix6].into_iter().flatten() {
        if !prefix.is_local() {
            print_error(&format!(
                "world: no query reaches the name servers: {prefix} is not local here; type `ip route add local \
                 {prefix} dev lo`, in a network namespace of the resolver (see `ip netns`)"
            ));
        }
    }
    print_error(&format!(
        "world: {servers} name servers in {prefix}, port {}, UDP and TCP; Ctrl-C to stop",
        serving.port()
    ));
    wait(&serving, &mut signals, length).map_err(Failure::run_failed)?;
    let (book, json) = serving.stop();
    for warning in book.warnings() {
        print_error(&format!("world: {warning}"));
    }
    write_book(flags.book.as_deref(), &json)
}

/// Waits until the time is over or a signal ends it; prints the book at SIGUSR1.
fn wait(serving: &Serving, signals: &mut Signals, length: Option<Duration>) -> anyhow::Result<()> {
    let end = length.map(|length| Instant::now() + length);
    loop {
        for signal in signals.pending() {
            if signal != SIGUSR1 {
                return Ok(());
            }
            writeln!(std::io::stdout(), "{:#}", serving.book_json(&serving.book()))?;
        }
        let left = end.map_or(SIGNAL_POLL, |end| end.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(SIGNAL_POLL));
    }
}

/// Tells what of the answers of a capture is kept.
fn report(flags: &WorldFlags, world: &World) -> Result<(), Failure> {
    let Some(report) = world.capture_report().map_err(failure)? else { return Ok(()) };
    print_error(&format!("world: {}", report.to_text()));
    let Some(path) = &flags.report else { return Ok(()) };
    let json = serde_json::to_string_pretty(&report).map_err(Failure::run_failed)?;
    write_file(path, &(json + "\n"))
}

fn write_anchor(flags: &WorldFlags, world: &World) -> Result<(), Failure> {
    let Some(path) = &flags.anchor else { return Ok(()) };
    let anchor = world.trust_anchor().context("--anchor: with --signed=0% nothing is signed");
    write_file(path, &anchor.map_err(Failure::bad_input)?)
}

fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    let written = std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()));
    written.map_err(Failure::run_failed)
}

fn failure(error: WorldError) -> Failure {
    match error.is_bad_input() {
        true => Failure::bad_input(error),
        false => Failure::run_failed(error),
    }
}

/// How often signals are checked.
const SIGNAL_POLL: Duration = Duration::from_millis(20);

fn after_help() -> String {
    format!(
        "Shares (--share), with their defaults:\n{}\nFaults (--fault):\n{}\n{EXAMPLES}",
        Shares::help(),
        Faults::help()
    )
}

const EXAMPLES: &str = "\
Serve in a network namespace of its own, in which the whole prefix is local; the resolver runs there, too, and nothing
leaves the host:
  ip netns add box
  ip -n box link set lo up
  ip -n box route add local 10.64.0.0/10 dev lo
  ip netns exec box dnsdyno world --zones 1M --signed --hints root.hints --anchor root.key --book book.json

Examples:
  dnsdyno world --zones 100k --fault lame=1%,silent=0.5%,no-edns=2% --loss 0.1%
  dnsdyno world --list names.txt --rtt near=100%:10ms:0.3
  dnsdyno world questions 10k --zones 1M > questions.txt
  dnsdyno world questions 2k --zones 1M > warm.txt
  dnsdyno world questions 100k --hit 90% --warm 2k --zones 1M > 90-percent-hits.txt
  dnsdyno world explain www.bafiza.com --zones 1M
  dnsdyno world --capture clients.pcap --report kept.json --rtt none
  dnsdyno world --zones 100 --tlds 5 --signed --write zones

The same options make the same world: give explain and questions those of the world that is served. The book says what
each name server was asked and how it answered; SIGUSR1 prints it. Zones with more than 2,000 names are answered with
proofs that cover no more than the question. Keys and signatures protect nothing: the seed gives them all.

Exit codes: 0 done, 2 the flags cannot be used or the folder is not empty, 3 it cannot be served or written.";
