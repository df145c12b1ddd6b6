//! Ranges of source addresses that no interface has: in a network namespace, the server's side counts who asked.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::Value;

use super::replay::capture_of_clients;
use crate::support::{Workplace, may_unshare};

/// A server that counts by source address: what it got, which names, from which ports, and with how many client subnets
/// of the first three octets of the source. It answers each query with its own message, and writes the counts at its
/// end.
const SERVER: &str = r#"
import collections, json, signal, socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
server = socket.socket(family, socket.SOCK_DGRAM)
# SO_RCVBUFFORCE
server.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
server.bind((sys.argv[1], 5300))
seen = collections.defaultdict(lambda: {"queries": 0, "names": [], "ports": [], "subnets": 0})
def end(*_):
    with open(sys.argv[2], "w") as file:
        json.dump(seen, file)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
open(sys.argv[2] + ".ready", "w").close()
while True:
    message, source = server.recvfrom(4096)
    server.sendto(message[:2] + bytes([message[2] | 0x80]) + message[3:], source)
    one = seen[source[0]]
    one["queries"] += 1
    length = message[12]
    name = message[13:13 + length].decode()
    if len(one["names"]) < 1000 and name not in one["names"]:
        one["names"].append(name)
    if source[1] not in one["ports"]:
        one["ports"].append(source[1])
    if family == socket.AF_INET:
        one["subnets"] += message[-7:] == bytes([0, 1, 24, 0]) + socket.inet_aton(source[0])[:3]
"#;

/// Routes to this host.
const ROUTES: &str = "ip link set lo up; ip route add local 10.77.0.0/16 dev lo; \
    ip route add local 10.78.0.0/24 dev lo; ip -6 route add local fd77::/64 dev lo; ";

/// What the server has counted of a source.
#[derive(Debug)]
struct Source {
    queries: u64,
    names: Vec<String>,
    ports: Vec<u64>,
    subnets: u64,
}

/// A run in a namespace with these routes, with the server at this address; what it has counted by source.
fn counted(work: &Workplace, server: &str, run: &str) -> BTreeMap<IpAddr, Source> {
    work.write("server.py", SERVER);
    let at = if server.contains(':') { format!("[{server}]:5300") } else { format!("{server}:5300") };
    let script = format!(
        "{ROUTES} python3 server.py {server} seen.json & server=$!; \
         until [ -e seen.json.ready ]; do kill -0 $server || exit 9; sleep 0.05; done; \
         \"$0\" run -s {at} {run}; code=$?; kill $server; wait $server; rm seen.json.ready; exit $code"
    );
    work.shell_apart("-n", &script).gives(0);
    let seen: Value = serde_json::from_str(&work.read("seen.json")).unwrap();
    let seen = seen.as_object().unwrap().iter().map(|(address, one)| {
        let texts =
            |key: &str| one[key].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned());
        let source = Source {
            queries: one["queries"].as_u64().unwrap(),
            names: texts("names").collect(),
            ports: one["ports"].as_array().unwrap().iter().map(|port| port.as_u64().unwrap()).collect(),
            subnets: one["subnets"].as_u64().unwrap(),
        };
        (address.parse().unwrap(), source)
    });
    seen.collect()
}

/// How many queries each channel has sent, by a trace of all.
fn by_channel(work: &Workplace, trace: &str) -> BTreeMap<u64, u64> {
    let trace: Value = serde_json::from_str(&work.read(trace)).unwrap();
    let mut counts = BTreeMap::new();
    for event in trace["traceEvents"].as_array().unwrap() {
        if let Some(channel) = event["args"]["channel"].as_u64() {
            *counts.entry(channel).or_insert(0) += 1;
        }
    }
    counts
}

#[test]
fn ten_thousand_addresses_of_each_family_send_what_the_trace_says_and_get_their_responses() {
    if !may_unshare("-n") {
        return;
    }
    for (server, network, first) in
        [("127.0.0.1", "10.77.0.0/16", "10.77.0.0"), ("::1", "fd77::/64", "fd77::")]
    {
        let work = Workplace::with_queries();
        let load = "--workers 1 --rate 4k --count 20k --trace 1/1";
        let run = format!("-d q.txt --source-prefix {network} -c 10000 {load} -o run");
        let seen = counted(&work, server, &run);
        let digest = work.record("run");
        assert_eq!((digest.tally().ends.answered, digest.tally().scheduled), (20_000, 20_000), "{server}");
        let first: IpAddr = first.parse().unwrap();
        let expected = by_channel(&work, "run/trace.json").into_iter().map(|(channel, queries)| {
            let address: IpAddr = match first {
                IpAddr::V4(first) => std::net::Ipv4Addr::from_bits(first.to_bits() + channel as u32).into(),
                IpAddr::V6(first) => {
                    std::net::Ipv6Addr::from_bits(first.to_bits() + u128::from(channel)).into()
                }
            };
            (address, queries)
        });
        let expected: BTreeMap<IpAddr, u64> = expected.collect();
        let of_server: BTreeMap<IpAddr, u64> =
            seen.iter().map(|(address, one)| (*address, one.queries)).collect();
        assert_eq!(of_server, expected, "{server}");
        // In turn: at this rate few are sent together, where the host has a CPU for them.
        assert!(of_server.len() > 1_000, "{server}: {}", of_server.len());
    }
}

#[test]
fn networks_have_their_weights_to_the_unit_and_each_subnet_is_that_of_the_source() {
    if !may_unshare("-n") {
        return;
    }
    let work = Workplace::with_queries();
    let sources = "--sources 10.77.3.0/30=3,10.78.0.7/32=1 --source-ports 20000-20009 --ecs source";
    let seen = counted(&work, "127.0.0.1", &format!("-d q.txt {sources} -T 1 -q 1 --count 1600 -o run"));
    assert_eq!(work.record("run").tally().ends.answered, 1_600);
    let of_light = &seen[&"10.78.0.7".parse::<IpAddr>().unwrap()];
    assert_eq!(of_light.queries, 400);
    // Six clients on four addresses.
    let heavy: Vec<u64> =
        (0..4).map(|host| seen[&format!("10.77.3.{host}").parse::<IpAddr>().unwrap()].queries).collect();
    assert_eq!((seen.len(), &heavy[..]), (5, &[400, 400, 200, 200][..]));
    for (address, one) in &seen {
        assert_eq!(one.subnets, one.queries, "{address}");
        assert!(one.ports.iter().all(|port| (20_000..20_010).contains(port)), "{address}: {:?}", one.ports);
    }
}

#[test]
fn in_a_replay_each_client_of_the_capture_has_an_address_of_its_own() {
    if !may_unshare("-n") {
        return;
    }
    let work = Workplace::new();
    work.write("traffic.pcap", capture_of_clients(40, 25));
    let seen = counted(&work, "127.0.0.1", "--replay traffic.pcap --source-prefix 10.77.0.0/16 -T 2 -o run");
    assert_eq!(work.record("run").tally().ends.answered, 1_000);
    assert_eq!(seen.len(), 40);
    let mut clients = BTreeMap::new();
    for (address, one) in &seen {
        assert_eq!((one.queries, one.ports.len()), (25, 1), "{address}");
        // The name of a query is its number, which says the client.
        let of = |name: &String| name[1..].parse::<u16>().unwrap() % 40;
        let first = of(&one.names[0]);
        assert!(one.names.iter().all(|name| of(name) == first), "{address}: {:?}", one.names);
        clients.insert(first, *address);
    }
    // Clients are numbered in the order in which they appear.
    let expected = (0..40u16).map(|client| (client, format!("10.77.0.{client}").parse().unwrap()));
    assert_eq!(clients, expected.collect::<BTreeMap<u16, IpAddr>>());
}

#[test]
fn a_network_that_is_not_routed_here_is_told_with_what_to_type() {
    if !may_unshare("-n") {
        return;
    }
    let work = Workplace::with_queries();
    for (server, network, words) in [
        (
            "127.0.0.1",
            "10.99.0.0/16",
            ["cannot send from 10.99.0.0", "`ip route add local 10.99.0.0/16 dev lo`"],
        ),
        ("[::1]", "fd99::/112", ["cannot send from fd99::", "`ip -6 route add local fd99::/112 dev lo`"]),
    ] {
        let run =
            format!("\"$0\" run -s {server} -d q.txt --source-prefix {network} -c 100 --count 10 -o run");
        work.shell_apart("-n", &format!("{ROUTES} {run}")).ends_refused(3, &words);
    }
    // The second half of the network has no route.
    let run = "\"$0\" run -s 127.0.0.1 -d q.txt --source-prefix 10.78.0.0/23 -c 512 --count 10 -o run";
    work.shell_apart("-n", &format!("{ROUTES} {run}")).ends_refused(3, &["cannot send from 10.78.1.255"]);
}
