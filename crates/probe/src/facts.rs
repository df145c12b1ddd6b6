//! What can be found out about this host before a run, as a generator of load: `dnsdyno doctor`.
//!
//! Reads files, tries two calls, and looks at the host for a second. It changes nothing and sends nothing.

mod cpu;
mod interface;
mod load;
mod needs;
mod network;
mod values;

use std::time::Duration;

use dnsdyno_measure::Facts;
use dnsdyno_sys::socket;

use crate::cgroup::Cgroup;
use crate::files::{FileReader, Files, LocalFiles};
use crate::source::ReadError;

pub use needs::Needs;

/// Gathers the facts of this host, while it looks at its load for a time.
///
/// # Errors
/// There is no `/proc`.
pub fn gather(needs: &Needs, look_for: Duration) -> Result<Facts, ReadError> {
    let interface = needs.interface.as_deref().unwrap_or(NO_INTERFACE);
    let paths: Vec<String> = PATHS.iter().map(|path| path.replace("{interface}", interface)).collect();
    let before = LocalFiles.read(&paths)?;
    if before.text("/proc/stat").is_empty() {
        return Err(ReadError("there is no /proc/stat: mount /proc first".to_owned()));
    }
    std::thread::sleep(look_for);
    let after = LocalFiles.read(&paths)?;
    let mut facts = of_files(&before, &after);
    interface::of(needs, &after, &mut facts);
    network::tcp_buffers(needs, &after, &mut facts);
    network::source_routes(needs, &mut facts);
    cpu::quota(Cgroup::of(&mut LocalFiles, "/proc/self")?.as_ref(), &mut facts);
    facts.number("clock.read_ns", Some(cpu::clock_read_ns()));
    let (receive, send) = (needs.receive_buffer_bytes, needs.send_buffer_bytes);
    facts.number("buffer.receive_bytes", network::buffer_bytes(receive, socket::set_receive_buffer));
    facts.number("need.receive_buffer_bytes", Some(receive));
    facts.number("buffer.send_bytes", network::buffer_bytes(send, socket::set_send_buffer));
    facts.number("need.send_buffer_bytes", Some(send));
    facts.text("program.build", Some(if cfg!(debug_assertions) { "debug" } else { "release" }));
    Ok(facts)
}

/// What files say, read twice.
fn of_files(before: &Files, after: &Files) -> Facts {
    let mut facts = Facts::default();
    cpu::of_files(after, &mut facts);
    load::of_files(before, after, &mut facts);
    network::of_files(after, &mut facts);
    facts
}

/// No interface has an empty name.
const NO_INTERFACE: &str = "";

/// Everything that is read.
const PATHS: [&str; 51] = [
    "/.dockerenv",
    "/proc/*/stat",
    "/proc/cpuinfo",
    "/proc/interrupts",
    "/proc/irq/*/effective_affinity_list",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/net/if_inet6",
    "/proc/net/protocols",
    "/proc/net/sockstat",
    "/proc/self/limits",
    "/proc/self/status",
    "/proc/stat",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/net/core/netdev_max_backlog",
    "/proc/sys/net/core/rmem_default",
    "/proc/sys/net/core/rmem_max",
    "/proc/sys/net/core/wmem_default",
    "/proc/sys/net/core/wmem_max",
    "/proc/sys/net/ipv4/ip_local_port_range",
    "/proc/sys/net/ipv4/ip_local_reserved_ports",
    "/proc/sys/net/ipv4/tcp_rmem",
    "/proc/sys/net/ipv4/tcp_tw_reuse",
    "/proc/sys/net/ipv4/tcp_wmem",
    "/proc/sys/net/ipv4/udp_rmem_min",
    "/proc/sys/net/ipv4/udp_wmem_min",
    "/proc/sys/net/netfilter/nf_conntrack_count",
    "/proc/sys/net/netfilter/nf_conntrack_max",
    "/proc/vmstat",
    "/run/.containerenv",
    "/run/systemd/container",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/net/{interface}/device/msi_irqs/*",
    "/sys/class/net/{interface}/device/../msi_irqs/*",
    "/sys/class/net/{interface}/speed",
    "/sys/class/net/{interface}/queues/rx-*/rps_cpus",
    "/sys/class/net/{interface}/queues/tx-*/xps_cpus",
    "/sys/devices/system/clocksource/clocksource0/available_clocksource",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq",
    "/sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq",
    "/sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count",
    "/sys/devices/system/cpu/cpu0/cpuidle/state*/disable",
    "/sys/devices/system/cpu/cpu0/cpuidle/state*/latency",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/smt/active",
    "/sys/hypervisor/type",
];

#[cfg(test)]
mod tests {
    use dnsdyno_measure::Fact;

    use super::*;

    #[test]
    fn the_facts_of_this_host_are_read() {
        let needs =
            Needs { interface: Some("lo".to_owned()), receive_buffer_bytes: 65_536, ..Needs::default() };
        let facts = gather(&needs, Duration::from_millis(50)).unwrap();
        for name in ["cpu.count", "load.busy_percent", "memory.available_bytes", "ports.count", "files.limit"]
        {
            assert!(matches!(facts.get(name), Some(Fact::Number(_))), "{name}: {facts:?}");
        }
        assert_eq!(facts.get("interface.name"), Some(&Fact::Text("lo".to_owned())));
    }

    #[test]
    fn a_host_of_which_nothing_can_be_read_has_no_facts() {
        assert_eq!(of_files(&Files::default(), &Files::default()), Facts::default());
    }
}
