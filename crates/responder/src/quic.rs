//! Serves DNS over QUIC (RFC 9250) or over HTTP/3 (RFC 8484, RFC 9114): one thread, one socket, many connections, a
//! query on each stream.
//!
//! ```text
//!  recvmmsg ──► QUIC, which knows the connection ──► streams ──► intake ──► due now ──► stream
//!                            │                                     │                      ▲
//!  sendmmsg ◄── packets ◄────┘◄─── timers ◄── queue ◄──────────────┴──► due later ────────┘
//! ```
//!
//! The library makes and reads packets and says when it wants to be called again; sockets and clocks are
//! ours. What violates RFC 9250 (an ID other than 0, several messages on a stream, a message that is not
//! a query) closes its connection with DOQ_PROTOCOL_ERROR. Over HTTP/3 what is not a query gets a status (`http`).
//!
//! The library does not report that a session was resumed: the ticket store notes that it found one.
//! Early data needs sessions that are kept here, where plain tickets need nothing, because the TLS
//! library accepts early data only once for a ticket.

mod connection;
mod ending;
mod http;
mod outbox;
mod query;
mod responses;
mod settings;

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bytes::BytesMut;
use dnsdyno_sys::clock::monotonic_ns;
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::socket;
use dnsdyno_sys::thread::set_timer_slack_ns;
use dnsdyno_sys::udp::{Addresses, Receiver, Sender};
use quinn_proto::{
    ConnectionError, ConnectionHandle, ConnectionId, DatagramEvent, Endpoint, EndpointConfig, Event,
    Incoming, StreamEvent, StreamId, VarInt,
};

use crate::book::Side;
use crate::faults::{ConnectionFault, Fault, KEEP_BACK_NS};
use crate::intake::{Intake, Unanswered};
use crate::queue::DelayQueue;
use crate::shared::SharedBook;
use crate::tls::QuicTls;
use connection::{Connection, KeptBack, Progress, Response};
use ending::End;
use outbox::Outbox;
use query::Query;
use responses::{breaks_rules, note_status, refuse};
pub(crate) use settings::{QuicSettings, protocol_of};

/// Serves one UDP socket with QUIC.
pub(crate) struct QuicServer {
    socket: UdpSocket,
    endpoint: Endpoint,
    tls: QuicTls,
    intake: Intake,
    book: Arc<SharedBook>,
    stop: Arc<AtomicBool>,
    settings: QuicSettings,
    poller: Poller,
    receiver: Receiver,
    sender: Sender,
    outbox: Outbox,
    connections: HashMap<ConnectionHandle, Connection>,
    next_serial: u64,
    queue: DelayQueue<Due>,
    held_bytes: usize,
    /// Connections to be processed in this round.
    touched: Vec<ConnectionHandle>,
    /// First packets that get no response, however often they are retransmitted.
    withheld: HashSet<ConnectionId>,
    /// The same instant on both clocks.
    epoch: (Instant, u64),
    frame: Vec<u8>,
}

/// What is due at an instant.
enum Due {
    /// A response.
    Answer { handle: ConnectionHandle, serial: u64, response: Response },
    /// A timer of a connection.
    Timer { handle: ConnectionHandle, serial: u64 },
}

impl QuicServer {
    pub(crate) fn new(
        socket: UdpSocket,
        tls: QuicTls,
        intake: Intake,
        book: Arc<SharedBook>,
        stop: Arc<AtomicBool>,
        settings: QuicSettings,
    ) -> io::Result<QuicServer> {
        let poller = Poller::new(1)?;
        poller.add(&socket, 0)?;
        socket::join_received(&socket);
        let sender = Sender::new(outbox::SEND_BATCH, socket::can_segment(&socket));
        let config = Arc::new(EndpointConfig::default());
        let endpoint = Endpoint::new(config, Some(Arc::clone(&tls.config)), true, None);
        Ok(QuicServer {
            socket,
            endpoint,
            tls,
            intake,
            book,
            stop,
            settings,
            poller,
            receiver: Receiver::new(RECEIVE_BATCH),
            sender,
            outbox: Outbox::default(),
            connections: HashMap::new(),
            next_serial: 0,
            queue: DelayQueue::new(),
            held_bytes: 0,
            touched: Vec::new(),
            withheld: HashSet::new(),
            epoch: (Instant::now(), monotonic_ns()),
            frame: Vec::new(),
        })
    }

    /// Serves until it is stopped; then closes all connections.
    pub(crate) fn run(mut self) {
        // Without it, responses are sent up to 50 µs later.
        let _ = set_timer_slack_ns(1);
        while !self.stop.load(Ordering::Relaxed) {
            if let Err(error) = self.round() {
                self.book
                    .write()
                    .failures
                    .push(format!("the {} socket failed: {error}", self.settings.transport));
                break;
            }
        }
        let shared = Arc::clone(&self.book);
        let mut book = shared.write();
        let side = book.side_mut(self.settings.transport);
        let held = std::iter::from_fn(|| self.queue.pop_due(u64::MAX));
        let held = held.filter(|due| matches!(due, Due::Answer { .. })).count();
        for connection in self.connections.values_mut().filter(|connection| !connection.is_over) {
            side.counts.held_at_stop += connection.unsent() as u64;
            side.connections.open_at_stop += 1;
            connection.close(Instant::now(), connection.codes.no_error);
            self.outbox.take_packets(&mut connection.quic);
        }
        side.counts.held_at_stop += held as u64;
        self.outbox.send(&mut self.sender, &self.socket);
    }

    /// Processes what was received and what is due, sends, and waits where there was nothing.
    fn round(&mut self) -> io::Result<()> {
        let shared = Arc::clone(&self.book);
        let mut book = shared.write();
        let side = book.side_mut(self.settings.transport);
        let received = self.receive(side)?;
        let had_due = self.process_due(side);
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable_by_key(|handle| handle.0);
        touched.dedup();
        for handle in touched.drain(..) {
            self.progress(handle, side);
        }
        self.touched = touched;
        self.outbox.send(&mut self.sender, &self.socket);
        drop(book);
        if received > 0 || had_due {
            return Ok(());
        }
        let due_in_ns =
            self.queue.next_due_ns().map_or(u64::MAX, |due_ns| due_ns.saturating_sub(monotonic_ns()));
        if due_in_ns > SPIN_NS {
            let _ready = self.poller.wait(Some((due_in_ns - SPIN_NS).min(STOP_CHECK_NS)))?;
        }
        Ok(())
    }

    fn receive(&mut self, side: &mut Side) -> io::Result<usize> {
        let received = self.receiver.receive(&self.socket)?;
        if received == 0 {
            return Ok(0);
        }
        let now = Instant::now();
        // QUIC takes ownership of its packets, so they have to be copied.
        let packets: Vec<(Addresses, BytesMut)> = self
            .receiver
            .packets()
            .filter_map(|(piece, packet)| Some((self.receiver.addresses(piece)?, BytesMut::from(packet))))
            .collect();
        let mut reply = Vec::new();
        for (Addresses { peer, local }, packet) in packets {
            reply.clear();
            match self.endpoint.handle(now, peer, local, None, packet, &mut reply) {
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    let Some(connection) = self.connections.get_mut(&handle) else { continue };
                    self.tls.resumed.store(false, Ordering::Relaxed);
                    connection.quic.handle_event(event);
                    connection.is_resumed |= self.tls.resumed.load(Ordering::Relaxed);
                    self.touched.push(handle);
                }
                Some(DatagramEvent::NewConnection(incoming)) => self.accept(incoming, now, side),
                Some(DatagramEvent::Response(transmit)) => self.outbox.push(&transmit, &reply),
                None => {}
            }
        }
        Ok(received)
    }

    fn accept(&mut self, incoming: Incoming, now: Instant, side: &mut Side) {
        let id = *incoming.orig_dst_cid();
        if self.withheld.contains(&id) {
            return self.endpoint.ignore(incoming);
        }
        let book = &mut side.connections;
        book.accepted += 1;
        let mut reply = Vec::new();
        if self.connections.len() >= self.settings.connections_max {
            book.turned_away += 1;
            let transmit = self.endpoint.refuse(incoming, &mut reply);
            return self.outbox.push(&transmit, &reply);
        }
        let fault = self.intake.decide_connection();
        if fault == Some(ConnectionFault::NoHandshake) {
            book.handshakes_withheld += 1;
            // No event will report that the client gives up.
            book.handshakes_failed += 1;
            if self.withheld.len() >= MOST_WITHHELD {
                self.withheld.clear();
            }
            self.withheld.insert(id);
            return self.endpoint.ignore(incoming);
        }
        let config = (fault == Some(ConnectionFault::TlsAlert)).then(|| Arc::clone(&self.tls.refusing));
        self.tls.resumed.store(false, Ordering::Relaxed);
        match self.endpoint.accept(incoming, now, &mut reply, config) {
            Ok((handle, quic)) => {
                let mut connection =
                    Connection::new(quic, self.settings.transport, self.next_serial, monotonic_ns());
                self.next_serial += 1;
                connection.fault = fault;
                connection.is_resumed = self.tls.resumed.load(Ordering::Relaxed);
                book.silent += u64::from(fault == Some(ConnectionFault::Silent));
                self.connections.insert(handle, connection);
                self.touched.push(handle);
            }
            Err(error) => {
                match fault {
                    Some(ConnectionFault::TlsAlert) => book.tls_alerts += 1,
                    _ => book.handshakes_failed += 1,
                }
                if let Some(transmit) = error.response {
                    self.outbox.push(&transmit, &reply);
                }
            }
        }
    }

    /// Processes everything that is due; true where there was anything.
    fn process_due(&mut self, side: &mut Side) -> bool {
        let now_ns = monotonic_ns();
        let mut did = false;
        while let Some(due) = self.queue.pop_due(now_ns) {
            did = true;
            match due {
                Due::Answer { handle, serial, response } => {
                    self.held_bytes -= response.frame.len();
                    let found = self.connections.remove(&handle).filter(|found| found.serial == serial);
                    let Some(mut connection) = found else {
                        side.counts.lost_with_connection += 1;
                        continue;
                    };
                    connection.held -= 1;
                    if connection.is_over || self.has_answered_enough(&connection) {
                        side.counts.lost_with_connection += 1;
                    } else {
                        self.push(&mut connection, response, now_ns, side);
                    }
                    self.connections.insert(handle, connection);
                    self.touched.push(handle);
                }
                Due::Timer { handle, serial } => {
                    let Some(connection) = self.connections.get_mut(&handle) else { continue };
                    if connection.serial != serial || connection.timer_ns.is_none_or(|at| at > now_ns) {
                        continue;
                    }
                    connection.timer_ns = None;
                    let now = Instant::now();
                    if connection.quic.poll_timeout().is_some_and(|at| at <= now) {
                        connection.quic.handle_timeout(now);
                    }
                    self.touched.push(handle);
                }
            }
        }
        did
    }

    /// Processes a connection: events, responses, packets, timers.
    fn progress(&mut self, handle: ConnectionHandle, side: &mut Side) {
        let Some(mut connection) = self.connections.remove(&handle) else { return };
        let now_ns = monotonic_ns();
        while let Some(event) = connection.quic.poll() {
            self.take_event(handle, &mut connection, event, now_ns, side);
        }
        if let Some(kept) = connection.kept_back.take_if(|kept| kept.until_ns <= now_ns) {
            self.begin(&mut connection, kept.response, now_ns, side);
        }
        self.write_all(&mut connection, now_ns, side);
        let is_enough = self.has_answered_enough(&connection);
        let is_answered = is_enough && connection.writing.is_empty() && connection.unacknowledged == 0;
        if is_answered || (connection.is_gone() && connection.is_idle()) {
            let code = connection.codes.no_error;
            self.end(&mut connection, End::OnCommand, Some(code), side);
        }
        if let Some(http) = &mut connection.http {
            http.write_control(&mut connection.quic);
        }
        self.outbox.take_packets(&mut connection.quic);
        while let Some(event) = connection.quic.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(handle, event) {
                connection.quic.handle_event(event);
            }
        }
        if connection.quic.is_drained() {
            return;
        }
        let (epoch, epoch_ns) = self.epoch;
        let next_ns = connection.next_ns(|at| {
            epoch_ns + u64::try_from(at.saturating_duration_since(epoch).as_nanos()).unwrap_or(u64::MAX / 2)
        });
        if let Some(next_ns) = next_ns
            && connection.timer_ns.is_none_or(|known_ns| known_ns > next_ns)
        {
            connection.timer_ns = Some(next_ns);
            self.queue.push(next_ns, Due::Timer { handle, serial: connection.serial });
        }
        self.connections.insert(handle, connection);
    }

    fn take_event(
        &mut self,
        handle: ConnectionHandle,
        connection: &mut Connection,
        event: Event,
        now_ns: u64,
        side: &mut Side,
    ) {
        match event {
            Event::Connected => {
                connection.is_connected = true;
                side.handshake.record(now_ns.saturating_sub(connection.accepted_ns));
                let book = &mut side.connections;
                match (connection.is_resumed, connection.quic.has_0rtt()) {
                    (true, true) => book.handshakes_early += 1,
                    (true, false) => book.handshakes_resumed += 1,
                    _ => book.handshakes_full += 1,
                }
            }
            Event::ConnectionLost { reason } => {
                let end = match reason {
                    ConnectionError::TimedOut => End::Idle,
                    ConnectionError::Reset => End::Lost,
                    ConnectionError::ApplicationClosed(_) | ConnectionError::ConnectionClosed(_) => {
                        End::ByClient
                    }
                    _ => End::Rules,
                };
                self.end(connection, end, None, side);
            }
            Event::Stream(StreamEvent::Opened { dir }) => {
                while let Some(stream) = connection.quic.streams().accept(dir) {
                    self.read(handle, connection, stream, now_ns, side);
                }
            }
            Event::Stream(StreamEvent::Readable { id }) => self.read(handle, connection, id, now_ns, side),
            Event::Stream(StreamEvent::Finished { id: _ }) => {
                connection.unacknowledged = connection.unacknowledged.saturating_sub(1);
            }
            Event::Stream(StreamEvent::Stopped { id, .. }) => {
                if connection.writing.remove(&id).is_some() {
                    side.counts.lost_with_connection += 1;
                } else {
                    connection.unacknowledged = connection.unacknowledged.saturating_sub(1);
                }
                // Otherwise the stream would count towards the streams that the client may
                // open.
                connection.reset(id);
            }
            // Whether a stream accepts more is tried at the end of each round.
            _ => {}
        }
    }

    /// Reads a stream, and answers its query when that is complete.
    fn read(
        &mut self,
        handle: ConnectionHandle,
        connection: &mut Connection,
        stream: StreamId,
        now_ns: u64,
        side: &mut Side,
    ) {
        if connection.is_over || self.has_answered_enough(connection) {
            return;
        }
        let message = match connection.read(stream) {
            Query::Nothing => return,
            Query::Error(code) => return self.end(connection, End::Rules, Some(code), side),
            Query::Refused(status) => return refuse(connection, stream, status, side),
            Query::Message(message) => message,
        };
        if !std::mem::replace(&mut connection.is_asked, true) {
            side.first_query.record(now_ns.saturating_sub(connection.accepted_ns));
        }
        side.counts.early += u64::from(!connection.is_connected);
        if connection.fault == Some(ConnectionFault::Silent) {
            side.counts.received += 1;
            side.counts.silenced += 1;
            return;
        }
        self.frame.clear();
        let taken = match self.intake.process(&message, now_ns, side, &mut self.frame) {
            Err(Unanswered::Dropped) => return,
            Err(Unanswered::NotAQuery) if connection.http.is_some() => {
                return refuse(connection, stream, 400, side);
            }
            Err(Unanswered::NotAQuery) => {
                let code = connection.codes.protocol_error;
                return self.end(connection, End::Rules, Some(code), side);
            }
            Ok(_) if connection.http.is_none() && breaks_rules(&message) => {
                side.counts.lost_with_connection += 1;
                let code = connection.codes.protocol_error;
                return self.end(connection, End::Rules, Some(code), side);
            }
            Ok(taken) => taken,
        };
        let frame = responses::response(connection, &self.frame, taken.info.fault);
        let held_bytes = self.held_bytes + frame.len();
        let response = Response { stream, frame, info: taken.info };
        if taken.due_ns <= now_ns {
            self.push(connection, response, now_ns, side);
        } else if held_bytes > HELD_BYTES {
            side.counts.over_bound += 1;
        } else {
            self.held_bytes = held_bytes;
            connection.held += 1;
            self.queue.push(taken.due_ns, Due::Answer { handle, serial: connection.serial, response });
        }
    }

    /// Responds as the fault demands, or lets another response be sent first.
    fn push(&mut self, connection: &mut Connection, response: Response, now_ns: u64, side: &mut Side) {
        if response.info.fault == Some(Fault::Reorder) && connection.kept_back.is_none() {
            connection.kept_back = Some(KeptBack { response, until_ns: now_ns + KEEP_BACK_NS });
            return;
        }
        self.begin(connection, response, now_ns, side);
        if let Some(kept) = connection.kept_back.take() {
            side.counts.reordered += 1;
            self.begin(connection, kept.response, now_ns, side);
        }
    }

    fn begin(&mut self, connection: &mut Connection, response: Response, now_ns: u64, side: &mut Side) {
        let Response { stream, frame, info } = &response;
        connection.answers += 1;
        let code = connection.codes.internal_error;
        if connection.http.is_some() {
            note_status(info.fault, side);
        }
        match info.fault {
            Some(Fault::StreamReset) => {
                connection.reset(*stream);
                side.book_sent(info, now_ns);
            }
            Some(Fault::Reset) => {
                side.book_sent(info, now_ns);
                self.end(connection, End::ResetOnCommand, Some(code), side);
            }
            Some(Fault::Cut) => {
                connection.begin_half(*stream, &frame[..frame.len() / 2]);
                // In a packet of its own: closing drops what has not been sent.
                self.outbox.take_packets(&mut connection.quic);
                side.book_sent(info, now_ns);
                self.end(connection, End::ResetOnCommand, Some(code), side);
            }
            Some(Fault::GoAway) => {
                let is_new = connection.http.as_mut().is_some_and(http::Http3::goaway);
                side.connections.goaways += u64::from(is_new);
                connection.begin(response, now_ns);
            }
            _ => connection.begin(response, now_ns),
        }
    }

    fn write_all(&mut self, connection: &mut Connection, now_ns: u64, side: &mut Side) {
        if connection.writing.is_empty() {
            return;
        }
        let streams: Vec<StreamId> = connection.writing.keys().copied().collect();
        for stream in streams {
            match connection.write(stream, now_ns) {
                Progress::Waits => continue,
                Progress::Done(info) => side.book_sent(&info, monotonic_ns()),
                Progress::Lost => side.counts.lost_with_connection += 1,
            }
            connection.writing.remove(&stream);
        }
    }

    /// Books the end of a connection, and closes it where there is a `code`.
    fn end(&mut self, connection: &mut Connection, end: End, code: Option<VarInt>, side: &mut Side) {
        if std::mem::replace(&mut connection.is_over, true) {
            return;
        }
        end.book(connection, &mut side.connections);
        side.counts.lost_with_connection += connection.unsent() as u64;
        connection.writing.clear();
        connection.kept_back = None;
        if let Some(code) = code {
            connection.close(Instant::now(), code);
        }
    }

    fn has_answered_enough(&self, connection: &Connection) -> bool {
        self.settings.close_after.is_some_and(|most| connection.answers >= most)
    }
}

/// Pieces in one receive call.
const RECEIVE_BATCH: usize = 32;

/// Bytes of held responses; further ones are dropped.
const HELD_BYTES: usize = 1 << 30;

/// The last microseconds before something is due are spent polling: waking takes about this long.
const SPIN_NS: u64 = 20_000;

/// How often the thread checks whether it is to stop.
const STOP_CHECK_NS: u64 = 20_000_000;

/// First packets that are remembered as not to be answered.
const MOST_WITHHELD: usize = 65_536;
