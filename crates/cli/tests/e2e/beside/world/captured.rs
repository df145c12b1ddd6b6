//! A world from a capture: traffic of a resolver before another Internet is replayed to resolvers before the world that
//! it makes, and each answer is the captured one but for those that the report names, to the unit.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use dnsdyno_capture::{DnsMessage, MessageWriter, OutputFormat, Protocol};
use dnsdyno_measure::AnswerCounts;
use dnsdyno_wire::{patch_id, peek};
use serde_json::Value;

use super::apart::{Apart, Question, log_of};
use super::judged::{NXDOMAIN, SERVFAIL};
use super::place::{book_of, truth};
use super::resolvers::{BIND, KNOT_RESOLVER, POWERDNS_RECURSOR, Resolver, UNBOUND};
use super::{CLIENTS, answered_equally_by_knot};
use crate::support::Workplace;

/// The Internet that the traffic was captured in: with all kinds of names, and zones whose servers all fail.
const INTERNET: &str = "--zones 2k --tlds 6 --rtt none --seed 7 --fault lame=45% \
    --share own=70%,large=60%,naptr=60%,wildcard=60%,child=40%,cname=50%,away=60%";

/// Traffic of a resolver and its clients, in the making.
#[derive(Default)]
struct Traffic {
    /// Queries, each with its response.
    pairs: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Traffic {
    /// What Unbound answers in that Internet: one client asks for all kinds of names, some of them several times.
    fn of_unbound(apart: &Apart) -> Option<Traffic> {
        let work = Workplace::new();
        let world = apart.world(&work, INTERNET);
        let resolver = apart.resolver(&work.path("."), &UNBOUND)?;
        let questions = all_kinds(&work);
        let answers = apart.ask_all(resolver.address(), &questions, CLIENTS);
        resolver.stop().unwrap();
        book_of(&work, world);
        let pairs = questions.iter().zip(answers).map(|(question, answer)| {
            let answer = answer.unwrap_or_else(|| panic!("{} {}: no answer", question.name, question.rtype));
            (question.query.clone(), Some(answer.into_octets()))
        });
        // PowerDNS Recursor has the start of a zone from negative answers, also where the question for it fails.
        let is_start_that_fails = |query: &[u8], response: &[u8]| {
            peek(query).unwrap().qtype() == Some(SOA) && response[3] & 0xf == SERVFAIL
        };
        let pairs = pairs.filter(|(query, response)| {
            !response.as_ref().is_some_and(|response| is_start_that_fails(query, response))
        });
        Some(Traffic { pairs: pairs.collect() })
    }

    /// A question with the answer of a resolver that has this RCODE and, without an error, an address that ends in
    /// `last`; without a response where that is `None`.
    fn add(&mut self, line: &str, answer: Option<(u8, u8)>) {
        let query = Question::new(line).query;
        let response = answer.map(|(rcode, last)| {
            let mut message = query[..12].to_vec();
            (message[2], message[3]) = (message[2] | 0x80, 0x80 | rcode);
            message[6..12].copy_from_slice(&[0, u8::from(rcode == 0), 0, 0, 0, 0]);
            message.extend_from_slice(peek(&query).unwrap().question);
            if rcode == 0 {
                message.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, last]);
            }
            message
        });
        self.pairs.push((query, response));
    }

    /// As a capture of the packets of the resolver.
    fn pcap(&self) -> Vec<u8> {
        let mut writer = MessageWriter::new(OutputFormat::Pcap, Vec::new()).unwrap();
        let [client, server] =
            ["192.0.2.9:40000", "192.0.2.53:53"].map(|text| text.parse::<SocketAddr>().unwrap());
        for (number, (query, response)) in self.pairs.iter().enumerate() {
            let at_unix_ns = START_UNIX_NS + number as u64 * APART_NS;
            let mut write = |source, destination, after_ns, bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                patch_id(&mut bytes, number as u16);
                let at_unix_ns = at_unix_ns + after_ns;
                let protocol = Protocol::Udp;
                writer
                    .write(&DnsMessage { at_unix_ns, protocol, source, destination, bytes: &bytes })
                    .unwrap();
            };
            write(client, server, 0, query);
            response.iter().for_each(|response| write(server, client, APART_NS / 2, response));
        }
        writer.finish().unwrap().0
    }
}

/// Questions for names of all kinds in that Internet.
fn all_kinds(work: &Workplace) -> Vec<Question> {
    let asked = work.dnsdyno(&format!("world questions 300 {INTERNET}")).gives(0);
    let mut questions: Vec<Question> = asked.stdout.lines().map(Question::new).collect();
    let mut zones = Vec::new();
    for explained in truth(work, &questions, INTERNET) {
        let apex =
            explained["zones"].as_array().unwrap().last().unwrap()["apex"].as_str().unwrap().to_owned();
        if apex.matches('.').count() == 2 && !zones.contains(&apex) {
            zones.push(apex);
        }
    }
    zones.truncate(40);
    for apex in &zones {
        let apex = apex.trim_end_matches('.');
        let of_zone = ["txt TXT", "many A", "sip NAPTR", "_sip._udp SRV", "x1 A", "www.dept A", "www HTTPS"];
        let lines = of_zone.map(|line| line.replacen(' ', &format!(".{apex} "), 1));
        let of_apex = ["MX", "TXT", "SOA", "DS", "NS", "AAAA"].map(|rtype| format!("{apex} {rtype}"));
        questions.extend(lines.iter().chain(&of_apex).map(|line| Question::new(line)));
    }
    questions
}

/// The counts of a report by reason.
fn by_reason(report: &Value, of: &str) -> BTreeMap<String, u64> {
    let reasons = report[of].as_object().unwrap_or_else(|| panic!("{of}: {report:#}"));
    reasons.iter().map(|(reason, number)| (reason.clone(), number.as_u64().unwrap())).collect()
}

fn number(report: &Value, of: &str) -> u64 {
    report[of].as_u64().unwrap_or_else(|| panic!("{of}: {report:#}"))
}

/// How the answers of a replay compare, and what a report says of it.
fn answers_of(answers: &AnswerCounts) -> [u64; 5] {
    [answers.same, answers.different, answers.better, answers.worse, answers.only_now]
}

fn foretold_by(report: &Value) -> [u64; 5] {
    ["kept", "different", "better", "worse", "unanswered"].map(|of| number(report, of))
}

/// Replays a capture to a resolver before a world that is made from it; returns how answers compare and the report.
fn replayed(
    apart: &Apart,
    work: &Workplace,
    resolver: &Resolver,
    options: &str,
) -> Option<(AnswerCounts, Value, String)> {
    let options = format!("--capture c.pcap --rtt none --report kept.json {options}");
    let world = apart.world(work, &options);
    let server = apart.resolver(&work.path("."), resolver)?;
    let resolver = resolver.name;
    let report: Value = serde_json::from_str(&work.read("kept.json")).unwrap();
    let told = work.stderr();
    // On a busy host a resolver may give up a server, and find the names of its zones later.
    let mut answers = AnswerCounts::default();
    for attempt in 0..ATTEMPTS {
        let words = format!(
            "run -s {} --replay c.pcap --check-answers -m tcp --timeout 20s --quiet -o {resolver}-{attempt}",
            server.address()
        );
        let record = apart.run(work, &words, &format!("{resolver}-{attempt}"));
        answers = record.sum.unwrap().answers.unwrap();
        if answers_of(&answers) == foretold_by(&report) {
            break;
        }
        std::thread::sleep(Duration::from_secs(10));
    }
    let log = log_of(&server);
    server.stop().unwrap();
    let book = book_of(work, world);
    assert!(book["udp"].as_u64() > Some(300), "{book:#}");
    assert!(told.contains("are kept"), "{told}");
    Some((answers, report, format!("{log}\n{}", work.read(&format!("{resolver}-0/answers-that-differ.txt")))))
}

#[test]
fn captured_traffic_is_answered_as_it_was_without_the_internet_but_for_what_the_report_names() {
    let Some(apart) = Apart::new() else { return };
    let Some(mut traffic) = Traffic::of_unbound(&apart) else { return };
    let of_unbound = traffic.pairs.len() as u64;
    let rcodes = |rcode: u8| {
        let has = |response: &Vec<u8>| response[3] & 0xf == rcode;
        traffic.pairs.iter().filter(|(_, response)| response.as_ref().is_some_and(has)).count()
    };
    assert!(rcodes(2) > 20 && rcodes(NXDOMAIN) > 20 && rcodes(0) > 300, "{} {}", rcodes(2), rcodes(NXDOMAIN));
    for name in 0..5 {
        for last in [1, 2, 1, 1, 3] {
            traffic.add(&format!("changes{name}.captured.com A"), Some((0, last)));
        }
        traffic.add(&format!("changes{name}.captured.com A"), Some((2, 0)));
        traffic.add(&format!("refused{name}.captured.com A"), Some((5, 0)));
        traffic.add(&format!("unanswered{name}.captured.com A"), None);
        traffic.add(&format!("ok{name}.captured.com A"), Some((0, 4)));
        // There, and then not, though names below it are.
        traffic.add(&format!("below.between{name}.captured.com A"), Some((0, 5)));
        traffic.add(&format!("between{name}.captured.com A"), Some((3, 0)));
    }
    // All zones of the world have name servers, also those that failed.
    let name_servers = traffic.pairs.iter().filter(|(query, _)| peek(query).unwrap().qtype() == Some(2));
    let expected = BTreeMap::from(
        [("changes", 15), ("refused", 5), ("names_below", 5), ("name_servers", name_servers.count() as u64)]
            .map(|(reason, number)| (reason.to_owned(), number)),
    );
    assert!(expected["name_servers"] > 10, "{expected:?}");
    let work = Workplace::new();
    work.write("c.pcap", traffic.pcap());
    let queries = traffic.pairs.len() as u64;
    for resolver in [UNBOUND, KNOT_RESOLVER, POWERDNS_RECURSOR, BIND] {
        let Some((answers, report, told)) = replayed(&apart, &work, &resolver, "") else { continue };
        let resolver = resolver.name;
        assert_eq!(by_reason(&report, "not_kept"), expected, "{report:#}");
        assert_eq!(
            (by_reason(&report, "not_compared"), number(&report, "queries")),
            (BTreeMap::new(), queries)
        );
        let not_kept: u64 = expected.values().sum();
        assert_eq!((number(&report, "unanswered"), number(&report, "kept")), (5, queries - 5 - not_kept));
        assert!(number(&report, "kept") > of_unbound - expected["name_servers"] - 1);
        // The replay compares as the report foretold, answer by answer.
        assert_eq!(answers_of(&answers), foretold_by(&report), "{resolver}: {told}");
        assert_eq!((answers.unanswered, answers.not_compared), (0, 0), "{resolver}");
    }
    assert_eq!(apart.left(), 0);
}

#[test]
fn signed_a_world_from_a_capture_is_validated_and_only_signatures_and_keys_differ() {
    let Some(apart) = Apart::new() else { return };
    let Some(traffic) = Traffic::of_unbound(&apart) else { return };
    let work = Workplace::new();
    work.write("c.pcap", traffic.pcap());
    for share in ["", "--share nsec3=100%"] {
        let Some((answers, report, told)) = replayed(&apart, &work, &UNBOUND, &format!("--signed {share}"))
        else {
            return;
        };
        (0..ATTEMPTS)
            .for_each(|attempt| drop(std::fs::remove_dir_all(work.path(&format!("unbound-{attempt}")))));
        let not_kept = by_reason(&report, "not_kept");
        assert!(not_kept["signatures"] > 200 && not_kept["keys"] > 10, "{not_kept:?}");
        assert!(not_kept.keys().all(|reason| ["signatures", "keys", "name_servers"].contains(&&**reason)));
        assert_eq!(answers_of(&answers), foretold_by(&report), "{told}");
    }
    // Each answer is validated, proofs among them.
    let options = "--capture c.pcap --rtt none --signed";
    let world = apart.world(&work, options);
    let Some(resolver) = apart.resolver(&work.path("."), &UNBOUND) else { return };
    let questions = all_kinds(&work);
    let answers = apart.ask_all(resolver.address(), &questions, CLIENTS);
    let mut validated = [0; 4];
    for (question, answer) in questions.iter().zip(&answers) {
        let answer =
            answer.as_ref().unwrap_or_else(|| panic!("{} {}: no answer", question.name, question.rtype));
        let rcode = answer.header().rcode().to_int();
        let is_failure = rcode == SERVFAIL;
        assert_eq!(answer.header().ad(), !is_failure, "{} {}", question.name, question.rtype);
        validated[usize::from(rcode)] += 1;
    }
    assert!(validated[0] > 300 && validated[2] > 20 && validated[3] > 20, "{validated:?}");
    resolver.stop().unwrap();
    book_of(&work, world);
}

#[test]
fn a_world_from_a_capture_is_written_out_and_answered_equally_by_knot() {
    let Some(apart) = Apart::new() else { return };
    let Some(traffic) = Traffic::of_unbound(&apart) else { return };
    for options in ["", "--signed"] {
        let work = Workplace::new();
        work.write("c.pcap", traffic.pcap());
        answered_equally_by_knot(&work, &format!("--capture c.pcap --hosters 8 {options}"));
    }
}

const SOA: u16 = 6;

/// Replays at most.
const ATTEMPTS: u32 = 5;

/// An hour of 2023; queries are far enough apart that none waits for another.
const START_UNIX_NS: u64 = 1_700_000_000_000_000_000;
const APART_NS: u64 = Duration::from_millis(4).as_nanos() as u64;
