//! The resident memory and the open files of a running generator, read each second, and the CPU time of a process.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::programs::Generator;
use crate::rig::{Finished, Rig, Running};

/// A running generator, and the readings so far.
#[derive(Debug)]
pub(crate) struct Monitored {
    running: Running,
    started: Instant,
    held: Usage,
}

/// Readings, the first of them after one second.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// Resident size.
    pub(crate) kib: Vec<u64>,
    /// File descriptors of one thread, of the next one each time.
    pub(crate) files: Vec<u64>,
}

impl Monitored {
    /// Starts the generator; `tag` names its output files.
    pub(crate) fn start(rig: &Rig, generator: &Generator, tag: &str) -> anyhow::Result<Self> {
        let running = rig.start(&generator.call, tag)?;
        Ok(Self { running, started: Instant::now(), held: Usage::default() })
    }

    /// Reads until its end, which must be within `length` and some extra time.
    pub(crate) fn finish(mut self, length: Duration) -> anyhow::Result<(Finished, Usage)> {
        while !self.look(length)? {}
        Ok((self.running.finish(GRACE)?, self.held))
    }

    /// Waits for the next reading and takes it; says whether the generator has ended.
    pub(crate) fn look(&mut self, length: Duration) -> anyhow::Result<bool> {
        let next_look = EVERY * (1 + self.held.kib.len() as u32);
        if self.running.ends_within(next_look.saturating_sub(self.started.elapsed()))? {
            return Ok(true);
        }
        let path = format!("/proc/{}/status", self.running.id());
        let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        // A process that has just ended has no resident size.
        let Some(kib) = resident_kib(&status) else { return Ok(true) };
        self.held.kib.push(kib);
        self.held.files.push(open_files(self.running.id(), self.held.kib.len()));
        ensure!(self.started.elapsed() < length + GRACE, "the generator did not end after {length:?}");
        Ok(false)
    }
}

impl Usage {
    /// The largest of `readings`, 0 for none.
    pub(crate) fn largest(readings: &[u64]) -> u64 {
        readings.iter().copied().max().unwrap_or(0)
    }
}

/// The descriptors in the table of one thread of the process, of another one each time: reading all tables of half a
/// million files each second would cost the generator time.
fn open_files(pid: u32, turn: usize) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let tasks: Vec<_> = tasks.map(|task| task.path().join("fd")).collect();
    let table = tasks.get(turn % tasks.len().max(1)).and_then(|fd| fs::read_dir(fd).ok());
    table.map_or(0, |table| table.count() as u64)
}

/// From `VmRSS:      9876 kB` of `/proc/PID/status`.
fn resident_kib(status: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.split_whitespace().next()?.parse().ok()
}

const EVERY: Duration = Duration::from_secs(1);

/// Extra time for a run to end.
const GRACE: Duration = Duration::from_secs(60);

/// CPU time that the threads of a process have used so far. Forked processes are not included.
pub(crate) fn cpu_time(pid: u32) -> anyhow::Result<Duration> {
    let folder = format!("/proc/{pid}/task");
    let threads = fs::read_dir(&folder).with_context(|| format!("cannot read {folder}"))?;
    // A thread may end between listing and reading.
    let texts =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok());
    Ok(Duration::from_nanos(texts.filter_map(|text| on_cpu_ns(&text)).sum()))
}

/// The first of the three numbers in `/proc/PID/task/TID/schedstat`.
fn on_cpu_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_size_is_read_and_its_absence_is_seen() {
        assert_eq!(resident_kib("Name:\tdnsdyno\nVmHWM:\t  10000 kB\nVmRSS:\t    9876 kB\n"), Some(9876));
        assert_eq!(resident_kib("Name:\tdnsdyno\nState:\tZ (zombie)\n"), None);
    }

    #[test]
    fn the_open_files_of_this_process_are_counted() {
        let before = open_files(std::process::id(), 0);
        let opened: Vec<_> = (0..100).map(|_| fs::File::open("/proc/self/stat").unwrap()).collect();
        let after = open_files(std::process::id(), 0);
        assert!(before > 0 && after >= before + opened.len() as u64 / 2, "{before} {after}");
    }

    #[test]
    fn the_cpu_time_of_a_thread_is_its_first_figure() {
        assert_eq!(on_cpu_ns("123456 78 9\n"), Some(123_456));
        assert_eq!(on_cpu_ns(""), None);
    }
}
