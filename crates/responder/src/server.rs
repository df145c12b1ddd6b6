//! Starts the responder, tells what it does, and stops it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use dnsdyno_sys::socket as sys_socket;
use dnsdyno_sys::xdp::{Attached, Respond};
use socket2::{Domain, Socket, Type};

use crate::answer::{Rule, Via};
use crate::book::Book;
use crate::faults::{Faults, FaultsError};
use crate::intake::{FirstQuery, Intake};
use crate::shared::SharedBook;
use crate::tcp::{TcpServer, TcpSettings};
use crate::udp::UdpWorker;

/// What a responder is to be. [`Config::default`] answers every name on a free port of 127.0.0.1.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address and port of UDP and TCP alike; port 0 takes one that is free for both. On a
    /// wildcard address the kernel chooses the source address of UDP answers.
    pub listen: SocketAddr,
    /// Further addresses; port 0 takes one that is free there.
    pub listen_also: Vec<SocketAddr>,
    /// What to answer.
    pub rule: Rule,
    /// What to do wrong.
    pub faults: Faults,
    /// UDP sockets and threads on each port (SO_REUSEPORT), 1 to [`MOST_THREADS`]. Each has its
    /// own stream of chance; the kernel shares clients out to them.
    pub threads: usize,
    /// Whether to serve TCP too (one thread a port).
    pub tcp: bool,
    /// A TCP connection with nothing under way is closed after this long.
    pub tcp_idle: Duration,
    /// TCP connections open at once; further ones are closed as they come.
    pub tcp_connections_max: usize,
    /// Receive buffer of each UDP socket, in bytes (beyond the host's limit only as root).
    pub receive_buffer_bytes: usize,
    /// Send buffer of each UDP socket, in bytes.
    pub send_buffer_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            listen_also: Vec::new(),
            rule: Rule::default(),
            faults: Faults::default(),
            threads: 1,
            tcp: true,
            tcp_idle: Duration::from_secs(10),
            tcp_connections_max: 65_536,
            receive_buffer_bytes: 16 << 20,
            send_buffer_bytes: 4 << 20,
        }
    }
}

/// Why a responder does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody has the port.
    #[error(
        "{transport} port {address} is in use; stop what listens there, or choose another port (0 = any free one)"
    )]
    PortInUse {
        /// `UDP` or `TCP`.
        transport: &'static str,
        /// What was asked for.
        address: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {transport} {address}: {source}{advice}")]
    Listen {
        /// `UDP` or `TCP`.
        transport: &'static str,
        /// What was asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
        /// What to do, where the reason has a known cure.
        advice: &'static str,
    },
    /// No port is free for both UDP and TCP.
    #[error("found no port free for both UDP and TCP on {address} in {PORT_TRIES} tries; name one")]
    NoFreePort {
        /// What was asked for.
        address: SocketAddr,
    },
    /// The faults are impossible.
    #[error(transparent)]
    Faults(#[from] FaultsError),
    /// The number of threads is impossible.
    #[error("{threads} threads; take 1 to {MOST_THREADS}")]
    Threads {
        /// What was asked for.
        threads: usize,
    },
    /// The system gives no thread or no poll descriptor.
    #[error(
        "cannot start serving: {0}; look at the limits of processes and open files (ulimit -u, ulimit -n)"
    )]
    Start(#[source] io::Error),
}

/// Starts responders.
#[derive(Debug)]
pub struct Responder;

/// A responder at work. Dropping it stops it.
#[derive(Debug)]
pub struct Running {
    addresses: Vec<SocketAddr>,
    /// Goes first: what it would have answered comes to the sockets then.
    program: Option<Respond>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    /// One of each thread.
    books: Vec<Arc<SharedBook>>,
    /// The sockets once more, to ask for their drops.
    udp_sockets: Vec<UdpSocket>,
}

impl Responder {
    /// Starts serving. When this returns, the sockets are open: what is sent to
    /// [`Running::address`] from then on is answered.
    pub fn start(config: Config) -> Result<Running, Error> {
        if !(1..=MOST_THREADS).contains(&config.threads) {
            return Err(Error::Threads { threads: config.threads });
        }
        config.faults.validate()?;
        let listen = [config.listen].into_iter().chain(config.listen_also.iter().copied());
        let sockets = listen.map(|listen| Sockets::open(&config, listen)).collect::<Result<Vec<_>, _>>()?;
        let mut running = Running {
            addresses: sockets.iter().map(|sockets| sockets.address).collect(),
            program: None,
            stop: Arc::new(AtomicBool::new(false)),
            threads: Vec::new(),
            books: Vec::new(),
            udp_sockets: Vec::new(),
        };
        // Where a step fails, dropping `running` stops the threads started before it.
        running.serve(config, sockets)?;
        Ok(running)
    }
}

impl Running {
    /// Where it listens; never port 0. Of several addresses the first.
    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// All addresses at which it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where the program in the kernel runs that answers for this responder, if there is one.
    pub fn program(&self) -> Option<Attached> {
        self.program.as_ref().map(Respond::attached)
    }

    /// Has a program in the kernel answer for this responder from now on.
    pub(crate) fn answer_in_kernel(&mut self, program: Respond) {
        self.program = Some(program);
    }

    /// What it has done so far. An answer that anybody has received is in it.
    pub fn book(&self) -> Book {
        let mut whole = Book::default();
        self.books.iter().for_each(|book| whole.merge(&book.read()));
        let drops = self.udp_sockets.iter().map(|socket| sys_socket::drops(socket).unwrap_or(0));
        whole.kernel_drops = drops.sum();
        if let Some(program) = &self.program {
            whole.add_in_kernel(program.counts().into());
        }
        whole
    }

    /// Stops it, and tells all that it did. Answers still held are given up and counted.
    pub fn stop(mut self) -> Book {
        self.join();
        self.book()
    }

    fn serve(&mut self, config: Config, sockets: Vec<Sockets>) -> Result<(), Error> {
        let rule = Arc::new(config.rule.clone());
        let start = Arc::new(FirstQuery::default());
        for (i, sockets) in sockets.into_iter().enumerate() {
            let intake = |stream: usize, via| {
                let stream = (i * STREAMS_AN_ADDRESS + stream) as u64;
                Intake::new(Arc::clone(&rule), &config.faults, stream, Arc::clone(&start), via)
            };
            self.serve_at(&config, sockets, intake)?;
        }
        Ok(())
    }

    /// Serves the sockets of one address.
    fn serve_at(
        &mut self,
        config: &Config,
        sockets: Sockets,
        intake: impl Fn(usize, Via) -> Result<Intake, FaultsError>,
    ) -> Result<(), Error> {
        for (i, socket) in sockets.udp.into_iter().enumerate() {
            self.udp_sockets.push(socket.try_clone().map_err(Error::Start)?);
            let book = self.new_book();
            let worker = UdpWorker::new(socket, intake(i, Via::Udp)?, book, Arc::clone(&self.stop));
            let worker = worker.map_err(Error::Start)?;
            self.spawn(format!("respond-udp-{i}"), move || worker.run())?;
        }
        if let Some(listener) = sockets.tcp {
            let book = self.new_book();
            let settings = TcpSettings { idle: config.tcp_idle, connections_max: config.tcp_connections_max };
            let intake = intake(TCP_STREAM, Via::Tcp)?;
            let server = TcpServer::new(listener, intake, book, Arc::clone(&self.stop), settings);
            let server = server.map_err(Error::Start)?;
            self.spawn("respond-tcp".to_string(), move || server.run())?;
        }
        Ok(())
    }

    fn new_book(&mut self) -> Arc<SharedBook> {
        let book = Arc::<SharedBook>::default();
        self.books.push(Arc::clone(&book));
        book
    }

    fn spawn(&mut self, name: String, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let thread = std::thread::Builder::new().name(name).spawn(work).map_err(Error::Start)?;
        self.threads.push(thread);
        Ok(())
    }

    fn join(&mut self) {
        if let Some(program) = &mut self.program {
            program.detach();
        }
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let name = thread.thread().name().unwrap_or("a thread").to_string();
            if let (Err(_), Some(book)) = (thread.join(), self.books.first()) {
                book.write().failures.push(format!("{name} ended by a panic"));
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.join();
    }
}

/// Open sockets, all on one port.
struct Sockets {
    address: SocketAddr,
    udp: Vec<UdpSocket>,
    tcp: Option<mio::net::TcpListener>,
}

impl Sockets {
    fn open(config: &Config, listen: SocketAddr) -> Result<Sockets, Error> {
        if listen.port() != 0 {
            return Sockets::open_at(config, listen);
        }
        for _ in 0..PORT_TRIES {
            match Sockets::open_at(config, listen) {
                // Free for UDP, but not for TCP: the kernel gives another one next time.
                Err(Error::PortInUse { .. }) => {}
                result => return result,
            }
        }
        Err(Error::NoFreePort { address: listen })
    }

    fn open_at(config: &Config, listen: SocketAddr) -> Result<Sockets, Error> {
        // Alone first: sockets that share a port would join a stranger's that shares it too.
        let alone = open_udp(config, listen, false)?;
        let address = alone.local_addr().map_err(|source| listen_error("UDP", listen, source))?;
        let mut udp = vec![alone];
        if config.threads > 1 {
            udp.clear();
            for _ in 0..config.threads {
                udp.push(open_udp(config, address, true)?);
            }
        }
        let tcp = if config.tcp { Some(open_tcp(address)?) } else { None };
        Ok(Sockets { address, udp, tcp })
    }
}

fn open_udp(config: &Config, listen: SocketAddr, shared: bool) -> Result<UdpSocket, Error> {
    let open = || -> io::Result<UdpSocket> {
        let socket = Socket::new(Domain::for_address(listen), Type::DGRAM, None)?;
        socket.set_reuse_port(shared)?;
        socket.bind(&listen.into())?;
        sys_socket::set_receive_buffer(&socket, config.receive_buffer_bytes)?;
        sys_socket::set_send_buffer(&socket, config.send_buffer_bytes)?;
        Ok(socket.into())
    };
    open().map_err(|source| listen_error("UDP", listen, source))
}

fn open_tcp(listen: SocketAddr) -> Result<mio::net::TcpListener, Error> {
    let open = || -> io::Result<mio::net::TcpListener> {
        let socket = Socket::new(Domain::for_address(listen), Type::STREAM, None)?;
        // So that it can be started again while old connections wait to be forgotten.
        socket.set_reuse_address(true)?;
        socket.bind(&listen.into())?;
        socket.listen(TCP_BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(mio::net::TcpListener::from_std(socket.into()))
    };
    open().map_err(|source| listen_error("TCP", listen, source))
}

fn listen_error(transport: &'static str, address: SocketAddr, source: io::Error) -> Error {
    let advice = match source.kind() {
        io::ErrorKind::AddrInUse => return Error::PortInUse { transport, address },
        io::ErrorKind::PermissionDenied => {
            "; ports under 1024 need root or CAP_NET_BIND_SERVICE, take a higher one"
        }
        io::ErrorKind::AddrNotAvailable => "; no interface of this host has the address (see 'ip address')",
        _ => "",
    };
    Error::Listen { transport, address, source, advice }
}

/// UDP threads at most: more than the cores of any host we know of are a typing error.
pub const MOST_THREADS: usize = 1024;

/// How often a port free for UDP may be taken for TCP before we give up.
const PORT_TRIES: usize = 64;

/// Connections that wait to be accepted; the host's `net.core.somaxconn` may allow fewer.
const TCP_BACKLOG: i32 = 4096;

/// The stream of chance of the TCP side, apart from those of the UDP threads.
const TCP_STREAM: usize = MOST_THREADS;

/// Streams of chance that one address may use.
const STREAMS_AN_ADDRESS: usize = MOST_THREADS + 1;
