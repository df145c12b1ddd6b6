//! From a query to its response, without a socket and without a clock.
//!
//! [`answer`] alone decides the response. All transports call it, and the program in the kernel is tested
//! against the same [`cases`].
//!
//! ```text
//!  0        12            12+q                                        end
//!  +--------+-------------+----------------------------+-------------+
//!  | header | question, as| records of the rule;       | OPT, where  |
//!  |        | in the query| owners point into the      | the query   |
//!  |        |             | question (0xC00C)          | had one     |
//!  +--------+-------------+----------------------------+-------------+
//! ```
//!
//! What holds for every rule:
//!
//! - a packet with QR=1, or too short for a header, is not answered ([`Silence`]);
//! - an opcode other than QUERY gets NOTIMP; a class other than IN or ANY, and a zone transfer, REFUSED; a query
//!   that is incomplete, has no or several questions, or bytes after its end, FORMERR; an EDNS version other
//!   than 0 BADVERS: all without AA and without records;
//! - RD and CD are copied, RA and AD are clear, AA is set in responses of a rule;
//! - a query with an OPT record gets one in the response: our size [`EDNS_SIZE`], DO copied, no options. NOTIMP
//!   and FORMERR have none;
//! - over UDP a response longer than the size in the query's OPT (at least 512; 512 without OPT) is truncated:
//!   TC=1 and no records. No record set is sent in part.

mod cases;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use dnsdyno_wire::{
    CLASS_IN, FLAG_CD, FLAG_QR, FLAG_RD, FLAG_TC, HEADER_LEN, MIN_EDNS_SIZE, OPT_LEN, TYPE_A, TYPE_AAAA,
    TYPE_AXFR, TYPE_IXFR, TYPE_TXT,
};

use crate::message::{BADVERS, CLASS_ANY, Content, Parsed, Query, REFUSED, SERVFAIL, parse};
use crate::zone::Zone;

pub use crate::message::Silence;
pub use cases::{Case, Expected, ExpectedAnswer, cases};

/// How a well-formed query is answered.
#[derive(Clone, Debug)]
pub enum Rule {
    /// Every name exists: see [`Echo`].
    Echo(Echo),
    /// From a zone file: see [`Zone`].
    Zone(Arc<Zone>),
    /// One TXT record, padded so that the message, OPT included, has exactly this length; the
    /// shortest possible one where that is too short. The type of the record is TXT whatever QTYPE
    /// is.
    FixedSize {
        /// Length of the DNS message in bytes.
        bytes: u16,
    },
    /// Over UDP always TC=1 and no record; over TCP what the inner rule says.
    Truncate(Box<Rule>),
}

/// The rule by which every name has one A and one AAAA record; other types are empty (NOERROR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// The address for QTYPE A.
    pub a: Ipv4Addr,
    /// The address for QTYPE AAAA.
    pub aaaa: Ipv6Addr,
    /// The TTL of both, in seconds.
    pub ttl_s: u32,
}

impl Default for Echo {
    /// Addresses of the documentation ranges (RFC 5737, RFC 3849), for 300 s.
    fn default() -> Self {
        Echo {
            a: Ipv4Addr::new(192, 0, 2, 1),
            aaaa: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
            ttl_s: 300,
        }
    }
}

impl Default for Rule {
    fn default() -> Self {
        Rule::Echo(Echo::default())
    }
}

/// How a query was received, which limits the length of its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// In a UDP packet: up to the size in the query's OPT, or 512 bytes.
    Udp,
    /// Over a connection: up to 65,535 bytes.
    Tcp,
}

/// What [`answer`] did with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It appended a response.
    Answer {
        /// The extended RCODE.
        rcode: u16,
        /// Whether TC is set.
        truncated: bool,
    },
    /// It appended nothing.
    Silence(Silence),
}

/// Appends the response of `rule` to `message` to `out`. Allocates nothing but the growth of `out`.
pub fn answer(rule: &Rule, message: &[u8], via: Via, out: &mut Vec<u8>) -> Reply {
    let query = match parse(message) {
        Parsed::Query(query) => query,
        Parsed::Silence(silence) => return Reply::Silence(silence),
        Parsed::Refused { rcode, question_end } => {
            let start = out.len();
            begin(message, question_end, out);
            write_header(&mut out[start..], Header { rcode, ..Header::default() });
            return Reply::Answer { rcode: u16::from(rcode), truncated: false };
        }
    };
    let start = out.len();
    begin(message, query.question_end, out);
    let header = match refusal(&query) {
        Some(rcode) => {
            Header { rcode: (rcode & 0xF) as u8, extended: (rcode >> 4) as u8, ..Header::default() }
        }
        None => fill(rule, &query, via, start, out),
    };
    if let Some(edns) = &query.edns {
        push_opt(header.extended, edns.dnssec_ok, out);
    }
    write_header(&mut out[start..], Header { has_opt: query.edns.is_some(), ..header });
    Reply::Answer {
        rcode: u16::from(header.extended) << 4 | u16::from(header.rcode),
        truncated: header.truncated,
    }
}

/// All of the header that is not copied from the query.
#[derive(Clone, Copy, Debug, Default)]
struct Header {
    /// The lower 4 bits of the RCODE; the upper 8 go into the OPT record.
    rcode: u8,
    extended: u8,
    authoritative: bool,
    truncated: bool,
    answers: u16,
    authorities: u16,
    has_opt: bool,
}

/// The RCODE of a well-formed query that is refused before any rule.
fn refusal(query: &Query<'_>) -> Option<u16> {
    if query.edns.as_ref().is_some_and(|edns| edns.version != 0) {
        return Some(BADVERS);
    }
    let is_transfer = matches!(query.qtype, TYPE_IXFR | TYPE_AXFR);
    (is_transfer || !matches!(query.qclass, CLASS_IN | CLASS_ANY)).then_some(u16::from(REFUSED))
}

/// Appends the records of `rule`, and removes them again where they do not fit.
fn fill(rule: &Rule, query: &Query<'_>, via: Via, start: usize, out: &mut Vec<u8>) -> Header {
    let mut rule = rule;
    while let Rule::Truncate(inner) = rule {
        if via == Via::Udp {
            return Header { authoritative: true, truncated: true, ..Header::default() };
        }
        rule = inner;
    }
    let opt_len = if query.edns.is_some() { OPT_LEN } else { 0 };
    let content = match rule {
        Rule::Echo(echo) => fill_echo(echo, query.qtype, out),
        Rule::Zone(zone) => zone.fill(query, start, out),
        Rule::FixedSize { bytes } => {
            fill_to_size(usize::from(*bytes), start, opt_len, out);
            Content { answers: 1, ..Content::default() }
        }
        Rule::Truncate(_) => Content::default(), // taken off above
    };
    let whole = Header {
        rcode: content.rcode,
        authoritative: content.rcode != REFUSED,
        answers: content.answers,
        authorities: content.authorities,
        ..Header::default()
    };
    let length = out.len() - start + opt_len;
    let limit = match via {
        Via::Udp => query.edns.as_ref().map_or(MIN_EDNS_SIZE, |edns| edns.size.max(MIN_EDNS_SIZE)),
        Via::Tcp => u16::MAX,
    };
    if length <= usize::from(limit) {
        return whole;
    }
    out.truncate(start + query.question_end);
    match via {
        Via::Udp => Header { truncated: true, answers: 0, authorities: 0, ..whole },
        // Nothing is longer than a TCP message: the zone has a record set that DNS cannot carry.
        Via::Tcp => Header { rcode: SERVFAIL, ..Header::default() },
    }
}

pub(crate) fn fill_echo(echo: &Echo, qtype: u16, out: &mut Vec<u8>) -> Content {
    match qtype {
        TYPE_A => push_record(TYPE_A, echo.ttl_s, &echo.a.octets(), out),
        TYPE_AAAA => push_record(TYPE_AAAA, echo.ttl_s, &echo.aaaa.octets(), out),
        _ => return Content::default(),
    }
    Content { answers: 1, ..Content::default() }
}

/// Appends a TXT record that makes the message, with an OPT of `opt_len`, `bytes` long.
fn fill_to_size(bytes: usize, start: usize, opt_len: usize, out: &mut Vec<u8>) {
    let head = out.len() - start + RECORD_HEAD_LEN + opt_len;
    // TXT data is a sequence of strings, each up to 255 bytes after its length: any length from 1 on.
    let mut left = bytes.saturating_sub(head).clamp(1, usize::from(u16::MAX));
    push_record_head(TYPE_TXT, PADDING_TTL_S, left as u16, out);
    while left > 0 {
        let text = (left - 1).min(255);
        out.push(text as u8);
        out.resize(out.len() + text, b'x');
        left -= 1 + text;
    }
}

/// Appends a record of the question's name.
fn push_record(rtype: u16, ttl_s: u32, data: &[u8], out: &mut Vec<u8>) {
    push_record_head(rtype, ttl_s, data.len() as u16, out);
    out.extend_from_slice(data);
}

#[inline]
fn push_record_head(rtype: u16, ttl_s: u32, data_len: u16, out: &mut Vec<u8>) {
    let (t, s, l) = (rtype.to_be_bytes(), ttl_s.to_be_bytes(), data_len.to_be_bytes());
    out.extend_from_slice(&[0xC0, 0x0C, t[0], t[1], 0, CLASS_IN as u8, s[0], s[1], s[2], s[3], l[0], l[1]]);
}

#[inline]
fn push_opt(extended_rcode: u8, dnssec_ok: bool, out: &mut Vec<u8>) {
    let size = EDNS_SIZE.to_be_bytes();
    let flags = if dnssec_ok { 0x80 } else { 0 };
    out.extend_from_slice(&[0, 0, 41, size[0], size[1], extended_rcode, 0, flags, 0, 0, 0]);
}

/// Appends header and question of the query; [`write_header`] then sets the header.
#[inline]
fn begin(message: &[u8], question_end: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&message[..question_end.max(HEADER_LEN)]);
}

#[inline]
fn write_header(response: &mut [u8], header: Header) {
    let asked = u16::from_be_bytes([response[2], response[3]]);
    let mut flags = FLAG_QR | (asked & (OPCODE_MASK | FLAG_RD | FLAG_CD)) | u16::from(header.rcode);
    if header.authoritative {
        flags |= FLAG_AA;
    }
    if header.truncated {
        flags |= FLAG_TC;
    }
    let questions = u16::from(response.len() > HEADER_LEN);
    let words = [flags, questions, header.answers, header.authorities, u16::from(header.has_opt)];
    for (place, word) in response[2..HEADER_LEN].chunks_exact_mut(2).zip(words) {
        place.copy_from_slice(&word.to_be_bytes());
    }
}

/// The UDP payload size in our OPT records: the size of DNS flag day 2020, which avoids fragments.
pub const EDNS_SIZE: u16 = 1232;

const FLAG_AA: u16 = 0x0400;
const OPCODE_MASK: u16 = 0x7800;

/// Owner pointer, type, class, TTL and data length.
const RECORD_HEAD_LEN: usize = 12;

/// Padding is worth no cache.
const PADDING_TTL_S: u32 = 0;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_case_of_the_table_is_answered_as_it_says() {
        let mut failures = Vec::new();
        for case in cases() {
            let mut out = Vec::new();
            let silent = matches!(answer(&case.rule, &case.query, case.via, &mut out), Reply::Silence(_));
            assert_eq!(silent, out.is_empty(), "{}", case.name);
            if let Err(difference) = case.check((!silent).then_some(&out)) {
                failures.push(format!("{}: {difference}", case.name));
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }

    #[test]
    fn the_reply_agrees_with_the_bytes() {
        for case in cases() {
            let mut out = Vec::new();
            let Reply::Answer { rcode, truncated } = answer(&case.rule, &case.query, case.via, &mut out)
            else {
                continue;
            };
            let peek = dnsdyno_wire::peek(&out).unwrap();
            assert_eq!((peek.rcode, peek.is_truncated()), (rcode, truncated), "{}", case.name);
        }
    }

    #[test]
    fn a_response_is_appended_to_the_buffer() {
        for case in cases() {
            let (mut alone, mut behind) = (Vec::new(), b"before".to_vec());
            answer(&case.rule, &case.query, case.via, &mut alone);
            answer(&case.rule, &case.query, case.via, &mut behind);
            assert_eq!(behind, [b"before", &alone[..]].concat(), "{}", case.name);
        }
    }

    fn rules() -> Vec<Rule> {
        let mut rules: Vec<Rule> = cases().into_iter().map(|case| case.rule).collect();
        rules.dedup_by(|a, b| format!("{a:?}") == format!("{b:?}"));
        rules
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic_and_responses_are_always_readable(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..300),
            looks_like_a_query in any::<bool>(),
        ) {
            if looks_like_a_query && bytes.len() >= HEADER_LEN {
                bytes[2..12].copy_from_slice(&[1, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
            }
            check_answers(&bytes)?;
        }

        #[test]
        fn a_query_with_any_byte_changed_is_answered_or_refused_in_form(
            which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
            cut in any::<prop::sample::Index>(), do_cut in any::<bool>(),
        ) {
            let all = cases();
            let mut bytes = which.get(&all).query.clone();
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if do_cut && !bytes.is_empty() {
                bytes.truncate(cut.index(bytes.len()));
            }
            check_answers(&bytes)?;
        }

        #[test]
        fn a_fixed_size_is_met_exactly_over_tcp(bytes in 80..=u16::MAX, edns in any::<bool>()) {
            let mut form = dnsdyno_wire::QueryForm::default();
            if edns {
                form.edns_size = Some(1232);
            }
            let mut query = Vec::new();
            form.encode(b"\x03www\x07example\x00", 1, &mut query);
            let mut out = Vec::new();
            answer(&Rule::FixedSize { bytes }, &query, Via::Tcp, &mut out);
            prop_assert_eq!(out.len(), usize::from(bytes));
        }
    }

    fn check_answers(bytes: &[u8]) -> Result<(), TestCaseError> {
        for rule in rules() {
            for via in [Via::Udp, Via::Tcp] {
                let mut out = Vec::new();
                if let Reply::Answer { .. } = answer(&rule, bytes, via, &mut out) {
                    prop_assert_eq!(&out[..2], &bytes[..2]);
                    prop_assert!(dnsdyno_wire::peek(&out).is_ok());
                    let message = domain::base::Message::from_octets(&out[..]).unwrap();
                    prop_assert!(message.sections().is_ok());
                } else {
                    prop_assert!(out.is_empty());
                }
            }
        }
        Ok(())
    }
}
