//! resperf: sends queries at a rate that rises until the server, or this host, cannot keep up.

mod plot;
mod progress;
mod settings;
mod statistics;
mod syntax;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use dnsdyno_plan::TransportKind;
use dnsdyno_queries::SourceError;
use dnsdyno_record::{Digest, Ended};
use dnsdyno_runner::{Control, FinishedRun, RunError, Runner};
use dnsdyno_text::secret::words_without_secrets;
use dnsdyno_text::shown;

use crate::console::Console;
use crate::exit::signal_code;
use crate::figures::statuses;
use crate::make::{Wanted, error_text};
use crate::options::Refusal;
use crate::printer::{Printer, Printing};
use crate::resperf::progress::Progress;
use crate::resperf::settings::Settings;
use crate::resperf::statistics::statistics;
use crate::resperf::syntax::SYNTAX;
use crate::server::system_text;
use crate::texts::{VERSION, http_statistics};
use crate::values::Value;

/// Runs it, and returns its exit code.
pub(crate) fn run(
    words: &[String],
    runner: &mut dyn Runner,
    control: &Arc<Control>,
    console: &Arc<Console>,
) -> u8 {
    make(words, runner, control, console).code
}

/// What has become of a command line.
pub(crate) struct Made {
    pub(crate) code: u8,
    /// The folder of the record.
    pub(crate) folder: Option<PathBuf>,
}

/// The plot file that a command line names.
pub(crate) fn plot_file(words: &[String]) -> Option<String> {
    SYNTAX.read(words).ok()?.get('P').and_then(Value::text).map(str::to_owned)
}

/// Runs a command line.
pub(crate) fn make(
    words: &[String],
    runner: &mut dyn Runner,
    control: &Arc<Control>,
    console: &Arc<Console>,
) -> Made {
    console.print(&format!("DNS Resolution Performance Testing Tool\nVersion {VERSION}\n\n"));
    let settings = SYNTAX.read(words).and_then(|given| {
        if given.has('W') {
            console.log_to_out();
        }
        Settings::read(&given)
    });
    let measured = settings.and_then(|settings| measure(words, &settings, runner, control, console));
    measured.unwrap_or_else(|refusal| Made { code: console.refuse(&refusal, &SYNTAX), folder: None })
}

fn measure(
    words: &[String],
    settings: &Settings,
    runner: &mut dyn Runner,
    control: &Arc<Control>,
    console: &Arc<Console>,
) -> Result<Made, Refusal> {
    settings.addresses.check(settings.network.mode, settings.clients)?;
    let words = words_without_secrets(words);
    let line: String = words.iter().skip(1).flat_map(|word| [" ", word.as_str()]).collect();
    console.print(&format!("[Status] Command line: resperf{line}\n[Status] Sending\n"));
    console.flush();
    let mut progress = Progress::new(settings, console, control);
    let run = match run_of(settings, &mut progress, runner, control, console) {
        Ok(run) => run,
        // Read again and again, a file without queries is another mistake than one that is read once.
        Err(RunError::Source(SourceError::Empty { .. })) if settings.draft.passes.is_none() => {
            return fatal("input file contains no data");
        }
        Err(RunError::Source(SourceError::Empty { .. } | SourceError::OnlyBadLines { .. })) => {
            return fatal(NO_MORE);
        }
        Err(error) => return fatal(&error_text(&error)),
    };
    match run.digest.ended() {
        Some(Ended::Failed { why }) => return fatal(why),
        Some(Ended::ByPasses) if settings.load.queries() > run.digest.tally().scheduled => {
            return fatal(NO_MORE);
        }
        _ => {}
    }
    progress.finish();
    let code = report(settings, &progress, &run.digest, console)?;
    Ok(Made { code, folder: run.folder })
}

/// Makes the run, and prints what it prints meanwhile.
fn run_of(
    settings: &Settings,
    progress: &mut Progress<'_>,
    runner: &mut dyn Runner,
    control: &Arc<Control>,
    console: &Arc<Console>,
) -> Result<FinishedRun, RunError> {
    let (draft, is_recorded) = (settings.draft.clone(), settings.is_recorded);
    let mut wanted = Wanted { draft, is_recorded, runner, control, console };
    let plans = wanted.plans()?;
    let printing = Printing::of_responses(settings.network.suppress);
    let printer = Printer::start(printing, console).map_err(|error| RunError::Observer(Box::new(error)))?;
    let run = wanted.make(&plans, progress, Some(&|_| printer.log()));
    printer.finish();
    run
}

/// Writes the plot and prints the statistics. The statistics do not depend on whether the plot can be written.
fn report(
    settings: &Settings,
    progress: &Progress<'_>,
    digest: &Digest,
    console: &Console,
) -> Result<u8, Refusal> {
    let written = fs::write(&settings.plot_file, progress.plot.file(&settings.load));
    let highest = progress.plot.highest(settings.max_loss_percent);
    console.print(&statistics(digest, progress.load_ns(), highest));
    if settings.network.mode == TransportKind::Doh {
        console.print(&http_statistics(&statuses(digest), None));
    }
    if let Err(error) = written {
        let name = settings.plot_file.display().to_string();
        return fatal(&format!("could not open {}: {}", shown(&name, LONGEST_PATH), system_text(&error)));
    }
    Ok(signal_code(digest))
}

fn fatal<T>(text: &str) -> Result<T, Refusal> {
    Err(Refusal::Fatal(text.to_owned()))
}

/// The file has fewer queries than were due.
const NO_MORE: &str = "ran out of query data";

/// Characters of a path in a message.
const LONGEST_PATH: usize = 4_096;
