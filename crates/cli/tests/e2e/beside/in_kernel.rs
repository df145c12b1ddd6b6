//! `respond --xdp` on a veth pair between two network namespaces: queried by `run`, killed, refused.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use dnsdyno_lab::{Namespace, Need, VethPair, require};
use dnsdyno_sys::interface::Interface;
use dnsdyno_sys::xdp::{Attach, Pass};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{DNSDYNO, Workplace};

const ZONE: &str = "$ORIGIN example.
$TTL 300
@ SOA ns hostmaster 1 2 3 4 60
@ NS ns
ns A 192.0.2.53
www A 192.0.2.80
";

/// The program in a namespace.
fn in_namespace(end: &Namespace, work: &Workplace, words: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", end.name(), DNSDYNO]).args(words.split_whitespace());
    command.current_dir(work.path(""));
    command
}

/// A responder in the kernel at the far end, which listens.
struct Responder(Child);

impl Responder {
    fn start(pair: &VethPair, work: &Workplace, words: &str) -> Responder {
        let mut command = in_namespace(pair.far(), work, words);
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
        assert!(said.contains("answering in the driver of far"), "{said}");
        Responder(child)
    }

    fn end(mut self, signal: Signal) -> bool {
        // `ip netns exec` replaced itself with the program, so this is its process.
        kill_process(Pid::from_child(&self.0), signal).unwrap();
        self.0.wait().unwrap().success()
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn has_program(end: &Namespace) -> bool {
    end.ip(&["link", "show", end.interface]).unwrap().contains("xdp")
}

#[test]
fn a_run_is_answered_in_the_kernel_and_both_sides_count_the_same() {
    if !require(&[Need::Root]) {
        return;
    }
    let (pair, work) = (VethPair::new(1).unwrap(), Workplace::new());
    let pass = || Pass::attach(&Interface::named("near").unwrap(), Attach::Native).unwrap();
    let _pass = pair.near().enter(pass).unwrap();
    work.write("example.zone", ZONE);
    // One name outside the zone, which is passed to the sockets.
    work.write("q.txt", "www.example. A\nno.example. A\nwww.example. MX\nexample.net. A\n");
    let (ipv4, ipv6) = (pair.far().ipv4, pair.far().ipv6);
    let words = format!(
        "respond --xdp --interface far --listen {ipv4}:53 --listen [{ipv6}]:53 --zone example.zone --book book.json"
    );
    let responder = Responder::start(&pair, &work, &words);
    for (server, run) in [(ipv4.to_string(), "run4"), (ipv6.to_string(), "run6")] {
        let words = format!("run --no-check -s {server} -d q.txt --count 4000 --quiet -o {run}");
        let ran = in_namespace(pair.near(), &work, &words).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let tally = work.record(run).tally().clone();
        assert_eq!((tally.scheduled, tally.ends.answered), (4_000, 4_000));
    }
    assert!(responder.end(Signal::INT));
    let book: Value = serde_json::from_str(&work.read("book.json")).unwrap();
    let did = &book["in_kernel"];
    assert_eq!((did["found"].as_u64(), did["nxdomain"].as_u64()), (Some(2_000), Some(2_000)), "{book:#}");
    assert_eq!((did["nodata"].as_u64(), did["passed_name"].as_u64()), (Some(2_000), Some(2_000)), "{book:#}");
    assert_eq!(book["udp"]["counts"]["answered"].as_u64(), Some(8_000));
    assert_eq!(book["udp"]["rcodes"]["NXDOMAIN"].as_u64(), Some(2_000));
    assert_eq!(book["udp"]["hold"]["count"].as_u64(), Some(2_000));
    assert!(!has_program(pair.far()));
}

#[test]
fn no_program_is_left_after_kill_9_and_none_is_replaced() {
    if !require(&[Need::Root]) {
        return;
    }
    let (pair, work) = (VethPair::new(1).unwrap(), Workplace::new());
    let words = format!("respond --xdp --interface far --listen {}:53", pair.far().ipv4);
    let responder = Responder::start(&pair, &work, &words);
    assert!(has_program(pair.far()));
    let second = format!("respond --xdp --interface far --listen {}:54", pair.far().ipv4);
    let refused = in_namespace(pair.far(), &work, &second).output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("another XDP program is attached to far"), "{said}");
    assert!(!responder.end(Signal::KILL));
    assert!(!has_program(pair.far()));
    assert!(Responder::start(&pair, &work, &words).end(Signal::TERM));
    assert!(!has_program(pair.far()));
}

#[test]
fn options_that_the_kernel_does_not_support_are_refused() {
    let work = Workplace::new();
    work.dnsdyno("respond --xdp").gives(2).says(&["--interface"]);
    work.dnsdyno("respond --interface lo").gives(2).says(&["--xdp"]);
    for fault in ["--delay 5ms", "--loss 1%", "--stall 1s..2s", "--wrong-id 1%"] {
        work.dnsdyno(&format!("respond --xdp --interface lo {fault}")).ends_refused(2, &["faults", "--xdp"]);
    }
    work.dnsdyno("respond --xdp --interface lo --size 100").ends_refused(2, &["--size"]);
    work.dnsdyno("respond --xdp --interface lo --listen 0.0.0.0:0").ends_refused(2, &["give the addresses"]);
    work.dnsdyno("respond --xdp --interface no-such-if").ends_refused(3, &["no-such-if", "ip link"]);
}
