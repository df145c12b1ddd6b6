//! How clients over QUIC open themselves from the description of a run.

use super::connection::Protocol;
use super::state::{QuicTransport, sockets_of};
use crate::description::{Description, Open, OpenError};
use crate::stream::usable_addresses;
use crate::tls::Tls;

impl<P: Protocol> Open for QuicTransport<P> {
    fn open_all(description: &Description) -> Result<Vec<Self>, OpenError> {
        let addresses = usable_addresses(description.server, description.local_addresses());
        let addresses = addresses.map_err(OpenError::refused)?;
        let tls = Tls::new(&description.tls).map_err(OpenError::unusable)?;
        let open = |worker| QuicTransport::open(description, &tls, &addresses, worker);
        (0..description.workers).map(open).collect::<Result<_, _>>().map_err(OpenError::refused)
    }

    /// Clients share sockets.
    fn files(description: &Description) -> usize {
        (0..description.workers).map(|worker| sockets_of(description.clients_of(worker))).sum()
    }
}
