//! The live screen, on a terminal that `script` makes: it appears, and however a run ends, the terminal is as it was.

use std::time::Duration;

use dnsdyno_responder::{Faults, Running, Share};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Ran, Started, Workplace, responder};

/// Starts a run on a terminal of 80 × 24 whose modes are printed before and after it.
fn start<'a>(work: &'a Workplace, run: &str) -> Started<'a> {
    let run = format!("echo \\$\\$ >pid; exec env -u NO_COLOR TERM=xterm-256color $0 run {run}");
    let script =
        format!("stty rows 24 cols 80; stty -g; trap : INT QUIT; sh -c '{run}'; echo code \\$?; stty -g");
    work.start_shell_with_keys(&format!("script -qec \"{script}\" /dev/null"))
}

/// The process of the run.
fn pid(work: &Workplace) -> Pid {
    work.read("pid").trim().parse().ok().and_then(Pid::from_raw).unwrap()
}

/// A server that never answers: a run that is stopped waits for outstanding queries.
fn silent() -> Running {
    responder(Faults { loss: Share::new(1.0).unwrap(), ..Faults::default() })
}

fn words(server: &Running, more: &str) -> String {
    format!("-s {} --ask www.example --rate 500 -o run {more}", server.address())
}

/// Waits until the screen has figures.
fn until_it_draws(work: &Workplace, run: &mut Started<'_>) {
    run.until("the screen is drawn", || {
        let shown = work.stdout();
        shown.contains(ENTERED) && shown.contains("generator:") && shown.contains("outstanding")
    });
}

/// Checks that the screen was left, that the modes are those of before, and that the process ended with `code`.
#[track_caller]
fn is_restored(ran: &Ran, code: i32) {
    let out = &ran.stdout;
    let modes: Vec<&str> = out.lines().map(str::trim).filter(|line| line.matches(':').count() > 20).collect();
    assert_eq!(modes.len(), 2, "{out:?}");
    assert_eq!(modes[0], modes[1], "the modes of the terminal");
    let (left, entered) = (out.rfind(LEFT).unwrap(), out.rfind(ENTERED).unwrap());
    assert!(entered < left && out.rfind(HIDDEN).unwrap() < out.rfind(SHOWN).unwrap(), "{out:?}");
    assert!(out[left..].contains(&format!("code {code}")), "{:?}", &out[left..]);
    assert!(!out[left..].contains("┤"), "nothing is drawn after it");
}

#[test]
fn a_run_has_a_screen_and_its_summary_follows_it() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let run = start(&work, &words(&server, "--for 2s"));
    let ran = run.wait().gives(0);
    is_restored(&ran, 0);
    let left = ran.stdout.rfind(LEFT).unwrap();
    for word in ["asked", "answered", "500", "p50", "no answer", "NOERROR", "generator:", "q"] {
        assert!(ran.stdout[..left].contains(word), "{word}: {:?}", ran.stdout);
    }
    assert!(ran.stdout[left..].contains("generator: ") && ran.stdout[left..].contains("record: run"));
    assert!(work.record("run").is_complete());
}

#[test]
fn the_keys_of_the_screen_end_the_run_as_ctrl_c_does() {
    for (keys, server) in [("q", responder(Faults::default())), ("\u{3}", responder(Faults::default()))] {
        let work = Workplace::new();
        let mut run = start(&work, &words(&server, "--for 50s"));
        until_it_draws(&work, &mut run);
        run.press(keys);
        let ran = run.wait().gives(0);
        is_restored(&ran, 130);
        assert!(ran.took < Duration::from_secs(40) && work.record("run").is_complete());
    }
}

#[test]
fn the_second_key_ends_a_run_that_waits_for_responses() {
    for keys in ["q", "\u{3}"] {
        let work = Workplace::new();
        let server = silent();
        let mut run = start(&work, &words(&server, "--for 50s --timeout 55s"));
        until_it_draws(&work, &mut run);
        run.until("queries are outstanding", || server.book().udp.counts.received > 0);
        run.press(keys);
        run.until("it says that it stops", || work.stdout().contains("stopping"));
        run.press(keys);
        is_restored(&run.wait().gives(0), 130);
        assert!(work.record("run").tally().ends.interrupted > 0);
    }
}

#[test]
fn signals_that_end_a_run_leave_the_terminal_as_it_was() {
    // `sh` says 128 + the number of a signal that has ended a process.
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::QUIT, 131)] {
        let work = Workplace::new();
        let server = responder(Faults::default());
        let mut run = start(&work, &words(&server, "--for 50s"));
        until_it_draws(&work, &mut run);
        kill_process(pid(&work), signal).unwrap();
        is_restored(&run.wait().gives(0), code);
    }
}

#[test]
fn a_stopped_run_gives_the_terminal_back_and_takes_it_again() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let mut run = start(&work, &words(&server, "--for 50s"));
    until_it_draws(&work, &mut run);
    let times = |what: &str| work.stdout().matches(what).count();
    run.press("\u{1a}");
    run.until("it is stopped", || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", pid(&work).as_raw_nonzero()));
        status.unwrap_or_default().contains("State:\tT")
    });
    assert_eq!((times(ENTERED), times(LEFT)), (1, 1));
    kill_process(pid(&work), Signal::CONT).unwrap();
    run.until("it draws again", || times(ENTERED) == 2);
    run.press("q");
    let ran = run.wait().gives(0);
    is_restored(&ran, 130);
}

#[test]
fn the_screen_follows_the_size_of_its_terminal() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let mut run = start(&work, &words(&server, "--for 50s"));
    until_it_draws(&work, &mut run);
    let resize = |rows: u16, columns: u16| {
        let terminal = std::fs::read_link(format!("/proc/{}/fd/2", pid(&work).as_raw_nonzero())).unwrap();
        let words =
            ["-F", terminal.to_str().unwrap(), "rows", &rows.to_string(), "cols", &columns.to_string()]
                .map(str::to_owned);
        assert!(std::process::Command::new("stty").args(words).status().unwrap().success());
    };
    let drawn = work.stdout().len();
    resize(10, 40);
    run.until("the figures stand alone", || work.stdout()[drawn..].contains("q ends\u{1b}"));
    let drawn = work.stdout().len();
    resize(60, 200);
    run.until("the charts are back", || work.stdout()[drawn..].contains("no answer"));
    run.press("q");
    let ran = run.wait().gives(0);
    assert!(ran.stdout.contains("code 130"), "{:?}", ran.stdout);
}

#[test]
fn a_terminal_that_is_not_ours_has_lines() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let run = words(&server, "--for 1s");
    // `timeout` makes a process group of its own, in the background of the terminal; the shell goes on after it.
    let script = format!("stty rows 24 cols 80; TERM=xterm timeout 50 $0 run {run}; true");
    let ran = work.shell(&format!("script -qec \"{script}\" /dev/null")).gives(0);
    assert!(!ran.stdout.contains('\u{1b}') && ran.stdout.contains("1 s  asked 500"), "{}", ran.stdout);
}

const ENTERED: &str = "\u{1b}[?1049h";
const LEFT: &str = "\u{1b}[?1049l";
const HIDDEN: &str = "\u{1b}[?25l";
const SHOWN: &str = "\u{1b}[?25h";
