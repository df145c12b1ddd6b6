//! What a server may send over TLS, fed to a session as it is driven over TCP.

use std::sync::LazyLock;

use super::dot::Dot;
use super::pool::BufferPool;
use super::session::{Reader, Session};
use crate::bounds::{CHUNK_BYTES, REPLY_BYTES};
use crate::tls::{Tls, TlsConfig, TlsTrust};
use crate::{Batch, Sink};

/// `bytes` after our ClientHello: the first says in pieces of which size.
///
/// # Panics
/// Where a session writes more than a server can make it write.
pub fn tls_records(bytes: &[u8]) {
    let (Some((step, records)), Some(tls)) = (bytes.split_first(), TLS.as_ref()) else { return };
    let (Ok(mut shared), mut pool, mut out) = (Dot::shared(tls, 1), BufferPool::default(), Vec::new()) else {
        return;
    };
    let Some(mut session) = Dot::begin(&mut shared, &mut out) else { return };
    let mut batch = Batch::new(1, 64);
    batch.push(&[0; 17]);
    session.encode(&mut shared, &batch, 0, &mut out);
    let (mut nobody, mut news) = (Nobody, Vec::new());
    // Of one byte, and of whole chunks.
    for piece in records.chunks((usize::from(*step).pow(2) + 1).min(CHUNK_BYTES)) {
        let mut reader = Reader::new(&mut nobody, &mut news, 0, 0, (0, 0));
        if session.read(&mut shared, &mut pool, piece, &mut out, &mut reader).is_err() {
            break;
        }
    }
    assert!(out.len() <= REPLY_BYTES + records.len(), "{} bytes of replies", out.len());
    session.end(&mut pool);
}

struct Nobody;

impl Sink for Nobody {
    fn packet(&mut self, _: usize, _: u64, _: &[u8]) {}
    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}
}

static TLS: LazyLock<Option<Tls>> = LazyLock::new(|| {
    let server = std::net::SocketAddr::from(([127, 0, 0, 1], 853));
    let config = TlsConfig {
        server,
        asked: "localhost".to_owned(),
        server_name: None,
        trust: TlsTrust::Anything,
        tls12: true,
        tls13: true,
        resumption: true,
        early_data: false,
        key_log: None,
    };
    Tls::new(&config).ok()
});
