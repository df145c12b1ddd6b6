//! Links over a NATS broker.
//!
//! ```text
//!   dnsdyno.find                       who is there?  ──►  each agent answers: name, labels, version
//!   dnsdyno.agent.NAME.open            a coordinator wants a session with the agent
//!   dnsdyno.agent.NAME.SESSION.to      parts of frames for the agent
//!   dnsdyno.agent.NAME.SESSION.from    parts of frames for the coordinator
//! ```
//!
//! What a broker loses when it is restarted is sent again (`parts`), so a link over it is as whole as a pipe. A link
//! has no end of its own on the coordinator's side: who is silent is named there. An agent ends a session in which
//! nothing has come for half a minute.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use async_nats::connection::State;
use async_nats::{Client, Subscriber};
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_stream::StreamExt;

use crate::broker::Broker;
use crate::frame::Frame;
use crate::link::{Link, Receive, Send};
use crate::parts::{Came, HEAD, Outcome, Part, PartKind, Sent};
use crate::signing::Addressee;

/// How one side of a link behaves.
pub(crate) struct Side {
    /// The subject that the other side reads.
    pub(crate) subject: String,
    /// What it sends.
    pub(crate) subscriber: Subscriber,
    /// The link ends when nothing has come for so long.
    pub(crate) silent_for: Option<Duration>,
    /// Whether what comes is to end: the rest of this side's frames is still sent.
    pub(crate) stop: Option<watch::Receiver<bool>>,
}

/// Begins a side of a link.
pub(crate) fn begin(broker: &Broker, side: Side) -> Link {
    let (to, outgoing) = mpsc::channel(WAITING_FRAMES);
    let (incoming, from) = channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let inbox = Inbox { frames: Some(incoming), waiting: Arc::clone(&waiting) };
    let now = Instant::now();
    let carrier = Carrier {
        client: broker.client.clone(),
        side,
        sent: Sent::new(now),
        came: Came::default(),
        inbox,
        heard: now,
        has_ended: None,
    };
    broker.spawn(carrier.carry(outgoing));
    let receive = FromBroker { frames: from, waiting };
    Link { send: Box::new(ToBroker(to)), receive: Box::new(receive) }
}

/// The subject of one direction of a session.
pub(crate) fn subject(of: &Addressee, direction: Direction) -> String {
    let direction = match direction {
        Direction::To => "to",
        Direction::From => "from",
    };
    format!("dnsdyno.agent.{}.{}.{direction}", of.agent, of.session)
}

/// The direction of a subject, as the coordinator sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Direction {
    To,
    From,
}

struct ToBroker(mpsc::Sender<Frame>);

impl Send for ToBroker {
    fn send(&mut self, frame: &Frame) -> io::Result<()> {
        self.0.blocking_send(frame.clone()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

struct FromBroker {
    frames: Receiver<Result<Frame, String>>,
    waiting: Arc<AtomicUsize>,
}

impl Receive for FromBroker {
    fn receive(&mut self) -> io::Result<Option<Frame>> {
        let Ok(frame) = self.frames.recv() else { return Ok(None) };
        let frame = frame.map_err(io::Error::other)?;
        self.waiting.fetch_sub(frame.octets.len(), Ordering::Relaxed);
        Ok(Some(frame))
    }

    fn last_words(&mut self) -> String {
        "it has ended the session".to_owned()
    }
}

/// The frames that have come and are not taken.
struct Inbox {
    /// `None` once nothing more is taken.
    frames: Option<Sender<Result<Frame, String>>>,
    /// Octets of those that wait.
    waiting: Arc<AtomicUsize>,
}

impl Inbox {
    fn put(&mut self, frame: Frame) {
        self.waiting.fetch_add(frame.octets.len(), Ordering::Relaxed);
        if self.frames.as_ref().is_some_and(|frames| frames.send(Ok(frame)).is_err()) {
            self.frames = None;
        }
    }

    /// Whether the other side may send more: whoever takes the frames keeps up.
    fn has_room(&self) -> bool {
        self.frames.is_none() || self.waiting.load(Ordering::Relaxed) < MOST_WAITING
    }
}

/// What carries the frames of one side, on the thread of the connection.
struct Carrier {
    client: Client,
    side: Side,
    sent: Sent,
    came: Came,
    inbox: Inbox,
    /// When something came last.
    heard: Instant,
    /// When this side has ended.
    has_ended: Option<Instant>,
}

impl Carrier {
    async fn carry(mut self, mut outgoing: mpsc::Receiver<Frame>) {
        let mut looks = interval(LOOK_AGAIN);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let may_send = self.has_ended.is_none() && self.sent.has_room();
            tokio::select! {
                // In this order: what has come makes room for what is sent.
                biased;
                message = self.side.subscriber.next() => {
                    let Some(message) = message else { return };
                    if !self.take(&message.payload).await {
                        return;
                    }
                }
                frame = outgoing.recv(), if may_send => self.send(frame).await,
                _ = looks.tick() => {
                    if !self.look().await {
                        return;
                    }
                }
            }
        }
    }

    /// Sends a frame, or the end.
    async fn send(&mut self, frame: Option<Frame>) {
        let now = Instant::now();
        let parts = match frame {
            Some(frame) => {
                let longest = self.client.max_payload().clamp(HEAD + 1, LONGEST_PART);
                self.sent.frame(&frame, longest, now)
            }
            None => {
                self.has_ended = Some(now);
                vec![self.sent.end(now)]
            }
        };
        for part in parts {
            self.publish(part).await;
        }
    }

    async fn publish(&self, message: Vec<u8>) {
        // What cannot be sent now is sent again when it is missed.
        let _ = self.client.publish(self.side.subject.clone(), message.into()).await;
    }

    /// Takes what has come; false where the link has ended.
    async fn take(&mut self, message: &[u8]) -> bool {
        // Whoever may publish here can send anything: what is no part is nobody's.
        let Some(part) = Part::read(message) else { return true };
        let now = Instant::now();
        self.heard = now;
        match part.kind {
            PartKind::Acknowledged => self.sent.acknowledged(part.number, now),
            PartKind::Again => {
                for part in self.sent.again(part.number, now) {
                    self.publish(part).await;
                }
            }
            PartKind::Probe if self.inbox.has_room() => {
                let answer = self.came.probed(part.number);
                self.publish(answer).await;
            }
            PartKind::Probe => {}
            PartKind::More | PartKind::Last | PartKind::End => match self.came.part(part) {
                Ok(Outcome::Frame(frame)) => self.inbox.put(frame),
                Ok(Outcome::Missing(question)) => self.publish(question).await,
                Ok(Outcome::Ended) => {
                    self.acknowledge().await;
                    return false;
                }
                Ok(Outcome::Nothing) => {}
                Err(why) => {
                    self.inbox
                        .frames
                        .take()
                        .into_iter()
                        .for_each(|frames| drop(frames.send(Err(why.clone()))));
                    return false;
                }
            },
        }
        if self.came.owes_much() && self.inbox.has_room() {
            self.acknowledge().await;
        }
        // After its end this side waits for nothing but the acknowledgement.
        self.has_ended.is_none() || !self.sent.is_empty()
    }

    async fn acknowledge(&mut self) {
        if let Some(answer) = self.came.owed() {
            self.publish(answer).await;
        }
    }

    /// What is due now and then; false where the link has ended.
    async fn look(&mut self) -> bool {
        let now = Instant::now();
        if self.side.stop.as_ref().is_some_and(|stop| *stop.borrow()) {
            self.inbox.frames = None;
        }
        let is_silent = self.side.silent_for.is_some_and(|most| now.duration_since(self.heard) > most);
        let waits_in_vain = self.has_ended.is_some_and(|since| now.duration_since(since) > LINGERS);
        if is_silent || waits_in_vain {
            return false;
        }
        // Without a broker there is nobody to ask, and questions would only pile up.
        if self.client.connection_state() == State::Connected {
            if self.inbox.has_room() {
                self.acknowledge().await;
            }
            if let Some(question) = self.sent.probe(now) {
                self.publish(question).await;
            }
        }
        true
    }
}

/// Asks a subject, and takes the answers to a question for a while.
pub(crate) async fn ask(
    client: Client,
    subject: String,
    question: Vec<u8>,
    most: usize,
    within: Duration,
) -> Result<Vec<Vec<u8>>, String> {
    let inbox = client.new_inbox();
    let mut subscriber = client.subscribe(inbox.clone()).await.map_err(|error| error.to_string())?;
    let published = client.publish_with_reply(subject, inbox, question.into()).await;
    published.map_err(|error| error.to_string())?;
    let deadline = Instant::now() + within;
    let mut answers = Vec::new();
    while answers.len() < most
        && let Ok(Some(answer)) =
            timeout(deadline.saturating_duration_since(Instant::now()), subscriber.next()).await
    {
        // The broker says that nobody listens.
        if answer.status.is_some() {
            break;
        }
        answers.push(answer.payload.to_vec());
    }
    Ok(answers)
}

/// How often is looked what is due.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How long an end is waited for to be acknowledged.
const LINGERS: Duration = Duration::from_secs(2);

/// Frames between whoever sends and the connection: few, because clocks wait behind them.
const WAITING_FRAMES: usize = 4;

/// Octets of frames that wait to be taken; more are not acknowledged, and so not sent.
const MOST_WAITING: usize = 8 << 20;

/// Octets of a message, if the broker takes so many.
const LONGEST_PART: usize = 256 << 10;
