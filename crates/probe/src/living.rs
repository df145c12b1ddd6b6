//! Which processes of a server live, by their `stat`, here or elsewhere.

use dnsdyno_sys::process::Stat;

use crate::files::Files;

/// A process that has not ended, by the text of its `stat`; one that its parent has not waited for yet has ended.
/// Servers that fork name the task of each process after their own name, `nsd: server 1`: the task is left out.
pub(crate) fn living(stat: &str) -> Option<Stat> {
    let mut stat = Stat::parse(stat).filter(|stat| !stat.has_ended())?;
    if let Some((server, _task)) = stat.name.split_once(": ") {
        stat.name.truncate(server.len());
    }
    Some(stat)
}

/// A process, and when it started, in ticks since the boot of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) started: u64,
}

/// Those of these processes that exist, by their `stat`.
pub(crate) fn started(files: &Files, pids: &[u32]) -> Vec<Process> {
    let process = |pid: &u32| {
        let stat = living(files.text(&format!("/proc/{pid}/stat")))?;
        Some(Process { pid: *pid, started: stat.started_ticks })
    };
    pids.iter().filter_map(process).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_its_own_name_and_one_that_has_ended_is_none() {
        let of_nsd = "7 (nsd: server 1) S 1 0 0 0 0 0 0 0 0 0 3 1 0 0 20 0 2 0 100 0 0";
        assert_eq!(living(of_nsd).map(|stat| stat.name).as_deref(), Some("nsd"));
        let other = of_nsd.replace("nsd: server 1", "a) b (c");
        assert_eq!(living(&other).map(|stat| stat.name).as_deref(), Some("a) b (c"));
        assert_eq!(living(&of_nsd.replace(") S", ") Z")), None);
        assert_eq!(living("1 (half) S 0"), None);
    }
}
