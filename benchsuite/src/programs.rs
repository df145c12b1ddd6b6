//! The load generators: how each is told the same load, and what it did in a turn.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::accounts::{Account, Said};
use crate::rig::{Call, CpuTime, Finished, Rig};
use crate::setting::Setting;

/// The question that generators ask on the loopback; real servers of the lab have it, dnsdyno's responder answers
/// anything.
pub(crate) const QUERY: &str = "www.dyno.example A";

/// Whom generators ask, and what.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// Who answers.
    pub(crate) address: SocketAddr,
    /// The network namespace to ask from.
    pub(crate) namespace: Option<String>,
    /// What to ask: a file of "name type" a line.
    pub(crate) queries: PathBuf,
}

/// A generator with its whole command line.
#[derive(Debug, Clone)]
pub(crate) struct Generator {
    /// How it is called in the report.
    pub(crate) label: String,
    /// Its command line.
    pub(crate) call: Call,
    /// Whether it puts a program of its own on its interface.
    pub(crate) brings_program: bool,
    /// Whether it waits for answers: else none is no failure.
    pub(crate) wants_answers: bool,
    account: Account,
}

/// What a generator did in one turn.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) sent: u64,
    pub(crate) answered: u64,
    /// The time of sending, by its own account.
    pub(crate) seconds: f64,
    /// Answers a second in its best step, for those that go through steps.
    pub(crate) best_qps: Option<f64>,
    /// From its start to its end, as we saw it.
    pub(crate) wall: Duration,
    pub(crate) cpu: CpuTime,
    /// What it warned of itself; only dnsdyno does.
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
        Self::ours(setting, &setting.dnsdyno, target, load)
    }

    /// As [`Generator::dnsdyno`], with a record of its own of this name, for those that run at the same time.
    pub(crate) fn dnsdyno_beside(setting: &Setting, target: &Target, load: &str, record: &str) -> Self {
        Self::recording(setting, &setting.dnsdyno, target, load, record)
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
        Self { brings_program: own, ..Self::pinned(setting, "dnsdyno", call, Account::Dnsdyno) }
    }

    /// dnsperf, from the path that was found, with the flags of `load`.
    pub(crate) fn dnsperf(setting: &Setting, program: &Path, target: &Target, load: &str) -> Self {
        let (ip, port) = (target.address.ip(), target.address.port());
        let call = target.call(program).words(&format!("-s {ip} -p {port} {load} -d")).arg(&target.queries);
        Self::pinned(setting, "dnsperf", call, Account::Nominum)
    }

    /// resperf, from the path that was found, with the flags of `load`. It reads its file again and again, and
    /// gives up on an answer after a second, so that a lost one does not keep it busy for 40 s more.
    pub(crate) fn resperf(setting: &Setting, program: &Path, target: &Target, load: &str) -> Self {
        let (ip, port) = (target.address.ip(), target.address.port());
        let call = target
            .call(program)
            .words(&format!("-s {ip} -p {port} {load} -R -t 1 -P"))
            .arg(setting.rig.work().join("resperf.gnuplot"))
            .arg("-d")
            .arg(&target.queries);
        Self::pinned(setting, "resperf", call, Account::Nominum)
    }

    /// kxdpgun, from the path that was found. It sends as fast as it can, by a rate beyond its reach, and binds
    /// each of its threads itself.
    pub(crate) fn kxdpgun(setting: &Setting, program: &Path, target: &Target, load: &str) -> Self {
        let (ip, port, cpu) = (target.address.ip(), target.address.port(), setting.rig.generator_cpu());
        let call = target
            .call(program)
            .words(&format!("-Q {BEYOND_REACH_QPS} -b 64 -F {cpu} -p {port} {load} -i"))
            .arg(&target.queries)
            .arg(ip.to_string());
        Self { brings_program: true, ..Self::pinned(setting, "kxdpgun", call, Account::Kxdpgun) }
    }

    /// calidns, from the path that was found: it goes up by a quarter a step, each of about a second, until fewer
    /// than 95 % of its queries are answered. Its queries are used up by a new one each step.
    pub(crate) fn calidns(setting: &Setting, program: &Path, target: &Target) -> Self {
        let call = target
            .call(program)
            .words("--increment 1.25 --minimum-success-rate 95")
            .arg(&target.queries)
            .words(&format!("{} {CALIDNS_FIRST_QPS} 100", target.address));
        Self::pinned(setting, "calidns", call, Account::Calidns)
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
        Self::pinned(setting, "dnstcpbench", call, Account::Dnstcpbench)
    }

    /// flamethrower, from the path that was found, at its default pace.
    pub(crate) fn flame(setting: &Setting, program: &Path, target: &Target, seconds: u32) -> Self {
        let (ip, port) = (target.address.ip(), target.address.port());
        let call = target
            .call(program)
            .words(&format!("-p {port} -l {seconds} -g file -f"))
            .arg(&target.queries)
            .arg(ip.to_string());
        Self::pinned(setting, "flamethrower", call, Account::Flame)
    }

    fn pinned(setting: &Setting, label: &str, call: Call, account: Account) -> Self {
        Self {
            label: label.to_owned(),
            call: call.on(&[setting.rig.generator_cpu()]),
            brings_program: false,
            wants_answers: true,
            account,
        }
    }

    /// The same under another name in the report, on these CPUs.
    pub(crate) fn named(self, label: &str, cpus: &[usize]) -> Self {
        Self { label: label.to_owned(), call: self.call.on(cpus), ..self }
    }

    /// The same where nobody answers.
    pub(crate) fn send_only(self) -> Self {
        Self { wants_answers: false, ..self }
    }

    /// One run, which should take about `seconds`.
    pub(crate) fn run(&self, rig: &Rig, seconds: u32) -> anyhow::Result<Turn> {
        let within = Duration::from_secs(u64::from(seconds)) + GRACE;
        let turn = rig.run(&self.call, "generator", within).and_then(|finished| self.turn(&finished));
        forget_record(rig)?;
        turn
    }

    /// Reads the account of a run that has ended.
    pub(crate) fn turn(&self, finished: &Finished) -> anyhow::Result<Turn> {
        let said = self.account.read(finished);
        let Said { sent, answered, seconds, best_qps, warnings } =
            said.with_context(|| format!("cannot read what {} printed", self.label))?;
        ensure!(answered > 0 || !self.wants_answers, "{} got no answer", self.label);
        Ok(Turn { sent, answered, seconds, best_qps, wall: finished.wall, cpu: finished.cpu, warnings })
    }
}

impl Turn {
    /// By its own account.
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

    /// Busy share of one CPU from start to end.
    pub(crate) fn cpu_share(&self) -> f64 {
        self.cpu.total_s() / self.wall.as_secs_f64()
    }

    /// Queries without an answer.
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

/// Where calidns begins to climb.
const CALIDNS_FIRST_QPS: u32 = 60_000;

/// What a generator may take beyond its time: loading, waiting for the last answers, writing.
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
