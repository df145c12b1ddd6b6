//! One query and its answer over a transport, and then a question for the server's identity.
//!
//! ```text
//!   first query ──► (again after a second over UDP, twice at most) ──► answer, or problem
//!   version.bind CH TXT with NSID ──► a response, or a short wait
//! ```

use std::net::SocketAddr;

use dnsdyno_engine::{Asked, Control};
use dnsdyno_measure::{
    ConnectFailure, ConnectionEnd, Explanation, HandshakeFailure, NotSentReason, StreamFailure,
};
use dnsdyno_sys::clock;
use dnsdyno_transport::{
    Batch, ConnectionEvent, Description, MessageKind, Peer, Sink, Stopped, Transport, Visitor, Wake,
};
use dnsdyno_wire::{HEADER_LEN, QueryForm, encode_name, patch_id, peek, same_question};

/// The question to send, and the transport to send it over.
#[derive(Clone, Copy)]
pub(super) struct Exchange<'a> {
    /// The query, with ID 0.
    pub(super) question: &'a [u8],
    pub(super) description: &'a Description,
    /// Ends the exchange.
    pub(super) control: &'a Control,
}

/// What came of it.
#[derive(Default)]
pub(super) struct Exchanged {
    pub(super) answer: Option<Answer>,
    /// How often the query was sent.
    pub(super) attempts: u32,
    /// Why there is no answer that can be used.
    pub(super) problem: Option<Problem>,
    /// The response to the question for the server's identity.
    pub(super) version: Option<Vec<u8>>,
    pub(super) peer: Option<Peer>,
}

/// An answer to the query.
pub(super) struct Answer {
    pub(super) bytes: Vec<u8>,
    /// When the query was first sent, before any handshake.
    sent_ns: u64,
    at_ns: u64,
}

impl Answer {
    /// From the first query to the answer.
    pub(super) fn took_ns(&self) -> u64 {
        self.at_ns.saturating_sub(self.sent_ns)
    }
}

/// Why there is no answer that can be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// An ICMP message came back.
    Refused,
    /// The connection could not be opened.
    NotConnected(ConnectFailure),
    /// The handshake failed; with what was behind it, where known.
    Handshake(HandshakeFailure, Option<String>),
    /// The connection ended without an answer.
    Closed(ConnectionEnd, Option<String>),
    /// The stream of the query ended without an answer.
    Stream(StreamFailure, Option<String>),
    /// The query could not be sent.
    NotSent(NotSentReason),
    /// Something came that is not a DNS response: its first bytes.
    NotDns(Vec<u8>),
    /// A DNS response came that is not an answer to this query.
    OtherAnswer,
    /// The answer comes from an address that was not asked, and a client takes no such answer.
    Elsewhere { from: SocketAddr },
    /// Nothing came within this time.
    NoAnswer { waited_ns: u64 },
}

impl Visitor for Exchange<'_> {
    type Out = Exchanged;

    fn visit<T: Transport + Send>(self, transports: Vec<T>) -> Exchanged {
        let Some(mut transport) = transports.into_iter().next() else { return Exchanged::default() };
        transport.begin(clock::monotonic_ns());
        let mut heard = Heard::default();
        let mut exchanged = Exchanged::default();
        let waited_ns = self.ask_until_answered(&mut transport, &mut heard, &mut exchanged.attempts);
        if heard.answer.is_some() {
            exchanged.version = ask_for_identity(&mut transport, &mut heard);
        }
        exchanged.peer = transport.peer();
        transport.finish(&mut heard);
        let explanations = transport.explanations();
        exchanged.answer = heard.answer;
        if exchanged.answer.is_none() {
            let problem = heard.problem.unwrap_or(Problem::NoAnswer { waited_ns });
            exchanged.problem = Some(explained(problem, &explanations));
        }
        exchanged
    }
}

impl Exchange<'_> {
    /// Sends the query until it is answered, or there is a problem, or it is in vain. Returns how long that took.
    fn ask_until_answered<T: Transport>(
        &self,
        transport: &mut T,
        heard: &mut Heard,
        attempts: &mut u32,
    ) -> u64 {
        let (most_attempts, each_ns) = match T::CONNECTS {
            // Its own timeouts end the attempt first, where they are shorter.
            true => {
                (1, self.description.handshake_timeout_ns.clamp(SECOND_NS, LONGEST_CONNECT_NS) + SECOND_NS)
            }
            false => (UDP_ATTEMPTS, SECOND_NS),
        };
        let begun_ns = transport.now_ns();
        heard.expected = self.question.get(HEADER_LEN..).unwrap_or_default().to_vec();
        heard.sent_ns = begun_ns;
        let is_over = |heard: &Heard| heard.is_over() || self.control.asked() != Asked::Nothing;
        while *attempts < most_attempts && !is_over(heard) {
            let until_ns = transport.now_ns() + each_ns;
            match send(transport, heard, self.question, QUERY_ID, until_ns) {
                true => *attempts += 1,
                false => break,
            }
            listen(transport, heard, until_ns, is_over);
        }
        transport.now_ns() - begun_ns
    }
}

/// Asks for `version.bind` with an NSID option. A server that does not respond delays the run by a short time only.
fn ask_for_identity<T: Transport>(transport: &mut T, heard: &mut Heard) -> Option<Vec<u8>> {
    const CHAOS: u16 = 3;
    const TXT: u16 = 16;
    let form = QueryForm { recursion_desired: false, nsid: true, class: CHAOS, ..QueryForm::default() };
    let (mut name, mut message) = (Vec::new(), Vec::new());
    encode_name(b"version.bind", &mut name).ok()?;
    form.encode(&name, TXT, &mut message);
    let until_ns = transport.now_ns() + IDENTITY_NS;
    if send(transport, heard, &message, VERSION_ID, until_ns) {
        listen(transport, heard, until_ns, |heard| heard.version.is_some() || heard.has_ended);
    }
    heard.version.take()
}

/// Sends one message, when the transport can. Returns whether it was accepted before `until_ns`.
fn send<T: Transport>(transport: &mut T, heard: &mut Heard, message: &[u8], id: u16, until_ns: u64) -> bool {
    let mut batch = Batch::new(1, message.len());
    patch_id(batch.push(message), id);
    loop {
        let channel = if T::CONNECTS { transport.next_client().map(|next| next.channel) } else { Ok(0) };
        let sent = channel.map(|channel| transport.send(channel, &batch));
        let why = match sent {
            Ok(sent) if sent.accepted > 0 => return true,
            Ok(sent) => sent.stopped.unwrap_or(Stopped::Full),
            Err(why) => Stopped::Later(why),
        };
        let is_over = transport.now_ns() >= until_ns || heard.has_ended;
        match why {
            Stopped::Failed(why) => _ = heard.problem.get_or_insert(Problem::NotSent(why)),
            Stopped::Later(why) if is_over => _ = heard.problem.get_or_insert(Problem::NotSent(why)),
            Stopped::Full if is_over => {}
            Stopped::Full | Stopped::Later(_) => {
                listen(transport, heard, transport.now_ns() + RETRY_NS, |heard| heard.has_ended);
                continue;
            }
        }
        return false;
    }
}

/// Receives until `until_ns`, or until `is_done`.
fn listen<T: Transport>(
    transport: &mut T,
    heard: &mut Heard,
    until_ns: u64,
    is_done: impl Fn(&Heard) -> bool,
) {
    loop {
        transport.receive(heard);
        let now_ns = transport.now_ns();
        if is_done(heard) || now_ns >= until_ns {
            return;
        }
        transport.wait(until_ns.min(now_ns + TURN_NS), Wake::ON_ARRIVAL);
    }
}

/// What has been heard from the server.
#[derive(Default)]
struct Heard {
    /// What follows the header of the query.
    expected: Vec<u8>,
    sent_ns: u64,
    answer: Option<Answer>,
    version: Option<Vec<u8>>,
    problem: Option<Problem>,
    /// Whether the connection has ended.
    has_ended: bool,
}

impl Heard {
    fn is_over(&self) -> bool {
        self.answer.is_some() || self.has_ended || self.problem.as_ref().is_some_and(Problem::is_final)
    }

    /// The first problem is the cause of those that follow.
    fn note(&mut self, problem: Problem) {
        self.problem.get_or_insert(problem);
    }

    fn hear(&mut self, at_ns: u64, bytes: &[u8]) {
        let Some(response) = peek(bytes).ok().filter(|response| response.is_response()) else {
            return self.note(Problem::NotDns(bytes[..bytes.len().min(SHOWN_BYTES)].to_vec()));
        };
        if response.id == VERSION_ID && self.answer.is_some() {
            self.version.get_or_insert(bytes.to_vec());
            return;
        }
        let asked = self.expected.get(..response.question.len()).unwrap_or_default();
        // An error may come without the question.
        if response.id == QUERY_ID && same_question(response.question, asked) {
            let sent_ns = self.sent_ns;
            self.answer.get_or_insert_with(|| Answer { bytes: bytes.to_vec(), sent_ns, at_ns });
        } else {
            self.note(Problem::OtherAnswer);
        }
    }
}

impl Problem {
    /// Whether waiting longer is in vain. Over UDP anybody may send anything: the answer may follow.
    fn is_final(&self) -> bool {
        !matches!(self, Problem::NotDns(_) | Problem::OtherAnswer)
    }
}

impl Sink for Heard {
    fn packet(&mut self, _channel: usize, at_ns: u64, bytes: &[u8]) {
        self.hear(at_ns, bytes);
    }

    fn refused(&mut self, _channel: usize, _at_ns: u64, _quoted: &[u8]) {
        self.note(Problem::Refused);
    }

    fn answer(
        &mut self,
        _channel: usize,
        at_ns: u64,
        _ready_ns: u64,
        _asked_ns: Option<u64>,
        bytes: &[u8],
    ) -> MessageKind {
        self.hear(at_ns, bytes);
        match self.problem {
            Some(Problem::NotDns(_)) => MessageKind::Malformed,
            Some(_) => MessageKind::Unmatched,
            None => MessageKind::Answer,
        }
    }

    fn connection(&mut self, _channel: usize, _at_ns: u64, event: ConnectionEvent) {
        match event {
            ConnectionEvent::NotOpened(why) | ConnectionEvent::Failed(why) => {
                self.note(Problem::NotConnected(why));
                self.has_ended = true;
            }
            ConnectionEvent::HandshakeFailed(why) => self.note(Problem::Handshake(why, None)),
            ConnectionEvent::Ended { end, .. } => {
                self.note(Problem::Closed(end, None));
                self.has_ended = true;
            }
            _ => {}
        }
    }

    fn stream_failed(&mut self, _channel: usize, id: u16, _sent_ns: u64, why: StreamFailure) -> bool {
        if id == QUERY_ID {
            self.note(Problem::Stream(why, None));
        }
        true
    }
}

/// The problem with what was behind it.
fn explained(problem: Problem, explanations: &[Explanation]) -> Problem {
    let words = |about: Explanation| {
        explanations.iter().find(|known| known.about == about.about).map(|known| known.words.clone())
    };
    match problem {
        Problem::Handshake(why, None) => Problem::Handshake(why, words(Explanation::of_handshake(why, ""))),
        Problem::Closed(end, None) => Problem::Closed(end, words(Explanation::of_end(end, ""))),
        Problem::Stream(why, None) => Problem::Stream(why, words(Explanation::of_stream(why, ""))),
        other => other,
    }
}

/// IDs of the two queries. Any would do: only one client is used, for one query at a time.
pub(super) const QUERY_ID: u16 = 0x3d01;
const VERSION_ID: u16 = 0x3d02;

const SECOND_NS: u64 = 1_000_000_000;

/// How often a query is sent over UDP, a second apart: a single loss is no reason not to start.
const UDP_ATTEMPTS: u32 = 3;

/// The longest wait for a connection and its handshake.
const LONGEST_CONNECT_NS: u64 = 5_000_000_000;

/// The longest wait for the server's identity.
const IDENTITY_NS: u64 = 200_000_000;

/// The pause before another attempt to send.
const RETRY_NS: u64 = 1_000_000;

/// The longest single wait, because a transport may have timers of its own.
const TURN_NS: u64 = 20_000_000;

/// Bytes kept of what is not DNS.
const SHOWN_BYTES: usize = 60;
