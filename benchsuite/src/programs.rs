//! The load generators: the command line of each for the same load, and its result of a turn.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::reported::{OutputFormat, Reported};
use crate::rig::{Call, CpuTime, Finished, Rig};
use crate::setting::Setting;

/// The query on the loopback. It is in the zone of the lab's real servers; dnsdyno's responder answers any query.
pub(crate) const QUERY: &str = "www.dyno.example A";

/// The server, and the queries to send.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// The server.
    pub(crate) address: SocketAddr,
    /// The network namespace to send from.
    pub(crate) namespace: Option<String>,
    /// A query file, "name type" a line.
    pub(crate) queries: PathBuf,
}

/// A generator with its whole command line.
#[derive(Debug, Clone)]
pub(crate) struct Generator {
    /// Its name in the report.
    pub(crate) label: String,
    /// Its command line.
    pub(crate) call: Call,
    /// Whether it attaches its own XDP program to its interface.
    pub(crate) brings_program: bool,
    /// Whether it waits for responses. If it does, a turn without any has failed.
    pub(crate) wants_answers: bool,
    format: OutputFormat,
}

/// The result of one turn of a generator.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) sent: u64,
    pub(crate) answered: u64,
    /// The time of sending, as it reports.
    pub(crate) seconds: f64,
    /// Responses a second in its best step, for generators with steps.
    pub(crate) best_qps: Option<f64>,
    /// From its start to its end, measured by the suite.
    pub(crate) wall: Duration,
    pub(crate) cpu: CpuTime,
    /// Its warnings about itself; only dnsdyno has them.
    pub(crate) warnings: Vec<String>,
}

impl Target {
    /// On the loopback, with the queries of the setting.
    pub(crate) fn loopback(setting: &Setting, port: u16) -> Self {
        Self { address: ([127, 0, 0, 1], port).into(), namespace: None, queries: setting.queries.clone() }
    }

    fn call(&self, program: impl Into<PathBuf>) -> Call {
        let call = Call::new(program);
        match &self.namespace {
            Some(namespace) => call.within(namespace),
            None => call,
        }
    }
}

impl Generator {
    /// dnsdyno with the load of `load`, such as `--rate 30000 --for 10s`, and the generator's flags.
    pub(crate) fn dnsdyno(setting: &Setting, target: &Target, load: &str) -> Self {
        Self::ours(setting, &setting.dnsdyno, target, &unchecked(load))
    }

    /// As [`Generator::dnsdyno`], with a record of its own of this name, for those that run at the same time.
    pub(crate) fn dnsdyno_beside(setting: &Setting, target: &Target, load: &str, record: &str) -> Self {
        Self::recording(setting, &setting.dnsdyno, target, &unchecked(load), record)
    }

    /// As [`Generator::dnsdyno`], from another build of it.
    pub(crate) fn ours(setting: &Setting, program: &Path, target: &Target, load: &str) -> Self {
        Self::recording(setting, program, target, load, RECORD)
    }

    fn recording(setting: &Setting, program: &Path, target: &Target, load: &str, record: &str) -> Self {
        let call = target
            .call(program)
            .words(&format!("run -s {} {load} --quiet --json -d", target.address))
            .arg(&target.queries)
            .arg("--out")
            .arg(setting.rig.work().join(record));
        let own = load.contains("--backend xdp");
        Self { brings_program: own, ..Self::pinned(setting, "dnsdyno", call, OutputFormat::Dnsdyno) }
    }

    /// dnsperf, from the path that was found, with the flags of `load`.
    pub(crate) fn dnsperf(setting: &Setting, program: &Path, target: &Target, load: &str) -> Self {
        let (ip, port) = (target.address.ip(), target.address.port());
        let call = target.call(program).words(&format!("-s {ip} -p {port} {load} -d")).arg(&target.queries);
        Self::pinned(setting, "dnsperf", call, OutputFormat::Nominum)
    }

    /// resperf, from the path that was found, with the flags of `load`. It reads its file again and again, and
    /// waits one second for a response, so that a lost one does not delay its end by 40 s.
    pub(crate) fn resperf(setting: &Setting, program: &Path, target: &Target, load: &str) -> Self {
        let (ip, port) = (target.address.ip(), target.address.port());
        let call = target
            .call(program)
            .words(&format!("-s {ip} -p {port} {load} -R -t 1 -P"))
            .arg(setting.rig.work().join("resperf.gnuplot"))
            .arg("-d")
            .arg(&target.queries);
        Self::pinned(setting, "resperf", call, OutputFormat::Nominum)
    }

    /// kxdpgun, from the path that was found. It sends as fast as it can, at a rate that it cannot reach, and binds
    /// each of its threads itself.
    pub(crate) fn kxdpgun(setting: &Setting, program: &Path, target: &Target, load: &str) -> Self {
        let (ip, port, cpu) = (target.address.ip(), target.address.port(), setting.rig.generator_cpu());
        let call = target
            .call(program)
            .words(&format!("-Q {BEYOND_REACH_QPS} -b 64 -F {cpu} -p {port} {load} -i"))
            .arg(&target.queries)
            .arg(ip.to_string());
        Self { brings_program: true, ..Self::pinned(setting, "kxdpgun", call, OutputFormat::Kxdpgun) }
    }

    /// calidns, from the path that was found: it goes up by a quarter a step, each of about a second, until fewer
    /// than 95 % of its queries are answered. Each step uses one more line of its file.
    pub(crate) fn calidns(setting: &Setting, program: &Path, target: &Target) -> Self {
        let call = target
            .call(program)
            .words("--increment 1.25 --minimum-success-rate 95")
            .arg(&target.queries)
            .words(&format!("{} {CALIDNS_FIRST_QPS} 100", target.address));
        Self::pinned(setting, "calidns", call, OutputFormat::Calidns)
    }

    /// dnstcpbench, from the path that was found: each query over UDP first, then over TCP; so many at once. It
    /// has no rate and no duration.
    pub(crate) fn dnstcpbench(setting: &Setting, program: &Path, target: &Target, at_once: u32) -> Self {
        let (ip, port) = (target.address.ip(), target.address.port());
        let call = target
            .call(program)
            .words(&format!("--udp-first --workers {at_once} --timeout-msec 5000 --file"))
            .arg(&target.queries)
            .words(&format!("{ip} {port}"));
        Self::pinned(setting, "dnstcpbench", call, OutputFormat::Dnstcpbench)
    }

    /// flamethrower, from the path that was found, at its default rate.
    pub(crate) fn flame(setting: &Setting, program: &Path, target: &Target, seconds: u32) -> Self {
        let (ip, port) = (target.address.ip(), target.address.port());
        let call = target
            .call(program)
            .words(&format!("-p {port} -l {seconds} -g file -f"))
            .arg(&target.queries)
            .arg(ip.to_string());
        Self::pinned(setting, "flamethrower", call, OutputFormat::Flame)
    }

    fn pinned(setting: &Setting, label: &str, call: Call, format: OutputFormat) -> Self {
        Self {
            label: label.to_owned(),
            call: call.on(&[setting.rig.generator_cpu()]),
            brings_program: false,
            wants_answers: true,
            format,
        }
    }

    /// The same under another name in the report, on these CPUs.
    pub(crate) fn named(self, label: &str, cpus: &[usize]) -> Self {
        Self { label: label.to_owned(), call: self.call.on(cpus), ..self }
    }

    /// The same without responses.
    pub(crate) fn send_only(self) -> Self {
        Self { wants_answers: false, ..self }
    }

    /// One run, which should take about `seconds`.
    pub(crate) fn run(&self, rig: &Rig, seconds: u32) -> anyhow::Result<Turn> {
        let within = Duration::from_secs(u64::from(seconds)) + GRACE;
        let turn = rig.run(&self.call, "generator", within).and_then(|finished| self.read_turn(&finished));
        forget_record(rig)?;
        turn
    }

    /// Reads the output of a run that has ended.
    pub(crate) fn read_turn(&self, finished: &Finished) -> anyhow::Result<Turn> {
        let reported = self.format.read(finished);
        let Reported { sent, answered, seconds, best_qps, warnings } =
            reported.with_context(|| format!("cannot read what {} printed", self.label))?;
        ensure!(answered > 0 || !self.wants_answers, "{} got no response", self.label);
        Ok(Turn { sent, answered, seconds, best_qps, wall: finished.wall, cpu: finished.cpu, warnings })
    }
}

/// A load without the check before it: the server gets the load only, as from other generators.
fn unchecked(load: &str) -> String {
    format!("{load} --no-check")
}

impl Turn {
    /// As it reports.
    pub(crate) fn answered_qps(&self) -> f64 {
        self.best_qps.unwrap_or(self.answered as f64 / self.seconds)
    }

    pub(crate) fn answered_per_cpu_second(&self) -> f64 {
        self.answered as f64 / self.cpu.total_s()
    }

    /// CPU time of one query in microseconds.
    pub(crate) fn cpu_us_per_query(&self) -> f64 {
        self.cpu.total_s() * 1e6 / self.sent as f64
    }

    /// CPU time as a share of one CPU, from start to end.
    pub(crate) fn cpu_share(&self) -> f64 {
        self.cpu.total_s() / self.wall.as_secs_f64()
    }

    /// Queries without a response.
    pub(crate) fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.answered)
    }
}

/// Removes dnsdyno's record of the last run, so that each run has the same command line.
pub(crate) fn forget_record(rig: &Rig) -> anyhow::Result<()> {
    let record = rig.work().join(RECORD);
    match std::fs::remove_dir_all(&record) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", record.display()))
        }
        _ => Ok(()),
    }
}

/// dnsdyno's record, in the rig's folder.
const RECORD: &str = "record";

/// More than one CPU can send.
const BEYOND_REACH_QPS: u32 = 10_000_000;

/// The first rate of calidns.
const CALIDNS_FIRST_QPS: u32 = 60_000;

/// Extra time for a generator to load, wait for the last responses, and write.
const GRACE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_and_rates_of_a_turn_follow_from_its_counts() {
        let second = Duration::from_secs(1);
        let turn = Turn {
            sent: 1000,
            answered: 990,
            seconds: 2.0,
            best_qps: None,
            wall: 4 * second,
            cpu: CpuTime { user: second, system: second },
            warnings: Vec::new(),
        };
        assert_eq!((turn.answered_qps(), turn.answered_per_cpu_second(), turn.lost()), (495.0, 495.0, 10));
        assert_eq!((turn.cpu_us_per_query(), turn.cpu_share()), (2000.0, 0.5));
        assert_eq!(Turn { best_qps: Some(600.0), ..turn }.answered_qps(), 600.0);
    }
}
