//! How a connection ends, and what that is counted as.

use super::connection::Connection;
use crate::book::Connections;
use crate::faults::ConnectionFault;

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    ByClient,
    Idle,
    Lost,
    Rules,
    OnCommand,
    ResetOnCommand,
}

impl End {
    /// Counts this end of a connection.
    pub(super) fn book(self, connection: &Connection, book: &mut Connections) {
        let count = match self {
            _ if connection.fault == Some(ConnectionFault::TlsAlert) => &mut book.tls_alerts,
            End::OnCommand => &mut book.closed_on_command,
            End::ResetOnCommand => &mut book.reset_on_command,
            _ if connection.is_gone() => &mut book.closed_on_command,
            _ if !connection.is_connected => &mut book.handshakes_failed,
            End::ByClient => &mut book.closed_by_client,
            End::Idle => &mut book.closed_idle,
            End::Lost => &mut book.lost,
            End::Rules => &mut book.closed_for_error,
        };
        *count += 1;
    }
}
