//! Sections of fields (RFC 9204): read with a dynamic table of capacity 0, written with the static table and literals.

mod static_table;

use crate::literal::{put_decimal, put_integer, put_string, read_integer, read_string};
use static_table::ENTRIES;

/// Reads sections. Its buffers are used again for each.
#[derive(Debug, Default)]
pub struct Decoder {
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Decoder {
    /// Passes the fields of a complete section to `each`, as name and value; `None` where the section is invalid. What
    /// refers to the dynamic table is: it has no entries.
    #[inline]
    pub fn decode(&mut self, section: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Option<()> {
        let mut rest = section;
        let (inserted, base) = (read_integer(&mut rest, 8)?, *rest.first()?);
        read_integer(&mut rest, 7)?;
        // Without entries there is none to wait for, and no base that is below the number of entries (4.5.1).
        if inserted != 0 || base & SIGN != 0 {
            return None;
        }
        while let Some(first) = rest.first().copied() {
            if first & INDEXED != 0 {
                let (name, value) = entry(&mut rest, first & INDEXED_STATIC != 0, 6)?;
                each(name.as_bytes(), value.as_bytes());
            } else if first & NAMED != 0 {
                let (name, _) = entry(&mut rest, first & NAMED_STATIC != 0, 4)?;
                read_string(&mut rest, 7, &mut self.value)?;
                each(name.as_bytes(), &self.value);
            } else if first & LITERAL != 0 {
                read_string(&mut rest, 3, &mut self.name)?;
                read_string(&mut rest, 7, &mut self.value)?;
                each(&self.name, &self.value);
            } else {
                // Of entries after the base.
                return None;
            }
        }
        Some(())
    }
}

/// An entry of the static table.
#[inline]
fn entry(rest: &mut &[u8], is_static: bool, bits: u32) -> Option<(&'static str, &'static str)> {
    let index = read_integer(rest, bits)?;
    ENTRIES.get(index).filter(|_| is_static).copied()
}

/// The fields of all requests of a run, except those that differ from query to query.
#[derive(Clone, Debug)]
pub struct RequestFields {
    before_path: Vec<u8>,
    /// Of POST, where it is the same each time.
    path: Vec<u8>,
    after_path: Vec<u8>,
}

impl RequestFields {
    /// Requests to `path` at `authority`. The path of a GET differs each time, and is not included.
    pub fn new(authority: &str, path: &str, is_get: bool) -> Self {
        let mut before_path = PREFIX.to_vec();
        put_indexed(&mut before_path, if is_get { GET } else { POST });
        put_indexed(&mut before_path, HTTPS);
        put_named(&mut before_path, AUTHORITY);
        put_string(&mut before_path, authority.as_bytes());
        let (mut own_path, mut after_path) = (Vec::new(), Vec::new());
        put_indexed(&mut after_path, ACCEPT_MESSAGE);
        if !is_get {
            put_path(&mut own_path, path.as_bytes());
            put_indexed(&mut after_path, CONTENT_TYPE_MESSAGE);
        }
        RequestFields { before_path, path: own_path, after_path }
    }

    /// Appends a section for a GET with this path, or for a POST with a body of this length.
    #[inline]
    pub fn put(&self, section: &mut Vec<u8>, path: Option<&[u8]>, body_bytes: usize) {
        section.extend_from_slice(&self.before_path);
        match path {
            Some(path) => put_path(section, path),
            None => section.extend_from_slice(&self.path),
        }
        section.extend_from_slice(&self.after_path);
        if path.is_none() {
            put_named(section, CONTENT_LENGTH);
            put_decimal(section, body_bytes);
        }
    }
}

/// Appends the section of a response with this status, and the fields that a DNS message has.
pub fn put_response(section: &mut Vec<u8>, status: u16, message: Option<MessageFields>) {
    section.extend_from_slice(&PREFIX);
    let text = status.to_string();
    match ENTRIES.iter().position(|entry| *entry == (":status", text.as_str())) {
        Some(index) => put_indexed(section, index),
        None => {
            put_named(section, STATUS);
            put_string(section, text.as_bytes());
        }
    }
    if let Some(MessageFields { declared_bytes, fresh_s }) = message {
        put_indexed(section, CONTENT_TYPE_MESSAGE);
        put_named(section, CONTENT_LENGTH);
        put_decimal(section, declared_bytes);
        put_named(section, CACHE_CONTROL);
        put_string(section, format!("max-age={fresh_s}").as_bytes());
    } else if status == 405 {
        put_integer(section, LITERAL, 3, b"allow".len());
        section.extend_from_slice(b"allow");
        put_string(section, b"GET, POST");
    }
}

/// What the fields of a DNS message say.
#[derive(Clone, Copy, Debug)]
pub struct MessageFields {
    /// The length that is declared.
    pub declared_bytes: usize,
    /// For how many seconds a cache may keep it.
    pub fresh_s: u32,
}

fn put_path(section: &mut Vec<u8>, path: &[u8]) {
    put_named(section, PATH);
    put_string(section, path);
}

/// A field of the static table.
fn put_indexed(section: &mut Vec<u8>, index: usize) {
    put_integer(section, INDEXED | INDEXED_STATIC, 6, index);
}

/// The name of a field of the static table; its value follows.
fn put_named(section: &mut Vec<u8>, index: usize) {
    put_integer(section, NAMED | NAMED_STATIC, 4, index);
}

/// What a section begins with that uses no dynamic table.
const PREFIX: [u8; 2] = [0, 0];

/// The sign of the base.
const SIGN: u8 = 0x80;

// The forms of a field.
const INDEXED: u8 = 0x80;
const INDEXED_STATIC: u8 = 0x40;
const NAMED: u8 = 0x40;
const NAMED_STATIC: u8 = 0x10;
const LITERAL: u8 = 0x20;

// Entries of the static table.
const AUTHORITY: usize = 0;
const PATH: usize = 1;
const CONTENT_LENGTH: usize = 4;
const GET: usize = 17;
const POST: usize = 20;
const HTTPS: usize = 23;
const STATUS: usize = 24;
const ACCEPT_MESSAGE: usize = 30;
const CACHE_CONTROL: usize = 36;
const CONTENT_TYPE_MESSAGE: usize = 44;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Fields = Vec<(String, String)>;

    fn decoded(section: &[u8]) -> Option<Fields> {
        let (mut decoder, mut fields) = (Decoder::default(), Vec::new());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        decoder.decode(section, |name, value| fields.push((text(name), text(value))))?;
        Some(fields)
    }

    fn fields(pairs: &[(&str, &str)]) -> Option<Fields> {
        Some(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn the_example_of_the_standard_without_a_dynamic_table_is_read() {
        // RFC 9204, B.1.
        let section = b"\0\0\x51\x0b/index.html";
        assert_eq!(decoded(section), fields(&[(":path", "/index.html")]));
    }

    #[test]
    fn what_another_encoder_writes_is_read() {
        // Of ls-qpack: an entry, a name of the table, and a name of its own; in the Huffman code, and not.
        let section = [
            &b"\0\0\xd9\x5f\x1d\x87\x49\x7c\xa5\x89\xd3\x4d\x1f"[..],
            b"\x2f\0\xf2\xb4\x9e\xaa\x1d\x26\x27\x01\x31",
        ]
        .concat();
        let expected = [(":status", "200"), ("content-type", "text/html"), ("x-dynamic", "1")];
        assert_eq!(decoded(&section), fields(&expected));
    }

    #[test]
    fn requests_and_responses_have_the_fields_of_doh() {
        let mut section = Vec::new();
        RequestFields::new("dns.example:8443", "/dns-query", false).put(&mut section, None, 29);
        let post = [
            (":method", "POST"),
            (":scheme", "https"),
            (":authority", "dns.example:8443"),
            (":path", "/dns-query"),
            ("accept", "application/dns-message"),
            ("content-type", "application/dns-message"),
            ("content-length", "29"),
        ];
        assert_eq!(decoded(&section), fields(&post));
        section.clear();
        RequestFields::new("dns.example", "/q", true).put(&mut section, Some(b"/q?dns=AAAB"), 29);
        let get = [
            (":method", "GET"),
            (":scheme", "https"),
            (":authority", "dns.example"),
            (":path", "/q?dns=AAAB"),
            ("accept", "application/dns-message"),
        ];
        assert_eq!(decoded(&section), fields(&get));
        section.clear();
        put_response(&mut section, 200, Some(MessageFields { declared_bytes: 1_234, fresh_s: 60 }));
        let answer = [
            (":status", "200"),
            ("content-type", "application/dns-message"),
            ("content-length", "1234"),
            ("cache-control", "max-age=60"),
        ];
        assert_eq!(decoded(&section), fields(&answer));
        section.clear();
        put_response(&mut section, 405, None);
        assert_eq!(decoded(&section), fields(&[(":status", "405"), ("allow", "GET, POST")]));
    }

    #[test]
    fn a_section_that_needs_a_dynamic_table_or_is_cut_is_refused() {
        let cases: [&[u8]; 16] = [
            b"",
            b"\0",
            // Waits for insertions, or has a negative base.
            b"\x02\0\xd9",
            b"\x01\0",
            b"\0\x80\xd9",
            // A dynamic entry, one after the base, its name, and one after the base.
            b"\0\0\x80",
            b"\0\0\x10",
            b"\0\0\x40\x01x",
            b"\0\0\0\x01x",
            // Beyond the static table.
            b"\0\0\xff\x24",
            b"\0\0\x5f\x54\x01x",
            // Cut, of a huge length, and with an invalid Huffman code.
            b"\0\0\x51\x05abc",
            b"\0\0\x51",
            b"\0\0\x51\x7f\xff\xff\xff\xff\x7f",
            b"\0\0\x51\x84\xff\xff\xff\xff",
            b"\0\0\x2f\xff",
        ];
        for section in cases {
            assert_eq!(decoded(section), None, "{section:x?}");
        }
        assert_eq!(decoded(b"\0\0"), fields(&[]));
        // The last entry.
        assert_eq!(decoded(b"\0\0\xff\x23"), fields(&[("x-frame-options", "sameorigin")]));
    }

    proptest! {
        #[test]
        fn any_octets_are_read_or_refused(section in prop::collection::vec(any::<u8>(), 0..200)) {
            decoded(&section);
            decoded(&[b"\0\0", &section[..]].concat());
        }
    }
}
