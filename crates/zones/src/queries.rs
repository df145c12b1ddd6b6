//! Query files: each name once, in a random order.

use std::io::{self, Write};

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;

/// The generator of random numbers of a seed.
pub(crate) fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// Writes a line `name type` for each number below `count`, in a random order.
pub(crate) fn write_queries(
    out: &mut dyn Write,
    count: u32,
    seed: u64,
    line: impl Fn(u32) -> String,
) -> io::Result<()> {
    let mut order: Vec<u32> = (0..count).collect();
    order.shuffle(&mut random(seed));
    order.into_iter().try_for_each(|number| writeln!(out, "{}", line(number)))
}
