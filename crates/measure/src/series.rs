//! What the name of a watched series says: its unit, and whether it counts what was lost.
//!
//! ```text
//!   udp.drops                       a count         1,234/s     4,765
//!   interface.eth0.rx_bytes         octets          12.3 MB/s   1.5 GB
//!   thread.named/4712.cpu_ns        time            35.00 %     12.3 s
//!   temperature.cpu_celsius_milli   a temperature               45.3 °C
//! ```

use dnsdyno_text::units::{bytes, count, duration, percent, rate};
use serde::Serialize;

/// The unit of a series, by the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesUnit {
    /// A number of things.
    Count,
    /// Octets.
    Bytes,
    /// Nanoseconds: as a counter, a share of the time.
    Ns,
    /// Hertz.
    Hz,
    /// Thousandths of a degree.
    CelsiusMilli,
    /// Thousandths of a whole.
    Permille,
}

impl SeriesUnit {
    /// The unit of the series of this name.
    pub fn of(name: &str) -> SeriesUnit {
        let unit = ENDS.iter().find(|(end, _)| name.ends_with(end));
        unit.map_or(SeriesUnit::Count, |(_, unit)| *unit)
    }
}

const ENDS: [(&str, SeriesUnit); 6] = [
    ("_bytes", SeriesUnit::Bytes),
    (".bytes", SeriesUnit::Bytes),
    ("_ns", SeriesUnit::Ns),
    ("_hz", SeriesUnit::Hz),
    ("_celsius_milli", SeriesUnit::CelsiusMilli),
    ("_permille", SeriesUnit::Permille),
];

/// How fast a counter rose: `1,234/s`, `12.3 MB/s`, `35.00 %` of the time.
pub fn rise_text(name: &str, rise: u64, over_ns: u64) -> String {
    let share = rise as f64 / over_ns.max(1) as f64;
    match SeriesUnit::of(name) {
        SeriesUnit::Ns => percent(share),
        SeriesUnit::Bytes => format!("{}/s", bytes(share * 1e9)),
        _ => format!("{}/s", rate(share * 1e9)),
    }
}

/// By how much a counter rose, or how high a gauge was: `4,765`, `1.23 s`, `45.3 °C`.
pub fn value_text(name: &str, value: u64) -> String {
    match SeriesUnit::of(name) {
        SeriesUnit::Count => count(value),
        SeriesUnit::Bytes => bytes(value as f64),
        SeriesUnit::Ns => duration(value),
        SeriesUnit::Hz if value >= 1_000_000 => format!("{} MHz", count(value / 1_000_000)),
        SeriesUnit::Hz => format!("{} Hz", count(value)),
        SeriesUnit::CelsiusMilli => format!("{:.1} °C", value as f64 * 1e-3),
        SeriesUnit::Permille => percent(value as f64 * 1e-3),
    }
}

/// Whether a rise of this counter means that something was lost or held back, in the words of kernels and servers.
pub fn counts_loss(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // How a server answered is no loss of its own.
    !name.contains("rcode") && LOSS.iter().any(|word| name.contains(word))
}

const LOSS: [&str; 16] = [
    "drop",
    "overflow",
    "overrun",
    "retrans",
    "throttle",
    "squeeze",
    "discard",
    "prune",
    "errors",
    "fail",
    "lost",
    "missed",
    "reject",
    "refused",
    "tcptimeouts",
    "steal_ns",
];

/// Whether this is a name of a server's own, which the common names repeat.
pub fn is_raw(name: &str) -> bool {
    name.starts_with("raw.")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn the_end_of_a_name_is_its_unit() {
        let texts = [
            ("udp.drops", 4_765, "2,383/s", "4,765"),
            ("interface.eth0.rx_bytes", 3_000_000, "1.5 MB/s", "3 MB"),
            ("qdisc.eth0.bytes", 3_000, "1.5 kB/s", "3 kB"),
            ("thread.named/4712.cpu_ns", 700_000_000, "35.00 %", "700 ms"),
        ];
        for (name, rise, a_second, in_all) in texts {
            assert_eq!(rise_text(name, rise, 2 * SECOND_NS), a_second, "{name}");
            assert_eq!(value_text(name, rise), in_all, "{name}");
        }
        let levels = [
            ("temperature.cpu_celsius_milli", 45_349, "45.3 °C"),
            ("frequency.cpu0_hz", 2_400_000_000, "2,400 MHz"),
            ("cache.full_permille", 250, "25.00 %"),
            ("pressure_ns", 12_300_000_000, "12.3 s"),
        ];
        levels.into_iter().for_each(|(name, value, text)| assert_eq!(value_text(name, value), text));
    }

    #[test]
    fn what_was_lost_or_held_back_is_told_from_what_was_done() {
        for name in
            ["snmp.Udp.RcvbufErrors", "netstat.TcpExt.ListenOverflows", "udp.drops", "cgroup.throttled_ns"]
        {
            assert!(counts_loss(name), "{name}");
        }
        for name in ["queries.udp", "responses.rcode.SERVFAIL", "responses.rcode.REFUSED", "cpu.user_ns"] {
            assert!(!counts_loss(name), "{name}");
        }
    }
}
