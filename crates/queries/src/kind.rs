//! Recognises input that cannot be a query file: what it is, and what to do with it.

use dnsdyno_text::encoding::is_utf16;
use dnsdyno_wire::{parse_class, parse_type_bytes, ttl_seconds};

use super::reading::QueriesFormat;

/// What a file is instead of a query file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotQueries {
    /// What it is, with its article.
    pub what: &'static str,
    /// What to do.
    pub advice: &'static str,
}

/// What the input is by its first bytes; `None` where it may be a query file.
pub(super) fn recognise(start: &[u8], format: QueriesFormat) -> Option<NotQueries> {
    let by_magic = MAGIC.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, kind)| *kind);
    let utf_16 = is_utf16(start).then_some(UTF_16);
    // To dnsperf an octet of 0 ends a line.
    let binary = (format != QueriesFormat::Dnsperf && start.contains(&0)).then_some(BINARY);
    by_magic.or(utf_16).or(binary)
}

/// Whether a line is a directive of a zone file.
pub(super) fn is_zone_directive(first_word: &[u8]) -> bool {
    DIRECTIVES.iter().any(|directive| first_word.eq_ignore_ascii_case(directive))
}

/// Whether a malformed line is a record of a zone file: `name [TTL] [class] type data`, with a TTL or a class.
pub(super) fn is_zone_record(line: &[u8]) -> bool {
    let mut words =
        line.split(|byte| *byte == b' ' || *byte == b'\t').filter(|word| !word.is_empty()).skip(1);
    let is_ttl = |word: &[u8]| ttl_seconds(word).is_some();
    let is_class = |word: &[u8]| std::str::from_utf8(word).ok().and_then(parse_class).is_some();
    let (second, third, fourth) = (words.next(), words.next(), words.next());
    let is_type = |word: Option<&[u8]>| word.and_then(parse_type_bytes).is_some();
    second.is_some_and(|word| is_ttl(word) || is_class(word)) && (is_type(third) || is_type(fourth))
}

/// A zone file, recognised by its lines.
pub(super) const ZONE: NotQueries = NotQueries {
    what: "a zone file",
    advice: "a query file has one `name type` a line; to make one of the records of a zone: \
             named-compilezone -o - ORIGIN FILE | awk '{print $1, $4}'",
};

const BINARY: NotQueries = NotQueries {
    what: "a binary file",
    advice: "a query file is text with one `name type` a line, or messages with \
                                                   their lengths (--queries-format binary)",
};

const CAPTURE: NotQueries = NotQueries {
    what: "a packet capture",
    advice: "extract its queries first: tshark -r FILE -Y 'dns.flags.response == 0' -T fields -E separator=/s \
             -e dns.qry.name -e dns.qry.type | sed 's/ / TYPE/'",
};

const UTF_16: NotQueries =
    NotQueries { what: "text in UTF-16", advice: "convert it first: iconv -f UTF-16 -t UTF-8 FILE" };

const fn compressed(what: &'static str, advice: &'static str) -> NotQueries {
    NotQueries { what, advice }
}

/// The first bytes of kinds of files.
const MAGIC: &[(&[u8], NotQueries)] = &[
    (b"BZh", compressed("compressed with bzip2", "unpack it: bzcat FILE | dnsdyno run -d - ...")),
    (b"PK\x03\x04", compressed("a ZIP archive", "unpack it: unzip -p FILE | dnsdyno run -d - ...")),
    (b"\xd4\xc3\xb2\xa1", CAPTURE),
    (b"\xa1\xb2\xc3\xd4", CAPTURE),
    (b"\x4d\x3c\xb2\xa1", CAPTURE),
    (b"\xa1\xb2\x3c\x4d", CAPTURE),
    (b"\x0a\x0d\x0d\x0a", CAPTURE),
];

const DIRECTIVES: [&[u8]; 4] = [b"$ORIGIN", b"$TTL", b"$INCLUDE", b"$GENERATE"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_files_are_recognised_by_their_first_bytes() {
        let what = |start: &[u8]| recognise(start, QueriesFormat::Auto).map(|kind| kind.what);
        assert_eq!(what(b"BZh9"), Some("compressed with bzip2"));
        assert_eq!(what(b"\xd4\xc3\xb2\xa1\x02"), Some("a packet capture"));
        assert_eq!(what(b"\xff\xfea\0"), Some("text in UTF-16"));
        assert_eq!(what(b"www\0A"), Some("a binary file"));
        for text in ["", "www.example A\n", "; a comment", "\u{feff}www.example A\n"] {
            assert_eq!(what(text.as_bytes()), None, "{text}");
        }
        assert_eq!(what(b"w\0w\0"), Some("text in UTF-16"));
        assert_eq!(recognise(b"www\0A", QueriesFormat::Dnsperf), None);
    }

    #[test]
    fn records_of_a_zone_are_recognised_and_queries_are_not() {
        for line in [
            "www 3600 IN A 192.0.2.1",
            "www 1h A 192.0.2.1",
            "www IN A 192.0.2.1",
            "@ IN 3600 SOA a b 1 2 3 4 5",
            "a\t60\tAAAA\t::1",
        ] {
            assert!(is_zone_record(line.as_bytes()), "{line}");
        }
        for line in ["www A", "www A 192.0.2.1", "www", "www 3600", "www IN", "www XYZ IN A", ""] {
            assert!(!is_zone_record(line.as_bytes()), "{line}");
        }
        assert!(is_zone_directive(b"$ttl") && !is_zone_directive(b"$www.example"));
    }
}
