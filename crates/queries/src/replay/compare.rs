//! Whether an answer is the recorded one: its RCODE and its records, whatever their order, TTL and letter case.
//!
//! The records are those of the answer section; of a referral, which has none there, the NS records of the authority
//! section. OPT and TSIG are not compared. A signature is made anew from time to time: of RRSIG, what it covers and who
//! signed is compared, not when and the signature itself.

use std::collections::BTreeSet;

use domain::base::iana::Rtype;
use domain::base::message::RecordSection;
use domain::base::name::{ParsedName, ToName};
use domain::base::rdata::ComposeRecordData;
use domain::base::{Message, ParsedRecord};
use domain::rdata::AllRecordData;

/// How an answer compares with the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The same RCODE and records.
    Same,
    /// Another RCODE or other records.
    Different,
    /// A usable answer instead of an error.
    Better,
    /// An error instead of a usable answer.
    Worse,
}

/// Compares the present answer with the recorded one.
pub fn compare(recorded: &[u8], present: &[u8]) -> Compared {
    ComparedAnswer::of(present).against(&ComparedAnswer::of(recorded))
}

/// What is compared of an answer: nothing of a message that cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedAnswer(Option<Content>);

#[derive(Clone, Debug, PartialEq)]
struct Content {
    rcode: u16,
    is_truncated: bool,
    records: BTreeSet<ComparedRecord>,
}

/// Type, and canonical form without TTL.
type ComparedRecord = (u16, Vec<u8>);

impl ComparedAnswer {
    /// Reads a message.
    pub fn of(bytes: &[u8]) -> Self {
        let read = || {
            let message = Message::from_octets(bytes).ok()?;
            let rcode = dnsdyno_wire::peek(bytes).ok()?.rcode;
            Some(Content { rcode, is_truncated: message.header().tc(), records: records(&message)? })
        };
        ComparedAnswer(read())
    }

    /// Compares it with the one that was recorded.
    pub fn against(&self, recorded: &ComparedAnswer) -> Compared {
        match (recorded.is_usable(), self.is_usable()) {
            (false, true) => Compared::Better,
            (true, false) => Compared::Worse,
            _ if self == recorded => Compared::Same,
            _ => Compared::Different,
        }
    }

    /// Its RCODE; `None` where it cannot be read.
    pub fn rcode(&self) -> Option<u16> {
        self.0.as_ref().map(|content| content.rcode)
    }

    /// Whether a record of this type is compared.
    pub fn has_type(&self, rtype: u16) -> bool {
        self.0.iter().flat_map(|content| &content.records).any(|record| record.0 == rtype)
    }

    /// The same without its records of this type.
    #[must_use]
    pub fn without_type(mut self, rtype: u16) -> Self {
        self.0.iter_mut().for_each(|content| content.records.retain(|record| record.0 != rtype));
        self
    }

    /// Whether it says what there is, or that there is nothing.
    fn is_usable(&self) -> bool {
        matches!(self.0, Some(Content { rcode: NOERROR | NXDOMAIN, .. }))
    }
}

/// The records that are compared.
fn records(message: &Message<&[u8]>) -> Option<BTreeSet<ComparedRecord>> {
    let answer = set_of(message.answer().ok()?, |_| true)?;
    if !answer.is_empty() {
        return Some(answer);
    }
    set_of(message.authority().ok()?, |rtype| rtype == Rtype::NS)
}

fn set_of(
    section: RecordSection<'_, &[u8]>,
    is_compared: impl Fn(Rtype) -> bool,
) -> Option<BTreeSet<ComparedRecord>> {
    let mut set = BTreeSet::new();
    for record in section {
        let record = record.ok()?;
        if is_compared(record.rtype()) {
            set.insert((record.rtype().to_int(), canonical(&record)?));
        }
    }
    Some(set)
}

fn canonical(record: &ParsedRecord<'_, &[u8]>) -> Option<Vec<u8>> {
    let mut octets = Vec::new();
    record.owner().compose_canonical(&mut octets).ok()?;
    octets.extend_from_slice(&record.rtype().to_int().to_be_bytes());
    octets.extend_from_slice(&record.class().to_int().to_be_bytes());
    let parsed = record.to_any_record::<AllRecordData<&[u8], ParsedName<&[u8]>>>().ok()?;
    match parsed.data() {
        AllRecordData::Rrsig(signature) => {
            octets.extend_from_slice(&signature.type_covered().to_int().to_be_bytes());
            octets.push(signature.algorithm().to_int());
            signature.signer_name().compose_canonical(&mut octets).ok()?;
        }
        data => data.compose_canonical_rdata(&mut octets).ok()?,
    }
    Some(octets)
}

const NOERROR: u16 = 0;
const NXDOMAIN: u16 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// A response to `www.example A` with this RCODE and these records of the answer and authority sections.
    fn response(rcode: u8, answer: &[&[u8]], authority: &[&[u8]]) -> Vec<u8> {
        let mut message =
            vec![9, 9, 0x84, rcode, 0, 1, 0, answer.len() as u8, 0, authority.len() as u8, 0, 0];
        message.extend_from_slice(b"\x03www\x07example\x00\0\x01\0\x01");
        answer.iter().chain(authority).for_each(|record| message.extend_from_slice(record));
        message
    }

    const A1: &[u8] = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x01";
    const A1_LONGER_LIVED: &[u8] = b"\x03WWW\x07Example\x00\0\x01\0\x01\0\0\x0e\x10\0\x04\xc0\0\x02\x01";
    const A2: &[u8] = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x02";
    const NS: &[u8] = b"\xc0\x10\0\x02\0\x01\0\0\0\x3c\0\x05\x02ns\xc0\x10";
    const NS_WRITTEN_OUT: &[u8] = b"\xc0\x10\0\x02\0\x01\0\0\0\x05\0\x0c\x02NS\x07eXample\0";

    #[test]
    fn order_ttl_id_letter_case_and_compression_make_no_difference() {
        let recorded = response(0, &[A1, A2], &[]);
        let mut present = response(0, &[A2, A1_LONGER_LIVED], &[]);
        present[0] = 1;
        assert_eq!(compare(&recorded, &present), Compared::Same);
        let referrals = [response(0, &[], &[NS]), response(0, &[], &[NS_WRITTEN_OUT])];
        assert_eq!(compare(&referrals[0], &referrals[1]), Compared::Same);
    }

    #[test]
    fn other_records_or_another_rcode_are_different_and_errors_worse_or_better() {
        let [one, two, none] = [response(0, &[A1], &[]), response(0, &[A1, A2], &[]), response(0, &[], &[])];
        let (nxdomain, servfail, refused) =
            (response(3, &[], &[]), response(2, &[], &[]), response(5, &[], &[]));
        assert_eq!(compare(&one, &two), Compared::Different);
        assert_eq!(compare(&one, &none), Compared::Different);
        assert_eq!(compare(&one, &nxdomain), Compared::Different);
        assert_eq!(compare(&one, &servfail), Compared::Worse);
        assert_eq!(compare(&servfail, &nxdomain), Compared::Better);
        assert_eq!(compare(&servfail, &refused), Compared::Different);
        assert_eq!(compare(&servfail, &servfail), Compared::Same);
        assert_eq!(compare(&none, &response(0, &[], &[NS])), Compared::Different);
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_an_error() {
        let one = response(0, &[A1], &[]);
        assert_eq!(compare(&one, &one[..one.len() - 1]), Compared::Worse);
        assert_eq!(compare(&one, b"x"), Compared::Worse);
        assert_eq!(compare(b"x", &one), Compared::Better);
    }
}
