//! The table of rules: each row refuses what it should, in the user's words, and nothing else.

use super::TransportKind::{Dot, Mix, Tcp, Udp};
use super::*;
use clap::{Command, FromArgMatches};

/// The refusal of an option in a run over these transports.
fn refusal(text: &str, transports: &[TransportKind]) -> Option<String> {
    let transport = if let [alone] = transports { *alone } else { Mix };
    let draft = Draft::from_toml(text).expect("a plan file");
    draft.refuse_misfits(transport, transports).err().map(|error| error.to_string())
}

/// An option, the transports of the run, and how the refusal begins; in the order of the rules.
const REFUSED: &[(&str, &[TransportKind], &str)] = &[
    ("over = 1", &[Udp], "--over has no meaning without --ramp: add that, or leave it out"),
    ("step = 1", &[Udp], "--step has no meaning without --stair: add that"),
    ("every = 1", &[Udp], "--every has no meaning without --burst: add that"),
    ("hold = 1", &[Udp], "--hold has no meaning without --ramp, --stair or --burst: add that"),
    (
        "send-only = true\noutstanding = 1",
        &[Udp],
        "--send-only waits for no responses, so --outstanding has no meaning",
    ),
    ("interface = \"a\"", &[Udp], "--interface is for AF_XDP, and this run uses sockets: add --backend xdp"),
    ("next-hop = \"a\"", &[Udp], "--next-hop is for AF_XDP"),
    ("vlan = 1", &[Udp], "--vlan is for AF_XDP"),
    ("source-prefix = \"a\"", &[Udp], "--source-prefix is for AF_XDP"),
    ("xdp-mode = \"auto\"", &[Udp], "--xdp-mode is for AF_XDP"),
    ("xdp-copy = \"auto\"", &[Udp], "--xdp-copy is for AF_XDP"),
    (
        "backend = \"auto\"\nnext-hop = \"a\"",
        &[Udp],
        "--next-hop changes the packets in a way that sockets cannot",
    ),
    ("backend = \"auto\"\nvlan = 1", &[Udp], "--vlan changes the packets"),
    ("backend = \"auto\"\nsource-prefix = \"a\"", &[Udp], "--source-prefix changes the packets"),
    (
        "backend = \"xdp\"\nlocal-address = \"::1\"\nsource-prefix = \"::/0\"",
        &[Udp],
        "--local-address and --source-prefix both say where queries come from: leave one out",
    ),
    ("transport = \"udp\"\nmix = \"a\"", &[Udp, Tcp], "--transport and --mix both say how messages travel"),
    ("tcp-edns = \"same\"", &[Tcp], "--tcp-edns is about queries retried over TCP: add --transport udp+tcp"),
    (
        "queries-per-connection = 1",
        &[Udp],
        "--queries-per-connection is about connections, and udp has none: add --transport tcp, or leave it out",
    ),
    ("idle-timeout = 1", &[Udp], "--idle-timeout is about connections"),
    ("fast-open = true", &[Udp], "--fast-open is about connections"),
    ("local-address = \"127.0.0.0/8\"", &[Udp], "--local-address is about connections"),
    ("send-only = true", &[Tcp], "--send-only does not go with --transport tcp: a connection stalls"),
    ("backend = \"xdp\"", &[Dot], "--backend does not go with --transport dot: AF_XDP sends datagrams only"),
    (
        "local-ports = 9",
        &[Udp, Tcp],
        "--local-ports does not go with --transport mix: a port rests after its",
    ),
    (
        "insecure = true",
        &[Udp, Tcp],
        "--insecure is about encryption, and mix has none: add --transport dot, doh or doq, or leave it out",
    ),
    ("ca = \"a\"", &[Udp], "--ca is about encryption"),
    ("sni = \"a\"", &[Udp], "--sni is about encryption"),
    ("tls-version = \"1.3\"", &[Udp], "--tls-version is about encryption"),
    ("resumption = false", &[Udp], "--no-resumption is about encryption"),
    ("early-data = true", &[Udp], "--early-data is about encryption"),
    ("handshake-timeout = 1", &[Udp], "--handshake-timeout is about encryption"),
    ("http-method = \"get\"", &[Dot], "--http-method is about HTTP, and dot has none: add --transport doh"),
    ("http-path = \"/\"", &[Udp, Dot], "--http-path is about HTTP"),
    (
        "tls-version = \"1.2\"",
        &[Doq],
        "--tls-version 1.2 does not go with --transport doq: QUIC has TLS 1.3 in it",
    ),
    (
        "tls-version = \"1.2\"\nearly-data = true",
        &[Dot],
        "--early-data does not go with --tls-version 1.2: only",
    ),
    (
        "early-data = true\nresumption = false",
        &[Dot],
        "--early-data does not go with --no-resumption: early data",
    ),
    ("ca = \"a\"\ninsecure = true", &[Dot], "--ca does not go with --insecure: one says whom to trust"),
];

#[test]
fn each_rule_refuses_its_option_where_it_has_no_meaning() {
    assert_eq!(REFUSED.len(), RULES.len(), "a case for each rule");
    for ((text, transports, begins), (option, .., sentence)) in REFUSED.iter().zip(RULES) {
        let told = refusal(text, transports).unwrap_or_default();
        assert!(told.starts_with(begins) && told.starts_with(&format!("--{option} ")), "{text}: {told}");
        // The rule of this very row, not one that says the same of another option.
        let end = sentence.rsplit("{transport}").next().unwrap_or_default();
        assert!(told.ends_with(end), "{text}: {told}");
    }
}

#[test]
fn options_are_taken_where_they_have_a_meaning() {
    for (text, transports) in [
        ("hold = 1\nstair = \"1..2\"\nstep = 1", &[Udp][..]),
        ("backend = \"xdp\"\nvlan = 1\ninterface = \"a\"\nlocal-ports = 9\nsend-only = true", &[Udp]),
        ("backend = \"auto\"\ninterface = \"a\"\nxdp-mode = \"auto\"", &[Udp]),
        ("local-address = \"127.0.0.1/32\"", &[Udp]),
        ("local-address = \"127.0.0.0/8\"\nidle-timeout = 1\nfast-open = true", &[Tcp]),
        ("tcp-edns = \"none\"\nqueries-per-connection = 1", &[UdpTcp]),
        (
            "insecure = true\nhttp-path = \"/q\"\ntls-version = \"1.2\"\ntcp-edns = \"none\"",
            &[UdpTcp, Dot, Doh],
        ),
        ("early-data = true\ntls-version = \"1.3\"", &[Doq]),
        // What is switched off says nothing.
        (
            "insecure = false\nearly-data = false\nfast-open = false\nresumption = true\nsend-only = false",
            &[Udp],
        ),
        ("backend = \"sockets\"\nsend-only = false", &[Tcp]),
    ] {
        assert_eq!(refusal(text, transports), None, "{text}");
    }
}

#[test]
fn each_flag_is_a_key_of_the_same_name_and_one_that_switches_off_is_false() {
    let command = Draft::augment_args(Command::new("run").no_binary_name(true));
    let flags: Vec<&str> = command.get_arguments().filter_map(|flag| flag.get_long()).collect();
    assert!(flags.len() > 50, "{flags:?}");
    for flag in flags {
        let parse = |value: &&str| {
            let matches = command.clone().try_get_matches_from([format!("--{flag}{value}")]).ok()?;
            Draft::from_arg_matches(&matches).ok()
        };
        let draft = ["", "=1", "=v4", "=udp", "=get", "=1.2"].iter().find_map(parse).expect(flag);
        let text = draft.to_toml().expect(flag);
        assert_eq!(Draft::from_toml(&text).as_ref(), Ok(&draft), "{text}");
        let (key, value) = text.trim_end().split_once(" = ").expect("one key");
        assert!(key == flag || flag.starts_with("no-") && value == "false", "--{flag}: {text}");
    }
}
