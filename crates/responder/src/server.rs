//! Starts the responder, reports what it did, and stops it.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use dnsdyno_sys::rights::{CapabilitySet, keep_only};
use dnsdyno_sys::socket as sys_socket;
use dnsdyno_sys::thread::{empty_open_files, open_files_limit, raise_open_files_limit};
use dnsdyno_sys::xdp::{Attached, Respond};

use crate::book::Book;
use crate::config::{Config, Error};
use crate::faults::FaultsError;
use crate::intake::{FirstQuery, Intake};
use crate::kind::Transport;
use crate::quic::{QuicServer, QuicSettings, protocol_of};
use crate::shared::SharedBook;
use crate::sockets::{MOST_THREADS, Sockets, open_alone, open_first_tcp, open_tcp};
use crate::stream::{Room, StreamServer, StreamSettings};
use crate::tls::Identity;
use crate::udp::UdpWorker;

/// Starts responders.
#[derive(Debug)]
pub struct Responder;

/// A responder at work. Dropping it stops it.
#[derive(Debug)]
pub struct Running {
    addresses: Vec<SocketAddr>,
    /// Where it serves what needs an address of its own.
    encrypted: Vec<(Transport, SocketAddr)>,
    trust_pem: Option<String>,
    /// Stopped first: the queries it would have answered then reach the sockets.
    program: Option<Respond>,
    stop: Arc<AtomicBool>,
    is_out_of_files: Arc<AtomicBool>,
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
        // Refused: what the limit allows is served, and connections beyond it wait.
        let _ = raise_open_files_limit(config.connections_max as u64 + OTHER_FILES);
        let sockets = listen.map(|listen| Sockets::open(&config, listen)).collect::<Result<Vec<_>, _>>()?;
        let mut running = Running {
            addresses: sockets.iter().map(|sockets| sockets.address).collect(),
            encrypted: Vec::new(),
            trust_pem: None,
            program: None,
            stop: Arc::new(AtomicBool::new(false)),
            is_out_of_files: Arc::new(AtomicBool::new(false)),
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

    /// Where it listens for `transport`: UDP and TCP share their addresses, the others have their own.
    pub fn addresses_of(&self, transport: Transport) -> Vec<SocketAddr> {
        match transport {
            Transport::Udp | Transport::Tcp => self.addresses.clone(),
            _ => self.encrypted.iter().filter(|(kind, _)| *kind == transport).map(|(_, at)| *at).collect(),
        }
    }

    /// What a client must trust to verify the responder, in PEM: the authority that was made for it,
    /// or the given certificates. `None` where no encrypted transport is served.
    pub fn trust_pem(&self) -> Option<&str> {
        self.trust_pem.as_deref()
    }

    /// Where the program in the kernel runs that answers for this responder, if there is one.
    pub fn program(&self) -> Option<Attached> {
        self.program.as_ref().map(Respond::attached)
    }

    /// Keeps the program in the kernel that answers for this responder from now on.
    pub(crate) fn answer_in_kernel(&mut self, program: Respond) {
        self.program = Some(program);
    }

    /// What it has done so far. A response that a client has received is included.
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

    /// How many open files a thread may have, where connections had to wait because one had as many.
    pub fn out_of_files(&self) -> Option<u64> {
        let is_out = self.is_out_of_files.load(Ordering::Relaxed);
        is_out.then(|| open_files_limit().map_or(0, |(soft, _)| soft))
    }

    /// Stops it, and returns what it did. Responses still held are dropped and counted.
    pub fn stop(mut self) -> Book {
        self.join();
        self.book()
    }

    fn serve(&mut self, config: Config, sockets: Vec<Sockets>) -> Result<(), Error> {
        let rule = Arc::new(config.rule.clone());
        let start = Arc::new(FirstQuery::default());
        let intake = |stream: usize, transport| {
            Intake::new(Arc::clone(&rule), &config.faults, stream as u64, Arc::clone(&start), transport)
        };
        let addresses = sockets.len();
        for (i, sockets) in sockets.into_iter().enumerate() {
            let first = i * STREAMS_AN_ADDRESS;
            self.serve_at(&config, sockets, |stream, transport| intake(first + stream, transport))?;
        }
        let encrypted = [(Transport::Dot, &config.dot), (Transport::Doh, &config.doh)]
            .into_iter()
            .chain([(Transport::Doq, &config.doq), (Transport::Doh3, &config.doh3)])
            .flat_map(|(transport, listen)| listen.iter().map(move |listen| (transport, *listen)))
            .collect::<Vec<_>>();
        if encrypted.is_empty() {
            return Ok(());
        }
        let ips: Vec<_> = encrypted.iter().map(|(_, listen)| listen.ip()).collect();
        let identity = Identity::new(&config.tls, &ips)?;
        for (i, (transport, listen)) in encrypted.into_iter().enumerate() {
            let stream = addresses * STREAMS_AN_ADDRESS + i;
            let intake = |thread| intake(stream + thread * OF_A_THREAD, transport);
            let address = match transport {
                Transport::Doq | Transport::Doh3 => {
                    self.serve_quic(&config, &identity, transport, listen, intake(0)?)?
                }
                _ => self.serve_tls(&config, &identity, transport, listen, intake)?,
            };
            self.encrypted.push((transport, address));
        }
        self.trust_pem = Some(identity.trust_pem);
        Ok(())
    }

    /// Serves the sockets of one address.
    fn serve_at(
        &mut self,
        config: &Config,
        sockets: Sockets,
        intake: impl Fn(usize, Transport) -> Result<Intake, FaultsError>,
    ) -> Result<(), Error> {
        for (i, socket) in sockets.udp.into_iter().enumerate() {
            self.udp_sockets.push(socket.try_clone().map_err(Error::Start)?);
            let book = self.new_book();
            let worker = UdpWorker::new(socket, intake(i, Transport::Udp)?, book, Arc::clone(&self.stop));
            let worker = worker.map_err(Error::Start)?;
            self.spawn(format!("respond-udp-{i}"), move || worker.run())?;
        }
        match sockets.tcp {
            Some(listener) => {
                let settings = self.stream_settings(config, Transport::Tcp);
                let intake = |thread| intake(TCP_STREAM + thread * OF_A_THREAD, Transport::Tcp);
                self.serve_streams(listener, config.threads, intake, settings)
            }
            None => Ok(()),
        }
    }

    fn serve_tls(
        &mut self,
        config: &Config,
        identity: &Identity,
        transport: Transport,
        listen: SocketAddr,
        intake: impl Fn(usize) -> Result<Intake, FaultsError>,
    ) -> Result<SocketAddr, Error> {
        let protocol: &[u8] = if transport == Transport::Doh { b"h2" } else { b"dot" };
        let tls = identity.stream_config(&config.tls, protocol)?;
        let listener = open_first_tcp(config, transport, listen)?;
        let address = listener.local_addr().map_err(Error::Start)?;
        let settings = StreamSettings { tls: Some(tls), ..self.stream_settings(config, transport) };
        self.serve_streams(listener, config.threads, intake, settings)?;
        Ok(address)
    }

    /// Serves the connections of one address: the first thread those of this socket, each further one those of a socket
    /// that it opens on the same port.
    fn serve_streams(
        &mut self,
        listener: mio::net::TcpListener,
        threads: usize,
        intake: impl Fn(usize) -> Result<Intake, FaultsError>,
        settings: StreamSettings,
    ) -> Result<(), Error> {
        let transport = settings.transport;
        let address = listener.local_addr().map_err(Error::Start)?;
        let name = format!("respond-{}", transport.key());
        let (book, stop) = (self.new_book(), Arc::clone(&self.stop));
        let server = StreamServer::new(listener, intake(0)?, book, stop, settings.clone());
        let server = server.map_err(Error::Start)?;
        self.spawn(name.clone(), move || server.run())?;
        for thread in 1..threads {
            let (intake, settings) = (intake(thread)?, settings.clone());
            let (book, stop) = (self.new_book(), Arc::clone(&self.stop));
            let (result_in, result) = mpsc::channel();
            self.spawn_with_rights(format!("{name}-{thread}"), move || {
                // Where the kernel is too old for it, all threads share one limit.
                let _ = empty_open_files();
                let server = open_tcp(transport, address, true).and_then(|listener| {
                    StreamServer::new(listener, intake, book, stop, settings).map_err(Error::Start)
                });
                give_up_rights();
                match server {
                    Ok(server) if result_in.send(Ok(())).is_ok() => server.run(),
                    Ok(_) => {}
                    Err(error) => drop(result_in.send(Err(error))),
                }
            })?;
            let ended = || Error::Start(io::Error::other("a thread ended before it listened"));
            result.recv().map_err(|_| ended())??;
        }
        Ok(())
    }

    fn stream_settings(&self, config: &Config, transport: Transport) -> StreamSettings {
        StreamSettings {
            transport,
            tls: None,
            idle: config.idle,
            room: Arc::new(Room::new(config.connections_max)),
            is_out_of_files: Arc::clone(&self.is_out_of_files),
            close_after: config.faults.close_after,
        }
    }

    fn serve_quic(
        &mut self,
        config: &Config,
        identity: &Identity,
        transport: Transport,
        listen: SocketAddr,
        intake: Intake,
    ) -> Result<SocketAddr, Error> {
        let tls = identity.quic_config(&config.tls, config.idle, protocol_of(transport))?;
        let socket = open_alone(config, transport, listen)?;
        let address = socket.local_addr().map_err(Error::Start)?;
        self.udp_sockets.push(socket.try_clone().map_err(Error::Start)?);
        let settings = QuicSettings {
            transport,
            connections_max: config.connections_max,
            close_after: config.faults.close_after,
        };
        let book = self.new_book();
        let server = QuicServer::new(socket, tls, intake, book, Arc::clone(&self.stop), settings);
        let server = server.map_err(Error::Start)?;
        self.spawn(format!("respond-{}", transport.key()), move || server.run())?;
        Ok(address)
    }

    fn new_book(&mut self) -> Arc<SharedBook> {
        let book = Arc::<SharedBook>::default();
        self.books.push(Arc::clone(&book));
        book
    }

    /// Starts a thread whose sockets are open.
    fn spawn(&mut self, name: String, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        self.spawn_with_rights(name, move || {
            give_up_rights();
            work();
        })
    }

    /// Starts a thread that opens its own, which may need rights, and gives them up itself.
    fn spawn_with_rights(&mut self, name: String, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
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

/// Lets what clients send be read without the capabilities of root. Where the kernel refuses that, as a sandbox may,
/// the thread has what its process has.
fn give_up_rights() {
    let _ = keep_only(CapabilitySet::empty());
}

/// The random stream of the first TCP thread, different from those of the UDP threads.
const TCP_STREAM: usize = MOST_THREADS;

/// Random streams that one address may use.
const STREAMS_AN_ADDRESS: usize = MOST_THREADS + 1;

/// The first random stream of a further thread of connections, beyond those of all addresses.
const OF_A_THREAD: usize = 1 << 32;

/// Files that are open beside connections: sockets, and what waits for them.
const OTHER_FILES: u64 = 64;
