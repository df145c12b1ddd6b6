//! Responses a second on sockets, one name, closed loop, everything on one CPU: dnsdyno and every installed peer.

use crate::names;
use crate::programs::{Generator, Target};
use crate::report::Section;
use crate::rig::{find_program, stopped};
use crate::rig_comparison::{ANSWERED, Bound, FOR_ANSWERS, Measurement, RigComparison};
use crate::setting::Setting;
use crate::veth::{FarEnd, Veth};

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let veth = Veth::new(FarEnd::Reflect, 1)?;
    let target = veth.target(&names::one(&setting.rig)?);
    let seconds = setting.seconds;
    let mut comparison = RigComparison::on(&veth, setting)
        .with(Generator::dnsdyno(setting, &target, &ours(setting)))
        .with_peer("dnsperf", "Debian: dnsperf", |dnsperf| plain_dnsperf(setting, &dnsperf, &target))
        .with_peer("kxdpgun", "Debian: knot-dnsutils", |kxdpgun| {
            Generator::kxdpgun(setting, &kxdpgun, &target, &format!("-t {seconds}"))
        })
        .with_peer("calidns", "Debian: pdns-tools", |calidns| Generator::calidns(setting, &calidns, &target))
        .with_peer("flame", "DNS-OARC's flamethrower, from source", |flame| {
            Generator::flame(setting, &flame, &target, seconds)
        });
    if let Some(best) = best_of_dnsperf(setting, &veth, &target)? {
        comparison = comparison.with(best);
    }
    let outcome = comparison.run(ANSWERED)?;
    let bars = vec![
        outcome.bar("dnsdyno", "dnsperf", ANSWERED, Bound::AtLeast(4.5)),
        outcome.bar("dnsdyno", "kxdpgun", ANSWERED, Bound::AtLeast(1.0)),
    ];
    let method = format!(
        "\"{}\", closed loop, {} outstanding, for {seconds} s, generator, kernel and responder on one CPU, \
         turns of each: {}. dnsdyno matches every response with its query and measures its latency; kxdpgun only \
         counts, at a rate that it cannot reach; calidns raises its rate until it loses more than 5 %, and its best \
         second counts. Responses per second are those that the generator received, at the rate of the near interface.",
        names::ONE,
        setting.outstanding,
        setting.pairs
    );
    Ok(outcome.section("sockets", method, FOR_ANSWERS, bars))
}

/// Our closed loop on sockets.
pub(crate) fn ours(setting: &Setting) -> String {
    format!("--outstanding {} --workers 1 --clients 1 --for {}s", setting.outstanding, setting.seconds)
}

/// dnsperf with as many outstanding as in published measurements.
pub(crate) fn plain_dnsperf(setting: &Setting, dnsperf: &std::path::Path, target: &Target) -> Generator {
    Generator::dnsperf(setting, dnsperf, target, &format!("-q 200 -T 1 -c 1 -l {}", setting.seconds))
}

/// dnsperf with its best options, found by one short turn of each.
fn best_of_dnsperf(setting: &Setting, veth: &Veth, target: &Target) -> anyhow::Result<Option<Generator>> {
    let Some(dnsperf) = find_program("dnsperf") else { return Ok(None) };
    let mut found: Option<(f64, &str)> = None;
    for load in DNSPERF_LOADS {
        let generator = Generator::dnsperf(setting, &dnsperf, target, &format!("{load} -l {TRIAL_S}"));
        let rate = match veth.run(&setting.rig, &generator, TRIAL_S) {
            Ok((turn, traffic)) => ANSWERED.1(&Measurement { turn, traffic }),
            Err(error) if stopped() => return Err(error),
            Err(_) => continue,
        };
        eprintln!("  dnsperf {load}: {rate:.0} responses per second");
        if found.is_none_or(|(best, _)| rate > best) {
            found = Some((rate, load));
        }
    }
    Ok(found.map(|(_, load)| {
        Generator::dnsperf(setting, &dnsperf, target, &format!("{load} -l {}", setting.seconds))
            .named(&format!("dnsperf {load}"), &[setting.rig.generator_cpu()])
    }))
}

/// Larger windows, more sockets, and a second thread on the same CPU.
const DNSPERF_LOADS: [&str; 6] = [
    "-q 50 -T 1 -c 1",
    "-q 100 -T 1 -c 1",
    "-q 500 -T 1 -c 1",
    "-q 2000 -T 1 -c 1",
    "-q 1000 -T 1 -c 10",
    "-q 1000 -T 2 -c 2",
];

/// Long enough to tell better from worse.
const TRIAL_S: u32 = 1;
