//! dnstap in Frame Streams, as a resolver's messages of its clients.

use std::net::{IpAddr, SocketAddr};

use prost::Message as _;

use crate::dnstap::{CONTENT_TYPE, Envelope, INET, INET6, MESSAGE, Message, START, STOP};
use crate::message::{DnsMessage, Protocol};

/// Encodes dnstap messages, in memory that is used again.
#[derive(Default)]
pub(super) struct Writer {
    envelope: Envelope,
}

/// Writes the start of the file: a control frame that says the content.
pub(super) fn begin(out: &mut Vec<u8>) {
    let field_len = CONTENT_TYPE.len() as u32;
    for word in [0, 4 + 8 + field_len, u32::from(START), CONTENT_TYPE_FIELD, field_len] {
        out.extend(word.to_be_bytes());
    }
    out.extend_from_slice(CONTENT_TYPE);
}

/// Writes the control frame that ends the file.
pub(super) fn end(out: &mut Vec<u8>) {
    for word in [0, 4, u32::from(STOP)] {
        out.extend(word.to_be_bytes());
    }
}

impl Writer {
    pub(super) fn encode(&mut self, message: &DnsMessage<'_>, out: &mut Vec<u8>) -> bool {
        self.envelope.clear();
        self.envelope.kind = MESSAGE;
        self.envelope.identity.extend_from_slice(b"dnsdyno");
        fill(&mut self.envelope.message, message);
        out.extend((self.envelope.encoded_len() as u32).to_be_bytes());
        // A vector has room for any message.
        self.envelope.encode(out).is_ok()
    }
}

fn fill(to: &mut Message, message: &DnsMessage<'_>) {
    let (client, server) = (message.client(), message.server());
    to.socket_family = if client.is_ipv4() { INET } else { INET6 };
    to.socket_protocol = match message.protocol {
        Protocol::Udp => 1,
        Protocol::Tcp => 2,
        Protocol::Dot => 3,
        Protocol::Doh => 4,
        Protocol::Doq => 7,
    };
    put_address(client, &mut to.query_address, &mut to.query_port);
    put_address(server, &mut to.response_address, &mut to.response_port);
    let (seconds, ns) = (message.at_unix_ns / 1_000_000_000, (message.at_unix_ns % 1_000_000_000) as u32);
    let (seconds, ns) = (Some(seconds), Some(ns));
    if message.is_response() {
        to.kind = CLIENT_RESPONSE;
        (to.response_time_sec, to.response_time_nsec) = (seconds, ns);
        to.response_message.extend_from_slice(message.bytes);
    } else {
        to.kind = CLIENT_QUERY;
        (to.query_time_sec, to.query_time_nsec) = (seconds, ns);
        to.query_message.extend_from_slice(message.bytes);
    }
}

/// The unspecified address is that of a message that did not say it.
fn put_address(address: SocketAddr, octets: &mut Vec<u8>, port: &mut u32) {
    if address.ip().is_unspecified() {
        return;
    }
    match address.ip() {
        IpAddr::V4(ip) => octets.extend(ip.octets()),
        IpAddr::V6(ip) => octets.extend(ip.octets()),
    }
    *port = address.port().into();
}

/// The type of the field of a control frame that says the content.
const CONTENT_TYPE_FIELD: u32 = 1;

/// `Message.Type`.
const CLIENT_QUERY: i32 = 5;
const CLIENT_RESPONSE: i32 = 6;
