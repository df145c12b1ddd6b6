//! The UDP side: from the sockets into transit, and out of it again.
//!
//! ```text
//!             one socket for all clients                 a socket for each client
//!  client ──► receive ──► transit to the server ──────► send, by client ──────────► server
//!         ◄── send, by address ◄───── transit to the client ◄─── receive ◄──────────
//! ```
//!
//! What is due at about the same time is sent together: equal lengths to one place in one pass through the kernel. The
//! order of the datagrams of one client stays.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use dnsdyno_sys::clock::monotonic_ns;
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::socket as sys_socket;
use dnsdyno_sys::udp::{Addresses, Messages, Receiver, Sender};

use crate::relay::arrival::{ArrivalClock, Look};
use crate::relay::clients::Clients;
use crate::relay::counts::{RelayCounts, WayCounts};
use crate::relay::store::Place;
use crate::relay::toward::Toward;
use crate::relay::transit::Transit;

/// All UDP sockets.
pub(crate) struct UdpSide {
    listen: UdpSocket,
    listen_drops: u64,
    pub(crate) clients: Clients,
    clock: ArrivalClock,
    receiver: Receiver,
    /// By direction: what cannot be cut on one way may be on the other.
    senders: [Sender; 2],
    outgoing: [Vec<Outgoing>; 2],
    outbox: Outbox,
    /// Octets of the headers of IP and UDP, by direction.
    header_octets: [usize; 2],
}

/// A datagram that is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) client: u32,
    pub(crate) place: Place,
    pub(crate) due_ns: u64,
    pub(crate) is_copy: bool,
}

/// Datagrams to be sent in one call, back to back.
#[derive(Default)]
struct Outbox {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    addresses: Vec<Addresses>,
}

impl UdpSide {
    pub(crate) fn new(listen: UdpSocket, server: SocketAddr, clients: Clients) -> io::Result<UdpSide> {
        sys_socket::join_received(&listen);
        sys_socket::stamp_arrivals(&listen);
        let can_segment = sys_socket::can_segment(&listen);
        let header_octets = |address: SocketAddr| if address.is_ipv4() { HEADERS_V4 } else { HEADERS_V6 };
        Ok(UdpSide {
            listen_drops: 0,
            clients,
            clock: ArrivalClock::default(),
            receiver: Receiver::new(RECEIVE_BATCH),
            senders: [Sender::new(SEND_BATCH, can_segment), Sender::new(SEND_BATCH, can_segment)],
            outgoing: [Vec::with_capacity(MOST_OUTGOING), Vec::with_capacity(MOST_OUTGOING)],
            outbox: Outbox::default(),
            header_octets: [header_octets(server), header_octets(listen.local_addr()?)],
            listen,
        })
    }

    pub(crate) fn listener(&self) -> &UdpSocket {
        &self.listen
    }

    /// Takes in what clients have sent.
    pub(crate) fn receive_from_clients(
        &mut self,
        transit: &mut Transit,
        poller: &Poller,
        counts: &mut RelayCounts,
    ) -> io::Result<()> {
        self.receiver.receive(&self.listen)?;
        let look = self.clock.look();
        let way = &mut counts.to_server.datagrams;
        let mut of_piece: (usize, Option<u32>) = (usize::MAX, None);
        for (piece, packet) in self.receiver.packets() {
            way.received += 1;
            way.octets += packet.len() as u64;
            if of_piece.0 != piece {
                let found = self.receiver.addresses(piece).map(|addresses| {
                    let booked = (&mut counts.clients, &mut counts.kernel_drops);
                    self.clients.of_addresses(addresses, look.now_ns, poller, booked)
                });
                of_piece = (piece, found.and_then(|found| found.ok().flatten()));
            }
            let Some((number, client)) =
                of_piece.1.and_then(|number| Some((number, self.clients.get(number)?)))
            else {
                way.no_socket += 1;
                continue;
            };
            let arrival_ns = look.arrival_ns(self.receiver.arrival_wall_ns(piece));
            client.seen_ns = look.now_ns;
            let packet = (packet, self.header_octets[Toward::Server.index()]);
            client.held += transit.take(Toward::Server, number, arrival_ns, packet, way);
        }
        Ok(())
    }

    /// Takes in what the server has sent to the client of this token.
    pub(crate) fn receive_from_server(
        &mut self,
        token: u64,
        transit: &mut Transit,
        counts: &mut RelayCounts,
    ) {
        let Some((number, client)) = self.clients.of_token(token) else { return };
        if self.receiver.receive(&client.socket).is_err() {
            // An ICMP error. No datagram of ours can tell the client.
            counts.to_server.datagrams.refused += 1;
            return;
        }
        let look: Look = self.clock.look();
        let way = &mut counts.to_client.datagrams;
        for (piece, packet) in self.receiver.packets() {
            way.received += 1;
            way.octets += packet.len() as u64;
            let arrival_ns = look.arrival_ns(self.receiver.arrival_wall_ns(piece));
            let packet = (packet, self.header_octets[Toward::Client.index()]);
            client.held += transit.take(Toward::Client, number, arrival_ns, packet, way);
            client.answered += 1;
        }
        client.seen_ns = look.now_ns;
    }

    /// Adds a datagram that is due; sends when as many wait as are sent together.
    #[inline]
    pub(crate) fn add(
        &mut self,
        toward: Toward,
        outgoing: Outgoing,
        transit: &mut Transit,
        counts: &mut RelayCounts,
    ) {
        let waiting = &mut self.outgoing[toward.index()];
        waiting.push(outgoing);
        if waiting.len() >= MOST_OUTGOING {
            self.send(transit, counts);
        }
    }

    /// Sends all that is due.
    pub(crate) fn send(&mut self, transit: &mut Transit, counts: &mut RelayCounts) {
        let mut waiting = std::mem::take(&mut self.outgoing[Toward::Client.index()]);
        for some in waiting.chunks(SEND_BATCH) {
            self.send_some(Toward::Client, some, transit, &mut counts.to_client);
        }
        waiting.clear();
        self.outgoing[Toward::Client.index()] = waiting;

        let mut waiting = std::mem::take(&mut self.outgoing[Toward::Server.index()]);
        // A stable sort: the order of each client stays. It is sorted already where there is one client.
        waiting.sort_by_key(|outgoing| outgoing.client);
        for of_client in waiting.chunk_by(|a, b| a.client == b.client) {
            for some in of_client.chunks(SEND_BATCH) {
                self.send_some(Toward::Server, some, transit, &mut counts.to_server);
            }
        }
        waiting.clear();
        self.outgoing[Toward::Server.index()] = waiting;
    }

    /// Counts what the kernel has dropped at the socket of all clients.
    pub(crate) fn count_drops(&mut self, kernel_drops: &mut u64) {
        let drops = sys_socket::drops(&self.listen).unwrap_or(self.listen_drops);
        *kernel_drops += drops.saturating_sub(self.listen_drops);
        self.listen_drops = drops;
    }

    /// Sends datagrams to clients, or those of one client to the server.
    fn send_some(&mut self, toward: Toward, some: &[Outgoing], transit: &mut Transit, way: &mut WayCounts) {
        self.outbox.clear();
        for outgoing in some {
            self.outbox.bytes.extend_from_slice(transit.store().get(outgoing.place));
            self.outbox.ends.push(self.outbox.bytes.len() as u32);
            transit.store().free(outgoing.place);
            let client = self.clients.get(outgoing.client);
            self.outbox.addresses.extend(client.as_ref().map(|client| client.addresses));
            if let Some(client) = client {
                client.held = client.held.saturating_sub(1);
            }
        }
        let Some(client) = some.first().and_then(|first| self.clients.get(first.client)) else { return };
        let sender = &mut self.senders[toward.index()];
        let (mut first, mut tries) = (0, 0);
        while first < some.len() {
            let messages = Messages::new(&self.outbox.bytes, &self.outbox.ends).skip(first);
            let sent = match toward {
                Toward::Server => sender.send(&client.socket, messages),
                Toward::Client => sender.send_to(&self.listen, messages, &self.outbox.addresses[first..]),
            };
            let sent_ns = monotonic_ns();
            for outgoing in &some[first..first + sent.accepted] {
                way.late.record(sent_ns.saturating_sub(outgoing.due_ns));
                let count = match outgoing.is_copy {
                    true => &mut way.datagrams.duplicated,
                    false => &mut way.datagrams.passed,
                };
                *count += 1;
            }
            if toward == Toward::Server {
                client.asked += sent.accepted as u64;
            }
            first += sent.accepted;
            tries = if sent.accepted > 0 { 0 } else { tries + 1 };
            let Some(error) = sent.error else { break };
            match error.kind() {
                io::ErrorKind::WouldBlock if tries < SEND_TRIES => std::thread::sleep(SEND_PAUSE),
                // The error of an earlier datagram, which this call was told of.
                io::ErrorKind::ConnectionRefused | io::ErrorKind::HostUnreachable if tries < SEND_TRIES => {
                    way.datagrams.refused += 1;
                }
                _ => {
                    let is_copy = some.get(first).is_some_and(|outgoing| outgoing.is_copy);
                    way.datagrams.send_errors += u64::from(!is_copy);
                    first += 1;
                }
            }
        }
    }
}

impl Outbox {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.addresses.clear();
    }
}

/// Pieces a receive call: with UDP GRO each may hold 64 datagrams.
const RECEIVE_BATCH: usize = 32;

/// Datagrams a send call: few enough that the first does not wait for the last.
const SEND_BATCH: usize = 64;

/// Datagrams of a direction that are gathered before they are sent.
const MOST_OUTGOING: usize = 256;

/// Octets of the headers of IP and UDP.
const HEADERS_V4: usize = 20 + 8;
const HEADERS_V6: usize = 40 + 8;

/// A full send buffer empties at the speed of the interface: tried again for a millisecond.
const SEND_TRIES: u32 = 20;
const SEND_PAUSE: Duration = Duration::from_micros(50);
