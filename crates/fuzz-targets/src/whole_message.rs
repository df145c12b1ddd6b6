//! Whole messages: their records, and what the crate `domain` reads of the same octets.

use dnsdyno_queries::replay::{Compared, ComparedAnswer};
use dnsdyno_wire::{
    Additional, AnswerDigest, CanonicalName, HEADER_LEN, MAX_NAME_LEN, Malformed, RecordAt, Records, edns_of,
    peek,
};
use domain::base::Message;
use domain::base::iana::Rtype;
use domain::base::name::ToName;

/// The records of a message, its EDNS, and what is compared of answers.
pub fn message_records(message: &[u8]) {
    let found = peek(message);
    let mut at = HEADER_LEN + found.as_ref().map_or(0, |found| found.question.len());
    if let (Ok(_), Ok(answers)) = (&found, Records::of_answer(message)) {
        for record in answers.map_while(Result::ok) {
            assert_eq!(record.start, at, "records follow each other");
            at = record.end;
            is_within(message, &record);
        }
    }
    if let Ok(additional) = Additional::of(message) {
        let most = additional.remaining();
        let records = additional.map_while(Result::ok).inspect(|record| is_within(message, record));
        assert!(records.count() <= usize::from(most));
    }
    if let Some(edns) = edns_of(message) {
        let options: usize = edns.options().map(|(_, data)| 4 + data.len()).sum();
        assert!(options <= message.len());
    }
    let (digest, answer) = (AnswerDigest::of(message), ComparedAnswer::of(message));
    assert!(digest.is_err() || found.is_ok());
    // What follows the records is no part of the answer.
    let longer = [message, b"\0\xc0\x0c"].concat();
    if message.len() >= HEADER_LEN && digest.is_ok() {
        assert_eq!(AnswerDigest::of(&longer), digest);
    }
    assert_eq!(answer.against(&answer), Compared::Same);
}

/// A record and its owner are in the message.
fn is_within(message: &[u8], record: &RecordAt) {
    assert!(record.start < record.data && record.data <= record.end && record.end <= message.len());
    let Ok((owner, end)) = CanonicalName::read(message, record.start) else { return };
    assert_eq!(end + 10, record.data);
    let name = owner.wire();
    assert!(name.len() <= MAX_NAME_LEN && name.last() == Some(&0));
    assert!(!name.iter().any(u8::is_ascii_uppercase));
    let again = CanonicalName::read(name, 0).expect("a name that was read is one");
    assert_eq!((again.0.wire(), again.1), (name, name.len()));
}

/// What the engine reads of a packet is what the crate `domain` reads of it.
///
/// The two differ on purpose where a question is compressed, which the peek refuses, and in how much of a damaged
/// message they read: so what both have read is compared.
pub fn peek_against_domain(packet: &[u8]) {
    let found = peek(packet);
    let Ok(message) = Message::from_octets(packet) else {
        return assert_eq!(found, Err(Malformed::ShortHeader));
    };
    let (header, counts) = (message.header(), message.header_counts());
    let is_one = counts.qdcount() == 1;
    let question = message.question().next();
    let Ok(found) = found else {
        // A question alone is refused for its form only.
        if let Some(Ok(question)) = question.filter(|_| is_one && counts.arcount() == 0) {
            // `domain` calls a name not compressed that is a pointer and nothing else.
            let is_pointer = packet.get(HEADER_LEN).is_some_and(|octet| *octet >= 0xc0);
            assert!(is_pointer || question.qname().is_compressed(), "{found:?} for {question:?}");
        }
        return;
    };
    assert_eq!(found.id, header.id());
    assert_eq!(found.is_response(), header.qr());
    assert_eq!(found.is_truncated(), header.tc());
    assert_eq!(found.opcode(), header.opcode().to_int());
    assert_eq!(found.rcode & 0xf, u16::from(header.rcode().to_int()));
    match question {
        None => assert!(found.question.is_empty()),
        Some(question) => {
            let question = question.expect("a question that the peek has found");
            assert_eq!(found.qname(), question.qname().to_vec().as_slice());
            assert_eq!(found.qtype(), Some(question.qtype().to_int()));
        }
    }
    if let Some(opt) = first_opt(packet) {
        assert_eq!(found.rcode >> 4, u16::from(opt), "the extended RCODE");
    }
    same_owners(packet);
}

/// The upper octet of the RCODE in the first OPT record, 0 without one; `None` where the message is damaged before it.
fn first_opt(packet: &[u8]) -> Option<u8> {
    let message = Message::from_octets(packet).ok()?;
    for record in message.additional().ok()? {
        let record = record.ok()?;
        if record.rtype() == Rtype::OPT && record.owner().is_root() && !record.owner().is_compressed() {
            return record.ttl().as_secs().to_be_bytes().first().copied();
        }
    }
    Some(0)
}

/// The owners and places of the records of the answer section.
fn same_owners(packet: &[u8]) {
    let Ok(message) = Message::from_octets(packet) else { return };
    let (Ok(ours), Ok(theirs)) = (Records::of_answer(packet), message.answer()) else { return };
    for (ours, theirs) in ours.zip(theirs) {
        let (Ok(ours), Ok(theirs)) = (ours, theirs) else { return };
        assert_eq!((ours.rtype, ours.class), (theirs.rtype().to_int(), theirs.class().to_int()));
        assert_eq!((ours.ttl, ours.end - ours.data), (theirs.ttl().as_secs(), usize::from(theirs.rdlen())));
        if let Ok((name, _)) = CanonicalName::read(packet, ours.start) {
            let theirs: Vec<u8> = theirs.owner().to_vec().as_slice().to_ascii_lowercase();
            assert_eq!(name.wire(), theirs);
        }
    }
}
