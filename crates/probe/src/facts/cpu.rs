//! CPUs, clocks, and the machine.

use std::collections::BTreeSet;

use dnsdyno_measure::Facts;
use dnsdyno_sys::clock;
use dnsdyno_sys::process::{CpuList, Stat};

use super::values::{listed, number, word};
use crate::cgroup::Cgroup;
use crate::files::Files;

pub(super) fn of_files(files: &Files, facts: &mut Facts) {
    frequency(files, facts);
    idle(files, facts);
    machine(files, facts);
    let count = |list: Option<CpuList>| list.and_then(|list| list.count());
    facts.number("cpu.count", count(CpuList::allowed_in(files.text("/proc/self/status"))));
    facts.number("cpu.online", count(CpuList::parse(files.text("/sys/devices/system/cpu/online"))));
    facts.number("cpu.smt", number(files, "/sys/devices/system/cpu/smt/active"));
    let clocks = "/sys/devices/system/clocksource/clocksource0/";
    facts.text("clock.source", word(files, &format!("{clocks}current_clocksource")));
    facts.text("clock.sources", word(files, &format!("{clocks}available_clocksource")));
    processes(files, facts);
}

/// The programs that set the clock or move interrupts.
fn processes(files: &Files, facts: &mut Facts) {
    let stats = files.under("/proc/").filter(|(path, _)| path.ends_with("/stat"));
    let running: BTreeSet<String> =
        stats.filter_map(|(_, text)| Stat::parse(text)).map(|stat| stat.name).collect();
    if running.is_empty() {
        return;
    }
    let daemons: Vec<&str> = CLOCK_DAEMONS.into_iter().filter(|name| running.contains(*name)).collect();
    facts.number("clock.daemon_count", Some(daemons.len() as u64));
    let names = if daemons.is_empty() { "none".to_owned() } else { daemons.join(", ") };
    facts.text("clock.daemons", Some(&names));
    facts.number("irqbalance.running", Some(running.contains("irqbalance").into()));
}

fn frequency(files: &Files, facts: &mut Facts) {
    let cpus = "/sys/devices/system/cpu/cpu";
    let of_all = |end: &'static str| {
        let files = files.under(cpus).filter(move |(path, _)| path.ends_with(end));
        files.map(|(_, text)| text.trim()).filter(|text| !text.is_empty())
    };
    facts.text("cpu.governor", Some(&listed(of_all("/scaling_governor"))));
    let highest = |end| of_all(end).filter_map(|text| text.parse::<u64>().ok()).max();
    // In kHz.
    let limits = highest("/scaling_max_freq").zip(highest("/cpuinfo_max_freq").filter(|full| *full > 0));
    facts.number("cpu.frequency_limit_percent", limits.map(|(limit, full)| limit.saturating_mul(100) / full));
    let no_turbo = number(files, "/sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off == 0);
    let boost = || number(files, "/sys/devices/system/cpu/cpufreq/boost").map(|on| on != 0);
    facts.text("cpu.turbo", no_turbo.or_else(boost).map(|on| if on { "on" } else { "off" }));
    let throttles: Vec<u64> = of_all("/core_throttle_count").filter_map(|text| text.parse().ok()).collect();
    facts.number("cpu.thermal_throttles", throttles.iter().copied().max());
}

/// How long a CPU takes to wake from the deepest sleep that it may use.
fn idle(files: &Files, facts: &mut Facts) {
    let states = files.under("/sys/devices/system/cpu/cpu0/cpuidle/").filter_map(|(path, text)| {
        let state = path.strip_suffix("/latency")?;
        let is_off = files.text(&format!("{state}/disable")).trim() == "1";
        (!is_off).then(|| text.trim().parse::<u64>().ok()).flatten()
    });
    facts.number("cpu.idle_exit_us", states.max());
}

fn machine(files: &Files, facts: &mut Facts) {
    facts.text("kernel", word(files, "/proc/sys/kernel/osrelease"));
    let info = files.text("/proc/cpuinfo");
    let has_hypervisor = info.lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor"));
    let name = || {
        let maker = word(files, "/sys/class/dmi/id/sys_vendor").unwrap_or("an unknown hypervisor");
        let product = word(files, "/sys/class/dmi/id/product_name").unwrap_or_default();
        format!("{maker} {product}").trim_end().to_owned()
    };
    let kind = word(files, "/sys/hypervisor/type").map(str::to_owned);
    facts.text("machine.virtual", kind.or_else(|| has_hypervisor.then(name)).as_deref());
    if !info.is_empty() {
        facts.number("machine.is_virtual", Some(facts.get("machine.virtual").is_some().into()));
    }
    let is_there = |path: &str| files.0.contains_key(path);
    let container = match word(files, "/run/systemd/container") {
        Some(name) => Some(name),
        None if is_there("/.dockerenv") => Some("docker"),
        None if is_there("/run/.containerenv") => Some("podman"),
        None => None,
    };
    facts.text("machine.container", container);
    if !files.0.is_empty() {
        facts.number("machine.in_container", Some(container.is_some().into()));
    }
}

/// What the control group of this program may use, in percent of one CPU; 0 where it has no limit.
pub(super) fn quota(cgroup: Option<&Cgroup>, facts: &mut Facts) {
    let Some(settings) = cgroup.map(|cgroup| &cgroup.settings) else { return };
    let number = |name: &str| settings.get(name).and_then(|value| value.parse::<u64>().ok());
    let limits = number("cgroup.quota_us").zip(number("cgroup.period_us").filter(|period_us| *period_us > 0));
    let percent = limits.map_or(0, |(quota_us, period_us)| quota_us.saturating_mul(100) / period_us);
    facts.number("cgroup.quota_percent", Some(percent));
}

/// How long it takes to read the clock: the shortest of some rounds, so that other load does not count.
pub(super) fn clock_read_ns() -> u64 {
    let round = || {
        let began_ns = clock::monotonic_ns();
        for _ in 0..READS {
            std::hint::black_box(clock::monotonic_ns());
        }
        clock::monotonic_ns().saturating_sub(began_ns) / READS
    };
    (0..ROUNDS).map(|_| round()).min().unwrap_or(0)
}

/// Programs that set the clock, by the first 15 octets of their names, which is what the kernel keeps.
const CLOCK_DAEMONS: [&str; 6] = ["chronyd", "ntpd", "ntpsec", "openntpd", "phc2sys", "systemd-timesyn"];

/// Readings of a round, and rounds.
const READS: u64 = 100;
const ROUNDS: u64 = 20;

#[cfg(test)]
mod tests {
    use dnsdyno_measure::Fact;

    use super::*;

    fn facts(files: &[(&str, &str)]) -> Facts {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let mut facts = Facts::default();
        of_files(&Files(files), &mut facts);
        facts
    }

    fn text(facts: &Facts, name: &str) -> Option<String> {
        facts.get(name).map(Fact::to_string)
    }

    #[test]
    fn governors_of_all_cpus_and_the_wake_up_of_the_deepest_allowed_sleep_are_read() {
        let cpu = "/sys/devices/system/cpu";
        let facts = facts(&[
            (&format!("{cpu}/cpu0/cpufreq/scaling_governor"), "powersave\n"),
            (&format!("{cpu}/cpu1/cpufreq/scaling_governor"), "performance\n"),
            (&format!("{cpu}/cpu1/cpufreq/scaling_max_freq"), "1500000\n"),
            (&format!("{cpu}/cpu1/cpufreq/cpuinfo_max_freq"), "3000000\n"),
            (&format!("{cpu}/cpu0/cpuidle/state1/latency"), "2\n"),
            (&format!("{cpu}/cpu0/cpuidle/state2/latency"), "133\n"),
            (&format!("{cpu}/cpu0/cpuidle/state2/disable"), "1\n"),
            (&format!("{cpu}/intel_pstate/no_turbo"), "0\n"),
        ]);
        assert_eq!(text(&facts, "cpu.governor").as_deref(), Some("performance, powersave"));
        assert_eq!(text(&facts, "cpu.frequency_limit_percent").as_deref(), Some("50"));
        assert_eq!(text(&facts, "cpu.idle_exit_us").as_deref(), Some("2"));
        assert_eq!(text(&facts, "cpu.turbo").as_deref(), Some("on"));
    }

    #[test]
    fn a_machine_says_what_it_is() {
        let facts = facts(&[
            ("/proc/cpuinfo", "processor : 0\nflags : fpu hypervisor lahf\n"),
            ("/sys/class/dmi/id/sys_vendor", "QEMU\n"),
            ("/.dockerenv", ""),
            ("/proc/12/stat", "12 (chronyd) S 1 0 0 0 0 0 0 0 0 0 3 1 0 0 20 0 2 0 100 0 0"),
            ("/proc/13/stat", "13 (systemd-timesyn) S 1 0 0 0 0 0 0 0 0 0 3 1 0 0 20 0 2 0 100 0 0"),
            ("/proc/self/status", "Name:\tdnsdyno\nCpus_allowed_list:\t0-3,8\n"),
            ("/sys/devices/system/cpu/online", "0-15\n"),
        ]);
        assert_eq!(text(&facts, "machine.virtual").as_deref(), Some("QEMU"));
        assert_eq!(text(&facts, "machine.container").as_deref(), Some("docker"));
        assert_eq!(text(&facts, "clock.daemons").as_deref(), Some("chronyd, systemd-timesyn"));
        assert_eq!(text(&facts, "irqbalance.running").as_deref(), Some("0"));
        assert_eq!(
            ["cpu.count", "cpu.online"].map(|name| text(&facts, name)),
            ["5", "16"].map(|count| Some(count.to_owned()))
        );
    }
}
