//! Small clients of every stream transport, each made of libraries that the responder does not use to
//! serve, as far as there are any.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::{Buf, Bytes};
use dnsdyno_responder::{Config, Responder, Running, Transport};
use http::{Request, StatusCode};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A responder that serves everything, each on a free port of 127.0.0.1.
pub(crate) fn start_all(change: impl FnOnce(&mut Config)) -> Running {
    let free = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut config =
        Config { dot: vec![free], doh: vec![free], doq: vec![free], doh3: vec![free], ..Config::default() };
    change(&mut config);
    Responder::start(config).unwrap()
}

pub(crate) fn address(running: &Running, transport: Transport) -> SocketAddr {
    running.addresses_of(transport)[0]
}

/// Runs a client to its end; one that hangs fails the test.
pub(crate) fn run<T>(client: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let limited = async { tokio::time::timeout(Duration::from_secs(20), client).await };
    runtime.block_on(limited).expect("the client did not come to an end in 20 s")
}

/// A client's side of TLS, which trusts the certificates of the responder.
pub(crate) fn tls_config(running: &Running, protocol: &str) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let pem = running.trust_pem().unwrap();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    config
}

pub(crate) async fn connect_tls(
    address: SocketAddr,
    config: ClientConfig,
) -> io::Result<TlsStream<TcpStream>> {
    let early = config.enable_early_data;
    let name = ServerName::IpAddress(address.ip().into());
    let tcp = TcpStream::connect(address).await?;
    TlsConnector::from(Arc::new(config)).early_data(early).connect(name, tcp).await
}

pub(crate) async fn connect_dot(running: &Running) -> io::Result<TlsStream<TcpStream>> {
    connect_tls(address(running, Transport::Dot), tls_config(running, "dot")).await
}

pub(crate) async fn connect_tcp(running: &Running) -> TcpStream {
    TcpStream::connect(running.address()).await.unwrap()
}

pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes()[..], message].concat()
}

pub(crate) async fn send(stream: &mut (impl AsyncWrite + Unpin), message: &[u8]) -> io::Result<()> {
    stream.write_all(&framed(message)).await?;
    stream.flush().await
}

pub(crate) async fn receive(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let length = stream.read_u16().await?;
    let mut message = vec![0; usize::from(length)];
    stream.read_exact(&mut message).await?;
    Ok(message)
}

/// A DoH client on one connection.
pub(crate) struct Doh {
    pub(crate) send: h2::client::SendRequest<Bytes>,
    pub(crate) connection: tokio::task::JoinHandle<Result<(), h2::Error>>,
}

/// A response over HTTP.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) cache_control: String,
    /// The length that its header declares; empty where it has none.
    pub(crate) content_length: String,
    pub(crate) body: Vec<u8>,
}

impl Page {
    fn new(head: &http::response::Parts, body: Vec<u8>) -> Page {
        let text = |name| head.headers.get(name).map_or("", |value| value.to_str().unwrap()).to_string();
        let (cache_control, content_length) = (text("cache-control"), text("content-length"));
        Page { status: head.status, cache_control, content_length, body }
    }
}

impl Doh {
    pub(crate) async fn connect(running: &Running) -> Result<Doh, String> {
        let config = tls_config(running, "h2");
        let tls =
            connect_tls(address(running, Transport::Doh), config).await.map_err(|error| error.to_string())?;
        let (send, connection) = h2::client::handshake(tls).await.map_err(|error| error.to_string())?;
        let connection = tokio::spawn(connection);
        Ok(Doh { send: send.ready().await.map_err(|error| error.to_string())?, connection })
    }

    pub(crate) async fn ask(&mut self, request: Request<()>, body: &[u8]) -> Result<Page, h2::Error> {
        let mut ready = self.send.clone().ready().await?;
        let (response, mut sending) = ready.send_request(request, body.is_empty())?;
        if !body.is_empty() {
            sending.send_data(Bytes::copy_from_slice(body), true)?;
        }
        let (head, mut receiving) = response.await?.into_parts();
        let mut body = Vec::new();
        while let Some(bytes) = receiving.data().await {
            let bytes = bytes?;
            receiving.flow_control().release_capacity(bytes.len())?;
            body.extend_from_slice(&bytes);
        }
        Ok(Page::new(&head, body))
    }

    pub(crate) async fn get(&mut self, message: &[u8]) -> Result<Page, h2::Error> {
        self.ask(get_request(message), b"").await
    }

    pub(crate) async fn post(&mut self, message: &[u8]) -> Result<Page, h2::Error> {
        self.ask(post_request("application/dns-message"), message).await
    }
}

pub(crate) fn url(path: &str) -> String {
    format!("https://localhost{path}")
}

pub(crate) fn get_request(message: &[u8]) -> Request<()> {
    let path = format!("/dns-query?dns={}", URL_SAFE_NO_PAD.encode(message));
    Request::get(url(&path)).body(()).unwrap()
}

pub(crate) fn post_request(content_type: &str) -> Request<()> {
    Request::post(url("/dns-query")).header("content-type", content_type).body(()).unwrap()
}

/// A DoQ client's endpoint and its connection.
pub(crate) struct Doq {
    pub(crate) endpoint: quinn::Endpoint,
    pub(crate) connection: quinn::Connection,
}

pub(crate) fn quic_config(running: &Running, protocol: &str) -> quinn::ClientConfig {
    let mut tls = tls_config(running, protocol);
    tls.enable_early_data = true;
    quinn::ClientConfig::new(Arc::new(quinn::crypto::rustls::QuicClientConfig::try_from(tls).unwrap()))
}

async fn connect_quic(
    running: &Running,
    transport: Transport,
    protocol: &str,
) -> Result<(quinn::Endpoint, quinn::Connection), quinn::ConnectionError> {
    let mut endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    endpoint.set_default_client_config(quic_config(running, protocol));
    let connection = endpoint.connect(address(running, transport), "localhost").unwrap().await?;
    Ok((endpoint, connection))
}

impl Doq {
    pub(crate) async fn connect(running: &Running) -> Result<Doq, quinn::ConnectionError> {
        let (endpoint, connection) = connect_quic(running, Transport::Doq, "doq").await?;
        Ok(Doq { endpoint, connection })
    }

    /// Sends `bytes` on a stream of their own, and reads everything received on it.
    pub(crate) async fn exchange(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        exchange(&self.connection, bytes).await
    }

    pub(crate) async fn ask(&self, message: &[u8]) -> Result<Vec<u8>, String> {
        let answer = self.exchange(&framed(message)).await?;
        let length = answer.first_chunk().map(|length| usize::from(u16::from_be_bytes(*length)));
        match length {
            Some(length) if length + 2 == answer.len() => Ok(answer[2..].to_vec()),
            _ => Err(format!("{} bytes do not fit their length {length:?}", answer.len())),
        }
    }

    /// Closes regularly, and waits until the server has received that.
    pub(crate) async fn close(self) {
        self.connection.close(0u32.into(), b"");
        self.endpoint.wait_idle().await;
    }
}

pub(crate) async fn exchange(connection: &quinn::Connection, bytes: &[u8]) -> Result<Vec<u8>, String> {
    let (mut send, mut receive) = connection.open_bi().await.map_err(|error| format!("{error:?}"))?;
    send.write_all(bytes).await.map_err(|error| format!("{error:?}"))?;
    let _ = send.finish();
    receive.read_to_end(70_000).await.map_err(|error| format!("{error:?}"))
}

/// A DoH client on one connection of HTTP/3.
pub(crate) struct Doh3 {
    pub(crate) endpoint: quinn::Endpoint,
    pub(crate) connection: quinn::Connection,
    send: h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>,
}

impl Doh3 {
    pub(crate) async fn connect(running: &Running) -> Result<Doh3, String> {
        let quic = connect_quic(running, Transport::Doh3, "h3").await;
        let (endpoint, connection) = quic.map_err(|error| format!("{error:?}"))?;
        let http = h3::client::new(h3_quinn::Connection::new(connection.clone())).await;
        let (mut driver, send) = http.map_err(|error| format!("{error:?}"))?;
        tokio::spawn(async move { driver.wait_idle().await });
        Ok(Doh3 { endpoint, connection, send })
    }

    pub(crate) async fn ask(
        &self,
        request: Request<()>,
        body: &[u8],
    ) -> Result<Page, h3::error::StreamError> {
        let mut stream = self.send.clone().send_request(request).await?;
        if !body.is_empty() {
            stream.send_data(Bytes::copy_from_slice(body)).await?;
        }
        stream.finish().await?;
        let (head, ()) = stream.recv_response().await?.into_parts();
        let mut body = Vec::new();
        while let Some(mut bytes) = stream.recv_data().await? {
            body.extend_from_slice(&bytes.copy_to_bytes(bytes.remaining()));
        }
        Ok(Page::new(&head, body))
    }

    pub(crate) async fn get(&self, message: &[u8]) -> Result<Page, h3::error::StreamError> {
        self.ask(get_request(message), b"").await
    }

    pub(crate) async fn post(&self, message: &[u8]) -> Result<Page, h3::error::StreamError> {
        self.ask(post_request("application/dns-message"), message).await
    }

    /// Closes regularly, and waits until the server has received that.
    pub(crate) async fn close(self) {
        self.connection.close(h3::error::Code::H3_NO_ERROR.value().try_into().unwrap(), b"");
        self.endpoint.wait_idle().await;
    }
}
