//! What a hostile TLS server may do over DoT and DoH: each connection ends, by its own reason and in words.

mod hostile;

use std::fs;
use std::sync::Arc;

use dnsdyno_measure::{ConnectionEnd, Explanation, HandshakeFailure};
use dnsdyno_transport::stream::{DohTransport, DotTransport};
use dnsdyno_transport::tls::TlsTrust;
use dnsdyno_transport::{ConnectionEvent, Description, Open, Transport};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use hostile::{
    Conversation, Hostile, Meeting, Seen, answer, description, framed, query, records, tls_config,
    within_bound,
};

/// What a client reported until its connection to this server ended, with the words.
fn end_of<T: Transport + Open>(
    script: impl Fn(&mut Conversation) + Send + Sync + 'static,
    change: impl FnOnce(&mut Description) + Send + 'static,
) -> (Seen, Vec<Explanation>) {
    within_bound(move || {
        let server = Hostile::start(script);
        let mut description = description(server.address);
        change(&mut description);
        let mut meeting = Meeting::<T>::begin(&description);
        meeting.ask(1);
        meeting.until_end();
        (meeting.seen, meeting.transport.explanations())
    })
}

/// The same for a server that says `flight` after the ClientHello, and waits.
fn after(flight: Vec<u8>) -> (Seen, Vec<Explanation>) {
    let script = move |conversation: &mut Conversation| {
        conversation.hear();
        conversation.send(&flight);
        conversation.hear_all();
    };
    end_of::<DotTransport>(script, |_| {})
}

/// The same for an honest handshake with this configuration.
fn with<T: Transport + Open>(
    config: ServerConfig,
    change: impl FnOnce(&mut Description) + Send + 'static,
) -> (Seen, Vec<Explanation>) {
    let config = Arc::new(config);
    let script = move |conversation: &mut Conversation| {
        if let Some(mut secure) = conversation.secure(&config) {
            secure.hear_all();
        }
    };
    end_of::<T>(script, change)
}

/// Checks that the handshake failed for this reason, once, and that the words have `text`.
#[track_caller]
fn failed((seen, explanations): &(Seen, Vec<Explanation>), why: HandshakeFailure, text: &str) {
    let failures = seen.events.iter().filter(|event| matches!(event, ConnectionEvent::HandshakeFailed(_)));
    assert_eq!(failures.collect::<Vec<_>>(), [&ConnectionEvent::HandshakeFailed(why)], "{seen:?}");
    assert_eq!(seen.end(), Some(ConnectionEvent::Ended { end: ConnectionEnd::Handshake, answers: 0 }));
    let [Explanation { about, words }] = &explanations[..] else { panic!("{explanations:?}") };
    assert_eq!(about, &format!("handshake.{}", why.key()));
    assert!(words.contains(text) && !words.ends_with('.'), "{words}");
}

const HANDSHAKE: u8 = 22;

/// A message of the handshake, of zeros.
fn message(kind: u8, length: usize) -> Vec<u8> {
    let bytes = (length as u32).to_be_bytes();
    [&[kind, bytes[1], bytes[2], bytes[3]], &vec![0; length][..]].concat()
}

/// A ServerHello of TLS 1.2 with an ECDHE suite, without extensions.
fn server_hello() -> Vec<u8> {
    [&[2, 0, 0, 38, 3, 3][..], &[7; 32], &[0, 0xc0, 0x2f, 0]].concat()
}

#[test]
fn a_handshake_message_longer_than_the_library_takes_ends_the_connection() {
    for step in [1_000, 16_000, 100] {
        let told = after(records(HANDSHAKE, &message(2, 0xfff0), step));
        failed(&told, HandshakeFailure::TooLong, "more than a TLS handshake may have");
    }
}

#[test]
fn long_certificate_messages_and_records_of_one_byte_end_the_connection() {
    for (length, step) in [(65_450, 16_000), (65_530, 16_000), (3_000, 1), (20_000, 1)] {
        let flight =
            [records(HANDSHAKE, &server_hello(), 100), records(HANDSHAKE, &message(11, length), step)];
        let (seen, _) = after(flight.concat());
        assert!(
            seen.events.iter().any(|event| matches!(event, ConnectionEvent::HandshakeFailed(_))),
            "{seen:?}"
        );
    }
}

#[test]
fn a_flood_of_session_tickets_ends_the_connection() {
    let mut config = tls_config(&[]);
    config.send_tls13_tickets = 2_000;
    let (seen, explanations) = with::<DotTransport>(config, |_| {});
    assert_eq!(seen.end(), Some(ConnectionEvent::Ended { end: ConnectionEnd::Excess, answers: 0 }));
    assert!(explanations[0].words.contains("64 kB of TLS records without data"), "{explanations:?}");
}

#[test]
fn answers_in_the_same_segment_as_a_fatal_alert_are_counted() {
    let config = Arc::new(tls_config(&[]));
    let script = move |conversation: &mut Conversation| {
        let Some(mut secure) = conversation.secure(&config) else { return };
        secure.hear();
        let mut last = secure.records(&framed(&answer(1)));
        // What cannot be decrypted makes the server's library send an alert.
        secure.tls.read_tls(&mut &[&[23, 3, 3, 0, 40][..], &[0; 40]].concat()[..]).unwrap();
        assert!(secure.tls.process_new_packets().is_err());
        last.extend(secure.records(b""));
        secure.conversation.send(&last);
        secure.conversation.hear_all();
    };
    let (seen, explanations) = end_of::<DotTransport>(script, |_| {});
    assert_eq!(seen.answers, [answer(1)]);
    assert_eq!(seen.end(), Some(ConnectionEvent::Ended { end: ConnectionEnd::Error, answers: 1 }));
    assert!(explanations[0].words.contains("bad_record_mac"), "{explanations:?}");
}

#[test]
fn a_server_without_http_2_has_no_common_protocol() {
    let told = with::<DohTransport>(tls_config(&[b"http/1.1"]), |_| {});
    failed(&told, HandshakeFailure::Alpn, "no common ALPN: we offered h2, which the server does not support");
    let told = with::<DohTransport>(tls_config(&[]), |_| {});
    failed(&told, HandshakeFailure::Alpn, "no common ALPN: we offered h2, and the server selected nothing");
}

#[test]
fn a_server_that_does_not_speak_tls_is_quoted() {
    let told = after(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec());
    failed(&told, HandshakeFailure::NotTls, "it answered `HTTP/1.1 400 Bad Request`");
    let told = after(framed(&answer(1)));
    failed(&told, HandshakeFailure::NotTls, "it answered 00 1d 00 01 8");
}

#[test]
fn a_server_without_a_common_version_says_so_by_its_alert_or_its_choice() {
    // By an alert, a server that knows what it supports; by its choice, one of before TLS 1.2.
    let told = after(records(21, &[2, 70], 2));
    failed(&told, HandshakeFailure::Version, "none of the versions of TLS that we offered");
    let mut hello = server_hello();
    hello[5] = 1;
    let told = after(records(HANDSHAKE, &hello, 100));
    failed(&told, HandshakeFailure::Version, "selected TLS 1.0");
}

#[test]
fn alerts_are_named() {
    let told = after(records(21, &[2, 40], 2));
    failed(&told, HandshakeFailure::Alert, "handshake_failure: it supports none of our ciphers");
    let told = after(records(21, &[2, 112], 2));
    failed(&told, HandshakeFailure::Alert, "unrecognized_name");
}

#[test]
fn a_server_that_closes_or_resets_during_the_handshake_says_that_it_did() {
    let told = end_of::<DotTransport>(|conversation| drop(conversation.hear()), |_| {});
    failed(&told, HandshakeFailure::Closed, "closed the connection without an answer to our ClientHello");
    let reset = |conversation: &mut Conversation| {
        conversation.hear();
        conversation.reset();
    };
    failed(
        &end_of::<DotTransport>(reset, |_| {}),
        HandshakeFailure::Closed,
        "reset the connection without an answer",
    );
    let half = |conversation: &mut Conversation| {
        conversation.hear();
        conversation.send(&records(HANDSHAKE, &server_hello(), 100)[..20]);
    };
    failed(&end_of::<DotTransport>(half, |_| {}), HandshakeFailure::Closed, "in the middle of the handshake");
}

#[test]
fn a_handshake_that_does_not_end_is_told_as_such() {
    let short = |description: &mut Description| description.handshake_timeout_ns = 50_000_000;
    let told = end_of::<DotTransport>(Conversation::hear_all, short);
    failed(&told, HandshakeFailure::TimedOut, "did not answer our ClientHello in time");
    let begin = |conversation: &mut Conversation| {
        conversation.hear();
        conversation.send(&records(HANDSHAKE, &server_hello(), 100)[..20]);
        conversation.hear_all();
    };
    failed(&end_of::<DotTransport>(begin, short), HandshakeFailure::TimedOut, "--handshake-timeout");
}

/// A certificate of this CA, or the CA's own, changed.
fn presenting(
    authority: &CertifiedIssuer<'_, KeyPair>,
    change: impl FnOnce(&mut CertificateParams),
) -> ServerConfig {
    let mut params = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, "the server");
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    let mut config = tls_config(&[]);
    let chain = vec![CertificateDer::from(certificate.der().to_vec())];
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = provider.key_provider.load_private_key(key).unwrap();
    config.cert_resolver =
        Arc::new(rustls::sign::SingleCertAndKey::from(rustls::sign::CertifiedKey::new(chain, key)));
    config
}

#[test]
fn a_certificate_that_is_not_valid_is_told_by_what_is_wrong_with_it() {
    let authority = |name: &str| {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    };
    let (known, unknown) = (authority("the known CA"), authority("the unknown CA"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    fs::write(&file, known.pem()).unwrap();
    let told = |config| {
        let trust = TlsTrust::File(file.clone());
        with::<DotTransport>(config, |description| description.tls.trust = trust)
    };
    let expired = presenting(&known, |params| params.not_after = date_time_ymd(2020, 2, 29));
    failed(&told(expired), HandshakeFailure::Expired, "expired on 2020-02-29; today is 2");
    let early = presenting(&known, |params| params.not_before = date_time_ymd(2999, 1, 1));
    failed(&told(early), HandshakeFailure::Expired, "not valid before 2999-01-01; today is 2");
    let other = presenting(&known, |params| {
        params.subject_alt_names =
            CertificateParams::new(["a.example".to_owned()]).unwrap().subject_alt_names;
    });
    failed(&told(other), HandshakeFailure::WrongName, "not for localhost, but for a.example");
    let ca = presenting(&known, |params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    failed(&told(ca), HandshakeFailure::Certificate, "the certificate of a CA (CN=");
    failed(&told(presenting(&unknown, |_| {})), HandshakeFailure::Untrusted, "the unknown CA");
}

#[test]
fn what_the_server_shows_of_itself_is_kept() {
    let config = Arc::new(tls_config(&[b"dot"]));
    let script = move |conversation: &mut Conversation| {
        let Some(mut secure) = conversation.secure(&config) else { return };
        secure.hear();
        secure.send(&framed(&answer(1)));
        secure.hear_all();
    };
    let server = Hostile::start(script);
    let mut meeting = Meeting::<DotTransport>::begin(&description(server.address));
    assert_eq!(meeting.transport.peer(), None);
    meeting.ask(1);
    meeting.until("an answer", |seen| seen.answers == [answer(1)]);
    let peer = meeting.transport.peer().unwrap();
    assert_eq!((peer.tls_version.as_deref(), peer.alpn.as_deref()), (Some("TLS 1.3"), Some("dot")));
    assert_eq!(peer.cipher_suite.as_deref(), Some("TLS_AES_128_GCM_SHA256"));
    let info = dnsdyno_transport::tls::describe_certificate(&peer.certificates[0]).unwrap();
    assert_eq!(info.names, ["localhost", "127.0.0.1", "::1"]);
}

#[test]
fn an_answer_in_one_byte_records_is_read() {
    let config = Arc::new(tls_config(&[]));
    let script = move |conversation: &mut Conversation| {
        let Some(mut secure) = conversation.secure(&config) else { return };
        assert!(secure.hear().ends_with(&query(1)));
        for byte in framed(&answer(1)) {
            secure.send(&[byte]);
        }
        secure.hear_all();
    };
    let server = Hostile::start(script);
    let mut meeting = Meeting::<DotTransport>::begin(&description(server.address));
    meeting.ask(1);
    meeting.until("an answer", |seen| seen.answers == [answer(1)]);
}
