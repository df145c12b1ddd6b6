//! What answers: dnsdyno's own responder, or a real server started by the lab; both on the server's CPU.

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use dnsdyno_lab::{Server, ServerOptions, ServerSpec};

use crate::Setting;
use crate::rig::{Call, Running};

/// How one asks for dnsdyno's own.
pub(crate) const OURS: &str = "respond";

/// A responder that answers. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Responder {
    process: Process,
    address: SocketAddr,
    command: String,
}

#[derive(Debug)]
enum Process {
    Ours(Running),
    Real(Box<Server>),
}

impl Responder {
    /// Starts what the setting names, and returns when it answers.
    pub(crate) fn start(setting: &Setting) -> anyhow::Result<Self> {
        if setting.against == OURS { Self::start_ours(setting) } else { Self::start_real(&setting.against) }
    }

    fn start_ours(setting: &Setting) -> anyhow::Result<Self> {
        let rig = &setting.rig;
        let call = Call::new(&setting.dnsdyno)
            .words("respond --listen 127.0.0.1:0 --threads 1 --no-tcp")
            .on(&[rig.server_cpu()]);
        let running = rig.start(&call, "responder")?;
        let address = running.wait_until(READY_WITHIN, listening_address).context("dnsdyno respond")?;
        Ok(Self { process: Process::Ours(running), address, command: rig.shown(&call) })
    }

    /// The lab starts it from a process that is bound to the server's CPU, and so it is bound too.
    fn start_real(name: &str) -> anyhow::Result<Self> {
        let server = ServerSpec::named(name)?.start(&ServerOptions::default())?;
        let address = server.address();
        let command = format!("{name}, one thread, as testbed/servers/{name}.toml says");
        Ok(Self { process: Process::Real(Box::new(server)), address, command })
    }

    /// The port it answers on, on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// How it was started, for the report.
    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// CPU time that its threads have used so far. What a server forked is not in it.
    pub(crate) fn cpu_time(&self) -> anyhow::Result<Duration> {
        let pid = match &self.process {
            Process::Ours(running) => running.id(),
            Process::Real(server) => server.pid(),
        };
        let folder = format!("/proc/{pid}/task");
        let threads = fs::read_dir(&folder).with_context(|| format!("cannot read {folder}"))?;
        // A thread may end between the listing and the look.
        let texts =
            threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok());
        Ok(Duration::from_nanos(texts.filter_map(|text| on_cpu_ns(&text)).sum()))
    }
}

/// From `responder: listening on 127.0.0.1:40123 (UDP); Ctrl-C ends it`.
fn listening_address(stderr: &str) -> Option<SocketAddr> {
    let (_, rest) = stderr.lines().find_map(|line| line.split_once("listening on "))?;
    rest.split_once(' ')?.0.parse().ok()
}

/// The first of the three numbers in `/proc/PID/task/TID/schedstat`.
fn on_cpu_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok()
}

const READY_WITHIN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_from_a_whole_line_only() {
        let line = "responder: listening on 127.0.0.1:40123 (UDP); Ctrl-C ends it\n";
        assert_eq!(listening_address(line), Some(SocketAddr::from(([127, 0, 0, 1], 40123))));
        assert_eq!(listening_address("responder: listening on 127.0.0.1:401"), None);
    }

    #[test]
    fn the_cpu_time_of_a_thread_is_its_first_figure() {
        assert_eq!(on_cpu_ns("123456 78 9\n"), Some(123_456));
        assert_eq!(on_cpu_ns(""), None);
    }
}
