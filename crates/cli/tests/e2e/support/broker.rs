//! A NATS broker, and agents that wait there.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use dnsdyno_responder::Running;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{DNSDYNO, Ran, Started, Workplace};

/// A process beside the one that is tested. Dropping it ends it.
pub(crate) struct Beside {
    child: Child,
    stderr: PathBuf,
}

impl Beside {
    pub(crate) fn start(work: &Workplace, name: &str, mut command: Command) -> Beside {
        let stderr = work.path(&format!("{name}.stderr"));
        command.current_dir(work.path("")).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(File::create(&stderr).unwrap()).spawn().unwrap();
        Beside { child, stderr }
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    pub(crate) fn until_it_says(&mut self, words: &str) {
        let since = Instant::now();
        while !self.said().contains(words) {
            assert!(self.child.try_wait().unwrap().is_none(), "it ended: {}", self.said());
            assert!(since.elapsed() < PATIENCE, "it does not say {words:?}: {}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn ends(&mut self) -> ExitStatus {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(since.elapsed() < PATIENCE, "it does not end: {}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn terminate(&mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.ends()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A broker.
pub(crate) struct Broker<'a> {
    work: &'a Workplace,
    port: u16,
    config: String,
    process: Beside,
}

impl<'a> Broker<'a> {
    /// One with a token, whose messages are short, so that most frames are cut.
    pub(crate) fn start(work: &'a Workplace, port: u16) -> Broker<'a> {
        Broker::with(work, port, &format!("max_payload: 4096\nauthorization {{ token: \"{TOKEN}\" }}\n"))
    }

    pub(crate) fn with(work: &'a Workplace, port: u16, config: &str) -> Broker<'a> {
        work.write("broker.conf", format!("listen: 127.0.0.1:{port}\n{config}"));
        let mut command = Command::new("nats-server");
        command.args(["-c", "broker.conf"]);
        let mut process = Beside::start(work, "broker", command);
        process.until_it_says("Server is ready");
        Broker { work, port, config: config.to_owned(), process }
    }

    pub(crate) fn url(&self) -> String {
        url(self.port)
    }

    /// Kills it, and starts it again at the same port.
    pub(crate) fn restart(&mut self) {
        self.process.child.kill().unwrap();
        self.process.ends();
        *self = Broker::with(self.work, self.port, &self.config);
    }
}

pub(crate) fn url(port: u16) -> String {
    format!("nats://{TOKEN}@127.0.0.1:{port}")
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// An agent that trusts the key of the coordinator, with further lines of its configuration.
pub(crate) fn agent(work: &Workplace, url: &str, name: &str, config: &str) -> Beside {
    agent_with(work, url, name, config, &[])
}

/// The same with further options.
pub(crate) fn agent_with(work: &Workplace, url: &str, name: &str, config: &str, options: &[&str]) -> Beside {
    work.write(&format!("{name}.toml"), config);
    let mut command = Command::new(DNSDYNO);
    command
        .args(["agent", "--nats", url, "--name", name, "--label", "site=here", "--label"])
        .args([format!("rack={name}"), "--config".to_owned(), format!("{name}.toml")])
        .args(["--folder", &format!("agent-{name}")])
        .args(options);
    Beside::start(work, name, command)
}

/// Makes the key of the coordinator, and returns the line of a configuration that trusts it.
pub(crate) fn key(work: &Workplace) -> String {
    let made = work.shell("HOME=$PWD/home exec \"$0\" agent keys").gives(0);
    made.stdout.lines().find(|line| line.starts_with("trusted-keys")).unwrap().to_owned()
}

/// Starts the coordinator, with its key. Its clock bound is that of a busy host.
pub(crate) fn start<'a>(work: &'a Workplace, words: &str) -> Started<'a> {
    work.start_shell_with_keys(&format!("HOME=$PWD/home exec \"$0\" {words}"))
}

pub(crate) fn run(work: &Workplace, words: &str) -> Ran {
    start(work, words).wait()
}

pub(crate) fn received(server: &Running) -> u64 {
    server.book().total().counts.received
}

pub(crate) const TOKEN: &str = "a-word-that-nobody-knows";

/// How long something may take that takes no time on an idle host.
const PATIENCE: Duration = Duration::from_secs(60);
