//! A plain DNS client for the tests: one query, one response, nothing of the crate under test.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::str::FromStr;
use std::time::Duration;
use std::{io::Read, io::Write};

use domain::base::iana::{Rcode, Rtype};
use domain::base::{Message, MessageBuilder, Name};
use domain::rdata::A;

/// Asks over UDP.
pub(crate) fn ask_udp(server: SocketAddr, name: &str, rtype: Rtype) -> Message<Vec<u8>> {
    let query = query(name, rtype);
    let any = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).expect("a socket");
    socket.connect(server).expect("a route to loopback");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    socket.send(query.as_slice()).expect("the server listens");
    let mut buffer = vec![0; 65_535];
    let length = socket.recv(&mut buffer).expect("an answer within 5 s");
    buffer.truncate(length);
    answer_to(&query, buffer)
}

/// Asks over a TCP connection of its own.
pub(crate) fn ask_tcp(server: SocketAddr, name: &str, rtype: Rtype) -> Message<Vec<u8>> {
    let query = query(name, rtype);
    let mut stream = TcpStream::connect(server).expect("the server accepts");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    let length = u16::try_from(query.as_slice().len()).expect("a short query");
    stream.write_all(&[&length.to_be_bytes(), query.as_slice()].concat()).expect("the server reads");
    let mut prefix = [0; 2];
    stream.read_exact(&mut prefix).expect("a length within 5 s");
    let mut buffer = vec![0; usize::from(u16::from_be_bytes(prefix))];
    stream.read_exact(&mut buffer).expect("the whole answer");
    answer_to(&query, buffer)
}

/// The A records of a response that must be NOERROR.
pub(crate) fn addresses(answer: &Message<Vec<u8>>) -> Vec<Ipv4Addr> {
    assert_eq!(answer.header().rcode(), Rcode::NOERROR);
    let records = answer.answer().expect("an answer section").limit_to::<A>();
    records.map(|record| record.expect("a well-formed record").data().addr()).collect()
}

fn query(name: &str, rtype: Rtype) -> Message<Vec<u8>> {
    let mut builder = MessageBuilder::new_vec();
    builder.header_mut().set_id(4711);
    builder.header_mut().set_rd(true);
    let mut question = builder.question();
    question.push((Name::<Vec<u8>>::from_str(name).expect("a name"), rtype)).expect("room for one question");
    question.into_message()
}

fn answer_to(query: &Message<Vec<u8>>, buffer: Vec<u8>) -> Message<Vec<u8>> {
    let answer = Message::from_octets(buffer).expect("a DNS message");
    assert!(answer.is_answer(query), "the answer has our ID and question");
    answer
}
