//! What a response says, as a number: equal for two responses that say the same in another order, with other TTLs,
//! letter cases or compression.
//!
//! Compared are the RCODE and the records of the answer section; of a referral, which has none there, the NS records of
//! the authority section. A signature is made anew from time to time: of RRSIG, what it covers and who signed is
//! compared, not when and the signature itself. Nothing is allocated, so that a worker can do it for each response.

use std::hash::{DefaultHasher, Hasher};

use crate::header::HEADER_LEN;
use crate::peek::{Malformed, Peek, peek};
use crate::records::{CanonicalName, RecordAt, record_at};
use crate::types::TYPE_NS;

/// What a response says. For a comparison with others of the same run only: another version may hash in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerDigest(pub u64);

impl AnswerDigest {
    /// Reads a whole response.
    ///
    /// # Errors
    /// If it is no message with at most one question, or its records do not fit it.
    pub fn of(bytes: &[u8]) -> Result<AnswerDigest, Malformed> {
        AnswerDigest::of_peeked(&peek(bytes)?, bytes)
    }

    /// The same of a response that was [peeked](peek) at.
    ///
    /// # Errors
    /// If its records do not fit it.
    pub fn of_peeked(peeked: &Peek<'_>, bytes: &[u8]) -> Result<AnswerDigest, Malformed> {
        let count = |at: usize| match bytes.get(at..at + 2) {
            Some([high, low]) => u16::from_be_bytes([*high, *low]),
            _ => 0,
        };
        let (answers, authorities) = (count(6), count(8));
        let mut at = HEADER_LEN + peeked.question.len();
        let (mut found, mut sum) = (0_u16, 0_u64);
        for _ in 0..answers {
            let record = record_at(bytes, at)?;
            (found, sum, at) = (found + 1, sum.wrapping_add(hash_of(bytes, &record)?), record.end);
        }
        if answers == 0 {
            for _ in 0..authorities {
                let record = record_at(bytes, at)?;
                if record.rtype == TYPE_NS {
                    (found, sum) = (found + 1, sum.wrapping_add(hash_of(bytes, &record)?));
                }
                at = record.end;
            }
        }
        let mut hasher = DefaultHasher::new();
        hasher.write_u16(peeked.rcode);
        hasher.write_u8(u8::from(answers > 0));
        hasher.write_u16(found);
        hasher.write_u64(sum);
        Ok(AnswerDigest(hasher.finish()))
    }
}

/// The hash of a record without its TTL. Those of several are added, so that their order makes no difference.
fn hash_of(bytes: &[u8], record: &RecordAt) -> Result<u64, Malformed> {
    let mut hasher = DefaultHasher::new();
    hasher.write(CanonicalName::read(bytes, record.start)?.0.wire());
    hasher.write_u16(record.rtype);
    hasher.write_u16(record.class);
    let mut at = record.data;
    for part in layout(record.rtype) {
        at = match part {
            Part::Octets(length) => {
                let octets = bytes.get(at..at + length).filter(|_| at + length <= record.end);
                hasher.write(octets.ok_or(Malformed::CutRecord)?);
                at + length
            }
            Part::Skipped(length) => at + length,
            Part::String => {
                let length = 1 + usize::from(*bytes.get(at).ok_or(Malformed::CutRecord)?);
                let octets = bytes.get(at..at + length).filter(|_| at + length <= record.end);
                hasher.write(octets.ok_or(Malformed::CutRecord)?);
                at + length
            }
            Part::Name => {
                let (name, end) = CanonicalName::read(bytes, at)?;
                hasher.write(name.wire());
                end
            }
            Part::NoMore => record.end,
        };
        if at > record.end {
            return Err(Malformed::CutRecord);
        }
    }
    hasher.write(&bytes[at..record.end]);
    Ok(hasher.finish())
}

/// A part of the data of a record.
#[derive(Clone, Copy)]
enum Part {
    /// Octets that are compared.
    Octets(usize),
    /// Octets that are not.
    Skipped(usize),
    /// A character string: its length and its octets.
    String,
    /// A name, which may be compressed and has no case.
    Name,
    /// What follows is not compared.
    NoMore,
}

/// The parts of the data of a type, up to the last name in it; what follows is compared octet by octet. The types are
/// those whose names have no case (RFC 4034, 6.2, without those of RFC 6840, 5.1).
fn layout(rtype: u16) -> &'static [Part] {
    use Part::{Name, NoMore, Octets, Skipped, String};
    match rtype {
        // NS, MD, MF, CNAME, MB, MG, MR, PTR, DNAME.
        2..=5 | 7..=9 | 12 | 39 => &[Name],
        // SOA, MINFO, RP.
        6 | 14 | 17 => &[Name, Name],
        // MX, AFSDB, RT, KX.
        15 | 18 | 21 | 36 => &[Octets(2), Name],
        // PX.
        26 => &[Octets(2), Name, Name],
        // SRV.
        33 => &[Octets(6), Name],
        // NAPTR.
        35 => &[Octets(4), String, String, String, Name],
        // SIG, RRSIG: type covered, algorithm, labels and original TTL; expiration, inception and key tag; the signer.
        24 | 46 => &[Octets(8), Skipped(10), Name, NoMore],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A response to `www.example` with this RCODE and these records of the answer and authority sections.
    fn response(rcode: u8, answer: &[&[u8]], authority: &[&[u8]]) -> Vec<u8> {
        let mut message =
            vec![9, 9, 0x84, rcode, 0, 1, 0, answer.len() as u8, 0, authority.len() as u8, 0, 0];
        message.extend_from_slice(b"\x03www\x07example\x00\0\x01\0\x01");
        answer.iter().chain(authority).for_each(|record| message.extend_from_slice(record));
        message
    }

    fn digest(message: &[u8]) -> AnswerDigest {
        AnswerDigest::of(message).unwrap()
    }

    const A1: &[u8] = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x01";
    const A1_LONGER_LIVED: &[u8] = b"\x03WWW\x07Example\x00\0\x01\0\x01\0\0\x0e\x10\0\x04\xc0\0\x02\x01";
    const A2: &[u8] = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x02";
    const NS: &[u8] = b"\xc0\x10\0\x02\0\x01\0\0\0\x3c\0\x05\x02ns\xc0\x10";
    const NS_WRITTEN_OUT: &[u8] = b"\xc0\x10\0\x02\0\x01\0\0\0\x05\0\x0c\x02NS\x07eXample\0";
    const SOA: &[u8] = b"\xc0\x10\0\x06\0\x01\0\0\0\x3c\0\x18\xc0\x10\xc0\x10\
        \0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x05";

    #[test]
    fn order_ttl_letter_case_and_compression_make_no_difference() {
        let one = response(0, &[A1, A2], &[]);
        let mut other = response(0, &[A2, A1_LONGER_LIVED], &[]);
        other[0] = 1;
        assert_eq!(digest(&one), digest(&other));
        assert_eq!(digest(&response(0, &[], &[NS])), digest(&response(0, &[], &[NS_WRITTEN_OUT])));
        assert_eq!(digest(&response(3, &[], &[SOA])), digest(&response(3, &[], &[])), "SOA of a denial");
    }

    #[test]
    fn other_records_another_number_of_them_and_another_rcode_make_one() {
        let all = [
            response(0, &[A1], &[]),
            response(0, &[A2], &[]),
            response(0, &[A1, A2], &[]),
            response(0, &[A1, A1], &[]),
            response(0, &[], &[]),
            response(0, &[], &[NS]),
            response(0, &[NS], &[]),
            response(2, &[], &[]),
            response(3, &[], &[]),
        ];
        let digests: std::collections::HashSet<u64> = all.iter().map(|message| digest(message).0).collect();
        assert_eq!(digests.len(), all.len());
    }

    #[test]
    fn of_a_signature_what_it_covers_and_who_signed_is_compared() {
        let signature = |covered: u8, expires: u8, signer: &[u8], octets: &[u8]| {
            let mut data = vec![0, covered, 13, 2, 0, 0, 0, 60, 0, 0, 0, expires, 0, 0, 0, 1, 0, 7];
            data.extend_from_slice(signer);
            data.extend_from_slice(octets);
            let head = [b"\xc0\x0c\0\x2e\0\x01\0\0\0\x3c\0".as_slice(), &[data.len() as u8]].concat();
            digest(&response(0, &[&[head, data].concat()], &[]))
        };
        let first = signature(1, 1, b"\x07example\0", b"one");
        assert_eq!(first, signature(1, 9, b"\x07EXAMPLE\0", b"another"));
        assert_ne!(first, signature(28, 1, b"\x07example\0", b"one"));
        assert_ne!(first, signature(1, 1, b"\x07sample_\0", b"one"));
    }

    #[test]
    fn text_has_case_and_names_in_data_have_none() {
        let naptr = |service: &[u8], target: &[u8]| {
            let mut data = b"\0\x0a\0\x14\x01a".to_vec();
            data.push(service.len() as u8);
            data.extend_from_slice(service);
            data.push(0);
            data.extend_from_slice(target);
            let head = [b"\xc0\x0c\0\x23\0\x01\0\0\0\x3c\0".as_slice(), &[data.len() as u8]].concat();
            digest(&response(0, &[&[head, data].concat()], &[]))
        };
        assert_eq!(naptr(b"x-sgw:x-s5", b"\x01n\x07example\0"), naptr(b"x-sgw:x-s5", b"\x01N\xc0\x10"));
        assert_ne!(naptr(b"x-sgw:x-s5", b"\x01n\xc0\x10"), naptr(b"X-SGW:x-s5", b"\x01n\xc0\x10"));
    }

    #[test]
    fn a_response_cut_anywhere_is_malformed_or_has_fewer_records_and_is_never_read_past_its_end() {
        let whole = response(0, &[A1, NS, SOA, A2], &[]);
        for length in 0..whole.len() {
            assert!(AnswerDigest::of(&whole[..length]).is_err(), "{length}");
        }
        // The length of the data of the last record says less than its name has.
        let mut short = response(0, &[NS], &[]);
        let at = short.len() - 6;
        short[at] = 1;
        assert!(AnswerDigest::of(&short).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_octets_are_read_without_panic(octets in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
            let _ = AnswerDigest::of(&octets);
            let _ = AnswerDigest::of(&[&response(0, &[], &[])[..6], b"\0\x05\0\x05\0\0", &octets].concat());
        }
    }
}
