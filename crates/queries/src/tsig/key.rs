//! A TSIG key as users give it: `[ALGORITHM:]NAME:SECRET`, or a key file of BIND, NSD or Knot.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use dnsdyno_text::encoding::decoded;
use dnsdyno_text::secret::{SECRET, Secret};
use dnsdyno_text::shown;
use dnsdyno_wire::{encode_name, name_to_text};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::algorithm::TsigAlgorithm;
use super::error::TsigError;

/// A key. Its secret is in no text that it is shown as.
#[derive(Clone, PartialEq, Eq)]
pub struct TsigKey {
    pub(super) algorithm: TsigAlgorithm,
    /// Its name in wire format, in lower case: the canonical form that is signed.
    pub(super) name: Vec<u8>,
    pub(super) secret: Secret<Vec<u8>>,
}

impl TsigKey {
    /// `NAME:SECRET` (with HMAC-SHA256) or `ALGORITHM:NAME:SECRET`.
    pub fn parse(text: &str) -> Result<TsigKey, TsigError> {
        let parts: Vec<&str> = text.trim().split(':').collect();
        match parts[..] {
            // What a record has.
            [SECRET] => Err(TsigError::NoSecret),
            [algorithm, _] if TsigAlgorithm::parse(algorithm).is_ok() => Err(TsigError::NoSecret),
            // Of parts in another order, this may be the secret.
            [algorithm, ..] if parts.len() == 3 && !is_like_an_algorithm(algorithm) => Err(TsigError::Order),
            [name, secret] => TsigKey::new(TsigAlgorithm::SHA256, name, secret),
            [algorithm, name, secret] => TsigKey::new(TsigAlgorithm::parse(algorithm)?, name, secret),
            _ => Err(TsigError::Form),
        }
    }

    /// Reads a key file: of BIND (`key "NAME" { algorithm ...; secret "..."; };`), of NSD (`key:`, `name: NAME`), of
    /// Knot (`key:`, `- id: NAME`), or with one line of the form that [`TsigKey::parse`] reads.
    pub fn read(path: &Path) -> Result<TsigKey, TsigError> {
        let cannot = |error: std::io::Error| TsigError::Read(error.to_string());
        let mut octets = Vec::new();
        File::open(path).map_err(cannot)?.take(MAX_FILE_BYTES).read_to_end(&mut octets).map_err(cannot)?;
        let text = decoded(octets).map_err(|error| TsigError::Read(error.to_string()))?;
        TsigKey::from_file_text(&text)
    }

    /// The text of a key file.
    pub fn from_file_text(text: &str) -> Result<TsigKey, TsigError> {
        let text = &without_block_comments(text);
        // Of BIND, whose comments may begin behind a word.
        let is_of_bind = text.contains('{');
        let without_comment = |line| without_comment(line, is_of_bind);
        let lines: Vec<&str> = text.lines().map(without_comment).filter(|line| !line.is_empty()).collect();
        if let [line] = lines[..]
            && !line.contains(char::is_whitespace)
        {
            return TsigKey::parse(line);
        }
        let is_between = |c: char| c.is_whitespace() || "{};\"'".contains(c);
        let words = lines
            .iter()
            .flat_map(|line| line.split(is_between))
            .filter(|word| !word.is_empty() && *word != "-");
        let mut words = words.peekable();
        let (mut name, mut algorithm, mut secret) = (None, None, None);
        // Of a file with other sections, such as a whole configuration, only those of keys have a key.
        let mut is_in_key = true;
        while let Some(word) = words.next() {
            if word.ends_with(':') && words.peek().is_some_and(|next| next.ends_with(':')) {
                is_in_key = matches!(word, "key:" | "tsig-key:");
                continue;
            }
            let place = match word {
                _ if !is_in_key => continue,
                "key" | "id:" | "name:" => &mut name,
                "algorithm" | "algorithm:" => &mut algorithm,
                "secret" | "secret:" => &mut secret,
                _ => continue,
            };
            if place.is_some() {
                return Err(TsigError::SeveralKeys);
            }
            *place = words.next();
        }
        let (Some(name), Some(secret)) = (name, secret) else { return Err(TsigError::NoKey) };
        TsigKey::new(algorithm.map_or(Ok(TsigAlgorithm::SHA256), TsigAlgorithm::parse)?, name, secret)
    }

    fn new(algorithm: TsigAlgorithm, name: &str, secret: &str) -> Result<TsigKey, TsigError> {
        let mut wire = Vec::new();
        let is_name = !name.is_empty() && encode_name(name.as_bytes(), &mut wire).is_ok();
        if !is_name {
            // So long a label may be a secret that was written first.
            let said = if name.len() > LONGEST_LABEL { SECRET.into() } else { shown(name, LONGEST_LABEL) };
            return Err(TsigError::Name(said.into_owned()));
        }
        if secret.is_empty() {
            return Err(TsigError::NoSecret);
        }
        // A length octet is at most 63, so none of them is taken for a letter.
        wire.make_ascii_lowercase();
        let secret = BASE64.decode(secret).map_err(|_| TsigError::Secret)?;
        Ok(TsigKey { algorithm, name: wire, secret: Secret::new(secret) })
    }
}

/// Whether a word is meant as an algorithm: only such a word is in an error.
fn is_like_an_algorithm(word: &str) -> bool {
    let word = word.trim().to_ascii_lowercase();
    word.len() <= LONGEST_ALGORITHM
        && ["hmac", "sha", "md", "gss"].iter().any(|start| word.starts_with(start))
}

/// A text without what is between `/*`, which no secret has, and `*/`.
fn without_block_comments(text: &str) -> String {
    let mut pieces = text.split("/*");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + " " + piece.split_once("*/").map_or("", |(_, rest)| rest))
}

/// A line without its comment: behind `#`, which no name and no secret has, and behind `//`, with which a secret may
/// begin in the files of NSD and Knot.
fn without_comment(line: &str, is_of_bind: bool) -> &str {
    let line = line.split('#').next().unwrap_or_default().trim();
    if line.starts_with("//") {
        return "";
    }
    if !is_of_bind {
        return line;
    }
    let end = line.match_indices("//").find(|(at, _)| line[..*at].ends_with([' ', '\t', ';']));
    end.map_or(line, |(at, _)| line[..at].trim_end())
}

/// Algorithm and name, without the secret: what a record has.
impl fmt::Display for TsigKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm, name_to_text(&self.name))
    }
}

/// The value of `--tsig`, as it is typed. It is shown, and written to plans and records, as [`TsigKey`] is; a text that
/// is no key, as a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct TsigText(Secret);

impl TsigText {
    /// Reads the key.
    ///
    /// # Errors
    /// As [`TsigKey::parse`].
    pub fn key(&self) -> Result<TsigKey, TsigError> {
        TsigKey::parse(self.0.exposed())
    }

    /// The text as given, with the secret.
    pub fn exposed(&self) -> &str {
        self.0.exposed()
    }

    /// Algorithm and name alone: what is left of it when the key has been read.
    pub fn spent(key: &TsigKey) -> TsigText {
        TsigText(Secret::new(key.to_string()))
    }
}

impl From<String> for TsigText {
    fn from(text: String) -> TsigText {
        TsigText(Secret::new(text))
    }
}

impl fmt::Display for TsigText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.exposed().trim().trim_end_matches(':');
        match (self.key(), TsigKey::parse(text)) {
            (Ok(key), _) => write!(f, "{key}"),
            // It names algorithm and key alone, as in a record.
            (Err(TsigError::NoSecret), Err(TsigError::NoSecret)) => f.write_str(text),
            _ => f.write_str(SECRET),
        }
    }
}

impl fmt::Debug for TsigText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TsigText({self})")
    }
}

impl Serialize for TsigText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TsigText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TsigText, D::Error> {
        String::deserialize(deserializer).map(TsigText::from)
    }
}

impl fmt::Debug for TsigKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TsigKey({self})")
    }
}

/// Key generators write the padding, and people lose it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// `hmac-md5.sig-alg.reg.int.`, with the bits of a truncated MAC.
const LONGEST_ALGORITHM: usize = 32;

/// A key has some hundred bytes.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// Octets of a label; of a wrong name, an error has no more characters.
const LONGEST_LABEL: usize = 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_a_name_a_secret_and_usually_an_algorithm() {
        let key = TsigKey::parse("Key.Example:c2VjcmV0IQ==").expect("a key");
        assert_eq!(
            (&key.secret.exposed()[..], &key.name[..]),
            (&b"secret!"[..], &b"\x03key\x07example\0"[..])
        );
        assert_eq!(format!("{key} {key:?}"), "hmac-sha256:key.example TsigKey(hmac-sha256:key.example)");
        let unpadded = TsigKey::parse("hmac-sha256:key.example.:c2VjcmV0IQ").expect("a key");
        assert_eq!(unpadded, key);
        assert_eq!(TsigKey::parse("hmac-md5:k:YQ==").expect("a key").to_string(), "hmac-md5:k");
    }

    #[test]
    fn an_option_is_written_as_its_key_and_a_text_that_is_no_key_as_a_secret() {
        let written = |text: &str| TsigText::from(text.to_owned()).to_string();
        assert_eq!(written("Key.Example:c2VjcmV0IQ=="), "hmac-sha256:key.example");
        assert_eq!(written("hmac-sha256:key.example"), "hmac-sha256:key.example");
        assert_eq!(written("hmac-sha256:key.example:"), "hmac-sha256:key.example");
        assert_eq!(written("hmac-sha256:"), "(secret)");
        for text in ["c2VjcmV0IQ==", "c2VjcmV0IQ==:key:hmac-sha256", "key:c2VjcmV0=IQ", "key:c2VjcmV0IQ==:"] {
            assert_eq!(written(text), "(secret)", "{text}");
        }
    }

    #[test]
    fn no_error_shows_the_secret() {
        for (text, error) in [
            ("key", TsigError::Form),
            ("hmac-sha512:key:c2VjcmV0:x", TsigError::Form),
            ("hmac-sha256:key.example", TsigError::NoSecret),
            ("key:", TsigError::NoSecret),
            ("c2VjcmV0:key:hmac-sha256", TsigError::Order),
            ("(secret)", TsigError::NoSecret),
            ("sha1:key:c2VjcmV0", TsigError::Algorithm("sha1".to_owned())),
            (":c2VjcmV0", TsigError::Name(String::new())),
            ("a..b:c2VjcmV0", TsigError::Name("a..b".to_owned())),
            ("key:c2VjcmV0*", TsigError::Secret),
        ] {
            assert_eq!(TsigKey::parse(text), Err(error.clone()), "{text}");
            assert!(!error.to_string().contains("c2VjcmV0"));
        }
    }

    #[test]
    fn key_files_of_bind_nsd_and_knot_and_a_line_are_read() {
        let want = TsigKey::parse("hmac-sha512:key.example:c2VjcmV0IQ==");
        for text in [
            "key \"key.example\" {\n\talgorithm hmac-sha512;\n\tsecret \"c2VjcmV0IQ==\";\n};\n",
            "# hmac-sha512:key.example:c2VjcmV0IQ==\nkey:\n\
             - id: key.example\n  algorithm: hmac-sha512\n  secret: c2VjcmV0IQ==\n",
            "key:\n  name: \"key.example\" # the key of the secondary\n  algorithm: hmac-sha512\n  \
             secret: \"c2VjcmV0IQ==\"\n",
            "server:\n  name: x\nkey:\n\tname: key.example\n\tsecret: c2VjcmV0IQ==\n\talgorithm: hmac-sha512\n\
             zone:\n  name: example.com\n  zonefile: example.zone\n",
            "key key.example { // key of\n algorithm hmac-sha512; secret 'c2VjcmV0IQ=='; };",
            "/* key of mine, with\nan old one: key x { secret 'YQ=='; }; */\nkey key.example {\n\
             algorithm hmac-sha512; /* long */ secret 'c2VjcmV0IQ=='; };",
            "\u{feff}hmac-sha512:key.example:c2VjcmV0IQ==\n",
            "// mine\nhmac-sha512:key.example:c2VjcmV0IQ==\n",
        ] {
            let text = decoded(text.as_bytes().to_vec()).expect("text");
            assert_eq!(TsigKey::from_file_text(&text), want, "{text}");
        }
        let slashes =
            TsigKey::from_file_text("key:\n  name: a\n  algorithm: hmac-sha256\n  secret: //8AAAAA\n");
        assert_eq!(slashes, TsigKey::parse("hmac-sha256:a://8AAAAA"));
        let unknown =
            TsigKey::from_file_text("Private-key-format: v1.3\nAlgorithm: 163 (HMAC_SHA256)\nKey: YQ==\n");
        let words = unknown.expect_err("a format that is not known").to_string();
        assert!(words.contains("BIND") && words.contains("NSD") && words.contains("Knot"), "{words}");
        assert_eq!(TsigKey::from_file_text("# nothing\n"), Err(TsigError::NoKey));
        assert_eq!(
            TsigKey::from_file_text("key a { secret \"YQ==\"; }; key b { secret \"YQ==\"; };"),
            Err(TsigError::SeveralKeys)
        );
        let folder = tempfile::tempdir().expect("a folder for the test");
        assert!(matches!(TsigKey::read(&folder.path().join("none")), Err(TsigError::Read(_))));
    }
}
