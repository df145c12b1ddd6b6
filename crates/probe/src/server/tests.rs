//! Statistics as servers send them, and as they should not: small fake servers, one connection after another.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;

use super::*;
use crate::opened::Targets;

/// A server that does this with the first and each further connection; its address.
fn at_address(answer: impl Fn(TcpStream, &str) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut request = [0; 2_048];
            let length = (&stream).read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            answer(stream, &request);
        }
    });
    address
}

/// An HTTP server that gives everybody this head and this body.
fn http(head: &'static str, body: &'static str) -> String {
    at_address(move |mut stream, _| {
        let length = body.len();
        let _ =
            write!(stream, "HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    })
}

/// A server at a local socket in this folder.
fn at_path(folder: &Path, answer: impl Fn(UnixStream) + Send + 'static) -> String {
    let path = folder.join("control");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut request = [0; 2_048];
            let _ = (&stream).read(&mut request);
            answer(stream);
        }
    });
    path.display().to_string()
}

fn opened(watch: &str) -> Result<Watched, String> {
    let dnsdyno_plan::Watch::Server(server) = watch.parse()? else { panic!("{watch}") };
    let targets = Targets::default();
    let mut opening = Opening::new(&targets);
    open(&server, &mut opening).map_err(|error| error.to_string())?;
    Ok(opening.finish().sources[0].watched().clone())
}

#[track_caller]
fn is_refused(watch: &str, words: &[&str]) {
    let error = opened(watch).expect_err(watch);
    for word in words {
        assert!(error.contains(word), "{watch}: no {word:?} in {error}");
    }
    assert!(!error.contains(char::is_control), "{error:?}");
}

#[test]
fn an_http_server_that_is_not_as_expected_is_told_apart() {
    for (kind, head, body, words) in [
        ("bind", "200 OK", "hello\x1b[2J", &["not that of a statistics channel", "hello"][..]),
        ("bind", "200 OK\r\nServer: PowerDNS/4.7.3", "{}", &["PowerDNS/4.7.3", "use pdns=URL"]),
        ("bind", "404 Not Found", "", &["HTTP status 404", "statistics are not there"]),
        ("bind", "500 Oops", "", &["HTTP status 500"]),
        (
            "bind",
            "302 Found\r\nLocation: http://192.0.2.1/",
            "",
            &["HTTP status 302", "the address to which it leads"],
        ),
        ("pdns", "401 Unauthorized", "", &["401", "wants a key", "keys=FILE"]),
        ("pdns", "200 OK", "{\"daemon_type\":\"dnsdist\"}", &["use dnsdist=URL"]),
        ("pdns", "200 OK", "{}", &["not PowerDNS"]),
        ("pdns", "200 OK", "[[[[", &["API of PowerDNS"]),
        ("dnsdist", "200 OK", "{\"daemon_type\":\"recursor\"}", &["use pdns=URL"]),
        ("openmetrics", "200 OK", "<html>", &["metrics for Prometheus", "<html>"]),
        ("openmetrics", "200 OK\r\nServer: libisc", "{", &["libisc", "use bind=URL"]),
    ] {
        is_refused(&format!("{kind}=http://{}/", http(head, body)), words);
    }
}

/// Paths, and what is there.
type Pages = &'static [(&'static str, &'static str)];

/// A BIND of some version with these pages.
fn bind_with(pages: Pages) -> String {
    at_address(move |mut stream, request| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        let page = pages.iter().find(|(its, _)| *its == path);
        let (status, body) = page.map_or(("404 No such URL", ""), |(_, body)| ("200 OK", *body));
        let length = body.len();
        let _ = write!(
            stream,
            "HTTP/1.1 {status}\r\nServer: libisc\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
    })
}

#[test]
fn bind_is_asked_as_json_then_as_xml_of_each_version_and_what_is_there_is_read() {
    const JSON: &str = r#"{"json-stats-version": "1.0", "version": "9.10", "opcodes": {"QUERY": 5}}"#;
    const XML_3: &str = "<statistics version=\"3.6\"><server><version>9.16</version><counters type=\"opcode\">\
        <counter name=\"QUERY\">5</counter></counters></server></statistics>";
    const TRAFFIC: &str = "<statistics version=\"3.6\"><traffic><ipv4><udp><counters type=\"request-size\">\
        <counter name=\"16-31\">5</counter></counters></udp></ipv4></traffic></statistics>";
    const XML_2: &str = "<isc><bind><statistics version=\"2.2\"><server><requests><opcode><name>QUERY</name>\
        <counter>5</counter></opcode></requests></server></statistics></bind></isc>";
    const ALL: Pages = &[("/json/v1/server", JSON), ("/xml/v3/server", XML_3), ("/", XML_3)];
    const WITH_SIZES: Pages = &[("/xml/v3/server", XML_3), ("/xml/v3/traffic", TRAFFIC), ("/", XML_3)];
    const OLD: Pages = &[("/", XML_2), ("/xml", XML_2)];
    for (pages, url, version, series) in [
        (ALL, "", Some("9.10"), 7),
        (ALL, "xml/v3", Some("9.16"), 7),
        (WITH_SIZES, "", Some("9.16"), 8),
        (OLD, "", None, 7),
    ] {
        let url = format!("http://{}/{url}", bind_with(pages));
        let watched = opened(&format!("bind={url}")).unwrap();
        assert_eq!(watched.version.as_deref(), version, "{url}");
        let mut bind = bind::Bind::new(&url, Owners::default()).unwrap();
        bind.describe(&mut watched.clone()).unwrap();
        let reading = bind.read().unwrap();
        // The common ones that are always there, the opcode, and the sizes.
        assert_eq!((reading.counters["queries"], reading.counters.len()), (5, series), "{reading:?}");
    }
}

#[test]
fn hostile_xml_is_refused_with_the_reason() {
    const BOMB: &str =
        "<!DOCTYPE statistics [<!ENTITY a \"aaaa\">]><statistics version=\"3\">&a;</statistics>";
    const DEEP: &str = "<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>\
        <a><a><a><a><a>";
    let pages: [Pages; 3] =
        [&[("/xml/v3/server", BOMB)], &[("/xml/v3/server", DEEP)], &[("/", "<\u{1b}[2J>")]];
    let reasons = ["it has a document type", "within each other", "as XML"];
    for (pages, reason) in pages.into_iter().zip(reasons) {
        is_refused(&format!("bind=http://{}/", bind_with(pages)), &["HTTP status 404", "as XML", reason]);
    }
    is_refused(&format!("bind=http://{}/", bind_with(&[])), &["/json/v1/server: HTTP status 404"]);
}

#[test]
fn a_key_that_is_not_taken_is_said_and_one_that_cannot_be_sent_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "secret\n").unwrap();
    let address = at_address(|mut stream, request| {
        assert!(request.to_ascii_lowercase().contains("x-api-key: secret"), "{request}");
        let _ = write!(stream, "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n");
    });
    is_refused(
        &format!("pdns=http://{address}/,keys={}", key.display()),
        &["the key is not that of this server"],
    );
    std::fs::write(&key, "two words\n").unwrap();
    is_refused(&format!("dnsdist=http://{address}/,keys={}", key.display()), &["there is no key in it"]);
    is_refused(&format!("pdns=http://{address}/,keys={}x", key.display()), &["cannot be used"]);
    is_refused("bind=http://127.0.0.1:1/", &["nothing listens there"]);
    is_refused("bind=http://user:password@127.0.0.1/", &["leave user and password out"]);
}

#[test]
fn a_server_that_hangs_or_closes_or_never_ends_is_given_up() {
    let silent = at_address(|stream, _| hangs(stream));
    is_refused(&format!("bind=http://{silent}/"), &["no answer within 2 s"]);
    let drips = at_address(|mut stream, _| {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
        let _ = stream.write_all(head.as_bytes());
        while stream.write_all(b" ").is_ok() {
            thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    is_refused(&format!("bind=http://{drips}/"), &["no answer within 2 s"]);
    let closes = at_address(|mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{");
    });
    is_refused(&format!("bind=http://{closes}/"), &[&closes]);
    let floods = at_address(|mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b' '; 65_536]).is_ok() {}
    });
    is_refused(&format!("bind=http://{floods}/"), &["longer than 16 MiB"]);
    let speaks_dns = at_address(|mut stream, _| drop(stream.write_all(&[0, 12, 1, 2, 3])));
    is_refused(&format!("openmetrics=http://{speaks_dns}/"), &["does not speak HTTP"]);
}

/// Holds a connection open until the other side closes it.
fn hangs(mut stream: impl Read) {
    let _ = stream.read_to_end(&mut Vec::new());
}

#[test]
fn a_control_socket_that_is_not_as_expected_is_told() {
    for (kind, answer, words) in [
        ("unbound", &b""[..], &["closed the connection", "keys=FOLDER"][..]),
        ("unbound", b"version: 1\nthreads", &["cut"]),
        ("unbound", b"error no\x1b such command\n", &["the server refuses"]),
        ("unbound", b"version: 4.6.1\nratelimit: 200\n", &["not that of Unbound"]),
        ("nsd", b"total.num.queries=1\n", &["not that of NSD"]),
        ("knot", b"HTTP/1.1 400\r\n", &["does not speak the control protocol"]),
        ("knot", b"\x01\x13\x00\xffserver", &["closed the connection within its answer"]),
        ("knot", b"\x01\x12\x00\x07no such\x03", &["the server refuses: no such"]),
        ("pdns", b"Unknown command: 'VERSION'", &["not the control socket", "pdns=URL"]),
        ("pdns", b"", &["not the control socket"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = at_path(folder.path(), move |mut stream| drop(stream.write_all(answer)));
        is_refused(&format!("{kind}={path}"), words);
    }
    let folder = tempfile::tempdir().unwrap();
    let silent = at_path(folder.path(), hangs);
    is_refused(&format!("unbound={silent}"), &["no answer within 2 s"]);
    is_refused(&format!("knot={}", folder.path().join("none").display()), &["is knotd running"]);
    is_refused(&format!("nsd={}", folder.path().join("none").display()), &["nothing listens there"]);
    is_refused(
        &format!("nsd=127.0.0.1:1,keys={}", folder.path().display()),
        &["nsd_server.pem", "nsd-control-setup"],
    );
}

/// The series of a text, by a function of a kind.
fn series(add: impl FnOnce(&mut Reading)) -> impl Fn(&str) -> u64 {
    let mut reading = Reading::default();
    add(&mut reading);
    move |name| match (reading.counters.get(name), reading.gauges.get(name)) {
        (Some(value), None) | (None, Some(value)) => *value,
        found => panic!("{name}: {found:?} in {reading:?}"),
    }
}

#[test]
fn bind_leaves_out_what_is_zero_and_its_gauges_are_known() {
    let document = serde_json::json!({
        "json-stats-version": "1.7", "opcodes": {"QUERY": 9}, "rcodes": {"NOERROR": 7, "17": 1, "RESERVED15": 0},
        "qtypes": {"A": 8, "TYPE65280": 1},
        "nsstats": {"QryUDP": 6, "QryTCP": 3, "Response": 8, "RateDropped": 1, "TCPConnHighWater": 4,
            "RecursClients": 2},
        "views": {"_default": {"resolver": {"cachestats": {"QueryHits": 5, "QueryMisses": 1, "TreeMemInUse": 77}}}},
    });
    let of = series(|reading| bind::add(&document, reading));
    for (name, value) in [
        ("queries", 9),
        ("queries.udp", 6),
        ("queries.type.TYPE65280", 1),
        ("responses.truncated", 0),
        ("responses.rcode.BADKEY", 1),
        ("dropped.rate-limit", 1),
        ("tcp.high_water", 4),
        ("recursing", 2),
        ("cache.hits", 5),
        ("raw.views._default.resolver.cachestats.TreeMemInUse", 77),
        ("raw.nsstats.QryTCP", 3),
    ] {
        assert_eq!(of(name), value, "{name}");
    }
}

#[test]
fn unbound_counts_a_stream_under_each_layer_and_a_response_without_data_twice() {
    let of = series(|reading| {
        unbound::add(
            "total.num.queries=100\nnum.query.tcp=60\nnum.query.tls=50\nnum.query.https=20\ntotal.tcpusage=3\n\
             num.answer.rcode.NOERROR=90\nnum.answer.rcode.nodata=10\nnum.answer.rcode.NOTIMPL=1\n\
             total.requestlist.exceeded=4\ntotal.requestlist.avg=1.5\ntotal.recursion.time.avg=0.002\n\
             histogram.000000.000000.to.000000.000001=7\nnonsense\nmem.cache.rrset=-1\n",
            reading,
        );
    });
    for (name, value) in [
        ("queries.udp", 40),
        ("queries.tcp", 10),
        ("queries.dot", 30),
        ("queries.doh", 20),
        ("responses", 91),
        ("responses.rcode.NOTIMP", 1),
        ("tcp.open", 3),
        ("dropped.queue", 4),
        ("raw.total.requestlist.avg", 1),
        ("raw.total.recursion.time.avg_ns", 2_000_000),
    ] {
        assert_eq!(of(name), value, "{name}");
    }
}

#[test]
fn knot_tells_the_same_by_its_socket_and_its_file() {
    let file = "---\ntime: 2026-11-22T21:43:29+0000\nserver: \n zone-count: 1\nmod-stats: \n request-protocol: \
                \n  udp4: 3\n  quic6: 2\n flag-presence: \n  TC: 1\nzone: \n \"example.\": \n  mod-stats: \n   \
                query-type: \n    A: 1\n";
    let units = [
        (1, [("server", "zone-count", "", "1")].as_slice()),
        (1, &[("mod-stats", "request-protocol", "udp4", "3")]),
        (2, &[("mod-stats", "request-protocol", "quic6", "2")]),
        (1, &[("mod-stats", "flag-presence", "TC", "1")]),
    ];
    let mut bytes = Vec::new();
    for (kind, rows) in units {
        bytes.push(kind);
        for (section, item, id, value) in rows {
            for (index, text) in [(3, section), (4, item), (5, id), (10, value)] {
                if !text.is_empty() {
                    bytes.extend([0x10 + index, 0, u8::try_from(text.len()).unwrap()]);
                    bytes.extend(text.as_bytes());
                }
            }
        }
    }
    bytes.push(3);
    let rows = knot::read_rows(&mut bytes.as_slice()).unwrap();
    assert_eq!(rows, knot::rows_of_file(file));
    let of = series(|reading| knot::add(&rows, reading));
    assert_eq!((of("queries.udp"), of("queries.doq"), of("responses.truncated")), (3, 2, 1));
    assert_eq!(of("raw.server.zone-count"), 1);
}

#[test]
fn powerdns_writes_rcodes_in_words_and_latency_in_microseconds() {
    let items = serde_json::json!([
        {"name": "udp-queries", "type": "StatisticItem", "value": "5"},
        {"name": "latency", "type": "StatisticItem", "value": "7"},
        {"name": "response-by-rcode", "type": "MapStatisticItem",
            "value": [{"name": "Non-Existent domain", "value": "2"}]},
        {"name": "ring", "type": "RingStatisticItem", "value": [{"name": "x", "value": "2"}]},
        {"name": 3}, null, {"name": "x", "value": "-1"},
    ]);
    let of = series(|reading| pdns::add_items(&items, reading));
    assert_eq!((of("queries"), of("latency_ns"), of("responses.rcode.NXDOMAIN")), (5, 7_000, 2));
    let of = series(|reading| {
        pdns::add_text("tcp-queries=3,qsize-q=2,\n", reading);
        pdns::add_types("A\t4\nTXT\t1\n", reading);
    });
    assert_eq!((of("queries.tcp"), of("raw.qsize-q"), of("queries.type.TXT")), (3, 2, 1));
}

#[test]
fn dnsdist_counts_transports_at_its_listeners() {
    let server = serde_json::json!({
        "frontends": [{"type": "UDP", "queries": 5, "responses": 4}, {"type": "TCP (DNS over TLS)", "queries": 2,
            "responses": 2, "tcpCurrentConnections": 3, "tcpMaxConcurrentConnections": 9}],
        "servers": [{"outstanding": 6}],
    });
    let of = series(|reading| dnsdist::add_server(&server, reading));
    assert_eq!((of("queries.udp"), of("queries.dot"), of("responses")), (5, 2, 6));
    assert_eq!((of("tcp.open"), of("tcp.high_water"), of("recursing")), (3, 9, 6));
    let of =
        series(|reading| dnsdist::add(&serde_json::json!({"queries": 7, "latency-avg100": 1.97}), reading));
    assert_eq!((of("queries"), of("latency_ns")), (7, 1_970));
}

#[test]
fn metrics_are_counters_and_gauges_with_their_labels_and_units() {
    let text = "# HELP coredns_dns_requests_total Counter\n# TYPE coredns_dns_requests_total counter\n\
        coredns_dns_requests_total{proto=\"udp\",type=\"A\",zone=\"a}b\\\"c\"} 41 1395066363000\n\
        coredns_dns_requests_total{proto=\"https\",type=\"other\"} 2\n\
        # TYPE coredns_dns_responses counter\ncoredns_dns_responses_total{rcode=\"NXDOMAIN\"} 3.0 # {id=\"x\"} 1\n\
        # TYPE d_seconds histogram\nd_seconds_bucket{le=\"1\"} 4\nd_seconds_sum{z=\".\"} 0.5\nd_seconds_count 4\n\
        # TYPE up gauge\nup 1\nbad NaN\nnegative -1\n{x} 1\nno_value\n# TYPE b_bytes gauge\n\
        b_bytes{x=\"1\"} 1e3\n# EOF\n";
    let of = series(|reading| openmetrics::add(text, reading));
    for (name, value) in [
        ("queries", 43),
        ("queries.udp", 41),
        ("queries.doh", 2),
        ("queries.type.A", 41),
        ("responses.rcode.NXDOMAIN", 3),
        ("raw.coredns_dns_requests_total{proto=\"https\",type=\"other\"}", 2),
        ("raw.d_sum{z=\".\"}_ns", 500_000_000),
        ("raw.d_seconds_count", 4),
        ("raw.up", 1),
        ("raw.b{x=\"1\"}_bytes", 1_000),
    ] {
        assert_eq!(of(name), value, "{name}");
    }
    let mut reading = Reading::default();
    openmetrics::add(text, &mut reading);
    assert_eq!(
        reading.counters.keys().chain(reading.gauges.keys()).filter(|name| name.contains("bucket")).count(),
        0
    );
}
