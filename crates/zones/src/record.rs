//! Records as far as the generated zones have them: their text in a zone file, and their octets in a response.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::rc::Rc;

use dnsdyno_wire::encode_name;

/// An absolute name of host names' characters in lower case, with the final dot. Shared, since a gateway is in the
/// answers of many tracking areas.
pub(crate) type Name = Rc<str>;

/// A record of class IN; the TTL is that of its zone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Record {
    pub(crate) owner: Name,
    pub(crate) data: Data,
}

/// The data of a record, by type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Data {
    Soa(Soa),
    Ns(Name),
    A(Ipv4Addr),
    Aaaa(Ipv6Addr),
    Naptr(Naptr),
    Srv(Srv),
    Ptr(Name),
    Txt(&'static str),
}

/// The start of authority; the times of its secondaries are the same in each zone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Soa {
    pub(crate) server: Name,
    pub(crate) mailbox: Name,
    pub(crate) serial: u32,
    pub(crate) negative_ttl_s: u32,
}

/// RFC 3403.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Naptr {
    pub(crate) order: u16,
    pub(crate) preference: u16,
    pub(crate) flags: &'static str,
    pub(crate) service: Rc<str>,
    pub(crate) regexp: Rc<str>,
    pub(crate) replacement: Name,
}

/// RFC 2782.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Srv {
    pub(crate) priority: u16,
    pub(crate) weight: u16,
    pub(crate) port: u16,
    pub(crate) target: Name,
}

impl Record {
    pub(crate) fn new(owner: &Name, data: Data) -> Self {
        Record { owner: Rc::clone(owner), data }
    }

    /// The octets of this record in a response in which its owner is a pointer to the question.
    pub(crate) fn octets(&self) -> usize {
        OWNER_POINTER + RECORD_HEAD + self.data.octets()
    }

    /// The octets of this record without any compression, as in a dynamic update.
    pub(crate) fn plain_octets(&self) -> usize {
        name_octets(&self.owner) + RECORD_HEAD + self.data.octets()
    }

    /// Its line in a zone file of `origin`.
    pub(crate) fn line<'a>(&'a self, origin: &'a str) -> impl fmt::Display {
        let Record { owner, data } = self;
        Shown(move |f: &mut fmt::Formatter<'_>| {
            write!(f, "{} IN {} {}", relative(owner, origin), data.type_name(), data.text(origin))
        })
    }
}

impl Data {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Data::Soa(_) => "SOA",
            Data::Ns(_) => "NS",
            Data::A(_) => "A",
            Data::Aaaa(_) => "AAAA",
            Data::Naptr(_) => "NAPTR",
            Data::Srv(_) => "SRV",
            Data::Ptr(_) => "PTR",
            Data::Txt(_) => "TXT",
        }
    }

    /// What follows the type in a zone file; an empty origin leaves all names absolute.
    pub(crate) fn text<'a>(&'a self, origin: &'a str) -> impl fmt::Display {
        Shown(move |f: &mut fmt::Formatter<'_>| match self {
            Data::Soa(soa) => write!(
                f,
                "{} {} {} {REFRESH_S} {RETRY_S} {EXPIRE_S} {}",
                relative(&soa.server, origin),
                relative(&soa.mailbox, origin),
                soa.serial,
                soa.negative_ttl_s
            ),
            Data::Ns(name) | Data::Ptr(name) => f.write_str(relative(name, origin)),
            Data::A(address) => write!(f, "{address}"),
            Data::Aaaa(address) => write!(f, "{address}"),
            // With an absolute name: PowerDNS 4.7 takes a relative replacement for an absolute one.
            Data::Naptr(naptr) => write!(
                f,
                "{} {} \"{}\" \"{}\" \"{}\" {}",
                naptr.order, naptr.preference, naptr.flags, naptr.service, naptr.regexp, naptr.replacement
            ),
            Data::Srv(srv) => {
                let target = relative(&srv.target, origin);
                write!(f, "{} {} {} {target}", srv.priority, srv.weight, srv.port)
            }
            Data::Txt(text) => write!(f, "\"{text}\""),
        })
    }

    /// Appends the data as it is on the wire. Names are not compressed: for NAPTR and SRV no server may (RFC 3597 §4);
    /// of the other types no sizes are computed where it matters.
    pub(crate) fn put_wire(&self, out: &mut Vec<u8>) {
        let put_numbers = |out: &mut Vec<u8>, numbers: &[u16]| {
            numbers.iter().for_each(|number| out.extend(number.to_be_bytes()))
        };
        let put_text = |out: &mut Vec<u8>, text: &str| {
            // No longer than 255 octets in any zone that is made here.
            out.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
            out.extend_from_slice(text.as_bytes());
        };
        match self {
            Data::Soa(soa) => {
                put_name(&soa.server, out);
                put_name(&soa.mailbox, out);
                for number in [soa.serial, REFRESH_S, RETRY_S, EXPIRE_S, soa.negative_ttl_s] {
                    out.extend(number.to_be_bytes());
                }
            }
            Data::Ns(name) | Data::Ptr(name) => put_name(name, out),
            Data::A(address) => out.extend(address.octets()),
            Data::Aaaa(address) => out.extend(address.octets()),
            Data::Naptr(naptr) => {
                put_numbers(out, &[naptr.order, naptr.preference]);
                [naptr.flags, &naptr.service, &naptr.regexp].iter().for_each(|text| put_text(out, text));
                put_name(&naptr.replacement, out);
            }
            Data::Srv(srv) => {
                put_numbers(out, &[srv.priority, srv.weight, srv.port]);
                put_name(&srv.target, out);
            }
            Data::Txt(text) => put_text(out, text),
        }
    }

    /// The octets of the data on the wire.
    fn octets(&self) -> usize {
        let mut wire = Vec::new();
        self.put_wire(&mut wire);
        wire.len()
    }
}

/// Appends a name as it is on the wire.
pub(crate) fn put_name(name: &str, out: &mut Vec<u8>) {
    let written = encode_name(name.as_bytes(), out);
    debug_assert!(written.is_ok(), "{name}: {written:?}");
}

/// The octets of a response to a question with `name` that has these records as its answer, and OPT: no authority
/// section, and nothing additional.
pub(crate) fn response_octets<'a>(name: &str, answer: impl IntoIterator<Item = &'a Record>) -> usize {
    HEADER + name_octets(name) + QUESTION_FIXED + OPT + answer.into_iter().map(Record::octets).sum::<usize>()
}

/// The octets of an absolute name without escapes: each label has a length where its dot stands, and the root is one
/// more.
fn name_octets(name: &str) -> usize {
    if name == "." { 1 } else { name.len() + 1 }
}

/// A name as it is written in a zone of `origin`.
fn relative<'a>(name: &'a str, origin: &str) -> &'a str {
    match name.strip_suffix(origin) {
        Some("") if !origin.is_empty() => "@",
        Some(rest) if !origin.is_empty() => rest.strip_suffix('.').unwrap_or(name),
        _ => name,
    }
}

/// Text that a function writes.
struct Shown<F>(F);

impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for Shown<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)(f)
    }
}

const HEADER: usize = 12;
const QUESTION_FIXED: usize = 4;
const OPT: usize = 11;
const OWNER_POINTER: usize = 2;
/// Type, class, TTL and length of a record.
const RECORD_HEAD: usize = 10;

const REFRESH_S: u32 = 3600;
const RETRY_S: u32 = 600;
const EXPIRE_S: u32 = 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_relative_to_their_zone_and_to_no_other() {
        assert_eq!(relative("a.b.example.", "example."), "a.b");
        assert_eq!(relative("example.", "example."), "@");
        assert_eq!(relative("counterexample.", "example."), "counterexample.");
        assert_eq!(relative("a.example.", ""), "a.example.");
        assert_eq!(relative(".", "example."), ".");
    }

    #[test]
    fn sizes_are_those_of_the_report_of_the_carrier() {
        let service = "x-3gpp-sgw:x-s5-gtp+nc-nr";
        // A name of 69 octets.
        let host: Name = "topon.s5.sgw.5g.00.201.tac10.node.epc.mnc010.mcc440.3gppnetwork.org.".into();
        let naptr = Naptr {
            order: 100,
            preference: 63700,
            flags: "a",
            service: service.into(),
            regexp: "".into(),
            replacement: Rc::clone(&host),
        };
        let record = Record::new(&host, Data::Naptr(naptr));
        assert_eq!(record.octets(), 114);
        let question = "test.tac-hb10.tac.epc.mnc010.mcc440.3gppnetwork.org.";
        assert_eq!(response_octets(question, &[record]), 12 + 53 + 4 + 11 + 114);
    }
}
