//! Which members a draft has: their servers, ports, names, weights and settings.

use super::*;
use crate::plan::{Host, Plan};

/// The plan of a file of queries with these options, on a host that knows two names.
fn plan(more: &str) -> Result<Plan, PlanError> {
    let host = Host {
        cores: 4,
        working_dir: Path::new("/home/me"),
        fresh_seed: 1,
        resolve: &|name, port| match name {
            "one" => Ok(vec![([192, 0, 2, 1], port).into()]),
            "two" => Ok(vec![([192, 0, 2, 2], port).into()]),
            _ => Err("no such name".to_owned()),
        },
        is_local: &|_| false,
    };
    Draft::from_toml(&format!("queries = \"q\"\n{more}")).expect(more).validate(&host)
}

fn good(more: &str) -> Plan {
    let plan = plan(more).unwrap_or_else(|error| panic!("{more}: {error}"));
    let written = plan.to_draft().to_toml().expect("a plan file");
    let again = self::plan(&written.replace("queries = \"/home/me/q\"\n", "")).expect("the same plan");
    assert_eq!((again.mix, again.target), (plan.mix.clone(), plan.target.clone()), "{written}");
    plan
}

fn error(more: &str) -> String {
    plan(more).expect_err(more).to_string()
}

/// Name, address, transport, share in percent.
fn members(plan: &Plan) -> Vec<String> {
    let member = |member: &MixMember| {
        let share = plan.mix.share(member) * 100.0;
        format!("{}: {} {} {share}", member.name, member.target.address, member.transport)
    };
    plan.mix.members.iter().map(member).collect()
}

#[test]
fn one_server_with_one_transport_is_no_mix() {
    for text in ["server = \"one\"", "server = \"one=3\"\ntransport = \"dot\""] {
        assert!(!good(text).mix.is_some(), "{text}");
    }
}

#[test]
fn transports_have_weights_and_encrypted_ones_their_usual_ports() {
    let plan = good("server = \"one:5300\"\nmix = \"udp=60, udp+tcp = 15%,tcp=2.5,dot@8853=2,doh=0.5\"");
    let addresses: Vec<_> = plan.mix.members.iter().map(|member| member.target.address.port()).collect();
    assert_eq!(addresses, [5300, 5300, 5300, 8853, 443]);
    assert_eq!(plan.mix.share(&plan.mix.members[0]), 60.0 / 80.0);
    assert_eq!((plan.transport, plan.mix.members[1].name.as_str()), (TransportKind::Mix, "udp+tcp"));
}

#[test]
fn several_servers_are_members_of_equal_weight_and_keep_the_transport() {
    let plan = good("server = \"one,two:5300\"");
    assert_eq!(members(&plan), ["one: 192.0.2.1:53 udp 50", "two: 192.0.2.2:5300 udp 50"]);
    assert_eq!((plan.transport, plan.target.asked.as_str()), (TransportKind::Udp, "one"));
    assert_eq!((plan.udp_sockets(), plan.total_clients()), (None, 8), "a socket per CPU for each server");
    let dot = good("server = \"one=3,two=1\"\ntransport = \"dot\"");
    assert_eq!(members(&dot), ["one: 192.0.2.1:853 dot 75", "two: 192.0.2.2:853 dot 25"]);
}

#[test]
fn each_server_has_each_transport_of_a_mix() {
    let plan = good("server = \"one,two=3\"\nmix = \"udp=60,dot=40\"");
    let want = [
        "udp one: 192.0.2.1:53 udp 15",
        "dot one: 192.0.2.1:853 dot 10",
        "udp two: 192.0.2.2:53 udp 45",
        "dot two: 192.0.2.2:853 dot 30",
    ];
    assert_eq!(members(&plan), want);
    assert_eq!(plan.mix.servers().count(), 4, "addresses with ports");
}

#[test]
fn members_of_a_plan_file_have_settings_of_their_own_and_else_those_of_the_run() {
    let text = "server = \"one\"\nidle-timeout = \"10s\"\nclients = 100\nworkers = 2\n\
        [[member]]\ntransport = \"tcp\"\nweight = 3\n\
        [[member]]\nname = \"impatient\"\ntransport = \"tcp\"\nidle-timeout = \"1ms\"\nclients = 7\n\
        [[member]]\ntransport = \"dot\"\nresumption = false\nserver = \"two:8853\"\n\
        [[member]]\ntransport = \"doh\"\nhttp-method = \"get\"\nqueries-per-connection = 5";
    let plan = good(text);
    assert_eq!(
        members(&plan),
        [
            "tcp: 192.0.2.1:53 tcp 50",
            "impatient: 192.0.2.1:53 tcp 16.666666666666664",
            "doh: 192.0.2.1:443 doh 16.666666666666664",
            "dot: 192.0.2.2:8853 dot 16.666666666666664",
        ]
    );
    let [tcp, impatient, doh, dot] = &plan.mix.members[..] else { panic!("four members") };
    let idle = |member: &MixMember| member.connections.idle_timeout_ns;
    assert_eq!(
        [tcp, impatient, dot].map(idle),
        [Some(10_000_000_000), Some(1_000_000), Some(10_000_000_000)]
    );
    assert!(tcp.encryption.resumption && !dot.encryption.resumption && doh.encryption.resumption);
    assert_eq!((doh.encryption.http_method, doh.connections.queries_each), (crate::HttpMethod::Get, Some(5)));
    let clients = [tcp, impatient, doh, dot].map(|member| plan.clients_of(member));
    assert_eq!((clients, plan.total_clients()), ([60, 7, 20, 20], 107));
}

#[test]
fn udp_beside_connections_has_a_socket_for_each_worker() {
    let plan = good("server = \"one\"\nmix = \"udp=50,udp+tcp=25,tcp=25\"\nworkers = 2\nclients = 40");
    let clients: Vec<_> = plan.mix.members.iter().map(|member| plan.clients_of(member)).collect();
    assert_eq!((clients, plan.total_clients(), plan.udp_sockets()), (vec![2, 20, 20], 40, Some(4)));
}

#[test]
fn members_that_make_no_sense_are_refused_by_name() {
    let two = |first: &str| format!("server = \"one\"\n[[member]]\n{first}\n[[member]]\ntransport = \"tcp\"");
    for (text, words) in [
        (two("idle-timeout = 1"), "the member `udp`: --idle-timeout is for connections"),
        (two("weight = 0"), "the member `udp`: weight: `0` is not a weight above 0"),
        (two("port = 0"), "the member `udp`: --port must be above 0"),
        (two("clients = 0"), "the member `udp`: --clients must be above 0"),
        (two("server = \"none\""), "the member `udp`: the server `none` has no address"),
        (two("transport = \"tcp\""), "two members have the name `tcp`"),
        (two("transport = \"dot\"\nearly-data = true\nresumption = false"), "the member `dot`: --early-data"),
        (format!("mix = \"udp=1,tcp=1\"\n{}", two("weight = 1")), "--mix and the members of the plan file"),
        (format!("transport = \"tcp\"\n{}", two("weight = 1")), "--transport and the members"),
        ("server = \"one\"\n[[member]]\nweight = 1".to_owned(), "--member is there once"),
        ("[[member]]\nweight = 1".to_owned(), "no server given"),
        ("server = \"one\"\n[[member]]\nserver = \"two\"".to_owned(), "no member uses"),
    ] {
        let error = error(&text);
        assert!(error.contains(words), "{text}: {error}");
    }
    let early = "server = \"one\"\nearly-data = true\n\
        [[member]]\ntransport = \"doq\"\nresumption = false\n[[member]]\ntransport = \"dot\"";
    assert!(error(early).contains("the member `doq`: --early-data cannot be used with --no-resumption"));
}

#[test]
fn a_run_has_at_most_32_members_and_af_xdp_one_server() {
    let many = |count: u8| (1..=count).map(|i| format!("192.0.2.{i}")).collect::<Vec<_>>().join(",");
    assert_eq!(good(&format!("server = \"{}\"", many(32))).mix.members.len(), 32);
    assert!(error(&format!("server = \"{}\"", many(33))).contains("33 members"));
    let both = format!("server = \"{}\"\nmix = \"udp=1,tcp=1\"", many(17));
    assert!(error(&both).contains("34 members"));
    for backend in ["xdp", "auto"] {
        let error = error(&format!("server = \"one,two\"\nbackend = \"{backend}\""));
        assert!(error.contains("--backend") && error.contains("several servers"), "{error}");
    }
}

#[test]
fn a_window_fits_the_message_ids_of_each_server() {
    let window = |outstanding: u32, clients: usize| {
        plan(&format!("server = \"one,two\"\nworkers = 1\noutstanding = {outstanding}\nclients = {clients}"))
    };
    assert!(window(65_536, 2).is_ok());
    let too_many = PlanError::TooManyOutstanding { outstanding: 65_537, clients: 2, needed: 4 };
    assert_eq!(window(65_537, 2).err(), Some(too_many));
    assert!(window(65_537, 4).is_ok());
}

#[test]
fn an_invalid_mix_is_refused_with_the_reason() {
    for (text, reason) in [
        ("udp", "no weight"),
        ("udp=1", "--transport"),
        ("udp=1,udp=2", "twice"),
        ("udp=1,tcp=0", "not a weight"),
        ("udp=1,tcp=inf", "not a weight"),
        ("udp=1,tcp=x", "not a weight"),
        ("udp=1,pigeon=1", "pigeon"),
        ("udp=1,dot@0=1", "not a port"),
        ("udp=1,dot@x=1", "not a port"),
        ("udp=1,mix=1", "mix"),
        ("", "no weight"),
    ] {
        let told = parse(text).expect_err(text);
        assert!(told.contains(reason), "{text}: {told}");
    }
}

#[test]
fn a_client_has_the_same_member_each_time_and_members_their_shares_of_the_clients() {
    let mix = good("server = \"one\"\nmix = \"udp=60,tcp=30,dot=10\"").mix;
    let drawn = |seed| (0..10_000).map(|client| mix.member_of_client(seed, client)).collect::<Vec<_>>();
    let first = drawn(1);
    assert_eq!(first, drawn(1));
    assert_ne!(first, drawn(2));
    for (member, want) in [6_000, 3_000, 1_000].into_iter().enumerate() {
        let have = first.iter().filter(|drawn| usize::from(**drawn) == member).count();
        assert!(have.abs_diff(want) < 200, "{have}, not {want}");
    }
}
