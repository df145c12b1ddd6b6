//! The host that made the run: hardware, kernel, settings and limits.
//!
//! Without them, two runs cannot be compared. Each fact is optional: where it cannot be read, such as in a container
//! or without privileges, it is absent and never guessed.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use dnsdyno_text::secret::words_without_secrets;
use serde::{Deserialize, Serialize};

use crate::route::interface_towards;

/// The content of `host.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostInfo {
    /// Version of dnsdyno.
    pub dnsdyno_version: String,
    /// The program and its arguments, as typed.
    pub command_line: Vec<String>,
    /// The kernel's random number of this boot: tells one host from another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// `6.1.0-18-amd64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_release: Option<String>,
    /// The kernel's build, as the kernel reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_version: Option<String>,
    /// The distribution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// The processor's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_model: Option<String>,
    /// Online CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus_online: Option<String>,
    /// CPUs that the generator may use, as the kernel lists them: `0-3,8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus_allowed: Option<String>,
    /// Frequency governor of the first CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_governor: Option<String>,
    /// The limit that dnsdyno set for this run on how long an idle CPU may take to wake up, in µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_exit_limit_us: Option<u32>,
    /// Total memory, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The kernel's clock source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clocksource: Option<String>,
    /// A container, or a hint of a virtual machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// CPU time that the control group may use: "max 100000" or "50000 100000" (µs, each µs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup_cpu_max: Option<String>,
    /// Kernel settings that influence a run, by name.
    pub sysctls: BTreeMap<String, String>,
    /// Limits of this process, soft and hard.
    pub limits: BTreeMap<String, String>,
    /// The interface to the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<InterfaceInfo>,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InterfaceInfo {
    /// `eth0`.
    pub name: String,
    /// Largest packet, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u64>,
    /// The driver's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Link speed in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mbps: Option<u64>,
    /// Receive queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_queues: Option<usize>,
    /// Send queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_queues: Option<usize>,
}

/// The command line of this process, without the secrets in it.
pub fn command_line() -> Vec<String> {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    words_without_secrets(&words)
}

impl HostInfo {
    /// Reads the facts for a run against `target`. Never fails, and takes milliseconds.
    pub fn gather(target: IpAddr) -> HostInfo {
        HostInfo {
            dnsdyno_version: env!("CARGO_PKG_VERSION").to_owned(),
            command_line: command_line(),
            boot_id: word("/proc/sys/kernel/random/boot_id"),
            kernel_release: word("/proc/sys/kernel/osrelease"),
            kernel_version: word("/proc/sys/kernel/version"),
            os: field("/etc/os-release", "PRETTY_NAME=").map(|name| name.trim_matches('"').to_owned()),
            cpu_model: field("/proc/cpuinfo", "model name")
                .or_else(|| word("/sys/firmware/devicetree/base/model")),
            cpus_online: word("/sys/devices/system/cpu/online"),
            cpus_allowed: field("/proc/self/status", "Cpus_allowed_list"),
            cpu_governor: word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            idle_exit_limit_us: None,
            memory_bytes: field("/proc/meminfo", "MemTotal").and_then(|text| bytes_of_kib(&text)),
            clocksource: word("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            container: container(),
            cgroup_cpu_max: word("/sys/fs/cgroup/cpu.max"),
            sysctls: SYSCTLS.into_iter().filter_map(sysctl).collect(),
            limits: limits(&fs::read_to_string("/proc/self/limits").unwrap_or_default()),
            interface: interface_towards(target).map(InterfaceInfo::read),
        }
    }

    /// The text of `host.json`.
    pub fn to_json(&self) -> String {
        // Cannot fail: strings, numbers and maps with string keys.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

impl InterfaceInfo {
    fn read(name: String) -> InterfaceInfo {
        let dir = Path::new("/sys/class/net").join(&name);
        let number = |file: &str| word(dir.join(file)).and_then(|text| text.parse().ok());
        let queues = |prefix: &str| {
            let entries = fs::read_dir(dir.join("queues")).ok()?;
            let is_one = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(prefix);
            Some(entries.flatten().filter(|entry| is_one(&entry.file_name())).count())
        };
        let driver = fs::read_link(dir.join("device/driver")).ok();
        InterfaceInfo {
            mtu: number("mtu"),
            driver: driver.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned())),
            // An interface without a speed reports -1, which is not a u64.
            speed_mbps: number("speed"),
            rx_queues: queues("rx-"),
            tx_queues: queues("tx-"),
            name,
        }
    }
}

/// The content of a small file, trimmed; `None` where it is missing or empty.
fn word(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The value on the first line of `path` that begins with `key`, after a colon where there is one.
fn field(path: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(value.trim_start().trim_start_matches(':').trim().to_owned())
}

/// `16318480 kB`.
fn bytes_of_kib(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

fn sysctl(name: &str) -> Option<(String, String)> {
    let value = word(Path::new("/proc/sys").join(name.replace('.', "/")))?;
    Some((name.to_owned(), value))
}

/// Rows of `/proc/self/limits`: a name of several words, then soft limit, hard limit and unit.
fn limits(table: &str) -> BTreeMap<String, String> {
    let wanted = |(label, key): (&str, &str)| {
        let row = table.lines().find_map(|line| line.strip_prefix(label))?;
        let mut words = row.split_whitespace();
        Some((key.to_owned(), format!("{} {}", words.next()?, words.next()?)))
    };
    LIMITS.into_iter().filter_map(wanted).collect()
}

fn container() -> Option<String> {
    let hints = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    let by_file =
        hints.into_iter().find(|(path, _)| Path::new(path).exists()).map(|(_, name)| name.to_owned());
    let kubernetes = || std::env::var_os("KUBERNETES_SERVICE_HOST").map(|_| "kubernetes".to_owned());
    let by_manager = || word("/run/systemd/container");
    by_file.or_else(kubernetes).or_else(by_manager)
}

/// Buffers, queues and ports, which may limit a generator before its CPU does.
const SYSCTLS: [&str; 18] = [
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.core.optmem_max",
    "net.core.netdev_max_backlog",
    "net.core.netdev_budget",
    "net.core.somaxconn",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.ipv4.udp_mem",
    "net.ipv4.udp_rmem_min",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.icmp_ratelimit",
    "net.netfilter.nf_conntrack_max",
    "kernel.perf_event_paranoid",
    "kernel.sched_rt_runtime_us",
];

/// Process limits that influence a run: the label in the kernel's table, and our key.
const LIMITS: [(&str, &str); 3] = [
    ("Max open files", "open_files"),
    ("Max locked memory", "locked_memory_bytes"),
    ("Max realtime priority", "realtime_priority"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_cpus_and_loopback_of_this_host_are_read() {
        let host = HostInfo::gather("127.0.0.1".parse().unwrap());
        assert!(host.kernel_release.is_some() && host.cpus_allowed.is_some());
        assert_eq!(host.interface.as_ref().map(|lo| lo.name.as_str()), Some("lo"));
        assert!(host.limits.contains_key("open_files"), "{:?}", host.limits);
        assert_eq!(serde_json::from_str::<HostInfo>(&host.to_json()).unwrap(), host);
    }

    #[test]
    fn a_fact_that_cannot_be_read_is_absent() {
        assert_eq!(word("/nonexistent/file"), None);
        assert_eq!(
            InterfaceInfo::read("nosuch0".into()),
            InterfaceInfo { name: "nosuch0".into(), ..Default::default() }
        );
        assert!(limits("").is_empty());
        assert_eq!(HostInfo::default().to_json().matches("null").count(), 0);
    }

    #[test]
    fn limits_are_read_by_their_label() {
        let table = "Limit                     Soft Limit           Hard Limit           Units     \n\
                     Max open files            1024                 1048576              files     \n";
        assert_eq!(limits(table)["open_files"], "1024 1048576");
    }
}
