//! A server of QUIC that does what its test says: the library's QUIC, driven by hand.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    ServerConfig, StreamEvent, StreamId, TransportConfig,
};

use super::tls_config;

/// What a server does once it has received a query over this stream.
pub(crate) type Script = dyn FnMut(&mut Connection, StreamId, &mut Wire<'_>) + Send;

/// A QUIC server on a free port of loopback. Dropping it ends it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// The codes with which clients have closed their connections.
    pub(crate) closes: Arc<Mutex<Vec<u64>>>,
    is_over: Arc<AtomicBool>,
    serving: Option<thread::JoinHandle<()>>,
}

/// What the thread of a server and its test have in common.
#[derive(Clone, Default)]
struct Shared {
    is_over: Arc<AtomicBool>,
    closes: Arc<Mutex<Vec<u64>>>,
}

/// How packets leave the server.
pub(crate) struct Wire<'a> {
    socket: &'a UdpSocket,
    client: SocketAddr,
    /// What is to be written to streams as soon as the client allows it.
    pub(crate) unsent: &'a mut Vec<(StreamId, Vec<u8>)>,
    /// What is to be written to a unidirectional stream of its own, which then ends, as soon as the client allows one.
    pub(crate) alone: &'a mut Vec<Vec<u8>>,
}

impl Wire<'_> {
    /// Takes the packets of the connection, and sends or drops them.
    pub(crate) fn flush(&mut self, quic: &mut Connection, is_sent: bool) {
        let mut packet = Vec::new();
        while let Some(transmit) = quic.poll_transmit(Instant::now(), 1, &mut packet) {
            if is_sent {
                self.socket.send_to(&packet[..transmit.size], self.client).unwrap();
            }
            packet.clear();
        }
    }
}

impl Server {
    pub(crate) fn start(
        protocol: &[u8],
        adjust: impl FnOnce(&mut TransportConfig),
        script: impl FnMut(&mut Connection, StreamId, &mut Wire<'_>) + Send + 'static,
    ) -> Server {
        let crypto = QuicServerConfig::try_from(tls_config(&[protocol])).unwrap();
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        let mut transport = TransportConfig::default();
        adjust(&mut transport);
        config.transport_config(Arc::new(transport));
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), Some(Arc::new(config)), true, None);
        Server::serving(|socket, shared| serve(socket, endpoint, Box::new(script), shared))
    }

    /// A server that answers each packet with the packets of `reply`.
    pub(crate) fn raw(reply: impl Fn(&[u8]) -> Vec<Vec<u8>> + Send + 'static) -> Server {
        Server::serving(move |socket, Shared { is_over, .. }| {
            let mut packet = vec![0; 65_536];
            while !is_over.load(Ordering::Acquire) {
                let Ok((length, client)) = socket.recv_from(&mut packet) else { continue };
                for answer in reply(&packet[..length]) {
                    let _ = socket.send_to(&answer, client);
                }
            }
        })
    }

    fn serving(serve: impl FnOnce(&UdpSocket, &Shared) + Send + 'static) -> Server {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let (address, shared) = (socket.local_addr().unwrap(), Shared::default());
        let Shared { is_over, closes } = shared.clone();
        let serving = Some(thread::spawn(move || serve(&socket, &shared)));
        Server { address, closes, is_over, serving }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}

/// Serves connections until it is over, one at a time.
fn serve(socket: &UdpSocket, mut endpoint: Endpoint, mut script: Box<Script>, shared: &Shared) {
    let mut open: Option<(ConnectionHandle, Connection, SocketAddr)> = None;
    let (mut packet, mut unsent, mut alone) = (vec![0; 65_536], Vec::new(), Vec::new());
    while !shared.is_over.load(Ordering::Acquire) {
        let now = Instant::now();
        if let Ok((length, client)) = socket.recv_from(&mut packet) {
            let (bytes, mut reply) = (BytesMut::from(&packet[..length]), Vec::new());
            match endpoint.handle(now, client, None, None, bytes, &mut reply) {
                Some(DatagramEvent::NewConnection(incoming)) => {
                    match endpoint.accept(incoming, now, &mut reply, None) {
                        Ok((handle, quic)) => open = Some((handle, quic, client)),
                        Err(error) => {
                            if let Some(transmit) = error.response {
                                let _ = socket.send_to(&reply[..transmit.size], client);
                            }
                        }
                    }
                }
                Some(DatagramEvent::ConnectionEvent(to, event)) => {
                    if let Some((_, quic, _)) = open.as_mut().filter(|(handle, _, _)| *handle == to) {
                        quic.handle_event(event);
                    }
                }
                Some(DatagramEvent::Response(transmit)) => {
                    let _ = socket.send_to(&reply[..transmit.size], client);
                }
                _ => {}
            }
        }
        let Some((handle, quic, client)) = &mut open else { continue };
        let mut wire = Wire { socket, client: *client, unsent: &mut unsent, alone: &mut alone };
        if quic.poll_timeout().is_some_and(|at| at <= now) {
            quic.handle_timeout(now);
        }
        while let Some(event) = quic.poll() {
            match event {
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                    while let Some(stream) = quic.streams().accept(Dir::Bi) {
                        script(quic, stream, &mut wire);
                    }
                }
                Event::ConnectionLost { reason: ConnectionError::ApplicationClosed(close) } => {
                    shared.closes.lock().unwrap().push(close.error_code.into_inner());
                }
                _ => {}
            }
        }
        unsent.retain_mut(|(stream, rest)| {
            let mut send = quic.send_stream(*stream);
            while let (false, Ok(written)) = (rest.is_empty(), send.write(rest)) {
                rest.drain(..written);
            }
            !rest.is_empty()
        });
        while let Some(bytes) = alone.pop() {
            let Some(stream) = quic.streams().open(Dir::Uni) else {
                alone.push(bytes);
                break;
            };
            let _ = quic.send_stream(stream).write(&bytes);
            let _ = quic.send_stream(stream).finish();
        }
        let mut wire = Wire { socket, client: *client, unsent: &mut unsent, alone: &mut alone };
        while let Some(event) = quic.poll_endpoint_events() {
            if let Some(event) = endpoint.handle_event(*handle, event) {
                quic.handle_event(event);
            }
        }
        wire.flush(quic, true);
    }
}
