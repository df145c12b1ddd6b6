//! How many datagrams a second the relay passes on with one CPU, and the error of its delay.
//!
//! ```text
//! cargo run --release -p dnsdyno-responder --example relay_per_second \
//!     [RATE] [SECONDS] [DELAY_MS] [CLIENTS] [one-way|echo] [gso|plain]
//! ```
//!
//! The relay has the first CPU; one thread on the last CPU is clients and server. It sends RATE datagrams of 60 octets
//! a second in batches of at most 16, each with the instant at which it was sent, and compares it with the instant at
//! which the kernel received it at the server (`one-way`), or sends it back as well (`echo`: the relay passes on twice
//! as many). The error seen from outside contains what the kernel needs to send a batch; that of the relay is counted
//! by itself, from the instant at which the kernel received a datagram.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use dnsdyno_responder::relay::{Path, Relay, RelayOptions, Way, WayCounts};
use dnsdyno_sys::clock::wall_ns;
use dnsdyno_sys::socket;
use dnsdyno_sys::thread::{allowed_cpus, pin_to_cpu};
use dnsdyno_sys::udp::{Messages, Receiver, Sender};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: u64| arguments.get(at).map_or(Ok(usual), |text| text.parse());
    let rate = number(0, 200_000)?;
    let seconds: f64 = arguments.get(1).map_or(Ok(5.0), |text| text.parse())?;
    let total = (rate as f64 * seconds) as u64;
    let (delay_ms, clients) = (number(2, 10)?, number(3, 1)?.max(1));
    let echoes = arguments.get(4).is_some_and(|mode| mode == "echo");
    let with_gso = arguments.get(5).is_none_or(|mode| mode != "plain");
    let cpus = allowed_cpus()?;

    let server = UdpSocket::bind("127.0.0.1:0")?;
    socket::set_receive_buffer(&server, 64 << 20)?;
    socket::stamp_arrivals(&server);
    // Threads inherit the CPU of the one that starts them.
    pin_to_cpu(cpus[0])?;
    let way = Way::default().with(&format!("delay={delay_ms}ms"))?;
    let path = Path { to_server: way.clone(), to_client: way, seed: 1 };
    let relay = Relay::start(RelayOptions { path, ..RelayOptions::to(server.local_addr()?) })?;
    pin_to_cpu(cpus[cpus.len() - 1])?;
    let clients = (0..clients).map(|_| {
        let client = UdpSocket::bind("127.0.0.1:0")?;
        socket::set_receive_buffer(&client, 16 << 20)?;
        client.connect(relay.address())?;
        Ok::<_, std::io::Error>(client)
    });
    let clients: Vec<UdpSocket> = clients.collect::<Result<_, _>>()?;

    let mut side = Side {
        sender: Sender::new(BATCH, with_gso),
        receiver: Receiver::new(BATCH),
        errors_ns: Vec::with_capacity(total as usize),
        echoed: 0,
    };
    let (start, cpu_before) = (Instant::now(), relay_cpu_ns()?);
    let (mut sent, mut batches) = (0, 0);
    while sent < total {
        let due = (start.elapsed().as_nanos() * u128::from(rate) / 1_000_000_000) as u64;
        if due.min(total) > sent {
            let count = (due.min(total) - sent).min(BATCH as u64);
            sent += side.send(&clients[batches % clients.len()], count as usize);
            batches += 1;
        }
        side.receive(&server, delay_ms, echoes)?;
        if echoes {
            side.drain(&clients[batches % clients.len()])?;
        }
    }
    let (cpu_s, elapsed_s) = ((relay_cpu_ns()? - cpu_before) as f64 * 1e-9, start.elapsed().as_secs_f64());
    let end = Instant::now() + Duration::from_millis(3 * delay_ms + 200);
    while Instant::now() < end {
        side.receive(&server, delay_ms, echoes)?;
        clients.iter().try_for_each(|client| side.drain(client))?;
    }
    let counts = relay.stop();
    let received = side.errors_ns.len();
    println!("sent       {sent} in {elapsed_s:.2} s, {:.0}/s", sent as f64 / elapsed_s);
    println!("received   {received} by the server; {} not", sent - received as u64);
    if echoes {
        println!("           {} by the clients", side.echoed);
    }
    println!(
        "relay      {:.0} % of a CPU, {} dropped by the kernel",
        cpu_s / elapsed_s * 100.0,
        counts.kernel_drops
    );
    side.errors_ns.sort_unstable();
    let at =
        |quantile: f64| side.errors_ns.get(((received as f64 * quantile) as usize).min(received.max(1) - 1));
    let quantiles =
        [0.0, 0.5, 0.99, 0.999, 1.0].map(|quantile| at(quantile).copied().unwrap_or(0) as f64 / 1e3);
    println!("error      seen from outside: {}", shown(quantiles));
    for (name, way) in [("to the server", &counts.to_server), ("to the client", &counts.to_client)] {
        println!("late       {name}, by the relay: {}", shown(late_us(way)));
    }
    counts.warnings().iter().for_each(|warning| println!("warning    {warning}"));
    Ok(())
}

/// Clients and server.
struct Side {
    sender: Sender,
    receiver: Receiver,
    /// What each datagram took beyond the delay, on its way to the server.
    errors_ns: Vec<i64>,
    echoed: u64,
}

impl Side {
    fn send(&mut self, client: &UdpSocket, count: usize) -> u64 {
        let mut bytes = [0; BATCH * OCTETS];
        let mut ends = [0u32; BATCH];
        let now = wall_ns().to_be_bytes();
        for (i, message) in bytes.chunks_exact_mut(OCTETS).enumerate() {
            message[..8].copy_from_slice(&now);
            ends[i] = ((i + 1) * OCTETS) as u32;
        }
        self.sender.send(client, Messages::new(&bytes, &ends[..count])).accepted as u64
    }

    fn receive(&mut self, server: &UdpSocket, delay_ms: u64, echoes: bool) -> std::io::Result<()> {
        self.receiver.receive(server)?;
        let (mut bytes, mut ends, mut peers) = (Vec::new(), Vec::new(), Vec::new());
        for (piece, packet) in self.receiver.packets() {
            let sent_ns = packet.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            let arrival_ns = self.receiver.arrival_wall_ns(piece).unwrap_or_else(wall_ns);
            self.errors_ns.push(arrival_ns as i64 - sent_ns as i64 - delay_ms as i64 * 1_000_000);
            bytes.extend_from_slice(packet);
            ends.push(bytes.len() as u32);
            peers.extend(self.receiver.addresses(piece));
        }
        if echoes && !ends.is_empty() {
            self.sender.send_to(server, Messages::new(&bytes, &ends), &peers);
        }
        Ok(())
    }

    fn drain(&mut self, client: &UdpSocket) -> std::io::Result<()> {
        self.receiver.receive(client)?;
        self.echoed += self.receiver.packets().count() as u64;
        Ok(())
    }
}

fn late_us(way: &WayCounts) -> [f64; 5] {
    [0.0, 0.5, 0.99, 0.999, 1.0].map(|quantile| way.late.quantile_ns(quantile).unwrap_or(0) as f64 / 1e3)
}

fn shown([least, median, p99, p99_9, most]: [f64; 5]) -> String {
    format!("least {least:.1} µs, median {median:.1}, p99 {p99:.1}, p99.9 {p99_9:.1}, most {most:.1}")
}

/// CPU time of the relay's thread, from the kernel's account.
fn relay_cpu_ns() -> Result<u64, Box<dyn std::error::Error>> {
    for task in std::fs::read_dir("/proc/self/task")? {
        let folder = task?.path();
        if std::fs::read_to_string(folder.join("comm"))?.trim() == "relay" {
            let account = std::fs::read_to_string(folder.join("schedstat"))?;
            return Ok(account.split(' ').next().unwrap_or("0").parse()?);
        }
    }
    Err("the relay has no thread".into())
}

const BATCH: usize = 16;
const OCTETS: usize = 60;
