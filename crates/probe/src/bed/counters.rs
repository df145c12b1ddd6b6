//! What the kernel has counted since its own start, or since that of a control group: as rises.

use std::collections::BTreeMap;

use crate::cgroup::Cgroup;
use crate::files::{FileReader, Files, LocalFiles};
use crate::source::Reading;

/// The control group of a process, which may be moved to another one.
pub(super) struct GroupOf {
    /// The folder of the process in `/proc`.
    process: String,
    /// What the process says of its groups.
    named: String,
    pub(super) group: Option<Cgroup>,
}

impl GroupOf {
    pub(super) fn process(process: String) -> GroupOf {
        let path = format!("{process}/cgroup");
        let files = LocalFiles.read(std::slice::from_ref(&path)).unwrap_or_default();
        let group = Cgroup::of(&mut LocalFiles, &process).ok().flatten();
        GroupOf { process, named: files.text(&path).to_owned(), group }
    }

    /// The files that are read each time.
    pub(super) fn paths(&self) -> Vec<String> {
        let counters = self.group.iter().flat_map(|group| group.paths().iter().cloned());
        counters.chain([format!("{}/cgroup", self.process)]).collect()
    }

    /// Where the process was moved, its group is another one from now on.
    pub(super) fn follow(&mut self, files: &Files) {
        let named = files.text(&format!("{}/cgroup", self.process));
        if !named.is_empty() && named != self.named {
            *self = GroupOf::process(std::mem::take(&mut self.process));
        }
    }
}

/// The counters of the kernel that it keeps since its own start, or that of a group.
#[derive(Default)]
pub(super) struct KernelCounters {
    last: BTreeMap<String, u64>,
}

impl KernelCounters {
    /// By how much a counter rose since the last time; 0 the first time, and where it has begun again.
    pub(super) fn rise(&mut self, name: String, now: u64) -> u64 {
        self.last.insert(name, now).map_or(0, |before| now.saturating_sub(before))
    }

    /// Adds what the quota of a group has done since the last time.
    pub(super) fn add_quota(&mut self, whose: &str, group: &Cgroup, files: &Files, sum: &mut Reading) {
        let mut reading = Reading::default();
        group.read(files, &mut reading);
        for (name, value) in reading.counters {
            let path = group.paths().first().map_or("", String::as_str);
            let rise = self.rise(format!("{path}.{name}"), value);
            sum.counter(format!("{whose}.{name}"), rise);
            sum.gauge(whose, 1);
        }
    }
}
