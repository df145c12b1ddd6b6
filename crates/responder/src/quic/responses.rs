//! What a stream carries back: a message behind its length, a response of HTTP, or a status alone; and which queries
//! violate DNS over QUIC.

use domain::base::Message;
use domain::base::opt::TcpKeepalive;
use quinn_proto::StreamId;

use super::connection::Connection;
use super::http;
use crate::book::Side;
use crate::faults::{Fault, WRONG_LENGTH_BY};

/// The response to a query over this connection, as its fault demands.
pub(super) fn response(connection: &Connection, message: &[u8], fault: Option<Fault>) -> Vec<u8> {
    match connection.http {
        Some(_) => http::response(message, fault),
        None => doq_response(message, fault),
    }
}

/// Answers a request with a status and nothing else.
pub(super) fn refuse(connection: &mut Connection, stream: StreamId, status: u16, side: &mut Side) {
    *side.statuses.entry(status).or_default() += 1;
    connection.write_alone(stream, &http::refusal(status));
}

/// The status of a response with a message.
pub(super) fn note_status(fault: Option<Fault>, side: &mut Side) {
    let status = match fault {
        Some(Fault::StreamReset | Fault::Reset) => return,
        Some(Fault::ServerError) => 500,
        _ => 200,
    };
    *side.statuses.entry(status).or_default() += 1;
}

/// A message behind its length, as the fault of its query demands.
fn doq_response(message: &[u8], fault: Option<Fault>) -> Vec<u8> {
    let by = if fault == Some(Fault::WrongLength) { WRONG_LENGTH_BY } else { 0 };
    // The answer side keeps messages to 65,535 bytes.
    let declared = (message.len() + by).min(usize::from(u16::MAX)) as u16;
    [&declared.to_be_bytes(), message].concat()
}

/// Whether a query violates RFC 9250: its ID is not 0 (§4.2.1), or it has the TCP keepalive option
/// (§5.5.2).
pub(super) fn breaks_rules(message: &[u8]) -> bool {
    let asks_keepalive = || {
        let opt = Message::from_octets(message).ok()?.opt()?;
        opt.opt().iter::<TcpKeepalive>().next()
    };
    message.first_chunk() != Some(&[0, 0]) || asks_keepalive().is_some()
}
