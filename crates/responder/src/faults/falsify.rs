//! Responses that are falsified on command, octet by octet. Each returns whether there was something to change.

use dnsdyno_wire::{HEADER_LEN, RecordAt, Records, TYPE_A, TYPE_AAAA, TYPE_TXT};

/// Changes the ID.
pub(super) fn flip_id(answer: &mut [u8]) -> bool {
    answer.first_mut().map(|byte| *byte ^= 0x80).is_some()
}

/// Changes the question into another well-formed one.
pub(super) fn change_question(answer: &mut [u8]) -> bool {
    const NAME: usize = HEADER_LEN;
    let Some([length, first]) = answer.get_mut(NAME..NAME + 2).and_then(|bytes| bytes.first_chunk_mut())
    else {
        return false;
    };
    if *length == 0 {
        *first ^= 0x80; // the upper byte of the type
    } else {
        *first = if first.eq_ignore_ascii_case(&b'x') { b'y' } else { b'x' };
    }
    true
}

/// Changes the last octet of the last record of the answer section, where that is of an address or a text; otherwise
/// whether the name exists.
pub(super) fn change_answer(answer: &mut [u8]) -> bool {
    let Some(header) = answer.first_chunk::<HEADER_LEN>() else { return false };
    let answers = u16::from_be_bytes([header[6], header[7]]);
    let last = (answers > 0).then(|| Records::of_answer(answer).ok()?.last()?.ok()).flatten();
    match last {
        Some(RecordAt { rtype: TYPE_A | TYPE_AAAA | TYPE_TXT, data, end, .. }) if end > data + 1 => {
            answer[end - 1] ^= 1;
        }
        _ => answer[3] = (answer[3] & 0xf0) | if answer[3] & 0xf == NXDOMAIN { 0 } else { NXDOMAIN },
    }
    true
}

const NXDOMAIN: u8 = 3;
