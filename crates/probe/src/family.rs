//! Which processes are one server: those of the same name that share a socket, and those of which one has started the
//! other.

use std::net::SocketAddr;

use dnsdyno_sys::process::Stat;

use crate::files::FileReader;
use crate::found::{Asked, Owner, inodes_at, owners, socket_inodes};
use crate::living::living;
use crate::sockets::Sockets;
use crate::source::ReadError;

/// The processes of each server that listens at these addresses, by the files of a host and the sockets of one of its
/// network namespaces.
///
/// # Errors
/// The host cannot be reached.
pub(crate) fn listening(
    reader: &mut dyn FileReader,
    sockets: &mut Sockets,
    addresses: &[SocketAddr],
    asked: Asked,
) -> Result<Vec<Vec<u32>>, ReadError> {
    let seen = sockets.read(reader)?;
    let owners = owners(reader, &inodes_at(&seen, addresses, asked))?;
    grouped(reader, owners)
}

/// A process with those of the same name that share one of its sockets, itself first.
pub(crate) fn family(
    reader: &mut dyn FileReader,
    sockets: &mut Sockets,
    pid: u32,
) -> Result<Vec<u32>, ReadError> {
    let folder = format!("/proc/{pid}/fd/");
    let files = reader.read(std::slice::from_ref(&folder))?;
    let seen = sockets.read(reader)?;
    let server: Vec<u64> = seen.udp.iter().chain(&seen.listening).map(|socket| socket.inode).collect();
    let own: Vec<u64> = socket_inodes(files.text(&folder)).filter(|inode| server.contains(inode)).collect();
    let owners = owners(reader, &own)?;
    let groups = grouped(reader, owners)?;
    let others = groups.into_iter().find(|pids| pids.contains(&pid)).unwrap_or_default();
    Ok([pid].into_iter().chain(others.into_iter().filter(|other| *other != pid)).collect())
}

/// Processes of the same name that share a socket are one server. The lowest number, that of the parent, is first.
pub(crate) fn grouped(reader: &mut dyn FileReader, owners: Vec<Owner>) -> Result<Vec<Vec<u32>>, ReadError> {
    let path = |pid: u32| format!("/proc/{pid}/stat");
    let files = reader.read(&owners.iter().map(|owner| path(owner.pid)).collect::<Vec<_>>())?;
    let mut groups: Vec<(String, Vec<Owner>)> = Vec::new();
    for owner in owners {
        let Some(stat) = living(files.text(&path(owner.pid))) else { continue };
        let belongs = |(name, others): &&mut (String, Vec<Owner>)| {
            *name == stat.name && others.iter().any(|other| !other.inodes.is_disjoint(&owner.inodes))
        };
        match groups.iter_mut().find(belongs) {
            Some((_, others)) => others.push(owner),
            None => groups.push((stat.name, vec![owner])),
        }
    }
    // A service manager that holds the socket for a server is not that server.
    groups.retain(|(_, owners)| owners.iter().all(|owner| owner.pid != 1));
    Ok(groups.into_iter().map(|(_, owners)| owners.into_iter().map(|owner| owner.pid).collect()).collect())
}

/// The servers among groups of processes of this host: groups of which one has started the other are one.
pub(crate) fn servers(groups: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    let mut servers: Vec<Vec<u32>> = Vec::new();
    for pids in groups.into_iter().filter(|pids| !pids.is_empty()) {
        match servers.iter_mut().find(|server| are_one(server, &pids)) {
            Some(server) => server.extend(pids),
            None => servers.push(pids),
        }
    }
    servers
}

/// Whether two groups of processes of this host are one server.
pub(crate) fn are_one(a: &[u32], b: &[u32]) -> bool {
    let started = |these: &[u32], those: &[u32]| {
        these.iter().any(|pid| those.contains(pid) || ancestors(*pid).any(|parent| those.contains(&parent)))
    };
    started(a, b) || started(b, a)
}

/// The process that started this one, and so on, without the first process of the host.
pub(crate) fn ancestors(pid: u32) -> impl Iterator<Item = u32> {
    let parent = |pid: &u32| Some(Stat::of(*pid)?.parent).filter(|parent| *parent > 1);
    std::iter::successors(parent(&pid), parent).take(MOST_ANCESTORS)
}

/// A process may have ended, and its number belong to another one, while its ancestors are looked up.
const MOST_ANCESTORS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_started_each_other_are_one_server() {
        let own = std::process::id();
        let parent = ancestors(own).next().unwrap();
        let one_server = [servers(vec![vec![own], vec![parent]]), servers(vec![vec![parent], vec![own]])];
        assert_eq!(one_server, [[[own, parent]], [[parent, own]]]);
        assert_eq!(servers(vec![vec![own], vec![1]]), [[own], [1]]);
        assert!(are_one(&[own, 1], &[7, own]) && !are_one(&[own], &[]));
    }
}
