//! Runs over AF_XDP on a veth pair between two network namespaces: the program is in the near one, the responder
//! in the far one.
//!
//! | module | what it tests |
//! |---|---|
//! | [`truth`] | figures compared with those of the other end |
//! | [`refusals`] | a clear message where AF_XDP is not available, and nothing left behind |
//! | [`faults`] | changes of the interface during a run |

mod faults;
mod refusals;
mod truth;

use std::net::{IpAddr, SocketAddr};

use dnsdyno_lab::{Need, VethPair, require};
use dnsdyno_responder::{Config, Faults, Responder, Rule, Running};

use crate::support::{Ran, Started, Workplace};

/// A veth pair and a workplace; `None` (reported on standard error) without the permission to create one.
fn veth_pair(queues: u32) -> Option<(Workplace, VethPair)> {
    // The lock first: no other test sends a load while the pair exists.
    require(&[Need::Root]).then(|| (Workplace::new(), VethPair::new(queues).unwrap()))
}

/// A responder at the far end.
fn respond(pair: &VethPair, address: IpAddr, faults: Faults) -> Running {
    respond_with(pair, Config { listen: SocketAddr::new(address, 0), faults, ..Config::default() })
}

/// A responder with messages of this size.
fn respond_at_length(pair: &VethPair, bytes: u16) -> Running {
    let listen = SocketAddr::new(pair.far().ipv4.into(), 0);
    respond_with(pair, Config { listen, rule: Rule::FixedSize { bytes }, ..Config::default() })
}

fn respond_with(pair: &VethPair, config: Config) -> Running {
    pair.far().enter(|| Responder::start(config).unwrap_or_else(|error| panic!("{error}"))).unwrap()
}

/// Starts a run at the near end; its query and the folder of its record are always the same.
fn start<'a>(work: &'a Workplace, pair: &VethPair, words: &str) -> Started<'a> {
    work.start_in(
        pair.near(),
        &format!("run --ask www.example --ask mail.example/AAAA --quiet -o run {words}"),
    )
}

fn run(work: &Workplace, pair: &VethPair, words: &str) -> Ran {
    start(work, pair, words).wait()
}

/// Checks that no program of ours is on the interface, and that our ports are free.
#[track_caller]
fn nothing_is_left(pair: &VethPair) {
    let link = pair.near().ip(&["-d", "link", "show", "near"]).unwrap();
    assert!(!link.contains("xdp"), "{link}");
    let first = pair.near().enter(|| std::net::UdpSocket::bind((pair.near().ipv4, FIRST_PORT))).unwrap();
    assert!(first.is_ok(), "{first:?}");
}

/// The first port that a run chooses by default.
const FIRST_PORT: u16 = 20_000;
