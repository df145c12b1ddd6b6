//! Unidirectional streams of a peer (RFC 9114, 6.2; RFC 9204, 4.2): its control stream, those of QPACK, and others.

use super::code::{
    CLOSED_CRITICAL_STREAM, EXCESSIVE_LOAD, FRAME_ERROR, FRAME_UNEXPECTED, ID_ERROR, MISSING_SETTINGS,
    QPACK_DECODER_STREAM_ERROR, QPACK_ENCODER_STREAM_ERROR, SETTINGS_ERROR, STREAM_CREATION_ERROR, Violation,
};
use super::frame::{
    CANCEL_PUSH, DATA, Frames, GOAWAY, HEADERS, MAX_PUSH_ID, PUSH_PROMISE, Piece, SETTINGS, is_reserved,
    put_frame, put_varint, read_varint,
};

/// Which side reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// What a server says.
    Client,
    /// What a client says.
    Server,
}

/// What a peer has said over all its unidirectional streams.
#[derive(Debug)]
pub struct Peer {
    reader: Reader,
    has_control: bool,
    has_encoder: bool,
    has_decoder: bool,
    has_settings: bool,
    /// The identifier of its last GOAWAY.
    last: Option<u64>,
    /// The pushes that it allows at most.
    pushes: u64,
}

/// One stream of a peer, as far as it was received.
#[derive(Debug, Default)]
pub struct Incoming {
    kind: Kind,
    /// The beginning of its type.
    beginning: [u8; 8],
    beginning_bytes: u8,
    frames: Frames,
    /// The payload of a frame that is not complete.
    payload: Vec<u8>,
    /// Whether an integer of QPACK goes on in the next octet.
    is_in_integer: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Unknown,
    Control,
    Encoder,
    Decoder,
}

/// What some octets have said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// How much of it brought no response: frames, and octets of QPACK.
    pub idle: u32,
    /// A GOAWAY: streams from this identifier on are not processed. The latest one.
    pub gone_from: Option<u64>,
    /// The stream is of a type that nobody here knows, and should be read no further.
    pub is_unwanted: bool,
}

impl Peer {
    /// Before anything was received.
    pub const fn new(reader: Reader) -> Self {
        Peer {
            reader,
            has_control: false,
            has_encoder: false,
            has_decoder: false,
            has_settings: false,
            last: None,
            pushes: 0,
        }
    }

    /// A stream of this type begins; `None` where its type is unknown.
    fn begin(&mut self, kind: u64) -> Result<Option<Kind>, Violation> {
        let (kind, is_second) = match (kind, self.reader) {
            (0, _) => (Kind::Control, std::mem::replace(&mut self.has_control, true)),
            (2, _) => (Kind::Encoder, std::mem::replace(&mut self.has_encoder, true)),
            (3, _) => (Kind::Decoder, std::mem::replace(&mut self.has_decoder, true)),
            (1, Reader::Client) => return Err(Violation::new(ID_ERROR, "a push, which was not allowed")),
            (1, Reader::Server) => {
                return Err(Violation::new(STREAM_CREATION_ERROR, "a push, which is a server's"));
            }
            _ => return Ok(None),
        };
        if is_second {
            return Err(Violation::new(
                STREAM_CREATION_ERROR,
                "a second stream of a kind that there is once",
            ));
        }
        Ok(Some(kind))
    }

    /// A frame begins on the control stream.
    fn begin_frame(&mut self, kind: u64, length: u64) -> Result<(), Violation> {
        if !self.has_settings && kind != SETTINGS {
            return Err(Violation::new(
                MISSING_SETTINGS,
                "a control stream that does not begin with SETTINGS",
            ));
        }
        let is_number = (1..=8).contains(&length);
        match kind {
            SETTINGS if self.has_settings => Err(Violation::new(FRAME_UNEXPECTED, "SETTINGS a second time")),
            SETTINGS if length > MOST_SETTINGS => {
                Err(Violation::new(EXCESSIVE_LOAD, "SETTINGS of more than 1,024 octets"))
            }
            SETTINGS => {
                self.has_settings = true;
                Ok(())
            }
            GOAWAY if is_number => Ok(()),
            MAX_PUSH_ID if self.reader == Reader::Server && is_number => Ok(()),
            MAX_PUSH_ID if self.reader == Reader::Client => {
                Err(Violation::new(FRAME_UNEXPECTED, "MAX_PUSH_ID, which is a client's"))
            }
            GOAWAY | MAX_PUSH_ID => Err(NO_NUMBER),
            // No push was allowed, so there is none that could be cancelled.
            CANCEL_PUSH => Err(Violation::new(ID_ERROR, "CANCEL_PUSH of a push that there is not")),
            DATA | HEADERS | PUSH_PROMISE => {
                Err(Violation::new(FRAME_UNEXPECTED, "a frame of a message on the control stream"))
            }
            _ if is_reserved(kind) => Err(Violation::new(FRAME_UNEXPECTED, "a frame of HTTP/2")),
            _ => Ok(()),
        }
    }

    /// The payload of a frame of the control stream is complete.
    fn take_frame(&mut self, kind: u64, payload: &[u8]) -> Result<Option<u64>, Violation> {
        if kind == SETTINGS {
            return check_settings(payload).map(|()| None);
        }
        let mut rest = payload;
        let number = read_varint(&mut rest).filter(|_| rest.is_empty()).ok_or(NO_NUMBER)?;
        if kind == MAX_PUSH_ID {
            if number < std::mem::replace(&mut self.pushes, number) {
                return Err(Violation::new(ID_ERROR, "a smaller MAX_PUSH_ID than before"));
            }
            return Ok(None);
        }
        // A server names a stream for requests (RFC 9114, 5.2).
        if self.reader == Reader::Client && !number.is_multiple_of(4) {
            return Err(Violation::new(ID_ERROR, "a GOAWAY with a stream that carries no request"));
        }
        if self.last.replace(number).is_some_and(|last| number > last) {
            return Err(Violation::new(ID_ERROR, "a GOAWAY with a later stream than before"));
        }
        Ok(Some(number))
    }
}

impl Incoming {
    /// Takes the next octets; `is_ended` = the stream has ended after them, regularly or not.
    ///
    /// # Errors
    /// Where the connection cannot be used any more.
    pub fn take(&mut self, peer: &mut Peer, bytes: &[u8], is_ended: bool) -> Result<Said, Violation> {
        let (mut rest, mut said) = (bytes, Said::default());
        if self.kind == Kind::Unknown {
            let Some(kind) = self.take_type(&mut rest) else { return Ok(said) };
            match peer.begin(kind)? {
                Some(kind) => self.kind = kind,
                None => return Ok(Said { is_unwanted: true, ..said }),
            }
        }
        match self.kind {
            Kind::Control => self.take_control(peer, rest, &mut said)?,
            Kind::Encoder => {
                // With a capacity of 0 nothing is possible but to say that it is 0 (RFC 9204, 4.3).
                if rest.iter().any(|byte| *byte != CAPACITY_0) {
                    let what = "an instruction of QPACK for a table that has no space";
                    return Err(Violation::new(QPACK_ENCODER_STREAM_ERROR, what));
                }
                said.idle += rest.len() as u32;
            }
            Kind::Decoder => {
                self.take_decoder(rest)?;
                said.idle += rest.len() as u32;
            }
            Kind::Unknown => {}
        }
        if is_ended {
            let what = "the end of a stream that has to be open as long as the connection";
            return Err(Violation::new(CLOSED_CRITICAL_STREAM, what));
        }
        Ok(said)
    }

    /// The type at the beginning of the stream, once it is complete.
    fn take_type(&mut self, rest: &mut &[u8]) -> Option<u64> {
        while let Some((byte, after)) = rest.split_first() {
            *rest = after;
            let at = usize::from(self.beginning_bytes);
            self.beginning[at] = *byte;
            self.beginning_bytes += 1;
            if let Some(kind) = read_varint(&mut &self.beginning[..=at]) {
                return Some(kind);
            }
        }
        None
    }

    fn take_control(&mut self, peer: &mut Peer, mut rest: &[u8], said: &mut Said) -> Result<(), Violation> {
        while let Some(piece) = self.frames.next(&mut rest) {
            said.idle += 1;
            match piece {
                Piece::Begin { kind, length } => peer.begin_frame(kind, length)?,
                Piece::Payload { kind: kind @ (SETTINGS | GOAWAY | MAX_PUSH_ID), bytes, is_last } => {
                    self.payload.extend_from_slice(bytes);
                    if is_last {
                        let number = peer.take_frame(kind, &self.payload)?;
                        said.gone_from = number.or(said.gone_from);
                        self.payload = Vec::new();
                    }
                }
                Piece::Payload { .. } => {}
            }
        }
        Ok(())
    }

    /// We insert nothing into the table of the peer, so there is nothing to acknowledge; only that it has given up a
    /// stream it may say (RFC 9204, 4.4).
    fn take_decoder(&mut self, bytes: &[u8]) -> Result<(), Violation> {
        for byte in bytes {
            if self.is_in_integer {
                self.is_in_integer = byte & 0x80 != 0;
                continue;
            }
            if byte & 0xc0 != CANCELLATION {
                let what = "an acknowledgement of QPACK for what was not sent";
                return Err(Violation::new(QPACK_DECODER_STREAM_ERROR, what));
            }
            self.is_in_integer = byte & 0x3f == 0x3f;
        }
        Ok(())
    }
}

/// Whether SETTINGS are as they have to be. None of them is needed: what a peer accepts of sections is far more than a
/// request has, and a table is not used.
fn check_settings(payload: &[u8]) -> Result<(), Violation> {
    let (mut rest, mut names) = (payload, Vec::new());
    while !rest.is_empty() {
        let cut = Violation::new(FRAME_ERROR, "SETTINGS with half a setting");
        let (name, _) = read_varint(&mut rest).zip(read_varint(&mut rest)).ok_or(cut)?;
        // Those of HTTP/2 (RFC 9114, 7.2.4.1).
        if (2..=5).contains(&name) {
            return Err(Violation::new(SETTINGS_ERROR, "a setting of HTTP/2"));
        }
        if names.contains(&name) {
            return Err(Violation::new(SETTINGS_ERROR, "a setting twice"));
        }
        names.push(name);
    }
    Ok(())
}

/// Appends the beginning of our control stream: its type, and that no section may be longer than `most_section` octets.
pub fn put_control(out: &mut Vec<u8>, most_section: usize) {
    let mut settings = Vec::new();
    // That of QPACK is 0 without being said; it is said so that a capture shows it.
    for (name, value) in [(MAX_FIELD_SECTION_SIZE, most_section as u64), (QPACK_MAX_TABLE_CAPACITY, 0)] {
        put_varint(&mut settings, name);
        put_varint(&mut settings, value);
    }
    put_varint(out, CONTROL_STREAM);
    put_frame(out, SETTINGS, settings.len());
    out.extend_from_slice(&settings);
}

/// Appends a GOAWAY: streams from this identifier on are not processed.
pub fn put_goaway(out: &mut Vec<u8>, from: u64) {
    let mut payload = Vec::new();
    put_varint(&mut payload, from);
    put_frame(out, GOAWAY, payload.len());
    out.extend_from_slice(&payload);
}

const CONTROL_STREAM: u64 = 0;
const QPACK_MAX_TABLE_CAPACITY: u64 = 1;
const MAX_FIELD_SECTION_SIZE: u64 = 6;

/// Octets of SETTINGS: a server has about ten of them, in ten octets each at most.
const MOST_SETTINGS: u64 = 1_024;

/// Set Dynamic Table Capacity, to 0.
const CAPACITY_0: u8 = 0x20;

/// Stream Cancellation.
const CANCELLATION: u8 = 0x40;

const NO_NUMBER: Violation = Violation::new(FRAME_ERROR, "a GOAWAY or MAX_PUSH_ID that is not one number");

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of the last of these streams, in pieces of `step` octets.
    fn pieces(reader: Reader, streams: &[&[u8]], is_ended: bool, step: usize) -> Result<Said, Violation> {
        let (mut peer, mut sum) = (Peer::new(reader), Said::default());
        for stream in streams {
            let mut incoming = Incoming::default();
            sum = Said::default();
            for piece in stream.chunks(step) {
                let said = incoming.take(&mut peer, piece, false)?;
                sum = Said {
                    idle: sum.idle + said.idle,
                    gone_from: said.gone_from.or(sum.gone_from),
                    is_unwanted: said.is_unwanted,
                };
                if said.is_unwanted {
                    break;
                }
            }
            if is_ended {
                incoming.take(&mut peer, &[], true)?;
            }
        }
        Ok(sum)
    }

    /// The same, whole; octet by octet it has to be the same.
    fn taken(reader: Reader, streams: &[&[u8]], is_ended: bool) -> Result<Said, Violation> {
        let whole = pieces(reader, streams, is_ended, usize::MAX);
        let without_idle = |said: Result<Said, Violation>| said.map(|said| Said { idle: 0, ..said });
        assert_eq!(without_idle(whole), without_idle(pieces(reader, streams, is_ended, 1)), "{streams:x?}");
        whole
    }

    #[test]
    fn what_we_say_is_understood() {
        let mut control = Vec::new();
        put_control(&mut control, 16 << 10);
        put_goaway(&mut control, 400);
        let said = taken(Reader::Client, &[&control], false).expect("a good stream");
        assert_eq!((said.gone_from, said.is_unwanted), (Some(400), false));
        assert!(said.idle > 0);
    }

    #[test]
    fn streams_of_qpack_say_only_what_needs_no_table() {
        // A capacity of 0, and cancellations of streams 1, 63 and 1,000,000.
        assert!(taken(Reader::Client, &[b"\x02\x20\x20", b"\x03\x41\x7f\0\x7f\x81\x84\x3d"], false).is_ok());
    }

    #[test]
    fn an_unknown_stream_is_not_wanted_and_may_end_before_its_type() {
        assert!(taken(Reader::Client, &[b"\x40\x21rest"], false).expect("skipped").is_unwanted);
        assert_eq!(taken(Reader::Client, &[b"\x40"], true), Ok(Said::default()));
        assert_eq!(taken(Reader::Client, &[b""], true), Ok(Said::default()));
    }

    #[test]
    fn each_violation_has_its_code() {
        let client: [(&[&[u8]], u64); 30] = [
            (&[b"\x00\x07\x01\x00"], MISSING_SETTINGS),
            (&[b"\x00\x00\x00"], MISSING_SETTINGS),
            (&[b"\x00\x21\x00"], MISSING_SETTINGS),
            (&[b"\x00\x04\x00\x04\x00"], FRAME_UNEXPECTED),
            (&[b"\x00\x04\x00\x00\x00"], FRAME_UNEXPECTED),
            (&[b"\x00\x04\x00\x01\x01x"], FRAME_UNEXPECTED),
            (&[b"\x00\x04\x00\x05\x02\x00\x00"], FRAME_UNEXPECTED),
            (&[b"\x00\x04\x00\x02\x00"], FRAME_UNEXPECTED),
            (&[b"\x00\x04\x00\x06\x00"], FRAME_UNEXPECTED),
            (&[b"\x00\x04\x00\x08\x00"], FRAME_UNEXPECTED),
            (&[b"\x00\x04\x00\x09\x00"], FRAME_UNEXPECTED),
            (&[b"\x00\x04\x00\x0d\x01\x00"], FRAME_UNEXPECTED),
            (&[b"\x00\x04\x00\x03\x01\x00"], ID_ERROR),
            (&[b"\x00\x04\x00\x07\x00"], FRAME_ERROR),
            (&[b"\x00\x04\x00\x07\x02\x04\x04"], FRAME_ERROR),
            (&[b"\x00\x04\x00\x07\x01\x40"], FRAME_ERROR),
            (&[b"\x00\x04\x00\x07\x09"], FRAME_ERROR),
            (&[b"\x00\x04\x00\x07\x01\x03"], ID_ERROR),
            (&[b"\x00\x04\x00\x07\x01\x04\x07\x01\x08"], ID_ERROR),
            (&[b"\x00\x04\x01\x06"], FRAME_ERROR),
            (&[b"\x00\x04\x02\x06\x40"], FRAME_ERROR),
            (&[b"\x00\x04\x02\x04\x01"], SETTINGS_ERROR),
            (&[b"\x00\x04\x04\x06\x01\x06\x02"], SETTINGS_ERROR),
            (&[b"\x00\x04\x44\x01"], EXCESSIVE_LOAD),
            (&[b"\x00\x04\x00", b"\x00"], STREAM_CREATION_ERROR),
            (&[b"\x02", b"\x02"], STREAM_CREATION_ERROR),
            (&[b"\x03", b"\x03"], STREAM_CREATION_ERROR),
            (&[b"\x01\x00"], ID_ERROR),
            (&[b"\x02\x3f\xe1\x1f"], QPACK_ENCODER_STREAM_ERROR),
            (&[b"\x03\x80"], QPACK_DECODER_STREAM_ERROR),
        ];
        for (streams, code) in client {
            assert_eq!(
                taken(Reader::Client, streams, false).map_err(|wrong| wrong.code),
                Err(code),
                "{streams:x?}"
            );
        }
        for stream in [&b"\x02\xc0\x01x"[..], b"\x02\x41x\x01x", b"\x02\x00"] {
            let wrong = taken(Reader::Client, &[stream], false).expect_err("an insertion");
            assert_eq!(wrong.code, QPACK_ENCODER_STREAM_ERROR, "{stream:x?}");
        }
        for stream in [&b"\x03\x00"[..], b"\x03\x01", b"\x03\x3f\x00"] {
            let wrong = taken(Reader::Client, &[stream], false).expect_err("an increment");
            assert_eq!(wrong.code, QPACK_DECODER_STREAM_ERROR, "{stream:x?}");
        }
        for stream in [&b"\x00"[..], b"\x00\x04\x00", b"\x02", b"\x03"] {
            let wrong = taken(Reader::Client, &[stream], true).expect_err("closed");
            assert_eq!(wrong.code, CLOSED_CRITICAL_STREAM, "{stream:x?}");
        }
    }

    #[test]
    fn a_client_may_allow_pushes_and_must_not_push() {
        assert!(taken(Reader::Server, &[b"\x00\x04\x00\x0d\x01\x03\x0d\x01\x07"], false).is_ok());
        // It may name any push.
        assert_eq!(
            taken(Reader::Server, &[b"\x00\x04\x00\x07\x01\x03"], false).map(|said| said.gone_from),
            Ok(Some(3))
        );
        for (streams, code) in [
            (&[&b"\x01\x00"[..]][..], STREAM_CREATION_ERROR),
            (&[b"\x00\x04\x00\x0d\x01\x03\x0d\x01\x02"], ID_ERROR),
            (&[b"\x00\x04\x00\x0d\x02\x03\x03"], FRAME_ERROR),
        ] {
            assert_eq!(
                taken(Reader::Server, streams, false).map_err(|wrong| wrong.code),
                Err(code),
                "{streams:x?}"
            );
        }
    }

    #[test]
    fn a_flood_is_counted_by_what_it_consists_of() {
        let unknown = [&b"\x00\x04\x00"[..], &b"\x21\x01x".repeat(100)].concat();
        assert!(taken(Reader::Client, &[&unknown], false).expect("skipped").idle >= 100);
        let idle = taken(Reader::Client, &[&[&b"\x02"[..], &[0x20; 500]].concat()], false);
        assert_eq!(idle.map(|said| said.idle), Ok(500));
    }
}
