//! The control protocol of Unbound and NSD: a line with a command, answered by lines until the server closes the
//! connection. Over TLS, where each side knows the other's key, or over a local socket.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dnsdyno_plan::At;
use dnsdyno_text::shown;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned,
};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::files::exists;
use crate::source::{OpenError, ReadError};

/// A server that is asked in this way.
pub(super) struct Control {
    place: String,
    address: SockAddr,
    tls: Option<Arc<ClientConfig>>,
    /// The protocol and its version, which a command begins with.
    protocol: &'static str,
    /// The process that has answered.
    process: Cell<Option<u32>>,
}

/// What the two servers differ in.
pub(super) struct Dialect {
    pub(super) protocol: &'static str,
    /// The beginning of the names of the key files.
    pub(super) files: &'static str,
    pub(super) keys: &'static str,
}

impl Control {
    /// Over TLS with the keys in a folder; a local socket without keys is spoken to in plain text.
    pub(super) fn new(at: &At, keys: Option<&Path>, dialect: &Dialect) -> Result<Control, OpenError> {
        let (place, address, keys) = match at {
            At::Path(path) => (path.display().to_string(), SockAddr::unix(path).map_err(cannot(path))?, keys),
            // Of this kind there is no URL.
            At::Address(text) => {
                let keys = keys.unwrap_or(Path::new(dialect.keys));
                (text.clone(), resolved(text)?.into(), Some(keys))
            }
            At::Url(url) => return Err(OpenError::new(format!("{url}: it is asked at an address"))),
        };
        let tls = keys.map(|folder| tls(folder, dialect)).transpose()?;
        Ok(Control { place, address, tls, protocol: dialect.protocol, process: Cell::new(None) })
    }

    /// Sends a command, and reads the lines of its answer.
    ///
    /// # Errors
    /// There is none, or it is the server's error.
    pub(super) fn ask(&self, command: &str) -> Result<String, ReadError> {
        let text = self
            .exchange(command)
            .map_err(|error| ReadError(format!("{}: {}", self.place, self.reason(&error))))?;
        match text.strip_prefix("error ") {
            Some(error) => Err(ReadError(format!(
                "the server refuses {command:?}: {}",
                shown(error.trim_end(), LONGEST_REASON)
            ))),
            None => Ok(text),
        }
    }

    /// The process that has answered, where it did so over a local socket.
    pub(super) fn process(&self) -> Option<u32> {
        self.process.get()
    }

    fn exchange(&self, command: &str) -> io::Result<String> {
        let socket = Timed::connect(&self.address)?;
        self.process.set(socket.process());
        let line = format!("{} {command}\n", self.protocol);
        match &self.tls {
            None => converse(socket, &line),
            Some(config) => {
                let name = ServerName::try_from(NAME).map_err(io::Error::other)?;
                let connection = ClientConnection::new(config.clone(), name).map_err(io::Error::other)?;
                converse(StreamOwned::new(connection, socket), &line)
            }
        }
    }

    fn reason(&self, error: &io::Error) -> String {
        if let Some(error) = error.get_ref().and_then(|error| error.downcast_ref()) {
            return reason_of_tls(error);
        }
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                format!("no answer within {} s", LONGEST_EXCHANGE.as_secs())
            }
            ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe
                if self.tls.is_none() =>
            {
                "it closed the connection: if it wants TLS, give its keys with ,keys=FOLDER".to_owned()
            }
            ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe => {
                "it closed the connection: it does not speak TLS, or does not take these keys".to_owned()
            }
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                "nothing listens there: is the server running, with its control switched on?".to_owned()
            }
            _ => shown(&error.to_string(), LONGEST_REASON).into_owned(),
        }
    }
}

fn reason_of_tls(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(_) => {
            "its certificate is not that in the folder of keys: give the folder of this server \
             with ,keys=FOLDER"
                .to_owned()
        }
        rustls::Error::AlertReceived(alert) => {
            format!("it does not take the key of the folder of keys ({alert:?}): give the one of this server")
        }
        rustls::Error::InvalidMessage(_) => "what answers there does not speak TLS".to_owned(),
        error => shown(&error.to_string(), LONGEST_REASON).into_owned(),
    }
}

fn converse(mut stream: impl Read + Write, line: &str) -> io::Result<String> {
    stream.write_all(line.as_bytes())?;
    stream.flush()?;
    let mut bytes = Vec::new();
    match stream.take(LONGEST_ANSWER_BYTES).read_to_end(&mut bytes) {
        // Servers close without the goodbye of TLS. Whether the answer is whole is seen from its last line.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof && !bytes.is_empty() => {}
        Err(error) => return Err(error),
        Ok(_) if bytes.is_empty() => return Err(ErrorKind::UnexpectedEof.into()),
        Ok(_) => {}
    }
    if bytes.len() as u64 == LONGEST_ANSWER_BYTES {
        return Err(io::Error::other(format!(
            "the answer is longer than {} MiB",
            LONGEST_ANSWER_BYTES >> 20
        )));
    }
    if bytes.last() != Some(&b'\n') {
        return Err(io::Error::other("the answer was cut: the connection was closed in the middle of it"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A socket that gives up at an instant, however slowly the other side goes on.
pub(super) struct Timed {
    socket: Socket,
    until: Instant,
}

impl Timed {
    /// Connects over TCP or to a local socket.
    pub(super) fn connect(address: &SockAddr) -> io::Result<Timed> {
        let until = Instant::now() + LONGEST_EXCHANGE;
        let socket = Socket::new(Domain::from(i32::from(address.family())), Type::STREAM, None)?;
        socket.connect_timeout(address, LONGEST_EXCHANGE)?;
        Ok(Timed { socket, until })
    }

    /// The process that listens at the other end of a local socket; `None` of one that has ended, has handed the socket
    /// on, or is in a container.
    pub(super) fn process(&self) -> Option<u32> {
        let process = rustix::net::sockopt::socket_peercred(&self.socket).ok()?.pid;
        let pid = u32::try_from(process.as_raw_nonzero().get()).ok()?;
        (pid > 1 && exists(&format!("/proc/{pid}"))).then_some(pid)
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        match self.until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(ErrorKind::TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        self.socket.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The first address of `NAME:PORT`.
///
/// # Errors
/// There is none.
pub(super) fn resolved(text: &str) -> Result<SocketAddr, OpenError> {
    let mut found = text.to_socket_addrs().map_err(|error| OpenError::new(format!("{text}: {error}")))?;
    found.next().ok_or_else(|| OpenError::new(format!("{text} has no address")))
}

fn tls(folder: &Path, dialect: &Dialect) -> Result<Arc<ClientConfig>, OpenError> {
    let file = |name: &str| folder.join(format!("{}_{name}", dialect.files));
    let (server, certificate, key) = (file("server.pem"), file("control.pem"), file("control.key"));
    let unusable = |path: &PathBuf, why: String| {
        let advice =
            format!("make it with {}-control-setup, or give its folder with ,keys=FOLDER", dialect.files);
        OpenError::new(format!("the key file {} cannot be used ({why}): {advice}", path.display()))
    };
    let read = |path: &PathBuf| {
        let mut bytes = Vec::new();
        let file = File::open(path).and_then(|file| file.take(LONGEST_KEY_BYTES).read_to_end(&mut bytes));
        file.map_err(|error| unusable(path, error.to_string())).map(|_| bytes)
    };
    let certificate_in = |path: &PathBuf| {
        CertificateDer::from_pem_slice(&read(path)?).map_err(|error| unusable(path, error.to_string()))
    };
    let pinned = certificate_in(&server)?;
    let ours = certificate_in(&certificate)?;
    let our_key =
        PrivateKeyDer::from_pem_slice(&read(&key)?).map_err(|error| unusable(&key, error.to_string()))?;
    let provider = Arc::new(ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| OpenError::new(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pinned { certificate: pinned, provider }))
        .with_client_auth_cert(vec![ours], our_key)
        .map_err(|error| unusable(&key, error.to_string()))?;
    // These servers end a session that is resumed with an error.
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

/// Takes one certificate only, that of the server in the folder of keys. It is its own issuer, which a chain of
/// certificates does not allow.
#[derive(Debug)]
struct Pinned {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match *shown == self.certificate {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn cannot(path: &Path) -> impl FnOnce(io::Error) -> OpenError + '_ {
    move |error| OpenError::new(format!("{}: {error}", path.display()))
}

/// The name that is asked for in the handshake; the certificate is known by itself.
const NAME: &str = "control";

/// A server that takes longer has no figures for this interval.
const LONGEST_EXCHANGE: Duration = Duration::from_secs(2);

const LONGEST_ANSWER_BYTES: u64 = 16 << 20;

const LONGEST_KEY_BYTES: u64 = 1 << 20;

/// Characters of a foreign reason in an error.
const LONGEST_REASON: usize = 200;
