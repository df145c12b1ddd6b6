//! The rate and CPU use of each worker: if more workers do not increase the rate, this shows whether CPUs are the
//! limit.

use dnsdyno_record::Digest;
use dnsdyno_text::layout::{NOTHING, Table};
use dnsdyno_text::units::{duration, percent};

use crate::figures::run_rate_cell;

/// A table of the workers in lines of at most `width` columns; empty where the record has none.
pub fn workers(digest: &Digest, width: usize) -> String {
    let mut out = String::new();
    if let Some(table) = table(digest) {
        out.push('\n');
        table.write(&mut out, width);
    }
    out
}

/// The same as a table; `None` where the record has none.
pub(crate) fn table(digest: &Digest) -> Option<Table> {
    let used = digest.workers();
    if used.is_empty() {
        return None;
    }
    let share = |ns: u64| percent(ns as f64 / digest.to_ns().max(1) as f64);
    let per_second = |n: u64| run_rate_cell(digest, n);
    let per_query = |ns: u64, sent: u64| ns.checked_div(sent).map_or(NOTHING.to_owned(), duration);
    let mut table = Table::default();
    table.right("worker", 0, (0..used.len()).map(|number| number.to_string()).collect());
    table.right("sent/s", 0, used.iter().map(|one| per_second(one.sent)).collect());
    table.right("answered/s", 1, used.iter().map(|one| per_second(one.answered)).collect());
    table.right("CPU", 0, used.iter().map(|one| share(one.cpu_ns)).collect());
    table.right("CPU wait", 0, used.iter().map(|one| share(one.cpu_wait_ns)).collect());
    table.right("CPU/query", 2, used.iter().map(|one| per_query(one.cpu_ns, one.sent)).collect());
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn each_worker_has_a_line_with_its_rate_and_its_cpu() {
        let mut digest = sample::stair();
        let sum = digest.sum.as_mut().unwrap();
        (sum.schedule_ns, sum.to_ns) = (2_000_000_000, 4_000_000_000);
        sum.workers = vec![
            dnsdyno_record::WorkerUse {
                cpu_ns: 3_000_000_000,
                cpu_wait_ns: 400_000_000,
                sent: 6_000,
                answered: 4_000,
            },
            dnsdyno_record::WorkerUse::default(),
        ];
        let text = workers(&digest, 100);
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split("  ").filter(|word| !word.is_empty()).map(str::trim).collect())
            .collect();
        assert_eq!(lines[2], ["0", "3,000", "2,000", "75.00 %", "10.00 %", "500 µs"], "{text}");
        assert_eq!((lines.len(), lines[3][0], lines[3][5]), (4, "1", "-"), "{text}");
    }
}
