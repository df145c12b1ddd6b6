//! The replay of captures: what the server receives is what was captured, from as many clients, in their order, and the
//! record has the seconds of the capture.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use dnsdyno_capture::{DnsMessage, MessageWriter, OutputFormat, Protocol};
use dnsdyno_record::{Digest, Ended};
use dnsdyno_responder::{Config, Faults, Responder, Transport};
use dnsdyno_wire::{QueryForm, patch_id, peek};

use crate::support::{Workplace, responder};

const START_UNIX_NS: u64 = 1_700_000_000_000_000_000;
const MS: u64 = 1_000_000;

/// A query of a capture: its instant, client and number, which is its name.
#[derive(Clone, Copy)]
struct Captured {
    at_ns: u64,
    client: u8,
    number: u16,
}

/// Queries of some clients, of which some send much more than others, at instants that are not regular.
fn traffic(queries: u16, clients: u64, over_ns: u64) -> Vec<Captured> {
    let query = |number: u16| {
        let mixed = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let client = (mixed % clients) * (mixed / 7 % clients) / clients;
        let at_ns = u64::from(number) * over_ns / u64::from(queries) + mixed % 50_000;
        Captured { at_ns, client: client as u8, number }
    };
    let mut all: Vec<_> = (0..queries).map(query).collect();
    all.sort_by_key(|query| query.at_ns);
    all
}

fn query_message(number: u16) -> Vec<u8> {
    let mut name = Vec::new();
    dnsdyno_wire::encode_name(format!("n{number}.Example.").as_bytes(), &mut name).unwrap();
    let form = QueryForm {
        dnssec_ok: number.is_multiple_of(3),
        recursion_desired: number.is_multiple_of(2),
        checking_disabled: number.is_multiple_of(5),
        ..QueryForm::default()
    };
    let mut message = Vec::new();
    form.encode(&name, if number.is_multiple_of(4) { 28 } else { 1 }, &mut message);
    patch_id(&mut message, number ^ 0x5A5A);
    message
}

/// The response to a query: with this RCODE, and an address whose last octet is `last`.
fn response(query: &[u8], rcode: u8, last: u8) -> Vec<u8> {
    let question = peek(query).unwrap().question;
    let mut message = query[..12].to_vec();
    (message[2], message[3]) = (message[2] | 0x84, rcode);
    message[6..12].copy_from_slice(&[0, u8::from(rcode == 0), 0, 0, 0, 0]);
    message.extend_from_slice(question);
    if rcode == 0 {
        message.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, last]);
    }
    message
}

fn client_address(client: u8) -> SocketAddr {
    (IpAddr::V4(Ipv4Addr::new(10, 0, 7, client)), 40_000 + u16::from(client)).into()
}

const SERVER: &str = "192.0.2.53:53";

/// A capture of one query, not compressed.
pub(crate) fn smallest_capture() -> Vec<u8> {
    capture(&traffic(1, 1, MS), |_| None)
}

/// A capture of `each` queries of each of these clients, within half a second, without responses.
pub(crate) fn capture_of_clients(clients: u8, each: u16) -> Vec<u8> {
    let query = |number: u16| Captured {
        at_ns: u64::from(number) * 500 * MS / u64::from(each * u16::from(clients)),
        client: (number % u16::from(clients)) as u8,
        number,
    };
    let queries: Vec<Captured> = (0..each * u16::from(clients)).map(query).collect();
    capture(&queries, |_| None)
}

/// A capture of these queries, each followed by the response that `answer` gives.
fn capture(queries: &[Captured], answer: impl Fn(u16) -> Option<Vec<u8>>) -> Vec<u8> {
    capture_at(SERVER.parse().unwrap(), queries, answer)
}

/// The same of another server.
fn capture_at(server: SocketAddr, queries: &[Captured], answer: impl Fn(u16) -> Option<Vec<u8>>) -> Vec<u8> {
    let mut writer = MessageWriter::new(OutputFormat::Pcap, Vec::new()).unwrap();
    for query in queries {
        let (client, message) = (client_address(query.client), query_message(query.number));
        let mut write = |at_ns: u64, source, destination, bytes: &[u8]| {
            let at_unix_ns = START_UNIX_NS + at_ns;
            let protocol = Protocol::Udp;
            writer.write(&DnsMessage { at_unix_ns, protocol, source, destination, bytes }).unwrap();
        };
        write(query.at_ns, client, server, &message);
        if let Some(response) = answer(query.number) {
            write(query.at_ns + 1_000, server, client, &response);
        }
    }
    writer.finish().unwrap().0
}

/// The messages in the order of their arrival, with the address of the client.
type Received = Vec<(SocketAddr, Vec<u8>)>;

/// Queries that a receive buffer of Linux's usual size holds: however late the server reads, it loses none.
const MOST_KEPT: u16 = 250;

/// A server that keeps what it receives, in order, and answers as it is told. Send it at most [`MOST_KEPT`] queries.
struct Keeper {
    address: SocketAddr,
    received: Arc<Mutex<Received>>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Keeper {
    fn start(answer: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + 'static) -> Keeper {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let address = socket.local_addr().unwrap();
        let (received, is_over) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<AtomicBool>::default());
        let (kept, over) = (received.clone(), is_over.clone());
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while !over.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                let query = &buffer[..length];
                kept.lock().unwrap().push((from, query.to_vec()));
                if let Some(response) = answer(query) {
                    socket.send_to(&response, from).unwrap();
                }
            }
        });
        Keeper { address, received, is_over, thread }
    }

    fn stop(self) -> Vec<(SocketAddr, Vec<u8>)> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        std::mem::take(&mut *self.received.lock().unwrap())
    }
}

fn number_of(message: &[u8]) -> u16 {
    let label = &peek(message).unwrap().qname()[1..];
    let digits = label[1..].iter().take_while(|octet| octet.is_ascii_digit());
    digits.fold(0, |number, digit| number * 10 + u16::from(digit - b'0'))
}

fn replayed(digest: &Digest) -> dnsdyno_measure::ReplayCounts {
    digest.sum.as_ref().unwrap().replay.unwrap()
}

#[test]
fn each_client_sends_its_own_queries_in_their_order_and_each_second_has_those_of_the_capture() {
    let work = Workplace::new();
    let traffic = traffic(MOST_KEPT, 20, 2_500 * MS);
    work.write(
        "traffic.pcap",
        capture(&traffic, |number| {
            (number.is_multiple_of(2)).then(|| response(&query_message(number), 0, 1))
        }),
    );
    let server = Keeper::start(|query| Some(response(query, 0, 1)));
    work.dnsdyno(&format!("run -s {} --replay traffic.pcap --quiet -o run", server.address)).gives(0);
    let received = server.stop();
    let digest = work.record("run");
    assert_eq!((digest.tally().ends.answered, received.len()), (250, 250), "{:?}", digest.tally().ends);

    // Each client has a socket of its own, and its queries are sent in their order, unchanged but for the ID.
    let mut by_socket = BTreeMap::<SocketAddr, Vec<u16>>::new();
    for (from, message) in &received {
        let number = number_of(message);
        assert_eq!(message[2..], query_message(number)[2..], "query {number}");
        by_socket.entry(*from).or_default().push(number);
    }
    let mut of_client = BTreeMap::<u8, Vec<u16>>::new();
    traffic.iter().for_each(|query| of_client.entry(query.client).or_default().push(query.number));
    let sorted = |lists: Vec<Vec<u16>>| {
        let mut lists = lists;
        lists.sort();
        lists
    };
    assert_eq!(sorted(by_socket.into_values().collect()), sorted(of_client.clone().into_values().collect()));

    let counts = replayed(&digest);
    assert_eq!((counts.queries, counts.clients, counts.responses), (250, of_client.len() as u64, 125));
    let first_ns = traffic[0].at_ns;
    for interval in work.intervals("run") {
        let in_capture = traffic
            .iter()
            .filter(|query| (interval.from_ns..interval.to_ns).contains(&(query.at_ns - first_ns)));
        assert_eq!(interval.tally.scheduled, in_capture.count() as u64, "from {} ns", interval.from_ns);
    }
    assert_eq!(digest.header.clients, of_client.len() as u32);
    assert_eq!(digest.ended(), Some(&Ended::ByPasses));
    let shown = work.dnsdyno("show run").gives(0).stdout;
    for words in ["replay with the timing of the capture", "capture 250 queries of", "drift"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    work.dnsdyno("run -s 127.0.0.1 --replay traffic.pcap --captured-server 192.0.2.9").gives(2);
}

#[test]
fn over_tcp_and_dot_each_client_has_a_connection_and_in_a_mix_each_client_is_one_member() {
    let work = Workplace::new();
    let traffic = traffic(2_000, 50, 400 * MS);
    let clients = traffic.iter().map(|query| query.client).collect::<BTreeSet<_>>().len() as u64;
    work.write("traffic.pcap", capture(&traffic, |_| None));
    let server = responder(Faults::default());
    work.dnsdyno(&format!("run -s {} -m tcp -d traffic.pcap --quiet -o tcp", server.address())).gives(0);
    assert_eq!(work.record("tcp").tally().ends.answered, 2_000);
    let book = server.stop();
    assert_eq!((book.tcp.connections.accepted, book.tcp.counts.received), (clients, 2_000));

    let dot = vec!["127.0.0.1:0".parse().unwrap()];
    let server = Responder::start(Config { dot, ..Config::default() }).unwrap();
    work.write("ca.pem", server.trust_pem().unwrap());
    let address = server.addresses_of(Transport::Dot)[0];
    work.dnsdyno(&format!("run -s {address} -m dot --ca ca.pem --replay traffic.pcap --quiet -o dot"))
        .gives(0);
    assert_eq!(work.record("dot").tally().ends.answered, 2_000);
    let book = server.stop();
    assert_eq!((book.dot.connections.accepted, book.dot.counts.received), (clients, 2_000));

    let server = responder(Faults::default());
    let words = format!(
        "run -s {} --mix udp=50,tcp=50 --seed 3 --replay traffic.pcap --quiet -o mix",
        server.address()
    );
    work.dnsdyno(&words).gives(0);
    let (digest, book) = (work.record("mix"), server.stop());
    assert_eq!(digest.tally().ends.answered, 2_000);
    let members = &digest.tally().members;
    assert_eq!(members[1].sent, book.tcp.counts.received);
    // Each client is wholly one or the other: the connections are those of the members' clients.
    assert!((1..clients).contains(&book.tcp.connections.accepted), "{}", book.tcp.connections.accepted);
    assert!(members.iter().all(|member| member.sent > 0));
}

#[test]
fn a_replay_is_scaled_repeated_shaped_and_read_from_standard_input() {
    let work = Workplace::new();
    let traffic = traffic(1_000, 20, 900 * MS);
    work.write("traffic.pcap", capture(&traffic, |_| None));
    let server = responder(Faults::default());
    let address = server.address();
    let last_ns = traffic[999].at_ns - traffic[0].at_ns;
    let run = |words: &str| {
        work.dnsdyno(&format!("run -s {address} {words} --quiet -o run")).gives(0);
        let digest = work.record("run");
        std::fs::remove_dir_all(work.path("run")).unwrap();
        assert_eq!(digest.tally().ends.answered, digest.tally().scheduled, "{words}");
        digest
    };
    let twice = run("--replay traffic.pcap --speed 2");
    assert_eq!((twice.tally().scheduled, twice.sum.as_ref().unwrap().passes), (1_000, 1.0));
    assert!(twice.schedule_ns().abs_diff(last_ns / 2) < 20 * MS, "{}", twice.schedule_ns());
    let loops = run("--replay traffic.pcap --speed 10 --passes 3");
    assert_eq!((loops.tally().scheduled, replayed(&loops).queries), (3_000, 3_000));
    assert_eq!(loops.sum.as_ref().unwrap().passes, 3.0);
    assert_eq!(run("--replay traffic.pcap --rate 4k").tally().scheduled, 1_000);
    assert_eq!(run("--replay traffic.pcap --rate 4k --for 500ms").tally().scheduled, 2_000);
    assert_eq!(run("--replay traffic.pcap --outstanding 10").tally().scheduled, 1_000);
    assert_eq!(run("--replay traffic.pcap --speed 20 --count 1500 --passes 9").tally().scheduled, 1_500);
    let cut = run("--replay traffic.pcap --for 300ms");
    let due = traffic.iter().filter(|query| query.at_ns - traffic[0].at_ns < 300 * MS).count();
    assert_eq!(cut.tally().scheduled, due as u64);

    let script = format!("cat traffic.pcap | $0 run -s {address} --replay - --speed 5 --quiet -o run");
    work.shell(&script).gives(0);
    let piped = work.record("run");
    assert_eq!((piped.tally().ends.answered, piped.header.queries), (1_000, 0));
    assert!(work.dnsdyno("show run").gives(0).stdout.contains("a capture that was read once"));
}

#[test]
fn what_is_before_a_cut_is_sent_and_the_place_of_the_cut_is_told() {
    let work = Workplace::new();
    let whole = capture(&traffic(500, 10, 100 * MS), |_| None);
    work.write("cut.pcap", &whole[..whole.len() - 7]);
    let server = responder(Faults::default());
    let ran = work.dnsdyno(&format!("run -s {} --replay cut.pcap -o run", server.address())).gives(3);
    let text = ran.stdout;
    assert!(text.contains("is cut short") && text.contains("packet 500"), "{text}");
    assert_eq!(work.record("run").tally().ends.answered, 499);
    work.write("none.pcap", capture(&[], |_| None));
    work.write("text.pcap", "www.example A\n");
    work.dnsdyno("run -s 127.0.0.1 --replay none.pcap").gives(2).says(&["no query to send"]);
    work.dnsdyno("run -s 127.0.0.1 --replay text.pcap").gives(2).says(&["is not a capture"]);
}

#[test]
fn a_capture_of_another_port_is_read_as_the_advice_says() {
    let work = Workplace::new();
    let other_port = "192.0.2.53:5353".parse().unwrap();
    work.write("other.pcap", capture_at(other_port, &traffic(50, 5, 100 * MS), |_| None));
    let piped = work.shell("cat other.pcap | $0 run -s 127.0.0.1 --replay - -o piped").gives(3).stdout;
    assert!(piped.contains("no query to send; it has 50 × other ports"), "{piped}");
    let server = responder(Faults::default());
    let run = format!("run -s {} --replay other.pcap -o run", server.address());
    work.dnsdyno(&run).gives(2).says(&["50 × other ports", "add --captured-server ADDRESS:PORT"]);
    work.dnsdyno(&format!("{run} --captured-server 192.0.2.53:5353")).gives(0);
    assert_eq!(work.record("run").tally().ends.answered, 50);
    let show = |words| work.dnsdyno(&format!("capture show other.pcap {words}")).gives(0).stdout;
    assert!(show("").contains("for another port add --port PORT"));
    let read = show("--port 5353");
    assert!(read.contains("50 queries") && !read.contains("add --port"), "{read}");
}

#[test]
fn answers_are_compared_with_those_of_the_capture() {
    let work = Workplace::new();
    // Of twenty: one was an error and is none now, two are one now, three have another address, one had no answer
    // and another has none now.
    let traffic = traffic(200, 20, 200 * MS);
    let recorded = |number: u16| match number % 20 {
        0 => Some(response(&query_message(number), 2, 0)),
        6 => None,
        _ => Some(response(&query_message(number), 0, 1)),
    };
    work.write("traffic.pcap", capture(&traffic, recorded));
    let server = Keeper::start(|query| match number_of(query) % 20 {
        1 | 2 => Some(response(query, 5, 0)),
        3..=5 => Some(response(query, 0, 9)),
        7 => None,
        _ => Some(response(query, 0, 1)),
    });
    let words = format!(
        "run -s {} --replay traffic.pcap --check-answers -t 3s -o run --expect answers_differ<30% \
         --expect answers_worse<10%",
        server.address
    );
    let text = work.dnsdyno(&words).gives(1).stdout;
    server.stop();
    assert!(text.contains("same 120 (66.67 %)") && text.contains("different 30"), "{text}");
    let answers = work.record("run").sum.unwrap().answers.unwrap();
    let counts = [answers.same, answers.different, answers.better, answers.worse];
    assert_eq!((counts, answers.unanswered, answers.only_now), ([120, 30, 10, 20], 10, 10));
    assert_eq!(answers.not_compared, 0);
    let kept = work.read("run/answers-that-differ.txt");
    assert!(kept.contains("recorded: SERVFAIL") && kept.contains("now: REFUSED"), "{kept}");
    assert!(kept.contains("A 192.0.2.1") && kept.contains("A 192.0.2.9"), "{kept}");
}
