//! DNS over QUIC on the streams of a connection (RFC 9250): a message behind its length.

use bytes::{Bytes, BytesMut};
use dnsdyno_measure::ConnectionEnd;
use dnsdyno_wire::peek;
use quinn_proto::{ReadError, StreamId, VarInt};

use super::connection::{Arrival, Break, Connection, Framed, Partial, Protocol, StreamQuery, Turn};
use crate::bounds::{LONGEST_MESSAGE, QUIC_STREAM_WINDOW};
use crate::description::Description;
use crate::tls::Tls;
use crate::{Batch, Sink};

/// DNS over QUIC. A connection has no state beside that of its streams.
#[derive(Default)]
pub struct Doq;

impl Partial for Vec<u8> {
    fn held_bytes(&self) -> usize {
        self.capacity()
    }
}

impl Protocol for Doq {
    /// RFC 9250, 8.1.
    const ALPN: &'static [u8] = b"doq";
    const SERVER_STREAMS: u32 = 0;
    const STREAM_WINDOW: u32 = QUIC_STREAM_WINDOW;
    // RFC 9250, 4.3.
    const NO_ERROR: VarInt = VarInt::from_u32(0);
    const PROTOCOL_ERROR: VarInt = VarInt::from_u32(2);
    const REQUEST_CANCELLED: VarInt = VarInt::from_u32(3);
    const EXCESSIVE_LOAD: VarInt = VarInt::from_u32(4);

    type Shared = ();
    type Partial = Vec<u8>;

    fn shared(_: &Description, _: &Tls) {}

    fn frame((): &mut (), batch: &Batch, framed: &mut Vec<Framed>, bytes: &mut BytesMut) {
        frame(batch.iter(), framed, bytes);
    }

    fn read<K: Sink>(
        connection: &mut Connection<Doq>,
        stream: StreamId,
        turn: &mut Turn<'_, Doq, K>,
    ) -> Arrival {
        let Turn { message, unfinished, .. } = turn;
        let number = stream.index();
        let mut receive = connection.quic.recv_stream(stream);
        let Ok(mut chunks) = receive.read(true) else { return Arrival::Nothing };
        let mut held = if connection.partial.is_empty() { None } else { connection.partial.remove(&number) };
        held.iter().for_each(|held| unfinished.release_bytes(held.held_bytes()));
        let (mut is_ended, mut reset, mut has_read) = (false, None, false);
        // Nearly every response is received in one piece.
        let mut whole = Bytes::new();
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    has_read = true;
                    match &mut held {
                        Some(held) => held.extend_from_slice(&chunk.bytes),
                        None if whole.is_empty() => whole = chunk.bytes,
                        None => held = Some([&whole[..], &chunk.bytes].concat()),
                    }
                }
                Ok(None) => is_ended = true,
                Err(ReadError::Blocked) => {}
                Err(ReadError::Reset(code)) => reset = Some(code),
            }
            let length = held.as_ref().map_or(whole.len(), Vec::len);
            if is_ended || reset.is_some() || !has_read || length > MOST_BYTES {
                break;
            }
            has_read = false;
        }
        let _ = chunks.finalize();
        let received = held.as_deref().unwrap_or(&whole);
        let query = connection.query_on(number);
        let arrival = match reset {
            Some(code) => query.map_or(Arrival::Nothing, |query| Arrival::Reset(query, code)),
            None => take(received, is_ended, query, message),
        };
        match arrival {
            Arrival::Part => {
                let held = held.unwrap_or_else(|| whole.to_vec());
                let is_bounded = unfinished.hold_bytes(held.held_bytes());
                connection.partial.insert(number, held);
                return is_bounded.map_or(Arrival::TooMuch, |()| Arrival::Part);
            }
            Arrival::Message(_) | Arrival::Reset(..) => connection.end(number),
            _ => {}
        }
        arrival
    }

    /// RFC 9250, 4.3.
    fn name_of(code: VarInt) -> String {
        let code = code.into_inner();
        let name = match code {
            0 => "DOQ_NO_ERROR",
            1 => "DOQ_INTERNAL_ERROR",
            2 => "DOQ_PROTOCOL_ERROR",
            3 => "DOQ_REQUEST_CANCELLED",
            4 => "DOQ_EXCESSIVE_LOAD",
            5 => "DOQ_UNSPECIFIED_ERROR",
            0xd098_ea5e => "DOQ_ERROR_RESERVED",
            // RFC 9114, 8.1.
            0x100..=0x110 => {
                return format!("error code {code:#x}, one of HTTP/3: there may be DoH on this port");
            }
            _ => return format!("error code {code:#x}"),
        };
        format!("{name} ({code:#x})")
    }
}

/// Interprets the bytes of a stream; `query` is its query.
pub(super) fn take(
    received: &[u8],
    is_ended: bool,
    query: Option<StreamQuery>,
    message: &mut Vec<u8>,
) -> Arrival {
    let Some(query) = query else {
        // After the message of an ended stream nothing but the end may follow.
        return match received {
            [] => Arrival::Nothing,
            _ => broken("more than one message on a stream"),
        };
    };
    let told = received.first_chunk().map(|length| LENGTH_BYTES + usize::from(u16::from_be_bytes(*length)));
    match told {
        Some(told) if received.len() > told => broken("more than one message on a stream"),
        Some(told) if received.len() == told => {
            message.clear();
            message.extend_from_slice(&received[LENGTH_BYTES..]);
            // An ID other than 0 violates 4.2.1. A malformed message is reported by the code
            // that pairs it.
            if message.first_chunk() != Some(&[0, 0]) && peek(message).is_ok() {
                return broken("a response with another ID than 0");
            }
            if let Some(place) = message.first_chunk_mut() {
                *place = query.id.to_be_bytes();
            }
            Arrival::Message(query)
        }
        // The stream ended before its message was complete (4.3.3).
        _ if is_ended => broken("a response that ends before its length"),
        _ if received.is_empty() => Arrival::Nothing,
        _ => Arrival::Part,
    }
}

fn broken(what: &str) -> Arrival {
    let (code, end) = (Doq::PROTOCOL_ERROR, ConnectionEnd::Protocol);
    Arrival::Broken(Break { code, end, words: format!("the server sent {what}") })
}

/// Puts messages behind their lengths, with the ID that they have over QUIC, into `bytes`. Gives each
/// with its original ID.
fn frame<'a>(messages: impl Iterator<Item = &'a [u8]>, framed: &mut Vec<Framed>, bytes: &mut BytesMut) {
    framed.clear();
    for message in messages {
        let id = message.first_chunk().map_or(0, |id| u16::from_be_bytes(*id));
        bytes.extend_from_slice(&(message.len() as u16).to_be_bytes());
        bytes.extend_from_slice(&[0; ID_BYTES][..ID_BYTES.min(message.len())]);
        bytes.extend_from_slice(message.get(ID_BYTES..).unwrap_or_default());
        framed.push(Framed { id, message_bytes: message.len() as u16, bytes: bytes.split().freeze() });
    }
}

/// Bytes of the length before a message, and of the ID at its start.
const LENGTH_BYTES: usize = 2;
const ID_BYTES: usize = 2;

/// A message with its length; more is an error.
const MOST_BYTES: usize = LENGTH_BYTES + LONGEST_MESSAGE;

#[cfg(test)]
mod tests {
    use super::*;

    const QUERY: StreamQuery = StreamQuery { id: 0x1234, at_ns: 0 };

    /// A response to a query for `a.`, with this ID, preceded by its length.
    fn answer(id: u16) -> Vec<u8> {
        let mut message = Vec::new();
        dnsdyno_wire::QueryForm::default().encode(b"\x01a\x00", 1, &mut message);
        message[..2].copy_from_slice(&id.to_be_bytes());
        message[2] |= 0x80;
        [&(message.len() as u16).to_be_bytes()[..], &message].concat()
    }

    fn taken(received: &[u8], is_ended: bool) -> (Arrival, Vec<u8>) {
        let mut message = Vec::new();
        (take(received, is_ended, Some(QUERY), &mut message), message)
    }

    #[test]
    fn a_response_gets_the_id_of_its_query_back_whether_or_not_the_stream_has_ended() {
        for is_ended in [false, true] {
            let (arrival, message) = taken(&answer(0), is_ended);
            assert!(matches!(arrival, Arrival::Message(_)), "{arrival:?}");
            assert_eq!((&message[..2], &message[3..]), (&[0x12, 0x34][..], &answer(0)[5..]));
        }
    }

    #[test]
    fn violations_of_dns_over_quic_are_distinguished_from_incomplete_messages() {
        let whole = answer(0);
        let more = [&whole[..], b"x"].concat();
        for (received, is_ended) in
            [(&answer(7)[..], true), (&more[..], false), (&whole[..9], true), (b"\0", true), (b"", true)]
        {
            let (arrival, _) = taken(received, is_ended);
            assert!(matches!(arrival, Arrival::Broken(_)), "{arrival:?} of {received:?}");
        }
        assert!(matches!(taken(&whole[..9], false).0, Arrival::Part));
        assert!(matches!(taken(b"", false).0, Arrival::Nothing));
        // Not a message: the code that pairs it reports that.
        assert!(matches!(taken(b"\0\x03abc", true).0, Arrival::Message(_)));
        assert!(matches!(take(b"x", false, None, &mut Vec::new()), Arrival::Broken(_)));
        assert!(matches!(take(b"", true, None, &mut Vec::new()), Arrival::Nothing));
    }

    #[test]
    fn messages_are_sent_with_their_length_and_id_0() {
        let mut framed = Vec::new();
        frame([&b"\x12\x34rest"[..], b"\x00\x05", b"x"].into_iter(), &mut framed, &mut BytesMut::new());
        let expected: [(u16, &[u8]); 3] = [(0x1234, b"\0\x06\0\0rest"), (5, b"\0\x02\0\0"), (0, b"\0\x01\0")];
        assert_eq!(framed.len(), 3);
        for (framed, (id, expected)) in framed.iter().zip(expected) {
            assert_eq!((framed.id, &framed.bytes[..]), (id, expected));
            assert_eq!(usize::from(framed.message_bytes), expected.len() - LENGTH_BYTES);
        }
    }
}
