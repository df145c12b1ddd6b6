//! A cable between two network namespaces, with a responder in the kernel at its far end.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dnsdyno_lab::{Namespace, VethPair};
use dnsdyno_responder::answer::{Reply, Via, answer, cases};
use dnsdyno_responder::book::InKernel;
use dnsdyno_responder::{Config, Rule, Running, XdpConfig, XdpResponder, Zone};
use dnsdyno_sys::interface::Interface;
use dnsdyno_sys::xdp::{Attach, Pass};

pub(crate) const PORT: u16 = 53;

/// The responder answers at the addresses of both families.
pub(crate) fn config(pair: &VethPair, rule: Rule) -> XdpConfig {
    let responder = Config {
        listen: (pair.far().ipv4, PORT).into(),
        listen_also: vec![(pair.far().ipv6, PORT).into()],
        rule,
        ..Config::default()
    };
    XdpConfig { interface: "far".to_owned(), attach: Attach::Native, responder }
}

pub(crate) fn start(pair: &VethPair, config: XdpConfig) -> Running {
    pair.far().enter(|| XdpResponder::start(config)).unwrap().unwrap()
}

/// A program that passes everything: responses of a driver reach only an end with a program.
pub(crate) fn pass(end: &Namespace) -> Pass {
    let attach = || Pass::attach(&Interface::named(end.interface).unwrap(), Attach::Native).unwrap();
    end.enter(attach).unwrap()
}

pub(crate) fn has_program(end: &Namespace) -> bool {
    end.ip(&["link", "show", end.interface]).unwrap().contains("xdp")
}

/// A cable with one socket of each family at the near end.
pub(crate) struct Cable {
    pub(crate) running: Running,
    pub(crate) sockets: [UdpSocket; 2],
    rule: Rule,
    _pass: Pass,
    _pair: VethPair,
}

impl Cable {
    pub(crate) fn new(rule: &Rule) -> Cable {
        Cable::attached(rule, Attach::Native)
    }

    pub(crate) fn attached(rule: &Rule, attach: Attach) -> Cable {
        let pair = VethPair::new(1).unwrap();
        let running = start(&pair, XdpConfig { attach, ..config(&pair, rule.clone()) });
        let socket = |near: IpAddr, far: IpAddr| {
            let socket = pair.near().enter(|| UdpSocket::bind((near, 0)).unwrap()).unwrap();
            socket.connect(SocketAddr::new(far, PORT)).unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            socket
        };
        let sockets = [
            socket(pair.near().ipv4.into(), pair.far().ipv4.into()),
            socket(pair.near().ipv6.into(), pair.far().ipv6.into()),
        ];
        Cable { running, sockets, rule: rule.clone(), _pass: pass(pair.near()), _pair: pair }
    }

    pub(crate) fn in_kernel(&self) -> InKernel {
        self.running.book().in_kernel.unwrap()
    }

    /// Asks over one family; gives what came back and whether the kernel has answered. The answer
    /// must be that of the responder on sockets, to the byte.
    pub(crate) fn ask(&self, family: usize, query: &[u8]) -> (Option<Vec<u8>>, bool) {
        let socket = &self.sockets[family];
        let before = self.running.book();
        socket.send(query).unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        let after = loop {
            let book = self.running.book();
            if book.udp.counts.ended() > before.udp.counts.ended() {
                break book;
            }
            assert!(Instant::now() < deadline, "the query did not come: {}", query.escape_ascii());
        };
        let expected = by_sockets(&self.rule, query);
        // What is not answered has come to its end by now.
        socket.set_nonblocking(expected.is_none()).unwrap();
        let mut buffer = vec![0; 65_535];
        let response = socket.recv(&mut buffer).ok().map(|length| buffer[..length].to_vec());
        assert_eq!(response, expected, "{}", query.escape_ascii());
        let in_kernel = [&before, &after].map(|book| book.in_kernel.unwrap());
        let [answered, passed] = [InKernel::answered, InKernel::passed].map(|of| {
            let [before, after] = in_kernel.map(|did| of(&did));
            after - before
        });
        assert_eq!(answered + passed, 1, "{}", query.escape_ascii());
        assert_eq!(after.udp.counts.received, before.udp.counts.received + 1);
        (response, answered == 1)
    }
}

/// The response of the responder on sockets.
pub(crate) fn by_sockets(rule: &Rule, query: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match answer(rule, query, Via::Udp, &mut out) {
        Reply::Answer { .. } => Some(out),
        Reply::Silence(_) => None,
    }
}

/// The zone of the table of questions; it has a wildcard.
pub(crate) fn zone_with_wildcard() -> Rule {
    let mut rules = cases().into_iter().map(|case| case.rule);
    rules.find(|rule| matches!(rule, Rule::Zone(_))).unwrap()
}

pub(crate) fn zone(text: &str) -> Rule {
    Rule::Zone(Arc::new(Zone::parse(text.as_bytes(), Path::new("the zone"), None).unwrap()))
}
