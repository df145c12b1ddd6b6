//! Serves a world: sockets at all addresses of the host, of which those in the prefixes are answered from.
//!
//! The addresses need not be on an interface one by one: in a network namespace of its own,
//! `ip route add local 10.64.0.0/10 dev lo` makes a whole prefix local. One socket at the wildcard address then gets
//! what is sent to each of them, and the kernel tells it which.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use dnsdyno_responder::Shared;
use dnsdyno_sys::clock::monotonic_and_wall_ns;
use dnsdyno_sys::socket as sys_socket;
use serde_json::Value;
use socket2::{Domain, Socket, Type};

use crate::WorldError;
use crate::book::Book;
use crate::counters::{CounterSocket, Counters};
use crate::tcp::TcpWorker;
use crate::udp::UdpWorker;
use crate::world::World;

/// How a world is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServeOptions {
    /// The port; 0 takes a free one.
    pub port: u16,
    /// Threads for UDP, each with a socket.
    pub threads: usize,
}

/// A world that is served. Dropping it stops it.
#[derive(Debug)]
pub struct Serving {
    world: Arc<World>,
    port: u16,
    start_wall_ns: u64,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    udp_threads: usize,
    counters: Counters,
}

impl Serving {
    /// Opens the sockets and starts the threads: what is sent from then on is answered.
    ///
    /// # Errors
    /// If there are too many threads, or a socket cannot be opened.
    pub fn start(world: World, options: ServeOptions) -> Result<Serving, WorldError> {
        if !(1..=MOST_THREADS).contains(&options.threads) {
            return Err(WorldError::Option(format!("--threads: between 1 and {MOST_THREADS}")));
        }
        let (start_ns, start_wall_ns) = monotonic_and_wall_ns();
        let has_v6 = world.hierarchy.rules.options.prefix6.is_some();
        let (port, opened) = open_all(has_v6, options)?;
        let mut serving = Serving {
            world: Arc::new(world),
            port,
            start_wall_ns,
            stop: Arc::default(),
            threads: Vec::new(),
            udp_threads: options.threads,
            counters: Counters::default(),
        };
        // Where a step fails, dropping `serving` stops the threads started before it.
        opened.into_iter().try_for_each(|opened| serving.serve(opened, start_ns))?;
        Ok(serving)
    }

    /// The port; never 0.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The world that is served.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// What was asked so far. An answer that a client has received is included.
    pub fn book(&self) -> Book {
        self.counters.book()
    }

    /// Offers the sums of the book at a local socket: each connection gets one line of JSON.
    ///
    /// # Errors
    /// If there is no such folder, or another program has the socket.
    pub fn offer_counters(&mut self, path: &Path) -> Result<(), WorldError> {
        let socket = CounterSocket::open(path, &self.counters, self.udp_threads, Arc::clone(&self.stop))?;
        self.spawn("world-counters".to_owned(), move || socket.run())
    }

    /// A book of it as JSON.
    pub fn book_json(&self, book: &Book) -> Value {
        book.to_json(&self.world.hierarchy, self.start_wall_ns)
    }

    /// Stops, and gives the whole book with its JSON. Answers that are still held are counted and not sent.
    pub fn stop(mut self) -> (Book, Value) {
        self.join();
        let book = self.book();
        let json = self.book_json(&book);
        (book, json)
    }

    /// Serves one family of addresses.
    fn serve(&mut self, opened: Opened, start_ns: u64) -> Result<(), WorldError> {
        let Opened { udp, listener } = opened;
        for (number, socket) in udp.into_iter().enumerate() {
            self.counters.sockets.push(socket.try_clone().map_err(WorldError::Start)?);
            let (world, book, stop) = (Arc::clone(&self.world), self.new_book(), Arc::clone(&self.stop));
            let worker = UdpWorker::new(socket, world, book, stop, start_ns)?;
            self.spawn(format!("world-udp-{number}"), move || worker.run())?;
        }
        let (world, book, stop) = (Arc::clone(&self.world), self.new_book(), Arc::clone(&self.stop));
        let worker = TcpWorker::new(listener, world, book, stop, start_ns)?;
        self.spawn("world-tcp".to_owned(), move || worker.run())
    }

    fn new_book(&mut self) -> Arc<Shared<Book>> {
        let book = Arc::<Shared<Book>>::default();
        self.counters.books.push(Arc::clone(&book));
        book
    }

    fn spawn(&mut self, name: String, work: impl FnOnce() + Send + 'static) -> Result<(), WorldError> {
        let thread = std::thread::Builder::new().name(name).spawn(work).map_err(WorldError::Start)?;
        self.threads.push(thread);
        Ok(())
    }

    fn join(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let name = thread.thread().name().unwrap_or("a thread").to_owned();
            if let (Err(_), Some(book)) = (thread.join(), self.counters.books.first()) {
                book.write().failures.push(format!("{name} ended by a panic"));
            }
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.join();
    }
}

/// The sockets of a family of addresses.
struct Opened {
    udp: Vec<UdpSocket>,
    listener: TcpListener,
}

/// Opens the sockets of all families, and gives their port. Where any may be taken, the kernel gives one that is free
/// for UDP; if it is not for TCP, another one is tried.
fn open_all(has_v6: bool, options: ServeOptions) -> Result<(u16, Vec<Opened>), WorldError> {
    let v6 = has_v6.then_some(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    let mut attempt = 1;
    loop {
        let mut port = options.port;
        let families = [IpAddr::V4(Ipv4Addr::UNSPECIFIED)].into_iter().chain(v6);
        let opened = families.map(|ip| open(ip, &mut port, options.threads)).collect::<Result<Vec<_>, _>>();
        match opened {
            Err(WorldError::Listen { source, .. })
                if options.port == 0
                    && attempt < PORT_ATTEMPTS
                    && source.kind() == io::ErrorKind::AddrInUse =>
            {
                attempt += 1;
            }
            opened => return Ok((port, opened?)),
        }
    }
}

/// Opens the sockets of a family; a port of 0 becomes the one that the first socket got.
fn open(ip: IpAddr, port: &mut u16, threads: usize) -> Result<Opened, WorldError> {
    let mut udp = Vec::new();
    for _ in 0..threads {
        let address = SocketAddr::new(ip, *port);
        let socket = open_udp(address, threads > 1).map_err(|source| listen_error(address, source))?;
        *port = socket.local_addr().map_err(WorldError::Start)?.port();
        udp.push(socket);
    }
    let address = SocketAddr::new(ip, *port);
    let listener = open_tcp(address).map_err(|source| listen_error(address, source))?;
    Ok(Opened { udp, listener })
}

fn open_udp(address: SocketAddr, is_shared: bool) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_port(is_shared)?;
    socket.bind(&address.into())?;
    if !sys_socket::report_local_addresses(&socket) {
        return Err(io::Error::other("the kernel does not tell which address is asked"));
    }
    sys_socket::set_receive_buffer(&socket, BUFFER_BYTES)?;
    sys_socket::set_send_buffer(&socket, BUFFER_BYTES)?;
    Ok(socket.into())
}

fn open_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // So that it can be started again while old connections wait to be forgotten.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn listen_error(address: SocketAddr, source: io::Error) -> WorldError {
    let advice = match source.kind() {
        io::ErrorKind::AddrInUse => {
            "; another server has the port: serve in a network namespace of its own (see `ip netns`), or take --port"
        }
        io::ErrorKind::PermissionDenied => {
            "; ports below 1024 need root or CAP_NET_BIND_SERVICE: take --port"
        }
        _ => "",
    };
    WorldError::Listen { address, source, advice }
}

/// More than the cores of any host we know of are a typing error.
const MOST_THREADS: usize = 1_024;

/// How often another port is tried where any may be taken.
const PORT_ATTEMPTS: u32 = 20;

/// Room for the queries that come while a thread handles others.
const BUFFER_BYTES: usize = 8 << 20;

/// Connections that wait to be accepted; the host's `net.core.somaxconn` may allow fewer.
const BACKLOG: i32 = 4_096;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::{Duration, Instant};

    use dnsdyno_wire::QueryForm;

    use super::*;
    use crate::name::{Name, below, text};
    use crate::options::tests::options;
    use crate::shares::Fault;

    /// Loopback addresses: all of 127.0.0.0/8 are there without a set-up.
    fn serving(flags: &str) -> Serving {
        let world = World::new(&options(&format!("--zones 2k --prefix 127.64.0.0/12 {flags}"))).unwrap();
        Serving::start(world, ServeOptions { port: 0, threads: 2 }).unwrap()
    }

    fn query(name: &Name, rtype: u16) -> Vec<u8> {
        let mut query = Vec::new();
        QueryForm { edns_size: Some(1_232), ..QueryForm::default() }.encode(
            name.as_slice(),
            rtype,
            &mut query,
        );
        query
    }

    fn ask_udp(address: IpAddr, port: u16, query: &[u8]) -> Option<Vec<u8>> {
        // Connected: an answer from another address than the one that was asked is not taken.
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect((address, port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(1_500))).unwrap();
        socket.send(query).unwrap();
        let mut answer = [0; 4_096];
        socket.recv(&mut answer).ok().map(|length| answer[..length].to_vec())
    }

    fn ask_tcp(stream: &mut TcpStream, query: &[u8]) -> Vec<u8> {
        stream.write_all(&[&(query.len() as u16).to_be_bytes()[..], query].concat()).unwrap();
        let mut length = [0; 2];
        stream.read_exact(&mut length).unwrap();
        let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut answer).unwrap();
        answer
    }

    #[test]
    fn each_address_answers_as_its_server_over_udp_and_tcp_and_the_book_has_all() {
        let serving = serving("--rtt none");
        let hierarchy = &serving.world().hierarchy;
        let mut asked = 0;
        for number in 0..20 {
            let path = hierarchy.path(&hierarchy.population.nth_zone(number));
            let query = query(&path[2].apex, 1);
            for zone in &path {
                let address = hierarchy.addresses(hierarchy.servers_of(zone)[0].id).0.unwrap();
                let over_udp = ask_udp(address, serving.port(), &query).unwrap();
                let mut stream = TcpStream::connect((address, serving.port())).unwrap();
                let over_tcp = [ask_tcp(&mut stream, &query), ask_tcp(&mut stream, &query)];
                assert!(
                    over_tcp.iter().all(|answer| *answer == over_udp),
                    "{} at {address}",
                    text(&zone.apex)
                );
                let is_authoritative = over_udp[2] & 4 != 0;
                assert_eq!(is_authoritative, zone.apex == path[2].apex, "{}", text(&zone.apex));
                asked += 3;
            }
        }
        let (book, json) = serving.stop();
        assert_eq!((book.received(), book.sent(), book.ends.ended()), (asked, asked, asked), "{json:#}");
        assert_eq!((json["udp"].as_u64(), json["tcp"].as_u64()), (Some(asked / 3), Some(asked / 3 * 2)));
        assert_eq!(json["connections"]["accepted"].as_u64(), Some(asked / 3));
        assert!(book.warnings().is_empty(), "{:?}", book.warnings());
    }

    #[test]
    fn the_sums_of_the_book_are_told_at_a_local_socket_also_after_a_world_that_was_killed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counters");
        // As a world leaves it that is killed.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let mut serving = serving("--rtt none");
        serving.offer_counters(&path).unwrap();
        let told = || {
            let mut text = String::new();
            std::os::unix::net::UnixStream::connect(&path).unwrap().read_to_string(&mut text).unwrap();
            serde_json::from_str::<Value>(&text).unwrap()
        };
        let root: IpAddr = "127.64.0.1".parse().unwrap();
        let query = query(&Name::root_bytes(), 2);
        for number in 1..=3 {
            ask_udp(root, serving.port(), &query).unwrap();
            ask_tcp(&mut TcpStream::connect((root, serving.port())).unwrap(), &query);
            let sums = told();
            let sum = |at: &str| sums.pointer(at).and_then(Value::as_u64);
            let expected = [("/udp", number), ("/tcp", number), ("/ends/sent", 2 * number), ("/threads", 2)];
            expected.iter().for_each(|(at, count)| assert_eq!(sum(at), Some(*count), "{at} {sums}"));
            assert!(sums.get("servers").is_none());
        }
        let error = serving.offer_counters(&path).unwrap_err().to_string();
        assert!(error.contains("in use"), "{error}");
        let whole = serving.stop().1;
        assert_eq!((whole["udp"].as_u64(), whole["servers"][0]["tcp"].as_u64()), (Some(3), Some(3)));
        assert!(!path.exists());
    }

    #[test]
    fn an_answer_comes_after_its_distance_and_the_first_of_a_connection_after_two() {
        let serving = serving("--rtt one=100%:120ms:0");
        let root: IpAddr = "127.64.0.1".parse().unwrap();
        let query = query(&Name::root_bytes(), 2);
        let rtt = Duration::from_millis(120);
        let start = Instant::now();
        assert!(ask_udp(root, serving.port(), &query).is_some());
        // A busy host can make it later, and never earlier.
        assert!(start.elapsed() >= rtt, "{:?}", start.elapsed());
        let start = Instant::now();
        let mut stream = TcpStream::connect((root, serving.port())).unwrap();
        ask_tcp(&mut stream, &query);
        let first = start.elapsed();
        // The kernel may complete the connection before the world has seen it.
        assert!(first >= 2 * rtt - Duration::from_millis(1), "{first:?}");
        let again = Instant::now();
        ask_tcp(&mut stream, &query);
        assert!(again.elapsed() >= rtt, "{:?}", again.elapsed());
    }

    #[test]
    fn faults_act_at_the_sockets_and_are_booked() {
        let serving = serving("--rtt none --fault silent=25%,tcp-only=25%,no-edns=50% --share own=100%");
        let hierarchy = &serving.world().hierarchy;
        let first_own = hierarchy.servers_of(&hierarchy.path(&hierarchy.population.nth_zone(0))[2])[0].id.0;
        assert!(first_own > 0);
        let mut met = std::collections::BTreeSet::new();
        for number in 0..40 {
            let zone = hierarchy.path(&hierarchy.population.nth_zone(number)).pop().unwrap();
            let server = hierarchy.servers_of(&zone)[0].id;
            let fault = hierarchy.server(server).fault.unwrap();
            if !met.insert(fault) {
                continue;
            }
            let address = hierarchy.addresses(server).0.unwrap();
            let with_edns = ask_udp(address, serving.port(), &query(&zone.apex, 6));
            let mut plain = Vec::new();
            QueryForm::default().encode(zone.apex.as_slice(), 6, &mut plain);
            let without = |plain: &[u8]| ask_udp(address, serving.port(), plain);
            match fault {
                Fault::Silent => assert_eq!((with_edns, without(&plain)), (None, None)),
                Fault::TcpOnly => {
                    assert_eq!(with_edns.unwrap()[2] & 2, 2);
                    let mut stream = TcpStream::connect((address, serving.port())).unwrap();
                    assert_eq!(ask_tcp(&mut stream, &plain)[7], 1);
                }
                Fault::EdnsFormerr => {
                    assert_eq!((with_edns.unwrap()[3] & 15, without(&plain).unwrap()[7]), (1, 1))
                }
                Fault::EdnsDropped => assert_eq!((with_edns, without(&plain).unwrap()[7]), (None, 1)),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(met.len(), 4);
        let nowhere = below("www", &Name::root_bytes());
        assert_eq!(ask_udp("127.79.255.254".parse().unwrap(), serving.port(), &query(&nowhere, 1)), None);
        let (book, json) = serving.stop();
        assert_eq!(book.ends.ended(), book.received());
        let fault = |word: &str| json["faults"][word].as_u64();
        assert_eq!(
            [fault("silent"), fault("tcp-only"), fault("edns-formerr"), fault("edns-dropped")],
            [Some(2), Some(1), Some(1), Some(1)]
        );
        assert_eq!(json["ends"]["outside"].as_u64(), Some(1));
    }
}
