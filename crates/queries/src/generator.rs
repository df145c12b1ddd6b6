//! The generators of flamethrower, by their names and with their arguments: `randomlabel lblsize=10 lblcount=5`.
//!
//! Like there, all but `static` and `numberqname` make a number of queries before the run, which are repeated. They
//! depend only on the seed of the run.

use dnsdyno_text::shown;
use dnsdyno_wire::{HEADER_LEN, MAX_LABEL_LEN, MAX_NAME_LEN, parse_type};

use super::error::SourceError;
use super::given::read_given;
use super::queries::{Full, Own, QueriesBuilder};
use super::random::Chance;
use super::reading::Reading;
use super::text::{IdnNames, Loaded};

/// A generator with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generator {
    kind: Names,
    /// The base name, and the type after it.
    base: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// The base name.
    Static,
    /// A random number below the base name.
    NumberQname { low: u64, high: u64 },
    /// Random octets, of a random length of at most `size`.
    RandomPkt { count: u64, size: u64 },
    /// Random octets, of a random length of at most `size`, as labels below the base name.
    RandomQname { count: u64, size: u64 },
    /// Up to `lblcount` random labels of up to `lblsize` characters below the base name, with a random type.
    RandomLabel { count: u64, lblsize: u64, lblcount: u64 },
}

impl Generator {
    /// Reads `NAME KEY=VALUE ...`; `base` is `name`, `name TYPE` or `name/TYPE`.
    pub fn parse(text: &str, base: Option<&str>) -> Result<Generator, String> {
        let mut words = text.split_ascii_whitespace();
        let name = words.next().unwrap_or_default();
        let mut arguments = Arguments::read(name, words)?;
        let kind = match name {
            "static" => Names::Static,
            "numberqname" => {
                let low = arguments.take("low", 0, 0..=MOST_NUMBER - 1)?;
                Names::NumberQname { low, high: arguments.take("high", 100_000, low + 1..=MOST_NUMBER)? }
            }
            "randompkt" => Names::RandomPkt {
                count: arguments.take("count", 1_000, COUNT)?,
                size: arguments.take("size", 600, HEADER_LEN as u64..=65_500)?,
            },
            "randomqname" => Names::RandomQname {
                count: arguments.take("count", 1_000, COUNT)?,
                size: arguments.take("size", 255, 1..=255)?,
            },
            "randomlabel" => Names::RandomLabel {
                count: arguments.take("count", 1_000, COUNT)?,
                lblsize: arguments.take("lblsize", 10, 1..=63)?,
                lblcount: arguments.take("lblcount", 5, 1..=127)?,
            },
            "file" => return Err("the generator `file` is -d FILE: write that instead".to_owned()),
            other => {
                let other = shown(other, LONGEST_SHOWN);
                return Err(format!("`{other}` is not a generator: use static, numberqname, {MORE_NAMES}"));
            }
        };
        arguments.end()?;
        Ok(Generator { kind, base: base.unwrap_or(USUAL_BASE).to_owned() })
    }

    /// Makes the queries.
    pub(super) fn make(&self, reading: &Reading) -> Result<Loaded, SourceError> {
        let base = &self.base;
        let number = |low, high| format!("{{rand:{low}..{high}}}.{}", base.trim_start());
        match self.kind {
            Names::Static => return read_given(std::slice::from_ref(base), reading),
            Names::NumberQname { low, high } => return read_given(&[number(low, high)], reading),
            _ => {}
        }
        // The base, to see whether it is a name, and for its type.
        let read =
            read_given(std::slice::from_ref(base), &Reading { form: reading.form, ..Reading::default() })?;
        let question = read.queries.question(0);
        let (base, fixed) = question.split_at(question.len().saturating_sub(QUESTION_FIXED_LEN));
        let qtype = fixed.first_chunk().map_or(1, |qtype| u16::from_be_bytes(*qtype));
        let mut builder = QueriesBuilder::of(reading, 0);
        let mut chance = Chance(reading.seed);
        for _ in 0..self.count() {
            self.push(base, qtype, &mut chance, &mut builder).map_err(|full: Full| {
                SourceError::TooLarge {
                    origin: "the generated queries".to_owned(),
                    line: 0,
                    most_bytes: full.most_bytes,
                }
            })?;
        }
        Loaded::new(builder, "the generated queries".to_owned(), IdnNames::default(), reading)
    }

    fn count(&self) -> u64 {
        match self.kind {
            Names::Static | Names::NumberQname { .. } => 1,
            Names::RandomPkt { count, .. }
            | Names::RandomQname { count, .. }
            | Names::RandomLabel { count, .. } => count,
        }
    }

    fn push(
        &self,
        base: &[u8],
        qtype: u16,
        chance: &mut Chance,
        builder: &mut QueriesBuilder,
    ) -> Result<(), Full> {
        let room = MAX_NAME_LEN - base.len();
        match self.kind {
            Names::RandomPkt { size, .. } => {
                let length = HEADER_LEN as u64 + chance.below(size - HEADER_LEN as u64 + 1);
                let message: Vec<u8> = (0..length).map(|_| chance.next() as u8).collect();
                builder.push_message(&message, Own::default())
            }
            Names::RandomQname { size, .. } => {
                let mut left = 1 + chance.below(size) as usize;
                let mut name = Vec::new();
                while left > 0 && name.len() + 1 < room {
                    let length = left.min(MAX_LABEL_LEN).min(room - name.len() - 1);
                    name.push(length as u8);
                    name.extend((0..length).map(|_| chance.next() as u8));
                    left -= length;
                }
                builder.push(&[&name, base].concat(), qtype)
            }
            Names::RandomLabel { lblsize, lblcount, .. } => {
                let mut name = Vec::new();
                for _ in 0..1 + chance.below(lblcount) {
                    let shortest = lblsize.min(2);
                    let length = (shortest + chance.below(lblsize - shortest + 1)) as usize;
                    if name.len() + 1 + length > room {
                        break;
                    }
                    name.push(length as u8);
                    let letter = |_| LETTERS[chance.below(LETTERS.len() as u64) as usize];
                    name.extend((0..length).map(letter));
                }
                let types = LABEL_TYPES[chance.below(LABEL_TYPES.len() as u64) as usize];
                builder.push(&[&name, base].concat(), parse_type(types).unwrap_or(qtype))
            }
            Names::Static | Names::NumberQname { .. } => Ok(()),
        }
    }
}

/// The arguments of a generator that have not been used yet.
struct Arguments<'a> {
    generator: &'a str,
    given: Vec<(String, &'a str)>,
}

impl<'a> Arguments<'a> {
    fn read(generator: &'a str, words: impl Iterator<Item = &'a str>) -> Result<Arguments<'a>, String> {
        let pair = |word: &'a str| {
            let pair = word.split_once('=').map(|(key, value)| (key.to_ascii_lowercase(), value));
            pair.ok_or_else(|| {
                format!("`{}` is not an argument: write KEY=VALUE", shown(word, LONGEST_SHOWN))
            })
        };
        Ok(Arguments { generator, given: words.map(pair).collect::<Result<_, _>>()? })
    }

    fn take(&mut self, key: &str, usual: u64, range: std::ops::RangeInclusive<u64>) -> Result<u64, String> {
        let Some(at) = self.given.iter().position(|(given, _)| given == key) else {
            return Ok(usual.clamp(*range.start(), *range.end()));
        };
        let (_, value) = self.given.remove(at);
        value.parse().ok().filter(|value| range.contains(value)).ok_or_else(|| {
            format!("{key} of {} must be from {} to {}", self.generator, range.start(), range.end())
        })
    }

    fn end(&self) -> Result<(), String> {
        match self.given.first() {
            None => Ok(()),
            Some((key, _)) => {
                let key = shown(key, LONGEST_SHOWN);
                Err(format!("`{key}` is not an argument of {}, or is given twice: remove it", self.generator))
            }
        }
    }
}

const QUESTION_FIXED_LEN: usize = dnsdyno_wire::QUESTION_FIXED_LEN;

const MORE_NAMES: &str = "randompkt, randomqname or randomlabel";

/// The base name of flamethrower.
const USUAL_BASE: &str = "test.com";

/// The characters and the types that flamethrower draws from.
const LETTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
const LABEL_TYPES: [&str; 9] = ["A", "AAAA", "NS", "CNAME", "MX", "TXT", "PTR", "SOA", "HTTPS"];

const COUNT: std::ops::RangeInclusive<u64> = 1..=10_000_000;
const MOST_NUMBER: u64 = 999_999_999_999;
const LONGEST_SHOWN: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use dnsdyno_wire::{name_to_text, peek};
    use std::collections::BTreeSet;

    fn made(text: &str, base: Option<&str>) -> Loaded {
        let reading = Reading { seed: 3, ..Reading::default() };
        Generator::parse(text, base).unwrap().make(&reading).unwrap()
    }

    fn names(loaded: &Loaded) -> Vec<String> {
        let name = |i| name_to_text(peek(loaded.queries.message(i)).unwrap().qname());
        (0..loaded.queries.len()).map(name).collect()
    }

    #[test]
    fn each_generator_has_the_defaults_and_the_limits_of_flamethrower() {
        assert_eq!(names(&made("static", None)), ["test.com"]);
        let labels = made("randomlabel lblsize=10 LBLCOUNT=4 count=500", Some("example.com"));
        assert_eq!((labels.queries.len(), labels.queries.types().len()), (500, 9));
        for name in names(&labels) {
            let labels: Vec<_> = name.strip_suffix(".example.com").unwrap().split('.').collect();
            assert!(
                labels.len() <= 4 && labels.iter().all(|label| (2..=10).contains(&label.len())),
                "{name}"
            );
        }
        let qnames = made("randomqname", Some("example.com TXT"));
        assert_eq!((qnames.queries.len(), qnames.queries.types()), (1_000, &[16][..]));
        assert!(names(&qnames).iter().all(|name| name.ends_with(".example.com")));
        let lengths: BTreeSet<_> = (0..1_000).map(|i| qnames.queries.message(i).len()).collect();
        assert!(lengths.len() > 150 && *lengths.last().unwrap() <= 12 + 255 + 4);
        let packets = made("randompkt count=2000 size=40", None);
        let lengths: BTreeSet<_> = (0..2_000).map(|i| packets.queries.message(i).len()).collect();
        assert_eq!((lengths.first(), lengths.last()), (Some(&12), Some(&40)));
    }

    #[test]
    fn a_range_of_numbers_without_an_end_is_refused() {
        let refused = Generator::parse("numberqname low=999999999999", None).unwrap_err();
        assert!(refused.contains("low of numberqname must be from 0 to"), "{refused}");
    }

    #[test]
    fn numbers_are_random_within_their_limits() {
        let loaded = made("numberqname low=5 high=14", Some("example.com AAAA"));
        let queries = &loaded.queries;
        let mut maker =
            queries.maker().unwrap().begin(crate::WorkerShare { worker: 0, workers: 1, start_unix_ns: 0 });
        let mut found = BTreeSet::new();
        for number in 0..1_000 {
            let mut message = queries.message(0).to_vec();
            let query = crate::QueryToMake { number, question: 0, channel: 0, slot: 0, due_ns: 0, at_ns: 0 };
            maker.make(&query, &mut message);
            found.insert(name_to_text(peek(&message).unwrap().qname()));
        }
        let expected: BTreeSet<_> = (5..15).map(|n| format!("{n}.example.com")).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_wrong_name_or_argument_is_refused() {
        let error = |text: &str| Generator::parse(text, None).unwrap_err();
        assert!(error("random").contains("`random` is not a generator"));
        assert!(error("file").contains("-d FILE"));
        assert!(error("randomlabel count=0").contains("count of randomlabel must be from 1"));
        assert!(error("randomlabel lblsize=64").contains("from 1 to 63"));
        assert!(error("numberqname low=9 high=9").contains("high of numberqname must be from 10"));
        assert!(error("static x=1").contains("`x` is not an argument of static"));
        assert!(error("randompkt 1000").contains("write KEY=VALUE"));
        assert!(error("randompkt size=5").contains("from 12"));
    }
}
