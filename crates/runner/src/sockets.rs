//! How many sockets of their own the clients of a run can have.

use std::fs;

use dnsdyno_plan::Plan;
use dnsdyno_sys::thread;

/// As many clients as can have a socket of their own: each needs a local port and a file.
pub(crate) fn most_clients(plan: &Plan) -> usize {
    let ports = match plan.local_ports {
        Some(ports) => ports.count(),
        None => ephemeral_ports().unwrap_or(USUAL_PORTS),
    };
    let files = thread::open_files_limit().map_or(USUAL_PORTS, |(_, hard)| hard as usize);
    ports.min(files.saturating_sub(OTHER_FILES)).min(MOST_CLIENTS)
}

/// The number of ports from which the kernel chooses.
fn ephemeral_ports() -> Option<usize> {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut ends = range.split_whitespace().map(|end| end.parse::<usize>().ok());
    let (first, last) = (ends.next()??, ends.next()??);
    Some((last + 1).checked_sub(first)? / 10 * 9)
}

const MOST_CLIENTS: usize = 65_535;

/// Linux' usual range, less some for other programs.
const USUAL_PORTS: usize = 25_000;

/// Files that the process needs beside its sockets.
const OTHER_FILES: usize = 256;
