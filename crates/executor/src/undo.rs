//! What is changed on a host while something is carried out, and how it is taken back when whoever changed it is no
//! more: after `kill -9` nobody else does.
//!
//! Processes: each that is started has a variable in its environment, whose value names the folder of what started it.
//! What it starts inherits that, so that all of them are found by the folder alone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use dnsdyno_sys::process::marked;
use rustix::process::{Signal, pidfd_send_signal};

/// What the environment of each process holds that was started for one purpose.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    variable: &'static str,
    value: OsString,
}

impl Mark {
    /// A variable, and the value of this one purpose.
    pub(crate) fn new(variable: &'static str, value: impl Into<OsString>) -> Mark {
        Mark { variable, value: value.into() }
    }

    /// What is put into the environment of a process.
    pub(crate) fn into_variable(self) -> (&'static str, OsString) {
        (self.variable, self.value)
    }

    /// Ends every process of this user that has the mark, but this one, and waits for their end; returns what they are
    /// called, with their numbers.
    pub(crate) fn end_processes(&self) -> Vec<String> {
        let deadline = Instant::now() + END_WITHIN;
        let mut ended = BTreeMap::new();
        // What one of them starts meanwhile is met in the next round.
        loop {
            let found = marked(self.variable.as_ref(), &self.value);
            if found.is_empty() || Instant::now() >= deadline {
                break;
            }
            for process in found {
                if pidfd_send_signal(&process.handle, Signal::KILL).is_ok() {
                    ended.entry(process.pid).or_insert(process.name);
                }
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        ended.into_iter().map(|(pid, name)| format!("{name} ({pid})")).collect()
    }
}

/// The kernel ends what is killed in a moment, unless it waits for a device.
const END_WITHIN: Duration = Duration::from_secs(5);

const LOOK_AGAIN: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;

    const VARIABLE: &str = "DNSDYNO_UNDO_TEST";

    /// A shell with this mark, and two that it has started; all of them wait until they are ended.
    fn three(value: &str) -> Child {
        let one = "sh -c 'echo up; kill -STOP $$' &";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("{one} {one} wait")]).env(VARIABLE, value);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap());
        assert_eq!(printed.lines().take(2).map(Result::unwrap).collect::<Vec<_>>(), ["up", "up"]);
        child
    }

    #[test]
    fn all_processes_with_the_mark_have_ended_and_no_others() {
        let value = format!("{}-undo", std::process::id());
        let (mut ours, mut theirs) = (three(&value), three(&format!("{value}-of-another")));
        let ended = Mark::new(VARIABLE, &value).end_processes();
        assert_eq!(ended.len(), 3, "{ended:?}");
        assert!(ended.iter().any(|process| process.ends_with(&format!(" ({})", ours.id()))), "{ended:?}");
        // It has waited for their end.
        assert!(marked(VARIABLE.as_ref(), value.as_ref()).is_empty());
        assert!(!ours.wait().unwrap().success());
        assert!(theirs.try_wait().unwrap().is_none());
        assert_eq!(Mark::new(VARIABLE, &value).end_processes(), Vec::<String>::new());

        assert_eq!(Mark::new(VARIABLE, format!("{value}-of-another")).end_processes().len(), 3);
        theirs.wait().unwrap();
    }
}
