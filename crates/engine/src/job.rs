//! What a run is to do, and what each of its workers needs for its part.

use dnsdyno_plan::schedule::Load;
use dnsdyno_plan::source::Queries;
use dnsdyno_record::Ended;
use dnsdyno_transport::{Group, Transport};

use crate::inflight::{Lanes, ids_per_channel, ids_per_client};
use crate::pace::{Numbers, Pace};
use crate::sending::{Patience, Share};

/// What a run is to do; the plan has validated it.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// What to send, over and over.
    pub queries: &'a Queries,
    /// When to send it.
    pub load: &'a Load,
    /// Schedule no more than this in all, and what that limit is called.
    pub limit: Option<(u64, Ended)>,
    /// Schedule no query at this instant or later. Of an open loop this is part of the curve.
    pub end_ns: Option<u64>,
    /// How long a response is waited for.
    pub timeout_ns: u64,
    /// Length of an interval of the record.
    pub interval_ns: u64,
    /// Whether responses are not waited for.
    pub send_only: bool,
    /// Whether what is sent over TCP after a truncated response carries no OPT record.
    pub strips_edns: bool,
    /// The CPU that each worker stays on; where there is none for it, the kernel chooses.
    pub cpus: &'a [usize],
    /// Whether each worker has a table of open files of its own, because all of them together have
    /// more than one table may hold.
    pub own_files: bool,
}

impl Job<'_> {
    /// The channels of each group, of all transports together, and their IDs: none where responses are not waited
    /// for.
    pub(crate) fn lanes<T: Transport>(&self, transports: &[T]) -> Vec<Lanes> {
        let mut lanes = lanes_by_load(transports, self.load);
        if self.send_only {
            lanes.iter_mut().for_each(|lanes| lanes.ids = 0);
        }
        lanes
    }

    /// How long a query may wait to be sent.
    ///
    /// A load whose responses are not waited for is over at its end, whatever has not been sent by then: with a rate
    /// that the host cannot send, it would else go on past its time and seem to have sent more in it.
    pub(crate) fn patience(&self) -> Patience {
        let end_ns = self.load.curve().filter(|_| self.send_only).and_then(|curve| curve.duration_ns());
        let over_ns = end_ns.map_or(u64::MAX, |end_ns| end_ns + FLOOD_OVERTIME_NS);
        Patience { timeout_ns: self.timeout_ns, over_ns }
    }

    /// A worker's slice of the load: every `workers`-th query, and its part of the window. Where queries have clients
    /// of their own, it walks all of them, to schedule those of its clients.
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
        if has_clients && !(0..self.queries.len()).any(|i| share.holds(self.queries.client(i))) {
            pace.close();
        }
        pace
    }
}

/// How long the workers of a run over these transports need to make their tables, at most: the
/// start of the run must lie that far ahead.
pub fn preparation_ns<T: Transport>(transports: &[T], load: &Load) -> u64 {
    let slots = |lanes: &Lanes| lanes.channels as u64 * u64::from(lanes.ids);
    let slots: u64 = lanes_by_load(transports, load).iter().map(slots).sum();
    PREPARATION_NS + slots * PREPARATION_NS_PER_SLOT
}

fn lanes_by_load<T: Transport>(transports: &[T], load: &Load) -> Vec<Lanes> {
    let of_each: Vec<Vec<Group>> = transports.iter().map(Transport::groups).collect();
    let groups = of_each.first().map_or(&[][..], |groups| groups);
    let window = load.window().map(u64::from);
    let lanes = |(number, group): (usize, &Group)| {
        let channels =
            of_each.iter().filter_map(|groups| groups.get(number)).map(|group| group.channels).sum();
        let ids = match group.connects {
            true => ids_per_client(channels, window, group.most_outstanding),
            false => ids_per_channel(channels, window),
        };
        Lanes { channels, ids, are_fallback: group.is_fallback }
    };
    groups.iter().enumerate().map(lanes).collect()
}

/// How long after the end of a load that is not answered its last queries may be sent.
const FLOOD_OVERTIME_NS: u64 = 10_000_000;

/// Time to start threads and make ledgers.
const PREPARATION_NS: u64 = 50_000_000;

/// Time to touch 32 bytes of new memory, with room for a busy host.
const PREPARATION_NS_PER_SLOT: u64 = 60;
