//! Ends what commands of an earlier part of a qualification left behind.

use std::path::Path;

use crate::undo::Mark;

/// Ends each process of this user that was started by commands of the qualification in `of`, and returns how many.
pub fn end_leftovers(of: &Path) -> u32 {
    u32::try_from(mark_of(of).end_processes().len()).unwrap_or(u32::MAX)
}

/// The mark of each command of the qualification in this folder.
pub(super) fn mark_of(folder: &Path) -> Mark {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    Mark::new("DNSDYNO_QUALIFICATION", folder)
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
            command.arg("1000").envs([mark_of(of).into_variable()]).stdin(Stdio::null()).spawn().unwrap()
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
