//! The settings of a run, and the part of each worker.

use dnsdyno_plan::schedule::Load;
use dnsdyno_plan::source::Queries;
use dnsdyno_record::Ended;
use dnsdyno_transport::{Group, Transport};

use crate::inflight::{GroupSlots, ids_per_channel, ids_per_client};
use crate::pace::{Numbers, Pace};
use crate::sending::{SendLimits, Share};

/// The settings of a run, validated by the plan.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The queries, repeated until the run ends.
    pub queries: &'a Queries,
    /// When to send them.
    pub load: &'a Load,
    /// The largest number of queries to schedule, and how a run that reaches it has ended.
    pub limit: Option<(u64, Ended)>,
    /// Schedule no query at this instant or later. In open loop the curve has its own end.
    pub end_ns: Option<u64>,
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
}

impl Job<'_> {
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
        let Share { worker, workers } = share;
        let limit = self.limit.as_ref().map_or(u64::MAX, |(limit, _)| *limit);
        let has_clients = self.queries.client(0).is_some();
        let (first, stride) = if has_clients { (0, 1) } else { (u64::from(worker), u64::from(workers)) };
        let part = |window: u32| window / workers + u32::from(worker < window % workers);
        let mut pace = match self.load {
            Load::Open { curve, window } => {
                let window = window.map(|window| part(window).max(1));
                Pace::open(curve.cursor(first, stride).up_to(limit), window, self.timeout_ns)
            }
            Load::Closed { outstanding } => {
                let end_ns = self.end_ns.unwrap_or(u64::MAX);
                Pace::closed(Numbers { next: first, stride, limit, end_ns }, part(*outstanding))
            }
        };
        if has_clients && !(0..self.queries.len()).any(|i| share.contains(self.queries.client(i))) {
            pace.close();
        }
        pace
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
        let ids = match group.connects {
            true => ids_per_client(channels, window, group.most_outstanding),
            false => ids_per_channel(channels, window),
        };
        GroupSlots { channels, ids, are_fallback: group.is_fallback }
    };
    groups.iter().enumerate().map(slots).collect()
}

/// How long after the scheduled end of a send-only load its last queries may be sent.
const FLOOD_OVERTIME_NS: u64 = 10_000_000;

/// Time to start threads and create ledgers.
const PREPARATION_NS: u64 = 50_000_000;

/// Time to write 32 bytes of new memory, with a margin for a busy host.
const PREPARATION_NS_PER_SLOT: u64 = 60;
