//! dnsperf: sends queries as fast as their answers return, and prints how many were answered.

mod draft;
mod intervals;
mod json;
mod settings;
mod statistics;
mod syntax;

use std::fmt::Write;
use std::sync::Arc;

use dnsdyno_plan::TransportKind;
use dnsdyno_queries::SourceError;
use dnsdyno_record::{Digest, Ended};
use dnsdyno_runner::{Control, FinishedRun, RunError, Runner};
use dnsdyno_text::secret::words_without_secrets;
use jiff::Timestamp;

use crate::console::Console;
use crate::dnsperf::draft::{draft, interval_us};
use crate::dnsperf::intervals::Intervals;
use crate::dnsperf::settings::{Input, Settings};
use crate::dnsperf::statistics::{Form, statistics};
use crate::dnsperf::syntax::SYNTAX;
use crate::exit::signal_code;
use crate::figures::{Figures, resumed, statuses};
use crate::make::{Wanted, error_text};
use crate::options::Refusal;
use crate::printer::{Own, Printer, Printing};
use crate::server;
use crate::source_lines::{texts, warning_of};
use crate::texts::{VERSION, ctime, http_statistics, known_statuses, seconds, tls_statistics};

/// Runs it, and returns its exit code.
pub(crate) fn run(
    words: &[String],
    runner: &mut dyn Runner,
    control: &Arc<Control>,
    console: &Arc<Console>,
) -> u8 {
    let mut settings = match SYNTAX.read(words).and_then(|given| Settings::read(&given, console)) {
        Ok(settings) => settings,
        Err(refusal) => return console.refuse(&refusal, &SYNTAX),
    };
    console.print(&match settings.is_json {
        true => json::start(words, &settings),
        false => format!("{}{}", banner(), status(words, &settings)),
    });
    settings.reduce(console);
    match measure(&settings, runner, control, console) {
        Ok(code) => code,
        Err(refusal) => console.refuse(&refusal, &SYNTAX),
    }
}

fn measure(
    settings: &Settings,
    runner: &mut dyn Runner,
    control: &Arc<Control>,
    console: &Arc<Console>,
) -> Result<u8, Refusal> {
    let mode = settings.network.mode;
    settings.addresses.check(mode, settings.clients)?;
    if settings.addresses.local_port > 0 && mode.connects() {
        console.tell("dnsdyno: -x is for UDP: the system chooses the ports of connections\n");
    }
    console.flush();
    let wanted =
        Wanted { draft: draft(settings), is_recorded: settings.is_recorded, runner, control, console };
    let run = match make(settings, wanted, console) {
        Ok(run) => run,
        Err(RunError::Source(SourceError::Empty { .. })) => {
            return Err(Refusal::Fatal("input file contains no data".into()));
        }
        // Nothing is sent of a file that ends within a message.
        Err(RunError::Source(error @ SourceError::CutShort { .. })) => {
            console.tell(&format!("dnsdyno: {error}\n"));
            return Err(Refusal::Fatal("input file contains no data".into()));
        }
        // All lines were read, and none is sent: the end of the file, without a run.
        Err(RunError::Source(SourceError::NoGoodLine { first_bad, .. })) => {
            first_bad.iter().for_each(|bad| console.warning(&warning_of(bad)));
            print_end(settings, "end of file", &Figures::default(), 0, console);
            return Ok(0);
        }
        Err(error) => return Err(Refusal::Fatal(error_text(&error))),
    };
    if let Some(Ended::Failed { why }) = run.digest.ended() {
        return Err(Refusal::Fatal(why.clone()));
    }
    let digest = &run.digest;
    print_end(settings, reason(digest), &Figures::of(digest), run_us(digest), console);
    print_encryption(settings, digest, console);
    Ok(signal_code(digest))
}

/// Prints why the run has ended, and its statistics.
fn print_end(settings: &Settings, reason: &str, figures: &Figures, run_us: u64, console: &Console) {
    let form = form(settings);
    if settings.is_json {
        console.print(&json::stop(reason));
        console.print(&json::statistics(figures, run_us, form));
    } else {
        console.print(&format!("[Status] Testing complete ({reason})\n\n"));
        console.print(&statistics(figures, run_us, form));
    }
}

/// Prints what else is counted over TLS and HTTPS.
fn print_encryption(settings: &Settings, digest: &Digest, console: &Console) {
    let resumed = settings.network.resumes_sessions.then(|| resumed(digest));
    let statuses = statuses(digest);
    match (settings.network.mode, resumed, settings.is_json) {
        (TransportKind::Doh, resumed, false) => console.print(&http_statistics(&statuses, resumed)),
        (TransportKind::Doh, resumed, true) => {
            console.print(&json::https(&known_statuses(&statuses), resumed));
        }
        (TransportKind::Dot, Some(resumed), false) => console.print(&tls_statistics(resumed)),
        (TransportKind::Dot, Some(resumed), true) => console.print(&json::tls(resumed)),
        _ => {}
    }
}

/// The form of the statistics of the whole run.
fn form(settings: &Settings) -> Form {
    Form { units: settings.input.units(), has_histogram: settings.has_histogram, interval_us: None }
}

/// Makes the run, and prints what it prints meanwhile.
fn make(
    settings: &Settings,
    mut wanted: Wanted<'_>,
    console: &Arc<Console>,
) -> Result<FinishedRun, RunError> {
    let plans = wanted.plans()?;
    let interval_us = interval_us(settings);
    let details = Form { interval_us, ..form(settings) };
    let details = (interval_us.is_some() && settings.has_interval_details).then_some(details);
    let mut intervals = Intervals::new(console, interval_us, details, settings);
    let printer = Printer::start(printing(settings), console);
    let printer = printer.map_err(|error| RunError::Observer(Box::new(error)))?;
    let logs = {
        let counts = intervals.counting();
        let printer = &printer;
        move |_| counts.around(printer.log())
    };
    let run = wanted.make(&plans, &mut intervals, Some(&logs));
    drop(logs);
    printer.finish();
    run
}

/// What is printed of single queries.
fn printing(settings: &Settings) -> Printing {
    // The same file again: standard input where it is one, too.
    let file = settings.messages.file.as_deref().unwrap_or("/dev/stdin");
    let is_file = std::fs::metadata(file).is_ok_and(|metadata| metadata.is_file());
    let is_read = settings.is_verbose && settings.input == Input::Text && is_file;
    let texts = if is_read { texts(file).unwrap_or_default() } else { Vec::new() };
    Printing {
        is_verbose: settings.is_verbose,
        suppress: settings.network.suppress,
        unit: if settings.input == Input::Updates { "Update" } else { "Query" },
        texts: texts.into(),
        own: match settings.input {
            Input::Text => Own::Question,
            Input::Updates => Own::Zone,
            Input::Binary => Own::Nothing,
        },
    }
}

/// The lines before the run.
fn status(words: &[String], settings: &Settings) -> String {
    let words = words_without_secrets(words);
    let line: String = words.iter().skip(1).flat_map(|word| [" ", word.as_str()]).collect();
    let units = if settings.input == Input::Updates { "updates" } else { "queries" };
    let mut stop = String::new();
    if settings.time_limit_us > 0 {
        stop = format!("{} seconds", seconds(settings.time_limit_us));
    }
    if settings.passes > 0 {
        let or = if stop.is_empty() { "" } else { " or " };
        let plural = if settings.passes == 1 { "" } else { "s" };
        let _ = write!(stop, "{or}{} run{plural} through file", settings.passes);
    }
    format!(
        "[Status] Command line: dnsperf{line}\n\
         [Status] Sending {units} (to {})\n\
         [Status] Started at: {}\n\
         [Status] Stopping after {stop}\n",
        server::shown(settings.addresses.server),
        ctime(Timestamp::now()),
    )
}

fn reason(digest: &Digest) -> &'static str {
    match digest.ended() {
        Some(Ended::Interrupted | Ended::Terminated | Ended::HungUp) => "interruption",
        Some(Ended::ByPasses) => "end of file",
        _ => "time limit",
    }
}

/// From the first query to the last answer, or to the end of sending where that is later.
fn run_us(digest: &Digest) -> u64 {
    let last_answer_ns = digest.sum.as_ref().and_then(|sum| sum.last_answer_ns).unwrap_or(0);
    digest.schedule_ns().max(last_answer_ns) / 1_000
}

/// The first lines.
fn banner() -> String {
    format!("DNS Performance Testing Tool\nVersion {VERSION}\n\n")
}
