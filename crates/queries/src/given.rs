//! Queries given as names, on the command line or in a plan file.

use dnsdyno_wire::parse_type_bytes;

use super::error::SourceError;
use super::queries::{Full, QueriesBuilder};
use super::reading::Reading;
use super::text::{IdnNames, Loaded, Words, read_extended};
use super::words::next_word;

/// Reads queries written as `name`, `name TYPE` or `name/TYPE`; without a type it is A. As in a file, names may have
/// placeholders, and options may follow the type.
///
/// A slash that is not followed by a type, as in `0/25.2.0.192.in-addr.arpa`, is part of the name. Any malformed item
/// is an error: the user can correct it immediately.
pub fn read_given(items: &[String], reading: &Reading) -> Result<Loaded, SourceError> {
    let mut builder = QueriesBuilder::of(reading, 0);
    let mut name_wire = Vec::new();
    let mut idn = IdnNames::default();
    let origin = || "the names given".to_owned();
    for item in items {
        let query = read_extended(&split(item), reading.form, &mut name_wire, &mut idn)
            .map_err(|reason| SourceError::Given { item: item.clone(), reason })?;
        let too_large =
            |full: Full| SourceError::TooLarge { origin: origin(), line: 0, most_bytes: full.most_bytes };
        query.push(&name_wire, &mut builder).map_err(too_large)?;
    }
    if builder.is_empty() {
        return Err(SourceError::Empty { origin: "the list of names".to_owned() });
    }
    Loaded::new(builder, origin(), idn, reading)
}

/// Splits an item into its words.
fn split(item: &str) -> Words<'_> {
    let (name, rest) = next_word(item.as_bytes());
    let (qtype, more) = next_word(rest);
    if !qtype.is_empty() {
        return Words { name, qtype, more };
    }
    if let Some(slash) = name.iter().rposition(|&byte| byte == b'/') {
        let after = &name[slash + 1..];
        if parse_type_bytes(after).is_some() || !after.contains(&b'.') {
            return Words { name: &name[..slash], qtype: after, more };
        }
    }
    Words { name, qtype: TYPE_A_TEXT, more }
}

const TYPE_A_TEXT: &[u8] = b"A";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BadReason;
    use dnsdyno_wire::{NameError, TYPE_A, name_to_text, peek, type_name};

    fn parsed(items: &[&str]) -> Result<Vec<String>, SourceError> {
        let items: Vec<_> = items.iter().map(|item| (*item).to_owned()).collect();
        read_given(&items, &Reading::default()).map(|loaded| {
            (0..loaded.queries.len())
                .map(|i| {
                    let found = peek(loaded.queries.message(i)).expect("a whole message");
                    format!("{} {}", name_to_text(found.qname()), type_name(found.qtype().unwrap_or(0)))
                })
                .collect()
        })
    }

    fn reason(item: &str) -> Option<BadReason> {
        match parsed(&[item]) {
            Err(SourceError::Given { reason, .. }) => Some(reason),
            _ => None,
        }
    }

    #[test]
    fn a_type_may_follow_a_blank_or_a_slash_or_be_left_out() {
        let items = ["example.com", "example.com aaaa", "example.com/MX", ". NS", "a/TYPE300"];
        let want = ["example.com A", "example.com AAAA", "example.com MX", ". NS", "a TYPE300"];
        assert_eq!(parsed(&items).ok(), Some(want.map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_slash_inside_a_name_stays() {
        assert_eq!(
            parsed(&["0/25.2.0.192.in-addr.arpa", "0/25.2.0.192.in-addr.arpa/PTR"]).ok(),
            Some(vec!["0/25.2.0.192.in-addr.arpa A".to_owned(), "0/25.2.0.192.in-addr.arpa PTR".to_owned()])
        );
    }

    #[test]
    fn a_malformed_item_is_reported_with_its_reason() {
        assert_eq!(reason("a..b"), Some(BadReason::Name(NameError::EmptyLabel)));
        assert_eq!(reason("a XYZZY"), Some(BadReason::UnknownType("XYZZY".to_owned())));
        assert_eq!(reason("a/XYZZY"), Some(BadReason::UnknownType("XYZZY".to_owned())));
        assert_eq!(reason("a/"), Some(BadReason::NoType));
        assert_eq!(reason(""), Some(BadReason::Name(NameError::Empty)));
        assert!(matches!(parsed(&[]), Err(SourceError::Empty { .. })));
    }

    #[test]
    fn the_default_type_is_a() {
        assert_eq!(parse_type_bytes(TYPE_A_TEXT), Some(TYPE_A));
    }
}
