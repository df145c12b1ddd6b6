//! What a certificate says of itself: for the check before the load, and for the words of a failed handshake.

use std::net::{Ipv4Addr, Ipv6Addr};

use dnsdyno_measure::shown;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;
use x509_parser::x509::X509Name;

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
    let (_, certificate) = X509Certificate::from_der(der).map_err(|_| NotACertificate)?;
    let validity = certificate.validity();
    Ok(CertificateInfo {
        subject: text_of(certificate.subject()),
        issuer: text_of(certificate.issuer()),
        names: names_of(&certificate),
        not_before: date_of(validity.not_before),
        not_after: date_of(validity.not_after),
        is_ca: certificate.is_ca(),
    })
}

/// The day of an instant in seconds since 1970, in UTC.
pub(super) fn date_of_unix(seconds: u64) -> String {
    let instant = i64::try_from(seconds).ok().and_then(|seconds| ASN1Time::from_timestamp(seconds).ok());
    instant.map_or_else(|| format!("{seconds} s after 1970"), date_of)
}

fn date_of(time: ASN1Time) -> String {
    time.to_datetime().date().to_string()
}

fn text_of(name: &X509Name<'_>) -> String {
    match name.to_string() {
        empty if empty.is_empty() => "(no name)".to_owned(),
        text => shown(&text, LONGEST_TEXT).into_owned(),
    }
}

fn names_of(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return Vec::new() };
    names.value.general_names.iter().filter_map(name_of).take(MOST_NAMES).collect()
}

/// A name or address that a client may compare.
fn name_of(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some(shown(name, LONGEST_TEXT).into_owned()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(*bytes).ok().map(|bytes| Ipv4Addr::from(bytes).to_string()),
            _ => <[u8; 16]>::try_from(*bytes).ok().map(|bytes| Ipv6Addr::from(bytes).to_string()),
        },
        _ => None,
    }
}

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
