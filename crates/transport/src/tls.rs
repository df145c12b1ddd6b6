//! TLS of the generator: what is trusted, which sessions are kept, and what its errors mean, for DoT, DoH
//! and DoQ.

mod certificate;
mod key_log;
mod peer;
mod sessions;
mod verifier;
mod words;

use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{CipherSuite, ClientConfig, RootCertStore};

pub use certificate::{CertificateInfo, NotACertificate, describe_certificate};
use key_log::KeyLogFile;
pub(crate) use peer::peer_of;
pub use sessions::Sessions;
use verifier::NoVerification;
pub(crate) use verifier::{NoteVerification, NotedVerifier, Rejected};
pub(crate) use words::no_protocol;
pub use words::{Facts, failure_of, words_of, words_of_alert};

/// The TLS configuration of a run.
#[derive(Clone, Debug)]
pub struct TlsConfig {
    /// The server's address.
    pub server: SocketAddr,
    /// The server as the user named it: the name its certificate must be for, unless another is given.
    pub asked: String,
    /// Another name.
    pub server_name: Option<String>,
    /// Which certificates are trusted.
    pub trust: TlsTrust,
    /// Whether TLS 1.2 is offered.
    pub tls12: bool,
    /// Whether TLS 1.3 is offered.
    pub tls13: bool,
    /// Whether sessions are kept and resumed.
    pub resumption: bool,
    /// Whether queries may be sent with the first flight of a resumed handshake (0-RTT).
    pub early_data: bool,
    /// The file to which the secrets of the sessions are written.
    pub key_log: Option<PathBuf>,
}

/// Which certificates are trusted.
#[derive(Clone, Debug)]
pub enum TlsTrust {
    /// Those that lead to a root certificate of the system.
    System,
    /// Those that lead to a certificate in this PEM file.
    File(PathBuf),
    /// All: verification is disabled.
    Anything,
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    /// The file of certificates cannot be read.
    #[error("cannot read the CA certificates in {path}: {source}; --ca needs a PEM file", path = path.display())]
    ReadFile {
        /// The file.
        path: PathBuf,
        /// What the system reported.
        source: io::Error,
    },
    /// The file has no certificate.
    #[error(
        "{path} has no CA certificate ({why}): --ca needs a PEM file with `BEGIN CERTIFICATE`",
        path = path.display()
    )]
    NoCertificate {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        why: String,
    },
    /// The system has no root certificates.
    #[error("this host has no CA certificates{why}: install them, give a file with --ca, or use --insecure")]
    NoSystemRoots {
        /// What the system reported.
        why: String,
    },
    /// No certificate can be issued for this name.
    #[error("`{name}` is not a name for a certificate: give a domain name or an address with --sni")]
    BadName {
        /// The name.
        name: String,
    },
    /// The file of the secrets cannot be written.
    #[error("cannot write the secrets of TLS sessions to {path}: {source}", path = path.display())]
    KeyLog {
        /// The file.
        path: PathBuf,
        /// What the system reported.
        source: io::Error,
    },
    /// Anything else.
    #[error("TLS cannot be set up: {0}")]
    Other(#[from] rustls::Error),
}

/// The TLS of a run; each worker makes a configuration of its own, with sessions of its own, so that no
/// worker waits for another at a lock.
#[derive(Clone, Debug)]
pub struct Tls {
    name: ServerName<'static>,
    verifier: Arc<dyn ServerCertVerifier>,
    provider: Arc<CryptoProvider>,
    versions: Vec<&'static rustls::SupportedProtocolVersion>,
    resumption: bool,
    early_data: bool,
    key_log: Option<Arc<KeyLogFile>>,
}

impl Tls {
    /// Reads the certificates to be trusted.
    ///
    /// # Errors
    /// Where the certificates cannot be read, there are none, no certificate can be issued for the server's name, or
    /// the file of secrets cannot be written.
    pub fn new(config: &TlsConfig) -> Result<Tls, TlsSetupError> {
        let provider = Arc::new(provider());
        let verifier = match &config.trust {
            TlsTrust::Anything => {
                Arc::new(NoVerification(Arc::clone(&provider))) as Arc<dyn ServerCertVerifier>
            }
            TlsTrust::File(path) => verified_by(roots_in(path)?, &provider)?,
            TlsTrust::System => verified_by(system_roots()?, &provider)?,
        };
        let mut versions = Vec::new();
        versions.extend(config.tls13.then_some(&TLS13));
        versions.extend(config.tls12.then_some(&TLS12));
        let (resumption, early_data) = (config.resumption, config.early_data);
        let cannot = |path: &PathBuf, source| TlsSetupError::KeyLog { path: path.clone(), source };
        let open = |path: &PathBuf| KeyLogFile::open(path).map_err(|source| cannot(path, source));
        let key_log = config.key_log.as_ref().map(open).transpose()?.map(Arc::new);
        Ok(Tls { name: name_of(config)?, verifier, provider, versions, resumption, early_data, key_log })
    }

    /// The name that the server's certificate must be for.
    pub fn server_name(&self) -> ServerName<'static> {
        self.name.clone()
    }

    /// Host and port of the server as in a URI, as a browser writes them: the name, and the port unless it is the usual
    /// one.
    pub(crate) fn authority(&self, port: u16) -> String {
        let name = match self.name.to_str().into_owned() {
            address if address.contains(':') => format!("[{address}]"),
            name => name,
        };
        if port == HTTPS_PORT { name } else { format!("{name}:{port}") }
    }

    /// The verifier of the server's certificate.
    pub(crate) fn verifier(&self) -> Arc<dyn ServerCertVerifier> {
        Arc::clone(&self.verifier)
    }

    /// Whether queries may be sent with the first flight of a resumed handshake (0-RTT).
    pub fn early_data(&self) -> bool {
        self.early_data
    }

    /// A configuration that offers these protocols (ALPN), and its session store for up to `clients`
    /// clients.
    ///
    /// # Errors
    /// Where no version or cipher is left to offer.
    pub fn client_config(
        &self,
        protocols: &[&[u8]],
        clients: usize,
    ) -> Result<(ClientConfig, Arc<Sessions>), TlsSetupError> {
        let builder = ClientConfig::builder_with_provider(Arc::clone(&self.provider));
        let mut config = builder
            .with_protocol_versions(&self.versions)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&self.verifier))
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        config.enable_early_data = self.early_data;
        let sessions = Arc::new(Sessions::new(clients));
        config.resumption = match self.resumption {
            true => Resumption::store(Arc::clone(&sessions) as Arc<_>),
            false => Resumption::disabled(),
        };
        if let Some(key_log) = &self.key_log {
            config.key_log = Arc::clone(key_log) as Arc<_>;
        }
        Ok((config, sessions))
    }
}

/// The algorithms, in the order of browsers and stub resolvers: first AES-128 with SHA-256, which
/// processors support in hardware, unlike SHA-384.
fn provider() -> CryptoProvider {
    let mut provider = rustls::crypto::ring::default_provider();
    provider.cipher_suites.sort_by_key(|suite| match suite.suite() {
        CipherSuite::TLS13_AES_128_GCM_SHA256
        | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
        | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => 0,
        _ => 1,
    });
    provider
}

const HTTPS_PORT: u16 = 443;

/// `--sni`, or else the server as the user named it, or else its address.
fn name_of(config: &TlsConfig) -> Result<ServerName<'static>, TlsSetupError> {
    match &config.server_name {
        Some(name) => {
            ServerName::try_from(name.clone()).map_err(|_| TlsSetupError::BadName { name: name.clone() })
        }
        None => Ok(ServerName::try_from(config.asked.trim_end_matches('.').to_owned())
            .unwrap_or_else(|_| ServerName::from(config.server.ip()))),
    }
}

fn verified_by(
    roots: RootCertStore,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TlsSetupError> {
    let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let verifier = builder.build().map_err(|error| rustls::Error::General(error.to_string()))?;
    Ok(verifier)
}

fn roots_in(path: &Path) -> Result<RootCertStore, TlsSetupError> {
    let read = |source| TlsSetupError::ReadFile { path: path.to_owned(), source };
    let mut text = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_ROOTS_BYTES).read_to_end(&mut text)).map_err(read)?;
    let none = |why: String| TlsSetupError::NoCertificate { path: path.to_owned(), why };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error: pem::Error| none(error.to_string()))?;
        roots.add(certificate).map_err(|error| none(error.to_string()))?;
    }
    if roots.is_empty() { Err(none("nothing of that kind".to_owned())) } else { Ok(roots) }
}

/// How much of a file of certificates is read: that of a system has a quarter of a megabyte.
const MAX_ROOTS_BYTES: u64 = 16 << 20;

/// The root certificates of the system that can be read; the others are ignored.
fn system_roots() -> Result<RootCertStore, TlsSetupError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map_or(String::new(), |error| format!(" ({error})"));
        return Err(TlsSetupError::NoSystemRoots { why });
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> TlsConfig {
        TlsConfig {
            server: "192.0.2.1:853".parse().expect("an address"),
            asked: "192.0.2.1".to_owned(),
            server_name: None,
            trust: TlsTrust::Anything,
            tls12: true,
            tls13: true,
            resumption: true,
            early_data: false,
            key_log: None,
        }
    }

    fn name(asked: &str, sni: Option<&str>) -> String {
        let config = TlsConfig { asked: asked.into(), server_name: sni.map(str::to_owned), ..config() };
        Tls::new(&config).expect("a good name").server_name().to_str().into_owned()
    }

    #[test]
    fn the_certificate_must_be_for_the_server_as_named_or_for_the_given_name() {
        assert_eq!(name("192.0.2.1", None), "192.0.2.1");
        assert_eq!(name("ns.example", None), "ns.example");
        assert_eq!(name("ns.example.", None), "ns.example");
        assert_eq!(name("fe80::1%eth0", None), "192.0.2.1");
        assert_eq!(name("192.0.2.1", Some("dns.example")), "dns.example");
        let bad = TlsConfig { server_name: Some("a..b".into()), ..config() };
        assert!(Tls::new(&bad).expect_err("no name").to_string().contains("--sni"));
    }

    #[test]
    fn an_unusable_file_of_certificates_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ca.pem");
        let told = |path: &Path| {
            let config = TlsConfig { trust: TlsTrust::File(path.to_owned()), ..config() };
            Tls::new(&config).expect_err("nothing to trust").to_string()
        };
        assert!(told(&path).contains("cannot read") && told(&path).contains("ca.pem"), "{}", told(&path));
        for text in ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            std::fs::write(&path, text).expect("a file");
            assert!(told(&path).contains("has no CA certificate") && told(&path).contains("--ca"), "{text}");
        }
    }

    #[test]
    fn the_ciphers_of_browsers_are_offered_first_and_no_other_is_left_out() {
        let suites: Vec<_> = provider().cipher_suites.iter().map(|suite| suite.suite()).collect();
        assert!(suites[..3].iter().all(|suite| format!("{suite:?}").contains("AES_128_GCM")), "{suites:?}");
        assert_eq!(suites[0], CipherSuite::TLS13_AES_128_GCM_SHA256);
        assert_eq!(suites.len(), rustls::crypto::ring::default_provider().cipher_suites.len());
    }

    #[test]
    fn each_worker_has_a_configuration_with_sessions_of_its_own() {
        let tls = Tls::new(&config()).expect("TLS");
        let (first, sessions) = tls.client_config(&[b"dot"], 4).expect("a configuration");
        let (_, others) = tls.client_config(&[b"dot"], 4).expect("a configuration");
        assert_eq!((first.alpn_protocols, first.enable_early_data), (vec![b"dot".to_vec()], false));
        assert!(!Arc::ptr_eq(&sessions, &others));
    }
}
