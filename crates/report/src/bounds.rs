//! How much of a percentile may be the generator's, in words and for programs.

use dnsdyno_measure::{BoundedLatency, Bounds, PERCENTILES};
use dnsdyno_record::Digest;
use dnsdyno_text::layout::NOTHING;
use dnsdyno_text::units::duration;
use serde_json::{Map, Value, json};

use crate::objects::quantile as object;
use crate::quantile::quantile;

/// A percentile in a cell: `286 µs`, or `~286 µs` where its ends are too far apart for it to be called the server's.
pub fn cell(bounds: Option<Bounds>, timeout_ns: u64) -> String {
    let mark = if bounds.is_some_and(|bounds| bounds.is_wide()) { "~" } else { "" };
    format!("{mark}{}", quantile(bounds.map(|bounds| bounds.upper), timeout_ns))
}

/// A percentile in a sentence: `286 µs`, or `286 µs (at most 104 µs ours)` where that matters.
pub(crate) fn words(bounds: Bounds, timeout_ns: u64) -> String {
    let text = quantile(Some(bounds.upper), timeout_ns);
    match bounds.is_wide() {
        true => match bounds.ours_ns() {
            Some(ours_ns) => format!("{text} (at most {} ours)", duration(ours_ns)),
            None => format!("{text} (which may be ours)"),
        },
        false => text,
    }
}

/// The percentiles of a run that are too wide, as they are in a sentence: `p99 286 µs (at most 104 µs ours)`.
pub(crate) fn wide(digest: &Digest) -> Vec<String> {
    let timeout_ns = digest.header.timeout_ns;
    let percentiles = digest.percentiles();
    let wide = PERCENTILES.iter().filter_map(|(_, title, q)| {
        let bounds = percentiles.at(*q).filter(Bounds::is_wide)?;
        Some(format!("{title} {}", words(bounds, timeout_ns)))
    });
    wide.collect()
}

/// The cells of a row that says how much of each percentile may be ours; `None` where none is too wide.
pub(crate) fn row_of_ours(digest: &Digest) -> Option<[String; PERCENTILES.len()]> {
    let percentiles = digest.percentiles();
    let all = PERCENTILES.map(|(.., q)| percentiles.at(q));
    let ours = |bounds: Bounds| bounds.ours_ns().map_or("all".to_owned(), duration);
    let cells = || all.map(|bounds| bounds.map_or(NOTHING.to_owned(), ours));
    all.iter().flatten().any(Bounds::is_wide).then(cells)
}

/// For programs: the lower end of each percentile, how much of it may be ours, and whether that is too much.
pub(crate) fn as_json(percentiles: &BoundedLatency<'_>, timeout_ns: u64) -> Value {
    let one = |bounds: Bounds| one_as_json(bounds, timeout_ns);
    let each = PERCENTILES
        .iter()
        .map(|(key, _, q)| ((*key).to_owned(), percentiles.at(*q).map_or(Value::Null, one)));
    each.collect::<Map<_, _>>().into()
}

/// That of one percentile.
pub fn one_as_json(bounds: Bounds, timeout_ns: u64) -> Value {
    json!({
        "lower": object(Some(bounds.lower), timeout_ns),
        "upper": object(Some(bounds.upper), timeout_ns),
        "ours_ns": bounds.ours_ns(),
        "wide": bounds.is_wide(),
    })
}

#[cfg(test)]
mod tests {
    use dnsdyno_measure::Quantile;

    use super::*;

    const TIMEOUT_NS: u64 = 5_000_000_000;

    #[test]
    fn only_a_percentile_that_is_too_wide_is_marked_and_says_what_may_be_ours() {
        let narrow = Bounds { upper: Quantile::At(286_000), lower: Quantile::At(240_000) };
        assert_eq!(
            (cell(Some(narrow), TIMEOUT_NS), words(narrow, TIMEOUT_NS)),
            ("286 µs".into(), "286 µs".into())
        );
        let wide = Bounds { upper: Quantile::At(286_000), lower: Quantile::At(182_000) };
        assert_eq!(cell(Some(wide), TIMEOUT_NS), "~286 µs");
        assert_eq!(words(wide, TIMEOUT_NS), "286 µs (at most 104 µs ours)");
        assert_eq!(cell(None, TIMEOUT_NS), "-");
    }

    #[test]
    fn a_percentile_beyond_the_timeout_may_be_ours_as_a_whole() {
        let lost = Bounds { upper: Quantile::BeyondTimeout, lower: Quantile::At(1_000) };
        assert_eq!(words(lost, TIMEOUT_NS), ">5 s (which may be ours)");
        assert_eq!(words(Bounds::exact(Quantile::BeyondTimeout), TIMEOUT_NS), ">5 s");
    }
}
