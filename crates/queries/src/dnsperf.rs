//! A data file as dnsperf reads it: `name type` from the first octet of the line on, anything after the type without a
//! meaning, types cut short, names as they are.
//!
//! An octet of 0 ends a line, as in dnsperf. `\DDD` is a decimal number up to 255, as in dnsperf since 2.15; before, it
//! was one to base 7. Better than there: lines may end with CRLF, the file may begin with a byte order mark, and one
//! digit or two after a backslash are always malformed, where dnsperf reads on behind the name if the first is above 2.
//! A line of more than 64 KiB, which dnsperf takes for the end of the file, is malformed.

use std::io::{BufRead, Read};

use dnsdyno_wire::{MAX_NAME_LEN, encode_name};

use super::error::{BadLine, BadReason, SourceError};
use super::queries::{Full, QueriesBuilder};
use super::reading::{BadLines, Reading};
use super::text::MANY_BAD_LINES;
use super::text::{IdnNames, Loaded};

/// Reads queries from `input` to its end. Malformed lines are kept as they are, for dnsperf's warnings.
pub(super) fn read_dnsperf(
    mut input: impl BufRead,
    origin: &str,
    bytes_hint: usize,
    reading: &Reading,
) -> Result<Loaded, SourceError> {
    let mut builder = QueriesBuilder::of(reading, bytes_hint);
    let mut name_wire = Vec::with_capacity(MAX_NAME_LEN);
    let (mut line, mut number, mut bad_lines, mut first_bad) = (Vec::new(), 0, 0, Vec::new());
    let cannot_read = |source| SourceError::Read { origin: origin.to_owned(), source };
    loop {
        line.clear();
        let mut start = input.by_ref().take(LONGEST_LINE);
        if start.read_until(b'\n', &mut line).map_err(cannot_read)? == 0 {
            break;
        }
        number += 1;
        let is_cut = line.len() as u64 == LONGEST_LINE && !line.ends_with(b"\n");
        if is_cut {
            skip_line(&mut input).map_err(cannot_read)?;
        }
        for text in dnsperf_lines(&line) {
            name_wire.clear();
            let reason = match dnsperf_query(text, &mut name_wire) {
                Ok(qtype) => {
                    let too_large = |full: Full| SourceError::TooLarge {
                        origin: origin.to_owned(),
                        line: number,
                        most_bytes: full.most_bytes,
                    };
                    builder.push(&name_wire, qtype).map_err(too_large)?;
                    continue;
                }
                Err(reason) => reason,
            };
            bad_lines += 1;
            if first_bad.len() < MOST_BAD_KEPT {
                let text = String::from_utf8_lossy(&text[..text.len().min(LONGEST_KEPT)]).into_owned();
                first_bad.push(BadLine { origin: origin.to_owned(), line: number, reason, text });
            }
            // What has no queries may have no end either.
            if bad_lines >= MANY_BAD_LINES && builder.is_empty() {
                return Err(SourceError::NoGoodLine { origin: origin.to_owned(), bad_lines, first_bad });
            }
            if let (BadLines::Refuse, Some(bad)) = (reading.bad_lines, first_bad.first()) {
                return Err(SourceError::BadLine(Box::new(bad.clone())));
            }
        }
    }
    let (origin, good_lines) = (origin.to_owned(), builder.len() as u64);
    if let (BadLines::SkipFew, Some(first), true) =
        (reading.bad_lines, first_bad.first(), bad_lines > good_lines && good_lines > 0)
    {
        let (lines, first) = (good_lines + bad_lines, Box::new(first.clone()));
        return Err(SourceError::MostlyBad { origin, bad_lines, lines, first });
    }
    match (builder.is_empty(), first_bad.is_empty()) {
        (true, true) => Err(SourceError::Empty { origin }),
        (true, false) => Err(SourceError::NoGoodLine { origin, bad_lines, first_bad }),
        _ => {
            Ok(Loaded { bad_lines, first_bad, ..Loaded::new(builder, origin, IdnNames::default(), reading)? })
        }
    }
}

/// The lines to dnsperf of a line of a file: an octet of 0 ends one too. Without their ends, comments and empty ones.
pub fn dnsperf_lines(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let parts = line.split(|octet| *octet == 0).map(|part| part.strip_suffix(b"\r").unwrap_or(part));
    parts.filter(|part| !part.is_empty() && !part.starts_with(b";"))
}

/// Reads the query of a line without its end; appends the name to `name_wire`, which is empty, and returns the type.
pub fn dnsperf_query(line: &[u8], name_wire: &mut Vec<u8>) -> Result<u16, BadReason> {
    let is_blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    let (name, rest) = line.split_at(line.iter().position(is_blank).unwrap_or(line.len()));
    if name.is_empty() {
        return Err(BadReason::LeadingBlank);
    }
    encode_name(name, name_wire)?;
    let rest = rest.trim_ascii_start();
    let word = &rest[..rest.iter().position(is_blank).unwrap_or(rest.len())];
    if word.is_empty() {
        return Err(BadReason::NoType);
    }
    type_of(word).ok_or_else(|| BadReason::UnknownType(String::from_utf8_lossy(word).into_owned()))
}

/// A type by its number, or the first in the table that begins with the word.
fn type_of(word: &[u8]) -> Option<u16> {
    if word.len() > 4 && word[..4].eq_ignore_ascii_case(b"TYPE") {
        return std::str::from_utf8(&word[4..]).ok()?.parse().ok();
    }
    let begins =
        |name: &&str| name.len() >= word.len() && name.as_bytes()[..word.len()].eq_ignore_ascii_case(word);
    TYPES.iter().find(|(name, _)| begins(name)).map(|(_, qtype)| *qtype)
}

/// Reads on to the end of a line that is too long.
fn skip_line(input: &mut impl BufRead) -> std::io::Result<()> {
    let mut skipped = 0;
    loop {
        let buffer = input.fill_buf()?;
        skipped += buffer.len();
        if skipped > MOST_SKIPPED {
            return Err(std::io::Error::other("a line has not ended after 1 GiB: it is no file of queries"));
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        let is_over = end.is_some() || buffer.is_empty();
        input.consume(used);
        if is_over {
            return Ok(());
        }
    }
}

/// Octets of a line that is too long: dnsperf skips it, whatever its length.
const MOST_SKIPPED: usize = 1 << 30;

/// Octets of a line.
const LONGEST_LINE: u64 = 64 * 1024;

/// Octets of a malformed line that are kept.
const LONGEST_KEPT: usize = 4_000;

/// How many malformed lines are kept; the others are counted.
const MOST_BAD_KEPT: usize = 1_000;

/// The types of dnsperf, in its order: a type that is cut short is the first of them.
const TYPES: &[(&str, u16)] = &[
    ("A", 1),
    ("NS", 2),
    ("MD", 3),
    ("MF", 4),
    ("CNAME", 5),
    ("SOA", 6),
    ("MB", 7),
    ("MG", 8),
    ("MR", 9),
    ("NULL", 10),
    ("WKS", 11),
    ("PTR", 12),
    ("HINFO", 13),
    ("MINFO", 14),
    ("MX", 15),
    ("TXT", 16),
    ("RP", 17),
    ("AFSDB", 18),
    ("X25", 19),
    ("ISDN", 20),
    ("RT", 21),
    ("NSAP", 22),
    ("NSAP-PTR", 23),
    ("SIG", 24),
    ("KEY", 25),
    ("PX", 26),
    ("GPOS", 27),
    ("AAAA", 28),
    ("LOC", 29),
    ("NXT", 30),
    ("EID", 31),
    ("NIMLOC", 32),
    ("SRV", 33),
    ("ATMA", 34),
    ("NAPTR", 35),
    ("KX", 36),
    ("CERT", 37),
    ("A6", 38),
    ("DNAME", 39),
    ("SINK", 40),
    ("OPT", 41),
    ("APL", 42),
    ("DS", 43),
    ("SSHFP", 44),
    ("IPSECKEY", 45),
    ("RRSIG", 46),
    ("NSEC", 47),
    ("DNSKEY", 48),
    ("DHCID", 49),
    ("NSEC3", 50),
    ("NSEC3PARAM", 51),
    ("TLSA", 52),
    ("SMIMEA", 53),
    ("HIP", 55),
    ("NINFO", 56),
    ("RKEY", 57),
    ("TALINK", 58),
    ("CDS", 59),
    ("CDNSKEY", 60),
    ("OPENPGPKEY", 61),
    ("CSYNC", 62),
    ("ZONEMD", 63),
    ("SVCB", 64),
    ("HTTPS", 65),
    ("SPF", 99),
    ("UINFO", 100),
    ("UID", 101),
    ("GID", 102),
    ("UNSPEC", 103),
    ("NID", 104),
    ("L32", 105),
    ("L64", 106),
    ("LP", 107),
    ("EUI48", 108),
    ("EUI64", 109),
    ("TKEY", 249),
    ("TSIG", 250),
    ("IXFR", 251),
    ("AXFR", 252),
    ("MAILB", 253),
    ("MAILA", 254),
    ("ANY", 255),
    ("URI", 256),
    ("CAA", 257),
    ("AVC", 258),
    ("DOA", 259),
    ("AMTRELAY", 260),
    ("TA", 32_768),
    ("DLV", 32_769),
];

#[cfg(test)]
mod tests {
    use super::*;
    use dnsdyno_wire::{NameError, name_to_text, peek, type_name};
    use std::io::Cursor;

    fn read(text: impl AsRef<[u8]>) -> Result<Loaded, SourceError> {
        let reading = Reading { bad_lines: BadLines::SkipAll, ..Reading::default() };
        read_dnsperf(Cursor::new(text), "q.txt", 0, &reading)
    }

    fn queries(text: &str) -> Vec<String> {
        let queries = read(text).unwrap().queries;
        let text = |i| {
            let found = peek(queries.message(i)).unwrap();
            format!("{} {}", name_to_text(found.qname()), type_name(found.qtype().unwrap()))
        };
        (0..queries.len()).map(text).collect()
    }

    fn reason(line: &str) -> BadReason {
        dnsperf_query(line.as_bytes(), &mut Vec::new()).unwrap_err()
    }

    #[test]
    fn types_may_be_cut_short_and_what_follows_them_has_no_meaning() {
        let text =
            "; comment\n\na.example A\nb.example.\t \tmx +dnssec ;\n. N\nc aa\nd M\ne TYPE65\nf TYPE+300";
        let want = ["a.example A", "b.example MX", ". NS", "c AAAA", "d MD", "e HTTPS", "f TYPE300"];
        assert_eq!(queries(text), want);
        assert_eq!(queries("a A\r\nb A\r\n"), ["a A", "b A"]);
    }

    #[test]
    fn an_octet_of_0_ends_a_line() {
        let file = include_bytes!("../tests/cases/26-nul.txt");
        let loaded = crate::read_input(Box::new(&file[..]), "q.txt", 0, &{
            let mut reading = Reading { bad_lines: BadLines::SkipAll, ..Reading::default() };
            reading.selection.format = crate::QueriesFormat::Dnsperf;
            reading
        });
        let loaded = loaded.unwrap();
        let name = |i| name_to_text(peek(loaded.queries.message(i)).unwrap().qname());
        assert_eq!((0..loaded.queries.len()).map(name).collect::<Vec<_>>(), ["a.example", "y", "b.example"]);
        assert_eq!((loaded.bad_lines, loaded.first_bad[0].text.as_str()), (1, "x"));
    }

    #[test]
    fn escapes_are_decimal_and_other_octets_are_sent_as_they_are() {
        let loaded = read(b"\\255\\009\\.x A\n\xc3\xbc\xff A\n").unwrap();
        let name = |i| peek(loaded.queries.message(i)).unwrap().qname().to_vec();
        assert_eq!([name(0), name(1)], [b"\x04\xff\x09.x\0".to_vec(), b"\x03\xc3\xbc\xff\0".to_vec()]);
    }

    #[test]
    fn each_malformed_line_has_its_reason() {
        assert_eq!(reason(" a A"), BadReason::LeadingBlank);
        assert_eq!([reason("a"), reason("a  ")], [BadReason::NoType, BadReason::NoType]);
        assert_eq!(reason("a AXX"), BadReason::UnknownType("AXX".into()));
        for word in ["*", "TYPE", "TYPE65536", "TYPE-1", "TYPEx", "SVCBX"] {
            assert_eq!(reason(&format!("a {word}")), BadReason::UnknownType(word.into()));
        }
        assert_eq!(reason("a..b A"), BadReason::Name(NameError::EmptyLabel));
        assert!(matches!(reason(&format!("{} A", "a".repeat(64))), BadReason::Name(_)));
        for escape in ["256", "260", "299", "300", "3000", "999", "25", "25x", "3", "3x", "9a"] {
            assert_eq!(
                reason(&format!("a.b\\{escape} A")),
                BadReason::Name(NameError::BadEscape),
                "{escape}"
            );
        }
    }

    #[test]
    fn lines_that_are_too_long_are_malformed_and_the_next_one_is_read() {
        let long = "x".repeat(100_000);
        let loaded = read(format!("a A\n{long} A\nb A {long}\n{long}")).unwrap();
        assert_eq!((loaded.queries.len(), loaded.bad_lines), (2, 2));
        assert!(loaded.first_bad.iter().all(|bad| bad.text.len() == LONGEST_KEPT));
    }

    #[test]
    fn a_file_without_a_query_says_whether_it_has_lines() {
        assert!(matches!(read("; nothing\n\n"), Err(SourceError::Empty { .. })));
        let error = read("a\nb\n").unwrap_err();
        let SourceError::NoGoodLine { bad_lines, first_bad, .. } = error else { panic!("{error}") };
        assert_eq!((bad_lines, first_bad.len()), (2, 2));
    }
}
