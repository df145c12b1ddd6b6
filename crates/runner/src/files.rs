//! Room for as many open files as the transports of a run need.

use dnsdyno_sys::thread;
use dnsdyno_transport::{Description, Kind, files};

use crate::error::RunError;

/// Raises the limit of open files to what the transports need, as far as the host allows. Says whether each
/// worker must have a table of open files of its own, to which the limit then applies.
pub(crate) fn make_room(kind: Kind, description: &Description) -> Result<bool, RunError> {
    let needed = files(kind, description) as u64 + FILES_BESIDE;
    let (soft, hard) = thread::open_files_limit().map_err(RunError::FilesLimit)?;
    if needed <= soft || thread::set_open_files_limit(needed).is_ok() {
        return Ok(false);
    }
    // Only what connects opens its sockets on the worker's thread.
    let most_of_one = description.clients_of(0) as u64 + FILES_BESIDE;
    if kind.connects() && thread::set_open_files_limit(most_of_one.max(soft)).is_ok() {
        return Ok(true);
    }
    let clients = description.clients;
    let or_more_workers = match hard.saturating_sub(FILES_BESIDE) {
        clients_each if clients_each > 0 && kind.connects() => {
            let workers = (clients as u64).div_ceil(clients_each);
            format!(", use --workers {workers} (each may have {hard})")
        }
        _ => String::new(),
    };
    Err(RunError::TooManyFiles { clients, needed, soft, hard, or_more_workers })
}

/// Files that a run opens beside its transports: standard streams, the record, epoll, and the scheduler's
/// account of each worker.
const FILES_BESIDE: u64 = 64;
