//! The load generators: how each is told the same load, and how its own account of a run is read.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::Setting;
use crate::rig::{Call, CpuTime, Finished, Rig};

/// The question that every generator asks; real servers of the lab have it, dnsdyno's responder answers anything.
pub(crate) const QUERY: &str = "www.dyno.example A";

/// The length of [`QUERY`] as a message without EDNS: header, 18 bytes of name, type and class.
pub(crate) const QUERY_BYTES: u32 = 12 + 18 + 4;

/// A generator with its whole command line.
#[derive(Debug, Clone)]
pub(crate) struct Generator {
    /// How it is called in the report.
    pub(crate) label: String,
    /// Its command line.
    pub(crate) call: Call,
    account: Account,
}

/// Whose account of a run is to be read.
#[derive(Debug, Clone, Copy)]
enum Account {
    Dnsdyno,
    Nominum,
}

/// What a generator did in one turn.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) sent: u64,
    pub(crate) answered: u64,
    /// The time of sending, by its own account.
    pub(crate) seconds: f64,
    /// From its start to its end, as we saw it.
    pub(crate) wall: Duration,
    pub(crate) cpu: CpuTime,
    /// What it warned of itself; only dnsdyno does.
    pub(crate) warnings: Vec<String>,
}

impl Generator {
    /// dnsdyno with the load of `load`, such as `--rate 30000 --for 10s`, and the generator's flags.
    pub(crate) fn dnsdyno(setting: &Setting, port: u16, load: &str) -> Self {
        let call = Call::new(&setting.dnsdyno)
            .words(&format!("run -s 127.0.0.1:{port} {load} --quiet --json -d"))
            .arg(&setting.queries)
            .arg("--out")
            .arg(setting.rig.work().join(RECORD));
        Self::pinned(setting, "dnsdyno", call, Account::Dnsdyno)
    }

    /// dnsperf, from the path that was found, with the flags of `load`.
    pub(crate) fn dnsperf(setting: &Setting, program: &std::path::Path, port: u16, load: &str) -> Self {
        let call =
            Call::new(program).words(&format!("-s 127.0.0.1 -p {port} {load} -d")).arg(&setting.queries);
        Self::pinned(setting, "dnsperf", call, Account::Nominum)
    }

    /// resperf, from the path that was found, with the flags of `load`. It reads its file again and again, and
    /// gives up on an answer after a second, so that a lost one does not keep it busy for 40 s more.
    pub(crate) fn resperf(setting: &Setting, program: &std::path::Path, port: u16, load: &str) -> Self {
        let call = Call::new(program)
            .words(&format!("-s 127.0.0.1 -p {port} {load} -R -t 1 -P"))
            .arg(setting.rig.work().join("resperf.gnuplot"))
            .arg("-d")
            .arg(&setting.queries);
        Self::pinned(setting, "resperf", call, Account::Nominum)
    }

    fn pinned(setting: &Setting, label: &str, call: Call, account: Account) -> Self {
        Self { label: label.to_owned(), call: call.on(&[setting.rig.generator_cpu()]), account }
    }

    /// The same under another name in the report, on these CPUs.
    pub(crate) fn named(self, label: &str, cpus: &[usize]) -> Self {
        Self { label: label.to_owned(), call: self.call.on(cpus), ..self }
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
        let turn = match self.account {
            Account::Dnsdyno => read_dnsdyno(finished),
            Account::Nominum => read_nominum(finished),
        };
        let turn = turn.with_context(|| format!("cannot read what {} printed", self.label))?;
        ensure!(turn.answered > 0, "{} got no answer", self.label);
        Ok(turn)
    }
}

impl Turn {
    pub(crate) fn answered_qps(&self) -> f64 {
        self.answered as f64 / self.seconds
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

/// The object of `dnsdyno run --json`.
fn read_dnsdyno(finished: &Finished) -> anyhow::Result<Turn> {
    let summary: Value = serde_json::from_str(&finished.stdout)?;
    let number =
        |place: &str| summary.pointer(place).and_then(Value::as_u64).with_context(|| format!("no {place}"));
    let warnings = summary["generator"]["warnings"].as_array().into_iter().flatten();
    Ok(Turn {
        sent: number("/queries/sent")?,
        answered: number("/queries/answered")?,
        seconds: number("/run/schedule_ns")? as f64 / 1e9,
        wall: finished.wall,
        cpu: finished.cpu,
        warnings: warnings.filter_map(|warning| Some(warning["text"].as_str()?.to_owned())).collect(),
    })
}

/// The statistics that dnsperf and resperf print, which come from one hand.
fn read_nominum(finished: &Finished) -> anyhow::Result<Turn> {
    let figure = |name: &str| {
        let line = finished.stdout.lines().find_map(|line| line.trim().strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()).with_context(|| format!("no line {name:?}"))
    };
    Ok(Turn {
        sent: figure("Queries sent:")?.parse()?,
        answered: figure("Queries completed:")?.parse()?,
        seconds: figure("Run time (s):")?.parse()?,
        wall: finished.wall,
        cpu: finished.cpu,
        warnings: Vec::new(),
    })
}

/// dnsdyno's record, in the rig's folder.
const RECORD: &str = "record";

/// What a generator may take beyond its time: loading, waiting for the last answers, writing.
const GRACE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(stdout: &str) -> Finished {
        let second = Duration::from_secs(1);
        let cpu = CpuTime { user: second, system: second };
        Finished { cpu, wall: 4 * second, stdout: stdout.to_owned(), stderr: String::new() }
    }

    #[test]
    fn the_statistics_of_dnsperf_are_read() {
        let text = "Statistics:\n\n  Queries sent:         1000\n  Queries completed:    990 (99.00%)\n\
                    \x20 Queries lost:         10 (1.00%)\n\n  Run time (s):         2.000000\n";
        let turn = read_nominum(&finished(text)).unwrap();
        assert_eq!((turn.sent, turn.answered, turn.lost(), turn.seconds), (1000, 990, 10, 2.0));
        assert_eq!((turn.answered_qps(), turn.answered_per_cpu_second()), (495.0, 495.0));
        assert_eq!((turn.cpu_us_per_query(), turn.cpu_share()), (2000.0, 0.5));
    }

    #[test]
    fn the_summary_of_dnsdyno_is_read_with_its_warnings() {
        let text = r#"{"run": {"schedule_ns": 2000000000}, "queries": {"sent": 10, "answered": 9},
                       "generator": {"ok": false, "warnings": [{"name": "late", "text": "sent late"}]}}"#;
        let turn = read_dnsdyno(&finished(text)).unwrap();
        assert_eq!((turn.sent, turn.answered, turn.seconds), (10, 9, 2.0));
        assert_eq!(turn.warnings, ["sent late"]);
    }

    #[test]
    fn a_figure_that_is_missing_is_named() {
        let error = read_nominum(&finished("  Queries sent:  5\n")).unwrap_err().to_string();
        assert!(error.contains("Queries completed"), "{error}");
        assert!(read_dnsdyno(&finished("{}")).unwrap_err().to_string().contains("/queries/sent"));
    }
}
