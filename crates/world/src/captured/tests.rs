//! Worlds from captures that are made here, response by response.

use std::net::SocketAddr;

use dnsdyno_capture::{DnsMessage, MessageWriter, OutputFormat, Protocol};
use dnsdyno_wire::{QueryForm, encode_name, parse_type, patch_id};
use domain::base::iana::{Class, Rcode};
use domain::base::{Message, MessageBuilder, Record};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::name::text;
use crate::options::tests::options;
use crate::resolver::Resolver;
use crate::tree::tests::name;
use crate::world::World;

/// A capture in the making, of a resolver with these answers to its clients.
#[derive(Default)]
struct Making {
    messages: Vec<(bool, Vec<u8>)>,
    is_of_name_server: bool,
}

/// A response: its RCODE and the records of its answer and authority sections, as `OWNER TTL TYPE DATA`.
fn response(
    query: &[u8],
    rcode: u8,
    answer: &[&str],
    authority: &[&str],
    is_of_name_server: bool,
) -> Vec<u8> {
    let query = Message::from_octets(query).unwrap();
    let mut builder =
        MessageBuilder::new_vec().start_answer(&query, Rcode::checked_from_int(rcode).unwrap()).unwrap();
    let header = builder.header_mut();
    header.set_aa(is_of_name_server);
    header.set_ra(!is_of_name_server);
    answer.iter().for_each(|line| builder.push(record(line)).unwrap());
    let mut builder = builder.authority();
    authority.iter().for_each(|line| builder.push(record(line)).unwrap());
    builder.into_message().into_octets()
}

/// Adds an OPT record with a client subnet whose scope is 24 bits.
fn for_subnet(response: &mut Vec<u8>) {
    response[11] = 1;
    response.extend([0, 0, 41, 4, 0xd0, 0, 0, 0, 0, 0, 11, 0, 8, 0, 7, 0, 1, 24, 24, 192, 0, 2]);
}

fn record(line: &str) -> Record<Name, Data> {
    let mut zone = domain::zonefile::inplace::Zonefile::from(format!("$ORIGIN .\n{line}\n").as_str());
    zone.set_default_class(Class::IN);
    let Some(domain::zonefile::inplace::Entry::Record(record)) = zone.next_entry().unwrap() else {
        panic!("{line}")
    };
    record.flatten_into()
}

impl Making {
    fn query(&mut self, question: &str) -> Vec<u8> {
        let (name, rtype) = question.split_once(' ').unwrap();
        let (mut wire, mut query) = (Vec::new(), Vec::new());
        encode_name(name.as_bytes(), &mut wire).unwrap();
        QueryForm::default().encode(&wire, parse_type(rtype).unwrap(), &mut query);
        patch_id(&mut query, self.messages.len() as u16);
        self.messages.push((false, query.clone()));
        query
    }

    /// A question and its response, some times.
    fn asked(
        &mut self,
        times: u32,
        question: &str,
        rcode: u8,
        answer: &[&str],
        authority: &[&str],
    ) -> &mut Self {
        for _ in 0..times {
            let query = self.query(question);
            let response = response(&query, rcode, answer, authority, self.is_of_name_server);
            self.messages.push((true, response));
        }
        self
    }

    fn octets(&self) -> Vec<u8> {
        let mut writer = MessageWriter::new(OutputFormat::Pcap, Vec::new()).unwrap();
        let [client, server] =
            ["192.0.2.9:40000", "192.0.2.53:53"].map(|text| text.parse::<SocketAddr>().unwrap());
        for (number, (is_response, bytes)) in self.messages.iter().enumerate() {
            let (source, destination) = if *is_response { (server, client) } else { (client, server) };
            let at_unix_ns = 1_700_000_000_000_000_000 + number as u64 * 1_000_000;
            let protocol = Protocol::Udp;
            writer.write(&DnsMessage { at_unix_ns, protocol, source, destination, bytes }).unwrap();
        }
        writer.finish().unwrap().0
    }

    /// The world of the capture.
    fn world(&self, flags: &str) -> (TempDir, World) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("c.pcap");
        std::fs::write(&path, self.octets()).unwrap();
        let world = World::new(&options(&format!("--capture {} --rtt none {flags}", path.display())));
        (place, world.unwrap_or_else(|error| panic!("{error}")))
    }
}

const SOA: &str = "example.com. 300 SOA ns1.example.net. admin.example.com. 7 7200 900 1209600 600";

/// Answers of all kinds that can be kept.
fn usual() -> Making {
    let mut making = Making::default();
    making
        .asked(
            2,
            "www.example.com A",
            0,
            &["www.example.com. 60 A 192.0.2.1", "www.example.com. 60 A 192.0.2.2"],
            &[],
        )
        .asked(
            1,
            "www.example.com A",
            0,
            &["WWW.example.com. 90 A 192.0.2.2", "www.example.com. 90 A 192.0.2.1"],
            &[],
        )
        .asked(1, "www.example.com AAAA", 0, &[], &[SOA])
        .asked(1, "example.com MX", 0, &["example.com. 300 MX 10 mail.example.com."], &[])
        .asked(
            1,
            "example.com SOA",
            0,
            &["example.com. 400 SOA ns1.example.net. admin.example.com. 7 7200 900 1209600 600"],
            &[],
        )
        .asked(1, "nothing.example.com A", 3, &[], &[SOA])
        .asked(
            1,
            "shop.example.com A",
            0,
            &[
                "shop.example.com. 30 CNAME a.cdn.example.net.",
                "a.cdn.example.net. 20 CNAME b.edge.example.org.",
                "b.edge.example.org. 20 A 198.51.100.7",
            ],
            &[],
        )
        .asked(
            1,
            "shop.example.com AAAA",
            0,
            &[
                "shop.example.com. 30 CNAME a.cdn.example.net.",
                "a.cdn.example.net. 20 CNAME b.edge.example.org.",
            ],
            &["edge.example.org. 60 SOA ns.example.org. x.example.org. 1 2 3 4 5"],
        )
        .asked(
            1,
            "gone.example.com A",
            3,
            &["gone.example.com. 30 CNAME nowhere.example.org."],
            &["example.org. 60 SOA ns.example.org. x.example.org. 1 2 3 4 5"],
        )
        .asked(
            1,
            "_sip._udp.example.com SRV",
            0,
            &["_sip._udp.example.com. 60 SRV 1 2 5060 sip.example.com."],
            &[],
        )
        .asked(
            1,
            "example.com NAPTR",
            0,
            &["example.com. 60 NAPTR 1 2 \"s\" \"SIP+D2U\" \"\" _sip._udp.example.com."],
            &[],
        )
        .asked(1, "fails.example.com A", 2, &[], &[])
        .asked(1, "alias.to.nowhere.example.com A", 2, &[], &[])
        .asked(
            1,
            "bare.org A",
            0,
            &[
                "bare.org. 60 CNAME www.example.com.",
                "www.example.com. 60 A 192.0.2.1",
                "www.example.com. 60 A 192.0.2.2",
            ],
            &[],
        )
        .asked(1, "www.bare.org A", 0, &["www.bare.org. 60 A 192.0.2.3"], &[])
        .asked(1, "only.example.com HTTPS", 0, &[], &[SOA])
        .asked(1, "www.example.com NS", 0, &[], &[SOA])
        .asked(1, "example.com DS", 0, &[], &["com. 300 SOA a.gtld. x. 1 2 3 4 5"])
        .asked(
            1,
            "host.sub.example.com A",
            0,
            &["host.sub.example.com. 60 A 192.0.2.4"],
            &["sub.example.com. 60 NS ns.elsewhere.net."],
        )
        .asked(
            1,
            "sub.example.com A",
            0,
            &[],
            &["sub.example.com. 60 SOA ns.example.org. x.example.org. 1 2 3 4 5"],
        )
        .asked(1, "alone A", 0, &["alone. 60 A 192.0.2.5"], &[])
        .asked(1, "1.2.0.192.in-addr.arpa PTR", 0, &["1.2.0.192.in-addr.arpa. 60 PTR www.example.com."], &[]);
    making
}

#[test]
fn each_answer_of_a_resolver_is_kept_and_a_resolver_finds_it_from_the_root() {
    for flags in ["", "--signed", "--signed --share nsec3=100%"] {
        let making = usual();
        let (_place, world) = making.world(flags);
        let report = world.capture_report().unwrap().unwrap();
        let queries = making.messages.len() as u64 / 2;
        // Signed, the world has a DS record there.
        let keys = u64::from(!flags.is_empty());
        assert_eq!(
            (report.kept, report.queries, report.unanswered),
            (queries - keys, queries, 0),
            "{report:#?}"
        );
        assert_eq!(report.not_kept.get(&NotKept::Keys).copied().unwrap_or(0), keys, "{report:#?}");
        for (asked, rtype, chain, count, rcode) in [
            ("www.example.com", Rtype::A, 1, 2, 0),
            ("www.example.com", Rtype::AAAA, 1, 0, 0),
            ("shop.example.com", Rtype::A, 3, 1, 0),
            ("gone.example.com", Rtype::A, 2, 0, 3),
            ("other.example.com", Rtype::A, 1, 0, 3),
            ("to.nowhere.example.com", Rtype::A, 1, 0, 0),
            ("bare.org", Rtype::A, 2, 2, 0),
            ("only.example.com", Rtype::A, 1, 0, 0),
            ("host.sub.example.com", Rtype::A, 1, 1, 0),
            ("alone", Rtype::A, 1, 1, 0),
        ] {
            let found = Resolver::new(&world).resolve(&name(asked), rtype).unwrap();
            assert_eq!(
                (found.chain.len(), found.count, found.rcode.to_int()),
                (chain, count, rcode),
                "{asked}"
            );
        }
        let fails =
            |name: &str| Resolver::new(&world).resolve(&crate::tree::tests::name(name), Rtype::A).is_err();
        assert!(fails("fails.example.com") && fails("alias.to.nowhere.example.com"));
        let path = |asked: &str| {
            world
                .hierarchy
                .path(&name(asked))
                .iter()
                .map(|zone| text(&zone.apex))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(path("x.host.sub.example.com"), ". com. example.com. sub.example.com.");
        assert_eq!(path("b.edge.example.org"), ". org. example.org. edge.example.org.");
        assert_eq!(path("www.bare.org"), ". org.");
        let ttl = |asked: &str| world.explain(asked).unwrap().records.join(" ");
        assert!(ttl("www.example.com").contains("90 A 192.0.2.1"), "{}", ttl("www.example.com"));
        assert!(ttl("example.com").contains("SOA ns1.example.net."), "{}", ttl("example.com"));
    }
}

#[test]
fn what_is_not_kept_has_a_reason_and_each_answer_one_end() {
    let mut making = usual();
    let kept_before = making.messages.len() as u64 / 2;
    making
        .asked(3, "lb.example.com A", 0, &["lb.example.com. 5 A 192.0.2.1"], &[])
        .asked(2, "lb.example.com A", 0, &["lb.example.com. 5 A 192.0.2.9"], &[])
        .asked(1, "lb.example.com A", 2, &[], &[])
        .asked(2, "moved.example.com A", 3, &[], &[SOA])
        .asked(1, "moved.example.com A", 0, &["moved.example.com. 5 A 192.0.2.9"], &[])
        .asked(1, "example.com NS", 0, &["example.com. 60 NS ns1.example.net."], &[])
        .asked(1, "example.com DNSKEY", 0, &["example.com. 60 DNSKEY 256 3 13 AwEAAaaa"], &[])
        .asked(4, "refused.example.com A", 5, &[], &[])
        .asked(
            1,
            "x.tree.example.com A",
            0,
            &[
                "tree.example.com. 60 DNAME other.example.com.",
                "x.tree.example.com. 60 CNAME x.other.example.com.",
                "x.other.example.com. 60 A 192.0.2.7",
            ],
            &[],
        )
        .asked(1, "_udp.example.com TXT", 3, &[], &[SOA])
        .asked(1, "*.example.com A", 0, &["*.example.com. 60 A 192.0.2.7"], &[])
        .asked(1, "www.example.com ANY", 0, &["www.example.com. 60 A 192.0.2.7"], &[]);
    for last in [1, 1, 2] {
        making.asked(1, "near.example.com A", 0, &[&format!("near.example.com. 60 A 192.0.2.{last}")], &[]);
        for_subnet(&mut making.messages.last_mut().unwrap().1);
    }
    (0..3).for_each(|_| drop(making.query("unanswered.example.com A")));
    let query = making.query("cut.example.com TXT");
    let mut cut = response(&query, 0, &[], &[], false);
    cut[2] |= 2;
    making.messages.push((true, cut));
    making.is_of_name_server = true;
    making.asked(1, "www.example.net A", 0, &["www.example.net. 60 A 192.0.2.8"], &[]);
    let (_place, world) = making.world("");
    let report = world.capture_report().unwrap().unwrap();
    let not_kept = [
        (NotKept::Changes, 2 + 1 + 1),
        (NotKept::ClientSubnet, 1),
        (NotKept::NameServers, 1),
        (NotKept::Keys, 1),
        (NotKept::Refused, 4),
        (NotKept::Dname, 1),
        (NotKept::NamesBelow, 1),
        (NotKept::Name, 1),
    ];
    assert_eq!(report.not_kept, not_kept.into(), "{}", report.to_text());
    let not_compared = [(NotCompared::AnyType, 1), (NotCompared::Truncated, 1), (NotCompared::NameServer, 1)];
    assert_eq!(report.not_compared, not_compared.into());
    assert_eq!((report.kept, report.unanswered), (kept_before + 3 + 2 + 2, 3), "{report:#?}");
    let sum = report.kept + report.unanswered + report.not_kept.values().sum::<u64>() + 3;
    assert_eq!(report.queries, sum);
    assert_eq!(report.worse + report.better + report.different, report.not_kept.values().sum::<u64>());
    // What a name server of the capture said is there all the same.
    let found = Resolver::new(&world).resolve(&name("www.example.net"), Rtype::A).unwrap();
    assert_eq!(found.count, 1);
    let unanswered = Resolver::new(&world).resolve(&name("unanswered.example.com"), Rtype::A).unwrap();
    assert_eq!(unanswered.rcode.to_int(), 3);
}

#[test]
fn a_referral_shows_a_zone_and_a_question_of_a_capture_is_asked_again() {
    let mut making = usual();
    making.is_of_name_server = true;
    let query = making.query("www.deep.down.example.com A");
    let mut referral = response(&query, 0, &[], &["down.example.com. 60 NS ns.down.example.com."], true);
    referral[2] &= !4;
    making.messages.push((true, referral));
    making.asked(1, "www.deep.down.example.com A", 0, &["www.deep.down.example.com. 60 A 192.0.2.1"], &[]);
    let (_place, world) = making.world("");
    let path = world.hierarchy.path(&name("www.deep.down.example.com"));
    assert_eq!(text(&path.last().unwrap().apex), "down.example.com.");
    let questions: Vec<_> = (0..80).map(|number| world.question(number)).collect();
    for question in
        ["www.example.com A", "www.example.com AAAA", "fails.example.com A", "_sip._udp.example.com SRV"]
    {
        assert!(questions.contains(&question.to_owned()), "{question}");
    }
    assert!(!questions.iter().any(|question| question.starts_with("nothing")));
}

#[test]
fn contradictions_and_loops_are_counted_and_answered() {
    let mut making = usual();
    let long =
        [&"a".repeat(63), &"b".repeat(63), &"c".repeat(63), &"d".repeat(57)].map(|label| &**label).join(".");
    let long = format!("{long}.com");
    let many: Vec<String> =
        (0..2_000).map(|at| format!("huge.example.com. 60 A 10.0.{}.{}", at / 256, at % 256)).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    making
        .asked(
            1,
            "loop.example.com A",
            0,
            &["loop.example.com. 5 CNAME back.example.com.", "back.example.com. 5 CNAME loop.example.com."],
            &[],
        )
        .asked(1, "self.example.com A", 0, &["self.example.com. 5 CNAME self.example.com."], &[])
        .asked(1, ". A", 0, &[". 5 A 192.0.2.1"], &[". 5 SOA . . 1 2 3 4 5"])
        .asked(1, ". A", 0, &[". 5 CNAME a.example.com."], &[])
        .asked(1, "com A", 0, &["com. 5 CNAME a.example.com."], &["com. 5 SOA . . 1 2 3 4 5"])
        .asked(
            1,
            "below.www.bare.org A",
            0,
            &["below.www.bare.org. 5 A 192.0.2.1"],
            &["www.bare.org. 5 SOA . . 1 2 3 4 5"],
        )
        .asked(1, "a.dns3-hosting.com A", 0, &["a.dns3-hosting.com. 5 A 192.0.2.1"], &[])
        .asked(1, &format!("{long} A"), 0, &[&format!("{long}. 5 A 192.0.2.1")], &[])
        .asked(1, "other.net A", 0, &["unrelated.net. 5 A 192.0.2.1"], &["example.com. 5 SOA . . 1 2 3 4 5"])
        .asked(1, "huge.example.com A", 0, &many, &[]);
    for flags in ["", "--signed"] {
        let (_place, world) = making.world(flags);
        let report = world.capture_report().unwrap().unwrap();
        let ends = report.kept + report.not_kept.values().chain(report.not_compared.values()).sum::<u64>();
        assert_eq!((ends, report.unanswered), (report.queries, 0), "{report:#?}");
        for asked in ["www.example.com", "huge.example.com", &long, "below.www.bare.org"] {
            let found = Resolver::new(&world).resolve(&name(asked), Rtype::A);
            assert!(found.is_ok_and(|found| found.rcode.to_int() != 2), "{asked}");
        }
        for asked in ["loop.example.com", "self.example.com", ".", "com", "a.dns3-hosting.com"] {
            let _ = Resolver::new(&world).resolve(&name(asked), Rtype::A);
            assert!(world.explain(asked).is_ok());
        }
    }
}

#[test]
fn what_is_no_capture_of_answers_is_refused_with_what_to_do() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).display().to_string();
    std::fs::write(path("text"), "www.example.com A\n").unwrap();
    let mut queries = Making::default();
    queries.query("www.example.com A");
    std::fs::write(path("queries"), queries.octets()).unwrap();
    let error = |flags: &str| {
        let error = World::new(&options(flags)).unwrap_err();
        assert!(error.is_bad_input());
        error.to_string()
    };
    assert!(error(&format!("--capture {}", path("text"))).contains("is not a capture"));
    assert!(error(&format!("--capture {}", path("queries"))).contains("has the responses of a resolver"));
    assert!(error(&format!("--capture {}", path("none"))).contains("cannot open"));
    assert!(error("--capture -").contains("has to be a file"));
}

#[test]
fn a_capture_that_is_cut_is_used_up_to_there() {
    let whole = usual().octets();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("cut.pcap");
    std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    let world = World::new(&options(&format!("--capture {}", path.display()))).unwrap();
    let report = world.capture_report().unwrap().unwrap();
    assert!(report.errors.len() == 1 && report.errors[0].contains("cut short"), "{:?}", report.errors);
    assert_eq!((report.unanswered, report.kept), (1, report.queries - 1));
}

#[test]
fn no_octets_in_a_response_make_it_panic() {
    let making = usual();
    let changes = prop::collection::vec((any::<u16>(), any::<u8>()), 0..40);
    proptest!(ProptestConfig { cases: 300, ..ProptestConfig::default() }, |(changes in changes)| {
        let mut votes = Votes::new(1 << 20);
        let responses = making.messages.iter().filter(|(is_response, _)| *is_response);
        for (number, (_, response)) in responses.enumerate() {
            let mut octets = response.clone();
            for (at, value) in changes.iter().skip(number % 7) {
                let at = usize::from(*at) % octets.len();
                octets[at] = *value;
            }
            response::take(&octets, &mut votes);
        }
        let captured = Captured::of(votes, ReadCounts::default());
        for number in 0..captured.names.len() {
            let key = captured.names.key(number).to_vec();
            let labels = captured.names.labels(number);
            let name = labels.fold(Name::root_bytes(), |parent, label| below(label, &parent));
            prop_assert!(captured.node(&name, &key).is_some());
        }
    });
}
