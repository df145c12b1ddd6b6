//! When users do something, what, and at which client.
//!
//! The users of a worker's clients together are one Poisson process, of which each arrival draws its kind, its tracking
//! area and its access point: that is the same as one process for each, and takes one clock. A curve thins it out
//! (Lewis and Shedler, 1979). Events add arrivals of their own, spread evenly and at random over their time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dnsdyno_measure::ProcedureKind;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::weighted::WeightedAliasIndex;
use rand_distr::{Distribution, Exp1};

use crate::description::check::Checked;
use crate::description::{Event, EventKind, Names};
use crate::share::{Share, Spread};

const NS_PER_S: f64 = 1e9;

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happening {
    /// A user does something.
    Arrival(Arrival),
    /// A client, by its number within the worker, restarts.
    Restart { client: u32 },
}

/// What a user does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) kind: ProcedureKind,
    /// The client by its number within the worker.
    pub(crate) client: u32,
    /// The tracking area, or the line of the queries, by its index.
    pub(crate) first: u32,
    /// The access point by its index.
    pub(crate) second: u32,
    /// The kind of the user, as in [`of_users`](crate::sets::of_users).
    pub(crate) users: u8,
}

/// The arrivals at the clients of a worker.
#[derive(Debug)]
pub(crate) struct Arrivals {
    random: Xoshiro256PlusPlus,
    start_ns: u64,
    stub: bool,
    /// How many arrivals a nanosecond there are where the curve is highest.
    per_ns: f64,
    handover_part: f64,
    curve: Curve,
    /// When the next arrival of the process is; `None` without any.
    next_ns: Option<u64>,
    spread: Spread,
    /// Which tracking area, by index; a `stub` has one that is served by all clients.
    areas: Option<WeightedAliasIndex<f64>>,
    /// Which access point, or line of the queries.
    names: Option<WeightedAliasIndex<f64>>,
    /// Which kind of user; `None` where there is only one.
    users: Option<WeightedAliasIndex<f64>>,
    planned: Vec<Planned>,
    /// The instant of each planned thing that is to come, and its index.
    order: BinaryHeap<Reverse<(u64, usize)>>,
}

#[derive(Debug)]
enum Planned {
    Restart { client: u32 },
    Surge(Surge),
}

/// Arrivals that an event adds.
#[derive(Debug)]
struct Surge {
    end_ns: u64,
    left: u32,
    whose: Whose,
}

#[derive(Debug)]
enum Whose {
    /// Of a client by its number within the worker, and the indices of its areas with the sums of their weights.
    Client { client: u32, areas: Vec<(u32, f64)> },
    /// Of a tracking area.
    Area(u32),
}

impl Arrivals {
    pub(crate) fn new(checked: &Checked, share: Share, seed: u64, start_ns: u64) -> Self {
        let description = &checked.description;
        let given = &description.arrivals;
        let stub = matches!(description.names, Names::Stub(_));
        let (areas, names) = if stub { (1, &checked.first) } else { (checked.first.len(), &checked.second) };
        let per_area = if stub { description.clients } else { given.clients_per_tac };
        let spread = Spread { clients: description.clients, per_area, share };
        let weights = zipf(areas, given.tac_zipf);
        let part = |(area, weight): (usize, &f64)| {
            weight * f64::from(spread.count(area as u32)) / f64::from(spread.per_area)
        };
        let of_worker: Vec<f64> = weights.iter().enumerate().map(part).collect();
        let handovers = if stub { 0.0 } else { given.handovers };
        let both = given.attaches + handovers;
        let rate = both * of_worker.iter().sum::<f64>() / weights.iter().sum::<f64>();
        let curve = Curve::new(&given.curve, given.day_s);
        let mut arrivals = Arrivals {
            random: Xoshiro256PlusPlus::seed_from_u64(seed ^ mixed(share.worker)),
            start_ns,
            stub,
            per_ns: rate * curve.highest / NS_PER_S,
            handover_part: if both > 0.0 { handovers / both } else { 0.0 },
            curve,
            next_ns: None,
            spread,
            areas: WeightedAliasIndex::new(of_worker).ok(),
            names: WeightedAliasIndex::new(zipf(names.len(), given.apn_zipf)).ok(),
            users: kinds_of_users(&description.names),
            planned: Vec::new(),
            order: BinaryHeap::new(),
        };
        arrivals.next_ns = arrivals.after(start_ns);
        for event in &description.events {
            arrivals.plan(event, checked, &weights);
        }
        arrivals
    }

    /// When something happens next.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let planned = self.order.peek().map(|Reverse((at_ns, _))| *at_ns);
        self.next_ns.into_iter().chain(planned).min()
    }

    /// Takes what happens next.
    pub(crate) fn take(&mut self) -> Option<Happening> {
        let planned_ns = self.order.peek().map(|Reverse((at_ns, _))| *at_ns);
        match (self.next_ns, planned_ns) {
            (Some(next_ns), planned_ns) if planned_ns.is_none_or(|planned_ns| next_ns < planned_ns) => {
                self.next_ns = self.after(next_ns);
                let area = self.areas.as_ref().map_or(0, |areas| areas.sample(&mut self.random) as u32);
                let kind = if self.stub {
                    ProcedureKind::Lookup
                } else if self.random.random::<f64>() < self.handover_part {
                    ProcedureKind::Handover
                } else {
                    ProcedureKind::Attach
                };
                Some(Happening::Arrival(self.arrival(kind, area, None)))
            }
            _ => self.take_planned(),
        }
    }

    /// When the process has its next arrival after an instant.
    fn after(&mut self, from_ns: u64) -> Option<u64> {
        if self.per_ns <= 0.0 {
            return None;
        }
        let mut at_ns = from_ns;
        loop {
            let pause: f64 = self.random.sample(Exp1);
            at_ns = at_ns.checked_add((pause / self.per_ns) as u64)?;
            if self.curve.is_flat() {
                return Some(at_ns);
            }
            let factor = self.curve.at((at_ns - self.start_ns) as f64 / NS_PER_S);
            if self.random.random::<f64>() * self.curve.highest < factor {
                return Some(at_ns);
            }
        }
    }

    /// An arrival in an area, at `client` or at any that serves it.
    fn arrival(&mut self, kind: ProcedureKind, area: u32, client: Option<u32>) -> Arrival {
        let client = client.unwrap_or_else(|| {
            let clients = self.spread.count(area);
            let nth = if clients > 1 { self.random.random_range(0..clients) } else { 0 };
            self.spread.nth(area, nth)
        });
        let name = match (kind, &self.names) {
            (ProcedureKind::Attach | ProcedureKind::Lookup, Some(names)) => {
                names.sample(&mut self.random) as u32
            }
            _ => 0,
        };
        let (first, second) = if self.stub { (name, 0) } else { (area, name) };
        let users = self.users.as_ref().map_or(0, |users| users.sample(&mut self.random) as u8);
        Arrival { kind, client, first, second, users }
    }

    fn plan(&mut self, event: &Event, checked: &Checked, weights: &[f64]) {
        let share = self.spread.share;
        let at_ns = self.start_ns + (event.at_s * NS_PER_S) as u64;
        match event.kind {
            EventKind::Restart { client, attaches, within_s } => {
                if !share.has(client) {
                    return;
                }
                let local = share.local(client);
                self.push(at_ns, Planned::Restart { client: local });
                let mut sum = 0.0;
                let areas = weights.iter().enumerate().filter_map(|(area, weight)| {
                    let area = area as u32;
                    self.spread.serves(area, client).then(|| {
                        sum += weight;
                        (area, sum)
                    })
                });
                let whose = Whose::Client { client: local, areas: areas.collect() };
                self.surge(at_ns, within_s, attaches, whose);
            }
            EventKind::Mass { tac, attaches, within_s } => {
                let Names::Epc(mobile) = &checked.description.names else { return };
                let Some(area) = mobile.tacs.iter().position(|known| *known == tac) else { return };
                // Each worker has the part of its clients, cut so that all parts are the whole.
                let before: u32 = (0..share.worker)
                    .map(|worker| {
                        Spread { share: Share { worker, ..share }, ..self.spread }.count(area as u32)
                    })
                    .sum();
                let cut =
                    |clients: u32| u64::from(clients) * u64::from(attaches) / u64::from(self.spread.per_area);
                let part = cut(before + self.spread.count(area as u32)) - cut(before);
                self.surge(at_ns, within_s, part as u32, Whose::Area(area as u32));
            }
        }
    }

    fn surge(&mut self, at_ns: u64, within_s: f64, left: u32, whose: Whose) {
        let end_ns = at_ns + (within_s * NS_PER_S) as u64;
        if left > 0 {
            let first_ns = next_of(at_ns, end_ns, left, &mut self.random);
            self.push(first_ns, Planned::Surge(Surge { end_ns, left, whose }));
        }
    }

    fn push(&mut self, at_ns: u64, planned: Planned) {
        self.order.push(Reverse((at_ns, self.planned.len())));
        self.planned.push(planned);
    }

    fn take_planned(&mut self) -> Option<Happening> {
        let Reverse((at_ns, index)) = self.order.pop()?;
        let (area, client) = match self.planned.get_mut(index)? {
            Planned::Restart { client } => return Some(Happening::Restart { client: *client }),
            Planned::Surge(surge) => {
                surge.left -= 1;
                if surge.left > 0 {
                    let next_ns = next_of(at_ns, surge.end_ns, surge.left, &mut self.random);
                    self.order.push(Reverse((next_ns, index)));
                }
                match &surge.whose {
                    Whose::Area(area) => (*area, None),
                    Whose::Client { client, areas } => {
                        let sum = areas.last().map_or(0.0, |(_, sum)| *sum);
                        let drawn = self.random.random::<f64>() * sum;
                        let at = areas.partition_point(|(_, sum)| *sum <= drawn);
                        (areas.get(at).or(areas.last()).map_or(0, |(area, _)| *area), Some(*client))
                    }
                }
            }
        };
        let kind = if self.stub { ProcedureKind::Lookup } else { ProcedureKind::Attach };
        Some(Happening::Arrival(self.arrival(kind, area, client)))
    }
}

/// The parts of the kinds of users, where there are several.
fn kinds_of_users(names: &Names) -> Option<WeightedAliasIndex<f64>> {
    let Names::Epc(mobile) = names else { return None };
    let others = mobile.lookups.others.iter().map(|users| users.part);
    let rest = (1.0 - others.clone().sum::<f64>()).max(0.0);
    if mobile.lookups.others.is_empty() {
        return None;
    }
    WeightedAliasIndex::new(std::iter::once(rest).chain(others).collect()).ok()
}

/// The first of `left` instants that are drawn evenly from the time between two.
fn next_of(from_ns: u64, end_ns: u64, left: u32, random: &mut Xoshiro256PlusPlus) -> u64 {
    let part = 1.0 - random.random::<f64>().powf(1.0 / f64::from(left));
    from_ns + (end_ns.saturating_sub(from_ns) as f64 * part) as u64
}

/// The weights of `number` things of which the first is used most.
pub(crate) fn zipf(number: usize, exponent: f64) -> Vec<f64> {
    (1..=number).map(|rank| (rank as f64).powf(-exponent)).collect()
}

/// A seed of its own for each worker, and none that of what else the run chooses at random.
fn mixed(worker: u32) -> u64 {
    (u64::from(worker) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Factors over a day, with straight lines between them.
#[derive(Debug)]
struct Curve {
    factors: Vec<f64>,
    day_s: f64,
    highest: f64,
}

impl Curve {
    fn new(factors: &[f64], day_s: f64) -> Self {
        let highest = if factors.is_empty() { 1.0 } else { factors.iter().copied().fold(0.0, f64::max) };
        Curve { factors: factors.to_vec(), day_s, highest }
    }

    fn is_flat(&self) -> bool {
        self.factors.len() < 2
    }

    /// The factor after so many seconds.
    fn at(&self, seconds: f64) -> f64 {
        let number = self.factors.len();
        let place = (seconds / self.day_s).fract() * number as f64;
        let from = (place as usize).min(number.saturating_sub(1));
        let factor = |at: usize| self.factors.get(at % number.max(1)).copied().unwrap_or(1.0);
        let part = place - from as f64;
        factor(from) * (1.0 - part) + factor(from + 1) * part
    }
}

#[cfg(test)]
mod tests;
