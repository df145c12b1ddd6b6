//! The reader of query files, line by line and against the `wire` crate.

use dnsdyno_wire::{name_to_text, peek};

use super::*;
use crate::{TypeWeights, read_input};
use proptest::prelude::*;
use std::io::BufReader;

fn read(text: &[u8]) -> Result<Loaded, SourceError> {
    read_by(text, BadLines::SkipAll)
}

fn read_by(text: &[u8], bad_lines: BadLines) -> Result<Loaded, SourceError> {
    read_text(text, "queries", text.len(), &Reading { bad_lines, ..Reading::default() })
}

/// The queries as `name type`.
fn listed(loaded: &Loaded) -> Vec<String> {
    (0..loaded.queries.len())
        .map(|i| {
            let found = peek(loaded.queries.message(i)).expect("a whole message");
            format!("{} {}", name_to_text(found.qname()), type_name(found.qtype().unwrap_or(0)))
        })
        .collect()
}

fn only_bad(text: &[u8]) -> String {
    match read(text) {
        Err(SourceError::OnlyBadLines { first, .. }) => first.to_string(),
        other => panic!("not a bad line: {other:?}"),
    }
}

#[test]
fn blanks_comments_empty_lines_and_crlf_are_tolerated() {
    let text = b"; a comment\r\n\r\n  ; another\na.example A\r\n\tb.example.\t aaaa \t ignored words\n   \nc TYPE65280";
    let loaded = read(text).expect("good lines");
    assert_eq!(listed(&loaded), ["a.example A", "b.example AAAA", "c TYPE65280"]);
    assert_eq!(loaded.bad_lines, 0);
}

#[test]
fn escapes_are_decimal() {
    let loaded = read(b"\\255\\009.x MX\n\\;a\\.b *\n. NS\n").expect("good lines");
    assert_eq!(listed(&loaded), [r"\255\009.x MX", r"\;a\.b ANY", ". NS"]);
}

#[test]
fn a_bad_line_is_reported_with_file_line_and_reason() {
    let loaded = read(b"good A\nbad\nworse XYZZY\na..b A\n").expect("one good line");
    assert_eq!(loaded.bad_lines, 3);
    let shown: Vec<_> = loaded.first_bad.iter().map(BadLine::to_string).collect();
    assert_eq!(
        shown,
        [
            "queries:2: no query type after the name: write `name type`: `bad`",
            "queries:3: `XYZZY` is not a query type: write a name like AAAA, or TYPEnnn: `worse XYZZY`",
            "queries:4: a label is empty: remove the extra dot: `a..b A`",
        ]
    );
}

#[test]
fn names_and_labels_that_are_too_long_are_reported_with_their_length() {
    let long_label = format!("{} A", "x".repeat(64));
    assert!(only_bad(long_label.as_bytes()).contains("a label is 64 bytes long"));
    let long_name = format!("{}yy A", "x.".repeat(126));
    assert!(only_bad(long_name.as_bytes()).contains("the name is 256 bytes long"));
}

#[test]
fn a_type_must_match_whole() {
    assert!(only_bad(b"a AA\n").contains("`AA` is not a query type"));
    assert!(only_bad(b"a TYPE65536\n").contains("`TYPE65536` is not a query type"));
}

#[test]
fn only_the_first_bad_lines_are_kept_and_all_are_counted() {
    let mut text = b"good A\n".to_vec();
    text.extend(b"bad\n".repeat(1000));
    let loaded = read(&text).expect("one good line");
    assert_eq!((loaded.bad_lines, loaded.first_bad.len()), (1000, MAX_BAD_LINES_KEPT));
    assert_eq!(loaded.first_bad.last().map(|bad| bad.line), Some(21));
}

#[test]
fn the_first_bad_line_is_fatal_when_strict() {
    let result = read_by(b"good A\nbad\nalso bad\n", BadLines::Refuse);
    let Err(SourceError::BadLine(bad)) = result else { panic!("{result:?}") };
    assert_eq!(bad.line, 2);
}

#[test]
fn the_error_of_a_file_without_queries_says_what_to_do() {
    for text in [&b""[..], b"\n\n", b"; only a comment"] {
        let Err(error @ SourceError::Empty { .. }) = read(text) else { panic!("{text:?}") };
        assert!(error.to_string().contains("queries has no queries"));
    }
    let Err(error) = read(b"bad\nbad\n") else { panic!("no good line") };
    assert!(error.to_string().contains("no line is well formed"), "{error}");
}

#[test]
fn a_file_of_which_most_lines_are_malformed_is_refused() {
    let read = |text: &str| read_by(text.as_bytes(), BadLines::SkipFew);
    assert_eq!(read("a A\nbad\n").expect("half of the lines").bad_lines, 1);
    let error = read("a A\nbad\n\n; a comment\nbad\n").expect_err("most lines").to_string();
    assert!(error.starts_with("2 of 3 lines of queries are malformed, the first is queries:2: "), "{error}");
    assert!(error.ends_with("or add --lenient to skip such lines"), "{error}");
}

#[test]
fn a_zone_file_is_recognised_by_its_directives_or_by_its_records() {
    for text in
        ["a A\n$TTL 3600\n", "www 3600 IN A 192.0.2.1\nwww IN AAAA ::1\n", "www A\na IN A ::\nb IN A ::\n"]
    {
        let read = |bad_lines| read_by(text.as_bytes(), bad_lines);
        let error = read(BadLines::SkipFew).expect_err("a zone").to_string();
        assert!(error.starts_with("queries is a zone file: "), "{error}");
        assert!(!matches!(read(BadLines::SkipAll), Err(SourceError::NotQueries { .. })), "{text}");
    }
}

#[test]
fn endless_input_is_read_to_a_limit() {
    let endless = |byte| Box::new(std::io::Read::take(std::io::repeat(byte), 1 << 40));
    let read = |byte| read_input(endless(byte), "x", 0, &Reading::default()).expect_err("endless");
    assert!(read(0).to_string().starts_with("x is a binary file: a query file is text"));
    assert!(read(b'a').to_string().starts_with("line 1 of x is longer than 16 MiB"));
}

#[test]
fn internationalized_names_are_sent_as_a_labels_and_counted() {
    let loaded = read("bücher.example A\nwww.example A\nÜber.example A\n".as_bytes()).expect("good lines");
    assert_eq!(listed(&loaded), ["xn--bcher-kva.example A", "www.example A", "xn--ber-goa.example A"]);
    assert_eq!(loaded.idn_names, 2);
    assert_eq!(loaded.first_idn, Some(("bücher.example".into(), "xn--bcher-kva.example".into())));
    assert!(only_bad(b"b\xfccher A\n").contains("not UTF-8"));
}

#[test]
fn the_same_queries_have_the_same_hash() {
    let hash = |text: &str| read(text.as_bytes()).expect("good lines").hash;
    assert_eq!(hash("a A\nb A\n"), hash("; other\na. A\r\nb\tA"));
    let texts = ["a A\nb A\n", "b A\na A\n", "a A\n", "a A\nb AAAA\n", "a A\nb A\nb A\n"];
    let hashes: std::collections::BTreeSet<_> = texts.iter().map(|text| hash(text)).collect();
    assert_eq!(hashes.len(), texts.len());
    assert!(hashes.iter().all(|hash| hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit())));
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_first_name() {
    assert_eq!(read(b"\xef\xbb\xbfa A\n").as_ref().map(listed).ok(), Some(vec!["a A".to_owned()]));
}

#[test]
fn a_line_of_any_length_does_not_affect_the_next_line() {
    let mut text = b"a A ".to_vec();
    text.extend([b'x'; 300_000]);
    text.extend(b"\nb A\n");
    text.extend([b'y'; 300_000]);
    text.extend(b"\nc A");
    let reading = Reading { bad_lines: BadLines::SkipAll, ..Reading::default() };
    let input = BufReader::with_capacity(1000, &text[..]);
    let loaded = read_text(input, "queries", 0, &reading).expect("good lines");
    assert_eq!(listed(&loaded), ["a A", "b A", "c A"]);
    assert_eq!(loaded.first_bad.iter().map(|bad| bad.line).collect::<Vec<_>>(), [3]);
    assert!(loaded.first_bad[0].text.len() < 100);
}

#[test]
fn options_after_the_type_change_their_query_alone() {
    let text = b"a A\nb A class=CH rd=0 cd=1 ad=1 words\n\
        c A edns=1400 opt=65001:0aFF ecs=192.0.2.77/25 do=1\nd A nsid=1";
    let queries = read(text).expect("good lines").queries;
    assert_eq!(queries.message(0), [&b"\0\0\x01\0\0\x01\0\0\0\0\0\0\x01a\0\0\x01\0\x01"[..]].concat());
    assert_eq!(queries.message(1), b"\0\0\0\x30\0\x01\0\0\0\0\0\0\x01b\0\0\x01\0\x03");
    assert_eq!(
        queries.message(2)[19..],
        [
            &b"\0\0\x29\x05\x78\0\0\x80\0\0\x12"[..],
            b"\xfd\xe9\0\x02\x0a\xff",
            b"\0\x08\0\x08\0\x01\x19\0\xc0\0\x02\0",
        ]
        .concat()
    );
    assert_eq!(queries.message(3)[19..], *b"\0\0\x29\x04\xd0\0\0\0\0\0\x04\0\x03\0\0");
    assert_eq!((0..4).map(|i| queries.question(i).len()).collect::<Vec<_>>(), [7; 4]);
}

#[test]
fn edns_of_all_queries_can_be_left_out_of_one_or_extended() {
    let form = dnsdyno_wire::QueryForm { nsid: true, ..Default::default() };
    let reading = Reading { form, ..Reading::default() };
    let text = &b"a A edns=0\na A opt=10:0102030405060708\na A"[..];
    let queries = read_text(text, "queries", 0, &reading).expect("good lines").queries;
    assert_eq!(queries.message(0).len(), 19);
    assert_eq!(queries.message(1)[19..30], *b"\0\0\x29\x04\xd0\0\0\0\0\0\x10");
    assert_eq!((queries.message(1).len(), queries.message(2).len()), (19 + 11 + 16, 19 + 11 + 4));
}

#[test]
fn a_word_with_an_equals_sign_that_is_no_option_makes_a_line_malformed() {
    for (word, advice) in [
        ("rdd=0", "`rdd=0` is not an option of a query: use class=, rd="),
        ("rd=2", "write 0 or 1"),
        ("class=XY", "use IN, CH"),
        ("edns=70000", "write a size"),
        ("opt=5", "write opt=CODE:HEX"),
        ("opt=5:0", "write opt=CODE:HEX"),
        ("ecs=192.0.2.0/33", "write ecs="),
        ("ecs=192.0.2.0", "write ecs="),
        ("edns=0 do=1", "need EDNS"),
        ("opt=5:", ""),
    ] {
        let text = format!("a A {word}");
        match advice {
            "" => assert!(read(text.as_bytes()).is_ok(), "{word}"),
            advice => assert!(only_bad(text.as_bytes()).contains(advice), "{word}"),
        }
    }
}

#[test]
fn dnsperf_and_queryperf_files_have_no_placeholders_and_no_options() {
    let read = |format, text: &str| {
        let mut reading = Reading { bad_lines: BadLines::SkipAll, ..Reading::default() };
        reading.selection.format = format;
        read_text(text.as_bytes(), "queries", 0, &reading).expect("good lines")
    };
    let loaded = read(QueriesFormat::Dnsperf, "{rand:8}.a A rd=9\nb AAA\n#c MX\n");
    assert_eq!(listed(&loaded), ["\\{rand:8}.a A", "b AAAA", "#c MX"]);
    assert!(loaded.queries.maker().is_none());
    let loaded = read(QueriesFormat::Queryperf, "#server ::1\nb A\n");
    assert_eq!((listed(&loaded), loaded.bad_lines), (vec!["b A".to_owned()], 0));
}

#[test]
fn lists_of_names_get_types_by_weight() {
    let types: TypeWeights = "A=3,AAAA=1".parse().expect("types");
    let mut reading = Reading::default();
    let read = |reading: &Reading, text: &str| {
        read_text(text.as_bytes(), "queries", 0, reading).map(|loaded| listed(&loaded))
    };
    let list = "1,one.example\r\n2,b\u{fc}cher.example\r\n3,three.example\r\n";
    let names = ["one.example A", "xn--bcher-kva.example A", "three.example A"];
    assert_eq!(read(&reading, list).ok(), Some(names.map(str::to_owned).to_vec()));
    assert!(matches!(read(&reading, "one.example\n"), Err(SourceError::OnlyBadLines { .. })));
    reading.selection.types = Some(types);
    for text in [
        list,
        "one.example\nb\u{fc}cher.example\nthree.example",
        "one.example MX\nb\u{fc}cher.example NS\nthree.example A",
    ] {
        let queries = read(&reading, text).expect("good lines");
        // Repeated until the shares hold.
        assert_eq!(queries.len(), 4098);
        for name in ["one", "xn--bcher-kva", "three"] {
            let count = |qtype: &str| {
                queries.iter().filter(|query| **query == format!("{name}.example {qtype}")).count()
            };
            assert_eq!(count("A") + count("AAAA"), 1366);
            assert!((280..400).contains(&count("AAAA")), "{}", count("AAAA"));
        }
        let first = queries[..4000].iter().filter(|query| query.ends_with(" AAAA")).count();
        assert_eq!(first, 1000);
    }
}

#[test]
fn files_of_any_compression_are_read() {
    let text = b"www.example.com A\nwww.example.com AAAA\n";
    let read =
        |bytes: Vec<u8>| read_input(Box::new(std::io::Cursor::new(bytes)), "queries", 0, &Reading::default());
    for packed in [&GZIP[..], &ZSTD, &XZ] {
        assert_eq!(
            read(packed.to_vec()).map(|loaded| listed(&loaded)).ok(),
            Some(vec!["www.example.com A".to_owned(), "www.example.com AAAA".to_owned()])
        );
        let error = read(packed[..packed.len() - 9].to_vec()).expect_err("cut short").to_string();
        assert!(error.starts_with("cannot read queries: "), "{error}");
    }
    assert_eq!(read(text.to_vec()).map(|loaded| loaded.queries.len()).ok(), Some(2));
}

proptest! {
    #[test]
    fn the_size_of_the_read_buffer_changes_nothing(
        lines in prop::collection::vec(
            "[ \t]{0,2}([a-z.;\\\\0-9{]{0,12}|\\{n:1..9\\})[ \t]{0,2}(A|AAAA|TYPE7|X)?( rd=0| x)?\r?", 0..20),
        capacity in 1usize..40
    ) {
        let text = lines.join("\n");
        let reading = Reading { bad_lines: BadLines::SkipAll, ..Reading::default() };
        let small = read_text(BufReader::with_capacity(capacity, text.as_bytes()), "queries", 0, &reading);
        let whole = read(text.as_bytes());
        prop_assert_eq!(format!("{small:?}"), format!("{whole:?}"));
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        if let Ok(loaded) = read(&bytes) {
            prop_assert!(!loaded.queries.is_empty());
        }
    }
}

/// The two queries, compressed by the programs of these names.
const GZIP: [u8; 43] = [
    31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 43, 47, 47, 215, 75, 173, 72, 204, 45, 200, 73, 213, 75, 206, 207, 85,
    112, 228, 42, 71, 23, 1, 2, 46, 0, 223, 98, 56, 74, 39, 0, 0, 0,
];
const ZSTD: [u8; 41] = [
    40, 181, 47, 253, 4, 88, 229, 0, 0, 176, 119, 119, 119, 46, 101, 120, 97, 109, 112, 108, 101, 46, 99,
    111, 109, 32, 65, 10, 65, 65, 65, 10, 1, 0, 106, 158, 97, 168, 104, 10, 218,
];
const XZ: [u8; 88] = [
    253, 55, 122, 88, 90, 0, 0, 4, 230, 214, 180, 70, 2, 0, 33, 1, 22, 0, 0, 0, 116, 47, 229, 163, 224, 0,
    38, 0, 26, 93, 0, 59, 232, 7, 140, 167, 131, 17, 160, 96, 74, 133, 233, 150, 113, 104, 103, 102, 198,
    141, 201, 22, 137, 89, 86, 178, 64, 0, 0, 0, 202, 91, 79, 28, 85, 229, 219, 33, 0, 1, 54, 39, 53, 145,
    144, 12, 31, 182, 243, 125, 1, 0, 0, 0, 0, 4, 89, 90,
];
