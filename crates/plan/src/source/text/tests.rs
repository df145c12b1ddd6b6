//! The reader of query files, line by line and against the `wire` crate.

use super::*;
use dnsdyno_wire::{name_to_text, peek, type_name};
use proptest::prelude::*;
use std::io::BufReader;

fn read(text: &[u8]) -> Result<Loaded, SourceError> {
    read_text(text, "queries", text.len(), QueryForm::default(), BadLines::SkipAll)
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
    let result =
        read_text(&b"good A\nbad\nalso bad\n"[..], "queries", 0, QueryForm::default(), BadLines::Refuse);
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
    let read = |text: &str| read_text(text.as_bytes(), "queries", 0, QueryForm::default(), BadLines::SkipFew);
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
        let read = |bad_lines| read_text(text.as_bytes(), "z", 0, QueryForm::default(), bad_lines);
        let error = read(BadLines::SkipFew).expect_err("a zone").to_string();
        assert!(error.starts_with("z is a zone file: "), "{error}");
        assert!(!matches!(read(BadLines::SkipAll), Err(SourceError::NotQueries { .. })), "{text}");
    }
}

#[test]
fn endless_input_is_read_to_a_limit() {
    let endless = |byte| BufReader::new(std::io::Read::take(std::io::repeat(byte), 1 << 40));
    let read = |byte| {
        read_text(endless(byte), "x", 0, QueryForm::default(), BadLines::SkipAll).expect_err("endless")
    };
    assert_eq!(read(0).to_string(), "x is a binary file: a query file is text with one `name type` a line");
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
    let loaded = read_text(
        BufReader::with_capacity(1000, &text[..]),
        "queries",
        0,
        QueryForm::default(),
        BadLines::SkipAll,
    )
    .expect("good lines");
    assert_eq!(listed(&loaded), ["a A", "b A", "c A"]);
    assert_eq!(loaded.first_bad.iter().map(|bad| bad.line).collect::<Vec<_>>(), [3]);
    assert!(loaded.first_bad[0].text.len() < 100);
}

proptest! {
    #[test]
    fn the_size_of_the_read_buffer_changes_nothing(
        lines in prop::collection::vec("[ \t]{0,2}[a-z.;\\\\0-9]{0,12}[ \t]{0,2}(A|AAAA|TYPE7|X)?\r?", 0..20),
        capacity in 1usize..40
    ) {
        let text = lines.join("\n");
        let small = read_text(
            BufReader::with_capacity(capacity, text.as_bytes()), "queries", 0, QueryForm::default(), BadLines::SkipAll,
        );
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
