//! Faults of connections: what a client sees of each, and that the book counts it under its name.

mod clients;
mod common;

use std::time::Duration;

use clients::{
    Doh, Doh3, Doq, address, connect_dot, connect_tcp, connect_tls, framed, receive, run, send, start_all,
    tls_config,
};
use common::{query, share, wait_for};
use dnsdyno_responder::{Book, Config, Running, Transport};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// A stream of messages with their lengths before them, and how it was opened.
async fn each_stream(running: &Running) -> [Box<dyn Stream>; 2] {
    [Box::new(connect_tcp(running).await), Box::new(connect_dot(running).await.unwrap())]
}

trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

fn faulty(change: impl FnOnce(&mut Config)) -> Running {
    start_all(change)
}

/// Every query and every connection has ended exactly once.
fn adds_up(book: &Book) {
    for transport in Transport::ALL {
        let side = book.side(transport);
        assert_eq!(side.counts.received, side.counts.ended(), "{transport}: {:?}", side.counts);
        assert_eq!(
            side.connections.accepted,
            side.connections.ended(),
            "{transport}: {:?}",
            side.connections
        );
    }
    assert!(book.failures.is_empty(), "{:?}", book.failures);
}

#[test]
fn a_cut_response_is_half_a_response_and_then_a_reset() {
    let running = faulty(|config| config.faults.cut = share("100%"));
    run(async {
        for mut stream in each_stream(&running).await {
            send(&mut stream, &query(0)).await.unwrap();
            let mut bytes = Vec::new();
            let error = stream.read_to_end(&mut bytes).await.unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
            assert!((10..45).contains(&bytes.len()), "{}", bytes.len());
        }
        assert!(Doh::connect(&running).await.unwrap().get(&query(0)).await.is_err());
        let error = Doq::connect(&running).await.unwrap().ask(&query(0)).await.unwrap_err();
        assert!(error.contains("error_code: 1"), "{error}");
        assert!(Doh3::connect(&running).await.unwrap().get(&query(0)).await.is_err());
    });
    let book = running.stop();
    for transport in &Transport::ALL[1..] {
        let side = book.side(*transport);
        assert_eq!((side.counts.cuts, side.counts.answered), (1, 0), "{transport}");
        assert_eq!(side.connections.reset_on_command, 1, "{transport}");
    }
    adds_up(&book);
}

#[test]
fn a_reset_takes_the_connection_over_every_transport() {
    let running = faulty(|config| config.faults.reset = share("100%"));
    run(async {
        for mut stream in each_stream(&running).await {
            send(&mut stream, &query(0)).await.unwrap();
            let error = receive(&mut stream).await.unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        }
        assert!(Doh::connect(&running).await.unwrap().get(&query(0)).await.is_err());
        let error = Doq::connect(&running).await.unwrap().ask(&query(0)).await.unwrap_err();
        assert!(error.contains("error_code: 1"), "{error}");
        assert!(Doh3::connect(&running).await.unwrap().get(&query(0)).await.is_err());
    });
    let book = running.stop();
    for transport in &Transport::ALL[1..] {
        let side = book.side(*transport);
        assert_eq!((side.counts.resets, side.connections.reset_on_command), (1, 1), "{transport}");
    }
    adds_up(&book);
}

#[test]
fn a_wrong_length_declares_16_bytes_too_many() {
    let running = faulty(|config| config.faults.wrong_length = share("100%"));
    run(async {
        for mut stream in each_stream(&running).await {
            send(&mut stream, &query(0)).await.unwrap();
            let told = stream.read_u16().await.unwrap();
            stream.shutdown().await.unwrap();
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await.unwrap();
            assert_eq!(usize::from(told), rest.len() + 16);
        }
        let error = Doh::connect(&running).await.unwrap().get(&query(0)).await.unwrap_err();
        assert!(error.to_string().contains("protocol error"), "{error}");
        let answer = Doq::connect(&running).await.unwrap().exchange(&framed(&query(0))).await.unwrap();
        assert_eq!(usize::from(u16::from_be_bytes([answer[0], answer[1]])), answer.len() - 2 + 16);
        // This client does not look at the length.
        let page = Doh3::connect(&running).await.unwrap().get(&query(0)).await.unwrap();
        assert_eq!(page.content_length.parse(), Ok(page.body.len() + 16));
    });
    let book = running.stop();
    for transport in &Transport::ALL[1..] {
        assert_eq!(book.side(*transport).counts.wrong_lengths, 1, "{transport}");
    }
    adds_up(&book);
}

#[test]
fn a_slow_response_arrives_whole_and_byte_by_byte() {
    let running = faulty(|config| config.faults.dribble = share("100%"));
    run(async {
        for mut stream in each_stream(&running).await {
            send(&mut stream, &query(0)).await.unwrap();
            let mut reads = 0;
            let mut left: usize = 2 + 12 + 16 + 16;
            while left > 0 {
                let count = stream.read(&mut [0; 100]).await.unwrap();
                assert!(count > 0);
                (reads, left) = (reads + 1, left.saturating_sub(count));
            }
            assert!(reads > 20, "{reads} reads");
        }
        assert_eq!(Doh::connect(&running).await.unwrap().get(&query(0)).await.unwrap().status, 200);
        Doq::connect(&running).await.unwrap().ask(&query(0)).await.unwrap();
        assert_eq!(Doh3::connect(&running).await.unwrap().get(&query(0)).await.unwrap().status, 200);
    });
    let book = running.stop();
    for transport in &Transport::ALL[1..] {
        let side = book.side(*transport);
        assert_eq!((side.counts.dribbled, side.counts.answered), (1, 1), "{transport}");
        assert!(side.hold_ns(1.0) > Some(5_000_000), "{transport}: {:?}", side.hold_ns(1.0));
    }
    adds_up(&book);
}

#[test]
fn reordered_responses_are_sent_after_the_next_one_and_the_last_one_is_sent_too() {
    let running = faulty(|config| config.faults.reorder = share("100%"));
    run(async {
        for mut stream in each_stream(&running).await {
            let all: Vec<u8> = (0..3).flat_map(|number| framed(&query(number))).collect();
            stream.write_all(&all).await.unwrap();
            stream.flush().await.unwrap();
            let mut ids = Vec::new();
            for _ in 0..3 {
                ids.push(receive(&mut stream).await.unwrap()[1]);
            }
            assert_eq!(ids, [1, 0, 2]);
        }
        assert_eq!(Doh::connect(&running).await.unwrap().get(&query(0)).await.unwrap().status, 200);
        Doq::connect(&running).await.unwrap().ask(&query(0)).await.unwrap();
        assert_eq!(Doh3::connect(&running).await.unwrap().get(&query(0)).await.unwrap().status, 200);
    });
    let book = running.stop();
    let over_streams = [Transport::Tcp, Transport::Dot].map(|transport| (transport, 1, 3));
    let over_requests = [Transport::Doh, Transport::Doq, Transport::Doh3].map(|transport| (transport, 0, 1));
    for (transport, reordered, answered) in [&over_streams[..], &over_requests].concat() {
        let counts = book.side(transport).counts;
        assert_eq!((counts.reordered, counts.answered), (reordered, answered), "{transport}");
    }
    adds_up(&book);
}

#[test]
fn status_500_and_stream_resets_end_their_query_and_not_the_connection() {
    let running = faulty(|config| {
        config.faults.server_error = share("50%");
        config.faults.stream_reset = share("50%");
    });
    let (mut errors, mut resets, mut errors3, mut resets3) = (0, 0, 0, 0);
    run(async {
        let mut client = Doh::connect(&running).await.unwrap();
        for _ in 0..100 {
            match client.post(&query(0)).await {
                Ok(page) => errors += u64::from(page.status == 500),
                Err(error) => resets += u64::from(error.is_reset()),
            }
        }
        let client = Doq::connect(&running).await.unwrap();
        for _ in 0..100 {
            if let Err(error) = client.ask(&query(0)).await {
                assert!(error.contains("Reset"), "{error}");
            }
        }
        let client = Doh3::connect(&running).await.unwrap();
        for _ in 0..100 {
            match client.post(&query(0)).await {
                Ok(page) => errors3 += u64::from(page.status == 500),
                Err(h3::error::StreamError::RemoteTerminate { .. }) => resets3 += 1,
                Err(error) => panic!("{error:?}"),
            }
        }
    });
    let book = running.stop();
    for (side, errors, resets) in [(&book.doh, errors, resets), (&book.doh3, errors3, resets3)] {
        assert_eq!((side.counts.server_errors, side.counts.stream_resets), (errors, resets));
        assert_eq!((errors + resets, side.connections.accepted), (100, 1));
        assert_eq!(side.statuses, [(500, errors)].into());
    }
    // Over QUIC there is no status: those that drew it are answered.
    assert_eq!(book.doq.counts.stream_resets + book.doq.counts.answered, 100);
    assert!(book.doq.counts.stream_resets > 20 && book.doq.counts.answered > 20);
    adds_up(&book);
}

#[test]
fn after_goaway_the_response_is_sent_and_the_connection_ends() {
    let running = faulty(|config| config.faults.goaway = share("100%"));
    run(async {
        let mut client = Doh::connect(&running).await.unwrap();
        assert_eq!(client.post(&query(0)).await.unwrap().status, 200);
        // The connection is closed by the server, not by a timeout.
        client.connection.await.unwrap().unwrap();
        let client = Doh3::connect(&running).await.unwrap();
        assert_eq!(client.post(&query(0)).await.unwrap().status, 200);
        assert!(matches!(client.connection.closed().await, quinn::ConnectionError::ApplicationClosed(_)));
    });
    let book =
        wait_for(&running, |book| [&book.doh, &book.doh3].iter().all(|side| side.connections.ended() == 1));
    for side in [&book.doh, &book.doh3] {
        let connections = side.connections;
        assert_eq!((connections.goaways, connections.closed_on_command, side.counts.answered), (1, 1, 1));
    }
    adds_up(&running.stop());
}

#[test]
fn each_connection_is_closed_regularly_after_so_many_responses() {
    let running = faulty(|config| config.faults.close_after = Some(3));
    run(async {
        for mut stream in each_stream(&running).await {
            let all: Vec<u8> = (0..10).flat_map(|number| framed(&query(number))).collect();
            stream.write_all(&all).await.unwrap();
            stream.flush().await.unwrap();
            for number in 0..3 {
                assert_eq!(receive(&mut stream).await.unwrap()[1], number);
            }
            assert_eq!(stream.read(&mut [0; 10]).await.unwrap(), 0, "an end, and no reset");
        }
        let mut doh = Doh::connect(&running).await.unwrap();
        for _ in 0..3 {
            assert_eq!(doh.get(&query(0)).await.unwrap().status, 200);
        }
        assert!(doh.get(&query(0)).await.is_err());
        let doq = Doq::connect(&running).await.unwrap();
        for _ in 0..3 {
            doq.ask(&query(0)).await.unwrap();
        }
        let quinn::ConnectionError::ApplicationClosed(close) = doq.connection.closed().await else {
            panic!("not closed by the server");
        };
        assert_eq!(close.error_code, 0u32.into());
        let doh3 = Doh3::connect(&running).await.unwrap();
        for _ in 0..3 {
            assert_eq!(doh3.get(&query(0)).await.unwrap().status, 200);
        }
        let quinn::ConnectionError::ApplicationClosed(close) = doh3.connection.closed().await else {
            panic!("not closed by the server");
        };
        assert_eq!(close.error_code.into_inner(), h3::error::Code::H3_NO_ERROR.value());
    });
    let book = running.stop();
    for transport in &Transport::ALL[1..] {
        let side = book.side(*transport);
        assert_eq!((side.counts.answered, side.connections.closed_on_command), (3, 1), "{transport}");
    }
    adds_up(&book);
}

#[test]
fn silent_connections_read_everything_and_send_nothing() {
    let running = faulty(|config| {
        config.faults.silent = share("100%");
        config.idle = Duration::from_millis(50);
    });
    run(async {
        let quiet = Duration::from_millis(200);
        for mut stream in each_stream(&running).await {
            send(&mut stream, &query(0)).await.unwrap();
            assert!(tokio::time::timeout(quiet, receive(&mut stream)).await.is_err(), "it is not closed");
        }
        let mut doh = Doh::connect(&running).await.unwrap();
        assert!(tokio::time::timeout(quiet, doh.get(&query(0))).await.is_err());
        let doq = Doq::connect(&running).await.unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(30), doq.ask(&query(0))).await.is_err());
        let doh3 = Doh3::connect(&running).await.unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(30), doh3.get(&query(0))).await.is_err());
    });
    let book = running.stop();
    for transport in &Transport::ALL[1..] {
        let side = book.side(*transport);
        assert_eq!((side.counts.silenced, side.counts.received), (1, 1), "{transport}");
        assert_eq!((side.connections.silent, side.connections.closed_idle), (1, 0), "{transport}");
    }
    adds_up(&book);
}

#[test]
fn a_handshake_can_be_refused_or_ignored() {
    for is_alert in [true, false] {
        let running = faulty(|config| {
            let fault = if is_alert { &mut config.faults.tls_alert } else { &mut config.faults.no_handshake };
            *fault = share("100%");
        });
        run(async {
            let quiet = Duration::from_millis(200);
            for (transport, protocol) in [(Transport::Dot, "dot"), (Transport::Doh, "h2")] {
                let connect = connect_tls(address(&running, transport), tls_config(&running, protocol));
                match tokio::time::timeout(quiet, connect).await {
                    Err(_) => assert!(!is_alert, "{transport}"),
                    Ok(connected) => {
                        let error = connected.unwrap_err().to_string();
                        assert!(is_alert && error.contains("HandshakeFailure"), "{transport}: {error}");
                    }
                }
            }
            match tokio::time::timeout(quiet, Doq::connect(&running)).await {
                Err(_) => assert!(!is_alert),
                Ok(connected) => {
                    let error = format!("{:?}", connected.err());
                    assert!(is_alert && error.contains("ConnectionClosed"), "{error}");
                }
            }
            match tokio::time::timeout(quiet, Doh3::connect(&running)).await {
                Err(_) => assert!(!is_alert),
                Ok(connected) => {
                    let error = connected.err().unwrap_or_default();
                    assert!(is_alert && error.contains("ConnectionClosed"), "{error}");
                }
            }
            // Over TCP there is no handshake to spoil.
            let mut tcp = connect_tcp(&running).await;
            send(&mut tcp, &query(5)).await.unwrap();
            assert_eq!(receive(&mut tcp).await.unwrap()[1], 5);
        });
        let book = wait_for(&running, |book| {
            Transport::ALL[2..].iter().all(|transport| book.side(*transport).connections.ended() == 1)
        });
        for transport in &Transport::ALL[2..] {
            let connections = book.side(*transport).connections;
            let expected = if is_alert { (1, 0, 0) } else { (0, 1, 1) };
            let counts =
                (connections.tls_alerts, connections.handshakes_withheld, connections.handshakes_failed);
            assert_eq!(counts, expected);
        }
        adds_up(&running.stop());
    }
}
