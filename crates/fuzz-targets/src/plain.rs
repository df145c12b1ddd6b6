//! Sentences for a terminal.

/// No octet of a stranger reaches a terminal as a control character.
pub(crate) fn is_plain(sentence: &str) {
    assert!(!sentence.chars().any(char::is_control), "{sentence:?}");
}
