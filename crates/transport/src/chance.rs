//! Random numbers that are the same for the same seed.

/// A small generator (SplitMix64): 64 bits of state, every seed is good.
pub(crate) struct Chance(u64);

impl Chance {
    /// The generator of worker number `worker`.
    pub(crate) fn of_worker(seed: u64, worker: u64) -> Self {
        Chance(seed ^ worker.wrapping_mul(0x9E37_79B9_7F4A_7C15))
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

    pub(crate) fn hits(&mut self, share: f64) -> bool {
        share > 0.0 && self.unit() <= share
    }

    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }
}
