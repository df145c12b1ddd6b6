//! Commands of the shell that a keeper carries out for its client, such as the restart of a server.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dnsdyno_sys::programs::search_path;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal};

use crate::messages::CommandEnd;

/// Carries out a line of the shell. It is ended, with what it has started in its process group, after `within`, or as
/// soon as `goes_on` says no; that is called again and again, and takes the time between two looks at the command.
///
/// A server that the line leaves in the background lives on, and so does its output, which is a file without a name in
/// `folder`: a pipe would end the server that prints after the end of its reader.
pub(crate) fn carry_out(
    line: &str,
    within: Duration,
    folder: &Path,
    goes_on: &mut dyn FnMut(Duration) -> bool,
) -> io::Result<CommandEnd> {
    let deadline = Instant::now() + within;
    let output = file_without_name(folder)?;
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line).env("PATH", search_path()).process_group(0).stdin(Stdio::null());
    let mut child = command.stdout(output.try_clone()?).stderr(output.try_clone()?).spawn()?;
    let mut wait = FIRST_LOOK;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if !goes_on(wait) || Instant::now() >= deadline {
            // It was not waited for, so that its id, which is that of the group, belongs to no other.
            let _ = rustix::process::kill_process_group(Pid::from_child(&child), Signal::KILL);
            child.wait()?;
            break None;
        }
        wait = (wait * 2).min(LAST_LOOK);
    };
    Ok(CommandEnd { status, printed: end_of(&output)? })
}

fn file_without_name(folder: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) {
        return Ok(file.into());
    }
    // Some file systems cannot do that.
    let path = folder.join(format!("output-{}", std::process::id()));
    let _ = fs::remove_file(&path);
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// The end of what is in a file. The place at which the command writes is not moved.
fn end_of(output: &File) -> io::Result<String> {
    let length = output.metadata()?.len();
    let start = length.saturating_sub(MOST_PRINTED);
    let mut end = vec![0; usize::try_from(length - start).unwrap_or(0)];
    let read = output.read_at(&mut end, start)?;
    end.truncate(read);
    Ok(String::from_utf8_lossy(&end).into_owned())
}

/// How long after its start a command is looked after first; then at longer and longer distances.
const FIRST_LOOK: Duration = Duration::from_millis(1);

const LAST_LOOK: Duration = Duration::from_millis(50);

/// Octets of what a command has printed: the reason for its failure is at the end.
const MOST_PRINTED: u64 = 16_384;

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use tempfile::TempDir;

    fn carried_out(line: &str, within_ms: u64, goes_on: bool) -> CommandEnd {
        let folder = TempDir::new().unwrap();
        let mut wait = |time| {
            thread::sleep(time);
            goes_on
        };
        let end = carry_out(line, Duration::from_millis(within_ms), folder.path(), &mut wait).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        end
    }

    #[test]
    fn a_command_has_its_exit_code_and_the_end_of_both_outputs() {
        let end = carried_out("echo one; echo two >&2; exit 3", 60_000, true);
        assert_eq!(end, CommandEnd { status: Some(3), printed: "one\ntwo\n".to_owned() });
        let end = carried_out("yes | head -c 100000; echo done", 60_000, true);
        assert_eq!(end.printed.len() as u64, MOST_PRINTED);
        assert!(end.printed.ends_with("y\ndone\n"));
    }

    #[test]
    fn what_does_not_end_is_ended_and_what_is_left_in_the_background_lives_on() {
        assert_eq!(carried_out("sleep 1000", 100, true).status, None);
        assert_eq!(carried_out("sleep 1000", 60_000, false).status, None);
        let end = carried_out("sleep 1000 & echo $!", 60_000, true);
        let left = Pid::from_raw(end.printed.trim().parse().unwrap()).unwrap();
        rustix::process::test_kill_process(left).unwrap();
        rustix::process::kill_process(left, Signal::KILL).unwrap();
    }
}
