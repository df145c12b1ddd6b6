//! Writes the record of a long run that nobody has made, by the calls that a run makes: for the size of its page, and
//! for the time that a browser needs.
//!
//! ```text
//!   cargo run -p dnsdyno-page --example long_record -- FOLDER [SECONDS [QUERIES_PER_SECOND]]
//! ```
//!
//! The same arguments give the same record. Each query is drawn: the rate follows the hour of the day, the latency is
//! lognormal around a median that follows the rate, the server stops answering for some seconds now and then, and some
//! queries are lost.

use std::error::Error;
use std::f64::consts::TAU;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use dnsdyno_measure::{Arrivals, Evidence, PerClient, Tally, WorkerUse};
use dnsdyno_record::{Event, Header, Headline, HostInfo, Interval, RunWriter, Sum};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let folder =
        words.next().map(PathBuf::from).ok_or("usage: long_record FOLDER [SECONDS [QUERIES_PER_SECOND]]")?;
    let seconds = words.next().map_or(Ok(TWO_DAYS_S), |word| word.parse())?;
    let mean_qps = words.next().map_or(Ok(MEAN_QPS), |word| word.parse())?;
    let header = header(seconds, mean_qps);
    let mut writer = RunWriter::create(&folder, &header, "", &HostInfo::default())?;
    let mut server = Server { random: Xoshiro256PlusPlus::seed_from_u64(SEED), mean_qps, stall_s: 0..0 };
    for second in 0..seconds {
        if let Some(event) = server.begins_to_stall(second) {
            let _ = writer.event(&event);
        }
        // What the disk does not take at once is kept and tried again.
        let _ = writer.interval(&server.second(second)?);
        (0..MOST_WAITS)
            .take_while(|_| writer.unsaved().lines > MOST_UNSAVED)
            .for_each(|_| thread::sleep(Duration::from_millis(20)));
    }
    let sum = sum(&writer, seconds);
    writer.finish(&sum)?;
    Ok(())
}

/// The load and the server in one: what each second measures.
struct Server {
    random: Xoshiro256PlusPlus,
    mean_qps: f64,
    /// The seconds in which it does not answer.
    stall_s: std::ops::Range<u64>,
}

impl Server {
    /// Every few hours, for one to four seconds.
    fn begins_to_stall(&mut self, second: u64) -> Option<Event> {
        if !self.random.random_bool(1.0 / (4.0 * 3_600.0)) {
            return None;
        }
        self.stall_s = second..second + self.random.random_range(1..=4);
        Some(Event {
            at_ns: second * SECOND_NS,
            kind: "note".to_owned(),
            message: "zone transfer began".to_owned(),
            figures: Default::default(),
        })
    }

    fn second(&mut self, second: u64) -> Result<Interval, Box<dyn Error>> {
        let asked_qps = (self.mean_qps * (1.0 - 0.5 * (second as f64 / DAY_S * TAU).cos())).round();
        let busy = asked_qps / self.mean_qps;
        let median_ns = 250_000.0 * (1.0 + 0.4 * busy * busy) * self.random.random_range(0.97..1.03);
        let latency_ns = LogNormal::new(median_ns.ln(), 0.35)?;
        let mut tally = Tally::new(TYPES.len());
        for n in 0..asked_qps as u64 {
            let into_s = n as f64 / asked_qps;
            let waits_ns = match self.stall_s.contains(&second) {
                true => ((self.stall_s.end - second) as f64 - into_s) * SECOND_NS as f64,
                false => 0.0,
            };
            let lateness_ns = self.random.random_range(2_000..9_000);
            let service_ns = (latency_ns.sample(&mut self.random) + waits_ns) as u64;
            let is_lost = service_ns > TIMEOUT_NS || self.random.random_bool(LOST_SHARE);
            self.count(&mut tally, service_ns, lateness_ns, is_lost);
        }
        let arrivals = self.arrivals(&tally);
        let workers = self.workers(&tally);
        let (from_ns, to_ns) = (second * SECOND_NS, (second + 1) * SECOND_NS);
        Ok(Interval {
            agents: Vec::new(),
            index: second,
            from_ns,
            to_ns,
            covered_ns: None,
            asked_qps,
            tally,
            arrivals,
            workers,
            watched: Vec::new(),
        })
    }

    fn count(&mut self, tally: &mut Tally, service_ns: u64, lateness_ns: u64, is_lost: bool) {
        let rtype = usize::from(self.random.random_bool(0.3));
        let query_bytes = self.random.random_range(30..60);
        tally.scheduled += 1;
        tally.requests += 1;
        tally.types[rtype].sent += 1;
        tally.bytes_sent += query_bytes;
        tally.query_bytes_max = tally.query_bytes_max.max(query_bytes);
        tally.lateness.record(lateness_ns);
        if is_lost {
            tally.ends.timed_out += 1;
            return;
        }
        let response_bytes = query_bytes + self.random.random_range(16..200);
        tally.ends.answered += 1;
        tally.types[rtype].answered += 1;
        tally.rcodes.add(if self.random.random_bool(0.03) { 3 } else { 0 }, 1);
        tally.bytes_answered += response_bytes;
        tally.response_bytes_max = tally.response_bytes_max.max(response_bytes);
        tally.service.record(service_ns);
        tally.response.record(service_ns + lateness_ns);
    }

    fn arrivals(&mut self, tally: &Tally) -> Arrivals {
        Arrivals {
            sent: tally.scheduled,
            answered: tally.ends.answered,
            timed_out: tally.ends.timed_out,
            latency: tally.response.clone(),
            in_flight_max: self.random.random_range(2..12),
            cpu_ns: tally.scheduled * self.random.random_range(8_000..9_000),
            cpu_wait_ns: self.random.random_range(0..400_000),
            ..Arrivals::default()
        }
    }

    fn workers(&mut self, tally: &Tally) -> Vec<WorkerUse> {
        let half = |count: u64, part: u64| (count + part) / WORKERS;
        let worker = |part| WorkerUse {
            cpu_ns: half(tally.scheduled, part) * self.random.random_range(8_000..9_000),
            cpu_wait_ns: self.random.random_range(0..200_000),
            sent: half(tally.scheduled, part),
            answered: half(tally.ends.answered, part),
        };
        (0..WORKERS).map(worker).collect()
    }
}

fn header(seconds: u64, mean_qps: f64) -> Header {
    Header {
        run_id: format!("long-record-{seconds}"),
        started_unix_ns: 1_760_000_000_000_000_000,
        command_line: ["dnsdyno", "run", "--plan", "days.toml"].map(str::to_owned).to_vec(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name: Some("two days".to_owned()),
        note: Some("drawn, not measured".to_owned()),
        timeout_ns: TIMEOUT_NS,
        headline: Headline::Response,
        types: TYPES.to_vec(),
        target: "ns1.example".to_owned(),
        address: ([192, 0, 2, 53], 53).into(),
        workers: WORKERS as u32,
        clients: 8,
        queries: 100_000,
        load: format!("{mean_qps} queries/s, half of it at night and one and a half by day, for {seconds} s"),
        ..Header::default()
    }
}

fn sum(writer: &RunWriter, seconds: u64) -> Sum {
    let digest = writer.digest();
    let sent = digest.tally().scheduled;
    let evidence = Evidence { open_loop: true, sockets: 8, busiest_worker_cpu: 0.02, ..Evidence::default() };
    let sum = Sum {
        to_ns: seconds * SECOND_NS,
        tally: digest.tally().clone(),
        arrivals: digest.arrivals().clone(),
        evidence,
        workers: digest.workers().to_vec(),
        schedule_ns: seconds * SECOND_NS,
        passes: digest.tally().scheduled as f64 / 100_000.0,
        queries_per_client: PerClient::of([sent / 8; 8]),
        ..Sum::default()
    };
    let verdict = digest.judge(Some(&sum));
    sum.judged(verdict)
}

const TWO_DAYS_S: u64 = 172_800;
const MEAN_QPS: f64 = 1_000.0;
const DAY_S: f64 = 86_400.0;
const SECOND_NS: u64 = 1_000_000_000;
const TIMEOUT_NS: u64 = 2 * SECOND_NS;
const LOST_SHARE: f64 = 0.000_02;
const WORKERS: u64 = 2;
const MOST_UNSAVED: u64 = 1_000;
const MOST_WAITS: usize = 5_000;
const SEED: u64 = 48;

/// A and AAAA.
const TYPES: [u16; 2] = [1, 28];
