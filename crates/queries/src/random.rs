//! Random numbers that depend only on a seed, so that a load can be repeated; most of them without a state: the same
//! input always gives the same output, so a retried query is made again as it was.

/// A number that looks independent of those of other inputs (the output function of SplitMix64).
#[inline]
pub(crate) fn mix(input: u64) -> u64 {
    let mut z = input.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The distance of the inputs of SplitMix64.
pub(crate) const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A small random number generator (SplitMix64).
#[derive(Debug, Clone)]
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn next(&mut self) -> u64 {
        let random = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        random
    }

    /// A number below `end`, which is above 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        scaled(self.next(), end)
    }

    /// The shuffle of Fisher and Yates.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// A random number that belongs to `n`, with a seed.
#[inline]
pub(super) fn random_of(seed: u64, n: u64) -> u64 {
    mix(seed.wrapping_add(n.wrapping_mul(STEP)))
}

/// A random number of 64 bits as a number below `end`; without a division.
#[inline]
pub(super) fn scaled(random: u64, end: u64) -> u64 {
    ((u128::from(random) * u128::from(end)) >> 64) as u64
}

/// A permutation of the numbers below 2^bits: different numbers stay different.
///
/// A multiplication by an odd number and an exclusive or with a shifted copy can each be undone within the bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Permutation {
    mask: u64,
    shift: u32,
    offset: u64,
}

impl Permutation {
    /// Of the numbers below 2^`bits`, with 1 to 64 bits.
    pub(super) fn new(bits: u32, seed: u64) -> Permutation {
        let mask = u64::MAX >> (64 - bits.clamp(1, 64));
        Permutation { mask, shift: bits.div_ceil(2), offset: mix(seed) }
    }

    /// The number in the place of `n`, of which the lowest bits count.
    #[inline]
    pub(super) fn of(&self, n: u64) -> u64 {
        let mut x = n.wrapping_add(self.offset) & self.mask;
        for odd in [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB, 0xD6E8_FEB8_6659_FD93] {
            x = x.wrapping_mul(odd) & self.mask;
            x ^= x >> self.shift;
        }
        (x ^ (self.offset >> 7)) & self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_has_each_number_once() {
        for bits in [1, 2, 5, 10, 15] {
            for seed in [0, 7, u64::MAX] {
                let permutation = Permutation::new(bits, seed);
                let mut all: Vec<u64> = (0..1 << bits).map(|n| permutation.of(n)).collect();
                all.sort_unstable();
                assert!(all.iter().copied().eq(0..1 << bits), "{bits} bits, seed {seed}");
            }
        }
        let wide = Permutation::new(64, 1);
        assert_ne!(wide.of(u64::MAX), wide.of(u64::MAX >> 1));
    }

    #[test]
    fn numbers_below_an_end_are_even() {
        let mut chance = Chance(3);
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[chance.below(7) as usize] += 1);
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
        assert_eq!(random_of(1, 2), random_of(1, 2));
        assert_ne!(random_of(1, 2), random_of(2, 2));
    }
}
