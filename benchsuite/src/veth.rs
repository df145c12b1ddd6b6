//! The rig: two network namespaces, a veth pair between them, a responder in the kernel at the far end, and counters.
//!
//! ```text
//!   namespace "near"                                 namespace "far"
//!   generator ──► [near 10.77.0.1] ════════════ [far 10.77.0.2] XDP: reflect, or drop
//!                  XDP: pass, unless the          counted here: queries that arrived
//!                  generator attaches its own
//!                  counted here: responses that arrived
//! ```
//!
//! The kernel does all work of the veth pair and of the responder on the CPU that sent the packet, so a generator bound
//! to one CPU shares it with both. The counters are read from the other CPU while it runs: one clock and one reference
//! for all generators.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use dnsdyno_lab::{Namespace, VethPair};
use dnsdyno_sys::interface::Interface;
use dnsdyno_sys::xdp::{Attach, Discard, Pass, Reflect, XdpError};

use crate::programs::{Generator, Target, Turn};
use crate::rig::Rig;
use crate::traffic::{Reading, Traffic, packets_received};

/// The XDP program at the far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FarEnd {
    /// Every query is returned as its own response.
    Reflect,
    /// Every query is dropped.
    Drop,
}

/// The veth pair. Dropping it removes it and both namespaces.
pub(crate) struct Veth {
    // Dropped before the interfaces that they are on.
    _far: FarProgram,
    near_counts: File,
    far_counts: File,
    pair: VethPair,
    far_end: FarEnd,
    queues: u32,
}

/// Kept as long as it must run.
#[expect(dead_code, reason = "kept only until they are dropped")]
enum FarProgram {
    Reflect(Reflect),
    Discard(Discard),
}

impl Veth {
    /// A veth pair with `queues` queues in each direction; queue n belongs to CPU n.
    pub(crate) fn new(far_end: FarEnd, queues: u32) -> anyhow::Result<Self> {
        ensure!(rustix::process::geteuid().is_root(), "namespaces and a veth pair need root");
        let pair = VethPair::new(queues)?;
        let far = on_interface(pair.far(), |interface| match far_end {
            FarEnd::Reflect => Reflect::attach(interface, Attach::Native, PORT).map(FarProgram::Reflect),
            FarEnd::Drop => Discard::attach(interface, Attach::Native, PORT).map(FarProgram::Discard),
        })?;
        // As on network cards; otherwise the kernel delivers packets one by one.
        let near = pair.near().enter(|| Interface::named(pair.near().interface))?;
        near.and_then(|near| near.join_arrivals(true)).context("cannot switch GRO on")?;
        let (near_counts, far_counts) = (counters(pair.near())?, counters(pair.far())?);
        let veth = Self { _far: far, near_counts, far_counts, pair, far_end, queues };
        if queues > 1 {
            veth.give_each_cpu_its_queue()?;
        }
        Ok(veth)
    }

    /// The responder, as target from the near end with the queries in `queries`.
    pub(crate) fn target(&self, queries: &Path) -> Target {
        Target {
            address: self.responder(),
            namespace: Some(self.pair.near().name().to_owned()),
            queries: queries.to_owned(),
        }
    }

    /// The address of the responder.
    pub(crate) fn responder(&self) -> SocketAddr {
        SocketAddr::new(self.pair.far().ipv4.into(), PORT)
    }

    /// The near end.
    pub(crate) fn near(&self) -> &Namespace {
        self.pair.near()
    }

    /// The commands that build it.
    pub(crate) fn commands(&self) -> Vec<String> {
        let queues = self.queues;
        let far = match self.far_end {
            FarEnd::Reflect => "answers: ebpf/reflect.bpf.c, native",
            FarEnd::Drop => "drops: ebpf/ends.bpf.c, drop, native",
        };
        vec![
            format!(
                "ip link add near numrxqueues {queues} numtxqueues {queues} type veth peer name far \
                 numrxqueues {queues} numtxqueues {queues}    # far is 10.77.0.2 and {far}"
            ),
            "ethtool -K near gro on    # as on network cards; it is off by default on veth".to_owned(),
            "# near is 10.77.0.1; for generators on sockets it has ebpf/ends.bpf.c, pass, native".to_owned(),
        ]
    }

    /// Runs a generator at the near end, with the XDP program it needs there, and reads the counters.
    pub(crate) fn run(
        &self,
        rig: &Rig,
        generator: &Generator,
        seconds: u32,
    ) -> anyhow::Result<(Turn, Traffic)> {
        let pass = (!generator.brings_program && self.far_end == FarEnd::Reflect)
            .then(|| on_interface(self.near(), |near| Pass::attach(near, Attach::Native)))
            .transpose()?;
        let (turn, readings) = self.monitored(|| generator.run(rig, seconds))?;
        drop(pass);
        if generator.brings_program {
            // kxdpgun leaves its program attached; dnsdyno removes its own, and then this does nothing.
            self.near().ip(&["link", "set", "dev", self.near().interface, "xdp", "off"])?;
        }
        Ok((turn?, Traffic::of(&readings).context("no packet was counted on the veth pair")?))
    }

    /// Does `work` while the counters are read; the readings include the values at the start and at the end.
    fn monitored<R>(&self, work: impl FnOnce() -> R) -> anyhow::Result<(R, Vec<Reading>)> {
        let done = AtomicBool::new(false);
        let start = Instant::now();
        // Before the work starts, even if the reading thread starts later.
        let first = self.read(start).context("cannot read the counters of the veth pair")?;
        thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let mut readings = vec![first];
                loop {
                    // Read before the counters, so that the last reading is after the end.
                    let last = done.load(Ordering::Acquire);
                    readings.push(self.read(start)?);
                    if last {
                        return io::Result::Ok(readings);
                    }
                    thread::sleep(READ_EVERY);
                }
            });
            let result = work();
            done.store(true, Ordering::Release);
            let readings =
                watcher.join().map_err(|_| anyhow::anyhow!("the thread that reads the counters panicked"))?;
            Ok((result, readings.context("cannot read the counters of the veth pair")?))
        })
    }

    fn read(&self, start: Instant) -> io::Result<Reading> {
        let sent = packets_received(&read_all(&self.far_counts)?, self.pair.far().interface)?;
        let answered = packets_received(&read_all(&self.near_counts)?, self.near().interface)?;
        let at_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok(Reading { at_ns, sent, answered })
    }

    /// Both ends send from CPU n by queue n. `ip netns exec` shows the namespace's own `/sys`.
    fn give_each_cpu_its_queue(&self) -> anyhow::Result<()> {
        for end in [self.pair.near(), self.pair.far()] {
            for queue in 0..self.queues {
                let file = format!("/sys/class/net/{}/queues/tx-{queue}/xps_cpus", end.interface);
                let script = format!("echo {:x} > {file}", 1_u64 << queue);
                let output = std::process::Command::new("ip")
                    .args(["netns", "exec", end.name(), "sh", "-c", &script])
                    .output()
                    .context("cannot run ip")?;
                let said = String::from_utf8_lossy(&output.stderr);
                ensure!(output.status.success(), "cannot give a CPU its queue ({script}): {said}");
            }
        }
        Ok(())
    }
}

fn on_interface<R: Send>(
    end: &Namespace,
    attach: impl FnOnce(&Interface) -> Result<R, XdpError> + Send,
) -> anyhow::Result<R> {
    let name = end.interface;
    let attach = move || {
        let interface = Interface::named(name).with_context(|| format!("cannot find {name}"))?;
        attach(&interface).map_err(anyhow::Error::from)
    };
    end.enter(attach)?
}

/// The counters of a namespace's interfaces; the open file belongs to that namespace wherever it is read.
fn counters(end: &Namespace) -> anyhow::Result<File> {
    let open = || File::open("/proc/thread-self/net/dev");
    end.enter(open)?.context("cannot open the counters of the veth pair")
}

fn read_all(file: &File) -> io::Result<String> {
    let mut bytes = [0; 4096];
    let length = file.read_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// The port of the responder.
const PORT: u16 = 53;

/// Often enough for the start and end of a run of two seconds, at no noticeable cost.
const READ_EVERY: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use dnsdyno_lab::{Need, require};

    use super::*;

    /// Sends so many queries from the near end, one by one, and waits for each response where one is expected.
    fn ask(veth: &Veth, queries: u64) {
        let ip = veth.near().ipv4;
        let socket = veth.near().enter(|| UdpSocket::bind((ip, 0)).unwrap()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        for _ in 0..queries {
            socket.send_to(&[7, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], veth.responder()).unwrap();
            if veth.far_end == FarEnd::Reflect {
                assert_eq!(socket.recv(&mut [0; 64]).unwrap(), 12);
            }
        }
    }

    fn traffic(veth: &Veth, queries: u64) -> Traffic {
        let ((), readings) = veth.monitored(|| ask(veth, queries)).unwrap();
        Traffic::of(&readings).unwrap()
    }

    #[test]
    fn the_interfaces_count_queries_and_responses_independently_of_the_sender() {
        if !require(&[Need::Root]) {
            return;
        }
        // Two queues: every query must arrive on either.
        for queues in [1, 2] {
            let veth = Veth::new(FarEnd::Reflect, queues).unwrap();
            let _pass = on_interface(veth.near(), |near| Pass::attach(near, Attach::Native)).unwrap();
            let seen = traffic(&veth, 500);
            // Neighbour discovery is counted too.
            assert!((500..520).contains(&seen.sent) && (500..520).contains(&seen.answered), "{seen:?}");
        }
    }

    #[test]
    fn at_the_dropping_end_queries_are_counted_and_there_are_no_responses() {
        if !require(&[Need::Root]) {
            return;
        }
        let veth = Veth::new(FarEnd::Drop, 1).unwrap();
        let seen = traffic(&veth, 500);
        assert!((500..520).contains(&seen.sent) && seen.answered < 20, "{seen:?}");
    }
}
