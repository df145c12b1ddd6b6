//! The responder over TCP, DoT, DoH, DoQ and DoH/3: its responses, and what its book says about connections.

mod clients;
mod common;

use clients::{
    Doh, Doh3, Doq, Page, address, connect_dot, connect_tcp, connect_tls, framed, post_request, quic_config,
    receive, run, send, start_all, tls_config, url,
};
use common::{query, wait_for};
use dnsdyno_responder::answer::{Case, cases};
use dnsdyno_responder::{Resumption, Rule, Running, TlsVersions, Transport};
use http::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The ways that carry connections, with both methods of HTTP.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Tcp,
    Dot,
    DohGet,
    DohPost,
    Doq,
    Doh3Get,
    Doh3Post,
}

const WAYS: [Way; 7] = [Way::Tcp, Way::Dot, Way::DohGet, Way::DohPost, Way::Doq, Way::Doh3Get, Way::Doh3Post];

impl Way {
    /// Sends a query on a connection of its own; `None` where the transport shows that it will not be
    /// answered.
    async fn ask(self, running: &Running, message: &[u8]) -> Option<Vec<u8>> {
        match self {
            Way::Tcp | Way::Dot if message.len() < 12 || message[2] & 0x80 != 0 => {
                // That nothing is sent is visible only by a later response, which must
                // arrive first.
                let (first, second) = (framed(message), framed(&query(7)));
                let both = [first, second].concat();
                let answer = match self {
                    Way::Tcp => first_answer(connect_tcp(running).await, &both).await,
                    _ => first_answer(connect_dot(running).await.unwrap(), &both).await,
                };
                assert_eq!(answer[..2], [0, 7]);
                None
            }
            Way::Tcp => Some(first_answer(connect_tcp(running).await, &framed(message)).await),
            Way::Dot => Some(first_answer(connect_dot(running).await.unwrap(), &framed(message)).await),
            Way::DohGet | Way::DohPost => {
                let mut client = Doh::connect(running).await.unwrap();
                let page = match self {
                    Way::DohGet => client.get(message).await.unwrap(),
                    _ => client.post(message).await.unwrap(),
                };
                message_of(page)
            }
            Way::Doh3Get | Way::Doh3Post => {
                let client = Doh3::connect(running).await.unwrap();
                let page = match self {
                    Way::Doh3Get => client.get(message).await.unwrap(),
                    _ => client.post(message).await.unwrap(),
                };
                client.close().await;
                message_of(page)
            }
            Way::Doq => {
                let client = Doq::connect(running).await.unwrap();
                let answer = client.ask(message).await;
                client.close().await;
                match answer {
                    Ok(answer) => Some(answer),
                    // DOQ_PROTOCOL_ERROR
                    Err(error) if error.contains("error_code: 2") => None,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
}

/// The message on a page; `None` where the query was refused as malformed.
fn message_of(page: Page) -> Option<Vec<u8>> {
    assert!(page.status == 200 || page.status == 400, "{page:?}");
    (page.status == 200).then_some(page.body)
}

async fn first_answer(
    mut stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    bytes: &[u8],
) -> Vec<u8> {
    stream.write_all(bytes).await.unwrap();
    stream.flush().await.unwrap();
    receive(&mut stream).await.unwrap()
}

#[test]
fn every_case_of_the_table_is_answered_over_every_transport_as_it_says() {
    let mut failures = Vec::new();
    for case in cases().into_iter().filter(Case::holds_over_connections) {
        let running = start_all(|config| config.rule = case.rule.clone());
        for way in WAYS {
            let mut case = case.clone();
            if way == Way::Doq && case.query.len() >= 2 {
                case.query[..2].fill(0); // as RFC 9250 asks
            }
            let response = run(way.ask(&running, &case.query));
            if let Err(difference) = case.check(response.as_ref()) {
                failures.push(format!("{way:?}: {}: {difference}", case.name));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_longest_responses_arrive_whole_over_every_transport() {
    let running = start_all(|config| config.rule = Rule::FixedSize { bytes: 65_535 });
    for way in WAYS {
        let answer = run(way.ask(&running, &query(0))).unwrap();
        assert_eq!(answer.len(), 65_535, "{way:?}");
    }
}

#[test]
fn the_book_has_queries_connections_handshakes_and_first_queries_of_each_transport() {
    let running = start_all(|_| {});
    run(async {
        let mut tcp = connect_tcp(&running).await;
        let mut dot = connect_dot(&running).await.unwrap();
        let mut doh = Doh::connect(&running).await.unwrap();
        let doq = Doq::connect(&running).await.unwrap();
        let doh3 = Doh3::connect(&running).await.unwrap();
        for _ in 0..20 {
            send(&mut tcp, &query(0)).await.unwrap();
            receive(&mut tcp).await.unwrap();
            send(&mut dot, &query(0)).await.unwrap();
            receive(&mut dot).await.unwrap();
            assert_eq!(doh.get(&query(0)).await.unwrap().status, 200);
            doq.ask(&query(0)).await.unwrap();
            assert_eq!(doh3.get(&query(0)).await.unwrap().status, 200);
        }
        dot.shutdown().await.unwrap();
        doq.close().await;
        doh3.close().await;
    });
    for transport in &Transport::ALL[1..] {
        let book = wait_for(&running, |book| book.side(*transport).connections.ended() == 1);
        let side = book.side(*transport);
        let (counts, connections) = (side.counts, side.connections);
        assert_eq!((counts.received, counts.answered, counts.ended()), (20, 20, 20), "{transport}");
        assert_eq!((connections.accepted, connections.closed_by_client), (1, 1), "{transport}");
        let handshakes = u64::from(transport.has_handshake());
        assert_eq!((connections.handshakes_full, side.handshake.count()), (handshakes, handshakes));
        assert_eq!((side.first_query.count(), side.hold.count()), (1, 20), "{transport}");
        assert!(side.first_query.quantile_ns(0.0) >= side.handshake.quantile_ns(0.0), "{transport}");
    }
    let book = running.stop();
    assert_eq!(book.doh.statuses, [(200, 20)].into());
    assert_eq!(book.doh3.statuses, [(200, 20)].into());
    assert_eq!(book.total().counts.answered, 100);
    assert!(book.failures.is_empty(), "{:?}", book.failures);
}

#[test]
fn responses_on_one_connection_do_not_wait_for_each_other() {
    let running = start_all(|config| config.faults.delay = Some("uniform:1ms..50ms".parse().unwrap()));
    run(async {
        let client = Doq::connect(&running).await.unwrap();
        let mut asked = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let connection = client.connection.clone();
            asked.spawn(async move { clients::exchange(&connection, &framed(&query(0))).await });
        }
        while let Some(answer) = asked.join_next().await {
            answer.unwrap().unwrap();
        }
        let mut asked = tokio::task::JoinSet::new();
        let doh = Doh::connect(&running).await.unwrap();
        for number in 0..100 {
            let mut doh = Doh { send: doh.send.clone(), connection: tokio::spawn(async { Ok(()) }) };
            asked.spawn(async move { doh.post(&query(number)).await.map(|page| page.body) });
        }
        let mut order = Vec::new();
        while let Some(answer) = asked.join_next().await {
            order.push(u16::from_be_bytes(*answer.unwrap().unwrap().first_chunk().unwrap()));
        }
        assert!(!order.is_sorted(), "answers leave as they fall due");
    });
    let book = running.stop();
    assert_eq!((book.doh.counts.answered, book.doq.counts.answered), (100, 100));
    for side in [&book.doh, &book.doq] {
        let median_ns = side.hold_ns(0.5).unwrap();
        assert!((15_000_000..40_000_000).contains(&median_ns), "{median_ns}");
    }
}

#[test]
fn bad_requests_get_the_status_that_says_why_and_leave_the_connection_usable() {
    let running = start_all(|_| {});
    run(async {
        let mut client = Doh::connect(&running).await.unwrap();
        let get = |path: &str| Request::get(url(path)).body(()).unwrap();
        let cases = [
            (get("/"), &b""[..], 404),
            (get("/dns-query/x?dns=AAAA"), b"", 404),
            (get("/dns-query"), b"", 400),
            (get("/dns-query?dns="), b"", 400),
            (get("/dns-query?dns=!!!!"), b"", 400),
            (get("/dns-query?dns=AAABAA=="), b"", 400),
            (get("/dns-query?dns=AAAA"), b"", 400),
            (Request::put(url("/dns-query")).body(()).unwrap(), b"", 405),
            (post_request("application/json"), b"{}", 415),
            (Request::post(url("/dns-query")).body(()).unwrap(), b"x", 415),
            (post_request("application/dns-message"), b"short", 400),
            (post_request("application/dns-message"), &[0; 70_000], 413),
        ];
        for (request, body, status) in cases {
            let name = format!("{request:?}");
            assert_eq!(client.ask(request, body).await.unwrap().status, status, "{name}");
        }
        let page = client.post(&query(0)).await.unwrap();
        assert_eq!((page.status.as_u16(), page.cache_control.as_str()), (200, "max-age=300"));
    });
    let doh = running.stop().doh;
    assert_eq!(doh.statuses, [(200, 1), (400, 6), (404, 2), (405, 1), (413, 1), (415, 2)].into());
    assert_eq!((doh.counts.answered, doh.connections.accepted), (1, 1));
}

#[test]
fn each_version_of_tls_is_supported_and_can_be_selected_alone() {
    for (versions, speaks_12, speaks_13) in [
        (TlsVersions::Both, true, true),
        (TlsVersions::Only12, true, false),
        (TlsVersions::Only13, false, true),
    ] {
        let running = start_all(|config| {
            config.tls.versions = versions;
            config.doq.clear();
            config.doh3.clear();
        });
        for (version, is_spoken) in
            [(&rustls::version::TLS12, speaks_12), (&rustls::version::TLS13, speaks_13)]
        {
            let connected = run(async {
                let mut config = tls_config(&running, "dot");
                let provider = config.crypto_provider().clone();
                let roots = tls_roots(&running);
                config = rustls::ClientConfig::builder_with_provider(provider)
                    .with_protocol_versions(&[version])
                    .unwrap()
                    .with_root_certificates(roots)
                    .with_no_client_auth();
                connect_tls(address(&running, Transport::Dot), config).await.is_ok()
            });
            assert_eq!(connected, is_spoken, "{versions:?} {version:?}");
        }
        let failed = u64::from(!speaks_12) + u64::from(!speaks_13);
        let book = wait_for(&running, |book| book.dot.connections.ended() == 2);
        assert_eq!(book.dot.connections.handshakes_failed, failed);
        assert_eq!(book.dot.connections.handshakes_full, 2 - failed);
    }
}

fn tls_roots(running: &Running) -> rustls::RootCertStore {
    use rustls::pki_types::pem::PemObject;
    let mut roots = rustls::RootCertStore::empty();
    let pem = running.trust_pem().unwrap();
    roots.add(rustls::pki_types::CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    roots
}

#[test]
fn sessions_are_resumed_by_tickets_unless_that_is_off() {
    for (resumption, full, resumed) in [(Resumption::Tickets, 1, 2), (Resumption::Off, 3, 0)] {
        let running = start_all(|config| config.tls.resumption = resumption);
        run(async {
            let config = tls_config(&running, "dot");
            for _ in 0..3 {
                let address = address(&running, Transport::Dot);
                let mut stream = connect_tls(address, config.clone()).await.unwrap();
                send(&mut stream, &query(1)).await.unwrap();
                receive(&mut stream).await.unwrap();
                stream.shutdown().await.unwrap();
                // The rest are session tickets.
                while stream.read(&mut [0; 100]).await.is_ok_and(|count| count > 0) {}
            }
            let config = quic_config(&running, "doq");
            for _ in 0..3 {
                let mut endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
                endpoint.set_default_client_config(config.clone());
                let connecting = endpoint.connect(address(&running, Transport::Doq), "localhost").unwrap();
                let client = Doq { connection: connecting.await.unwrap(), endpoint };
                client.ask(&query(0)).await.unwrap();
                client.close().await;
            }
        });
        let book =
            wait_for(&running, |book| book.dot.connections.ended() == 3 && book.doq.connections.ended() == 3);
        for side in [&book.dot, &book.doq] {
            let connections = side.connections;
            assert_eq!((connections.handshakes_full, connections.handshakes_resumed), (full, resumed));
            assert_eq!((connections.handshakes_early, side.counts.early), (0, 0));
        }
    }
}

#[test]
fn early_data_is_taken_over_dot_and_doq_where_that_is_on() {
    let running = start_all(|config| config.tls.resumption = Resumption::EarlyData);
    run(async {
        let mut config = tls_config(&running, "dot");
        config.enable_early_data = true;
        for _ in 0..2 {
            let mut stream = connect_tls(address(&running, Transport::Dot), config.clone()).await.unwrap();
            send(&mut stream, &query(1)).await.unwrap();
            receive(&mut stream).await.unwrap();
            stream.shutdown().await.unwrap();
            while stream.read(&mut [0; 100]).await.is_ok_and(|count| count > 0) {}
        }
        let config = quic_config(&running, "doq");
        for round in 0..2 {
            let mut endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
            endpoint.set_default_client_config(config.clone());
            let connecting = endpoint.connect(address(&running, Transport::Doq), "localhost").unwrap();
            let connection = match connecting.into_0rtt() {
                Ok((connection, _)) if round == 1 => connection,
                Ok(_) => panic!("nothing to resume yet"),
                Err(connecting) => connecting.await.unwrap(),
            };
            let client = Doq { connection, endpoint };
            client.ask(&query(0)).await.unwrap();
            client.close().await;
        }
    });
    let book =
        wait_for(&running, |book| book.dot.connections.ended() == 2 && book.doq.connections.ended() == 2);
    for side in [&book.dot, &book.doq] {
        let connections = side.connections;
        assert_eq!((connections.handshakes_full, connections.handshakes_early), (1, 1));
        assert_eq!((side.counts.early, side.counts.answered), (1, 2));
    }
}

#[test]
fn violations_of_doq_close_the_connection_with_a_protocol_error() {
    let running = start_all(|_| {});
    let good = query(0);
    let keepalive = {
        let mut message = good.clone();
        message[11] = 1;
        message.extend_from_slice(&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 4, 0, 11, 0, 0]);
        message
    };
    let bad = [
        framed(&query(9)),
        [framed(&good), framed(&good)].concat(),
        framed(&good)[..20].to_vec(),
        framed(&keepalive),
        Vec::new(),
    ];
    for (number, bytes) in bad.iter().enumerate() {
        run(async {
            let client = Doq::connect(&running).await.unwrap();
            let error = client.exchange(bytes).await.unwrap_err();
            assert!(error.contains("ApplicationClosed") && error.contains("error_code: 2"), "{error}");
        });
        assert_eq!(running.book().doq.connections.closed_for_error, number as u64 + 1);
    }
    let doq = running.stop().doq;
    assert_eq!((doq.counts.answered, doq.counts.received), (0, doq.counts.ended()));
}

#[test]
fn noise_on_an_encrypted_port_affects_no_other_client() {
    let running = start_all(|_| {});
    run(async {
        for transport in [Transport::Dot, Transport::Doh] {
            let mut noise = tokio::net::TcpStream::connect(address(&running, transport)).await.unwrap();
            noise.write_all(&framed(&query(1))).await.unwrap();
            let mut rest = Vec::new();
            let _ = noise.read_to_end(&mut rest).await;
            let mut good = connect_tls(address(&running, transport), {
                let protocol = if transport == Transport::Doh { "h2" } else { "dot" };
                tls_config(&running, protocol)
            })
            .await
            .unwrap();
            // HTTP/2 that is none, and half a DNS message.
            good.write_all(b"\x00\x50 this is neither").await.unwrap();
            good.shutdown().await.unwrap();
            let _ = good.read_to_end(&mut rest).await;
        }
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        for length in [1, 20, 1200] {
            socket.send_to(&vec![0xCF; length], address(&running, Transport::Doq)).await.unwrap();
        }
        Doq::connect(&running).await.unwrap().ask(&query(0)).await.unwrap();
    });
    let book =
        wait_for(&running, |book| book.dot.connections.ended() == 2 && book.doh.connections.ended() == 2);
    assert_eq!(book.dot.connections.handshakes_failed, 1);
    assert_eq!(book.doh.connections.handshakes_failed, 1);
    assert_eq!(book.doh.connections.closed_for_error, 1);
    assert!(running.stop().failures.is_empty());
}

#[test]
fn idle_connections_are_closed_over_every_transport() {
    let running = start_all(|config| config.idle = std::time::Duration::from_millis(100));
    run(async {
        let mut dot = connect_dot(&running).await.unwrap();
        assert_eq!(dot.read(&mut [0; 10]).await.unwrap(), 0, "TLS says its goodbye");
        let doh = Doh::connect(&running).await.unwrap();
        let _ = doh.connection.await.unwrap();
        let doq = Doq::connect(&running).await.unwrap();
        assert_eq!(doq.connection.closed().await, quinn::ConnectionError::TimedOut);
        let doh3 = Doh3::connect(&running).await.unwrap();
        assert_eq!(doh3.connection.closed().await, quinn::ConnectionError::TimedOut);
    });
    let book =
        wait_for(&running, |book| [&book.doq, &book.doh3].iter().all(|side| side.connections.ended() == 1));
    for side in [&book.dot, &book.doh, &book.doq, &book.doh3] {
        assert_eq!((side.connections.accepted, side.connections.closed_idle), (1, 1));
    }
}

#[test]
fn connections_over_the_bound_are_turned_away_over_every_transport() {
    let running = start_all(|config| config.connections_max = 1);
    run(async {
        let _dot = connect_dot(&running).await.unwrap();
        assert!(connect_dot(&running).await.is_err());
        let _doh = Doh::connect(&running).await.unwrap();
        assert!(Doh::connect(&running).await.is_err());
        let _doq = Doq::connect(&running).await.unwrap();
        assert!(Doq::connect(&running).await.is_err());
        let _doh3 = Doh3::connect(&running).await.unwrap();
        assert!(Doh3::connect(&running).await.is_err());
    });
    let book = running.book();
    for side in [&book.dot, &book.doh, &book.doq, &book.doh3] {
        assert_eq!((side.connections.accepted, side.connections.turned_away), (2, 1));
    }
}
