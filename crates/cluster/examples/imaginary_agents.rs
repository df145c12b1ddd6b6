//! How a coordinator grows with its agents: so many imaginary ones, over pipes of this process, which send records that
//! were made before. Prints the time to the start, the time to join, and CPU time and memory of the coordinator's
//! process (the agents are in it, and do little: the record of each is made once).
//!
//! ```text
//!   cargo run --release -p dnsdyno-cluster --example imaginary_agents -- 10 100 1000
//! ```

use std::cell::RefCell;
use std::error::Error;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_cluster::{Cluster, Destination, Faults, Link, Place};
use dnsdyno_plan::Draft;
use dnsdyno_runner::{Control, Keep, RunJob, Runner, SimConfig, SimulatedRunner};
use serde_json::{Value, json};

type Failed = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let counts: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    println!("agents  connected  started    joined  CPU of the process  memory");
    for count in if counts.is_empty() { vec![10, 100, 1_000] } else { counts } {
        one(count)?;
    }
    Ok(())
}

/// A run of so many agents.
fn one(count: usize) -> Result<(), Failed> {
    let lines = Arc::new(record(count)?);
    let mut links = Vec::with_capacity(count);
    for number in 0..count {
        let ((from_agent, to_coordinator), (from_coordinator, to_agent)) = (pipe()?, pipe()?);
        let lines = Arc::clone(&lines);
        thread::Builder::new()
            .stack_size(256 << 10)
            .spawn(move || agent(from_coordinator, to_coordinator, &lines))?;
        let destination =
            Destination { name: format!("agent-{number}"), place: Place::Local, weight: Some(1) };
        links.push((destination, Link::over(from_agent, to_agent)));
    }
    let (cpu_before, begun) = (cpu_time()?, Instant::now());
    let faults = Faults { start_within_ns: 60_000_000_000, ..Faults::default() };
    let mut cluster = Cluster::over(links, faults, simulated)?;
    let connected = begun.elapsed();
    let plans = cluster.validate(&draft(count, None))?;
    let mut seen = Seen { begun: Instant::now(), started: Duration::ZERO };
    let making = Instant::now();
    let finished = cluster.run(&RunJob::new(&plans, Keep::Memory), &Control::default(), &mut seen)?;
    let joined = making.elapsed() - seen.started;
    let queries = finished.digest.tally().scheduled;
    assert_eq!(queries, count as u64 * PER_AGENT * SECONDS, "every query of every agent");
    println!(
        "{count:>6}  {:>7.2} s  {:>5.2} s  {:>6.2} s  {:>16.2} s  {:>4} MiB",
        connected.as_secs_f64(),
        seen.started.as_secs_f64(),
        joined.as_secs_f64(),
        (cpu_time()? - cpu_before).as_secs_f64(),
        memory_mib()?
    );
    Ok(())
}

/// When the joined record has begun.
struct Seen {
    begun: Instant,
    started: Duration,
}

impl dnsdyno_runner::Observer for Seen {
    fn begins(&mut self, _: &dnsdyno_record::Header, _: Option<u64>) -> Result<(), Failed> {
        self.started = self.begun.elapsed();
        Ok(())
    }
}

fn draft(agents: usize, part: Option<String>) -> Draft {
    Draft {
        server: Some("127.0.0.1".to_owned()),
        ask: Some(vec!["a.test".to_owned()]),
        rate: Some((agents as u64 * PER_AGENT).to_string()),
        duration: Some(format!("{SECONDS}s")),
        workers: part.is_none().then_some(agents),
        clients: Some(agents),
        check: Some(false),
        part,
        ..Draft::default()
    }
}

/// What validates options, and makes the record of an agent.
fn simulated() -> Box<dyn Runner> {
    Box::new(SimulatedRunner { server: SimConfig { oversleep_ns: 20_000, ..SimConfig::default() } })
}

/// The lines of the record of one agent.
fn record(agents: usize) -> Result<Vec<Vec<u8>>, Failed> {
    let mut runner = simulated();
    let plans = runner.validate(&draft(agents, Some(format!("1/{agents}"))))?;
    let lines = RefCell::new(Vec::new());
    let copy = |line: &[u8]| lines.borrow_mut().push(line.to_vec());
    let job = RunJob { copy: Some(&copy), ..RunJob::new(&plans, Keep::Memory) };
    runner.run(&job, &Control::default(), &mut ())?;
    Ok(lines.into_inner())
}

/// Says what an agent says.
fn agent(mut from: PipeReader, mut to: PipeWriter, lines: &[Vec<u8>]) -> Option<()> {
    let send = |to: &mut PipeWriter, kind: u8, octets: &[u8]| -> Option<()> {
        let mut frame = vec![kind];
        frame.extend_from_slice(&(octets.len() as u32).to_be_bytes());
        frame.extend_from_slice(octets);
        to.write_all(&frame).ok()
    };
    let say = |to: &mut PipeWriter, message: Value| send(to, b'M', message.to_string().as_bytes());
    loop {
        let mut head = [0; 5];
        from.read_exact(&mut head).ok()?;
        let mut octets = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize];
        from.read_exact(&mut octets).ok()?;
        let order: Value = serde_json::from_slice(&octets).ok()?;
        let now_ns = dnsdyno_sys::clock::monotonic_ns();
        if order.get("hello").is_some() {
            say(&mut to, json!({ "hello": { "protocol": 1, "facts": { "cpus": 1 } } }))?;
        } else if let Some(number) = order["clock"]["number"].as_u64() {
            say(&mut to, json!({ "clock": { "number": number, "received_ns": now_ns, "sent_ns": now_ns } }))?;
        } else if order.get("prepare").is_some() {
            say(&mut to, json!({ "ready": { "preparation_ns": 1_000_000, "host": {} } }))?;
        } else if order.get("start").is_some() {
            lines.iter().try_for_each(|line| send(&mut to, b'L', line))?;
            say(&mut to, json!("ended"))?;
        }
    }
}

/// CPU time of this process.
fn cpu_time() -> Result<Duration, Failed> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields.iter().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_secs_f64(ticks as f64 / dnsdyno_sys::clock::ticks_per_second() as f64))
}

/// Memory of this process, at its most.
fn memory_mib() -> Result<u64, Failed> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    Ok(most.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1_024)
}

/// Queries a second of each agent.
const PER_AGENT: u64 = 100;

/// Length of the run.
const SECONDS: u64 = 10;
