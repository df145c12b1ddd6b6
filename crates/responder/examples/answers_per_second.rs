//! How many responses a second one UDP thread of the responder sends, and at what CPU time.
//!
//! ```text
//! cargo run --release -p dnsdyno-responder --example answers_per_second [SECONDS] [plain|gso]
//! ```
//!
//! A client thread keeps about 500 queries outstanding over loopback, with segmentation offload
//! (`gso`, the default) or without (`plain`). With two CPUs each side has one.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use dnsdyno_responder::{Config, Responder};
use dnsdyno_sys::socket;
use dnsdyno_sys::thread::{allowed_cpus, pin_to_cpu};
use dnsdyno_sys::udp::{Messages, Receiver, Sender};
use dnsdyno_wire::{QueryForm, encode_name, patch_id};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments.next().map_or(Ok(3), |text| text.parse())?;
    let with_gso = arguments.next().is_none_or(|mode| mode != "plain");
    let cpus = allowed_cpus()?;
    // Threads inherit the CPU of the one that starts them.
    pin_to_cpu(cpus[0])?;
    let running = Responder::start(Config::default())?;
    pin_to_cpu(cpus[cpus.len() - 1])?;

    let client = UdpSocket::bind("127.0.0.1:0")?;
    client.connect(running.address())?;
    socket::set_receive_buffer(&client, 16 << 20)?;
    if with_gso {
        socket::join_received(&client);
    }
    let mut name = Vec::new();
    encode_name(b"www.example.com.", &mut name)?;
    let mut query = Vec::new();
    QueryForm::default().encode(&name, 1, &mut query);
    let (mut sender, mut receiver) = (Sender::new(BATCH, with_gso), Receiver::new(BATCH));
    let (mut in_flight, mut answered, mut id) = (0usize, 0u64, 0u16);
    let (start, cpu_before) = (Instant::now(), responder_cpu_ns()?);
    while start.elapsed() < Duration::from_secs(seconds) {
        if in_flight + BATCH <= WINDOW {
            let (mut bytes, mut ends) = (Vec::with_capacity(BATCH * query.len()), Vec::with_capacity(BATCH));
            for _ in 0..BATCH {
                patch_id(&mut query, id);
                id = id.wrapping_add(1);
                bytes.extend_from_slice(&query);
                ends.push(bytes.len() as u32);
            }
            in_flight += sender.send(&client, Messages::new(&bytes, &ends)).accepted;
        }
        receiver.receive(&client)?;
        let came = receiver.packets().count();
        in_flight -= came.min(in_flight);
        answered += came as u64;
    }
    let elapsed_s = start.elapsed().as_secs_f64();
    let cpu_s = (responder_cpu_ns()? - cpu_before) as f64 * 1e-9;
    println!("{:>10.0} answers/s seen by the client", answered as f64 / elapsed_s);
    println!("{:>10.0} answers per CPU-second of the responder", answered as f64 / cpu_s);
    println!("{}", running.stop().to_json(dnsdyno_responder::Buckets::Without)["udp"]);
    Ok(())
}

/// CPU time of the responder's UDP thread, from the kernel's account.
fn responder_cpu_ns() -> Result<u64, Box<dyn std::error::Error>> {
    for task in std::fs::read_dir("/proc/self/task")? {
        let folder = task?.path();
        if std::fs::read_to_string(folder.join("comm"))?.starts_with("respond-udp") {
            let account = std::fs::read_to_string(folder.join("schedstat"))?;
            return Ok(account.split(' ').next().unwrap_or("0").parse()?);
        }
    }
    Err("the responder has no thread".into())
}

const BATCH: usize = 64;
const WINDOW: usize = 512;
