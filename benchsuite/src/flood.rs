//! Queries a second sent without waiting for answers: our backends and kxdpgun, everything on one CPU.

use crate::cable::{Cable, FarEnd};
use crate::figures::{Figure, spread};
use crate::names;
use crate::programs::Generator;
use crate::race::{Bound, CPU_US, Lap, Race, SENT, SENT_SAID};
use crate::report::Section;
use crate::setting::Setting;
use crate::xdp::BACKEND;

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let cable = Cable::new(FarEnd::Drop, 1)?;
    let target = cable.target(&names::one(&setting.rig)?);
    let (seconds, cpu) = (setting.seconds, [setting.rig.generator_cpu()]);
    let load = format!("--send-only --workers 1 --for {seconds}s");
    let ours = |load: &str| Generator::dnsdyno(setting, &target, load).send_only();
    let outcome = Race::on(&cable, setting)
        .with(ours(&format!("{load} --clients 1")).named(SOCKETS, &cpu))
        .with(ours(&format!("{load} {BACKEND}")).named(AF_XDP, &cpu))
        .with_peer("kxdpgun", "Debian: knot-dnsutils", |kxdpgun| {
            Generator::kxdpgun(setting, &kxdpgun, &target, &format!("-t {seconds} -r"))
                .send_only()
                .named(DROPPING, &cpu)
        })
        .with_peer("kxdpgun", "Debian: knot-dnsutils", |kxdpgun| {
            Generator::kxdpgun(setting, &kxdpgun, &target, &format!("-t {seconds}"))
                .send_only()
                .named(LISTENING, &cpu)
        })
        .run(SENT)?;
    let median = |label: &str| {
        outcome.of(label).and_then(|laps| spread(laps, SENT)).map_or(0.0, |spread| spread.median)
    };
    let better = |one, other| if median(other) > median(one) { other } else { one };
    let (ours, theirs) = (better(SOCKETS, AF_XDP), better(DROPPING, LISTENING));
    let bars = vec![outcome.bar(ours, theirs, SENT, Bound::AtLeast(1.9))];
    let method = format!(
        "\"{}\" for {seconds} s as fast as it goes (kxdpgun: at a rate beyond reach), nobody answers: a \
         program in the driver of the far end drops what comes. Generator and kernel on one CPU, turns of \
         each: {}. What counts is what the far end has counted, by its clock; our better backend is judged \
         beside the better of kxdpgun with -r and without, for on one CPU -r can keep it from sending.",
        names::ONE,
        setting.pairs
    );
    Ok(outcome.section("flood", method, COLUMNS, bars))
}

const SOCKETS: &str = "dnsdyno";
const AF_XDP: &str = "dnsdyno AF_XDP";
const DROPPING: &str = "kxdpgun -r";
const LISTENING: &str = "kxdpgun";

const COLUMNS: &[(&str, Figure<Lap>, usize)] = &[
    ("sent per second", SENT, 0),
    ("by its own account", SENT_SAID, 0),
    ("CPU us per query by its own count", CPU_US, 3),
];
