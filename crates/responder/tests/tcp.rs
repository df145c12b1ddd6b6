//! The responder over TCP: framing, pipelining, faults on a connection, its bounds.

mod common;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use common::{query, share, start, wait_for};
use dnsdyno_responder::answer::{Via, cases};
use dnsdyno_responder::{Rule, Running};

fn connect(running: &Running) -> TcpStream {
    let stream = TcpStream::connect(running.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes()[..], message].concat()
}

fn read_message(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut message)?;
    Ok(message)
}

fn id_of(message: &[u8]) -> u16 {
    dnsdyno_wire::peek(message).unwrap().id
}

#[test]
fn every_case_of_the_table_is_answered_over_tcp_as_it_says() {
    for case in cases().into_iter().filter(|case| case.via == Via::Tcp) {
        let running = start(|config| config.rule = case.rule.clone());
        let mut stream = connect(&running);
        stream.write_all(&framed(&case.query)).unwrap();
        let response = read_message(&mut stream).unwrap();
        case.check(Some(&response)).unwrap_or_else(|difference| panic!("{}: {difference}", case.name));
    }
}

#[test]
fn queries_in_one_write_are_all_answered_in_order() {
    let running = start(|_| {});
    let mut stream = connect(&running);
    let all: Vec<u8> = (0..5_000).flat_map(|number| framed(&query(number))).collect();
    let mut writer = stream.try_clone().unwrap();
    let writing = std::thread::spawn(move || writer.write_all(&all).unwrap());
    for number in 0..5_000 {
        assert_eq!(id_of(&read_message(&mut stream).unwrap()), number);
    }
    writing.join().unwrap();
    let book = running.stop();
    assert_eq!((book.tcp.counts.received, book.tcp.counts.answered), (5_000, 5_000));
    assert_eq!((book.tcp.connections.accepted, book.udp.counts.received), (1, 0));
}

#[test]
fn queries_that_come_byte_by_byte_are_answered() {
    let running = start(|_| {});
    let mut stream = connect(&running);
    for byte in [framed(&query(1)), framed(&query(2))].concat() {
        stream.write_all(&[byte]).unwrap();
        std::thread::yield_now();
    }
    assert_eq!(id_of(&read_message(&mut stream).unwrap()), 1);
    assert_eq!(id_of(&read_message(&mut stream).unwrap()), 2);
}

#[test]
fn the_longest_responses_arrive_whole_at_a_client_that_reads_late() {
    let running = start(|config| config.rule = Rule::FixedSize { bytes: 65_535 });
    let mut stream = connect(&running);
    // 65 MB of responses: far more than the kernel or the responder buffers before it is read.
    let all: Vec<u8> = (0..1_000).flat_map(|number| framed(&query(number))).collect();
    stream.write_all(&all).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    wait_for(&running, |book| book.tcp.counts.received > 10);
    for number in 0..1_000 {
        let answer = read_message(&mut stream).unwrap();
        assert_eq!((answer.len(), id_of(&answer)), (65_535, number));
    }
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "it closes when all is said");
    assert_eq!(running.stop().tcp.counts.answered, 1_000);
}

#[test]
fn a_client_that_closes_its_side_still_gets_delayed_responses() {
    let running = start(|config| config.faults.delay = Some("uniform:1ms..50ms".parse().unwrap()));
    let mut stream = connect(&running);
    (0..200).for_each(|number| stream.write_all(&framed(&query(number))).unwrap());
    stream.shutdown(Shutdown::Write).unwrap();
    let mut ids: Vec<u16> = (0..200).map(|_| id_of(&read_message(&mut stream).unwrap())).collect();
    assert!(!ids.is_sorted(), "answers leave as they fall due");
    ids.sort_unstable();
    assert_eq!(ids, (0..200).collect::<Vec<_>>());
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    let median_ns = running.stop().tcp.hold_ns(0.5).unwrap();
    assert!(median_ns >= 15_000_000, "{median_ns}");
}

#[test]
fn faults_are_counted_per_query_on_a_connection() {
    let running = start(|config| {
        config.faults.loss = share("10%");
        config.faults.duplicate = share("10%");
        config.faults.garbage = share("10%");
        config.faults.wrong_id = share("10%");
    });
    let mut stream = connect(&running);
    (0..1_000).for_each(|number| stream.write_all(&framed(&query(number))).unwrap());
    stream.shutdown(Shutdown::Write).unwrap();
    let (mut proper, mut copies, mut garbage, mut wrong_ids) = (0, 0, 0, 0);
    let mut last = None;
    while let Ok(message) = read_message(&mut stream) {
        match dnsdyno_wire::peek(&message) {
            Err(_) => garbage += 1,
            Ok(peek) if peek.id >= 1_000 => wrong_ids += 1,
            Ok(peek) if last == Some(peek.id) => copies += 1,
            Ok(peek) => {
                proper += 1;
                last = Some(peek.id);
            }
        }
    }
    let counts = running.stop().tcp.counts;
    assert_eq!((counts.answered, counts.duplicated), (proper, copies));
    assert_eq!((counts.garbage, counts.wrong_ids), (garbage, wrong_ids));
    assert_eq!((counts.received, counts.ended()), (1_000, 1_000));
    assert!(copies > 50 && garbage > 50 && wrong_ids > 50 && counts.dropped > 50);
}

#[test]
fn a_reset_is_seen_as_a_reset_and_counted_once() {
    for delay in [None, Some("5ms".parse().unwrap())] {
        let running = start(|config| {
            config.faults.reset = share("100%");
            config.faults.delay = delay;
        });
        let mut stream = connect(&running);
        stream.write_all(&framed(&query(1))).unwrap();
        let error = read_message(&mut stream).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        let counts = running.stop().tcp.counts;
        assert_eq!((counts.resets, counts.answered, counts.ended()), (1, 0, 1));
    }
}

#[test]
fn responses_held_for_a_client_that_closed_are_reported() {
    let running = start(|config| config.faults.delay = Some("100ms".parse().unwrap()));
    let stream = connect(&running);
    (&stream).write_all(&[framed(&query(1)), framed(&query(2))].concat()).unwrap();
    wait_for(&running, |book| book.tcp.counts.received == 2);
    // RST, not FIN: a client that only closes its side still gets its responses.
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
    let book = wait_for(&running, |book| book.tcp.counts.ended() == 2);
    assert_eq!(book.tcp.counts.lost_with_connection, 2);
}

#[test]
fn idle_connections_are_closed_and_busy_ones_are_not() {
    let running = start(|config| {
        config.idle = Duration::from_millis(100);
        config.faults.delay = Some("400ms".parse().unwrap());
    });
    let mut idle = connect(&running);
    let mut busy = connect(&running);
    busy.write_all(&framed(&query(1))).unwrap();
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
    assert_eq!(running.book().tcp.connections.closed_idle, 1);
    assert_eq!(id_of(&read_message(&mut busy).unwrap()), 1);
}

#[test]
fn connections_over_the_bound_are_turned_away() {
    let running = start(|config| config.connections_max = 2);
    let mut kept = [connect(&running), connect(&running)];
    wait_for(&running, |book| book.tcp.connections.accepted == 2);
    let mut third = connect(&running);
    assert_eq!(third.read(&mut [0]).unwrap_or(0), 0);
    for (number, stream) in kept.iter_mut().enumerate() {
        stream.write_all(&framed(&query(number as u16))).unwrap();
        assert_eq!(usize::from(id_of(&read_message(stream).unwrap())), number);
    }
    let connections = running.stop().tcp.connections;
    assert_eq!((connections.accepted, connections.turned_away), (3, 1));
}

#[test]
fn several_threads_serve_one_port_within_one_bound_and_leave_it() {
    let running = start(|config| (config.threads, config.connections_max) = (4, 64));
    let mut streams: Vec<_> = (0..64).map(|_| connect(&running)).collect();
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.write_all(&framed(&query(number as u16))).unwrap();
        assert_eq!(usize::from(id_of(&read_message(stream).unwrap())), number);
    }
    let mut more = connect(&running);
    assert_eq!(more.read(&mut [0]).unwrap_or(0), 0);
    // A place that is free again is given to the next.
    drop(streams.pop());
    wait_for(&running, |book| book.tcp.connections.closed_by_client == 1);
    let mut next = connect(&running);
    next.write_all(&framed(&query(7))).unwrap();
    assert_eq!(id_of(&read_message(&mut next).unwrap()), 7);
    let address = running.address();
    let connections = running.stop().tcp.connections;
    assert_eq!((connections.accepted, connections.turned_away, connections.open_at_stop), (66, 1, 64));
    // No thread keeps a socket of the port open.
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn empty_and_short_messages_are_ignored_on_a_connection_that_stays_open() {
    let running = start(|_| {});
    let mut stream = connect(&running);
    stream.write_all(&[framed(b""), framed(b"short"), framed(&query(3))].concat()).unwrap();
    assert_eq!(id_of(&read_message(&mut stream).unwrap()), 3);
    assert_eq!(running.stop().tcp.counts.ignored_short, 2);
}

#[test]
fn many_connections_are_served_side_by_side() {
    let running = start(|_| {});
    let mut streams: Vec<TcpStream> = (0..300).map(|_| connect(&running)).collect();
    for round in 0..5 {
        for (i, stream) in streams.iter_mut().enumerate() {
            stream.write_all(&framed(&query(round * 300 + i as u16))).unwrap();
        }
        for (i, stream) in streams.iter_mut().enumerate() {
            assert_eq!(id_of(&read_message(stream).unwrap()), round * 300 + i as u16);
        }
    }
    assert_eq!(running.stop().tcp.counts.answered, 1_500);
}
