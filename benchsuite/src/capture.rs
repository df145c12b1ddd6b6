//! The times at which queries were on the loopback interface, taken by tcpdump with the kernel's clock.
//!
//! tcpdump writes a file while the generator runs and reads it back as text afterwards; a packet that carries
//! several queries at once (a train handed to the kernel as one) counts as that many at its instant.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::Signal;

use crate::rig::{Call, Rig, Running};

/// A capture under way. Dropping it ends tcpdump.
#[derive(Debug)]
pub(crate) struct Capture {
    running: Running,
    tcpdump: PathBuf,
    file: PathBuf,
}

impl Capture {
    /// What it runs, for the queries to `port`.
    pub(crate) fn call(rig: &Rig, tcpdump: &PathBuf, port: u16) -> Call {
        // As root, tcpdump would become another user, whom the rig's folder does not admit; -Z keeps it as it is.
        let user = if rustix::process::geteuid().is_root() { "-Z root" } else { "" };
        Call::new(tcpdump)
            .words("-i lo -j host --time-stamp-precision=nano -n")
            .words(&format!("-s {SNAP_BYTES} -B {BUFFER_KIB} {user} -w"))
            .arg(rig.work().join(FILE))
            .arg(format!("udp dst port {port}"))
            .on(&[rig.server_cpu()])
    }

    /// Starts it and returns when it listens.
    pub(crate) fn start(rig: &Rig, tcpdump: &PathBuf, port: u16) -> anyhow::Result<Self> {
        let running = rig.start(&Self::call(rig, tcpdump, port), "tcpdump")?;
        running
            .wait_until(READY_WITHIN, |text| text.contains("listening on").then_some(()))
            .context("cannot capture on the loopback interface (it takes root)")?;
        Ok(Self { running, tcpdump: tcpdump.clone(), file: rig.work().join(FILE) })
    }

    /// Ends it when it has taken in all there was; the instants of all queries of `query_bytes` each, in ns.
    pub(crate) fn finish(self, rig: &Rig, query_bytes: u32) -> anyhow::Result<Vec<u64>> {
        self.drain()?;
        self.running.signal(Signal::INT)?;
        self.running.finish(END_WITHIN)?;
        let read =
            Call::new(&self.tcpdump).words("--time-stamp-precision=nano -tt -q -nn -r").arg(&self.file);
        let text = rig.run(&read, "packets", READ_WITHIN)?.stdout;
        std::fs::remove_file(&self.file).with_context(|| format!("cannot remove {}", self.file.display()))?;
        parse_packets(&text, query_bytes)
    }

    /// Packets wait in the kernel's ring until tcpdump takes them, and an end would throw them away. It tells its
    /// counts at SIGUSR1; the loopback interface shows each packet twice, leaving and coming, and tcpdump keeps one.
    fn drain(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + END_WITHIN;
        loop {
            let looks = self.running.stderr()?.matches(COUNTS_END).count();
            self.running.signal(Signal::USR1)?;
            let counts = self.running.wait_until(END_WITHIN, |text| {
                let line = text.lines().rev().find(|line| line.contains(COUNTS_END))?;
                (text.matches(COUNTS_END).count() > looks).then(|| Counts::parse(line))
            })?;
            let counts = counts.context("cannot read the counts of tcpdump")?;
            ensure!(
                counts.dropped == 0,
                "tcpdump lost {} packets; the machine is too busy to judge",
                counts.dropped
            );
            if 2 * counts.captured >= counts.received {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "tcpdump does not take in what it received: {counts:?}");
        }
    }
}

/// `tcpdump: 5 packets captured, 10 packets received by filter, 0 packets dropped by kernel`
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    captured: u64,
    received: u64,
    dropped: u64,
}

impl Counts {
    fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
        Some(Self { captured: numbers.next()?, received: numbers.next()?, dropped: numbers.next()? })
    }
}

/// Lines such as `1795294618.378792921 IP 127.0.0.1.56454 > 127.0.0.1.5999: UDP, length 34`.
fn parse_packets(text: &str, query_bytes: u32) -> anyhow::Result<Vec<u64>> {
    let mut times_ns = Vec::new();
    for line in text.lines() {
        let parsed = (|| {
            let (seconds, rest) = line.split_once('.')?;
            let (fraction, rest) = rest.split_once(' ')?;
            let bytes: u32 = rest.rsplit_once("length ")?.1.trim().parse().ok()?;
            let nanos: u64 = (fraction.len() == 9).then(|| fraction.parse().ok())??;
            Some((seconds.parse::<u64>().ok()? * 1_000_000_000 + nanos, bytes))
        })();
        let (time_ns, bytes) = parsed.with_context(|| format!("cannot read this line of tcpdump: {line}"))?;
        ensure!(
            bytes % query_bytes == 0,
            "{bytes} bytes are not whole queries of {query_bytes} bytes: {line}"
        );
        times_ns.extend(std::iter::repeat_n(time_ns, (bytes / query_bytes) as usize));
    }
    // Senders on several CPUs may enter the ring in another order than their clocks were read.
    times_ns.sort_unstable();
    Ok(times_ns)
}

const FILE: &str = "queries.pcap";

/// Ethernet, IPv4 and UDP headers with room to spare; the length comes from the header.
const SNAP_BYTES: u32 = 96;

/// Ten seconds at 30,000 a second fit, should tcpdump not get to run at all.
const BUFFER_KIB: u32 = 128 << 10;

/// How the line with the counts ends.
const COUNTS_END: &str = "dropped by kernel";

const READY_WITHIN: Duration = Duration::from_secs(10);
const END_WITHIN: Duration = Duration::from_secs(20);
const READ_WITHIN: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_a_time_for_each_query_in_it() {
        let text = "12.000000005 IP 127.0.0.1.56454 > 127.0.0.1.5999: UDP, length 34\n\
                    12.000000009 IP 127.0.0.1.56454 > 127.0.0.1.5999: UDP, length 102\n";
        assert_eq!(
            parse_packets(text, 34).unwrap(),
            [12_000_000_005, 12_000_000_009, 12_000_000_009, 12_000_000_009]
        );
    }

    #[test]
    fn a_line_that_is_no_query_is_an_error_and_not_skipped() {
        for line in
            ["12.5 IP a > b: UDP, length 34", "12.000000005 ARP", "12.000000005 IP a > b: UDP, length 33"]
        {
            assert!(parse_packets(line, 34).unwrap_err().to_string().contains(line));
        }
    }

    #[test]
    fn the_counts_of_tcpdump_are_read() {
        let line = "tcpdump: 5 packets captured, 10 packets received by filter, 0 packets dropped by kernel";
        assert_eq!(Counts::parse(line), Some(Counts { captured: 5, received: 10, dropped: 0 }));
        assert_eq!(Counts::parse("tcpdump: nothing"), None);
    }
}
