//! The test bed: what CPU time this host gave to the generator and to a server on it. Read beside every load.
//!
//! ```text
//!   /proc/stat                   what the hypervisor took from each CPU
//!   cpu.stat                     the quota of our control group, and of the server's
//!   /proc/PID/task/*/schedstat   CPU time and wait of each thread of the server
//!   /proc/PID/net/snmp, snmp6    datagrams dropped at full receive buffers where the server is
//! ```

mod counters;
mod server;

use std::collections::BTreeMap;

use dnsdyno_measure::{QuotaUse, Samples, ServerUse, Side, TestBed, Watched, WatchedKind};

use self::counters::{GroupOf, KernelCounters};
use self::server::ServerProcesses;
use crate::files::{FileReader, LocalFiles};
use crate::host::steal_ns;
use crate::opened::Targets;
use crate::source::{ReadError, Reading, Source};

/// The CPU time of this host: a source whose counters only rise.
pub struct Bed {
    watched: Watched,
    own_group: GroupOf,
    server: ServerProcesses,
    kernel: KernelCounters,
    /// What was counted so far.
    sum: Reading,
}

impl Bed {
    /// The test bed of a load that goes to these targets.
    pub fn open(targets: &Targets) -> Bed {
        Bed {
            watched: Watched {
                kind: WatchedKind::Host,
                side: Side::Generator,
                label: "the CPU time of this host".to_owned(),
                software: None,
                version: None,
                settings: BTreeMap::new(),
                unset: Vec::new(),
                missing: Vec::new(),
            },
            own_group: GroupOf::process("/proc/self".to_owned()),
            server: ServerProcesses::at(&targets.addresses),
            kernel: KernelCounters::default(),
            sum: Reading::default(),
        }
    }

    /// What was counted in an interval, from its samples. Whether something is known is a gauge, which is never 0.
    pub fn in_interval(samples: &Samples) -> TestBed {
        let quota = |whose: &str| {
            let counter = |name: &str| samples.counter(&format!("{whose}.{name}"));
            (samples.gauge(whose) > 0).then(|| {
                Box::new(QuotaUse {
                    periods: counter("cgroup.periods"),
                    throttled_periods: counter("cgroup.throttled_periods"),
                    throttled_ns: counter("cgroup.throttled_ns"),
                })
            })
        };
        let server = || ServerUse {
            cpu_ns: samples.counter(server::CPU),
            wait_ns: samples.counter(server::WAIT),
            longest_wait_ns: samples.counter(server::LONGEST_WAIT),
            full_buffers: samples.counter(server::FULL_BUFFERS),
            quota: quota(server::QUOTA),
        };
        TestBed {
            steal_ns: samples.counter(STEAL),
            quota: quota(QUOTA),
            server: (samples.gauge(server::KNOWN) > 0).then(|| Box::new(server())),
            ..TestBed::default()
        }
    }
}

impl Source for Bed {
    fn watched(&self) -> &Watched {
        &self.watched
    }

    fn watched_mut(&mut self) -> &mut Watched {
        &mut self.watched
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        let mut paths = self.server.paths();
        paths.push("/proc/stat".to_owned());
        paths.extend(self.own_group.paths());
        let files = LocalFiles.read(&paths)?;
        let (sum, kernel) = (&mut self.sum, &mut self.kernel);
        let stolen = steal_ns(&files).map(|(cpu, ns)| kernel.rise(format!("{STEAL}.{cpu}"), ns));
        sum.counter(STEAL, stolen.max().unwrap_or(0));
        self.own_group.group.iter().for_each(|group| kernel.add_quota(QUOTA, group, &files, sum));
        self.own_group.follow(&files);
        self.server.read(&files, kernel, sum);
        Ok(self.sum.clone())
    }
}

/// The series of the host and of our control group.
const STEAL: &str = "steal_ns";
const QUOTA: &str = "quota";

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, UdpSocket};
    use std::os::fd::OwnedFd;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::rise::Rise;

    /// A process of one thread with a socket, that is always busy.
    struct BusyServer {
        address: SocketAddr,
        process: Child,
    }

    impl BusyServer {
        fn at(address: &str) -> BusyServer {
            let socket = UdpSocket::bind(address).unwrap();
            let address = socket.local_addr().unwrap();
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]).stdin(Stdio::from(OwnedFd::from(socket)));
            BusyServer { address, process: command.spawn().unwrap() }
        }
    }

    impl Drop for BusyServer {
        fn drop(&mut self) {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }

    /// A bed, and what it counts from now on.
    fn bed(target: SocketAddr) -> (Bed, Rise) {
        let mut bed = Bed::open(&Targets { addresses: vec![target] });
        let mut rise = Rise::default();
        rise.begin(&bed.read().unwrap());
        (bed, rise)
    }

    fn counted(bed: &mut Bed, rise: &mut Rise) -> TestBed {
        Bed::in_interval(&rise.next(bed.read().unwrap()).samples)
    }

    #[test]
    fn of_a_server_elsewhere_nothing_is_known() {
        let (mut bed, mut rise) = bed("192.0.2.1:53".parse().unwrap());
        let elsewhere = counted(&mut bed, &mut rise);
        assert_eq!((elsewhere.server, elsewhere.steal_ns < 60_000_000_000), (None, true));
    }

    #[test]
    fn a_server_that_works_is_counted_and_keeps_what_it_had_when_it_ends() {
        let server = BusyServer::at("127.0.0.1:0");
        let (mut bed, mut rise) = bed(server.address);
        let started = Instant::now();
        std::thread::sleep(Duration::from_millis(300));
        let busy = *counted(&mut bed, &mut rise).server.unwrap();
        let most_ns = u64::try_from(started.elapsed().as_nanos()).unwrap();
        // It runs, or waits for a CPU, all the time. A wait counts when it has ended.
        assert!(busy.cpu_ns > 0 && busy.cpu_ns + busy.wait_ns <= most_ns + 50_000_000, "{busy:?} {most_ns}");
        assert_eq!(busy.longest_wait_ns, busy.wait_ns, "it has one thread");
        drop(server);
        let after = *counted(&mut bed, &mut rise).server.unwrap();
        assert_eq!(after.cpu_ns, 0, "it is known, and does nothing");
        assert!(bed.sum.counters[server::CPU] >= busy.cpu_ns);
    }

    #[test]
    fn a_server_that_starts_again_is_found_again() {
        let server = BusyServer::at("127.0.0.1:0");
        let (mut bed, mut rise) = bed(server.address);
        let address = server.address;
        drop(server);
        assert_eq!(counted(&mut bed, &mut rise).server.unwrap().cpu_ns, 0);
        let server = BusyServer::at(&address.to_string());
        // One reading finds it, and a later one counts it from its start.
        counted(&mut bed, &mut rise);
        std::thread::sleep(Duration::from_millis(100));
        assert!(counted(&mut bed, &mut rise).server.unwrap().cpu_ns > 0);
        drop(server);
    }

    #[test]
    fn the_quota_of_a_group_is_counted_from_the_first_reading_on() {
        let (mut kernel, mut sum) = (KernelCounters::default(), Reading::default());
        for counted in [
            "nr_periods 10\nnr_throttled 4\nthrottled_usec 70\n",
            "nr_periods 15\nnr_throttled 6\nthrottled_usec 90\n",
        ] {
            let (group, files) = crate::cgroup::tests::group(counted);
            kernel.add_quota(QUOTA, &group, &files, &mut sum);
        }
        let samples = Samples { counters: sum.counters, gauges: sum.gauges };
        let quota = *Bed::in_interval(&samples).quota.unwrap();
        assert_eq!(quota, QuotaUse { periods: 5, throttled_periods: 2, throttled_ns: 20_000 });
    }
}
