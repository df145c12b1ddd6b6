//! Packets that an interface receives and drops before any socket sees them: counted as the kernel counts them, and
//! told where they are a part of the loss.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use dnsdyno_lab::{Namespace, Need, VethPair, require};
use dnsdyno_measure::Warning;
use dnsdyno_responder::{Config, Responder};

use crate::support::{Workplace, has_program};

/// Gives one of ten responses a type that no protocol takes: the interface that receives it drops it.
const STRANGE: &str = "add table netdev strange; \
                       add chain netdev strange out { type filter hook egress device far priority 0; }; \
                       add rule netdev strange out udp sport 1024-65535 numgen inc mod 10 == 3 ether type set 0x88b5";

/// Whether the kernel takes the rules: for what is sent it does since Linux 5.16, where it was built so.
fn nft(far: &Namespace, rules: &str) -> bool {
    let words = ["netns", "exec", far.name(), "nft", rules];
    Command::new("ip").args(words).status().unwrap().success()
}

fn received_and_dropped(near: &Namespace) -> u64 {
    let read = || fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let text = near.enter(read).unwrap();
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("near:")).unwrap();
    line.split_whitespace().nth(3).unwrap().parse().unwrap()
}

#[test]
fn responses_that_the_interface_drops_are_counted_as_the_kernel_does_and_put_the_loss_in_doubt() {
    if !require(&[Need::Root]) || !has_program("nft") {
        return;
    }
    let work = Workplace::new();
    let pair = VethPair::new(1).unwrap();
    let listen = SocketAddr::new(pair.far().ipv4.into(), 0);
    let server =
        pair.far().enter(|| Responder::start(Config { listen, ..Config::default() })).unwrap().unwrap();
    let run = |folder: &str| {
        let load = "--rate 1k --for 2s --timeout 500ms";
        let words = format!("run -s {} --ask www.example {load} -o {folder}", server.address());
        work.start_in(pair.near(), &words).wait().completes();
        work.record(folder)
    };
    let is_told = |warnings: &[Warning]| warnings.iter().any(|warning| warning.name() == "responses_dropped");

    let quiet = run("quiet");
    assert_eq!((quiet.tally().ends.answered, is_told(&quiet.warnings())), (2_000, false));

    // Each response is a packet of its own for the rule and for the counter.
    pair.far().ip(&["link", "set", "far", "gso_max_segs", "1"]).unwrap();
    if !nft(pair.far(), STRANGE) {
        eprintln!("skipped: nft cannot change what an interface sends");
        return;
    }
    let before = received_and_dropped(pair.near());
    let digest = run("strange");
    let dropped = received_and_dropped(pair.near()) - before;
    let counted = digest.sum.as_ref().unwrap().evidence.interface_receive_drops;
    let lost = digest.tally().ends.timed_out;
    assert!((190..=210).contains(&lost), "{lost} lost");
    // Packets of others, before and after the run.
    assert!(
        (lost - 5..=dropped).contains(&counted) && dropped <= lost + 5,
        "{counted} of {dropped}, {lost} lost"
    );
    assert!(is_told(&digest.warnings()), "{:?}", digest.warnings());
}
