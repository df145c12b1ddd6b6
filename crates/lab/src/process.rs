//! One server process: started in a process group of its own, watched through its pidfd, ended by signals to that
//! group, so that what a server forks (NSD does) ends with it.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_sys::process;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal};

use crate::Cancel;

/// A started process. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    exit: OwnedFd,
    status: Option<ExitStatus>,
}

impl Process {
    /// Starts a program, which `words` begin with, in `folder` with all its output appended to `log`.
    pub(crate) fn start(words: &[OsString], folder: &Path, log: File) -> io::Result<Self> {
        let mut command = with_death_signal(words);
        command.current_dir(folder).process_group(0);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut child = spawn(command)?;
        match process::handle(child.id()) {
            Ok(exit) => Ok(Self { child, exit, status: None }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error)
            }
        }
    }

    /// The process id; it stays reserved until the process has been waited for.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the process still runs.
    pub(crate) fn is_running(&self) -> bool {
        self.status.is_none() && !self.ends_within(Duration::ZERO)
    }

    /// Waits until the process has ended, `within` at most; returns whether it has.
    pub(crate) fn ends_within(&self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        wait_for_exit(&self.exit, deadline)
    }

    /// The same, or until that is called off.
    pub(crate) fn ends_within_unless(&self, within: Duration, cancel: &Cancel) -> bool {
        let deadline = Instant::now() + within;
        loop {
            let look_at = deadline.min(Instant::now() + LOOK_AGAIN);
            if wait_for_exit(&self.exit, look_at) {
                return true;
            }
            if cancel.is_requested() || Instant::now() >= deadline {
                return false;
            }
        }
    }

    /// Asks the process to end, and kills it after `within`. Its status shows which it was.
    pub(crate) fn stop(&mut self, within: Duration) -> io::Result<ExitStatus> {
        if self.is_running() {
            self.signal(Signal::TERM)?;
            self.ends_within(within);
        }
        self.kill()
    }

    /// Ends the process and everything in its group at once.
    pub(crate) fn kill(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        // Until the wait at the end, the id cannot be given to another process, so this meets only ours. What the
        // process forked holds its sockets too: the port is free only when all of them have ended.
        let deadline = Instant::now() + KILL_WITHIN;
        loop {
            let group = process::running_in_group(self.id());
            self.signal(Signal::KILL)?;
            if group.is_empty() || !group.iter().all(|exit| wait_for_exit(exit, deadline)) {
                break;
            }
        }
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(status)
    }

    /// Sends a signal to everything in its group.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        match rustix::process::kill_process_group(Pid::from_child(&self.child), signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A failure cannot be reported here, and a process that has ended already is what we want.
        let _ = self.stop(STOP_WITHIN);
    }
}

/// How long a server has to end by itself before it is killed.
pub(crate) const STOP_WITHIN: Duration = Duration::from_secs(5);

/// How often a wait looks whether it was called off: sooner than a person notices.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How long the kernel has to end what was killed; more than a moment only for a process stuck in the kernel.
const KILL_WITHIN: Duration = Duration::from_secs(5);

/// Waits until the process of this pidfd has ended, with its files closed; returns whether it has by
/// `deadline`.
fn wait_for_exit(exit: &OwnedFd, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        match rustix::event::poll(&mut [PollFd::new(exit, PollFlags::IN)], timeout.as_ref()) {
            Ok(ready) => return ready > 0,
            Err(rustix::io::Errno::INTR) => {}
            // The kernel does not know; the caller continues to its own time limit.
            Err(_) => return false,
        }
    }
}

/// A command that the kernel will end with its parent, even if that is killed: `setpriv`, part of every Debian,
/// sets the death signal and then becomes the program. Without `setpriv` the program is started as it is.
fn with_death_signal(words: &[OsString]) -> Command {
    let setpriv = Path::new("/usr/bin/setpriv");
    let before = if setpriv.exists() { &["/usr/bin/setpriv", "--pdeathsig", "TERM", "--"][..] } else { &[] };
    let mut words = before.iter().map(OsString::from).chain(words.iter().cloned());
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// Spawns from one thread that lives as long as this process. The kernel sends the death signal when the *thread*
/// that spawned ends, and a server may well outlive the test thread that started it.
fn spawn(command: Command) -> io::Result<Child> {
    type Order = (Command, mpsc::Sender<io::Result<Child>>);
    static SPAWNER: OnceLock<mpsc::Sender<Order>> = OnceLock::new();

    let spawner = SPAWNER.get_or_init(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        let work = move || {
            for (mut command, reply) in inbox {
                let child = while_nothing_forks(|| command.spawn());
                // The asker waits for the reply, so it is there to take it.
                let _ = reply.send(child);
            }
        };
        // If no thread can be started, the receiver is dropped, and the send below fails.
        let _ = thread::Builder::new().name("lab-spawner".to_owned()).spawn(work);
        orders
    });
    let (reply, outcome) = mpsc::channel();
    let no_thread = || io::Error::other("the thread that starts servers is not there");
    spawner.send((command, reply)).map_err(|_| no_thread())?;
    outcome.recv().map_err(|_| no_thread())?
}

/// Runs `work` while no server is between fork and exec. There it holds a copy of every file of ours, so that a
/// socket closed by us meanwhile keeps its port a moment longer.
pub(crate) fn while_nothing_forks<T>(work: impl FnOnce() -> T) -> T {
    static FORKING: Mutex<()> = Mutex::new(());
    let _guard = FORKING.lock().unwrap_or_else(PoisonError::into_inner);
    work()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::ExitStatusExt;

    /// A shell that runs `script`, and what it prints.
    fn shell(script: &str) -> (Process, BufReader<io::PipeReader>) {
        let (read_end, write_end) = io::pipe().expect("a pipe");
        let log = File::from(OwnedFd::from(write_end));
        let process = Process::start(&["/bin/sh", "-c", script].map(OsString::from), Path::new("/"), log);
        (process.expect("a shell starts"), BufReader::new(read_end))
    }

    fn next_line(output: &mut BufReader<io::PipeReader>) -> String {
        let mut line = String::new();
        output.read_line(&mut line).expect("the pipe can be read");
        line
    }

    #[test]
    fn a_process_that_ends_by_itself_is_seen_with_its_status() {
        let (mut process, _output) = shell("exit 3");
        assert!(process.ends_within(Duration::from_secs(10)));
        assert_eq!(process.stop(STOP_WITHIN).expect("it stops").code(), Some(3));
    }

    #[test]
    fn a_process_that_ends_when_asked_is_not_killed() {
        let (mut process, mut output) = shell("trap 'exit 7' TERM; echo up; while :; do sleep 0.01; done");
        assert_eq!(next_line(&mut output), "up\n");
        assert_eq!(process.stop(STOP_WITHIN).expect("it stops").code(), Some(7));
    }

    #[test]
    fn a_process_that_ignores_the_request_is_killed_after_the_bound() {
        let (mut process, mut output) = shell("trap '' TERM; echo up; while :; do sleep 1; done");
        assert_eq!(next_line(&mut output), "up\n");
        let status = process.stop(Duration::from_millis(100)).expect("it stops");
        assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
        assert!(!process.is_running());
    }

    #[test]
    fn a_wait_that_is_called_off_ends_before_the_process() {
        let (process, _output) = shell("sleep 60");
        let cancel = Cancel::default();
        assert!(!process.ends_within_unless(Duration::from_millis(60), &cancel), "the time is over");
        let begun = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| cancel.clone().request());
            assert!(!process.ends_within_unless(Duration::from_secs(60), &cancel));
        });
        assert!(begun.elapsed() < Duration::from_secs(30) && process.is_running());
    }

    #[test]
    fn what_a_process_forked_has_ended_with_it() {
        let (mut process, mut output) = shell("sleep 60 & sleep 60 & echo up; wait");
        assert_eq!(next_line(&mut output), "up\n");
        let group = process.id();
        assert_eq!(process::running_in_group(group).len(), 3, "a shell and two sleeps");

        process.kill().expect("it ends");
        assert!(process::running_in_group(group).is_empty());
        // The pipe ends only when no process holds its other end.
        assert_eq!(next_line(&mut output), "");
    }
}
