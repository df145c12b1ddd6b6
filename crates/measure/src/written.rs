//! The text form of a histogram: few characters, and read back exactly.
//!
//! Every histogram has the same buckets, so a bucket is identified by its number. `counts` starts at bucket `first`;
//! a negative number -n means n empty buckets:
//!
//! ```text
//!   "first": 1000, "counts": [3, 1, -4, 2]     3 in bucket 1000, 1 in 1001, 2 in 1006
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::histogram::{bucket_number, from_ns};
use crate::{Bucket, ExactFigures, Histogram};

/// Durations by bucket. Bucket b < 256 is b ns; any other, with s = b div 128 - 1, is (b - 128 s) 2^s ns and
/// the 2^s - 1 nanoseconds after it: at most 0.8 % of its value. All absent where nothing was counted.
#[derive(Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[cfg_attr(feature = "schema", schemars(rename = "Histogram"))]
struct Written {
    /// Number of durations.
    count: u64,
    /// Their sum, exactly.
    sum_ns: u128,
    /// The sum of their squares, exactly, in ns².
    #[serde(deserialize_with = "whole_or_rounded")]
    sum_squares_ns2: u128,
    /// The shortest, exactly.
    min_ns: u64,
    /// The longest, exactly.
    max_ns: u64,
    /// Number of the first bucket that is not empty.
    first: u64,
    /// Durations in that bucket and in those after it; a negative number -n: n empty buckets.
    #[serde(deserialize_with = "crate::bounded::list::<_, _, MOST_COUNTS>")]
    counts: Vec<i64>,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(exact) = self.exact() else { return Written::default().serialize(serializer) };
        let mut counts = Vec::new();
        let (mut first, mut next) = (None, 0);
        for bucket in self.buckets() {
            let number = bucket_number(bucket.from_ns);
            if first.is_some() && number > next {
                counts.push(-((number - next) as i64));
            }
            first.get_or_insert(number);
            counts.push(bucket.count as i64);
            next = number + 1;
        }
        let ExactFigures { sum_ns, sum_squares_ns2, min_ns, max_ns } = exact;
        let first = first.unwrap_or_default();
        Written { count: self.count(), sum_ns, sum_squares_ns2, min_ns, max_ns, first, counts }
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(deserializer)?;
        let mut next = written.first;
        let buckets = written.counts.iter().filter_map(|count| {
            let from_ns = from_ns(next);
            next = next.saturating_add(if *count < 0 { count.unsigned_abs() } else { 1 });
            let count = u64::try_from(*count).ok().filter(|count| *count > 0)?;
            Some(Bucket { from_ns, to_ns: from_ns, count })
        });
        let Written { count, sum_ns, sum_squares_ns2, min_ns, max_ns, .. } = written;
        let histogram =
            Histogram::from_parts(buckets, ExactFigures { sum_ns, sum_squares_ns2, min_ns, max_ns });
        if histogram.count() != count {
            let why = format!("the buckets of a histogram do not add up to its count, {count}");
            return Err(de::Error::custom(why));
        }
        Ok(histogram)
    }
}

/// A histogram as its difference from another one on the same line with almost the same content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Changes {
    /// Number of durations.
    count: u64,
    /// Their sum, exactly.
    sum_ns: u128,
    /// The sum of their squares, exactly, in ns².
    sum_squares_ns2: u128,
    /// The shortest, exactly.
    min_ns: u64,
    /// The longest, exactly.
    max_ns: u64,
    /// The buckets with another count, in order, as pairs: distance from the previous one, difference of the count.
    #[serde(deserialize_with = "crate::bounded::list::<_, _, MOST_COUNTS>")]
    steps: Vec<i64>,
}

impl Changes {
    /// The difference that turns `from` into `to`; `None` where `to` itself is shorter.
    pub fn between(from: &Histogram, to: &Histogram) -> Option<Changes> {
        let ExactFigures { sum_ns, sum_squares_ns2, min_ns, max_ns } = to.exact()?;
        let mut counts: BTreeMap<u64, i64> = BTreeMap::new();
        from.buckets().for_each(|bucket| {
            *counts.entry(bucket_number(bucket.from_ns)).or_default() -= bucket.count as i64
        });
        to.buckets().for_each(|bucket| {
            *counts.entry(bucket_number(bucket.from_ns)).or_default() += bucket.count as i64
        });
        counts.retain(|_, more| *more != 0);
        let mut last = 0;
        let mut steps = Vec::with_capacity(2 * counts.len());
        for (number, more) in counts {
            steps.extend([number as i64 - last, more]);
            last = number as i64;
        }
        let is_shorter = steps.len() < to.buckets().count();
        is_shorter.then_some(Changes { count: to.count(), sum_ns, sum_squares_ns2, min_ns, max_ns, steps })
    }

    /// Applies the difference to `from`; `None` where the counts do not add up.
    pub fn onto(&self, from: &Histogram) -> Option<Histogram> {
        let mut counts: BTreeMap<u64, i64> =
            from.buckets().map(|bucket| (bucket_number(bucket.from_ns), bucket.count as i64)).collect();
        let mut number = 0_u64;
        for step in self.steps.chunks_exact(2) {
            number = number.checked_add_signed(step[0])?;
            let count = counts.entry(number).or_default();
            *count = count.checked_add(step[1])?;
        }
        let bucket = |(number, count): (u64, i64)| {
            let (from_ns, count) = (from_ns(number), u64::try_from(count).unwrap_or_default());
            Bucket { from_ns, to_ns: from_ns, count }
        };
        let &Changes { count, sum_ns, sum_squares_ns2, min_ns, max_ns, .. } = self;
        let exact = ExactFigures { sum_ns, sum_squares_ns2, min_ns, max_ns };
        let buckets = counts.into_iter().map(bucket).filter(|bucket| bucket.count > 0);
        Some(Histogram::from_parts(buckets, exact)).filter(|histogram| histogram.count() == count)
    }
}

/// A whole number, or a float where it was computed from an older format, which does not have it.
fn whole_or_rounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    struct Number;
    impl de::Visitor<'_> for Number {
        type Value = u128;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a number")
        }

        fn visit_u64<E>(self, number: u64) -> Result<u128, E> {
            Ok(number.into())
        }

        fn visit_u128<E>(self, number: u128) -> Result<u128, E> {
            Ok(number)
        }

        fn visit_f64<E>(self, number: f64) -> Result<u128, E> {
            Ok(number as u128)
        }
    }
    deserializer.deserialize_u128(Number)
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Histogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Written::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Written::json_schema(generator)
    }
}

/// Twice the buckets of a histogram: each with a count or a gap, or with two numbers.
const MOST_COUNTS: usize = 2 * 128 * 36;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_written_in_few_characters_and_read_back() {
        let mut histogram = Histogram::new();
        [1_000_000, 1_000_000, 1_008_000, 1_050_000].iter().for_each(|ns| histogram.record(*ns));
        let text = serde_json::to_string(&histogram).unwrap();
        assert!(text.ends_with(r#""first":1780,"counts":[2,-1,1,-9,1]}"#), "{text}");
        assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
        assert_eq!(serde_json::from_str::<Histogram>("{}").unwrap(), Histogram::new());
        let damaged = text.replace("[2,-1,1", "[2,-1,2");
        assert!(serde_json::from_str::<Histogram>(&damaged).unwrap_err().to_string().contains("add up"));
    }

    #[test]
    fn changes_turn_one_histogram_into_another_and_are_not_used_where_longer() {
        let (mut from, mut to) = (Histogram::new(), Histogram::new());
        (0..500)
            .for_each(|n| [&mut from, &mut to].into_iter().for_each(|one| one.record(100_000 + n * 1_500)));
        (0..10).for_each(|n| from.record(5_000_000 + n * 100_000));
        (0..20).for_each(|n| to.record(90_000 + n * 2_000));
        let changes = Changes::between(&from, &to).unwrap();
        let text = serde_json::to_string(&changes).unwrap();
        assert_eq!(serde_json::from_str::<Changes>(&text).unwrap().onto(&from).unwrap(), to);
        assert!(text.len() * 2 < serde_json::to_string(&to).unwrap().len());
        assert_eq!(changes.onto(&Histogram::new()), None);
        assert_eq!(Changes::between(&from, &Histogram::new()), None);
        assert_eq!(Changes::between(&Histogram::new(), &to), None);
    }
}
