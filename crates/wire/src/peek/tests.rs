//! The peek held against messages built by the `domain` crate, and against broken ones.

use super::*;
use domain::base::iana::{Class, OptRcode, Rcode, Rtype};
use domain::base::{MessageBuilder, Name, Serial, Ttl};
use domain::rdata::{A, Soa};
use proptest::prelude::*;

/// What a built answer holds.
#[derive(Debug, Clone)]
struct Built {
    id: u16,
    rcode: u16,
    truncated: bool,
    answers: usize,
    soa: bool,
    records_before_opt: usize,
    opt: bool,
    records_after_opt: usize,
}

fn name(text: &str) -> Name<Vec<u8>> {
    text.parse().expect("a test name")
}

fn build(built: &Built) -> Vec<u8> {
    let owner = name("www.example.com");
    let address = A::from_octets(192, 0, 2, 1);
    let mut builder = MessageBuilder::new_vec();
    let header = builder.header_mut();
    header.set_id(built.id);
    header.set_qr(true);
    header.set_tc(built.truncated);
    header.set_rcode(Rcode::masked_from_int((built.rcode & 0xf) as u8));
    let mut question = builder.question();
    question.push((&owner, Rtype::AAAA)).expect("room for a question");
    let mut answer = question.answer();
    for _ in 0..built.answers {
        answer.push((&owner, 60, address.clone())).expect("room for an answer");
    }
    let mut authority = answer.authority();
    if built.soa {
        let soa = Soa::new(
            name("ns.example.com"),
            name("root.example.com"),
            Serial(1),
            Ttl::from_secs(1),
            Ttl::from_secs(1),
            Ttl::from_secs(1),
            Ttl::from_secs(1),
        );
        authority.push((name("example.com"), 60, soa)).expect("room for a SOA");
    }
    let mut additional = authority.additional();
    for _ in 0..built.records_before_opt {
        additional.push((&owner, 60, address.clone())).expect("room for a record");
    }
    if built.opt {
        let rcode = OptRcode::masked_from_int(built.rcode);
        additional
            .opt(|opt| {
                opt.set_udp_payload_size(1232);
                opt.set_rcode(rcode);
                Ok(())
            })
            .expect("room for OPT");
    }
    for _ in 0..built.records_after_opt {
        additional.push((&owner, 60, address.clone())).expect("room for a record");
    }
    additional.finish()
}

fn any_built() -> impl Strategy<Value = Built> {
    let shape = (any::<bool>(), 0usize..4, any::<bool>(), 0usize..3, any::<bool>(), 0usize..3);
    (any::<u16>(), 0u16..4096, shape).prop_map(
        |(id, rcode, (truncated, answers, soa, records_before_opt, opt, records_after_opt))| Built {
            id,
            rcode: if opt { rcode } else { rcode & 0xf },
            truncated,
            answers,
            soa,
            records_before_opt,
            opt,
            records_after_opt,
        },
    )
}

const QUESTION: &[u8] = b"\x03www\x07example\x03com\0\0\x1c\0\x01";

fn plain() -> Built {
    Built {
        id: 7,
        rcode: 0,
        truncated: false,
        answers: 1,
        soa: false,
        records_before_opt: 0,
        opt: false,
        records_after_opt: 0,
    }
}

#[test]
fn badvers_is_read_from_an_opt_that_is_not_the_last_record() {
    let bytes =
        build(&Built { rcode: 16, opt: true, records_before_opt: 2, records_after_opt: 2, ..plain() });
    assert_eq!(peek(&bytes).map(|found| found.rcode), Ok(16));
}

#[test]
fn nxdomain_with_a_soa_and_a_truncated_response_are_recognized() {
    let denied = build(&Built { rcode: 3, answers: 0, soa: true, opt: true, ..plain() });
    let denied = peek(&denied).expect("a whole message");
    assert_eq!((denied.rcode, denied.is_truncated(), denied.is_response()), (3, false, true));
    let cut = build(&Built { truncated: true, answers: 0, ..plain() });
    assert_eq!(peek(&cut).map(|found| found.is_truncated()), Ok(true));
}

#[test]
fn a_response_without_a_question_has_an_empty_question() {
    let mut bytes = MessageBuilder::new_vec();
    bytes.header_mut().set_rcode(Rcode::FORMERR);
    let bytes = bytes.finish();
    let found = peek(&bytes).expect("a bare header is a message");
    assert_eq!((found.question, found.qname(), found.qtype(), found.rcode), (&[][..], &[][..], None, 1));
}

#[test]
fn two_questions_are_malformed() {
    let mut builder = MessageBuilder::new_vec().question();
    for _ in 0..2 {
        builder.push((name("a"), Rtype::A, Class::IN)).expect("room");
    }
    assert_eq!(peek(&builder.finish()), Err(Malformed::ManyQuestions));
}

#[test]
fn a_compressed_question_is_malformed() {
    let mut bytes = build(&Built { answers: 0, ..plain() });
    bytes[12..14].copy_from_slice(&[0xc0, 0x0c]);
    assert_eq!(peek(&bytes), Err(Malformed::CompressedQuestion));
}

#[test]
fn label_kinds_that_do_not_exist_are_malformed() {
    let mut bytes = build(&Built { answers: 0, ..plain() });
    bytes[12] = 0x41;
    assert_eq!(peek(&bytes), Err(Malformed::BadName));
}

#[test]
fn a_question_name_of_more_than_255_octets_is_malformed() {
    let mut bytes = vec![0, 0, 0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for _ in 0..5 {
        bytes.push(60);
        bytes.extend_from_slice(&[b'x'; 60]);
    }
    bytes.extend_from_slice(&[0, 0, 1, 0, 1]);
    assert_eq!(peek(&bytes), Err(Malformed::BadName));
}

#[test]
fn an_opt_outside_the_additional_section_does_not_count() {
    let mut bytes = build(&Built { rcode: 16, answers: 0, opt: true, records_after_opt: 1, ..plain() });
    // One answer and one additional record instead of two additional ones: OPT is now the answer.
    bytes[7] = 1;
    bytes[11] = 1;
    assert_eq!(peek(&bytes).map(|found| found.rcode), Ok(0));
}

#[test]
fn a_packet_shorter_than_a_header_still_has_an_id() {
    assert_eq!(peek(&[1, 2, 3]), Err(Malformed::ShortHeader));
    assert_eq!(peek_id(&[1, 2, 3]), Some(0x0102));
    assert_eq!(peek_id(&[1]), None);
}

#[test]
fn questions_compare_without_case_in_the_name_and_exactly_in_the_rest() {
    let upper = b"\x03WWW\x07Example\x03com\0\0\x1c\0\x01";
    assert!(same_question(QUESTION, QUESTION));
    assert!(same_question(QUESTION, upper));
    // Type 0x41 and type 0x61 differ by what would be the case bit of a letter.
    assert!(!same_question(b"\x01a\0\0\x41\0\x01", b"\x01a\0\0\x61\0\x01"));
    assert!(!same_question(b"\x01a\0\0\x01\0\x01", b"\x01b\0\0\x01\0\x01"));
    assert!(!same_question(b"\x01a\0\0\x01\0\x01", b"\x02aa\0\0\x01\0\x01"));
    assert!(!same_question(QUESTION, b""));
    assert!(same_question(b"", b""));
}

proptest! {
    #[test]
    fn every_message_of_the_domain_crate_is_peeked_right(built in any_built()) {
        let bytes = build(&built);
        let found = peek(&bytes).expect("a whole message");
        prop_assert_eq!(found.id, built.id);
        prop_assert_eq!(found.rcode, built.rcode);
        prop_assert!(found.is_response());
        prop_assert_eq!(found.is_truncated(), built.truncated);
        prop_assert_eq!(found.opcode(), 0);
        prop_assert_eq!(found.question, QUESTION);
        prop_assert_eq!(found.qtype(), Some(28));
        prop_assert_eq!(found.qname(), &QUESTION[..QUESTION.len() - 4]);
    }

    #[test]
    fn a_message_cut_before_its_opt_ends_is_malformed(built in any_built(), keep in 0.0f64..1.0) {
        let built = Built { opt: true, records_after_opt: 0, ..built };
        let bytes = build(&built);
        let kept = (bytes.len() as f64 * keep) as usize;
        prop_assert!(peek(&bytes[..kept]).is_err());
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = peek_id(&bytes);
        if let Ok(found) = peek(&bytes) {
            prop_assert!(found.rcode < 4096);
            prop_assert!(same_question(found.question, found.question));
        }
    }

    #[test]
    fn a_message_with_any_octet_changed_never_panics(built in any_built(), at in 0.0f64..1.0, value in any::<u8>()) {
        let mut bytes = build(&built);
        let at = (bytes.len() as f64 * at) as usize;
        bytes[at] = value;
        if let Ok(found) = peek(&bytes) {
            prop_assert!(found.question.len() <= bytes.len() - HEADER_LEN);
        }
    }
}
