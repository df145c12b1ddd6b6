//! TLS of the responder: its certificate, its TLS versions, its tickets.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{IdleTimeout, TransportConfig, VarInt};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{
    NoServerSessionStorage, ProducesTickets, ServerSessionMemoryCache, StoresServerSessions,
};

/// How to serve DoT, DoH, DoQ and DoH/3.
#[derive(Clone, Debug, Default)]
pub struct TlsSettings {
    /// Certificate chain and private key, as PEM files; without them a certificate for `localhost`
    /// and the addresses of the listeners is made, signed by an authority made for it.
    pub files: Option<CertificateFiles>,
    /// Which versions to support; DoQ and DoH/3 always use 1.3.
    pub versions: TlsVersions,
    /// Whether sessions can be resumed.
    pub resumption: Resumption,
}

/// Where a certificate and its key are.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    /// The chain, the server's own certificate first.
    pub chain: PathBuf,
    /// The private key of the first certificate.
    pub key: PathBuf,
}

/// Versions of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsVersions {
    /// The one that the client prefers.
    #[default]
    Both,
    /// TLS 1.2 only.
    Only12,
    /// TLS 1.3 only.
    Only13,
}

/// Whether sessions can be resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resumption {
    /// Never.
    Off,
    /// By tickets that contain the session.
    #[default]
    Tickets,
    /// By tickets that name a session kept here, with early data (0-RTT): the library accepts early
    /// data only with these, because such a ticket can be used only once.
    EarlyData,
}

/// Why TLS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file does not hold what it should.
    #[error("cannot read {what} from {}: {source}; it must be a PEM file", path.display())]
    Pem {
        /// What was looked for.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What is wrong.
        source: pem::Error,
    },
    /// A file cannot be read at all.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system reported.
        source: io::Error,
    },
    /// Certificate and key do not belong together, or are of an unsupported kind.
    #[error("certificate and key cannot be used: {0}; does the key belong to the first certificate?")]
    Pair(#[source] rustls::Error),
    /// No certificate could be made.
    #[error("cannot create a certificate: {0}; give one with its key instead")]
    Make(#[from] rcgen::Error),
    /// QUIC is TLS 1.3.
    #[error("QUIC needs TLS 1.3; allow it, or remove --doq and --doh3")]
    QuicNeeds13,
}

/// A certificate with its key, ready to be served.
pub(crate) struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// What a client must trust, in PEM: the authority that was made, or the given chain.
    pub(crate) trust_pem: String,
}

/// What a QUIC endpoint needs to serve.
pub(crate) struct QuicTls {
    pub(crate) config: Arc<quinn_proto::ServerConfig>,
    /// The same, but for a protocol that no client offers: its handshakes end with an alert.
    pub(crate) refusing: Arc<quinn_proto::ServerConfig>,
    /// Set when the session of a client that resumes was found.
    pub(crate) resumed: Arc<AtomicBool>,
}

impl Identity {
    /// Reads the files, or makes a certificate for `addresses`.
    pub(crate) fn new(settings: &TlsSettings, addresses: &[IpAddr]) -> Result<Identity, TlsError> {
        match &settings.files {
            Some(files) => Identity::read(files),
            None => Identity::make(addresses),
        }
    }

    fn read(files: &CertificateFiles) -> Result<Identity, TlsError> {
        let chain_pem = read_file(&files.chain)?;
        let error = |what, path: &Path| {
            let path = path.to_owned();
            move |source| TlsError::Pem { what, path, source }
        };
        let chain = CertificateDer::pem_slice_iter(&chain_pem).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(error("a certificate", &files.chain))?;
        if chain.is_empty() {
            return Err(error("a certificate", &files.chain)(pem::Error::NoItemsFound));
        }
        let key = PrivateKeyDer::from_pem_slice(&read_file(&files.key)?)
            .map_err(error("a private key", &files.key))?;
        Ok(Identity { chain, key, trust_pem: String::from_utf8_lossy(&chain_pem).into_owned() })
    }

    /// With an authority of its own: some clients accept no self-signed certificate.
    fn make(addresses: &[IpAddr]) -> Result<Identity, TlsError> {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        authority.distinguished_name.push(DnType::CommonName, "dnsdyno respond, its own authority");
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let mut names = vec!["localhost".to_string()];
        names.extend(addresses.iter().map(IpAddr::to_string));
        let mut server = CertificateParams::new(names)?;
        server.distinguished_name.push(DnType::CommonName, "dnsdyno respond");
        server.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = server.signed_by(&key, &authority)?;
        Ok(Identity {
            chain: vec![certificate.into()],
            key: PrivateKeyDer::try_from(key.serialize_der()).map_err(|text| {
                TlsError::Pair(rustls::Error::General(text.to_string())) // it was just made
            })?,
            trust_pem: authority.pem(),
        })
    }

    /// The configuration of DoT or DoH, with `protocol` where the client offers ALPN. DoH accepts no
    /// early data: HTTP has rules of its own for that (RFC 8470).
    pub(crate) fn stream_config(
        &self,
        settings: &TlsSettings,
        protocol: &[u8],
    ) -> Result<Arc<ServerConfig>, TlsError> {
        let mut config = self.config(settings.versions, protocol)?;
        match settings.resumption {
            Resumption::Off => {
                config.session_storage = Arc::new(NoServerSessionStorage {});
                config.send_tls13_tickets = 0;
            }
            Resumption::Tickets => config.ticketer = ring::Ticketer::new().map_err(TlsError::Pair)?,
            Resumption::EarlyData => {
                config.session_storage = ServerSessionMemoryCache::new(SESSIONS_KEPT);
                config.max_early_data_size = if protocol == b"dot" { EARLY_BYTES } else { 0 };
            }
        }
        Ok(Arc::new(config))
    }

    /// The configuration of QUIC for this protocol (ALPN), over which a client may open so many unidirectional streams.
    pub(crate) fn quic_config(
        &self,
        settings: &TlsSettings,
        idle: Duration,
        (protocol, client_streams): (&[u8], u32),
    ) -> Result<QuicTls, TlsError> {
        if settings.versions == TlsVersions::Only12 {
            return Err(TlsError::QuicNeeds13);
        }
        let resumed = Arc::<AtomicBool>::default();
        let serve = |protocol: &[u8]| -> Result<Arc<quinn_proto::ServerConfig>, TlsError> {
            let mut config = self.config(TlsVersions::Only13, protocol)?;
            let seen = Arc::clone(&resumed);
            match settings.resumption {
                Resumption::Off => {
                    config.session_storage = Arc::new(NoServerSessionStorage {});
                    config.send_tls13_tickets = 0;
                }
                Resumption::Tickets => {
                    let tickets = ring::Ticketer::new().map_err(TlsError::Pair)?;
                    config.ticketer = Arc::new(SeenTickets { tickets, seen });
                }
                Resumption::EarlyData => {
                    let sessions = ServerSessionMemoryCache::new(SESSIONS_KEPT);
                    config.session_storage = Arc::new(SeenSessions { sessions, seen });
                    // QUIC limits early data by its own windows; the field must be all
                    // or nothing.
                    config.max_early_data_size = u32::MAX;
                }
            }
            let crypto = QuicServerConfig::try_from(config)
                .map_err(|error| TlsError::Pair(rustls::Error::General(error.to_string())))?;
            let mut config = quinn_proto::ServerConfig::with_crypto(Arc::new(crypto));
            config.transport_config(Arc::new(quic_transport(idle, client_streams)));
            Ok(Arc::new(config))
        };
        Ok(QuicTls { config: serve(protocol)?, refusing: serve(b"refused on command")?, resumed })
    }

    fn config(&self, versions: TlsVersions, protocol: &[u8]) -> Result<ServerConfig, TlsError> {
        let versions: &[_] = match versions {
            TlsVersions::Both => &[&rustls::version::TLS13, &rustls::version::TLS12],
            TlsVersions::Only12 => &[&rustls::version::TLS12],
            TlsVersions::Only13 => &[&rustls::version::TLS13],
        };
        // Given explicitly, because the process may have no default provider.
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(versions)
            .map_err(TlsError::Pair)?
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .map_err(TlsError::Pair)?;
        config.alpn_protocols = vec![protocol.to_vec()];
        Ok(config)
    }
}

fn quic_transport(idle: Duration, client_streams: u32) -> TransportConfig {
    let mut transport = TransportConfig::default();
    // One query a stream: further queries wait at the client.
    transport.max_concurrent_bidi_streams(VarInt::from_u32(QUIC_STREAMS));
    transport.max_concurrent_uni_streams(VarInt::from_u32(client_streams));
    transport.max_idle_timeout(IdleTimeout::try_from(idle).ok());
    transport
}

fn read_file(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::File { path: path.to_owned(), source })
}

/// A ticket store that notes when a ticket was valid: over QUIC nothing else shows that a session was
/// resumed.
#[derive(Debug)]
struct SeenTickets {
    tickets: Arc<dyn ProducesTickets>,
    seen: Arc<AtomicBool>,
}

impl ProducesTickets for SeenTickets {
    fn enabled(&self) -> bool {
        self.tickets.enabled()
    }

    fn lifetime(&self) -> u32 {
        self.tickets.lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.tickets.encrypt(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let plain = self.tickets.decrypt(cipher);
        self.seen.fetch_or(plain.is_some(), Ordering::Relaxed);
        plain
    }
}

/// The same for sessions that are kept here.
#[derive(Debug)]
struct SeenSessions {
    sessions: Arc<ServerSessionMemoryCache>,
    seen: Arc<AtomicBool>,
}

impl StoresServerSessions for SeenSessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.sessions.put(key, value)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.sessions.get(key)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let value = self.sessions.take(key);
        self.seen.fetch_or(value.is_some(), Ordering::Relaxed);
        value
    }

    fn can_cache(&self) -> bool {
        self.sessions.can_cache()
    }
}

/// Sessions kept for early data; the oldest is dropped where there are more.
const SESSIONS_KEPT: usize = 65_536;

/// Early data that one connection may send before its handshake has ended.
const EARLY_BYTES: u32 = 65_536;

/// Concurrent streams of a QUIC connection. The library allocates all of them when the connection is
/// opened: 65,536 of them took ten milliseconds.
const QUIC_STREAMS: u32 = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_made_for_the_addresses_and_trusted_through_its_authority() {
        let identity = Identity::new(&TlsSettings::default(), &["192.0.2.1".parse().unwrap()]).unwrap();
        let authority = CertificateDer::from_pem_slice(identity.trust_pem.as_bytes()).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(authority).unwrap();
        let provider = Arc::new(ring::default_provider());
        let verifier =
            rustls::client::WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        for (name, is_good) in [("192.0.2.1", true), ("localhost", true), ("192.0.2.2", false)] {
            use rustls::client::danger::ServerCertVerifier;
            let name = rustls::pki_types::ServerName::try_from(name).unwrap();
            let now = rustls::pki_types::UnixTime::now();
            let verified =
                verifier.as_ref().unwrap().verify_server_cert(&identity.chain[0], &[], &name, &[], now);
            assert_eq!(verified.is_ok(), is_good, "{name:?}: {verified:?}");
        }
    }

    #[test]
    fn files_that_hold_no_certificate_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let (chain, key) = (folder.path().join("chain.pem"), folder.path().join("key.pem"));
        let settings = TlsSettings {
            files: Some(CertificateFiles { chain: chain.clone(), key: key.clone() }),
            ..TlsSettings::default()
        };
        let said = |settings: &TlsSettings| Identity::new(settings, &[]).err().unwrap().to_string();
        assert!(said(&settings).contains("chain.pem"));
        fs::write(&chain, "no certificate").unwrap();
        assert!(said(&settings).contains("chain.pem"));
        fs::write(&chain, Identity::make(&[]).unwrap().trust_pem).unwrap();
        fs::write(&key, "no key").unwrap();
        assert!(said(&settings).contains("key.pem"));
    }

    #[test]
    fn quic_without_tls_1_3_is_refused() {
        let settings = TlsSettings { versions: TlsVersions::Only12, ..TlsSettings::default() };
        let identity = Identity::new(&settings, &[]).unwrap();
        assert!(matches!(
            identity.quic_config(&settings, Duration::ZERO, (b"doq", 0)),
            Err(TlsError::QuicNeeds13)
        ));
    }
}
