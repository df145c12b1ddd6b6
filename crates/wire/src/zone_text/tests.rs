//! Texts of zone files before and after.

use proptest::prelude::*;

use super::*;

fn rewritten(text: &str) -> String {
    String::from_utf8(zone_text(text.as_bytes(), None).into_owned()).unwrap()
}

#[test]
fn times_of_a_zone_are_written_in_seconds() {
    for (text, want) in [
        ("$TTL 1h\n", "$TTL 3600\n"),
        ("www 1h A 192.0.2.1\n", "www 3600 A 192.0.2.1\n"),
        ("www IN 1d12h A 192.0.2.1", "www IN 129600 A 192.0.2.1"),
        ("www 1h IN A 192.0.2.1\n\t2m A 192.0.2.2", "www 3600 IN A 192.0.2.1\n\t120 A 192.0.2.2"),
        (
            "@ SOA ns h. ( 7 ; serial 1h\n 1h 15m\n 1w ) ; 1d\n@ 1h NS ns",
            "@ SOA ns h. ( 7 ; serial 1h\n 3600 15m\n 1w ) ; 1d\n@ 3600 NS ns",
        ),
        ("1h 1h A 192.0.2.1\n", "1h 3600 A 192.0.2.1\n"),
        ("a \\# 1h", "a \\# 1h"),
    ] {
        let want = want.replace("3600 15m\n 1w )", "3600 900\n 604800 )");
        assert_eq!(rewritten(text), want, "{text}");
    }
}

#[test]
fn what_is_no_time_stays() {
    for text in [
        "1h A 192.0.2.1\n",
        "a TXT 1h \"2h\" 3d\n",
        "a 60 TXT \"x\n1h\" 1h\n",
        "$ORIGIN 1h\n$INCLUDE 1h 1d\na CNAME 1h\n",
        "a A (\n 1h\n)\n",
        "; 1h A\n\\ 1h",
        "",
    ] {
        assert!(matches!(zone_text(text.as_bytes(), None), Cow::Borrowed(_)), "{text}: {}", rewritten(text));
    }
}

proptest! {
    #[test]
    fn lines_stay_and_a_second_time_changes_nothing(text in "[ \\t\\n\"\\\\();1hdA$a]{0,60}") {
        let once = zone_text(text.as_bytes(), None).into_owned();
        let lines = |text: &[u8]| text.iter().filter(|octet| **octet == b'\n').count();
        prop_assert_eq!(lines(&once), lines(text.as_bytes()));
        prop_assert_eq!(&*zone_text(&once, None), &once[..]);
    }
}

#[test]
fn data_that_the_parser_has_no_form_for_is_written_in_that_of_unknown_types() {
    for (text, want) in [
        ("a 1h IN SPF \"x y\" ( z ; z\n )\n", "a 3600 IN TYPE99 \\# 6 03782079017a (  ; z\n )\n"),
        ("a KX 1 .", "a TYPE36 \\# 3 000100 "),
        (
            "$ORIGIN b.\na KX 1 c\n$ORIGIN d\na KX 1 c\n",
            concat!(
                "$ORIGIN b.\na TYPE36 \\# 7 00010163016200 \n",
                "$ORIGIN d\na TYPE36 \\# 9 000101630164016200 \n",
            ),
        ),
        ("a EUI48 1-2-3-4-5-06\na A 192.0.2.1", "a TYPE108 \\# 6 010203040506\na A 192.0.2.1"),
    ] {
        assert_eq!(rewritten(text), want, "{text}");
    }
}

#[test]
fn data_that_is_not_that_of_its_type_stays() {
    for text in [
        // Of a relative name nobody knows the rest.
        "a KX 1 b\n",
        "$ORIGIN b\na KX 1 c\n",
        "a KX 1 b. c.",
        "a KX 65536 b.",
        "a KX +1 b.",
        "a KX",
        "a KX 1 b\\.",
        "a LOC \\# 1 00",
        "a LOC 91 N 0 E 0",
        "a LOC 90 0 0.001 N 0 E 0",
        "a LOC 1 60 N 0 E 0",
        "a LOC 1 2 3 4 N 0 E 0",
        "a LOC N 0 E 0",
        "a LOC 1 N 0 E 0 0 0 0 0",
        "a LOC 1 N 0 E 1.001m",
        "a LOC 1 N 0 E -100001m",
        "a LOC 1 N 0 E 0 -1m",
        "a LOC 1 N 0 E 99999999999999999999m",
        "a SPF \"a\"b\"",
        "a SPF \"a\nb\"",
        "a SPF \\25",
        "a SPF \\256",
        "a URI 1 1 \"\"",
        "a EUI48 01-02-03-04-05",
        "a EUI48 01-02-03-04-05-006",
        "a L64 1 1:2:3",
        "a DHCID !",
        "a SMIMEA 3 1 1 abc",
        "a SMIMEA 3 1 1",
        "a APL 1:192.0.2.0/33",
        "a APL 1:2001:db8::/32",
        "a AMTRELAY 1 2 0 .",
        "a AMTRELAY 1 0 4 .",
        "a CSYNC 1 1 NOTYPE",
        "a CERT NOTYPE 1 1 FOLK",
    ] {
        let stays = matches!(zone_text(text.as_bytes(), None), Cow::Borrowed(_));
        assert!(stays, "{text}: {}", rewritten(text));
    }
}
