//! What a certificate says of itself: for the check before the load, and for the words of a failed handshake.

mod der;

use std::net::{Ipv4Addr, Ipv6Addr};

use dnsdyno_text::shown;

use der::{Element, Elements};

/// What a certificate says of itself. All texts can be shown on a terminal, and none is long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateInfo {
    /// Whose it is: `CN=ns1.example`.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
    /// The names and addresses that it is for.
    pub names: Vec<String>,
    /// The first day on which it is valid, in UTC: `2026-01-31`.
    pub not_before: String,
    /// The last day on which it is valid.
    pub not_after: String,
    /// Whether it is the certificate of a CA.
    pub is_ca: bool,
}

/// The bytes are not a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an X.509 certificate in DER")]
pub struct NotACertificate;

/// Reads a certificate in DER.
///
/// # Errors
/// [`NotACertificate`] where it cannot be parsed.
pub fn describe_certificate(der: &[u8]) -> Result<CertificateInfo, NotACertificate> {
    read(der).ok_or(NotACertificate)
}

/// Reads the fields of RFC 5280, section 4.1, in their order.
fn read(der: &[u8]) -> Option<CertificateInfo> {
    let mut certificate = Elements(der).next_of(der::SEQUENCE)?.elements();
    let mut signed = certificate.next_of(der::SEQUENCE)?.elements();
    let _version = signed.next_of(der::field(0, true));
    let _serial_number = signed.next_of(der::INTEGER)?;
    let _signature = signed.next_of(der::SEQUENCE)?;
    let issuer = text_of(signed.next_of(der::SEQUENCE)?)?;
    let mut validity = signed.next_of(der::SEQUENCE)?.elements();
    let (not_before, not_after) = (date_of(validity.next()?)?, date_of(validity.next()?)?);
    let subject = text_of(signed.next_of(der::SEQUENCE)?)?;
    let _public_key = signed.next_of(der::SEQUENCE)?;
    let _issuer_id = signed.next_of(der::field(1, false));
    let _subject_id = signed.next_of(der::field(2, false));
    let extensions = signed.next_of(der::field(3, true)).and_then(|field| field.elements().next());
    let extension = |wanted: &[u8]| {
        let mut extensions = extensions.into_iter().flat_map(Element::elements);
        extensions.find_map(|extension| value_of(extension, wanted))
    };
    Some(CertificateInfo {
        subject,
        issuer,
        names: extension(&SUBJECT_ALTERNATIVE_NAME).map_or_else(Vec::new, names_of),
        not_before,
        not_after,
        is_ca: extension(&BASIC_CONSTRAINTS).is_some_and(is_ca),
    })
}

/// The day of an instant in seconds since 1970, in UTC.
pub(super) fn date_of_unix(seconds: u64) -> String {
    let instant = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    instant.map_or_else(
        || format!("{seconds} s after 1970"),
        |instant| instant.to_zoned(jiff::tz::TimeZone::UTC).date().to_string(),
    )
}

/// The day of a UTCTime, `YYMMDDhhmmssZ`, or of a GeneralizedTime, which has four digits of the year.
fn date_of(time: Element<'_>) -> Option<String> {
    let digits = time.content.iter().take_while(|octet| octet.is_ascii_digit()).count();
    let text = std::str::from_utf8(&time.content[..digits]).ok()?;
    let (year, rest) = match time.tag {
        der::UTC_TIME => {
            let (year, rest) = text.split_at_checked(2)?;
            (format!("{}{year}", if year < "50" { "20" } else { "19" }), rest)
        }
        der::GENERALIZED_TIME => text.split_at_checked(4).map(|(year, rest)| (year.to_owned(), rest))?,
        _ => return None,
    };
    Some(format!("{year}-{}-{}", rest.get(..2)?, rest.get(2..4)?))
}

/// A distinguished name: `C=NL, CN=ns1.example`.
fn text_of(name: Element<'_>) -> Option<String> {
    let mut parts = Vec::new();
    for set in name.elements() {
        let attributes: Option<Vec<_>> = set.elements().map(attribute_of).collect();
        parts.push(attributes.filter(|_| set.tag == der::SET)?.join(" + "));
    }
    match parts.join(", ") {
        empty if empty.is_empty() => Some("(no name)".to_owned()),
        text => Some(shown(&text, LONGEST_TEXT).into_owned()),
    }
}

/// An attribute of a name: `CN=ns1.example`.
fn attribute_of(attribute: Element<'_>) -> Option<String> {
    let mut fields = attribute.elements();
    let kind = fields.next_of(der::OBJECT_IDENTIFIER)?.content;
    let value = fields.next()?;
    let known = ATTRIBUTES.iter().find(|(_, oid)| *oid == kind);
    let key = known.map_or_else(|| dotted(kind), |(key, _)| (*key).to_owned());
    let text = match value.tag {
        der::BMP_STRING => {
            let units: Vec<u16> =
                value.content.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
            String::from_utf16_lossy(&units)
        }
        tag if der::TEXTS.contains(&tag) => String::from_utf8_lossy(value.content).into_owned(),
        _ => value.content.iter().map(|octet| format!("{octet:02X}")).collect(),
    };
    Some(format!("{key}={text}"))
}

/// An object identifier in numbers: `2.5.4.3`.
fn dotted(oid: &[u8]) -> String {
    let mut numbers = Vec::new();
    let mut number = 0_u64;
    for octet in oid {
        number = number.wrapping_shl(7) | u64::from(octet & 0x7f);
        if octet & 0x80 == 0 {
            numbers.push(std::mem::take(&mut number));
        }
    }
    // The first two are in one.
    let first = numbers.first().map(|both| (both / 40).min(2));
    let second = first.map(|first| numbers[0] - 40 * first);
    let all = first.into_iter().chain(second).chain(numbers.into_iter().skip(1));
    all.map(|number| number.to_string()).collect::<Vec<_>>().join(".")
}

/// What is in an extension, where it is the wanted one.
fn value_of<'a>(extension: Element<'a>, wanted: &[u8]) -> Option<Element<'a>> {
    let mut fields = extension.elements();
    fields.next_of(der::OBJECT_IDENTIFIER).filter(|oid| oid.content == wanted)?;
    let _critical = fields.next_of(der::BOOLEAN);
    fields.next_of(der::OCTET_STRING)?.elements().next_of(der::SEQUENCE)
}

fn is_ca(constraints: Element<'_>) -> bool {
    constraints.elements().next_of(der::BOOLEAN).is_some_and(|is_ca| is_ca.content != [0])
}

fn names_of(names: Element<'_>) -> Vec<String> {
    names.elements().filter_map(name_of).take(MOST_NAMES).collect()
}

/// A name or address that a client may compare.
fn name_of(name: Element<'_>) -> Option<String> {
    if name.tag == der::field(2, false) {
        return Some(shown(std::str::from_utf8(name.content).ok()?, LONGEST_TEXT).into_owned());
    }
    if name.tag != der::field(7, false) {
        return None;
    }
    let v4 = <[u8; 4]>::try_from(name.content).map(|octets| Ipv4Addr::from(octets).to_string());
    v4.or_else(|_| <[u8; 16]>::try_from(name.content).map(|octets| Ipv6Addr::from(octets).to_string())).ok()
}

/// The attributes of names that have a short key, by object identifier.
const ATTRIBUTES: [(&str, &[u8]); 12] = [
    ("CN", &[0x55, 4, 3]),
    ("SN", &[0x55, 4, 4]),
    ("serialNumber", &[0x55, 4, 5]),
    ("C", &[0x55, 4, 6]),
    ("L", &[0x55, 4, 7]),
    ("ST", &[0x55, 4, 8]),
    ("street", &[0x55, 4, 9]),
    ("O", &[0x55, 4, 10]),
    ("OU", &[0x55, 4, 11]),
    ("title", &[0x55, 4, 12]),
    ("DC", &[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25]),
    ("emailAddress", &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1]),
];

/// Extensions by object identifier: 2.5.29.17 and 2.5.29.19.
const SUBJECT_ALTERNATIVE_NAME: [u8; 3] = [0x55, 0x1d, 17];
const BASIC_CONSTRAINTS: [u8; 3] = [0x55, 0x1d, 19];

/// The longest text that is shown of a certificate, in characters.
const LONGEST_TEXT: usize = 100;

/// A certificate may have thousands of names; nobody reads more than these.
const MOST_NAMES: usize = 50;

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, IsCa, KeyPair, date_time_ymd};

    use super::*;

    #[test]
    fn a_certificate_says_whose_it_is_for_which_names_and_until_when() {
        let names = ["ns1.example", "*.example", "192.0.2.1", "2001:db8::1"].map(String::from);
        let mut params = CertificateParams::new(names.clone()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "ns1\u{1b}[2J.example");
        params.not_before = date_time_ymd(2026, 1, 31);
        params.not_after = date_time_ymd(2027, 2, 28);
        let der = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let info = describe_certificate(der.der()).unwrap();
        assert_eq!(info.names, names);
        assert_eq!((&*info.not_before, &*info.not_after), ("2026-01-31", "2027-02-28"));
        assert!(info.subject.starts_with("CN=") && info.subject.contains("\\u{1b}"), "{}", info.subject);
        assert_eq!((&info.issuer, info.is_ca), (&info.subject, false));
    }

    #[test]
    fn a_certificate_without_names_and_one_of_a_ca_are_told_apart() {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.distinguished_name = rcgen::DistinguishedName::new();
        let der = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let info = describe_certificate(der.der()).unwrap();
        assert_eq!((info.is_ca, &*info.subject, info.names.len()), (true, "(no name)", 0));
    }

    #[test]
    fn a_name_has_its_attributes_in_their_order_and_numbers_for_those_without_a_key() {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        let attributes = [
            (DnType::CountryName, "NL"),
            (DnType::OrganizationName, "Example"),
            (DnType::OrganizationalUnitName, "DNS"),
            (DnType::CustomDnType(vec![2, 5, 4, 97]), "NTRNL-1"),
            (DnType::CommonName, "ns1.example"),
        ];
        attributes.into_iter().for_each(|(key, value)| params.distinguished_name.push(key, value));
        // A date beyond 2049 is a GeneralizedTime.
        params.not_after = date_time_ymd(2051, 12, 3);
        let der = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let info = describe_certificate(der.der()).unwrap();
        assert_eq!(info.subject, "C=NL, O=Example, OU=DNS, 2.5.4.97=NTRNL-1, CN=ns1.example");
        assert_eq!(info.not_after, "2051-12-03");
        for length in 0..der.der().len() {
            assert_eq!(describe_certificate(&der.der()[..length]), Err(NotACertificate), "{length} octets");
        }
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        for bytes in [&b""[..], b"no certificate", &[0x30; 300], &[0xff; 70_000]] {
            assert_eq!(describe_certificate(bytes), Err(NotACertificate));
        }
    }

    #[test]
    fn the_days_of_the_library_s_instants_are_dates() {
        assert_eq!(date_of_unix(1_767_312_000), "2026-01-02");
        assert_eq!(date_of_unix(u64::MAX), "18446744073709551615 s after 1970");
    }
}
