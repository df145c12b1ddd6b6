//! The numbers of DNS and their mnemonics: types, classes, RCODEs.
//!
//! The tables are those of the `domain` crate, which follows the IANA registries. What is added is a short
//! way for the types that fill query files, and the names that crate leaves out.

use std::borrow::Cow;

use domain::base::iana::{Class, OptRcode, Rtype, TsigRcode};

/// The type A, an IPv4 address.
pub const TYPE_A: u16 = 1;

/// The type NS, a name server.
pub const TYPE_NS: u16 = 2;

/// The type CNAME, another name.
pub const TYPE_CNAME: u16 = 5;

/// The type SOA, the begin of a zone.
pub const TYPE_SOA: u16 = 6;

/// The type TXT, a text.
pub const TYPE_TXT: u16 = 16;

/// The type SIG, the signature of a message by SIG(0) (RFC 2931).
pub const TYPE_SIG: u16 = 24;

/// The type AAAA, an IPv6 address.
pub const TYPE_AAAA: u16 = 28;

/// The type SRV, the hosts of a service (RFC 2782).
pub const TYPE_SRV: u16 = 33;

/// The type NAPTR, a rule that leads to another name (RFC 3403).
pub const TYPE_NAPTR: u16 = 35;

/// The type OPT, the pseudo record of EDNS (RFC 6891).
pub const TYPE_OPT: u16 = 41;

/// The type TSIG, the signature of a message (RFC 8945).
pub const TYPE_TSIG: u16 = 250;

/// The query type IXFR, the changes of a zone (RFC 1995).
pub const TYPE_IXFR: u16 = 251;

/// The query type AXFR, a whole zone (RFC 5936).
pub const TYPE_AXFR: u16 = 252;

/// The query type ANY, any type.
pub const TYPE_ANY: u16 = 255;

/// The class IN.
pub const CLASS_IN: u16 = 1;

/// The number of a query type: an IANA mnemonic in any case, `TYPEnnn`, `ANY` or `*`; else `None`.
#[inline]
pub fn parse_type(text: &str) -> Option<u16> {
    parse_type_bytes(text.as_bytes())
}

/// As [`parse_type`], for text that is not known to be UTF-8.
#[inline]
pub fn parse_type_bytes(text: &[u8]) -> Option<u16> {
    // Nearly every line of a query file ends here, without the walk over a table of a hundred names.
    Some(match text {
        b"A" | b"a" => TYPE_A,
        b"AAAA" | b"aaaa" => 28,
        b"NS" | b"ns" => 2,
        b"MX" | b"mx" => 15,
        b"PTR" | b"ptr" => 12,
        b"TXT" | b"txt" => 16,
        b"SOA" | b"soa" => 6,
        b"SRV" | b"srv" => 33,
        b"HTTPS" | b"https" => 65,
        b"CNAME" | b"cname" => 5,
        b"DS" | b"ds" => 43,
        b"DNSKEY" | b"dnskey" => 48,
        b"ANY" | b"any" | b"*" => 255,
        _ => return parse_rare_type(text),
    })
}

/// The mnemonic of a type, or `TYPEnnn` where it has none.
pub fn type_name(rtype: u16) -> Cow<'static, str> {
    match Rtype::from_int(rtype) {
        Rtype::NSAPPTR => Cow::Borrowed(NSAP_PTR),
        known => {
            known.to_mnemonic_str().map_or_else(|| Cow::Owned(format!("{TYPE_PREFIX}{rtype}")), Cow::Borrowed)
        }
    }
}

/// The number of a class: `IN`, `CH`, `HS`, `NONE`, `ANY` or `*` in any case, or `CLASSnnn`; else `None`.
pub fn parse_class(text: &str) -> Option<u16> {
    if text.eq_ignore_ascii_case("ANY") {
        return Some(Class::ANY.to_int());
    }
    Class::from_mnemonic(text.as_bytes())
        .map(Class::to_int)
        .or_else(|| number_after(CLASS_PREFIX, text.as_bytes()))
}

/// The mnemonic of a class (`ANY` for 255), or `CLASSnnn` where it has none.
pub fn class_name(class: u16) -> Cow<'static, str> {
    match Class::from_int(class) {
        Class::ANY => Cow::Borrowed("ANY"),
        known => known
            .to_mnemonic_str()
            .map_or_else(|| Cow::Owned(format!("{CLASS_PREFIX}{class}")), Cow::Borrowed),
    }
}

/// The name of an extended RCODE (12 bits, 0 to 4095), or `RCODEnnn` where it has none.
///
/// 16 is `BADVERS`: its other meaning, `BADSIG`, only ever stands inside a TSIG record.
pub fn rcode_name(rcode: u16) -> Cow<'static, str> {
    let known = match rcode {
        11 => Some("DSOTYPENI"),
        // OPT's table has none of the names TSIG and TKEY brought; the registry is one for both.
        17..=22 => TsigRcode::from_int(rcode).to_mnemonic_str(),
        0..4096 => OptRcode::masked_from_int(rcode).to_mnemonic_str(),
        _ => None,
    };
    known.map_or_else(|| Cow::Owned(format!("RCODE{rcode}")), Cow::Borrowed)
}

/// The mnemonic of an error in a TSIG record (RFC 8945 §3), which has one number in common with the RCODEs.
pub fn tsig_error_name(error: u16) -> Cow<'static, str> {
    const BADSIG: u16 = 16;
    if error == BADSIG { Cow::Borrowed("BADSIG") } else { rcode_name(error) }
}

/// The types that are not in the short list of [`parse_type_bytes`].
fn parse_rare_type(text: &[u8]) -> Option<u16> {
    if let Some(known) = Rtype::from_mnemonic(text) {
        return Some(known.to_int());
    }
    if text.eq_ignore_ascii_case(NSAP_PTR.as_bytes()) {
        return Some(Rtype::NSAPPTR.to_int());
    }
    number_after(TYPE_PREFIX, text)
}

/// The number in `text` after `prefix` (RFC 3597 §5): one to five decimal digits and nothing else.
fn number_after(prefix: &str, text: &[u8]) -> Option<u16> {
    let (head, digits) = text.split_at_checked(prefix.len())?;
    if !head.eq_ignore_ascii_case(prefix.as_bytes()) || digits.is_empty() || digits.len() > 5 {
        return None;
    }
    let mut value = 0u32;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u32::from(digit - b'0');
    }
    u16::try_from(value).ok()
}

const TYPE_PREFIX: &str = "TYPE";
const CLASS_PREFIX: &str = "CLASS";

/// The registry's spelling of type 23, which the `domain` crate writes without the dash.
const NSAP_PTR: &str = "NSAP-PTR";

#[cfg(test)]
mod tests {
    use super::*;

    /// Of all numbers; an interpreter would take an hour.
    const STEP: usize = if cfg!(miri) { 251 } else { 1 };

    #[test]
    fn every_type_name_reads_back_as_its_number_in_any_case() {
        for rtype in (0..=u16::MAX).step_by(STEP) {
            let name = type_name(rtype);
            assert_eq!(parse_type(&name), Some(rtype), "{name}");
            assert_eq!(parse_type(&name.to_lowercase()), Some(rtype), "{name}");
        }
    }

    #[test]
    fn the_short_list_agrees_with_the_registry_table() {
        for text in
            ["A", "AAAA", "NS", "MX", "PTR", "TXT", "SOA", "SRV", "HTTPS", "CNAME", "DS", "DNSKEY", "ANY"]
        {
            assert_eq!(parse_type(text), parse_rare_type(text.as_bytes()), "{text}");
        }
        assert_eq!(parse_type("AaAa"), Some(28));
    }

    #[test]
    fn a_type_is_never_taken_for_one_it_is_a_prefix_of() {
        for text in ["AA", "M", "", "TYPE", "TYPE-1", "TYPE+1", "TYPE65536", "TYPE000001", "IN", "A "] {
            assert_eq!(parse_type(text), None, "{text:?}");
        }
        assert_eq!(parse_type("type65535"), Some(65535));
        assert_eq!(parse_type("TYPE1"), Some(1));
        assert_eq!(parse_type("*"), Some(255));
    }

    #[test]
    fn every_class_name_reads_back_as_its_number() {
        for class in (0..=u16::MAX).step_by(STEP) {
            assert_eq!(parse_class(&class_name(class)), Some(class));
        }
        assert_eq!(parse_class("ch"), Some(3));
        assert_eq!(parse_class("*"), Some(255));
        assert_eq!(parse_class("CHAIN"), None);
    }

    #[test]
    fn extended_rcodes_have_names_or_numbers() {
        let names = [
            (0, "NOERROR"),
            (2, "SERVFAIL"),
            (3, "NXDOMAIN"),
            (4, "NOTIMP"),
            (5, "REFUSED"),
            (10, "NOTZONE"),
            (11, "DSOTYPENI"),
            (12, "RCODE12"),
            (16, "BADVERS"),
            (17, "BADKEY"),
            (22, "BADTRUNC"),
            (23, "BADCOOKIE"),
            (24, "RCODE24"),
            (4095, "RCODE4095"),
            (4096, "RCODE4096"),
        ];
        for (rcode, name) in names {
            assert_eq!(rcode_name(rcode), name);
        }
        assert_eq!([16, 17, 18, 22].map(tsig_error_name), ["BADSIG", "BADKEY", "BADTIME", "BADTRUNC"]);
    }
}
