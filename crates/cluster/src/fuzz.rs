//! Entry points for `fuzz/`: what comes over a link, and the file that says what an agent may load.

use std::fmt::Debug;
use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::frame::{Frame, Kind};
use crate::messages::{Order, Report};
use crate::parts::{Came, Outcome, Part, Sent};
use crate::permission::Permission;
use crate::presence::{Opened, Opening, Presence, Question};
use crate::signed::Signed;

/// Frames as they come from the output of a process.
///
/// # Panics
/// Where a frame is another one once it is written.
pub fn agent_frames(mut octets: &[u8]) {
    while let Ok(Some(frame)) = Frame::read(&mut octets) {
        let mut written = Vec::new();
        frame.write(&mut written).expect("memory takes it");
        assert_eq!(Frame::read(&mut &written[..]).ok().flatten().as_ref(), Some(&frame));
        message(&frame);
    }
}

/// Parts of frames as they come over a broker, each behind its length in two octets.
///
/// # Panics
/// Where a part is another one once it is written, or more comes than was sent.
pub fn agent_parts(octets: &[u8]) {
    let (mut came, mut rest, mut got) = (Came::default(), octets, 0);
    let now = Instant::now();
    let mut sent = Sent::new(now);
    let frame = Frame { kind: Kind::Message, octets: vec![b'x'; 100] };
    let parts = sent.frame(&frame, 30, now).len();
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let (octets, after) = after.split_at(usize::from(u16::from_be_bytes(*length)).min(after.len()));
        rest = after;
        let Some(part) = Part::read(octets) else { continue };
        assert_eq!(part.written(), octets);
        // What the other side says of our parts: no more is sent again than there is.
        assert!(sent.again(part.number, now).len() <= parts);
        sent.acknowledged(part.number, now);
        match came.part(part) {
            Ok(Outcome::Frame(frame)) => {
                got += frame.octets.len();
                message(&frame);
            }
            Ok(Outcome::Missing(words)) => assert!(Part::read(&words).is_some()),
            Ok(Outcome::Nothing) => {}
            Ok(Outcome::Ended) | Err(_) => break,
        }
        came.probed(part.number);
    }
    assert!(got <= octets.len());
}

/// The file that says what an agent may load.
///
/// # Panics
/// Where the words for it have a control character in them.
pub fn agent_permission(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    if let Ok(permission) = Permission::parse(text) {
        let words = permission.to_string();
        assert!(!words.contains(char::is_control), "{words:?}");
    }
}

/// Both sides are read: anyone may be at the other end.
fn message(frame: &Frame) {
    if frame.kind == Kind::Message {
        said::<Order>(&frame.octets);
        said::<Report>(&frame.octets);
        said::<Signed>(&frame.octets);
        said::<Question>(&frame.octets);
        said::<Presence>(&frame.octets);
        said::<Opening>(&frame.octets);
        said::<Opened>(&frame.octets);
    }
}

/// What was read is written as what is read again.
fn said<T: DeserializeOwned + Serialize + Debug>(octets: &[u8]) {
    let Ok(said) = serde_json::from_slice::<T>(octets) else { return };
    let written = serde_json::to_string(&said).expect("what was read can be written");
    let again: T = serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(serde_json::to_string(&again).expect("as before"), written);
}
