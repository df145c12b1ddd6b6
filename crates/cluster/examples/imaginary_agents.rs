//! How a coordinator grows with its agents: so many imaginary ones, which send the records of a simulated server.
//! Prints the time to connect, to start and to join, and CPU time and memory of the coordinator's process.
//!
//! Without a broker the agents are threads of this process that answer over pipes and send a record that was made
//! before, so what they cost is little. At a broker they are agents as they are, in a process of their own.
//!
//! ```text
//!   cargo run --release -p dnsdyno-cluster --example imaginary_agents -- 10 100 1000
//!   cargo run --release -p dnsdyno-cluster --example imaginary_agents -- nats://127.0.0.1:4222 10 100 1000
//! ```

use std::cell::RefCell;
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_cluster::{
    Access, Agent, BrokerUrl, Cluster, Destination, Faults, Labels, Link, NatsAgent, Permission, Place,
    Signer, serve_nats,
};
use dnsdyno_plan::{Draft, WorkerCount};
use dnsdyno_runner::{Control, Keep, RunJob, Runner, SimConfig, SimulatedRunner};
use dnsdyno_sys::thread::{open_files_limit, set_open_files_limit};
use serde_json::{Value, json};

type Failed = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let (_, most_files) = open_files_limit()?;
    set_open_files_limit(most_files)?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [first, url, count, folder] = &words[..]
        && first == AS_AGENTS
    {
        return wait_at(url, count.parse()?, Path::new(folder));
    }
    let broker = words.first().filter(|word| BrokerUrl::is_meant(word));
    let counts: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    println!("agents  connected  started    joined  CPU of the process  memory");
    for count in if counts.is_empty() { vec![10, 100, 1_000] } else { counts } {
        match broker {
            None => over_pipes(count)?,
            Some(url) => at_broker(url, count)?,
        }
    }
    Ok(())
}

/// A run of so many agents over pipes.
fn over_pipes(count: usize) -> Result<(), Failed> {
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
    measured(count, || Cluster::over(links, FAULTS, simulated))
}

/// The same at a broker.
fn at_broker(url: &str, count: usize) -> Result<(), Failed> {
    let folder = Removed(std::env::temp_dir().join(format!("imaginary-agents-{}", std::process::id())));
    fs::create_dir_all(&folder.0)?;
    let key = folder.0.join("key");
    let public = Signer::create(&key)?.public();
    fs::write(folder.0.join("agent.toml"), format!("trusted-keys = [\"{public}\"]\n"))?;
    let child = Command::new(std::env::current_exe()?)
        .args([AS_AGENTS, url, &count.to_string()])
        .arg(&folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut agents = Ended(child);
    let mut line = String::new();
    BufReader::new(agents.0.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let destinations = Destination::parse_list(&format!("{url}?count={count}*1"))?;
    let access = Access { key: Some(key), ..Access::default() };
    measured(count, || Cluster::connect(destinations, FAULTS, &access, simulated))
}

/// Connects, makes a run, and prints what it took.
fn measured<E: Into<Failed>>(
    count: usize,
    connect: impl FnOnce() -> Result<Cluster, E>,
) -> Result<(), Failed> {
    let (cpu_before, begun) = (cpu_time()?, Instant::now());
    let mut cluster = connect().map_err(Into::into)?;
    let connected = begun.elapsed();
    let plans = cluster.validate(&draft(count, None))?;
    let mut seen = Seen { begun: Instant::now(), started: Duration::ZERO };
    let making = Instant::now();
    let finished = cluster.run(&RunJob::new(&plans, Keep::Memory), &Control::default(), &mut seen)?;
    let joined = making.elapsed() - seen.started;
    let queries = finished.digest.tally().scheduled;
    if queries != count as u64 * PER_AGENT * SECONDS {
        let said: Vec<_> = finished.digest.events.iter().map(|event| event.message.as_str()).collect();
        return Err(format!("{queries} queries are not those of {count} agents: {}", said.join("; ")).into());
    }
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

/// The process of the agents at a broker: says a line when all are there, and ends with its input.
fn wait_at(url: &str, count: usize, folder: &Path) -> Result<(), Failed> {
    static WAITING: AtomicUsize = AtomicUsize::new(0);
    let permission = Permission::of_host(Some(&folder.join("agent.toml")))?;
    let url = BrokerUrl::parse(url)?;
    for number in 0..count {
        let agent = NatsAgent {
            agent: Agent {
                permission: permission.clone(),
                folder: folder.join(number.to_string()),
                runner: simulated,
            },
            url: url.clone(),
            access: Access::default(),
            name: Some(format!("agent-{number}")),
            labels: Labels::new(),
            log: |words| match words.contains("waits at") {
                true => drop(WAITING.fetch_add(1, Ordering::Relaxed)),
                false => eprintln!("{words}"),
            },
        };
        thread::Builder::new().spawn(move || {
            if let Err(error) = serve_nats(agent, &|| false) {
                eprintln!("{error}");
                std::process::exit(3);
            }
        })?;
    }
    while WAITING.load(Ordering::Relaxed) < count {
        thread::sleep(Duration::from_millis(20));
    }
    println!("there");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}

/// A child that ends with this.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder that is removed with this.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
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
        workers: part.is_none().then_some(WorkerCount::Number(agents)),
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
            say(&mut to, json!({ "hello": { "protocol": 2, "facts": { "cpus": 1 } } }))?;
        } else if let Some(number) = order["clock"]["number"].as_u64() {
            say(&mut to, json!({ "clock": { "number": number, "received_ns": now_ns, "sent_ns": now_ns } }))?;
        } else if order.get("prepare").is_some() {
            say(&mut to, json!({ "ready": { "preparation_ns": 1_000_000, "host": {} } }))?;
        } else if order == "alive" {
            say(&mut to, json!("alive"))?;
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

/// The first argument of the process of the agents.
const AS_AGENTS: &str = "as-agents";

/// All are on this host.
const FAULTS: Faults = Faults { goes_on: false, start_within_ns: 60_000_000_000 };

/// Queries a second of each agent.
const PER_AGENT: u64 = 100;

/// Length of the run.
const SECONDS: u64 = 10;
