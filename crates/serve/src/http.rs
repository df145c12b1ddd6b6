//! An HTTP server whose cost is bounded, for GET and HEAD: what the folder of runs and the metrics have in common.
//!
//! One request per connection, so that the bounds of a connection are those of a request: the size of its head, the
//! time of the whole, and the number of them at once. More wait in the kernel's queue, until one ends or is slow.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;
use dnsdyno_sys::rights::{CapabilitySet, keep_only};
use http::header::{self, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{Channel, Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// The body of a response: in memory, or read from a file piece by piece.
pub(crate) type Body = Either<Full<Bytes>, Channel<Bytes, io::Error>>;

/// What answers the requests of a server.
pub(crate) trait Handler: Send + Sync + 'static {
    /// The response to a GET or HEAD that came to the address `local`.
    fn respond(
        &self,
        request: &Request<Incoming>,
        local: SocketAddr,
    ) -> impl Future<Output = Response<Body>> + Send;
}

/// A running server; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Server {
    /// Where it is: the port is that of the system where 0 was asked for.
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server in a thread of its own, with up to `helpers` more threads for work that blocks. An address in
    /// use is an error here, before anything else begins.
    pub(crate) fn start(address: SocketAddr, handler: impl Handler, helpers: usize) -> io::Result<Server> {
        Bound::new(address, helpers)?.start(handler)
    }
}

/// A socket that listens, with all that a server opens; no thread is started, and no connection accepted.
#[derive(Debug)]
pub(crate) struct Bound {
    /// As that of the [`Server`].
    pub(crate) address: SocketAddr,
    listener: TcpListener,
    runtime: Runtime,
}

impl Bound {
    /// Listens. `helpers` as in [`Server::start`].
    pub(crate) fn new(address: SocketAddr, helpers: usize) -> io::Result<Bound> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(helpers).build()?;
        let listener = {
            let _runtime = runtime.enter();
            TcpListener::from_std(listener)?
        };
        Ok(Bound { address, listener, runtime })
    }

    /// Answers from now on. The threads of the server have the rights of the one that calls this.
    pub(crate) fn start(self, handler: impl Handler) -> io::Result<Server> {
        let Bound { address, listener, runtime } = self;
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || {
            // Beside a run with the rights of root, whoever asks reaches none of them.
            let _ = keep_only(CapabilitySet::empty());
            runtime.block_on(async {
                tokio::spawn(accept(listener, Arc::new(handler)));
                // An error is the end of the one who could stop it.
                let _ = stopped.await;
            });
            // What is read or built for a client is of no use any more.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("http".into()).spawn(run)?;
        Ok(Server { address, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Accepts connections and answers them. Ends only with its task.
async fn accept<H: Handler>(listener: TcpListener, handler: Arc<H>) {
    let open = Arc::<Mutex<Connections>>::default();
    loop {
        while !make_room(&open) {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        let Ok((stream, peer)) = listener.accept().await else {
            // The connection is gone again, or there are too many open files: later there may be fewer.
            tokio::time::sleep(AFTER_AN_ERROR).await;
            continue;
        };
        let Ok(local) = stream.local_addr() else { continue };
        let handler = Arc::clone(&handler);
        let number = lock(&open).admit(peer.ip(), Instant::now());
        let place = Place { number, open: Arc::clone(&open) };
        let task = tokio::spawn(async move {
            let service = service_fn(|request| {
                let handler = Arc::clone(&handler);
                lock(&place.open).has_asked(place.number);
                async move { Ok::<_, Infallible>(answer(&*handler, &request, local).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .max_buf_size(MOST_HEAD_BYTES)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // A client that goes away or sends no HTTP is no error of ours.
            let _ = tokio::time::timeout(REQUEST_TIME, connection).await;
        });
        lock(&open).is_served_by(number, task.abort_handle());
    }
}

/// Whether there is room for one more connection; closes one for it, if it may.
fn make_room(open: &Mutex<Connections>) -> bool {
    let mut connections = lock(open);
    if connections.open.len() < MOST_CONNECTIONS {
        return true;
    }
    let Some(victim) = connections.victim(Instant::now()) else { return false };
    let task = connections.close(victim);
    drop(connections);
    task.iter().for_each(AbortHandle::abort);
    true
}

/// The open connections, the oldest first.
#[derive(Debug, Default)]
struct Connections {
    admitted: u64,
    open: Vec<Connection>,
}

#[derive(Debug)]
struct Connection {
    number: u64,
    client: IpAddr,
    /// Whether its request is there.
    has_asked: bool,
    since: Instant,
    task: Option<AbortHandle>,
}

impl Connections {
    /// Takes a new connection, and gives its number.
    fn admit(&mut self, client: IpAddr, since: Instant) -> u64 {
        self.admitted += 1;
        let number = self.admitted;
        self.open.push(Connection { number, client, has_asked: false, since, task: None });
        number
    }

    /// The connection that gives way where there are too many, so that one client cannot keep the others away: of those
    /// that are slow, the oldest of the client that has most of them, one without a request first.
    fn victim(&self, now: Instant) -> Option<u64> {
        let is_slow = |one: &&Connection| {
            let patience = if one.has_asked { PATIENCE_WITH_READERS } else { PATIENCE_WITH_SILENCE };
            now.saturating_duration_since(one.since) >= patience
        };
        let slow = || self.open.iter().filter(is_slow);
        let of = |client: IpAddr| slow().filter(|other| other.client == client).count();
        let most = slow().map(|one| one.client).max_by_key(|client| of(*client))?;
        let of_most = slow().filter(|one| one.client == most);
        of_most.min_by_key(|one| (one.has_asked, one.number)).map(|one| one.number)
    }

    fn has_asked(&mut self, number: u64) {
        self.with(number).into_iter().for_each(|connection| connection.has_asked = true);
    }

    fn is_served_by(&mut self, number: u64, task: AbortHandle) {
        self.with(number).into_iter().for_each(|connection| connection.task = Some(task.clone()));
    }

    fn with(&mut self, number: u64) -> Option<&mut Connection> {
        self.open.iter_mut().find(|connection| connection.number == number)
    }

    /// Forgets a connection.
    fn close(&mut self, number: u64) -> Option<AbortHandle> {
        let at = self.open.iter().position(|connection| connection.number == number)?;
        self.open.remove(at).task
    }
}

/// The place of a connection among the open ones, until it is closed.
struct Place {
    number: u64,
    open: Arc<Mutex<Connections>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.open).close(self.number);
    }
}

fn lock(open: &Mutex<Connections>) -> MutexGuard<'_, Connections> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer<H: Handler>(handler: &H, request: &Request<Incoming>, local: SocketAddr) -> Response<Body> {
    let mut response = if matches!(*request.method(), Method::GET | Method::HEAD) {
        handler.respond(request, local).await
    } else {
        let mut refused =
            sentence(StatusCode::METHOD_NOT_ALLOWED, "This server only shows things: use GET or HEAD.");
        refused.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        refused
    };
    let headers = response.headers_mut();
    for (name, value) in ON_EACH_RESPONSE {
        headers.entry(*name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// A response in memory.
pub(crate) fn response(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(body.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A response of one sentence.
pub(crate) fn sentence(status: StatusCode, text: &str) -> Response<Body> {
    response(status, PLAIN_TEXT, format!("{text}\n"))
}

pub(crate) const PLAIN_TEXT: &str = "text/plain; charset=utf-8";

/// No cookie, no frame, no guess at the type, no address told to others; a handler may give another policy for what
/// its page may load.
const ON_EACH_RESPONSE: &[(&str, &str)] = &[
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'; sandbox"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// A browser opens six at once, and a Prometheus one.
const MOST_CONNECTIONS: usize = 64;

/// How long a connection may ask for nothing while others wait.
const PATIENCE_WITH_SILENCE: Duration = Duration::from_millis(250);

/// How long a request may take while others wait.
const PATIENCE_WITH_READERS: Duration = Duration::from_secs(10);

/// How often is looked for room, where there is none.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A head has about 1 kB; hyper's least is 8 KiB.
const MOST_HEAD_BYTES: usize = 16 << 10;

/// For the request line and the header fields.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// For a request as a whole: a page of 15 MiB over 1 Mbit/s.
const REQUEST_TIME: Duration = Duration::from_secs(120);

/// Before the next connection, after one that could not be accepted.
const AFTER_AN_ERROR: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_with_most_slow_connections_loses_the_oldest_and_first_those_without_a_request() {
        let (many, few) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        let began = Instant::now();
        let mut connections = Connections::default();
        let first = connections.admit(few, began);
        let asking = connections.admit(many, began);
        connections.has_asked(asking);
        let silent = [connections.admit(many, began), connections.admit(many, began)];
        let victim = |connections: &Connections, after: Duration| connections.victim(began + after);
        assert_eq!(victim(&connections, Duration::ZERO), None, "a request may still be on its way");
        assert_eq!(victim(&connections, PATIENCE_WITH_SILENCE), Some(silent[0]));
        silent.iter().for_each(|number| connections.has_asked(*number));
        assert_eq!(victim(&connections, PATIENCE_WITH_SILENCE), Some(first));
        assert_eq!(victim(&connections, PATIENCE_WITH_READERS), Some(asking), "of the slow ones, the oldest");
    }
}
