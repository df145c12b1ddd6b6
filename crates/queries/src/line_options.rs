//! Options of a single query, after its type in a query file: `www.example.com A class=CH rd=0 edns=1232
//! ecs=192.0.2.0/24`.
//!
//! A word with `=` is an option; words without it are ignored, because dnsperf ignores whatever follows the type. What
//! an option does not say is as in all queries of the run.

use dnsdyno_wire::{EdnsOptions, OPTION_HEAD_LEN, QueryForm, parse_class};

use super::ecs::EcsChoice;
use super::error::BadReason;
use super::words::{next_word, shorten};
use crate::prefix::SourcePrefix;

/// What a line says about its query; `None` = as in all queries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LineOptions {
    class: Option<u16>,
    recursion_desired: Option<bool>,
    checking_disabled: Option<bool>,
    authentic_data: Option<bool>,
    dnssec_ok: Option<bool>,
    nsid: Option<bool>,
    /// The EDNS payload size; 0 = no EDNS.
    edns: Option<u16>,
    /// EDNS options, after those of all queries.
    edns_options: EdnsOptions,
}

impl LineOptions {
    /// Reads the words after the type.
    pub(super) fn read(mut text: &[u8]) -> Result<LineOptions, BadReason> {
        let mut options = LineOptions::default();
        loop {
            let (word, rest) = next_word(text);
            if word.is_empty() || word[0] == b';' {
                break;
            }
            if let Some(equals) = word.iter().position(|&byte| byte == b'=') {
                let (name, value) = (&word[..equals], &word[equals + 1..]);
                let wrong = |advice| BadReason::Option { word: shorten(word), advice };
                let value = std::str::from_utf8(value).map_err(|_| wrong(KNOWN))?;
                options.set(name, value).map_err(wrong)?;
            }
            text = rest;
        }
        if options.edns == Some(0) && options.needs_edns() {
            return Err(BadReason::Option { word: "edns=0".to_owned(), advice: NO_EDNS });
        }
        Ok(options)
    }

    fn set(&mut self, name: &[u8], value: &str) -> Result<(), &'static str> {
        let bit = || match value {
            "0" => Ok(Some(false)),
            "1" => Ok(Some(true)),
            _ => Err("write 0 or 1"),
        };
        match name {
            b"class" => self.class = Some(parse_class(value).ok_or("use IN, CH, HS, ANY or CLASSnnn")?),
            b"rd" => self.recursion_desired = bit()?,
            b"cd" => self.checking_disabled = bit()?,
            b"ad" => self.authentic_data = bit()?,
            b"do" => self.dnssec_ok = bit()?,
            b"nsid" => self.nsid = bit()?,
            b"edns" => {
                self.edns = Some(value.parse().map_err(|_| "write a size in bytes, or 0 for no EDNS")?)
            }
            b"opt" => {
                let (code, data) = edns_option(value).ok_or(OPTION)?;
                self.add_edns_option(code, &data)?;
            }
            b"ecs" => {
                let subnet = SourcePrefix::parse(value).ok_or(SUBNET)?;
                let (data, length) = EcsChoice::fixed(subnet).data(0, 0);
                self.add_edns_option(EcsChoice::OPTION, &data[..length])?;
            }
            _ => return Err(KNOWN),
        }
        Ok(())
    }

    fn add_edns_option(&mut self, code: u16, data: &[u8]) -> Result<(), &'static str> {
        if self.edns_options.push(code, data) { Ok(()) } else { Err(MANY_OPTIONS) }
    }

    fn needs_edns(&self) -> bool {
        self.dnssec_ok == Some(true) || self.nsid == Some(true) || !self.edns_options.is_empty()
    }

    /// Whether the query is like all others.
    pub(super) fn is_empty(&self) -> bool {
        *self == LineOptions::default()
    }

    /// The message, with ID 0.
    pub(super) fn encode(&self, form: QueryForm, name_wire: &[u8], qtype: u16) -> Result<Vec<u8>, BadReason> {
        let mut form = QueryForm {
            class: self.class.unwrap_or(form.class),
            recursion_desired: self.recursion_desired.unwrap_or(form.recursion_desired),
            checking_disabled: self.checking_disabled.unwrap_or(form.checking_disabled),
            authentic_data: self.authentic_data.unwrap_or(form.authentic_data),
            dnssec_ok: self.dnssec_ok.unwrap_or(form.dnssec_ok),
            nsid: self.nsid.unwrap_or(form.nsid),
            edns_size: self.edns.or(form.edns_size),
            ..form
        };
        if self.edns == Some(0) {
            // What all queries have of EDNS goes with it.
            (form.edns_size, form.edns_version) = (None, 0);
            (form.dnssec_ok, form.nsid, form.options) = (false, false, EdnsOptions::default());
        }
        let mut options = self.edns_options.bytes();
        while let Some((head, rest)) = options.split_first_chunk::<OPTION_HEAD_LEN>() {
            let (data, rest) = rest.split_at(usize::from(u16::from_be_bytes([head[2], head[3]])));
            if !form.options.push(u16::from_be_bytes([head[0], head[1]]), data) {
                return Err(BadReason::Option { word: "opt=".to_owned(), advice: MANY_OPTIONS });
            }
            options = rest;
        }
        let mut message = Vec::new();
        form.encode(name_wire, qtype, &mut message);
        Ok(message)
    }
}

/// Reads an EDNS option, `CODE:HEX`; the data may be empty.
pub fn edns_option(text: &str) -> Option<(u16, Vec<u8>)> {
    let (code, hex) = text.split_once(':')?;
    if code.is_empty() || !code.bytes().all(|byte| byte.is_ascii_digit()) || !hex.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| (byte as char).to_digit(16);
    let octet = |pair: &[u8]| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
    Some((code.parse().ok()?, hex.as_bytes().chunks_exact(2).map(octet).collect::<Option<_>>()?))
}

const KNOWN: &str = "use class=, rd=, cd=, ad=, do=, edns=, nsid=, opt= or ecs=";
const OPTION: &str = "write opt=CODE:HEX, such as opt=65001:0a0b";
const SUBNET: &str = "write ecs=ADDRESS/LENGTH, such as ecs=192.0.2.0/24";
const MANY_OPTIONS: &str = "all options of a query together take at most 512 bytes";
const NO_EDNS: &str = "the other options of the line need EDNS: remove one";
