//! Random numbers that repeat with the seed.

/// SplitMix64: a small generator with 64 bits of state, for which every seed is good.
pub(crate) struct Random(u64);

impl Random {
    /// The generator of worker number `worker`.
    pub(crate) fn of_worker(seed: u64, worker: u64) -> Self {
        Random(seed ^ worker.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in (0, 1].
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in 0..`end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// True with this probability.
    pub(crate) fn happens(&mut self, share: f64) -> bool {
        share > 0.0 && self.unit() <= share
    }

    /// Exponentially distributed.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }
}
