//! Lists of names as they are published: `rank,name`, with a header or without, such as those of Tranco, Umbrella and
//! Majestic.

use std::borrow::Cow;

use super::error::BadReason;

/// Whether the first line of a file is one of a list.
pub(super) fn is_list(line: &[u8]) -> bool {
    let is_blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    line.contains(&b',') && (line.starts_with(b"\"") || !line.trim_ascii().iter().any(is_blank))
}

/// Which field of a line is the name; it is known from the first line on.
#[derive(Debug, Default)]
pub(super) struct ListColumn(Option<usize>);

impl ListColumn {
    /// The name in a line; `None` in the line with the names of the fields.
    pub(super) fn name_in<'a>(&mut self, line: &'a [u8]) -> Result<Option<Cow<'a, [u8]>>, BadReason> {
        let fields = fields(line);
        let column = match self.0 {
            Some(column) => column,
            None => {
                let title =
                    |field: &Cow<'_, [u8]>| TITLES.iter().any(|title| field.eq_ignore_ascii_case(title));
                if let Some(column) = fields.iter().position(title) {
                    self.0 = Some(column);
                    return Ok(None);
                }
                let is_number = |field: &Cow<'_, [u8]>| field.iter().all(u8::is_ascii_digit);
                let column = fields.iter().position(|field| !is_number(field)).unwrap_or(0);
                *self.0.insert(column)
            }
        };
        match fields.into_iter().nth(column).filter(|name| !name.is_empty()) {
            Some(name) => Ok(Some(name)),
            None => Err(BadReason::NoName),
        }
    }
}

/// The fields of a line (RFC 4180). A field in quotes may have commas; no name has a quote.
fn fields(line: &[u8]) -> Vec<Cow<'_, [u8]>> {
    let (mut fields, mut start, mut is_quoted) = (Vec::new(), 0, false);
    for (at, byte) in line.iter().chain(std::iter::once(&b',')).enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted || at == line.len() => {
                fields.push(unquoted(&line[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    fields
}

fn unquoted(field: &[u8]) -> Cow<'_, [u8]> {
    let field = field.trim_ascii();
    match field.contains(&b'"') {
        true => field.iter().copied().filter(|byte| *byte != b'"').collect(),
        false => Cow::Borrowed(field),
    }
}

/// What the publishers call the field.
const TITLES: [&[u8]; 6] = [b"domain", b"domain name", b"name", b"hostname", b"host", b"fqdn"];

#[cfg(test)]
mod tests {
    use super::*;

    fn names(lines: &[&str]) -> Vec<Option<String>> {
        let mut column = ListColumn::default();
        let name = |line: &&str| match column.name_in(line.as_bytes()) {
            Ok(name) => name.map(|name| String::from_utf8_lossy(&name).into_owned()),
            Err(reason) => Some(reason.to_string()),
        };
        lines.iter().map(name).collect()
    }

    #[test]
    fn the_name_is_in_the_field_with_its_title_or_else_in_the_first_that_is_no_number() {
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(names(&["1,google.com", "2,a.example"]), [some("google.com"), some("a.example")]);
        assert_eq!(names(&["google.com,1", "4,1"]), [some("google.com"), some("4")]);
        assert_eq!(
            names(&["GlobalRank,TldRank,Domain,TLD", "1,1,google.com,com", "2,2,4.example,\"x,y\""]),
            [None, some("google.com"), some("4.example")]
        );
        assert_eq!(
            names(&["\"Rank\",\"Domain\"", "\"1\",\"a.example\"", "2, b.example "]),
            [None, some("a.example"), some("b.example")]
        );
    }

    #[test]
    fn a_line_without_the_field_is_malformed() {
        assert_eq!(
            names(&["1,a.example", "2", "3,"])[1..],
            [Some(BadReason::NoName.to_string()), Some(BadReason::NoName.to_string())]
        );
        assert_eq!(names(&["1,\"a.example"]), [Some("a.example".to_owned())]);
    }

    #[test]
    fn a_list_is_told_from_a_query_file_by_its_commas() {
        for line in ["1,google.com", "\"Rank\",\"Domain name\"", "Rank,Domain", "1,a.example\r"] {
            assert!(is_list(line.as_bytes()), "{line}");
        }
        for line in ["www.example.com A", "a,b.example A", "www.example.com"] {
            assert!(!is_list(line.as_bytes()), "{line}");
        }
    }
}
