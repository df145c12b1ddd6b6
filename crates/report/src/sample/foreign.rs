//! Sample runs with text of servers, and with text that acts on a terminal.

use dnsdyno_record::{BackendInfo, Check, Digest, Ended, Event, InterfaceCounts, TlsCheck, XdpInfo};

use super::connected::{mixed, over_doh, over_tcp};
use super::run::{doubtful, second};

/// A run before which the server was asked over two transports.
pub(crate) fn checked() -> Digest {
    let tls = TlsCheck {
        version: "TLS 1.3".into(),
        issuer: "Example CA".into(),
        valid_until: "2027-01-31".into(),
        ..TlsCheck::default()
    };
    let found = Check {
        transport: "dot".into(),
        rcode: Some("NOERROR".into()),
        took_ns: 843_000,
        version: Some("BIND 9.18.28".into()),
        nsid: Some("ns1-ams".into()),
        tls: Some(tls),
        ..Check::default()
    };
    let silent =
        Check { transport: "udp".into(), problem: Some("connection refused".into()), ..Check::default() };
    let mut digest = over_tcp();
    digest.header.checks = vec![found, silent];
    digest
}

/// Sets the title of a terminal, clears it, turns the direction of text, and hides text.
pub(crate) const HOSTILE: &str = "x\u{1b}]0;owned\u{7}\u{1b}[2J\r\n\u{9b}31m\u{202e}\u{200b}\u{e0041}\u{7f}y";

/// Runs with such text wherever a record has text.
pub(crate) fn hostile() -> [Digest; 3] {
    let text = || HOSTILE.to_owned();
    let tls = TlsCheck {
        version: text(),
        cipher_suite: text(),
        alpn: Some(text()),
        subject: text(),
        issuer: text(),
        names: vec![text()],
        valid_until: text(),
    };
    let check = Check {
        transport: text(),
        query: text(),
        rcode: Some(text()),
        version: Some(text()),
        nsid: Some(text()),
        tls: Some(tls),
        ..Check::default()
    };
    let xdp = XdpInfo {
        interface: text(),
        queues: 1,
        mode: text(),
        zero_copy: false,
        source: "192.0.2.1".parse().unwrap(),
        first_port: 1,
        last_port: 2,
        next_hop: text(),
        vlan: None,
        mtu: 1_500,
    };
    let event = Event { at_ns: 0, kind: text(), message: text(), figures: Default::default() };
    [doubtful(), over_doh(), mixed()].map(|mut digest| {
        let header = &mut digest.header;
        (header.target, header.transport, header.load, header.version) = (text(), text(), text(), text());
        (header.name, header.note, header.run_id) = (Some(text()), Some(text()), text());
        header.command_line = vec![text()];
        header.backend = BackendInfo { why: Some(text()), xdp: Some(xdp.clone()) };
        header.checks = vec![check.clone(), Check { problem: Some(text()), ..Check::default() }];
        header.mix.iter_mut().for_each(|member| member.transport = text());
        let failed = Check { transport: text(), problem: Some(text()), ..Check::default() };
        header.checks.push(failed);
        header.phases.iter_mut().for_each(|phase| phase.label = text());
        digest.event(&event);
        let mut digest = with_labels(digest);
        let sum = digest.sum.as_mut().unwrap();
        sum.ended = Ended::Failed { why: text() };
        sum.explanations.iter_mut().for_each(|explanation| explanation.words = text());
        let interface = InterfaceCounts { name: text(), ..InterfaceCounts::default() };
        sum.interface = Some(interface);
        digest
    })
}

/// The same digest with the labels that its header has now.
fn with_labels(digest: Digest) -> Digest {
    let mut again = Digest::new(digest.header.clone());
    let seconds = digest.rows().len() as u64 * 2;
    (0..seconds).for_each(|i| again.interval(&second(i, 2_000, 1)));
    digest.events.iter().for_each(|event| again.event(event));
    digest.sum.iter().for_each(|sum| again.sum(sum));
    again
}
