//! The query files of the rig, the same in every run.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;

use crate::rig::Rig;

/// One query of 33 bytes: a header of 12, a name of 17, and 4 for type and class.
pub(crate) const ONE: &str = "ns.dyno.example A";

/// The length of [`ONE`] as a message without EDNS.
pub(crate) const ONE_BYTES: u32 = 33;

/// A file of [`ONE`], with enough lines for a generator that uses each line once.
pub(crate) fn one(rig: &Rig) -> anyhow::Result<PathBuf> {
    write(rig, "one.txt", &format!("{ONE}\n").repeat(STEPS))
}

/// A file of 10,000 different names of 10 to 60 characters.
pub(crate) fn mixed(rig: &Rig) -> anyhow::Result<PathBuf> {
    write(rig, "mixed.txt", &mixed_names())
}

fn write(rig: &Rig, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let path = rig.work().join(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Labels start with the line number, so that all names differ, and continue with random letters.
fn mixed_names() -> String {
    let mut chance = SplitMix(SEED);
    let mut text = String::new();
    for line in 0..NAMES {
        let length = SHORTEST + chance.below(LONGEST - SHORTEST + 1);
        let mut label = format!("{line:04}");
        while label.len() + SUFFIX.len() < length {
            label.push(char::from(b'a' + chance.below(26) as u8));
        }
        let _ = writeln!(text, "{label}{SUFFIX} A");
    }
    text
}

/// SplitMix64 by Steele, Lea and Flood: random enough for lengths and letters.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

const NAMES: usize = 10_000;
const SHORTEST: usize = 10;
const LONGEST: usize = 60;
const SUFFIX: &str = ".test";
const SEED: u64 = 2026;

/// More steps than any generator reaches from 60,000 by a quarter a step.
const STEPS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_names_are_ten_thousand_different_ones_of_every_length_and_the_same_each_time() {
        let text = mixed_names();
        let names: HashSet<&str> = text.lines().map(|line| line.strip_suffix(" A").unwrap()).collect();
        assert_eq!(names.len(), 10_000);
        let lengths: HashSet<usize> = names.iter().map(|name| name.len()).collect();
        assert_eq!((lengths.len(), lengths.iter().min(), lengths.iter().max()), (51, Some(&10), Some(&60)));
        assert!(names.iter().all(|name| name.split('.').all(|label| label.len() <= 63)));
        assert_eq!(text, mixed_names());
    }

    #[test]
    fn the_one_question_has_33_bytes() {
        let name = ONE.split(' ').next().unwrap();
        assert_eq!(12 + name.len() as u32 + 2 + 4, ONE_BYTES);
    }
}
