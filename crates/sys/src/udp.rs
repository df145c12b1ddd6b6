//! UDP in batches: many packets in one system call, and many packets in one pass through the stack.
//!
//! ```text
//!  messages back to back          runs of equal length           one sendmmsg
//!  |33|33|33|33|41|41|28|  ──►  |33 33 33 33|41 41|28|  ──►  3 headers; a run of several
//!                                                            carries UDP_SEGMENT = its length
//! ```
//!
//! A run passes through the stack once and is segmented at its end (UDP GSO); on the other side UDP GRO
//! hands over several packets in one piece, and [`Receiver`] separates them. Where the kernel supports
//! neither,
//! the same calls move one packet a header.

mod address;
mod errors;
mod receive;
mod runs;
mod send;

pub use address::Addresses;
pub use errors::{Departure, ErrorQueue, Queued, Refusal};
pub use receive::Receiver;
pub use runs::Sent;
pub(crate) use runs::{Run, Runs};
pub use send::Sender;

/// Messages back to back: message `i` ends at `ends[i]` and starts where the one before it ends.
#[derive(Clone, Copy, Debug)]
pub struct Messages<'a> {
    /// The bytes of all messages.
    bytes: &'a [u8],
    /// The end of each message in `bytes`, ascending.
    ends: &'a [u32],
    /// Where the first message starts.
    first: usize,
}

impl<'a> Messages<'a> {
    /// Messages that fill `bytes` up to the last of `ends`, which ascend.
    pub fn new(bytes: &'a [u8], ends: &'a [u32]) -> Self {
        Messages { bytes, ends, first: 0 }
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The messages after the first `count`.
    pub fn skip(self, count: usize) -> Messages<'a> {
        // The ends stay those of the whole buffer, so the start of the first is kept beside them.
        Messages { first: self.start(count), ends: &self.ends[count..], ..self }
    }

    /// The first `count` messages.
    pub fn take(self, count: usize) -> Messages<'a> {
        Messages { ends: &self.ends[..count], ..self }
    }

    /// Where message `i` starts; `i` may be the number of messages (the end of the last).
    fn start(&self, i: usize) -> usize {
        if i == 0 { self.first } else { self.ends[i - 1] as usize }
    }

    /// The bytes of `count` messages from `first` on.
    pub(crate) fn run(&self, first: usize, count: usize) -> &'a [u8] {
        &self.bytes[self.start(first)..self.start(first + count)]
    }

    /// The bytes of message `i`.
    pub fn get(&self, i: usize) -> &'a [u8] {
        &self.bytes[self.start(i)..self.ends[i] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket;
    use std::net::{SocketAddr, UdpSocket};
    use std::time::{Duration, Instant};

    fn back_to_back(messages: &[Vec<u8>]) -> (Vec<u8>, Vec<u32>) {
        let mut ends = Vec::new();
        let mut bytes = Vec::new();
        for message in messages {
            bytes.extend_from_slice(message);
            ends.push(bytes.len() as u32);
        }
        (bytes, ends)
    }

    fn receive_all(receiver: &mut Receiver, socket: &UdpSocket, count: usize) -> Vec<(SocketAddr, Vec<u8>)> {
        let (mut packets, end) = (Vec::new(), Instant::now() + Duration::from_secs(5));
        while packets.len() < count && Instant::now() < end {
            receiver.receive(socket).unwrap();
            packets.extend(
                receiver.packets().map(|(i, bytes)| (receiver.addresses(i).unwrap().peer, bytes.to_vec())),
            );
        }
        packets
    }

    /// Messages of mixed lengths, an empty one and runs longer than a segment limit among them.
    fn mixed() -> Vec<Vec<u8>> {
        let lengths = [33; 70].into_iter().chain([41, 41, 28, 0, 28, 1200, 1200, 33]);
        lengths.enumerate().map(|(i, length)| vec![i as u8; length]).collect()
    }

    fn every_packet_arrives_whole(bind: &str, segment: bool, join: bool) {
        let (server, client) = (UdpSocket::bind(bind).unwrap(), UdpSocket::bind(bind).unwrap());
        client.connect(server.local_addr().unwrap()).unwrap();
        if join {
            assert!(socket::join_received(&server));
        }
        let messages = mixed();
        let (bytes, ends) = back_to_back(&messages);
        let batch = Messages::new(&bytes, &ends);
        let sent = Sender::new(128, segment).send(&client, batch);
        assert!(sent.error.is_none() && sent.accepted == messages.len(), "{sent:?}");
        let mut receiver = Receiver::new(16);
        let packets = receive_all(&mut receiver, &server, messages.len());
        let from = client.local_addr().unwrap();
        assert_eq!(packets, messages.into_iter().map(|m| (from, m)).collect::<Vec<_>>());
    }

    #[test]
    fn packets_arrive_whole_one_by_one() {
        every_packet_arrives_whole("127.0.0.1:0", false, false);
        every_packet_arrives_whole("[::1]:0", false, false);
    }

    #[test]
    fn packets_arrive_whole_when_cut_by_the_kernel() {
        every_packet_arrives_whole("127.0.0.1:0", true, false);
        every_packet_arrives_whole("[::1]:0", true, false);
    }

    #[test]
    fn packets_arrive_whole_when_joined_by_the_kernel() {
        every_packet_arrives_whole("127.0.0.1:0", true, true);
        every_packet_arrives_whole("[::1]:0", true, true);
    }

    #[test]
    fn each_response_is_sent_to_its_own_peer() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let clients: Vec<_> = (0..3).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
        let peers: Vec<_> =
            [0, 0, 1, 2, 1].iter().map(|c| clients[*c].local_addr().unwrap().into()).collect();
        let (bytes, ends) = back_to_back(&(0..5u8).map(|i| vec![i; 40]).collect::<Vec<_>>());
        let sent = Sender::new(8, true).send_to(&server, Messages::new(&bytes, &ends), &peers);
        assert_eq!(sent.accepted, 5);
        let mut receiver = Receiver::new(4);
        let firsts = [vec![0u8, 1], vec![2, 4], vec![3]];
        for (client, expected) in clients.iter().zip(firsts) {
            let got = receive_all(&mut receiver, client, expected.len());
            assert_eq!(got.iter().map(|(_, bytes)| bytes[0]).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_response_comes_from_the_address_that_was_asked() {
        for (wildcard, loopback, addresses) in [
            ("0.0.0.0:0", "127.0.0.1:0", ["127.0.0.2", "127.0.3.4"]),
            ("[::]:0", "127.0.0.1:0", ["127.0.0.2", "127.0.3.4"]),
            ("[::]:0", "[::1]:0", ["::1", "::1"]),
        ] {
            let server = UdpSocket::bind(wildcard).unwrap();
            assert!(socket::report_local_addresses(&server));
            assert!(socket::join_received(&server));
            let port = server.local_addr().unwrap().port();
            // Connected sockets take what comes from the address that they have asked, and nothing else.
            let clients = addresses.map(|address| {
                let client = UdpSocket::bind(loopback).unwrap();
                client.connect((address, port)).unwrap();
                client.send(&[7; 30]).unwrap();
                client
            });
            let (mut receiver, mut asked) = (Receiver::new(4), Vec::new());
            let end = Instant::now() + Duration::from_secs(5);
            while asked.len() < 2 && Instant::now() < end {
                receiver.receive(&server).unwrap();
                asked.extend(receiver.packets().map(|(piece, _)| receiver.addresses(piece).unwrap()));
            }
            // Two messages of one length to each: they share a header that also says where they come from.
            let destinations: Vec<_> = asked.iter().flat_map(|addresses| [*addresses; 2]).collect();
            let (bytes, ends) = back_to_back(&vec![vec![8; 40]; 4]);
            let sent = Sender::new(8, true).send_to(&server, Messages::new(&bytes, &ends), &destinations);
            assert!(sent.accepted == 4 && sent.error.is_none(), "{sent:?}");
            for client in clients {
                client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                for _ in 0..2 {
                    assert_eq!(client.recv(&mut [0; 100]).unwrap(), 40, "{wildcard}");
                }
            }
        }
    }

    #[test]
    fn a_sender_with_a_destination_needs_no_connected_socket() {
        let (server, client) =
            (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let messages = mixed();
        let (bytes, ends) = back_to_back(&messages);
        let mut sender = Sender::new(128, true).to(server.local_addr().unwrap());
        assert_eq!(sender.send(&client, Messages::new(&bytes, &ends)).accepted, messages.len());
        let packets = receive_all(&mut Receiver::new(16), &server, messages.len());
        assert_eq!(packets.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>(), messages);
    }

    #[test]
    fn a_closed_port_refuses_each_packet_with_its_bytes() {
        for (bind, ipv6) in [("127.0.0.1:0", false), ("[::1]:0", true)] {
            let closed = UdpSocket::bind(bind).unwrap().local_addr().unwrap();
            let client = UdpSocket::bind(bind).unwrap();
            client.connect(closed).unwrap();
            socket::report_icmp_errors(&client, ipv6).unwrap();
            client.send(b"first").unwrap();
            let end = Instant::now() + Duration::from_secs(5);
            let mut queue = ErrorQueue::new();
            let refused = loop {
                if let Some(Queued::Refusal(refusal)) = queue.next(&client) {
                    break (refusal.errno, refusal.quoted.to_vec());
                }
                assert!(Instant::now() < end, "no ICMP error came");
            };
            assert_eq!(refused, (libc::ECONNREFUSED, b"first".to_vec()));
            assert!(queue.next(&client).is_none());
        }
    }

    #[test]
    fn the_run_of_a_chosen_message_is_stamped_and_the_number_counts_stamped_sends() {
        for (bind, segment) in [("127.0.0.1:0", false), ("127.0.0.1:0", true), ("[::1]:0", true)] {
            let (server, client) = (UdpSocket::bind(bind).unwrap(), UdpSocket::bind(bind).unwrap());
            client.connect(server.local_addr().unwrap()).unwrap();
            assert!(socket::stamp_arrivals(&client) && socket::stamp_departures(&client));
            if segment {
                // As on a kernel before 6.12, where received packets get these stamps too.
                let flags = libc::SOF_TIMESTAMPING_SOFTWARE
                    | libc::SOF_TIMESTAMPING_OPT_ID
                    | libc::SOF_TIMESTAMPING_OPT_TSONLY;
                socket::set(&client, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as i32).unwrap();
            }
            assert!(socket::join_received(&client));
            let messages = mixed();
            let (bytes, ends) = back_to_back(&messages);
            let (mut sender, mut queue) = (Sender::new(128, segment), ErrorQueue::new());
            assert_eq!(sender.send(&client, Messages::new(&bytes, &ends)).accepted, messages.len());
            assert!(queue.next(&client).is_none(), "none was asked for");
            // One of a run, one alone, and one after the end.
            for (stamped, number) in [(3, Some(0)), (messages.len() - 1, Some(1)), (messages.len(), None)] {
                let before_ns = crate::clock::wall_ns();
                let sent = sender.send_stamped(&client, Messages::new(&bytes, &ends), stamped);
                assert_eq!(sent.accepted, messages.len());
                let found = queue.next(&client);
                let Some(number) = number else {
                    assert!(found.is_none(), "{found:?}");
                    continue;
                };
                let Some(Queued::Departure(departure)) = found else { panic!("{found:?}") };
                assert_eq!(departure.number, number);
                let range = before_ns..=crate::clock::wall_ns();
                assert!(range.contains(&departure.wall_ns), "{departure:?}, not in {range:?}");
                assert!(queue.next(&client).is_none(), "one stamp for a run");
            }
            // What is received has its own stamp, and is cut where it was joined.
            let mut receiver = Receiver::new(16);
            let sent = Sender::new(128, segment).send_to(
                &server,
                Messages::new(&bytes, &ends),
                &vec![client.local_addr().unwrap().into(); messages.len()],
            );
            assert_eq!(sent.accepted, messages.len());
            let received = receive_all(&mut receiver, &client, messages.len());
            assert_eq!(received.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>(), messages);
            assert!(receiver.arrival_wall_ns(0).is_some());
        }
    }

    #[test]
    fn what_cannot_stamp_departures_says_so() {
        assert!(!socket::stamp_departures(&std::fs::File::open("/dev/null").unwrap()));
    }
}
