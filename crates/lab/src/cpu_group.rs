//! A control group that gives its processes a quota of CPU time, as containers and services have one. Both versions of
//! control groups are known; a host has the one or the other for CPU time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::LabError;

/// A control group with a quota of CPU time. Dropping it removes it, so its processes must have ended.
#[derive(Debug)]
pub struct CpuGroup {
    folder: PathBuf,
}

impl CpuGroup {
    /// Makes a group whose processes together get `quota` of CPU time in each `period`. Needs the rights of root.
    ///
    /// # Errors
    /// [`LabError::Io`] where the host has no such groups, or does not let us make one.
    pub fn new(quota: Duration, period: Duration) -> Result<Self, LabError> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let is_v1 = Path::new(V1).join("cpu.cfs_quota_us").exists();
        let root = Path::new(if is_v1 { V1 } else { V2 });
        remove_left(root);
        let group = CpuGroup { folder: root.join(format!("{PREFIX}{}-{serial}", std::process::id())) };
        fs::create_dir(&group.folder).map_err(LabError::io(format!("make {}", group.folder.display())))?;
        let (quota, period) = (quota.as_micros(), period.as_micros());
        if is_v1 {
            group.set("cpu.cfs_period_us", &period.to_string())?;
            group.set("cpu.cfs_quota_us", &quota.to_string())?;
        } else {
            group.set("cpu.max", &format!("{quota} {period}"))?;
        }
        Ok(group)
    }

    /// Gives its processes a CPU, within the quota, before those of all other groups.
    ///
    /// # Errors
    /// [`LabError::Io`] where the host has groups without weights.
    pub fn put_first(&self) -> Result<(), LabError> {
        if self.folder.starts_with(V1) {
            // The largest value that the kernel takes.
            self.set("cpu.shares", "262144")
        } else {
            self.set("cpu.weight", "10000")
        }
    }

    /// A figure of its `cpu.stat`, such as `nr_throttled`.
    pub fn statistic(&self, name: &str) -> Option<u64> {
        let text = fs::read_to_string(self.folder.join("cpu.stat")).ok()?;
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    }

    /// The file to which the number of a process is written that joins the group.
    pub fn processes(&self) -> PathBuf {
        self.folder.join(PROCESSES)
    }

    /// Moves a process with its threads into the group.
    ///
    /// # Errors
    /// [`LabError::Io`] where there is no such process.
    pub fn add(&self, process: u32) -> Result<(), LabError> {
        self.set(PROCESSES, &process.to_string())
    }

    fn set(&self, name: &str, value: &str) -> Result<(), LabError> {
        let path = self.folder.join(name);
        fs::write(&path, value).map_err(LabError::io(format!("write {value:?} to {}", path.display())))
    }
}

impl Drop for CpuGroup {
    fn drop(&mut self) {
        // A failure cannot be reported here; an empty group costs nothing.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Removes the groups of processes that were killed. The kernel keeps one that still has processes.
fn remove_left(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')?.0.parse::<u32>().ok());
        // One with our own number, which we have not made yet, is of a process of this number before.
        let is_left = |owner| !Path::new("/proc").join(format!("{owner}")).exists();
        if owner.is_some_and(is_left) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// How the names of our groups begin; the number of their process follows.
const PREFIX: &str = "dnsdyno-";

const PROCESSES: &str = "cgroup.procs";

/// Where groups for CPU time are: of version 1, and of version 2.
const V1: &str = "/sys/fs/cgroup/cpu";
const V2: &str = "/sys/fs/cgroup";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Need, require};
    use std::process::Command;
    use std::time::Instant;

    #[test]
    fn a_process_in_a_group_with_a_quota_is_throttled_and_the_group_is_removed() {
        if !require(&[Need::Root]) {
            return;
        }
        let group = CpuGroup::new(Duration::from_millis(1), Duration::from_millis(20)).unwrap();
        let folder = group.folder.clone();
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        group.add(busy.id()).unwrap();
        let started = Instant::now();
        let throttled = || group.statistic("nr_throttled").unwrap_or_default();
        while throttled() == 0 && started.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(5));
        }
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(throttled() > 0);
        drop(group);
        assert!(!folder.exists());
    }
}
