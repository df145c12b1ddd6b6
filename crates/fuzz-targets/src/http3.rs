//! What a peer may send over one stream of HTTP/3, and as a section of fields.

use dnsdyno_http::h3::qpack::Decoder;
use dnsdyno_http::h3::unidirectional::{Incoming, Peer, Reader, Said};
use dnsdyno_http::h3::{Request, Response, Wrong};
use dnsdyno_http::{OtherType, put_integer, put_string};

/// Octets of a stream. The first byte says whose: a response, a request, or what a server or a client says over a
/// stream of its own; and in pieces of which size they are received.
///
/// # Panics
/// Where the pieces make a difference, or more is held than the bounds allow.
pub fn http3_stream(bytes: &[u8]) {
    let Some((how, stream)) = bytes.split_first() else { return };
    let step = usize::from(how >> 2) + 1;
    let (whole, pieces): (&[&[u8]], Vec<&[u8]>) = (&[stream], stream.chunks(step).collect());
    match how & 3 {
        0 => assert_eq!(response(whole), response(&pieces)),
        1 => assert_eq!(request(whole), request(&pieces)),
        2 => assert_eq!(said(Reader::Client, whole), said(Reader::Client, &pieces)),
        _ => assert_eq!(said(Reader::Server, whole), said(Reader::Server, &pieces)),
    }
}

fn response(pieces: &[&[u8]]) -> Result<(u16, Vec<u8>), Wrong> {
    let (mut response, mut decoder, mut other) =
        (Response::default(), Decoder::default(), OtherType::default());
    for piece in pieces {
        response.take(piece, &mut decoder, &mut other, MOST_SECTION)?;
        assert!(response.held_bytes() <= MOST_HELD, "{} octets are held", response.held_bytes());
    }
    response.end().map(|(head, body)| (head.status, body.clone()))
}

fn request(pieces: &[&[u8]]) -> Result<(Vec<u8>, Vec<u8>), Wrong> {
    let (mut request, mut decoder) = (Request::default(), Decoder::default());
    for piece in pieces {
        request.take(piece, &mut decoder, MOST_SECTION)?;
    }
    request.end().map(|body| (request.head().path.clone(), body.to_vec()))
}

/// The last GOAWAY, and whether the stream is of an unknown type; or the code of an error.
fn said(reader: Reader, pieces: &[&[u8]]) -> Result<(Option<u64>, bool), u64> {
    let (mut peer, mut incoming, mut gone_from) = (Peer::new(reader), Incoming::default(), None);
    for piece in pieces {
        let Said { gone_from: next, is_unwanted, .. } =
            incoming.take(&mut peer, piece, false).map_err(|wrong| wrong.code)?;
        gone_from = next.or(gone_from);
        if is_unwanted {
            return Ok((gone_from, true));
        }
    }
    Ok((gone_from, false))
}

/// A section of fields.
///
/// # Panics
/// Where the fields are others once they are written as literals, or longer than the section can say.
pub fn qpack(section: &[u8]) {
    let Some(fields) = fields_of(section) else { return };
    let mut literals = b"\0\0".to_vec();
    for (name, value) in &fields {
        // The shortest code of Huffman has five bits; no entry of the static table is longer than a hundred octets.
        assert!(name.len() + value.len() <= 100 + 2 * section.len());
        put_integer(&mut literals, 0x20, 3, name.len());
        literals.extend_from_slice(name);
        put_string(&mut literals, value);
    }
    assert_eq!(fields_of(&literals), Some(fields));
}

fn fields_of(section: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut fields = Vec::new();
    Decoder::default().decode(section, |name, value| fields.push((name.to_vec(), value.to_vec())))?;
    Some(fields)
}

const MOST_SECTION: usize = 16 << 10;

/// A section and a body, each in memory that has grown to up to twice its length.
const MOST_HELD: usize = 2 * (MOST_SECTION + 65_535);
