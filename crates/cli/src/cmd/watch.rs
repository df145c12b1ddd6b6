//! `dnsdyno watch`: what is watched, without a load.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use dnsdyno_plan::Draft;
use dnsdyno_record::Ended;
use dnsdyno_runner::{Control, Keep, WatchRunner, validate_watch};
use dnsdyno_screen::{WatchForm, WatchProgram, WatchScreen};
use dnsdyno_text::secret::Masked;

use crate::exit::{Failure, HUNG_UP, INTERRUPTED, OK, Outcome, RECORD_INCOMPLETE, TERMINATED};
use crate::message::{LONGEST_PATH, print_error};
use crate::screen::progress;
use crate::signals;

/// Sends nothing: it reads the counters of kernels, processes and servers, every second, and shows those that move.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WatchFlags {
    /// What to watch: auto; host or host=PID; process or process=PID; the statistics of a server, such as
    /// bind=URL (also unbound, nsd, knot, knot-resolver, pdns, dnsdist, mariadb, world, openmetrics); or ssh://HOST
    /// [default: auto]
    #[arg(value_name = "WHAT")]
    pub(crate) watch: Vec<Masked>,
    /// The server whose process and statistics are looked for; nothing is sent to it
    #[arg(short, long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// End after this time, such as 30s [default: with Ctrl-C]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// How often is read [default: 1s]
    #[arg(long, value_name = "TIME")]
    pub(crate) interval: Option<String>,
    /// Keep a record in this folder, as of a run
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// A name for the record
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// A comment on it
    #[arg(long)]
    pub(crate) note: Option<String>,
    /// Print lines on a terminal too
    #[arg(long)]
    pub(crate) plain: bool,
    /// Print nothing: for a record
    #[arg(long, conflicts_with = "plain", requires = "out")]
    pub(crate) quiet: bool,
    /// Print a JSON object for each interval
    #[arg(long, conflicts_with_all = ["plain", "quiet"])]
    pub(crate) json: bool,
}

pub(crate) fn watch(flags: WatchFlags) -> Outcome {
    let draft = Draft {
        server: flags.server,
        watch: Some(flags.watch).filter(|watch| !watch.is_empty()),
        duration: flags.duration,
        interval: flags.interval,
        name: flags.name,
        note: flags.note,
        ..Draft::default()
    };
    let plan = validate_watch(&draft)?;
    let control = Arc::new(Control::default());
    let program = WatchProgram { print: print_error, write: write_line };
    let form =
        if flags.json { WatchForm::Json } else { WatchForm::Shown(progress(flags.quiet, flags.plain)) };
    let mut screen = WatchScreen::new(form, Arc::clone(&control), program);
    // Before there is a record: whoever sees it may end the watching, also a job of a script, which ignores SIGINT.
    signals::handle_signals(Arc::clone(&control), screen.leave()).map_err(Failure::run_failed)?;
    let keep = flags.out.map_or(Keep::Memory, Keep::Folder);
    let run = WatchRunner { keep, control: &control, observer: &mut screen }.run(&plan);
    let written = screen.finish(run.as_ref().ok().map(|run| &run.digest));
    let run = run?;
    written.map_err(Failure::run_failed)?;
    if let Some(folder) = run.folder.as_ref().filter(|_| !flags.json) {
        let folder = folder.display().to_string();
        print_error(&format!("record: {}", dnsdyno_text::shown(&folder, LONGEST_PATH)));
    }
    if let Some(error) = &run.incomplete {
        print_error(&format!("dnsdyno: {error}"));
        return Ok(RECORD_INCOMPLETE);
    }
    Ok(match run.digest.ended() {
        Some(Ended::Interrupted) => INTERRUPTED,
        Some(Ended::Terminated) => TERMINATED,
        Some(Ended::HungUp) => HUNG_UP,
        _ => OK,
    })
}

fn write_line(line: &str) -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{line}")
}

const EXAMPLES: &str = "\
Examples:
  dnsdyno watch
  dnsdyno watch host process -s 127.0.0.1
  dnsdyno watch bind=http://127.0.0.1:8053/ --for 1m -o runs/quiet-minute
  dnsdyno watch ssh://ns1.example --json | jq -c 'select(.index).watched[0].counters'";
