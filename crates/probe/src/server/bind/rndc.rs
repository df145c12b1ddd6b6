//! Commands to BIND, by its own program `rndc`.

use std::io::{PipeReader, Read, pipe};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use dnsdyno_plan::Rndc;
use dnsdyno_sys::programs::search_path;
use dnsdyno_text::shown;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::source::ReadError;

/// Carries out a command of `rndc`. Returns what it prints.
///
/// # Errors
/// It says no, is not there, or takes too long: a sentence for the user.
pub(super) fn carry_out(rndc: &Rndc, word: &str) -> Result<String, ReadError> {
    let failed = |error: std::io::Error| ReadError(format!("rndc cannot be started: {error}; install it"));
    let (reader, writer) = pipe().map_err(failed)?;
    let mut command = Command::new("rndc");
    if let Some(file) = &rndc.configuration {
        command.arg("-c").arg(file);
    }
    let errors = writer.try_clone().map_err(failed)?;
    // In a process group of its own: a Ctrl-C at the terminal is for the run, which then reads for the last time.
    command.arg(word).env("PATH", search_path()).process_group(0);
    let mut child = command.stdin(Stdio::null()).stdout(writer).stderr(errors).spawn().map_err(failed)?;
    // It has the other end of the pipe, which must have its end with the child.
    drop(command);
    let (sender, printed) = channel();
    let is_heard = std::thread::Builder::new().spawn(move || pass_on(reader, &sender)).is_ok();
    let deadline = Instant::now() + LONGEST_COMMAND;
    let text = is_heard.then(|| printed.recv_timeout(LONGEST_COMMAND).ok()).flatten();
    let status = end_of(&mut child, deadline).map_err(failed)?;
    match (status, text) {
        (Some(status), Some(text)) if status.success() => Ok(text),
        (Some(_), text) => {
            let said = text.unwrap_or_default();
            let said =
                said.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
            Err(ReadError(format!("rndc {word}: {}", shown(&said, LONGEST_REASON))))
        }
        (None, _) => Err(ReadError(format!("rndc {word}: no end within {} s", LONGEST_COMMAND.as_secs()))),
    }
}

/// Sends what is printed, when it has ended.
fn pass_on(reader: PipeReader, sender: &Sender<String>) {
    let mut bytes = Vec::new();
    // What cannot be read, nobody has said.
    let _ = reader.take(LONGEST_PRINTED_BYTES).read_to_end(&mut bytes);
    let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
}

/// Waits for the end of a process until the deadline, and then makes it end.
fn end_of(child: &mut Child, deadline: Instant) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            // It was not waited for, so that its id, which is that of the group, belongs to no other.
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

/// A server that takes longer has no figures for this interval.
const LONGEST_COMMAND: Duration = Duration::from_secs(3);

const LOOK: Duration = Duration::from_millis(2);

const LONGEST_PRINTED_BYTES: u64 = 64 << 10;

/// Characters of a foreign reason in an error.
const LONGEST_REASON: usize = 200;
