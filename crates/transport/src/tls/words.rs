//! What a TLS error means: the reason that is counted, and a sentence for a user, for TCP and QUIC.
//!
//! The sentence is made from the library's and the verifier's error, and from what is known beside it: the
//! certificate, the first bytes from the server, the protocols that we offered.

use dnsdyno_measure::HandshakeFailure;
use dnsdyno_text::shown;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible, PeerMisbehaved};

use super::certificate::{CertificateInfo, date_of_unix, describe_certificate};

/// What is known of a handshake that failed, beside the error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// The protocols that we offered (ALPN).
    pub offered: &'a [Vec<u8>],
    /// The server's own certificate in DER, where it was rejected.
    pub certificate: Option<&'a [u8]>,
    /// The first bytes that the server sent; empty where they are not known.
    pub first: &'a [u8],
}

/// What is counted for a handshake that ended with this error.
pub fn failure_of(error: &Error) -> HandshakeFailure {
    match error {
        Error::AlertReceived(AlertDescription::ProtocolVersion) => HandshakeFailure::Version,
        Error::AlertReceived(AlertDescription::NoApplicationProtocol) => HandshakeFailure::Alpn,
        Error::AlertReceived(_) => HandshakeFailure::Alert,
        Error::InvalidCertificate(why) => match why {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => HandshakeFailure::Untrusted,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                HandshakeFailure::WrongName
            }
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => HandshakeFailure::Expired,
            _ => HandshakeFailure::Certificate,
        },
        Error::NoCertificatesPresented | Error::UnsupportedNameType => HandshakeFailure::Certificate,
        Error::PeerIncompatible(why) if is_of_version(why) => HandshakeFailure::Version,
        Error::PeerMisbehaved(PeerMisbehaved::SelectedUnofferedApplicationProtocol) => HandshakeFailure::Alpn,
        // The first byte of each record of TLS is one of five.
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => HandshakeFailure::NotTls,
        _ => HandshakeFailure::Protocol,
    }
}

/// One sentence without a full stop: what went wrong in a handshake, and what a user can do about it. Text of the
/// server in it can be shown on a terminal.
pub fn words_of(error: &Error, facts: &Facts<'_>) -> String {
    match error {
        Error::AlertReceived(alert) => words_of_alert(*alert, facts.offered),
        Error::InvalidCertificate(why) => words_of_certificate(why, facts.certificate),
        Error::NoCertificatesPresented => "the server presented no certificate".to_owned(),
        Error::PeerIncompatible(why) if is_of_version(why) => match selected_version(facts.first) {
            Some(version) => format!("the server selected {version}, which we did not offer"),
            None => {
                "the server selected a version of TLS that we did not offer (see --tls-version)".to_owned()
            }
        },
        Error::PeerMisbehaved(PeerMisbehaved::SelectedUnofferedApplicationProtocol) => {
            format!("the server selected a protocol (ALPN) other than {}", list(facts.offered))
        }
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => not_tls(facts.first),
        // The library's own name for what the server did is all that there is to say.
        Error::PeerIncompatible(why) => format!("there are no common TLS parameters ({why:?})"),
        Error::PeerMisbehaved(why) => format!("the server violated the TLS protocol ({why:?})"),
        other => {
            format!("the server violated the TLS protocol ({})", shown(&other.to_string(), LONGEST_PART))
        }
    }
}

/// A server that completed the handshake, but selected no protocol although the transport needs one.
pub(crate) fn no_protocol(offered: &[Vec<u8>]) -> String {
    format!(
        "no common ALPN: we offered {}, and the server selected nothing: it may only speak HTTP/1.1, or not HTTP",
        list(offered)
    )
}

/// An alert from the server by its name, and what it usually means.
pub fn words_of_alert(alert: AlertDescription, offered: &[Vec<u8>]) -> String {
    use AlertDescription as Alert;
    let (name, meaning) = match alert {
        Alert::NoApplicationProtocol => {
            return format!(
                "no common ALPN: we offered {}, which the server does not support",
                list(offered)
            );
        }
        Alert::CloseNotify => ("close_notify", "it closed the connection"),
        Alert::UnexpectedMessage => ("unexpected_message", "it may expect another protocol on this port"),
        Alert::BadRecordMac => ("bad_record_mac", "a record was damaged on its way"),
        Alert::RecordOverflow => ("record_overflow", "a record was too long for it"),
        Alert::HandshakeFailure => ("handshake_failure", "it supports none of our ciphers or key exchanges"),
        Alert::BadCertificate => ("bad_certificate", "it did not accept a certificate"),
        Alert::UnsupportedCertificate => ("unsupported_certificate", "it did not accept a certificate"),
        Alert::CertificateRevoked => ("certificate_revoked", "it did not accept a certificate"),
        Alert::CertificateExpired => ("certificate_expired", "it did not accept a certificate"),
        Alert::CertificateUnknown => ("certificate_unknown", "it did not accept a certificate"),
        Alert::IllegalParameter => ("illegal_parameter", "it did not understand our handshake"),
        Alert::UnknownCA => ("unknown_ca", "it does not trust a certificate"),
        Alert::AccessDenied => ("access_denied", "it does not serve this host"),
        Alert::DecodeError => ("decode_error", "it did not understand our handshake"),
        Alert::DecryptError => ("decrypt_error", "a signature or a key did not fit"),
        Alert::ProtocolVersion => (
            "protocol_version",
            "it supports none of the versions of TLS that we offered (see --tls-version)",
        ),
        Alert::InsufficientSecurity => ("insufficient_security", "it wants stronger ciphers than ours"),
        Alert::InternalError => ("internal_error", "it failed for a reason of its own; see its log"),
        Alert::InappropriateFallback => ("inappropriate_fallback", "it saw a downgrade of the version"),
        Alert::UserCanceled => ("user_canceled", "it cancelled the handshake"),
        Alert::MissingExtension => ("missing_extension", "it needs an extension that we do not send"),
        Alert::UnsupportedExtension => ("unsupported_extension", "it does not support an extension of ours"),
        Alert::UnrecognisedName => {
            ("unrecognized_name", "it has no certificate for the name that we asked for (see --sni)")
        }
        Alert::UnknownPSKIdentity => {
            ("unknown_psk_identity", "it does not know the session (see --no-resumption)")
        }
        Alert::CertificateRequired => {
            ("certificate_required", "it asks clients for a certificate; we have none")
        }
        other => return format!("the server ended it with TLS alert {}", u8::from(other)),
    };
    format!("the server ended it with the TLS alert {name}: {meaning}")
}

fn words_of_certificate(why: &CertificateError, der: Option<&[u8]>) -> String {
    let info = der.and_then(|der| describe_certificate(der).ok());
    let about = |told: fn(&CertificateInfo) -> String| info.as_ref().map_or_else(String::new, told);
    match why {
        CertificateError::UnknownIssuer => {
            let issuer = about(|info| match info.issuer == info.subject {
                true => format!(": {} signed it itself", info.subject),
                false => format!(": it is signed by {}", info.issuer),
            });
            format!("no CA that we trust has issued the certificate{issuer} (trust the CA with --ca FILE)")
        }
        CertificateError::ExpiredContext { time, not_after } => format!(
            "the certificate expired on {}; today is {} by the clock of this host",
            date_of_unix(not_after.as_secs()),
            date_of_unix(time.as_secs())
        ),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "the certificate is not valid before {}; today is {} by the clock of this host",
            date_of_unix(not_before.as_secs()),
            date_of_unix(time.as_secs())
        ),
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names = info.as_ref().map_or(presented, |info| &info.names);
            let expected = expected.to_str();
            let expected = shown(&expected, LONGEST_PART);
            match names.len() {
                0 => format!(
                    "the certificate is for no name at all, so not for {expected} either (see --insecure)"
                ),
                _ => format!(
                    "the certificate is not for {expected}, but for {} (ask for one of them with --sni)",
                    some_of(names)
                ),
            }
        }
        CertificateError::BadEncoding => "the certificate cannot be read".to_owned(),
        CertificateError::Revoked => "the certificate was revoked".to_owned(),
        CertificateError::BadSignature => format!(
            "the certificate was not signed with the key of the trusted CA{}: is it another CA of the same name? Give \
             the file of the server's CA with --ca",
            about(|info| format!(" ({})", info.issuer))
        ),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "the certificate is not meant for a server (extended key usage)".to_owned()
        }
        _ if info.as_ref().is_some_and(|info| info.is_ca) => format!(
            "the server presents the certificate of a CA{}, and not one of its own: issue one for it with this CA",
            about(|info| format!(" ({})", info.subject))
        ),
        other => format!("the certificate is not valid: {}", shown(&other.to_string(), LONGEST_PART)),
    }
}

fn is_of_version(why: &PeerIncompatible) -> bool {
    matches!(
        why,
        PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::SupportedVersionsExtensionRequired
            | PeerIncompatible::Tls12NotOffered
            | PeerIncompatible::Tls12NotOfferedOrEnabled
    )
}

/// The version in the ServerHello at the start of these records, where it is older than TLS 1.2; TLS 1.3 calls itself
/// 1.2 here.
fn selected_version(records: &[u8]) -> Option<&'static str> {
    match records {
        // Record: type, version, length; message: type, length, version.
        [22, _, _, _, _, 2, _, _, _, 3, minor, ..] => match minor {
            0 => Some("SSL 3.0"),
            1 => Some("TLS 1.0"),
            2 => Some("TLS 1.1"),
            3 => Some("TLS 1.2"),
            _ => None,
        },
        _ => None,
    }
}

/// What the server answered instead of TLS: as text where it is text, in hexadecimal otherwise.
fn not_tls(first: &[u8]) -> String {
    let line = first.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let text =
        std::str::from_utf8(line).ok().filter(|text| !text.is_empty() && !text.contains(char::is_control));
    let answer = match text {
        _ if first.is_empty() => return "the server does not speak TLS on this port".to_owned(),
        Some(text) => format!("`{}`", shown(text, LONGEST_ANSWER)),
        None => first.iter().take(SHOWN_BYTES).map(|byte| format!("{byte:02x} ")).collect(),
    };
    format!("the server does not speak TLS on this port: it answered {}", answer.trim_end())
}

/// Protocols as in a sentence.
fn list(protocols: &[Vec<u8>]) -> String {
    protocols.iter().map(|name| String::from_utf8_lossy(name)).collect::<Vec<_>>().join(", ")
}

/// The first names, and how many others there are.
fn some_of(names: &[String]) -> String {
    let mut text: Vec<_> = names.iter().take(SHOWN_NAMES).map(|name| shown(name, LONGEST_PART)).collect();
    let more = names.len().saturating_sub(SHOWN_NAMES);
    if more > 0 {
        text.push(format!("{more} more").into());
    }
    text.join(", ")
}

/// The longest text of the server or of the library within a sentence, in characters.
const LONGEST_PART: usize = 100;

/// The longest line of an answer that is not TLS, in characters; or so many bytes of it.
const LONGEST_ANSWER: usize = 60;
const SHOWN_BYTES: usize = 16;

/// The names of a certificate that are listed.
const SHOWN_NAMES: usize = 5;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
    use rustls::OtherError;
    use rustls::pki_types::{ServerName, UnixTime};

    use super::*;

    fn words(error: impl Into<Error>, facts: &Facts<'_>) -> String {
        words_of(&error.into(), facts)
    }

    fn at(unix_s: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(unix_s))
    }

    /// A certificate with this common name, for these names.
    fn certificate(name: &str, names: &[&str], is_ca: bool) -> Vec<u8> {
        let mut params =
            CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        if is_ca {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn each_tls_error_has_its_handshake_failure() {
        let cases = [
            (Error::AlertReceived(AlertDescription::HandshakeFailure), HandshakeFailure::Alert),
            (Error::AlertReceived(AlertDescription::ProtocolVersion), HandshakeFailure::Version),
            (Error::AlertReceived(AlertDescription::NoApplicationProtocol), HandshakeFailure::Alpn),
            (CertificateError::UnknownIssuer.into(), HandshakeFailure::Untrusted),
            (CertificateError::NotValidForName.into(), HandshakeFailure::WrongName),
            (CertificateError::Expired.into(), HandshakeFailure::Expired),
            (CertificateError::NotValidYet.into(), HandshakeFailure::Expired),
            (CertificateError::BadSignature.into(), HandshakeFailure::Untrusted),
            (Error::NoCertificatesPresented, HandshakeFailure::Certificate),
            (PeerIncompatible::ServerDoesNotSupportTls12Or13.into(), HandshakeFailure::Version),
            (PeerIncompatible::NoCipherSuitesInCommon.into(), HandshakeFailure::Protocol),
            (PeerMisbehaved::SelectedUnofferedApplicationProtocol.into(), HandshakeFailure::Alpn),
            (InvalidMessage::InvalidContentType.into(), HandshakeFailure::NotTls),
            (InvalidMessage::MessageTooLarge.into(), HandshakeFailure::Protocol),
        ];
        cases.into_iter().for_each(|(error, failure)| assert_eq!(failure_of(&error), failure, "{error:?}"));
    }

    #[test]
    fn a_certificate_outside_its_dates_is_told_with_them() {
        let (january, november) = (at(1_767_312_000), at(1_795_305_600));
        let expired = CertificateError::ExpiredContext { time: november, not_after: january };
        let told = "the certificate expired on 2026-01-02; today is 2026-11-22 by the clock of this host";
        assert_eq!(words(expired, &Facts::default()), told);
        let early = CertificateError::NotValidYetContext { time: january, not_before: november };
        assert!(
            words(early, &Facts::default()).starts_with("the certificate is not valid before 2026-11-22")
        );
    }

    #[test]
    fn a_certificate_for_other_names_lists_them() {
        let wrong = || CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("other.example").unwrap(),
            presented: vec!["DnsName(\"raw\")".to_owned()],
        };
        let der = certificate(
            "x",
            &["a.example", "b.example", "192.0.2.1", "d.example", "e.example", "f.example"],
            false,
        );
        let facts = Facts { certificate: Some(&der), ..Facts::default() };
        let told = "the certificate is not for other.example, but for a.example, b.example, 192.0.2.1, d.example, \
                    e.example, 1 more (ask for one of them with --sni)";
        assert_eq!(words(wrong(), &facts), told);
        let der = certificate("x", &[], false);
        let facts = Facts { certificate: Some(&der), ..Facts::default() };
        assert!(
            words(wrong(), &facts)
                .starts_with("the certificate is for no name at all, so not for other.example")
        );
        assert!(words(wrong(), &Facts::default()).contains("raw"));
    }

    #[test]
    fn an_unknown_issuer_is_named() {
        let der = certificate("our \u{1b}[31mCA", &["a.example"], false);
        let facts = Facts { certificate: Some(&der), ..Facts::default() };
        let told = words(CertificateError::UnknownIssuer, &facts);
        assert!(told.contains("CN=our \\u{1b}[31mCA signed it itself") && told.contains("--ca"), "{told}");
        let told = words(CertificateError::UnknownIssuer, &Facts::default());
        assert_eq!(told, "no CA that we trust has issued the certificate (trust the CA with --ca FILE)");
    }

    #[test]
    fn the_certificate_of_a_ca_is_told_from_other_invalid_ones() {
        #[derive(Debug, thiserror::Error)]
        #[error("CaUsedAsEndEntity")]
        struct Reason;
        let other = || CertificateError::Other(OtherError(std::sync::Arc::new(Reason)));
        let (ca, leaf) = (certificate("our CA", &[], true), certificate("leaf", &[], false));
        let told = |der| words(other(), &Facts { certificate: Some(der), ..Facts::default() });
        assert!(told(&ca).contains("certificate of a CA (CN=our CA)"), "{}", told(&ca));
        assert!(told(&leaf).contains("not valid: "), "{}", told(&leaf));
    }

    #[test]
    fn an_answer_that_is_not_tls_is_shown() {
        let told = |first| words(InvalidMessage::InvalidContentType, &Facts { first, ..Facts::default() });
        let http = "the server does not speak TLS on this port: it answered `HTTP/1.1 400 Bad Request`";
        assert_eq!(told(b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n"), http);
        assert!(told(b"\0\x1d\x12\x34\x81\x01").ends_with("it answered 00 1d 12 34 81 01"));
        assert!(told(b"\x1b[2Jgone").ends_with("it answered 1b 5b 32 4a 67 6f 6e 65"));
        assert_eq!(told(b""), "the server does not speak TLS on this port");
        assert!(told(&[b'x'; 5_000]).len() < 200);
    }

    #[test]
    fn versions_and_protocols_without_a_common_one_are_named() {
        let first = [22, 3, 1, 0, 74, 2, 0, 0, 70, 3, 1, 9, 9];
        let facts = Facts { first: &first, ..Facts::default() };
        let told = words(PeerIncompatible::ServerDoesNotSupportTls12Or13, &facts);
        assert_eq!(told, "the server selected TLS 1.0, which we did not offer");
        let told = words(PeerIncompatible::ServerDoesNotSupportTls12Or13, &Facts::default());
        assert!(told.contains("--tls-version"), "{told}");
        let facts = Facts { offered: &[b"h2".to_vec()], ..Facts::default() };
        let told = words(Error::AlertReceived(AlertDescription::NoApplicationProtocol), &facts);
        assert_eq!(told, "no common ALPN: we offered h2, which the server does not support");
        assert!(no_protocol(facts.offered).contains("we offered h2, and the server selected nothing"));
    }

    #[test]
    fn alerts_have_the_names_of_rfc_8446() {
        let told = |code: u8| words_of_alert(AlertDescription::from(code), &[]);
        assert!(told(70).contains("protocol_version") && told(70).contains("--tls-version"), "{}", told(70));
        assert!(told(112).contains("unrecognized_name") && told(112).contains("--sni"), "{}", told(112));
        assert_eq!(told(200), "the server ended it with TLS alert 200");
    }
}
