//! Runs over AF_XDP on a cable between two network namespaces: the program asks in the near one, what answers
//! is in the far one.
//!
//! | module | holds the program to |
//! |---|---|
//! | [`truth`] | figures that the other end knows |
//! | [`refusals`] | a clear message where AF_XDP cannot be had, and nothing left behind |
//! | [`faults`] | what happens to the interface in the middle of a run |

mod faults;
mod refusals;
mod truth;

use std::net::{IpAddr, SocketAddr};

use dnsdyno_lab::{Need, VethPair, require};
use dnsdyno_responder::{Config, Faults, Responder, Rule, Running};

use crate::support::{Ran, Started, Workplace};

/// A cable and a place to work; `None` (said on standard error) without the right to make one.
fn cable(queues: u32) -> Option<(Workplace, VethPair)> {
    // The turn first: no other test loads the host while there is a cable.
    require(&[Need::Root]).then(|| (Workplace::new(), VethPair::new(queues).unwrap()))
}

/// A responder at the far end.
fn respond(pair: &VethPair, address: IpAddr, faults: Faults) -> Running {
    respond_with(pair, Config { listen: SocketAddr::new(address, 0), faults, ..Config::default() })
}

/// One that answers with messages of this size.
fn respond_at_length(pair: &VethPair, bytes: u16) -> Running {
    let listen = SocketAddr::new(pair.far().ipv4.into(), 0);
    respond_with(pair, Config { listen, rule: Rule::FixedSize { bytes }, ..Config::default() })
}

fn respond_with(pair: &VethPair, config: Config) -> Running {
    pair.far().enter(|| Responder::start(config).unwrap_or_else(|error| panic!("{error}"))).unwrap()
}

/// Starts a run at the near end; what it asks, and where it keeps its record, is always the same.
fn start<'a>(work: &'a Workplace, pair: &VethPair, words: &str) -> Started<'a> {
    work.start_in(pair.near(), &format!("run -a www.example -a mail.example/AAAA --quiet -o run {words}"))
}

fn run(work: &Workplace, pair: &VethPair, words: &str) -> Ran {
    start(work, pair, words).wait()
}

/// Nothing of ours is on the interface, and our ports are free.
#[track_caller]
fn nothing_is_left(pair: &VethPair) {
    let link = pair.near().ip(&["-d", "link", "show", "near"]).unwrap();
    assert!(!link.contains("xdp"), "{link}");
    let first = pair.near().enter(|| std::net::UdpSocket::bind((pair.near().ipv4, FIRST_PORT))).unwrap();
    assert!(first.is_ok(), "{first:?}");
}

/// The first port that a run takes where it has the choice.
const FIRST_PORT: u16 = 20_000;
