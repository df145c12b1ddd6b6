//! Clients for the tests: they count as a load generator does.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use dnsdyno_responder::{Book, Config, Responder, Running, Share};
use dnsdyno_wire::{QueryForm, encode_name, patch_id, peek, same_question};

/// What a client saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) answered: u64,
    pub(crate) duplicates: u64,
    pub(crate) unexpected: u64,
    pub(crate) wrong_questions: u64,
    pub(crate) malformed: u64,
    pub(crate) unanswered: u64,
}

pub(crate) fn start(change: impl FnOnce(&mut Config)) -> Running {
    let mut config = Config::default();
    change(&mut config);
    Responder::start(config).unwrap()
}

pub(crate) fn share(text: &str) -> Share {
    text.parse().unwrap()
}

/// A query whose name contains its number, with the number as ID.
pub(crate) fn query(number: u16) -> Vec<u8> {
    let mut name = Vec::new();
    encode_name(format!("q{number}.example.").as_bytes(), &mut name).unwrap();
    let mut bytes = Vec::new();
    QueryForm::default().encode(&name, 1, &mut bytes);
    patch_id(&mut bytes, number);
    bytes
}

/// Waits until `is_so` is true of the book. Fails after 20 s.
pub(crate) fn wait_for(running: &Running, is_so: impl Fn(&Book) -> bool) -> Book {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let book = running.book();
        if is_so(&book) {
            return book;
        }
        assert!(
            Instant::now() < end,
            "it did not come to it: {}",
            book.to_json(dnsdyno_responder::Buckets::Without)
        );
        std::thread::yield_now();
    }
}

/// Sends `count` queries, numbered from 0, and returns the responses, by query and in sum.
///
/// A query is over when the book says so: its response is then in our socket.
pub(crate) fn ask_all(running: &Running, sockets: usize, count: u16) -> (Vec<Vec<u8>>, Seen) {
    let sockets: Vec<UdpSocket> = (0..sockets).map(|_| client(running.address())).collect();
    let mut answers: Vec<Vec<u8>> = vec![Vec::new(); usize::from(count)];
    let mut seen = Seen::default();
    for number in 0..count {
        sockets[usize::from(number) % sockets.len()].send(&query(number)).unwrap();
        if number % 100 == 99 || number + 1 == count {
            wait_for(running, |book| book.udp.counts.ended() == u64::from(number) + 1);
            sockets.iter().for_each(|socket| take_answers(socket, &mut answers, &mut seen));
        }
    }
    seen.unanswered = u64::from(count) - seen.answered;
    (answers, seen)
}

fn take_answers(socket: &UdpSocket, answers: &mut [Vec<u8>], seen: &mut Seen) {
    let mut buffer = [0; 65_535];
    while let Ok(length) = socket.recv(&mut buffer) {
        let Ok(answer) = peek(&buffer[..length]) else {
            seen.malformed += 1;
            continue;
        };
        let expected = query(answer.id);
        match answers.get_mut(usize::from(answer.id)) {
            None => seen.unexpected += 1,
            Some(_) if !same_question(answer.question, &expected[12..]) => seen.wrong_questions += 1,
            Some(kept) if kept.is_empty() => {
                *kept = buffer[..length].to_vec();
                seen.answered += 1;
            }
            Some(_) => seen.duplicates += 1,
        }
    }
}

/// A socket that does not block.
pub(crate) fn client(server: SocketAddr) -> UdpSocket {
    let any = if server.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" };
    let socket = UdpSocket::bind(any).unwrap();
    socket.connect(server).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}
