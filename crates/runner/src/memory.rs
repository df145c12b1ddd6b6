//! How much memory this process can still have.

use std::fs;
use std::path::Path;

use crate::error::RunError;

/// The least of what the host, the limit of this process (`ulimit -v`) and its control groups leave; `None` where none
/// of them can be read.
pub(crate) fn free_bytes() -> Option<u64> {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let of_host = kib(&text("/proc/meminfo"), "MemAvailable:");
    let own_limit = limit(&text("/proc/self/limits"));
    let used = kib(&text("/proc/self/status"), "VmSize:");
    let of_process = own_limit.map(|limit| limit.saturating_sub(used.unwrap_or(0)));
    let of_groups = of_groups(&text("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"));
    [of_host, of_process, of_groups].into_iter().flatten().min()
}

/// Refuses a run for which there is too little memory, as long as that can be said: what its group does not have, the
/// kernel takes by ending the process.
pub(crate) fn refuse_little() -> Result<(), RunError> {
    match free_bytes() {
        Some(free_bytes) if free_bytes < LEAST_BYTES => Err(RunError::LittleMemory { free_bytes }),
        _ => Ok(()),
    }
}

/// Of one worker with a few sockets: its stack, its tables, the intervals that wait for the record.
const LEAST_BYTES: u64 = 16 << 20;

/// The value of `MemAvailable:    1234 kB`.
fn kib(table: &str, key: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The soft limit of `Max address space`; `None` where it is `unlimited`.
fn limit(table: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What the groups leave: the limit of each from the innermost one outwards holds.
fn of_groups(own: &str, root: &Path) -> Option<u64> {
    let of_line = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let (root, files) = match controllers {
            "" => (root.to_owned(), VERSION_2),
            all if all.split(',').any(|name| name == "memory") => (root.join("memory"), VERSION_1),
            _ => return None,
        };
        let innermost = root.join(path.trim_start_matches('/'));
        innermost.ancestors().take_while(|at| at.starts_with(&root)).filter_map(|at| left(at, files)).min()
    };
    own.lines().filter_map(of_line).min()
}

/// What one group leaves, by the names of its limit, of what it uses, and of the pages of files in its statistics,
/// which are given back when memory is needed.
fn left(folder: &Path, [limit, used, files]: [&str; 3]) -> Option<u64> {
    let number =
        |file: &str| -> Option<u64> { fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok() };
    let statistics = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let of_files =
        statistics.lines().find_map(|line| line.strip_prefix(files)?.trim().parse().ok()).unwrap_or(0);
    Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(of_files)))
}

const VERSION_2: [&str; 3] = ["memory.max", "memory.current", "file "];

const VERSION_1: [&str; 3] = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache "];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_has_memory() {
        assert!(free_bytes().is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn limits_and_tables_are_read() {
        assert_eq!(kib("MemTotal: 9 kB\nMemAvailable:   2 kB\n", "MemAvailable:"), Some(2_048));
        let table =
            "Limit  Soft Limit  Hard Limit  Units\nMax address space         1000   unlimited   bytes\n";
        assert_eq!(limit(table), Some(1_000));
        assert_eq!(limit("Max address space         unlimited   unlimited   bytes\n"), None);
    }

    #[test]
    fn the_narrowest_of_the_groups_counts_and_pages_of_files_do_not() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("outer/inner");
        fs::create_dir_all(&inner).unwrap();
        let write = |folder: &Path, max: &str, current: &str, files: u64| {
            fs::write(folder.join("memory.max"), max).unwrap();
            fs::write(folder.join("memory.current"), current).unwrap();
            fs::write(folder.join("memory.stat"), format!("anon 1\nfile {files}\n")).unwrap();
        };
        write(&inner, "max\n", "100\n", 0);
        write(inner.parent().unwrap(), "1000\n", "700\n", 200);
        assert_eq!(of_groups("0::/outer/inner\n", root.path()), Some(500));
        assert_eq!(of_groups("0::/\n", root.path()), None);
        let of_version_1 = root.path().join("memory/named");
        fs::create_dir_all(&of_version_1).unwrap();
        for (file, content) in [
            ("memory.limit_in_bytes", "900\n"),
            ("memory.usage_in_bytes", "800\n"),
            ("memory.stat", "cache 1\ntotal_cache 300\n"),
        ] {
            fs::write(of_version_1.join(file), content).unwrap();
        }
        assert_eq!(of_groups("9:cpu:/x\n4:memory:/named\n0::/outer/inner\n", root.path()), Some(400));
    }
}
