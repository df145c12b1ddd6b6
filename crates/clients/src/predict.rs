//! The load of clients with caches by arithmetic, without sending anything: before a change of records, TTLs, caches or
//! clients, to know what it will bring.
//!
//! One client that has the mean of all stands for each: its part of the tracking areas, all access points, and an even
//! use of gateways. The factors of a daily curve are left out: a description with its rates at their highest gives the
//! load of that hour.

mod forecast;
pub mod model;
mod what_if;

pub use forecast::{Cure, Curves, Forecast, Line};
pub use what_if::{Case, Change};

use dnsdyno_measure::{CacheState, ProcedureKind};

use crate::arrivals::zipf;
use crate::description::check::Checked;
use crate::description::{Arrivals, Count, Description, DescriptionError, Mobile, Names, Policy};
use crate::zone::{Questions, Zone};
use model::{Brought, Group, solve};

/// Names whose ranks differ by less than this part are taken as one group: that changes no figure by a thousandth, and
/// makes 300 groups of a million names.
const RANKS_ALIKE: f64 = 0.03;

/// The load that is to be expected.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Queries a second from all clients together, over UDP first.
    pub queries_per_s: f64,
    /// DNS messages that the server gets in a second: a truncated response is asked for again over TCP.
    pub requests_per_s: f64,
    /// Octets of whole responses in a second, those over TCP where truncated.
    pub octets_per_s: f64,
    /// The part of the queries whose response is truncated.
    pub truncated: f64,
    /// The part of the questions that is answered from a cache.
    pub hit_ratio: f64,
    /// How full a cache would be at its TTLs: the mean number of valid entries of a client if none were evicted.
    pub need: f64,
    /// Which of the three states a cache is in.
    pub state: CacheState,
    /// How much of its TTL an entry loses by eviction, in seconds, with the policy `ttl`.
    pub lost_s: Option<f64>,
    /// The queries by question.
    pub parts: Vec<Part>,
}

/// The queries of one kind of procedure for one type.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Which procedure asks.
    pub kind: ProcedureKind,
    /// The type.
    pub qtype: String,
    /// Queries a second from all clients together.
    pub queries_per_s: f64,
}

/// One kind of question of a prediction, and where its groups are.
struct Asked<'a> {
    question: &'a Questions,
    groups: std::ops::Range<usize>,
    /// The kinds of procedures that ask it, with their parts.
    kinds: Vec<(ProcedureKind, f64)>,
}

/// Predicts the load of a description on what the zones hold. `payload_octets` is the largest response over UDP: that
/// of EDNS, or of the server if it allows less.
///
/// # Errors
/// If the zone has no question that the clients ask.
pub fn predict(checked: &Checked, zone: &Zone, payload_octets: u16) -> Result<Prediction, DescriptionError> {
    let description = checked.description();
    let clients = f64::from(description.clients);
    let (asked, groups) = groups_of(checked, zone)?;
    let solution = solve(description.cache.policy, &groups, f64::from(description.cache.entries));

    let (mut queries, mut truncated, mut octets, mut lookups) = (0.0, 0.0, 0.0, 0.0);
    let mut parts: Vec<Part> = Vec::new();
    for Asked { question, groups: range, kinds } in &asked {
        let of_clients = |values: &[f64]| values.iter().sum::<f64>() * clients;
        let missed = solution.missed_per_s.get(range.clone()).map_or(0.0, of_clients);
        let asked = groups.get(range.clone()).unwrap_or_default();
        lookups += asked.iter().map(|group| group.keys * group.asked_per_s).sum::<f64>() * clients;
        queries += missed;
        octets += missed * f64::from(question.octets);
        if question.octets > u32::from(payload_octets) {
            truncated += missed;
        }
        for (kind, part) in kinds.iter().filter(|(_, part)| *part > 0.0 && missed > 0.0) {
            let same = |known: &&mut Part| known.kind == *kind && known.qtype == question.qtype;
            match parts.iter_mut().find(same) {
                Some(known) => known.queries_per_s += missed * part,
                None => parts.push(Part {
                    kind: *kind,
                    qtype: question.qtype.clone(),
                    queries_per_s: missed * part,
                }),
            }
        }
    }
    Ok(Prediction {
        queries_per_s: queries,
        requests_per_s: queries + truncated,
        octets_per_s: octets,
        truncated: if queries > 0.0 { truncated / queries } else { 0.0 },
        hit_ratio: if lookups > 0.0 { 1.0 - queries / lookups } else { 0.0 },
        need: solution.need,
        state: solution.state,
        lost_s: solution.lost_s,
        parts,
    })
}

/// The same for caches of other sizes, in the order of `entries`.
///
/// # Errors
/// As [`predict`].
pub fn curve(
    checked: &Checked,
    zone: &Zone,
    payload_octets: u16,
    entries: &[u32],
) -> Result<Vec<Prediction>, DescriptionError> {
    let mut sized = checked.clone();
    let one = |entries: &u32| {
        sized.description.cache.entries = *entries;
        predict(&sized, zone, payload_octets)
    };
    entries.iter().map(one).collect()
}

/// The questions, and the keys that a client has for each.
fn groups_of<'a>(
    checked: &Checked,
    zone: &'a Zone,
) -> Result<(Vec<Asked<'a>>, Vec<Group>), DescriptionError> {
    let description = checked.description();
    let (arrivals, clients) = (&description.arrivals, f64::from(description.clients));
    let mut all =
        Groups { asked: Vec::new(), groups: Vec::new(), count: description.cache.count, additional: false };
    match &description.names {
        Names::Epc(mobile) => {
            holds_for(zone, arrivals)?;
            all.additional = mobile.lookups.additional;
            counts_uses(description, mobile, zone)?;
            let both = arrivals.attaches + arrivals.handovers;
            let attaches = if both > 0.0 { arrivals.attaches / both } else { 0.0 };
            let kinds = [(ProcedureKind::Attach, attaches), (ProcedureKind::Handover, 1.0 - attaches)];
            let tac = Lookup {
                questions: &zone.tac,
                key: "zone.tac",
                weights: zipf(checked.first.len(), arrivals.tac_zipf),
                per_s: both / clients,
                keys_of_name: f64::from(arrivals.clients_per_tac) / clients,
            };
            all.add(tac, &kinds)?;
            let apn = Lookup {
                questions: &zone.apn,
                key: "zone.apn",
                weights: zipf(checked.second.len(), arrivals.apn_zipf),
                per_s: arrivals.attaches / clients,
                keys_of_name: 1.0,
            };
            all.add(apn, &[(ProcedureKind::Attach, 1.0)])?;
        }
        Names::Stub(_) => {
            let names = Lookup {
                questions: &zone.stub,
                key: "zone.stub",
                weights: zipf(checked.first.len(), arrivals.apn_zipf),
                per_s: arrivals.attaches / clients,
                keys_of_name: 1.0,
            };
            all.add(names, &[(ProcedureKind::Lookup, 1.0)])?;
        }
    }
    Ok((all.asked, all.groups))
}

/// Refuses questions that were found with another use of names: other branches and gateways would be asked for.
fn holds_for(zone: &Zone, arrivals: &Arrivals) -> Result<(), DescriptionError> {
    let found_with = zone.found_with.map(|found| [found.tac_zipf, found.apn_zipf]);
    let now = [arrivals.tac_zipf, arrivals.apn_zipf];
    match found_with.filter(|found| *found != now) {
        None => Ok(()),
        Some([tac, apn]) => Err(DescriptionError::Value {
            key: "zone.found_with".to_owned(),
            problem: format!(
                "the questions were found with tac_zipf {tac} and apn_zipf {apn}, and not with {} and {}: make the \
                 data anew with `dnsdyno data epc --tac-zipf {} --apn-zipf {}`",
                now[0], now[1], now[0], now[1]
            ),
        }),
    }
}

/// Refuses what the model of a cache does not know: whether an entry that is brought again counts as used. With
/// [`Count::Names`] it is a part of the entry that brings it.
fn counts_uses(description: &Description, mobile: &Mobile, zone: &Zone) -> Result<(), DescriptionError> {
    let is_brought = mobile.lookups.additional
        && description.cache.count == Count::Rrsets
        && zone.tac.iter().chain(&zone.apn).any(|question| question.brought > 0.0);
    match is_brought && matches!(description.cache.policy, Policy::Lru | Policy::Lfu) {
        false => Ok(()),
        true => Err(DescriptionError::Value {
            key: "zone".to_owned(),
            problem:
                "with the policies `lru` and `lfu` nothing can be predicted of what responses bring: set \
                      `brought` to 0, or use `ttl` or `fifo`"
                    .to_owned(),
        }),
    }
}

/// A kind of lookup of one client.
struct Lookup<'a> {
    questions: &'a [Questions],
    key: &'static str,
    /// How much each name is used, the most used first.
    weights: Vec<f64>,
    /// How many lookups a second a client makes.
    per_s: f64,
    /// Of how many keys of a client a name is, on average: a tracking area is of some clients only.
    keys_of_name: f64,
}

struct Groups<'a> {
    asked: Vec<Asked<'a>>,
    groups: Vec<Group>,
    count: Count,
    additional: bool,
}

impl<'a> Groups<'a> {
    fn add(&mut self, lookup: Lookup<'a>, kinds: &[(ProcedureKind, f64)]) -> Result<(), DescriptionError> {
        let Some((first, others)) = lookup.questions.split_first() else {
            return Err(DescriptionError::Value {
                key: lookup.key.to_owned(),
                problem: "there is no question: `dnsdyno data` writes them, or give at least the first"
                    .to_owned(),
            });
        };
        let start = self.groups.len();
        let sum: f64 = lookup.weights.iter().sum();
        let mut rest = &lookup.weights[..];
        let mut rank = 1.0;
        while !rest.is_empty() {
            let number = ((rank * RANKS_ALIKE) as usize).clamp(1, rest.len());
            let (alike, after) = rest.split_at(number);
            let keys = number as f64 * lookup.keys_of_name;
            let asked = alike.iter().sum::<f64>() / sum * lookup.per_s;
            self.groups.push(Group::asked(keys, asked / keys, f64::from(first.ttl_s)));
            (rest, rank) = (after, rank + number as f64);
        }
        let firsts = start..self.groups.len();
        self.asked.push(Asked { question: first, groups: firsts.clone(), kinds: kinds.to_vec() });
        for question in others {
            let keys = f64::from(question.names.max(1));
            let asked_per_s = lookup.per_s * question.per_lookup / keys;
            let start = self.groups.len();
            if self.additional && question.brought > 0.0 {
                if self.count == Count::Names {
                    // It is in the entry of the question that brings it.
                    continue;
                }
                let brought = Brought { by: firsts.clone(), per_answer: question.brought };
                // What lasts as long as the set that leads to it is never asked for: each response brings both.
                let outlasts = question.ttl_s >= first.ttl_s;
                self.groups.push(Group {
                    asked_per_s: if outlasts { 0.0 } else { asked_per_s },
                    brought: Some(brought),
                    ..Group::asked(keys, 0.0, f64::from(question.ttl_s))
                });
            } else {
                self.groups.push(Group::asked(keys, asked_per_s, f64::from(question.ttl_s)));
            }
            self.asked.push(Asked { question, groups: start..self.groups.len(), kinds: kinds.to_vec() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
