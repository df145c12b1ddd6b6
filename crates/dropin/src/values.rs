//! The kinds of values of dnsperf and resperf: what they accept is what the C functions behind them accept.

/// A value as it is read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// Of an option without a value.
    Given,
    /// A text.
    Text(String),
    /// A whole number.
    Number(u32),
    /// A time in microseconds.
    Micros(u64),
    /// A number with a fraction.
    Double(f64),
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No value.
    Flag,
    /// Any text.
    Text,
    /// A whole number from 1.
    Uint,
    /// A whole number from 0.
    Zpint,
    /// A port, or 0.
    Port,
    /// A time in seconds, with a fraction.
    Timeval,
    /// A number with a fraction.
    Double,
}

impl Kind {
    /// Reads a value; `None` where it is not of this kind.
    pub(crate) fn read(self, text: &str) -> Option<Value> {
        match self {
            Kind::Flag => Some(Value::Given),
            Kind::Text => Some(Value::Text(text.to_owned())),
            Kind::Uint => number(text, 1, u32::MAX),
            Kind::Zpint => number(text, 0, u32::MAX),
            Kind::Port => number(text, 0, u32::from(u16::MAX)),
            Kind::Timeval => double(text).map(|seconds| Value::Micros((seconds * 1e6) as u64)),
            Kind::Double => double(text).map(Value::Double),
        }
    }
}

fn number(text: &str, min: u32, max: u32) -> Option<Value> {
    let value = u32::try_from(strtoul(text)?).ok()?;
    (min..=max).contains(&value).then_some(Value::Number(value))
}

/// The whole text as a number in base 10, as strtoul(3) of a 64-bit system reads it: after white space, with a sign; a
/// negative number is counted from 2^64.
pub(crate) fn strtoul(text: &str) -> Option<u64> {
    let text = text.trim_start_matches(|letter: char| matches!(letter, ' ' | '\t'..='\r'));
    let (is_negative, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let value: u64 = digits.parse().ok()?;
    Some(if is_negative { value.wrapping_neg() } else { value })
}

/// Digits with at most one point, anywhere or nowhere; no digit at all is 0.
fn double(text: &str) -> Option<f64> {
    let points = text.bytes().filter(|letter| *letter == b'.').count();
    let is_number = points <= 1 && text.bytes().all(|letter| letter == b'.' || letter.is_ascii_digit());
    if !is_number {
        return None;
    }
    Some(text.parse().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read_as_the_c_library_reads_them() {
        let read = |text| Kind::Uint.read(text);
        for (text, value) in [("1", 1), ("+7", 7), (" \t12", 12), ("4294967295", u32::MAX), ("007", 7)] {
            assert_eq!(read(text), Some(Value::Number(value)), "{text}");
        }
        assert_eq!(read("-18446744073709551615"), Some(Value::Number(1)));
        for text in ["", "0", "-1", "1 ", "0x10", "1.5", "4294967296", "99999999999999999999", "+", "- 1"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!((Kind::Zpint.read("0"), Kind::Port.read("65536")), (Some(Value::Number(0)), None));
    }

    #[test]
    fn times_are_digits_with_at_most_one_point() {
        let read = |text| Kind::Timeval.read(text);
        for (text, micros) in [("5", 5_000_000), (".5", 500_000), ("5.", 5_000_000), ("", 0), (".", 0)] {
            assert_eq!(read(text), Some(Value::Micros(micros)), "{text}");
        }
        assert_eq!(read("0.0000019"), Some(Value::Micros(1)));
        for text in ["-1", "1e3", "1.2.3", " 1", "inf", "1s"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
