//! What else this host does: CPUs, processes and memory, between two readings.

use std::collections::BTreeMap;

use dnsdyno_measure::Facts;
use dnsdyno_sys::process::Stat;
use dnsdyno_text::shown;

use super::values::field;
use crate::files::Files;

pub(super) fn of_files(before: &Files, after: &Files, facts: &mut Facts) {
    cpus(before, after, facts);
    let memory = after.text("/proc/meminfo");
    let bytes = |name| field(memory, name).map(|kib| kib.saturating_mul(1024));
    facts.number("memory.available_bytes", bytes("MemAvailable"));
    let swap = bytes("SwapTotal").zip(bytes("SwapFree")).map(|(total, free)| total.saturating_sub(free));
    facts.number("memory.swap_used_bytes", swap);
    let pages = |files: &Files| {
        let text = files.text("/proc/vmstat");
        Some(field(text, "pswpin")?.saturating_add(field(text, "pswpout")?))
    };
    let swapped = pages(after).zip(pages(before)).map(|(after, before)| after.saturating_sub(before));
    facts.number("memory.swapped_pages", swapped);
}

fn cpus(before: &Files, after: &Files, facts: &mut Facts) {
    let Some((first, last)) = Cpu::of(before).zip(Cpu::of(after)) else { return };
    let total = last.total.saturating_sub(first.total);
    let share = |part: u64| (total > 0).then(|| (part * 100 + total / 2) / total);
    facts.number("load.busy_percent", share(total.saturating_sub(last.idle.saturating_sub(first.idle))));
    facts.number("load.steal_percent", share(last.steal.saturating_sub(first.steal)));
    let average =
        after.text("/proc/loadavg").split(' ').next().and_then(|average| average.parse::<f64>().ok());
    // Rounded to whole percents; a load average is never negative.
    facts.number("load.average_percent", average.map(|average| (average * 100.0 / last.count as f64) as u64));

    let (began, ended) = (ticks(before), ticks(after));
    let own = std::process::id();
    let of_one_cpu = |used: u64| (total > 0).then(|| used * 100 * last.count / total);
    let mut busy: Vec<(u64, String)> = ended
        .into_iter()
        .filter(|(pid, _)| *pid != own)
        .filter_map(|(pid, (used, name))| {
            let percent = of_one_cpu(used.saturating_sub(began.get(&pid)?.0))?;
            (percent >= BUSY_PERCENT).then(|| (percent, format!("{} ({pid}) {percent} %", shown(&name, 32))))
        })
        .collect();
    busy.sort_by(|a, b| b.cmp(a));
    let named: Vec<&str> = busy.iter().take(MOST_NAMED).map(|(_, text)| text.as_str()).collect();
    facts.number("load.busiest_percent", Some(busy.first().map_or(0, |(percent, _)| *percent)));
    let named = if named.is_empty() { "no single process".to_owned() } else { named.join(", ") };
    facts.text("load.processes", Some(&named));
}

/// The line of all CPUs in `/proc/stat`, in ticks.
struct Cpu {
    total: u64,
    idle: u64,
    steal: u64,
    /// CPUs.
    count: u64,
}

impl Cpu {
    fn of(files: &Files) -> Option<Cpu> {
        let text = files.text("/proc/stat");
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        // user nice system idle iowait irq softirq steal; guests are in user.
        let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
        let count = text.lines().skip(1).take_while(|line| line.starts_with("cpu")).count().max(1) as u64;
        let &[.., idle, iowait, _, _, steal] = ticks.as_slice() else { return None };
        Some(Cpu { total: ticks.iter().sum(), idle: idle + iowait, steal, count })
    }
}

/// The CPU time of each process but the kernel's threads, in ticks, and its name.
fn ticks(files: &Files) -> BTreeMap<u32, (u64, String)> {
    let process = |(path, text): (&str, &str)| {
        let pid = path.strip_prefix("/proc/")?.strip_suffix("/stat")?.parse().ok()?;
        let stat = Stat::parse(text).filter(|stat| !stat.is_of_kernel())?;
        Some((pid, (stat.own_ticks(), stat.name)))
    };
    files.under("/proc/").filter_map(process).collect()
}

/// Processes that use less of a CPU are not named.
const BUSY_PERCENT: u64 = 5;

/// Processes that are named.
const MOST_NAMED: usize = 3;

#[cfg(test)]
mod tests {
    use dnsdyno_measure::Fact;

    use super::*;

    fn files(busy: u64, idle: u64, steal: u64, process: u64, swapped: u64) -> Files {
        let stat = format!("cpu {busy} 0 0 {idle} 0 0 0 {steal} 0 0\ncpu0 1\ncpu1 1\nintr 1\n");
        let named = format!("7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 {process} 0 0 0 20 0 1 0 100");
        let kernel = format!("9 (kworker) S 2 7 7 0 -1 0 0 0 0 0 {busy} 0 0 0 20 0 1 0 100");
        let memory = "MemAvailable: 2 kB\nSwapTotal: 5 kB\nSwapFree: 1 kB\n";
        let all = [
            ("/proc/stat", stat.as_str()),
            ("/proc/7/stat", &named),
            ("/proc/9/stat", &kernel),
            ("/proc/loadavg", "1.50 0.5 0.5 1/2 3"),
            ("/proc/meminfo", memory),
            ("/proc/vmstat", &format!("pswpin {swapped}\npswpout 1\n")),
        ];
        Files(all.map(|(path, text)| (path.to_owned(), text.to_owned())).into())
    }

    #[test]
    fn load_is_what_was_used_between_the_readings() {
        let mut facts = Facts::default();
        of_files(&files(1_000, 1_000, 0, 50, 0), &files(1_060, 1_130, 10, 100, 8), &mut facts);
        let number = |name: &str| match facts.get(name) {
            Some(Fact::Number(value)) => *value,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!([number("load.busy_percent"), number("load.steal_percent")], [35, 5]);
        assert_eq!([number("load.average_percent"), number("load.busiest_percent")], [75, 50]);
        assert_eq!(facts.get("load.processes"), Some(&Fact::Text("a) b (7) 50 %".to_owned())));
        assert_eq!([number("memory.swapped_pages"), number("memory.swap_used_bytes")], [8, 4_096]);
    }
}
