//! Which top-level domains and zones there are: by rule, where a label is the number of its zone, by a list, or by the
//! answers of a capture.
//!
//! ```text
//!  by rule      12,345 of com  ──►  bafiza.com       a syllable is a digit of base 100, so labels sort as numbers do
//!  by list      www.shop.co.uk ──►  uk, co.uk, shop.co.uk
//!  by capture   the same, and what the answers show to be a zone (SOA, NS, signer)
//! ```

use std::collections::HashMap;

use crate::WorldError;
use crate::captured::Captured;
use crate::draw::Draw;
use crate::list::{NameList, key_of};
use crate::name::{Name, below, labels};
use crate::options::Rules;

/// The names that there are.
#[derive(Debug)]
pub(crate) struct Population {
    tlds: Vec<Tld>,
    by_label: HashMap<Box<[u8]>, u32>,
    source: Source,
}

/// Where names come from.
#[derive(Debug)]
enum Source {
    Rule,
    /// Each name is there, and the rest of its zone is by rule.
    List(NameList),
    /// What the answers show is there, and nothing else.
    Capture(Box<Captured>),
}

/// A top-level domain.
#[derive(Debug)]
struct Tld {
    label: Box<[u8]>,
    /// By rule: how many zones are below it, and how many are below those before it.
    zones: u64,
    before: u64,
}

impl Population {
    /// The names of the rules.
    pub(crate) fn new(rules: &Rules) -> Result<Population, WorldError> {
        let options = &rules.options;
        if let Some(path) = &options.list {
            let population = Population::of_list(NameList::read(path)?);
            return population.with_a_zone(|| {
                format!(
                    "{}: no name is below a top-level domain: add names such as www.example.com",
                    path.display()
                )
            });
        }
        if !options.capture.is_empty() {
            let captured = Captured::read(&options.capture, &options.captured_server)?;
            return Population::of_capture(captured).with_a_zone(|| {
                "--capture: no answer shows a name below a top-level domain: take a capture that has the responses of \
                 a resolver to its clients"
                    .to_owned()
            });
        }
        Ok(Population::with(tlds_by_rule(options.tlds, options.zones), Source::Rule))
    }

    pub(crate) fn of_list(list: NameList) -> Population {
        Population::with(tlds_of(&list, |_| false), Source::List(list))
    }

    pub(crate) fn of_capture(captured: Captured) -> Population {
        // A name that is an alias has no zone: it is in the one above, with all below it.
        let tlds = tlds_of(&captured.names, |key| captured.is_alias(key));
        Population::with(tlds, Source::Capture(Box::new(captured)))
    }

    fn with(tlds: Vec<Tld>, source: Source) -> Population {
        let by_label = tlds.iter().enumerate().map(|(at, tld)| (tld.label.clone(), at as u32)).collect();
        Population { tlds, by_label, source }
    }

    /// Refuses names of which none is in a zone of its own.
    fn with_a_zone(self, why: impl FnOnce() -> String) -> Result<Population, WorldError> {
        let has_zone = !self.tlds.is_empty() && self.leaf_near(0).is_some();
        if has_zone { Ok(self) } else { Err(WorldError::Option(why())) }
    }

    /// The names, where they are not by rule.
    pub(crate) fn names(&self) -> Option<&NameList> {
        match &self.source {
            Source::Rule => None,
            Source::List(list) => Some(list),
            Source::Capture(captured) => Some(&captured.names),
        }
    }

    /// The names of a list, whose zones are by rule otherwise.
    pub(crate) fn list(&self) -> Option<&NameList> {
        self.names().filter(|_| self.captured().is_none())
    }

    /// What a capture shows, where the world is made from one.
    pub(crate) fn captured(&self) -> Option<&Captured> {
        match &self.source {
            Source::Capture(captured) => Some(captured),
            _ => None,
        }
    }

    pub(crate) fn tld_count(&self) -> u32 {
        self.tlds.len() as u32
    }

    /// The name of a top-level domain.
    pub(crate) fn tld(&self, number: u32) -> Name {
        below(&self.tlds[number as usize].label, &Name::root_bytes())
    }

    pub(crate) fn tld_number(&self, label: &[u8]) -> Option<u32> {
        self.by_label.get(label).copied()
    }

    /// Whether names below `label.tld` are registered by others, as below co.uk.
    pub(crate) fn is_suffix(&self, tld: &[u8], label: &[u8]) -> bool {
        let is_country = tld.len() == 2 && SECOND_LEVEL.contains(&label);
        is_country && self.names().is_some_and(|names| names.has(&key_of([tld, label])))
    }

    /// Whether a zone of this label is delegated by a registry, whose labels these are, from the right.
    pub(crate) fn has_zone(&self, registry: &[&[u8]], label: &[u8]) -> bool {
        let key = || key_of(registry.iter().copied().chain([label]));
        match (&self.source, registry) {
            (Source::List(list), _) => list.has(&key()),
            (Source::Capture(captured), _) => {
                let key = key();
                captured.names.has(&key) && !captured.is_alias(&key)
            }
            (Source::Rule, [tld]) => {
                self.tld_number(tld).is_some_and(|tld| self.number_of(tld, label).is_some())
            }
            (Source::Rule, _) => false,
        }
    }

    /// How many labels the next zone has on the way from one of `depth` labels to a name of these labels, where a
    /// capture shows one that registries do not delegate.
    pub(crate) fn shown_cut(&self, parts: &[&[u8]], depth: usize) -> Option<usize> {
        let captured = self.captured()?;
        (depth + 1..=parts.len()).find(|depth| captured.is_apex(&key_of(parts[..*depth].iter().copied())))
    }

    /// By rule: how many zones a top-level domain has below it.
    pub(crate) fn zones_of(&self, tld: u32) -> u64 {
        self.tlds[tld as usize].zones
    }

    /// By rule: the label of a zone.
    pub(crate) fn label_of(&self, tld: u32, number: u64) -> String {
        syllables(number, width(self.zones_of(tld)))
    }

    /// A zone, each with the same chance (of a list: each of its names).
    pub(crate) fn drawn_zone(&self, draw: Draw) -> Name {
        match self.names() {
            Some(list) => {
                let found = self.leaf_near(draw.below(list.len() as u64) as usize);
                found.unwrap_or_else(|| self.tld(0))
            }
            None => {
                let count = self.tlds.last().map_or(0, |tld| tld.before + tld.zones);
                self.nth_zone(draw.below(count))
            }
        }
    }

    /// By rule: the zone with this number.
    pub(crate) fn nth_zone(&self, number: u64) -> Name {
        let tld = self.tlds.partition_point(|tld| tld.before <= number).saturating_sub(1) as u32;
        below(self.label_of(tld, number - self.tlds[tld as usize].before), &self.tld(tld))
    }

    /// The number of the top-level domain that a name is in.
    pub(crate) fn tld_of(&self, name: &Name) -> Option<u32> {
        labels(name).first().and_then(|label| self.tld_number(label))
    }

    /// The zone of the first name of the list from this one on, around its end, that is in one.
    fn leaf_near(&self, number: usize) -> Option<Name> {
        let list = self.names()?;
        (0..list.len()).map(|offset| (number + offset) % list.len()).find_map(|at| {
            let labels: Vec<_> = list.labels(at).take(3).collect();
            let depth = if labels.len() > 1 && self.is_suffix(labels[0], labels[1]) { 3 } else { 2 };
            let apex = labels.get(..depth)?;
            Some(apex.iter().fold(Name::root_bytes(), |parent, label| below(label, &parent)))
        })
    }

    /// By rule: the number of the zone with this label.
    fn number_of(&self, tld: u32, label: &[u8]) -> Option<u64> {
        let zones = self.zones_of(tld);
        let (pairs, rest) = label.as_chunks::<2>();
        if !rest.is_empty() || pairs.len() != width(zones) {
            return None;
        }
        let number = pairs.iter().try_fold(0u64, |number, [consonant, vowel]| {
            let consonant = CONSONANTS.iter().position(|letter| letter == consonant)?;
            let vowel = VOWELS.iter().position(|letter| letter == vowel)?;
            Some(number * BASE + (consonant * VOWELS.len() + vowel) as u64)
        })?;
        (number < zones).then_some(number)
    }
}

/// The top-level domains of names, but for those at which none can be.
fn tlds_of(names: &NameList, is_none: impl Fn(&[u8]) -> bool) -> Vec<Tld> {
    let (mut tlds, mut at) = (Vec::new(), 0);
    while at < names.len() {
        let Some(label) = names.labels(at).next() else {
            // The root, which a capture may have.
            at += 1;
            continue;
        };
        let (label, key) = (Box::<[u8]>::from(label), key_of([label]));
        at = names.first_after(&key);
        if !is_none(&key) {
            tlds.push(Tld { label, zones: 0, before: 0 });
        }
    }
    tlds
}

/// Top-level domains, the n-th with an n-th of the zones of the first, at least one.
fn tlds_by_rule(tlds: u32, zones: u64) -> Vec<Tld> {
    let harmonic: f64 = (1..=tlds).map(|rank| f64::from(rank).recip()).sum();
    let share = |rank: u32| ((zones as f64 / harmonic / f64::from(rank)) as u64).max(1);
    // The first has what rounding leaves.
    let others: u64 = (2..=tlds).map(share).sum();
    let mut before = 0;
    let tld = |rank: u32| {
        let zones = if rank == 1 { zones.saturating_sub(others).max(1) } else { share(rank) };
        let tld = Tld { label: tld_label(rank - 1).into_bytes().into(), zones, before };
        before += zones;
        tld
    };
    (1..=tlds).map(tld).collect()
}

fn tld_label(number: u32) -> String {
    let rest = (number as usize).checked_sub(TLDS.len());
    rest.map_or_else(|| TLDS[number as usize].to_owned(), |rest| syllables(rest as u64, 2))
}

/// How many syllables the labels of so many zones have.
fn width(zones: u64) -> usize {
    let mut width = LEAST_SYLLABLES;
    while BASE.pow(width as u32) < zones {
        width += 1;
    }
    width
}

fn syllables(number: u64, width: usize) -> String {
    let syllable = |place: usize| {
        let digit = (number / BASE.pow(place as u32) % BASE) as usize;
        [CONSONANTS[digit / VOWELS.len()], VOWELS[digit % VOWELS.len()]].map(char::from)
    };
    (0..width).rev().flat_map(syllable).collect()
}

/// Both sorted: then labels of one width sort as their numbers do.
const CONSONANTS: [u8; 20] = *b"bcdfghjklmnpqrstvwxz";
const VOWELS: [u8; 5] = *b"aeiou";
const BASE: u64 = (CONSONANTS.len() * VOWELS.len()) as u64;

/// Six letters, which no label of a name server or host has.
const LEAST_SYLLABLES: usize = 3;

/// Top-level domains by the zones below them, roughly; further ones have labels of two syllables.
const TLDS: [&str; 40] = [
    "com", "net", "org", "de", "uk", "cn", "info", "nl", "br", "eu", "xyz", "fr", "au", "it", "ca", "pl",
    "ch", "us", "in", "es", "be", "jp", "se", "co", "at", "dk", "cz", "me", "io", "biz", "online", "top",
    "shop", "site", "store", "no", "fi", "kr", "za", "nz",
];

/// Labels below which the registries of countries register, or once did.
const SECOND_LEVEL: [&[u8]; 13] =
    [b"co", b"com", b"org", b"net", b"ac", b"edu", b"gov", b"or", b"ne", b"go", b"gob", b"gouv", b"nom"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::tests::list;
    use crate::name::text;
    use crate::options::tests::options;

    fn by_rule(flags: &str) -> Population {
        Population::new(&Rules::new(&options(flags)).unwrap()).unwrap()
    }

    #[test]
    fn each_number_has_one_label_and_labels_sort_as_numbers() {
        let population = by_rule("--zones 1M --tlds 60");
        assert_eq!((0..60).map(|tld| population.zones_of(tld)).sum::<u64>(), 1_000_000);
        let mut last = String::new();
        for number in 0..3_000 {
            let label = population.label_of(7, number);
            assert_eq!(population.number_of(7, label.as_bytes()), Some(number));
            assert!(label > last, "{label} {last}");
            last = label;
        }
        let zones = population.zones_of(7);
        assert!(population.has_zone(&[b"nl"], population.label_of(7, zones - 1).as_bytes()));
        for label in [&*population.label_of(7, zones), "baba", "bababababa", "www", "ab", "babab"] {
            assert!(!population.has_zone(&[b"nl"], label.as_bytes()), "{label}");
        }
        assert!(!population.has_zone(&[b"nowhere"], b"bababa"));
    }

    #[test]
    fn the_zones_of_all_top_level_domains_are_numbered_through() {
        let population = by_rule("--zones 5000 --tlds 45");
        let names: std::collections::HashSet<_> =
            (0..5_000).map(|number| population.nth_zone(number)).collect();
        assert_eq!(names.len(), 5_000);
        for name in &names {
            let parts = labels(name);
            assert!(population.has_zone(&parts[..1], parts[1]), "{}", text(name));
        }
        assert_eq!(text(&population.tld(44)), "babu.");
        assert_eq!(by_rule("--zones 1 --tlds 1").zones_of(0), 1);
    }

    #[test]
    fn a_list_has_its_zones_below_registries_and_no_others() {
        let population =
            Population::of_list(list(&["www.shop.co.uk", "a.b.example.com", "other.uk", "com", "co.de"]));
        assert_eq!(population.tld_count(), 3);
        assert!(population.is_suffix(b"uk", b"co") && !population.is_suffix(b"com", b"co"));
        assert!(population.has_zone(&[b"uk", b"co"], b"shop") && population.has_zone(&[b"uk"], b"other"));
        assert!(!population.has_zone(&[b"uk"], b"shop") && !population.has_zone(&[b"com"], b"b"));
        let zones: std::collections::BTreeSet<_> =
            (0..200).map(|number| text(&population.drawn_zone(Draw::new(1).nth(number)))).collect();
        // `co.de` is where others would register; the next name in the order stands for it.
        assert_eq!(zones.into_iter().collect::<Vec<_>>(), ["example.com.", "other.uk.", "shop.co.uk."]);
    }
}
