//! A record of 48 hours: how large it is, what it costs to write, and how fast it is read.
//!
//! Each of its 1.7 billion queries is drawn by itself, and nothing is repeated: latencies are lognormal, with a
//! median that drifts from second to second, a share of slow responses, and a few losses. The intervals go straight
//! to the writer that a run uses; sending them through the engine on the simulated link would take longer and give
//! the same histograms.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use dnsdyno_measure::{Arrivals, Evidence, Tally, WorkerUse};
use dnsdyno_record::{
    Ended, Header, Headline, HostInfo, INDEX_FILE, Interval, Line, PACKED_FILE, RunReader, RunWriter, Sum,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal};

use crate::report::{Bar, Sample, Section};
use crate::setting::Setting;

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let folder = setting.rig.work().join("hours");
    let _ = std::fs::remove_dir_all(&folder);
    let made = make(&folder, INTERVALS)?;
    let size_mb = size_mb(&folder)?;
    let shown = show(setting, &folder)?;
    let (hour_s, hour_lines) = read_hour(&folder)?;
    let _ = std::fs::remove_dir_all(&folder);
    let figures = [
        ("size, MB", size_mb),
        ("of it the index, MB", made.index_mb),
        ("bytes an interval", size_mb * 1e6 / INTERVALS as f64),
        ("whoever measures, µs an interval", made.caller_s * 1e6 / INTERVALS as f64),
        ("thread of the record, CPU ms an interval", made.thread_cpu_s * 1e3 / INTERVALS as f64),
        ("dnsdyno show, s", shown.seconds),
        ("dnsdyno show, peak MB", shown.peak_mb),
        ("one hour from its middle, s", hour_s),
    ];
    let bar = |what: &str, found: f64, most: f64, unit: &str| Bar {
        what: what.to_owned(),
        bound: format!("<= {most} {unit}"),
        found: format!("{found:.1} {unit}"),
        met: Some(found <= most),
    };
    let heading = vec!["figure".to_owned(), "value".to_owned()];
    let rows = figures.iter().map(|(what, value)| vec![(*what).to_owned(), format!("{value:.2}")]);
    Ok(Section {
        name: "hours",
        method: format!(
            "{INTERVALS} intervals of a second with {RATE} queries each, every one of them drawn: service time \
             lognormal with a median of {MEDIAN_US} µs that drifts, {SLOW:.0} % of them around 20 ms, lateness \
             lognormal around 8 µs, a few lost. Written by the writer of a run, as fast as it takes them.",
            SLOW = SLOW_SHARE * 100.0,
        ),
        table: std::iter::once(heading).chain(rows).collect(),
        bars: vec![
            bar("size on disk", size_mb, 400.0, "MB"),
            bar("dnsdyno show", shown.seconds, 3.0, "s"),
            bar("its largest memory", shown.peak_mb, 300.0, "MB"),
        ],
        notes: vec![format!("An hour from the middle holds {hour_lines} intervals.")],
        commands: vec![format!("{} show {}", setting.dnsdyno.display(), folder.display())],
        samples: figures
            .iter()
            .map(|(figure, value)| Sample { program: "dnsdyno".to_owned(), round: 1, figure, value: *value })
            .collect(),
    })
}

/// What writing took.
struct Made {
    caller_s: f64,
    thread_cpu_s: f64,
    index_mb: f64,
}

fn make(folder: &Path, intervals: u64) -> anyhow::Result<Made> {
    let mut writer = RunWriter::create(folder, &header(), "", &HostInfo::default())?;
    let mut server = Server { chance: StdRng::seed_from_u64(1), median_us: MEDIAN_US, crossing: Vec::new() };
    let (mut tally, mut arrivals) = (Tally::new(2), Arrivals::default());
    let mut caller = Duration::ZERO;
    for index in 0..intervals {
        let interval = server.second(index);
        tally.merge(&interval.tally);
        arrivals.merge_in_time(&interval.arrivals);
        // A second of the run takes milliseconds here: the thread is given the time that it would have.
        while writer.unsaved().bytes > 4 << 20 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let since = Instant::now();
        writer.interval(&interval)?;
        caller += since.elapsed();
        if index.is_multiple_of(1_000) {
            eprint!("\r{index} of {intervals} intervals");
        }
    }
    eprintln!();
    while !writer.unsaved().is_nothing() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let thread_cpu_s = cpu_of_thread("record").context("the thread of the record is not to be found")?;
    let end_ns = intervals * SECOND_NS;
    writer.finish(&Sum {
        to_ns: end_ns,
        tally,
        arrivals,
        warnings: Vec::new(),
        ended: Ended::ByTime,
        evidence: Evidence::default(),
        late_after_settled: 0,
        workers: Vec::new(),
        schedule_ns: end_ns,
        passes: 1.0,
        interface: None,
    })?;
    let index_mb = std::fs::metadata(folder.join(INDEX_FILE))?.len() as f64 * 1e-6;
    Ok(Made { caller_s: caller.as_secs_f64(), thread_cpu_s, index_mb })
}

/// The server, drawn.
struct Server {
    chance: StdRng,
    median_us: f64,
    /// Latencies of what is answered in the next second.
    crossing: Vec<u64>,
}

impl Server {
    fn second(&mut self, index: u64) -> Interval {
        // A drift that comes back: minutes differ, days do not run away.
        let drift: f64 = LogNormal::new(0.0, 0.05).map_or(1.0, |drift| drift.sample(&mut self.chance));
        self.median_us = (self.median_us * drift).powf(0.98) * MEDIAN_US.powf(0.02);
        let fast = lognormal(self.median_us * 1e3, 0.5);
        let slow = lognormal(20e6, 0.8);
        let late = lognormal(8e3 * self.chance.random_range(0.9..1.1), 0.6);
        let mut tally = Tally::new(2);
        let mut arrivals = Arrivals::default();
        std::mem::take(&mut self.crossing).into_iter().for_each(|ns| arrivals.latency.record(ns));
        for query in 0..RATE {
            let lateness_ns = late.sample(&mut self.chance) as u64;
            tally.lateness.record(lateness_ns);
            let rtype = usize::from(self.chance.random_bool(0.3));
            tally.types[rtype].sent += 1;
            if self.chance.random_bool(LOST_SHARE) {
                tally.ends.timed_out += 1;
                continue;
            }
            let which = if self.chance.random_bool(SLOW_SHARE) { &slow } else { &fast };
            let service_ns = which.sample(&mut self.chance) as u64;
            let response_ns = service_ns + lateness_ns;
            tally.service.record(service_ns);
            tally.response.record(response_ns);
            tally.types[rtype].answered += 1;
            tally.ends.answered += 1;
            tally.rcodes.add(if self.chance.random_bool(0.1) { 3 } else { 0 }, 1);
            if query * (SECOND_NS / RATE) + response_ns < SECOND_NS {
                arrivals.latency.record(response_ns);
            } else {
                self.crossing.push(response_ns);
            }
        }
        tally.scheduled = RATE;
        tally.requests = RATE;
        tally.bytes_sent = RATE * 40 + self.chance.random_range(0..1_000);
        tally.bytes_answered = tally.ends.answered * 90 + self.chance.random_range(0..10_000);
        arrivals.sent = RATE;
        arrivals.answered = arrivals.latency.count();
        arrivals.timed_out = tally.ends.timed_out;
        arrivals.in_flight_max = self.chance.random_range(20..90);
        let workers: Vec<_> = (0..2).map(|_| self.worker()).collect();
        arrivals.cpu_ns = workers.iter().map(|worker| worker.cpu_ns).sum();
        arrivals.cpu_wait_ns = workers.iter().map(|worker| worker.cpu_wait_ns).sum();
        let (from_ns, to_ns) = (index * SECOND_NS, (index + 1) * SECOND_NS);
        Interval { index, from_ns, to_ns, asked_qps: RATE as f64, tally, arrivals, workers }
    }

    fn worker(&mut self) -> WorkerUse {
        WorkerUse {
            cpu_ns: self.chance.random_range(60_000_000..90_000_000),
            cpu_wait_ns: self.chance.random_range(0..2_000_000),
            sent: RATE / 2,
            answered: RATE / 2 - self.chance.random_range(0..40),
        }
    }
}

fn lognormal(median: f64, sigma: f64) -> LogNormal<f64> {
    // Medians here are positive and the sigmas are constants: always valid.
    LogNormal::new(median.ln(), sigma).expect("a positive median")
}

fn header() -> Header {
    Header {
        run_id: "hours".into(),
        started_unix_ns: 1_760_000_000_000_000_000,
        command_line: Vec::new(),
        version: env!("CARGO_PKG_VERSION").into(),
        name: None,
        note: None,
        interval_ns: SECOND_NS,
        timeout_ns: 5 * SECOND_NS,
        headline: Headline::Response,
        types: vec![1, 28],
        phases: Vec::new(),
        target: "::1".into(),
        address: std::net::SocketAddr::from(([127, 0, 0, 1], 53)),
        transport: "udp".into(),
        mix: Vec::new(),
        backend: Default::default(),
        workers: 2,
        clients: 8,
        udp_sockets: None,
        queries: 1_000_000,
        bad_lines: 0,
        send_only: false,
        load: "10,000 queries/s for 48 h".into(),
    }
}

/// All files of the run.
fn size_mb(folder: &Path) -> anyhow::Result<f64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    ensure!(folder.join(PACKED_FILE).exists(), "the record was not compressed");
    Ok(bytes as f64 * 1e-6)
}

struct Shown {
    seconds: f64,
    peak_mb: f64,
}

/// `dnsdyno show`, with its largest resident size as the kernel counted it.
fn show(setting: &Setting, folder: &Path) -> anyhow::Result<Shown> {
    use nix::sys::resource::{UsageWho, getrusage};
    let since = Instant::now();
    let shown = std::process::Command::new(&setting.dnsdyno).arg("show").arg(folder).output()?;
    let seconds = since.elapsed().as_secs_f64();
    ensure!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    // The largest of all children so far: of this benchmark it is the only one.
    let peak_mb = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss() as f64 * 1024e-6;
    Ok(Shown { seconds, peak_mb })
}

fn read_hour(folder: &Path) -> anyhow::Result<(f64, usize)> {
    let since = Instant::now();
    let from_ns = INTERVALS / 2 * SECOND_NS;
    let mut lines = 0;
    for line in RunReader::open(folder)?.between(from_ns, from_ns + 3_600 * SECOND_NS)? {
        lines += usize::from(matches!(line?, Line::Interval(_)));
    }
    Ok((since.elapsed().as_secs_f64(), lines))
}

/// CPU time of our thread with this name.
fn cpu_of_thread(name: &str) -> Option<f64> {
    for task in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
        if std::fs::read_to_string(task.path().join("comm")).ok()?.trim_end() == name {
            let used = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            return used.split(' ').next()?.parse::<f64>().ok().map(|ns| ns * 1e-9);
        }
    }
    None
}

const INTERVALS: u64 = 48 * 3_600;
const RATE: u64 = 10_000;
const SECOND_NS: u64 = 1_000_000_000;
const MEDIAN_US: f64 = 400.0;
const SLOW_SHARE: f64 = 0.01;
const LOST_SHARE: f64 = 0.0005;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawn_seconds_are_written_compressed_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let made = make(folder.path(), 1_100).unwrap();
        assert!(size_mb(folder.path()).unwrap() > made.index_mb && made.thread_cpu_s > 0.0);
        let digest = dnsdyno_record::Digest::read(folder.path()).unwrap();
        assert!(digest.is_complete());
        assert_eq!((digest.intervals, digest.tally().scheduled), (1_100, 11_000_000));
        // Noisy, not one bucket.
        assert!(digest.tally().response.buckets().count() > 500);
    }
}
