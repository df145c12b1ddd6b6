//! What a server may send over TCP and TLS, fed to a session as it is driven over TCP.

use std::sync::LazyLock;

use super::dot::Dot;
use super::plain::Plain;
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

/// Octets of a server over TCP: the first says in pieces of which size.
///
/// # Panics
/// Where the pieces make a difference, or a buffer is kept.
pub fn tcp_stream(bytes: &[u8]) {
    let Some((step, stream)) = bytes.split_first() else { return };
    let whole = messages([stream].into_iter());
    assert_eq!(messages(stream.chunks(usize::from(*step) + 1)), whole);
    // Each message has its length in front of it.
    let octets: usize = whole.iter().map(|message| 2 + message.len()).sum();
    assert!(octets <= stream.len());
}

/// The messages in these pieces, in their order.
pub(super) fn messages<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let (mut pool, mut out, mut news, mut got) =
        (BufferPool::default(), Vec::new(), Vec::new(), Messages::default());
    let Some(mut session) = Plain::begin(&mut (), &mut out) else { return Vec::new() };
    for piece in pieces {
        let mut reader = Reader::new(&mut got, &mut news, 0, 0, (0, 0));
        if session.read(&mut (), &mut pool, piece, &mut out, &mut reader).is_err() {
            break;
        }
    }
    session.end(&mut pool);
    assert_eq!(pool.held_bytes(), 0, "a message is still held");
    got.0
}

/// Keeps what it is given.
#[derive(Default)]
pub(super) struct Messages(pub(super) Vec<Vec<u8>>);

impl Sink for Messages {
    fn packet(&mut self, _: usize, _: u64, message: &[u8]) {
        self.0.push(message.to_vec());
    }
    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}
}

struct Nobody;

impl Sink for Nobody {
    fn packet(&mut self, _: usize, _: u64, _: &[u8]) {}
    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}
}

static TLS: LazyLock<Option<Tls>> = LazyLock::new(|| any_server(false));

/// For a server whose certificate is not checked.
pub(super) fn any_server(early_data: bool) -> Option<Tls> {
    Tls::new(&TlsConfig {
        server: std::net::SocketAddr::from(([127, 0, 0, 1], 853)),
        asked: "localhost".to_owned(),
        server_name: None,
        trust: TlsTrust::Anything,
        tls12: true,
        tls13: true,
        resumption: true,
        early_data,
        key_log: None,
    })
    .ok()
}
