//! What is done with the queries of a source after they are read: types by weight, hot and cold names, their order.

use std::collections::HashSet;
use std::sync::Arc;

use dnsdyno_wire::{HEADER_LEN, MAX_NAME_LEN, QUESTION_FIXED_LEN, peek};

use super::cache::CachePlan;
use super::picker::{AliasTable, Picking};
use super::queries::{Full, Own, Queries, QueriesBuilder};
use super::reading::{HitRate, Order, Reading};
use super::template::{Filling, Placeholder, read_template};

/// The queries as they are sent, and the hash of the source.
pub(super) fn arranged(mut builder: QueriesBuilder, reading: &Reading) -> Result<(Queries, String), Full> {
    let Reading { selection, seed, groups_by_length, .. } = reading;
    if let Some(types) = &selection.types {
        builder.assign_types(types, *seed)?;
    }
    let mut queries = builder.finish();
    let mut picking = Picking::InTurn;
    match (selection.hit_rate, selection.order) {
        (Some(hit_rate), _) => {
            let by_heat = HotAndCold::of(&queries, QueriesBuilder::of(reading, 0), hit_rate, *seed)?;
            picking = by_heat.picking(hit_rate, *seed);
            queries = by_heat.builder.finish();
        }
        (None, Order::InTurn) => {}
        (None, Order::Random) => picking = Picking::Random { seed: *seed },
        (None, Order::Zipf { exponent }) => {
            let table = Arc::new(AliasTable::zipf(queries.len(), exponent));
            picking = Picking::Zipf { table, seed: *seed };
        }
    }
    let hash = queries.hash();
    if *groups_by_length && matches!(picking, Picking::InTurn) {
        queries.group_by_length(*seed);
    }
    Ok((queries.filled(*seed).picked_by(picking), hash))
}

/// Hot names, and cold ones after them.
struct HotAndCold {
    builder: QueriesBuilder,
    hot: u32,
    cold: u32,
}

impl HotAndCold {
    /// Names with a placeholder that makes them unique are cold, all others are hot. Where one kind is missing it is
    /// made of the other.
    fn of(
        queries: &Queries,
        builder: QueriesBuilder,
        hit_rate: HitRate,
        seed: u64,
    ) -> Result<HotAndCold, Full> {
        let is_cold = |i: &usize| queries.placeholders(*i).iter().any(|place| place.is_unique());
        let (cold, hot): (Vec<usize>, Vec<usize>) = (0..queries.len()).partition(is_cold);
        let mut made = HotAndCold { builder, hot: 0, cold: 0 };
        let mut known = HashSet::new();
        let most = hit_rate.hot.map_or(usize::MAX, |hot| hot as usize);
        let each = u64::from(hit_rate.hot.unwrap_or(USUAL_HOT));
        for i in &hot {
            let numbers = if queries.placeholders(*i).is_empty() { 0..1 } else { 0..each };
            for number in numbers {
                let message = filled(queries, *i, number, seed);
                // A name that stands in a list twice is one name in a cache.
                let question = peek(&message).map_or(&[][..], |message| message.question);
                if known.len() < most && known.insert(question.to_ascii_lowercase()) {
                    made.builder.push_message(&message, Own::default())?;
                }
            }
        }
        for number in (0..each).take_while(|_| hot.is_empty()) {
            let Some(i) = cold.get((number % cold.len().max(1) as u64) as usize) else { break };
            // From the last numbers, which no query of the run has.
            let message = filled(queries, *i, u64::MAX - 1 - number, seed);
            made.builder.push_message(&message, Own::default())?;
        }
        made.hot = made.builder.len() as u32;
        for i in &cold {
            made.builder.push_message(queries.message(*i), Own::default())?;
            made.builder.set_placeholders(queries.placeholders(*i).to_vec());
        }
        if cold.is_empty() {
            for i in hot.iter().take(MOST_MADE_COLD) {
                made.push_cold(queries, *i)?;
            }
        }
        made.cold = made.builder.len() as u32 - made.hot;
        Ok(made)
    }

    /// Adds a cold name: a unique label before a hot name, or in the place of its first labels if it is too long.
    fn push_cold(&mut self, queries: &Queries, i: usize) -> Result<(), Full> {
        let (message, question) = (queries.message(i), queries.question(i));
        let Some(mut name) = question.get(..question.len().saturating_sub(QUESTION_FIXED_LEN)) else {
            return Ok(());
        };
        let after_name = &message[HEADER_LEN + name.len()..];
        let Ok((label, mut places)) = read_template(UNIQUE_LABEL, HEADER_LEN) else { return Ok(()) };
        while name.len() + label.len() + 1 > MAX_NAME_LEN {
            let length = usize::from(name.first().copied().unwrap_or(0));
            name = name.get(length + 1..).unwrap_or(&[0]);
        }
        let label_len = [label.len() as u8];
        let cold = [&message[..HEADER_LEN], &label_len, &label, name, after_name].concat();
        self.builder.push_message(&cold, Own::default())?;
        // The placeholders of the hot name are moved by the new label.
        let moved = |place: &Placeholder| place.moved_by(label.len() + 1);
        if name.len() + QUESTION_FIXED_LEN == question.len() {
            places.extend(queries.placeholders(i).iter().map(moved));
        }
        self.builder.set_placeholders(places);
        Ok(())
    }

    fn picking(&self, hit_rate: HitRate, seed: u64) -> Picking {
        let HitRate { share, ttl_ns, .. } = hit_rate;
        Picking::Cached(Arc::new(CachePlan { share, ttl_ns, hot: self.hot, cold: self.cold, seed }))
    }
}

/// A message as query `number` would have it.
fn filled(queries: &Queries, i: usize, number: u64, seed: u64) -> Vec<u8> {
    let mut message = queries.message(i).to_vec();
    for (index, place) in queries.placeholders(i).iter().enumerate().rev() {
        Filling::new(*place, index, seed).fill(number, &mut message);
    }
    message
}

/// The label that makes a name unique.
const UNIQUE_LABEL: &[u8] = b"{rand:10}";

/// Hot names that are made where the source has none.
const USUAL_HOT: u32 = 1_000;

/// Cold names are unique already; a few kinds of them are enough.
const MOST_MADE_COLD: usize = 1_000;
