//! Runs against real servers: their responses are counted correctly.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use dnsdyno_lab::{ServerOptions, example_queries};
use dnsdyno_measure::Anomalies;
use dnsdyno_record::{Digest, Ended, Headline};
use dnsdyno_responder::Faults;
use dnsdyno_wire::type_name;
use serde_json::Value;

use crate::support::{Workplace, real_server, responder};

/// The queries of one pass through those of the testbed.
struct Pass {
    queries: u64,
    absent: u64,
    by_type: BTreeMap<String, u64>,
}

impl Pass {
    fn of_the_testbed() -> Pass {
        let mut pass = Pass { queries: 0, absent: 0, by_type: BTreeMap::new() };
        for line in example_queries().lines().filter(|line| !line.starts_with(';')) {
            let (name, rtype) = line.split_once(' ').unwrap();
            pass.queries += 1;
            pass.absent += u64::from(name.starts_with("absent-"));
            *pass.by_type.entry(rtype.to_owned()).or_default() += 1;
        }
        pass
    }

    /// Checks that each query of `passes` passes was answered correctly.
    #[track_caller]
    fn was_answered(&self, digest: &Digest, passes: u64) {
        let tally = digest.tally();
        assert_eq!(tally.scheduled, self.queries * passes);
        assert_eq!(tally.ends.answered, tally.scheduled, "{:?}", tally.ends);
        assert_eq!(digest.arrivals().anomalies, Anomalies::default());
        let rcodes: Vec<_> = tally.rcodes.iter().collect();
        assert_eq!(
            rcodes,
            [(NOERROR, (self.queries - self.absent) * passes), (NXDOMAIN, self.absent * passes)]
        );
        let named = digest.header.types.iter().map(|rtype| type_name(*rtype).into_owned());
        let answered: BTreeMap<_, _> = named.zip(tally.types.iter().map(|n| n.answered)).collect();
        let wanted = self.by_type.iter().map(|(name, n)| (name.clone(), n * passes)).collect();
        assert_eq!(answered, wanted);
        assert_eq!((&digest.header.queries, digest.header.bad_lines), (&self.queries, 0));
        assert_eq!(digest.ended(), Some(&Ended::ByPasses));
        assert!(digest.is_complete());
    }
}

/// Checks the counts of both kinds of load on one server.
fn is_counted_correctly(name: &str, options: &ServerOptions) {
    let work = Workplace::with_queries();
    let Some(server) = real_server(name, options) else { return };
    let (address, pass) = (server.address(), Pass::of_the_testbed());

    work.dnsdyno(&format!("run -s {address} -d q.txt --rate 2k --passes 32 -o open")).gives(0);
    let open = work.record("open");
    pass.was_answered(&open, 32);
    assert_eq!((open.header.headline, open.header.address), (Headline::Response, address));

    work.dnsdyno(&format!("run -s {address} -d q.txt --outstanding 50 --passes 40 --clients 4 -o closed"))
        .gives(0);
    let closed = work.record("closed");
    pass.was_answered(&closed, 40);
    assert_eq!((closed.header.headline, closed.header.clients), (Headline::Service, 4));
}

fn on_ipv6() -> ServerOptions {
    ServerOptions { address: IpAddr::V6(Ipv6Addr::LOCALHOST), ..ServerOptions::default() }
}

#[test]
fn nsd_is_counted_correctly() {
    is_counted_correctly("nsd", &ServerOptions::default());
}

#[test]
fn bind_is_counted_correctly() {
    is_counted_correctly("bind", &ServerOptions::default());
}

#[test]
fn unbound_is_counted_correctly() {
    is_counted_correctly("unbound", &ServerOptions::default());
}

#[test]
fn knot_is_counted_correctly() {
    is_counted_correctly("knot", &ServerOptions::default());
}

#[test]
fn pdns_is_counted_correctly() {
    is_counted_correctly("pdns", &ServerOptions::default());
}

#[test]
fn hickory_is_counted_correctly() {
    is_counted_correctly("hickory", &ServerOptions::default());
}

#[test]
fn nsd_is_counted_correctly_over_ipv6() {
    is_counted_correctly("nsd", &on_ipv6());
}

#[test]
fn knot_is_counted_correctly_over_ipv6() {
    is_counted_correctly("knot", &on_ipv6());
}

/// EDNS with all its options, and without it an answer that does not fit.
fn takes_options(name: &str) {
    let work = Workplace::with_queries();
    let Some(server) = real_server(name, &ServerOptions::default()) else { return };
    let (address, pass) = (server.address(), Pass::of_the_testbed());
    let rate = "--rate 1k --passes 4";
    work.dnsdyno(&format!("run -s {address} -d q.txt {rate} -o plain")).gives(0);
    work.dnsdyno(&format!(
        "run -s {address} -d q.txt {rate} --edns-size 1232 --do --nsid --no-rd --cd --ad -o edns"
    ))
    .gives(0);
    let (plain, edns) = (work.record("plain"), work.record("edns"));
    pass.was_answered(&plain, 4);
    pass.was_answered(&edns, 4);
    let longer = edns.tally().bytes_sent - plain.tally().bytes_sent;
    assert_eq!(longer, (OPT_BYTES + NSID_BYTES) * edns.tally().requests);

    work.dnsdyno(&format!("run -s {address} --ask large.dyno.example./TXT --rate 1k --count 100 -o large"))
        .gives(0);
    let large = work.record("large");
    assert_eq!((large.tally().ends.answered, large.arrivals().anomalies.truncated), (100, 100));

    let unknown = "--ask www.dyno.example. --rate 1k --count 100 --edns-version 7 -o version";
    work.dnsdyno(&format!("run -s {address} {unknown}")).gives(0);
    assert_eq!(work.record("version").tally().rcodes.of(BADVERS), 100);
}

#[test]
fn nsd_takes_the_options_of_queries() {
    takes_options("nsd");
}

#[test]
fn bind_takes_the_options_of_queries() {
    takes_options("bind");
}

#[test]
fn unbound_takes_the_options_of_queries() {
    takes_options("unbound");
}

#[test]
fn knot_takes_the_options_of_queries() {
    takes_options("knot");
}

#[test]
fn pdns_takes_the_options_of_queries() {
    takes_options("pdns");
}

#[test]
fn show_prints_the_summary_of_the_run_once_more() {
    let work = Workplace::with_queries();
    let Some(server) = real_server("knot", &ServerOptions::default()) else { return };
    let run = format!("run -s {} -d q.txt --name morning --note quiet", server.address());
    let ran = work
        .dnsdyno(&format!("{run} --stair 500..1500 --step 500 --hold 300ms --interval 100ms -o stair"))
        .gives(0);
    let shown = work.dnsdyno("show stair").gives(0);
    assert_eq!(ran.stdout, format!("{}\nrecord: stair\n", shown.stdout));
    assert_eq!(shown.stderr, "");
    for word in ["morning", "quiet", "NOERROR", "NXDOMAIN", "phase", "1.5k", "p95", "generator:"] {
        assert!(shown.stdout.contains(word), "no {word:?} in\n{}", shown.stdout);
    }

    let expecting = work
        .dnsdyno(&format!("{run} --rate 500 --count 100 --expect loss=0% --expect answered=100% -o rate"))
        .gives(0);
    let judged = work.dnsdyno("show rate --expect loss=0% --expect answered=100%").gives(0);
    assert_eq!(expecting.stdout, format!("{}\nrecord: rate\n", judged.stdout));
    let both = work.dnsdyno("show stair rate/run.ndjson").gives(0);
    let rate = work.dnsdyno("show rate").gives(0);
    assert_eq!(both.stdout, format!("{}\n{}", shown.stdout, rate.stdout));
}

#[test]
fn json_tells_the_figures_of_the_record_while_running_and_later() {
    let work = Workplace::with_queries();
    let Some(server) = real_server("nsd", &ServerOptions::default()) else { return };
    let run = format!("run -s {} -d q.txt --rate 1k --passes 4 --json", server.address());
    let ran = work.dnsdyno(&format!("{run} -o run --interval 100ms")).gives(0);
    assert_eq!(ran.stdout, work.dnsdyno("show run --json").gives(0).stdout);

    let (json, digest) = (serde_json::from_str::<Value>(&ran.stdout).unwrap(), work.record("run"));
    let tally = digest.tally();
    let figure = |path: &str| json.pointer(path).and_then(Value::as_u64);
    assert_eq!(figure("/queries/scheduled"), Some(tally.scheduled));
    assert_eq!(figure("/queries/answered"), Some(tally.ends.answered));
    assert_eq!(figure("/queries/timed_out"), Some(0));
    assert_eq!(figure("/rcodes/NXDOMAIN"), Some(tally.rcodes.of(NXDOMAIN)));
    assert_eq!(figure("/types/SOA/answered"), Some(4));
    assert_eq!(figure("/bytes_sent"), Some(tally.bytes_sent));
    assert_eq!(figure("/run/started_unix_ns"), Some(digest.header.started_unix_ns));
    assert_eq!(figure("/response/answered"), Some(tally.response.count()));
    assert_eq!(figure("/response/min_ns"), tally.response.exact().map(|exact| exact.min_ns));
    assert_eq!(json["headline"], "response");
    assert_eq!(json["complete"], true);

    let judged = work.dnsdyno(&format!("{run} -o judged --expect loss<50%")).gives(0);
    let judged: Value = serde_json::from_str(&judged.stdout).unwrap();
    assert_eq!(
        (&judged["expectations"][0]["expectation"], &judged["expectations"][0]["passed"]),
        (&"loss<50%".into(), &true.into())
    );
}

#[test]
fn an_expectation_decides_the_exit_code_of_run_and_of_show() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let run = format!("run -s {} --ask www.example --rate 500 --count 50", server.address());
    let met = work
        .dnsdyno(&format!("{run} -o met --expect loss<0.1% --expect timeouts=0 --expect p50<5s"))
        .gives(0);
    assert_eq!(met.stdout.matches("\nmet ").count(), 3, "{}", met.stdout);
    let not_met = work.dnsdyno(&format!("{run} -o not --expect loss<0.1% --expect p50>100s")).gives(1);
    assert!(
        not_met.stdout.contains("\nmet ") && not_met.stdout.contains("\nNOT MET  p50>100s"),
        "{}",
        not_met.stdout
    );
    assert!(work.record("not").is_complete(), "what was not met is recorded all the same");
    work.dnsdyno("show met --expect rate>1").gives(0);
    work.dnsdyno("show met not --expect rate>1G").gives(1);

    for (expectation, hint) in [
        ("p99", "has no comparison"),
        ("p99<", "not a valid bound"),
        ("speed<5", "there is no metric"),
        ("loss<5ms", "0.1%"),
    ] {
        work.dnsdyno(&format!("{run} -o unread --expect {expectation}"))
            .ends_refused(2, &[expectation, hint]);
        work.dnsdyno(&format!("show met --expect {expectation}")).ends_refused(2, &[expectation, hint]);
    }
    assert!(!work.has("unread"), "nothing was sent");
    assert_eq!(server.book().udp.counts.received, 100, "two runs of 50, and no more");
}

#[test]
fn progress_is_a_line_a_second_and_quiet_is_none() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let run = format!("run -s {} --ask www.example --rate 500 --for 2s --interval 250ms", server.address());
    let told = work.dnsdyno(&format!("{run} -o told")).gives(0);
    let lines: Vec<&str> = told.stderr.lines().collect();
    assert_eq!(lines.len() as u64, work.record("told").intervals.div_ceil(4), "{}", told.stderr);
    for word in ["asked 500", "sent", "answered", "p50"] {
        assert!(lines[..2].iter().all(|line| line.contains(word)), "{word}: {}", told.stderr);
    }
    assert_eq!(work.dnsdyno(&format!("{run} --quiet -o quiet")).gives(0).stderr, "");
}

#[test]
fn send_only_waits_for_no_answer() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    work.dnsdyno(&format!(
        "run -s {} --ask www.example --rate 1k --count 200 --send-only -o run",
        server.address()
    ))
    .gives(0);
    let record = work.record("run");
    assert_eq!((record.tally().ends.sent_only, record.tally().scheduled), (200, 200));
    assert_eq!(record.tally().rcodes.total(), 0);
}

const NOERROR: u16 = 0;
const NXDOMAIN: u16 = 3;

/// The extended RCODE of a server that does not know the EDNS version (RFC 6891).
const BADVERS: u16 = 16;

/// An OPT record without options (RFC 6891): root, type, size, TTL, length.
const OPT_BYTES: u64 = 11;

/// An empty NSID option (RFC 5001): code and length.
const NSID_BYTES: u64 = 4;
