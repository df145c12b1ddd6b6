//! The data of a record from its words.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use domain::utils::{base16, base64};

use super::fields::{ALGORITHMS, CERTIFICATES, Field, SCHEMES};
use super::location;
use crate::name::{MAX_NAME_LEN, encode_name, unescape};
use crate::types::parse_type_bytes;

/// The data of a record as on the wire; `None` where its words are not what its type has, or are in the form of RFC
/// 3597 already.
pub(super) fn encode(fields: &[Field], words: &[&[u8]], origin: Option<&[u8]>) -> Option<Vec<u8>> {
    // The lines of a file stay as they are.
    if words.first() == Some(&&b"\\#"[..]) || words.iter().any(|word| word.contains(&b'\n')) {
        return None;
    }
    let mut data = Data { words: words.iter(), origin, out: Vec::new() };
    fields.iter().try_for_each(|field| data.put(*field))?;
    let is_whole = data.words.next().is_none() && data.out.len() <= usize::from(u16::MAX);
    is_whole.then_some(data.out)
}

/// A name as on the wire, completed by `origin` where it is relative.
pub(super) fn name(text: &[u8], origin: Option<&[u8]>) -> Option<Vec<u8>> {
    if text == b"@" {
        return origin.map(<[u8]>::to_vec);
    }
    let mut wire = Vec::new();
    encode_name(text, &mut wire).ok()?;
    if !is_absolute(text) {
        wire.pop();
        wire.extend_from_slice(origin?);
    }
    (wire.len() <= MAX_NAME_LEN).then_some(wire)
}

/// Whether the last dot of a name is no part of its last label.
fn is_absolute(text: &[u8]) -> bool {
    let Some(labels) = text.strip_suffix(b".") else { return false };
    let backslashes = labels.iter().rev().take_while(|octet| **octet == b'\\').count();
    backslashes % 2 == 0
}

struct Data<'a, 'b> {
    words: std::slice::Iter<'b, &'a [u8]>,
    origin: Option<&'b [u8]>,
    out: Vec<u8>,
}

impl<'a> Data<'a, '_> {
    fn put(&mut self, field: Field) -> Option<()> {
        match field {
            Field::U8
            | Field::U16
            | Field::U32
            | Field::Algorithm
            | Field::CertificateType
            | Field::Scheme => {
                self.put_number(field)?;
            }
            Field::Type => {
                let rtype = parse_type_bytes(self.word()?)?;
                self.out.extend(rtype.to_be_bytes());
            }
            Field::Name => {
                let name = name(self.word()?, self.origin)?;
                self.out.extend(name);
            }
            Field::Names => self.put_each(Field::Name)?,
            Field::Text => {
                let text = text(self.word()?)?;
                self.out.push(u8::try_from(text.len()).ok()?);
                self.out.extend(text);
            }
            Field::Texts => {
                self.put(Field::Text)?;
                self.put_each(Field::Text)?;
            }
            Field::Rest => {
                let text = text(self.word()?).filter(|text| !text.is_empty())?;
                self.out.extend(text);
            }
            Field::Base64 => {
                let words = self.rest()?;
                self.out.extend(base64::decode::<Vec<u8>>(&words).ok()?);
            }
            Field::Hex => {
                let words = self.rest()?;
                self.out.extend(hex(&words)?);
            }
            Field::Ipv4 => {
                let address = self.parsed::<Ipv4Addr>()?;
                self.out.extend(address.octets());
            }
            Field::Locator => self.put_groups(4, ':', 4)?,
            Field::Octets(count) => self.put_groups(count, '-', 2)?,
            Field::Nsap => {
                let word = self.ascii()?;
                let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"))?.replace('.', "");
                self.out.extend(hex(&digits)?);
            }
            Field::Types => self.put_types()?,
            Field::Prefixes => {
                for word in self.words.by_ref() {
                    self.out.extend(prefix(std::str::from_utf8(word).ok()?)?);
                }
            }
            Field::Location => {
                let location = location::encode(&mut self.words)?;
                self.out.extend(location);
            }
            Field::HostIdentity => self.put_host_identity()?,
            Field::Relay => self.put_relay()?,
        }
        Some(())
    }

    /// The words that are left, if any, each as one of these.
    fn put_each(&mut self, field: Field) -> Option<()> {
        while !self.words.as_slice().is_empty() {
            self.put(field)?;
        }
        Some(())
    }

    fn put_number(&mut self, field: Field) -> Option<()> {
        let (names, octets): (&[(&str, u16)], _) = match field {
            Field::U16 => (&[], 2),
            Field::U32 => (&[], 4),
            Field::Algorithm => (ALGORITHMS, 1),
            Field::CertificateType => (CERTIFICATES, 2),
            Field::Scheme => (SCHEMES, 1),
            _ => (&[], 1),
        };
        let word = self.ascii()?;
        let named = names.iter().find(|(name, _)| word.eq_ignore_ascii_case(name));
        let number = named.map_or_else(|| number(word), |(_, number)| Some(u32::from(*number)))?;
        let whole = number.to_be_bytes();
        let (unused, used) = whole.split_at(4 - octets);
        self.out.extend_from_slice(used);
        unused.iter().all(|octet| *octet == 0).then_some(())
    }

    fn word(&mut self) -> Option<&'a [u8]> {
        self.words.next().copied()
    }

    fn ascii(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.word()?).ok()
    }

    fn parsed<T: FromStr>(&mut self) -> Option<T> {
        self.ascii()?.parse().ok()
    }

    fn octet(&mut self) -> Option<u8> {
        u8::try_from(number(self.ascii()?)?).ok()
    }

    /// All words that are left, as one; at least one.
    fn rest(&mut self) -> Option<String> {
        let words = self.words.by_ref().map(|word| std::str::from_utf8(word).ok());
        words.collect::<Option<String>>().filter(|words| !words.is_empty())
    }

    /// So many groups of so many hexadecimal digits each.
    fn put_groups(&mut self, count: usize, between: char, digits: usize) -> Option<()> {
        let groups: Vec<&str> = self.ascii()?.split(between).collect();
        if groups.len() != count || groups.iter().any(|group| group.is_empty() || group.len() > digits) {
            return None;
        }
        let digits: String = groups.iter().map(|group| format!("{group:0>digits$}")).collect();
        self.out.extend(hex(&digits)?);
        Some(())
    }

    fn put_types(&mut self) -> Option<()> {
        let mut windows = BTreeMap::<u8, Vec<u8>>::new();
        for word in self.words.by_ref() {
            let [window, number] = parse_type_bytes(word)?.to_be_bytes();
            let bits = windows.entry(window).or_default();
            let at = usize::from(number / 8);
            bits.resize(bits.len().max(at + 1), 0);
            bits[at] |= 0x80 >> (number % 8);
        }
        for (window, bits) in windows {
            // At most 32 octets.
            self.out.extend([window, bits.len() as u8]);
            self.out.extend(bits);
        }
        Some(())
    }

    fn put_host_identity(&mut self) -> Option<()> {
        let algorithm = self.octet()?;
        let tag = hex(self.ascii()?)?;
        let key = base64::decode::<Vec<u8>>(self.ascii()?).ok()?;
        self.out.extend([u8::try_from(tag.len()).ok()?, algorithm]);
        self.out.extend(u16::try_from(key.len()).ok()?.to_be_bytes());
        self.out.extend(tag);
        self.out.extend(key);
        Some(())
    }

    fn put_relay(&mut self) -> Option<()> {
        let discovery = self.octet().filter(|discovery| *discovery <= 1)?;
        let kind = self.octet()?;
        self.out.push((discovery << 7) | kind);
        match kind {
            0 => self.word().filter(|word| *word == b".").map(|_| ()),
            1 => self.put(Field::Ipv4),
            2 => {
                let address = self.parsed::<Ipv6Addr>()?;
                self.out.extend(address.octets());
                Some(())
            }
            3 => self.put(Field::Name),
            _ => None,
        }
    }
}

/// A number without a sign.
fn number(word: &str) -> Option<u32> {
    word.bytes().all(|octet| octet.is_ascii_digit()).then(|| word.parse().ok())?
}

/// An even number of hexadecimal digits, two or more.
fn hex(digits: &str) -> Option<Vec<u8>> {
    base16::decode_vec(digits).ok().filter(|octets| !octets.is_empty())
}

/// A character string, in quotes or not.
fn text(word: &[u8]) -> Option<Vec<u8>> {
    let inner = word.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(word);
    let (mut text, mut rest) = (Vec::with_capacity(inner.len()), inner);
    while let Some((octet, after)) = rest.split_first() {
        rest = after;
        match octet {
            b'\\' => {
                let (octet, used) = unescape(after).ok()?;
                text.push(octet);
                rest = &after[used..];
            }
            b'"' => return None,
            _ => text.push(*octet),
        }
    }
    Some(text)
}

/// A prefix of addresses: `1:192.0.2.0/24`, `!2:2001:db8::/32`.
fn prefix(word: &str) -> Option<Vec<u8>> {
    let (is_negated, item) = word.strip_prefix('!').map_or((false, word), |item| (true, item));
    let (family, prefix) = item.split_once(':')?;
    let (address, length) = prefix.split_once('/')?;
    let (address, length): (IpAddr, u8) = (address.parse().ok()?, length.parse().ok()?);
    let (number, octets, most) = match address {
        IpAddr::V4(address) => (1, address.octets().to_vec(), 32),
        IpAddr::V6(address) => (2, address.octets().to_vec(), 128),
    };
    if family.parse::<u16>().ok()? != number || length > most {
        return None;
    }
    // Zeros at the end are left out.
    let used = octets.iter().rposition(|octet| *octet != 0).map_or(0, |last| last + 1);
    let mut data = number.to_be_bytes().to_vec();
    data.extend([length, used as u8 | if is_negated { 0x80 } else { 0 }]);
    data.extend_from_slice(&octets[..used]);
    Some(data)
}
