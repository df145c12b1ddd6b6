//! Queries a second sent without waiting for responses: our backends and kxdpgun, everything on one CPU.

use crate::figures::{Figure, spread};
use crate::names;
use crate::programs::Generator;
use crate::report::Section;
use crate::rig_comparison::{Bound, CPU_US, Measurement, RigComparison, SENT, SENT_SAID};
use crate::setting::Setting;
use crate::veth::{FarEnd, Veth};
use crate::xdp::BACKEND;

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let veth = Veth::new(FarEnd::Drop, 1)?;
    let target = veth.target(&names::one(&setting.rig)?);
    let (seconds, cpu) = (setting.seconds, [setting.rig.generator_cpu()]);
    let load = format!("--send-only --workers 1 --for {seconds}s");
    let ours = |load: &str| Generator::dnsdyno(setting, &target, load).send_only();
    let outcome = RigComparison::on(&veth, setting)
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
        outcome
            .of(label)
            .and_then(|measurements| spread(measurements, SENT))
            .map_or(0.0, |spread| spread.median)
    };
    let better = |one, other| if median(other) > median(one) { other } else { one };
    let (ours, theirs) = (better(SOCKETS, AF_XDP), better(DROPPING, LISTENING));
    let bars = vec![outcome.bar(ours, theirs, SENT, Bound::AtLeast(2.2))];
    let method = format!(
        "\"{}\" for {seconds} s as fast as possible (kxdpgun: at a rate that it cannot reach), without responses: an \
         XDP program in the driver of the far end drops every packet. Generator and kernel on one CPU, turns of \
         each: {}. The figure is the packet count of the far interface over its own time. The better backend of \
         dnsdyno is compared with the better of kxdpgun with -r and without, because on one CPU -r can \
         prevent it from sending.",
        names::ONE,
        setting.pairs
    );
    Ok(outcome.section("flood", method, COLUMNS, bars))
}

const SOCKETS: &str = "dnsdyno";
const AF_XDP: &str = "dnsdyno AF_XDP";
const DROPPING: &str = "kxdpgun -r";
const LISTENING: &str = "kxdpgun";

const COLUMNS: &[(&str, Figure<Measurement>, usize)] = &[
    ("sent per second", SENT, 0),
    ("as reported by the generator", SENT_SAID, 0),
    ("CPU us per query reported as sent", CPU_US, 3),
];
