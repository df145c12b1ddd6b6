//! `dnsdyno tune`: which parameters of kernel, card and server make a server hold more; the host is left as it was.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use clap::Args;
use dnsdyno_campaign::experiment::Outcome as OfRun;
use dnsdyno_campaign::tune::Verdict;
use dnsdyno_executor::experiment::tune::{
    On, There, TuneOptions, TuneSetup, TunedServer, list, summary, tune as carry_out, write_results,
};
use dnsdyno_executor::experiment::{Stop, Watcher};
use dnsdyno_plan::Draft;
use dnsdyno_report::diagnosis;
use dnsdyno_runner::LocalRunner;
use dnsdyno_servers::{SERVERS, server_of};
use dnsdyno_settings::{Item, KeeperOptions, Restored, keep, state_folder, undo_left};
use dnsdyno_text::layout::{NOTHING, Table};
use dnsdyno_text::{safe, shown, units};
use serde_json::json;

use crate::campaign::{folder_of_now, resume};
use crate::cmd::report::{named, options};
use crate::exit::{EXPECTATION_FAILED, Failure, OK, Outcome, RUN_FAILED, code_of_stop};
use crate::message::print_error;
use crate::screen::width_of_terminal;
use crate::signals::stop_at_signals;

#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TuneFlags {
    /// The file of an experiment (TOML) with a table [tune]: its server is started for each trial; without a file, the
    /// server of -s is tuned where it is
    #[arg(value_name = "FILE", help_heading = TUNING)]
    file: Option<PathBuf>,
    /// Of the server of -s: what it is, such as bind, nsd, unbound
    #[arg(long, value_name = "WORD", help_heading = TUNING)]
    software: Option<String>,
    /// Of the server of -s: where it runs: host, netns:NAME or ssh://HOST [default: host]
    #[arg(long, value_name = "PLACE", help_heading = TUNING)]
    on: Option<String>,
    /// Of the server of -s: its configuration, on its host
    #[arg(long, value_name = "FILE", requires = "restart", help_heading = TUNING)]
    config: Option<PathBuf>,
    /// Of the server of -s: the command that starts it again, on its host, such as 'systemctl restart named'
    #[arg(long, value_name = "COMMAND", help_heading = TUNING)]
    restart: Option<String>,
    /// Of the server of -s: its network interface, on its host
    #[arg(long, value_name = "NAME", help_heading = TUNING)]
    server_interface: Option<String>,
    /// Of the server of -s: let trials count whose rate or loss is in doubt, as they all are on a small host
    #[arg(long, help_heading = TUNING)]
    keep_doubtful: bool,
    /// Only this parameter, by its name in --list; may be repeated [default: all that can be changed]
    #[arg(long, value_name = "NAME", help_heading = TUNING)]
    parameter: Vec<String>,
    /// Leave this parameter alone; may be repeated
    #[arg(long, value_name = "NAME", help_heading = TUNING)]
    without: Vec<String>,
    /// Change this parameter although it may cut the host off from the network; may be repeated
    #[arg(long, value_name = "NAME", help_heading = TUNING)]
    allow: Vec<String>,
    /// Begin with the parameters that `dnsdyno diagnose` names for this run
    #[arg(long, value_name = "RUN", help_heading = TUNING)]
    from: Option<PathBuf>,
    /// The length of each trial of the server of -s [default: 5s]
    #[arg(long, value_name = "T", help_heading = TUNING)]
    trial: Option<String>,
    /// The smallest gain that is worth a change [default: 2%]
    #[arg(long, value_name = "SHARE", help_heading = TUNING)]
    smallest_gain: Option<String>,
    /// Pairs of trials that confirm the answer [default: 10]
    #[arg(long, value_name = "N", help_heading = TUNING)]
    pairs: Option<u32>,
    /// What trials are judged by: answered, or a percentile such as p99 [default: answered]
    #[arg(long, value_name = "WHAT", help_heading = TUNING)]
    judge: Option<String>,
    /// List the catalogue with the present values of the host, and of the server of --software, and do nothing
    #[arg(long, help_heading = TUNING)]
    list: bool,
    /// Restore what was changed on this host by a `dnsdyno tune` that was killed, or by a power cut
    #[arg(long, help_heading = TUNING)]
    undo: bool,
    /// Say what would be tried and where it is set, and do nothing
    #[arg(long, help_heading = TUNING)]
    dry_run: bool,
    /// Set and restore values for a tuner, over standard input and output
    #[arg(long, hide = true)]
    keeper: bool,
    /// With --keeper: the command that starts the server again, where the tuner was gone before it did
    #[arg(long, hide = true, requires = "keeper")]
    afterwards: Option<String>,
    /// With --keeper: in this network namespace
    #[arg(long, hide = true, requires = "keeper")]
    namespace: Option<String>,
    /// The options of each trial of the server of -s; `--for` is how long the tuning may take
    #[command(flatten)]
    draft: Draft,
    /// Folder of records and results; that of a tuning that was stopped goes on [default: runs/NAME as the file is
    /// named, or runs/DATE-TIME-tune]
    #[arg(short, long, value_name = "FOLDER", help_heading = OUTPUT, display_order = 0)]
    out: Option<PathBuf>,
    /// Print only the answer
    #[arg(long, help_heading = OUTPUT)]
    quiet: bool,
    /// Print the answer, or the list, as JSON
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

pub(crate) fn tune(flags: &TuneFlags) -> Outcome {
    if flags.keeper {
        let options = KeeperOptions {
            namespace: flags.namespace.clone(),
            restart: flags.afterwards.clone(),
            ..KeeperOptions::new(state_folder())
        };
        let kept = keep(options).map_err(Failure::run_failed)?;
        let failed = |why: String| Err(Failure::run_failed(anyhow!("{why}; start the server again by hand")));
        return kept.not_started.map_or(Ok(OK), failed);
    }
    if flags.undo {
        return undo(flags.on.as_deref());
    }
    if flags.list {
        return print_list(flags);
    }
    let setup = setup(flags)?;
    let stop = Arc::new(Stop::default());
    stop_at_signals(Arc::clone(&stop)).map_err(Failure::run_failed)?;
    let mut progress = Lines { quiet: flags.quiet };
    if flags.dry_run {
        let mut out = std::io::stdout().lock();
        for line in summary(&setup, &stop, &mut progress)? {
            writeln!(out, "{}", shown(&line, usize::MAX)).map_err(Failure::run_failed)?;
        }
        return Ok(OK);
    }
    let folder = flags.out.clone().unwrap_or_else(|| match &flags.file {
        Some(file) => Path::new("runs").join(file.file_stem().unwrap_or_default()),
        None => folder_of_now("tune"),
    });
    let tuned = carry_out(&setup, &folder, &mut LocalRunner, &stop, &mut progress)?;
    let is_settled = tuned.not_restored.iter().all(Restored::is_settled);
    if let Some(cause) = tuned.stopped {
        let host = if tuned.not_restored.is_empty() { ", and the host is as it was" } else { "" };
        print_error(&format!("dnsdyno: stopped{host}; to resume: {}", resume(flags.out.as_deref(), &folder)));
        return Ok(if is_settled { code_of_stop(Some(cause)) } else { RUN_FAILED });
    }
    let text = write_results(&setup, &tuned, &folder, &options(None), width_of_terminal())?;
    let place = named(&folder);
    let mut out = std::io::stdout().lock();
    let printed = match flags.json {
        true => std::fs::read_to_string(folder.join("tune.json")).and_then(|json| write!(out, "{json}")),
        false => write!(out, "{text}\nresults: {place}/index.html, tune.json, install, undo\n"),
    };
    printed.map_err(Failure::run_failed)?;
    Ok(match tuned.answer.map(|answer| answer.verdict) {
        _ if !is_settled => RUN_FAILED,
        Some(Verdict::Gains(_)) => OK,
        Some(Verdict::NoBase { .. }) => RUN_FAILED,
        _ => EXPECTATION_FAILED,
    })
}

fn setup(flags: &TuneFlags) -> Result<TuneSetup, Failure> {
    let mut options = TuneOptions {
        parameters: flags.parameter.clone(),
        without: flags.without.clone(),
        allow: flags.allow.clone(),
        first: Vec::new(),
        lasts: flags.draft.duration.clone(),
        smallest_gain: flags.smallest_gain.clone(),
        pairs: flags.pairs,
        judge: flags.judge.clone(),
    };
    if let Some(run) = &flags.from {
        options.first = named_by_diagnosis(run)?;
    }
    let bad = |reason: String| Failure::bad_input(anyhow!("{reason}"));
    let mut draft = Draft { duration: None, ..flags.draft.clone() };
    if let Some(file) = &flags.file {
        let of_server = flags.software.is_some() || flags.on.is_some() || flags.trial.is_some();
        let of_server = of_server || flags.keep_doubtful || flags.there() != There::default();
        if of_server || draft != Draft::default() {
            return Err(bad(
                "a FILE has the server and the load: remove the options of -s, or the file".to_owned()
            ));
        }
        return TuneSetup::read(file, &[], options, &LocalRunner).map_err(Failure::from);
    }
    let word = flags.software.clone().ok_or_else(|| bad(NOTHING_TO_TUNE.to_owned()))?;
    draft.duration = Some(flags.trial.clone().unwrap_or_else(|| USUAL_TRIAL.to_owned()));
    let server = TunedServer {
        draft,
        word,
        on: On::parse(flags.on.as_deref().unwrap_or("host")).map_err(bad)?,
        there: flags.there(),
        keeps_doubtful: flags.keep_doubtful,
    };
    TuneSetup::of_server(server, options, &LocalRunner).map_err(bad)
}

impl TuneFlags {
    fn there(&self) -> There {
        There {
            config: self.config.clone(),
            restart: self.restart.clone(),
            interface: self.server_interface.clone(),
        }
    }
}

/// The names of the parameters that a diagnosis names.
fn named_by_diagnosis(run: &Path) -> Result<Vec<String>, Failure> {
    let found = diagnosis(run).map_err(Failure::bad_input)?;
    let parameters = found.findings.iter().flat_map(|finding| &finding.parameters);
    Ok(parameters.map(|parameter| parameter.name.clone()).collect())
}

/// Restores what is left of a tuner that is no more.
fn undo(on: Option<&str>) -> Outcome {
    let bad = |reason: String| Failure::bad_input(anyhow!("{reason}"));
    // The journals of a host are on that host; those of its network namespaces are with them.
    if let Some(On::Ssh(host)) = on.map(On::parse).transpose().map_err(bad)? {
        return Err(bad(format!(
            "`--undo --on ssh://{host}`: --undo restores this host only; type `dnsdyno tune --undo` on {host}"
        )));
    }
    let restored = undo_left(&state_folder()).map_err(Failure::run_failed)?;
    let mut out = std::io::stdout().lock();
    for one in &restored {
        writeln!(out, "{one}").map_err(Failure::run_failed)?;
    }
    if has_file(&restored) {
        writeln!(out, "{RESTART}").map_err(Failure::run_failed)?;
    }
    if restored.is_empty() {
        writeln!(out, "nothing is left to restore").map_err(Failure::run_failed)?;
    }
    Ok(if restored.iter().all(|one| one.is_settled()) { OK } else { RUN_FAILED })
}

/// Whether a configuration is among these.
fn has_file(restored: &[Restored]) -> bool {
    restored.iter().any(|one| matches!(one.item, Item::File { .. }))
}

fn print_list(flags: &TuneFlags) -> Outcome {
    let bad = |reason: String| Failure::bad_input(anyhow!("{reason}"));
    let on = On::parse(flags.on.as_deref().unwrap_or("host")).map_err(bad)?;
    let server = match flags.software.as_deref() {
        None => None,
        Some(word) => Some(server_of(word).ok_or_else(|| {
            let words: Vec<_> = SERVERS.iter().map(|server| server.word).collect();
            bad(format!("`--software {word}`: no such server; there are {}", words.join(", ")))
        })?),
    };
    let (listed, left) = list(server, on, &flags.there());
    left.iter().for_each(|one| print_error(&format!("dnsdyno: left by a tuning that was killed: {one}")));
    if has_file(&left) {
        print_error(&format!("dnsdyno: {RESTART}"));
    }
    let mut out = std::io::stdout().lock();
    if flags.json {
        let rows: Vec<_> = listed
            .iter()
            .map(|one| {
                json!({
                    "parameter": one.tunable.id(), "of": one.tunable.of, "numbers": one.tunable.numbers,
                    "present": one.present.as_ref().ok(), "not_here": one.present.as_ref().err(),
                    "meaning": one.tunable.meaning, "source": one.tunable.source,
                    "acts_on": one.tunable.signs.iter().map(|sign| &sign.series).collect::<Vec<_>>(),
                    "needs_allow": one.tunable.cuts_off,
                })
            })
            .collect();
        return writeln!(out, "{:#}", json!(rows)).map(|()| OK).map_err(Failure::run_failed);
    }
    let present = |one: &dnsdyno_executor::experiment::tune::ListedParameter| match &one.present {
        Ok(Some(value)) => safe(&value.split_whitespace().collect::<Vec<_>>().join(" ")),
        Ok(None) => NOTHING.to_owned(),
        Err(_) => "not here".to_owned(),
    };
    let column = |of: &dyn Fn(&dnsdyno_executor::experiment::tune::ListedParameter) -> String| {
        listed.iter().map(of).collect::<Vec<_>>()
    };
    let mut table = Table::default();
    table.left("parameter", 0, column(&|one| one.tunable.id()));
    table.right("present", 0, column(&present));
    table.left("list", 4, column(&|one| one.tunable.numbers.join(" ")));
    table.left(
        "acts on",
        2,
        column(&|one| one.tunable.signs.first().map_or(NOTHING.to_owned(), |sign| sign.series.clone())),
    );
    table.left(
        "what it is",
        3,
        column(&|one| match &one.present {
            Err(why) => safe(why),
            Ok(_) => one.tunable.meaning.clone(),
        }),
    );
    let mut text = String::new();
    table.write(&mut text, width_of_terminal());
    write!(out, "{text}").map(|()| OK).map_err(Failure::run_failed)
}

/// Lines on standard error while a tuning goes on.
struct Lines {
    quiet: bool,
}

impl Watcher for Lines {
    fn says(&mut self, text: &str) {
        print_error(&format!("dnsdyno: {text}"));
    }

    fn resumed(&mut self, ended: u32, cut: u32) {
        if !self.quiet {
            let ended = units::counted(u64::from(ended), "earlier trial", "earlier trials");
            print_error(&format!("dnsdyno: goes on after {ended}; {cut} had been cut off"));
        }
    }

    fn begins(&mut self, why: &str, _left: u64) {
        if !self.quiet {
            print_error(&shown(why, LONGEST_LINE));
        }
    }

    fn goes_on(&mut self, text: &str) {
        if !self.quiet {
            print_error(&format!("  {}", shown(text, LONGEST_LINE)));
        }
    }

    fn ended(&mut self, _outcome: &OfRun, _says: &str) {}
}

const TUNING: &str = "Tuning";
const OUTPUT: &str = "Output";

const NOTHING_TO_TUNE: &str =
    "what is tuned? Give FILE, the file of an experiment; or -s ADDRESS with --software, such as bind";

const RESTART: &str = "start the servers of these files again: they may run with what was tuned";

/// Long enough for a steady rate under overload.
const USUAL_TRIAL: &str = "5s";

/// Characters of a line: many parameters may be changed at once.
const LONGEST_LINE: usize = 400;

const EXAMPLES: &str = "\
Examples:
  dnsdyno tune --list --software bind
  dnsdyno tune experiments/tune-tcp.toml --dry-run
  dnsdyno tune experiments/tune-tcp.toml --for 20m -o runs/tune-tcp
  dnsdyno tune -s 192.0.2.53 --software bind --on ssh://ns1 --config /etc/bind/named.conf.options \\
      --restart 'systemctl restart named' -d queries.txt --rate 50k --for 8h
  dnsdyno tune --undo

The load must be more than the server holds, or be judged by latency: otherwise no change can show a
gain. Ctrl-C restores the host; so does the keeper, a process beside this one, if this one is killed.

Exit codes: 0 changes were found that gain; 1 nothing helps, or a gain is not confirmed; 2 the
options are not valid; 3 a server did not start, or a value could not be restored; 128 + the signal
where it was stopped.";
