//! Header blocks of HTTP/2 (RFC 7541): of a response only what shows whether it is a DNS message; of a
//! request all.

use std::collections::VecDeque;

use dnsdyno_http::{
    Field, Head, MESSAGE_TYPE, OtherType, put_decimal, put_integer, put_string, read_integer, read_string,
};

/// Decodes header blocks, each of which may refer to earlier ones.
#[derive(Debug)]
pub(super) struct Decoder {
    /// Newest first.
    table: VecDeque<Entry>,
    size: usize,
    most: usize,
    text: Vec<u8>,
    other_type: OtherType,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    name_length: usize,
    size: usize,
    field: Field,
}

impl Decoder {
    /// With an empty table of the initial size.
    pub(super) fn new() -> Self {
        Decoder {
            table: VecDeque::new(),
            size: 0,
            most: TABLE_BYTES,
            text: Vec::new(),
            other_type: OtherType::default(),
        }
    }

    /// Decodes a complete block; `None` where it is invalid, after which no other can be decoded.
    pub(super) fn decode(&mut self, block: &[u8]) -> Option<Head> {
        let mut head = Head::default();
        let (mut rest, mut has_field) = (block, false);
        while let Some(first) = rest.first().copied() {
            let field = if first & 0x80 != 0 {
                let index = read_integer(&mut rest, 7)?;
                self.entry(index)?.field
            } else if first & 0xe0 == 0x20 {
                // The size of the table changes at the beginning of a block only (4.2).
                if has_field {
                    return None;
                }
                let most = read_integer(&mut rest, 5)?;
                self.limit(most)?;
                continue;
            } else {
                let is_kept = first & 0xc0 == 0x40;
                let name = read_integer(&mut rest, if is_kept { 6 } else { 4 })?;
                self.literal(name, is_kept, &mut rest)?
            };
            has_field = true;
            head.take(field);
        }
        Some(head)
    }

    /// A header with its value in the block, and its name in the block (0) or in the table.
    fn literal(&mut self, name: usize, is_kept: bool, rest: &mut &[u8]) -> Option<Field> {
        let (kind, name_length) = match name {
            0 => {
                read_string(rest, 7, &mut self.text)?;
                (Field::of_name(&self.text), self.text.len())
            }
            index => {
                let entry = self.entry(index)?;
                (entry.field, entry.name_length)
            }
        };
        read_string(rest, 7, &mut self.text)?;
        let field = kind.with_value(&self.text);
        self.other_type.note(field, &self.text);
        if is_kept {
            let size = name_length + self.text.len() + ENTRY_BYTES;
            self.size += size;
            self.table.push_front(Entry { name_length, size, field });
            self.shrink();
        }
        Some(field)
    }

    /// The first content type that was not that of DNS messages.
    pub(super) fn other_type(&self) -> &OtherType {
        &self.other_type
    }

    fn entry(&self, index: usize) -> Option<Entry> {
        match index {
            0 => None,
            1..=STATIC_ENTRIES => {
                let field = match index {
                    8..=14 => Field::Status(STATIC_STATUSES[index - 8]),
                    28 => Field::ContentLength(None),
                    31 => Field::ContentType(false),
                    _ => Field::Other,
                };
                Some(Entry { name_length: usize::from(STATIC_NAMES[index - 1]), size: 0, field })
            }
            _ => self.table.get(index - STATIC_ENTRIES - 1).copied(),
        }
    }

    fn limit(&mut self, most: usize) -> Option<()> {
        if most > TABLE_BYTES {
            return None;
        }
        self.most = most;
        self.shrink();
        Some(())
    }

    fn shrink(&mut self) {
        while self.size > self.most {
            match self.table.pop_back() {
                Some(oldest) => self.size -= oldest.size,
                None => self.size = 0,
            }
        }
    }
}

/// The headers of all requests of a run, except those that differ from query to query.
#[derive(Clone, Debug)]
pub(super) struct RequestHead {
    /// The first time: the server inserts them into its table.
    pub(super) inserting: Form,
    /// After that: references to the table.
    pub(super) indexed: Form,
    /// For a server without a table: literals.
    pub(super) literal: Form,
}

/// One form of the headers.
#[derive(Clone, Debug, Default)]
pub(super) struct Form {
    /// Headers before a path.
    pub(super) before_path: Vec<u8>,
    /// Headers after it: pseudo-headers must precede all others.
    pub(super) after_path: Vec<u8>,
}

impl RequestHead {
    /// Requests to `path` at `authority`. The path of a GET differs each time, and is not included.
    pub(super) fn new(authority: &str, path: &str, is_get: bool) -> Self {
        let [inserting, indexed, literal] = [Form::default(), Form::default(), Form::default()];
        let mut head = RequestHead { inserting, indexed, literal };
        // The method and `:scheme: https`.
        let known = if is_get { [0x82, 0x87] } else { [0x83, 0x87] };
        let kept: &[(usize, &[u8])] = match is_get {
            true => &[(AUTHORITY, authority.as_bytes()), (ACCEPT, MESSAGE_TYPE)],
            false => &[
                (AUTHORITY, authority.as_bytes()),
                (PATH, path.as_bytes()),
                (ACCEPT, MESSAGE_TYPE),
                (CONTENT_TYPE, MESSAGE_TYPE),
            ],
        };
        for form in [&mut head.inserting, &mut head.indexed, &mut head.literal] {
            form.before_path.extend_from_slice(&known);
        }
        for (place, (name, value)) in kept.iter().enumerate() {
            let is_first = *name <= PATH;
            let block = head.inserting.part(is_first);
            put_integer(block, 0x40, 6, *name);
            put_string(block, value);
            // The newest entry is the first one of the table.
            put_integer(head.indexed.part(is_first), 0x80, 7, STATIC_ENTRIES + kept.len() - place);
            let block = head.literal.part(is_first);
            put_integer(block, 0, 4, *name);
            put_string(block, value);
        }
        head
    }

    /// How much of the server's table they occupy.
    pub(super) fn table_bytes(&self) -> usize {
        // No entry takes more than what was written and the overhead that the standard adds.
        self.inserting.before_path.len() + self.inserting.after_path.len() + 4 * (ENTRY_BYTES + 16)
    }
}

impl Form {
    fn part(&mut self, is_first: bool) -> &mut Vec<u8> {
        if is_first { &mut self.before_path } else { &mut self.after_path }
    }
}

/// Appends `:path`.
pub(super) fn put_path(block: &mut Vec<u8>, path: &[u8]) {
    put_integer(block, 0, 4, PATH);
    put_string(block, path);
}

/// Appends `content-length`.
pub(super) fn put_content_length(block: &mut Vec<u8>, length: usize) {
    put_integer(block, 0, 4, CONTENT_LENGTH);
    put_decimal(block, length);
}

/// Appends a new size of the table.
pub(super) fn put_table_size(block: &mut Vec<u8>, bytes: usize) {
    put_integer(block, 0x20, 5, bytes);
}

/// The initial size of a connection's table.
pub(super) const TABLE_BYTES: usize = 4_096;

/// The overhead of an entry.
const ENTRY_BYTES: usize = 32;

const STATIC_ENTRIES: usize = 61;
const AUTHORITY: usize = 1;
const PATH: usize = 4;
const ACCEPT: usize = 19;
const CONTENT_LENGTH: usize = 28;
const CONTENT_TYPE: usize = 31;

/// The statuses of static entries 8 to 14.
const STATIC_STATUSES: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];

/// The lengths of the names in the static table, from entry 1 on (RFC 7541, appendix A).
#[rustfmt::skip]
const STATIC_NAMES: [u8; STATIC_ENTRIES] = [
    10, 7, 7, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 14, 15, 15, 13, 6, 27, 3, 5, 13, 13, 19, 16, 16, 14, 16, 13, 12, 6, 4, 4,
    6, 7, 4, 4, 8, 17, 13, 8, 19, 13, 4, 8, 12, 18, 19, 5, 7, 7, 11, 6, 10, 25, 17, 10, 4, 3, 16,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
        (0..hex.len()).step_by(2).map(digit).collect()
    }

    #[test]
    fn the_responses_of_the_standards_examples_are_read_and_their_table_is_as_large() {
        // RFC 7541, C.6: a table of 256 bytes, from which the third response evicts entries.
        let mut decoder = Decoder { most: 256, ..Decoder::new() };
        let first = concat!(
            "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f",
            "0b97c8e9ae82ae43d3",
        );
        let third = concat!(
            "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335df",
            "dfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
        );
        for (hex, status, size) in [(first, 302, 222), ("4883640effc1c0bf", 307, 222), (third, 200, 215)] {
            let head = decoder.decode(&bytes(hex)).expect("a good block");
            assert_eq!((head.status, decoder.size), (status, size), "{hex}");
            assert!(!head.is_message && head.length.is_none());
        }
    }

    #[test]
    fn what_a_dns_message_says_is_read_from_literals_and_from_the_table() {
        let mut block = vec![0x88];
        put_integer(&mut block, 0x40, 6, CONTENT_TYPE);
        put_string(&mut block, b"Application/DNS-message; q=1");
        put_content_length(&mut block, 1_234);
        let mut decoder = Decoder::new();
        let told = Head { status: 200, is_message: true, length: Some(1_234), ..Head::default() };
        assert_eq!(decoder.decode(&block), Some(told));
        // The type by its index, the length with a literal name.
        let mut again = vec![0x89, 0x80 | 62, 0x00];
        put_string(&mut again, b"content-length");
        put_string(&mut again, b"7");
        assert_eq!(decoder.decode(&again), Some(Head { status: 204, length: Some(7), ..told }));
    }

    #[test]
    fn the_size_of_the_table_changes_at_the_beginning_of_a_block_only() {
        assert!(Decoder::new().decode(&bytes("203fe11f88")).is_some());
        assert_eq!(Decoder::new().decode(&bytes("8820")), None);
    }

    #[test]
    fn an_invalid_block_is_rejected() {
        for hex in ["80", "be", "3fe21f", "48", "4882ff", "0f", "7fffffffffff"] {
            assert_eq!(Decoder::new().decode(&bytes(hex)), None, "{hex}");
        }
    }

    #[test]
    fn a_request_is_the_same_in_its_three_forms() {
        for is_get in [true, false] {
            let head = RequestHead::new("dns.example:8443", "/dns-query", is_get);
            let whole = |form: &Form, path: &[u8]| [&form.before_path[..], path, &form.after_path].concat();
            let mut path = Vec::new();
            if is_get {
                put_path(&mut path, b"/dns-query?dns=AAA");
            }
            let [told, pointed, full] =
                [&head.inserting, &head.indexed, &head.literal].map(|form| whole(form, &path));
            assert_eq!(pointed.len() - path.len(), if is_get { 4 } else { 6 });
            assert_eq!(pointed.last(), Some(&(0x80 | 62)));
            let mut decoder = Decoder::new();
            assert!(decoder.decode(&told).is_some());
            assert!(decoder.size <= head.table_bytes());
            assert_eq!(decoder.table.len(), if is_get { 2 } else { 4 });
            assert!(decoder.decode(&pointed).is_some());
            assert!(Decoder::new().decode(&full).is_some());
            assert!(Decoder::new().decode(&pointed).is_none());
        }
    }
}
