//! `dnsdyno find`: the highest load that meets criteria.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use dnsdyno_campaign::find::report::{FINDING_FILE, finding_json, finding_text, trial_head, trial_line};
use dnsdyno_campaign::find::{Finding, Goal, Method, Options, SearchGoal, Settings, TrialsSoFar, What};
use dnsdyno_campaign::{Request, Step};
use dnsdyno_executor::find::{FindFailed, Search, Tell};
use dnsdyno_executor::{CarriedOut, MakeError};
use dnsdyno_plan::{Draft, LOAD_HEADING};
use dnsdyno_runner::Control;
use dnsdyno_text::units::{count, length, percent, rate};
use serde_json::json;

use crate::campaign::{folder_of_now, resume};
use crate::cmd::agent::OnFlags;
use crate::cmd::report::named;
use crate::exit::{EXPECTATION_FAILED, Failure, OK, Outcome as Exit, code_of_stop};
use crate::message::print_error;
use crate::screen::width_of_terminal;
use crate::signals::handle_signals;

#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FindFlags {
    /// A criterion of each trial, such as 'loss<0.1%' or 'p99<5ms'; may be repeated [default: no loss
    /// beyond chance, and p99<=100ms]
    #[arg(long = "while", value_name = "EXPECTATION", help_heading = SEARCH)]
    while_: Vec<String>,
    /// A goal, 'NAME: CRITERIA', with how long a trial must hold it if that matters: 'held: loss<0.1%, 60 s'; may be
    /// repeated, each trial is judged for all of them. With --method mlrsearch a Search Goal of RFC 9971, 'NAME:
    /// loss<=R', with its final trial duration and, each after a comma, sum=T (decides a load), exceed=SHARE (of that
    /// which may lose more), width=SHARE (between its bounds) and initial=T (of the first trials) [default: one goal,
    /// the criteria of --while; of mlrsearch 'lossless: loss=0' and 'partial: loss<=0.5%', each with 10 s, sum=30 s,
    /// exceed=50%, width=0.5%, initial=1 s]
    #[arg(long = "goal", value_name = "GOAL", help_heading = SEARCH)]
    goals: Vec<String>,
    /// What is searched for: qps, connections (per second, one query each) or clients (held, each with
    /// its connection) [default: qps]
    #[arg(long, value_name = "WHAT", help_heading = SEARCH)]
    find: Option<String>,
    /// search, stair, ramp, window, rfc2544, rfc8219 or mlrsearch (RFC 9971) [default: search]
    #[arg(long, value_name = "METHOD", help_heading = SEARCH)]
    method: Option<String>,
    /// The first load [default: 1k; of connections and clients 100]
    #[arg(long, value_name = "LOAD", help_heading = SEARCH)]
    from: Option<String>,
    /// The lowest load that is tried, if the first one is too much [default: a tenth of the default of --from,
    /// or more where trials would last longer than a minute]
    #[arg(long, value_name = "LOAD", help_heading = SEARCH)]
    least: Option<String>,
    /// The highest load that is tried; the end of a stair or a ramp; the largest window
    #[arg(long, value_name = "LOAD", help_heading = SEARCH)]
    most: Option<String>,
    /// The length of a trial near the limit; longer where its load has too few queries for the criteria [default: 5s,
    /// and 8s once trials contradict each other; of other methods than search 10s]
    #[arg(long, value_name = "T", help_heading = SEARCH)]
    trial: Option<String>,
    /// The pause between trials; four times as long after one that failed [default: 500ms]
    #[arg(long, value_name = "T", help_heading = SEARCH)]
    rest: Option<String>,
    /// Search until the 95 % interval is so narrow: plus or minus this share [default: 2%]
    #[arg(long, value_name = "SHARE", help_heading = SEARCH)]
    precision: Option<String>,
    /// End after this many trials, with the interval that there is then [default: 60, and 30
    /// for each further goal and each goal with a duration; of mlrsearch 1000]
    #[arg(long, value_name = "N", help_heading = SEARCH)]
    trials: Option<String>,
    /// With --find clients: queries per second of each client [default: 1]
    #[arg(long, value_name = "QPS", help_heading = SEARCH)]
    per_client: Option<String>,
    /// With --method rfc2544 and rfc8219: how often the search is made [default: 20]
    #[arg(long, value_name = "N", help_heading = SEARCH)]
    repeats: Option<String>,
    /// Say what would be done, and how long it takes at the most, and do nothing
    #[arg(long, conflicts_with = "json", help_heading = SEARCH)]
    dry_run: bool,
    #[command(flatten)]
    draft: Draft,
    /// A plan file (TOML) with options of the runs; flags override it
    #[arg(long, value_name = "FILE", help_heading = LOAD_HEADING)]
    plan: Option<PathBuf>,
    #[command(flatten)]
    on: OnFlags,
    /// Folder of the search; one that was stopped is resumed [default: runs/DATE-TIME-find]
    #[arg(short, long, value_name = "FOLDER", help_heading = OUTPUT, display_order = 0)]
    out: Option<PathBuf>,
    /// Print the result only
    #[arg(long, help_heading = OUTPUT)]
    quiet: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

pub(crate) fn find(flags: FindFlags) -> Exit {
    let draft = match &flags.plan {
        Some(file) => {
            let read = Draft::read(file).and_then(|draft| draft.overlay(flags.draft.clone()));
            read.map_err(Failure::bad_input)?
        }
        None => flags.draft.clone(),
    };
    let options = flags.options();
    let settings = Settings::new(&options, &draft).map_err(Failure::bad_input)?;
    let mut runner = flags.on.runner()?;
    // A mistake in an option of the runs is told before anything is written.
    if let Step::Run(first) = dnsdyno_campaign::find::finder(settings.clone()).next() {
        let plans = runner.validate(&first.draft)?;
        plans.plan.notes.iter().for_each(|note| print_error(&format!("dnsdyno: {note}")));
    }
    if flags.dry_run {
        return write!(std::io::stdout(), "{}", dry_run(&settings)).map(|()| OK).map_err(Failure::run_failed);
    }
    let folder = flags.out.clone().unwrap_or_else(|| folder_of_now("find"));
    let kept = json!({ "verb": "find", "version": Search::VERSION, "options": options, "draft": draft });
    let control = Arc::new(Control::default());
    handle_signals(Arc::clone(&control), Arc::new(|| ())).map_err(Failure::run_failed)?;
    let mut told =
        TrialPrinter { method: settings.method(), what: settings.what(), quiet: flags.quiet, lines: 0 };
    if !flags.quiet {
        criteria(&settings).iter().for_each(|line| print_error(line));
        settings.notices().iter().for_each(|notice| print_error(notice));
    }
    let search = Search {
        settings,
        options: &kept,
        folder: &folder,
        runner: &mut *runner,
        control: &control,
        observer: &mut (),
        tell: &mut told,
    };
    match search.carry_out() {
        Ok(CarriedOut::Done(finding)) => print(&finding, &folder, flags.json),
        Ok(CarriedOut::Stopped) => {
            print_error(&format!("dnsdyno: to resume: {}", resume(flags.out.as_deref(), &folder)));
            Ok(code_of_stop(control.cause()))
        }
        Err(error) => {
            // In a folder that cannot be used, or has something else, nothing is resumed.
            if !matches!(error, FindFailed::Journal(_)) {
                print_error(&format!(
                    "dnsdyno: what was measured is kept; to resume: {}",
                    resume(flags.out.as_deref(), &folder)
                ));
            }
            Err(match error {
                FindFailed::Make(MakeError::Run(error)) => error.into(),
                FindFailed::Journal(error) => error.into(),
                other => Failure::run_failed(other),
            })
        }
    }
}

impl FindFlags {
    fn options(&self) -> Options {
        Options {
            what: self.find.clone(),
            method: self.method.clone(),
            criteria: self.while_.clone(),
            goals: self.goals.clone(),
            start: self.from.clone(),
            least: self.least.clone(),
            most: self.most.clone(),
            trial: self.trial.clone(),
            rest: self.rest.clone(),
            precision: self.precision.clone(),
            trials: self.trials.clone(),
            per_client: self.per_client.clone(),
            repeats: self.repeats.clone(),
        }
    }
}

/// Prints the result; returns the exit code.
fn print(finding: &Finding, folder: &Path, json: bool) -> Exit {
    let mut out = std::io::stdout().lock();
    let printed = match json {
        true => writeln!(out, "{:#}", finding_json(finding)),
        false => write!(
            out,
            "{}\nresult: {}\n",
            finding_text(finding, width_of_terminal()),
            named(&folder.join(FINDING_FILE))
        ),
    };
    printed.map_err(Failure::run_failed)?;
    Ok(if finding.is_found() { OK } else { EXPECTATION_FAILED })
}

/// A line for each trial, on standard error.
struct TrialPrinter {
    method: Method,
    what: What,
    quiet: bool,
    /// Trials printed.
    lines: usize,
}

impl Tell for TrialPrinter {
    fn begins(&mut self, _request: &Request) {}

    fn judged(&mut self, made: TrialsSoFar<'_>) {
        let new = made.trials.len().saturating_sub(self.lines);
        for at in 0..new {
            let shown = made.trials.get(..self.lines + 1).unwrap_or_default();
            let bracket = made.bracket.filter(|_| at + 1 == new);
            if !self.quiet {
                if self.lines == 0 {
                    print_error(trial_head(self.method, self.what).trim_end());
                }
                print_error(trial_line(self.method, TrialsSoFar { trials: shown, bracket }).trim_end());
            }
            self.lines += 1;
        }
    }

    fn resumed(&mut self, ended: u32, cut: u32) {
        if !self.quiet {
            print_error(&format!(
                "resumed after {} of this search; {cut} cut off",
                dnsdyno_text::units::counted(u64::from(ended), "run", "runs")
            ));
        }
    }

    fn unanswered(&mut self, why: &str) {
        print_error(&format!("dnsdyno: {why}; asking again"));
    }
}

/// The criteria of a trial, a line for each goal.
fn criteria(settings: &Settings) -> Vec<String> {
    let line = |goal: &Goal| {
        let name = goal.name.as_ref().map_or("criteria".to_owned(), |name| format!("goal {name}"));
        let held = goal.held_ns.map(|held_ns| format!(", held for {}", length(held_ns))).unwrap_or_default();
        format!("{name}: {}{held}", goal.criteria.texts().join(", "))
    };
    let by_the_rfc = |goal: &SearchGoal| format!("goal {}", goal.text());
    let of_mlrsearch = settings.search_goals().iter().map(by_the_rfc);
    settings.goals().iter().map(line).chain(of_mlrsearch).collect()
}

/// What would be done.
fn dry_run(settings: &Settings) -> String {
    let unit = settings.what().unit();
    let (start, least, most) = settings.loads();
    let mut lines = vec![format!("method     {}", settings.method().name())];
    match settings.goals() {
        [goal] if goal.name.is_none() => {
            lines.push(format!("criteria   {}", goal.criteria.texts().join(", ")));
        }
        _ => lines.extend(criteria(settings)),
    }
    lines.push(match settings.windows().as_slice() {
        [] => format!(
            "loads      first {} {unit}, at least {}, at the most {}",
            rate(start),
            rate(least),
            rate(most)
        ),
        windows => {
            let windows: Vec<String> = windows.iter().map(|window| count(u64::from(*window))).collect();
            format!("windows    {} queries outstanding", windows.join(", "))
        }
    });
    if !matches!(settings.method(), Method::Stair | Method::Ramp | Method::MlrSearch) {
        let needed = settings.goals().iter().map(|goal| goal.criteria.queries_needed()).max().unwrap_or(0);
        let trial = length(settings.first_ns());
        let near = settings.usual_lengths_ns().map(|(usual, noisy)| match usual == noisy {
            true => format!(", {} near the limit", length(usual)),
            false => format!(
                ", {} near the limit, {} where trials contradict each other",
                length(usual),
                length(noisy)
            ),
        });
        lines.push(format!(
            "trials     {trial} at the first load{}; the criteria need {} queries in each",
            near.unwrap_or_default(),
            count(needed)
        ));
    }
    lines.extend(settings.notices().into_iter().map(|notice| format!("           {notice}")));
    if settings.method() == Method::Search {
        lines.push(format!("precision  ±{}", percent(settings.precision())));
    }
    lines.push(format!(
        "at most    {} runs, {}; usually a part of it",
        count(settings.most_runs()),
        length(settings.longest_ns())
    ));
    lines.join("\n") + "\n"
}

/// The heading of the options of the search itself.
pub(crate) const SEARCH: &str = "Search";
const OUTPUT: &str = "Output";

const EXAMPLES: &str = "\
Examples:
  dnsdyno find -s 192.0.2.53 -d queries.txt
  dnsdyno find -s 192.0.2.53 -d queries.txt --while 'loss<0.1%' --while 'p99<5ms'
  dnsdyno find -s 192.0.2.53 -d queries.txt --goal 'fast: p99<5ms' --goal 'held: loss<0.1%, 60 s'
  dnsdyno find -s 192.0.2.53 -d queries.txt --transport tcp --find connections
  dnsdyno find -s 192.0.2.53 -d queries.txt --transport dot --find clients --per-client 0.1
  dnsdyno find -s 192.0.2.53 -d queries.txt --method stair --from 2k --most 25k --step 1k --hold 60s
  dnsdyno find -s 192.0.2.53 -d queries.txt --method ramp --most 100k --over 60s
  dnsdyno find -s 192.0.2.53 -d queries.txt --method window
  dnsdyno find -s 192.0.2.53 -d queries.txt --method mlrsearch --goal 'strict: loss=0, 60 s, sum=60 s, exceed=0%'

Exit codes: 0 the limit was found; 1 it is only known to be at least so high, or the criteria are not
met at any load; 2 the options are not valid; 3 a run failed; 128 + the signal where it was stopped.";
