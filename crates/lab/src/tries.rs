//! Tests that may try more than once, and say so.
//!
//! Where a figure is a duration, another program on the host may have delayed it, so a test may measure again. That
//! must not hide a figure that is often wrong: each test that passed only at a later try is noted in a file, and
//! `scripts/run-tests` prints its lines when all tests have ended.

use std::fs::OpenOptions;
use std::io::Write;
use std::{env, thread};

/// Names the file to which a line is added for each test that passed only at a later try.
const FILE_VARIABLE: &str = "DNSDYNO_RETRIES_FILE";

/// Calls `judge` with the number of the try, from 1 on, until it is satisfied, at most `most` times. When that was
/// not at the first try, a line with the test's name and the complaints goes to the file that the environment
/// variable `DNSDYNO_RETRIES_FILE` names.
///
/// # Panics
/// When the last try fails too, and when the file cannot be written.
pub fn within_tries(most: usize, what: &str, mut judge: impl FnMut(usize) -> Result<(), String>) {
    let mut complaints = Vec::new();
    for number in 1..=most {
        match judge(number) {
            Ok(()) if number == 1 => return,
            Ok(()) => return note(&format!("{what}: at try {number}, after {complaints:?}")),
            Err(complaint) => complaints.push(complaint),
        }
    }
    panic!("{what}, {most} times: {complaints:#?}");
}

fn note(text: &str) {
    let Some(path) = env::var_os(FILE_VARIABLE) else { return };
    let line = format!("{}: {text}\n", thread::current().name().unwrap_or("a test"));
    let opened = OpenOptions::new().create(true).append(true).open(&path);
    // In one write: tests run beside each other.
    let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::{Command, Output};
    use std::{env, fs};

    use super::*;

    /// The test below starts itself as a test that succeeds at this try; at 9, never.
    const SUCCEEDS_AT: &str = "DNSDYNO_LAB_SUCCEEDS_AT";
    const NAME: &str = "tries::tests::a_test_that_passed_at_a_later_try_is_named_when_all_have_ended";

    #[test]
    fn a_test_that_passed_at_a_later_try_is_named_when_all_have_ended() {
        if let Ok(succeeds_at) = env::var(SUCCEEDS_AT) {
            let succeeds_at = succeeds_at.parse().unwrap();
            return within_tries(3, "p99", |number| {
                if number < succeeds_at { Err(format!("{number} ns")) } else { Ok(()) }
            });
        }
        let told = "passed only at a later try:\n  ".to_owned() + NAME + ": p99: at try ";

        let first = run_tests("1");
        assert!(first.status.success() && !text(&first).contains("later try"), "{}", text(&first));
        let second = run_tests("2");
        assert!(second.status.success() && text(&second).contains(&format!("{told}2, after [\"1 ns\"]\n")));
        let third = run_tests("3");
        assert!(
            text(&third).ends_with(&format!("{told}3, after [\"1 ns\", \"2 ns\"]\n")),
            "{}",
            text(&third)
        );
        let never = run_tests("9");
        assert!(!never.status.success() && text(&never).contains("p99, 3 times"), "{}", text(&never));
    }

    /// `scripts/run-tests` with this very test in the place of all tests.
    fn run_tests(succeeds_at: &str) -> Output {
        let folder = tempfile::tempdir().unwrap();
        let cargo = folder.path().join("cargo");
        let this = env::current_exe().unwrap();
        fs::write(&cargo, format!("#!/bin/sh\nexec '{}' --exact {NAME}\n", this.display())).unwrap();
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/run-tests");
        let mut command = Command::new(script);
        command.env("CARGO", &cargo).env(SUCCEEDS_AT, succeeds_at).env_remove(FILE_VARIABLE);
        command.output().unwrap()
    }

    fn text(output: &Output) -> String {
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
