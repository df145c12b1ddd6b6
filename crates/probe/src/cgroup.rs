//! The limits of the control group of a process: how much CPU it may use, and when it had to stand still for it.
//!
//! A group is within groups, and the limit of each of them holds. The series are those of the innermost group with a
//! limit.

use std::collections::BTreeMap;

use crate::files::{FileReader, Files};
use crate::source::{ReadError, Reading};

/// The control group of a process.
pub(crate) struct Cgroup {
    /// Its files, with what each counts.
    paths: Vec<String>,
    /// Its limits.
    pub(crate) settings: BTreeMap<String, String>,
}

impl Cgroup {
    /// That of a process, by its folder in `/proc`; `None` where the host has none for CPU time.
    pub(crate) fn of(reader: &mut dyn FileReader, process: &str) -> Result<Option<Cgroup>, ReadError> {
        let own = format!("{process}/cgroup");
        let files = reader.read(std::slice::from_ref(&own))?;
        let candidates = folders(files.text(&own));
        let names = ["cpu.stat", "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.max"];
        let paths: Vec<_> =
            candidates.iter().flat_map(|folder| names.map(|name| format!("{folder}/{name}"))).collect();
        let files = reader.read(&paths)?;
        let has_counters = |folder: &&String| !files.text(&format!("{folder}/cpu.stat")).is_empty();
        let is_limited = |folder: &&String| settings(&files, folder).contains_key(QUOTA);
        let all = || candidates.iter().filter(has_counters);
        let Some(folder) = all().find(is_limited).or_else(|| all().next()) else { return Ok(None) };
        let paths = vec![format!("{folder}/cpu.stat"), format!("{folder}/memory.current")];
        Ok(Some(Cgroup { paths, settings: settings(&files, folder) }))
    }

    /// The files that are read each time.
    pub(crate) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// The series, from these files.
    pub(crate) fn read(&self, files: &Files, reading: &mut Reading) {
        for (name, value) in self.paths.iter().flat_map(|path| files.text(path).lines()).filter_map(pair) {
            let (name, unit_ns) = match name {
                "nr_periods" => ("periods", 1),
                "nr_throttled" => ("throttled_periods", 1),
                // Version 1 counts nanoseconds, version 2 microseconds.
                "throttled_time" => ("throttled_ns", 1),
                "throttled_usec" => ("throttled_ns", 1_000),
                _ => continue,
            };
            reading.counter(format!("cgroup.{name}"), value.saturating_mul(unit_ns));
        }
        if let Some(bytes) = self.paths.last().and_then(|path| files.text(path).trim().parse().ok()) {
            reading.gauge("cgroup.memory_bytes", bytes);
        }
    }
}

/// The folders that may hold the files of a group, from the innermost one outwards: `0::/system.slice/named.service`
/// (version 2), `4:cpu,cpuacct:/named` (version 1).
fn folders(cgroup: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in cgroup.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let mounts: &[&str] = match controllers {
            "" => &["", "/unified"],
            controllers if controllers.split(',').any(|name| name == "cpu") => &["/cpu", "/cpu,cpuacct"],
            _ => continue,
        };
        for mount in mounts {
            let mut path = path.trim_end_matches('/');
            for _ in 0..DEEPEST {
                found.push(format!("/sys/fs/cgroup{mount}{path}"));
                let Some((outer, _)) = path.rsplit_once('/') else { break };
                path = outer;
            }
        }
    }
    found
}

/// The limits of a group; without one, the setting is left out.
fn settings(files: &Files, folder: &str) -> BTreeMap<String, String> {
    let text = |name: &str| files.text(&format!("{folder}/{name}")).trim();
    let (quota, period) = match text("cpu.max").split_once(' ') {
        Some(limit) => limit,
        None => (text("cpu.cfs_quota_us"), text("cpu.cfs_period_us")),
    };
    let mut settings = BTreeMap::new();
    if quota.parse::<u64>().is_ok() {
        settings.insert(QUOTA.to_owned(), quota.to_owned());
        settings.insert("cgroup.period_us".to_owned(), period.to_owned());
    }
    if let Ok(bytes) = text("memory.max").parse::<u64>() {
        settings.insert("cgroup.memory_max_bytes".to_owned(), bytes.to_string());
    }
    settings
}

fn pair(line: &str) -> Option<(&str, u64)> {
    let (name, value) = line.split_once(' ')?;
    Some((name, value.trim().parse().ok()?))
}

/// Microseconds of CPU time that the group has in each period.
const QUOTA: &str = "cgroup.quota_us";

/// Groups within groups that are looked at.
const DEEPEST: usize = 32;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A host with these files.
    struct Told(Files);

    /// A group, and files in which it has counted this.
    pub(crate) fn group(counted: &str) -> (Cgroup, Files) {
        let files = [("/proc/7/cgroup", "0::/\n"), ("/sys/fs/cgroup/cpu.stat", counted)];
        let mut told = Told(Files(files.map(|(path, text)| (path.to_owned(), text.to_owned())).into()));
        (Cgroup::of(&mut told, "/proc/7").unwrap().unwrap(), told.0)
    }

    impl FileReader for Told {
        fn read(&mut self, paths: &[String]) -> Result<Files, ReadError> {
            let files = self.0.0.clone().into_iter().filter(|(path, _)| paths.contains(path));
            Ok(Files(files.collect()))
        }
    }

    fn read(files: &[(&str, &str)]) -> (BTreeMap<String, String>, Reading) {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        let mut told = Told(Files(files.collect()));
        let group = Cgroup::of(&mut told, "/proc/7").unwrap().unwrap();
        let mut reading = Reading::default();
        group.read(&told.read(group.paths()).unwrap(), &mut reading);
        (group.settings, reading)
    }

    #[test]
    fn the_innermost_group_with_a_limit_counts() {
        let (settings, reading) = read(&[
            ("/proc/7/cgroup", "0::/system.slice/named.service\n"),
            ("/sys/fs/cgroup/system.slice/named.service/cpu.stat", "usage_usec 9\nnr_periods 0\n"),
            ("/sys/fs/cgroup/system.slice/named.service/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/system.slice/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_usec 70\n"),
            ("/sys/fs/cgroup/system.slice/cpu.max", "50000 100000\n"),
            ("/sys/fs/cgroup/system.slice/memory.current", "4096\n"),
        ]);
        let quota = [("cgroup.period_us", "100000"), ("cgroup.quota_us", "50000")];
        assert_eq!(settings, quota.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        let counters =
            [("cgroup.periods", 10), ("cgroup.throttled_ns", 70_000), ("cgroup.throttled_periods", 4)];
        assert_eq!(reading.counters, counters.map(|(name, value)| (name.to_owned(), value)).into());
        assert_eq!(reading.gauges, [("cgroup.memory_bytes".to_owned(), 4_096)].into());
    }

    #[test]
    fn version_1_is_read_too() {
        let (settings, reading) = read(&[
            ("/proc/7/cgroup", "5:cpuset:/\n4:cpu,cpuacct:/named\n0::/\n"),
            ("/sys/fs/cgroup/cpu/named/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 70\n"),
            ("/sys/fs/cgroup/cpu/named/cpu.cfs_quota_us", "20000\n"),
            ("/sys/fs/cgroup/cpu/named/cpu.cfs_period_us", "100000\n"),
        ]);
        assert_eq!(settings["cgroup.quota_us"], "20000");
        assert_eq!(reading.counters["cgroup.throttled_ns"], 70);
    }

    #[test]
    fn what_is_no_line_of_a_group_is_left_out() {
        assert_eq!(
            folders("x\n1\n:\n0::/a/b\n3:memory:/c"),
            [
                "/sys/fs/cgroup/a/b",
                "/sys/fs/cgroup/a",
                "/sys/fs/cgroup",
                "/sys/fs/cgroup/unified/a/b",
                "/sys/fs/cgroup/unified/a",
                "/sys/fs/cgroup/unified",
            ]
        );
        assert_eq!(folders(&format!("0::{}", "/x".repeat(1_000))).len(), 2 * DEEPEST);
    }
}
