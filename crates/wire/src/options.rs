//! EDNS options as on the wire, in a block of fixed size: they are copied with the form of the queries.

/// EDNS options, each as its code, its length and its data (RFC 6891 §6.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EdnsOptions {
    length: u16,
    /// Only the first `length` are used; the others are 0.
    bytes: [u8; EdnsOptions::MOST_BYTES],
}

impl EdnsOptions {
    /// What all options together may take, in octets: a query is seldom longer than 512.
    pub const MOST_BYTES: usize = 512;

    /// Appends an option. `false`, and nothing is changed, if there is no room for it.
    #[must_use]
    pub fn push(&mut self, code: u16, data: &[u8]) -> bool {
        let start = usize::from(self.length);
        let end = start + OPTION_HEAD_LEN + data.len();
        let Some(room) = self.bytes.get_mut(start..end) else { return false };
        let (head, body) = room.split_at_mut(OPTION_HEAD_LEN);
        head[..2].copy_from_slice(&code.to_be_bytes());
        head[2..].copy_from_slice(&(data.len() as u16).to_be_bytes());
        body.copy_from_slice(data);
        self.length = end as u16;
        true
    }

    /// The options as on the wire.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl Default for EdnsOptions {
    fn default() -> Self {
        EdnsOptions { length: 0, bytes: [0; EdnsOptions::MOST_BYTES] }
    }
}

impl std::fmt::Debug for EdnsOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("EdnsOptions").field(&self.bytes()).finish()
    }
}

/// Code and length of an option, in octets.
pub const OPTION_HEAD_LEN: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_follow_each_other_until_there_is_no_room() {
        let mut options = EdnsOptions::default();
        assert!(options.is_empty() && options.push(65001, b"ab") && options.push(12, &[]));
        assert_eq!(options.bytes(), b"\xfd\xe9\0\x02ab\0\x0c\0\0");
        let before = options;
        assert!(!options.push(1, &[7; EdnsOptions::MOST_BYTES - 13]));
        assert_eq!(options, before);
        assert!(options.push(1, &[7; EdnsOptions::MOST_BYTES - 14]));
        assert_eq!(options.bytes().len(), EdnsOptions::MOST_BYTES);
    }
}
