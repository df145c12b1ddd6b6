//! The table of test queries that every responder of ours must pass, wherever it runs.
//!
//! Expected responses are written as text (flags and records as `dig` shows them), and compared through
//! the `domain` crate, so that responders may compress names differently.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use dnsdyno_wire::{HEADER_LEN, QUESTION_FIXED_LEN, QueryForm, encode_name, parse_type};
use domain::base::name::ToLabelIter;
use domain::base::record::ParsedRecord;
use domain::base::{Message, ParsedName};
use domain::rdata::AllRecordData;

use super::{Echo, Rule, Via};
use crate::message::{BADVERS, FORMERR, NOTIMP, NXDOMAIN, REFUSED};
use crate::zone::Zone;

/// A query, the rule, and the expected response.
#[derive(Clone, Debug)]
pub struct Case {
    /// The case, as a sentence.
    pub name: &'static str,
    /// The rule to set up.
    pub rule: Rule,
    /// How the query is received.
    pub via: Via,
    /// The message to send.
    pub query: Vec<u8>,
    /// The expected response.
    pub expected: Expected,
}

/// What is expected of a [`Case`].
#[derive(Clone, Debug)]
pub enum Expected {
    /// Nothing.
    Silence,
    /// One response.
    Answer(ExpectedAnswer),
}

/// The expected response of a [`Case`]. ID and question must always be those of the query.
#[derive(Clone, Debug, Default)]
pub struct ExpectedAnswer {
    /// The extended RCODE.
    pub rcode: u16,
    /// The flags that are set, of `aa tc rd ra ad cd`, in this order, each with a space before it.
    pub flags: &'static str,
    /// Whether the question is copied (it is not where it could not be read).
    pub has_question: bool,
    /// `owner TTL class type data`, in any order.
    pub answers: Vec<&'static str>,
    /// The same for the authority section.
    pub authorities: Vec<&'static str>,
    /// `None` without OPT; else whether DO is set.
    pub edns_dnssec_ok: Option<bool>,
    /// The length of the message in bytes, where it matters.
    pub bytes: Option<usize>,
}

impl Case {
    /// Whether the same is expected over a connection: over UDP a response may be truncated.
    pub fn holds_over_connections(&self) -> bool {
        match &self.expected {
            Expected::Answer(answer) => self.via == Via::Tcp || !answer.flags.contains(" tc"),
            Expected::Silence => true,
        }
    }

    /// Compares a response with the expected one; the error says what differs.
    pub fn check(&self, response: Option<&Vec<u8>>) -> Result<(), String> {
        match (&self.expected, response) {
            (Expected::Silence, None) => Ok(()),
            (Expected::Silence, Some(response)) => {
                Err(format!("{} bytes were received, none expected", response.len()))
            }
            (Expected::Answer(_), None) => Err("no response".to_string()),
            (Expected::Answer(expected), Some(response)) => {
                let seen = describe(response, expected.bytes.is_some())?;
                let wanted = expected.describe(&self.query);
                if seen == wanted { Ok(()) } else { Err(format!("wanted {wanted}\n   got {seen}")) }
            }
        }
    }
}

impl ExpectedAnswer {
    fn describe(&self, query: &[u8]) -> String {
        let question_len = Message::from_octets(query)
            .ok()
            .and_then(|message| message.first_question())
            .map_or(0, |question| usize::from(question.qname().compose_len()) + QUESTION_FIXED_LEN);
        let question = if self.has_question { &query[HEADER_LEN..HEADER_LEN + question_len] } else { &[] };
        let sorted = |records: &[&str]| {
            let mut records: Vec<String> = records.iter().map(|record| record.to_string()).collect();
            records.sort();
            records
        };
        let described = Described {
            id: query.get(..2).unwrap_or_default(),
            rcode: self.rcode,
            flags: self.flags,
            question,
            sections: [sorted(&self.answers), sorted(&self.authorities)],
            opt: self.edns_dnssec_ok.map(|dnssec_ok| (super::EDNS_SIZE, dnssec_ok)),
            bytes: self.bytes,
        };
        described.to_string()
    }
}

/// A response as text, in the form of [`ExpectedAnswer::describe`].
fn describe(response: &[u8], with_length: bool) -> Result<String, String> {
    let peek = dnsdyno_wire::peek(response).map_err(|error| format!("not a DNS message: {error}"))?;
    if !peek.is_response() {
        return Err("QR is not set".to_string());
    }
    let message = Message::from_octets(response).map_err(|error| error.to_string())?;
    let records = |section: Result<domain::base::message::RecordSection<'_, &[u8]>, _>| {
        let section = section.map_err(|error: domain::base::wire::ParseError| error.to_string())?;
        section
            .map(|record| record_text(record.map_err(|error| error.to_string())?))
            .collect::<Result<Vec<_>, String>>()
    };
    let mut sections: [Vec<String>; 2] = [records(message.answer())?, records(message.authority())?];
    sections.iter_mut().for_each(|section| section.sort());
    let opt = message.opt().map(|opt| (opt.udp_payload_size(), opt.dnssec_ok()));
    let flags: String =
        FLAGS.iter().filter(|(bit, _)| peek.flags & bit != 0).map(|(_, name)| format!(" {name}")).collect();
    let described = Described {
        id: &response[..2],
        rcode: peek.rcode,
        flags: &flags,
        question: peek.question,
        sections,
        opt,
        bytes: with_length.then_some(response.len()),
    };
    Ok(described.to_string())
}

/// What is compared of a response.
struct Described<'a> {
    id: &'a [u8],
    rcode: u16,
    flags: &'a str,
    question: &'a [u8],
    /// Answers and authorities, sorted.
    sections: [Vec<String>; 2],
    /// Size and DO.
    opt: Option<(u16, bool)>,
    bytes: Option<usize>,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Described { id, rcode, flags, question, sections: [answers, authorities], opt, bytes } = self;
        let question = question.escape_ascii().to_string();
        write!(f, "id {id:?}, rcode {rcode}, flags{flags}, question {question:?}, ")?;
        write!(f, "answers {answers:?}, authorities {authorities:?}, opt (size, DO) {opt:?}, bytes {bytes:?}")
    }
}

fn record_text(record: ParsedRecord<'_, &[u8]>) -> Result<String, String> {
    let record = record
        .to_any_record::<AllRecordData<&[u8], ParsedName<&[u8]>>>()
        .map_err(|error| error.to_string())?;
    let (owner, ttl) = (record.owner().to_string(), record.ttl().as_secs());
    Ok(format!("{owner}. {ttl} {} {} {}", record.class(), record.rtype(), record.data()))
}

/// The table. Each case stands alone; the order means nothing.
pub fn cases() -> Vec<Case> {
    [echo_cases(), edns_cases(), refused_cases(), zone_cases(), size_cases()].concat()
}

fn echo_cases() -> Vec<Case> {
    let rule = Rule::default;
    let other = Echo { a: [198, 51, 100, 9].into(), ttl_s: 7, ..Echo::default() };
    vec![
        case("a question for A gets the address", rule(), ask("www.example.", "A"), found(&[ECHO_A])),
        case("a question for AAAA gets the other", rule(), ask("www.example.", "AAAA"), found(&[ECHO_AAAA])),
        case("any other type is empty", rule(), ask("www.example.", "MX"), found(&[])),
        case("class ANY is answered as IN", rule(), with_class(255), found(&[ECHO_A])),
        case("the root has an address too", rule(), ask(".", "A"), found(&[". 300 IN A 192.0.2.1"])),
        case(
            "the address and the TTL are those of the rule",
            Rule::Echo(other),
            ask("www.example.", "A"),
            found(&["www.example. 7 IN A 198.51.100.9"]),
        ),
        case(
            "the question is returned in its own spelling",
            rule(),
            ask("wWw.eXaMPle.", "A"),
            found(&["wWw.eXaMPle. 300 IN A 192.0.2.1"]),
        ),
        case(
            "without RD the response has none",
            rule(),
            with_form(QueryForm { recursion_desired: false, ..QueryForm::default() }),
            ExpectedAnswer { flags: " aa", ..found(&[ECHO_A]) },
        ),
        case(
            "CD is copied and AD is not",
            rule(),
            with_form(QueryForm { checking_disabled: true, authentic_data: true, ..QueryForm::default() }),
            ExpectedAnswer { flags: " aa rd cd", ..found(&[ECHO_A]) },
        ),
        via_tcp(case("TCP changes nothing", rule(), ask("www.example.", "A"), found(&[ECHO_A]))),
    ]
}

fn edns_cases() -> Vec<Case> {
    let form = QueryForm { edns_size: Some(4096), ..QueryForm::default() };
    let dnssec = QueryForm { dnssec_ok: true, ..form };
    let nsid = QueryForm { nsid: true, ..form };
    let mut future = with_form(form);
    let version_at = future.len() - 5;
    future[version_at] = 1;
    let expected = ExpectedAnswer { edns_dnssec_ok: Some(false), ..found(&[ECHO_A]) };
    let with_do = ExpectedAnswer { edns_dnssec_ok: Some(true), ..expected.clone() };
    let bad_version = ExpectedAnswer { edns_dnssec_ok: Some(false), ..refused(BADVERS) };
    let one_option = with_form(nsid);
    let (before, option) = one_option.split_at(one_option.len() - 4);
    let many_options = |count: u16| {
        let fixed = &before[..before.len() - 2];
        [fixed, &(4 * count).to_be_bytes(), &option.repeat(usize::from(count))].concat()
    };
    let cut = [before, &option[..3], &[1]].concat(); // an octet of data that is not there
    vec![
        case("an OPT record brings one", Rule::default(), with_form(form), expected.clone()),
        case("DO is copied", Rule::default(), with_form(dnssec), with_do),
        case("sixteen options are passed over", Rule::default(), many_options(16), expected.clone()),
        case("so are seventeen", Rule::default(), many_options(17), expected.clone()),
        case("an option that breaks off is malformed", Rule::default(), cut, refused(u16::from(FORMERR))),
        case("options are passed over", Rule::default(), one_option, expected),
        case("EDNS version 1 is BADVERS", Rule::default(), future, bad_version),
    ]
}

fn refused_cases() -> Vec<Case> {
    let good = ask("www.example.", "A");
    let patched = |at: usize, value: u8| {
        let mut query = good.clone();
        query[at] = value;
        query
    };
    let no_question = ExpectedAnswer { has_question: false, ..refused(u16::from(FORMERR)) };
    let formerr = refused(u16::from(FORMERR));
    let mut two_questions = patched(5, 2);
    two_questions.extend_from_slice(&good[HEADER_LEN..]);
    let mut trailing = good.clone();
    trailing.push(0);
    let silent =
        |name, query| Case { expected: Expected::Silence, ..case(name, Rule::default(), query, refused(0)) };
    let asked = |name, query, expected| case(name, Rule::default(), query, expected);
    vec![
        silent("a response is not answered", patched(2, 0x81)),
        silent("eleven bytes are not answered", good[..11].to_vec()),
        silent("an empty packet is not answered", Vec::new()),
        asked("a header alone has no question", good[..12].to_vec(), no_question.clone()),
        asked("no question is malformed", patched(5, 0), no_question.clone()),
        asked("two questions are malformed", two_questions, no_question.clone()),
        asked("a label that runs out is malformed", good[..15].to_vec(), no_question.clone()),
        asked("a pointer in the question is malformed", patched(12, 0xC0), no_question.clone()),
        asked("a label type of 64 is malformed", patched(12, 0x40), no_question),
        asked("a byte too many is malformed", trailing, formerr.clone()),
        asked("a declared but missing record is malformed", patched(11, 1), formerr),
        asked("NOTIFY is not implemented", patched(2, 0x21), refused(u16::from(NOTIMP))),
        asked("class CH is refused", with_class(3), refused(u16::from(REFUSED))),
        asked("a zone transfer is refused", ask("www.example.", "AXFR"), refused(u16::from(REFUSED))),
    ]
}

fn zone_cases() -> Vec<Case> {
    let zone = test_zone();
    let ask_zone =
        |name, owner, rtype, expected| case(name, Rule::Zone(zone.clone()), ask(owner, rtype), expected);
    vec![
        ask_zone("a record set is complete", "www.example.", "A", found(&[WWW_1, WWW_2])),
        ask_zone(
            "names are found in any spelling",
            "WWW.Example.",
            "AAAA",
            found(&["WWW.Example. 300 IN AAAA 2001:db8::80"]),
        ),
        ask_zone("the apex has its NS", "example.", "NS", found(&["example. 300 IN NS ns1.example."])),
        ask_zone("a type that is not there is NODATA", "www.example.", "MX", nodata(&[])),
        ask_zone("a name that is not there is NXDOMAIN", "no.example.", "A", nxdomain(&[])),
        ask_zone("nor is one far below", "a.b.c.www.example.", "A", nxdomain(&[])),
        ask_zone("a name with something below it exists", "b.deep.example.", "A", nodata(&[])),
        ask_zone("another zone's name is refused", "www.example.net.", "A", refused(u16::from(REFUSED))),
        ask_zone("so is the zone above", ".", "NS", refused(u16::from(REFUSED))),
        ask_zone("an alias brings its target", "alias.example.", "A", found(&[ALIAS, WWW_1, WWW_2])),
        ask_zone(
            "aliases are followed in a row",
            "chain.example.",
            "A",
            found(&[CHAIN, ALIAS, WWW_1, WWW_2]),
        ),
        ask_zone(
            "an alias finds its target in any spelling",
            "shout.example.",
            "AAAA",
            found(&[SHOUT, SHOUTED]),
        ),
        ask_zone("an alias queried by its type is not followed", "alias.example.", "CNAME", found(&[ALIAS])),
        ask_zone("an alias out of the zone ends there", "outside.example.", "A", found(&[OUTSIDE])),
        ask_zone("an alias to a missing name is NXDOMAIN", "dangling.example.", "A", nxdomain(&[DANGLING])),
        ask_zone("an alias to a name without the type is NODATA", "alias.example.", "MX", nodata(&[ALIAS])),
        ask_zone("a wildcard answers with the queried name", "x.y.wild.example.", "A", found(&[WILD])),
        ask_zone("a wildcard has no other type", "x.wild.example.", "MX", nodata(&[])),
        ask_zone("a name that exists hides the wildcard", "host.wild.example.", "A", nodata(&[])),
        ask_zone("and so for what lies below it", "x.host.wild.example.", "A", nxdomain(&[])),
        ask_zone("the wildcard itself can be queried", "*.wild.example.", "A", found(&[STAR])),
        ask_zone("ANY brings every set", "www.example.", "ANY", found(&[WWW_1, WWW_2, WWW_6])),
        ask_zone("NAPTR is returned as written", "naptr.example.", "NAPTR", found(&[NAPTR])),
    ]
}

fn size_cases() -> Vec<Case> {
    let zone = Rule::Zone(test_zone());
    let big = || ask("big.example.", "TXT");
    let sized = |edns_size| {
        let mut query = Vec::new();
        let form = QueryForm { edns_size: Some(edns_size), ..QueryForm::default() };
        form.encode(&wire("big.example."), TXT, &mut query);
        query
    };
    let cut = ExpectedAnswer { flags: " aa tc rd", ..found(&[]) };
    let cut_edns = ExpectedAnswer { edns_dnssec_ok: Some(false), ..cut.clone() };
    let whole = found(&[BIG[0], BIG[1], BIG[2]]);
    let whole_edns = ExpectedAnswer { edns_dnssec_ok: Some(false), ..whole.clone() };
    let of_size = |bytes| ExpectedAnswer { bytes: Some(bytes), ..found(&[]) };
    let truncate = || Rule::Truncate(Box::default());
    let fixed = |bytes| Rule::FixedSize { bytes };
    vec![
        case("over 512 bytes without EDNS is cut", zone.clone(), big(), cut.clone()),
        case("over the EDNS size is cut", zone.clone(), sized(600), cut_edns.clone()),
        case("an EDNS size under 512 counts as 512", zone.clone(), sized(100), cut_edns.clone()),
        case("within the EDNS size is whole", zone.clone(), sized(4096), whole_edns),
        via_tcp(case("over TCP nothing is cut", zone, big(), whole)),
        case("a fixed size over 512 is cut", fixed(513), big(), cut.clone()),
        case("a fixed size over the EDNS size is cut", fixed(1233), sized(1232), cut_edns),
        case(
            "a fixed size counts the OPT record",
            fixed(60),
            sized(1232),
            ExpectedAnswer {
                answers: vec!["big.example. 0 IN TXT \"xxxxxxx\""],
                edns_dnssec_ok: Some(false),
                ..of_size(60)
            },
        ),
        case(
            "a fixed size too small is the smallest possible",
            fixed(10),
            big(),
            ExpectedAnswer { answers: vec!["big.example. 0 IN TXT \"\""], ..of_size(42) },
        ),
        case("truncation on command has TC and nothing else", truncate(), ask("www.example.", "A"), cut),
        via_tcp(case(
            "and over TCP the whole response",
            truncate(),
            ask("www.example.", "A"),
            found(&[ECHO_A]),
        )),
    ]
}

fn case(name: &'static str, rule: Rule, query: Vec<u8>, expected: ExpectedAnswer) -> Case {
    Case { name, rule, via: Via::Udp, query, expected: Expected::Answer(expected) }
}

fn via_tcp(case: Case) -> Case {
    Case { via: Via::Tcp, ..case }
}

fn found(answers: &[&'static str]) -> ExpectedAnswer {
    ExpectedAnswer {
        flags: " aa rd",
        has_question: true,
        answers: answers.to_vec(),
        ..ExpectedAnswer::default()
    }
}

fn nodata(answers: &[&'static str]) -> ExpectedAnswer {
    ExpectedAnswer { authorities: vec![NEGATIVE_SOA], ..found(answers) }
}

fn nxdomain(answers: &[&'static str]) -> ExpectedAnswer {
    ExpectedAnswer { rcode: u16::from(NXDOMAIN), ..nodata(answers) }
}

fn refused(rcode: u16) -> ExpectedAnswer {
    ExpectedAnswer { rcode, flags: " rd", ..found(&[]) }
}

fn ask(owner: &str, rtype: &str) -> Vec<u8> {
    encode(QueryForm::default(), owner, parse_type(rtype).unwrap_or_default())
}

fn with_form(form: QueryForm) -> Vec<u8> {
    encode(form, "www.example.", dnsdyno_wire::TYPE_A)
}

fn with_class(class: u16) -> Vec<u8> {
    let mut query = with_form(QueryForm::default());
    if let Some(place) = query.last_chunk_mut::<2>() {
        *place = class.to_be_bytes();
    }
    query
}

fn encode(form: QueryForm, owner: &str, rtype: u16) -> Vec<u8> {
    let mut query = Vec::new();
    form.encode(&wire(owner), rtype, &mut query);
    dnsdyno_wire::patch_id(&mut query, TEST_ID);
    query
}

fn wire(owner: &str) -> Vec<u8> {
    let mut wire = Vec::new();
    encode_name(owner.as_bytes(), &mut wire).unwrap_or_default();
    wire
}

/// The zone of the table; [`TEST_ZONE`] is constant and parses, as the table's test shows.
fn test_zone() -> Arc<Zone> {
    match Zone::parse(TEST_ZONE.as_bytes(), Path::new("the test zone"), None) {
        Ok(zone) => Arc::new(zone),
        Err(error) => unreachable!("{error}"),
    }
}

const TEST_ID: u16 = 0xBEEF;
const TXT: u16 = super::TYPE_TXT;

/// Flags in the order in which they are shown.
const FLAGS: [(u16, &str); 6] =
    [(0x0400, "aa"), (0x0200, "tc"), (0x0100, "rd"), (0x0080, "ra"), (0x0020, "ad"), (0x0010, "cd")];

const ECHO_A: &str = "www.example. 300 IN A 192.0.2.1";
const ECHO_AAAA: &str = "www.example. 300 IN AAAA 2001:db8::1";

/// 200 bytes of text.
macro_rules! filler {
    () => {
        "aaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggghhhhhhhhhhiiiiiiiiiijjjjjjjjjj\
         kkkkkkkkkkllllllllllmmmmmmmmmmnnnnnnnnnnooooooooooppppppppppqqqqqqqqqqrrrrrrrrrrssssssssss0123456789"
    };
}

const TEST_ZONE: &str = concat!(
    r#"$ORIGIN example.
$TTL 300
@        IN SOA ns1 hostmaster 1 7200 3600 1209600 60
@        NS     ns1
ns1      A      192.0.2.53
www      A      192.0.2.80
www      A      192.0.2.81
www      A      192.0.2.80
www      AAAA   2001:db8::80
alias    CNAME  www
shout    CNAME  WWW
chain    CNAME  alias
outside  CNAME  www.example.net.
dangling CNAME  nowhere
*.wild   A      192.0.2.7
host.wild AAAA  2001:db8::7
a.b.deep A      192.0.2.9
naptr    NAPTR  10 20 "U" "SIP+D2U" "" _sip._udp.example.
"#,
    "big TXT one ",
    filler!(),
    "\nbig TXT two ",
    filler!(),
    "\nbig TXT three ",
    filler!(),
    "\n",
);

/// A set of three long records, about 700 bytes in a response.
const BIG: [&str; 3] = [
    concat!("big.example. 300 IN TXT \"one\" \"", filler!(), "\""),
    concat!("big.example. 300 IN TXT \"two\" \"", filler!(), "\""),
    concat!("big.example. 300 IN TXT \"three\" \"", filler!(), "\""),
];

const NEGATIVE_SOA: &str = "example. 60 IN SOA ns1.example. hostmaster.example. 1 7200 3600 1209600 60";
const WWW_1: &str = "www.example. 300 IN A 192.0.2.80";
const WWW_2: &str = "www.example. 300 IN A 192.0.2.81";
const WWW_6: &str = "www.example. 300 IN AAAA 2001:db8::80";
const ALIAS: &str = "alias.example. 300 IN CNAME www.example.";
const SHOUT: &str = "shout.example. 300 IN CNAME WWW.example.";
const SHOUTED: &str = "WWW.example. 300 IN AAAA 2001:db8::80";
const CHAIN: &str = "chain.example. 300 IN CNAME alias.example.";
const OUTSIDE: &str = "outside.example. 300 IN CNAME www.example.net.";
const DANGLING: &str = "dangling.example. 300 IN CNAME nowhere.example.";
const WILD: &str = "x.y.wild.example. 300 IN A 192.0.2.7";
const STAR: &str = "*.wild.example. 300 IN A 192.0.2.7";
const NAPTR: &str = "naptr.example. 300 IN NAPTR 10 20 \"U\" \"SIP+D2U\" \"\" _sip._udp.example.";
