//! `dnsdyno qualify`: the highest load that passes stair, burst, function test and long run.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use clap::{Arg, Args};
use dnsdyno_campaign::qualify::report::{qualification_json, qualification_plan, qualification_text};
use dnsdyno_campaign::qualify::{
    Qualified, Qualify, QualifyOptions, Settings, Verdict, in_words, refuse_unusable,
};
use dnsdyno_campaign::{Campaign, Request, Step};
use dnsdyno_executor::qualify::{Making, QualifyError, end_leftovers};
use dnsdyno_executor::{CarriedOut, Journal, MakeError, carry_out};
use dnsdyno_page::runs_in;
use dnsdyno_plan::Draft;
use dnsdyno_runner::{Control, FinishedRun, Runner};
use dnsdyno_screen::Progress;
use dnsdyno_text::encoding::read_text;
use dnsdyno_text::units::{counted, length};
use serde_json::json;

use crate::campaign::{folder_of_now, resume};
use crate::cmd::agent::OnFlags;
use crate::cmd::report::{may_be_written, named, options, write};
use crate::exit::{EXPECTATION_FAILED, Failure, OK, Outcome, code_of_stop};
use crate::message::print_error;
use crate::screen::{progress, screen};
use crate::signals::{asked_to_stop, handle_signals_of_many};

#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES, mut_args(of_qualify))]
pub(crate) struct QualifyFlags {
    /// Length of the long run [default: 48h]
    #[arg(long, value_name = "T", help_heading = TESTS)]
    long: Option<String>,
    /// Rehearse: multiply the lengths of steps, burst and long run by this, such as 1/48; every output
    /// says so
    #[arg(long, value_name = "PART", help_heading = TESTS)]
    scale: Option<String>,
    /// File of the commands of the function test (TOML), see docs/qualify.md
    #[arg(long, value_name = "FILE", help_heading = TESTS)]
    function: Option<PathBuf>,
    /// Do not make these tests: stair, burst, function, long
    #[arg(long, value_name = "TESTS", value_delimiter = ',', help_heading = TESTS)]
    skip: Vec<String>,
    /// Exit with code 1 if the capacity is lower than this
    #[arg(long, value_name = "QPS", help_heading = TESTS)]
    need: Option<String>,
    /// The longest response time of a test that passes [default: 1s]
    #[arg(long, value_name = "T", help_heading = TESTS)]
    response_time: Option<String>,
    /// Errors in each interval of so long are continuous [default: 3s]
    #[arg(long, value_name = "T", help_heading = TESTS)]
    continuous: Option<String>,
    /// The largest share of queries with an error [default: 0.1%]
    #[arg(long, value_name = "SHARE", help_heading = TESTS)]
    most_errors: Option<String>,
    /// What an error is: metrics of --expect that count queries or responses [default:
    /// loss,servfail,refused]
    #[arg(long, value_name = "METRICS", help_heading = TESTS)]
    errors: Option<String>,
    /// Say what would be done, and how long it takes
    #[arg(long, conflicts_with = "json", help_heading = TESTS)]
    dry_run: bool,
    /// Do it even if it takes more than 31 days
    #[arg(long, help_heading = TESTS)]
    however_long: bool,
    #[command(flatten)]
    draft: Draft,
    /// A plan file (TOML) with options of a run; flags override it
    #[arg(long, value_name = "FILE", help_heading = TESTS)]
    plan: Option<PathBuf>,
    #[command(flatten)]
    on: OnFlags,
    /// Folder of the qualification; with the same command it is resumed from there [default:
    /// runs/DATE-TIME-qualify]
    #[arg(short, long, value_name = "FOLDER", help_heading = "Output", display_order = 0)]
    out: Option<PathBuf>,
    /// Print nothing but the verdict
    #[arg(long, help_heading = "Output")]
    quiet: bool,
    /// Print lines during the runs on a terminal too
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    plain: bool,
    /// Print the verdict as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn qualify(mut flags: QualifyFlags) -> Outcome {
    let mut draft = match &flags.plan {
        Some(file) => {
            Draft::read(file).and_then(|draft| draft.overlay(flags.draft)).map_err(Failure::bad_input)?
        }
        None => flags.draft,
    };
    flags.draft = Draft::default();
    let wanted = wanted(&flags, &mut draft)?;
    let settings = wanted.read().map_err(Failure::bad_input)?;
    refuse_unusable(&draft).map_err(Failure::bad_input)?;
    if settings.shortest_ns() > LONGEST_NS && !flags.however_long && !flags.dry_run {
        let takes = length(settings.shortest_ns());
        let why = "shorten --long, or add --however-long if that is what you want";
        return Err(Failure::bad_input(anyhow!("this takes at least {takes}: {why}")));
    }
    let mut runner = flags.on.runner()?;
    let mut campaign = Qualify::new(settings, draft.clone());
    if let Step::Run(request) = campaign.next() {
        let plans = runner.validate(&request.draft)?;
        plans.plan.notes.iter().for_each(|note| print_error(&format!("dnsdyno: {note}")));
    }
    if flags.dry_run {
        write!(std::io::stdout(), "{}", qualification_plan(campaign.settings()))
            .map_err(Failure::run_failed)?;
        return Ok(OK);
    }
    let folder = flags.out.clone().unwrap_or_else(|| folder_of_now("qualify"));
    may_be_written(&folder.join(PAGE_FILE), "-o")?;
    let identity = json!({ "verb": "qualify", "options": draft, "tests": wanted });
    let mut journal = Journal::open(&folder, &identity)?;
    // What commands of a run that has ended started, they started to stay, such as a server.
    let left = if journal.was_cut_off() { end_leftovers(&folder) } else { 0 };
    if left > 0 {
        let left = counted(left.into(), "process", "processes");
        print_error(&format!("dnsdyno: ended {left} that commands of the earlier part had left behind"));
    }
    handle_signals_of_many(Arc::default(), Arc::new(|| ())).map_err(Failure::run_failed)?;
    let mut making = Progressing {
        settings: campaign.settings().clone(),
        folder: &folder,
        runner: &mut *runner,
        progress: progress(flags.quiet, flags.plain),
    };
    let carried_out = carry_out(&mut campaign, &mut journal, &mut making);
    let resume = || format!("dnsdyno: to resume: {}", resume(flags.out.as_deref(), &folder));
    match carried_out {
        Ok(CarriedOut::Done(result)) => finish(&flags, campaign.settings(), &result, &folder),
        Ok(CarriedOut::Stopped) => {
            print_error(&resume());
            Ok(code_of_stop(asked_to_stop()))
        }
        Err(error) => {
            print_error(&resume());
            Err(match error {
                QualifyError::Make(MakeError::Run(error)) => error.into(),
                QualifyError::Journal(error) => error.into(),
                other => Failure::run_failed(other),
            })
        }
    }
}

/// Prints the verdict, and writes it as JSON and as a page.
fn finish(flags: &QualifyFlags, settings: &Settings, result: &Qualified, folder: &Path) -> Outcome {
    let json = qualification_json(settings, result);
    let mut out = std::io::stdout();
    let printed = match flags.json {
        true => writeln!(out, "{json:#}"),
        false => write!(out, "{}", qualification_text(result)),
    };
    printed.map_err(Failure::run_failed)?;
    let file = folder.join(JSON_FILE);
    std::fs::write(&file, format!("{json:#}\n"))
        .with_context(|| {
            format!("cannot write {}: free space, and type the same command again", named(&file))
        })
        .map_err(Failure::run_failed)?;
    let runs = runs_in(&folder.join(RUNS)).map_err(Failure::run_failed)?;
    let page = dnsdyno_page::qualification(&runs, result, &options(None))
        .context("cannot make the page")
        .map_err(Failure::run_failed)?;
    let page_file = folder.join(PAGE_FILE);
    write(&page_file, &page, "-o")?;
    if !flags.json {
        writeln!(out, "\nrecords: {}\npage: {}", named(&folder.join(RUNS)), named(&page_file))
            .map_err(Failure::run_failed)?;
    }
    Ok(if result.verdict == Verdict::Qualified { OK } else { EXPECTATION_FAILED })
}

/// Makes the runs, and shows their progress.
struct Progressing<'a> {
    settings: Settings,
    folder: &'a Path,
    runner: &'a mut dyn Runner,
    progress: Progress,
}

impl Progressing<'_> {
    fn says(&self, text: &str) {
        if self.progress != Progress::Quiet {
            print_error(&format!("dnsdyno: {text}"));
        }
    }
}

impl dnsdyno_executor::Progress for Progressing<'_> {
    type Error = QualifyError;

    fn run(&mut self, request: &Request, folder: &Path) -> Result<Option<FinishedRun>, QualifyError> {
        let rest = match request.rest_ns {
            0 => String::new(),
            rest_ns => format!(", after a rest of {}", length(rest_ns)),
        };
        self.says(&format!("{}{rest}", request.why));
        let control = Arc::new(Control::default());
        let mut screen = screen(self.progress, &control).map_err(MakeError::from)?;
        let run = Making {
            of: self.folder,
            function: self.settings.function.as_ref(),
            stopped: &|| asked_to_stop().is_some(),
            runner: self.runner,
            control: &control,
            observer: &mut screen,
        }
        .run(request, folder);
        screen.finish();
        if let Ok(Some(run)) = &run {
            self.says(&format!("{}: {}", request.why, in_words(&self.settings, &run.digest)));
        }
        run
    }

    fn resumed(&mut self, ended: u32, cut: u32) {
        let ended = counted(ended.into(), "run that had ended", "runs that had ended");
        let cut = match cut {
            0 => String::new(),
            cut => format!(" and {}", counted(cut.into(), "that was cut off", "that were cut off")),
        };
        self.says(&format!("resuming {}, after {ended}{cut}", named(self.folder)));
    }
}

/// The options of the tests. Those that are called as options of a run are taken out of its draft.
fn wanted(flags: &QualifyFlags, draft: &mut Draft) -> Result<QualifyOptions, Failure> {
    let read = |file: &PathBuf| {
        read_text(file)
            .with_context(|| format!("cannot read {}; name a file of commands with --function", named(file)))
            .map_err(Failure::bad_input)
    };
    Ok(QualifyOptions {
        stair: draft.stair.take(),
        step: draft.step.take(),
        hold: draft.hold.take(),
        burst: draft.burst.take(),
        long: flags.long.clone(),
        scale: flags.scale.clone(),
        function: flags.function.as_ref().map(read).transpose()?,
        skip: flags.skip.clone(),
        response_time: flags.response_time.clone(),
        continuous: flags.continuous.clone(),
        most_errors: flags.most_errors.clone(),
        errors: flags.errors.clone(),
        need: flags.need.clone(),
    })
}

/// Options of a run, as they are here: those of the load have another meaning or none, and `-h` has those of most.
fn of_qualify(option: Arg) -> Arg {
    let heading = |option: Arg| option.help_heading(TESTS);
    match option.get_id().as_str() {
        "stair" => heading(option).help("The range of the stair [default: 2k..25k]"),
        "step" => heading(option).help("The height of a step [default: 1k]"),
        "hold" => heading(option).help("The length of a step [default: 60s]"),
        "burst" => heading(option).help("The length of the burst [default: 10m]").value_name("T"),
        "rate" | "ramp" | "over" | "every" | "duration" | "count" | "passes" | "rate_limit" | "send_only"
        | "speed" | "expect" | "expect_each" | "interval" | "name" => option.hide(true),
        id => {
            let is_common = COMMON.contains(&id);
            option.hide_short_help(!is_common)
        }
    }
}

/// Shown by `-h`, beside the tests.
const COMMON: &[&str] = &[
    "long",
    "scale",
    "function",
    "skip",
    "need",
    "response_time",
    "dry_run",
    "server",
    "queries",
    "ask",
    "transport",
    "timeout",
    "watch",
    "out",
    "json",
];

const TESTS: &str = "Tests";
const JSON_FILE: &str = "qualify.json";
const PAGE_FILE: &str = "report.html";

/// The folder of the runs, as [`Journal`] names it.
const RUNS: &str = "runs";

/// 31 days. What takes longer is asked back.
const LONGEST_NS: u64 = 31 * 86_400 * 1_000_000_000;

const EXAMPLES: &str = "\
Each test must pass with no continuous errors, at most 0.1 % of errors, and each response within 1 s.
A test that fails lowers the load by a step, and burst, function test and long run are made again.

Examples:
  dnsdyno qualify -s 192.0.2.53 -d queries.txt --function commands.toml
  dnsdyno qualify -s 192.0.2.53 -d queries.txt --scale 1/48
  dnsdyno qualify -s 192.0.2.53 -d queries.txt --stair 10k..60k --step 5k --skip long --need 40k
  dnsdyno qualify -s 192.0.2.53 -d queries.txt --dry-run

Exit codes: 0 qualified; 1 not qualified, or not known; 2 bad input; 3 a run failed; 130 stopped with
Ctrl-C, and the command that resumes it is printed (129 SIGHUP, 143 SIGTERM).";
