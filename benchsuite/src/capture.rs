//! The times at which queries passed the near end of the veth pair, captured by tcpdump with the kernel's clock.
//!
//! tcpdump writes a file while the generator runs and reads it back as text afterwards; a packet that carries
//! several queries (segmentation offload) counts as that many at its instant.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::Signal;

use crate::rig::{Call, Rig, Running};
use crate::veth::Veth;

/// A running capture. Dropping it ends tcpdump.
#[derive(Debug)]
pub(crate) struct Capture {
    running: Running,
    tcpdump: PathBuf,
    file: PathBuf,
    /// At the near end, for the mark.
    socket: UdpSocket,
    responder: SocketAddr,
}

impl Capture {
    /// The command, at the near end of the veth pair.
    pub(crate) fn call(rig: &Rig, tcpdump: &Path, veth: &Veth) -> Call {
        // As root, tcpdump would change to another user, who may not write to the rig's folder; -Z prevents this.
        let user = if rustix::process::geteuid().is_root() { "-Z root" } else { "" };
        let (near, responder) = (veth.near(), veth.responder());
        Call::new(tcpdump)
            .within(near.name())
            .words(&format!("-i {} -j host --time-stamp-precision=nano -n", near.interface))
            .words(&format!("-s {SNAP_BYTES} -B {BUFFER_KIB} {user} -w"))
            .arg(rig.work().join(FILE))
            .arg(format!("dst host {} and udp dst port {}", responder.ip(), responder.port()))
            .on(&[rig.server_cpu()])
    }

    /// Starts it and returns when it captures.
    pub(crate) fn start(rig: &Rig, tcpdump: &Path, veth: &Veth) -> anyhow::Result<Self> {
        let ip = veth.near().ipv4;
        let socket = veth.near().enter(|| UdpSocket::bind((ip, 0)))?.context("cannot open a UDP socket")?;
        let running = rig.start(&Self::call(rig, tcpdump, veth), "tcpdump")?;
        running
            .wait_until(READY_WITHIN, |text| text.contains("listening on").then_some(()))
            .context("cannot capture on the veth pair")?;
        let (tcpdump, file) = (tcpdump.to_owned(), rig.work().join(FILE));
        Ok(Self { running, tcpdump, file, socket, responder: veth.responder() })
    }

    /// Ends the capture when it is complete. Returns the instants of all queries of `query_bytes` each, in ns.
    pub(crate) fn finish(self, rig: &Rig, query_bytes: u32) -> anyhow::Result<Vec<u64>> {
        self.drain()?;
        self.running.signal(Signal::INT)?;
        let farewell = self.running.finish(END_WITHIN)?.stderr;
        let dropped = dropped(&farewell).context("cannot read the counts of tcpdump")?;
        ensure!(dropped == 0, "tcpdump lost {dropped} packets: the machine is too busy for this benchmark");
        let read =
            Call::new(&self.tcpdump).words("--time-stamp-precision=nano -tt -q -nn -r").arg(&self.file);
        let text = rig.run(&read, "packets", READ_WITHIN)?.stdout;
        std::fs::remove_file(&self.file).with_context(|| format!("cannot remove {}", self.file.display()))?;
        parse_packets(&text, query_bytes)
    }

    /// Packets wait in the kernel's ring until tcpdump reads them, and are lost if it ends before. So a marker packet
    /// is sent after the last query: when it is in the file, so are all packets before it. SIGUSR2 flushes the file.
    fn drain(&self) -> anyhow::Result<()> {
        self.socket.send_to(MARK, self.responder).context("cannot send the end marker of the capture")?;
        let deadline = Instant::now() + END_WITHIN;
        while !ends_with_mark(&self.file).with_context(|| format!("cannot read {}", self.file.display()))? {
            ensure!(Instant::now() < deadline, "tcpdump did not read all packets within {END_WITHIN:?}");
            self.running.signal(Signal::USR2)?;
            ensure!(!self.running.ends_within(LOOK_AGAIN)?, "tcpdump ended too early");
        }
        Ok(())
    }
}

/// Whether the last packets of a capture file hold [`MARK`].
fn ends_with_mark(file: &Path) -> io::Result<bool> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    Ok(tail.windows(MARK.len()).any(|bytes| bytes == MARK))
}

/// From the line `0 packets dropped by kernel` with which tcpdump ends.
fn dropped(stderr: &str) -> Option<u64> {
    let line = stderr.lines().find(|line| line.contains("dropped by kernel"))?;
    line.split_whitespace().next()?.parse().ok()
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
        if bytes as usize == MARK.len() {
            continue;
        }
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

/// What goes after the last query; no query has its length.
const MARK: &[u8] = b"dnsdyno-benchsuite: that was the last query";

/// Where the mark is looked for: a few packets.
const TAIL_BYTES: u64 = 4096;

const LOOK_AGAIN: Duration = Duration::from_millis(20);
const READY_WITHIN: Duration = Duration::from_secs(10);
const END_WITHIN: Duration = Duration::from_secs(20);
const READ_WITHIN: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

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
    fn the_mark_at_the_end_is_no_query() {
        let text = format!(
            "12.000000005 IP a > b: UDP, length 34\n12.000000009 IP c > b: UDP, length {}",
            MARK.len()
        );
        assert_eq!(parse_packets(&text, 34).unwrap(), [12_000_000_005]);
    }

    #[test]
    fn the_mark_is_found_once_it_is_in_the_file_whole() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[7; 10_000]).unwrap();
        file.write_all(&MARK[..20]).unwrap();
        assert!(!ends_with_mark(file.path()).unwrap());
        file.write_all(&MARK[20..]).unwrap();
        assert!(ends_with_mark(file.path()).unwrap());
    }

    #[test]
    fn packets_that_tcpdump_lost_are_read() {
        let text = "5 packets captured\n10 packets received by filter\n3 packets dropped by kernel\n";
        assert_eq!((dropped(text), dropped("5 packets captured\n")), (Some(3), None));
    }
}
