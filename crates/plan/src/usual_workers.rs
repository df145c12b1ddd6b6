//! How many workers a run gets that names no number: as many as its load needs, and never all CPUs of a server on the
//! same host.

use std::fmt;

use dnsdyno_text::notation::format_rate_qps;

use crate::connections::ConnectionPlan;
use crate::kinds::TransportKind;
use crate::mix::Mix;
use crate::schedule::Load;

/// The number of workers that dnsdyno has chosen, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsualWorkers {
    /// The number.
    pub workers: usize,
    /// The CPUs of this process.
    pub cpus: usize,
    /// Whether the server is on this host, and needs CPUs too.
    pub is_local: bool,
    /// The highest rate of the schedule, in queries per second; `None` in a closed loop, whose rate is not known.
    pub peak_qps: Option<f64>,
    /// Whether the load needs more workers than there are CPUs for.
    pub is_limited: bool,
}

impl UsualWorkers {
    pub(crate) fn of(cpus: usize, is_local: bool, load: &Load, query_ns: f64) -> UsualWorkers {
        let most = if is_local { (cpus / 2).max(1) } else { cpus };
        let peak_qps = load.peak_qps();
        let needed = peak_qps.map_or(most, |qps| (qps * query_ns / BUSY_NS).ceil().max(1.0) as usize);
        UsualWorkers { workers: needed.min(most), cpus, is_local, peak_qps, is_limited: needed > most }
    }
}

impl fmt::Display for UsualWorkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &UsualWorkers { cpus, is_local, peak_qps, is_limited, .. } = self;
        match (peak_qps, is_limited) {
            (Some(qps), false) => write!(f, "enough for {} qps", format_rate_qps(qps)),
            (Some(_), true) | (None, _) if is_local => {
                let left = if cpus == 1 { "the only CPU" } else { "half of the CPUs" };
                write!(f, "{left}: the server is on this host")
            }
            _ => write!(f, "one a CPU"),
        }
    }
}

/// CPU time of a worker for a query, in nanoseconds, with its share of the time for connections.
pub(crate) fn query_ns(transport: TransportKind, mix: &Mix, connections: &ConnectionPlan) -> f64 {
    let of = |transport, connections: &ConnectionPlan| {
        let (query_ns, connection_ns) = cost_ns(transport);
        query_ns + connections.queries_each.map_or(0.0, |each| connection_ns / f64::from(each.max(1)))
    };
    match mix.is_some() {
        true => mix
            .members
            .iter()
            .map(|member| mix.share(member) * of(member.transport, &member.connections))
            .sum(),
        false => of(transport, connections),
    }
}

/// CPU time for a query and for opening a connection, in nanoseconds: rounded up from what a virtual machine of 2020
/// needs at 20,000 queries a second, each sent alone. At higher rates queries share system calls, and need less.
fn cost_ns(transport: TransportKind) -> (f64, f64) {
    match transport {
        TransportKind::Udp => (10_000.0, 0.0),
        TransportKind::UdpTcp => (15_000.0, 0.0),
        TransportKind::Tcp | TransportKind::Mix => (25_000.0, 60_000.0),
        TransportKind::Dot => (25_000.0, 500_000.0),
        TransportKind::Doh => (30_000.0, 500_000.0),
        TransportKind::Doq | TransportKind::Doh3 => (30_000.0, 700_000.0),
    }
}

/// How much of each second a worker should be busy: the rest is for bursts, and for sending in time.
const BUSY_NS: f64 = 500_000_000.0;

#[cfg(test)]
mod tests {
    use crate::Draft;
    use crate::plan::Host;
    use std::path::Path;

    /// The workers of a plan on a host of 8 CPUs, and why.
    fn chosen(more: &str, is_local: bool) -> (usize, String) {
        let text = format!("server = \"192.0.2.1\"\nask = [\"a.test\"]\n{more}");
        let is_here = move |_| is_local;
        let host = Host {
            cores: 8,
            working_dir: Path::new("/"),
            fresh_seed: 1,
            resolve: &|_, _| Err("none".into()),
            is_local: &is_here,
        };
        let plan = Draft::from_toml(&text).unwrap().validate(&host).unwrap();
        let why = plan.usual_workers.map_or(String::new(), |usual| usual.to_string());
        assert!(plan.usual_workers.is_none_or(|usual| usual.workers == plan.workers));
        (plan.workers, why)
    }

    #[test]
    fn a_schedule_gets_as_many_as_its_peak_needs() {
        let enough = |workers, rate: &str| (workers, format!("enough for {rate} qps"));
        assert_eq!(chosen("rate = 100\nfor = \"1s\"", false), enough(1, "100"));
        assert_eq!(chosen("rate = 20000\nfor = \"1s\"", true), enough(1, "20k"));
        assert_eq!(chosen("rate = \"150k\"\nfor = \"1s\"", false), enough(3, "150k"));
        let stair = "stair = \"10k..200k\"\nstep = \"10k\"\nhold = \"1s\"";
        assert_eq!(chosen(stair, true), enough(4, "200k"));
        assert_eq!(chosen("transport = \"doq\"\nrate = \"40k\"\nfor = \"1s\"", false), enough(3, "40k"));
        let short = "transport = \"dot\"\nqueries-per-connection = 1\nrate = 2000\nfor = \"1s\"";
        assert_eq!(chosen(short, false), enough(3, "2k"));
    }

    #[test]
    fn a_server_on_this_host_keeps_half_of_the_cpus() {
        let half = (4, "half of the CPUs: the server is on this host".to_owned());
        assert_eq!(chosen("outstanding = 100", true), half);
        assert_eq!(chosen("rate = \"1M\"\nfor = \"1s\"", true), half);
        assert_eq!(chosen("outstanding = 100", false), (8, "one a CPU".to_owned()));
        assert_eq!(chosen("rate = \"1M\"\nfor = \"1s\"", false), (8, "one a CPU".to_owned()));
    }

    #[test]
    fn a_given_number_is_taken_as_it_is() {
        assert_eq!(chosen("workers = 7\nrate = 100\nfor = \"1s\"", true), (7, String::new()));
        assert_eq!(
            chosen("outstanding = 2", false),
            (2, String::new()),
            "a worker needs a query of the window"
        );
    }
}
