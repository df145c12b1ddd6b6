//! Internationalized names: U-labels become the A-labels that are sent (RFC 5891), with the mapping of UTS 46
//! (non-transitional), as browsers and `dig` do it.
//!
//! A name in ASCII is left as it is. Octets above 127 can still be sent as they are: they are written `\DDD`.

use std::borrow::Cow;

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

use super::error::BadReason;

/// The name in ASCII. Its length is checked when it is encoded.
pub(super) fn to_ascii(name: &[u8]) -> Result<Cow<'_, [u8]>, BadReason> {
    if name.is_ascii() {
        return Ok(Cow::Borrowed(name));
    }
    convert(name)
}

#[cold]
fn convert(name: &[u8]) -> Result<Cow<'_, [u8]>, BadReason> {
    if std::str::from_utf8(name).is_err() {
        return Err(BadReason::NotUtf8);
    }
    if name.contains(&b'\\') {
        return Err(BadReason::NotIdn);
    }
    // Underscores, asterisks and the like are valid in names of DNS.
    let converted = Uts46::new().to_ascii(name, AsciiDenyList::EMPTY, Hyphens::Allow, DnsLength::Ignore);
    match converted {
        Ok(name) => Ok(Cow::Owned(name.into_owned().into_bytes())),
        Err(_) => Err(BadReason::NotIdn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ascii(name: &str) -> String {
        String::from_utf8(to_ascii(name.as_bytes()).unwrap().into_owned()).unwrap()
    }

    #[test]
    fn u_labels_become_a_labels_and_ascii_is_unchanged() {
        assert_eq!(ascii("bücher.example"), "xn--bcher-kva.example");
        assert_eq!(ascii("BÜCHER.example."), "xn--bcher-kva.example.");
        assert_eq!(ascii("_dmarc.straße.example"), "_dmarc.xn--strae-oqa.example");
        assert_eq!(ascii("例え.テスト"), "xn--r8jz45g.xn--zckzah");
        assert_eq!(ascii("WWW.Example"), "WWW.Example");
        assert_eq!(ascii(r"\252.example"), r"\252.example");
    }

    #[test]
    fn what_is_no_internationalized_name_is_refused() {
        assert_eq!(to_ascii(b"b\xfccher.example"), Err(BadReason::NotUtf8));
        assert_eq!(to_ascii("bü\\.cher.example".as_bytes()), Err(BadReason::NotIdn));
        assert_eq!(to_ascii("a\u{301}\u{fffd}.example".as_bytes()), Err(BadReason::NotIdn));
    }
}
