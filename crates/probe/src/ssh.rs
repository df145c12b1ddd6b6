//! Hosts that are reached over SSH: `--watch ssh://HOST`.
//!
//! The user's own `ssh` connects, with the user's configuration, keys and agent, once for the whole run. On the other
//! side a few lines of shell print files ([`protocol`]); nothing is installed there. On its files the same `host` and
//! `process` are read as here.

mod connection;
mod link;
mod protocol;

use std::process::Command;

use dnsdyno_measure::Side;
use dnsdyno_plan::SshWatch;

use crate::files::FileReader;
use crate::host::{HostSource, Namespace};
use crate::namespace::is_elsewhere;
use crate::opened::{Opened, Targets};
use crate::process::{ProcessSource, listening};
use crate::source::Source;
use crate::source::{OpenError, ReadError};
use connection::SshFiles;

pub(crate) fn open(host: &SshWatch, targets: &Targets, opened: &mut Opened) -> Result<(), OpenError> {
    let mut files = connect(host)?;
    let name = host.destination.rsplit('@').next().unwrap_or_default();
    let probe = "/proc/stat".to_owned();
    if files.read(std::slice::from_ref(&probe))?.text(&probe).is_empty() {
        return Err(OpenError::new(format!("{name} has no {probe}: only hosts with Linux can be watched")));
    }
    let pids = processes(host, targets, &mut files)?;
    // The counters of a server in a container are those of its own network namespace.
    let namespace = match pids.first().map(|pid| is_elsewhere(&mut files, *pid)).transpose()?.flatten() {
        Some(true) => pids.first().map_or(Namespace::Own, |pid| Namespace::Of(*pid)),
        _ => Namespace::Own,
    };
    let source = HostSource::new(Box::new(files.clone()), namespace, Side::Server, name.to_owned())?;
    opened.sources.push(Box::new(source));
    match pids.is_empty() {
        true => opened.notes.push(format!(
            "{name}: no process that this user may see listens at the target there; name it, ssh://{name}/PID, or \
             log in as root"
        )),
        false => {
            let place = format!(" at {name}");
            let source = ProcessSource::new(Box::new(files.clone()), &pids, Side::Server, &place)?;
            opened.notes.push(format!("over SSH: the host {name} and {}", source.watched().label));
            opened.sources.push(Box::new(source));
        }
    }
    files.hurry();
    Ok(())
}

/// The processes to watch there: that which was named, with those of the same server, or what listens at the targets.
fn processes(host: &SshWatch, targets: &Targets, files: &mut SshFiles) -> Result<Vec<u32>, ReadError> {
    let net = host.pid.map_or("/proc/net".to_owned(), |pid| format!("/proc/{pid}/net"));
    let groups = listening(files, &net, &targets.addresses)?;
    Ok(match host.pid {
        Some(pid) => groups.into_iter().find(|pids| pids.contains(&pid)).unwrap_or_else(|| vec![pid]),
        None => groups.into_iter().next().unwrap_or_default(),
    })
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
