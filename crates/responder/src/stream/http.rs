//! DNS over HTTP/2 (RFC 8484) on one connection, without a socket and without a runtime.
//!
//! `h2` needs something to read from and write to that may return "not ready", and a caller. Here that is
//! two buffers: received bytes are put into one, the library is called until it has nothing more to do,
//! and what it wrote is taken from the other. No wake-ups are needed. It splits bodies into DATA frames
//! as the client's settings and windows allow.
//!
//! ```text
//!   bytes in ──► Wire.input ──► h2 ──► requests ──► messages, or an error status at once
//!   bytes out ◄── Wire.output ◄── h2 ◄── responses
//! ```

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Buf;
use h2::server::{self, SendResponse};
use h2::{Reason, RecvStream};
use http::{Request, Response, StatusCode, header};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::book::ResponseInfo;
use crate::doh::{self, Asked, HEADER_BYTES, MESSAGE_BYTES};
use crate::faults::{Fault, WRONG_LENGTH_BY};
use crate::freshness::freshness_s;

/// One connection's HTTP.
pub(crate) struct Http {
    wire: Arc<Mutex<Wire>>,
    state: State,
    /// Queries of POST requests whose body is not complete.
    uploads: Vec<Upload>,
    /// Messages to be answered, each with its stream.
    ready: VecDeque<(u64, Vec<u8>)>,
    /// The streams of messages that are being answered.
    waiting: HashMap<u64, SendResponse<Body>>,
    next_stream: u64,
    outcomes: Arc<Mutex<Vec<Outcome>>>,
    statuses: BTreeMap<u16, u64>,
}

enum State {
    Handshaking(Box<server::Handshake<Io, Body>>),
    Open(Box<server::Connection<Io, Body>>),
    /// Ended regularly, or with an error.
    Over {
        in_order: bool,
    },
}

struct Upload {
    stream: u64,
    respond: SendResponse<Body>,
    body: RecvStream,
    bytes: Vec<u8>,
}

/// What the library did with a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its last byte was written.
    Sent(ResponseInfo),
    /// Its stream ended before it.
    Lost,
}

/// The bytes of a response; reports what was done with them when the library drops them.
struct Body {
    bytes: Vec<u8>,
    at: usize,
    info: Option<ResponseInfo>,
    outcomes: Arc<Mutex<Vec<Outcome>>>,
}

/// The two buffers between the socket and the library.
#[derive(Default)]
struct Wire {
    input: Vec<u8>,
    input_at: usize,
    output: Vec<u8>,
}

/// The library's side of the buffers.
struct Io(Arc<Mutex<Wire>>);

impl Http {
    pub(crate) fn new() -> Http {
        let wire = Arc::<Mutex<Wire>>::default();
        let handshake = server::Builder::new()
            .max_concurrent_streams(STREAMS)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(HEADER_BYTES)
            .max_concurrent_reset_streams(RESET_STREAMS)
            .max_local_error_reset_streams(None)
            .handshake(Io(Arc::clone(&wire)));
        Http {
            wire,
            state: State::Handshaking(Box::new(handshake)),
            uploads: Vec::new(),
            ready: VecDeque::new(),
            waiting: HashMap::new(),
            next_stream: 0,
            outcomes: Arc::default(),
            statuses: BTreeMap::new(),
        }
    }

    /// Takes bytes from the client. The end of the client's side is not passed on: the library would
    /// drop the outstanding queries.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        lock(&self.wire).input.extend_from_slice(bytes);
    }

    /// Does everything that can be done, and appends what is to be sent to `outbox`.
    pub(crate) fn work(&mut self, outbox: &mut Vec<u8>) {
        let mut context = Context::from_waker(Waker::noop());
        // An error status gives the connection something to do again.
        while self.accept(&mut context) | self.read_uploads(&mut context) {}
        let mut wire = lock(&self.wire);
        outbox.append(&mut wire.output);
    }

    /// The next complete message, and the stream to answer it on.
    pub(crate) fn next_message(&mut self) -> Option<(u64, Vec<u8>)> {
        self.ready.pop_front()
    }

    /// Answers a message. The bytes are sent by the next [`work`](Http::work).
    pub(crate) fn answer(&mut self, stream: u64, message: &[u8], info: ResponseInfo) {
        let Some(mut respond) = self.waiting.remove(&stream) else {
            return lock(&self.outcomes).push(Outcome::Lost);
        };
        match info.fault {
            Some(Fault::StreamReset) => {
                respond.send_reset(Reason::INTERNAL_ERROR);
                return lock(&self.outcomes).push(Outcome::Sent(info));
            }
            Some(Fault::ServerError) => {
                let sent = self.refuse(respond, StatusCode::INTERNAL_SERVER_ERROR);
                let outcomes = if sent { Outcome::Sent(info) } else { Outcome::Lost };
                return lock(&self.outcomes).push(outcomes);
            }
            _ => {}
        }
        let declared = match info.fault {
            Some(Fault::WrongLength) => message.len() + WRONG_LENGTH_BY,
            _ => message.len(),
        };
        let response = Response::builder()
            .header(header::CONTENT_TYPE, MESSAGE_TYPE)
            .header(header::CONTENT_LENGTH, declared)
            .header(header::CACHE_CONTROL, format!("max-age={}", freshness_s(message)))
            .body(());
        let sent = response.ok().and_then(|response| respond.send_response(response, false).ok());
        let Some(mut sending) = sent else {
            return lock(&self.outcomes).push(Outcome::Lost);
        };
        *self.statuses.entry(200).or_default() += 1;
        let outcomes = Arc::clone(&self.outcomes);
        let body = Body { bytes: message.to_vec(), at: 0, info: Some(info), outcomes };
        // On an error the body is dropped, which reports it as lost.
        let _ = sending.send_data(body, true);
    }

    /// A message that is no query.
    pub(crate) fn refuse_message(&mut self, stream: u64) {
        if let Some(respond) = self.waiting.remove(&stream) {
            self.refuse(respond, StatusCode::BAD_REQUEST);
        }
    }

    /// Sends GOAWAY: outstanding queries are answered, and then the connection ends.
    pub(crate) fn goaway(&mut self) {
        if let State::Open(connection) = &mut self.state {
            connection.graceful_shutdown();
        }
    }

    /// What was done with responses since the last call.
    pub(crate) fn take_outcomes(&mut self) -> Vec<Outcome> {
        std::mem::take(&mut *lock(&self.outcomes))
    }

    /// Drops everything; returns how many responses were not sent.
    pub(crate) fn into_lost(self) -> u64 {
        let outcomes = Arc::clone(&self.outcomes);
        drop(self);
        let lost = lock(&outcomes).len();
        lost as u64
    }

    /// The statuses sent since the last call.
    pub(crate) fn take_statuses(&mut self) -> BTreeMap<u16, u64> {
        std::mem::take(&mut self.statuses)
    }

    /// Whether it has ended, and if so, whether regularly.
    pub(crate) fn over(&self) -> Option<bool> {
        match self.state {
            State::Over { in_order } => Some(in_order),
            _ => None,
        }
    }

    /// Calls the library until it has nothing more to return; true where there was anything.
    fn accept(&mut self, context: &mut Context<'_>) -> bool {
        let mut did = false;
        loop {
            match &mut self.state {
                State::Over { .. } => return did,
                State::Handshaking(handshake) => match Pin::new(&mut **handshake).poll(context) {
                    Poll::Pending => return did,
                    Poll::Ready(Ok(connection)) => self.state = State::Open(Box::new(connection)),
                    Poll::Ready(Err(_)) => self.state = State::Over { in_order: false },
                },
                State::Open(connection) => match connection.poll_accept(context) {
                    Poll::Pending => return did,
                    Poll::Ready(None) => self.state = State::Over { in_order: true },
                    Poll::Ready(Some(Err(_))) => self.state = State::Over { in_order: false },
                    Poll::Ready(Some(Ok((request, respond)))) => {
                        did = true;
                        self.take_request(request, respond);
                    }
                },
            }
        }
    }

    fn take_request(&mut self, request: Request<RecvStream>, respond: SendResponse<Body>) {
        let stream = self.next_stream;
        self.next_stream += 1;
        match check(&request) {
            Err(status) => drop(self.refuse(respond, status)),
            Ok(Some(message)) => {
                self.waiting.insert(stream, respond);
                self.ready.push_back((stream, message));
            }
            Ok(None) => {
                let body = request.into_body();
                self.uploads.push(Upload { stream, respond, body, bytes: Vec::new() });
            }
        }
    }

    /// Reads what was received of the bodies; true where a message was completed or refused.
    fn read_uploads(&mut self, context: &mut Context<'_>) -> bool {
        let mut did = false;
        let mut at = 0;
        while at < self.uploads.len() {
            match self.uploads[at].read(context) {
                Poll::Pending => at += 1,
                Poll::Ready(result) => {
                    did = true;
                    let upload = self.uploads.swap_remove(at);
                    match result {
                        Ok(true) => {
                            self.waiting.insert(upload.stream, upload.respond);
                            self.ready.push_back((upload.stream, upload.bytes));
                        }
                        Ok(false) => drop(self.refuse(upload.respond, StatusCode::PAYLOAD_TOO_LARGE)),
                        // The client has cancelled its request.
                        Err(_) => {}
                    }
                }
            }
        }
        did
    }

    /// Answers with a status and nothing else; false where the stream has ended.
    fn refuse(&mut self, mut respond: SendResponse<Body>, status: StatusCode) -> bool {
        let mut response = Response::builder().status(status);
        if status == StatusCode::METHOD_NOT_ALLOWED {
            response = response.header(header::ALLOW, "GET, POST");
        }
        let sent = response.body(()).ok().and_then(|response| respond.send_response(response, true).ok());
        if sent.is_some() {
            *self.statuses.entry(status.as_u16()).or_default() += 1;
        }
        sent.is_some()
    }
}

impl Upload {
    /// `Ok(true)` when the body is complete, `Ok(false)` when it is too long, an error when it is
    /// aborted.
    fn read(&mut self, context: &mut Context<'_>) -> Poll<Result<bool, h2::Error>> {
        loop {
            match self.body.poll_data(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(Ok(true)),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                Poll::Ready(Some(Ok(bytes))) => {
                    self.body.flow_control().release_capacity(bytes.len())?;
                    self.bytes.extend_from_slice(&bytes);
                    if self.bytes.len() > MESSAGE_BYTES {
                        return Poll::Ready(Ok(false));
                    }
                }
            }
        }
    }
}

/// The message in a request, `None` where it is in the body, or the status that refuses it.
fn check(request: &Request<RecvStream>) -> Result<Option<Vec<u8>>, StatusCode> {
    let value = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let asked = Asked {
        method: request.method().as_str(),
        path: request.uri().path(),
        query: request.uri().query(),
        content_type: value(header::CONTENT_TYPE),
        content_length: value(header::CONTENT_LENGTH).and_then(|value| value.parse().ok()),
    };
    doh::check(asked).map_err(|status| StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST))
}

impl Buf for Body {
    fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    fn advance(&mut self, count: usize) {
        self.at += count;
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Some(info) = self.info.take() {
            let is_sent = self.at == self.bytes.len();
            lock(&self.outcomes).push(if is_sent { Outcome::Sent(info) } else { Outcome::Lost });
        }
    }
}

impl AsyncRead for Io {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut wire = lock(&self.0);
        let rest = &wire.input[wire.input_at..];
        if rest.is_empty() {
            return Poll::Pending;
        }
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..count]);
        wire.input_at += count;
        if wire.input_at == wire.input.len() {
            wire.input.clear();
            wire.input_at = 0;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Io {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        lock(&self.0).output.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// One thread uses both sides, so the lock is never contended; the library requires types that can be
/// sent between threads.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const MESSAGE_TYPE: &str = "application/dns-message";

/// Concurrent streams of a connection.
const STREAMS: u32 = 65_536;

/// Receive windows: one message on a stream, many on a connection.
const STREAM_WINDOW: u32 = 128 * 1024;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// Streams that we have reset and the client may not know of yet.
const RESET_STREAMS: usize = 1024;
