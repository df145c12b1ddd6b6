//! The order of queries: that of the file, or in runs of equal length.
//!
//! The kernel segments one long send into packets of equal size, which is fast (see the transport). Adjacent lines of
//! a file rarely have equal length, so queries of equal length are grouped within a window:
//!
//! ```text
//! file     | 33 41 28 33 33 41 28 28 | 33 28 ...      window after window
//! sent     | 33 33 33 28 28 41 41 28 | ...            runs of one length, the runs in any order
//! ```
//!
//! The runs are shuffled, so that a load that ends within a window has sent a fair sample of it and not the shortest
//! names. Grouping is done before the run: it costs nothing during the load, and no query waits for others.

use super::queries::Queries;
use super::random::Chance;

/// The number of queries in which order may change. With names of 10 to 60 bytes it has about 40 of each length.
pub const LENGTH_WINDOW: usize = 2_048;

/// The longest run of equal length: half of what one system call sends.
const LONGEST_RUN: usize = 32;

impl Queries {
    /// Groups queries of equal length within each window of [`LENGTH_WINDOW`], in runs whose order depends on
    /// `seed`. Queries with their own instants keep their order.
    pub fn group_by_length(&mut self, seed: u64) {
        if !self.instants().is_empty() {
            return;
        }
        let mut chance = Chance(seed);
        let mut arena = Vec::new();
        for first in (0..self.len()).step_by(LENGTH_WINDOW) {
            let last = (first + LENGTH_WINDOW).min(self.len());
            let mut by_length: Vec<usize> = (first..last).collect();
            by_length.sort_by_key(|i| self.message(*i).len());
            if by_length.is_sorted() {
                continue;
            }
            let mut runs: Vec<&[usize]> = by_length
                .chunk_by(|a, b| self.message(*a).len() == self.message(*b).len())
                .flat_map(|equal| equal.chunks(LONGEST_RUN))
                .collect();
            chance.shuffle(&mut runs);
            let order = runs.concat();
            self.rearrange(first, &order, &mut arena);
        }
    }

    /// Rearranges the queries of one window, which starts at `first`, in the order of `order`.
    fn rearrange(&mut self, first: usize, order: &[usize], arena: &mut Vec<u8>) {
        arena.clear();
        let start = if first == 0 { 0 } else { self.ends[first - 1] };
        let (mut ends, mut slots) = (Vec::with_capacity(order.len()), Vec::with_capacity(order.len()));
        for i in order {
            arena.extend_from_slice(self.message(*i));
            ends.push(start + arena.len() as u32);
            slots.push(self.type_slots[*i]);
        }
        rearrange_column(&mut self.tail_lens, first, order);
        rearrange_column(&mut self.clients, first, order);
        rearrange_column(&mut self.templates, first, order);
        self.arena[start as usize..start as usize + arena.len()].copy_from_slice(arena);
        self.ends[first..first + ends.len()].copy_from_slice(&ends);
        self.type_slots[first..first + slots.len()].copy_from_slice(&slots);
    }
}

/// The same for a column, unless it is empty.
fn rearrange_column<T: Copy>(column: &mut [T], first: usize, order: &[usize]) {
    if !column.is_empty() {
        let moved: Vec<T> = order.iter().map(|i| column[*i]).collect();
        column[first..first + moved.len()].copy_from_slice(&moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Own, QueriesBuilder};
    use dnsdyno_wire::QueryForm;
    use proptest::prelude::*;

    fn queries(lengths: &[u8]) -> Queries {
        let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
        for (i, length) in lengths.iter().enumerate() {
            let mut name = vec![*length];
            name.extend((0..*length).map(|at| b'a' + ((i + usize::from(at)) % 26) as u8));
            name.push(0);
            builder.push(&name, 1 + (i % 3) as u16).unwrap();
        }
        builder.finish()
    }

    /// Message and type of each query, in order.
    fn listed(queries: &Queries) -> Vec<(Vec<u8>, u16)> {
        let one = |i| (queries.message(i).to_vec(), queries.types()[queries.type_slot(i)]);
        (0..queries.len()).map(one).collect()
    }

    proptest! {
        #[test]
        fn each_window_keeps_its_queries_and_has_few_changes_of_length(
            lengths in proptest::collection::vec(1u8..40, 1..5_000)
        ) {
            let before = queries(&lengths);
            let mut after = before.clone();
            after.group_by_length(7);
            for (was, is) in listed(&before).chunks(LENGTH_WINDOW).zip(listed(&after).chunks(LENGTH_WINDOW)) {
                let (mut was, mut sorted) = (was.to_vec(), is.to_vec());
                was.sort();
                sorted.sort();
                prop_assert_eq!(was, sorted);
                let runs = is.chunk_by(|a, b| a.0.len() == b.0.len()).count();
                prop_assert!(runs <= 40 + is.len() / LONGEST_RUN, "{} runs of {}", runs, is.len());
            }
        }
    }

    #[test]
    fn the_attributes_of_a_query_move_with_it_and_instants_keep_their_order() {
        let build = |at_ns: Option<u64>| {
            let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
            for client in 0..500u32 {
                let mut message = Vec::new();
                QueryForm::default().encode(b"\x01a\x00", 1, &mut message);
                message.resize(message.len() + client as usize * 7 % 5, client as u8);
                builder.push_message(&message, Own { at_ns, client: Some(client) }).unwrap();
            }
            builder.finish()
        };
        let (before, mut after) = (build(None), build(None));
        after.group_by_length(1);
        assert_ne!(listed(&before), listed(&after));
        for i in 0..500 {
            let was = after.client(i).unwrap() as usize;
            assert_eq!((after.message(i), after.question(i)), (before.message(was), before.question(was)));
        }
        let mut timed = build(Some(5));
        timed.group_by_length(1);
        assert_eq!(listed(&timed), listed(&before));
    }

    #[test]
    fn the_same_seed_gives_the_same_order_and_the_first_queries_are_not_the_shortest() {
        let lengths: Vec<u8> = (0..2_048).map(|i| 1 + (i % 50) as u8).collect();
        let (mut one, mut two) = (queries(&lengths), queries(&lengths));
        one.group_by_length(3);
        two.group_by_length(3);
        assert_eq!(listed(&one), listed(&two));
        let bytes: usize = (0..512).map(|i| one.message(i).len()).sum();
        let all = one.encoded_bytes();
        assert!((all / 5..all / 3).contains(&bytes), "a quarter of the questions is {bytes} of {all} bytes");
    }
}
