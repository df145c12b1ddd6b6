//! Answers a second on sockets, one name, closed loop, everything on one CPU: us and every peer there is.

use crate::cable::{Cable, FarEnd};
use crate::names;
use crate::programs::{Generator, Target};
use crate::race::{ANSWERED, Bound, FOR_ANSWERS, Lap, Race};
use crate::report::Section;
use crate::rig::{find_program, stopped};
use crate::setting::Setting;

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let cable = Cable::new(FarEnd::Reflect, 1)?;
    let target = cable.target(&names::one(&setting.rig)?);
    let seconds = setting.seconds;
    let mut race = Race::on(&cable, setting)
        .with(Generator::dnsdyno(setting, &target, &ours(setting)))
        .with_peer("dnsperf", "Debian: dnsperf", |dnsperf| plain_dnsperf(setting, &dnsperf, &target))
        .with_peer("kxdpgun", "Debian: knot-dnsutils", |kxdpgun| {
            Generator::kxdpgun(setting, &kxdpgun, &target, &format!("-t {seconds}"))
        })
        .with_peer("calidns", "Debian: pdns-tools", |calidns| Generator::calidns(setting, &calidns, &target))
        .with_peer("flame", "DNS-OARC's flamethrower, from source", |flame| {
            Generator::flame(setting, &flame, &target, seconds)
        });
    if let Some(best) = best_of_dnsperf(setting, &cable, &target)? {
        race = race.with(best);
    }
    let outcome = race.run(ANSWERED)?;
    let bars = vec![
        outcome.bar("dnsdyno", "dnsperf", ANSWERED, Bound::AtLeast(4.5)),
        outcome.bar("dnsdyno", "kxdpgun", ANSWERED, Bound::AtLeast(1.0)),
    ];
    let method = format!(
        "\"{}\", closed loop, {} outstanding, for {seconds} s, generator, kernel and responder on one CPU, \
         turns of each: {}. Ours pairs every answer with its query and takes its latency; kxdpgun counts, at a \
         rate beyond its reach; calidns climbs until it loses more than 5 %, and its best second counts. \
         Answers per second are those that the generator took in, by the cable's clock.",
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

/// dnsperf with as many outstanding as it was measured with elsewhere.
pub(crate) fn plain_dnsperf(setting: &Setting, dnsperf: &std::path::Path, target: &Target) -> Generator {
    Generator::dnsperf(setting, dnsperf, target, &format!("-q 200 -T 1 -c 1 -l {}", setting.seconds))
}

/// dnsperf with whatever it does best, found by one short turn of each.
fn best_of_dnsperf(setting: &Setting, cable: &Cable, target: &Target) -> anyhow::Result<Option<Generator>> {
    let Some(dnsperf) = find_program("dnsperf") else { return Ok(None) };
    let mut found: Option<(f64, &str)> = None;
    for load in DNSPERF_LOADS {
        let generator = Generator::dnsperf(setting, &dnsperf, target, &format!("{load} -l {TRIAL_S}"));
        let rate = match cable.run(&setting.rig, &generator, TRIAL_S) {
            Ok((turn, link)) => ANSWERED.1(&Lap { turn, link }),
            Err(error) if stopped() => return Err(error),
            Err(_) => continue,
        };
        eprintln!("  dnsperf {load}: {rate:.0} answers per second");
        if found.is_none_or(|(best, _)| rate > best) {
            found = Some((rate, load));
        }
    }
    Ok(found.map(|(_, load)| {
        Generator::dnsperf(setting, &dnsperf, target, &format!("{load} -l {}", setting.seconds))
            .named(&format!("dnsperf {load}"), &[setting.rig.generator_cpu()])
    }))
}

/// Wider windows, more sockets, and a second thread on the same CPU.
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
