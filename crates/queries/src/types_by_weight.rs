//! Types of queries by weight: `A=60,AAAA=30,HTTPS=10`.

use std::str::FromStr;

use dnsdyno_wire::parse_type;

use super::random::Chance;

/// Types with their weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeWeights(Vec<(u16, u32)>);

impl FromStr for TypeWeights {
    type Err = String;

    /// Reads `TYPE=WEIGHT,...`; a type without a weight has 1.
    fn from_str(text: &str) -> Result<TypeWeights, String> {
        let mut types: Vec<(u16, u32)> = Vec::new();
        for item in text.split(',') {
            let (name, weight) = item.trim().split_once('=').unwrap_or((item.trim(), "1"));
            let qtype = parse_type(name)
                .ok_or_else(|| format!("`{name}` is not a query type: write a name like AAAA, or TYPEnnn"))?;
            let weight = weight.parse().ok().filter(|weight| (1..=MOST_WEIGHT).contains(weight));
            let weight = weight.ok_or_else(|| {
                format!("the weight of {name} must be a whole number from 1 to {MOST_WEIGHT}")
            })?;
            if types.iter().any(|(other, _)| *other == qtype) {
                return Err(format!("{name} is given twice: remove one"));
            }
            types.push((qtype, weight));
        }
        if types.len() > MOST_TYPES {
            return Err(format!("these are more than {MOST_TYPES} types: remove some"));
        }
        let divisor = types.iter().fold(0, |divisor, (_, weight)| greatest_common_divisor(divisor, *weight));
        types.iter_mut().for_each(|(_, weight)| *weight /= divisor.max(1));
        Ok(TypeWeights(types))
    }
}

impl TypeWeights {
    /// Whether all queries have the same type.
    pub(super) fn is_one(&self) -> bool {
        self.0.len() == 1
    }

    /// Chooses types so that any sequence as long as the sum of the weights has each type in its share.
    pub(super) fn chooser(&self, seed: u64) -> TypeChooser {
        let of_one = |(qtype, weight): &(u16, u32)| std::iter::repeat_n(*qtype, *weight as usize);
        TypeChooser { block: self.0.iter().flat_map(of_one).collect(), next: 0, chance: Chance(seed) }
    }
}

/// Gives one type after the other: shuffled blocks, each with all types in their shares.
pub(super) struct TypeChooser {
    block: Vec<u16>,
    next: usize,
    chance: Chance,
}

impl TypeChooser {
    pub(super) fn next(&mut self) -> u16 {
        if self.next == 0 {
            self.chance.shuffle(&mut self.block);
        }
        let qtype = self.block.get(self.next).copied().unwrap_or(0);
        self.next = if self.next + 1 < self.block.len() { self.next + 1 } else { 0 };
        qtype
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// So that a block stays small.
const MOST_WEIGHT: u32 = 10_000;
const MOST_TYPES: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_of_the_sum_of_the_weights_has_the_types_in_their_shares() {
        let types: TypeWeights = "A=60, AAAA=30,HTTPS=10".parse().unwrap();
        let mut chooser = types.chooser(5);
        let block = |chooser: &mut TypeChooser| -> Vec<u16> { (0..10).map(|_| chooser.next()).collect() };
        let (first, second) = (block(&mut chooser), block(&mut chooser));
        for block in [&first, &second] {
            let count = |qtype| block.iter().filter(|one| **one == qtype).count();
            assert_eq!((count(1), count(28), count(65)), (6, 3, 1));
        }
        assert_eq!(block(&mut types.chooser(5)), first);
        assert!((0..5).any(|_| block(&mut chooser) != first));
    }

    #[test]
    fn a_weight_of_zero_an_unknown_type_and_a_type_given_twice_are_refused() {
        let error = |text: &str| text.parse::<TypeWeights>().unwrap_err();
        assert!(error("A=0").contains("from 1 to 10000"));
        assert!(error("A=-1").contains("from 1 to 10000"));
        assert!(error("XYZ=1").contains("`XYZ` is not a query type"));
        assert!(error("").contains("`` is not a query type"));
        assert!(error("A=1,a=2").contains("given twice"));
        assert_eq!("A,AAAA".parse(), Ok(TypeWeights(vec![(1, 1), (28, 1)])));
    }
}
