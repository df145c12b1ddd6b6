//! Counts the instructions of each step of the worker's loop with callgrind: unlike times, they are stable on a busy
//! machine. The build is that of the tests, in which the crates of the loop are optimised as in a release.
//!
//! ```text
//! make instructions                # prints the counts of all steps beside their bounds
//! ```
//!
//! Each step is executed N and 2 N times by this program under callgrind; the difference divided by N excludes start
//! and end. Without valgrind the test is skipped, or fails where `DNSDYNO_REQUIRE_PRIVILEGED` asks for all tests.

#[path = "../benches/operations/mod.rs"]
mod operations;

use std::process::Command;

use anyhow::{Context, ensure};

use crate::operations::OPERATIONS;

#[test]
fn no_step_takes_more_instructions_than_its_bound() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        let is_required = std::env::var_os("DNSDYNO_REQUIRE_PRIVILEGED").is_some_and(|value| value == "1");
        assert!(!is_required, "valgrind is not installed (Debian: valgrind)");
        return println!("skipped: valgrind is not installed (Debian: valgrind)");
    }
    let mut above = Vec::new();
    println!("{:<10} {:>12} {:>8}", "step", "instructions", "bound");
    for operation in OPERATIONS {
        let each = instructions_of(operation.name).unwrap();
        let bound = bound_of(BOUNDS, operation.name).unwrap();
        println!("{:<10} {each:>12.1} {bound:>8}", operation.name);
        if each > bound {
            above.push(format!("{} takes {each:.1} instructions, and {bound} at most", operation.name));
        }
    }
    assert!(above.is_empty(), "{above:?}; see benchsuite/instructions.txt");
}

/// The part of this program that callgrind counts.
#[test]
#[ignore = "executes the step that the environment names"]
fn a_step_many_times() {
    let (step, times) = (std::env::var(STEP).unwrap(), std::env::var(TIMES).unwrap());
    let operation = OPERATIONS.iter().find(|operation| operation.name == step).unwrap();
    (operation.repeat)(times.parse().unwrap());
}

/// The instructions of one execution of a step.
fn instructions_of(step: &str) -> anyhow::Result<f64> {
    let (once, twice) = (count(step, EXECUTIONS)?, count(step, 2 * EXECUTIONS)?);
    Ok(twice.saturating_sub(once) as f64 / EXECUTIONS as f64)
}

/// The instructions of a run of this program that executes a step this many times.
fn count(step: &str, times: u64) -> anyhow::Result<u64> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["--exact", "a_step_many_times", "--ignored", "--test-threads=1"])
        .env(STEP, step)
        .env(TIMES, times.to_string())
        .output()
        .context("cannot run valgrind")?;
    let output = String::from_utf8_lossy(&run.stderr);
    ensure!(run.status.success(), "{step} failed under valgrind: {output}");
    collected(&output).with_context(|| format!("valgrind printed no count: {output}"))
}

/// From the line `==4711== Collected : 12345678`.
fn collected(output: &str) -> Option<u64> {
    output.lines().find_map(|line| line.split_once("Collected : "))?.1.trim().parse().ok()
}

/// Reads lines of a step and its bound; `#` starts a comment.
fn bound_of(text: &str, step: &str) -> anyhow::Result<f64> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let mut found = lines.filter_map(|line| line.trim().split_once(char::is_whitespace));
    let bound = found.find(|(name, _)| *name == step).map(|(_, bound)| bound.trim().parse());
    bound
        .with_context(|| format!("no bound for {step}"))?
        .with_context(|| format!("invalid bound for {step}"))
}

const BOUNDS: &str = include_str!("../instructions.txt");

/// Enough for a stable difference, and few enough for valgrind.
const EXECUTIONS: u64 = 20_000;

/// The variables that name the step, and say how often it is executed.
const STEP: &str = "DNSDYNO_STEP";
const TIMES: &str = "DNSDYNO_STEP_TIMES";

#[test]
fn the_count_is_found_in_the_output_of_valgrind() {
    // Output of valgrind 3.19.
    let output = "==2000== Callgrind, a call-graph generating cache profiler\n==2000== \n\
                ==2000== Events    : Ir\n==2000== Collected : 12345678\n==2000== \n";
    assert_eq!(collected(output), Some(12_345_678));
    assert_eq!(collected("==2000== Events    : Ir\n"), None);
}

#[test]
fn every_step_has_a_bound_and_comments_are_ignored() {
    assert!(OPERATIONS.iter().all(|operation| bound_of(BOUNDS, operation.name).is_ok()));
    assert_eq!(bound_of("# step 9\nstep 7 # was 9\n", "step").unwrap(), 7.0);
    assert!(bound_of("step many\n", "step").is_err() && bound_of("", "step").is_err());
}
