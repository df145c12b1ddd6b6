//! Answers in octets: sections, compression, EDNS, and what does not fit.

use dnsdyno_responder::message::{BADVERS, FORMERR, Query};
use dnsdyno_wire::{HEADER_LEN, TYPE_OPT};
use domain::base::iana::Class;
use domain::base::message_builder::{RecordSectionBuilder, StaticCompressor};
use domain::base::{MessageBuilder, Record, Ttl};

use crate::answer::{Reply, ReplyKind};
use crate::rrset::RrSet;

/// How an answer is to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The most octets: of a UDP response what client and server take.
    pub(crate) limit: usize,
    /// What the OPT record says; `None` where there is none.
    pub(crate) edns_size: Option<u16>,
    /// TC=1 and no records, whatever there is to say.
    pub(crate) is_cut: bool,
}

/// Appends the answer to `out`; returns whether it was truncated.
pub(crate) fn encode(
    query: &[u8],
    parsed: &Query<'_>,
    reply: &Reply,
    shape: Shape,
    out: &mut Vec<u8>,
) -> bool {
    let [answer, authority, additional] =
        [&reply.answer, &reply.authority, &reply.additional].map(|sets| &sets[..]);
    // Addresses beside an answer may be left out; those of a referral may not (RFC 9471).
    let least = if reply.kind == ReplyKind::Referral { additional } else { &[] };
    let whole = [[answer, authority, additional], [answer, authority, least]];
    let fitting = whole.into_iter().find_map(|sections| {
        let octets = octets_of(query, parsed, reply, shape.edns_size, sections)?;
        (octets.len() <= shape.limit).then_some(octets)
    });
    if let Some(octets) = fitting.filter(|_| !shape.is_cut) {
        out.extend_from_slice(&octets);
        return false;
    }
    let begin = out.len();
    // Header, question and OPT fit into any limit that a query can ask for.
    out.extend(octets_of(query, parsed, reply, shape.edns_size, [&[], &[], &[]]).unwrap_or_default());
    if let Some(flags) = out.get_mut(begin + 2) {
        *flags |= TC;
    }
    true
}

/// Appends an answer without records to a query that cannot be served: what is echoed ends at `question_end`.
pub(crate) fn encode_refusal(query: &[u8], question_end: usize, rcode: u8, out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend_from_slice(&query[..question_end]);
    let header = &mut out[begin..begin + HEADER_LEN];
    header[2] = QR | header[2] & (OPCODE | RD);
    header[3] = rcode;
    header[4..12].fill(0);
    header[5] = u8::from(question_end > HEADER_LEN);
}

/// Appends the OPT record of an answer.
pub(crate) fn append_opt(size: u16, extended_rcode: u8, dnssec_ok: bool, begin: usize, out: &mut Vec<u8>) {
    let [high, low] = size.to_be_bytes();
    let [type_high, type_low] = TYPE_OPT.to_be_bytes();
    let flags = if dnssec_ok { 0x80 } else { 0 };
    out.extend_from_slice(&[0, type_high, type_low, high, low, extended_rcode, 0, flags, 0, 0, 0]);
    let count = u16::from_be_bytes([out[begin + 10], out[begin + 11]]).saturating_add(1);
    out[begin + 10..begin + 12].copy_from_slice(&count.to_be_bytes());
}

/// The answer to a query whose version of EDNS is not known.
pub(crate) fn encode_bad_version(query: &[u8], parsed: &Query<'_>, size: u16, out: &mut Vec<u8>) {
    let begin = out.len();
    encode_refusal(query, parsed.question_end, (BADVERS & 0xf) as u8, out);
    append_opt(size, (BADVERS >> 4) as u8, false, begin, out);
}

/// The answer of a server without EDNS to a query with it.
pub(crate) fn encode_formerr(query: &[u8], parsed: &Query<'_>, out: &mut Vec<u8>) {
    encode_refusal(query, parsed.question_end, FORMERR, out);
}

/// A response as resolvers give it, with these records as its answer, for a question as on the wire; `None` where it is
/// longer than any can be.
pub(crate) fn answer_octets(question: &[u8], rcode: u8, answer: &[RrSet]) -> Option<Vec<u8>> {
    let mut octets = sections_octets(question, [answer, &[], &[]])?;
    (octets[2], octets[3]) = (QR, rcode);
    octets[4..6].copy_from_slice(&[0, 1]);
    Some(octets)
}

/// The whole message; `None` where it is longer than any can be.
fn octets_of(
    query: &[u8],
    parsed: &Query<'_>,
    reply: &Reply,
    edns_size: Option<u16>,
    sections: [&[RrSet]; 3],
) -> Option<Vec<u8>> {
    let mut octets = sections_octets(&query[HEADER_LEN..parsed.question_end], sections)?;
    let header = &mut octets[..HEADER_LEN];
    header[..2].copy_from_slice(&query[..2]);
    let aa = if reply.is_authoritative { AA } else { 0 };
    header[2] = QR | query[2] & RD | aa;
    header[3] = reply.rcode;
    header[4..6].copy_from_slice(&[0, 1]);
    if let Some(size) = edns_size {
        let dnssec_ok = parsed.edns.as_ref().is_some_and(|edns| edns.dnssec_ok);
        append_opt(size, 0, dnssec_ok, 0, &mut octets);
    }
    Some(octets)
}

/// Header with its counts, question as it was asked, and records; `None` where they do not fit into a message.
fn sections_octets(question: &[u8], [answer, authority, additional]: [&[RrSet]; 3]) -> Option<Vec<u8>> {
    let target = StaticCompressor::new(Vec::with_capacity(TYPICAL));
    let mut builder = MessageBuilder::from_target(target).ok()?.question();
    let name = domain::base::Name::from_slice(&question[..question.len() - 4]).ok()?;
    let word = |at: usize| u16::from_be_bytes([question[at], question[at + 1]]);
    let (rtype, class) = (word(question.len() - 4), word(question.len() - 2));
    builder.push((name, rtype.into(), Class::from_int(class))).ok()?;
    builder.set_push_limit(MOST_OCTETS);
    let mut builder = builder.answer();
    push_all(&mut builder, answer)?;
    let mut builder = builder.authority();
    push_all(&mut builder, authority)?;
    let mut builder = builder.additional();
    push_all(&mut builder, additional)?;
    Some(builder.finish().into_target())
}

fn push_all(
    builder: &mut impl RecordSectionBuilder<StaticCompressor<Vec<u8>>>,
    sets: &[RrSet],
) -> Option<()> {
    for set in sets {
        for data in &set.data {
            let record = Record::new(&set.owner, Class::IN, Ttl::from_secs(set.ttl_s), data);
            builder.push(record).ok()?;
        }
    }
    Some(())
}

const QR: u8 = 0x80;
const OPCODE: u8 = 0x78;
const AA: u8 = 4;
const TC: u8 = 2;
const RD: u8 = 1;

/// Memory for a message without signatures.
const TYPICAL: usize = 512;

/// A message over TCP has 65,535 octets; an OPT record comes after this.
const MOST_OCTETS: usize = 65_000;
