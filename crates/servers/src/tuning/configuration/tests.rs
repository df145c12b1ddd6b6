//! Tests of edits as text: what is replaced, where a statement is added, and what is refused.

use proptest::prelude::*;

use super::*;
use crate::table::server_of;

fn server(word: &str) -> &'static Server {
    server_of(word).unwrap()
}

fn edited(word: &str, text: &str, name: &str, value: &str) -> String {
    with_value(server(word), text, name, value).unwrap_or_else(|error| panic!("{word} {name}: {error}"))
}

fn refused(word: &str, text: &str, name: &str, value: &str) -> EditError {
    with_value(server(word), text, name, value).expect_err("it is refused")
}

/// The statement has this value, another one can be set, and the old one again gives the same text.
fn holds_and_comes_back(word: &str, text: &str, name: &str, value: &str) {
    assert_eq!(value_in(server(word), text, name).as_deref(), Some(value), "{text}");
    let other = edited(word, text, name, "777");
    assert_eq!(value_in(server(word), &other, name).as_deref(), Some("777"), "{other}");
    assert_eq!(edited(word, &other, name, value), text);
}

#[test]
fn bind_the_statement_in_options_is_changed_and_nothing_that_looks_like_it() {
    let text = "// tcp-clients 1;\n# tcp-clients 2;\n/* options { tcp-clients 3; }; */\n\
                acl \"tcp-clients 4; }\" { 10.0.0.0/8; };\n\
                options {\n\tdirectory \"/a;b\"; tcp-clients   150 ; // tcp-clients 5;\n\
                \trate-limit { slip 2; exempt-clients { any; }; };\n};\n\
                zone \"a\" { type primary; tcp-clients 6; };\n";
    holds_and_comes_back("bind", text, "tcp-clients", "150");
    holds_and_comes_back("bind", text, "slip", "2");
    let changed = edited("bind", text, "tcp-clients", "600");
    assert_eq!(changed, text.replace("  150 ;", "  600 ;"));
}

#[test]
fn bind_a_statement_is_added_at_the_end_of_its_block() {
    let lines = "options {\n\tdirectory \"/a\";\n\trecursion no; // no; }\n};\n";
    assert_eq!(
        edited("bind", lines, "tcp-clients", "600"),
        "options {\n\tdirectory \"/a\";\n\trecursion no; // no; }\n\ttcp-clients 600;\n};\n"
    );
    assert_eq!(
        edited("bind", "options { recursion no; };\n", "tcp-clients", "600"),
        "options { recursion no; tcp-clients 600; };\n"
    );
    assert_eq!(edited("bind", "options {};", "tcp-clients", "600"), "options { tcp-clients 600; };");
    assert_eq!(edited("bind", "", "tcp-clients", "600"), "options {\n    tcp-clients 600;\n};\n");
    assert_eq!(
        edited("bind", "options {\n};\n", "slip", "1"),
        "options {\n    rate-limit { slip 1; };\n};\n"
    );
    let limit = "options {\n  rate-limit {\n    slip 2;\n  };\n};\n";
    assert_eq!(
        edited("bind", limit, "responses-per-second", "5"),
        "options {\n  rate-limit {\n    slip 2;\n    responses-per-second 5;\n  };\n};\n"
    );
}

#[test]
fn bind_what_another_place_sets_is_refused_with_the_place() {
    let included = "include \"/etc/bind/named.conf.options\";\ninclude \"/etc/bind/named.conf.local\";\n";
    let error = refused("bind", included, "tcp-clients", "600").to_string();
    assert!(error.contains("/etc/bind/named.conf.options, /etc/bind/named.conf.local"), "{error}");
    let inner = "options { include \"more\"; };";
    let error = refused("bind", inner, "tcp-clients", "600");
    let expected = EditError::Included { block: "options", file: "more".into(), name: "tcp-clients".into() };
    assert_eq!(error, expected);
    let set = "options { include \"more\"; tcp-clients 5; };";
    assert_eq!(edited("bind", set, "tcp-clients", "600"), set.replace('5', "600"));
    let view = "options { minimal-responses no; };\nview \"v\" { minimal-responses yes; zone \"a\" { type hint; }; };";
    let error = refused("bind", view, "minimal-responses", "no-auth");
    assert_eq!(error, EditError::InView { name: "minimal-responses".into() });
    assert_eq!(value_in(server("bind"), view, "minimal-responses").as_deref(), Some("no"));
}

#[test]
fn nsd_and_unbound_the_last_item_of_their_sections_server_holds() {
    let text = "# num-threads: 1\nserver:\n\tnum-threads: 2 # four\n\tchroot: \"num-threads: 3\"\n\
                remote-control:\n\tcontrol-enable: yes\nserver:\n\tnum-threads: \"4\"\nstub-zone:\n\tname: \"a\"\n";
    holds_and_comes_back("unbound", text, "num-threads", "4");
    assert_eq!(edited("unbound", text, "num-threads", "8"), text.replace("\"4\"", "\"8\""));
    let one_line = "server: verbosity: 1 num-threads: 4 remote-control: control-enable: yes\n";
    holds_and_comes_back("unbound", one_line, "num-threads", "4");
    let other = "zone:\n  name: a\n  server-count: 3\n";
    assert_eq!(value_in(server("nsd"), other, "server-count"), None);
}

#[test]
fn nsd_and_unbound_an_item_is_added_to_the_last_section_server_before_what_is_included() {
    assert_eq!(
        edited(
            "nsd",
            "server:\n        log-only-syslog: yes\n\ninclude: \"/etc/nsd/*.conf\"\n",
            "tcp-count",
            "400"
        ),
        "server:\n        log-only-syslog: yes\n        tcp-count: 400\n\ninclude: \"/etc/nsd/*.conf\"\n"
    );
    assert_eq!(
        edited(
            "unbound",
            "server:\n  access-control: ::1 allow # us\nforward-zone:\n  name: .\n",
            "num-threads",
            "4"
        ),
        "server:\n  access-control: ::1 allow # us\n  num-threads: 4\nforward-zone:\n  name: .\n"
    );
    assert_eq!(
        edited("unbound", "server: verbosity: 1 remote-control: control-enable: yes\n", "num-threads", "4"),
        "server: verbosity: 1 num-threads: 4 remote-control: control-enable: yes\n"
    );
    assert_eq!(
        edited("unbound", "include-toplevel: \"/etc/unbound/*.conf\"", "num-threads", "4"),
        "include-toplevel: \"/etc/unbound/*.conf\"\nserver:\n    num-threads: 4\n"
    );
    assert_eq!(edited("nsd", "server:", "tcp-count", "400"), "server:\n    tcp-count: 400");
}

#[test]
fn knot_items_stand_in_their_section() {
    let text = "server:\n    listen: \"127.0.0.1@53\" # udp-workers: 1\n    udp-workers: 2 # two\n\nmod-rrl:\n  \
                - id: default\n    rate-limit: 200\n    slip: 2\n\nzone:\n  - domain: \"a\"\n    udp-workers: 9\n";
    holds_and_comes_back("knot", text, "udp-workers", "2");
    holds_and_comes_back("knot", text, "mod-rrl.slip", "2");
    assert_eq!(
        edited("knot", text, "tcp-workers", "4"),
        text.replace("2 # two\n", "2 # two\n    tcp-workers: 4\n")
    );
    assert_eq!(edited("knot", "", "udp-workers", "4"), "server:\n    udp-workers: 4\n");
    assert_eq!(
        edited("knot", "server:\n  listen:\n    - 127.0.0.1\nlog:\n", "udp-workers", "4"),
        "server:\n  listen:\n    - 127.0.0.1\n  udp-workers: 4\nlog:\n"
    );
    let error = refused("knot", "server:\n", "mod-rrl.slip", "1");
    assert_eq!(error, EditError::NoModule { module: "mod-rrl".into(), item: "slip".into() });
    let two = "mod-rrl:\n  - id: a\n    slip: 1\n  - id: b\n    slip: 2\n";
    assert_eq!(refused("knot", two, "mod-rrl.slip", "3"), EditError::Several { name: "mod-rrl.slip".into() });
}

#[test]
fn powerdns_a_line_is_a_setting() {
    let text = "# receiver-threads=1\nlaunch=bind\n receiver-threads = 2 # two\nreceiver-threads-more=9\n\
                bind-config=/etc/a#b\n";
    holds_and_comes_back("pdns", text, "receiver-threads", "2");
    assert_eq!(edited("pdns", "launch=", "reuseport", "yes"), "launch=\nreuseport=yes\n");
    assert_eq!(edited("pdns-recursor", "threads=2\nthreads=4\n", "threads", "8"), "threads=2\nthreads=8\n");
    let newer = "recursor:\n  threads: 2\n";
    assert_eq!(refused("pdns-recursor", newer, "threads", "4"), EditError::Yaml { name: "threads".into() });
}

#[test]
fn knot_resolver_assignments_and_calls_are_changed() {
    let text = "-- cache.size = 1 * MB\n--[[ cache.size = 2 * MB\n]]\nnet.listen('127.0.0.1', 53)\n\
                log_info('cache.size = 3')\ncache.size = 100 * MB -- large\nnet.bufsize(1232)\n";
    holds_and_comes_back("knot-resolver", text, "cache.size", "100 * MB");
    holds_and_comes_back("knot-resolver", text, "net.bufsize", "1232");
    let opened = "cache.open(104857600, 'lmdb:///tmp/cache')\n";
    holds_and_comes_back("knot-resolver", opened, "cache.size", "104857600");
    assert_eq!(edited("knot-resolver", "a = 1", "net.tcp_pipeline", "400"), "a = 1\nnet.tcp_pipeline(400)\n");
    assert_eq!(edited("knot-resolver", "", "cache.size", "419430400"), "cache.size = 419430400\n");
    assert_eq!(
        refused("knot-resolver", "workers: 2\n", "cache.size", "1"),
        EditError::Yaml { name: "cache.size".into() }
    );
    assert_eq!(value_in(server("knot-resolver"), "f({\n cache.size = 5\n})\n", "cache.size"), None);
}

#[test]
fn what_is_no_statement_or_no_value_is_refused_with_what_to_do() {
    let error = refused("bind", "options { };", "named -n", "4").to_string();
    assert!(error.contains("-n is an option of the command line of bind: change how"), "{error}");
    let error = refused("dnsdist", "", "max-outstanding", "4").to_string();
    assert!(error.contains("by hand"), "{error}");
    for value in ["", "4;", "4 }", "a\nb", "\"4\"", "4 # four", " 4"] {
        let error = refused("nsd", "server:\n", "tcp-count", value).to_string();
        assert!(error.contains("give a value without quotes"), "{value:?}: {error}");
    }
    for (word, broken, line) in [
        ("bind", "options {\n", 1),
        ("bind", "\n};", 2),
        ("bind", "options { directory \"a\n};", 1),
        ("bind", "options { };\n\n/* a", 3),
        ("unbound", "server:\n chroot: \"\n", 2),
        ("knot-resolver", "a = 'b", 1),
        ("knot-resolver", "--[[ a", 1),
    ] {
        let error = refused(word, broken, server(word).parameters[0].name, "4");
        assert!(matches!(error, EditError::Broken { line: at, .. } if at == line), "{broken:?}: {error:?}");
        assert!(error.to_string().contains("let the server check"), "{error}");
    }
}

#[test]
fn line_ends_of_other_systems_are_kept() {
    assert_eq!(
        edited("nsd", "server:\r\n  tcp-count: 1\r\n", "server-count", "2"),
        "server:\r\n  tcp-count: 1\n  server-count: 2\r\n"
    );
    holds_and_comes_back("pdns", "cache-ttl=20\r\nreuseport=no\r\n", "cache-ttl", "20");
    holds_and_comes_back("knot", "server:\r\n  udp-workers: 2\r\n", "udp-workers", "2");
}

/// A server, and a parameter of it.
fn parameter() -> impl Strategy<Value = (&'static str, &'static str)> {
    prop::sample::select(vec![
        ("bind", "tcp-clients"),
        ("bind", "slip"),
        ("nsd", "tcp-count"),
        ("unbound", "num-threads"),
        ("knot", "udp-workers"),
        ("knot", "mod-rrl.slip"),
        ("pdns", "cache-ttl"),
        ("knot-resolver", "cache.size"),
        ("knot-resolver", "net.bufsize"),
    ])
}

/// Texts that have what these languages are made of.
fn text() -> impl Strategy<Value = String> {
    let parts = vec![
        "options",
        "rate-limit",
        "view",
        "include",
        "slip",
        "tcp-clients",
        "server:",
        "zone:",
        "tcp-count:",
        "include:",
        "num-threads:",
        "server",
        "udp-workers:",
        "mod-rrl:",
        "- id: a",
        "slip: 2",
        "cache-ttl=",
        "cache.size",
        "=",
        "net.bufsize",
        "cache.open",
        "(",
        ")",
        "{",
        "}",
        ";",
        "\n",
        "\n  ",
        " ",
        "\t",
        "#",
        "//",
        "/*",
        "*/",
        "--",
        "[[",
        "]]",
        "\"",
        "'",
        "\\",
        "4",
        "x",
        "ä",
        ":",
        "\r\n",
    ];
    prop::collection::vec(prop::sample::select(parts), 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn whatever_the_text_an_edit_is_read_back_or_refused((word, name) in parameter(), text in text()) {
        let server = server(word);
        if let Ok(edited) = with_value(server, &text, name, "31") {
            prop_assert_eq!(value_in(server, &edited, name), Some("31".to_owned()));
            if let Some(old) = value_in(server, &text, name) {
                // Several words come back with single blanks.
                let is_word = !old.contains(' ');
                if let Some(back) = with_value(server, &edited, name, &old).ok().filter(|_| is_word) {
                    prop_assert_eq!(back, text);
                }
            } else {
                prop_assert!(edited.len() > text.len());
            }
        }
    }
}
