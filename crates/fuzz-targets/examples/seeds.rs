//! Writes the first inputs of the corpus that are not text: messages as servers send them, and a compressed run.
//! `cargo run -p dnsdyno-fuzz-targets --example seeds`; what a fuzzer finds is added beside them.

use std::fs;
use std::path::Path;

use dnsdyno_wire::{FLAG_QR, FLAG_TC, HEADER_LEN, QueryForm, encode_name};

fn main() {
    for (name, answer) in responses() {
        for target in ["response_peek", "message_records", "peek_against_domain", "server_query"] {
            keep(target, name, &answer);
        }
        keep("tcp_stream", name, &[&[4], &lengthened(&[], &answer)[..], &lengthened(&[], &answer)].concat());
    }
    for (name, query) in queries() {
        keep("server_query", name, &query);
        keep("peek_against_domain", name, &query);
    }
    for (name, frame) in frames() {
        keep("xdp_frame", name, &frame);
    }
    for (name, answers) in MOBILE_ANSWERS {
        let answers = answers.iter().flat_map(|answer| lengthened(&[], answer));
        keep("client_answers", name, &answers.collect::<Vec<u8>>());
    }
    for (name, frames) in http2() {
        keep("http2_frames", name, &frames);
        keep("http2_against_h2", name, &frames[1..]);
    }
    for (name, records) in tls() {
        keep("tls_records", name, &records);
    }
    for (name, steps) in tls_steps() {
        keep("tls_session", name, &steps);
    }
    for (name, blocks) in BLOCKS {
        let blocks = blocks.iter().flat_map(|block| lengthened(&[], block));
        keep("hpack", name, &blocks.collect::<Vec<u8>>());
    }
    for (name, stream) in HTTP3_STREAMS {
        keep("http3_stream", name, stream);
    }
    for (name, section) in SECTIONS {
        keep("qpack", name, section);
    }
    for (name, packets) in PACKETS {
        let packets = packets.iter().flat_map(|packet| lengthened(&[], packet));
        keep("quic_packets", name, &packets.collect::<Vec<u8>>());
    }
    for (name, answer) in responses() {
        keep("doq_stream", name, &lengthened(&[], &answer));
    }
    // The same run as a file: its text is in the corpus as it is, as are the plans.
    let text = include_str!("../../../fuzz/corpus/run_file/seed-phases");
    let frames: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
    let mut packed = vec![1];
    packed.extend(frames.join("\u{1}").bytes());
    packed.push(0);
    packed.extend(index(&frames).bytes());
    keep("packed_run", "with-index", &packed);
    let run: Vec<u8> = frames.iter().flat_map(|frame| compressed(frame)).collect();
    let mut raw = vec![0];
    raw.extend((run.len() as u16).to_be_bytes());
    raw.extend(run);
    raw.extend(index(&frames).split('\u{1}').flat_map(compressed));
    keep("packed_run", "as-it-is", &raw);
}

fn compressed(text: &str) -> Vec<u8> {
    zstd::bulk::compress(text.as_bytes(), 3).expect("bytes can be compressed")
}

/// The index of a run whose second and third frame are an interval each.
fn index(frames: &[String]) -> String {
    let ends: Vec<usize> = frames
        .iter()
        .scan(0, |end, frame| {
            *end += compressed(frame).len();
            Some(*end)
        })
        .collect();
    let entry = |n: usize| {
        let [from_ns, to_ns] = [n, n + 1].map(|second| second * 1_000_000_000);
        let place = format!(r#"{{"from_byte":{},"to_byte":{},"lines":1,"runid":"r""#, ends[n], ends[n + 1]);
        let tally =
            r#"{"scheduled":3,"ends":{"answered":2,"timed_out":1},"types":[{"sent":3,"answered":2},{}]}"#;
        let instants =
            format!(r#""from_ns":{from_ns},"to_ns":{to_ns},"covered_ns":1000000000,"due_to_ns":{to_ns}"#);
        let row = format!(r#"{{"index":{n},"intervals":1,{instants},"asked_micro":3000000,"tally":{tally}"#);
        let rest = r#""arrivals":{"sent":3,"answered":2},"workers":[]"#;
        format!("{place},\"events\":[],\"more_events\":0,\"row\":{row},{rest}}}}}\n")
    };
    ["{\"index\":1}\n".to_owned(), entry(0), entry(1)].join("\u{1}")
}

/// Responses, from the query that they answer.
fn responses() -> Vec<(&'static str, Vec<u8>)> {
    let mut name = Vec::new();
    encode_name(b"www.Example.com", &mut name).expect("a name");
    let mut question = name.clone();
    question.extend([0, 1, 0, 1]);
    let message = |flags: u16, counts: [u16; 3], records: &[&[u8]]| {
        let mut message = vec![0x12, 0x34];
        for word in [flags, 1, counts[0], counts[1], counts[2]] {
            message.extend(word.to_be_bytes());
        }
        assert_eq!(message.len(), HEADER_LEN);
        message.extend(&question);
        records.iter().for_each(|record| message.extend(*record));
        message
    };
    let address: &[u8] = &[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1];
    let opt: &[u8] = &[0, 0, 41, 4, 0xd0, 1, 0, 0, 0, 0, 0];
    let nsid: &[u8] = &[0, 0, 41, 4, 0xd0, 0, 0, 0x80, 0, 0, 7, 0, 3, 0, 3, b'n', b's', b'1'];
    let mut uncompressed = name.clone();
    uncompressed.extend(&address[2..]);
    let mut query = Vec::new();
    QueryForm::default().encode(&name, 28, &mut query);
    vec![
        ("query", query),
        ("header-only", message(FLAG_QR, [0; 3], &[])[..HEADER_LEN].to_vec()),
        ("nxdomain", message(FLAG_QR | 3, [0; 3], &[])),
        ("truncated", message(FLAG_QR | FLAG_TC, [0; 3], &[])),
        ("answer", message(FLAG_QR | 0x180, [1, 0, 0], &[address])),
        ("answers-and-opt", message(FLAG_QR | 0x180, [2, 0, 1], &[address, &uncompressed, opt])),
        ("nsid", message(FLAG_QR, [0, 0, 2], &[address, nsid])),
        ("cut-record", message(FLAG_QR, [1, 1, 1], &[address, &opt[..8]])),
    ]
}

/// Queries that each rule of the responder answers in another way.
fn queries() -> Vec<(&'static str, Vec<u8>)> {
    let query = |name: &str, qtype: u16, edns_size: Option<u16>| {
        let (mut wire, mut query) = (Vec::new(), Vec::new());
        encode_name(name.as_bytes(), &mut wire).expect("a name");
        QueryForm { edns_size, ..QueryForm::default() }.encode(&wire, qtype, &mut query);
        query
    };
    vec![
        ("alias", query("www.example", 1, None)),
        ("wildcard", query("a.wild.example", 16, Some(1232))),
        ("no-name", query("none.example", 28, Some(512))),
        ("any-type", query("web.example", 255, Some(4096))),
        ("transfer", query("example", 252, None)),
    ]
}

/// Frames with a UDP packet: IPv4, IPv6, and with the tag of a VLAN.
fn frames() -> Vec<(&'static str, Vec<u8>)> {
    let udp = b"\0\x35\x12\x34\0\x0c\0\0abcd";
    let ipv4 = [&b"\x45\0\0\x20\0\0\0\0\x40\x11\0\0\x7f\0\0\x01\x7f\0\0\x02"[..], udp].concat();
    let mut ipv6 = b"\x60\0\0\0\0\x0c\x11\x40".to_vec();
    ipv6.extend([[0x20; 16], [0x30; 16]].concat());
    ipv6.extend(udp);
    let frame = |kind: &[u8], packet: &[u8]| [&[2; 12], kind, packet].concat();
    vec![
        ("ipv4", frame(b"\x08\0", &ipv4)),
        ("ipv6", frame(b"\x86\xdd", &ipv6)),
        ("vlan", frame(b"\x81\0\0\x05\x08\0", &ipv4)),
    ]
}

/// `head`, and then the content behind its length in two octets.
fn lengthened(head: &[u8], content: &[u8]) -> Vec<u8> {
    [head, &(content.len() as u16).to_be_bytes(), content].concat()
}

/// Frames of a server: behind a byte that says how they are received.
fn http2() -> Vec<(&'static str, Vec<u8>)> {
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream], payload].concat()
    };
    let settings = frame(4, 0, 0, &[0, 3, 0, 0, 0, 100, 0, 4, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0]);
    let acknowledged = frame(4, 1, 0, &[]);
    let headers = frame(1, 4, 1, b"\x88\x5f\x17application/dns-message");
    let (_, mut answer) = responses().swap_remove(4);
    // The ID of a query over HTTP.
    answer[..2].fill(0);
    let body = frame(0, 1, 1, &answer);
    let not_found = frame(1, 5, 3, b"\x8d");
    let others = [frame(6, 0, 0, b"12345678"), frame(8, 0, 0, &[0, 1, 0, 0]), frame(3, 0, 5, &[0, 0, 0, 7])];
    let away = frame(7, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0, b'b', b'y', b'e']);
    let continued = [frame(1, 0, 1, b"\x88"), frame(9, 4, 1, b"\x5f\x17application/dns-message")].concat();
    vec![
        ("answer", [&[0x40], &settings[..], &acknowledged, &headers, &body].concat()),
        ("in-pieces", [&[0x0a], &settings[..], &headers, &body, &not_found].concat()),
        ("control", [&[0x43], &others.concat()[..], &away].concat()),
        ("continued", [&[0x42], &continued[..], &body].concat()),
    ]
}

/// TLS records of a server: behind a byte that says in which pieces they are received.
fn tls() -> Vec<(&'static str, Vec<u8>)> {
    let handshake = |message: &[u8]| lengthened(&[22, 3, 3], message);
    let server_hello = |version: &[u8]| {
        let body = [&[3, 3][..], &[7; 32], &[0], &[0x13, 0x01, 0], version].concat();
        handshake(&[&[2, 0, 0, body.len() as u8][..], &body].concat())
    };
    let tls13 = [&[0, 46, 0, 43, 0, 2, 3, 4, 0, 51, 0, 36, 0, 29, 0, 32][..], &[9; 32]].concat();
    let retry =
        [&[3, 3][..], &RETRY_RANDOM, &[0, 0x13, 0x01, 0, 0, 12, 0, 43, 0, 2, 3, 4, 0, 51, 0, 2, 0, 23]]
            .concat();
    vec![
        ("alert", vec![16, 21, 3, 3, 0, 2, 2, 40]),
        ("close-notify", vec![16, 21, 3, 3, 0, 2, 1, 0]),
        ("unfinished", [&[16], &handshake(&[2, 0, 0xff, 0xf0, 0, 0])[..], &handshake(&[0; 99])].concat()),
        (
            "server-hello",
            [&[16], &server_hello(&tls13)[..], &[20, 3, 3, 0, 1, 1], &lengthened(&[23, 3, 3], &[5; 40])]
                .concat(),
        ),
        ("server-hello-in-pieces", [&[0], &server_hello(&tls13)[..]].concat()),
        ("tls-1.2", [&[4], &server_hello(&[0, 0])[..], &handshake(&[11, 0, 0, 3, 0, 0, 0])].concat()),
        ("retry", [&[16], &handshake(&[&[2, 0, 0, retry.len() as u8][..], &retry].concat())[..]].concat()),
        ("http-1.1", [&[16], &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..]].concat()),
    ]
}

/// What a client and a server with keys do; see the target.
fn tls_steps() -> Vec<(&'static str, Vec<u8>)> {
    let answer = |code: u8| [&[code, 19, 0, 17][..], &[5; 17]].concat();
    let asked = [&[1, 3][..], &answer(0)].concat();
    vec![
        ("asked", [&[1][..], &asked, &[6, 0], &answer(0), &[1, 0, 5, 0]].concat()),
        ("tls-1.2", [&[2][..], &asked, &[7, 0]].concat()),
        ("early", [&[0][..], &asked, &[255, 9, 3], &answer(0)].concat()),
        ("early-rejected", [&[0b100][..], &asked, &[255, 9, 3], &answer(0)].concat()),
        ("early-with-other-protocol", [&[0b1100][..], &asked, &[255, 9, 3, 1, 2]].concat()),
        ("many-keys", [&[1][..], &asked, &[4, 255]].concat()),
        ("many-tickets", [&[0x80][..], &asked].concat()),
        ("closed-in-the-handshake", [&[1][..], &[10, 7, 21, 3, 3, 0, 2, 1, 0], &asked].concat()),
        ("few-keys", [&[1][..], &asked, &[12, 3], &answer(0)].concat()),
        ("spoiled", [&[1][..], &asked, &answer(8), &[3, 3]].concat()),
        ("data-before-an-alert", [&[1][..], &asked, &answer(8), &[2, 7, 21, 3, 3, 0, 2, 2, 40]].concat()),
        ("hello-spoiled", [&[1][..], &[3, 4], &asked].concat()),
    ]
}

/// The random of a ServerHello that is a HelloRetryRequest (RFC 8446, 4.1.3).
const RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2,
    0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Header blocks: plain, with additions to the dynamic table (RFC 7541, C.5 and C.6), a change of its size.
const BLOCKS: &[(&str, &[&[u8]])] = &[
    ("status", &[b"\x88", b"\x8d\x5f\x18application/dns-message"]),
    (
        "rfc-7541-c5",
        &[
            b"\x48\x03302\x58\x07private\x61\x1dMon, 21 Oct 2013 20:13:21 GMT\x6e\x17https://www.example.com",
            b"\x48\x03307\xc1\xc0\xbf",
        ],
    ),
    ("huffman", &[b"\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b", b"\x48\x83\x64\x0e\xff\xc1\xc0"]),
    ("table-size", &[b"\x20\x3f\xe1\x1f\x88", b"\x40\x01a\x01b\xbe\x10\x01c\x00\x00\x01d\x01e"]),
];

/// Packets of a server: version negotiation, Retry, Initial, Handshake, a short header, two in one datagram.
/// Streams of HTTP/3: whose and in which pieces, and the octets.
const HTTP3_STREAMS: [(&str, &[u8]); 5] = [
    ("response", b"\x0c\x01\x04\0\0\xd9\xec\0\x0c\0\0\x80\0\0\0\0\0\0\0\0\0"),
    ("hints-and-trailers", b"\x08\x01\x03\0\0\xd8\x21\x01x\x01\x04\0\0\xd9\xec\0\x02ab\x01\x02\0\0"),
    ("request", b"\x05\x01\x0c\0\0\xd4\xd7\x50\x01a\x51\x02/q\xec\0\x03abc"),
    ("server-control", b"\x02\0\x04\x04\x06\x01\x01\0\x07\x01\x08\x07\x01\x04"),
    ("client-decoder", b"\x03\x03\x41\x7f\x81\x01"),
];

/// Sections of fields of QPACK.
const SECTIONS: [(&str, &[u8]); 4] = [
    ("entries", b"\0\0\xd9\xec\xff\x23"),
    ("literal-value", b"\0\0\x51\x0b/index.html\x5f\x1d\x87\x49\x7c\xa5\x89\xd3\x4d\x1f"),
    ("literal-name", b"\0\0\x2f\0\xf2\xb4\x9e\xaa\x1d\x26\x27\x01\x31"),
    ("dynamic", b"\x02\0\x80\x10"),
];

/// What two clients of a mobile core get: NAPTR with an address in the additional section, an address, SRV, an error.
const MOBILE_ANSWERS: [(&str, &[&[u8]]); 2] = [
    (
        "gateways",
        &[
            b"\0\0\0\x01\0\x01\xc0\x0c\0\x23\0\x01\0\0\0\x3c\0\x1e\0\x01\0\x01\x01a\x13x-3gpp-sgw:x-s5-gtp\0\x01g\0\
                \x01g\0\0\x01\0\x01\0\0\0\x3c\0\x04\x7f\0\0\x01",
            b"\0\0\0\x01\0\0\xc0\x0c\0\x01\0\x01\0\0\0\x05\0\x04\x7f\0\0\x01",
            b"\0\0\0\x01\0\0\xc0\x0c\0\x21\0\x01\0\0\0\x05\0\x09\0\x01\0\x02\0\x35\x01h\0",
        ],
    ),
    (
        "failures",
        &[
            b"\0\x03\0\0\x01\0\0\0\x06\0\x01\0\0\0\x3c\0\x16\0\0\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x05",
            b"\0\x02\0\0\0\0",
            b"\0\0\x02\0\0\0",
            b"\x01garbage",
            b"\0\0\0\x01\0\0\xc0\x0c\0\x05\0\x01\0\0\0\x05\0\x03\x01c\0",
        ],
    ),
];

const PACKETS: &[(&str, &[&[u8]])] = &[
    ("version-negotiation", &[b"\x80\0\0\0\0\x08abcdefgh\0\0\0\0\x02\x6b\x33\x43\xcf"]),
    ("retry", &[b"\xf0\0\0\0\x01\x08abcdefgh\x04wxyztoken0123456789abcdef"]),
    (
        "initial",
        &[
            b"\xc0\0\0\0\x01\x08abcdefgh\x04wxyz\0\x14\0\0\0\x010123456789abcdef",
            b"\xe0\0\0\0\x01\x08abcdefgh\x04wxyz\x10\0\0\0\x010123456789ab",
        ],
    ),
    ("short", &[b"\x40abcdefgh0123456789abcdef0123456789abcdef"]),
    ("no-packet", &[b"", b"\xff", b"HTTP/1.1 400 Bad Request"]),
];

fn keep(target: &str, name: &str, content: &[u8]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let path = folder.join(format!("seed-{name}"));
    fs::create_dir_all(&folder).and_then(|()| fs::write(&path, content)).expect("the corpus can be written");
}
