//! The words of a line, and the start of a malformed one.

/// The first word of `text` and the rest; the word is empty if there is none.
#[inline]
pub(super) fn next_word(text: &[u8]) -> (&[u8], &[u8]) {
    let start = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(text.len());
    let text = &text[start..];
    text.split_at(text.iter().position(|byte| is_blank(*byte)).unwrap_or(text.len()))
}

/// Whether this octet separates words.
#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// The start of a line, printable on a terminal.
pub(super) fn shorten(line: &[u8]) -> String {
    let shown = &line[..line.len().min(MAX_SHOWN)];
    let dots = if shown.len() < line.len() { "..." } else { "" };
    format!("{}{dots}", shown.escape_ascii())
}

/// How many bytes of a malformed line are shown.
pub(super) const MAX_SHOWN: usize = 60;
