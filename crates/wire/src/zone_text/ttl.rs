//! TTLs with units, as BIND, NSD, Knot and others read them in zone files: `1h`, `1d12h`.

/// The seconds of a TTL: a number, or numbers each with a unit of s, m, h, d or w.
pub fn ttl_seconds(text: &[u8]) -> Option<u32> {
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse::<u32>().ok();
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    if is_number {
        return number(text);
    }
    let (mut seconds, mut rest) = (0_u32, text);
    while !rest.is_empty() {
        let digits = rest.iter().take_while(|octet| octet.is_ascii_digit()).count();
        // A unit without a number, and a number without a unit, are nothing.
        let (count, unit) = (number(rest.get(..digits)?)?, rest.get(digits)?);
        let unit_s = match unit.to_ascii_lowercase() {
            b's' => 1,
            b'm' => 60,
            b'h' => 3_600,
            b'd' => 86_400,
            b'w' => 604_800,
            _ => return None,
        };
        seconds = count.checked_mul(unit_s).and_then(|part| seconds.checked_add(part))?;
        rest = &rest[digits + 1..];
    }
    (!text.is_empty()).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_is_a_number_or_numbers_with_units() {
        for (text, seconds) in [
            ("0", 0),
            ("3600", 3_600),
            ("1h", 3_600),
            ("1d12h", 129_600),
            ("1W2D3H4M5S", 788_645),
            ("90m", 5_400),
        ] {
            assert_eq!(ttl_seconds(text.as_bytes()), Some(seconds), "{text}");
        }
        for text in ["", "h", "1h30", "1x", "-1", "+1", "1.5h", "8000w", "4294967296", "1h ", "1hh"] {
            assert_eq!(ttl_seconds(text.as_bytes()), None, "{text}");
        }
    }
}
