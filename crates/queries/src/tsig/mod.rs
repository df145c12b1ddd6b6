//! TSIG (RFC 8945): signs each query when it is sent, and verifies the responses.
//!
//! ```text
//!   query     MAC( message | name, class, TTL, algorithm, time, fudge, error 0, other 0 )
//!   response  MAC( length and MAC of the query | message without TSIG | the same of the response's TSIG )
//! ```
//!
//! The MAC of a query is kept by its slot until its response is verified. A key costs no allocation in the worker's
//! loop: the state of the hash after the key is copied for each message.

mod algorithm;
mod error;
mod key;
mod response;

use std::sync::Arc;

pub use self::algorithm::TsigAlgorithm;
pub use self::error::TsigError;
pub use self::key::{TsigKey, TsigText};

use dnsdyno_measure::TsigFailure;
use dnsdyno_wire::{HEADER_LEN, TYPE_TSIG};

use self::algorithm::{Keyed, LONGEST_MAC};
use self::response::{Signature, SignatureError};
use super::maker::{Checked, Maker, QueryToMake, ResponseToCheck, TsigFound, WorkerMaker, WorkerShare};

/// Signs the queries of a run.
#[derive(Debug)]
pub struct Signer {
    key: TsigKey,
    verifies: bool,
}

impl Signer {
    /// Signs with this key; `verifies` = whether responses must be signed too.
    pub fn maker(key: TsigKey, verifies: bool) -> Arc<dyn Maker> {
        Arc::new(Signer { key, verifies })
    }
}

impl Maker for Signer {
    fn begin(&self, share: WorkerShare) -> Box<dyn WorkerMaker> {
        Box::new(WorkerSigner {
            start_unix_ns: share.start_unix_ns,
            signing: Signing::new(&self.key),
            macs: Vec::new(),
        })
    }

    fn changes_question(&self) -> bool {
        false
    }

    fn checks_responses(&self) -> bool {
        self.verifies
    }

    fn longest_addition(&self) -> usize {
        record_len(&self.key)
    }
}

/// The octets of the TSIG record of a query.
pub fn record_len(key: &TsigKey) -> usize {
    key.name.len() + RECORD_FIXED_LEN + key.algorithm.wire().len() + DATA_FIXED_LEN + key.algorithm.mac_len()
}

struct WorkerSigner {
    start_unix_ns: u64,
    signing: Signing,
    /// The MACs of the queries by slot; all 0 after their response was verified.
    macs: Vec<u8>,
}

impl WorkerSigner {
    fn unix_s(&self, at_ns: u64) -> u64 {
        self.start_unix_ns.saturating_add(at_ns) / SECOND_NS
    }

    fn mac_of(&mut self, slot: u32) -> Option<&mut [u8]> {
        let length = self.signing.algorithm.mac_len();
        let start = slot as usize * length;
        self.macs.get_mut(start..start + length)
    }
}

impl WorkerMaker for WorkerSigner {
    fn make(&mut self, query: &QueryToMake, message: &mut Vec<u8>) {
        let unix_s = self.unix_s(query.at_ns);
        let mac = self.signing.sign(message, unix_s);
        let length = self.signing.algorithm.mac_len();
        if let Some(place) = self.mac_of(query.slot) {
            place.copy_from_slice(&mac[..length]);
        }
    }

    fn make_bare(&mut self, query: &QueryToMake, message: &mut Vec<u8>) {
        self.make(query, message);
    }

    fn prepare(&mut self, slots: usize, _channels: usize) {
        // Zeroed memory takes no page until a slot is used.
        self.macs = vec![0; slots * self.signing.algorithm.mac_len()];
    }

    fn check(&mut self, response: &ResponseToCheck<'_>) -> Checked {
        let unix_s = self.unix_s(response.at_ns);
        let length = self.signing.algorithm.mac_len();
        let mut request_mac = [0; LONGEST_MAC];
        let Some(place) = self.mac_of(response.slot) else { return Checked::default() };
        request_mac[..length].copy_from_slice(place);
        // The response has more messages than one (a zone transfer), or came twice: only the first ends a query.
        let is_answered = place.iter().all(|octet| *octet == 0);
        let tsig = match is_answered {
            true => TsigFound::NotChecked,
            false => self.signing.verify(response.bytes, response.rcode, &request_mac[..length], unix_s),
        };
        if !matches!(tsig, TsigFound::Failed(_))
            && let Some(place) = self.mac_of(response.slot)
        {
            place.fill(0);
        }
        Checked { tsig: Some(tsig), cookie: None }
    }
}

/// Makes and verifies signatures with one key.
pub(crate) struct Signing {
    algorithm: TsigAlgorithm,
    name: Vec<u8>,
    keyed: Option<Keyed>,
    /// What a query is signed with after its message; the time is set for each.
    variables: Vec<u8>,
    /// Where the time is in `variables`.
    time_at: usize,
}

impl Signing {
    pub(crate) fn new(key: &TsigKey) -> Signing {
        let algorithm = key.algorithm;
        let mut variables = key.name.clone();
        variables.extend_from_slice(&CLASS_ANY.to_be_bytes());
        variables.extend_from_slice(&[0; 4]);
        variables.extend_from_slice(algorithm.wire());
        let time_at = variables.len();
        variables.extend_from_slice(&[0; TIME_LEN]);
        variables.extend_from_slice(&FUDGE_S.to_be_bytes());
        // No error, no other data.
        variables.extend_from_slice(&[0; 4]);
        let keyed = Keyed::new(algorithm, key.secret.exposed());
        Signing { algorithm, name: key.name.clone(), keyed, variables, time_at }
    }

    /// Appends the TSIG record to a message that has its ID. Returns the MAC.
    pub(crate) fn sign(&mut self, message: &mut Vec<u8>, unix_s: u64) -> [u8; LONGEST_MAC] {
        let mut mac = [0; LONGEST_MAC];
        let (Some(keyed), Some(id)) = (&self.keyed, message.first_chunk::<2>().copied()) else { return mac };
        self.variables[self.time_at..self.time_at + TIME_LEN].copy_from_slice(&unix_s.to_be_bytes()[2..]);
        keyed.mac(&[message, &self.variables], &mut mac);
        let (wire, mac_len) = (self.algorithm.wire(), self.algorithm.mac_len());
        message.extend_from_slice(&self.name);
        message.extend_from_slice(&TYPE_TSIG.to_be_bytes());
        message.extend_from_slice(&CLASS_ANY.to_be_bytes());
        message.extend_from_slice(&[0; 4]);
        message.extend_from_slice(&((wire.len() + DATA_FIXED_LEN + mac_len) as u16).to_be_bytes());
        message.extend_from_slice(wire);
        message.extend_from_slice(&unix_s.to_be_bytes()[2..]);
        message.extend_from_slice(&FUDGE_S.to_be_bytes());
        message.extend_from_slice(&(mac_len as u16).to_be_bytes());
        message.extend_from_slice(&mac[..mac_len]);
        message.extend_from_slice(&id);
        message.extend_from_slice(&[0; 4]);
        if let Some(count) = message.get_mut(ADDITIONAL_COUNT..HEADER_LEN) {
            let number = u16::from_be_bytes([count[0], count[1]]).wrapping_add(1);
            count.copy_from_slice(&number.to_be_bytes());
        }
        mac
    }

    /// Verifies a response with this RCODE to a query with this MAC.
    pub(crate) fn verify(&self, bytes: &[u8], rcode: u16, request_mac: &[u8], unix_s: u64) -> TsigFound {
        let failed = TsigFound::Failed;
        let signature = match Signature::of(bytes) {
            Ok(signature) => signature,
            Err(SignatureError::Absent) if is_error(rcode) => return TsigFound::UnsignedError(0),
            Err(SignatureError::Absent) => return failed(TsigFailure::Unsigned),
            Err(SignatureError::Malformed) => return failed(TsigFailure::Malformed),
        };
        // A server that does not know the key, or has found a wrong MAC, cannot sign.
        if signature.mac.is_empty() && is_error(rcode) && signature.error != 0 {
            return TsigFound::UnsignedError(signature.error);
        }
        if signature.name.wire() != self.name || signature.algorithm.wire() != self.algorithm.wire() {
            return failed(TsigFailure::BadKey);
        }
        let mac_len = signature.mac.len();
        if mac_len < self.algorithm.shortest_mac() || mac_len > LONGEST_MAC {
            return failed(TsigFailure::Malformed);
        }
        if mac_len < self.algorithm.mac_len() {
            return failed(TsigFailure::BadTruncation);
        }
        let Some(keyed) = &self.keyed else { return failed(TsigFailure::BadKey) };
        let mut header = [0; HEADER_LEN];
        header.copy_from_slice(&bytes[..HEADER_LEN]);
        header[..2].copy_from_slice(&signature.original_id);
        header[ADDITIONAL_COUNT..].copy_from_slice(&(signature.additional - 1).to_be_bytes());
        let mut mac = [0; LONGEST_MAC];
        let parts: [&[u8]; 10] = [
            &(request_mac.len() as u16).to_be_bytes(),
            request_mac,
            &header,
            &bytes[HEADER_LEN..signature.start],
            signature.name.wire(),
            &[0, 255, 0, 0, 0, 0],
            signature.algorithm.wire(),
            &bytes[signature.time],
            &signature.error.to_be_bytes(),
            &bytes[signature.other],
        ];
        keyed.mac(&parts, &mut mac);
        if mac[..mac_len] != *signature.mac {
            return failed(TsigFailure::BadSignature);
        }
        if signature.signed_unix_s.abs_diff(unix_s) > u64::from(signature.fudge_s) {
            return failed(TsigFailure::BadTime);
        }
        TsigFound::Verified(signature.error)
    }
}

/// Whether a response reports that the server did not do what was asked. A name that does not exist is an answer.
fn is_error(rcode: u16) -> bool {
    const NOERROR: u16 = 0;
    const NXDOMAIN: u16 = 3;
    !matches!(rcode, NOERROR | NXDOMAIN)
}

const SECOND_NS: u64 = 1_000_000_000;

/// The time that a signature is valid before and after it was made: that of RFC 8945 §10, and of dnsperf.
const FUDGE_S: u16 = 300;

const CLASS_ANY: u16 = 255;

/// The position of ARCOUNT in the header.
const ADDITIONAL_COUNT: usize = 10;

/// Type, class, TTL and length of a record, in octets.
const RECORD_FIXED_LEN: usize = 10;

/// The time in a TSIG record: 48 bits.
const TIME_LEN: usize = 6;

/// The data of a TSIG record of a query without its algorithm and MAC: time, fudge, length of the MAC, original ID,
/// error, length of other data.
const DATA_FIXED_LEN: usize = TIME_LEN + 2 + 2 + 2 + 2 + 2;

#[cfg(test)]
mod tests;
