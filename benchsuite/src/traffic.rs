//! The packets of a turn, as counted by the interfaces: the reference for what every generator reports.
//!
//! ```text
//!   packets ^                    ______  the end: late responses, or none
//!           |                  /
//!           |                / ────────  95 %
//!           |              /
//!           |____________/ ────────────   5 %
//!           └──────────|───|───────────► time: the rate is that of the part between
//! ```

use std::io;

/// The counters of both interfaces at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Since the start of the watch.
    pub(crate) at_ns: u64,
    /// Packets that the far end has received.
    pub(crate) sent: u64,
    /// Packets that the near end has received.
    pub(crate) answered: u64,
}

/// The packets of one turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Traffic {
    /// Packets that arrived at the far end.
    pub(crate) sent: u64,
    /// Packets that arrived at the near end.
    pub(crate) answered: u64,
    /// The rate at the far end while the middle nine tenths of them arrived.
    pub(crate) sent_qps: f64,
    /// The same at the near end; 0 without any.
    pub(crate) answered_qps: f64,
}

impl Traffic {
    /// From readings in their order; `None` where nothing was sent.
    pub(crate) fn of(readings: &[Reading]) -> Option<Self> {
        let (first, last) = (readings.first()?, readings.last()?);
        Some(Self {
            sent: last.sent - first.sent,
            answered: last.answered - first.answered,
            sent_qps: middle_rate(readings, |reading| reading.sent)?,
            answered_qps: middle_rate(readings, |reading| reading.answered).unwrap_or(0.0),
        })
    }
}

/// Packets a second between the instants at which 5 % and 95 % of them had arrived.
fn middle_rate(readings: &[Reading], count: impl Fn(&Reading) -> u64) -> Option<f64> {
    let (first, last) = (count(readings.first()?), count(readings.last()?));
    let all = (last - first) as f64;
    let instant_ns = |share: f64| {
        let wanted = first as f64 + share * all;
        let after = readings.iter().position(|reading| count(reading) as f64 >= wanted)?;
        let (later, earlier) = (&readings[after], &readings[after.checked_sub(1)?]);
        let (low, high) = (count(earlier) as f64, count(later) as f64);
        let step_ns = (later.at_ns - earlier.at_ns) as f64;
        Some(earlier.at_ns as f64 + step_ns * (wanted - low) / (high - low))
    };
    let (from_ns, to_ns) = (instant_ns(EDGE)?, instant_ns(1.0 - EDGE)?);
    (to_ns > from_ns).then(|| all * (1.0 - 2.0 * EDGE) * 1e9 / (to_ns - from_ns))
}

/// Packets that an interface has received, from the text of `/proc/net/dev`: two lines of heading, then a line an
/// interface, `name: bytes packets ...`.
pub(crate) fn packets_received(text: &str, interface: &str) -> io::Result<u64> {
    let rest = text.lines().find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'));
    let received = rest.and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
    received.ok_or_else(|| io::Error::other(format!("no counters of {interface} in {text:?}")))
}

/// The share that is left out at each end.
const EDGE: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    /// One reading each 10 ms.
    fn readings(counts: &[(u64, u64)]) -> Vec<Reading> {
        let at = |n: usize| n as u64 * 10_000_000;
        counts
            .iter()
            .enumerate()
            .map(|(n, (sent, answered))| Reading { at_ns: at(n), sent: *sent, answered: *answered })
            .collect()
    }

    #[test]
    fn the_rate_is_that_of_the_run_and_not_of_the_wait_before_and_after() {
        let mut counts = vec![(7, 3); 50];
        counts.extend((1..=100).map(|n| (7 + n * 1000, 3 + n * 900)));
        counts.extend([(100_007, 90_003); 80]);
        let traffic = Traffic::of(&readings(&counts)).unwrap();
        assert_eq!((traffic.sent, traffic.answered), (100_000, 90_000));
        assert!((traffic.sent_qps - 100_000.0).abs() < 1.0, "{traffic:?}");
        assert!((traffic.answered_qps - 90_000.0).abs() < 1.0, "{traffic:?}");
    }

    #[test]
    fn a_stall_in_the_middle_counts() {
        let mut counts: Vec<(u64, u64)> = (0..=50).map(|n| (n * 1000, 0)).collect();
        counts.extend([(50_000, 0); 90]);
        counts.extend((51..=100).map(|n| (n * 1000, 0)));
        let traffic = Traffic::of(&readings(&counts)).unwrap();
        // 90,000 packets in 0.9 s and a stall of 0.9 s.
        assert!((traffic.sent_qps - 50_000.0).abs() < 500.0, "{traffic:?}");
        assert_eq!((traffic.answered, traffic.answered_qps), (0, 0.0));
    }

    #[test]
    fn without_a_packet_there_is_no_rate() {
        assert_eq!(Traffic::of(&readings(&[(5, 5), (5, 5)])), None);
        assert_eq!(Traffic::of(&[]), None);
    }

    #[test]
    fn the_counters_of_one_interface_are_read_and_no_other_of_a_like_name() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
                    face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n\
                    \x20   lo:       0       9    0    0    0     0          0         0        0       0    0\n\
                    \x20near2: 86897016 55 0 0\n\
                    \x20 near: 86897016 1143383    0    0    0     0          0         0 70890192 1143387    0\n";
        assert_eq!(packets_received(text, "near").unwrap(), 1_143_383);
        assert!(packets_received(text, "far").unwrap_err().to_string().contains("far"));
    }
}
