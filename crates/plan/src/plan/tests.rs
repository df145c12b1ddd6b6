//! Every rule of a plan, and writing a plan to a file and reading it back.

use dnsdyno_wire::EdnsOptions;

use super::*;
use crate::kinds::{Family, TransportKind};
use crate::schedule::{CurveError, Shape};
use std::net::SocketAddr;
use std::path::PathBuf;

const SECOND: u64 = 1_000_000_000;

fn no_names(_: &str, _: u16) -> Result<Vec<SocketAddr>, String> {
    Err("no such name".to_owned())
}

fn host() -> Host<'static> {
    Host {
        cores: 4,
        working_dir: Path::new("/home/me"),
        fresh_seed: 11,
        resolve: &no_names,
        is_local: &|ip| ip.is_loopback(),
    }
}

/// Validates a plan file.
fn plan_of(text: &str) -> Result<Plan, PlanError> {
    Draft::from_toml(text).expect("a plan file").validate(&host())
}

/// Validates a plan file that has a server and a query file already.
fn with(more: &str) -> Result<Plan, PlanError> {
    plan_of(&format!("server = \"127.0.0.1\"\nqueries = \"q.txt\"\n{more}"))
}

fn good(more: &str) -> Plan {
    with(more).expect("a good plan")
}

fn refused(more: &str) -> PlanError {
    with(more).expect_err("a broken rule")
}

#[test]
fn each_option_has_its_documented_default() {
    let plan = good("");
    assert_eq!(plan.target.address, "127.0.0.1:53".parse().expect("an address"));
    assert_eq!(plan.source, QuerySource::File(PathBuf::from("/home/me/q.txt")));
    assert_eq!((plan.transport, plan.bad_lines), (TransportKind::Udp, BadLines::SkipFew));
    assert_eq!(plan.form, QueryForm::default());
    assert_eq!((plan.load, plan.shape), (Load::Closed { outstanding: 100 }, None));
    assert_eq!(plan.stop, Stop { passes: Some(1), ..Stop::default() });
    assert_eq!((plan.timeout_ns, plan.interval_ns), (5 * SECOND, SECOND));
    assert_eq!((plan.workers, plan.clients, plan.seed), (2, 4, 11));
    assert_eq!((plan.local_address, plan.local_ports, plan.receive_buffer_bytes), (None, None, 4 << 20));
    assert!(!plan.send_only && plan.notes.is_empty());
}

#[test]
fn a_server_and_queries_are_needed() {
    assert_eq!(plan_of("queries = \"q\"").err(), Some(PlanError::NoServer));
    assert_eq!(plan_of("server = \"127.0.0.1\"").err(), Some(PlanError::NoQueries));
    assert_eq!(plan_of("server = \"127.0.0.1\"\nask = []").err(), Some(PlanError::NoQueries));
    assert_eq!(refused("ask = [\"a\"]"), PlanError::TwoSources { first: "queries", second: "ask" });
}

#[test]
fn queries_come_from_a_file_standard_input_or_names() {
    let source =
        |text: &str| plan_of(&format!("server = \"::1\"\n{text}")).map(|plan| (plan.source, plan.stop));
    let one_pass = Stop { passes: Some(1), ..Stop::default() };
    let ten_seconds = Stop { duration_ns: Some(10 * SECOND), ..Stop::default() };
    assert_eq!(source("queries = \"/q\""), Ok((QuerySource::File("/q".into()), one_pass)));
    assert_eq!(source("queries = \"-\""), Ok((QuerySource::Stdin, one_pass)));
    assert_eq!(source("ask = [\"a MX\"]"), Ok((QuerySource::Given(vec!["a MX".to_owned()]), ten_seconds)));
}

#[test]
fn a_load_has_one_shape_and_each_shape_may_have_a_window() {
    for shape in ["rate = 5\nfor = 1", "ramp = \"1..5\"\nover = 1", "[[piece]]\nrate = 1\nfor = 1"] {
        assert_eq!(good(shape).load.window(), None);
        let plan = good(&format!("outstanding = 5\n{shape}"));
        assert!(plan.load.window() == Some(5) && plan.load.curve().is_some() && plan.shape.is_some());
        assert_eq!(refused(&format!("outstanding = 0\n{shape}")), PlanError::Zero { option: "outstanding" });
    }
    let options = ["rate = 5", "ramp = \"1..5\"", "stair = \"1..5\"", "burst = \"1..5\""];
    for (i, first) in options.iter().enumerate() {
        for second in &options[i + 1..] {
            assert!(matches!(refused(&format!("{first}\n{second}")), PlanError::TwoLoads { .. }));
        }
        let pieces = "[[piece]]\nrate = 1\nfor = 1";
        assert!(matches!(
            refused(&format!("{first}\n{pieces}")),
            PlanError::TwoLoads { second: "piece", .. }
        ));
    }
}

#[test]
fn a_rate_of_zero_is_refused_by_name() {
    assert_eq!(refused("rate = 0"), PlanError::Zero { option: "rate" });
    assert_eq!(refused("rate = 0").to_string(), "--rate must be above 0");
    assert_eq!(refused("ramp = \"0..0\"\nover = 5"), PlanError::Curve(CurveError::NoQueries));
}

#[test]
fn a_constant_rate_ends_by_time_count_or_passes() {
    let total = |more: &str| match good(&format!("rate = \"1k\"\n{more}")).load {
        Load::Open { curve, .. } => curve.total(),
        Load::Closed { .. } | Load::Limited { .. } | Load::OfSource => panic!("not a rate"),
    };
    assert_eq!(total("for = 3"), Some(3000));
    assert_eq!(total("count = \"5k\""), None);
    assert_eq!(total(""), None);
    assert_eq!(good("rate = 5").stop, Stop { passes: Some(1), ..Stop::default() });
    assert_eq!(good("rate = 5\ncount = \"5k\"").stop, Stop { count: Some(5000), ..Stop::default() });
    assert_eq!(refused("rate = \"2G\""), PlanError::Curve(CurveError::Rate(2e9)));
}

#[test]
fn nothing_may_end_a_run_before_it_starts() {
    for (text, option) in [("for = 0", "for"), ("count = 0", "count"), ("passes = 0", "passes")] {
        assert_eq!(refused(text), PlanError::Zero { option });
    }
}

#[test]
fn the_number_of_queries_is_the_smaller_of_count_and_passes() {
    let limit = |count, passes| Stop { duration_ns: None, count, passes }.query_limit(10);
    assert_eq!(limit(None, None), None);
    assert_eq!(limit(Some(25), None), Some(25));
    assert_eq!(limit(None, Some(2)), Some(20));
    assert_eq!((limit(Some(25), Some(2)), limit(Some(15), Some(2))), (Some(20), Some(15)));
    assert_eq!(limit(None, Some(u64::MAX)), Some(u64::MAX));
}

#[test]
fn each_shape_needs_its_parts() {
    let cases = [
        ("ramp = \"0..5\"", "ramp", "over"),
        ("stair = \"1..5\"\nhold = 1", "stair", "step"),
        ("stair = \"1..5\"\nstep = 1", "stair", "hold"),
        ("burst = \"1..5\"\nhold = 1\nfor = 9", "burst", "every"),
        ("burst = \"1..5\"\nevery = 3\nfor = 9", "burst", "hold"),
        ("burst = \"1..5\"\nevery = 3\nhold = 1", "burst", "for"),
    ];
    for (text, load, missing) in cases {
        match refused(text) {
            PlanError::Incomplete { load: l, missing: m, .. } => assert_eq!((l, m), (load, missing)),
            other => panic!("{text}: {other:?}"),
        }
    }
    for (text, option) in
        [("ramp = \"0..5\"\nover = 0", "over"), ("stair = \"1..5\"\nstep = 1\nhold = 0", "hold")]
    {
        assert_eq!(refused(text), PlanError::Zero { option });
    }
    assert_eq!(refused("stair = \"1..5\"\nstep = 0\nhold = 1"), PlanError::Curve(CurveError::NoStep));
    assert_eq!(
        refused("burst = \"1..5\"\nevery = 1\nhold = 1\nfor = 9"),
        PlanError::Curve(CurveError::NoGap)
    );
    assert_eq!(refused("piece = []"), PlanError::Curve(CurveError::NoPieces));
}

#[test]
fn an_option_of_another_load_is_refused() {
    let cases = [
        ("over = 5", "over"),
        ("rate = 1\nstep = 5", "step"),
        ("every = 5", "every"),
        ("outstanding = 1\nhold = 5", "hold"),
        ("ramp = \"1..2\"\nover = 1\nstep = 1", "step"),
    ];
    for (text, want) in cases {
        assert!(matches!(refused(text), PlanError::Unusable { option, .. } if option == want), "{text}");
    }
}

#[test]
fn values_that_cannot_be_read_name_their_option() {
    let cases = [
        ("rate = \"fast\"", "--rate: `fast` is not a rate"),
        ("ramp = \"5k\"\nover = 1", "--ramp: `5k` is not a range"),
        ("timeout = \"soon\"", "--timeout: `soon` is not a duration"),
        ("count = 1.5", "--count: `1.5` is not a count"),
        ("receive-buffer = \"big\"", "--receive-buffer: `big` is not a size"),
        ("class = \"X\"", "--class: `X` is not a class"),
        ("seed = -1", "--seed: `-1` is not a whole number"),
        ("local-address = \"here\"", "--local-address: `here` is not an address"),
        ("[[piece]]\nrate = \"x\"\nfor = 1", "--piece: `x` is not a rate"),
    ];
    for (text, start) in cases {
        let message = refused(text).to_string();
        assert!(message.starts_with(start), "{message}");
    }
}

#[test]
fn times_and_sizes_have_limits() {
    for (option, low, high) in [("timeout", "1ms", "600s"), ("interval", "10ms", "1h")] {
        for value in [low, high] {
            assert!(with(&format!("{option} = \"{value}\"")).is_ok(), "{option} {value}");
        }
    }
    for text in
        ["timeout = \"999us\"", "timeout = 601", "interval = \"9ms\"", "interval = \"61m\"", "timeout = 0"]
    {
        assert!(matches!(refused(text), PlanError::OutOfRange { .. }), "{text}");
    }
    for text in ["receive-buffer = 0", "receive-buffer = \"5G\"", "edns-size = 511", "clients = 1048577"] {
        assert!(matches!(refused(text), PlanError::OutOfRange { .. }), "{text}");
    }
    assert_eq!(good("receive-buffer = 1").receive_buffer_bytes, 1);
}

#[test]
fn the_form_of_the_query_is_as_given() {
    let plan = good(
        "recursion-desired = false\nchecking-disabled = true\nauthentic-data = true\n\
                     dnssec-ok = true\nedns-size = 4096\nedns-version = 1\nnsid = true\n\
                     class = \"ch\"",
    );
    let want = QueryForm {
        recursion_desired: false,
        checking_disabled: true,
        authentic_data: true,
        dnssec_ok: true,
        edns_size: Some(4096),
        edns_version: 1,
        nsid: true,
        options: EdnsOptions::default(),
        class: 3,
    };
    assert_eq!(plan.form, want);
}

#[test]
fn every_worker_has_a_socket_and_in_a_closed_loop_a_query() {
    let threads = |text: &str| {
        let plan = good(text);
        (plan.workers, plan.clients, plan.notes.len())
    };
    // A server on this host has two of four CPUs for itself.
    assert_eq!(threads(""), (2, 4, 0));
    assert_eq!(threads("clients = 2"), (2, 2, 0));
    assert_eq!(threads("clients = 50"), (2, 50, 0));
    assert_eq!(threads("workers = 8\nclients = 3"), (3, 3, 1));
    assert_eq!(threads("workers = 8\noutstanding = 2"), (2, 2, 1));
    assert_eq!(threads("workers = 8\nrate = 5\noutstanding = 2"), (2, 2, 1));
    assert_eq!(threads("workers = 8\noutstanding = 2\nclients = 5"), (2, 5, 1));
    assert_eq!(threads("workers = 8\nrate = 1"), (8, 8, 0));
    assert_eq!(refused("workers = 0"), PlanError::Zero { option: "workers" });
    assert_eq!(refused("clients = 0"), PlanError::Zero { option: "clients" });
    assert_eq!(refused("outstanding = 0"), PlanError::Zero { option: "outstanding" });
    assert!(good("workers = 8\nclients = 3").notes[0].to_string().contains("3 workers instead of 8"));
}

#[test]
fn queries_are_grouped_by_length_only_where_batches_are_expected() {
    assert!(good("outstanding = 100").groups_by_length());
    assert!(!good("rate = 50000").groups_by_length());
    assert!(good("rate = 100000").groups_by_length());
    assert!(good("ramp = \"0..200k\"\nover = 10").groups_by_length());
    assert!(!good("outstanding = 100\nkeep-order = true").groups_by_length());
}

#[test]
fn more_outstanding_than_ids_is_refused_with_the_needed_sockets() {
    assert!(with("clients = 2\noutstanding = 131072").is_ok());
    let error = refused("clients = 2\noutstanding = 131073");
    assert_eq!(error, PlanError::TooManyOutstanding { outstanding: 131_073, clients: 2, needed: 4 });
    assert!(error.to_string().contains("--clients 4"));
    assert!(with("clients = 4\noutstanding = 131073").is_ok());
    assert!(with("workers = 1\nclients = 3\noutstanding = 131073").is_ok());
}

#[test]
fn local_ports_are_a_range_with_one_port_per_socket() {
    let ports = |text: &str| good(&format!("clients = 2\nlocal-ports = {text}")).local_ports;
    let want = Some(PortRange { first: 20000, last: 29999 });
    assert_eq!(ports("\"20000..29999\""), want);
    assert_eq!(ports("\"20000-29999\""), want);
    assert_eq!(good("clients = 1\nlocal-ports = 5000").local_ports.map(|range| range.count()), Some(1));
    assert_eq!(
        refused("clients = 3\nlocal-ports = \"5000..5001\""),
        PlanError::TooFewPorts { ports: "5000..5001".to_owned(), held: 2, clients: 3 }
    );
    for text in ["0..5", "5..4", "x", "1..70000", ""] {
        let error = refused(&format!("local-ports = \"{text}\""));
        assert!(matches!(error, PlanError::Value { option: "local-ports", .. }), "{text}");
    }
}

#[test]
fn families_must_match() {
    assert!(matches!(refused("family = \"v6\""), PlanError::WrongFamily { wanted: Family::V6, .. }));
    assert!(matches!(refused("local-address = \"::1\""), PlanError::WrongFamily { wanted: Family::V6, .. }));
    assert!(matches!(
        refused("local-address = \"127.0.0.1\"\nfamily = \"v6\""),
        PlanError::LocalFamily { family: Family::V6, .. }
    ));
    assert_eq!(good("local-address = \"127.0.0.9\"").local_address, "127.0.0.9".parse().ok());
}

#[test]
fn a_public_server_needs_permission() {
    let plan = |word: &str| plan_of(&format!("server = \"9.9.9.9\"\nqueries = \"q\"\n{word}"));
    let error = plan("").expect_err("a public server");
    assert_eq!(error, PlanError::MayNotLoad { address: "9.9.9.9".parse().expect("an address") });
    assert!(error.to_string().contains("--i-may-load-this-server"));
    assert_eq!(plan("i-may-load-this-server = false").err(), Some(error));
    assert!(plan("i-may-load-this-server = true").is_ok());
}

#[test]
fn a_name_is_looked_up_only_after_all_other_checks() {
    let never = |_: &str, _: u16| -> Result<Vec<SocketAddr>, String> { panic!("asked the network") };
    let draft = Draft::from_toml("server = \"name\"\nqueries = \"q\"\ntimeout = 0").expect("a plan file");
    assert!(matches!(draft.validate(&Host { resolve: &never, ..host() }), Err(PlanError::OutOfRange { .. })));
    let known = |_: &str, port: u16| Ok(vec![SocketAddr::from(([127, 0, 0, 7], port))]);
    let draft = Draft::from_toml("server = \"name:99\"\nqueries = \"q\"").expect("a plan file");
    let target = draft.validate(&Host { resolve: &known, ..host() }).map(|plan| plan.target);
    let address = "127.0.0.7:99".parse().expect("an address");
    assert_eq!(target, Ok(Target { asked: "name".to_owned(), address }));
}

#[test]
fn send_only_has_a_rate_or_floods_and_has_no_window() {
    let flood = good("send-only = true");
    assert!(flood.send_only && matches!(flood.load, Load::Closed { .. }));
    assert_eq!(flood.to_draft().outstanding, None, "so that it can be played again");
    let window = refused("send-only = true\noutstanding = 9").to_string();
    assert!(
        window.starts_with("--send-only does not wait for responses, so --outstanding has no effect"),
        "{window}"
    );
    assert!(good("send-only = true\nrate = 9").send_only);
}

#[test]
fn a_time_limit_ends_a_longer_shape() {
    let load = good("ramp = \"0..100\"\nover = 10\nfor = 5").load;
    let Some(curve) = load.curve() else { panic!("not a ramp") };
    assert_eq!((curve.duration_ns(), curve.total()), (Some(5 * SECOND), Some(125)));
}

#[test]
fn a_plan_is_unchanged_after_writing_and_reading_it() {
    let plans = [
        "",
        "rate = \"2k\"\noutstanding = 7",
        "outstanding = 7\ncount = \"1M\"\nname = \"n\"\nnote = \"two\\nlines\"",
        "rate = \"33.3k\"\nfor = \"1.5s\"\nsend-only = true",
        "rate = 0.1\npasses = 3\nstrict = true\nedns-size = 1400\nnsid = true\nclass = \"CLASS77\"",
        "ramp = \"0..100k\"\nover = \"60s\"",
        "ramp = \"9..1\"\nover = \"60s\"\nhold = \"250us\"\ncount = 5",
        "stair = \"2k..25k\"\nstep = \"1k\"\nhold = \"60s\"",
        "burst = \"0..50k\"\nevery = \"10s\"\nhold = \"1s\"\nfor = \"1h\"",
        "workers = 8\nclients = 3\nlocal-ports = \"9000-9009\"\nlocal-address = \"127.0.0.3\"\nport = 5353",
        "timeout = \"750ms\"\ninterval = \"100ms\"\nreceive-buffer = 1000\nseed = \"18446744073709551615\"",
        "for = \"3s\"\n[[piece]]\nrate = \"0..10k\"\nfor = \"2s\"\n[[piece]]\nrate = 0\nfor = \"7ns\"\n\
         [[piece]]\nrate = 1234.5\nfor = \"10s\"\nlabel = \"soak\"",
    ];
    let texts = plans.map(|more| format!("server = \"127.0.0.1\"\nqueries = \"q.txt\"\n{more}"));
    let others = [
        "server = \"[2001:db8::1]:54\"\nfamily = \"v6\"\nask = [\"a MX\", \"b\"]".to_owned(),
        "server = \"192.0.2.9\"\nqueries = \"-\"".to_owned(),
    ];
    for text in texts.iter().chain(&others) {
        let mut plan = plan_of(text).expect(text);
        let file = plan.to_draft().to_toml().expect(text);
        // A later run on another host: other CPUs, folder and seed.
        let later = Host { cores: 64, working_dir: Path::new("/elsewhere"), fresh_seed: 99, ..host() };
        let again = Draft::from_toml(&file).expect(&file).validate(&later).expect(&file);
        // Changes are reported only in the run whose options were changed.
        plan.notes.clear();
        plan.usual_workers = None;
        assert_eq!(again, plan, "{file}");
        assert_eq!(again.to_draft().to_toml().as_ref(), Ok(&file));
    }
}

#[test]
fn a_shape_is_printed_as_a_short_phrase() {
    let shown = |text: &str| good(text).shape.as_ref().map(Shape::to_string);
    let cases = [
        ("rate = 50000\nfor = 30", "constant 50k qps for 30s"),
        ("ramp = \"0..100k\"\nover = 60", "ramp 0..100k qps over 1m"),
        ("stair = \"2k..25k\"\nstep = \"1k\"\nhold = 5", "stair 2k..25k qps, step 1k, hold 5s"),
        (
            "burst = \"1k..5k\"\nevery = 10\nhold = 1\nfor = 90",
            "burst 1k..5k qps every 10s, hold 1s, for 90s",
        ),
        ("[[piece]]\nrate = 5\nfor = 2", "1 piece, 2s"),
    ];
    for (text, want) in cases {
        assert_eq!(shown(text).as_deref(), Some(want));
    }
}

#[test]
fn af_xdp_has_many_ports_and_as_many_workers_as_the_interface_has_queues() {
    let plan = good("backend = \"xdp\"");
    assert_eq!((plan.workers, plan.clients, plan.pin), (4, 256, true));
    assert!(plan.backend.xdp().is_some_and(|xdp| xdp.fits_workers && !xdp.or_sockets));
    let plan = good("backend = \"auto\"\nworkers = 2\nclients = 2\npin = false");
    assert_eq!((plan.workers, plan.clients, plan.pin), (2, 2, false));
    assert!(plan.backend.xdp().is_some_and(|xdp| !xdp.fits_workers && xdp.or_sockets));
    // Each address of a prefix has the same ports, so one is enough.
    good("backend = \"xdp\"\nlocal-ports = 9000\nsource-prefix = \"127.0.0.0/24\"");
    assert!(matches!(refused("backend = \"xdp\"\nlocal-ports = 9000"), PlanError::TooFewPorts { .. }));
    let both = "backend = \"xdp\"\nlocal-address = \"127.0.0.1\"\nsource-prefix = \"127.0.0.0/24\"";
    assert!(
        refused(both)
            .to_string()
            .starts_with("--local-address and --source-prefix both set the source address")
    );
    let family = refused("backend = \"xdp\"\nsource-prefix = \"fd00::/64\"");
    assert!(matches!(family, PlanError::WrongFamily { wanted: Family::V6, .. }));
}

#[test]
fn a_plan_of_af_xdp_can_be_written_read_and_changed_to_sockets() {
    let text = "backend = \"xdp\"\ninterface = \"eth0\"\nnext-hop = \"02:00:00:00:00:01\"\nvlan = 7\n\
                source-prefix = \"10.0.0.0/8\"\nxdp-mode = \"native\"\nxdp-copy = \"zero-copy\"\nworkers = 1";
    let plan = good(&text.replace("10.0.0.0/8", "127.0.0.0/8"));
    let again = plan.to_draft().validate(&host()).expect("its own plan");
    assert_eq!(again.backend, plan.backend);
    let draft =
        Draft::from_toml(&format!("server = \"127.0.0.1\"\nqueries = \"q\"\n{text}")).expect("a file");
    assert_eq!(draft.by_sockets().validate(&host()).map(|plan| plan.backend), Ok(Backend::Sockets));
}

#[test]
fn a_percentile_that_can_never_have_enough_queries_is_refused_with_what_it_needs() {
    let told = |more: &str| refused(more).to_string();
    assert_eq!(
        told("rate = 1000\nfor = \"2s\"\nexpect = [\"loss<1%\", \"p99.9<5ms\"]"),
        "--expect 'p99.9<5ms': p99.9 needs 10,000 queries, and the run has 2,000 at the most: make it longer, or use a \
         lower percentile"
    );
    assert!(told("count = 999\nexpect = [\"service.p99<5ms\"]").contains("the run has 999 at the most"));
    assert_eq!(
        told("rate = 200\nfor = \"60s\"\nstop-when = [\"p99>5ms for 3s\"]"),
        "--stop-when 'p99>5ms': p99 needs 1,000 queries, and an interval of 1s has 200 at the most: use a longer \
         --interval, or use a lower percentile"
    );
    let each = "expect-each = [\"p99<5ms\"]";
    let stair = told(&format!("stair = \"500..1500\"\nstep = 500\nhold = \"1s\"\n{each}"));
    assert!(stair.contains("step `500` has 500 at the most: make the steps longer"), "{stair}");
    let ramp = told(&format!("ramp = \"0..10k\"\nover = \"60s\"\n{each}"));
    assert!(ramp.contains("the interval from 0s to 1s has") && ramp.contains("longer --interval"), "{ramp}");
    assert!(told("outstanding = 5\nrate-limit = 90\nfor = \"10s\"\nexpect = [\"p99<1s\"]").contains("900"));
}

#[test]
fn a_percentile_that_may_have_enough_queries_is_not_refused() {
    for more in [
        "rate = 1000\nfor = \"1s\"\nexpect = [\"p99<5ms\"]\nstop-when = [\"p99>5ms\"]",
        "rate = 1000\nfor = \"2500ms\"\nexpect-each = [\"p99<5ms\"]",
        "outstanding = 1\nfor = \"1s\"\nexpect = [\"p99.9<5ms\"]\nexpect-each = [\"p99.9<5ms\"]",
        "rate = 100\ncount = 20\nexpect = [\"p50<5ms\", \"max<5ms\", \"p100<5ms\"]",
        "stair = \"500..1500\"\nstep = 500\nhold = \"2s\"\nexpect-each = [\"p99<5ms\"]",
        // Nothing is due in a pause.
        "burst = \"0..5000\"\nevery = \"2s\"\nhold = \"1s\"\nfor = \"6s\"\nexpect-each = [\"p99<5ms\"]",
    ] {
        good(more);
    }
}

#[test]
fn the_queries_of_a_pass_are_counted_when_they_are_known() {
    let plan = good("expect = [\"p99<5ms\"]");
    assert!(plan.refuse_too_few(Some(1_000)).is_ok());
    let told = plan.refuse_too_few(Some(999)).unwrap_err().to_string();
    assert!(told.contains("p99 needs 1,000 queries, and the run has 999 at the most"), "{told}");
}
