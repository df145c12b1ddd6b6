//! What the kernel counts of the whole host: CPUs, interrupts, memory, pressure, open files, temperature.

use dnsdyno_sys::clock;

use crate::files::Files;
use crate::source::Reading;

/// The files.
pub(super) const FILES: [&str; 11] = [
    "/proc/stat",
    "/proc/softirqs",
    "/proc/interrupts",
    "/proc/meminfo",
    "/proc/sys/fs/file-nr",
    "/proc/pressure/cpu",
    "/proc/pressure/memory",
    "/proc/pressure/io",
    "/sys/class/thermal/thermal_zone*/type",
    "/sys/class/thermal/thermal_zone*/temp",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq",
];

/// The series of these files.
pub(super) fn read(files: &Files, reading: &mut Reading) {
    times(files.text("/proc/stat"), reading);
    softirqs(files.text("/proc/softirqs"), reading);
    interrupts(files.text("/proc/interrupts"), reading);
    memory(files.text("/proc/meminfo"), reading);
    for resource in ["cpu", "memory", "io"] {
        pressure(resource, files.text(&format!("/proc/pressure/{resource}")), reading);
    }
    let first = |path: &str| files.text(path).split_ascii_whitespace().next()?.parse().ok();
    if let Some(open) = first("/proc/sys/fs/file-nr") {
        reading.gauge("files.open", open);
    }
    temperatures(files, reading);
    frequencies(files, reading);
}

/// `stat`: `cpu0 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL`, in ticks; `intr SUM`, `procs_running N`.
fn times(text: &str, reading: &mut Reading) {
    let tick_ns = 1_000_000_000 / clock::ticks_per_second();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(name) = words.next() else { continue };
        match name {
            "intr" => words.next().and_then(|sum| sum.parse().ok()).into_iter().for_each(|sum| {
                reading.counter("interrupts", sum);
            }),
            "ctxt" => words.next().and_then(|sum| sum.parse().ok()).into_iter().for_each(|sum| {
                reading.counter("context_switches", sum);
            }),
            "procs_running" => {
                words.next().and_then(|count| count.parse().ok()).into_iter().for_each(|count| {
                    reading.gauge("processes.running", count);
                })
            }
            cpu if cpu.starts_with("cpu") => {
                for (state, ticks) in TIMES.into_iter().zip(words) {
                    let ticks: u64 = ticks.parse().unwrap_or(0);
                    reading.counter(format!("{cpu}.{state}_ns"), ticks.saturating_mul(tick_ns));
                }
            }
            _ => {}
        }
    }
}

/// What the hypervisor took from each CPU, from `/proc/stat`.
pub(crate) fn steal_ns(files: &Files) -> impl Iterator<Item = (String, u64)> {
    let mut reading = Reading::default();
    times(files.text("/proc/stat"), &mut reading);
    let of_cpu = |(name, ns): (String, u64)| Some((name.strip_suffix(".steal_ns")?.to_owned(), ns));
    // "cpu" alone is all of them.
    reading.counters.into_iter().filter_map(of_cpu).filter(|(cpu, _)| cpu != "cpu")
}

/// The states of `stat`; processes that run with lower priority run for a user too.
const TIMES: [&str; 8] = ["user", "user", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// `softirqs`: a line of CPUs, and a line `NET_RX: 17 18` for each kind. Those of each CPU are kept of the network's.
fn softirqs(text: &str, reading: &mut Reading) {
    let mut lines = text.lines();
    let cpus: Vec<String> =
        lines.next().unwrap_or_default().split_ascii_whitespace().map(str::to_lowercase).collect();
    for (kind, values) in lines.filter_map(|line| line.trim_start().split_once(':')) {
        let values: Vec<u64> = values.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
        let sum = values.iter().fold(0, |sum: u64, value| sum.wrapping_add(*value));
        reading.counter(format!("softirq.{kind}"), sum);
        if kind.starts_with("NET_") {
            for (cpu, value) in cpus.iter().zip(values) {
                reading.counter(format!("softirq.{cpu}.{kind}"), value);
            }
        }
    }
}

/// `interrupts`: a line of CPUs, and a line `24: 17 18 IO-APIC eth0-rx-0` for each. The sum of each CPU.
fn interrupts(text: &str, reading: &mut Reading) {
    let mut lines = text.lines();
    let cpus: Vec<&str> = lines.next().unwrap_or_default().split_ascii_whitespace().collect();
    let mut sums = vec![0_u64; cpus.len()];
    for (_, values) in lines.filter_map(|line| line.split_once(':')) {
        let values = values.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok());
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.wrapping_add(value));
    }
    for (cpu, sum) in cpus.iter().zip(sums) {
        reading.counter(format!("interrupts.{}", cpu.to_lowercase()), sum);
    }
}

/// `meminfo`: `MemAvailable:    1234 kB`.
fn memory(text: &str, reading: &mut Reading) {
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    };
    for (name, field) in [("available", "MemAvailable"), ("total", "MemTotal")] {
        if let Some(bytes) = bytes(field) {
            reading.gauge(format!("memory.{name}_bytes"), bytes);
        }
    }
    if let (Some(total), Some(free)) = (bytes("SwapTotal"), bytes("SwapFree")) {
        reading.gauge("memory.swap_used_bytes", total.saturating_sub(free));
    }
}

/// `pressure`: `some avg10=0.00 avg60=0.00 avg300=0.00 total=17`, in microseconds.
fn pressure(resource: &str, text: &str, reading: &mut Reading) {
    let totals = text.lines().filter_map(|line| {
        let (extent, total) = (line.split_once(' ')?.0, line.rsplit_once("total=")?.1);
        Some((extent, total.trim().parse::<u64>().ok()?))
    });
    for (extent, total_us) in totals {
        reading.counter(format!("pressure.{resource}.{extent}_ns"), total_us.saturating_mul(1_000));
    }
}

/// Zones may have the same kind: the hottest is kept.
fn temperatures(files: &Files, reading: &mut Reading) {
    for (path, text) in files.under("/sys/class/thermal/") {
        let (Some(zone), Ok(temperature)) = (path.strip_suffix("/temp"), text.trim().parse()) else {
            continue;
        };
        let kind = files.text(&format!("{zone}/type")).trim();
        let kind = if kind.is_empty() { zone.rsplit('/').next().unwrap_or_default() } else { kind };
        reading.gauge(format!("temperature.{kind}_celsius_milli"), temperature);
    }
}

fn frequencies(files: &Files, reading: &mut Reading) {
    for (path, text) in files.under("/sys/devices/system/cpu/cpu") {
        let cpu = path.split('/').nth(5).unwrap_or_default();
        if let (true, Ok(khz)) = (path.ends_with("/scaling_cur_freq"), text.trim().parse::<u64>()) {
            reading.gauge(format!("frequency.{cpu}_hz"), khz.saturating_mul(1_000));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read_by_its_form() {
        let files = [
            (
                "/proc/stat",
                "cpu  3 1 2 40 5 6 7 8 0 0\ncpu0 3 1 2 40 5 6 7 8 0 0\nintr 115 0 1\nctxt 9\nprocs_running 3\n",
            ),
            ("/proc/softirqs", "      CPU0   CPU1\n  NET_RX:   17   18\n  SCHED:   1   2\n"),
            (
                "/proc/interrupts",
                "      CPU0   CPU1\n 24:   1   2   IO-APIC   5-edge   eth0\nLOC:  10  20  Local timer interrupts\n\
                 ERR:  5\n",
            ),
            (
                "/proc/meminfo",
                "MemTotal: 100 kB\nMemAvailable:     40 kB\nSwapTotal: 10 kB\nSwapFree: 4 kB\n",
            ),
            ("/proc/sys/fs/file-nr", "2048\t0\t9223372036854775807\n"),
            (
                "/proc/pressure/cpu",
                "some avg10=0.00 avg60=0.00 avg300=0.00 total=17\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n",
            ),
            ("/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n"),
            ("/sys/class/thermal/thermal_zone0/temp", "45000\n"),
            ("/sys/class/thermal/thermal_zone1/temp", "30000\n"),
            ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "2400000\n"),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let mut reading = Reading::default();
        let files = Files(files.into());
        read(&files, &mut reading);
        let tick_ns = 1_000_000_000 / clock::ticks_per_second();
        let stolen: Vec<_> = steal_ns(&files).collect();
        assert_eq!(stolen, [("cpu0".to_owned(), 8 * tick_ns)]);
        for (name, value) in [
            ("cpu.user_ns", 4 * tick_ns),
            ("cpu0.steal_ns", 8 * tick_ns),
            ("cpu0.softirq_ns", 7 * tick_ns),
            ("interrupts", 115),
            ("interrupts.cpu1", 22),
            ("interrupts.cpu0", 16),
            ("softirq.NET_RX", 35),
            ("softirq.cpu1.NET_RX", 18),
            ("softirq.SCHED", 3),
            ("pressure.cpu.some_ns", 17_000),
            ("pressure.cpu.full_ns", 3_000),
            ("memory.available_bytes", 40_960),
            ("memory.swap_used_bytes", 6_144),
            ("files.open", 2_048),
            ("temperature.x86_pkg_temp_celsius_milli", 45_000),
            ("temperature.thermal_zone1_celsius_milli", 30_000),
            ("frequency.cpu3_hz", 2_400_000_000),
        ] {
            let read = reading.counters.get(name).or_else(|| reading.gauges.get(name)).copied();
            assert_eq!(read, Some(value), "{name}");
        }
    }
}
