//! What the TLS of a worker's connections has in common: its configuration, and what was learnt of the server.

use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use crate::Peer;
use crate::explained::Explained;
use crate::stream::config::StreamOpenError;
use crate::tls::{NotedVerifier, Rejected, Tls, peer_of};

/// What the TLS of a worker's connections has in common.
pub(in crate::stream) struct TlsShared {
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
    /// Whether the server must choose the protocol we offer.
    pub(super) must_agree: bool,
    /// How many bytes of the given ones belong into one record.
    pub(super) unit: fn(&[u8]) -> usize,
    /// Decrypted bytes.
    pub(super) plain: Box<[u8]>,
    pub(super) explained: Explained,
    /// The certificate that was rejected last.
    pub(super) rejected: Arc<Rejected>,
    /// What the server has shown in the first completed handshake.
    peer: Option<Peer>,
}

impl TlsShared {
    /// For connections with `protocol`; with `must_agree` the server has to select it (ALPN). `unit`
    /// returns how many bytes at the start of the given ones belong into one record.
    pub(in crate::stream) fn new(
        tls: &Tls,
        protocol: &[u8],
        must_agree: bool,
        unit: fn(&[u8]) -> usize,
        clients: usize,
    ) -> Result<Self, StreamOpenError> {
        let (mut config, _) = tls.client_config(&[protocol], clients)?;
        let rejected = Arc::<Rejected>::default();
        let keeping = NotedVerifier { verifier: tls.verifier(), notes: Arc::clone(&rejected) };
        config.dangerous().set_certificate_verifier(Arc::new(keeping));
        Ok(TlsShared {
            config: Arc::new(config),
            name: tls.server_name(),
            must_agree,
            unit,
            plain: vec![0; RECORD_BYTES].into(),
            explained: Explained::default(),
            rejected,
            peer: None,
        })
    }

    /// What was behind the failures of handshakes and connections, in words.
    pub(in crate::stream) fn explained(&mut self) -> &mut Explained {
        &mut self.explained
    }

    /// What the server has shown in the first completed handshake.
    pub(in crate::stream) fn peer(&self) -> Option<&Peer> {
        self.peer.as_ref()
    }

    /// A handshake is complete.
    pub(super) fn note_peer(&mut self, tls: &ClientConnection) {
        if self.peer.is_none() {
            self.peer = Some(peer_of(tls));
        }
    }
}

/// The data of the longest record.
const RECORD_BYTES: usize = 16 << 10;
