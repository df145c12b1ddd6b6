//! Names of an update.

use dnsdyno_wire::{MAX_NAME_LEN, NameError, encode_name};

use super::mistake::UpdateMistake;

/// The wire form of a name; one without a final dot is relative to `zone`.
pub(super) fn name_in_zone(text: &[u8], zone: &[u8]) -> Result<Vec<u8>, UpdateMistake> {
    let mut wire = Vec::new();
    if text == b"@" {
        return Ok(zone.to_vec());
    }
    encode_name(text, &mut wire).map_err(UpdateMistake::Name)?;
    let before_dot = text.strip_suffix(b".");
    let escapes = |before: &[u8]| before.iter().rev().take_while(|byte| **byte == b'\\').count();
    let is_absolute = before_dot.is_some_and(|before| escapes(before).is_multiple_of(2));
    if !is_absolute {
        wire.pop();
        wire.extend_from_slice(zone);
    }
    match wire.len() {
        length if length > MAX_NAME_LEN => Err(UpdateMistake::Name(NameError::LongName(length))),
        _ => Ok(wire),
    }
}
