//! What a reading of `host` and `process` costs: CPU time of this thread for each, with many sockets in this process.
//!
//! ```text
//!   cargo run -p dnsdyno-probe --example cost -- 1000
//! ```

use std::net::{TcpListener, TcpStream, UdpSocket};

use dnsdyno_plan::Watch;
use dnsdyno_probe::{Targets, open};
use dnsdyno_sys::clock;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sockets: usize = std::env::args().nth(1).map_or(Ok(1_000), |count| count.parse())?;
    let _udp: Vec<UdpSocket> =
        (0..sockets / 2).map(|_| UdpSocket::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut connections = Vec::new();
    for _ in 0..sockets / 4 {
        connections.push(TcpStream::connect(listener.local_addr()?)?);
        connections.push(listener.accept()?.0);
    }
    let watch = [Watch::Host { pid: None }, Watch::Process { pid: Some(std::process::id()) }];
    for source in &mut open(&watch, &Targets::default())?.sources {
        source.read()?;
        let before_ns = clock::thread_cpu_ns();
        for _ in 0..READINGS {
            source.read()?;
        }
        let each_us = (clock::thread_cpu_ns() - before_ns) / READINGS / 1_000;
        println!("{}: {each_us} µs a reading, {sockets} sockets", source.watched().label);
    }
    Ok(())
}

const READINGS: u64 = 200;
