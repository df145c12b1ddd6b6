//! Where a bottleneck is provoked: a generator and a real server in network namespaces of their own, joined by a cable,
//! and what the two kernels counted while the load was there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use dnsdyno_lab::{Namespace, Need, Place, Server, ServerOptions, ServerSpec, VethPair, require};
use dnsdyno_measure::Ends;
use dnsdyno_record::Digest;
use serde_json::Value;

use crate::support::{Started, Workplace};

/// The generator's namespace, the server's, and the working folder.
pub(super) struct Scene {
    work: Workplace,
    pair: VethPair,
}

/// A run that has ended, with what the kernels counted from its start to its end.
pub(super) struct Measured {
    pub(super) digest: Digest,
    /// The generator's end.
    pub(super) near: Counters,
    /// The server's end.
    pub(super) far: Counters,
}

impl Scene {
    /// `None` (reported on standard error) where the host lacks the rights or one of the servers.
    pub(super) fn new(servers: &[&str]) -> Option<Scene> {
        Scene::with_programs(servers, &[])
    }

    /// The same; the programs are given with their packages.
    pub(super) fn with_programs(servers: &[&str], programs: &[(&str, &str)]) -> Option<Scene> {
        let programs = programs.iter().map(|(name, package)| Need::Program { name, package });
        let servers = servers.iter().map(|name| Need::Server(name));
        if !require(&servers.chain(programs).chain([Need::Root]).collect::<Vec<_>>()) {
            return None;
        }
        // The lock first: no other test sends a load while the pair exists.
        let work = Workplace::with_queries();
        Some(Scene { work, pair: VethPair::new(1).unwrap() })
    }

    /// The generator's namespace.
    pub(super) fn near(&self) -> &Namespace {
        self.pair.near()
    }

    /// The server's namespace.
    pub(super) fn far(&self) -> &Namespace {
        self.pair.far()
    }

    pub(super) fn work(&self) -> &Workplace {
        &self.work
    }

    /// Starts a server at the far end; `change` sets its options.
    pub(super) fn server(&self, name: &str, change: impl FnOnce(&mut ServerOptions)) -> Server {
        let mut options = ServerOptions { address: self.far().ipv4.into(), ..ServerOptions::default() };
        change(&mut options);
        options.place = Place { open_files: options.place.open_files, ..place(self.far()) };
        let spec = ServerSpec::named(name).unwrap();
        spec.start(&options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sets parameters of the kernel in a namespace: paths under `/proc/sys/net`, and their values.
    pub(super) fn set(&self, end: &Namespace, parameters: &[(&str, &str)]) {
        let set = || {
            for (path, value) in parameters {
                let path = PathBuf::from("/proc/sys/net").join(path);
                fs::write(&path, value).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            }
        };
        end.enter(set).unwrap();
    }

    /// Lets only so much pass from `end` over the cable; what waits is at most `limit` bytes.
    pub(super) fn shape(&self, end: &Namespace, rate: &str, limit: &str) {
        let rate = ["root", "tbf", "rate", rate, "burst", "5kb", "limit", limit];
        let words = [&["-n", end.name(), "qdisc", "add", "dev", end.interface], &rate[..]].concat();
        run("tc", &words, "");
    }

    /// Fills the table of connections of a namespace, whose firewall must look at connections already.
    pub(super) fn fill_connection_table(&self, end: &Namespace) {
        let most = "/proc/sys/net/netfilter/nf_conntrack_max";
        let most: u32 = fs::read_to_string(most).unwrap().trim().parse().unwrap();
        let mut text = String::new();
        for number in 0..most {
            let (address, port) = (number >> 15, 1024 + (number & 0x7fff));
            let (high, low) = (address >> 8, address & 0xff);
            // Assured ones are not dropped for newer ones.
            writeln!(
                text,
                "-I -p udp -s 10.99.{high}.{low} -d {} --sport {port} --dport 9 -t 120 -u SEEN_REPLY,ASSURED",
                end.ipv4
            )
            .unwrap();
        }
        self.work.write("connections", &text);
        let net = format!("--net={}", end.path().display());
        let file = self.work.path("connections").display().to_string();
        run("nsenter", &[&net, "--", "conntrack", "-R", &file], "");
    }

    /// A sum over the CPUs of a counter in `/proc/net/stat/nf_conntrack`.
    pub(super) fn connection_table(&self, end: &Namespace, name: &str) -> u64 {
        let table = "/proc/thread-self/net/stat/nf_conntrack";
        let table = end.enter(|| fs::read_to_string(table).unwrap()).unwrap();
        let mut lines = table.lines();
        let place = lines.next().unwrap().split_whitespace().position(|word| word == name).unwrap();
        let value =
            |line: &str| u64::from_str_radix(line.split_whitespace().nth(place).unwrap(), 16).unwrap();
        lines.map(value).sum()
    }

    /// Packets that the queue of an interface has dropped.
    pub(super) fn dropped_by_queue(&self, end: &Namespace) -> u64 {
        let words = ["-n", end.name(), "-s", "-j", "qdisc", "show", "dev", end.interface];
        let shown: Value = serde_json::from_str(&run("tc", &words, "")).unwrap();
        shown[0]["drops"].as_u64().unwrap()
    }

    /// Adds rules of the firewall to a namespace.
    pub(super) fn filter(&self, end: &Namespace, rules: &str) {
        let net = format!("--net={}", end.path().display());
        run("nsenter", &[&net, "--", "nft", "-f", "-"], rules);
    }

    /// Runs a load against a server to its end.
    pub(super) fn load(&self, server: &Server, words: &str) -> Measured {
        self.load_with(server, words, |_| ())
    }

    /// The same; `during` is done while it runs.
    pub(super) fn load_with(
        &self,
        server: &Server,
        words: &str,
        during: impl FnOnce(&mut Started<'_>),
    ) -> Measured {
        let read = || (Counters::of(self.near()), Counters::of(self.far()));
        let before = read();
        let watched = watched(server);
        let words = format!("run -s {} --interval 200ms --quiet -o run {watched} {words}", server.address());
        let mut run = self.work.start_at(&place(self.near()), &words);
        during(&mut run);
        let ran = run.wait();
        assert!(matches!(ran.code(), Some(0 | 1)), "{ran:?}");
        let after = read();
        let digest = self.work.record("run");
        Measured { digest, near: after.0.since(&before.0), far: after.1.since(&before.1) }
    }

    /// Pauses a server for so long, in mid-run.
    pub(super) fn stand_still(&self, server: &Server, run: &mut Started<'_>, time: Duration) {
        run.until("the load is there", || !self.work.intervals("run").is_empty());
        server.pause().unwrap();
        thread::sleep(time);
        server.resume().unwrap();
    }

    /// The datagrams that each UDP socket of this port at the far end has dropped.
    pub(super) fn dropped_by_sockets(&self, port: u16) -> Vec<u64> {
        let table = self.far().enter(|| fs::read_to_string("/proc/thread-self/net/udp").unwrap()).unwrap();
        let of_port = format!(":{port:04X}");
        let lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines
            .filter(|words| words.get(1).is_some_and(|local| local.ends_with(&of_port)))
            .map(|words| words.last().unwrap().parse().unwrap())
            .collect()
    }
}

impl Measured {
    /// How the queries ended.
    pub(super) fn ends(&self) -> &Ends {
        &self.digest.tally().ends
    }

    /// Queries without an answer in time.
    pub(super) fn unanswered(&self) -> u64 {
        self.ends().total() - self.ends().answered
    }
}

/// Where servers and generators run: a busy host is no bottleneck of theirs.
fn place(end: &Namespace) -> Place {
    Place { namespace: Some(end.clone()), is_preferred: true, ..Place::default() }
}

/// Everything there is to watch: both kernels, the process, the statistics of the server.
fn watched(server: &Server) -> String {
    let (process, folder) = (server.pid(), server.folder().display());
    let of_server = match server.name() {
        "bind" => server.listener("statistics").map(|address| format!("--watch bind=http://{address}/")),
        "knot" => Some(format!("--watch knot={folder}/knot.sock")),
        "nsd" => Some(format!("--watch nsd={folder}/control")),
        "pdns" => Some(format!("--watch pdns={folder}/pdns.controlsocket")),
        "unbound" => Some(format!("--watch unbound={folder}/control")),
        _ => None,
    };
    let of_server = of_server.unwrap_or_default();
    format!("--watch host --watch host={process} --watch process={process} {of_server}")
}

/// Counters of one kernel: `Udp.RcvbufErrors`, `TcpExt.ListenOverflows`.
#[derive(Debug)]
pub(super) struct Counters(BTreeMap<String, u64>);

impl Counters {
    fn of(end: &Namespace) -> Counters {
        let read = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap();
        let text = end.enter(|| read("snmp") + &read("netstat")).unwrap();
        let lines: Vec<_> = text.lines().collect();
        let pairs = lines.chunks(2).filter_map(|pair| match pair {
            [names, values] => Some((names.split_once(": ")?, values.split_once(": ")?.1)),
            _ => None,
        });
        let counters = pairs.flat_map(|((group, names), values)| {
            let named = names.split(' ').zip(values.split(' '));
            named.map(move |(name, value)| (format!("{group}.{name}"), value.parse().unwrap_or_default()))
        });
        Counters(counters.collect())
    }

    fn since(&self, before: &Counters) -> Counters {
        let rise = |(name, value): (&String, &u64)| {
            (name.clone(), value.saturating_sub(before.0.get(name).copied().unwrap_or_default()))
        };
        Counters(self.0.iter().map(rise).collect())
    }

    /// By how much a counter rose.
    #[track_caller]
    pub(super) fn of_name(&self, name: &str) -> u64 {
        *self.0.get(name).unwrap_or_else(|| panic!("this kernel has no counter {name}"))
    }
}

/// What a program prints, which must succeed.
fn run(program: &str, words: &[&str], input: &str) -> String {
    let mut command = Command::new(program);
    let child =
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{program}: {error}"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
