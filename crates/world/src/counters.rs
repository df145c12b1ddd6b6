//! The sums of the book at a local socket, for whoever watches a resolver: each connection gets one line of JSON, and
//! is closed.

use std::io::{self, ErrorKind, Write};
use std::net::UdpSocket;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dnsdyno_responder::Shared;
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::socket as sys_socket;
use serde_json::{Map, Value};

use crate::WorldError;
use crate::book::Book;

/// The books of all threads, and the sockets, which know what the kernel has dropped.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) books: Vec<Arc<Shared<Book>>>,
    pub(crate) sockets: Vec<UdpSocket>,
}

impl Counters {
    /// The whole book. An answer that a client has received is included.
    pub(crate) fn book(&self) -> Book {
        let mut whole = Book::default();
        self.books.iter().for_each(|book| whole.merge(&book.read()));
        whole.kernel_drops = self.kernel_drops();
        whole
    }

    /// The sums of the book alone: no thread waits for a copy of what thousands of servers were asked.
    fn sums(&self) -> Map<String, Value> {
        let mut whole = Book::default();
        self.books.iter().for_each(|book| book.look(|book| whole.merge_sums(book)));
        whole.kernel_drops = self.kernel_drops();
        whole.sums_to_json()
    }

    fn kernel_drops(&self) -> u64 {
        self.sockets.iter().map(|socket| sys_socket::drops(socket).unwrap_or(0)).sum()
    }

    /// The same for another thread.
    fn again(&self) -> io::Result<Counters> {
        let sockets = self.sockets.iter().map(UdpSocket::try_clone).collect::<Result<_, _>>()?;
        Ok(Counters { books: self.books.clone(), sockets })
    }
}

/// What answers at the socket. The file goes with it.
#[derive(Debug)]
pub(crate) struct CounterSocket {
    listener: UnixListener,
    poller: Poller,
    path: PathBuf,
    counters: Counters,
    threads: usize,
    stop: Arc<AtomicBool>,
}

impl CounterSocket {
    /// Listens at `path`; `threads` is how many serve UDP.
    pub(crate) fn open(
        path: &Path,
        counters: &Counters,
        threads: usize,
        stop: Arc<AtomicBool>,
    ) -> Result<CounterSocket, WorldError> {
        let cannot = |source| WorldError::Counters { path: path.to_owned(), source };
        let listener = listen(path).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        let poller = Poller::new(1).map_err(WorldError::Start)?;
        poller.add(&listener, 0).map_err(WorldError::Start)?;
        let counters = counters.again().map_err(WorldError::Start)?;
        Ok(CounterSocket { listener, poller, path: path.to_owned(), counters, threads, stop })
    }

    /// Answers until it is stopped.
    pub(crate) fn run(mut self) {
        while !self.stop.load(Ordering::Relaxed) {
            // Whoever goes away meanwhile asks again.
            let _ = match self.listener.accept() {
                Ok((stream, _)) => self.answer(stream),
                Err(_) => self.poller.wait(Some(STOP_CHECK_NS)).map(drop),
            };
        }
    }

    fn answer(&self, mut stream: UnixStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(LONGEST_WRITE))?;
        let mut sums = self.counters.sums();
        sums.insert("version".to_owned(), env!("CARGO_PKG_VERSION").into());
        sums.insert("threads".to_owned(), self.threads.into());
        stream.write_all(format!("{}\n", Value::Object(sums)).as_bytes())
    }
}

impl Drop for CounterSocket {
    fn drop(&mut self) {
        // Best effort: the folder may be gone already.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Binds a local socket, in the place of one that nothing listens at any more.
fn listen(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let asked = UnixStream::connect(path);
            if !asked.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
                return Err(error);
            }
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        bound => bound,
    }
}

/// How often it looks whether it is to stop.
const STOP_CHECK_NS: u64 = 20_000_000;

/// For one who does not read.
const LONGEST_WRITE: Duration = Duration::from_secs(1);
