//! Whether connections leak: each transport against a server with all faults, in a long run.
//! Resident memory and open files are read each second.

use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

use crate::programs::{Generator, Target};
use crate::report::{Bar, Sample, Section};
use crate::responder::Responder;
use crate::setting::Setting;
use crate::usage::{Monitored, Usage};

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let responder = Responder::start_encrypted(setting, FAULTS, "responder")?;
    let length = Duration::from_secs(60 * u64::from(setting.minutes));
    let generators = TRANSPORTS.map(|transport| generator(setting, &responder, transport));
    let generators = generators.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    let mut at_work = Vec::new();
    for (generator, transport) in generators.iter().zip(TRANSPORTS) {
        at_work.push(Monitored::start(&setting.rig, generator, transport)?);
    }
    // All at the same time: each is read every second.
    let mut section = Section {
        name: "churn",
        method: format!(
            "{RATE_QPS} queries a second for {} min over each transport at the same time, at most {EACH} on a \
             connection, against dnsdyno's responder with {FAULTS}. Resident size (VmRSS) and open files are read each \
             second; the largest of the last tenth is compared with the largest of the second tenth.",
            setting.minutes
        ),
        commands: vec![responder.command().to_owned()],
        ..Section::default()
    };
    section.table.push(
        [
            "transport",
            "connections",
            "queries",
            "answered",
            "KiB, second tenth",
            "KiB, last",
            "files, second tenth",
            "files, last",
        ]
        .map(str::to_owned)
        .to_vec(),
    );
    let mut is_over = vec![false; at_work.len()];
    while is_over.contains(&false) {
        for (monitored, is_over) in at_work.iter_mut().zip(&mut is_over) {
            *is_over = *is_over || monitored.look(length)?;
        }
    }
    for ((monitored, generator), transport) in at_work.into_iter().zip(&generators).zip(TRANSPORTS) {
        let (finished, held) = monitored.finish(length)?;
        let summary: Value = serde_json::from_str(&finished.stdout)
            .with_context(|| format!("the summary over {transport}"))?;
        let number =
            |place: &str| summary.pointer(place).and_then(Value::as_u64).unwrap_or_default().to_string();
        let (kib, files) = (Tenths::of(&held.kib), Tenths::of(&held.files));
        section.table.push(vec![
            transport.to_owned(),
            number("/connections/opened"),
            number("/queries/scheduled"),
            number("/queries/answered"),
            kib.second.to_string(),
            kib.last.to_string(),
            files.second.to_string(),
            files.last.to_string(),
        ]);
        section.bars.push(kib.bar(&format!("resident size over {transport}, last / second tenth")));
        section.bars.push(files.bar(&format!("open files over {transport}, last / second tenth")));
        section.commands.push(setting.rig.shown(&generator.call));
        section.samples.extend(samples(transport, "resident_kib_each_second", &held.kib));
        section.samples.extend(samples(transport, "open_files_each_second", &held.files));
    }
    Ok(section)
}

fn generator(setting: &Setting, responder: &Responder, transport: &str) -> anyhow::Result<Generator> {
    let (port, trust) = match transport {
        "tcp" => (responder.port(), String::new()),
        _ => {
            let encrypted = responder.encrypted(transport)?;
            (encrypted.port, format!(" --ca {}", encrypted.ca.display()))
        }
    };
    let load = format!(
        "--transport {transport}{trust} --rate {RATE_QPS} --queries-per-connection {EACH} --timeout 500ms --workers 1 \
         --for {}m",
        setting.minutes
    );
    let target = Target::loopback(setting, port);
    // Each keeps its record in a folder of its own.
    Ok(Generator::dnsdyno_beside(setting, &target, &load, transport))
}

/// The largest readings of two tenths of a run.
#[derive(Debug, PartialEq, Eq)]
struct Tenths {
    second: u64,
    last: u64,
}

impl Tenths {
    /// The first tenth is the warm-up.
    fn of(readings: &[u64]) -> Self {
        let tenth = (readings.len() / 10).max(1);
        let part = |from: usize| {
            let from = from.min(readings.len());
            Usage::largest(&readings[from..(from + tenth).min(readings.len())])
        };
        Self { second: part(tenth), last: part(readings.len().saturating_sub(tenth)) }
    }

    fn bar(&self, what: &str) -> Bar {
        let ratio = self.last as f64 / self.second.max(1) as f64;
        Bar {
            what: what.to_owned(),
            bound: format!("<= {RATIO_BAR:.2}"),
            found: format!("{ratio:.3}"),
            met: Some(ratio <= RATIO_BAR),
        }
    }
}

fn samples(transport: &str, figure: &'static str, readings: &[u64]) -> Vec<Sample> {
    let sample =
        |value: &u64| Sample { program: transport.to_owned(), round: 1, figure, value: *value as f64 };
    readings.iter().map(sample).collect()
}

const TRANSPORTS: [&str; 4] = ["tcp", "dot", "doh", "doq"];

/// Every fault of the responder, on some of the connections.
const FAULTS: &str = "--reset 1% --cut 1% --wrong-length 1% --dribble 1% --reorder 1% --http-500 1% --stream-reset 1% \
                      --goaway 1% --silent 1% --no-handshake 1% --tls-alert 1% --loss 1% --garbage 1%";

const RATE_QPS: u32 = 300;
const EACH: u32 = 5;

/// The largest ratio of late to early use; the number of outstanding queries varies.
const RATIO_BAR: f64 = 1.15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_tenth_is_compared_with_the_second() {
        let readings: Vec<u64> = (0..100).collect();
        assert_eq!(Tenths::of(&readings), Tenths { second: 19, last: 99 });
        assert_eq!(Tenths::of(&[7]), Tenths { second: 0, last: 7 });
        assert_eq!(Tenths::of(&[]), Tenths { second: 0, last: 0 });
    }
}
