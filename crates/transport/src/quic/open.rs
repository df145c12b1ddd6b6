//! How clients over QUIC open themselves from the description of a run.

use super::config::QuicConfig;
use super::state::{QuicTransport, sockets_of};
use crate::description::{Description, Open, OpenError};
use crate::stream::usable_addresses;
use crate::tls::Tls;

impl Open for QuicTransport {
    fn open_all(description: &Description) -> Result<Vec<Self>, OpenError> {
        let local_addresses = usable_addresses(description.server, description.local_addresses());
        let config = QuicConfig {
            server: description.server,
            local_addresses: local_addresses.map_err(OpenError::refused)?,
            receive_buffer: description.receive_buffer,
            queries_each: description.queries_each,
            idle_timeout_ns: description.idle_timeout_ns,
            timeout_ns: description.timeout_ns,
            handshake_timeout_ns: description.handshake_timeout_ns,
            tls: Tls::new(&description.tls).map_err(OpenError::unusable)?,
        };
        let open = |worker| QuicTransport::open(&config, description.clients_of(worker), worker);
        (0..description.workers).map(open).collect::<Result<_, _>>().map_err(OpenError::refused)
    }

    /// Clients share sockets.
    fn files(description: &Description) -> usize {
        (0..description.workers).map(|worker| sockets_of(description.clients_of(worker))).sum()
    }
}
