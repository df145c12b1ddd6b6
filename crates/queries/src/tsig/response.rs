//! The TSIG record of a response.
//!
//! ```text
//!   algorithm (name) | time 6 | fudge 2 | length 2 | MAC | original ID 2 | error 2 | length 2 | other data
//! ```

use std::ops::Range;

use dnsdyno_wire::{Additional, CanonicalName, TYPE_TSIG};

/// What the TSIG record of a message says.
pub(super) struct Signature<'a> {
    /// Where the record starts: what precedes it is signed.
    pub(super) start: usize,
    /// The number of additional records, this one included; at least 1.
    pub(super) additional: u16,
    /// The name of the key.
    pub(super) name: CanonicalName,
    pub(super) algorithm: CanonicalName,
    /// Where time and fudge are.
    pub(super) time: Range<usize>,
    pub(super) signed_unix_s: u64,
    pub(super) fudge_s: u16,
    pub(super) mac: &'a [u8],
    pub(super) original_id: [u8; 2],
    pub(super) error: u16,
    /// Where the other data is, with its length before it.
    pub(super) other: Range<usize>,
}

/// Why a message has no signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignatureError {
    /// It has no TSIG record.
    Absent,
    /// Its records, or the TSIG record, cannot be read; or that record is not the last one.
    Malformed,
}

impl Signature<'_> {
    /// Reads the TSIG record of a message: the last of its records.
    pub(super) fn of(bytes: &[u8]) -> Result<Signature<'_>, SignatureError> {
        let malformed = |_| SignatureError::Malformed;
        let mut records = Additional::of(bytes).map_err(malformed)?;
        let additional = records.remaining();
        let mut last = None;
        while let Some(record) = records.next() {
            let record = record.map_err(malformed)?;
            if record.rtype == TYPE_TSIG && records.remaining() > 0 {
                return Err(SignatureError::Malformed);
            }
            last = Some(record);
        }
        let Some(record) = last.filter(|record| record.rtype == TYPE_TSIG) else {
            return Err(SignatureError::Absent);
        };
        let (name, _) = CanonicalName::read(bytes, record.start).map_err(malformed)?;
        // The name of the algorithm must be inside of the record, and so is what follows it.
        let data = &bytes[..record.end];
        let (algorithm, time_at) = CanonicalName::read(data, record.data).map_err(malformed)?;
        let octets = |at: usize, count: usize| data.get(at..at + count).ok_or(SignatureError::Malformed);
        let word = |at: usize| octets(at, 2).map(|octets| u16::from_be_bytes([octets[0], octets[1]]));
        let signed_unix_s = octets(time_at, 6)?.iter().fold(0, |time, octet| time << 8 | u64::from(*octet));
        let fudge_s = word(time_at + 6)?;
        let mac_at = time_at + 10;
        let mac = octets(mac_at, usize::from(word(time_at + 8)?))?;
        let id_at = mac_at + mac.len();
        let id = octets(id_at, 2)?;
        let (error, other_len) = (word(id_at + 2)?, usize::from(word(id_at + 4)?));
        if id_at + 6 + other_len != record.end {
            return Err(SignatureError::Malformed);
        }
        Ok(Signature {
            start: record.start,
            additional,
            name,
            algorithm,
            time: time_at..time_at + 8,
            signed_unix_s,
            fudge_s,
            mac,
            original_id: [id[0], id[1]],
            error,
            other: id_at + 4..record.end,
        })
    }
}
