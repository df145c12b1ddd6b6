//! A peek at a response: what pairing and counting need, read in place, without parsing the rest.
//!
//! Received packets may contain anything. Every read here is bounded by the packet, no
//! compression pointer is followed, and nothing is allocated.

use crate::header::{FLAG_QR, FLAG_TC, HEADER_LEN, QUESTION_FIXED_LEN};
use crate::name::{MAX_LABEL_LEN, MAX_NAME_LEN};
use crate::types::TYPE_OPT;

/// What [`peek`] found. Borrows the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peek<'a> {
    /// The message ID.
    pub id: u16,
    /// The second 16 bits of the header: QR, opcode, AA, TC, RD, RA, Z, AD, CD, RCODE.
    pub flags: u16,
    /// The extended RCODE: 4 bits of the header, and 8 above them from the OPT record where there is one.
    pub rcode: u16,
    /// Name, type and class of the question as on the wire; empty where the message has no question.
    pub question: &'a [u8],
}

impl<'a> Peek<'a> {
    /// Whether the QR bit is set: a response, not a query.
    #[inline]
    pub fn is_response(&self) -> bool {
        self.flags & FLAG_QR != 0
    }

    /// Whether the TC bit is set: the response was truncated, retry over TCP.
    #[inline]
    pub fn is_truncated(&self) -> bool {
        self.flags & FLAG_TC != 0
    }

    /// The opcode, 0 to 15: 0 is a standard query.
    #[inline]
    pub fn opcode(&self) -> u8 {
        ((self.flags >> 11) & 0xf) as u8
    }

    /// The name of the question in wire format; empty where the message has no question.
    #[inline]
    pub fn qname(&self) -> &'a [u8] {
        &self.question[..self.question.len().saturating_sub(QUESTION_FIXED_LEN)]
    }

    /// The type of the question, or `None` where the message has no question.
    #[inline]
    pub fn qtype(&self) -> Option<u16> {
        let (_, fixed) = self.question.split_last_chunk::<QUESTION_FIXED_LEN>()?;
        Some(u16::from_be_bytes([fixed[0], fixed[1]]))
    }
}

/// Why a packet is not a DNS message one can pair with a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Malformed {
    /// Shorter than the 12 octets of a header.
    #[error("shorter than a DNS header")]
    ShortHeader,
    /// More than one question.
    #[error("more than one question")]
    ManyQuestions,
    /// The question runs past the end of the packet.
    #[error("the question runs past the end")]
    CutQuestion,
    /// The name in the question holds a compression pointer, with nothing before it to point to.
    #[error("the question's name is compressed")]
    CompressedQuestion,
    /// A label of a kind that is neither a label nor a pointer, or a name of more than 255 octets.
    #[error("a name is not a DNS name")]
    BadName,
    /// A record runs past the end of the packet.
    #[error("a record runs past the end")]
    CutRecord,
}

/// Reads the header and the question, and the records too where one of them may be OPT (ARCOUNT > 0).
///
/// Octets after the last record are ignored. Without an additional section no record is looked at, so a
/// packet that is malformed further down is accepted: its question and RCODE are known all the same.
#[inline]
pub fn peek(bytes: &[u8]) -> Result<Peek<'_>, Malformed> {
    let header: &[u8; HEADER_LEN] = bytes.first_chunk().ok_or(Malformed::ShortHeader)?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let (flags, additional) = (word(2), word(10));
    let question_end = match word(4) {
        0 => HEADER_LEN,
        1 => skip_question(bytes)?,
        _ => return Err(Malformed::ManyQuestions),
    };
    let mut rcode = flags & 0xf;
    if additional > 0 {
        let before = u32::from(word(6)) + u32::from(word(8));
        rcode |= extended_rcode(bytes, question_end, before, additional)? << 4;
    }
    Ok(Peek { id: word(0), flags, rcode, question: &bytes[HEADER_LEN..question_end] })
}

/// The ID of a message, even of one that [`peek`] finds malformed; `None` with fewer than two octets.
#[inline]
pub fn peek_id(bytes: &[u8]) -> Option<u16> {
    bytes.first_chunk().map(|head| u16::from_be_bytes(*head))
}

/// Whether two questions, each name + type + class as on the wire, ask the same.
///
/// Names compare without regard to ASCII case (RFC 4343): a server may answer in its own spelling.
#[inline]
pub fn same_question(a: &[u8], b: &[u8]) -> bool {
    a == b || same_but_for_case(a, b)
}

/// The slow half of [`same_question`]. A length octet is at most 63, so none of them is taken for a letter.
#[cold]
fn same_but_for_case(a: &[u8], b: &[u8]) -> bool {
    match (a.split_last_chunk::<QUESTION_FIXED_LEN>(), b.split_last_chunk::<QUESTION_FIXED_LEN>()) {
        (Some((name_a, fixed_a)), Some((name_b, fixed_b))) => {
            fixed_a == fixed_b && name_a.eq_ignore_ascii_case(name_b)
        }
        _ => false,
    }
}

/// Where the question ends.
#[inline]
pub(crate) fn skip_question(bytes: &[u8]) -> Result<usize, Malformed> {
    let mut at = HEADER_LEN;
    loop {
        let len = *bytes.get(at).ok_or(Malformed::CutQuestion)?;
        at += 1;
        match len {
            0 => break,
            0xc0.. => return Err(Malformed::CompressedQuestion),
            _ if usize::from(len) > MAX_LABEL_LEN => return Err(Malformed::BadName),
            _ => at += usize::from(len),
        }
    }
    if at - HEADER_LEN > MAX_NAME_LEN {
        return Err(Malformed::BadName);
    }
    at += QUESTION_FIXED_LEN;
    if at <= bytes.len() { Ok(at) } else { Err(Malformed::CutQuestion) }
}

/// Walks `before` records and then up to `additional` more, and returns the RCODE bits of the first OPT.
///
/// ```text
/// owner | type 2 | class 2 | TTL 4: for OPT  RCODE bits 1, version 1, flags 2 | length 2 | data
/// ```
#[inline]
fn extended_rcode(bytes: &[u8], mut at: usize, before: u32, additional: u16) -> Result<u16, Malformed> {
    const FIXED_LEN: usize = 10;
    // No more rounds than the packet has room for: every record takes at least eleven octets.
    for nth in 0..before + u32::from(additional) {
        let owner_at = at;
        at = skip_name(bytes, at)?;
        let fixed: &[u8; FIXED_LEN] =
            bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or(Malformed::CutRecord)?;
        let data_len = usize::from(u16::from_be_bytes([fixed[8], fixed[9]]));
        let is_root = at == owner_at + 1;
        at += FIXED_LEN + data_len;
        if at > bytes.len() {
            return Err(Malformed::CutRecord);
        }
        if nth >= before && is_root && u16::from_be_bytes([fixed[0], fixed[1]]) == TYPE_OPT {
            return Ok(u16::from(fixed[4]));
        }
    }
    Ok(0)
}

/// Where the name that starts at `at` ends: after its root label, or after its compression pointer.
#[inline]
pub(crate) fn skip_name(bytes: &[u8], mut at: usize) -> Result<usize, Malformed> {
    loop {
        let len = *bytes.get(at).ok_or(Malformed::CutRecord)?;
        match len {
            0 => return Ok(at + 1),
            0xc0.. => return Ok(at + 2),
            _ if usize::from(len) > MAX_LABEL_LEN => return Err(Malformed::BadName),
            _ => at += 1 + usize::from(len),
        }
    }
}

#[cfg(test)]
mod tests;
