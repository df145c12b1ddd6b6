//! What a record can contain at most. A file beyond it is refused with the figure; no file, whoever wrote it, takes
//! more than about 100 MB of memory to read, and 100 kB more for each agent.
//!
//! ```text
//!   file   ──► 1,000 bytes for one compressed byte ──► lines of 8 MiB ──► lists and texts ──► 64 rows, 100 events
//! ```
//!
//! The limits of what is kept (rows, phases, events) are in `row.rs`, those of a single counter in `measure`.

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};

/// The sum of a run with every query type has 3 MB; four full histograms have less than one.
pub(crate) const LONGEST_LINE_BYTES: u64 = 8 << 20;

/// What each agent may add to a line: its two histograms have 6 to 15 kB at 100,000 queries a second.
pub(crate) const LINE_BYTES_OF_AGENT: u64 = 32 << 10;

/// A line of format 1 is read into a tree, which takes up to 24 times its size. Its histograms had one of 200 kB each.
pub(crate) const LONGEST_OLD_LINE_BYTES: usize = 2 << 20;

/// A sentence with its figures, of which a summary keeps [`MAX_EVENTS`](crate::MAX_EVENTS).
pub(crate) const LONGEST_EVENT_BYTES: usize = 64 << 10;

/// Equal intervals are compressed to a hundredth.
pub(crate) const LARGEST_EXPANSION: u64 = 1_000;

/// Bytes that are read whatever the expansion is.
pub(crate) const EXPANSION_FREE_BYTES: u64 = 64 << 20;

/// 8 MiB: of what `zstd -19` makes, and eight times what the writer uses. The decoder keeps as much in memory.
pub(crate) const LARGEST_WINDOW_LOG: u32 = 23;

/// Two years: seven times the longest run that a plan can ask for by its duration.
pub(crate) const LATEST_NS: u64 = 1 << 56;

/// Far more than a run can count, and little enough that sums of sums fit into 64 bits.
pub(crate) const LARGEST_COUNT: u64 = 1 << 56;

/// Half a year of seconds; intervals after it are read line by line.
pub(crate) const MOST_GROUPS: usize = 1 << 18;

/// As many as there can be clients.
pub(crate) const MOST_WORKERS: usize = 1 << 16;

/// One for each transport of a mix.
pub(crate) const MOST_CHECKS: usize = 64;

/// Each has histograms in each interval.
pub(crate) const MOST_AGENTS: usize = 1 << 14;

/// Eight for each octave of a number.
pub(crate) const MOST_RANGES: usize = 512;

/// More than the command line of a kernel holds, with two bytes for a word.
pub(crate) const MOST_WORDS: usize = 1 << 18;

/// Names of a certificate.
pub(crate) const MOST_NAMES: usize = 10_000;

/// Figures of an event.
const MOST_FIGURES: usize = 64;

/// The longest part of a file that is repeated in an error, in characters.
pub(crate) const LONGEST_QUOTE: usize = 200;

/// The figures of an event: numbers, words, and nothing nested.
pub(crate) fn figures<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Figure {
        Truth(bool),
        Whole(i64),
        Large(u64),
        Fraction(f64),
        Word(String),
        Nothing(()),
    }
    impl From<Figure> for Value {
        fn from(figure: Figure) -> Value {
            match figure {
                Figure::Truth(truth) => truth.into(),
                Figure::Whole(number) => number.into(),
                Figure::Large(number) => number.into(),
                Figure::Fraction(number) => number.into(),
                Figure::Word(word) => word.into(),
                Figure::Nothing(()) => Value::Null,
            }
        }
    }
    let figures = std::collections::BTreeMap::<String, Figure>::deserialize(deserializer)?;
    if figures.len() > MOST_FIGURES {
        return Err(D::Error::custom(format!("an event has more than {MOST_FIGURES} figures")));
    }
    Ok(figures.into_iter().map(|(name, figure)| (name, figure.into())).collect())
}
