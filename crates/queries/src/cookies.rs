//! DNS cookies (RFC 7873): each channel is a client with a cookie of its own, and returns the cookie that the server
//! gave it last.

use dnsdyno_wire::{Additional, OPTION_HEAD_LEN, TYPE_OPT};

use super::maker::CookieFound;
use super::random::mix;

/// The cookies of a worker's channels.
pub(super) struct Jar {
    seed: u64,
    cookies: Vec<Cookie>,
}

/// The cookie of a channel: of the client, and after it of the server, where that has given one.
#[derive(Debug, Clone, Copy)]
struct Cookie {
    bytes: [u8; LONGEST_COOKIE],
    length: u8,
}

impl Jar {
    pub(super) fn new(seed: u64, worker: u32) -> Jar {
        Jar { seed: mix(seed ^ COOKIES).wrapping_add(u64::from(worker) << 32), cookies: Vec::new() }
    }

    /// Makes the cookies of this many clients.
    pub(super) fn prepare(&mut self, channels: usize) {
        let cookie = |channel| Cookie {
            bytes: {
                let mut bytes = [0; LONGEST_COOKIE];
                bytes[..CLIENT_LEN].copy_from_slice(&mix(self.seed.wrapping_add(channel)).to_be_bytes());
                bytes
            },
            length: CLIENT_LEN as u8,
        };
        self.cookies = (0..channels as u64).map(cookie).collect();
    }

    /// The data of the option for a query over this channel, and its length.
    #[inline]
    pub(super) fn cookie_of(&self, channel: usize) -> ([u8; LONGEST_COOKIE], usize) {
        self.cookies.get(channel).map_or(([0; LONGEST_COOKIE], 0), |it| (it.bytes, usize::from(it.length)))
    }

    /// Looks at the cookie of a response over this channel, and keeps that of the server for its next queries.
    pub(super) fn check(&mut self, channel: usize, bytes: &[u8]) -> CookieFound {
        let Some(cookie) = self.cookies.get_mut(channel) else { return CookieFound::Absent };
        let Some(data) = cookie_in(bytes) else { return CookieFound::Absent };
        if data.get(..CLIENT_LEN).is_some_and(|of_client| of_client != &cookie.bytes[..CLIENT_LEN]) {
            return CookieFound::WrongClientCookie;
        }
        if !(CLIENT_LEN + SHORTEST_SERVER_LEN..=LONGEST_COOKIE).contains(&data.len()) {
            return CookieFound::Malformed;
        }
        cookie.bytes[..data.len()].copy_from_slice(data);
        cookie.length = data.len() as u8;
        CookieFound::ServerCookie
    }
}

/// The data of the COOKIE option of a message.
fn cookie_in(bytes: &[u8]) -> Option<&[u8]> {
    let opt = Additional::of(bytes).ok()?.map_while(Result::ok).find(|record| record.rtype == TYPE_OPT)?;
    let mut options = &bytes[opt.data..opt.end];
    while let Some((head, rest)) = options.split_first_chunk::<OPTION_HEAD_LEN>() {
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let data = rest.get(..length)?;
        if u16::from_be_bytes([head[0], head[1]]) == COOKIE_OPTION {
            return Some(data);
        }
        options = &rest[length..];
    }
    None
}

/// The code of the option.
pub(super) const COOKIE_OPTION: u16 = 10;

/// The length of a client cookie in octets.
const CLIENT_LEN: usize = 8;

/// The shortest cookie of a server in octets; the longest has 32.
const SHORTEST_SERVER_LEN: usize = 8;

/// The longest cookies of both, in octets.
pub(super) const LONGEST_COOKIE: usize = 40;

/// Separates these random numbers from others of the same seed.
const COOKIES: u64 = 0x636f_6f6b_6965;

#[cfg(test)]
mod tests {
    use super::*;

    fn jar() -> Jar {
        let mut jar = Jar::new(7, 0);
        jar.prepare(3);
        jar
    }

    fn response(option: &[u8]) -> Vec<u8> {
        let mut bytes = b"\0\0\x80\0\0\0\0\0\0\0\0\x01\0\0\x29\x04\xd0\0\0\0\0".to_vec();
        bytes.extend_from_slice(&((option.len() + 8) as u16).to_be_bytes());
        bytes.extend_from_slice(b"\0\x03\0\0\0\x0a");
        bytes.extend_from_slice(&(option.len() as u16).to_be_bytes());
        bytes.extend_from_slice(option);
        bytes
    }

    fn sent(jar: &Jar, channel: usize) -> Vec<u8> {
        let (bytes, length) = jar.cookie_of(channel);
        bytes[..length].to_vec()
    }

    #[test]
    fn each_client_has_its_cookie_and_returns_that_of_the_server() {
        let mut jar = jar();
        let first = sent(&jar, 1);
        assert_eq!(first.len(), 8);
        assert_ne!(first, sent(&jar, 2));
        let given = [&first[..], &[9; 16]].concat();
        assert_eq!(jar.check(1, &response(&given)), CookieFound::ServerCookie);
        assert_eq!((sent(&jar, 1), sent(&jar, 2).len()), (given, 8));
    }

    #[test]
    fn a_cookie_for_another_client_or_of_a_wrong_length_is_not_kept() {
        let mut jar = jar();
        let first = sent(&jar, 1);
        let of_other = [sent(&jar, 2), vec![9; 16]].concat();
        assert_eq!(jar.check(1, &response(&of_other)), CookieFound::WrongClientCookie);
        for option in
            [first.clone(), [&first[..], &[1; 7]].concat(), [&first[..], &[1; 33]].concat(), vec![1]]
        {
            assert_eq!(jar.check(1, &response(&option)), CookieFound::Malformed, "{option:?}");
        }
        assert_eq!(jar.check(1, b"\0\0\x80\0\0\0\0\0\0\0\0\0"), CookieFound::Absent);
        assert_eq!(sent(&jar, 1), first);
    }
}
