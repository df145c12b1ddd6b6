//! How AF_XDP opens itself from the description of a run.

use super::{MOST_HELD, Source, XdpConfig, XdpTransport, open};
use crate::description::{Description, Open, OpenError};

impl Open for XdpTransport {
    fn open_all(description: &Description) -> Result<Vec<Self>, OpenError> {
        let xdp = &description.xdp;
        let source = match (xdp.source_prefix, description.local_address) {
            (Some((first, length)), _) => Source::Prefix { first, length },
            (None, Some(address)) => Source::Address(address),
            (None, None) => Source::Route,
        };
        let config = XdpConfig {
            server: description.server,
            interface: xdp.interface.clone(),
            source,
            ports: description.local_ports,
            next_hop: xdp.next_hop,
            vlan: xdp.vlan,
            attach: xdp.attach,
            copy: xdp.copy,
            workers: description.workers,
            fits_workers: xdp.fits_workers,
            channels: description.clients,
            longest_message: xdp.longest_message,
            send_only: description.send_only,
        };
        open(&config).map_err(OpenError::refused)
    }

    /// A socket for each of its ports, up to a number, and the files of the queues and their workers.
    fn files(description: &Description) -> usize {
        description.clients.min(MOST_HELD) + FILES_OF_QUEUES
    }
}

/// Files of the queues, and of the wake-ups between their workers, on the largest cards.
const FILES_OF_QUEUES: usize = 1_024;
