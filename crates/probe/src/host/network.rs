//! What the kernel counts of a network namespace: the files of `/proc/net`.

use crate::files::Files;
use crate::source::Reading;

/// The files in the folder of the namespace.
pub(super) const FILES: [&str; 8] =
    ["snmp", "netstat", "snmp6", "sockstat", "sockstat6", "softnet_stat", "dev", "stat/nf_conntrack"];

/// The series of these files.
pub(super) fn read(files: &Files, folder: &str, reading: &mut Reading) {
    let text = |name: &str| files.text(&format!("{folder}/{name}"));
    pairs_of_lines("snmp", text("snmp"), reading);
    pairs_of_lines("netstat", text("netstat"), reading);
    names_and_values(text("snmp6"), reading);
    sockets(text("sockstat"), reading);
    sockets(text("sockstat6"), reading);
    backlog(text("softnet_stat"), reading);
    interfaces(text("dev"), reading);
    conntrack(text("stat/nf_conntrack"), reading);
}

/// Datagrams dropped because the receive buffer of their socket was full, from `snmp` and `snmp6`; `None` where these
/// were not read.
pub(crate) fn full_buffers(files: &Files, folder: &str) -> Option<u64> {
    let text = |name: &str| files.text(&format!("{folder}/{name}"));
    let mut reading = Reading::default();
    pairs_of_lines("snmp", text("snmp"), &mut reading);
    names_and_values(text("snmp6"), &mut reading);
    let dropped = ["snmp.Udp.RcvbufErrors", "snmp6.Udp6RcvbufErrors"];
    let dropped = dropped.into_iter().filter_map(|name| reading.counters.get(name).copied());
    dropped.reduce(u64::wrapping_add)
}

/// `snmp` and `netstat`: a line with names, `Udp: InDatagrams NoPorts`, and one with values, `Udp: 17 2`.
fn pairs_of_lines(file: &str, text: &str, reading: &mut Reading) {
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((group, names)), Some((_, values))) = (names.split_once(": "), values.split_once(": "))
        else {
            continue;
        };
        for (name, value) in names.split(' ').zip(values.split(' ')) {
            match (name, value.parse::<u64>()) {
                ("RtoAlgorithm" | "RtoMin" | "RtoMax" | "MaxConn" | "Forwarding" | "DefaultTTL", _) => {}
                ("CurrEstab" | "MPCurrEstab", Ok(value)) => {
                    reading.gauge(format!("{file}.{group}.{name}"), value)
                }
                (_, Ok(value)) => reading.counter(format!("{file}.{group}.{name}"), value),
                (_, Err(_)) => {}
            }
        }
    }
}

/// `snmp6`: `Udp6InDatagrams    17`.
fn names_and_values(text: &str, reading: &mut Reading) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        if let (Some(name), Some(Ok(value))) = (words.next(), words.next().map(str::parse)) {
            reading.counter(format!("snmp6.{name}"), value);
        }
    }
}

/// `sockstat`: `TCP: inuse 5 orphan 0 tw 2 alloc 9 mem 1`.
fn sockets(text: &str, reading: &mut Reading) {
    for (group, values) in text.lines().filter_map(|line| line.split_once(": ")) {
        let mut words = values.split_ascii_whitespace();
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            if let Ok(value) = value.parse() {
                reading.gauge(format!("sockstat.{group}.{name}"), value);
            }
        }
    }
}

/// `softnet_stat`: a line of hexadecimal numbers for each CPU. The number of the CPU is the thirteenth; older kernels
/// have nine to eleven columns.
fn backlog(text: &str, reading: &mut Reading) {
    let lines: Vec<Vec<u64>> = text
        .lines()
        .map(|line| {
            line.split_ascii_whitespace().map_while(|word| u64::from_str_radix(word, 16).ok()).collect()
        })
        .collect();
    for (name, column) in BACKLOG {
        for columns in &lines {
            reading.counter(format!("softnet.{name}"), columns.get(column).copied().unwrap_or(0));
        }
    }
    for (line, columns) in lines.iter().enumerate() {
        let cpu = columns.get(CPU).copied().unwrap_or(line as u64);
        for (name, column) in BACKLOG {
            reading.counter(format!("softnet.cpu{cpu}.{name}"), columns.get(column).copied().unwrap_or(0));
        }
        reading.gauge("softnet.backlog_packets", columns.get(BACKLOG_LENGTH).copied().unwrap_or(0));
    }
}

/// `dev`: `  eth0: 8 columns of what arrived, 8 of what was sent`.
fn interfaces(text: &str, reading: &mut Reading) {
    // A name may hold a colon; what follows the last one are numbers.
    for (name, values) in text.lines().skip(2).filter_map(|line| line.rsplit_once(':')) {
        let values: Vec<u64> = values.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
        for (direction, values) in ["rx", "tx"].into_iter().zip(values.chunks_exact(8)) {
            for (what, value) in ["bytes", "packets", "errors", "dropped", "fifo"].into_iter().zip(values) {
                reading.counter(format!("interface.{}.{direction}_{what}", name.trim_start()), *value);
            }
        }
    }
}

/// The names of the interfaces in `dev`.
pub(super) fn interface_names(text: &str) -> impl Iterator<Item = &str> {
    text.lines().skip(2).filter_map(|line| Some(line.rsplit_once(':')?.0.trim_start()))
}

/// `stat/nf_conntrack`: a line of names, and a line of hexadecimal numbers for each CPU.
fn conntrack(text: &str, reading: &mut Reading) {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split_ascii_whitespace().collect();
    for line in lines {
        for (name, value) in names.iter().zip(line.split_ascii_whitespace()) {
            match u64::from_str_radix(value, 16) {
                // All lines have the number of the whole namespace.
                Ok(value) if *name == "entries" => reading.gauge("conntrack.entries", value),
                Ok(value) => reading.counter(format!("conntrack.{name}"), value),
                Err(_) => {}
            }
        }
    }
}

/// Columns of `softnet_stat`.
const BACKLOG: [(&str, usize); 4] =
    [("dropped", 1), ("time_squeeze", 2), ("processed", 0), ("received_rps", 9)];
const BACKLOG_LENGTH: usize = 11;
const CPU: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn files(texts: &[(&str, &str)]) -> Files {
        let files = texts.iter().map(|(name, text)| (format!("/proc/net/{name}"), (*text).to_owned()));
        Files(files.collect())
    }

    fn read_all(texts: &[(&str, &str)]) -> Reading {
        let mut reading = Reading::default();
        read(&files(texts), "/proc/net", &mut reading);
        reading
    }

    #[test]
    fn what_full_buffers_dropped_is_added_up_over_both_protocols() {
        let files =
            files(&[("snmp", "Udp: NoPorts RcvbufErrors\nUdp: 9 3\n"), ("snmp6", "Udp6RcvbufErrors 2\n")]);
        assert_eq!((full_buffers(&files, "/proc/net"), full_buffers(&files, "/proc/7/net")), (Some(5), None));
    }

    fn is(reading: &Reading, name: &str) -> Option<u64> {
        reading.counters.get(name).or_else(|| reading.gauges.get(name)).copied()
    }

    #[test]
    fn every_file_is_read_by_its_form() {
        let reading = read_all(&[
            (
                "snmp",
                "Tcp: RtoAlgorithm MaxConn CurrEstab RetransSegs\nTcp: 1 -1 4 9\nUdp: InDatagrams RcvbufErrors\n\
                 Udp: 17 3\n",
            ),
            (
                "netstat",
                "TcpExt: ListenOverflows ListenDrops\nTcpExt: 5 6\nIpExt: InOctets\nIpExt: 18446744073709551615\n",
            ),
            ("snmp6", "Ip6InReceives                   \t3\nUdp6RcvbufErrors                \t2\n"),
            (
                "sockstat",
                "sockets: used 212\nTCP: inuse 5 orphan 0 tw 28231 alloc 9 mem 1\nUDP: inuse 2 mem 0\n",
            ),
            ("sockstat6", "TCP6: inuse 4\n"),
            ("softnet_stat", "0a 01 02 0 0 0 0 0 0 0 0 07 00 0 0\n0b 02 03 0 0 0 0 0 0 0 0 08 05 0 0\n"),
            (
                "dev",
                "Inter-|\n face |\n    lo: 1 2 3 4 5 0 0 0 6 7 8 9 10 0 0 0\na:b: 1 1 1 1 1 1 1 1 2 2 2 2 2 2 2 2\n",
            ),
            (
                "stat/nf_conntrack",
                "entries  found drop insert_failed\n0000000a 0 00000002 1\n0000000a 0 00000003 0\n",
            ),
        ]);
        for (name, value) in [
            ("snmp.Udp.RcvbufErrors", Some(3)),
            ("snmp.Tcp.CurrEstab", Some(4)),
            ("snmp.Tcp.RetransSegs", Some(9)),
            ("snmp.Tcp.MaxConn", None),
            ("netstat.TcpExt.ListenOverflows", Some(5)),
            ("netstat.IpExt.InOctets", Some(u64::MAX)),
            ("snmp6.Udp6RcvbufErrors", Some(2)),
            ("sockstat.TCP.tw", Some(28_231)),
            ("sockstat.TCP6.inuse", Some(4)),
            ("softnet.dropped", Some(3)),
            ("softnet.time_squeeze", Some(5)),
            ("softnet.cpu5.dropped", Some(2)),
            ("softnet.backlog_packets", Some(8)),
            ("interface.lo.rx_dropped", Some(4)),
            ("interface.lo.tx_bytes", Some(6)),
            ("interface.a:b.tx_packets", Some(2)),
            ("conntrack.drop", Some(5)),
            ("conntrack.entries", Some(10)),
        ] {
            assert_eq!(is(&reading, name), value, "{name}");
        }
    }

    #[test]
    fn what_is_cut_or_of_another_form_is_left_out() {
        let reading = read_all(&[
            ("snmp", "Udp: InDatagrams RcvbufErrors\n"),
            ("netstat", "TcpExt\nTcpExt: x y\nIpExt: A B\nIpExt: 1\n"),
            ("sockstat", "TCP: inuse\nnothing\n"),
            ("softnet_stat", "zz\n"),
            ("dev", "a\nb\neth0: 1 2 3\n"),
            ("stat/nf_conntrack", ""),
        ]);
        let moved: Vec<_> = reading.counters.iter().filter(|(_, value)| **value > 0).collect();
        assert_eq!(moved, [(&"netstat.IpExt.A".to_owned(), &1)]);
    }
}
