//! Signatures are what others make, and only what was signed is accepted.

use dnsdyno_wire::{QueryForm, encode_name};

use super::*;

const NOW: u64 = 1_700_000_000;
const NOTAUTH: u16 = 9;

fn key(algorithm: &str) -> TsigKey {
    TsigKey::parse(&format!("{algorithm}:key.example:c2VjcmV0IQ==")).unwrap()
}

fn query() -> Vec<u8> {
    let (mut name, mut message) = (Vec::new(), Vec::new());
    encode_name(b"www.example", &mut name).unwrap();
    QueryForm { edns_size: Some(1232), ..QueryForm::default() }.encode(&name, 1, &mut message);
    message[..2].copy_from_slice(&[0x12, 0x34]);
    message
}

/// A response of the server, signed as RFC 8945 says, with code of its own; `other` follows the error.
fn response(key: &TsigKey, request_mac: &[u8], time: u64, error: u16, other: &[u8]) -> Vec<u8> {
    let mut message = query();
    message[2] |= 0x80;
    if error != 0 {
        message[3] |= NOTAUTH as u8;
    }
    let mut variables =
        [&key.name[..], &[0, 255, 0, 0, 0, 0], key.algorithm.wire(), &time.to_be_bytes()[2..]].concat();
    variables.extend_from_slice(&300u16.to_be_bytes());
    variables.extend_from_slice(&error.to_be_bytes());
    variables.extend_from_slice(&(other.len() as u16).to_be_bytes());
    variables.extend_from_slice(other);
    let mut mac = [0; LONGEST_MAC];
    let length = (request_mac.len() as u16).to_be_bytes();
    let keyed = Keyed::new(key.algorithm, key.secret.exposed()).unwrap();
    keyed.mac(&[&length, request_mac, &message, &variables], &mut mac);
    append(&mut message, key, time, &mac[..key.algorithm.mac_len()], error, other);
    message
}

fn append(message: &mut Vec<u8>, key: &TsigKey, time: u64, mac: &[u8], error: u16, other: &[u8]) {
    let mut data = [key.algorithm.wire(), &time.to_be_bytes()[2..], &300u16.to_be_bytes()].concat();
    data.extend_from_slice(&(mac.len() as u16).to_be_bytes());
    data.extend_from_slice(mac);
    data.extend_from_slice(&[0x12, 0x34]);
    data.extend_from_slice(&error.to_be_bytes());
    data.extend_from_slice(&(other.len() as u16).to_be_bytes());
    data.extend_from_slice(other);
    message.extend_from_slice(&key.name);
    message.extend_from_slice(&[0, 250, 0, 255, 0, 0, 0, 0]);
    message.extend_from_slice(&(data.len() as u16).to_be_bytes());
    message.extend_from_slice(&data);
    message[11] += 1;
}

fn signed(key: &TsigKey) -> (Signing, Vec<u8>, Vec<u8>) {
    let (mut signing, mut message) = (Signing::new(key), query());
    let mac = signing.sign(&mut message, NOW)[..key.algorithm.mac_len()].to_vec();
    (signing, message, mac)
}

#[test]
fn a_query_is_signed_over_its_message_key_and_time() {
    let key = key("hmac-md5");
    let (_, message, mac) = signed(&key);
    let mut want = query();
    append(&mut want, &key, NOW, &mac, 0, &[]);
    assert_eq!(message, want);
    assert_eq!(message.len() - query().len(), record_len(&key));
}

/// `www.example.com A` with EDNS of 4096 bytes and DO, as dnsperf 2.10 signed it at these instants.
#[test]
fn signatures_are_those_of_dnsperf() {
    let (mut name, mut plain) = (Vec::new(), Vec::new());
    encode_name(b"www.example.com", &mut name).unwrap();
    let form = QueryForm { edns_size: Some(4096), dnssec_ok: true, ..QueryForm::default() };
    form.encode(&name, 1, &mut plain);
    for (algorithm, time, mac) in [
        ("hmac-md5", 0x6b03444c, "52166ce47ae6b0ef299cb9a94f32e4ea"),
        ("hmac-sha1", 0x6b034453, "b62e63f02c770c84f22b2c0aa48794d3941b107f"),
        ("hmac-sha224", 0x6b03445b, "4712a5b7d9a552fcfb23048c5be01e2b99f15f5429dd18368e38485f"),
        ("hmac-sha256", 0x6b034463, "612f78d975102d8d2116fa98ee622c61e0cfc5b20a7e0baf219e547e642fa7f4"),
        (
            "hmac-sha384",
            0x6b03446a,
            "7a72a808133aaacc4fddd5d004529b1d4f923f18f12cf761060f4f9af4ca2f990b9c050e5d56b0442dc23af0b98e5e34",
        ),
        (
            "hmac-sha512",
            0x6b034471,
            "df1ee6d08f6e3fecc298e2dd534429f00964f5d9acf6976bf0b394cead3fa1d4\
             f38d01952b9f45c464d9f6f09c0e5c7ec9a5bf63da29723ac1a77c01ea18f9f0",
        ),
    ] {
        let key = TsigKey::parse(&format!("{algorithm}:Key.Example:AAECAwQFBgcICQoLDA0ODxAREhM=")).unwrap();
        let mut message = plain.clone();
        Signing::new(&key).sign(&mut message, time);
        // What follows the MAC: the original ID, no error, no other data.
        let end = message.len() - 6;
        let sent: String =
            message[end - mac.len() / 2..end].iter().map(|octet| format!("{octet:02x}")).collect();
        assert_eq!(sent, mac, "{algorithm}");
        assert_eq!(message.len() - plain.len(), record_len(&key));
    }
}

#[test]
fn a_response_is_accepted_with_each_algorithm_and_truncated() {
    for algorithm in [
        "hmac-md5",
        "hmac-sha1",
        "hmac-sha224",
        "hmac-sha256",
        "hmac-sha384",
        "hmac-sha512",
        "hmac-sha256-128",
    ] {
        let key = key(algorithm);
        let (signing, _, mac) = signed(&key);
        let response = response(&key, &mac, NOW, 0, &[]);
        assert_eq!(signing.verify(&response, 0, &mac, NOW), TsigFound::Verified(0), "{algorithm}");
        // Over HTTP and QUIC the ID on the wire is another one.
        let other_id = [&[0, 0], &response[2..]].concat();
        assert_eq!(signing.verify(&other_id, 0, &mac, NOW), TsigFound::Verified(0), "{algorithm}");
    }
}

#[test]
fn any_octet_that_is_changed_makes_a_response_unacceptable() {
    let key = key("hmac-sha256");
    let (signing, _, mac) = signed(&key);
    let whole = response(&key, &mac, NOW, 0, &[]);
    for at in 2..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x01;
        // The case of names is not signed; neither are the class and TTL of the TSIG record, which are constants.
        let found = signing.verify(&changed, 0, &mac, NOW);
        let is_constant = at >= query().len() + key.name.len() + 2 && at < query().len() + key.name.len() + 8;
        assert!(matches!(found, TsigFound::Failed(_)) || is_constant, "octet {at}: {found:?}");
        assert!(matches!(signing.verify(&whole[..at], 0, &mac, NOW), TsigFound::Failed(_)), "cut at {at}");
    }
    let other_query = [&mac[1..], &[7]].concat();
    let found = signing.verify(&whole, 0, &other_query, NOW);
    assert_eq!(found, TsigFound::Failed(TsigFailure::BadSignature));
}

#[test]
fn each_failure_has_its_reason() {
    let key = key("hmac-sha256");
    let (signing, _, mac) = signed(&key);
    let failed = |response: &[u8]| match signing.verify(response, 0, &mac, NOW) {
        TsigFound::Failed(why) => Some(why),
        _ => None,
    };
    assert_eq!(failed(&response(&key, &mac, NOW + 301, 0, &[])), Some(TsigFailure::BadTime));
    assert_eq!(failed(&response(&key, &mac, NOW - 300, 0, &[])), None);
    let other = TsigKey::parse("hmac-sha256:other.example:c2VjcmV0IQ==").unwrap();
    assert_eq!(failed(&response(&other, &mac, NOW, 0, &[])), Some(TsigFailure::BadKey));
    let truncated = TsigKey::parse("hmac-sha256-128:key.example:c2VjcmV0IQ==").unwrap();
    assert_eq!(failed(&response(&truncated, &mac, NOW, 0, &[])), Some(TsigFailure::BadTruncation));
    assert_eq!(failed(&query()), Some(TsigFailure::Unsigned));
    let mut not_last = response(&key, &mac, NOW, 0, &[]);
    not_last.extend_from_slice(b"\0\0\x29\x04\xd0\0\0\0\0\0\0");
    not_last[11] += 1;
    assert_eq!(failed(&not_last), Some(TsigFailure::Malformed));
}

#[test]
fn an_error_may_be_unsigned_and_a_signed_one_is_verified() {
    let key = key("hmac-sha256");
    let (signing, _, mac) = signed(&key);
    assert_eq!(signing.verify(&query(), NOTAUTH, &mac, NOW), TsigFound::UnsignedError(0));
    let mut bad_key = query();
    append(&mut bad_key, &key, NOW, &[], 17, &[]);
    assert_eq!(signing.verify(&bad_key, NOTAUTH, &mac, NOW), TsigFound::UnsignedError(17));
    // An empty MAC is accepted with an error only.
    assert_eq!(signing.verify(&bad_key, 0, &mac, NOW), TsigFound::Failed(TsigFailure::Malformed));
    let bad_time = response(&key, &mac, NOW, 18, &(NOW + 1_000).to_be_bytes()[2..]);
    assert_eq!(signing.verify(&bad_time, NOTAUTH, &mac, NOW), TsigFound::Verified(18));
}

#[test]
fn the_messages_after_the_first_of_a_response_are_not_checked() {
    let key = key("hmac-sha256");
    let mut worker = Signer::maker(key.clone(), true).begin(WorkerShare {
        worker: 0,
        workers: 1,
        start_unix_ns: NOW * SECOND_NS,
    });
    worker.prepare(4, 1);
    let mut message = query();
    worker.make(
        &QueryToMake { number: 0, question: 0, channel: 0, slot: 3, due_ns: 0, at_ns: 0 },
        &mut message,
    );
    let (_, want, mac) = signed(&key);
    assert_eq!(message, want);
    let mut check = |slot, bytes: &[u8]| {
        worker.check(&ResponseToCheck { slot, channel: 0, at_ns: 0, rcode: 0, bytes }).tsig
    };
    assert_eq!(check(3, &query()), Some(TsigFound::Failed(TsigFailure::Unsigned)));
    assert_eq!(check(3, &response(&key, &mac, NOW, 0, &[])), Some(TsigFound::Verified(0)));
    assert_eq!(check(3, &query()), Some(TsigFound::NotChecked));
}
