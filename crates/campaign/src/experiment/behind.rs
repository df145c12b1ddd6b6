//! What stands behind a resolver in an experiment, `dnsdyno world`: the columns that only its book can fill, and
//! whether it was the limit of a run instead of the resolver.
//!
//! ```text
//!   generator ──► resolver ──► world     queries out per query in  =  queries of the book / queries of the run
//! ```

use dnsdyno_measure::{Samples, Side, WatchedKind};
use dnsdyno_record::Digest;
use dnsdyno_text::units::{counted, percent};

use super::column::Column;

/// Why a figure of a resolver may be that of the world behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limit {
    /// The world did not handle, or not send, so many messages.
    Dropped(u64),
    /// A thread of the world had no time left: the share of the time that it used.
    Busy(f64),
    /// The resolver waited for a CPU for the first share of the time, while the world used the second one of a CPU.
    SharedCpu { waited: f64, used: f64 },
}

impl Limit {
    /// Whether the run says nothing of the resolver's rate or loss, and not only less than it could.
    pub(super) fn is_a_doubt(self) -> bool {
        !matches!(self, Limit::SharedCpu { .. })
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Limit::Dropped(count) => {
                let messages = counted(*count, "message", "messages");
                write!(f, "the world behind it has dropped {messages} of its own")
            }
            Limit::Busy(share) => {
                write!(f, "a thread of the world behind it was busy for {} of the time", percent(*share))
            }
            Limit::SharedCpu { waited, used } => write!(
                f,
                "it waited for a CPU for {} of the time, while the world behind it used {} of one",
                percent(*waited),
                percent(*used)
            ),
        }
    }
}

/// Why what a run shows may be the world's; `None` where there is none behind the server, or it was fast enough.
pub(super) fn limit(run: &Digest) -> Option<Limit> {
    let world = |kind: WatchedKind| {
        watched(run, move |watched, side| watched == kind && side == Side::Other, Some(WORLD))
    };
    let dropped: u64 = world(WatchedKind::Server)
        .flat_map(|samples| OWN_FAILURES.iter().filter_map(move |name| samples.counters.get(*name)))
        .fold(0_u64, |sum, count| sum.saturating_add(*count));
    if dropped > 0 {
        return Some(Limit::Dropped(dropped));
    }
    let to_ns = run.to_ns().max(1) as f64;
    let process = world(WatchedKind::Process).next()?;
    let of_threads = process.counters.iter().filter(|(name, _)| is_time_of_thread(name));
    let busiest = of_threads.map(|(_, ns)| *ns as f64 / to_ns).fold(0.0, f64::max);
    if busiest >= BUSY {
        return Some(Limit::Busy(busiest));
    }
    let used = process.counters.get("cpu_ns").map_or(0.0, |ns| *ns as f64 / to_ns);
    let of_server = |watched: WatchedKind, side: Side| watched == WatchedKind::Process && side != Side::Other;
    let waits = watched(run, of_server, None).map(|samples| samples.waited_for_cpu_ns(run.to_ns()));
    let waited = waits.map(|ns| ns as f64 / to_ns).fold(0.0, f64::max);
    (waited >= SHARED && used >= SHARED).then_some(Limit::SharedCpu { waited, used })
}

/// What was counted of the sources of a kind and a side, of one program where that is named.
fn watched<'a>(
    run: &'a Digest,
    is_it: impl Fn(WatchedKind, Side) -> bool + 'a,
    software: Option<&'a str>,
) -> impl Iterator<Item = &'a Samples> {
    let all = run.header.watched.iter().zip(run.watched());
    let is_it = move |(watched, _): &(&dnsdyno_measure::Watched, &Option<Samples>)| {
        is_it(watched.kind, watched.side) && (software.is_none() || watched.software.as_deref() == software)
    };
    all.filter(is_it).filter_map(|(_, samples)| samples.as_ref())
}

/// `thread.world-udp-0/4711.cpu_ns`.
fn is_time_of_thread(name: &str) -> bool {
    name.starts_with("thread.world-") && name.ends_with(".cpu_ns")
}

/// The columns of an experiment with a hierarchy: what the resolver asked for each query, what its cache answered, and
/// what the world needed for it.
pub fn columns_of_hierarchy() -> impl Iterator<Item = Column> {
    COLUMNS.iter().filter_map(|(key, text)| Column::with_key(key, text))
}

/// The word of the world in the catalogue of servers.
const WORLD: &str = "world";

/// What the world lost by itself.
const OWN_FAILURES: [&str; 3] = ["dropped.queue", "dropped.send-error", "tcp.refused"];

/// From here on a thread has no room for a burst.
const BUSY: f64 = 0.9;

/// Shares of a CPU below which two programs do not stand in each other's way.
const SHARED: f64 = 0.1;

const COLUMNS: [(&str, &str); 3] = [
    ("queries_out_per_query", "queries out/query = world queries / queries"),
    ("cache_hits", "cache hits = server cache.hits / server cache.hits + server cache.misses"),
    ("world_cpu_ns_per_s", "CPU of the world = world cpu_ns / s"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::sample::{MADE, run, samples, source};

    /// Two seconds of a resolver and the world behind it.
    fn run_before(world: &[(&str, u64)], process: &[(&str, u64)], resolver: &[(&str, u64)]) -> Digest {
        let counted = |counters: &[(&str, u64)]| samples(counters, &[]);
        let mut digest = run("run", MADE).digest;
        digest.header.watched = vec![
            source(WatchedKind::Server, Side::Other, "world"),
            source(WatchedKind::Process, Side::Other, "world"),
            source(WatchedKind::Server, Side::Server, "unbound"),
            source(WatchedKind::Process, Side::Server, "unbound"),
        ];
        digest.sum.as_mut().unwrap().watched =
            vec![counted(world), counted(process), counted(resolver), counted(resolver)];
        digest
    }

    #[test]
    fn queries_out_are_those_of_the_book_and_hits_are_the_resolvers() {
        let resolver = [("cache.hits", 1_980), ("cache.misses", 20), ("queries", 9)];
        let run =
            run_before(&[("queries", 5_000), ("queries.udp", 4_000)], &[("cpu_ns", 500_000_000)], &resolver);
        let figures: Vec<_> = columns_of_hierarchy()
            .map(|column| (column.key.clone(), column.text(column.of(&run).unwrap())))
            .collect();
        let figures: Vec<_> = figures.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
        let expected =
            [("queries_out_per_query", "2.50"), ("cache_hits", "99.00 %"), ("world_cpu_ns_per_s", "25.00 %")];
        assert_eq!(figures, expected);
    }

    #[test]
    fn a_world_that_drops_or_has_no_time_left_is_a_doubt_and_one_that_takes_the_cpu_is_none() {
        let fast = [("cpu_ns", 100_000_000), ("thread.world-udp-0/7.cpu_ns", 90_000_000)];
        let slow = [("cpu_ns", 1_900_000_000), ("thread.world-udp-0/7.cpu_ns", 1_850_000_000)];
        let beside = [("cpu_ns", 800_000_000), ("thread.world-udp-0/7.cpu_ns", 700_000_000)];
        let waits = [("cpu_wait_ns", 700_000_000)];
        assert_eq!(limit(&run_before(&[("dropped.queue", 0)], &fast, &waits)), None);
        let dropped = limit(&run_before(&[("dropped.queue", 2), ("tcp.refused", 1)], &fast, &[])).unwrap();
        assert_eq!((dropped, dropped.is_a_doubt()), (Limit::Dropped(3), true));
        let busy = limit(&run_before(&[], &slow, &waits)).unwrap();
        assert!(busy.is_a_doubt() && busy.to_string().contains("92.50 % of the time"), "{busy}");
        let shared = limit(&run_before(&[], &beside, &waits)).unwrap();
        assert_eq!(shared, Limit::SharedCpu { waited: 0.35, used: 0.4 });
        assert!(!shared.is_a_doubt());
        assert_eq!(limit(&run_before(&[], &beside, &[])), None);
        // It waited for its quota.
        let waits = [waits[0], ("cgroup.throttled_ns", 600_000_000)];
        assert_eq!(limit(&run_before(&[], &beside, &waits)), None);
    }

    #[test]
    fn every_column_can_be_read() {
        assert_eq!(columns_of_hierarchy().count(), COLUMNS.len());
    }
}
