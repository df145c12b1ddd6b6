//! Zones whose names are known, asked for and not.

use dnsdyno_wire::{name_to_text, peek, type_name};

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const ZONE: &str = "\
$TTL 300
@        SOA ns hostmaster 1 2 3 4 5
@        NS ns
ns       A 192.0.2.1
www      A 192.0.2.2
www      A 192.0.2.3
WWW      AAAA 2001:db8::1
a.b.c    TXT \"x\"
*.wild   MX 10 mail
sub      NS ns.sub
sub      DS 1 8 2 0000000000000000000000000000000000000000000000000000000000000000
ns.sub   A 192.0.2.4
old      DNAME new
x.old    A 192.0.2.5
www      RRSIG A 8 2 300 20300101000000 20200101000000 1 example. AAAA
elsewhere.test. A 192.0.2.6
abcdefghij A 192.0.2.7
";

fn read(text: &str, nxdomain: f64) -> Result<Loaded, SourceError> {
    let mut reading = Reading::default();
    reading.selection.nxdomain = nxdomain;
    read_zone_text(text.as_bytes(), "example.", &reading)
}

/// The queries as `name type`, random labels by their length.
fn listed(loaded: &Loaded) -> Vec<String> {
    let queries = &loaded.queries;
    let one = |i| {
        let found = peek(queries.message(i)).unwrap();
        let name = name_to_text(found.qname());
        let name = match queries.placeholders(i).first() {
            Some(place) => format!("{}{}", place.to_text(), &name[place.range().len()..]),
            None => name,
        };
        format!("{name} {}", type_name(found.qtype().unwrap()))
    };
    (0..queries.len()).map(one).collect()
}

#[test]
fn each_set_of_records_is_asked_for_once_without_glue_signatures_and_other_zones() {
    assert_eq!(
        listed(&read(ZONE, 0.0).unwrap()),
        [
            "example SOA",
            "example NS",
            "ns.example A",
            "www.example A",
            "www.example AAAA",
            "a.b.c.example TXT",
            "{rand:10}.wild.example MX",
            "sub.example NS",
            "sub.example DS",
            "old.example DNAME",
            "abcdefghij.example A",
        ]
    );
}

#[test]
fn names_that_do_not_exist_are_below_names_that_nothing_else_answers_for() {
    let listed = listed(&read(ZONE, 1.0).unwrap());
    let parents: BTreeSet<_> = listed.iter().map(String::as_str).collect();
    // The apex has a label of ten octets already; the names between a.b.c and the apex exist.
    let expected = [
        "{rand:11}.example A",
        "{rand:10}.a.b.c.example A",
        "{rand:10}.abcdefghij.example A",
        "{rand:10}.b.c.example A",
        "{rand:10}.c.example A",
        "{rand:10}.ns.example A",
        "{rand:10}.www.example A",
    ];
    assert_eq!(parents, BTreeSet::from(expected));
}

#[test]
fn the_share_of_names_that_do_not_exist_is_the_wanted_one() {
    for share in [0.1, 0.333, 0.5, 0.9] {
        let listed = listed(&read(ZONE, share).unwrap());
        let missing =
            listed.iter().filter(|query| query.contains("{rand") && !query.contains("wild")).count();
        let found = missing as f64 / listed.len() as f64;
        assert!((found - share).abs() < 0.002, "{share}: {found}");
    }
}

#[test]
fn what_cannot_be_a_source_is_refused_with_the_reason() {
    let error = |text: &str, nxdomain| read(text, nxdomain).unwrap_err().to_string();
    assert!(error("www A 192.0.2.1\n", 0.0).contains("no SOA record"));
    assert!(
        error("@ SOA a b 1 2 3 4 5\n$GENERATE 1-9 h$ A 192.0.2.$\n", 0.0).contains("line 2 has $GENERATE")
    );
    assert!(error("@ SOA a b 1 2 3 4 5\n* A 192.0.2.1\n", 0.5).contains("remove --nxdomain"));
    let bad_address = error("@ SOA a b 1 2 3 4 5\nwww A 192.0.2.\n", 0.0);
    assert!(bad_address.contains("near line 3:1: expected IPv4 address"), "{bad_address}");
    assert!(error("@ SOA a b 1 2 3 4 5\nx TXT (J\n", 0.0).contains("a parenthesis is not closed"));
    assert!(error("@ SOA a b 1 2 3 4 5\n$INCLUDE other\n", 0.0).contains("include each other"));
}

#[test]
fn included_files_are_read_with_their_origin_and_one_that_includes_itself_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zone");
    std::fs::write(&path, "$ORIGIN example.\n@ SOA a b 1 2 3 4 5\n$INCLUDE \"more\" sub.example.").unwrap();
    std::fs::write(folder.path().join("more"), "www A 192.0.2.1\n").unwrap();
    let load = || read_zone(&path, None, &Reading::default());
    assert_eq!(listed(&load().unwrap()), ["example SOA", "www.sub.example A"]);
    std::fs::write(folder.path().join("more"), "$INCLUDE more\n").unwrap();
    assert!(load().unwrap_err().to_string().contains("include each other"));
    std::fs::write(&path, "@ SOA a b 1 2 3 4 5\n").unwrap();
    assert!(load().unwrap_err().to_string().contains("--origin"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "([a-z@*$\\\\.\"();0-9 \n\t]|SOA|NS|IN|\\$INCLUDE|\\$ORIGIN){0,60}") {
        let _ = read(&text, 0.5);
    }
}

#[test]
fn times_may_have_units_and_the_file_a_byte_order_mark() {
    let text = "\u{feff}$TTL 1h\n@ 1d SOA ns h 1 1h 15m (2w 1d)\n@ NS ns\nns 1h30m IN A 192.0.2.1\n IN 2D AAAA ::1\n";
    let seconds = "$TTL 1\n@ SOA ns h 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\nns AAAA ::1\n";
    assert_eq!(listed(&read(text, 0.0).unwrap()), listed(&read(seconds, 0.0).unwrap()));
    let utf_16 = read_zone_text(b"\xff\xfe$\0", "example.", &Reading::default()).unwrap_err().to_string();
    assert!(utf_16.contains("iconv"), "{utf_16}");
}
