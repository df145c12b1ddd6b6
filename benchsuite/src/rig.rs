//! Child processes: bound to a CPU, ended together with this process in any case, and their CPU time.
//!
//! ```text
//!   first CPU allowed: this suite, the responder, tcpdump        last CPU allowed: the generator
//! ```
//!
//! With one CPU they share it. All children are started and awaited from the main thread: the kernel ends a child
//! together with the *thread* that started it, and the CPU time of a child is the increase of the children's total.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tempfile::TempDir;

/// Where children run, and the folder for what they read and write.
#[derive(Debug)]
pub(crate) struct Rig {
    cpus: Vec<usize>,
    work: TempDir,
}

/// A program with its arguments, the CPUs it may use, and the network namespace it is to see.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    program: PathBuf,
    arguments: Vec<OsString>,
    cpus: Vec<usize>,
    namespace: Option<String>,
}

/// A started child. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    exit: OwnedFd,
    started: Instant,
    finished: Option<(ExitStatus, CpuTime)>,
    output: Output,
    name: String,
}

/// A child that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) cpu: CpuTime,
    pub(crate) wall: Duration,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// CPU time of a process with all its threads.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CpuTime {
    pub(crate) user: Duration,
    pub(crate) system: Duration,
}

/// Files, not pipes, which would have to be read while the child runs.
#[derive(Debug)]
struct Output {
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Rig {
    /// A rig whose temporary folder lies in `folder`. Binds this process, and what it starts without a CPU of its
    /// own, to the server's CPU.
    pub(crate) fn new(folder: &Path) -> anyhow::Result<Self> {
        let cpus = dnsdyno_sys::thread::allowed_cpus().context("cannot read the CPUs of this process")?;
        let server_cpu = *cpus.first().context("this process may run on no CPU")?;
        dnsdyno_sys::thread::pin_to_cpu(server_cpu).context("cannot bind this process to a CPU")?;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        remove_leftovers(folder);
        let work = tempfile::Builder::new()
            .prefix(&format!("{}-", std::process::id()))
            .tempdir_in(folder)
            .with_context(|| format!("cannot make a folder in {}", folder.display()))?;
        Ok(Self { cpus, work })
    }

    /// The folder for what children read and write; it is removed together with the rig.
    pub(crate) fn work(&self) -> &Path {
        self.work.path()
    }

    /// All CPUs this process was allowed to use when it started, lowest first.
    pub(crate) fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// The CPU of the responder and of the suite itself.
    pub(crate) fn server_cpu(&self) -> usize {
        self.cpus[0]
    }

    /// The CPU of the generator under test.
    pub(crate) fn generator_cpu(&self) -> usize {
        self.cpus[self.cpus.len() - 1]
    }

    /// Starts a child; `tag` names its output files, which the next child of the same tag overwrites.
    pub(crate) fn start(&self, call: &Call, tag: &str) -> anyhow::Result<Running> {
        let output = Output {
            stdout: self.work().join(format!("{tag}.out")),
            stderr: self.work().join(format!("{tag}.err")),
        };
        let create =
            |path: &Path| File::create(path).with_context(|| format!("cannot write {}", path.display()));
        let mut command = call.command();
        command.current_dir(self.work()).stdin(Stdio::null());
        command.stdout(create(&output.stdout)?).stderr(create(&output.stderr)?);
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot start {call}"))?;
        let exit = match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(exit) => exit,
            Err(error) => {
                child.kill()?;
                child.wait()?;
                return Err(error).context("cannot watch a child");
            }
        };
        Ok(Running { child, exit, started, finished: None, output, name: call.name() })
    }

    /// Runs a child to its end, `within` at most. An exit status other than 0 is an error with its last output.
    pub(crate) fn run(&self, call: &Call, tag: &str, within: Duration) -> anyhow::Result<Finished> {
        self.start(call, tag)?.finish(within)
    }

    /// The command as one would type it, with this run's temporary folder as `$WORK`.
    pub(crate) fn shown(&self, call: &Call) -> String {
        call.to_string().replace(&self.work().display().to_string(), "$WORK")
    }
}

impl Call {
    /// A call of `program` on no CPU in particular.
    pub(crate) fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), arguments: Vec::new(), cpus: Vec::new(), namespace: None }
    }

    /// In this network namespace.
    pub(crate) fn within(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// With the words of `text` as further arguments.
    pub(crate) fn words(mut self, text: &str) -> Self {
        self.arguments.extend(text.split_whitespace().map(OsString::from));
        self
    }

    /// With one further argument, taken as it is.
    pub(crate) fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Only on these CPUs.
    pub(crate) fn on(mut self, cpus: &[usize]) -> Self {
        self.cpus = cpus.to_vec();
        self
    }

    /// The program's name without its folder.
    pub(crate) fn name(&self) -> String {
        self.program.file_name().unwrap_or(self.program.as_os_str()).to_string_lossy().into_owned()
    }

    /// `setpriv` has the kernel end the child when we die, even by SIGKILL; like `nsenter` and `taskset` it then
    /// becomes the program, so that id, CPU time and signals are the program's own. `ip netns exec` would also
    /// replace `/sys`, and with it what programs find there.
    fn command(&self) -> Command {
        let mut words: Vec<OsString> = Vec::new();
        if let Some(setpriv) = find_program("setpriv") {
            words.extend([setpriv.into(), "--pdeathsig".into(), "TERM".into(), "--".into()]);
        }
        if let Some(namespace) = &self.namespace {
            words.extend(["nsenter".into(), format!("--net={NAMESPACES}/{namespace}").into(), "--".into()]);
        }
        if !self.cpus.is_empty() {
            words.extend(["taskset".into(), "-c".into(), list(&self.cpus).into()]);
        }
        words.push(self.program.clone().into());
        words.extend(self.arguments.iter().cloned());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The last part of a namespace's name says which end of the veth pair it is; the rest differs from run to run.
        if let Some(end) = self.namespace.as_ref().and_then(|name| name.rsplit('-').next()) {
            write!(f, "ip netns exec {end} ")?;
        }
        if !self.cpus.is_empty() {
            write!(f, "taskset -c {} ", list(&self.cpus))?;
        }
        f.write_str(&self.name())?;
        for argument in &self.arguments {
            let argument = argument.to_string_lossy();
            let plain = argument.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:,=@".contains(c));
            if plain { write!(f, " {argument}")? } else { write!(f, " '{argument}'")? }
        }
        Ok(())
    }
}

impl Running {
    /// The process id; it stays reserved until this value is gone.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What the child has written to standard error so far.
    pub(crate) fn stderr(&self) -> anyhow::Result<String> {
        read_lossy(&self.output.stderr)
    }

    /// Waits until the child has ended, `within` at most; says whether it has. A signal to stop is an error.
    pub(crate) fn ends_within(&self, within: Duration) -> anyhow::Result<bool> {
        let deadline = Instant::now() + within;
        loop {
            ensure!(!stopped(), "stopped by a signal");
            let left = deadline.saturating_duration_since(Instant::now());
            // Another thread may have received the signal, so the flag must be read.
            if self.waits(left.min(HEAR_SIGNALS))? {
                return Ok(true);
            }
            if left <= HEAR_SIGNALS {
                return Ok(false);
            }
        }
    }

    /// Waits for the end, `within` at most, regardless of signals; says whether the child has ended.
    fn waits(&self, within: Duration) -> anyhow::Result<bool> {
        let deadline = Instant::now() + within;
        loop {
            let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
            match rustix::event::poll(&mut [PollFd::new(&self.exit, PollFlags::IN)], left.as_ref()) {
                Ok(ready) => return Ok(ready > 0),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error).context("cannot wait for a child"),
            }
        }
    }

    /// Waits until `shows` finds a value in standard error.
    pub(crate) fn wait_until<T>(
        &self,
        within: Duration,
        mut shows: impl FnMut(&str) -> Option<T>,
    ) -> anyhow::Result<T> {
        let deadline = Instant::now() + within;
        loop {
            let ended = self.ends_within(LOOK_AGAIN)?;
            let text = self.stderr()?;
            if let Some(found) = shows(&text) {
                return Ok(found);
            }
            ensure!(!ended, "{} ended too early: {}", self.name, last_lines(&text));
            ensure!(
                Instant::now() < deadline,
                "{} is not ready after {within:?}: {}",
                self.name,
                last_lines(&text)
            );
        }
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        match pidfd_send_signal(&self.exit, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error).with_context(|| format!("cannot signal {}", self.name)),
        }
    }

    /// Waits for the end, `within` at most. An exit status other than 0 is an error with the last lines of its output.
    pub(crate) fn finish(self, within: Duration) -> anyhow::Result<Finished> {
        let name = self.name.clone();
        let (status, finished) = self.finish_whatever_status(within)?;
        ensure!(status.success(), "{name} ended with {status}: {}", last_lines(&finished.stderr));
        Ok(finished)
    }

    /// Waits for the end, `within` at most, and takes any exit status.
    pub(crate) fn finish_whatever_status(
        mut self,
        within: Duration,
    ) -> anyhow::Result<(ExitStatus, Finished)> {
        let ended = self.ends_within(within)?;
        let wall = self.started.elapsed();
        ensure!(ended, "{} did not end within {within:?}: {}", self.name, last_lines(&self.stderr()?));
        let (status, cpu) = self.reap()?;
        let (stdout, stderr) = (read_lossy(&self.output.stdout)?, self.stderr()?);
        Ok((status, Finished { cpu, wall, stdout, stderr }))
    }

    fn reap(&mut self) -> anyhow::Result<(ExitStatus, CpuTime)> {
        if let Some(known) = self.finished {
            return Ok(known);
        }
        let before = CpuTime::of_children()?;
        let status = self.child.wait().with_context(|| format!("cannot wait for {}", self.name))?;
        let cpu = CpuTime::of_children()?.since(before);
        self.finished = Some((status, cpu));
        Ok((status, cpu))
    }

    fn end(&mut self) -> anyhow::Result<()> {
        if self.finished.is_none() {
            self.signal(Signal::TERM)?;
            if !self.waits(END_WITHIN)? {
                self.signal(Signal::KILL)?;
            }
            self.reap()?;
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("benchsuite: {} (process {}) may still run: {error:#}", self.name, self.child.id());
        }
    }
}

impl CpuTime {
    /// User and system time together.
    pub(crate) fn total_s(self) -> f64 {
        (self.user + self.system).as_secs_f64()
    }

    /// Of all children that have been waited for, to the microsecond.
    fn of_children() -> anyhow::Result<Self> {
        let usage =
            getrusage(UsageWho::RUSAGE_CHILDREN).context("cannot read the CPU time of the children")?;
        let (user, system) = (usage.user_time(), usage.system_time());
        let duration = |seconds: i64, micros: i64| {
            Duration::from_secs(seconds.unsigned_abs()) + Duration::from_micros(micros.unsigned_abs())
        };
        Ok(Self {
            user: duration(user.tv_sec(), user.tv_usec()),
            system: duration(system.tv_sec(), system.tv_usec()),
        })
    }

    fn since(self, before: Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
        }
    }
}

/// From now on SIGINT, SIGTERM and SIGHUP request a stop, after which everything is cleaned up; a second one ends the
/// process at once.
pub(crate) fn stop_on_signals() -> anyhow::Result<()> {
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        // In this order: at the first signal the flag is not set yet.
        signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&STOPPED))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&STOPPED)))
            .context("cannot listen for signals")?;
    }
    Ok(())
}

/// Whether a signal requested a stop.
pub(crate) fn stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// Removes the folders of rigs whose process was killed. Their names begin with its id.
fn remove_leftovers(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let id = name.split_once('-').and_then(|(id, _)| id.parse::<u32>().ok());
        if id.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists()) {
            // If this fails, the next rig tries again; leftovers do no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Where a program is: on the PATH, or where Debian keeps servers, which a user's PATH leaves out.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places =
        std::env::split_paths(&path).chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from));
    places.map(|place| place.join(name)).find(|candidate| candidate.is_file())
}

/// A peer's program; if it is missing, one line is printed.
pub(crate) fn find_peer(name: &str) -> Option<PathBuf> {
    let found = find_program(name);
    if found.is_none() {
        eprintln!("  {name} is not installed: left out");
    }
    found
}

fn list(cpus: &[usize]) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

fn read_lossy(path: &Path) -> anyhow::Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines.as_slice() {
        [] => "it printed nothing".to_owned(),
        lines => lines[lines.len().saturating_sub(LAST_LINES)..].join(" | "),
    }
}

static STOPPED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Where `ip netns` keeps its namespaces.
const NAMESPACES: &str = "/run/netns";

/// How soon a stop request is noticed.
const HEAR_SIGNALS: Duration = Duration::from_millis(100);

/// How often the output of a child is read.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How long a child has to end by itself before it is killed.
const END_WITHIN: Duration = Duration::from_secs(5);

/// Enough for the reason of a failure.
const LAST_LINES: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    /// A rig in a folder of its own, so that it removes nothing of others.
    fn rig() -> (TempDir, Rig) {
        let folder = tempfile::tempdir().expect("a folder");
        let rig = Rig::new(folder.path()).expect("a rig");
        (folder, rig)
    }

    fn shell(script: &str) -> Call {
        Call::new("/bin/sh").arg("-c").arg(script)
    }

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn the_cpu_time_of_a_child_is_its_own() {
        let (_folder, rig) = rig();
        let busy =
            rig.run(&shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"), "busy", SOON).unwrap();
        let idle = rig.run(&shell("exec sleep 0.2"), "idle", SOON).unwrap();
        assert!(busy.cpu.total_s() > 0.02, "{:?}", busy.cpu);
        assert!(idle.cpu.total_s() < busy.cpu.total_s() / 2.0, "{:?} {:?}", idle.cpu, busy.cpu);
        assert!(idle.wall >= Duration::from_millis(200));
    }

    #[test]
    fn a_child_that_fails_reports_its_last_lines() {
        let (_folder, rig) = rig();
        let error = rig.run(&shell("echo no such file >&2; exit 3"), "fails", SOON).unwrap_err().to_string();
        assert!(error.contains("no such file") && error.contains('3'), "{error}");
    }

    #[test]
    fn a_child_that_is_dropped_has_ended() {
        let (_folder, rig) = rig();
        let running = rig.start(&shell("echo up >&2; exec sleep 60"), "dropped").unwrap();
        running.wait_until(SOON, |text| text.contains("up").then_some(())).unwrap();
        let place = PathBuf::from(format!("/proc/{}", running.id()));
        assert!(place.exists());
        drop(running);
        assert!(!place.exists());
    }

    #[test]
    fn waiting_for_words_of_a_child_that_ended_without_them_is_an_error() {
        let (_folder, rig) = rig();
        let running = rig.start(&shell("echo bye >&2"), "early").unwrap();
        let error =
            running.wait_until(SOON, |text| text.contains("up").then_some(())).unwrap_err().to_string();
        assert!(error.contains("bye"), "{error}");
    }

    #[test]
    fn a_new_rig_removes_the_leftovers_of_a_killed_one_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        // No process has an id beyond the kernel's limit of 2^22.
        let (dead, alive) =
            (folder.path().join("4194305-x"), folder.path().join(format!("{}-x", std::process::id())));
        let other = folder.path().join("notes");
        [&dead, &alive, &other].iter().for_each(|path| fs::create_dir(path).unwrap());
        let rig = Rig::new(folder.path()).unwrap();
        assert_eq!([&dead, &alive, &other].map(|path| path.exists()), [false, true, true]);
        assert!(rig.work().starts_with(folder.path()));
    }

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let (_folder, rig) = rig();
        let file = rig.work().join("queries.txt");
        let call = Call::new("/opt/dnsperf").words("-q 100 -d").arg(file).arg("a b").on(&[1, 3]);
        assert_eq!(rig.shown(&call), "taskset -c 1,3 dnsperf -q 100 -d $WORK/queries.txt 'a b'");
        let call = Call::new("/sbin/ip").within("dnsdyno-77-0-near");
        assert_eq!(rig.shown(&call), "ip netns exec near ip");
    }
}
