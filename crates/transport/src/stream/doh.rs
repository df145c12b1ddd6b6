//! DNS over HTTPS (RFC 8484): a stream of HTTP/2 for each query, inside TLS.

use dnsdyno_measure::ConnectionEnd;

use super::config::StreamOpenError;
use super::http::{Http, HttpKit};
use super::pool::BufferPool;
use super::secure::{Secure, SecureKit};
use super::session::{Broken, Reader, Session};
use crate::tls::Tls;
use crate::{Batch, Sink};

/// What a run says of HTTP.
#[derive(Clone, Debug)]
pub struct DohSetup {
    /// The TLS under it.
    pub tls: Tls,
    /// Host and port of the server, as in a URI.
    pub authority: String,
    /// The path of the resource.
    pub path: String,
    /// Whether a query travels in the path (GET), and not in a body (POST).
    pub is_get: bool,
}

/// A session of HTTP over TLS.
pub struct Doh {
    secure: Secure,
    http: Http,
}

/// What the sessions of a worker have in common.
pub struct DohKit {
    secure: SecureKit,
    http: HttpKit,
    /// What HTTP says, before TLS.
    plain: Vec<u8>,
}

impl Session for Doh {
    type Setup = DohSetup;
    type Kit = DohKit;
    const NEEDS_TIME: bool = true;

    fn kit(setup: &DohSetup, clients: usize) -> Result<DohKit, StreamOpenError> {
        let secure = SecureKit::new(&setup.tls, b"h2", true, <[u8]>::len, clients)?;
        let http = HttpKit::new(&setup.authority, &setup.path, setup.is_get);
        Ok(DohKit { secure, http, plain: Vec::new() })
    }

    fn begin(kit: &mut DohKit, out: &mut Vec<u8>) -> Option<Self> {
        let mut secure = Secure::begin(&kit.secure, out)?;
        kit.plain.clear();
        let http = Http::begin(&mut kit.plain);
        secure.write(&kit.secure, &kit.plain, out);
        Some(Doh { secure, http })
    }

    fn ask(&mut self, kit: &mut DohKit, batch: &Batch, now_ns: u64, out: &mut Vec<u8>) -> usize {
        kit.plain.clear();
        let mut asked = 0;
        for message in batch.iter() {
            if !self.http.ask(&mut kit.http, message, now_ns, &mut kit.plain) {
                break;
            }
            asked += 1;
        }
        self.secure.write(&kit.secure, &kit.plain, out);
        asked
    }

    fn take<K: Sink>(
        &mut self,
        kit: &mut DohKit,
        pool: &mut BufferPool,
        bytes: &[u8],
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        let Doh { secure, http } = self;
        kit.plain.clear();
        let taken = secure.read(&mut kit.secure, bytes, out, reader, |came, reader| {
            http.take(&mut kit.http, pool, came, &mut kit.plain, reader)
        });
        if !kit.plain.is_empty() {
            secure.write(&kit.secure, &kit.plain, out);
        }
        taken.map_err(|broken| match broken {
            // Some servers end TLS where HTTP has said why.
            Broken::Ended(ConnectionEnd::ByServer) => {
                Broken::Ended(http.retires().unwrap_or(ConnectionEnd::ByServer))
            }
            other => other,
        })
    }

    fn room(&self) -> usize {
        self.http.room()
    }

    fn held_back(&self) -> usize {
        self.secure.held_back()
    }

    fn is_handshaking(&self) -> bool {
        self.secure.is_handshaking()
    }

    fn retires(&self) -> Option<ConnectionEnd> {
        self.http.retires()
    }

    fn give_up<K: Sink>(
        &mut self,
        kit: &mut DohKit,
        asked_ns: u64,
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) {
        kit.plain.clear();
        self.http.give_up(asked_ns, &mut kit.plain, reader);
        if !kit.plain.is_empty() {
            self.secure.write(&kit.secure, &kit.plain, out);
        }
    }

    fn goodbye(&mut self, out: &mut Vec<u8>) {
        self.secure.goodbye(out);
    }

    fn end(self, pool: &mut BufferPool) {
        self.http.end(pool);
    }
}
