//! Parentheses of a master file, by which a record spans lines.

/// Whether a parenthesis is not closed, outside of quotes and comments. The parser of `domain` 0.12 panics where a file
/// ends within one.
pub fn has_open_parenthesis(text: &[u8]) -> bool {
    let (mut depth, mut is_quoted, mut is_comment) = (0_u64, false, false);
    let mut octets = text.iter();
    while let Some(octet) = octets.next() {
        match octet {
            b'\n' => is_comment = false,
            _ if is_comment => {}
            b'\\' => {
                octets.next();
            }
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b';' => is_comment = true,
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    depth > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parenthesis_counts_outside_of_quotes_comments_and_escapes() {
        for closed in ["", "a (b)\n", "a \"(\"\n", "a ; (\n", "a \\(\n", "a (\n b ; )\n )\n", ")"] {
            assert!(!has_open_parenthesis(closed.as_bytes()), "{closed}");
        }
        for open in ["(", "a (b\n", "a (\n b ; )\n", "a (\")\"\n", "(()"] {
            assert!(has_open_parenthesis(open.as_bytes()), "{open}");
        }
    }
}
