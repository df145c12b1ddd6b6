//! The server: dnsdyno's own responder, or a real one started by the lab; both on the server's CPU.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use dnsdyno_lab::{Server, ServerOptions, ServerSpec};

use crate::rig::{Call, Running};
use crate::setting::Setting;
use crate::usage::cpu_time;

/// The name that selects dnsdyno's own.
pub(crate) const OURS: &str = "respond";

/// A responder that answers. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Responder {
    process: Process,
    address: SocketAddr,
    command: String,
    /// Its encrypted listeners, by the transport's name in lower case.
    encrypted: Vec<(String, Encrypted)>,
}

/// An encrypted listener.
#[derive(Debug, Clone)]
pub(crate) struct Encrypted {
    /// On 127.0.0.1.
    pub(crate) port: u16,
    /// The certificate that a client must trust.
    pub(crate) ca: PathBuf,
}

#[derive(Debug)]
enum Process {
    Ours(Running),
    Real(Box<Server>),
}

impl Responder {
    /// Starts the server of the setting, and returns when it answers.
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
        let command = rig.shown(&call);
        Ok(Self { process: Process::Ours(running), address, command, encrypted: Vec::new() })
    }

    /// Starts dnsdyno's own with TCP, DoT, DoH and DoQ, and the further arguments in `words`; `tag` names its files.
    pub(crate) fn start_encrypted(setting: &Setting, words: &str, tag: &str) -> anyhow::Result<Self> {
        Self::start_encrypted_on(setting, words, tag, &[setting.rig.server_cpu()])
    }

    /// The same on these CPUs.
    pub(crate) fn start_encrypted_on(
        setting: &Setting,
        words: &str,
        tag: &str,
        cpus: &[usize],
    ) -> anyhow::Result<Self> {
        let rig = &setting.rig;
        let ca = rig.work().join(format!("{tag}.pem"));
        let call = Call::new(&setting.dnsdyno)
            .words("respond --listen 127.0.0.1:0 --dot 127.0.0.1:0 --doh 127.0.0.1:0 --doq 127.0.0.1:0")
            .words(words)
            .arg("--write-ca")
            .arg(&ca)
            .on(cpus);
        let running = rig.start(&call, tag)?;
        let line = running.wait_until(READY_WITHIN, listening_line).context("dnsdyno respond")?;
        let at = |port| Encrypted { port, ca: ca.clone() };
        let encrypted = encrypted_ports(&line).into_iter().map(|(name, port)| (name, at(port))).collect();
        let address = listening_address(&line).context("dnsdyno respond did not print its addresses")?;
        Ok(Self { process: Process::Ours(running), address, command: rig.shown(&call), encrypted })
    }

    /// The lab starts it from a process that is bound to the server's CPU; the server inherits this.
    fn start_real(name: &str) -> anyhow::Result<Self> {
        let server = ServerSpec::named(name)?.start(&ServerOptions::default())?;
        let address = server.address();
        let command = format!("{name}, one thread, as testbed/servers/{name}.toml says");
        Ok(Self { process: Process::Real(Box::new(server)), address, command, encrypted: Vec::new() })
    }

    /// The port it answers on, on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Where it serves `transport`: `dot`, `doh` or `doq`.
    pub(crate) fn encrypted(&self, transport: &str) -> anyhow::Result<&Encrypted> {
        let found = self.encrypted.iter().find(|(name, _)| name == transport);
        Ok(&found.with_context(|| format!("the responder has no {transport} listener"))?.1)
    }

    /// How it was started, for the report.
    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// CPU time that its threads have used so far.
    pub(crate) fn cpu_time(&self) -> anyhow::Result<Duration> {
        let pid = match &self.process {
            Process::Ours(running) => running.id(),
            Process::Real(server) => server.pid(),
        };
        cpu_time(pid)
    }
}

/// From `responder: listening on 127.0.0.1:40123 (UDP); Ctrl-C ends it`.
fn listening_address(stderr: &str) -> Option<SocketAddr> {
    let (_, rest) = stderr.lines().find_map(|line| line.split_once("listening on "))?;
    rest.split_once(' ')?.0.parse().ok()
}

/// The complete line with its addresses.
fn listening_line(stderr: &str) -> Option<String> {
    let (whole, _) = stderr.rsplit_once('\n')?;
    whole.lines().find(|line| line.contains("listening on ")).map(str::to_owned)
}

/// From `... 127.0.0.1:46189 (DoT), 127.0.0.1:41091 (DoQ); ...` the names in lower case, and the ports.
fn encrypted_ports(line: &str) -> Vec<(String, u16)> {
    let pairs = line.split([',', ';']).filter_map(|part| part.trim().rsplit_once(" ("));
    let ports = pairs.filter_map(|(address, name)| {
        let port = address.rsplit_once(':')?.1.parse().ok()?;
        Some((name.strip_suffix(')')?.to_lowercase(), port))
    });
    ports.collect()
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
    fn the_ports_of_encrypted_listeners_are_read_by_name() {
        let line = "responder: listening on 127.0.0.1:54411 (UDP and TCP), 127.0.0.1:46189 (DoT), \
                    127.0.0.1:41091 (DoQ); Ctrl-C ends it";
        let ports = encrypted_ports(line);
        assert_eq!(&ports[1..], [("dot".to_owned(), 46_189), ("doq".to_owned(), 41_091)]);
        assert_eq!(listening_line(&format!("{line}\nmore")).as_deref(), Some(line));
        assert_eq!(listening_line(line), None);
    }
}
