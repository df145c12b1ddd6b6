//! Link-local addresses, which mean something with their interface only: as the server of each program, as the local
//! address, and as the server of a relay.

use std::net::{SocketAddr, UdpSocket};

use dnsdyno_lab::{Need, VethPair, require};
use dnsdyno_responder::{Config, Responder, Running};
use rustix::process::Signal;

use crate::support::{Ran, Workplace};

/// A pair of interfaces with link-local addresses, and a responder at the far one.
fn bed() -> Option<(Workplace, VethPair, Running)> {
    if !require(&[Need::Root]) {
        return None;
    }
    let (work, pair) = (Workplace::with_queries(), VethPair::new(1).unwrap());
    for (end, interface, address) in [(pair.near(), "near", NEAR), (pair.far(), "far", FAR)] {
        end.ip(&["addr", "add", &format!("{address}/64"), "dev", interface, "nodad"]).unwrap();
    }
    let listen: SocketAddr = "[::]:0".parse().unwrap();
    let responder =
        pair.far().enter(|| Responder::start(Config { listen, ..Config::default() }).unwrap()).unwrap();
    Some((work, pair, responder))
}

#[test]
fn a_link_local_server_is_loaded_by_each_program() {
    let Some((work, pair, responder)) = bed() else { return };
    let port = responder.address().port();
    let near = |words: &str| -> Ran { work.start_in(pair.near(), words).wait().gives(0) };
    let server = format!("-s {FAR}%near -p {port} -d q.txt");
    for more in ["", "-m tcp", &format!("-a {NEAR}%near")] {
        let out = near(&format!("dnsperf {server} {more}")).stdout;
        assert!(out.contains("(100.00%)") && out.contains(&format!("(to [{FAR}]:{port})")), "{out}");
    }
    let out = near(&format!("resperf {server} -m 50 -r 1 -c 0 -L 100 -P plot")).stdout;
    assert!(out.contains("  Queries completed:    25\n"), "{out}");
    let out = near(&format!("queryperf {server}")).stdout;
    assert!(out.contains("Percentage completed: 100.00%"), "{out}");
    for more in ["", "--transport tcp", &format!("--local-address {NEAR}%near")] {
        near(&format!("run -s [{FAR}%near]:{port} --ask www.example --count 20 --rate 200 --quiet {more}"))
            .gives(0);
    }
}

#[test]
fn a_relay_passes_on_to_a_link_local_server() {
    let Some((work, pair, responder)) = bed() else { return };
    let port = responder.address().port();
    let words = format!("relay --listen 127.0.0.1:{RELAY_PORT} --to [{FAR}%near]:{port} --for 20s");
    let mut relay = work.start_in(pair.near(), &words);
    let is_taken = || pair.near().enter(|| UdpSocket::bind(("127.0.0.1", RELAY_PORT)).is_err()).unwrap();
    relay.until("the relay listens", is_taken);
    let words = format!("run -s 127.0.0.1:{RELAY_PORT} --ask www.example --count 20 --rate 200 --quiet");
    work.start_in(pair.near(), &words).wait().gives(0);
    relay.signal(Signal::INT);
    relay.wait().gives(0);
}

/// Free in a new namespace.
const RELAY_PORT: u16 = 5_399;

const NEAR: &str = "fe80::d:1";
const FAR: &str = "fe80::d:2";
