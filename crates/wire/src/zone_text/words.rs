//! The words of a zone file.

use std::ops::Range;

/// A word of a zone file.
pub(super) struct Word {
    pub(super) place: Range<usize>,
    /// Whether it begins an entry.
    pub(super) is_first: bool,
    /// Whether the entry begins with a blank: it has the owner of the entry before it.
    pub(super) is_behind_blank: bool,
}

/// The words of a zone file, outside of comments; quoted ones with their quotes.
pub(super) struct Words<'a> {
    text: &'a [u8],
    at: usize,
    /// Of parentheses, in which a line goes on.
    depth: u64,
}

impl<'a> Words<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        Words { text, at: 0, depth: 0 }
    }

    pub(super) fn next(&mut self) -> Option<Word> {
        // The start of the file is that of a line.
        let mut is_first = self.at == 0;
        let mut is_behind_blank = false;
        loop {
            let octet = *self.text.get(self.at)?;
            match octet {
                b'\n' => {
                    is_first |= self.depth == 0;
                    is_behind_blank &= self.depth > 0;
                }
                b' ' | b'\t' | b'\r' => is_behind_blank |= self.is_line_start(),
                b'(' => self.depth += 1,
                b')' => self.depth = self.depth.saturating_sub(1),
                b';' => {
                    let rest = &self.text[self.at..];
                    self.at += rest.iter().position(|octet| *octet == b'\n').unwrap_or(rest.len());
                    continue;
                }
                _ => break,
            }
            self.at += 1;
        }
        let start = self.at;
        self.skip_word();
        Some(Word { place: start..self.at, is_first, is_behind_blank })
    }

    fn is_line_start(&self) -> bool {
        self.depth == 0 && (self.at == 0 || self.text.get(self.at - 1) == Some(&b'\n'))
    }

    fn skip_word(&mut self) {
        let mut is_quoted = false;
        while let Some(octet) = self.text.get(self.at) {
            match octet {
                b'\\' => self.at += 1,
                b'"' => is_quoted = !is_quoted,
                _ if is_quoted => {}
                b' ' | b'\t' | b'\r' | b'\n' | b'(' | b')' | b';' => return,
                _ => {}
            }
            self.at += 1;
        }
        // An escape may be the last octet.
        self.at = self.text.len();
    }
}
