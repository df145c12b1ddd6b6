//! How many answers a world gives for each second of its CPU time, where each needs a signature of its own.
//!
//! A registry of a signed world of a million zones is asked for names of zones that nobody has asked for: each answer
//! is a referral with a signed DS record. The world keeps no signature.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::Context;
use rustix::process::Signal;

use crate::pairs::Spread;
use crate::programs::{Generator, Target, Turn};
use crate::report::{Bar, Sample, Section};
use crate::rig::Call;
use crate::setting::Setting;
use crate::usage::cpu_time;

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let (registry, names) = questions(setting)?;
    let mut table = vec![vec!["keys".to_owned(), "answers per CPU-second of the world".to_owned()]];
    let (mut bars, mut samples, mut commands, mut notes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (keys, share) in [("ECDSA P-256", "0%"), ("Ed25519", "100%")] {
        let call = Call::new(&setting.dnsdyno)
            .words(&format!("world {WORLD} {PREFIX} --share ed25519={share} --port 0"))
            .on(&[setting.rig.server_cpu()]);
        commands.push(setting.rig.shown(&call));
        let mut rates = Vec::new();
        for round in 1..=setting.pairs {
            let (turn, used) = turn(setting, &call, registry, &mut commands)?;
            if turn.lost() > 0 {
                notes.push(format!("{keys}, turn {round}: {} unanswered", turn.lost()));
            }
            rates.push(turn.answered as f64 / used.as_secs_f64());
        }
        let found = Spread::of(&rates).context("no turn")?;
        eprintln!("  {keys}: {} answers per CPU-second", found.show(0));
        table.push(vec![keys.to_owned(), found.show(0)]);
        bars.push(Bar {
            what: format!("answers per CPU-second of the world, {keys}"),
            bound: format!(">= {BAR:.0}"),
            found: found.show(0),
            met: Some(found.median >= BAR),
        });
        samples.extend(rates.iter().zip(1..).map(|(value, round)| Sample {
            program: keys.to_owned(),
            round,
            figure: "answers_per_cpu_second",
            value: *value,
        }));
    }
    Ok(Section {
        name: "world",
        method: format!(
            "A world of a million signed zones over loopback, one thread. Its largest registry is asked for {names} \
             names with the DO bit, each once, {OUTSTANDING} queries outstanding. CPU time is that of the world's \
             threads. Turns of each: {}.",
            setting.pairs
        ),
        table,
        bars,
        notes,
        commands: crate::figures::once(commands),
        samples,
    })
}

/// A new world, and one pass over the names: with the CPU time that the world used for it.
fn turn(
    setting: &Setting,
    call: &Call,
    registry: IpAddr,
    commands: &mut Vec<String>,
) -> anyhow::Result<(Turn, Duration)> {
    let world = setting.rig.start(call, "world")?;
    let port = world.wait_until(READY_WITHIN, port_of)?;
    let target = Target {
        address: SocketAddr::new(registry, port),
        namespace: None,
        queries: setting.rig.work().join(QUESTIONS),
    };
    let load = format!("--passes 1 --dnssec-ok --outstanding {OUTSTANDING} --workers 1");
    let generator = Generator::dnsdyno(setting, &target, &load);
    commands.push(setting.rig.shown(&generator.call).replace(&format!(":{port} "), ":PORT "));
    let before = cpu_time(world.id())?;
    let turn = generator.run(&setting.rig, LONGEST_TURN_S)?;
    let used = cpu_time(world.id())?.saturating_sub(before);
    world.signal(Signal::INT)?;
    world.finish(READY_WITHIN)?;
    Ok((turn, used))
}

/// Writes names of the largest registry into a query file: an address of the registry, and how many names.
fn questions(setting: &Setting) -> anyhow::Result<(IpAddr, usize)> {
    let rig = &setting.rig;
    let call = Call::new(&setting.dnsdyno).words("world questions").arg(ASKED).words("--hit 0% --warm 1");
    let all = rig.run(&call, "questions", READY_WITHIN)?.stdout;
    let of_registry: Vec<&str> = all.lines().filter(|line| line.contains(".com ")).collect();
    let first =
        of_registry.first().and_then(|line| line.split(' ').next()).context("no name of the registry")?;
    fs::write(rig.work().join(QUESTIONS), of_registry.join("\n") + "\n")
        .context("cannot write the questions")?;
    let call = Call::new(&setting.dnsdyno).words("world explain").words(PREFIX).arg(first);
    let explained = rig.run(&call, "explained", READY_WITHIN)?.stdout;
    Ok((registry_of(&explained).context("cannot read an address of the registry")?, of_registry.len()))
}

/// From the delegations of a name: `  zone com., …`, and below it `    a.dns-nic.com.   127.64.0.14   63.0 ms`.
fn registry_of(explained: &str) -> Option<IpAddr> {
    let mut lines = explained.lines().skip_while(|line| !line.trim_start().starts_with("zone com."));
    lines.nth(1)?.split_whitespace().nth(1)?.parse().ok()
}

/// From `world: 4,653 name servers in 127.64.0.0/10, port 53, UDP and TCP; Ctrl-C to stop`.
fn port_of(stderr: &str) -> Option<u16> {
    stderr.split_once(", port ")?.1.split_once(',')?.0.parse().ok()
}

const WORLD: &str = "--zones 1M --signed --rtt none --threads 1";
/// Addresses that need no route.
const PREFIX: &str = "--prefix 127.64.0.0/10";

/// Of them about a fifth are of the largest registry.
const ASKED: &str = "500k";
const QUESTIONS: &str = "questions.txt";
const OUTSTANDING: u32 = 50;

/// Answers per CPU-second.
const BAR: f64 = 50_000.0;

const READY_WITHIN: Duration = Duration::from_secs(60);
const LONGEST_TURN_S: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_the_registry_and_the_port_are_read_from_what_the_world_prints() {
        let explained = "x.com.\n  zone ., signed\n    a.dns-root.  127.64.0.1  60.1 ms anycast\n  \
                         zone com., signed\n    a.dns-nic.com.   127.64.0.14   63.0 ms anycast\n";
        assert_eq!(registry_of(explained), Some([127, 64, 0, 14].into()));
        assert_eq!(registry_of("x.org.\n"), None);
        let line = "world: 4,653 name servers in 127.64.0.0/10, port 5301, UDP and TCP; Ctrl-C to stop\n";
        assert_eq!((port_of(line), port_of("world: 4,653")), (Some(5_301), None));
    }
}
