//! Quantities in the notation of options: `50k`, `1.5s`, `4M`, `0.1%`, `2k..25k`.
//!
//! Reading is strict (digits, at most one dot, one unit), and printed quantities read back as exactly the same
//! value, so that a plan that is read from a file gives the same load.

/// An invalid quantity. The message shows the right notation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Not a rate.
    #[error("`{0}` is not a rate: write queries per second, like 200, 50k or 1.5M")]
    Rate(String),
    /// Not a duration.
    #[error(
        "`{0}` is not a duration: write a number and ns, us, ms, s, m, h or d, like 30s or 1.5h, at most 100d"
    )]
    Duration(String),
    /// Not a count.
    #[error("`{0}` is not a count: write a whole number, like 1000, 50k or 10M")]
    Count(String),
    /// Not a size.
    #[error("`{0}` is not a size: write bytes, like 65536, 512k or 4M (1k = 1024)")]
    Size(String),
    /// Not a percentage.
    #[error("`{0}` is not a percentage: write it like 0.1%")]
    Percent(String),
    /// Not a range.
    #[error("`{0}` is not a range: write it like A..B")]
    Range(String),
}

/// Reads a rate in queries per second: `200`, `50k`, `1.5M`, `1G`. Zero is accepted; the caller
/// decides whether it is valid.
pub fn parse_rate_qps(text: &str) -> Result<f64, UnitError> {
    scaled(text, &RATE_UNITS).ok_or_else(|| UnitError::Rate(text.to_owned()))
}

/// Writes a rate in queries per second in the shortest notation that [`parse_rate_qps`] reads back exactly.
pub fn format_rate_qps(rate_qps: f64) -> String {
    for (unit, factor) in RATE_UNITS.iter().rev().filter(|(_, factor)| rate_qps >= *factor) {
        let text = format!("{}{unit}", rate_qps / factor);
        if parse_rate_qps(&text) == Ok(rate_qps) {
            return text;
        }
    }
    format!("{rate_qps}")
}

/// Reads a duration into nanoseconds: `30s`, `1.5s`, `500ms`, `250us`, `10m`, `48h`, `2d`; a bare number is
/// in seconds.
pub fn parse_duration_ns(text: &str) -> Result<u64, UnitError> {
    scaled(text, &DURATION_UNITS)
        .map(f64::round)
        .filter(|ns| *ns <= MAX_DURATION_NS)
        .map(|ns| ns as u64)
        .ok_or_else(|| UnitError::Duration(text.to_owned()))
}

/// Writes nanoseconds in the largest unit that holds them as a whole number: `90s`, `1500ms`, `48h`.
pub fn format_duration_ns(duration_ns: u64) -> String {
    // Hours are the largest unit written: the length of a soak test is usually given in hours.
    for (unit, factor) in
        [("h", HOUR_NS), ("m", MINUTE_NS), ("s", SECOND_NS), ("ms", 1_000_000), ("us", 1_000)]
    {
        if duration_ns >= factor && duration_ns.is_multiple_of(factor) {
            return format!("{}{unit}", duration_ns / factor);
        }
    }
    if duration_ns == 0 { "0s".to_owned() } else { format!("{duration_ns}ns") }
}

/// Reads a whole number: `1000`, `50k`, `10M`, `1.5k`.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    // A bare number is read as an integer, because f64 cannot represent every u64.
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map_err(|_| UnitError::Count(text.to_owned()));
    }
    scaled(text, &RATE_UNITS)
        .filter(|count| count.fract() == 0.0 && *count <= MAX_EXACT)
        .map(|count| count as u64)
        .ok_or_else(|| UnitError::Count(text.to_owned()))
}

/// Reads a size in bytes: `65536`, `512k`, `4M`, `1G`, each step 1024.
pub fn parse_size_bytes(text: &str) -> Result<u64, UnitError> {
    scaled(text, &SIZE_UNITS)
        .filter(|bytes| bytes.fract() == 0.0 && *bytes <= MAX_EXACT)
        .map(|bytes| bytes as u64)
        .ok_or_else(|| UnitError::Size(text.to_owned()))
}

/// Writes a size in bytes in the largest unit that holds it as a whole number.
pub fn format_size_bytes(bytes: u64) -> String {
    for (unit, factor) in [("G", 1u64 << 30), ("M", 1 << 20), ("k", 1 << 10)] {
        if bytes >= factor && bytes.is_multiple_of(factor) {
            return format!("{}{unit}", bytes / factor);
        }
    }
    bytes.to_string()
}

/// Reads a percentage into a share: `0.1%` is 0.001. The sign is required.
pub fn parse_percent(text: &str) -> Result<f64, UnitError> {
    text.strip_suffix('%')
        .and_then(plain_number)
        .map(|percent| percent / 100.0)
        .ok_or_else(|| UnitError::Percent(text.to_owned()))
}

/// Reads `A..B`, each end with `parse_end`. The ends are not compared.
pub fn parse_range<T>(
    text: &str,
    parse_end: impl Fn(&str) -> Result<T, UnitError>,
) -> Result<(T, T), UnitError> {
    let (from, to) = text.split_once("..").ok_or_else(|| UnitError::Range(text.to_owned()))?;
    Ok((parse_end(from.trim())?, parse_end(to.trim())?))
}

/// A number followed by one of `units`, or by none: then the unit is the one with the empty name.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let unit_at = text.find(char::is_alphabetic).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    plain_number(number.trim_end()).map(|number| number * factor)
}

/// Digits with at most one dot: no sign, no exponent, no `inf`.
fn plain_number(text: &str) -> Option<f64> {
    let allowed = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    if has_digit && text.bytes().all(allowed) {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    } else {
        None
    }
}

const SECOND_NS: u64 = 1_000_000_000;
const MINUTE_NS: u64 = 60 * SECOND_NS;
const HOUR_NS: u64 = 60 * MINUTE_NS;

/// In the order of size; of two spellings the later one is written. A lower-case `m` is not a rate unit: it
/// could mean a thousandth or a million.
const RATE_UNITS: [(&str, f64); 5] = [("", 1.0), ("K", 1e3), ("k", 1e3), ("M", 1e6), ("G", 1e9)];

const DURATION_UNITS: [(&str, f64); 10] = [
    ("", SECOND_NS as f64),
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", SECOND_NS as f64),
    ("m", MINUTE_NS as f64),
    ("min", MINUTE_NS as f64),
    ("h", HOUR_NS as f64),
    ("d", 24.0 * HOUR_NS as f64),
];

const SIZE_UNITS: [(&str, f64); 6] = [
    ("", 1.0),
    ("k", 1024.0),
    ("K", 1024.0),
    ("M", 1024.0 * 1024.0),
    ("G", 1024.0 * 1024.0 * 1024.0),
    ("B", 1.0),
];

/// A hundred days: f64 represents every whole nanosecond up to 2^53 ns, and no run lasts longer.
const MAX_DURATION_NS: f64 = 100.0 * 24.0 * HOUR_NS as f64;

/// Up to here f64 represents every whole number.
const MAX_EXACT: f64 = (1u64 << 53) as f64;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_have_k_and_m() {
        let cases = [("200", 200.0), ("50k", 5e4), ("1.5M", 1.5e6), ("0", 0.0), ("0.5", 0.5), ("1G", 1e9)];
        for (text, rate) in cases {
            assert_eq!(parse_rate_qps(text), Ok(rate), "{text}");
        }
        for text in ["", "k", "-1", "1e3", "50m", "50 kq", "inf", "NaN", "1.2.3", "."] {
            assert_eq!(parse_rate_qps(text), Err(UnitError::Rate(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn durations_have_units_and_a_bare_number_is_in_seconds() {
        let cases = [
            ("30s", 30_000_000_000),
            ("1.5s", 1_500_000_000),
            ("500ms", 500_000_000),
            ("250us", 250_000),
            ("7ns", 7),
            ("10m", 600_000_000_000),
            ("48h", 172_800_000_000_000),
            ("2d", 172_800_000_000_000),
            ("5", 5_000_000_000),
            ("0.25", 250_000_000),
        ];
        for (text, ns) in cases {
            assert_eq!(parse_duration_ns(text), Ok(ns), "{text}");
        }
        for text in ["", "s", "5 parsecs", "-5s", "1e9", "101d"] {
            assert_eq!(parse_duration_ns(text), Err(UnitError::Duration(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn durations_are_printed_in_the_largest_whole_unit() {
        let cases = [("48h", "48h"), ("90s", "90s"), ("1.5s", "1500ms"), ("0s", "0s"), ("60s", "1m")];
        for (text, want) in cases {
            assert_eq!(parse_duration_ns(text).map(format_duration_ns).as_deref(), Ok(want));
        }
    }

    #[test]
    fn counts_are_whole_and_sizes_go_by_1024() {
        assert_eq!(parse_count("10M"), Ok(10_000_000));
        assert_eq!(parse_count("1.5k"), Ok(1500));
        assert_eq!(parse_count("18446744073709551615"), Ok(u64::MAX));
        assert!(parse_count("1.5").is_err());
        assert!(parse_count("18446744073709551616").is_err());
        assert_eq!(parse_size_bytes("4M"), Ok(4 << 20));
        assert_eq!(format_size_bytes(4 << 20), "4M");
        assert_eq!(format_size_bytes(1000), "1000");
        assert!(parse_size_bytes("0.3").is_err());
    }

    #[test]
    fn percentages_need_their_sign() {
        assert_eq!(parse_percent("0.1%"), Ok(0.001));
        assert_eq!(parse_percent("100%"), Ok(1.0));
        assert!(parse_percent("5").is_err());
        assert!(parse_percent("%").is_err());
    }

    #[test]
    fn ranges_have_two_ends() {
        assert_eq!(parse_range("2k..25k", parse_rate_qps), Ok((2e3, 25e3)));
        assert_eq!(parse_range("2k", parse_rate_qps), Err(UnitError::Range("2k".to_owned())));
        assert_eq!(parse_range("2k..", parse_rate_qps), Err(UnitError::Rate(String::new())));
    }

    proptest! {
        #[test]
        fn a_printed_rate_reads_back_exactly(rate in prop_oneof![0.0f64..1e9, (0u32..2_000_000).prop_map(f64::from)]) {
            prop_assert_eq!(parse_rate_qps(&format_rate_qps(rate)), Ok(rate));
        }

        #[test]
        fn a_printed_duration_reads_back_exactly(
            ns in prop_oneof![0u64..8_000_000_000_000_000, (0u64..100_000).prop_map(|ms| ms * 1_000_000)]
        ) {
            prop_assert_eq!(parse_duration_ns(&format_duration_ns(ns)), Ok(ns));
        }

        #[test]
        fn a_printed_size_reads_back_exactly(bytes in 0u64..1 << 50) {
            prop_assert_eq!(parse_size_bytes(&format_size_bytes(bytes)), Ok(bytes));
        }

        #[test]
        fn no_text_makes_the_readers_panic(text in ".{0,12}") {
            let _ = (parse_rate_qps(&text), parse_duration_ns(&text), parse_count(&text));
            let _ = (parse_size_bytes(&text), parse_percent(&text), parse_range(&text, parse_rate_qps));
        }
    }
}
