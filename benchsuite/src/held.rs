//! Connections held by one generator, with queries over all: 500,000 over TCP, 100,000 over DoT, 50,000 over DoQ.
//!
//! Generator and responder have their connections in many tables of open files, one of each thread, because a host
//! allows each table a number (`ulimit -Hn`).

use std::fs;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::programs::{self, Generator, Target};
use crate::report::{Bar, Sample, Section};
use crate::responder::Responder;
use crate::setting::Setting;
use crate::usage::{Monitored, Usage};

/// What is held, and with what load.
struct Load {
    name: &'static str,
    transport: &'static str,
    clients: u64,
    /// Threads of the generator, and of the responder.
    workers: u64,
    threads: u64,
    qps: u64,
    seconds: u64,
    /// The most memory that a connection may need, and the fewest connections that are set up in a second.
    most_octets: Option<u64>,
    least_set_up: Option<f64>,
}

pub(crate) fn tcp(setting: &Setting) -> anyhow::Result<Section> {
    run(setting, &TCP)
}

pub(crate) fn dot(setting: &Setting) -> anyhow::Result<Section> {
    run(setting, &DOT)
}

pub(crate) fn doq(setting: &Setting) -> anyhow::Result<Section> {
    run(setting, &DOQ)
}

/// What was found of a load.
struct Held {
    open: u64,
    failed: u64,
    unanswered: u64,
    largest_kib: u64,
    octets: u64,
    set_up: Option<f64>,
}

fn run(setting: &Setting, load: &Load) -> anyhow::Result<Section> {
    let Load { transport, clients, workers, threads, qps, seconds, .. } = *load;
    let words = format!("--threads {threads} --max-connections {} --idle 10m", 2 * clients);
    let responder = Responder::start_encrypted_on(setting, &words, "responder", setting.rig.cpus())?;
    let generator = generator(setting, &responder, load)?;
    let length = Duration::from_secs(seconds);
    let before = tcp_sockets()?;
    let mut monitored = Monitored::start(&setting.rig, &generator, "generator")?;
    let mut sockets = Vec::new();
    while !monitored.look(length)? {
        sockets.push(tcp_sockets()?.saturating_sub(before));
    }
    let (finished, used) = monitored.finish(length)?;
    let turn = generator.read_turn(&finished)?;
    programs::forget_record(&setting.rig)?;
    let held = Held::read(&finished.stdout, &used, &sockets)?;
    let warned = turn.warnings.iter().map(|warning| format!("dnsdyno warned: {warning}"));
    Ok(Section {
        name: load.name,
        method: format!(
            "{clients} clients over {transport}, {qps} queries a second over them for {seconds} s, from 256 local \
             addresses; {workers} workers, and {threads} threads of one responder on the same CPUs. The resident size \
             (VmRSS) is read each second; memory for each connection is the largest, divided by the connections. Set \
             up a second is the slope of the kernel's count of TCP sockets from 10 to 90 % of its largest value: \
             each connection has two."
        ),
        table: vec![
            [
                "connections at once",
                "largest resident size, KiB",
                "octets for each",
                "set up a second",
                "files of one thread",
                "CPU of the generator",
            ]
            .map(str::to_owned)
            .to_vec(),
            vec![
                held.open.to_string(),
                held.largest_kib.to_string(),
                held.octets.to_string(),
                shown(held.set_up),
                Usage::largest(&used.files).to_string(),
                format!("{:.2}", turn.cpu_share()),
            ],
        ],
        bars: held.bars(load),
        notes: warned.collect(),
        commands: vec![responder.command().to_owned(), setting.rig.shown(&generator.call)],
        samples: used
            .kib
            .iter()
            .map(|kib| sample("resident_kib_each_second", *kib))
            .chain(sockets.iter().map(|count| sample("tcp_sockets_each_second", *count)))
            .collect(),
    })
}

fn generator(setting: &Setting, responder: &Responder, load: &Load) -> anyhow::Result<Generator> {
    let Load { transport, clients, workers, qps, seconds, .. } = *load;
    let flags = format!(
        "--transport {transport} --clients {clients} --workers {workers} --local-address 127.0.1.0/24 --rate {qps} \
         --for {seconds}s"
    );
    let (port, flags) = if transport == "tcp" {
        (responder.port(), flags)
    } else {
        let encrypted = responder.encrypted(transport)?;
        (encrypted.port, format!("{flags} --ca {}", encrypted.ca.display()))
    };
    let target = Target::loopback(setting, port);
    Ok(Generator::dnsdyno(setting, &target, &flags).named("dnsdyno", setting.rig.cpus()))
}

impl Held {
    /// From the summary of the run, and what was read while it ran.
    fn read(summary: &str, used: &Usage, sockets: &[u64]) -> anyhow::Result<Held> {
        let summary: Value = serde_json::from_str(summary).context("the summary of dnsdyno")?;
        let number = |place: &str| {
            summary.pointer(place).and_then(Value::as_u64).with_context(|| format!("no {place}"))
        };
        let open = number("/connections/open_max")?;
        ensure!(open > 0, "no connection was established");
        let largest_kib = Usage::largest(&used.kib);
        Ok(Held {
            open,
            failed: number("/connections/opened")? - number("/connections/established")?,
            unanswered: number("/queries/scheduled")? - number("/queries/answered")?,
            largest_kib,
            octets: largest_kib * 1024 / open,
            set_up: set_up_a_second(sockets),
        })
    }

    fn bars(&self, load: &Load) -> Vec<Bar> {
        let bar = |what: &str, bound: String, found: String, met| Bar {
            what: what.to_owned(),
            bound,
            found,
            met: Some(met),
        };
        let exact = |what: &str, wanted: u64, found: u64| {
            bar(what, wanted.to_string(), found.to_string(), found == wanted)
        };
        let of_memory = load.most_octets.map(|most| {
            let met = self.octets <= most;
            bar("octets of memory for each", format!("<= {most}"), self.octets.to_string(), met)
        });
        let of_setting_up = load.least_set_up.map(|least| {
            let met = self.set_up.is_some_and(|rate| rate >= least);
            bar("set up a second", format!(">= {least:.0}"), shown(self.set_up), met)
        });
        [
            exact("connections at once", load.clients, self.open),
            exact("connections that failed", 0, self.failed),
            exact("queries without a response", 0, self.unanswered),
        ]
        .into_iter()
        .chain(of_memory)
        .chain(of_setting_up)
        .collect()
    }
}

fn shown(rate: Option<f64>) -> String {
    rate.map_or("-".to_owned(), |rate| format!("{rate:.0}"))
}

/// The TCP sockets of the host that are not closed.
fn tcp_sockets() -> anyhow::Result<u64> {
    let path = "/proc/net/sockstat";
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("TCP: inuse "));
    let count = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    count.with_context(|| format!("{path} has no count of TCP sockets"))
}

/// Connections set up in a second, from their sockets in each second: two each.
fn set_up_a_second(sockets: &[u64]) -> Option<f64> {
    let largest = *sockets.iter().max()?;
    let first_above = |tenths: u64| sockets.iter().position(|count| *count >= largest / 10 * tenths);
    let (from, to) = (first_above(1)?, first_above(9)?);
    (to > from).then(|| (sockets[to] - sockets[from]) as f64 / 2.0 / (to - from) as f64)
}

fn sample(figure: &'static str, value: u64) -> Sample {
    Sample { program: "dnsdyno".to_owned(), round: 1, figure, value: value as f64 }
}

const TCP: Load = Load {
    name: "held",
    transport: "tcp",
    clients: 500_000,
    workers: 26,
    threads: 28,
    qps: 21_000,
    seconds: 50,
    most_octets: Some(2 << 10),
    least_set_up: Some(20_000.0),
};

const DOT: Load = Load {
    name: "held-dot",
    transport: "dot",
    clients: 100_000,
    workers: 6,
    threads: 7,
    qps: 2_000,
    seconds: 70,
    most_octets: None,
    least_set_up: None,
};

/// The one thread of the responder is at its limit with 800 handshakes a second.
const DOQ: Load = Load {
    name: "held-doq",
    transport: "doq",
    clients: 50_000,
    workers: 1,
    threads: 1,
    qps: 600,
    seconds: 110,
    most_octets: None,
    least_set_up: None,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_setting_up_is_the_slope_between_a_tenth_and_nine_tenths() {
        let sockets = [0, 0, 20, 60, 100, 140, 180, 200, 200, 200];
        assert_eq!(set_up_a_second(&sockets), Some(20.0));
        assert_eq!(set_up_a_second(&[0, 200, 200]), None);
        assert_eq!(set_up_a_second(&[]), None);
    }
}
