//! UDP, then TCP: one transaction. The responder truncates over UDP and counts both; real servers truncate
//! what does not fit.

use std::net::TcpListener;
use std::path::Path;

use dnsdyno_lab::{Server, ServerOptions, Zone};
use dnsdyno_measure::{Anomalies, Fallback, FallbackFailure, Half, Histogram, Latency};
use dnsdyno_record::Digest;
use dnsdyno_responder::{Book, Config, Faults, Responder, Rule, Running, Share};
use rustix::process::Signal;
use serde_json::Value;

use crate::alone::truth::{close, quantile_ns, within_some_tries};
use crate::support::{Workplace, real_server};

/// A responder with these faults that truncates every response over UDP.
fn truncating(faults: Faults) -> Running {
    start(Config { rule: Rule::Truncate(Box::default()), faults, ..Config::default() })
}

fn start(config: Config) -> Running {
    Responder::start(config).unwrap_or_else(|error| panic!("{error}"))
}

/// A run with the fallback against such a responder; its record and the responder's counts.
fn measured(work: &Workplace, server: Running, load: &str) -> (Digest, Book) {
    let words = format!(
        "run -s {} --ask www.example --ask mail.example/AAAA --transport udp+tcp {load} --quiet -o run",
        server.address()
    );
    work.dnsdyno(&words).completes();
    (work.record("run"), server.stop())
}

/// The tally of the fallback, after checking that it adds up.
#[track_caller]
fn fallback_of(digest: &Digest) -> &Fallback {
    let (tally, ends) = (digest.tally(), digest.tally().ends);
    let fallback = tally.fallback.as_deref().expect("a run with fallback");
    assert_eq!(ends.total(), tally.scheduled);
    assert_eq!(fallback.started, fallback.answered + fallback.failed_in(Half::Tcp), "{:?}", fallback.failed);
    // Each sent transaction was answered, or failed over UDP or TCP.
    let failed = fallback.failed_in(Half::Udp) + fallback.failed_in(Half::Tcp);
    assert_eq!(fallback.udp_requests, ends.answered + failed, "{:?} {ends:?}", fallback.failed);
    assert_eq!(tally.requests, fallback.udp_requests + fallback.tcp_requests);
    if let Some(connections) = digest.arrivals().connections.as_deref() {
        assert_eq!(connections.opened, connections.established + connections.failed_total());
        assert_eq!(connections.established, connections.ended_total());
    }
    fallback
}

fn at(histogram: &Histogram, q: f64) -> u64 {
    quantile_ns(Latency { answered: histogram, unanswered: 0 }, q)
}

#[test]
fn every_truncated_response_is_retried_and_the_responder_counts_the_same() {
    for load in [
        "--rate 1k --for 1s",
        "--rate 1k --for 1s --queries-per-connection 0 --clients 4",
        "--rate 1k --for 1s --queries-per-connection 10 --clients 8",
        "--outstanding 20 --count 1000",
        "--outstanding 20 --count 1000 --queries-per-connection 0 --clients 2",
    ] {
        let work = Workplace::new();
        let (digest, book) = measured(&work, truncating(Faults::default()), load);
        let (tally, fallback) = (digest.tally(), fallback_of(&digest));
        assert_eq!((tally.scheduled, tally.ends.answered), (1_000, 1_000), "{load}: {:?}", tally.ends);
        assert_eq!((fallback.started, fallback.udp_requests, fallback.tcp_requests), (1_000, 1_000, 1_000));
        assert_eq!((book.udp.counts.truncated, book.tcp.counts.answered), (1_000, 1_000), "{load}");
        let truncated = digest.sum.as_ref().unwrap().truncated.as_ref().expect("the questions");
        let each: Vec<_> = truncated
            .questions
            .iter()
            .map(|one| (one.name.as_str(), one.rtype.as_str(), one.count))
            .collect();
        assert_eq!(each, [("mail.example", "AAAA", 500), ("www.example", "A", 500)], "{load}");
        assert_eq!((truncated.others, truncated.not_told_apart), (0, 0));
        assert_eq!(digest.arrivals().anomalies, Anomalies { truncated: 1_000, ..Anomalies::default() });
        let connections = digest.arrivals().connections.as_deref().unwrap();
        assert_eq!(connections.established, book.tcp.connections.accepted, "{load}");
        let is_one_each = !load.contains("--queries-per-connection");
        assert_eq!(connections.established == 1_000, is_one_each, "{load}");
    }
}

#[test]
fn the_parts_agree_with_what_the_responder_recorded() {
    within_some_tries("UDP, connect and TCP query", |work| {
        let faults =
            Faults { delay: Some("uniform:20ms..60ms".parse().unwrap()), seed: 7, ..Faults::default() };
        let (digest, book) = measured(work, truncating(faults), "--rate 500 --for 4s");
        let fallback = fallback_of(&digest);
        assert_eq!((fallback.answered, book.tcp.counts.answered), (2_000, 2_000));
        // Of all transactions, so that the parts must add up to the service time of the run.
        let parts = [&fallback.udp, &fallback.waiting, &fallback.connect, &fallback.query];
        let sums = parts.map(|part| part.exact().unwrap().sum_ns);
        assert_eq!(sums.iter().sum::<u128>(), digest.tally().service.exact().unwrap().sum_ns);
        for q in [0.5, 0.9, 0.99] {
            close(&format!("UDP p{}", q * 100.0), at(&fallback.udp, q), book.udp.hold_ns(q).unwrap(), 0.03)?;
            let hold_ns = book.tcp.hold_ns(q).unwrap();
            close(&format!("TCP p{}", q * 100.0), at(&fallback.query, q), hold_ns, 0.03)?;
        }
        // The kernel opens connections without the responder, so its delay does not matter.
        let connections = digest.arrivals().connections.as_deref().unwrap();
        if at(&fallback.connect, 0.5) > 1_000_000 {
            return Err(format!("connect p50: {} ns", at(&fallback.connect, 0.5)));
        }
        [0.5, 0.9].into_iter().try_for_each(|q| {
            let truth_ns = at(&connections.connect, q);
            close(&format!("connect p{}", q * 100.0), at(&fallback.connect, q), truth_ns, 0.03)
        })
    });
}

#[test]
fn only_what_does_not_fit_is_retried_and_edns_is_as_given() {
    let answer = |bytes| Config { rule: Rule::FixedSize { bytes }, ..Config::default() };
    for (bytes, edns, started) in [
        (1_200, "--edns-size 1232", 0),
        (1_300, "--edns-size 1232", 200),
        (1_300, "--edns-size 4096", 0),
        (600, "", 200),
        (65_535, "--edns-size 4096 --tcp-edns none", 200),
    ] {
        let work = Workplace::new();
        let (digest, book) = measured(&work, start(answer(bytes)), &format!("--count 200 {edns}"));
        let (tally, fallback) = (digest.tally(), fallback_of(&digest));
        assert_eq!((tally.ends.answered, fallback.started), (200, started), "{bytes} bytes, {edns}");
        assert_eq!(book.tcp.counts.answered, started);
        assert_eq!(tally.bytes_answered, 200 * u64::from(bytes), "{bytes} bytes, {edns}");
        // `www.example` and `mail.example` in turn: 29 and 30 bytes, and 11 of OPT.
        let opt = if edns.is_empty() { 0 } else { 11 };
        let again = if edns.contains("none") { 0 } else { opt };
        assert_eq!(
            tally.bytes_sent,
            200 * (29 + 30) / 2 + 200 * opt + started * (29 + 30) / 2 + started * again
        );
    }
}

#[test]
fn each_fault_over_tcp_is_counted_by_its_reason() {
    let all = Share::new(1.0).unwrap();
    let faults = |change: &dyn Fn(&mut Faults)| {
        let mut faults = Faults { seed: 3, ..Faults::default() };
        change(&mut faults);
        faults
    };
    let load = "--rate 200 --for 500ms --timeout 700ms";
    for (what, faults, why, is_refused) in [
        ("reset", faults(&|faults| faults.reset = all), FallbackFailure::Reset, true),
        ("cut", faults(&|faults| faults.cut = all), FallbackFailure::Reset, true),
        ("silent", faults(&|faults| faults.silent = all), FallbackFailure::QueryTimedOut, false),
        ("wrong length", faults(&|faults| faults.wrong_length = all), FallbackFailure::QueryTimedOut, false),
    ] {
        let work = Workplace::new();
        let (digest, book) = measured(&work, truncating(faults), load);
        let (ends, fallback) = (digest.tally().ends, fallback_of(&digest));
        assert_eq!((fallback.started, fallback.failed(why)), (100, 100), "{what}: {:?}", fallback.failed);
        assert_eq!((ends.refused, ends.timed_out), if is_refused { (100, 0) } else { (0, 100) }, "{what}");
        assert_eq!(book.udp.counts.truncated, 100);
        // A connection that was lost is replaced, up to three in a row.
        assert_eq!(fallback.tcp_requests, if is_refused { 300 } else { 100 }, "{what}");
        let shown = work.dnsdyno("show run").gives(0).stdout;
        assert!(shown.contains(&format!("failed over TCP:   {} 100", why.words())), "{what}: {shown}");
    }
}

#[test]
fn a_port_closed_for_tcp_refuses_and_one_that_drops_connections_lets_them_time_out() {
    let udp_only = || Config { rule: Rule::Truncate(Box::default()), tcp: false, ..Config::default() };
    {
        let work = Workplace::new();
        let (digest, _) = measured(&work, start(udp_only()), "--rate 200 --for 500ms");
        let fallback = fallback_of(&digest);
        assert_eq!(fallback.failed(FallbackFailure::ConnectRefused), 100, "{:?}", fallback.failed);
        assert_eq!(digest.tally().ends.refused, 100);
    }

    // A port that is free for UDP may be that of a TCP connection in TIME-WAIT.
    let with_listener = || {
        let server = start(udp_only());
        TcpListener::bind(server.address()).ok().map(|listener| (server, listener))
    };
    let (server, listener) = (0..50).find_map(|_| with_listener()).expect("a port that is free for both");
    // The accept queue has one place; further SYNs get no reply.
    socket2::SockRef::from(&listener).listen(0).unwrap();
    let work = Workplace::new();
    let (digest, _) = measured(&work, server, "--rate 200 --for 500ms --timeout 500ms");
    let fallback = fallback_of(&digest);
    let connect = fallback.failed(FallbackFailure::ConnectTimedOut);
    assert_eq!(connect + fallback.failed(FallbackFailure::QueryTimedOut), 100, "{:?}", fallback.failed);
    assert!(connect > 90, "{:?}", fallback.failed);
    assert_eq!(digest.tally().ends.timed_out, 100);
}

#[test]
fn lost_connections_lose_no_transaction() {
    let work = Workplace::new();
    // Three connections of a client in a row without a response let its queries end as refused, all 20 at most. A reset
    // also discards responses that were received and not read: so one run in a hundred has such three.
    let faults =
        Faults { reset: Share::new(0.01).unwrap(), close_after: Some(3), seed: 5, ..Faults::default() };
    let (digest, book) = measured(
        &work,
        truncating(faults),
        // No query times out, even on a host that does something else for some seconds.
        "--outstanding 20 --count 3000 --queries-per-connection 0 --clients 4 --timeout 30s",
    );
    let (tally, fallback) = (digest.tally(), fallback_of(&digest));
    assert_eq!(tally.ends.answered + tally.ends.refused, 3_000, "{:?}", tally.ends);
    assert!(book.tcp.counts.resets > 5 && tally.ends.refused <= 60, "{:?}", tally.ends);
    assert_eq!(fallback.tcp_requests, fallback.started + tally.retried);
    assert_eq!(fallback.tcp_retried, tally.retried);
    let connections = digest.arrivals().connections.as_deref().unwrap();
    assert_eq!(connections.established, book.tcp.connections.accepted);
}

#[test]
fn losses_and_duplicates_over_udp_are_counted_there() {
    let work = Workplace::new();
    let (loss, twice) = (Share::new(0.05).unwrap(), Share::new(0.05).unwrap());
    let faults = Faults { loss, duplicate: twice, seed: 11, ..Faults::default() };
    let (digest, book) = measured(&work, truncating(faults), "--rate 1k --for 2s --timeout 3s");
    let (anomalies, fallback) = (digest.arrivals().anomalies, fallback_of(&digest));
    assert!(book.udp.counts.dropped > 50 && book.udp.counts.duplicated > 50);
    assert_eq!(fallback.failed(FallbackFailure::UdpTimedOut), book.udp.counts.dropped);
    assert_eq!(fallback.failed(FallbackFailure::QueryTimedOut), book.tcp.counts.dropped);
    assert_eq!(fallback.started, 2_000 - book.udp.counts.dropped);
    // A connection of one query is closed after its response, so a duplicate is not read.
    assert!(
        (book.udp.counts.duplicated..=book.udp.counts.duplicated + book.tcp.counts.duplicated)
            .contains(&anomalies.duplicates)
    );
    assert_eq!((anomalies.unexpected, anomalies.wrong_question), (0, 0));
}

#[test]
fn too_few_clients_are_reported_and_excess_queries_fail_over_tcp() {
    let work = Workplace::new();
    let faults = Faults { delay: Some("50ms".parse().unwrap()), ..Faults::default() };
    let (digest, _) =
        measured(&work, truncating(faults), "--rate 400 --for 1s --timeout 300ms --clients 2 --workers 1");
    let (ends, fallback) = (digest.tally().ends, fallback_of(&digest));
    // Two clients with a query of 50 ms each: forty per second at most.
    assert!((1..80).contains(&fallback.answered), "{}", fallback.answered);
    let late = [FallbackFailure::NoClient, FallbackFailure::ConnectTimedOut, FallbackFailure::QueryTimedOut];
    let late: u64 = late.map(|why| fallback.failed(why)).iter().sum();
    // On a stalled host, the response to one that timed out may still be received.
    assert_eq!((late, ends.timed_out + ends.answered_late), (400 - fallback.answered, late), "{ends:?}");
    let names: Vec<_> = digest.warnings().iter().map(|warning| warning.name()).collect();
    assert!(names.contains(&"clients_busy"), "{names:?}");
}

#[test]
fn an_interrupted_run_ends_both_parts_of_a_fallback() {
    let work = Workplace::new();
    let faults = Faults { delay: Some("1s".parse().unwrap()), ..Faults::default() };
    let server = truncating(faults);
    let words = format!(
        "run -s {} --ask www.example --transport udp+tcp --rate 200 --for 20s --quiet -o run",
        server.address()
    );
    let mut generator = work.start(&words);
    generator.until("some are in the TCP part of the fallback", || server.book().tcp.counts.received > 50);
    generator.signal(Signal::INT);
    generator.until("it reports that it stops", || work.stderr().contains("waiting for outstanding queries"));
    generator.signal(Signal::INT);
    generator.wait().gives(130);
    let digest = work.record("run");
    let fallback = fallback_of(&digest);
    let [udp, tcp] =
        [FallbackFailure::UdpInterrupted, FallbackFailure::Interrupted].map(|why| fallback.failed(why));
    assert!(udp > 50 && tcp > 30, "{udp} and {tcp}");
    assert!(digest.tally().ends.interrupted.abs_diff(udp + tcp) <= 2, "{:?}", digest.tally().ends);
}

#[test]
fn retries_are_in_the_summary_as_text_as_json_and_in_expectations() {
    let work = Workplace::new();
    let server = truncating(Faults::default());
    let words = format!(
        "run -s {} --ask www.example --transport udp+tcp --count 300 --quiet -o run --expect fallback=300 \
         --expect fallback>99%",
        server.address()
    );
    let shown = work.dnsdyno(&words).gives(0).stdout;
    let line = "fallback: 300 of 300 transactions retried over TCP (100 %)";
    assert!(shown.contains(line), "{shown}");
    assert!(shown.contains("over udp+tcp") && shown.contains("UDP socket"), "{shown}");
    for part in
        ["UDP, to the truncated response:", "waiting for a client:", "connect:", "TCP query, once connected:"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let json: Value = serde_json::from_str(&work.dnsdyno("show --json run").gives(0).stdout).unwrap();
    assert_eq!((&json["fallback"]["started"], &json["fallback"]["tcp_requests"]), (&300.into(), &300.into()));
    assert_eq!(json["fallback"]["tcp_failed"]["no_client"], 0);
    assert!(json["fallback"]["query"]["p95"]["ns"].as_u64().is_some() && json["mix"].is_null());
    // The plan of the record gives the same run.
    assert!(work.read("run/plan.toml").contains("udp+tcp"));
    work.dnsdyno("run --plan run/plan.toml --quiet -o again").gives(0);
    assert_eq!(work.record("again").header.clients, work.record("run").header.clients);
    drop(server);
}

#[test]
fn options_that_the_fallback_does_not_support_are_refused() {
    let work = Workplace::new();
    let run = |words: &str| work.dnsdyno(&format!("run -s 127.0.0.1 --ask a --for 1s {words} -o none"));
    run("--transport tcp --tcp-edns none").ends_refused(2, &["--tcp-edns", "--transport udp+tcp"]);
    run("--transport udp+tcp --tcp-edns some").ends_refused(2, &["same or none"]);
    run("--transport udp+tcp --send-only").ends_refused(2, &["--send-only", "udp+tcp"]);
    run("--transport udp+tcp --backend xdp").ends_refused(2, &["--backend", "udp+tcp"]);
}

/// A server with a zone that has this many NAPTR records at one name.
fn with_naptr(name: &str, records: u32) -> Option<Server> {
    let file = format!("../../testbed/zones/naptr-{records}.zone");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let mut options =
        ServerOptions { zone: Zone::from_file(ORIGIN, &path).unwrap(), ..ServerOptions::default() };
    if name == "bind" {
        let values = [("max_records_per_type", "0"), ("minimal_responses", "no")];
        options.values = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    }
    real_server(name, &options)
}

/// Every transaction ends over TCP with the complete response, on new connections and on kept ones.
fn retries_over_tcp(name: &str, records: u32, bytes: std::ops::Range<u64>) {
    let work = Workplace::new();
    let Some(server) = with_naptr(name, records) else { return };
    let question = format!("tac-lb01.tac-hb10.tac.{ORIGIN}/NAPTR");
    for (out, load) in [("new", ""), ("kept", "--queries-per-connection 0 --clients 4")] {
        work.dnsdyno(&format!(
            "run -s {} --ask {question} --transport udp+tcp --edns-size 1232 --rate 500 --count 500 {load} --quiet \
             -o {out}",
            server.address()
        ))
        .gives(0);
        let digest = work.record(out);
        let (tally, fallback) = (digest.tally(), fallback_of(&digest));
        assert_eq!((tally.ends.answered, fallback.answered), (500, 500), "{out}: {:?}", tally.ends);
        assert_eq!(tally.rcodes.of(0), 500);
        let each = tally.bytes_answered / 500;
        assert!(bytes.contains(&each) && tally.bytes_answered % 500 == 0, "{out}: {each} bytes");
    }
}

#[test]
fn bind_truncates_93_naptr_records_and_sends_them_all_over_tcp() {
    retries_over_tcp("bind", 93, 10_000..12_500);
}

#[test]
fn bind_truncates_202_naptr_records_and_sends_them_all_over_tcp() {
    retries_over_tcp("bind", 202, 22_500..24_500);
}

#[test]
fn knot_truncates_202_naptr_records_and_sends_them_all_over_tcp() {
    retries_over_tcp("knot", 202, 21_000..24_500);
}

#[test]
fn nsd_truncates_202_naptr_records_and_sends_them_all_over_tcp() {
    retries_over_tcp("nsd", 202, 21_000..24_500);
}

#[test]
fn pdns_truncates_93_naptr_records_and_sends_them_all_over_tcp() {
    retries_over_tcp("pdns", 93, 9_500..12_500);
}

/// The apex of the zones of NAPTR records.
const ORIGIN: &str = "epc.mnc001.mcc001.3gppnetwork.example.";
