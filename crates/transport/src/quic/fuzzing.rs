//! What a server may send over QUIC: packets to a client whose handshake has begun, and the octets of a stream.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto::{ClientConfig, DatagramEvent, Endpoint, EndpointConfig};

use super::config::client_config;
use super::connection::{Arrival, StreamQuery};
use super::doq::{Doq, take};
use crate::tls::{Tls, TlsConfig, TlsTrust};

/// Packets, each preceded by its length in two octets. Those with a long header get the connection ID of the client, so
/// that they reach its connection.
pub fn quic_packets(bytes: &[u8]) {
    let Some(config) = CLIENT.as_ref() else { return };
    let (now, server, mut packet) = (Instant::now(), server(), Vec::new());
    let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, true, Some([7; 32]));
    let Ok((handle, mut quic)) = endpoint.connect(now, config.clone(), server, "localhost") else { return };
    let _ = quic.poll_transmit(now, 1, &mut packet);
    let own = source_id(&packet).map(<[u8]>::to_vec).unwrap_or_default();
    let mut rest = bytes;
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let (received, after) = after.split_at(usize::from(u16::from_be_bytes(*length)).min(after.len()));
        rest = after;
        let mut received = BytesMut::from(received);
        address(&mut received, &own);
        packet.clear();
        if let Some(DatagramEvent::ConnectionEvent(to, event)) =
            endpoint.handle(now, server, None, None, received, &mut packet)
            && to == handle
        {
            quic.handle_event(event);
        }
        while quic.poll().is_some() {}
        packet.clear();
        while quic.poll_transmit(now, 1, &mut packet).is_some() {
            packet.clear();
        }
        while let Some(event) = quic.poll_endpoint_events() {
            if let Some(event) = endpoint.handle_event(handle, event) {
                quic.handle_event(event);
            }
        }
    }
}

/// Octets of the stream of a query, as they grow.
///
/// # Panics
/// Where a message is taken before it is complete.
pub fn doq_stream(bytes: &[u8]) {
    let mut message = Vec::new();
    for end in 0..=bytes.len() {
        for is_ended in [false, true] {
            let query = StreamQuery { id: 0x1234, at_ns: 0 };
            let arrival = take(&bytes[..end], is_ended, Some(query), &mut message);
            assert!(!matches!(arrival, Arrival::Message(_)) || message.len() + 2 == end);
        }
    }
}

/// The source connection ID of a packet with a long header (RFC 8999, 5.1).
fn source_id(packet: &[u8]) -> Option<&[u8]> {
    let destination = usize::from(*packet.get(5)?);
    let length = usize::from(*packet.get(6 + destination)?);
    packet.get(7 + destination..7 + destination + length)
}

/// Makes `own` the destination of a packet with a long header.
fn address(packet: &mut [u8], own: &[u8]) {
    let is_long = packet.first().is_some_and(|first| first & 0x80 != 0);
    if let Some([length, id @ ..]) = packet.get_mut(5..6 + own.len()).filter(|_| is_long) {
        *length = own.len() as u8;
        id.copy_from_slice(own);
    }
}

fn server() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 853))
}

static CLIENT: LazyLock<Option<ClientConfig>> = LazyLock::new(|| {
    let config = TlsConfig {
        server: server(),
        asked: "localhost".to_owned(),
        server_name: None,
        trust: TlsTrust::Anything,
        tls12: false,
        tls13: true,
        resumption: true,
        early_data: false,
        key_log: None,
    };
    Some(client_config::<Doq>(None, &Tls::new(&config).ok()?, 1).ok()?.0)
});

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_packets_and_any_octets_of_a_stream_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            quic_packets(&[&[0, 60, 0xc0, 0, 0, 0, 1][..], &bytes].concat());
            quic_packets(&bytes);
            doq_stream(&bytes);
        }
    }
}
