//! Sends the metrics of a run in progress to a receiver of OTLP over HTTP: one request per settled interval.
//!
//! ```text
//!   collector's thread ── settled ──► request, as bytes ──► queue ──► sender's thread ──► POST /v1/metrics
//! ```
//!
//! The run never waits: a receiver that is slow or away fills the queue, and what does not fit is counted and told at
//! the end.

mod endpoint;
mod messages;
mod request;

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use dnsdyno_record::{Digest, Header, Interval};
use dnsdyno_runner::{Live, Observer};
use dnsdyno_sys::rights::{CapabilitySet, keep_only};
use dnsdyno_text::secret::Masked;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use prost::Message;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};

pub use endpoint::OtlpEndpoint;
use messages::ExportMetricsServiceResponse;
use request::{Span, request};

use crate::metrics::families::families;
use crate::metrics::state::State;

/// Sends the metrics of a run.
#[derive(Debug)]
pub struct Otlp {
    endpoint: OtlpEndpoint,
    /// What was counted since the last request.
    delta: State,
    started_unix_ns: u64,
    /// The end of the last request's time, since the start of the run.
    told_to_ns: u64,
    queue: mpsc::Sender<Bytes>,
    /// Requests so far, with those that did not fit into the queue.
    requests: u64,
    /// Tells the sender that the run has ended, when it is dropped.
    ended: oneshot::Sender<()>,
    sender: JoinHandle<Sent>,
}

/// What became of the requests.
#[derive(Debug, Default)]
struct Sent {
    taken: u64,
    last_error: Option<String>,
}

impl Otlp {
    /// Starts to send to this receiver.
    ///
    /// # Errors
    /// Its name has no address, or the system gives no thread. A receiver that is away is no error: it may come.
    pub fn start(endpoint: OtlpEndpoint) -> Result<Otlp, OtlpError> {
        let error = |source| OtlpError { url: endpoint.url.clone(), source };
        let address = endpoint.address().map_err(error)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(error)?;
        let (queue, waiting) = mpsc::channel(LONGEST_QUEUE);
        let to = endpoint.clone();
        let (ended, at_end) = oneshot::channel();
        let send = move || {
            // As the threads that answer HTTP.
            let _ = keep_only(CapabilitySet::empty());
            runtime.block_on(send_all(waiting, to, address, at_end))
        };
        let sender = thread::Builder::new().name("otlp".into()).spawn(send).map_err(error)?;
        let (delta, started_unix_ns, told_to_ns, requests) = (State::default(), 0, 0, 0);
        Ok(Otlp { endpoint, delta, started_unix_ns, told_to_ns, queue, requests, ended, sender })
    }

    /// The run has ended: sends the rest, and waits for it a few seconds. What the receiver did not get is told in a
    /// sentence.
    pub fn finish(mut self, digest: &Digest) -> Option<String> {
        self.delta.end(digest);
        self.tell(self.told_to_ns.max(digest.to_ns()));
        drop((self.queue, self.ended));
        let sent = self.sender.join().unwrap_or_default();
        let all = self.requests;
        let lost = all.saturating_sub(sent.taken);
        let why = sent.last_error.unwrap_or_else(|| "it is too slow".to_owned());
        let url = &self.endpoint.url;
        (lost > 0).then(|| format!("{lost} of {all} requests with metrics did not reach {url}: {why}"))
    }

    /// Puts what was counted up to this instant into the queue.
    fn tell(&mut self, to_ns: u64) {
        let at = |ns: u64| self.started_unix_ns.saturating_add(ns);
        let span = Span { from_unix_ns: at(self.told_to_ns), to_unix_ns: at(to_ns) };
        self.told_to_ns = to_ns;
        let counted = self.delta.take();
        let request = request(families(&counted), span);
        self.requests += 1;
        // What does not fit is lost, and told at the end.
        let _ = self.queue.try_send(request.into());
    }
}

impl Observer for Otlp {
    fn begins(
        &mut self,
        header: &Header,
        schedule_end_ns: Option<u64>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.started_unix_ns = header.started_unix_ns;
        self.delta.begin(header, schedule_end_ns);
        Ok(())
    }

    fn passed(&mut self, live: &Live<'_>) {
        self.delta.pass(live);
    }

    fn settled(&mut self, interval: &Interval) {
        self.delta.settle(interval);
        self.tell(interval.to_ns);
    }

    fn sampled(&mut self, interval: &Interval) {
        self.delta.sample(interval);
    }

    fn idle(&mut self, digest: &Digest) {
        if self.delta.is_behind(digest) {
            self.delta.judge(digest);
        }
    }
}

/// Metrics cannot be sent.
#[derive(Debug, thiserror::Error)]
#[error("cannot send metrics to {url}: {source}; name a receiver of OTLP with --otlp")]
pub struct OtlpError {
    url: Masked,
    source: io::Error,
}

/// Sends requests until there are no more, or until a few seconds after the end of the run: whatever the receiver does
/// meanwhile, even within an exchange, ends then.
async fn send_all(
    waiting: mpsc::Receiver<Bytes>,
    to: OtlpEndpoint,
    address: SocketAddr,
    ended: oneshot::Receiver<()>,
) -> Sent {
    let sent = Arc::<Mutex<Sent>>::default();
    let mut sending = tokio::spawn(send_each(waiting, to, address, Arc::clone(&sent)));
    // An error is the end of the one who could tell it.
    let _ = ended.await;
    if tokio::time::timeout(LAST_WAIT, &mut sending).await.is_err() {
        sending.abort();
        lock(&sent).last_error.get_or_insert_with(|| TOO_LATE.to_owned());
    }
    std::mem::take(&mut lock(&sent))
}

async fn send_each(
    mut waiting: mpsc::Receiver<Bytes>,
    to: OtlpEndpoint,
    address: SocketAddr,
    sent: Arc<Mutex<Sent>>,
) {
    while let Some(request) = waiting.recv().await {
        loop {
            let exchange = tokio::time::timeout(LONGEST_EXCHANGE, post(request.clone(), &to, address));
            match exchange.await.unwrap_or_else(|_| Err(NotTaken::later(TOO_LATE))) {
                Ok(()) => {
                    lock(&sent).taken += 1;
                    break;
                }
                Err(NotTaken { why, may_come_again }) => {
                    lock(&sent).last_error = Some(why);
                    if !may_come_again {
                        break;
                    }
                    tokio::time::sleep(BEFORE_THE_NEXT_TRY).await;
                }
            }
        }
    }
}

fn lock(sent: &Mutex<Sent>) -> MutexGuard<'_, Sent> {
    sent.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a receiver has not taken a request.
struct NotTaken {
    why: String,
    may_come_again: bool,
}

impl NotTaken {
    fn later(why: impl ToString) -> NotTaken {
        NotTaken { why: why.to_string(), may_come_again: true }
    }

    fn never(why: impl ToString) -> NotTaken {
        NotTaken { why: why.to_string(), may_come_again: false }
    }
}

async fn post(metrics: Bytes, to: &OtlpEndpoint, address: SocketAddr) -> Result<(), NotTaken> {
    let stream = TcpStream::connect(address).await.map_err(NotTaken::later)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(NotTaken::later)?;
    // Its errors are those of the request.
    tokio::spawn(connection);
    let authorization = to.authorization.iter().map(|it| (header::AUTHORIZATION, it.exposed()));
    let request = authorization
        .fold(Request::post(to.path.exposed()), |request, (name, value)| request.header(name, value))
        .header(header::HOST, &to.authority)
        .header(header::CONTENT_TYPE, "application/x-protobuf")
        .body(Full::new(metrics))
        .map_err(NotTaken::never)?;
    let response = sender.send_request(request).await.map_err(NotTaken::later)?;
    let status = response.status();
    if !status.is_success() {
        let not_taken = NotTaken::later(format!("it answered with the HTTP status {}", status.as_u16()));
        return Err(NotTaken { may_come_again: COME_AGAIN.contains(&status), ..not_taken });
    }
    let body = Limited::new(response.into_body(), LONGEST_RESPONSE_BYTES).collect().await;
    let body = body.map_err(NotTaken::never)?.to_bytes();
    let partial = ExportMetricsServiceResponse::decode(body).ok().and_then(|taken| taken.partial_success);
    match partial.filter(|partial| partial.rejected_data_points > 0) {
        Some(partial) => Err(NotTaken::never(format!(
            "it rejected {} data points: {}",
            partial.rejected_data_points, partial.error_message
        ))),
        None => Ok(()),
    }
}

/// The statuses that OTLP names for a second try.
const COME_AGAIN: [StatusCode; 4] = [
    StatusCode::TOO_MANY_REQUESTS,
    StatusCode::BAD_GATEWAY,
    StatusCode::SERVICE_UNAVAILABLE,
    StatusCode::GATEWAY_TIMEOUT,
];

/// Requests that wait for the receiver: minutes of them, and a few hundred kB.
const LONGEST_QUEUE: usize = 256;

const LONGEST_EXCHANGE: Duration = Duration::from_secs(5);

const BEFORE_THE_NEXT_TRY: Duration = Duration::from_millis(200);

const TOO_LATE: &str = "no response in time";

/// How long the end of a run waits for the receiver, at most.
const LAST_WAIT: Duration = Duration::from_secs(3);

const LONGEST_RESPONSE_BYTES: usize = 64 << 10;
