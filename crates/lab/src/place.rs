//! Where a process runs and what it is allowed: its network namespace, its CPUs, its open files, its priority,
//! its environment, its root file system. Each is set by a program that then becomes the next one, so that the process
//! keeps its number.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use crate::root::MountedRoot;
use crate::{CpuGroup, LabError, Namespace};

/// Where a process runs. `Place::default()` is where this process is.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The network namespace.
    pub namespace: Option<Namespace>,
    /// The CPUs that it may use; none = all.
    pub cpus: Vec<usize>,
    /// What is added to its environment.
    pub environment: BTreeMap<String, String>,
    /// How many files it may have open.
    pub open_files: Option<u32>,
    /// The control group whose CPU time it shares.
    pub cpu_group: Option<Arc<CpuGroup>>,
    /// Whether it goes before other processes. Needs the rights of root.
    pub is_preferred: bool,
    /// The unpacked root file system that its program is of.
    pub root: Option<MountedRoot>,
}

impl Place {
    /// A network namespace without further limits.
    pub fn in_namespace(namespace: &Namespace) -> Self {
        Place { namespace: Some(namespace.clone()), ..Place::default() }
    }

    /// The words that go before the command of a process.
    pub fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if let Some(namespace) = &self.namespace {
            // Unlike `ip netns exec` it leaves the mounts alone: the control groups stay in sight.
            let mut net = OsString::from("--net=");
            net.push(namespace.path());
            words.extend(["nsenter".into(), net, "--".into()]);
        }
        if !self.cpus.is_empty() {
            let cpus: Vec<String> = self.cpus.iter().map(usize::to_string).collect();
            words.extend(["taskset".into(), "--cpu-list".into(), cpus.join(",").into()]);
        }
        if let Some(open_files) = self.open_files {
            words.extend(["prlimit".into(), format!("--nofile={open_files}").into(), "--".into()]);
        }
        if let Some(group) = &self.cpu_group {
            let join = ["sh", "-c", "echo $$ > \"$0\" && exec \"$@\""].map(OsString::from);
            words.extend(join.into_iter().chain([group.processes().into_os_string()]));
        }
        if self.is_preferred {
            words.extend(["nice", "-n", "-20"].map(OsString::from));
        }
        if !self.environment.is_empty() {
            words.push("env".into());
            words.extend(self.environment.iter().map(|(name, value)| format!("{name}={value}").into()));
        }
        // The last: the programs before it are of this host.
        words.extend(self.root.iter().flat_map(MountedRoot::words));
        words
    }

    /// Does `work` in the network namespace.
    pub(crate) fn enter<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, LabError> {
        match &self.namespace {
            Some(namespace) => namespace.enter(work),
            None => Ok(work()),
        }
    }
}
