//! Keeps the idle CPUs of this host ready while the load runs.
//!
//! A CPU that idles deeply wakes up late: by 100 µs and more on bare metal, and by milliseconds in a virtual machine,
//! where a CPU that halts waits for a turn on the host. Each such wake-up of a worker is a query sent late, and each of
//! a server on this host is a late response. The kernel's latency limit keeps CPUs from these states for as long as a
//! process that may set it (root) keeps its file open, so nothing has to be undone.

use std::fs::{File, OpenOptions, read_to_string};
use std::io::Write;
use std::path::Path;

/// A limit on how long an idle CPU may take to wake up. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct IdleLimit {
    pub(crate) exit_us: u32,
    _request: File,
}

impl IdleLimit {
    /// Sets the limit for this host; `None` where the kernel has none, or this process may not set it.
    pub(crate) fn set() -> Option<IdleLimit> {
        let exit_us = shallow_exit_us(Path::new(IDLE_STATES));
        let mut request = OpenOptions::new().write(true).open(LATENCY_LIMIT).ok()?;
        // Four octets are a number in the order of this host.
        request.write_all(&exit_us.to_ne_bytes()).ok()?;
        Some(IdleLimit { exit_us, _request: request })
    }
}

/// How long a CPU takes to wake up from the first state in which it halts, in µs. 0, which keeps it polling, in a
/// virtual machine whose kernel knows that halting is expensive, and where no states are described.
fn shallow_exit_us(states: &Path) -> u32 {
    let read = |file: &str| read_to_string(states.join(file)).unwrap_or_default();
    let first = || read("cpu0/cpuidle/state1/latency").trim().parse().unwrap_or(0);
    if read("cpuidle/current_driver").trim() == "haltpoll" { 0 } else { first() }
}

/// Requests of processes for the longest time that an idle CPU may take to wake up.
const LATENCY_LIMIT: &str = "/dev/cpu_dma_latency";

const IDLE_STATES: &str = "/sys/devices/system/cpu";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_first_state_that_halts_or_none_in_a_virtual_machine() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(shallow_exit_us(folder.path()), 0, "no states");
        write("cpu0/cpuidle/state1/latency", "2\n");
        write("cpuidle/current_driver", "intel_idle\n");
        assert_eq!(shallow_exit_us(folder.path()), 2);
        write("cpuidle/current_driver", "haltpoll\n");
        assert_eq!(shallow_exit_us(folder.path()), 0);
    }

    #[test]
    fn the_kernel_has_the_limit_until_it_is_dropped() {
        let now_us = || {
            let octets = std::fs::read(LATENCY_LIMIT).ok()?.try_into().ok()?;
            Some(u32::from_ne_bytes(octets))
        };
        let before_us = now_us();
        let Some(limit) = IdleLimit::set() else {
            println!("skipped: this process may not set the limit of idle CPUs");
            return;
        };
        assert!(now_us().unwrap() <= limit.exit_us);
        drop(limit);
        assert_eq!(now_us(), before_us, "the limit ends with the run");
    }
}
