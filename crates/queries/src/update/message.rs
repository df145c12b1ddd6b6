//! The message of an update (RFC 2136 §2), with its names compressed as dnsperf does it: a server sees the same bytes.
//!
//! ```text
//!   header, opcode 5 | zone: name, SOA, class | prerequisites | updates | OPT
//! ```

use std::collections::HashMap;

use bytes::Bytes;
use dnsdyno_wire::{
    HEADER_LEN, QueryForm, TYPE_ANY, TYPE_SOA, encode_name, next_entry, type_name, zone_text,
};
use domain::base::Name;
use domain::base::rdata::ComposeRecordData;
use domain::zonefile::inplace::{Entry, Zonefile};

use super::command::{Command, CommandWord};
use super::mistake::UpdateMistake;
use super::name::name_in_zone;

/// An update while it is read.
pub(super) struct UpdateMessage {
    form: QueryForm,
    zone: Vec<u8>,
    bytes: Vec<u8>,
    /// Where a name that starts so, in lower case, is in the message.
    names: HashMap<Vec<u8>, u16>,
    prerequisites: u16,
    updates: u16,
}

impl UpdateMessage {
    /// An update of this zone.
    pub(super) fn begin(zone: &[u8], form: QueryForm) -> Result<UpdateMessage, UpdateMistake> {
        let mut wire = Vec::new();
        encode_name(zone, &mut wire).map_err(UpdateMistake::Zone)?;
        let mut bytes = vec![0; HEADER_LEN];
        (bytes[2], bytes[5]) = (OPCODE_UPDATE << 3, 1);
        let (names, zone) = (HashMap::new(), wire);
        let mut message =
            UpdateMessage { form, zone: zone.clone(), bytes, names, prerequisites: 0, updates: 0 };
        message.put_name(&zone);
        message.bytes.extend_from_slice(&TYPE_SOA.to_be_bytes());
        message.bytes.extend_from_slice(&form.class.to_be_bytes());
        Ok(message)
    }

    /// Adds the record of a line.
    pub(super) fn add(&mut self, command: &Command<'_>) -> Result<(), UpdateMistake> {
        let is_update = matches!(command.kind, CommandWord::Add | CommandWord::Delete);
        if !is_update && self.updates > 0 {
            return Err(UpdateMistake::Order);
        }
        let owner = name_in_zone(command.owner, &self.zone)?;
        let data = match (command.rtype, command.data) {
            (Some(rtype), data) if !data.is_empty() => Some(self.data_of(rtype, data)?),
            _ => None,
        };
        let class = match (command.kind, &data) {
            (CommandWord::Add, _) | (CommandWord::Require, Some(_)) => self.form.class,
            (CommandWord::Delete, Some(_)) | (CommandWord::Prohibit, _) => CLASS_NONE,
            (CommandWord::Delete | CommandWord::Require, None) => CLASS_ANY,
        };
        let rtype = command.rtype.unwrap_or(TYPE_ANY);
        self.put_name(&owner);
        self.bytes.extend_from_slice(&rtype.to_be_bytes());
        self.bytes.extend_from_slice(&class.to_be_bytes());
        self.bytes.extend_from_slice(&command.ttl_s.to_be_bytes());
        let length_at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        self.put_data(rtype, data.as_deref().unwrap_or_default());
        let length = self.bytes.len() - length_at - 2;
        self.bytes[length_at..length_at + 2].copy_from_slice(&(length as u16).to_be_bytes());
        let count = if is_update { &mut self.updates } else { &mut self.prerequisites };
        *count = count.checked_add(1).ok_or(UpdateMistake::Long)?;
        if self.bytes.len() > LONGEST_MESSAGE { Err(UpdateMistake::Long) } else { Ok(()) }
    }

    /// The whole message, with ID 0.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, UpdateMistake> {
        self.bytes[6..8].copy_from_slice(&self.prerequisites.to_be_bytes());
        self.bytes[8..10].copy_from_slice(&self.updates.to_be_bytes());
        if self.form.put_opt(&mut self.bytes) {
            self.bytes[11] = 1;
        }
        if self.bytes.len() > LONGEST_MESSAGE { Err(UpdateMistake::Long) } else { Ok(self.bytes) }
    }

    /// The data of a record from its text, as on the wire and uncompressed.
    fn data_of(&self, rtype: u16, text: &[u8]) -> Result<Vec<u8>, UpdateMistake> {
        let zone = Name::from_octets(Bytes::copy_from_slice(&self.zone)).map_err(|_| UpdateMistake::Data)?;
        let line = [b". 0 IN ", type_name(rtype).as_bytes(), b" ", text, b"\n"].concat();
        let mut lines = Zonefile::from(&*zone_text(&line, Some(&self.zone)));
        lines.set_origin(zone);
        let Ok(Some(Entry::Record(record))) = next_entry(&mut lines) else { return Err(UpdateMistake::Data) };
        let mut data = Vec::new();
        let Ok(()) = record.data().compose_rdata(&mut data);
        let has_more = !matches!(next_entry(&mut lines), Ok(None));
        if has_more || data.len() > LONGEST_MESSAGE { Err(UpdateMistake::Data) } else { Ok(data) }
    }

    /// Appends data; the names in the types of RFC 1035 are compressed.
    fn put_data(&mut self, rtype: u16, data: &[u8]) {
        let (before, names) = match rtype {
            2..=5 | 7..=9 | 12 => (0, 1),
            6 | 14 => (0, 2),
            15 => (2, 1),
            _ => (data.len(), 0),
        };
        let (head, mut rest) = data.split_at(before.min(data.len()));
        self.bytes.extend_from_slice(head);
        for _ in 0..names {
            let (name, after) = rest.split_at(name_len(rest));
            self.put_name(name);
            rest = after;
        }
        self.bytes.extend_from_slice(rest);
    }

    /// Appends a name, or its first labels and a pointer to the rest.
    fn put_name(&mut self, name: &[u8]) {
        let mut rest = name;
        while let Some(length) = rest.first().copied().filter(|length| *length > 0) {
            let key = rest.to_ascii_lowercase();
            if let Some(at) = self.names.get(&key) {
                self.bytes.extend_from_slice(&(POINTER | at).to_be_bytes());
                return;
            }
            if let Ok(at) = u16::try_from(self.bytes.len())
                && at < POINTER_END
            {
                self.names.insert(key, at);
            }
            let (label, after) = rest.split_at((usize::from(length) + 1).min(rest.len()));
            self.bytes.extend_from_slice(label);
            rest = after;
        }
        self.bytes.push(0);
    }
}

/// The length of the uncompressed name that `data` starts with.
fn name_len(data: &[u8]) -> usize {
    let mut at = 0;
    while let Some(length) = data.get(at).copied() {
        at += usize::from(length) + 1;
        if length == 0 {
            break;
        }
    }
    at.min(data.len())
}

const OPCODE_UPDATE: u8 = 5;
const CLASS_NONE: u16 = 254;
const CLASS_ANY: u16 = 255;

/// The first bits of a compression pointer, and the first position that none can reach.
const POINTER: u16 = 0xC000;
const POINTER_END: u16 = 0x4000;

const LONGEST_MESSAGE: usize = u16::MAX as usize;
