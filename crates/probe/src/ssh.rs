//! Hosts that are reached over SSH: `--watch ssh://HOST`.
//!
//! The user's own `ssh` connects, with the user's configuration, keys and agent, once for the whole run. On the other
//! side a few lines of shell print files ([`protocol`]); nothing is installed there. On its files the same `host` and
//! `process` are read as here.

mod connection;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzz;
mod link;
mod protocol;

use std::net::SocketAddr;
use std::process::Command;

use dnsdyno_measure::Side;
use dnsdyno_plan::SshWatch;

use crate::family::listening;
use crate::files::FileReader;
use crate::found::Asked;
use crate::host::{HostSource, Within};
use crate::namespace::is_elsewhere;
use crate::opened::{Opening, Whose};
use crate::place::has_address;
use crate::process::ProcessSource;
use crate::sockets::Sockets;
use crate::source::Source;
use crate::source::{OpenError, ReadError};
use crate::thing::{Namespace, Thing};
use connection::SshFiles;

pub(crate) fn open(host: &SshWatch, opening: &mut Opening<'_>) -> Result<(), OpenError> {
    let mut files = connect(host)?;
    let name = host.destination.rsplit('@').next().unwrap_or_default();
    let probe = "/proc/stat".to_owned();
    if files.read(std::slice::from_ref(&probe))?.text(&probe).is_empty() {
        return Err(OpenError::new(format!("{name} has no {probe}: only hosts with Linux can be watched")));
    }
    let targets = &opening.targets.addresses;
    let Processes { pids, is_at_target } = processes(host, targets, &mut files)?;
    // The counters of a server in a container are those of its own network namespace.
    let first = pids.first().copied();
    let is_elsewhere = first.map(|pid| is_elsewhere(&mut files, pid)).transpose()?.flatten() == Some(true);
    let (within, process) = match first.filter(|_| is_elsewhere) {
        Some(pid) => (Within::Of(pid), format!("/proc/{pid}")),
        None => (Within::Own, "/proc/self".to_owned()),
    };
    let has_target = has_any(&mut files, &format!("{process}/net"), targets)?;
    // Behind a translation of addresses, a host does not have the address that the load goes to.
    let whose = |is_its: bool| Whose::of(is_its.then_some(true), None);
    let source = HostSource::new(Box::new(files.clone()), within, Side::Server, name.to_owned())?;
    let thing = Thing::Host(Namespace::of_network(&mut files, &process)?);
    opening.add(Box::new(source), thing, whose(has_target));
    if pids.is_empty() {
        opening.notes.push(format!(
            "{name}: no process that this user may see listens at the target there; name it, ssh://{name}/PID, or \
             log in as root"
        ));
    } else {
        let place = format!(" at {name}");
        let source = ProcessSource::new(Box::new(files.clone()), &pids, &place)?;
        opening.notes.push(format!("over SSH: the host {name} and {}", source.watched().label));
        let thing = Thing::Process { numbered: Namespace::of_numbers(&mut files)?, pids };
        opening.add(Box::new(source), thing, whose(has_target && is_at_target));
    }
    files.hurry();
    Ok(())
}

/// The processes to watch on a host.
struct Processes {
    pids: Vec<u32>,
    /// They listen at one of the targets, or at any address.
    is_at_target: bool,
}

/// The process that was named, with those of the same server, or what listens at the targets.
fn processes(host: &SshWatch, targets: &[SocketAddr], files: &mut SshFiles) -> Result<Processes, ReadError> {
    let net = host.pid.map_or("/proc/net".to_owned(), |pid| format!("/proc/{pid}/net"));
    let groups = listening(files, &mut Sockets::Tables(net), targets, Asked::Queries)?;
    let found = match host.pid {
        Some(pid) => groups.into_iter().find(|pids| pids.contains(&pid)),
        None => groups.into_iter().next(),
    };
    let is_at_target = found.is_some();
    let named = || host.pid.into_iter().collect();
    Ok(Processes { pids: found.unwrap_or_else(named), is_at_target })
}

/// Whether a network namespace of the host has one of these addresses; those of loopback are on any host.
fn has_any(files: &mut SshFiles, net: &str, addresses: &[SocketAddr]) -> Result<bool, ReadError> {
    for address in addresses.iter().filter(|address| !address.ip().is_loopback()) {
        if has_address(files, net, address.ip())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Connects to a host.
fn connect(host: &SshWatch) -> Result<SshFiles, OpenError> {
    let wanted = host.clone();
    SshFiles::open(Box::new(move || command(&wanted))).map_err(|words| {
        let port = host.port.map(|port| format!("-p {port} ")).unwrap_or_default();
        OpenError::new(format!(
            "cannot connect: {words}; this must work without a question: ssh -o BatchMode=yes {port}{} true",
            host.destination
        ))
    })
}

/// The `ssh` that connects: it asks nothing, and notices that the other side is gone.
fn command(host: &SshWatch) -> Command {
    let mut command = Command::new("ssh");
    command.args(["-T", "-x", "-a"]);
    for option in [
        "BatchMode=yes",
        "ConnectTimeout=5",
        "ServerAliveInterval=2",
        "ServerAliveCountMax=3",
        "ClearAllForwardings=yes",
        "LogLevel=ERROR",
    ] {
        command.args(["-o", option]);
    }
    if let Some(port) = host.port {
        command.args(["-p", &port.to_string()]);
    }
    command.args(["--", &host.destination, protocol::COMMAND]);
    command
}
