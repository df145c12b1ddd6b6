//! The data of a LOC record (RFC 1876): `52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m`.

/// From its words; those behind the altitude may be missing. `None` where they are not a place on the earth.
pub(super) fn encode(words: &mut std::slice::Iter<'_, &[u8]>) -> Option<Vec<u8>> {
    let latitude = angle(words, 90, (b'N', b'S'))?;
    let longitude = angle(words, 180, (b'E', b'W'))?;
    let altitude = centimetres(words.next()?)?;
    let altitude = u32::try_from(altitude.checked_add(BELOW_SEA_CM)?).ok()?;
    let mut precisions = DEFAULT_PRECISIONS;
    for precision in &mut precisions {
        let Some(word) = words.next() else { break };
        *precision = exponent_form(centimetres(word)?)?;
    }
    let version = 0;
    let mut data = vec![version];
    data.extend(precisions);
    [latitude, longitude, altitude].iter().for_each(|field| data.extend(field.to_be_bytes()));
    Some(data)
}

/// Degrees, minutes and seconds, of which the last two may be missing, and the hemisphere, as thousandths of a second
/// from the middle of the field.
fn angle(
    words: &mut std::slice::Iter<'_, &[u8]>,
    most_degrees: i64,
    (positive, negative): (u8, u8),
) -> Option<u32> {
    let mut milliseconds = 0;
    for (factor, most, decimals) in [(3_600_000, most_degrees, 0), (60_000, 59, 0), (1, 59_999, 3), (0, 0, 0)]
    {
        let word = *words.next()?;
        let hemisphere = <[u8; 1]>::try_from(word).ok().map(|[letter]| letter.to_ascii_uppercase());
        if factor != 3_600_000 && hemisphere.is_some_and(|letter| [positive, negative].contains(&letter)) {
            let signed = if hemisphere == Some(positive) { milliseconds } else { -milliseconds };
            let is_on_earth = milliseconds <= most_degrees * 3_600_000;
            return is_on_earth.then(|| u32::try_from(signed + EQUATOR).ok())?;
        }
        let part = decimal(word, decimals)?;
        if !(0..=most).contains(&part) {
            return None;
        }
        milliseconds += part * factor;
    }
    None
}

/// Metres with two decimals at most, with or without an `m` behind them.
fn centimetres(word: &[u8]) -> Option<i64> {
    decimal(word.strip_suffix(b"m").or_else(|| word.strip_suffix(b"M")).unwrap_or(word), 2)
}

/// A number with so many decimals at most, as a whole number of its last one.
fn decimal(word: &[u8], decimals: usize) -> Option<i64> {
    let text = std::str::from_utf8(word).ok()?;
    let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number =
        |digits: &str| digits.len() <= MOST_DIGITS && digits.bytes().all(|octet| octet.is_ascii_digit());
    if whole.is_empty() || part.len() > decimals || !is_number(whole) || !is_number(part) {
        return None;
    }
    let value: i64 = format!("{whole}{part:0<decimals$}").parse().ok()?;
    Some(if is_negative { -value } else { value })
}

/// A length as a digit and a power of ten, each half an octet.
fn exponent_form(centimetres: i64) -> Option<u8> {
    let mut digit = u64::try_from(centimetres).ok()?;
    let mut exponent = 0;
    while digit > 9 {
        (digit, exponent) = (digit / 10, exponent + 1);
    }
    (exponent <= 9).then_some((digit as u8) << 4 | exponent)
}

/// A size of 1 m, and precisions of 10 km and 10 m.
const DEFAULT_PRECISIONS: [u8; 3] = [0x12, 0x16, 0x13];

/// What stands for the equator, and for the prime meridian.
const EQUATOR: i64 = 1 << 31;

/// Altitudes count from 100 km below the sea.
const BELOW_SEA_CM: i64 = 10_000_000;

/// More than any field has.
const MOST_DIGITS: usize = 10;
