//! Responses a second over AF_XDP with a latency for every query: dnsdyno and kxdpgun, everything on one CPU.

use std::path::Path;

use crate::names;
use crate::programs::Generator;
use crate::report::Section;
use crate::rig_comparison::{ANSWERED, Bound, FOR_ANSWERS, RigComparison};
use crate::setting::Setting;
use crate::veth::{FarEnd, Veth};

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    compare(setting, "xdp", (&format!("\"{}\"", names::ONE), &names::one(&setting.rig)?), 2.0)
}

/// The same with many names.
pub(crate) fn run_mixed(setting: &Setting) -> anyhow::Result<Section> {
    let names = ("10,000 different names of 10 to 60 characters", &names::mixed(&setting.rig)?);
    compare(setting, "xdp-mixed", (names.0, names.1), 1.7)
}

/// The comparison with a file of queries; the bar is the ratio to kxdpgun.
fn compare(
    setting: &Setting,
    name: &'static str,
    (shown, queries): (&str, &Path),
    bar: f64,
) -> anyhow::Result<Section> {
    let veth = Veth::new(FarEnd::Reflect, 1)?;
    let target = veth.target(queries);
    let seconds = setting.seconds;
    let outcome = RigComparison::on(&veth, setting)
        .with(Generator::dnsdyno(setting, &target, &ours(setting)))
        .with_peer("kxdpgun", "Debian: knot-dnsutils", |kxdpgun| {
            Generator::kxdpgun(setting, &kxdpgun, &target, &format!("-t {seconds}"))
        })
        .run(ANSWERED)?;
    let bars = vec![outcome.bar("dnsdyno", "kxdpgun", ANSWERED, Bound::AtLeast(bar))];
    let method = format!(
        "{shown} for {seconds} s, generator, kernel and responder on one CPU, turns of each: {}. dnsdyno in \
         closed loop, {} outstanding, matches every response with its query and measures its latency; kxdpgun sends \
         at a rate that it cannot reach and only counts.",
        setting.pairs, setting.xdp_outstanding
    );
    Ok(outcome.section(name, method, FOR_ANSWERS, bars))
}

/// Our closed loop over AF_XDP.
pub(crate) fn ours(setting: &Setting) -> String {
    format!("{BACKEND} --outstanding {} --workers 1 --for {}s", setting.xdp_outstanding, setting.seconds)
}

/// The near end is the only interface in its namespace.
pub(crate) const BACKEND: &str = "--backend xdp --interface near";
