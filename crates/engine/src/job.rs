//! The settings of a run, and the part of each worker.

use dnsdyno_plan::schedule::{Cursor, Load, Replay};
use dnsdyno_plan::{Part, StopLimits};
use dnsdyno_record::Ended;
use dnsdyno_transport::{Group, Transport};

use crate::answers::KnownAnswers;
use crate::inflight::{GroupSlots, ids_per_channel, ids_per_client};
use crate::limit::Limit;
use crate::pace::{Numbers, Pace};
use crate::query_log::QueryLogs;
use crate::share::Share;
use crate::source::Source;
use crate::stop_limits::WorkerLimits;
use crate::trace::TraceJob;

/// The settings of a run, validated by the plan.
#[derive(Clone)]
pub struct Job<'a> {
    /// The queries.
    pub source: Source<'a>,
    /// When to send them.
    pub load: &'a Load,
    /// Which workers of the load are those of this process, where others make it too; there is a transport for each.
    pub part: Option<Part>,
    /// The largest number of queries to schedule, of the whole load, and how a run that reaches it has ended.
    pub limit: Option<(u64, Ended)>,
    /// Schedule no query at this instant or later. In open loop the curve has its own end.
    pub end_ns: Option<u64>,
    /// What stops the run at once; each worker checks its part.
    pub stop_limits: StopLimits,
    /// How long to wait for a response.
    pub timeout_ns: u64,
    /// Length of an interval of the record.
    pub interval_ns: u64,
    /// Whether responses are not waited for.
    pub send_only: bool,
    /// Whether queries are sent without OPT record over TCP after a truncated response.
    pub strips_edns: bool,
    /// The CPU of each worker; workers without one are not pinned.
    pub cpus: &'a [usize],
    /// Whether each worker has its own table of open files, because one table cannot hold the files of all workers.
    pub own_files: bool,
    /// The start of the run on the wall clock, in nanoseconds since 1970, for messages that carry the time.
    pub start_unix_ns: u64,
    /// Makes each worker's log of single queries; `None` = they are counted only.
    pub query_logs: Option<QueryLogs<'a>>,
    /// What the answers are held against; of queries in one block only.
    pub known_answers: Option<&'a KnownAnswers>,
    /// What is traced of it.
    pub trace: Option<TraceJob<'a>>,
}

impl Job<'_> {
    /// The part of the load that this process makes with so many workers.
    pub(crate) fn part(&self, workers: usize) -> Part {
        self.part.unwrap_or(Part::whole(workers))
    }

    /// The channels of each group over all transports, and their message IDs: none if responses are not waited for.
    pub(crate) fn group_slots<T: Transport>(&self, transports: &[T]) -> Vec<GroupSlots> {
        let mut slots = slots_by_load(transports, self.load);
        if self.send_only {
            slots.iter_mut().for_each(|group| group.ids = 0);
        }
        slots
    }

    /// How long a query may wait to be sent.
    ///
    /// A send-only load ends at its scheduled end, even if queries have not been sent by then. With a rate that the
    /// host cannot send, it would otherwise last longer, and the rate reported for its scheduled time would be too
    /// high.
    pub(crate) fn send_limits(&self) -> SendLimits {
        let end_ns = self.load.curve().filter(|_| self.send_only).and_then(|curve| curve.duration_ns());
        let stop_ns = end_ns.map_or(u64::MAX, |end_ns| end_ns + FLOOD_OVERTIME_NS);
        SendLimits { timeout_ns: self.timeout_ns, stop_ns }
    }

    /// A worker's part of the load: every `workers`-th query, and its part of the window. If the source assigns queries
    /// to clients, each worker goes through all queries and schedules those of its own clients.
    pub(crate) fn pace(&self, share: Share) -> Pace {
        let Share { worker, workers, .. } = share;
        let part = |window: u32| window / workers + u32::from(worker < window % workers);
        let end_ns = self.end_ns.unwrap_or(u64::MAX);
        let queries = match self.source {
            Source::Whole(queries) => queries,
            // The reader, or the clients, give each worker its own part.
            Source::Fed(_) | Source::Clients(_) => {
                let is_open = self.load.is_open();
                let window = self.load.window().map(|window| part(window).max(u32::from(is_open)));
                return Pace::fed(is_open, window, end_ns, self.timeout_ns);
            }
        };
        let limit = self.limit.as_ref().map_or(u64::MAX, |(limit, _)| *limit);
        let has_clients = queries.client(0).is_some();
        let (first, stride) = if has_clients { (0, 1) } else { (u64::from(worker), u64::from(workers)) };
        let mut pace = match self.load {
            Load::Open { curve, window } => {
                let window = window.map(|window| part(window).max(1));
                let limits = WorkerLimits::of(self.stop_limits, curve, limit, stride, workers);
                Pace::open(curve.cursor(first, stride).up_to(limit), window, self.timeout_ns, limits)
            }
            Load::OfSource => match (Replay { instants: queries.instants().into() }).curve() {
                Ok(curve) => {
                    let limits = WorkerLimits::of(self.stop_limits, &curve, limit, stride, workers);
                    Pace::open(curve.cursor(first, stride).up_to(limit), None, self.timeout_ns, limits)
                }
                // It has no instants, and nothing is ever due.
                Err(_) => Pace::open(Cursor::ended(), None, self.timeout_ns, WorkerLimits::none()),
            },
            Load::Closed { outstanding } => {
                Pace::closed(Numbers { next: first, stride, limit, end_ns }, part(*outstanding))
            }
            Load::Limited { outstanding, most_qps } => {
                let numbers = Numbers { next: first, stride, limit, end_ns };
                let whole = most_qps.clamp(1.0, f64::from(u32::MAX)) as u32;
                Pace::limited(numbers, part(*outstanding), Limit::new(part(whole)))
            }
        };
        if has_clients && !(0..queries.len()).any(|i| share.contains(queries.client(i))) {
            pace.close();
        }
        pace
    }
}

/// How long a due query may wait to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendLimits {
    /// The longest time after its intended instant.
    pub(crate) timeout_ns: u64,
    /// No query is sent at this instant or later.
    pub(crate) stop_ns: u64,
}

impl SendLimits {
    /// Whether it is too late to send a query that has waited since then.
    #[inline]
    pub(crate) fn is_over(&self, now_ns: u64, since_ns: u64) -> bool {
        now_ns >= self.stop_ns || now_ns.saturating_sub(since_ns) >= self.timeout_ns
    }
}

/// How long the workers of a run over these transports need at most to create their tables: the start of the run must
/// be at least this far ahead.
pub fn preparation_ns<T: Transport>(transports: &[T], load: &Load) -> u64 {
    let slots = |group: &GroupSlots| group.channels as u64 * u64::from(group.ids);
    let slots: u64 = slots_by_load(transports, load).iter().map(slots).sum();
    PREPARATION_NS + slots * PREPARATION_NS_PER_SLOT
}

fn slots_by_load<T: Transport>(transports: &[T], load: &Load) -> Vec<GroupSlots> {
    let of_each: Vec<Vec<Group>> = transports.iter().map(Transport::groups).collect();
    let groups = of_each.first().map_or(&[][..], |groups| groups);
    let window = load.window().map(u64::from);
    let slots = |(number, group): (usize, &Group)| {
        let channels =
            of_each.iter().filter_map(|groups| groups.get(number)).map(|group| group.channels).sum();
        // Of tens of thousands of clients, each has few queries outstanding, also over UDP.
        let ids = match group.connects || channels > MOST_SOCKETS_WITH_MANY_IDS {
            true => ids_per_client(channels, window, group.most_outstanding),
            false => ids_per_channel(channels, window),
        };
        GroupSlots { channels, ids, are_fallback: group.is_fallback }
    };
    groups.iter().enumerate().map(slots).collect()
}

/// With more sockets than this, a thousand IDs for each would take more memory than all the slots of a run.
const MOST_SOCKETS_WITH_MANY_IDS: usize = 2_048;

/// How long after the scheduled end of a send-only load its last queries may be sent.
const FLOOD_OVERTIME_NS: u64 = 10_000_000;

/// Time to start threads and create ledgers.
const PREPARATION_NS: u64 = 50_000_000;

/// Time to write 32 bytes of new memory, with a margin for a busy host.
const PREPARATION_NS_PER_SLOT: u64 = 60;

/// A build without pairing and measuring, to find their cost. Its packets must be counted on the wire.
pub(crate) const UNMEASURED: bool = cfg!(feature = "unmeasured");
