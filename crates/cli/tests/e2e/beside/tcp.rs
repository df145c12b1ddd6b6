//! Over TCP: connections and queries are counted as by the server, and no query is lost.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_lab::ServerOptions;
use dnsdyno_measure::{Anomalies, ConnectFailure, ConnectionEnd, Connections, Latency, Quantile};
use dnsdyno_record::Digest;
use dnsdyno_responder::{Book, Config, Faults, Responder, Rule, Share};

use crate::alone::truth::within_some_tries;
use crate::support::{Workplace, closed_port, real_server, responder};

/// A run over TCP against a responder with these faults.
fn measured(work: &Workplace, faults: Faults, load: &str) -> (Digest, Book) {
    let server = responder(faults);
    let words = format!(
        "run -s {} --ask www.example --ask mail.example/AAAA --transport tcp {load} --quiet -o run",
        server.address()
    );
    work.dnsdyno(&words).completes();
    (work.record("run"), server.stop())
}

/// The connections of a run, whose counts add up.
#[track_caller]
fn connections(digest: &Digest) -> &Connections {
    let connections = digest.arrivals().connections.as_deref().expect("a run over connections");
    assert_eq!(connections.opened, connections.established + connections.failed_total(), "{connections:?}");
    assert_eq!(connections.established, connections.ended_total(), "{connections:?}");
    assert_eq!(connections.established, connections.connect.count());
    connections
}

#[test]
fn each_of_many_clients_opens_its_connection_with_its_first_query() {
    let work = Workplace::new();
    // Many are due at once.
    let load = "--rate 200k --count 200 --clients 200 --workers 1";
    let (digest, book) = measured(&work, Faults::default(), load);
    let connections = connections(&digest);
    assert_eq!((connections.opened, connections.open_max, connections.reused), (200, 200, 0));
    assert_eq!((book.tcp.counts.received, book.tcp.connections.accepted), (200, 200));
}

#[test]
fn kept_connections_carry_all_queries_and_the_responder_counts_the_same() {
    for load in ["--rate 2k --for 1s --clients 5", "--outstanding 50 --count 5000 --clients 5"] {
        let work = Workplace::new();
        let (digest, book) = measured(&work, Faults::default(), load);
        let tally = digest.tally();
        assert_eq!((tally.ends.answered, tally.retried), (tally.scheduled, 0), "{load}");
        assert_eq!(book.tcp.counts.received, tally.requests);
        assert_eq!(book.udp.counts.received, 0);
        let connections = connections(&digest);
        assert_eq!((connections.opened, connections.established, connections.open_max), (5, 5, 5));
        assert_eq!((book.tcp.connections.accepted, connections.ended(ConnectionEnd::ByUs)), (5, 5));
        assert_eq!(connections.reused, tally.requests - 5);
        assert_eq!(connections.query.count(), tally.ends.answered);
        assert_eq!(digest.arrivals().anomalies, Anomalies::default());
    }
}

#[test]
fn a_connection_carries_the_given_number_of_queries() {
    for (each, load) in
        [(1, "--outstanding 20"), (10, "--outstanding 20"), (1, "--rate 1k"), (10, "--rate 1k")]
    {
        let work = Workplace::new();
        let (digest, book) = measured(
            &work,
            Faults::default(),
            &format!("{load} --queries-per-connection {each} --count 1000"),
        );
        assert_eq!((digest.tally().ends.answered, digest.tally().requests), (1_000, 1_000), "{load} {each}");
        assert_eq!(book.tcp.counts.answered, 1_000);
        let connections = connections(&digest);
        assert_eq!(connections.established, book.tcp.connections.accepted);
        assert_eq!(connections.reused, 1_000 - connections.established);
        let fewest = 1_000 / each;
        // Each client may hold one that is not full when the run ends.
        let most = if each == 1 { fewest } else { fewest + u64::from(digest.header.clients) };
        assert!((fewest..=most).contains(&connections.established), "{} for {load}", connections.established);
    }
}

#[test]
fn queries_on_a_reset_connection_are_retried_and_none_is_lost() {
    let work = Workplace::new();
    let faults = Faults { reset: Share::new(0.02).unwrap(), seed: 3, ..Faults::default() };
    let (digest, book) = measured(&work, faults, "--outstanding 40 --clients 4 --count 4000");
    let tally = digest.tally();
    assert_eq!(tally.ends.answered + tally.ends.refused, 4_000, "{:?}", tally.ends);
    assert!(book.tcp.counts.resets > 20 && tally.retried >= book.tcp.counts.resets, "{:?}", book.tcp.counts);
    let connections = connections(&digest);
    assert_eq!(connections.established, book.tcp.connections.accepted);
    assert!(connections.ended(ConnectionEnd::Reset) >= book.tcp.counts.resets);
    assert!(book.tcp.counts.received <= tally.requests, "what was sent on a dead connection never came");
}

#[test]
fn faults_of_the_responder_are_counted_as_over_udp() {
    let work = Workplace::new();
    let percent = Share::new(0.01).unwrap();
    let faults = Faults {
        loss: percent,
        duplicate: percent,
        wrong_id: percent,
        wrong_question: percent,
        seed: 42,
        ..Faults::default()
    };
    let (digest, book) = measured(&work, faults, "--rate 5k --for 1s --timeout 1s --clients 8");
    let (ends, anomalies, did) = (digest.tally().ends, digest.arrivals().anomalies, book.tcp.counts);
    assert_eq!((ends.total(), did.received), (5_000, 5_000));
    assert!([did.dropped, did.duplicated, did.wrong_ids, did.wrong_questions].iter().all(|n| *n > 10));
    assert_eq!((anomalies.duplicates, anomalies.wrong_question), (did.duplicated, did.wrong_questions));
    assert_eq!(ends.timed_out, did.dropped + did.wrong_ids + did.wrong_questions);
}

#[test]
fn a_connection_with_malformed_messages_is_closed_and_its_queries_are_retried() {
    let work = Workplace::new();
    let faults = Faults { garbage: Share::new(0.01).unwrap(), seed: 5, ..Faults::default() };
    let (digest, book) = measured(&work, faults, "--outstanding 20 --clients 4 --count 4000");
    let connections = connections(&digest);
    assert!(book.tcp.counts.garbage > 10);
    assert!(connections.ended(ConnectionEnd::Garbled) > 10, "{connections:?}");
    assert_eq!(digest.arrivals().anomalies.malformed, connections.ended(ConnectionEnd::Garbled));
    assert_eq!(digest.tally().ends.answered + digest.tally().ends.refused, 4_000);
}

#[test]
fn responses_of_all_lengths_are_received_completely() {
    for size in [512, 5_000, 65_535] {
        let work = Workplace::new();
        let server =
            Responder::start(Config { rule: Rule::FixedSize { bytes: size }, ..Config::default() }).unwrap();
        let words = format!(
            "run -s {} --ask www.example --transport tcp --outstanding 8 --clients 2 --count 400 --quiet -o run",
            server.address()
        );
        work.dnsdyno(&words).gives(0);
        let tally = work.record("run").tally().clone();
        assert_eq!((tally.ends.answered, tally.bytes_answered), (400, 400 * u64::from(size)));
        assert_eq!(tally.response_bytes_max, u64::from(size));
        assert_eq!(server.stop().tcp.counts.answered, 400);
    }
}

#[test]
fn a_closed_port_refuses_every_query() {
    let work = Workplace::new();
    let server = closed_port();
    work.dnsdyno(&format!(
        "run -s {server} --ask www.example --transport tcp --rate 500 --for 1s --clients 3 --quiet -o run"
    ))
    .completes();
    let digest = work.record("run");
    assert_eq!(digest.tally().ends.refused, 500, "{:?}", digest.tally().ends);
    let connections = connections(&digest);
    assert_eq!(
        (connections.established, connections.failed(ConnectFailure::Refused)),
        (0, connections.opened)
    );
    assert!(work.dnsdyno("show run").gives(0).stdout.contains("failed: refused"));
}

#[test]
fn a_listener_that_never_accepts_makes_connections_time_out() {
    let work = Workplace::new();
    // The accept queue has one place; further SYNs get no reply.
    let listener = socket_with_backlog(0);
    let server = listener.local_addr().unwrap();
    let ran = work
        .dnsdyno(&format!(
            "run -s {server} --ask www.example --transport tcp --outstanding 8 --queries-per-connection 1 --for 2s \
             --timeout 500ms --quiet -o run"
        ))
        .completes();
    assert!(ran.took < Duration::from_secs(10), "{:?}", ran.took);
    let digest = work.record("run");
    let ends = digest.tally().ends;
    assert_eq!(ends.timed_out, digest.tally().scheduled, "{ends:?}");
    assert!(connections(&digest).failed(ConnectFailure::TimedOut) > 4, "{:?}", connections(&digest).failed);
}

fn socket_with_backlog(backlog: i32) -> TcpListener {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    // Listening again changes the length of the queue.
    socket2::SockRef::from(&listener).listen(backlog).unwrap();
    listener
}

#[test]
fn what_a_server_answered_before_it_reset_the_connection_counts() {
    let work = Workplace::new();
    let (server, answered) = resets_after(50);
    let load = "--clients 1 --workers 1 --rate 5k --for 1s";
    work.dnsdyno(&format!("run -s {server} --ask www.example --transport tcp {load} --quiet -o run"))
        .gives(0);
    let digest = work.record("run");
    assert_eq!(digest.tally().ends.answered, 5_000, "{:?}", digest.tally().ends);
    let connections = connections(&digest);
    assert!(connections.ended(ConnectionEnd::Reset) > 0, "{:?}", connections.ended);
    assert_eq!(answered.load(Ordering::Relaxed), 5_000, "no answer was thrown away");
}

/// Answers so many queries of a connection in one write and closes it, with a reset where more queries wait. Counts
/// what it has answered.
fn resets_after(each: u64) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let answered = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&answered);
    // The thread ends with the test process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut answers, mut count) = (Vec::new(), 0);
            while count < each {
                let (mut length, mut message) = ([0; 2], Vec::new());
                let read = stream.read_exact(&mut length).and_then(|()| {
                    message.resize(usize::from(u16::from_be_bytes(length)), 0);
                    stream.read_exact(&mut message)
                });
                if read.is_err() {
                    break;
                }
                message[2] |= 0x80;
                answers.extend_from_slice(&length);
                answers.extend_from_slice(&message);
                count += 1;
            }
            if stream.write_all(&answers).is_ok() {
                counted.fetch_add(count, Ordering::Relaxed);
            }
        }
    });
    (address, answered)
}

#[test]
fn a_connection_is_not_silent_while_nothing_is_asked() {
    let work = Workplace::new();
    let faults = Faults { delay: Some("600ms".parse().unwrap()), ..Faults::default() };
    // Each client asks once in two seconds, and each answer comes late.
    let (digest, book) = measured(&work, faults, "--clients 4 --rate 2 --for 6s --timeout 400ms ");
    let ends = digest.tally().ends;
    assert!(ends.answered_late >= 11 && ends.answered_late + ends.timed_out == 12, "{ends:?}");
    assert_eq!((connections(&digest).opened, book.tcp.connections.accepted), (4, 4));
}

#[test]
fn a_query_whose_connection_never_opened_is_no_request() {
    let work = Workplace::new();
    let closed = closed_port();
    work.dnsdyno(&format!(
        "run -s {closed} --ask www.example --transport tcp --rate 100 --for 1s --quiet -o run"
    ))
    .gives(1);
    let digest = work.record("run");
    let tally = digest.tally();
    assert_eq!((tally.ends.refused, tally.requests, tally.bytes_sent), (100, 0, 0));
    assert_eq!(tally.types.iter().map(|count| count.sent).sum::<u64>(), 0);
    assert!(connections(&digest).failed(ConnectFailure::Refused) > 10);
}

/// Answers every query at once with an empty NOERROR, and closes each connection after `each` of them.
fn closes_after(each: usize) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    // The thread ends with the test process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            for _ in 0..each {
                if answer(&mut stream).is_err() {
                    break;
                }
            }
            // Read what is outstanding, so that the kernel closes with FIN and does not reset.
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
            let mut rest = [0; 4_096];
            while stream.read(&mut rest).is_ok_and(|n| n > 0) {}
        }
    });
    address
}

#[test]
fn after_the_server_closes_a_connection_the_next_queries_use_new_ones() {
    let work = Workplace::new();
    let server = closes_after(25);
    work.dnsdyno(&format!(
        "run -s {server} --ask www.example --transport tcp --outstanding 10 --clients 1 --workers 1 --count 1000 \
         --quiet -o run"
    ))
    .gives(0);
    let digest = work.record("run");
    assert_eq!(digest.tally().ends.answered, 1_000, "{:?}", digest.tally().ends);
    let connections = connections(&digest);
    assert!((40..=41).contains(&connections.established), "{}", connections.established);
    assert!((39..=40).contains(&connections.ended(ConnectionEnd::ByServer)));
    assert!(digest.tally().retried > 0);
    assert_eq!(digest.tally().requests, 1_000 + digest.tally().retried);
}

#[test]
fn connect_time_and_query_time_are_measured_separately() {
    let work = Workplace::new();
    let faults = Faults { delay: Some("20ms".parse().unwrap()), ..Faults::default() };
    let (digest, _) = measured(&work, faults, "--rate 200 --for 1s --queries-per-connection 1");
    let connections = connections(&digest);
    let p50 = |histogram| match (Latency { answered: histogram, unanswered: 0 }).quantile(0.5) {
        Some(Quantile::At(ns)) => ns,
        other => panic!("{other:?}"),
    };
    assert!(p50(&connections.connect) < 5_000_000, "connect {}", p50(&connections.connect));
    assert!((20_000_000..30_000_000).contains(&p50(&connections.query)), "query {}", p50(&connections.query));
    assert!(p50(&connections.first_byte) >= p50(&connections.query));
}

#[test]
fn an_idle_connection_is_closed_and_the_next_query_opens_another() {
    let work = Workplace::new();
    let (digest, book) =
        measured(&work, Faults::default(), "--rate 5 --for 2s --clients 1 --idle-timeout 50ms");
    assert_eq!(digest.tally().ends.answered, 10);
    assert_eq!((connections(&digest).established, book.tcp.connections.accepted), (10, 10));
}

#[test]
fn of_thousands_of_connections_each_is_closed_when_it_has_been_idle_for_its_time() {
    within_some_tries("connections at once", |work| {
        // Each client has its turn every two seconds, so each query finds its connection closed.
        let load = "--clients 4000 --rate 2k --for 6s --idle-timeout 500ms";
        let (digest, book) = measured(work, Faults::default(), load);
        let connections = connections(&digest);
        let (established, reused) = (connections.established, connections.reused);
        assert_eq!((digest.tally().ends.answered, digest.tally().retried), (12_000, 0));
        assert_eq!((established, established + reused), (book.tcp.connections.accepted, 12_000));
        assert_eq!(connections.ended(ConnectionEnd::ByUs), established);
        // Those of half a second; where the host let the generator wait, queries that caught up found others open.
        match reused == 0 && (900..1_600).contains(&connections.open_max) {
            true => Ok(()),
            false => Err(format!("{} at once, {reused} used again", connections.open_max)),
        }
    });
}

#[test]
fn the_server_sees_the_end_of_an_idle_connection_after_the_time_asked_for() {
    within_some_tries("idle time at the server", |work| {
        let (server, idle_times) = times_idle();
        let load = "--clients 600 --rate 300 --for 3s --idle-timeout 250ms";
        work.dnsdyno(&format!("run -s {server} --ask www.example --transport tcp {load} --quiet -o run"))
            .gives(0);
        assert_eq!(connections(&work.record("run")).established, 900);
        let mut idle_times: Vec<Duration> = idle_times.try_iter().collect();
        idle_times.sort();
        // Those that are open at the end of the run are closed then.
        let (closed_at_end, whole): (Vec<_>, Vec<_>) =
            idle_times.into_iter().partition(|time| *time < Duration::from_millis(249));
        assert!(closed_at_end.len() <= 80, "{} were closed early", closed_at_end.len());
        assert!(whole.len() >= 820, "{} ends were seen", whole.len());
        let p90 = whole[whole.len() * 9 / 10];
        if p90 < Duration::from_millis(265) { Ok(()) } else { Err(format!("p90: {p90:?}")) }
    });
}

/// Answers each query, and gives for each connection the time between its last answer and its end.
fn times_idle() -> (SocketAddr, mpsc::Receiver<Duration>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, times) = mpsc::channel();
    // The threads end with their connections, and with the test process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, sender) = (stream.unwrap(), sender.clone());
            thread::spawn(move || {
                let mut answered = None;
                while answer(&mut stream).is_ok() {
                    answered = Some(Instant::now());
                }
                // The check before the load ends with the program, its receiver with the test.
                let _ = answered.map(|answered| sender.send(answered.elapsed()));
            });
        }
    });
    (address, times)
}

/// Reads a query and answers it with an empty NOERROR.
fn answer(stream: &mut TcpStream) -> io::Result<()> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut message)?;
    message[2] |= 0x80;
    stream.write_all(&[&length[..], &message].concat())
}

#[test]
fn a_restart_of_the_server_is_a_gap_and_the_run_continues() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let address = server.address();
    let words = format!(
        "run -s {address} --ask www.example --transport tcp --clients 4 --rate 500 --for 4s --quiet -o run"
    );
    let mut generator = work.start(&words);
    generator.until("its first queries are answered", || server.book().tcp.counts.answered > 300);
    let first = server.stop();
    generator.until("its queries are refused", || {
        work.intervals("run").iter().any(|interval| interval.tally.ends.refused > 0)
    });
    let second = Responder::start(Config { listen: address, ..Config::default() }).unwrap();
    generator.wait().gives(0);
    let (digest, second) = (work.record("run"), second.stop());
    let ends = digest.tally().ends;
    assert_eq!(ends.total(), 2_000);
    assert_eq!(ends.answered + ends.refused, 2_000, "{ends:?}");
    assert!(ends.refused > 100 && second.tcp.counts.answered > 200, "{ends:?}");
    assert_eq!(ends.answered, first.tcp.counts.answered + second.tcp.counts.answered);
    assert!(connections(&digest).failed(ConnectFailure::Refused) > 0);
}

#[test]
fn several_local_addresses_are_used_in_turn_and_foreign_ones_refused() {
    let work = Workplace::new();
    let (digest, _) = measured(
        &work,
        Faults::default(),
        "--outstanding 20 --queries-per-connection 1 --count 500 --local-address 127.0.1.0/28",
    );
    assert_eq!(digest.tally().ends.answered, 500);
    assert!(work.read("run/plan.toml").contains("127.0.1.0/28"));
    work.dnsdyno("run -s 127.0.0.1 --ask a --transport tcp --local-address 203.0.113.0/30 --for 1s -o none")
        .ends_refused(3, &["203.0.113.0", "ip address"]);
}

#[test]
fn too_few_open_files_are_reported_at_the_start_with_the_number_and_advice() {
    let work = Workplace::new();
    if !is_bound_by_file_limit(&work) {
        return;
    }
    let words = "run -s 127.0.0.1:9 --ask a --transport tcp --clients 5000 --workers 2 --for 1s -o none";
    work.shell(&format!("ulimit -n 200; $0 {words}")).ends_refused(
        3,
        &["--clients 5000 needs 5064 open files", "ulimit -n 5064", "--workers 37", "fewer clients"],
    );
}

#[test]
fn more_clients_than_the_file_limit_are_distributed_to_workers() {
    let work = Workplace::new();
    if !is_bound_by_file_limit(&work) {
        return;
    }
    let server = responder(Faults::default());
    let words = format!(
        "run -s {} --ask a --transport tcp --clients 600 --workers 3 --rate 2k --count 2400 --quiet -o run",
        server.address()
    );
    work.shell(&format!("ulimit -n 300; $0 {words}")).gives(0);
    let digest = work.record("run");
    let connections = connections(&digest);
    assert_eq!((digest.tally().ends.answered, connections.open_max), (2_400, 600));
    assert_eq!((connections.opened, server.stop().tcp.connections.accepted), (600, 600));
}

/// Whether a lowered limit of open files is permanent: with some privileges it can be raised again.
fn is_bound_by_file_limit(work: &Workplace) -> bool {
    let is_bound = !work.shell("ulimit -n 200; ulimit -n 300").stderr.is_empty();
    if !is_bound {
        eprintln!("skipped: this user may raise any limit of open files");
    }
    is_bound
}

/// A pass through the queries of the testbed over kept connections, and one with a connection for each few.
fn answers_over_tcp(name: &str) {
    let work = Workplace::with_queries();
    let Some(server) = real_server(name, &ServerOptions::default()) else { return };
    let queries = dnsdyno_lab::example_queries().lines().filter(|line| !line.starts_with(';')).count() as u64;
    for (out, load) in [
        ("kept", "--rate 1k --passes 4 --clients 4"),
        ("short", "--outstanding 10 --passes 4 --queries-per-connection 3"),
    ] {
        work.dnsdyno(&format!("run -s {} -d q.txt --transport tcp {load} -o {out}", server.address()))
            .gives(0);
        let digest = work.record(out);
        assert_eq!(digest.tally().ends.answered, 4 * queries, "{out}: {:?}", digest.tally().ends);
        assert_eq!(digest.arrivals().anomalies, Anomalies::default());
        assert_eq!(connections(&digest).failed_total(), 0);
    }
}

#[test]
fn nsd_answers_over_tcp() {
    answers_over_tcp("nsd");
}

#[test]
fn bind_answers_over_tcp() {
    answers_over_tcp("bind");
}

#[test]
fn knot_answers_over_tcp() {
    answers_over_tcp("knot");
}

#[test]
fn unbound_answers_over_tcp() {
    answers_over_tcp("unbound");
}

#[test]
fn pdns_answers_over_tcp() {
    answers_over_tcp("pdns");
}

#[test]
fn a_server_that_closes_every_connection_is_tried_ever_more_seldom() {
    for (transport, load) in
        [("tcp", "--outstanding 20"), ("tcp", "--rate 1k"), ("dot --insecure", "--rate 1k")]
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        // Counts the connections up to the one that tells it that it is over.
        let accepting = thread::spawn(move || {
            listener.incoming().take_while(|stream| stream.is_ok() && !told.load(Ordering::Acquire)).count()
        });
        let work = Workplace::new();
        work.dnsdyno(&format!(
            "run -s {address} --ask www.example --transport {transport} {load} --clients 4 --workers 1 --for 2s \
             --quiet -o run"
        ));
        is_over.store(true, Ordering::Release);
        TcpStream::connect(address).unwrap();
        let accepted = accepting.join().unwrap();
        let digest = work.record("run");
        let (tally, connections) = (digest.tally(), connections(&digest));
        assert_eq!((tally.ends.answered, tally.ends.total()), (0, tally.scheduled), "{:?}", tally.ends);
        assert_eq!(connections.established, accepted as u64, "{transport} {load}");
        // Each client: at first at once, then after a quarter of the time that it has failed for.
        assert!(connections.opened <= 4 * 60, "{transport} {load}: {}", connections.opened);
        assert!(connections.pauses >= 4 * 5 && connections.pauses < connections.opened, "{connections:?}");
        assert!(connections.paused_ns >= 1_000_000 * connections.pauses / 2, "{connections:?}");
    }
}
