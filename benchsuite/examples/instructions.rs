//! Counts the instructions of each step of the worker's loop with callgrind: unlike times, they are stable on a busy
//! machine.
//!
//! ```text
//! make instructions                                    # compares all steps with their bounds
//! target/counted/examples/instructions STEP N          # the program that callgrind runs
//! ```
//!
//! Each step is run N and 2 N times; the difference divided by N excludes start and end. If a count is above its bound
//! in `benchsuite/instructions.txt`, the exit status is 1. Without valgrind, a message says that nothing was counted.

#[path = "../benches/operations/mod.rs"]
mod operations;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};

use crate::operations::{OPERATIONS, Operation};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.as_slice() {
        [] => check(),
        [step, times] => repeat(step, times).map(|()| ExitCode::SUCCESS),
        _ => Err(anyhow::anyhow!("usage: instructions [STEP N]")),
    };
    done.unwrap_or_else(|error| {
        eprintln!("instructions: {error:#}");
        ExitCode::FAILURE
    })
}

fn repeat(step: &str, times: &str) -> anyhow::Result<()> {
    let operation = OPERATIONS.iter().find(|operation| operation.name == step);
    let Operation { repeat, .. } = operation.with_context(|| format!("there is no step {step:?}"))?;
    repeat(times.parse().with_context(|| format!("{times:?} is not a number"))?);
    Ok(())
}

/// Counts the instructions of all steps, and compares them with their bounds.
fn check() -> anyhow::Result<ExitCode> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: valgrind is not installed (Debian: valgrind)");
        return Ok(ExitCode::SUCCESS);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.txt");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut worse = false;
    println!("{:<10} {:>12} {:>8}", "step", "instructions", "bound");
    for operation in OPERATIONS {
        let once = count(operation.name, TIMES)?;
        let twice = count(operation.name, 2 * TIMES)?;
        let each = twice.saturating_sub(once) as f64 / TIMES as f64;
        let bound = bound_of(&text, operation.name)?;
        let remark = if each > bound { "  above its bound" } else { "" };
        println!("{:<10} {each:>12.1} {bound:>8}{remark}", operation.name);
        worse |= each > bound;
    }
    Ok(if worse { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The instructions of a run of this program that repeats a step this many times.
fn count(step: &str, times: u64) -> anyhow::Result<u64> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args([step, &times.to_string()])
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

/// Enough for a stable difference, and few enough for valgrind.
const TIMES: u64 = 20_000;

#[cfg(test)]
mod tests {
    use super::*;

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
        let text = include_str!("../instructions.txt");
        assert!(OPERATIONS.iter().all(|operation| bound_of(text, operation.name).is_ok()));
        assert_eq!(bound_of("# step 9\nstep 7 # was 9\n", "step").unwrap(), 7.0);
        assert!(bound_of("step many\n", "step").is_err() && bound_of("", "step").is_err());
    }
}
