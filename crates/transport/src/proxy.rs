//! The PROXY protocol, version 2: tells a server behind which address a client is, as a load balancer does.
//!
//! ```text
//!   signature 12 | version and command 1 | family and protocol 1 | length 2 | source, destination | ports 2 + 2
//! ```
//!
//! The header precedes each datagram over UDP, and the first byte of a connection over TCP, before TLS.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use dnsdyno_sys::udp::Messages;

use crate::Batch;

/// The source addresses to announce: one for each client, in turn from the first to the end of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxySource {
    /// The first address.
    pub first: IpAddr,
    /// The length of its prefix in bits.
    pub length: u8,
    /// The port of all clients; `None` gives each its own.
    pub port: Option<u16>,
}

/// What a header says the client uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Datagrams,
    Stream,
}

impl ProxySource {
    /// The address of client number `client`, counted over all workers.
    fn of_client(&self, client: usize) -> SocketAddr {
        let (bits, width) = match self.first {
            IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
            IpAddr::V6(address) => (address.to_bits(), 128),
        };
        let hosts = 1u128.checked_shl(width - u32::from(self.length)).map_or(u128::MAX, |count| count - 1);
        // From the first address to the end of its prefix, and again.
        let count = (hosts - (bits & hosts)).saturating_add(1);
        let bits = bits + client as u128 % count;
        let address = match self.first {
            IpAddr::V4(_) => IpAddr::V4((bits as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(bits.into()),
        };
        let own_port = FIRST_PORT + (client % usize::from(u16::MAX - FIRST_PORT)) as u16;
        SocketAddr::new(address, self.port.unwrap_or(own_port))
    }

    /// Appends the header of a client to `out`.
    pub(crate) fn put_header(&self, client: usize, server: SocketAddr, carrier: Carrier, out: &mut Vec<u8>) {
        let source = self.of_client(client);
        let protocol = match carrier {
            Carrier::Stream => 1,
            Carrier::Datagrams => 2,
        };
        out.extend_from_slice(SIGNATURE);
        out.push(VERSION_2_PROXY);
        if let (IpAddr::V4(from), IpAddr::V4(to)) = (source.ip(), server.ip()) {
            out.extend_from_slice(&[INET | protocol, 0, 12]);
            out.extend_from_slice(&from.octets());
            out.extend_from_slice(&to.octets());
        } else {
            // Both addresses have one family: an IPv4 address beside an IPv6 address is mapped.
            out.extend_from_slice(&[INET6 | protocol, 0, 36]);
            out.extend_from_slice(&mapped(source.ip()).octets());
            out.extend_from_slice(&mapped(server.ip()).octets());
        }
        out.extend_from_slice(&source.port().to_be_bytes());
        out.extend_from_slice(&server.port().to_be_bytes());
    }
}

fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// The headers of a worker's sockets, and a batch with them.
pub(crate) struct ProxiedDatagrams {
    headers: Vec<Vec<u8>>,
    batch: Batch,
    datagram: Vec<u8>,
}

impl ProxiedDatagrams {
    /// For the sockets of clients with these numbers.
    pub(crate) fn new(
        source: &ProxySource,
        server: SocketAddr,
        clients: impl Iterator<Item = usize>,
    ) -> Self {
        let header = |client| {
            let mut header = Vec::new();
            source.put_header(client, server, Carrier::Datagrams, &mut header);
            header
        };
        let longest = USUAL_DATAGRAM_BYTES;
        ProxiedDatagrams {
            headers: clients.map(header).collect(),
            batch: Batch::new(Batch::USUAL, longest),
            datagram: Vec::with_capacity(longest),
        }
    }

    /// The messages of a batch, each after the header of the socket.
    pub(crate) fn with_headers(&mut self, channel: usize, batch: &Batch) -> Messages<'_> {
        self.batch.clear();
        let header = self.headers.get(channel).map_or(&[][..], Vec::as_slice);
        for message in batch.iter() {
            self.datagram.clear();
            self.datagram.extend_from_slice(header);
            self.datagram.extend_from_slice(message);
            self.batch.push(&self.datagram);
        }
        self.batch.messages()
    }

    /// What a datagram that starts with `quoted` carries.
    pub(crate) fn without_header<'a>(&self, channel: usize, quoted: &'a [u8]) -> &'a [u8] {
        let length = self.headers.get(channel).map_or(0, Vec::len);
        quoted.get(length..).unwrap_or_default()
    }
}

/// The header of the connections of a worker's clients.
pub(crate) struct ProxiedConnections {
    source: ProxySource,
    server: SocketAddr,
    worker: usize,
    workers: usize,
}

impl ProxiedConnections {
    pub(crate) fn new(source: ProxySource, server: SocketAddr, worker: usize, workers: usize) -> Self {
        ProxiedConnections { source, server, worker, workers }
    }

    /// Appends the header of a client to the first bytes of its connection.
    pub(crate) fn put_header(&self, channel: usize, out: &mut Vec<u8>) {
        let client = channel * self.workers + self.worker;
        self.source.put_header(client, self.server, Carrier::Stream, out);
    }
}

const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";

/// Version 2, command PROXY: the connection was made on behalf of another client.
const VERSION_2_PROXY: u8 = 0x21;

const INET: u8 = 0x10;
const INET6: u8 = 0x20;

/// The port of the first client; clients do not use the ports below.
const FIRST_PORT: u16 = 1_024;

/// Capacity for a header and a query in octets; with longer queries the batch grows once.
const USUAL_DATAGRAM_BYTES: usize = 384;

#[cfg(test)]
mod tests {
    use super::*;

    fn header(source: ProxySource, client: usize, server: &str, carrier: Carrier) -> Vec<u8> {
        let mut out = Vec::new();
        source.put_header(client, server.parse().unwrap(), carrier, &mut out);
        out
    }

    fn source(first: &str, length: u8, port: Option<u16>) -> ProxySource {
        ProxySource { first: first.parse().unwrap(), length, port }
    }

    #[test]
    fn a_header_has_the_layout_of_version_2() {
        let udp = header(source("192.0.2.7", 32, Some(5353)), 3, "127.0.0.1:53", Carrier::Datagrams);
        let want = b"\r\n\r\n\0\r\nQUIT\n\x21\x12\0\x0c\xc0\0\x02\x07\x7f\0\0\x01\x14\xe9\0\x35";
        assert_eq!(udp, want);
        let tcp = header(source("2001:db8::1", 128, Some(1)), 3, "[::1]:53", Carrier::Stream);
        assert_eq!((tcp.len(), &tcp[12..16]), (16 + 36, &b"\x21\x21\0\x24"[..]));
    }

    #[test]
    fn an_ipv4_source_before_an_ipv6_server_is_mapped() {
        let mixed = header(source("192.0.2.7", 32, None), 0, "[::1]:53", Carrier::Stream);
        assert_eq!(mixed[16..32], *b"\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\x02\x07");
    }

    #[test]
    fn clients_have_the_addresses_of_the_prefix_in_turn() {
        let of = |source: ProxySource, client| source.of_client(client).to_string();
        let prefix = source("192.0.2.254", 24, None);
        assert_eq!(
            [0, 1, 2].map(|client| of(prefix, client)),
            ["192.0.2.254:1024", "192.0.2.255:1025", "192.0.2.254:1026"]
        );
        let wide = source("2001:db8::ffff", 64, Some(9));
        assert_eq!(of(wide, 1), "[2001:db8::1:0]:9");
        assert_eq!(of(source("::", 0, None), 70_000), "[::1:1170]:6513");
        assert_eq!(of(source("10.0.0.1", 32, None), 5), "10.0.0.1:1029");
    }

    #[test]
    fn each_datagram_has_the_header_of_its_socket_and_a_refusal_quotes_the_query() {
        let prefix = source("192.0.2.0", 24, None);
        let mut proxied = ProxiedDatagrams::new(&prefix, "127.0.0.1:53".parse().unwrap(), [0, 2].into_iter());
        let mut batch = Batch::new(2, 8);
        batch.push(b"one");
        batch.push(b"two!");
        let messages = proxied.with_headers(1, &batch);
        let (first, second) = (messages.get(0).to_vec(), messages.get(1).to_vec());
        assert_eq!((first.len(), &first[16..20], &first[28..]), (31, &[192, 0, 2, 2][..], &b"one"[..]));
        assert_eq!(second[..28], first[..28]);
        assert_eq!(proxied.without_header(1, &second), b"two!");
        assert_eq!(proxied.without_header(1, &second[..9]), b"");
    }
}
