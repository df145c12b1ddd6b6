//! Answers a second over AF_XDP with a latency for every query: us and kxdpgun, everything on one CPU.

use crate::cable::{Cable, FarEnd};
use crate::names;
use crate::programs::Generator;
use crate::race::{ANSWERED, Bound, FOR_ANSWERS, Race};
use crate::report::Section;
use crate::setting::Setting;

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let cable = Cable::new(FarEnd::Reflect, 1)?;
    let target = cable.target(&names::one(&setting.rig)?);
    let seconds = setting.seconds;
    let outcome = Race::on(&cable, setting)
        .with(Generator::dnsdyno(setting, &target, &ours(setting)))
        .with_peer("kxdpgun", "Debian: knot-dnsutils", |kxdpgun| {
            Generator::kxdpgun(setting, &kxdpgun, &target, &format!("-t {seconds}"))
        })
        .run(ANSWERED)?;
    let bars = vec![outcome.bar("dnsdyno", "kxdpgun", ANSWERED, Bound::AtLeast(1.2))];
    let method = format!(
        "\"{}\" for {seconds} s, generator, kernel and responder on one CPU, turns of each: {}. dnsdyno in \
         closed loop, {} outstanding, pairs every answer with its query and takes its latency; kxdpgun sends at \
         a rate beyond its reach and counts.",
        names::ONE,
        setting.pairs,
        setting.xdp_outstanding
    );
    Ok(outcome.section("xdp", method, FOR_ANSWERS, bars))
}

/// Our closed loop over AF_XDP.
pub(crate) fn ours(setting: &Setting) -> String {
    format!("{BACKEND} --outstanding {} --workers 1 --for {}s", setting.xdp_outstanding, setting.seconds)
}

/// The near end is the only interface that there is.
pub(crate) const BACKEND: &str = "--backend xdp --interface near";
