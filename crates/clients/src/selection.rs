//! Which serving gateway and which gateway to the packet network a client takes (TS 29.303 §5.2.3, Annexes B.2, C.4).
//!
//! Collocation, both on one node, beats all. Then the pair whose canonical names have the most labels in common from
//! the right, where both are `topon`. Equally close ones go by order and preference: first of the serving gateway, as
//! it is looked up first, then of the other. What is still equal is drawn by the weight of its SRV record.

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

use crate::ids::NameId;
use crate::names::Names;

/// A gateway that can be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) host: NameId,
    pub(crate) rank: Rank,
    /// Of SRV; 1 where there is none.
    pub(crate) weight: u16,
}

/// The orders and preferences on the way to a candidate, those of the first record in the highest bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u128);

impl Rank {
    /// The rank after one more record. Of the fifth and later ones on a way nothing is kept.
    pub(crate) fn then(self, depth: u8, order: u16, preference: u16) -> Rank {
        let value = u128::from(u32::from(order) << 16 | u32::from(preference));
        Rank(self.0 | 96_u32.checked_sub(u32::from(depth) * 32).map_or(0, |shift| value << shift))
    }
}

/// How close a candidate is to another: 0 not at all, else labels in common.
const COLLOCATED: u16 = u16::MAX;

/// Selects gateways; its memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// By number of a name: the mark of the last selection that put it there.
    nodes: Vec<u32>,
    above: Vec<u32>,
    mark: u32,
    closeness: Vec<u16>,
}

impl Selection {
    /// The best of a list; `None` for an empty one.
    pub(crate) fn one(&self, list: &[Candidate], random: &mut Xoshiro256PlusPlus) -> Option<NameId> {
        first_of(list, |_| true, random)
    }

    /// The best pair of two lists; `None` where one is empty.
    pub(crate) fn pair(
        &mut self,
        sgws: &[Candidate],
        pgws: &[Candidate],
        names: &mut Names,
        random: &mut Xoshiro256PlusPlus,
    ) -> Option<(NameId, NameId)> {
        let closest = self.measure(sgws, pgws, names);
        let sgw = first_of(sgws, |at| self.closeness.get(at) == Some(&closest), random)?;
        let taken = Candidate { host: sgw, rank: Rank::default(), weight: 1 };
        let closest = self.measure(pgws, &[taken], names);
        let pgw = first_of(pgws, |at| self.closeness.get(at) == Some(&closest), random)?;
        Some((sgw, pgw))
    }

    /// Fills `closeness`: how close each of `list` is to the closest of `others`. Returns the largest.
    ///
    /// The names above the others are marked, so that each of the list walks up its own name once, and no pair is
    /// looked at.
    fn measure(&mut self, list: &[Candidate], others: &[Candidate], names: &mut Names) -> u16 {
        self.mark = self.mark.checked_add(1).unwrap_or_else(|| {
            // After 2^32 selections: marks of the first ones would count again.
            self.nodes.clear();
            self.above.clear();
            1
        });
        for other in others {
            let place = names.place(other.host);
            set(&mut self.nodes, place.node, self.mark);
            let mut above = if place.topon { Some(place.node) } else { None };
            while let Some(name) = above {
                if get(&self.above, name) == self.mark {
                    break;
                }
                set(&mut self.above, name, self.mark);
                above = names.parent(name);
            }
        }
        self.closeness.clear();
        let mut largest = 0;
        for candidate in list {
            let place = names.place(candidate.host);
            let closeness = if get(&self.nodes, place.node) == self.mark {
                COLLOCATED
            } else if place.topon {
                let mut name = Some(place.node);
                while let Some(above) = name.filter(|above| get(&self.above, *above) != self.mark) {
                    name = names.parent(above);
                }
                name.map_or(0, |common| u16::from(names.labels(common)))
            } else {
                0
            };
            self.closeness.push(closeness);
            largest = largest.max(closeness);
        }
        largest
    }
}

/// The one of smallest rank among those that `is_in` lets in; equal ones are drawn by weight (RFC 2782; a weight of 0
/// counts as 1).
fn first_of(
    list: &[Candidate],
    is_in: impl Fn(usize) -> bool,
    random: &mut Xoshiro256PlusPlus,
) -> Option<NameId> {
    let mut best: Option<&Candidate> = None;
    let mut weights = 0;
    for (_, candidate) in list.iter().enumerate().filter(|(at, _)| is_in(*at)) {
        let weight = u32::from(candidate.weight.max(1));
        match best {
            Some(other) if other.rank < candidate.rank => {}
            Some(other) if other.rank == candidate.rank => {
                weights += weight;
                if random.random_range(0..weights) < weight {
                    best = Some(candidate);
                }
            }
            _ => (best, weights) = (Some(candidate), weight),
        }
    }
    best.map(|candidate| candidate.host)
}

fn get(marks: &[u32], name: NameId) -> u32 {
    marks.get(name.0 as usize).copied().unwrap_or(0)
}

fn set(marks: &mut Vec<u32>, name: NameId, mark: u32) {
    let at = name.0 as usize;
    if marks.len() <= at {
        marks.resize(at + 1, 0);
    }
    marks[at] = mark;
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    struct Case {
        names: Names,
        random: Xoshiro256PlusPlus,
    }

    impl Case {
        fn new() -> Self {
            Case { names: Names::default(), random: Xoshiro256PlusPlus::seed_from_u64(1) }
        }

        fn host(&mut self, text: &str) -> NameId {
            let mut wire = Vec::new();
            dnsdyno_wire::encode_name(text.as_bytes(), &mut wire).unwrap();
            self.names.name(&wire)
        }

        fn list(&mut self, hosts: &[(&str, u16, u16)]) -> Vec<Candidate> {
            let candidate = |(host, order, preference): &(&str, u16, u16)| Candidate {
                host: self.host(host),
                rank: Rank::default().then(0, *order, *preference),
                weight: 1,
            };
            hosts.iter().map(candidate).collect()
        }

        fn selects(&mut self, sgws: &[(&str, u16, u16)], pgws: &[(&str, u16, u16)], pair: (&str, &str)) {
            let (sgws, pgws) = (self.list(sgws), self.list(pgws));
            let taken = Selection::default().pair(&sgws, &pgws, &mut self.names, &mut self.random);
            let (sgw, pgw) = (self.host(pair.0), self.host(pair.1));
            assert_eq!(taken, Some((sgw, pgw)), "{pair:?}");
        }
    }

    const TOKYO: &str = "topon.s5.sgw1.tokyo.east.node.epc";
    const YOKOHAMA: &str = "topon.s5.pgw1.yokohama.east.node.epc";
    const OSAKA: &str = "topon.s5.pgw1.osaka.west.node.epc";

    #[test]
    fn labels_in_common_beat_order() {
        Case::new().selects(&[(TOKYO, 1, 1)], &[(OSAKA, 1, 1), (YOKOHAMA, 200, 9)], (TOKYO, YOKOHAMA));
    }

    #[test]
    fn equally_close_ones_go_by_order_and_then_by_preference() {
        let other = "topon.s5.pgw2.yokohama.east.node.epc";
        Case::new().selects(&[(TOKYO, 1, 1)], &[(YOKOHAMA, 2, 1), (other, 1, 9)], (TOKYO, other));
        Case::new().selects(&[(TOKYO, 1, 1)], &[(YOKOHAMA, 1, 1), (other, 1, 9)], (TOKYO, YOKOHAMA));
    }

    #[test]
    fn one_node_for_both_beats_labels_and_order() {
        let sgw = "topoff.s5.gw7.osaka.west.node.epc";
        let pgw = "topoff.s5s8.gw7.osaka.west.node.epc";
        let sgws = [(TOKYO, 1, 1), (sgw, 300, 9)];
        Case::new().selects(&sgws, &[(YOKOHAMA, 1, 1), (pgw, 300, 9)], (sgw, pgw));
    }

    #[test]
    fn labels_of_topoff_hosts_do_not_count() {
        let near = "topoff.s5.pgw1.tokyo.east.node.epc";
        let far = "topoff.s5.pgw1.osaka.west.node.epc";
        Case::new().selects(&[(TOKYO, 1, 1)], &[(near, 2, 1), (far, 1, 1)], (TOKYO, far));
        Case::new().selects(&[(TOKYO, 1, 1)], &[(near, 1, 1), (OSAKA, 2, 1)], (TOKYO, OSAKA));
    }

    #[test]
    fn the_pair_is_the_closest_of_all_pairs() {
        let sgws = [("topon.s5.sgw1.west.node.epc", 1, 1), (TOKYO, 9, 9)];
        Case::new().selects(
            &sgws,
            &[(YOKOHAMA, 9, 9), ("topon.s5.p.south.node.epc", 1, 1)],
            (TOKYO, YOKOHAMA),
        );
    }

    #[test]
    fn a_rank_is_that_of_the_first_record_then_of_the_next() {
        let rank = |steps: &[(u16, u16)]| {
            let numbered = steps.iter().enumerate();
            numbered.fold(Rank::default(), |rank, (depth, step)| rank.then(depth as u8, step.0, step.1))
        };
        assert!(rank(&[(1, 5), (9, 9)]) < rank(&[(1, 6), (1, 1)]));
        assert!(rank(&[(1, 5), (1, 9)]) < rank(&[(1, 5), (2, 1)]));
        assert_eq!(rank(&[(1, 1); 4]), rank(&[(1, 1); 8]));
    }

    #[test]
    fn equal_ones_are_drawn_by_weight() {
        let mut case = Case::new();
        let mut list = case.list(&[(YOKOHAMA, 1, 1), (OSAKA, 1, 1), (TOKYO, 2, 1)]);
        list[1].weight = 3;
        let osaka = case.host(OSAKA);
        let drawn =
            (0..4_000).filter(|_| Selection::default().one(&list, &mut case.random) == Some(osaka)).count();
        assert!((2_850..3_150).contains(&drawn), "{drawn} of 4000 with weight 3 of 4");
        assert_eq!(Selection::default().one(&[], &mut case.random), None);
    }
}
