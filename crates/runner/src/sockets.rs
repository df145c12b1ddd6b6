//! How many sockets of their own the clients of a run can have.

use dnsdyno_plan::Plan;
use dnsdyno_sys::{socket, thread};

/// As many clients as can have a socket of their own: each needs a local port and a file.
pub(crate) fn most_clients(plan: &Plan) -> usize {
    let ports = match plan.local_ports {
        Some(ports) => ports.count(),
        None => {
            let (first, last) = socket::local_ports();
            // Less some for other programs.
            usize::from(last - first.min(last)) / 10 * 9
        }
    };
    let files = thread::open_files_limit().map_or(MOST_CLIENTS, |(_, hard)| hard as usize);
    ports.min(files.saturating_sub(OTHER_FILES)).min(MOST_CLIENTS)
}

const MOST_CLIENTS: usize = 65_535;

/// Files that the process needs beside its sockets.
const OTHER_FILES: usize = 256;
