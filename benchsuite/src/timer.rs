//! The cost of a sleep on this host: the lower limit for a generator that sleeps between its queries.

use std::thread;

use anyhow::Context;
use dnsdyno_sys::{clock, thread as sys_thread};

/// The cost and the error of sleeps of one length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sleeps {
    /// CPU time of one, on average.
    pub(crate) cpu_us: f64,
    /// How much too long the sleeps were, at the median and at p99.
    pub(crate) late_p50_us: f64,
    pub(crate) late_p99_us: f64,
}

/// Sleeps again and again on one CPU, each time for `gap_ns`, for about a second.
pub(crate) fn sleeps(cpu: usize, gap_ns: u64) -> anyhow::Result<Sleeps> {
    let count = 1_000_000_000 / (gap_ns + 20_000);
    let work = move || -> std::io::Result<(u64, Vec<u64>)> {
        sys_thread::pin_to_cpu(cpu)?;
        sys_thread::set_timer_slack_ns(1)?;
        let mut late_ns = Vec::with_capacity(count as usize);
        let before_ns = clock::thread_cpu_ns();
        for _ in 0..count {
            let until_ns = clock::monotonic_ns() + gap_ns;
            clock::sleep_until_ns(until_ns);
            late_ns.push(clock::monotonic_ns().saturating_sub(until_ns));
        }
        Ok((clock::thread_cpu_ns() - before_ns, late_ns))
    };
    let (cpu_ns, late_ns) = thread::spawn(work)
        .join()
        .map_err(|_| anyhow::anyhow!("the sleeping thread panicked"))?
        .context("cannot bind the sleeping thread to a CPU")?;
    Ok(of(cpu_ns, late_ns))
}

fn of(cpu_ns: u64, mut late_ns: Vec<u64>) -> Sleeps {
    late_ns.sort_unstable();
    let at = |share: f64| {
        let rank = (late_ns.len() as f64 * share) as usize;
        late_ns.get(rank.min(late_ns.len().saturating_sub(1))).map_or(0.0, |ns| *ns as f64 / 1e3)
    };
    Sleeps {
        cpu_us: cpu_ns as f64 / 1e3 / late_ns.len().max(1) as f64,
        late_p50_us: at(0.5),
        late_p99_us: at(0.99),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_sleep_are_those_of_the_sample() {
        let late_ns = (1..=100).rev().map(|us| us * 1_000).collect();
        assert_eq!(of(250_000, late_ns), Sleeps { cpu_us: 2.5, late_p50_us: 51.0, late_p99_us: 100.0 });
    }

    #[test]
    fn a_host_can_be_asked() {
        let cpu = sys_thread::allowed_cpus().unwrap()[0];
        let sleeps = sleeps(cpu, 500_000).unwrap();
        assert!(sleeps.cpu_us > 0.0 && sleeps.late_p99_us >= sleeps.late_p50_us, "{sleeps:?}");
    }
}
