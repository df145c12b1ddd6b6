//! Makes a plan from a draft, with the facts of this host.

use std::collections::hash_map::RandomState;
use std::ffi::OsStr;
use std::fs;
use std::hash::BuildHasher;
use std::io::Read;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;

use dnsdyno_plan::{Draft, Host, Plan, PlanError, WatchPlan};
use dnsdyno_probe::is_local;
use dnsdyno_record::route::interface_towards;
use dnsdyno_sys::thread;

use crate::error::RunError;

/// Makes a plan from a draft on this host.
///
/// # Errors
/// The draft is not valid, or the current folder cannot be found.
pub(crate) fn validate(draft: &Draft) -> Result<Plan, RunError> {
    on_this_host(|host| as_replay(draft).validate(host))
}

/// Makes a plan that watches and sends nothing from a draft on this host.
///
/// # Errors
/// As [`validate`].
pub fn validate_watch(draft: &Draft) -> Result<WatchPlan, RunError> {
    on_this_host(|host| draft.validate_watch(host))
}

fn on_this_host<T>(validate: impl Fn(&Host<'_>) -> Result<T, PlanError>) -> Result<T, RunError> {
    let working_dir = std::env::current_dir().map_err(RunError::WorkingDir)?;
    let cores = thread::allowed_cpus().map_or(1, |cpus| cpus.len().max(1));
    // The hash maps of the standard library have a random seed: a random number without a dependency.
    let fresh_seed = RandomState::new().hash_one(std::process::id());
    let host =
        Host { cores, working_dir: &working_dir, fresh_seed, resolve: &resolve, is_local: &shares_cpus };
    Ok(validate(&host)?)
}

/// A query file that is a capture is replayed.
fn as_replay(draft: &Draft) -> Draft {
    let is_capture = draft.queries.as_deref().is_some_and(|path| begins_as_capture(Path::new(path)));
    match is_capture {
        true => Draft { queries: None, replay: draft.queries.clone(), ..draft.clone() },
        false => draft.clone(),
    }
}

/// Whether a file is a capture by its first octets, unpacked where it is compressed.
fn begins_as_capture(path: &Path) -> bool {
    let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let unpacked = || dnsdyno_capture::unpack(Box::new(fs::File::open(path).ok()?)).ok();
    let mut first_bytes = Vec::new();
    is_file
        && unpacked().is_some_and(|input| input.take(FIRST_BYTES).read_to_end(&mut first_bytes).is_ok())
        && dnsdyno_capture::is_capture(&first_bytes)
}

/// As many octets as tell a capture from other files.
const FIRST_BYTES: u64 = 16;

/// Resolves a name with the system's resolver.
fn resolve(name: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    match (name, port).to_socket_addrs() {
        Ok(addresses) => Ok(addresses.collect()),
        Err(error) => {
            let text = error.to_string();
            // The words of the standard library before those of the resolver say nothing more.
            Err(text.strip_prefix("failed to lookup address information: ").unwrap_or(&text).to_owned())
        }
    }
}

/// Whether a server at this address uses CPUs of this host: its address is one of this host, or it is in a container or
/// another network namespace.
fn shares_cpus(address: IpAddr) -> bool {
    is_local(address)
        || interface_towards(address).is_some_and(|name| stays_on_this_host(Path::new(INTERFACES), &name))
}

/// Whether packets over this interface do not leave the host: a veth pair, or a bridge without a device.
fn stays_on_this_host(interfaces: &Path, name: &str) -> bool {
    let folder = interfaces.join(name);
    let number = |file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u32>().ok();
    let has_device = |name: &OsStr| interfaces.join(name).join("device").exists();
    if has_device(name.as_ref()) {
        return false;
    }
    if let Ok(ports) = fs::read_dir(folder.join("brif")) {
        return !ports.flatten().any(|port| has_device(&port.file_name()));
    }
    // A VLAN has the interface that it is part of as its other end too, but says what it is.
    let kind = fs::read_to_string(folder.join("uevent")).unwrap_or_default();
    let is_pair = number("iflink").zip(number("ifindex")).is_some_and(|(link, own)| link != own);
    is_pair && !kind.contains("DEVTYPE=")
}

/// The interfaces of this network namespace.
const INTERFACES: &str = "/sys/class/net";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_over_a_veth_pair_or_a_bridge_of_such_stay_on_this_host() {
        let folder = tempfile::tempdir().unwrap();
        let interface = |name: &str, files: &[(&str, &str)]| {
            for (file, content) in files {
                let path = folder.path().join(name).join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
        };
        interface("veth0", &[("ifindex", "5\n"), ("iflink", "4\n"), ("uevent", "INTERFACE=veth0\n")]);
        interface("eth0", &[("ifindex", "2\n"), ("iflink", "2\n"), ("device/vendor", "x")]);
        interface("eth0.7", &[("ifindex", "6\n"), ("iflink", "2\n"), ("uevent", "DEVTYPE=vlan\n")]);
        interface("wg0", &[("ifindex", "7\n"), ("iflink", "7\n"), ("uevent", "DEVTYPE=wireguard\n")]);
        interface("docker0", &[("ifindex", "8\n"), ("iflink", "8\n"), ("brif/veth0", "")]);
        interface("br0", &[("ifindex", "9\n"), ("iflink", "9\n"), ("brif/veth0", ""), ("brif/eth0", "")]);
        let stays = |name| stays_on_this_host(folder.path(), name);
        let names = ["veth0", "eth0", "eth0.7", "wg0", "docker0", "br0", "none"];
        assert_eq!(names.map(stays), [true, false, false, false, true, false, false]);
    }
}
