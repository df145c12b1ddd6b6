//! The rules on which options can be combined: each refuses the options it should, and no others.

use super::TransportKind::{Doh, Doq, Dot, Mix, Tcp, Udp, UdpTcp};
use super::*;

/// The error for a draft of these options in a run over these transports.
fn refusal(text: &str, transports: &[TransportKind]) -> Option<String> {
    let transport = if let [alone] = transports { *alone } else { Mix };
    let draft = Draft::from_toml(text).expect("a plan file");
    draft.refuse_unusable(transport, transports).err().map(|error| error.to_string())
}

/// An option, the transports of the run, and the start of the error; in the order of the rules.
const REFUSED: &[(&str, &[TransportKind], &str)] = &[
    ("lenient = true\nstrict = true", &[Udp], "--lenient and --strict are opposites: remove one"),
    (
        "keep-order = true\norder = \"random\"",
        &[Udp],
        "--keep-order and --order both set the order of the queries: remove one",
    ),
    ("queries-format = \"csv\"", &[Udp], "--queries-format is for a file: give one with -d, or remove it"),
    ("origin = \"a\"", &[Udp], "--origin is for a zone file: give one with --zone"),
    ("nxdomain = \"1%\"", &[Udp], "--nxdomain is for a zone file: give one with --zone"),
    ("ttl = 1", &[Udp], "--ttl has no effect without --hit-rate"),
    ("hot = 1", &[Udp], "--hot has no effect without --hit-rate"),
    ("order = \"random\"\nhit-rate = \"1%\"", &[Udp], "--order and --hit-rate both choose the next query"),
    ("ecs = \"a\"\necs-range = \"b\"", &[Udp], "--ecs and --ecs-range both set the client subnet"),
    ("ecs-per-client = true", &[Udp], "--ecs-per-client has no effect without --ecs-range"),
    ("tsig = \"a\"\ntsig-file = \"b\"", &[Udp], "--tsig-file and --tsig both give the key: remove one"),
    ("speed = 2\nreplay = \"a\"\nrate = 5", &[Udp], "--speed is for a replay with the timing of its capture"),
    ("captured-server = [\"a\"]", &[Udp], "--captured-server is for the replay of a capture: add --replay"),
    ("source = \"epc:a\"\ncheck-answers = true", &[Udp], "--check-answers cannot be used with --source: "),
    (
        "queries = \"a\"\nqueries-format = \"updates\"\ncheck-answers = true",
        &[Udp],
        "--check-answers cannot be used with updates",
    ),
    ("first-pass-rate = 5", &[Udp], "--first-pass-rate is for questions that are asked before the load"),
    (
        "replay = \"a\"\ncheck-answers = true\nfirst-pass-for = 5",
        &[Udp],
        "--first-pass-for is for questions that are asked before the load",
    ),
    (
        "replay = \"a\"\ncheck-answers = true\nsend-only = true",
        &[Udp],
        "--check-answers cannot be used with --send-only",
    ),
    ("replay = \"a\"\nedns-size = 1232", &[Udp], "--edns-size cannot be used with --replay"),
    ("replay = \"a\"\nedns-version = 1", &[Udp], "--edns-version cannot be used with --replay"),
    ("replay = \"a\"\ndnssec-ok = true", &[Udp], "--dnssec-ok cannot be used with --replay"),
    ("replay = \"a\"\nnsid = true", &[Udp], "--nsid cannot be used with --replay"),
    ("replay = \"a\"\nrecursion-desired = false", &[Udp], "--no-recursion cannot be used with --replay"),
    ("replay = \"a\"\nchecking-disabled = true", &[Udp], "--checking-disabled cannot be used with --replay"),
    ("replay = \"a\"\nauthentic-data = true", &[Udp], "--authentic-data cannot be used with --replay"),
    ("replay = \"a\"\nclass = \"CH\"", &[Udp], "--class cannot be used with --replay"),
    ("replay = \"a\"\ntsig = \"a\"", &[Udp], "--tsig cannot be used with --replay"),
    ("replay = \"a\"\ntsig-file = \"a\"", &[Udp], "--tsig-file cannot be used with --replay"),
    ("replay = \"a\"\nedns-option = [\"a\"]", &[Udp], "--edns-option cannot be used with --replay"),
    ("replay = \"a\"\necs = \"a\"", &[Udp], "--ecs cannot be used with --replay"),
    ("replay = \"a\"\necs-range = \"a\"", &[Udp], "--ecs-range cannot be used with --replay"),
    ("replay = \"a\"\ncookie = true", &[Udp], "--cookie cannot be used with --replay"),
    ("replay = \"a\"\npadding = 128", &[Udp], "--padding cannot be used with --replay"),
    ("replay = \"a\"\nrate-limit = 5", &[Udp], "--rate-limit cannot be used with --replay"),
    ("replay = \"a\"\ntypes = \"A=1\"", &[Udp], "--types cannot be used with --replay"),
    ("replay = \"a\"\norder = \"random\"", &[Udp], "--order cannot be used with --replay"),
    ("replay = \"a\"\nhit-rate = \"1%\"", &[Udp], "--hit-rate cannot be used with --replay"),
    ("source = \"epc:a\"\nrate = 5", &[Udp], "--rate cannot be used with --source: "),
    ("source = \"epc:a\"\nramp = \"1..2\"", &[Udp], "--ramp cannot be used with --source: "),
    ("source = \"epc:a\"\nstair = \"1..2\"", &[Udp], "--stair cannot be used with --source: "),
    ("source = \"epc:a\"\nburst = \"1..2\"", &[Udp], "--burst cannot be used with --source: "),
    (
        "source = \"epc:a\"\n[[piece]]\nrate = \"1\"\nfor = \"1s\"",
        &[Udp],
        "--piece cannot be used with --source: ",
    ),
    ("source = \"epc:a\"\noutstanding = 5", &[Udp], "--outstanding cannot be used with --source: "),
    ("source = \"epc:a\"\nrate-limit = 5", &[Udp], "--rate-limit cannot be used with --source: "),
    ("source = \"epc:a\"\ncount = 5", &[Udp], "--count cannot be used with --source: "),
    ("source = \"epc:a\"\npasses = 5", &[Udp], "--passes cannot be used with --source: "),
    ("source = \"epc:a\"\nsend-only = true", &[Udp], "--send-only cannot be used with --source: "),
    ("source = \"epc:a\"\ntypes = \"A=1\"", &[Udp], "--types cannot be used with --source: "),
    ("source = \"epc:a\"\norder = \"random\"", &[Udp], "--order cannot be used with --source: "),
    ("source = \"epc:a\"\nhit-rate = \"9%\"", &[Udp], "--hit-rate cannot be used with --source: "),
    ("source = \"epc:a\"\ntsig = \"a\"", &[Udp], "--tsig cannot be used with --source: "),
    ("source = \"epc:a\"\ncookie = true", &[Udp], "--cookie cannot be used with --source: "),
    ("source = \"epc:a\"\npadding = 128", &[Udp], "--padding cannot be used with --source: "),
    ("source = \"epc:a\"\necs-range = \"a\"", &[Udp], "--ecs-range cannot be used with --source: "),
    ("tsig-verify = false", &[Udp], "--no-tsig-verify is for signed queries: add --tsig"),
    ("trace-file = \"a\"", &[Udp], "--trace-file has no effect without --trace: add --trace 1/1000"),
    ("over = 1", &[Udp], "--over has no effect without --ramp: add that, or remove it"),
    ("step = 1", &[Udp], "--step has no effect without --stair: add that"),
    ("every = 1", &[Udp], "--every has no effect without --burst: add that"),
    ("hold = 1", &[Udp], "--hold has no effect without --ramp, --stair or --burst: add that"),
    (
        "send-only = true\noutstanding = 1",
        &[Udp],
        "--send-only does not wait for responses, so --outstanding has no effect",
    ),
    (
        "stop-when = [\"behind>=5\"]",
        &[Udp],
        "--stop-when behind is about a schedule, and a closed loop has none: add --rate",
    ),
    (
        "rate = 5\nsend-only = true\nstop-when = [\"loss>1%\", \"Outstanding >= 5\"]",
        &[Udp],
        "--stop-when outstanding is for a run with --rate, --ramp or another shape that waits",
    ),
    (
        "rate = 5\nrate-limit = 6",
        &[Udp],
        "--rate-limit is for a closed loop, and this run has a rate of its own: remove it",
    ),
    ("interface = \"a\"", &[Udp], "--interface is for AF_XDP, and this run uses sockets: add --backend xdp"),
    ("next-hop = \"a\"", &[Udp], "--next-hop is for AF_XDP"),
    ("vlan = 1", &[Udp], "--vlan is for AF_XDP"),
    ("xdp-mode = \"auto\"", &[Udp], "--xdp-mode is for AF_XDP"),
    ("xdp-copy = \"auto\"", &[Udp], "--xdp-copy is for AF_XDP"),
    (
        "backend = \"auto\"\nnext-hop = \"a\"",
        &[Udp],
        "--next-hop is not possible with sockets, so --backend auto",
    ),
    ("backend = \"auto\"\nvlan = 1", &[Udp], "--vlan is not possible with sockets"),
    ("source-prefix = \"a\"", &[Tcp], "--source-prefix is for UDP"),
    ("ecs = \"source\"", &[Udp], "--ecs source is the subnet of the addresses of --source-prefix"),
    (
        "backend = \"auto\"\necs = \"source\"\nsource-prefix = \"a\"",
        &[Udp],
        "--ecs source is for sockets: use --backend sockets",
    ),
    (
        "backend = \"xdp\"\nlocal-address = \"::1\"\nsource-prefix = \"::/0\"",
        &[Udp],
        "--local-address and --source-prefix both set the source address: remove one",
    ),
    ("servers = \"a\"\nserver = \"b\"", &[Udp], "--servers and --server both name the server: remove one"),
    ("transport = \"udp\"\nmix = \"a\"", &[Udp, Tcp], "--transport and --mix both set the transport"),
    ("transport = \"udp\"\n[[member]]", &[Udp, Tcp], "--transport and the members of the plan file"),
    ("mix = \"a\"\n[[member]]", &[Udp, Tcp], "--mix and the members of the plan file"),
    ("tcp-edns = \"same\"", &[Tcp], "--tcp-edns is for retries over TCP: add --transport udp+tcp"),
    (
        "tcp-edns = \"none\"\nqueries-format = \"updates\"\nqueries = \"a\"",
        &[UdpTcp],
        "--tcp-edns none cannot be used with updates: a retry over TCP",
    ),
    (
        "proxy-protocol = \"::1\"\nbackend = \"auto\"",
        &[Udp],
        "--proxy-protocol is not possible with AF_XDP: remove it, or use --backend sockets",
    ),
    ("proxy-protocol = \"::1\"", &[Udp, Doq], "--proxy-protocol cannot be used with --transport doq or doh3"),
    (
        "queries-per-connection = 1",
        &[Udp],
        "--queries-per-connection is for connections, and udp has none: add --transport tcp, or remove it",
    ),
    ("idle-timeout = 1", &[Udp], "--idle-timeout is for connections"),
    ("fast-open = true", &[Udp], "--fast-open is for connections"),
    ("local-address = \"127.0.0.0/8\"", &[Udp], "--local-address is for connections"),
    ("send-only = true", &[Tcp], "--send-only cannot be used with --transport tcp: a connection stalls"),
    ("backend = \"xdp\"", &[Dot], "--backend cannot be used with --transport dot: AF_XDP sends UDP only"),
    (
        "local-ports = 9",
        &[Udp, Tcp],
        "--local-ports cannot be used with --transport mix: connections use all local ports",
    ),
    ("any-source = true", &[Tcp], "--any-source is for UDP: the other transports have connections"),
    (
        "any-source = true\nbackend = \"xdp\"",
        &[Udp],
        "--any-source is not possible with AF_XDP, which takes only packets from the server",
    ),
    ("any-source = true\nsend-only = true", &[Udp], "--any-source cannot be used with --send-only"),
    (
        "insecure = true",
        &[Udp, Tcp],
        "--insecure is for encryption, and mix has none: add --transport dot, doh, doq or doh3, or remove it",
    ),
    ("ca = \"a\"", &[Udp], "--ca is for encryption"),
    ("sni = \"a\"", &[Udp], "--sni is for encryption"),
    ("tls-version = \"1.3\"", &[Udp], "--tls-version is for encryption"),
    ("resumption = false", &[Udp], "--no-resumption is for encryption"),
    ("early-data = true", &[Udp], "--early-data is for encryption"),
    ("tls-key-log = \"k\"", &[Udp], "--tls-key-log is for encryption"),
    ("handshake-timeout = 1", &[Udp], "--handshake-timeout is for encryption"),
    ("http-method = \"get\"", &[Dot], "--http-method is for HTTP, and dot has none: add --transport doh"),
    ("http-path = \"/\"", &[Udp, Dot], "--http-path is for HTTP"),
    (
        "tls-version = \"1.2\"",
        &[Doq],
        "--tls-version 1.2 cannot be used with --transport doq or doh3: QUIC always uses TLS 1.3",
    ),
    (
        "tls-version = \"1.2\"\nearly-data = true",
        &[Dot],
        "--early-data cannot be used with --tls-version 1.2: only",
    ),
    (
        "early-data = true\nresumption = false",
        &[Dot],
        "--early-data cannot be used with --no-resumption: early data",
    ),
    (
        "early-data = true\nqueries = \"a\"\nqueries-format = \"updates\"",
        &[Doq],
        "--early-data cannot be used with updates, which must not be sent",
    ),
    (
        "ca = \"a\"\ninsecure = true",
        &[Dot],
        "--ca cannot be used with --insecure: one names the certificates",
    ),
];

/// Each option of a rule, and its sentence.
fn cases(rule: &Rule) -> Vec<(&'static str, &'static str)> {
    let options = match &rule.of {
        Of::Option(option, _) => std::slice::from_ref(option),
        Of::Choices(group) => group.choices(),
        Of::Details(group) => group.details(),
    };
    options.iter().map(|option| (*option, rule.sentence)).collect()
}

#[test]
fn each_rule_refuses_its_option_where_it_has_no_effect() {
    let cases: Vec<(&str, &str)> = RULES.iter().flat_map(cases).collect();
    assert_eq!(REFUSED.len(), cases.len(), "a case for each option of a rule");
    for ((text, transports, begins), (option, sentence)) in REFUSED.iter().zip(cases) {
        let message = refusal(text, transports).unwrap_or_default();
        assert!(
            message.starts_with(begins) && message.starts_with(&format!("--{option} ")),
            "{text}: {message}"
        );
        // The rule of this row, not a similar one of another option.
        let end = sentence.rsplit("{transport}").next().unwrap_or_default();
        assert!(message.ends_with(end), "{text}: {message}");
    }
}

#[test]
fn options_are_accepted_where_they_have_an_effect() {
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
        // Options that are switched off have no effect.
        (
            "insecure = false\nearly-data = false\nfast-open = false\nresumption = true\nsend-only = false",
            &[Udp],
        ),
        ("backend = \"sockets\"\nsend-only = false", &[Tcp]),
    ] {
        assert_eq!(refusal(text, transports), None, "{text}");
    }
}
