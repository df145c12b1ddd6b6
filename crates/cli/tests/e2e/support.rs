//! Shared code of the tests: a working folder, the program started in it, and the checks of every record.
//!
//! ```text
//!   Workplace ── dnsdyno("run -s …") ──► Ran { code, stdout, stderr }
//!       │   └─── start("run -s …") ────► Started ── signal, until(…), wait() ──► Ran
//!       └─ every record in the folder is checked when a command ends:
//!          both schemas, ends that add up, no panic on standard error
//! ```

pub(crate) mod broker;
mod record;
mod remote;

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_lab::{Namespace, Need, Place, Server, ServerOptions, ServerSpec, example_queries, require};
use dnsdyno_record::{Digest, Interval};
use dnsdyno_responder::{Config, Faults, Responder, Running};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use signal_hook::consts::SIGHUP;
use tempfile::TempDir;

pub(crate) use record::check_record;
use record::intervals_of;
pub(crate) use remote::Remote;

/// The program under test.
pub(crate) const DNSDYNO: &str = env!("CARGO_BIN_EXE_dnsdyno");

/// A working folder and a turn: tests of [`beside`](crate::beside) run beside each other, each other one alone, so that
/// loads do not disturb each other on two CPUs.
pub(crate) struct Workplace {
    folder: TempDir,
    /// The output of the program, separate from the files that it writes.
    prints: TempDir,
    /// Where the program has its temporary files, if not where all have them.
    temporary: Option<PathBuf>,
    _turn: Turn,
}

impl Workplace {
    /// Waits for the turn.
    pub(crate) fn new() -> Workplace {
        let turn = Turn::of_this_test();
        let folder = || tempfile::Builder::new().prefix("dnsdyno-e2e-").tempdir().unwrap();
        Workplace { folder: folder(), prints: folder(), temporary: None, _turn: turn }
    }

    /// A workplace whose temporary files are in `tmp`, where no other test takes away what is left.
    pub(crate) fn with_own_temporary_files() -> Workplace {
        let work = Workplace::new();
        let temporary = work.path("tmp");
        std::fs::create_dir(&temporary).unwrap();
        Workplace { temporary: Some(temporary), ..work }
    }

    /// A workplace with the queries of the testbed in `q.txt`.
    pub(crate) fn with_queries() -> Workplace {
        let work = Workplace::new();
        work.write("q.txt", example_queries());
        work
    }

    /// The path of something in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Whether there is something of this name in the folder.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Makes a file in the folder.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    /// The text of a file in the folder.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs the program with `words` as its arguments to its end. A run has no check before its load, so that the
    /// server gets the planned queries only.
    pub(crate) fn dnsdyno(&self, words: &str) -> Ran {
        self.start(words).wait()
    }

    /// Runs the program exactly as typed: with the check before the load.
    pub(crate) fn checked(&self, words: &str) -> Ran {
        let mut command = self.command(DNSDYNO);
        command.args(words.split_whitespace());
        self.spawn(command).wait()
    }

    /// Runs it with `input` on standard input.
    pub(crate) fn dnsdyno_reading(&self, input: &str, words: &str) -> Ran {
        let mut command = self.command(DNSDYNO);
        command.args(unchecked(words)).stdin(Stdio::piped());
        let mut started = self.spawn(command);
        // The program may end before it has read all input.
        let _ = started.child.stdin.take().unwrap().write_all(input.as_bytes());
        started.wait()
    }

    /// Starts it.
    pub(crate) fn start(&self, words: &str) -> Started<'_> {
        let mut command = self.command(DNSDYNO);
        command.args(unchecked(words));
        self.spawn(command)
    }

    /// Starts it in a network namespace.
    pub(crate) fn start_in(&self, namespace: &Namespace, words: &str) -> Started<'_> {
        let mut command = self.command("ip");
        command.args(["netns", "exec", namespace.name(), DNSDYNO]).args(unchecked(words));
        self.spawn(command)
    }

    /// Starts it in a network namespace, or with limits.
    pub(crate) fn start_at(&self, place: &Place, words: &str) -> Started<'_> {
        let before = place.words();
        let mut command = self.command("env");
        command.args(before).arg(DNSDYNO).args(unchecked(words));
        self.spawn(command)
    }

    /// Runs a shell script, in which `$0` is the program.
    pub(crate) fn shell(&self, script: &str) -> Ran {
        let mut command = self.command("sh");
        command.args(["-c", &unchecked_script(script), DNSDYNO]);
        self.spawn(command).wait()
    }

    /// Starts a shell script, in which `$0` is the program, with keys for its terminal on standard input.
    pub(crate) fn start_shell_with_keys(&self, script: &str) -> Started<'_> {
        let mut command = self.command("sh");
        command.args(["-c", &unchecked_script(script), DNSDYNO]).stdin(Stdio::piped());
        self.spawn(command)
    }

    /// Runs a shell script in new namespaces: `unshare` creates those of `flag`. Check [`may_unshare`] first.
    pub(crate) fn shell_apart(&self, flag: &str, script: &str) -> Ran {
        let mut command = self.command("unshare");
        command.args([flag, "sh", "-c", &unchecked_script(script), DNSDYNO]);
        self.spawn(command).wait()
    }

    /// Starts a shell in new namespaces, as [`shell_apart`](Workplace::shell_apart), which runs what is typed into it.
    pub(crate) fn start_typing_apart(&self, flag: &str) -> Started<'_> {
        let mut command = self.command("unshare");
        command.args([flag, "sh", "-s"]).stdin(Stdio::piped());
        self.spawn(command)
    }

    /// The digest of a record in the folder, after all checks.
    pub(crate) fn record(&self, name: &str) -> Digest {
        check_record(&self.path(name))
    }

    /// The intervals in a record that may still be in progress.
    pub(crate) fn intervals(&self, name: &str) -> Vec<Interval> {
        intervals_of(&self.path(name))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).envs(self.temporary.iter().map(|folder| ("TMPDIR", folder)));
        command
    }

    fn spawn(&self, mut command: Command) -> Started<'_> {
        let print = |name: &str| File::create(self.prints.path().join(name)).unwrap();
        // Its own process group, so that the children of a script can be ended with it.
        command.current_dir(self.folder.path()).process_group(0);
        let told = format!("{command:?}");
        // Under `nohup` SIGHUP is ignored, which a program inherits, and a handler is not: a new program has the
        // default.
        HANDLES_HANGUP.call_once(|| {
            signal_hook::flag::register(SIGHUP, Arc::default()).unwrap();
        });
        let child = command.stdout(print("stdout")).stderr(print("stderr")).spawn();
        let child = child.unwrap_or_else(|error| panic!("{told}: {error}"));
        Started { work: self, child, told, since: Instant::now(), ended: false }
    }

    /// The standard output of the running program so far.
    pub(crate) fn stdout(&self) -> String {
        self.printed("stdout")
    }

    /// The standard error of the running program so far.
    pub(crate) fn stderr(&self) -> String {
        self.printed("stderr")
    }

    fn printed(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.prints.path().join(name)).unwrap()).into_owned()
    }

    /// Checks every record in the folder.
    fn check_records(&self) {
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            let path = entry.unwrap().path();
            // Tests of incomplete records write files without a complete header.
            let has_header = has_lines(&path.join(dnsdyno_record::RUN_FILE));
            if has_header || path.join(dnsdyno_record::PACKED_FILE).exists() {
                check_record(&path);
            }
        }
    }
}

/// The running program. Dropping it ends it.
pub(crate) struct Started<'a> {
    work: &'a Workplace,
    child: Child,
    told: String,
    since: Instant,
    ended: bool,
}

impl Started<'_> {
    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Presses keys on its terminal.
    pub(crate) fn press(&mut self, keys: &str) {
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until `seen` is true; the test fails if the program ends before, or it takes too long.
    pub(crate) fn until(&mut self, what: &str, mut seen: impl FnMut() -> bool) {
        while !seen() {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.ended = true;
                panic!("{}: it ended ({status}) before {what}\n{}", self.told, self.work.stderr());
            }
            assert!(
                self.since.elapsed() < BOUND,
                "{}: {what}: not in {BOUND:?}\n{}",
                self.told,
                self.work.stderr()
            );
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Waits for its end, and checks its output and records. The test fails if it takes too long.
    pub(crate) fn wait(self) -> Ran {
        self.wait_within(BOUND)
    }

    /// The same for what takes longer than others.
    pub(crate) fn wait_within(mut self, bound: Duration) -> Ran {
        drop(self.child.stdin.take());
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                self.since.elapsed() < bound,
                "{}: no end in {bound:?}\n{}",
                self.told,
                self.work.stderr()
            );
            thread::sleep(LOOK_AGAIN);
        };
        self.ended = true;
        let ran = Ran {
            status,
            stdout: self.work.printed("stdout"),
            stderr: self.work.stderr(),
            took: self.since.elapsed(),
            told: std::mem::take(&mut self.told),
        };
        assert!(!ran.stderr.contains("panicked"), "{ran:?}");
        self.work.check_records();
        ran
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let _ = kill_process_group(self.pid(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    told: String,
    status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Ran {
    /// Checks that it ended with this exit code.
    #[track_caller]
    pub(crate) fn gives(self, code: i32) -> Ran {
        let Ran { told, status, stdout, stderr, .. } = &self;
        assert_eq!(status.code(), Some(code), "{told}: {status}\n{stdout}{stderr}");
        self
    }

    /// Checks that it was a run that completed: exit code 0, or 1 with its line where no query was answered.
    #[track_caller]
    pub(crate) fn completes(self) -> Ran {
        let code = self.stdout.contains("\nFAILED: none of ");
        self.gives(i32::from(code))
    }

    /// The exit code; `None` where a signal ended it.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Checks that it was ended by this signal.
    #[track_caller]
    pub(crate) fn dies_of(self, signal: Signal) -> Ran {
        assert_eq!(self.status.signal(), Some(signal.as_raw()), "{self:?}");
        self
    }

    /// Checks that standard error contains each of `words`.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Ran {
        for word in words {
            assert!(self.stderr.contains(word), "{}: no {word:?} in\n{}", self.told, self.stderr);
        }
        self
    }

    /// Checks that it ended with this code before it sent anything: one message with all of `words` on standard
    /// error, nothing on standard output.
    #[track_caller]
    pub(crate) fn ends_refused(self, code: i32, words: &[&str]) -> Ran {
        let ran = self.gives(code).says(words);
        assert_eq!(ran.stdout, "", "{}", ran.told);
        let message = ran.stderr.lines().rfind(|line| line.starts_with("dnsdyno: ")).unwrap_or_default();
        // A message contains the error of the system only once.
        for part in message.split(": ").filter(|part| part.contains("(os error")) {
            assert_eq!(message.matches(part).count(), 1, "{message}");
        }
        ran
    }
}

/// The arguments in `words`; a run without the check before its load.
fn unchecked(words: &str) -> impl Iterator<Item = &str> {
    let no_check = words.starts_with("run ").then_some("--no-check");
    let mut words = words.split_whitespace();
    words.next().into_iter().chain(no_check).chain(words)
}

/// The same for a shell script, in which `$0` is the program.
fn unchecked_script(script: &str) -> String {
    ["$0 run ", "\"$0\" run "]
        .into_iter()
        .fold(script.to_owned(), |script, run| script.replace(run, &format!("{run}--no-check ")))
}

/// A real server with the zone of the testbed, or `None` (reported on standard error) where it is not installed.
pub(crate) fn real_server(name: &str, options: &ServerOptions) -> Option<Server> {
    if !require(&[Need::Server(name)]) {
        return None;
    }
    let spec = ServerSpec::named(name).unwrap();
    Some(spec.start(options).unwrap_or_else(|error| panic!("{error}")))
}

/// A responder with these faults that answers every query.
pub(crate) fn responder(faults: Faults) -> Running {
    Responder::start(Config { faults, ..Config::default() }).unwrap_or_else(|error| panic!("{error}"))
}

/// A closed port of 127.0.0.1: it was free a moment ago, and the kernel assigns ports at random, so that it is
/// probably not assigned again soon.
pub(crate) fn closed_port() -> SocketAddr {
    std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap()
}

/// Whether namespaces of `flag` (of `unshare`) can be created; reports why not.
pub(crate) fn may_unshare(flag: &str) -> bool {
    if !require(&[Need::Root]) {
        return false;
    }
    let tried = Command::new("unshare").args([flag, "true"]).stderr(Stdio::null()).status();
    if tried.is_ok_and(|status| status.success()) {
        return true;
    }
    skip(&format!("this host gives no namespace: `unshare {flag} true` failed"))
}

/// Whether a program can be run; reports if not.
pub(crate) fn has_program(name: &str) -> bool {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|folder| folder.join(name).is_file());
    found || skip(&format!("{name} is not installed"))
}

/// Whether the programs that read exports are there; reports if not.
pub(crate) fn has_readers() -> bool {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/readers/bin/python");
    python.is_file() || skip("what reads exports is missing; run: scripts/install-pypi readers")
}

/// Reports a skipped test, as [`require`] does for its conditions.
fn skip(reason: &str) -> bool {
    let strict = std::env::var_os("DNSDYNO_REQUIRE_PRIVILEGED").is_some_and(|value| value == "1");
    assert!(!strict, "DNSDYNO_REQUIRE_PRIVILEGED=1, but {reason}");
    // Not eprintln!, which the test harness would hide: a skipped test must be seen.
    let _ = writeln!(io::stderr(), "skipped: {reason}");
    false
}

/// Whether a file has a line; a pipe has none.
fn has_lines(path: &Path) -> bool {
    let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    is_file && fs::read(path).is_ok_and(|bytes| bytes.contains(&b'\n'))
}

/// Held while a test runs the program.
static TURN: RwLock<()> = RwLock::new(());

/// The right of a test to load this host. A failed test leaves nothing behind that could affect the next one.
enum Turn {
    BesideOthers { _shared: RwLockReadGuard<'static, ()> },
    Alone { _whole: RwLockWriteGuard<'static, ()> },
}

impl Turn {
    /// Waits for that of the test of this thread, which has its name: `module::test`.
    fn of_this_test() -> Turn {
        let thread = thread::current();
        if thread.name().is_some_and(|name| name.starts_with("beside::")) {
            Turn::BesideOthers { _shared: TURN.read().unwrap_or_else(PoisonError::into_inner) }
        } else {
            Turn::Alone { _whole: TURN.write().unwrap_or_else(PoisonError::into_inner) }
        }
    }
}

static HANDLES_HANGUP: Once = Once::new();

/// The timeout of a command, which needs some seconds: even a busy host is faster than this.
const BOUND: Duration = Duration::from_secs(60);

/// The interval of polling a running program.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
