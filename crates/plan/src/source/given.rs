//! Queries given as names, on the command line or in a plan file.

use dnsdyno_wire::{QueryForm, parse_type_bytes};

use super::error::SourceError;
use super::queries::QueriesBuilder;
use super::text::{IdnNames, Loaded, next_word, read_query};

/// Reads queries written as `name`, `name TYPE` or `name/TYPE`; without a type it is A.
///
/// A slash that is not followed by a type, as in `0/25.2.0.192.in-addr.arpa`, is part of the name. Any malformed item
/// is an error: the user can correct it immediately.
pub fn read_given(items: &[String], form: QueryForm) -> Result<Loaded, SourceError> {
    let mut builder = QueriesBuilder::new(form, 0);
    let mut name_wire = Vec::new();
    let mut idn = IdnNames::default();
    for item in items {
        let (name, qtype) = split(item);
        name_wire.clear();
        let qtype = read_query(name, qtype, &mut name_wire, &mut idn)
            .map_err(|reason| SourceError::Given { item: item.clone(), reason })?;
        builder
            .push(&name_wire, qtype)
            .map_err(|_| SourceError::TooLarge { origin: "the names given".to_owned(), line: 0 })?;
    }
    if builder.is_empty() {
        return Err(SourceError::Empty { origin: "the list of names".to_owned() });
    }
    Ok(Loaded::new(builder.finish(), 0, Vec::new(), idn))
}

/// Splits an item into name and type.
fn split(item: &str) -> (&[u8], &[u8]) {
    let (name, rest) = next_word(item.as_bytes());
    let (qtype, _) = next_word(rest);
    if !qtype.is_empty() {
        return (name, qtype);
    }
    if let Some(slash) = name.iter().rposition(|&byte| byte == b'/') {
        let after = &name[slash + 1..];
        if parse_type_bytes(after).is_some() || !after.contains(&b'.') {
            return (&name[..slash], after);
        }
    }
    (name, TYPE_A_TEXT)
}

const TYPE_A_TEXT: &[u8] = b"A";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::BadReason;
    use dnsdyno_wire::{NameError, TYPE_A, name_to_text, peek, type_name};

    fn parsed(items: &[&str]) -> Result<Vec<String>, SourceError> {
        let items: Vec<_> = items.iter().map(|item| (*item).to_owned()).collect();
        read_given(&items, QueryForm::default()).map(|loaded| {
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
