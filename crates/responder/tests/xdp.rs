//! The responder in the kernel: held to the same table of questions as the one on sockets, and to
//! its answers to random ones, to the byte.

mod cable;

use cable::{Cable, config, has_program, pass, start, zone, zone_with_wildcard};
use dnsdyno_lab::{Need, VethPair, require};
use dnsdyno_responder::answer::{Case, Via, cases};
use dnsdyno_responder::xdp::XdpStartError;
use dnsdyno_responder::{Faults, Rule, XdpConfig, XdpResponder};
use dnsdyno_sys::xdp::{Attach, Attached, XdpError};
use dnsdyno_wire::{QueryForm, encode_name, patch_id, peek};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// The cases of the table over UDP, grouped by rule.
fn cases_by_rule() -> Vec<Vec<Case>> {
    let mut groups: Vec<Vec<Case>> = Vec::new();
    for case in cases().into_iter().filter(|case| case.via == Via::Udp) {
        match groups.iter_mut().find(|group| is_same(&group[0].rule, &case.rule)) {
            Some(group) => group.push(case),
            None => groups.push(vec![case]),
        }
    }
    groups
}

fn is_same(a: &Rule, b: &Rule) -> bool {
    match (a, b) {
        (Rule::Zone(_), Rule::Zone(_)) => true, // the table has one zone
        (Rule::Zone(_), _) | (_, Rule::Zone(_)) => false,
        (a, b) => format!("{a:?}") == format!("{b:?}"),
    }
}

/// The cases that are passed up: all others must be answered in the kernel.
const PASSED_UP: &[&str] = &[
    "class ANY is answered as IN",
    "so are seventeen",
    "an option that breaks off is malformed",
    "EDNS version 1 is BADVERS",
    "a response is not answered",
    "eleven bytes are not answered",
    "an empty packet is not answered",
    "a header alone has no question",
    "no question is malformed",
    "two questions are malformed",
    "a label that runs out is malformed",
    "a pointer in the question is malformed",
    "a label type of 64 is malformed",
    "a byte too many is malformed",
    "a declared but missing record is malformed",
    "NOTIFY is not implemented",
    "class CH is refused",
    "a zone transfer is refused",
    "another zone's name is refused",
    "so is the zone above",
    // 700 bytes have no room behind a short query in the buffers of a veth interface.
    "within the EDNS size is whole",
];

#[test]
fn every_case_of_the_table_is_answered_as_it_says_and_by_the_kernel_where_it_can() {
    if !require(&[Need::Root]) {
        return;
    }
    for attach in [Attach::Native, Attach::Generic] {
        let mut passed: Vec<&str> = Vec::new();
        for group in cases_by_rule() {
            if matches!(group[0].rule, Rule::FixedSize { .. }) {
                continue; // refused, see below
            }
            let cable = Cable::attached(&group[0].rule, attach);
            for case in &group {
                for family in 0..2 {
                    let (response, by_kernel) = cable.ask(family, &case.query);
                    case.check(response.as_ref())
                        .unwrap_or_else(|difference| panic!("{}: {difference}", case.name));
                    if !by_kernel && !passed.contains(&case.name) {
                        passed.push(case.name);
                    }
                }
            }
        }
        passed.sort_unstable();
        let mut expected = PASSED_UP.to_vec();
        // In the stack there is more room behind a packet.
        expected.retain(|name| passed.contains(name) || attach == Attach::Native);
        expected.sort_unstable();
        assert_eq!(passed, expected);
    }
}

const PLAIN_ZONE: &str = "$ORIGIN plain.example.
$TTL 300
@       SOA ns hostmaster 1 2 3 4 60
@       NS  ns
ns      A   192.0.2.53
www     A   192.0.2.80
www     AAAA 2001:db8::80
alias   CNAME www
a.b.deep TXT \"ends at nine\"
naptr   NAPTR 10 20 \"U\" \"SIP+D2U\" \"\" _sip._udp.plain.example.
";

/// A random query: most often sensible, sometimes not.
fn random_query(chance: &mut SmallRng, apex: &str) -> Vec<u8> {
    const LABELS: &[&str] = &[
        "www",
        "alias",
        "chain",
        "outside",
        "dangling",
        "shout",
        "wild",
        "host",
        "deep",
        "a",
        "b",
        "naptr",
        "big",
        "ns",
        "ns1",
        "*",
        "x",
        "nothing",
        "a-long-label-of-some-thirty-bytes",
        "example",
        "\\000\\255",
    ];
    const TYPES: &[u16] = &[1, 1, 2, 5, 6, 15, 16, 28, 28, 35, 0, 41, 64, 251, 252, 255, 256, 65_535];
    let mut name = String::new();
    for _ in 0..chance.random_range(0..4) {
        name.push_str(LABELS[chance.random_range(0..LABELS.len())]);
        name.push('.');
    }
    if chance.random_ratio(1, 40) {
        name.push_str(&"d.".repeat(chance.random_range(1..60)));
    }
    if !chance.random_ratio(1, 15) {
        name.push_str(apex);
    }
    if name.is_empty() {
        name.push('.');
    }
    let swap = |c: char| if chance.random() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    let name: String = name.chars().map(swap).collect();
    let mut wire = Vec::new();
    encode_name(name.as_bytes(), &mut wire).unwrap();
    let sizes = [None, Some(0), Some(512), Some(1232), Some(4096), Some(65_535)];
    let form = QueryForm {
        edns_size: sizes[chance.random_range(0..sizes.len())],
        dnssec_ok: chance.random_ratio(1, 4),
        recursion_desired: chance.random(),
        checking_disabled: chance.random(),
        authentic_data: chance.random(),
        ..QueryForm::default()
    };
    let mut query = Vec::new();
    form.encode(&wire, TYPES[chance.random_range(0..TYPES.len())], &mut query);
    patch_id(&mut query, chance.random());
    if form.edns_size.is_some() && chance.random_ratio(1, 3) {
        // An unknown option.
        let length: u16 = chance.random_range(0..900);
        let data_length_at = query.len() - 2;
        query[data_length_at..].copy_from_slice(&(length + 4).to_be_bytes());
        query.extend([[0xFF, 12], length.to_be_bytes()].concat());
        query.resize(query.len() + usize::from(length), 0);
    }
    if chance.random_ratio(1, 10) {
        let at = chance.random_range(0..query.len());
        query[at] = chance.random();
    }
    if chance.random_ratio(1, 20) {
        query.truncate(chance.random_range(0..=query.len()));
    }
    query
}

/// Whether the kernel must have answered: a plain question under the apex, whose answer is not
/// longer than the room that there always is.
fn is_kernels(query: &[u8], response: Option<&Vec<u8>>) -> bool {
    let (Some(response), Ok(asked)) = (response, peek(query)) else { return false };
    let Ok(said) = peek(response) else { return false };
    let is_plain =
        query[2] & 0xF8 == 0 && query[4..10] == [0, 1, 0, 0, 0, 0] && query[10] == 0 && query[11] < 2;
    // Any other record there is passed over, but by the sockets.
    let has_opt = query[11] == 0 || query[12 + asked.question.len()..].starts_with(&[0, 0, 41]);
    let is_answered = matches!(said.rcode, 0 | 3) && said.flags & 0x0400 != 0;
    let class = asked.question.last_chunk::<2>();
    let is_shallow = asked.qname().iter().filter(|byte| **byte < 3).count() < 10;
    is_plain
        && has_opt
        && is_answered
        && class == Some(&[0, 1])
        && is_shallow
        && response.len() < query.len() + 150
}

#[test]
fn random_questions_are_answered_as_on_sockets_and_plain_ones_by_the_kernel() {
    if !require(&[Need::Root]) {
        return;
    }
    for (rule, apex) in [(zone_with_wildcard(), "example."), (zone(PLAIN_ZONE), "plain.example.")] {
        let cable = Cable::new(&rule);
        let mut chance = SmallRng::seed_from_u64(3);
        let mut plain = 0;
        for number in 0..6_000 {
            let query = random_query(&mut chance, apex);
            let (response, by_kernel) = cable.ask(number % 2, &query);
            if is_kernels(&query, response.as_ref()) {
                assert!(by_kernel, "passed up: {}", query.escape_ascii());
                plain += 1;
            }
        }
        assert!(plain > 3_000, "{plain} plain questions");
        let book = cable.running.stop();
        let (did, counts) = (book.in_kernel.unwrap(), book.udp.counts);
        assert_eq!((counts.received, counts.ended()), (6_000, 6_000));
        assert_eq!(did.answered() + did.passed(), 6_000);
        assert!(did.found > 200 && did.nodata > 500 && did.nxdomain > 500, "{did:?}");
        // The kernel's hold times are not measured.
        assert_eq!(book.udp.hold.count(), counts.answered - did.answered());
    }
}

/// A question with EDNS, made longer by padding (RFC 7830).
fn padded(name: &str, rtype: u16, edns_size: u16, padding: u16) -> Vec<u8> {
    let (mut wire, mut query) = (Vec::new(), Vec::new());
    encode_name(name.as_bytes(), &mut wire).unwrap();
    QueryForm { edns_size: Some(edns_size), ..QueryForm::default() }.encode(&wire, rtype, &mut query);
    let data_length_at = query.len() - 2;
    query[data_length_at..].copy_from_slice(&(padding + 4).to_be_bytes());
    query.extend([[0, 12], padding.to_be_bytes()].concat());
    query.resize(query.len() + usize::from(padding), 0);
    query
}

#[test]
fn responses_of_every_size_fit_or_are_truncated_or_passed_up() {
    if !require(&[Need::Root]) {
        return;
    }
    let cable = Cable::new(&zone_with_wildcard());
    let mut by_kernel = [0; 3];
    for padding in 0..900 {
        let long = padded("big.example.", 16, 4096, padding);
        let cut = padded("big.example.", 16, 600, padding);
        let short = padded("www.example.", 28, 512, padding);
        for (query, count) in [long, cut, short].iter().zip(&mut by_kernel) {
            *count += u32::from(cable.ask(usize::from(padding % 2), query).1);
        }
    }
    // A truncated or short response always has space; one of 690 bytes has it after a query of 450 or
    // more.
    assert_eq!(by_kernel[1..], [900, 900]);
    assert!(by_kernel[0] > 450, "{by_kernel:?}");
    assert_eq!(cable.in_kernel().truncated, 900);
}

#[test]
fn names_by_the_ten_thousand_are_all_found() {
    if !require(&[Need::Root]) {
        return;
    }
    let mut text = "$TTL 60\nmany.example. SOA ns.many.example. h.many.example. 1 2 3 4 5\n".to_owned();
    for i in 0..20_000u32 {
        let [_, a, b, c] = i.to_be_bytes();
        text.push_str(&format!("{:x}.many.example. A 10.{a}.{b}.{c}\n", i.wrapping_mul(0x9E37_79B9)));
    }
    let cable = Cable::new(&zone(&text));
    for i in (0..20_000u32).step_by(7) {
        let mut wire = Vec::new();
        encode_name(format!("{:x}.many.example.", i.wrapping_mul(0x9E37_79B9)).as_bytes(), &mut wire)
            .unwrap();
        let mut query = Vec::new();
        QueryForm::default().encode(&wire, 1, &mut query);
        let (response, by_kernel) = cable.ask(0, &query);
        assert!(by_kernel && response.unwrap().ends_with(&i.to_be_bytes()[1..]));
    }
}

#[test]
fn the_program_ends_with_the_responder_and_replaces_no_other() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let ask = || config(&pair, zone_with_wildcard());
    let running = start(&pair, ask());
    assert_eq!(running.program(), Some(Attached::Native));
    assert_eq!(running.addresses().len(), 2);
    assert!(has_program(pair.far()));
    let mut other = ask();
    other.responder.listen.set_port(54);
    other.responder.listen_also.clear();
    let refused = pair.far().enter(|| XdpResponder::start(other)).unwrap().unwrap_err();
    assert!(matches!(refused, XdpStartError::Xdp(XdpError::OtherProgram { .. })), "{refused}");
    drop(running.stop());
    assert!(!has_program(pair.far()));
    drop(start(&pair, ask()));
    assert!(!has_program(pair.far()));
    let _pass = pass(pair.far());
    let refused = pair.far().enter(|| XdpResponder::start(ask())).unwrap().unwrap_err();
    assert!(refused.to_string().contains("another XDP program"), "{refused}");
    // The sockets of the one that could not start are closed.
    drop(_pass);
    drop(start(&pair, ask()));
}

#[test]
fn what_the_kernel_cannot_do_is_refused_before_anything_starts() {
    let refusal = |change: &dyn Fn(&mut XdpConfig)| {
        let mut config = XdpConfig {
            interface: "lo".to_owned(),
            attach: Attach::Auto,
            responder: dnsdyno_responder::Config::default(),
        };
        change(&mut config);
        XdpResponder::start(config).unwrap_err()
    };
    let fixed = refusal(&|config| config.responder.rule = Rule::FixedSize { bytes: 100 });
    assert!(matches!(fixed, XdpStartError::FixedSize), "{fixed}");
    let lossy = refusal(&|config| {
        config.responder.faults = Faults { loss: "1%".parse().unwrap(), ..Faults::default() };
    });
    assert!(matches!(lossy, XdpStartError::Faults), "{lossy}");
    let any = refusal(&|config| config.responder.listen = "[::]:0".parse().unwrap());
    assert!(matches!(any, XdpStartError::AnyAddress { .. }), "{any}");
    let many = refusal(&|config| config.responder.listen_also = vec![config.responder.listen; 16]);
    assert!(matches!(many, XdpStartError::TooManyAddresses { count: 17 }), "{many}");
    let absent = refusal(&|config| config.interface = "no-such-if".to_owned());
    assert!(matches!(absent, XdpStartError::NoInterface { .. }), "{absent}");
}
