//! The load of clients with caches by arithmetic, without sending anything: before a change of records, TTLs, caches or
//! clients, to know what it will bring.
//!
//! One client that has the mean of all stands for each: its part of the tracking areas, all access points, and an even
//! use of gateways. The factors of a daily curve are left out: a description with its rates at their highest gives the
//! load of that hour.

mod forecast;
pub mod model;
mod serving;
mod what_if;

pub use forecast::{Cure, Curves, Forecast, Line, Peak};
pub use serving::{Asking, Serving};
pub use what_if::{Case, Change};

use dnsdyno_measure::{CacheState, ProcedureKind};

use crate::arrivals::zipf;
use crate::description::check::Checked;
use crate::description::{Arrivals, Count, Description, DescriptionError, Mobile, Names, Policy};
use crate::zone::{Questions, Zone};
use model::{Brought, Group, Solution, solve};

/// Names whose ranks differ by less than this part are taken as one group: that changes no figure by a thousandth, and
/// makes 300 groups of a million names.
const RANKS_ALIKE: f64 = 0.03;

/// The load that is to be expected.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Queries a second from all clients together, over UDP first; with those that ask again.
    pub queries_per_s: f64,
    /// Of these, the queries that ask again, because no response has come.
    pub again_per_s: f64,
    /// The part of the questions that are given up after the last retry.
    pub given_up: f64,
    /// DNS messages that the server gets in a second: a truncated response is asked for again over TCP.
    pub requests_per_s: f64,
    /// Octets of whole responses in a second, those over TCP where truncated.
    pub octets_per_s: f64,
    /// The part of the queries whose response is truncated.
    pub truncated: f64,
    /// The part of the questions that is answered from a cache.
    pub hit_ratio: f64,
    /// How full a cache would be at its TTLs: what the valid entries of a client would take on average, in what the
    /// cache counts, if none were evicted.
    pub need: f64,
    /// Which of the three states a cache is in.
    pub state: CacheState,
    /// How much of its TTL an entry loses by eviction, in seconds, with the policy `ttl`.
    pub lost_s: Option<f64>,
    /// The queries by question.
    pub parts: Vec<Part>,
}

/// Messages of a second by type and transport.
#[derive(Debug, Clone, PartialEq)]
pub struct Messages {
    /// Over UDP.
    pub udp_per_s: f64,
    /// Over TCP, after truncated responses.
    pub tcp_per_s: f64,
    /// Over both, by type; the most asked type first.
    pub by_type: Vec<(String, f64)>,
}

impl Prediction {
    /// The messages by type and transport.
    pub fn messages(&self) -> Messages {
        let mut by_type: Vec<(String, f64)> = Vec::new();
        for part in &self.parts {
            let both = part.queries_per_s + part.truncated_per_s;
            match by_type.iter_mut().find(|(qtype, _)| *qtype == part.qtype) {
                Some((_, sum)) => *sum += both,
                None => by_type.push((part.qtype.clone(), both)),
            }
        }
        by_type.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let tcp_per_s = self.requests_per_s - self.queries_per_s;
        Messages { udp_per_s: self.queries_per_s, tcp_per_s, by_type }
    }
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
    /// Of these, those that are asked for again over TCP, because their responses are truncated.
    pub truncated_per_s: f64,
}

/// One kind of question of a prediction, and where its groups are.
struct Asked<'a> {
    question: &'a Questions,
    groups: std::ops::Range<usize>,
    /// The kinds of procedures that ask it, with their parts.
    kinds: Vec<(ProcedureKind, f64)>,
    /// Which lookup it is the first question of.
    first_of: Option<usize>,
}

/// Predicts the load of a description on what the zones hold. Of the server its largest response over UDP may be given
/// alone.
///
/// # Errors
/// If the zone has no question that the clients ask, or the server has a part of losses or a time that cannot be.
pub fn predict(
    checked: &Checked,
    zone: &Zone,
    serving: impl Into<Serving>,
) -> Result<Prediction, DescriptionError> {
    let serving = serving.into();
    check_serving(&serving)?;
    let description = checked.description();
    let asking = Asking::of(&description.retries, &serving);
    let entries = f64::from(description.cache.entries);
    // What follows a question that is given up is not asked. How many these are depends on the load, and that on them.
    let mut reached = [1.0; 2];
    let mut round = 0;
    let (asked, groups, solution) = loop {
        let (asked, groups) = groups_of(checked, zone, asking, reached)?;
        let solution = solve(description.cache.policy, &groups, entries);
        let now = answered_lookups(&asked, &groups, &solution.missed_per_s);
        let moved = reached.iter().zip(&now).map(|(before, now)| (before - now).abs()).fold(0.0, f64::max);
        round += 1;
        if moved < REACHED_ALIKE || round >= MOST_ROUNDS {
            break (asked, groups, solution);
        }
        reached = now;
    };
    let sum = Sum { asking, serving, clients: f64::from(description.clients) };
    Ok(sum.of(&asked, &groups, solution))
}

/// When nothing changes by more than this, the load is found.
const REACHED_ALIKE: f64 = 1e-6;
/// Each round brings it nearer; four are usual.
const MOST_ROUNDS: u32 = 50;

fn check_serving(serving: &Serving) -> Result<(), DescriptionError> {
    let wrong = |key: &str, problem: String| Err(DescriptionError::Value { key: key.to_owned(), problem });
    if !(0.0..=1.0).contains(&serving.lost) {
        return wrong("lost", format!("{} is no part of the queries: give 0 % to 100 %", serving.lost));
    }
    if !(0.0..=LONGEST_RESPONSE_S).contains(&serving.response_s) {
        let problem = format!("{} s cannot be used: give 0 s to {LONGEST_RESPONSE_S} s", serving.response_s);
        return wrong("response_s", problem);
    }
    Ok(())
}

/// A day.
const LONGEST_RESPONSE_S: f64 = 86_400.0;

/// Of each kind of lookup (by tracking area or name; by access point) the part whose first question is answered.
fn answered_lookups(asked: &[Asked<'_>], groups: &[Group], missed_per_s: &[f64]) -> [f64; 2] {
    let mut answered = [1.0; 2];
    for Asked { groups: range, first_of, .. } in asked {
        let Some(answered) = first_of.and_then(|lookup| answered.get_mut(lookup)) else { continue };
        let (groups, missed) = (&groups[range.clone()], &missed_per_s[range.clone()]);
        let lookups: f64 = groups.iter().map(|group| group.keys * group.asked_per_s).sum();
        let unanswered: f64 = groups
            .iter()
            .zip(missed)
            .map(|(group, missed)| {
                missed * (1.0 + group.asked_per_s * group.pending_s) * (1.0 - group.answered)
            })
            .sum();
        *answered = if lookups > 0.0 { (1.0 - unanswered / lookups).clamp(0.0, 1.0) } else { 1.0 };
    }
    answered
}

/// What the load is added up with.
struct Sum {
    asking: Asking,
    serving: Serving,
    clients: f64,
}

impl Sum {
    fn of(&self, asked: &[Asked<'_>], groups: &[Group], solution: Solution) -> Prediction {
        let (mut questions, mut queries, mut truncated) = (0.0, 0.0, 0.0);
        let (mut octets, mut lookups, mut unanswered) = (0.0, 0.0, 0.0);
        let mut parts: Vec<Part> = Vec::new();
        for Asked { question, groups: range, kinds, .. } in asked {
            let (groups, missed) = (&groups[range.clone()], &solution.missed_per_s[range.clone()]);
            let asked: f64 = missed.iter().sum::<f64>() * self.clients;
            lookups += groups.iter().map(|group| group.keys * group.asked_per_s).sum::<f64>() * self.clients;
            let with_waiters =
                |(group, missed): (&Group, &f64)| missed * (1.0 + group.asked_per_s * group.pending_s);
            unanswered += groups.iter().zip(missed).map(with_waiters).sum::<f64>() * self.clients;
            questions += asked;
            let sent = asked * self.asking.queries;
            queries += sent;
            let responses = sent * (1.0 - self.serving.lost);
            octets += responses * f64::from(question.octets);
            let is_truncated = question.octets > u32::from(self.serving.payload_octets);
            let again = if is_truncated { responses } else { 0.0 };
            truncated += again;
            for (kind, part) in kinds.iter().filter(|(_, part)| *part > 0.0 && asked > 0.0) {
                add_part(&mut parts, *kind, &question.qtype, [sent * part, again * part]);
            }
        }
        let of = |part: f64, all: f64| if all > 0.0 { part / all } else { 0.0 };
        Prediction {
            queries_per_s: queries,
            again_per_s: queries - questions,
            given_up: 1.0 - self.asking.answered,
            requests_per_s: queries + truncated,
            octets_per_s: octets,
            truncated: of(truncated, queries),
            hit_ratio: if lookups > 0.0 { (1.0 - unanswered / lookups).max(0.0) } else { 0.0 },
            need: solution.need,
            state: solution.state,
            lost_s: solution.lost_s,
            parts,
        }
    }
}

/// Adds queries, and those of them that are truncated, to the part of their procedure and type.
fn add_part(parts: &mut Vec<Part>, kind: ProcedureKind, qtype: &str, [queries, truncated]: [f64; 2]) {
    let part = match parts.iter().position(|known| known.kind == kind && known.qtype == qtype) {
        Some(known) => &mut parts[known],
        None => {
            let part = Part { kind, qtype: qtype.to_owned(), queries_per_s: 0.0, truncated_per_s: 0.0 };
            parts.push(part);
            let last = parts.len() - 1;
            &mut parts[last]
        }
    };
    part.queries_per_s += queries;
    part.truncated_per_s += truncated;
}

/// The same for caches of other sizes, in the order of `entries`.
///
/// # Errors
/// As [`predict`].
pub fn curve(
    checked: &Checked,
    zone: &Zone,
    serving: impl Into<Serving>,
    entries: &[u32],
) -> Result<Vec<Prediction>, DescriptionError> {
    let (mut sized, serving) = (checked.clone(), serving.into());
    let one = |entries: &u32| {
        sized.description.cache.entries = *entries;
        predict(&sized, zone, serving)
    };
    entries.iter().map(one).collect()
}

/// The questions, and the keys that a client has for each. `reached` says of what part of each kind of lookup the first
/// question is answered.
fn groups_of<'a>(
    checked: &Checked,
    zone: &'a Zone,
    asking: Asking,
    reached: [f64; 2],
) -> Result<(Vec<Asked<'a>>, Vec<Group>), DescriptionError> {
    let description = checked.description();
    let (arrivals, clients) = (&description.arrivals, f64::from(description.clients));
    let mut all = Groups::new(description.cache.count, asking);
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
                number: 0,
                reached: reached[0],
            };
            all.add(tac, &kinds)?;
            let apn = Lookup {
                questions: &zone.apn,
                key: "zone.apn",
                weights: zipf(checked.second.len(), arrivals.apn_zipf),
                per_s: arrivals.attaches / clients * reached[0],
                keys_of_name: 1.0,
                number: 1,
                reached: reached[1],
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
                number: 0,
                reached: reached[0],
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
        && !description.cache.count.is_whole_response()
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
    /// Which of the lookups it is, and of what part of it the first question is answered.
    number: usize,
    reached: f64,
}

struct Groups<'a> {
    asked: Vec<Asked<'a>>,
    groups: Vec<Group>,
    count: Count,
    asking: Asking,
    additional: bool,
}

impl<'a> Groups<'a> {
    fn new(count: Count, asking: Asking) -> Self {
        Groups { asked: Vec::new(), groups: Vec::new(), count, asking, additional: false }
    }

    /// Keys of a question.
    fn group(&self, question: &Questions, keys: f64, asked_per_s: f64) -> Group {
        let takes = match self.count {
            Count::Names | Count::Rrsets => 1,
            Count::Records => question.records.max(1),
            Count::Octets => question.octets.max(1),
        };
        Group {
            takes: f64::from(takes),
            answered: self.asking.answered,
            pending_s: self.asking.pending_s,
            ..Group::asked(keys, asked_per_s, f64::from(question.ttl_s))
        }
    }

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
            let group = self.group(first, keys, asked / keys);
            self.groups.push(group);
            (rest, rank) = (after, rank + number as f64);
        }
        let firsts = start..self.groups.len();
        let kinds = kinds.to_vec();
        let first_of = Some(lookup.number);
        self.asked.push(Asked { question: first, groups: firsts.clone(), kinds: kinds.clone(), first_of });
        for question in others {
            let keys = f64::from(question.names.max(1));
            let asked_per_s = lookup.per_s * lookup.reached * question.per_lookup / keys;
            let start = self.groups.len();
            if self.additional && question.brought > 0.0 {
                if self.count.is_whole_response() {
                    // It is in the entry of the question that brings it.
                    continue;
                }
                let brought = Brought { by: firsts.clone(), per_answer: question.brought };
                // What lasts as long as the set that leads to it is never asked for: each response brings both.
                let outlasts = question.ttl_s >= first.ttl_s;
                let asked_per_s = if outlasts { 0.0 } else { asked_per_s };
                self.groups.push(Group { brought: Some(brought), ..self.group(question, keys, asked_per_s) });
            } else {
                self.groups.push(self.group(question, keys, asked_per_s));
            }
            let groups = start..self.groups.len();
            self.asked.push(Asked { question, groups, kinds: kinds.clone(), first_of: None });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
