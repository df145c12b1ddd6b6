//! DNS messages as far as the responder needs them: reads a query (header, the one question, the OPT record), and
//! holds what the rules and the zone say of a response.

use dnsdyno_wire::{FLAG_QR, HEADER_LEN, MAX_LABEL_LEN, MAX_NAME_LEN, QUESTION_FIXED_LEN, TYPE_OPT};

/// A well-formed query.
#[derive(Debug)]
pub struct Query<'a> {
    /// The name of the question as on the wire: no pointer in it, root label included.
    pub qname: &'a [u8],
    /// The type of the question.
    pub qtype: u16,
    /// The class of the question.
    pub qclass: u16,
    /// Where the question ends in the message.
    pub question_end: usize,
    /// Its OPT record.
    pub edns: Option<Edns>,
}

/// The OPT record of a query. What its options say is ignored.
#[derive(Debug)]
pub struct Edns {
    /// The longest UDP payload that the client accepts, in bytes, as stated there.
    pub size: u16,
    /// The version of EDNS; 0 is the only one there is.
    pub version: u8,
    /// Whether the DO bit is set.
    pub dnssec_ok: bool,
}

/// Why a message gets no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// It is shorter than a DNS header.
    TooShort,
    /// It is a response itself (QR=1): two servers could answer each other for ever.
    NotAQuery,
}

/// What a rule says of its records, for the header.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Content {
    pub(crate) rcode: u8,
    pub(crate) answers: u16,
    pub(crate) authorities: u16,
}

/// What a message turned out to be.
#[derive(Debug)]
pub enum Parsed<'a> {
    /// A well-formed query.
    Query(Query<'a>),
    /// To be answered with this RCODE and the message up to `question_end` (where the header
    /// ends, if the question cannot be read).
    Refused {
        /// FORMERR or NOTIMP.
        rcode: u8,
        /// Where what is echoed ends.
        question_end: usize,
    },
    /// Not to be answered.
    Silence(Silence),
}

/// Parses a message. Every byte of it must belong to the header or a section.
pub fn parse(message: &[u8]) -> Parsed<'_> {
    let Some(header) = message.first_chunk::<HEADER_LEN>() else {
        return Parsed::Silence(Silence::TooShort);
    };
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let flags = word(2);
    if flags & FLAG_QR != 0 {
        return Parsed::Silence(Silence::NotAQuery);
    }
    let question = if word(4) == 1 { read_question(message) } else { None };
    let question_end = question.as_ref().map_or(HEADER_LEN, |query| query.question_end);
    if flags & OPCODE_MASK != OPCODE_QUERY {
        return Parsed::Refused { rcode: NOTIMP, question_end };
    }
    let records = [word(6), word(8), word(10)];
    match question.and_then(|query| read_records(message, query, records)) {
        Some(query) => Parsed::Query(query),
        None => Parsed::Refused { rcode: FORMERR, question_end },
    }
}

/// The question after the header; `None` where it breaks off or its name breaks a rule.
fn read_question(message: &[u8]) -> Option<Query<'_>> {
    let name_end = name_end(message, HEADER_LEN)?;
    let fixed = message.get(name_end..name_end + QUESTION_FIXED_LEN)?;
    Some(Query {
        qname: &message[HEADER_LEN..name_end],
        qtype: u16::from_be_bytes([fixed[0], fixed[1]]),
        qclass: u16::from_be_bytes([fixed[2], fixed[3]]),
        question_end: name_end + QUESTION_FIXED_LEN,
        edns: None,
    })
}

/// Walks the records behind the question for the OPT; `None` where one breaks off, there are two
/// OPT records, one is outside the additional section or one of its options breaks off, or bytes are
/// left at the end.
fn read_records<'a>(message: &'a [u8], mut query: Query<'a>, counts: [u16; 3]) -> Option<Query<'a>> {
    let mut at = query.question_end;
    for (section, count) in counts.into_iter().enumerate() {
        for _ in 0..count {
            let owner = at;
            at = record_owner_end(message, at)?;
            let fixed: &[u8; 10] = message.get(at..)?.first_chunk()?;
            let data_len = usize::from(u16::from_be_bytes([fixed[8], fixed[9]]));
            at += fixed.len() + data_len;
            let data = message.get(at - data_len..at)?;
            if u16::from_be_bytes([fixed[0], fixed[1]]) == TYPE_OPT {
                if section != ADDITIONAL || message[owner] != 0 || query.edns.is_some() || !are_options(data)
                {
                    return None;
                }
                query.edns = Some(Edns {
                    size: u16::from_be_bytes([fixed[2], fixed[3]]),
                    version: fixed[5],
                    dnssec_ok: fixed[6] & 0x80 != 0,
                });
            }
        }
    }
    (at == message.len()).then_some(query)
}

/// Whether these are options of EDNS, none or more: a code, a length, and as many bytes (RFC 6891, 6.1.2).
fn are_options(mut data: &[u8]) -> bool {
    while let Some((head, rest)) = data.split_first_chunk::<4>() {
        match rest.get(usize::from(u16::from_be_bytes([head[2], head[3]]))..) {
            Some(next) => data = next,
            None => return false,
        }
    }
    data.is_empty()
}

/// Where the owner of a record ends; it may end in a pointer, which is not followed.
fn record_owner_end(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            length if length & POINTER == POINTER => return Some(at + 2),
            length if usize::from(length) <= MAX_LABEL_LEN => at += 1 + usize::from(length),
            _ => return None,
        }
    }
}

/// Where an uncompressed name of at most 255 bytes ends.
fn name_end(message: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        let length = usize::from(*message.get(at)?);
        if length > MAX_LABEL_LEN {
            return None;
        }
        at += 1 + length;
        if at - start > MAX_NAME_LEN {
            return None;
        }
        if length == 0 {
            return Some(at);
        }
    }
}

/// RCODE: format error.
pub const FORMERR: u8 = 1;
/// RCODE: server failure.
pub const SERVFAIL: u8 = 2;
/// RCODE: the name does not exist.
pub const NXDOMAIN: u8 = 3;
/// RCODE: not implemented.
pub const NOTIMP: u8 = 4;
/// RCODE: refused.
pub const REFUSED: u8 = 5;
/// Extended RCODE: the version of EDNS is not known.
pub const BADVERS: u16 = 16;

pub(crate) const CLASS_ANY: u16 = 255;

const OPCODE_MASK: u16 = 0x7800;
const OPCODE_QUERY: u16 = 0;
const POINTER: u8 = 0xC0;

/// Index of the additional section among the three that hold records.
const ADDITIONAL: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use dnsdyno_wire::{QueryForm, encode_name};

    fn query(name: &str) -> Vec<u8> {
        let mut wire = Vec::new();
        encode_name(name.as_bytes(), &mut wire).unwrap();
        let mut bytes = Vec::new();
        QueryForm { edns_size: Some(4096), dnssec_ok: true, ..QueryForm::default() }
            .encode(&wire, 28, &mut bytes);
        bytes
    }

    #[test]
    fn a_query_is_read_to_its_last_field() {
        let bytes = query("WWW.example.");
        let Parsed::Query(query) = parse(&bytes) else { panic!("refused") };
        assert_eq!(query.qname, b"\x03WWW\x07example\x00");
        assert_eq!((query.qtype, query.qclass, query.question_end), (28, 1, 29));
        let edns = query.edns.unwrap();
        assert_eq!((edns.size, edns.version, edns.dnssec_ok), (4096, 0, true));
    }

    #[test]
    fn a_query_cut_anywhere_is_malformed() {
        let bytes = query("www.example.");
        for length in HEADER_LEN..bytes.len() {
            assert!(matches!(parse(&bytes[..length]), Parsed::Refused { rcode: FORMERR, .. }), "{length}");
        }
        for length in 0..HEADER_LEN {
            assert!(matches!(parse(&bytes[..length]), Parsed::Silence(Silence::TooShort)), "{length}");
        }
    }

    #[test]
    fn an_option_that_breaks_off_is_malformed() {
        let whole = query("www.example.");
        let length_at = whole.len() - 2;
        let with = |options: &[u8]| {
            let length = (options.len() as u16).to_be_bytes();
            [&whole[..length_at], &length, options].concat()
        };
        for options in [&[][..], &[0, 3, 0, 0], &[0, 10, 0, 2, 1, 2, 0, 3, 0, 0]] {
            assert!(matches!(parse(&with(options)), Parsed::Query(_)), "{options:?}");
        }
        for options in [&[0][..], &[0, 3, 0], &[0, 3, 0, 1], &[0, 10, 0, 2, 1, 2, 0]] {
            let bytes = with(options);
            assert!(
                matches!(parse(&bytes), Parsed::Refused { rcode: FORMERR, question_end: 29 }),
                "{options:?}"
            );
        }
    }

    #[test]
    fn a_second_opt_record_is_malformed() {
        let mut bytes = query("www.example.");
        let opt = bytes[29..].to_vec();
        bytes.extend_from_slice(&opt);
        bytes[11] = 2;
        assert!(matches!(parse(&bytes), Parsed::Refused { rcode: FORMERR, question_end: 29 }));
    }

    #[test]
    fn a_name_of_255_bytes_is_taken_and_one_more_is_not() {
        let label = "a".repeat(63);
        let longest = format!("{label}.{label}.{label}.{}.", "b".repeat(61));
        assert!(matches!(parse(&query(&longest)), Parsed::Query(_)));
        let mut bytes = query(&longest);
        bytes[12 + 192] = 62;
        bytes.insert(12 + 193, b'b');
        assert!(matches!(parse(&bytes), Parsed::Refused { rcode: FORMERR, question_end: 12 }));
    }

    #[test]
    fn a_pointer_in_the_question_is_malformed() {
        let mut bytes = query("www.example.");
        bytes[12] = 0xC0;
        assert!(matches!(parse(&bytes), Parsed::Refused { rcode: FORMERR, question_end: 12 }));
    }
}
