//! What a constant 50,000 queries a second cost in CPU time: us and dnsperf on one CPU.

use crate::cable::{Cable, FarEnd};
use crate::figures::Figure;
use crate::names;
use crate::programs::Generator;
use crate::race::{ANSWERED, Bound, CPU_US, Lap, Race, SENT};
use crate::report::Section;
use crate::setting::Setting;

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let cable = Cable::new(FarEnd::Reflect, 1)?;
    let target = cable.target(&names::one(&setting.rig)?);
    let seconds = setting.seconds;
    let load = format!("--rate {RATE_QPS} --workers 1 --clients 1 --for {seconds}s");
    let outcome = Race::on(&cable, setting)
        .with(Generator::dnsdyno(setting, &target, &load))
        .with_peer("dnsperf", "Debian: dnsperf", |dnsperf| {
            // Room enough that its window never holds it back.
            let load = format!("-Q {RATE_QPS} -q 1000 -T 1 -c 1 -l {seconds}");
            Generator::dnsperf(setting, &dnsperf, &target, &load)
        })
        .run(CPU_US)?;
    let bars = vec![outcome.bar("dnsdyno", "dnsperf", CPU_US, Bound::AtMost(0.5))];
    let method = format!(
        "\"{}\", {RATE_QPS} queries a second for {seconds} s, turns of each: {}. CPU time is user and system \
         time of the generator's process, start and end included; on one CPU it holds what the kernel does for \
         the cable and the responder while the process sends.",
        names::ONE,
        setting.pairs
    );
    Ok(outcome.section("steady", method, COLUMNS, bars))
}

const RATE_QPS: u32 = 50_000;

const COLUMNS: &[(&str, Figure<Lap>, usize)] =
    &[("CPU us per query", CPU_US, 3), ("sent per second", SENT, 0), ("answers per second", ANSWERED, 0)];
