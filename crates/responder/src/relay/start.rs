//! Starts a relay, changes its path, tells what it did, and stops it.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use dnsdyno_sys::thread as sys_thread;

use crate::config::{Config, Error};
use crate::relay::changes::Order;
use crate::relay::clients::{self, Clients};
use crate::relay::counts::{Change, RelayCounts};
use crate::relay::datagrams::UdpSide;
use crate::relay::error::RelayError;
use crate::relay::store::{PIECE, SMALLEST};
use crate::relay::streams::Streams;
use crate::relay::toward::Toward;
use crate::relay::transit::Transit;
use crate::relay::way::Path;
use crate::relay::worker::Worker;
use crate::shared::Shared;
use crate::sockets::Sockets;

/// What a relay is to be. [`RelayOptions::to`] passes everything on at once.
#[derive(Clone, Debug)]
pub struct RelayOptions {
    /// Address and port of both UDP and TCP; port 0 selects one that is free for both.
    pub listen: SocketAddr,
    /// Where the server is, for both UDP and TCP.
    pub server: SocketAddr,
    /// What the path does.
    pub path: Path,
    /// Whether to pass on TCP too.
    pub tcp: bool,
    /// UDP clients at the same time, each with a socket: 1 to 60,000.
    pub clients_max: usize,
    /// The socket of a UDP client is closed when it was idle for this long, or up to twice as long.
    pub idle: Duration,
    /// TCP connections at the same time: 1 to 60,000.
    pub connections_max: usize,
    /// Octets of memory for what is on its way, at least 4 MiB.
    pub memory_octets: usize,
    /// Receive buffer of the socket of all clients, in octets, and of each one's to the server (beyond the host's
    /// limit only as root).
    pub receive_buffer_octets: usize,
}

impl RelayOptions {
    /// A relay to this server, on a free port of 127.0.0.1.
    pub fn to(server: SocketAddr) -> RelayOptions {
        RelayOptions {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            server,
            path: Path::default(),
            tcp: true,
            clients_max: 16_384,
            idle: Duration::from_secs(10),
            connections_max: 4_096,
            memory_octets: 256 << 20,
            receive_buffer_octets: 16 << 20,
        }
    }
}

/// A relay at work. Dropping it stops it.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    server: SocketAddr,
    clients_max: usize,
    connections_max: usize,
    /// Datagrams a second that its memory has room for, with their delays.
    most_per_second: u64,
    /// What the path does now.
    path: Mutex<Path>,
    orders: Sender<Order>,
    shared: Arc<Shared<RelayCounts>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Starts it. When this returns, the sockets are open. They, and those that it opens later, are in the network
    /// namespace of the calling thread.
    ///
    /// # Errors
    /// What is impossible of the options, or what the host refuses.
    pub fn start(options: RelayOptions) -> Result<Relay, RelayError> {
        options.validate()?;
        let mut transit = Transit::new(&options.path, options.memory_octets)?;
        let delays_ns = Toward::BOTH.map(|toward| transit.link(toward).middle_delay_ns());
        // It cannot be reached: better now than at the first datagram.
        let reach = clients::open(options.server, options.receive_buffer_octets);
        drop(reach.map_err(|source| RelayError::Unreachable { server: options.server, source })?);
        let (clients_max, connections_max) = allow_files(&options);

        let config = Config {
            tcp: options.tcp,
            receive_buffer_bytes: options.receive_buffer_octets,
            ..Config::default()
        };
        let Sockets { address, udp, tcp } = Sockets::open(&config, options.listen)?;
        if is_itself(address, options.server) {
            return Err(RelayError::Itself { server: options.server });
        }
        let listener = udp.into_iter().next().ok_or(Error::Start(std::io::ErrorKind::NotFound.into()))?;
        let idle_ns = u64::try_from(options.idle.as_nanos()).unwrap_or(u64::MAX);
        let clients = Clients::new(options.server, clients_max, idle_ns, options.receive_buffer_octets);
        let udp = UdpSide::new(listener, options.server, clients).map_err(Error::Start)?;
        let streams = tcp.map(|listener| Streams::new(listener, options.server, connections_max));

        let (shared, stop) = (Arc::new(Shared::default()), Arc::new(AtomicBool::new(false)));
        let (orders, of_worker) = channel();
        let worker = Worker::new(transit, udp, streams, (Arc::clone(&shared), Arc::clone(&stop)), of_worker);
        let worker = worker.map_err(Error::Start)?;
        let thread = std::thread::Builder::new().name("relay".to_string()).spawn(move || worker.run());
        Ok(Relay {
            address,
            server: options.server,
            clients_max,
            connections_max,
            most_per_second: most_per_second(options.memory_octets, delays_ns),
            path: Mutex::new(options.path),
            orders,
            shared,
            stop,
            thread: Some(thread.map_err(Error::Start)?),
        })
    }

    /// Where it listens; never port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it passes things on to.
    pub fn server(&self) -> SocketAddr {
        self.server
    }

    /// How many UDP clients and TCP connections it has room for: what was asked for, or what the limit of open files
    /// allows.
    pub fn bounds(&self) -> (usize, usize) {
        (self.clients_max, self.connections_max)
    }

    /// How many short datagrams a second, of both directions together, its memory has room for with their delays.
    pub fn most_per_second(&self) -> u64 {
        self.most_per_second
    }

    /// What the path does now.
    pub fn path(&self) -> Path {
        self.path.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes what the path does, for all that is received from now on; returns when that is so, which takes some
    /// hundredths of a second at most. Its random streams go on: the seed of `path` is not looked at.
    ///
    /// # Errors
    /// What is impossible of the path, whose old one stays; or the relay has ended.
    pub fn change(&self, path: &Path) -> Result<Change, RelayError> {
        let (order, told) = Order::new(path)?;
        // Changes of several threads are made one after the other.
        let mut present = self.path.lock().unwrap_or_else(PoisonError::into_inner);
        self.orders.send(order).map_err(|_| RelayError::Ended)?;
        let change = told.recv().map_err(|_| RelayError::Ended)?;
        *present = Path { seed: present.seed, ..path.clone() };
        Ok(change)
    }

    /// What it has done so far. A datagram that was received at the other end is included; what the kernel has dropped
    /// is counted with a delay.
    pub fn counts(&self) -> RelayCounts {
        self.shared.read()
    }

    /// Stops it, and returns what it did. What is still on its way is dropped and counted.
    pub fn stop(mut self) -> RelayCounts {
        self.join();
        self.counts()
    }

    fn join(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            self.shared.write().failures.push("the relay ended by a panic".to_string());
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.join();
    }
}

impl RelayOptions {
    fn validate(&self) -> Result<(), RelayError> {
        self.path.to_server.validate()?;
        self.path.to_client.validate()?;
        if self.server.port() == 0 || self.server.ip().is_unspecified() || self.server.ip().is_multicast() {
            return Err(RelayError::NoServer { server: self.server });
        }
        if is_itself(self.listen, self.server) {
            return Err(RelayError::Itself { server: self.server });
        }
        for (what, value, from, to) in [
            ("the number of UDP clients", self.clients_max, 1, MOST_CLIENTS),
            ("the number of TCP connections", self.connections_max, 1, MOST_CLIENTS),
            ("the memory in octets", self.memory_octets, LEAST_MEMORY, usize::MAX),
        ] {
            if !(from..=to).contains(&value) {
                return Err(RelayError::Bound { what, value, from, to });
            }
        }
        Ok(())
    }
}

/// Whether a relay that listens here would send to itself.
fn is_itself(listen: SocketAddr, server: SocketAddr) -> bool {
    let is_same_host = || {
        // An address that can be bound is one of this host.
        listen.ip() == server.ip()
            || listen.ip().is_unspecified() && UdpSocket::bind((server.ip(), 0)).is_ok()
    };
    listen.port() != 0 && listen.port() == server.port() && is_same_host()
}

/// Raises the limit of open files for what is asked for; returns how many clients and connections there is room for.
fn allow_files(options: &RelayOptions) -> (usize, usize) {
    let wanted = options.clients_max + 2 * options.connections_max + OTHER_FILES;
    let limit = sys_thread::raise_open_files_limit(wanted as u64).unwrap_or(wanted as u64);
    let room = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(OTHER_FILES);
    if room >= wanted - OTHER_FILES {
        return (options.clients_max, options.connections_max);
    }
    (options.clients_max.min(room / 2).max(1), options.connections_max.min(room / 4).max(1))
}

/// How many short datagrams a second fit into the memory, where each direction has half of them.
fn most_per_second(memory_octets: usize, delays_ns: [u64; 2]) -> u64 {
    let slots = (memory_octets / PIECE * (PIECE / SMALLEST)) as f64;
    let mean_s = delays_ns.iter().map(|delay_ns| *delay_ns as f64 * 1e-9).sum::<f64>() / 2.0;
    (slots / mean_s.max(1e-6)) as u64
}

/// The ports that a host has for one destination.
const MOST_CLIENTS: usize = 60_000;

const LEAST_MEMORY: usize = 4 * PIECE;

/// Files that a process has open besides: its outputs, and those of other parts of the program.
const OTHER_FILES: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(options: RelayOptions) -> String {
        let error = Relay::start(options).unwrap_err();
        assert!(error.is_bad_input(), "{error:?}");
        error.to_string()
    }

    #[test]
    fn what_cannot_be_is_refused_before_anything_is_opened() {
        let to = |text: &str| RelayOptions::to(text.parse().unwrap());
        assert!(refused(to("127.0.0.1:0")).contains("a port above 0"));
        assert!(refused(to("0.0.0.0:53")).contains("no address of a server"));
        assert!(refused(to("224.0.0.1:53")).contains("no address of a server"));
        let at = |listen: &str, server| RelayOptions { listen: listen.parse().unwrap(), ..to(server) };
        assert!(refused(at("127.0.0.1:5399", "127.0.0.1:5399")).contains("the relay itself"));
        assert!(refused(at("0.0.0.0:5399", "127.0.0.1:5399")).contains("the relay itself"));
        assert!(refused(RelayOptions { clients_max: 0, ..to("127.0.0.1:53") }).contains("use 1 to 60000"));
        assert!(refused(RelayOptions { memory_octets: 1, ..to("127.0.0.1:53") }).contains("memory"));
    }

    #[test]
    fn the_memory_is_told_in_datagrams_a_second() {
        // 256 MiB in slots of 256 octets are a million; ten seconds there, none back.
        assert_eq!(most_per_second(256 << 20, [10_000_000_000, 0]), 209_715);
        assert_eq!(most_per_second(256 << 20, [1_000_000_000, 1_000_000_000]), 1_048_576);
    }
}
