//! The model of a cache: how often a question is not in it, by the rates and TTLs of all questions and its size.
//!
//! A key that is asked for u times a second, and lasts L seconds once it is stored, is stored anew 1/u seconds after it
//! ended: so it is missed u/(1+uL) times a second, and it is valid for a part uL/(1+uL) of the time. Without evictions
//! L is its TTL T, and the mean number of valid entries is the sum of those parts: the need of the keys. With a smaller
//! cache of C places, each policy has one unknown, which is found by halving an interval until the cache is full:
//!
//! | policy | unknown | how true |
//! |---|---|---|
//! | TTL | x: each entry loses x of its TTL, L = T - x | exact for many keys |
//! | FIFO | F: an entry leaves F after it was stored, L = min(T, F) | exact for many keys |
//! | LRU | c: an entry leaves after c without a use (Che, Tung and Wang, 2002) | the time beyond the first c is taken
//! as exponential |
//! | LFU | which keys stay: those asked for most often | an upper bound of the hits: a count that begins anew with
//! each storing keeps less |
//!
//! Where a server is slow, a key is asked for P seconds before it is stored, and who needs it meanwhile waits for the
//! same response: it is missed u/(1+u(P+L)) times a second. What is given up is stored for 0 s.
//!
//! With FIFO, LRU and LFU an entry that has expired keeps its place, so that they evict before the valid ones fill the
//! cache; with TTL what has expired is evicted first.

use std::ops::Range;

use dnsdyno_measure::CacheState;

use crate::description::Policy;

/// Keys of one cache that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// How many; a part of one for a mean over clients.
    pub keys: f64,
    /// How often each is asked for, in one second.
    pub asked_per_s: f64,
    /// The TTL in seconds.
    pub ttl_s: f64,
    /// How many places of the cache the entry of a key takes.
    pub takes: f64,
    /// Which part of what is asked is answered, and so stored.
    pub answered: f64,
    /// How long a question is asked until it is answered or given up, in seconds; who needs it meanwhile waits.
    pub pending_s: f64,
    /// What brings it besides.
    pub brought: Option<Brought>,
}

/// Additional data: each response to a question of other groups stores some of the keys again.
#[derive(Debug, Clone, PartialEq)]
pub struct Brought {
    /// The groups whose responses bring it, before this one.
    pub by: Range<usize>,
    /// How many of its keys a response brings.
    pub per_answer: f64,
}

impl Group {
    /// Keys that are asked for, and not brought; each takes one place.
    pub fn asked(keys: f64, asked_per_s: f64, ttl_s: f64) -> Self {
        Group { keys, asked_per_s, ttl_s, takes: 1.0, answered: 1.0, pending_s: 0.0, brought: None }
    }
}

/// How the keys do in a cache.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// The mean number of places that valid entries would take if none were evicted.
    pub need: f64,
    /// The state of the cache.
    pub state: CacheState,
    /// How often all keys of each group together are missed, in one second.
    pub missed_per_s: Vec<f64>,
    /// How much of its TTL an entry loses, in seconds; with [`Policy::Ttl`] only.
    pub lost_s: Option<f64>,
}

/// Solves the model of a cache of `entries` places.
pub fn solve(policy: Policy, groups: &[Group], entries: f64) -> Solution {
    let ttl_s = |group: &Group| group.ttl_s;
    let free = evaluate(groups, ttl_s, |_, group, brought_per_s| live(group, brought_per_s, group.ttl_s));
    let need = free.used;
    let keys: f64 = groups.iter().map(|group| group.keys * group.takes).sum();
    let state = if keys <= entries {
        CacheState::Fits
    } else if need <= entries {
        CacheState::Tight
    } else {
        CacheState::Overflows
    };
    let (missed_per_s, lost_s) = match state {
        CacheState::Fits if entries >= 1.0 => (free.missed_per_s, (policy == Policy::Ttl).then_some(0.0)),
        _ => {
            let groups = storable(groups, entries);
            let room = free_room(&groups, |room| missed(policy, &groups, entries - room).0);
            missed(policy, &groups, entries - room)
        }
    };
    Solution { need, state, missed_per_s, lost_s }
}

/// What is missed of a cache that is full, and how much of its TTL an entry loses.
fn missed(policy: Policy, groups: &[Group], entries: f64) -> (Vec<f64>, Option<f64>) {
    let longest_s = groups.iter().map(|group| group.ttl_s).fold(0.0, f64::max);
    match policy {
        _ if entries < 1.0 => {
            let none = |_, group: &Group, brought_per_s| live(group, brought_per_s, 0.0);
            (evaluate(groups, |group| group.ttl_s, none).missed_per_s, None)
        }
        Policy::Ttl => {
            let with = |lost_s: f64| {
                let left_s = |group: &Group| (group.ttl_s - lost_s).max(0.0);
                evaluate(groups, left_s, |_, group, brought_per_s| live(group, brought_per_s, left_s(group)))
            };
            // More is lost, less is used.
            let lost_s = halve(0.0, longest_s, |lost_s| with(lost_s).used > entries);
            (with(lost_s).missed_per_s, Some(lost_s))
        }
        Policy::Fifo => (fill(groups, entries, longest_s, fifo), None),
        Policy::Lru => (fill(groups, entries, longest_s, lru), None),
        Policy::Lfu => (lfu(groups, entries), None),
    }
}

/// The groups as a cache of so many places stores them: what takes more than all of them is never stored.
fn storable(groups: &[Group], entries: f64) -> Vec<Group> {
    let stored = |group: &Group| {
        let answered = if group.takes > entries { 0.0 } else { group.answered };
        Group { answered, ..group.clone() }
    };
    groups.iter().map(stored).collect()
}

/// How many places are free on average, because what is evicted takes more than what comes: with entries of sizes s it
/// is E(s²)/2E(s) - 1/2, the mean overshoot of a sum of them; 0 where each takes one place.
fn free_room(groups: &[Group], missed_with: impl Fn(f64) -> Vec<f64>) -> f64 {
    let mut room = 0.0;
    if groups.iter().all(|group| group.takes <= 1.0) {
        return room;
    }
    for _ in 0..ROOM_ROUNDS {
        let stored = missed_with(room)
            .into_iter()
            .zip(groups)
            .map(|(missed, group)| (missed * group.answered, group.takes));
        let (sum, squares) = stored.fold((0.0, 0.0), |(sum, squares), (per_s, takes)| {
            (sum + per_s * takes, squares + per_s * takes * takes)
        });
        let overshoot = if sum > 0.0 { squares / sum / 2.0 - 0.5 } else { 0.0 };
        // What is stored depends on the room, and little.
        room = (room + overshoot) / 2.0;
    }
    room
}

/// After these the room moves by less than a thousandth of itself.
const ROOM_ROUNDS: u32 = 10;

/// What all groups together do.
struct Evaluated {
    /// Places that are taken.
    used: f64,
    missed_per_s: Vec<f64>,
}

/// Evaluates the groups in their order, as later ones are brought by earlier ones. `lasting` says how long an entry of
/// a group lasts once it is stored; `of_key` says of a key, by its group's index and how often it is brought, with what
/// part of its questions it is missed, and for what part of the time it has an entry.
fn evaluate(
    groups: &[Group],
    lasting: impl Fn(&Group) -> f64,
    of_key: impl Fn(usize, &Group, f64) -> (f64, f64),
) -> Evaluated {
    let mut missed_parts: Vec<f64> = Vec::with_capacity(groups.len());
    let mut used = 0.0;
    for (index, group) in groups.iter().enumerate() {
        let brought_per_s = group.brought.as_ref().map_or(0.0, |brought| {
            let by = groups.get(brought.by.clone()).unwrap_or_default().iter();
            let by = by.zip(missed_parts.get(brought.by.clone()).unwrap_or_default());
            brought_per_s(group, brought, lasting(group), by)
        });
        let (missed, has_entry) = of_key(index, group, brought_per_s);
        missed_parts.push(missed);
        used += group.keys * group.takes * has_entry;
    }
    let missed_per_s = groups.iter().zip(&missed_parts);
    let missed_per_s = missed_per_s.map(|(group, missed)| group.keys * group.asked_per_s * missed).collect();
    Evaluated { used, missed_per_s }
}

/// How often a key is brought: the rate of a Poisson process that leaves it without an entry for the same part of the
/// time as what brings it does.
///
/// A question that is asked for u times a second and lasts L is answered every L + 1/u seconds. Of what it brings, and
/// what lasts l, nothing is left for a part 1 - l/(L + 1/u) of the time, or, if l > L, exp(-u(l - L))/(1 + uL).
fn brought_per_s<'a>(
    group: &Group,
    brought: &Brought,
    lasting_s: f64,
    by: impl Iterator<Item = (&'a Group, &'a f64)>,
) -> f64 {
    let (mut per_s, mut log_absent) = (0.0, 0.0);
    for (question, missed) in by.filter(|(question, _)| question.asked_per_s > 0.0) {
        let number = question.keys * brought.per_answer / group.keys;
        let answered_per_s = question.asked_per_s * missed;
        per_s += number * answered_per_s;
        let longer_s = lasting_s - (1.0 / missed - 1.0) / question.asked_per_s;
        let log = if longer_s > 0.0 {
            missed.ln() - question.asked_per_s * longer_s
        } else {
            (-answered_per_s * lasting_s).max(-1.0).ln_1p()
        };
        log_absent += number * log.max(LOG_NEVER);
    }
    if lasting_s > 0.0 { -log_absent / lasting_s } else { per_s }
}

/// The logarithm of a part of the time that is as good as none.
const LOG_NEVER: f64 = -500.0;

/// The part of the questions that a key is missed with, and of the time that it is valid, if it lasts `lasting_s`
/// from when it was stored or brought last.
///
/// Being brought r times a second renews it, so it ends when no response has brought it for that time: after
/// (e^{rL} - 1)/r on average, which is L for r = 0. Then the next question or response stores it.
fn live(group: &Group, brought_per_s: f64, lasting_s: f64) -> (f64, f64) {
    let stored_per_s = group.asked_per_s + brought_per_s;
    if stored_per_s <= 0.0 {
        return (1.0, 0.0);
    }
    let valid_s = group.answered * mean_until_pause(brought_per_s, lasting_s);
    if !valid_s.is_finite() {
        // It is brought so often that it never expires.
        return (0.0, 1.0);
    }
    let missed = 1.0 / (1.0 + stored_per_s * (group.pending_s + valid_s));
    (missed, missed * stored_per_s * valid_s)
}

/// The mean time until a Poisson process of a rate makes a pause of `pause_s`, the pause included.
fn mean_until_pause(per_s: f64, pause_s: f64) -> f64 {
    if per_s * pause_s < 1e-9 { pause_s } else { (per_s * pause_s).exp_m1() / per_s }
}

/// With FIFO, where an entry leaves `stay_s` after it was stored last. When it expires before that, it keeps its place
/// until it is asked for.
fn fifo(group: &Group, brought_per_s: f64, stay_s: f64) -> (f64, f64) {
    let (missed, valid) = live(group, brought_per_s, group.ttl_s.min(stay_s));
    let expired_s = (stay_s - group.ttl_s).max(0.0);
    let kept = -(-expired_s * (group.asked_per_s + brought_per_s)).exp_m1();
    (missed, valid + missed * group.answered * kept)
}

/// With LRU, where an entry leaves `idle_s` after its last use.
fn lru(group: &Group, brought_per_s: f64, idle_s: f64) -> (f64, f64) {
    let used_per_s = group.asked_per_s + brought_per_s;
    let has_entry = -(-used_per_s * idle_s).exp_m1();
    // It lasts for one pause at least, and beyond that for a time that is nearly exponential.
    let beyond_s = mean_until_pause(used_per_s, idle_s) - idle_s;
    let valid_s = match group.ttl_s - idle_s {
        _ if beyond_s <= 0.0 => group.ttl_s.min(idle_s),
        // A key that makes no such pause before its TTL ends; `beyond_s` may be infinite.
        left_s if left_s <= beyond_s * 1e-9 => group.ttl_s,
        left_s => idle_s + beyond_s * -(-left_s / beyond_s).exp_m1(),
    };
    let lasts_s = group.pending_s + group.answered * valid_s;
    (1.0 / (1.0 + used_per_s * lasts_s), has_entry * group.answered)
}

/// Finds how long an entry stays until the cache is full, and what is missed then.
fn fill(
    groups: &[Group],
    entries: f64,
    longest_s: f64,
    of_key: fn(&Group, f64, f64) -> (f64, f64),
) -> Vec<f64> {
    let with = |stay_s: f64| {
        let lasting = |group: &Group| group.ttl_s.min(stay_s);
        evaluate(groups, lasting, |_, group, brought_per_s| of_key(group, brought_per_s, stay_s))
    };
    // A thousand TTLs are as good as forever.
    let stay_s = halve(0.0, longest_s * 1e3, |stay_s| with(stay_s).used < entries);
    with(stay_s).missed_per_s
}

/// With LFU: the keys that are asked for most often stay, each until its TTL ends.
fn lfu(groups: &[Group], entries: f64) -> Vec<f64> {
    let mut by_rate: Vec<(usize, &Group)> = groups.iter().enumerate().collect();
    by_rate.sort_by(|(_, a), (_, b)| b.asked_per_s.total_cmp(&a.asked_per_s));
    let mut staying = vec![0.0; groups.len()];
    let mut room = entries;
    for (index, group) in by_rate.into_iter().filter(|(_, group)| group.answered > 0.0) {
        let part = (room / (group.keys * group.takes)).clamp(0.0, 1.0);
        if let Some(staying) = staying.get_mut(index) {
            *staying = part;
        }
        room -= part * group.keys * group.takes;
    }
    let of_key = |index: usize, group: &Group, brought_per_s: f64| {
        let part = staying.get(index).copied().unwrap_or(0.0);
        let (missed, _) = live(group, brought_per_s, group.ttl_s);
        (part * missed + 1.0 - part, part)
    };
    evaluate(groups, |group| group.ttl_s, of_key).missed_per_s
}

/// The place between two where `holds` ends to hold.
fn halve(mut from: f64, mut to: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = (from + to) / 2.0;
        if holds(middle) {
            from = middle;
        } else {
            to = middle;
        }
    }
    to
}

#[cfg(test)]
mod tests;
