//! The CPU time of a constant 50,000 queries a second: dnsdyno and dnsperf on one CPU.

use crate::figures::Figure;
use crate::names;
use crate::programs::Generator;
use crate::report::Section;
use crate::rig_comparison::{ANSWERED, Bound, CPU_US, Measurement, RigComparison, SENT};
use crate::setting::Setting;
use crate::veth::{FarEnd, Veth};

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let veth = Veth::new(FarEnd::Reflect, 1)?;
    let target = veth.target(&names::one(&setting.rig)?);
    let seconds = setting.seconds;
    let load = format!("--rate {RATE_QPS} --workers 1 --clients 1 --for {seconds}s");
    let outcome = RigComparison::on(&veth, setting)
        .with(Generator::dnsdyno(setting, &target, &load))
        .with_peer("dnsperf", "Debian: dnsperf", |dnsperf| {
            // A window that never limits it.
            let load = format!("-Q {RATE_QPS} -q 1000 -T 1 -c 1 -l {seconds}");
            Generator::dnsperf(setting, &dnsperf, &target, &load)
        })
        .run(CPU_US)?;
    let bars = vec![outcome.bar("dnsdyno", "dnsperf", CPU_US, Bound::AtMost(0.5))];
    let method = format!(
        "\"{}\", {RATE_QPS} queries a second for {seconds} s, turns of each: {}. CPU time is user and system \
         time of the generator's process, start and end included; on one CPU it includes the kernel's work for \
         the veth pair and the responder while the process sends.",
        names::ONE,
        setting.pairs
    );
    Ok(outcome.section("steady", method, COLUMNS, bars))
}

const RATE_QPS: u32 = 50_000;

const COLUMNS: &[(&str, Figure<Measurement>, usize)] =
    &[("CPU us per query", CPU_US, 3), ("sent per second", SENT, 0), ("responses per second", ANSWERED, 0)];
