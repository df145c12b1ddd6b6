//! Responses a second on sockets, 10,000 names of mixed lengths, closed loop, everything on one CPU.

use crate::names;
use crate::programs::Generator;
use crate::report::Section;
use crate::rig_comparison::{ANSWERED, Bound, FOR_ANSWERS, RigComparison};
use crate::setting::Setting;
use crate::sockets::{ours, plain_dnsperf};
use crate::veth::{FarEnd, Veth};

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let veth = Veth::new(FarEnd::Reflect, 1)?;
    let target = veth.target(&names::mixed(&setting.rig)?);
    let load = ours(setting);
    let outcome = RigComparison::on(&veth, setting)
        .with(Generator::dnsdyno(setting, &target, &load))
        .with_peer("dnsperf", "Debian: dnsperf", |dnsperf| plain_dnsperf(setting, &dnsperf, &target))
        .with(
            Generator::dnsdyno(setting, &target, &format!("{load} --keep-order"))
                .named(KEEPING, &[setting.rig.generator_cpu()]),
        )
        .run(ANSWERED)?;
    let bars = vec![outcome.bar("dnsdyno", "dnsperf", ANSWERED, Bound::AtLeast(3.5))];
    let method = format!(
        "10,000 different names of 10 to 60 characters, closed loop, {} outstanding, for {} s, generator, kernel and \
         responder on one CPU, turns of each: {}. dnsdyno groups queries of equal length within 2,048; with \
         --keep-order it does not.",
        setting.outstanding, setting.seconds, setting.pairs
    );
    Ok(outcome.section("mixed", method, FOR_ANSWERS, bars))
}

const KEEPING: &str = "dnsdyno --keep-order";
