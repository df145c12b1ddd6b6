//! Secrets: texts that no writer prints, and the credentials in URLs.
//!
//! ```text
//!   Secret ── Debug, Display, Serialize ──► (secret)
//!   Masked ── Debug, Display, Serialize ──► https://(secret)@host/metrics?token=(secret)
//!          └─ exposed ──► the octets, for whoever uses them
//! ```
//!
//! A record, a report or a message therefore has the placeholder, whoever writes it; and what is read back from a
//! record has the placeholder in the place of the secret, which [`Masked::is_masked`] tells.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What is written in the place of a secret.
pub const SECRET: &str = "(secret)";

/// A text that is a secret as a whole.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret<T = String>(T);

impl<T> Secret<T> {
    /// Takes what no writer is to print.
    pub fn new(secret: T) -> Secret<T> {
        Secret(secret)
    }

    /// The secret itself.
    pub fn exposed(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SECRET)
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SECRET)
    }
}

impl<T> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(SECRET)
    }
}

/// A text whose URLs may have credentials.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Masked(String);

impl Masked {
    /// The text itself, with the credentials.
    pub fn exposed(&self) -> &str {
        &self.0
    }

    /// Whether it has a placeholder where credentials were: it was read back from what a writer has written.
    pub fn is_masked(&self) -> bool {
        self.0.contains(SECRET)
    }
}

impl From<String> for Masked {
    fn from(text: String) -> Masked {
        Masked(text)
    }
}

impl From<&str> for Masked {
    fn from(text: &str) -> Masked {
        Masked(text.to_owned())
    }
}

impl FromStr for Masked {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Masked, Infallible> {
        Ok(text.into())
    }
}

impl fmt::Display for Masked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_credentials(&self.0))
    }
}

impl fmt::Debug for Masked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", without_credentials(&self.0))
    }
}

impl Serialize for Masked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Masked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Masked, D::Error> {
        String::deserialize(deserializer).map(Masked)
    }
}

/// A text without the credentials of the URLs in it: without `user:password` before the host, and without the values of
/// a query string, which may be tokens whatever their names are.
pub fn without_credentials(text: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut written = 0;
    for secret in credentials(text) {
        kept.push_str(&text[written..secret.start]);
        kept.push_str(SECRET);
        written = secret.end;
    }
    if written == 0 {
        return Cow::Borrowed(text);
    }
    kept.push_str(&text[written..]);
    Cow::Owned(kept)
}

/// Where credentials are, in order.
fn credentials(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    let end_of = |from: usize, is_end: &dyn Fn(char) -> bool| {
        text[from..].find(is_end).map_or(text.len(), |length| from + length)
    };
    for (at, mark) in text.match_indices("://").chain(text.match_indices('?')) {
        let from = at + mark.len();
        match mark {
            "?" => {
                let end = end_of(from, &ends_url);
                let mut begins = from;
                for pair in text[from..end].split('&') {
                    let ends = begins + pair.len();
                    if let Some(name) = pair.find('=').filter(|name| *name > 0 && pair.len() > name + 1) {
                        found.push(begins + name + 1..ends);
                    }
                    begins = ends + 1;
                }
            }
            _ => {
                let end = end_of(from, &|c| ends_url(c) || matches!(c, '/' | '?' | '#'));
                let user = text[from..end].rfind('@').map(|length| &text[from..from + length]);
                // Who logs in over SSH is no secret, and proves nothing.
                let is_secret =
                    |user: &&str| !user.is_empty() && (user.contains(':') || !text[..at].ends_with("ssh"));
                found.extend(user.filter(is_secret).map(|user| from..from + user.len()));
            }
        }
    }
    found.sort_by_key(|range| range.start);
    // The query of a query: the outer one has it all.
    found.dedup_by(|next, kept| next.start < kept.end);
    found
}

/// What a URL in a sentence or in a command does not go on after.
fn ends_url(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>')
}

/// A command line without the secrets in it: the values of options that are called so, the keys of `--tsig`, and of
/// `-y` in dnsperf and resperf, and the credentials in URLs.
pub fn words_without_secrets(words: &[impl AsRef<str>]) -> Vec<String> {
    let mut program = words.iter().take(2).filter_map(|word| word.as_ref().rsplit('/').next());
    let has_keys = program.any(|name| matches!(name, "dnsperf" | "resperf" | "resperf-report"));
    let mut is_secret = false;
    let without = |word: &str| {
        if std::mem::take(&mut is_secret) {
            return SECRET.to_owned();
        }
        let begins =
            match word.strip_prefix("--").map(|option| option.split_once('=').unwrap_or((option, ""))) {
                Some((name, _)) if is_of_secret(name) => Some("--".len() + name.len() + 1),
                Some(_) => None,
                None => key_in_short_options(word).filter(|_| has_keys),
            };
        match begins.and_then(|begins| word.get(..begins)) {
            Some(before) if before.len() < word.len() => format!("{before}{SECRET}"),
            // The next word, unless this one has an equals sign and nothing behind it.
            _ => {
                is_secret = begins.is_some() && !word.ends_with('=');
                without_credentials(word).into_owned()
            }
        }
    };
    words.iter().map(AsRef::as_ref).map(without).collect()
}

/// Whether the value of a long option is a secret by its name. That of a file with one is none.
fn is_of_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let is_place = ["file", "path", "dir", "log"].iter().any(|place| name.contains(place));
    let words = ["passw", "secret", "token", "api-key", "apikey", "credential"];
    name == "tsig" || !is_place && words.iter().any(|word| name.contains(word))
}

/// Where the key of `-y` begins in a word of short options: those without a value may be written before it.
fn key_in_short_options(word: &str) -> Option<usize> {
    let letters = word.strip_prefix('-')?;
    let first = letters.find(|letter| !WITHOUT_VALUE.contains(letter))?;
    letters[first..].starts_with('y').then_some(1 + first + 1)
}

/// The short options of dnsperf and resperf that have no value.
const WITHOUT_VALUE: &str = "eDuBvjWRh";

/// Enough of a secret to tell that it was changed, and too little to find it by trying: 65,536 secrets have the same.
pub fn trace(secret: &str) -> u16 {
    // FNV-1a, folded.
    let hash = secret
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, octet| (hash ^ u32::from(octet)).wrapping_mul(0x0100_0193));
    (hash >> 16) as u16 ^ hash as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_writer_prints_a_secret() {
        let secret = Secret::new("hunter2".to_owned());
        assert_eq!(format!("{secret} {secret:?} {:#?}", Some(&secret)).matches("hunter2").count(), 0);
        let masked = Masked::from("bind=http://me:hunter2@[::1]:8053/?token=hunter2");
        assert_eq!(format!("{masked} {masked:?} {:#?}", Some(&masked)).matches("hunter2").count(), 0);
        assert_eq!((secret.exposed().as_str(), masked.exposed().contains("hunter2")), ("hunter2", true));
    }

    #[test]
    fn credentials_are_found_in_whatever_has_a_url() {
        for (text, kept) in [
            ("http://127.0.0.1:8053/", "http://127.0.0.1:8053/"),
            ("http://me:pw@host:1/a@b", "http://(secret)@host:1/a@b"),
            ("http://a@b:pw@host", "http://(secret)@host"),
            (
                "curl -s 'https://u:p@h/x?a=1&b=&c=2' -o f",
                "curl -s 'https://(secret)@h/x?a=(secret)&b=&c=(secret)' -o f",
            ),
            ("/dns-query?token=abc", "/dns-query?token=(secret)"),
            ("ssh://user@host:22/1 http://h", "ssh://user@host:22/1 http://h"),
            ("ssh://user:pw@host", "ssh://(secret)@host"),
            ("is it so? a=b", "is it so? a=b"),
            ("http://h/?u=http://a:b@c?d=e", "http://h/?u=(secret)"),
            ("k\u{e4}se://\u{e4}@\u{e4}?\u{e4}=\u{e4}", "k\u{e4}se://(secret)@\u{e4}?\u{e4}=(secret)"),
            ("://@?=", "://@?="),
        ] {
            assert_eq!(without_credentials(text), kept, "{text}");
            assert_eq!(without_credentials(kept), kept, "what is masked stays as it is");
        }
    }

    #[test]
    fn a_command_line_has_no_secret() {
        let kept = |text: &str| words_without_secrets(&text.split(' ').collect::<Vec<_>>()).join(" ");
        for (typed, expected) in [
            ("dnsdyno run --tsig k:YQ== -s a", "dnsdyno run --tsig (secret) -s a"),
            ("dnsdyno run --tsig=k:YQ== -y -s a", "dnsdyno run --tsig=(secret) -y -s a"),
            ("dnsperf -y k:YQ== -s a -d f -yk:YQ==", "dnsperf -y (secret) -s a -d f -y(secret)"),
            (
                "/a/dnsdyno resperf -vWyk:YQ== -vWy k:YQ== -d y",
                "/a/dnsdyno resperf -vWy(secret) -vWy (secret) -d y",
            ),
            (
                "dnsperf -dmy.txt -sy -O doh-uri=https://a:b@h/?t=c",
                "dnsperf -dmy.txt -sy -O doh-uri=https://(secret)@h/?t=(secret)",
            ),
            (
                "dnsdyno run --tsig-file k --otlp=http://a:b@h",
                "dnsdyno run --tsig-file k --otlp=http://(secret)@h",
            ),
            (
                "pdns --api-key=a --webserver-password b -c d",
                "pdns --api-key=(secret) --webserver-password (secret) -c d",
            ),
            ("x --api-key-file a --passes 3 --password=", "x --api-key-file a --passes 3 --password="),
        ] {
            assert_eq!(kept(typed), expected);
        }
    }

    #[test]
    fn a_trace_tells_a_change() {
        assert_eq!(trace("a"), trace("a"));
        assert_ne!(trace("a"), trace("b"));
    }
}
