//! What a request carries of a query: the message in its body (POST), or in its path (GET).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The query of the request that is being made. Its buffers are used again for each.
#[derive(Debug)]
pub struct Carried {
    /// For GET: the path up to the message.
    get_path: Option<Vec<u8>>,
    message: Vec<u8>,
    path: Vec<u8>,
}

impl Carried {
    /// For requests to this path.
    pub fn new(path: &str, is_get: bool) -> Self {
        let get_path = is_get.then(|| format!("{path}?dns=").into_bytes());
        Carried { get_path, message: Vec::new(), path: Vec::new() }
    }

    /// Takes the next query, and returns its ID. One that is shorter than an ID is carried as an ID alone.
    ///
    /// With an ID of 0 equal queries are equal requests, which caches recognize (RFC 8484, 4.1).
    #[inline]
    pub fn take(&mut self, message: &[u8]) -> u16 {
        let (id, rest) = message.split_first_chunk::<2>().unwrap_or((&[0, 0], &[]));
        self.message.clear();
        self.message.extend_from_slice(&[0, 0]);
        self.message.extend_from_slice(rest);
        if let Some(beginning) = &self.get_path {
            let path = &mut self.path;
            path.clear();
            path.extend_from_slice(beginning);
            let (at, length) = (path.len(), self.message.len().div_ceil(3) * 4);
            path.resize(at + length, 0);
            // Cannot fail: the path has the length of the longest encoding, and is truncated afterwards.
            let written = URL_SAFE_NO_PAD.encode_slice(&self.message, &mut path[at..]).unwrap_or(0);
            path.truncate(at + written);
        }
        u16::from_be_bytes(*id)
    }

    /// The path with the message, for GET.
    #[inline]
    pub fn path(&self) -> Option<&[u8]> {
        self.get_path.as_ref().map(|_| &self.path[..])
    }

    /// The body, for POST.
    #[inline]
    pub fn body(&self) -> Option<&[u8]> {
        self.get_path.is_none().then_some(&self.message[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_travels_with_the_id_0_in_the_body_or_in_the_path() {
        let query = [0x12, 0x34, 1, 0, 0xff, 0xfe, 0xfb];
        let mut post = Carried::new("/dns-query", false);
        assert_eq!(post.take(&query), 0x1234);
        assert_eq!((post.body(), post.path()), (Some(&[0, 0, 1, 0, 0xff, 0xfe, 0xfb][..]), None));
        let mut get = Carried::new("/q", true);
        for _ in 0..2 {
            assert_eq!(get.take(&query), 0x1234);
            // As RFC 4648, 5 has it, without padding.
            assert_eq!((get.path(), get.body()), (Some(&b"/q?dns=AAABAP_--w"[..]), None));
        }
        assert_eq!((get.take(&[1]), get.path()), (0, Some(&b"/q?dns=AAA"[..])));
    }
}
