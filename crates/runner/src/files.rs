//! Raises the limit of open files to what the transports of a run need.

use dnsdyno_sys::thread;
use dnsdyno_transport::{Description, Kind, files};

use crate::error::RunError;

/// Raises the limit of open files to what the transports need, as far as the host allows. Returns whether each worker
/// needs its own table of open files, to which the limit then applies.
pub(crate) fn raise_files_limit(kind: Kind, description: &Description) -> Result<bool, RunError> {
    let needed = files(kind, description) as u64 + OTHER_FILES;
    let (soft, hard) = thread::open_files_limit().map_err(RunError::FilesLimit)?;
    if needed <= soft || thread::set_open_files_limit(needed).is_ok() {
        return Ok(false);
    }
    // Only transports with connections open their sockets on the worker's thread.
    let needed_by_one = description.clients_of(0) as u64 + OTHER_FILES;
    if kind.connects() && thread::set_open_files_limit(needed_by_one.max(soft)).is_ok() {
        return Ok(true);
    }
    let clients = description.clients;
    let or_more_workers = match hard.saturating_sub(OTHER_FILES) {
        clients_each if clients_each > 0 && kind.connects() => {
            let workers = (clients as u64).div_ceil(clients_each);
            format!(", use --workers {workers} (each may have {hard})")
        }
        _ => String::new(),
    };
    Err(RunError::TooManyFiles { clients, needed, soft, hard, or_more_workers })
}

/// Files that a run opens in addition to its transports: standard streams, the record, epoll, and the scheduler
/// statistics of each worker.
const OTHER_FILES: u64 = 64;
