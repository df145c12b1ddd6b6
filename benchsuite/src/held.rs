//! Fifty thousand TCP connections held by one generator, with 5,000 queries a second over them, by each
//! client in turn.

use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

use crate::programs::{self, Generator, Target};
use crate::report::{Bar, Sample, Section};
use crate::responder::Responder;
use crate::setting::Setting;
use crate::usage::{Monitored, Usage};

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let first = Responder::start_sharing(setting, None, "responder-1")?;
    let second = Responder::start_sharing(setting, Some(&first), "responder-2")?;
    let third = Responder::start_sharing(setting, Some(&first), "responder-3")?;
    let load = format!(
        "--transport tcp --clients {CLIENTS} --workers 3 --local-address 127.0.1.0/24 \
         --rate {RATE_QPS} --for {SECONDS}s"
    );
    let generator = Generator::dnsdyno(setting, &Target::loopback(setting, first.port()), &load)
        .named("dnsdyno", setting.rig.cpus());
    let monitored = Monitored::start(&setting.rig, &generator, "generator")?;
    let (finished, held) = monitored.finish(Duration::from_secs(SECONDS))?;
    let turn = generator.next_client(&finished)?;
    programs::forget_record(&setting.rig)?;

    let summary: Value = serde_json::from_str(&finished.stdout).context("the summary of dnsdyno")?;
    let number =
        |place: &str| summary.pointer(place).and_then(Value::as_u64).with_context(|| format!("no {place}"));
    let open = number("/connections/open_max")?;
    let unanswered = number("/queries/scheduled")? - number("/queries/answered")?;
    let failed = number("/connections/opened")? - number("/connections/established")?;
    let largest_kib = Usage::largest(&held.kib);
    let bar = |what: &str, bound: String, found: u64, met| Bar {
        what: what.to_owned(),
        bound,
        found: found.to_string(),
        met: Some(met),
    };
    let warned = turn.warnings.iter().map(|warning| format!("dnsdyno warned: {warning}"));
    Ok(Section {
        name: "held",
        method: format!(
            "{CLIENTS} clients over TCP, {RATE_QPS} queries a second over them for {SECONDS} s, so that each client \
             sends one every {} s; three workers, 256 local addresses, three responders on one port. The resident \
             size (VmRSS) is read each second.",
            CLIENTS / RATE_QPS
        ),
        table: vec![
            [
                "connections at once",
                "largest resident size, KiB",
                "files of one worker",
                "CPU of the generator",
            ]
            .map(str::to_owned)
            .to_vec(),
            vec![
                open.to_string(),
                largest_kib.to_string(),
                Usage::largest(&held.files).to_string(),
                format!("{:.2}", turn.cpu_share()),
            ],
        ],
        bars: vec![
            bar("connections at once", format!(">= {CLIENTS}"), open, open >= CLIENTS),
            bar("largest resident size, KiB", format!("<= {MOST_KIB}"), largest_kib, largest_kib <= MOST_KIB),
            bar("connections that failed", "0".to_owned(), failed, failed == 0),
            bar("queries without a response", "0".to_owned(), unanswered, unanswered == 0),
        ],
        notes: warned.collect(),
        commands: [&first, &second, &third]
            .map(|responder| responder.command().to_owned())
            .into_iter()
            .chain([setting.rig.shown(&generator.call)])
            .collect(),
        samples: held.kib.iter().map(|kib| sample(&generator.label, *kib)).collect(),
    })
}

fn sample(program: &str, kib: u64) -> Sample {
    Sample { program: program.to_owned(), round: 1, figure: "resident_kib_each_second", value: kib as f64 }
}

const CLIENTS: u64 = 50_000;
const RATE_QPS: u64 = 5_000;
const SECONDS: u64 = 30;

/// One GiB.
const MOST_KIB: u64 = 1 << 20;
