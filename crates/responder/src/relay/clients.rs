//! The UDP clients, each with a socket of its own towards the server, so that the server sees as many ports as there
//! are clients.
//!
//! Their number is bounded. A socket is closed when its client was idle for the timeout; where all are in use, also
//! that of a client to which every datagram was answered: a resolver asks each question from another port.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};

use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::socket as sys_socket;
use dnsdyno_sys::udp::Addresses;
use socket2::{Domain, Socket, Type};

use crate::relay::counts::ClientCounts;

/// All clients.
#[derive(Debug)]
pub(crate) struct Clients {
    server: SocketAddr,
    most: usize,
    idle_ns: u64,
    receive_buffer_octets: usize,
    by_addresses: HashMap<Addresses, u32>,
    slots: Vec<Option<Client>>,
    free: Vec<u32>,
    /// The clients by the instant at which they were last looked at, with that instant.
    line: VecDeque<(u64, u32)>,
    /// Clients are told apart from those that had their slot before.
    generation: u32,
    /// Which slot is asked for its drops next.
    look_at: usize,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Client {
    /// Its address, and the one of ours that it sends to.
    pub(crate) addresses: Addresses,
    /// Connected to the server.
    pub(crate) socket: UdpSocket,
    generation: u32,
    /// When something was last received from it or for it.
    pub(crate) seen_ns: u64,
    /// Datagrams on their way from it and to it.
    pub(crate) held: u32,
    /// Datagrams that the server was sent and that it has sent back.
    pub(crate) asked: u64,
    pub(crate) answered: u64,
    /// What the kernel has dropped at the socket, as far as it is counted.
    drops: u64,
}

impl Clients {
    pub(crate) fn new(
        server: SocketAddr,
        most: usize,
        idle_ns: u64,
        receive_buffer_octets: usize,
    ) -> Clients {
        Clients {
            server,
            most,
            idle_ns,
            receive_buffer_octets,
            by_addresses: HashMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            line: VecDeque::new(),
            generation: 0,
            look_at: 0,
        }
    }

    #[inline]
    pub(crate) fn get(&mut self, client: u32) -> Option<&mut Client> {
        self.slots.get_mut(client as usize)?.as_mut()
    }

    /// The client with this token of the poller, unless it is gone.
    pub(crate) fn of_token(&mut self, token: u64) -> Option<(u32, &mut Client)> {
        let (number, generation) = (token as u32, (token >> 32) as u32);
        self.get(number).filter(|client| client.generation == generation).map(|client| (number, client))
    }

    /// The client with these addresses; a new one gets a socket. `Ok(None)` where no more are allowed.
    #[inline]
    pub(crate) fn of_addresses(
        &mut self,
        addresses: Addresses,
        now_ns: u64,
        poller: &Poller,
        (counts, kernel_drops): (&mut ClientCounts, &mut u64),
    ) -> io::Result<Option<u32>> {
        if let Some(number) = self.by_addresses.get(&addresses) {
            return Ok(Some(*number));
        }
        if self.by_addresses.len() >= self.most && !self.make_room(now_ns, counts, kernel_drops) {
            return Ok(None);
        }
        let socket = open(self.server, self.receive_buffer_octets)?;
        self.generation = (self.generation + 1) & GENERATIONS;
        let number = self.free.last().copied().unwrap_or(self.slots.len() as u32);
        poller.add(&socket, u64::from(self.generation) << 32 | u64::from(number))?;
        let generation = self.generation;
        let client = Client {
            addresses,
            socket,
            generation,
            seen_ns: now_ns,
            held: 0,
            asked: 0,
            answered: 0,
            drops: 0,
        };
        match self.free.pop() {
            Some(_) => self.slots[number as usize] = Some(client),
            None => self.slots.push(Some(client)),
        }
        self.by_addresses.insert(addresses, number);
        self.line.push_back((now_ns, number));
        counts.opened += 1;
        counts.most = counts.most.max(self.by_addresses.len() as u64);
        Ok(Some(number))
    }

    /// Closes sockets of idle clients, some at a time.
    pub(crate) fn close_idle(&mut self, now_ns: u64, counts: &mut ClientCounts, kernel_drops: &mut u64) {
        for _ in 0..SOME {
            let Some((since_ns, number)) = self.line.front().copied() else { return };
            if since_ns.saturating_add(self.idle_ns) > now_ns {
                return;
            }
            self.line.pop_front();
            let idle_ns = self.idle_ns;
            let is_idle =
                |client: &mut Client| client.held == 0 && now_ns.saturating_sub(client.seen_ns) >= idle_ns;
            if self.get(number).is_some_and(is_idle) {
                self.close(number, kernel_drops);
                counts.closed_idle += 1;
            } else {
                self.line.push_back((now_ns, number));
            }
        }
    }

    /// Counts what the kernel has dropped at some of the sockets.
    pub(crate) fn count_drops(&mut self, kernel_drops: &mut u64) {
        for _ in 0..SOME.min(self.slots.len()) {
            self.look_at = (self.look_at + 1) % self.slots.len();
            if let Some(Some(client)) = self.slots.get_mut(self.look_at) {
                client.count_drops(kernel_drops);
            }
        }
    }

    /// The same for all of them.
    pub(crate) fn count_all_drops(&mut self, kernel_drops: &mut u64) {
        self.slots.iter_mut().flatten().for_each(|client| client.count_drops(kernel_drops));
    }

    /// Closes the socket of a client to which all was answered, if there is one among some.
    fn make_room(&mut self, now_ns: u64, counts: &mut ClientCounts, kernel_drops: &mut u64) -> bool {
        for _ in 0..SOME.min(self.line.len()) {
            let Some((_, number)) = self.line.pop_front() else { return false };
            let idle_ns = self.idle_ns;
            let is_done = |client: &mut Client| {
                let is_idle = now_ns.saturating_sub(client.seen_ns) >= idle_ns;
                client.held == 0 && (client.answered >= client.asked || is_idle)
            };
            if self.get(number).is_some_and(is_done) {
                self.close(number, kernel_drops);
                counts.closed_early += 1;
                return true;
            }
            self.line.push_back((now_ns, number));
        }
        false
    }

    /// The client is in the line no more.
    fn close(&mut self, number: u32, kernel_drops: &mut u64) {
        let Some(mut client) = self.slots.get_mut(number as usize).and_then(Option::take) else { return };
        client.count_drops(kernel_drops);
        self.by_addresses.remove(&client.addresses);
        self.free.push(number);
    }
}

impl Client {
    fn count_drops(&mut self, kernel_drops: &mut u64) {
        let drops = sys_socket::drops(&self.socket).unwrap_or(self.drops);
        *kernel_drops += drops.saturating_sub(self.drops);
        self.drops = drops;
    }
}

/// A UDP socket that is connected to the server.
pub(crate) fn open(server: SocketAddr, receive_buffer_octets: usize) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(server), Type::DGRAM, None)?;
    sys_socket::set_receive_buffer(&socket, receive_buffer_octets)?;
    sys_socket::stamp_arrivals(&socket);
    sys_socket::join_received(&socket);
    socket.connect(&server.into())?;
    Ok(socket.into())
}

/// Clients that are looked at in one go: it must not make datagrams late.
const SOME: usize = 16;

/// The generations that fit between a client's number and what marks other tokens.
const GENERATIONS: u32 = 0x3FFF_FFFF;

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE_NS: u64 = 1_000;

    struct Scene {
        clients: Clients,
        poller: Poller,
        counts: ClientCounts,
        server: UdpSocket,
    }

    impl Scene {
        fn new(most: usize) -> Scene {
            let server = UdpSocket::bind("127.0.0.1:0").unwrap();
            let clients = Clients::new(server.local_addr().unwrap(), most, IDLE_NS, 65_536);
            Scene { clients, poller: Poller::new(4).unwrap(), counts: ClientCounts::default(), server }
        }

        fn find(&mut self, port: u16, now_ns: u64) -> Option<u32> {
            let addresses = Addresses::from(SocketAddr::from(([192, 0, 2, 1], port)));
            let counts = (&mut self.counts, &mut 0);
            self.clients.of_addresses(addresses, now_ns, &self.poller, counts).unwrap()
        }
    }

    #[test]
    fn each_client_has_one_port_of_its_own() {
        let mut scene = Scene::new(100);
        let first = scene.find(1, 0).unwrap();
        let second = scene.find(2, 0).unwrap();
        assert_eq!((scene.find(1, 5), scene.find(2, 5)), (Some(first), Some(second)));
        let mut port = |client| scene.clients.get(client).unwrap().socket.local_addr().unwrap().port();
        assert_ne!(port(first), port(second));
        assert_eq!((scene.counts.opened, scene.counts.most), (2, 2));
    }

    #[test]
    fn an_idle_client_loses_its_socket_and_one_with_something_on_its_way_does_not() {
        let mut scene = Scene::new(100);
        let (idle, held, busy) =
            (scene.find(1, 0).unwrap(), scene.find(2, 0).unwrap(), scene.find(3, 0).unwrap());
        scene.clients.get(held).unwrap().held = 1;
        scene.clients.get(busy).unwrap().seen_ns = IDLE_NS;
        scene.clients.close_idle(IDLE_NS - 1, &mut scene.counts, &mut 0);
        assert_eq!(scene.counts.closed_idle, 0);
        scene.clients.close_idle(IDLE_NS, &mut scene.counts, &mut 0);
        assert_eq!(scene.counts.closed_idle, 1);
        assert!(scene.clients.get(idle).is_none());
        assert!(scene.clients.get(held).is_some() && scene.clients.get(busy).is_some());
        scene.clients.close_idle(3 * IDLE_NS, &mut scene.counts, &mut 0);
        assert!(scene.clients.get(busy).is_none() && scene.clients.get(held).is_some());
    }

    #[test]
    fn their_number_is_bounded_and_only_a_client_that_waits_for_nothing_makes_room() {
        let mut scene = Scene::new(2);
        let (first, second) = (scene.find(1, 0).unwrap(), scene.find(2, 0).unwrap());
        scene.clients.get(first).unwrap().asked = 1;
        scene.clients.get(second).unwrap().held = 1;
        assert_eq!(scene.find(3, 1), None);
        scene.clients.get(first).unwrap().answered = 1;
        let third = scene.find(3, 2).unwrap();
        assert_eq!(third, first, "the slot is used again");
        assert_eq!((scene.counts.opened, scene.counts.most, scene.counts.closed_early), (3, 2, 1));
        assert_ne!(scene.find(2, 2), None);
    }

    #[test]
    fn an_event_of_a_client_that_is_gone_is_not_that_of_the_next() {
        let mut scene = Scene::new(1);
        let first = scene.find(1, 0).unwrap();
        let address = scene.clients.get(first).unwrap().socket.local_addr().unwrap();
        scene.server.send_to(b"x", address).unwrap();
        let tokens: Vec<u64> = scene.poller.wait(Some(1_000_000_000)).unwrap().collect();
        assert_eq!(scene.clients.of_token(tokens[0]).unwrap().0, first);
        assert_eq!(scene.find(2, 5), Some(first));
        assert!(scene.clients.of_token(tokens[0]).is_none());
    }

    #[test]
    fn what_the_kernel_drops_at_a_socket_is_counted_once() {
        let mut scene = Scene::new(1);
        let client = scene.find(1, 0).unwrap();
        let socket = &scene.clients.get(client).unwrap().socket;
        sys_socket::set_receive_buffer(socket, 4_096).unwrap();
        let address = socket.local_addr().unwrap();
        for _ in 0..200 {
            scene.server.send_to(&[0; 100], address).unwrap();
        }
        let mut drops = 0;
        scene.clients.count_drops(&mut drops);
        let first = drops;
        assert!(first > 0 && first < 200);
        scene.clients.count_all_drops(&mut drops);
        scene.clients.close(client, &mut drops);
        assert_eq!(drops, first);
    }
}
