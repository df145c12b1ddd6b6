//! `dnsdyno capture`: says what is in captures of DNS traffic, and cuts, filters, merges and converts them.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use dnsdyno_capture::{
    CaptureFile, CaptureReader, DnstapKind, Merge, MessageWriter, OutputFormat, Prefix, Protocol,
    ReadSettings, Selection, When, contents_of, copy,
};
use dnsdyno_report::{capture_text, nothing_written_text, written_text};
use dnsdyno_text::notation::{parse_duration_ns, parse_percent};
use dnsdyno_text::units::{count, counted};
use serde_json::Value;

use crate::exit::{Failure, OK, Outcome};
use crate::message::print_error;
use crate::screen::width_of_terminal;
use crate::signals::clean_up_at_signals;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CaptureFlags {
    #[command(subcommand)]
    command: CaptureCommand,
}

#[derive(Debug, Subcommand)]
enum CaptureCommand {
    /// Say what is in captures: rate over time, clients, types, RCODEs, EDNS, latency
    #[command(after_help = EXAMPLES)]
    Show(ShowFlags),
    /// Write a part of captures: by time, by client, by server; merged by time, in another format
    #[command(after_help = EXAMPLES)]
    Filter(FilterFlags),
}

#[derive(Debug, Args)]
struct ShowFlags {
    #[command(flatten)]
    read: ReadFlags,
    #[command(flatten)]
    select: SelectFlags,
    /// Print one JSON object, with the rate of all parts of the time
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct FilterFlags {
    #[command(flatten)]
    read: ReadFlags,
    #[command(flatten)]
    select: SelectFlags,
    /// The file to write, compressed if its name ends with .gz, .zst or .xz; - is standard output
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// The format [default: by the name of the file]
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    format: Option<OutputFormat>,
    /// Move all instants, so that the first message has this one: such as 2026-01-01T00:00:00Z or @0
    #[arg(long, value_name = "INSTANT", value_parser = parse_instant)]
    start: Option<u64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
struct ReadFlags {
    /// Captures: pcap, pcapng or dnstap, also compressed with gzip, zstd or xz; - is standard input. Several are merged
    /// by time
    #[arg(required = true, value_name = "FILE")]
    captures: Vec<PathBuf>,
    /// A port of DNS over UDP and TCP; may be repeated [default: 53]
    #[arg(long, value_name = "PORT")]
    port: Vec<u16>,
    /// Of dnstap: only messages of this kind; may be repeated [default: all]
    #[arg(long, value_name = "KIND", value_parser = kind_parser())]
    kind: Vec<DnstapKind>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Selection")]
struct SelectFlags {
    /// From this instant on: a time after the first message, such as 10s, or an instant, such as
    /// 2026-01-01T12:00:00Z or @1767268800
    #[arg(long, value_name = "TIME", value_parser = parse_when)]
    from: Option<When>,
    /// Until before this instant
    #[arg(long, value_name = "TIME", value_parser = parse_when)]
    to: Option<When>,
    /// Keep this share of the clients, such as 10%, each with all its queries and responses
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    clients: Option<f64>,
    /// Choose other clients for --clients
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
    /// Only clients of this address or prefix; may be repeated
    #[arg(long, value_name = "PREFIX")]
    client: Vec<Prefix>,
    /// Only servers of this address or prefix; may be repeated
    #[arg(long, value_name = "PREFIX")]
    server: Vec<Prefix>,
    /// Only this transport; may be repeated
    #[arg(long, value_name = "TRANSPORT", value_parser = transport_parser())]
    transport: Vec<Protocol>,
    /// No responses
    #[arg(long)]
    queries_only: bool,
}

pub(crate) fn capture(flags: &CaptureFlags) -> Outcome {
    match &flags.command {
        CaptureCommand::Show(flags) => show(flags),
        CaptureCommand::Filter(flags) => filter(flags),
    }
}

fn show(flags: &ShowFlags) -> Outcome {
    let mut captures = open(&flags.read)?;
    let contents = contents_of(&mut captures, &selection(&flags.select));
    let mut out = std::io::stdout().lock();
    if flags.json {
        let mut value = serde_json::to_value(&contents).map_err(Failure::run_failed)?;
        if let Value::Object(fields) = &mut value {
            let names = flags.read.captures.iter().map(|path| path.display().to_string().into());
            fields.insert("captures".to_owned(), Value::Array(names.collect()));
        }
        writeln!(out, "{value}").map_err(Failure::run_failed)?;
    } else {
        let text = capture_text(&contents, width_of_terminal());
        out.write_all(text.as_bytes()).map_err(Failure::run_failed)?;
    }
    read_to_the_end(captures)
}

fn filter(flags: &FilterFlags) -> Outcome {
    let (by_name, compression) = OutputFormat::of_file(&flags.out);
    let format = flags.format.or(by_name).ok_or_else(|| unknown_format(&flags.out))?;
    if let Some(input) = flags.read.captures.iter().find(|input| is_same_file(input, &flags.out)) {
        let error = anyhow!("{} is both read and written: name another file with -o", input.display());
        return Err(Failure::bad_input(error));
    }
    let mut captures = open(&flags.read)?;
    let out = if flags.out.as_os_str() == "-" {
        CaptureFile::to(Box::new(std::io::stdout()), "standard output", None)
    } else {
        CaptureFile::create(&flags.out, compression)
    };
    let out = out.map_err(Failure::run_failed)?;
    if let Some(unfinished) = out.unfinished() {
        let message =
            format!("dnsdyno: ended before {} was complete: nothing was written", flags.out.display());
        clean_up_at_signals(unfinished.to_owned(), message).map_err(Failure::run_failed)?;
    }
    let failed = |source| {
        Failure::run_failed(
            anyhow::Error::new(source).context(format!("cannot write {}", flags.out.display())),
        )
    };
    let mut writer = MessageWriter::new(format, out).map_err(failed)?;
    copy(&mut captures, &selection(&flags.select), flags.start, &mut writer).map_err(failed)?;
    let written = *writer.counts();
    let read = captures.counts().messages;
    if written.messages == 0 && captures.errors().is_empty() {
        return Err(Failure::bad_input(anyhow!(nothing_written_text(read, &written))));
    }
    let (out, _) = writer.finish().map_err(failed)?;
    out.finish().map_err(Failure::run_failed)?;
    let of = counted(read, "message", "messages");
    print_error(&format!("dnsdyno: wrote {} of {of} to {}", count(written.messages), flags.out.display()));
    written_text(&written).iter().for_each(|line| print_error(&format!("dnsdyno: {line}")));
    read_to_the_end(captures)
}

/// The captures, as one.
fn open(flags: &ReadFlags) -> Result<Merge, Failure> {
    let mut settings = ReadSettings { kinds: flags.kind.clone(), ..ReadSettings::default() };
    if !flags.port.is_empty() {
        settings.ports.clone_from(&flags.port);
    }
    let is_standard_input = |path: &&PathBuf| path.as_os_str() == "-";
    if flags.captures.iter().filter(is_standard_input).count() > 1 {
        return Err(Failure::bad_input(anyhow!("standard input can be read once only: give - once")));
    }
    let reader = |path: &PathBuf| match path.as_os_str() == "-" {
        true => CaptureReader::from_reader_with(Box::new(std::io::stdin()), "standard input", &settings),
        false => CaptureReader::open_with(path, &settings),
    };
    let readers = flags.captures.iter().map(reader).collect::<Result<_, _>>();
    readers.map(Merge::new).map_err(Failure::bad_input)
}

fn selection(flags: &SelectFlags) -> Selection {
    Selection {
        from: flags.from,
        to: flags.to,
        share_of_clients: flags.clients,
        seed: flags.seed,
        clients: flags.client.clone(),
        servers: flags.server.clone(),
        protocols: flags.transport.clone(),
        queries_only: flags.queries_only,
    }
}

/// An error of a capture that could not be read further: what is before it was used.
fn read_to_the_end(captures: Merge) -> Outcome {
    let mut errors = captures.into_errors().into_iter();
    let Some(first) = errors.next() else { return Ok(OK) };
    errors.for_each(|error| print_error(&format!("dnsdyno: {error}")));
    Err(Failure::bad_input(first))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok().filter(|path| path.is_file());
    canonical(one).is_some_and(|one| canonical(other) == Some(one))
}

fn unknown_format(out: &Path) -> Failure {
    let words: Vec<&str> = OutputFormat::ALL.iter().map(|format| format.word()).collect();
    Failure::bad_input(anyhow!(
        "the name {} does not say a format: end it with .pcap, .pcapng, .dnstap, .txt or .bin, or add --format {}",
        out.display(),
        words.join("|")
    ))
}

/// A time after the first message, or an instant.
fn parse_when(text: &str) -> Result<When, String> {
    if let Ok(ns) = parse_duration_ns(text) {
        return Ok(When::After(ns));
    }
    parse_instant(text).map(When::At).map_err(|_| {
        "write a time after the first message, such as 10s, or an instant, such as 2026-01-01T12:00:00Z or @1767268800"
            .to_owned()
    })
}

/// An instant in nanoseconds since 1970.
fn parse_instant(text: &str) -> Result<u64, String> {
    let unix_ns = match text.strip_prefix('@') {
        Some(seconds) => unix_ns(seconds),
        None => text.parse::<jiff::Timestamp>().ok().and_then(|at| u64::try_from(at.as_nanosecond()).ok()),
    };
    unix_ns.ok_or_else(|| {
        "write an instant, such as 2026-01-01T12:00:00Z, or the seconds since 1970 as @1767268800".to_owned()
    })
}

/// Nanoseconds from seconds with up to nine decimals. A float holds no instant to the nanosecond.
fn unix_ns(seconds: &str) -> Option<u64> {
    let (whole, decimals) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > 9 {
        return None;
    }
    let decimals: u64 = format!("{decimals:0<9}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(decimals)
}

fn parse_share(text: &str) -> Result<f64, String> {
    let share = parse_percent(text).ok().filter(|share| (0.0..=1.0).contains(share) && *share > 0.0);
    share.ok_or_else(|| "write a share of the clients up to 100%, such as 10%".to_owned())
}

fn format_parser() -> impl TypedValueParser<Value = OutputFormat> {
    let values = OutputFormat::ALL.map(|format| PossibleValue::new(format.word()).help(format.about()));
    PossibleValuesParser::new(values)
        .try_map(|word| OutputFormat::named(&word).ok_or_else(|| format!("there is no format {word}")))
}

fn kind_parser() -> impl TypedValueParser<Value = DnstapKind> {
    PossibleValuesParser::new(DnstapKind::ALL.map(DnstapKind::word)).try_map(|word| {
        let kind = DnstapKind::ALL.into_iter().find(|kind| kind.word() == word);
        kind.ok_or_else(|| format!("there is no kind {word}"))
    })
}

fn transport_parser() -> impl TypedValueParser<Value = Protocol> {
    PossibleValuesParser::new(Protocol::ALL.map(Protocol::word)).try_map(|word| {
        let protocol = Protocol::ALL.into_iter().find(|protocol| protocol.word() == word);
        protocol.ok_or_else(|| format!("there is no transport {word}"))
    })
}

const EXAMPLES: &str = "\
Examples:
  dnsdyno capture show traffic.pcap.zst
  dnsdyno capture filter monday.pcap tuesday.pcap -o both.pcapng.zst
  dnsdyno capture filter traffic.pcap --clients 10% --server 192.0.2.53 -o tenth.pcap
  dnsdyno capture filter traffic.pcap --from 60s --to 120s --queries-only -o minute.txt
  tcpdump -i eth0 -U -w - port 53 | dnsdyno capture filter - --format dnstap -o traffic.dnstap.gz

Exit codes: 0 done, 2 a capture cannot be read to its end (what is before is shown or written) or nothing is
selected, 3 the output cannot be written.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative_or_instants() {
        assert_eq!(parse_when("10s"), Ok(When::After(10_000_000_000)));
        assert_eq!(parse_when("@1767268800"), Ok(When::At(1_767_268_800_000_000_000)));
        assert_eq!(parse_when("@1767268800.25"), Ok(When::At(1_767_268_800_250_000_000)));
        assert_eq!(parse_when("2026-01-01T12:00:00Z"), Ok(When::At(1_767_268_800_000_000_000)));
        assert_eq!(parse_when("2026-01-01T13:00:00.5+01:00"), Ok(When::At(1_767_268_800_500_000_000)));
        for wrong in ["", "soon", "@", "@5h", "@-1", "1950-01-01T00:00:00Z", "2026-01-01"] {
            assert!(parse_when(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_share_of_the_clients_is_a_percentage() {
        assert_eq!(parse_share("10%"), Ok(0.1));
        for wrong in ["0%", "101%", "0.1", "-5%", "NaN%"] {
            assert!(parse_share(wrong).is_err(), "{wrong}");
        }
    }
}
