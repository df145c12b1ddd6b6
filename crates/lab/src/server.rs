//! A running server: its files, its port, its process, from the filled-in template to the removed folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use std::{env, thread};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::config::{self, CONFIG_FILE, LOG_FILE, ZONE_FILE};
use crate::error::StartFailureReason;
use crate::options::ZoneContent;
use crate::port::Port;
use crate::process::{Process, STOP_WITHIN};
use crate::ready::{self, ReadyCheck};
use crate::step::Step;
use crate::{LabError, ServerOptions, ServerSpec, StartFailure, template};

/// A server that answers. Dropping it ends the process and removes its folder, except when the thread is
/// panicking or `DNSDYNO_LAB_KEEP` is set: then the folder stays, and standard error says where.
#[derive(Debug)]
pub struct Server {
    // Dropped in this order: first the process, then what it uses.
    process: Process,
    setup: Setup,
}

/// What a server needs, made before its process starts; a restart uses it again.
#[derive(Debug)]
struct Setup {
    spec: ServerSpec,
    options: ServerOptions,
    address: SocketAddr,
    program: PathBuf,
    arguments: Vec<String>,
    initialise: Vec<String>,
    checks: Vec<ReadyCheck>,
    watch: Option<String>,
    /// By placeholder: `port`, and every `port_NAME` that the template uses.
    ports: BTreeMap<String, Port>,
    folder: TempDir,
}

impl ServerSpec {
    /// Starts a server of this kind and returns when it answers.
    ///
    /// # Errors
    /// [`LabError::Start`] when it was started and does not serve, [`LabError::Cancelled`] when that was called off;
    /// the others say what was missing before.
    pub fn start(&self, options: &ServerOptions) -> Result<Server, LabError> {
        Server::start(self, options)
    }
}

impl Server {
    /// Starts a server; uses a new port and tries again when another program has taken the first one.
    fn start(spec: &ServerSpec, options: &ServerOptions) -> Result<Self, LabError> {
        let mut attempt = 1;
        loop {
            let mut setup = Setup::new(spec, options)?;
            match setup.initialise().and_then(|()| setup.launch()) {
                Ok(process) => return Ok(Self { process, setup }),
                Err(LabError::Start(failure)) => {
                    let port_taken = matches!(failure.reason, StartFailureReason::PortTaken(_));
                    if !port_taken || attempt == PORT_ATTEMPTS {
                        setup.folder.disable_cleanup(true);
                        return Err(LabError::Start(failure));
                    }
                    attempt += 1;
                }
                Err(other) => return Err(other),
            }
        }
    }

    /// Where it answers over UDP, and over TCP where it supports that.
    pub fn address(&self) -> SocketAddr {
        self.setup.address
    }

    /// The address of a further listener: `listener("tls")` is the one of `{port_tls}` in the
    /// template.
    pub fn listener(&self, name: &str) -> Option<SocketAddr> {
        let port = self.setup.ports.get(&format!("port_{name}"))?;
        Some(SocketAddr::new(self.setup.address.ip(), port.number()))
    }

    /// The further listeners: `port_tls` of the template with its port.
    pub fn ports(&self) -> impl Iterator<Item = (&str, u16)> {
        self.setup
            .ports
            .iter()
            .filter(|(name, _)| *name != "port")
            .map(|(name, port)| (name.as_str(), port.number()))
    }

    /// The server's name, as in [`ServerSpec::name`].
    pub fn name(&self) -> &str {
        self.setup.spec.name()
    }

    /// Its process id; what it forks is in the process group of the same number.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Whether its process still runs.
    pub fn is_running(&self) -> bool {
        self.process.is_running()
    }

    /// How its process ended; `None` while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.is_running() { None } else { self.process.kill().ok() }
    }

    /// The configuration that it was started with.
    pub fn config_path(&self) -> PathBuf {
        self.setup.folder.path().join(CONFIG_FILE)
    }

    /// Everything it wrote to standard output and error, and its log.
    pub fn log_path(&self) -> PathBuf {
        self.setup.log_path()
    }

    /// The folder with its configuration, zone, databases and log.
    pub fn folder(&self) -> &Path {
        self.setup.folder.path()
    }

    /// Its statistics, as `--watch` takes them, where its template says where they are.
    pub fn watch(&self) -> Option<&str> {
        self.setup.watch.as_deref()
    }

    /// Asks it to end, kills it after 5 s, and returns when it has ended. The status shows which it
    /// was.
    ///
    /// # Errors
    /// [`LabError::Io`] when the system refuses the signal.
    pub fn stop(mut self) -> Result<ExitStatus, LabError> {
        self.process.stop(STOP_WITHIN).map_err(LabError::io(self.setup.action("stop")))
    }

    /// Ends it at once, as a crash would; returns when it has ended. [`Server::restart`] brings it back.
    ///
    /// # Errors
    /// [`LabError::Io`] when the system refuses the signal.
    pub fn kill(&mut self) -> Result<ExitStatus, LabError> {
        self.process.kill().map_err(LabError::io(self.setup.action("kill")))
    }

    /// Stops it where it is, as an administrator's SIGSTOP does: its sockets stay open, and nothing reads them.
    ///
    /// # Errors
    /// [`LabError::Io`] when the system refuses the signal.
    pub fn pause(&self) -> Result<(), LabError> {
        self.process.signal(Signal::STOP).map_err(LabError::io(self.setup.action("pause")))
    }

    /// Lets it run on.
    ///
    /// # Errors
    /// [`LabError::Io`] when the system refuses the signal.
    pub fn resume(&self) -> Result<(), LabError> {
        self.process.signal(Signal::CONT).map_err(LabError::io(self.setup.action("resume")))
    }

    /// Ends it if it runs, and starts it again on the same port with the same configuration; returns when it
    /// answers. The log is continued in the same file.
    ///
    /// # Errors
    /// As for a start, but never on another port.
    pub fn restart(&mut self) -> Result<(), LabError> {
        self.process.stop(STOP_WITHIN).map_err(LabError::io(self.setup.action("stop")))?;
        match self.setup.launch() {
            Ok(process) => {
                self.process = process;
                Ok(())
            }
            Err(error) => {
                self.setup.folder.disable_cleanup(matches!(error, LabError::Start(_)));
                Err(error)
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if thread::panicking() || env::var_os(KEEP_VARIABLE).is_some() {
            self.setup.folder.disable_cleanup(true);
            eprintln!("{} kept its log: {}", self.name(), self.log_path().display());
        }
    }
}

impl Setup {
    /// Chooses the ports and writes the configuration and the zone.
    fn new(spec: &ServerSpec, options: &ServerOptions) -> Result<Self, LabError> {
        let program = spec.program()?;
        let within = options.within.clone().unwrap_or_else(env::temp_dir);
        let folder = tempfile::Builder::new()
            .prefix(&format!("dnsdyno-{}-", spec.name()))
            .tempdir_in(&within)
            .map_err(LabError::io(format!("make a folder in {}", within.display())))?;

        let given = &spec.template;
        let with_parts = |text: &String| config::with_parts(spec, options, text);
        let (config, command) = (with_parts(&given.config)?, given.command.iter().map(with_parts));
        let command = command.collect::<Result<Vec<_>, _>>()?;
        let mut ports = BTreeMap::from([("port".to_owned(), free_port(options)?)]);
        let texts = command.iter().chain([&config]).chain(&given.watch);
        let names = texts.flat_map(|text| template::names(text));
        for name in names.filter(|name| name.starts_with("port_")) {
            if !ports.contains_key(name) {
                ports.insert(name.to_owned(), free_port(options)?);
            }
        }
        let address = SocketAddr::new(options.address, ports["port"].number());

        let values = config::values(spec, options, folder.path(), &ports)?;
        let fill = |text: &str| {
            template::fill(text, |name| values.get(name).cloned()).map_err(|placeholder| {
                LabError::UnknownPlaceholder { server: spec.name().to_owned(), placeholder }
            })
        };
        let fill_all = |words: &[String]| words.iter().map(|word| fill(word)).collect::<Result<Vec<_>, _>>();
        let check = |check: &ReadyCheck| match check {
            ReadyCheck::Command(words) => fill_all(words).map(ReadyCheck::Command),
            query => Ok(query.clone()),
        };
        let (mut arguments, initialise) = (fill_all(&command)?, fill_all(&given.initialise)?);
        // Those of parts that were not chosen.
        arguments.retain(|argument| !argument.is_empty());
        let checks = given.ready.checks.iter().map(check).collect::<Result<_, _>>()?;
        let watch = given.watch.as_deref().map(fill).transpose()?;
        let config = config::with_settings(spec, fill(&config)?, &options.settings)?;
        write(&folder.path().join(CONFIG_FILE), &config)?;
        if let ZoneContent::Text(text) = &options.zone.content {
            write(&folder.path().join(ZONE_FILE), text)?;
        }
        let (spec, mut options) = (spec.clone(), options.clone());
        options.place.root = spec.root.as_ref().map(|root| root.mounted_in(folder.path())).transpose()?;
        Ok(Self { spec, options, address, program, arguments, initialise, checks, watch, ports, folder })
    }

    /// Makes the folder ready for the first start.
    fn initialise(&self) -> Result<(), LabError> {
        let Err(how) = self.step(&self.initialise, &self.log_path(), self.options.ready_within)? else {
            return Ok(());
        };
        self.unless_cancelled()?;
        let program = self.initialise.first().cloned().unwrap_or_default();
        Err(LabError::Start(Box::new(self.failure(StartFailureReason::NotInitialised { program, how }, 0))))
    }

    /// Runs a program of the template; none is a success.
    fn step(&self, words: &[String], log: &Path, within: Duration) -> Result<Result<(), String>, LabError> {
        let Some((program, arguments)) = words.split_first() else { return Ok(Ok(())) };
        let program = self.spec.find(program)?;
        let ServerOptions { place, cancel, .. } = &self.options;
        let step =
            Step { program: &program, arguments, place, folder: self.folder.path(), log, within, cancel };
        Ok(step.run())
    }

    /// An error where the start was called off.
    fn unless_cancelled(&self) -> Result<(), LabError> {
        if self.options.cancel.is_requested() {
            return Err(LabError::Cancelled { server: self.spec.name().to_owned() });
        }
        Ok(())
    }

    /// Starts the process and waits until it answers.
    fn launch(&self) -> Result<Process, LabError> {
        let log_path = self.log_path();
        let log = File::options()
            .create(true)
            .append(true)
            .open(&log_path)
            .map_err(LabError::io(format!("write {}", log_path.display())))?;
        let log_start = log.metadata().map_or(0, |metadata| metadata.len());
        let mut words = self.options.place.words();
        words.push(self.program.clone().into());
        words.extend(self.arguments.iter().map(OsString::from));
        let mut process =
            Process::start(&words, self.folder.path(), log).map_err(LabError::io(self.action("start")))?;

        match self.wait_until_ready(&mut process, log_start) {
            Ok(()) => Ok(process),
            Err(reason) => {
                // Ended before its log is read, so that its last lines are included.
                process.stop(STOP_WITHIN).map_err(LabError::io(self.action("stop")))?;
                self.unless_cancelled()?;
                Err(LabError::Start(Box::new(self.failure(reason, log_start))))
            }
        }
    }

    /// Tries each check until it succeeds, the process has ended, the time is over, or the start is called off.
    fn wait_until_ready(&self, process: &mut Process, log_start: u64) -> Result<(), StartFailureReason> {
        let deadline = Instant::now() + self.options.ready_within;
        let no_answer = |last| StartFailureReason::NoAnswer { within: self.options.ready_within, last };
        let mut waiting = self.checks.iter().peekable();
        let mut patience = ready::FIRST_WAIT;
        while let Some(check) = waiting.peek() {
            let asked = Instant::now();
            let outcome = self.try_once(check, patience);
            if asked.elapsed() >= patience {
                patience = (2 * patience).min(ready::LONGEST_WAIT);
            }
            // A response counts only while our process runs and has the port. The log is read
            // after the check of the process, so that the last lines of one that ended are
            // included.
            let ended = process.ends_within(if outcome.is_ok() { Duration::ZERO } else { ASK_AGAIN_AFTER });
            if self.port_is_taken(log_start) {
                return Err(StartFailureReason::PortTaken(self.address.port()));
            }
            if ended {
                return Err(match process.kill() {
                    Ok(status) => StartFailureReason::Ended(status),
                    Err(error) => no_answer(format!("it ended, and its status is unknown: {error}")),
                });
            }
            match outcome {
                Ok(()) => drop(waiting.next()),
                Err(last) if self.options.cancel.is_requested() || Instant::now() >= deadline => {
                    return Err(no_answer(last));
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// What a check met, if it did not succeed; an answer to a query is waited for as long as `patience`.
    fn try_once(&self, check: &ReadyCheck, patience: Duration) -> Result<(), String> {
        match check {
            ReadyCheck::Query(transport, rtype) => {
                let ask = || {
                    ready::ask(*transport, self.address, self.options.zone.origin_name(), *rtype, patience)
                };
                self.options.place.enter(ask).unwrap_or_else(|error| Err(error.to_string()))
            }
            ReadyCheck::Command(words) => {
                let log = self.folder.path().join(READY_LOG);
                self.step(words, &log, self.options.ready_within)
                    .unwrap_or_else(|error| Err(error.to_string()))
                    .map_err(|how| format!("{} {how}", words.first().map_or("", String::as_str)))
            }
        }
    }

    fn port_is_taken(&self, log_start: u64) -> bool {
        let log = self.log_since(log_start).to_lowercase();
        self.spec.template.ready.port_taken.iter().any(|words| log.contains(&words.to_lowercase()))
    }

    /// What this start has written; a restart's log begins where the last one ended.
    fn log_since(&self, start: u64) -> String {
        let log = fs::read(self.log_path()).unwrap_or_default();
        let start = usize::try_from(start).unwrap_or(usize::MAX).min(log.len());
        String::from_utf8_lossy(&log[start..]).into_owned()
    }

    fn failure(&self, reason: StartFailureReason, log_start: u64) -> StartFailure {
        let log = self.log_since(log_start);
        let lines: Vec<&str> = log.lines().collect();
        let tail = &lines[lines.len().saturating_sub(LOG_TAIL_LINES)..];
        let log_tail = match tail {
            [] => "    (it wrote nothing)".to_owned(),
            tail => tail.iter().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n"),
        };
        StartFailure {
            server: self.spec.name().to_owned(),
            reason,
            command: format!("{} {}", self.program.display(), self.arguments.join(" ")),
            log_tail,
            log_path: self.log_path(),
        }
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join(LOG_FILE)
    }

    fn action(&self, verb: &str) -> String {
        format!("{verb} {}", self.program.display())
    }
}

fn free_port(options: &ServerOptions) -> Result<Port, LabError> {
    options.place.enter(|| Port::free(options.address))?
}

fn write(path: &Path, text: &str) -> Result<(), LabError> {
    fs::write(path, text).map_err(LabError::io(format!("write {}", path.display())))
}

/// Set to anything, it keeps every server's folder.
const KEEP_VARIABLE: &str = "DNSDYNO_LAB_KEEP";

/// What the commands print that say whether it serves.
const READY_LOG: &str = "ready.log";

/// How often a new port is tried when another program has taken the last one.
const PORT_ATTEMPTS: u32 = 5;

/// The pause between two questions to a server that is not up, during which its end is watched for.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(10);

/// Enough to hold the reason a server gives and what led to it.
const LOG_TAIL_LINES: usize = 20;
