//! Draws that are a function of what they are about: seed, name, purpose. The same question gives the same number in
//! whatever order questions are asked, so nothing that was drawn is kept.
//!
//! ```text
//!  seed ──► of(name) ──► at(purpose) ──► value, unit, below(n), is(share)
//! ```
//!
//! Not for secrets: the mixing spreads bits well and hides nothing.

/// A number that stands for a subject, from which draws about it are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draw(u64);

/// What a draw decides. Each purpose has draws of its own, so that another share of one thing leaves the others as
/// they were.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(crate) enum Purpose {
    Registry = 1,
    HosterHome,
    HosterSize,
    OwnServers,
    Hoster,
    FirstServer,
    ServerCount,
    ServerStep,
    Region,
    Distance,
    Distance2,
    ServerFault,
    Lame,
    Loss,
    ServerAaaa,
    EdnsSize,
    LargeKeys,
    Signed,
    Algorithm,
    Denial,
    Ttl,
    NegativeTtl,
    Exists,
    Cname,
    CnameAway,
    ChainLength,
    ChainZone,
    Aaaa,
    Address,
    AddressCount,
    Large,
    LargeSize,
    Many,
    Naptr,
    Wildcard,
    Child,
    Mail,
    Asked,
    AskedKind,
    AskedLabel,
    Repeated,
    Key,
}

impl Draw {
    /// The draw of a whole world.
    pub(crate) fn new(seed: u64) -> Self {
        Draw(mixed(seed ^ 0x9e37_79b9_7f4a_7c15))
    }

    /// The draw of a subject named by octets, without regard to ASCII case.
    pub(crate) fn of(self, subject: &[u8]) -> Self {
        // FNV-1a: few steps an octet; `mixed` then spreads what it leaves together.
        let hash = subject.iter().fold(self.0 ^ 0xcbf2_9ce4_8422_2325, |hash, octet| {
            (hash ^ u64::from(octet.to_ascii_lowercase())).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Draw(mixed(hash))
    }

    /// The draw of the `number`-th of many subjects.
    pub(crate) fn nth(self, number: u64) -> Self {
        Draw(mixed(self.0 ^ mixed(number.wrapping_add(0x5851_f42d_4c95_7f2d))))
    }

    /// The draw of one thing about the subject.
    pub(crate) fn at(self, purpose: Purpose) -> Self {
        Draw(mixed(self.0.wrapping_add((purpose as u64).wrapping_mul(0xd134_2543_de82_ef95))))
    }

    /// All 64 bits.
    pub(crate) fn value(self) -> u64 {
        self.0
    }

    /// A number from 0 to below 1.
    pub(crate) fn unit(self) -> f64 {
        // The upper 53 bits: as many as an f64 represents exactly.
        (self.0 >> 11) as f64 * (-53f64).exp2()
    }

    /// A number from 0 to below `count`; 0 where `count` is 0.
    pub(crate) fn below(self, count: u64) -> u64 {
        ((u128::from(self.0) * u128::from(count)) >> 64) as u64
    }

    /// Whether this is one of a share.
    pub(crate) fn is(self, share: f64) -> bool {
        self.unit() < share
    }

    /// One of several by their weights, which have any sum above 0; the last one where rounding leaves none.
    pub(crate) fn pick<T: Copy>(self, choices: &[(f64, T)]) -> Option<T> {
        let sum: f64 = choices.iter().map(|(weight, _)| weight).sum();
        let mut left = self.unit() * sum;
        let found = choices.iter().find(|(weight, _)| {
            left -= weight;
            left < 0.0
        });
        found.or(choices.last()).map(|(_, choice)| *choice)
    }

    /// A number of the standard normal distribution, by Box and Muller from two draws.
    pub(crate) fn normal(self, other: Draw) -> f64 {
        // 1 − unit is never 0.
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * other.unit()).cos()
    }
}

/// A bijection of 64 bits in which each input bit changes about half of the output (the finalizer of splitmix64).
fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: u64 = 20_000;

    fn all() -> impl Iterator<Item = Draw> {
        (0..COUNT).map(|number| Draw::new(7).nth(number).at(Purpose::Cname))
    }

    #[test]
    fn a_share_holds_within_four_deviations_and_numbers_are_even() {
        for share in [0.01, 0.3, 0.97] {
            let found = all().filter(|draw| draw.is(share)).count() as f64;
            let deviation = (COUNT as f64 * share * (1.0 - share)).sqrt();
            assert!((found - COUNT as f64 * share).abs() < 4.0 * deviation, "{share}: {found}");
        }
        let mut tenths = [0u64; 10];
        all().for_each(|draw| tenths[draw.below(10) as usize] += 1);
        assert!(tenths.iter().all(|count| count.abs_diff(COUNT / 10) < 200), "{tenths:?}");
    }

    #[test]
    fn purposes_and_subjects_are_independent_and_case_is_not_looked_at() {
        let world = Draw::new(1);
        let both = |a: Purpose, b: Purpose| {
            (0..COUNT).filter(|n| world.nth(*n).at(a).is(0.5) && world.nth(*n).at(b).is(0.5)).count() as f64
        };
        let found = both(Purpose::Cname, Purpose::CnameAway);
        assert!((found - COUNT as f64 / 4.0).abs() < 4.0 * 61.3, "{found}");
        assert_eq!(world.of(b"\x03WWW\0"), world.of(b"\x03www\0"));
        assert_ne!(world.of(b"a"), world.of(b"b"));
        assert_ne!(Draw::new(1).of(b"a"), Draw::new(2).of(b"a"));
    }

    #[test]
    fn a_normal_draw_has_mean_0_and_deviation_1() {
        let values: Vec<f64> = (0..COUNT)
            .map(|n| Draw::new(3).nth(n))
            .map(|draw| draw.at(Purpose::Distance).normal(draw.at(Purpose::Distance2)))
            .collect();
        let mean = values.iter().sum::<f64>() / COUNT as f64;
        let square = values.iter().map(|value| value * value).sum::<f64>() / COUNT as f64;
        assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.05, "{mean} {square}");
    }

    #[test]
    fn a_pick_follows_its_weights() {
        let picked = all().filter(|draw| draw.pick(&[(1.0, 'a'), (3.0, 'b')]) == Some('b')).count() as f64;
        assert!((picked / COUNT as f64 - 0.75).abs() < 0.02, "{picked}");
        assert_eq!(Draw::new(1).pick::<u8>(&[]), None);
    }
}
