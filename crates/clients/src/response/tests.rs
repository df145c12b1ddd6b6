//! Responses made by hand, cut, changed and random.

use super::*;
use proptest::prelude::*;

/// The question `www. A`, and responses to it.
const QUESTION: &[u8] = b"\x03www\0\0\x01\0\x01";
const NAPTR_QUESTION: &[u8] = b"\x03www\0\0\x23\0\x01";

/// A response with records in their sections, each as it is on the wire.
fn response(question: &[u8], sections: [&[&[u8]]; 3]) -> Vec<u8> {
    let mut message = vec![0, 1, 0x84, 0, 0, 1];
    for section in sections {
        message.extend_from_slice(&(section.len() as u16).to_be_bytes());
    }
    message.extend_from_slice(question);
    sections.iter().for_each(|section| section.iter().for_each(|record| message.extend_from_slice(record)));
    message
}

struct Case {
    known: Known,
    reader: Reader,
    counts: CachingClients,
}

impl Case {
    fn new() -> Self {
        Case { known: Known::default(), reader: Reader::default(), counts: CachingClients::default() }
    }

    fn read(&mut self, question: &[u8], message: &[u8]) -> Result<BundleId, Useless> {
        let asked = self.known.names.question_of_wire(question).unwrap();
        let wanted = Wanted::Gateways(Lookups::default());
        self.reader.read(message, asked, &wanted, &mut self.known, &mut self.counts).map(|(bundle, _)| bundle)
    }

    /// How many records the answer has, and its TTL.
    fn answer(&mut self, question: &[u8], message: &[u8]) -> (usize, u32) {
        self.read(question, message).unwrap();
        let held = self.reader.held().last().unwrap();
        (self.known.sets.records(held.set).len(), held.ttl_s)
    }
}

const A: &[u8] = b"\xc0\x0c\0\x01\0\x01\0\0\x01\x2c\0\x04\x0a\0\0\x01";

fn a_with_ttl(ttl_s: u32) -> Vec<u8> {
    let mut record = A.to_vec();
    record[6..10].copy_from_slice(&ttl_s.to_be_bytes());
    record
}

fn naptr(order: u8, texts: &[u8]) -> Vec<u8> {
    let data = [&[0, order, 0, 10][..], texts, b"\x02gw\0"].concat();
    [b"\xc0\x0c\0\x23\0\x01\0\0\0\x3c\0", &[data.len() as u8][..], &data].concat()
}

#[test]
fn the_ttl_of_a_set_is_its_smallest_and_one_with_the_highest_bit_is_0() {
    let ttl = |ttls: &[u32]| {
        let records: Vec<Vec<u8>> = ttls.iter().map(|ttl_s| a_with_ttl(*ttl_s)).collect();
        let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        Case::new().answer(QUESTION, &response(QUESTION, [&records, &[], &[]])).1
    };
    assert_eq!(ttl(&[300, 60, 200]), 60);
    assert_eq!(ttl(&[0]), 0);
    assert_eq!(ttl(&[0x7fff_ffff]), 0x7fff_ffff);
    assert_eq!(ttl(&[0x8000_0000]), 0);
    assert_eq!(ttl(&[u32::MAX, 300]), 0);
}

#[test]
fn records_in_another_order_are_the_same_set() {
    let (one, two) =
        (naptr(1, b"\x01s\x13x-3gpp-sgw:x-s5-gtp\0"), naptr(2, b"\x01a\x13X-3gpp-sgw:x-s5-gtp\0"));
    let mut case = Case::new();
    let first = case.read(NAPTR_QUESTION, &response(NAPTR_QUESTION, [&[&one, &two], &[], &[]]));
    let second = case.read(NAPTR_QUESTION, &response(NAPTR_QUESTION, [&[&two, &one], &[], &[]]));
    assert_eq!(first, second);
    let set = case.reader.held().last().unwrap().set;
    let orders: Vec<_> =
        case.known.sets.records(set).iter().map(|record| (record.order, record.kind)).collect();
    assert_eq!(orders, [(1, RecordKind::Service), (2, RecordKind::Host)]);
}

#[test]
fn records_with_an_expression_or_other_flags_are_ignored_and_counted() {
    let expression = naptr(1, b"\x01u\x13x-3gpp-sgw:x-s5-gtp\x06!a!b!i");
    let flags = naptr(2, b"\x01p\x13x-3gpp-sgw:x-s5-gtp\0");
    let other = naptr(3, b"\x01a\x0fx-3gpp-mme:x-s3\0");
    let mut case = Case::new();
    case.read(NAPTR_QUESTION, &response(NAPTR_QUESTION, [&[&expression, &flags, &other], &[], &[]])).unwrap();
    let set = case.reader.held().last().unwrap().set;
    assert_eq!(case.known.sets.records(set), [Record::OTHER]);
    assert_eq!(case.counts.ignored, 2);
}

#[test]
fn an_alias_is_followed_inside_of_the_response_only() {
    let alias = b"\xc0\x0c\0\x05\0\x01\0\0\0\x1e\0\x04\x02gw\0";
    let target = b"\x02GW\0\0\x01\0\x01\0\0\x01\x2c\0\x04\x0a\0\0\x01";
    let mut case = Case::new();
    assert_eq!(case.answer(QUESTION, &response(QUESTION, [&[alias, target], &[], &[]])), (1, 30));
    assert_eq!(case.answer(QUESTION, &response(QUESTION, [&[alias], &[], &[]])), (0, 0));
}

#[test]
fn a_negative_answer_holds_as_long_as_its_soa_says() {
    let soa = |ttl: u8, minimum: u8| {
        let data = [b"\0\0".as_slice(), &[0; 19], &[minimum]].concat();
        [b"\xc0\x0c\0\x06\0\x01\0\0\0", &[ttl, 0, data.len() as u8][..], &data].concat()
    };
    let mut case = Case::new();
    assert_eq!(case.answer(QUESTION, &response(QUESTION, [&[], &[&soa(90, 40)], &[]])), (0, 40));
    assert_eq!(case.answer(QUESTION, &response(QUESTION, [&[], &[&soa(20, 40)], &[]])), (0, 20));
    let mut no_name = response(QUESTION, [&[], &[], &[]]);
    no_name[3] = 3;
    assert_eq!(case.answer(QUESTION, &no_name), (0, 0), "without SOA it is not kept");
    let asked = case.known.names.question_of_wire(QUESTION).unwrap();
    let wanted = Wanted::Presence;
    let said = case.reader.read(&no_name, asked, &wanted, &mut case.known, &mut case.counts);
    assert_eq!(said.map(|(_, said)| said), Ok(Said::NoName));
}

#[test]
fn the_additional_section_brings_sets_with_ttls_of_their_own() {
    let host = naptr(1, b"\x01a\x13x-3gpp-sgw:x-s5-gtp\0");
    let address = b"\x02gw\0\0\x01\0\x01\0\0\0\x0a\0\x04\x0a\0\0\x01";
    let opt = b"\0\0\x29\x04\xd0\0\0\0\0\0\0";
    let mut case = Case::new();
    case.read(NAPTR_QUESTION, &response(NAPTR_QUESTION, [&[&host], &[], &[address, opt]])).unwrap();
    let ttls: Vec<u32> = case.reader.held().iter().map(|held| held.ttl_s).collect();
    assert_eq!(ttls, [10, 60], "the answer is last");
}

#[test]
fn what_cannot_be_used_is_told_apart() {
    let mut case = Case::new();
    let good = response(QUESTION, [&[A], &[], &[]]);
    let with = |at: usize, value: u8| {
        let mut message = good.clone();
        message[at] = value;
        message
    };
    assert_eq!(case.read(QUESTION, &with(2, 0x86)), Err(Useless::Truncated));
    assert_eq!(case.read(QUESTION, &with(3, 2)), Err(Useless::Refused));
    assert_eq!(case.read(QUESTION, &with(2, 0x04)), Err(Useless::Malformed), "a query");
    assert_eq!(case.read(QUESTION, b""), Err(Useless::Malformed));
    for length in 12..good.len() {
        assert_eq!(case.read(QUESTION, &good[..length]), Err(Useless::Malformed), "{length} octets");
    }
    assert_eq!(case.counts, CachingClients::default());
}

#[test]
fn a_text_or_a_name_that_leaves_its_record_is_malformed() {
    let mut case = Case::new();
    for texts in [&b"\x01s\xff"[..], b"\xff", b"\x01a\x13x-3gpp-sgw:x-s5-gtp\x05"] {
        let message = response(NAPTR_QUESTION, [&[&naptr(1, texts), A], &[], &[]]);
        assert_eq!(case.read(NAPTR_QUESTION, &message), Err(Useless::Malformed), "{texts:?}");
    }
    let short = b"\xc0\x0c\0\x21\0\x01\0\0\0\x3c\0\x04\0\x01\0\x01";
    let srv = b"\x03www\0\0\x21\0\x01";
    assert_eq!(case.read(srv, &response(srv, [&[short], &[], &[]])), Err(Useless::Malformed));
}

proptest! {
    #[test]
    fn random_octets_never_panic(
        flags in prop::sample::select(vec![0x84u8, 0x80]),
        counts in prop::collection::vec(0u8..4, 3),
        body in prop::collection::vec(any::<u8>(), 0..300),
        asked in prop::sample::select(vec![1u8, 5, 6, 28, 33, 35]),
    ) {
        let mut question = QUESTION.to_vec();
        question[6] = asked;
        let mut message = vec![0, 1, flags, 0, 0, 1, 0, counts[0], 0, counts[1], 0, counts[2]];
        message.extend_from_slice(&question);
        message.extend_from_slice(&body);
        let mut case = Case::new();
        let read = case.read(&question, &message);
        if read.is_ok() {
            prop_assert!(case.reader.held().len() <= 7);
        }
    }

    #[test]
    fn a_response_changed_anywhere_never_panics(at in 0usize..200, value in any::<u8>()) {
        let host = naptr(1, b"\x01a\x13x-3gpp-sgw:x-s5-gtp\0");
        let srv = b"\x02gw\0\0\x21\0\x01\0\0\0\x0a\0\x09\0\x01\0\x01\x08\x4b\xc0\x0c";
        let mut message = response(NAPTR_QUESTION, [&[&host, &host], &[A], &[srv, A, srv]]);
        let at = at % message.len();
        message[at] = value;
        let _ = Case::new().read(NAPTR_QUESTION, &message);
    }
}
