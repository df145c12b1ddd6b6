//! Ends what commands of an earlier part of a qualification left behind: after `kill -9` of the generator nobody else
//! does.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal};

/// In the environment of each command: the folder of its qualification.
pub(super) const MARK: &str = "DNSDYNO_QUALIFICATION";

/// Ends each process of this user that was started by commands of the qualification in `of`, and returns how many.
pub fn end_leftovers(of: &Path) -> u32 {
    let Ok(of) = std::path::absolute(of) else { return 0 };
    let mark = [MARK.as_bytes(), b"=", of.as_os_str().as_bytes()].concat();
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let ended = pids.filter(|pid| *pid != own).filter(|pid| end_if_marked(*pid, &mark));
    u32::try_from(ended.count()).unwrap_or(u32::MAX)
}

/// The pidfd is opened before the environment is read, so that the signal meets the process that has it.
fn end_if_marked(pid: i32, mark: &[u8]) -> bool {
    let Some(process) = Pid::from_raw(pid) else { return false };
    let Ok(process) = rustix::process::pidfd_open(process, PidfdFlags::empty()) else { return false };
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == mark)
        && rustix::process::pidfd_send_signal(&process, Signal::KILL).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn only_processes_with_the_mark_of_this_folder_are_ended() {
        let (mine, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let start = |of: &Path| {
            let mut command = Command::new("sleep");
            command.arg("1000").env(MARK, of).stdin(Stdio::null()).spawn().unwrap()
        };
        let (mut ours, mut theirs) = (start(mine.path()), start(other.path()));
        // The new program has its environment a moment after the fork.
        let ended = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            end_leftovers(mine.path()) == 1
        });
        assert!(ended);
        ours.wait().unwrap();
        assert!(theirs.try_wait().unwrap().is_none());
        theirs.kill().unwrap();
        theirs.wait().unwrap();
        assert_eq!(end_leftovers(mine.path()), 0);
    }
}
