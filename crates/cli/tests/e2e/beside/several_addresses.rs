//! Servers with several addresses: ours answer from the one that was asked, and one that does not is named.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dnsdyno_lab::{Namespace, Need, VethPair, require};
use rustix::process::Signal;

use crate::support::{Ran, Workplace};

/// Two namespaces; the far one has two addresses of each family, the second ones at the end of each list.
struct Bed {
    work: Workplace,
    pair: VethPair,
}

impl Bed {
    fn new() -> Option<Bed> {
        if !require(&[Need::Root]) {
            return None;
        }
        let bed = Bed { work: Workplace::with_queries(), pair: VethPair::new(1).unwrap() };
        for address in [format!("{SECOND_V4}/24"), format!("{SECOND_V6}/64")] {
            bed.far().ip(&["address", "add", &address, "dev", "far", "nodad"]).unwrap();
        }
        Some(bed)
    }

    fn far(&self) -> &Namespace {
        self.pair.far()
    }

    fn addresses(&self) -> [IpAddr; 4] {
        let of = |text: &str| text.parse().unwrap();
        [self.far().ipv4.into(), of(SECOND_V4), self.far().ipv6.into(), of(SECOND_V6)]
    }

    /// What the program does at the near end.
    fn near(&self, words: &str, code: i32) -> Ran {
        self.work.start_in(self.pair.near(), words).wait().gives(code)
    }

    /// Whether something listens at this port of the far end.
    fn is_taken(&self, port: u16) -> bool {
        self.far().enter(|| UdpSocket::bind(("127.0.0.1", port)).is_err()).unwrap()
    }
}

#[test]
fn responder_and_relay_answer_from_the_address_that_was_asked() {
    let Some(bed) = Bed::new() else { return };
    let respond = format!("respond --listen [::]:{PORT} --doq [::]:{DOQ_PORT} --delay 2ms --for 60s");
    let relay = format!("relay --listen [::]:{RELAY_PORT} --to 127.0.0.1:{PORT} --for 60s");
    // The families apart too: sockets of IPv4 only are told in another way.
    let respond_v4 = format!("respond --listen 0.0.0.0:{V4_PORT} --for 60s");
    let mut started: Vec<_> =
        [respond, relay, respond_v4].iter().map(|words| bed.work.start_in(bed.far(), words)).collect();
    for (process, port) in started.iter_mut().zip([PORT, RELAY_PORT, V4_PORT]) {
        process.until("it listens", || bed.is_taken(port));
    }
    for address in bed.addresses() {
        let ports = [PORT, RELAY_PORT, V4_PORT];
        for port in ports.into_iter().filter(|port| address.is_ipv4() || *port != V4_PORT) {
            let server = SocketAddr::new(address, port);
            bed.near(&format!("run -s {server} --ask www.example --count 300 --rate 3k --quiet"), 0);
        }
        let server = SocketAddr::new(address, DOQ_PORT);
        let words =
            format!("run -s {server} --transport doq --insecure --ask www.example --count 20 --quiet");
        bed.near(&words, 0);
    }
    for process in started {
        process.signal(Signal::INT);
        process.wait().gives(0);
    }
    let starts =
        ["respond --listen 0.0.0.0:0", "respond --listen [::]:0", "relay --listen [::]:0 --to 127.0.0.1:9"];
    for (words, what) in starts.into_iter().zip(["0.0.0.0", "::", "::"]) {
        let said = bed.near(&format!("{words} --for 100ms"), 0).stderr;
        assert!(said.contains(&format!("{what} stands for each")), "{said}");
    }
}

#[test]
fn a_server_that_answers_from_another_address_is_named_and_can_be_loaded() {
    let Some(bed) = Bed::new() else { return };
    let [first, second, ..] = bed.addresses().map(|ip| SocketAddr::new(ip, PORT));
    let sockets = bed.far().enter(|| [first, second].map(|at| UdpSocket::bind(at).unwrap())).unwrap();
    let [asked, answering] = &sockets;
    asked.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut message = [0; 512];
            while !is_over.load(Ordering::Relaxed) {
                let Ok((length, from)) = asked.recv_from(&mut message) else { continue };
                message[2] |= 0x80; // QR: the query becomes a response without records.
                answering.send_to(&message[..length], from).unwrap();
            }
        });
        // A failed assertion must end the thread too.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let words = format!("run -s {first} --ask www.example --count 50 --rate 500 --quiet");
            // With the check before the load, which finds it.
            let checked = bed.pair.near().enter(|| bed.work.checked(&words)).unwrap();
            let said = checked.gives(3).stderr;
            assert!(said.contains(&format!("{first} answers from another address, {second}")), "{said}");
            bed.near(&format!("{words} --any-source"), 0);
            let (ip, port) = (first.ip(), first.port());
            let out = bed.near(&format!("dnsperf -s {ip} -p {port} -d q.txt"), 0).stdout;
            assert!(out.contains("(100.00%)"), "{out}");
            let out = bed.near(&format!("queryperf -s {ip} -p {port} -d q.txt"), 0).stdout;
            assert!(out.contains("Percentage completed: 100.00%"), "{out}");
        }));
        is_over.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

const SECOND_V4: &str = "10.77.0.53";
const SECOND_V6: &str = "fd77::53";

/// Free in a new namespace.
const PORT: u16 = 5_353;
const DOQ_PORT: u16 = 8_853;
const RELAY_PORT: u16 = 5_399;
const V4_PORT: u16 = 5_354;
