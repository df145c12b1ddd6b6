//! The responder over UDP, seen from a client that counts for itself.

mod common;

use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use common::{Seen, ask_all, client, query, share, start, wait_for};
use dnsdyno_responder::answer::{Reply, Via, answer, cases};
use dnsdyno_responder::{Book, Buckets, Config, Faults, Responder, Rule};

#[test]
fn every_case_of_the_table_is_answered_over_udp_as_it_says() {
    for case in cases().into_iter().filter(|case| case.via == Via::Udp) {
        let running = start(|config| config.rule = case.rule.clone());
        let socket = client(running.address());
        socket.send(&case.query).unwrap();
        wait_for(&running, |book| book.udp.counts.ended() == 1);
        let mut buffer = vec![0; 65_535];
        let response = socket.recv(&mut buffer).ok().map(|length| buffer[..length].to_vec());
        case.check(response.as_ref()).unwrap_or_else(|difference| panic!("{}: {difference}", case.name));
    }
}

#[test]
fn both_families_are_served() {
    for listen in ["127.0.0.1:0", "[::1]:0"] {
        let running = start(|config| config.listen = listen.parse().unwrap());
        let (_, seen) = ask_all(&running, 1, 100);
        assert_eq!(seen, Seen { answered: 100, ..Seen::default() });
    }
}

fn faulty(seed: u64) -> Faults {
    Faults {
        loss: share("5%"),
        duplicate: share("4%"),
        wrong_id: share("3%"),
        wrong_question: share("2%"),
        garbage: share("1%"),
        reset: share("10%"),
        seed,
        ..Faults::default()
    }
}

fn assert_agree(book: &Book, seen: Seen, count: u64) {
    let counts = book.udp.counts;
    let told = Seen {
        answered: counts.answered,
        duplicates: counts.duplicated,
        unexpected: counts.wrong_ids,
        wrong_questions: counts.wrong_questions,
        malformed: counts.garbage,
        unanswered: counts.dropped + counts.wrong_ids + counts.wrong_questions + counts.garbage,
    };
    assert_eq!(told, seen);
    assert_eq!((counts.received, counts.ended(), book.kernel_drops), (count, count, 0));
    assert_eq!(book.udp.hold.count(), counts.answered);
    assert_eq!(book.udp.rcodes.iter().collect::<Vec<_>>(), [(0, counts.answered)]);
}

#[test]
fn each_fault_is_counted_exactly_as_a_client_counts_it() {
    let running = start(|config| config.faults = faulty(1));
    let (_, seen) = ask_all(&running, 1, 20_000);
    assert_agree(&running.stop(), seen, 20_000);
    // Each is near its share: of 20,000, four standard deviations at most.
    let near = |count: u64, percent: f64| {
        let expected = 200.0 * percent;
        assert!((count as f64 - expected).abs() < 4.0 * expected.sqrt(), "{count} for {percent} %");
    };
    near(seen.duplicates, 4.0);
    near(seen.unexpected, 3.0);
    near(seen.wrong_questions, 2.0);
    near(seen.malformed, 1.0);
    near(seen.unanswered, 11.0);
}

#[test]
fn several_threads_share_the_work_and_add_up() {
    let running = start(|config| {
        config.faults = faulty(2);
        config.threads = 3;
    });
    let (_, seen) = ask_all(&running, 16, 8_000);
    assert_agree(&running.stop(), seen, 8_000);
}

#[test]
fn the_same_seed_and_order_give_byte_identical_responses() {
    let run = |seed| {
        let running = start(|config| config.faults = faulty(seed));
        let (answers, seen) = ask_all(&running, 1, 3_000);
        (answers, seen, running.stop().udp.counts)
    };
    let first = run(7);
    assert_eq!(first, run(7));
    assert_ne!(first.0, run(8).0);
}

#[test]
fn a_stall_holds_queries_and_answers_them_all_at_its_end() {
    let running = start(|config| config.faults.stall = Some("200ms..500ms".parse().unwrap()));
    let socket = client(running.address());
    socket.set_nonblocking(false).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let answers = socket.try_clone().unwrap();
    let start = Instant::now();
    let reader = std::thread::spawn(move || {
        let mut buffer = [0; 512];
        let mut arrivals = vec![Duration::ZERO; 120];
        for _ in 0..120 {
            answers.recv(&mut buffer).unwrap();
            arrivals[usize::from(u16::from_be_bytes([buffer[0], buffer[1]]))] = start.elapsed();
        }
        arrivals
    });
    let mut sendings = Vec::new();
    for number in 0..120 {
        std::thread::sleep(Duration::from_millis(5));
        sendings.push(start.elapsed());
        socket.send(&query(number)).unwrap();
    }
    let arrivals = reader.join().unwrap();
    // The responder counts from the first query, which was sent at `sendings[0]`.
    let (from, to) = (sendings[0] + Duration::from_millis(200), sendings[0] + Duration::from_millis(500));
    let slack = Duration::from_millis(20);
    let mut held = 0;
    for (sent, arrived) in sendings.iter().zip(&arrivals) {
        if (from + slack..to).contains(sent) {
            held += 1;
            assert!(*arrived >= to && *arrived < to + 5 * slack, "sent {sent:?}, arrived {arrived:?}");
        }
    }
    let book = running.stop();
    assert_eq!(book.udp.counts.answered, 120);
    assert!(held > 10 && book.udp.counts.stalled >= held, "{held} {}", book.udp.counts.stalled);
    assert!(book.udp.hold.histogram().unwrap().exact().unwrap().max_ns > 200_000_000);
}

/// The quantile of sorted durations.
fn quantile(sorted: &[u64], quantile: f64) -> u64 {
    sorted[((quantile * sorted.len() as f64).ceil() as usize).max(1) - 1]
}

#[test]
fn hold_times_agree_with_what_a_client_measures() {
    let running = start(|config| config.faults.delay = Some("lognormal:4ms,0.5".parse().unwrap()));
    let socket = client(running.address());
    socket.set_nonblocking(false).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let (count, window) = (3_000u16, 10u16);
    let mut sent_at = vec![Instant::now(); usize::from(count)];
    let mut times = Vec::new();
    let mut buffer = [0; 512];
    for number in 0..count + window {
        if number >= window {
            socket.recv(&mut buffer).unwrap();
            let id = usize::from(u16::from_be_bytes([buffer[0], buffer[1]]));
            times.push(sent_at[id].elapsed().as_nanos() as u64);
        }
        if number < count {
            sent_at[usize::from(number)] = Instant::now();
            socket.send(&query(number)).unwrap();
        }
    }
    times.sort_unstable();
    let book = running.stop();
    for q in [0.5, 0.9] {
        let (truth, measured) = (book.udp.hold_ns(q).unwrap() as f64, quantile(&times, q) as f64);
        // The round trip, and a client that wakes up late on a busy machine.
        assert!(
            measured > truth * 0.99 && measured < truth * 1.03 + 500_000.0,
            "at {q}: {truth} ns, client {measured} ns"
        );
    }
    // And the book has the configured distribution, which a busy machine makes later, not earlier.
    let median = book.udp.hold_ns(0.5).unwrap() as f64;
    assert!((0.94..1.5).contains(&(median / 4e6)), "{median} ns");
}

#[test]
fn responses_that_do_not_fit_are_counted_as_truncated() {
    let running = start(|config| config.rule = Rule::FixedSize { bytes: 600 });
    let (answers, _) = ask_all(&running, 1, 50);
    assert!(answers.iter().all(|answer| dnsdyno_wire::peek(answer).unwrap().is_truncated()));
    let counts = running.stop().udp.counts;
    assert_eq!((counts.answered, counts.truncated), (50, 50));
}

#[test]
fn messages_that_are_no_queries_are_counted_and_not_answered() {
    let running = start(|_| {});
    let socket = client(running.address());
    let mut response = query(1);
    response[2] |= 0x80;
    for message in [&b""[..], b"short", &response, &query(2)[..20]] {
        socket.send(message).unwrap();
    }
    let book = wait_for(&running, |book| book.udp.counts.ended() == 4);
    let counts = book.udp.counts;
    assert_eq!((counts.ignored_short, counts.ignored_responses, counts.malformed), (2, 1, 1));
    assert_eq!(book.udp.rcodes.iter().collect::<Vec<_>>(), [(1, 1)]);
    assert_eq!(book.to_json(Buckets::With)["udp"]["rcodes"]["FORMERR"], 1);
}

#[test]
fn packets_dropped_at_its_own_socket_are_reported() {
    let running = start(|config| {
        config.receive_buffer_bytes = 4096;
        config.threads = 1;
    });
    let socket = client(running.address());
    let bytes = query(1);
    let mut sent = 0;
    let end = Instant::now() + Duration::from_secs(20);
    while running.book().kernel_drops == 0 {
        for _ in 0..5_000 {
            sent += u64::from(socket.send(&bytes).is_ok());
        }
        assert!(Instant::now() < end, "nothing was dropped of {sent}");
    }
    let book = wait_for(&running, |book| book.udp.counts.received + book.kernel_drops == sent);
    assert!(book.kernel_drops > 0);
}

#[test]
fn responses_held_at_the_stop_are_reported() {
    let running = start(|config| config.faults.delay = Some("1min".parse().unwrap()));
    let socket = client(running.address());
    (0..10).for_each(|number| assert!(socket.send(&query(number)).is_ok()));
    wait_for(&running, |book| book.udp.counts.received == 10);
    let counts = running.stop().udp.counts;
    assert_eq!((counts.held_at_stop, counts.ended()), (10, 10));
}

#[test]
fn a_response_too_long_for_udp_is_a_send_error() {
    // The client announces 65,535 bytes; a UDP packet over IPv4 carries 65,507.
    let rule = Rule::FixedSize { bytes: 65_535 };
    let mut bytes = Vec::new();
    let form = dnsdyno_wire::QueryForm { edns_size: Some(65_535), ..Default::default() };
    form.encode(b"\x03www\x00", 1, &mut bytes);
    assert!(matches!(
        answer(&rule, &bytes, Via::Udp, &mut Vec::new()),
        Reply::Answer { truncated: false, .. }
    ));
    let running = start(|config| config.rule = rule);
    client(running.address()).send(&bytes).unwrap();
    let book = wait_for(&running, |book| book.udp.counts.ended() == 1);
    assert_eq!(book.udp.counts.send_errors, 1);
}

#[test]
fn a_port_in_use_is_reported_with_transport_and_address() {
    let first = start(|_| {});
    for threads in [1, 2] {
        let again = Config { listen: first.address(), threads, ..Config::default() };
        let error = Responder::start(again).unwrap_err().to_string();
        assert!(error.starts_with(&format!("UDP port {} is in use", first.address())), "{error}");
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let error = Responder::start(Config { listen: address, ..Config::default() }).unwrap_err().to_string();
    assert!(error.starts_with(&format!("TCP port {address} is in use")), "{error}");
    let without_tcp = Responder::start(Config { listen: address, tcp: false, ..Config::default() });
    assert_eq!(without_tcp.unwrap().address(), address);
}

#[test]
fn responders_that_share_a_port_share_its_clients() {
    let shared = |listen| Responder::start(Config { listen, share_port: true, ..Config::default() }).unwrap();
    let first = shared(SocketAddr::from(([127, 0, 0, 1], 0)));
    let second = shared(first.address());
    assert_eq!(first.address(), second.address());
    let query = query(7);
    let mut connected = Vec::new();
    for _ in 0..64 {
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        client.send_to(&query, first.address()).unwrap();
        client.recv(&mut [0; 512]).unwrap();
        connected.push(TcpStream::connect(first.address()).unwrap());
    }
    let accepted = || [first.book(), second.book()].map(|book| book.tcp.connections.accepted);
    wait_for(&first, |_| accepted().iter().sum::<u64>() == 64);
    assert!(accepted().iter().all(|accepted| *accepted > 0), "{:?}", accepted());
    let answered = [first.book().udp.counts.answered, second.book().udp.counts.answered];
    assert_eq!(answered.iter().sum::<u64>(), 64);
    assert!(answered.iter().all(|answered| *answered > 0), "{answered:?}");
    // A socket that does not share is refused.
    let stranger = Responder::start(Config { listen: first.address(), ..Config::default() });
    assert!(stranger.unwrap_err().to_string().contains("in use"));
}

#[test]
fn impossible_configurations_are_refused_in_words() {
    let error_of = |config| Responder::start(config).unwrap_err().to_string();
    let none = Config { threads: 0, ..Config::default() };
    assert!(error_of(none).contains("use 1 to"));
    let faults = Faults { loss: share("60%"), garbage: share("60%"), ..Faults::default() };
    assert!(error_of(Config { faults, ..Config::default() }).contains("120 %"));
    let elsewhere = Config { listen: "192.0.2.1:5300".parse().unwrap(), ..Config::default() };
    assert!(error_of(elsewhere).contains("no interface of this host"));
}
