//! A record of a zone file, and the tree of names.

use domain::base::iana::Class;
use domain::base::name::ToName;
use domain::base::rdata::{ComposeRecordData, RecordData};
use domain::zonefile::inplace::ScannedRecord;

/// A record of a zone file.
pub(super) struct Record {
    /// The line of the file in which it ends, from 1.
    pub(super) line: usize,
    /// In lower case.
    pub(super) owner: Vec<u8>,
    pub(super) rtype: u16,
    pub(super) ttl_s: u32,
    pub(super) data: Vec<u8>,
}

impl Record {
    pub(super) fn of(record: &ScannedRecord, line: usize) -> Record {
        let (mut owner, mut data) = (Vec::new(), Vec::new());
        // Appending to a Vec cannot fail.
        let Ok(()) = record.owner().compose_canonical(&mut owner);
        let Ok(()) = record.data().compose_rdata(&mut data);
        let rtype = record.data().rtype().to_int();
        Record { line, owner, rtype, ttl_s: record.ttl().as_secs(), data }
    }

    /// Type, class, TTL, length and data.
    pub(super) fn after_owner(&self, ttl_s: u32) -> Vec<u8> {
        let class = Class::IN.to_int().to_be_bytes();
        // A record is at most as long as its text, and data over 65,535 bytes has no text form.
        let length = (self.data.len() as u16).to_be_bytes();
        [&self.rtype.to_be_bytes()[..], &class, &ttl_s.to_be_bytes(), &length, &self.data].concat()
    }
}

/// The name less its first label; nothing for the root, so that going up always ends.
pub(super) fn parent(name: &[u8]) -> &[u8] {
    match name.first() {
        Some(length) if *length > 0 => name.get(1 + usize::from(*length)..).unwrap_or_default(),
        _ => &[],
    }
}

/// Whether a name is the apex or lies under it, both in lower case.
pub(super) fn is_under(mut name: &[u8], apex: &[u8]) -> bool {
    while name.len() > apex.len() {
        name = parent(name);
    }
    name == apex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lie_under_their_ancestors_only() {
        assert!(is_under(b"\x03www\x07example\x00", b"\x07example\x00"));
        assert!(is_under(b"\x07example\x00", b"\x00"));
        assert!(!is_under(b"\x0amyexample1\x00", b"\x08example1\x00"));
        assert!(!is_under(b"\x00", b"\x07example\x00"));
    }
}
