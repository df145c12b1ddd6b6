//! What the kernel counts of the processes of a server and of their threads.

use dnsdyno_sys::clock;

use crate::accumulated::Accumulated;
use crate::files::Files;
use crate::living::living;
use crate::source::Reading;

/// The files of a process.
pub(super) fn paths(pid: u32) -> [String; 4] {
    ["stat", "status", "task/*/status", "task/*/schedstat"].map(|file| format!("/proc/{pid}/{file}"))
}

/// The counters of threads, added up also over those that have ended.
#[derive(Default)]
pub(super) struct Times {
    /// The highest so far. The time of a child is missing between its end and the wait of its parent.
    cpu_ns: u64,
    waits: Accumulated,
    voluntary: Accumulated,
    involuntary: Accumulated,
}

impl Times {
    /// The series of a server's processes.
    pub(super) fn read(&mut self, files: &Files, pids: &[u32], reading: &mut Reading) {
        let tick_ns = 1_000_000_000 / clock::ticks_per_second();
        let (mut cpu_ns, mut memory_bytes, mut threads) = (0_u64, 0_u64, 0_u64);
        for pid in pids {
            let Some(stat) = living(files.text(&format!("/proc/{pid}/stat"))) else { continue };
            // That of threads that have ended is in it, and that of children that it has waited for.
            let ticks = stat.own_ticks().saturating_add(stat.children_ticks);
            cpu_ns = cpu_ns.saturating_add(ticks.saturating_mul(tick_ns));
            threads = threads.saturating_add(stat.threads);
            let status = files.text(&format!("/proc/{pid}/status"));
            memory_bytes =
                memory_bytes.saturating_add(field(status, "VmRSS").unwrap_or(0).saturating_mul(1024));
            for (path, text) in files.under(&format!("/proc/{pid}/task/")) {
                let Some((thread, file)) = path.rsplit_once('/') else { continue };
                let number = || thread.rsplit('/').next().and_then(|number| number.parse::<u64>().ok());
                match (file, number()) {
                    ("schedstat", Some(number)) => {
                        let name = name(files.text(&format!("{thread}/status")));
                        let mut figures = text.split_ascii_whitespace().map_while(|word| word.parse().ok());
                        if let (Some(cpu_ns), Some(wait_ns)) = (figures.next(), figures.next()) {
                            reading.counter(format!("thread.{name}/{number}.cpu_ns"), cpu_ns);
                            self.waits.see(number, wait_ns);
                        }
                    }
                    ("status", Some(number)) => {
                        let see = |switches: &mut Accumulated, name| {
                            if let Some(count) = field(text, name) {
                                switches.see(number, count);
                            }
                        };
                        see(&mut self.voluntary, "voluntary_ctxt_switches");
                        see(&mut self.involuntary, "nonvoluntary_ctxt_switches");
                    }
                    _ => {}
                }
            }
        }
        self.cpu_ns = self.cpu_ns.max(cpu_ns);
        reading.counter("cpu_ns", self.cpu_ns);
        reading.gauge("memory_bytes", memory_bytes);
        reading.gauge("threads", threads);
        for (name, all) in [
            ("cpu_wait_ns", &mut self.waits),
            ("context_switches.voluntary", &mut self.voluntary),
            ("context_switches.involuntary", &mut self.involuntary),
        ] {
            reading.counter(name, all.total());
        }
    }
}

/// A field of `status`: `VmRSS:  1234 kB`.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// The name of a thread: `Name:  isc-net-0000`.
fn name(status: &str) -> &str {
    status.lines().next().and_then(|line| line.strip_prefix("Name:")).map_or("", str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_a_child_is_kept_when_it_ends_and_counted_once() {
        let parent = |waited: u64| format!("7 (nsd) S 1 0 0 0 0 0 0 0 0 0 10 0 {waited} 0 20 0 1 0 100 0 0");
        let child = "8 (nsd: server 1) S 7 0 0 0 0 0 0 0 0 0 90 0 0 0 20 0 1 0 200 0 0".to_owned();
        let mut times = Times::default();
        let mut ticks = |texts: &[(u32, String)]| {
            let files = texts.iter().map(|(pid, text)| (format!("/proc/{pid}/stat"), text.clone()));
            let mut reading = Reading::default();
            times.read(&Files(files.collect()), &[7, 8, 9], &mut reading);
            reading.counters["cpu_ns"] / (1_000_000_000 / clock::ticks_per_second())
        };
        assert_eq!(ticks(&[(7, parent(0)), (8, child.clone())]), 100);
        // It has ended, and its parent has not waited for it yet.
        assert_eq!(ticks(&[(7, parent(0)), (8, child.replace(") S", ") Z"))]), 100);
        // In between it has used 5 more; another child has begun.
        assert_eq!(ticks(&[(7, parent(95)), (9, child.replace("90", "2"))]), 107);
    }

    #[test]
    fn the_series_of_processes_are_added_up() {
        let stat = |pid| format!("{pid} (nsd) S 1 0 0 0 0 0 0 0 0 0 3 1 0 0 20 0 2 0 100 0 0");
        let files = [
            ("/proc/7/stat", stat(7)),
            ("/proc/7/status", "Name:\tnsd\nVmRSS:\t   10 kB\n".to_owned()),
            (
                "/proc/7/task/7/status",
                "Name:\tnsd: main\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n".to_owned(),
            ),
            ("/proc/7/task/7/schedstat", "1000 200 9\n".to_owned()),
            ("/proc/8/stat", stat(8)),
            ("/proc/8/task/8/status", "Name:\tnsd: server\nvoluntary_ctxt_switches:\t6\n".to_owned()),
            ("/proc/8/task/8/schedstat", "3000 400 9\n".to_owned()),
        ];
        let files = Files(files.map(|(path, text)| (path.to_owned(), text)).into());
        let mut reading = Reading::default();
        Times::default().read(&files, &[7, 8, 9], &mut reading);
        let tick_ns = 1_000_000_000 / clock::ticks_per_second();
        let expected = [
            ("cpu_ns", 8 * tick_ns),
            ("cpu_wait_ns", 600),
            ("context_switches.voluntary", 11),
            ("context_switches.involuntary", 2),
            ("thread.nsd: main/7.cpu_ns", 1_000),
            ("thread.nsd: server/8.cpu_ns", 3_000),
        ];
        assert_eq!(reading.counters, expected.map(|(name, value)| (name.to_owned(), value)).into());
        assert_eq!(
            reading.gauges,
            [("memory_bytes", 10_240), ("threads", 4)].map(|(name, value)| (name.to_owned(), value)).into()
        );
    }
}
