//! How many answers a generator takes in for a second of its own CPU time: us and dnsperf, 100 queries outstanding,
//! one thread, one socket.
//!
//! The CPU time is the whole process's, loading and reporting included. The responder has a CPU of its own where
//! there are two, so what the generator costs is told apart from how fast it was answered.

use crate::figures::{Figure, against, once, samples, shown, spread};
use crate::pairs::in_turn;
use crate::programs;
use crate::programs::{Generator, Target, Turn};
use crate::report::{Bar, Section};
use crate::responder::Responder;
use crate::rig::find_peer;
use crate::setting::Setting;

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let seconds = setting.seconds;
    let responder = Responder::start(setting)?;
    let target = Target::loopback(setting, responder.port());
    let load = format!("--outstanding {OUTSTANDING} --workers 1 --clients 1 --for {seconds}s");
    let mut generators = vec![Generator::dnsdyno(setting, &target, &load)];
    if let Some(dnsperf) = find_peer("dnsperf") {
        let load = format!("-q {OUTSTANDING} -c 1 -T 1 -l {seconds}");
        generators.push(Generator::dnsperf(setting, &dnsperf, &target, &load));
    }

    let turns = in_turn(setting.pairs, &generators, |round, generator| {
        let before = responder.cpu_time()?;
        let turn = generator.run(&setting.rig, seconds)?;
        let responder_s = responder.cpu_time()?.saturating_sub(before).as_secs_f64();
        let measured = Measured { responder_share: responder_s / turn.wall.as_secs_f64(), turn };
        eprintln!(
            "  {} {}: {:.0} answers per CPU-second, {:.0} per second",
            round + 1,
            generator.label,
            measured.turn.answered_per_cpu_second(),
            measured.turn.answered_qps()
        );
        anyhow::Ok(measured)
    })?;

    let commands = generators.iter().map(|generator| setting.rig.shown(&generator.call));
    let labels: Vec<&str> = generators.iter().map(|generator| generator.label.as_str()).collect();
    Ok(Section {
        name: "speed",
        method: format!(
            "{OUTSTANDING} queries outstanding, one thread, one socket, \"{}\" for {seconds} s against {}, \
             turns of each: {}. CPU time is user and system time of the generator's process. On the \
             loopback interface a train of queries handed to the kernel as one travels as one, both ways if \
             the responder does the same; a network card takes it apart.",
            programs::QUERY,
            setting.against,
            setting.pairs
        ),
        table: table(&labels, &turns),
        bars: vec![bar(&turns)],
        notes: warnings(&turns[0]),
        commands: std::iter::once(responder.command().to_owned()).chain(commands).collect(),
        samples: samples(&labels, &turns, &FIGURES),
    })
}

/// A turn, and the share of one CPU that the responder used meanwhile.
#[derive(Debug)]
struct Measured {
    turn: Turn,
    responder_share: f64,
}

const PER_CPU_SECOND: Figure<Measured> = ("answered_per_cpu_second", |m| m.turn.answered_per_cpu_second());
const PER_SECOND: Figure<Measured> = ("answered_qps", |m| m.turn.answered_qps());
const USER_SHARE: Figure<Measured> =
    ("user_cpu_share", |m| m.turn.cpu.user.as_secs_f64() / m.turn.wall.as_secs_f64());
const SYSTEM_SHARE: Figure<Measured> =
    ("system_cpu_share", |m| m.turn.cpu.system.as_secs_f64() / m.turn.wall.as_secs_f64());
const RESPONDER_SHARE: Figure<Measured> = ("responder_cpu_share", |m| m.responder_share);
const LOST: Figure<Measured> = ("unanswered", |m| m.turn.lost() as f64);
const FIGURES: [Figure<Measured>; 6] =
    [PER_CPU_SECOND, PER_SECOND, USER_SHARE, SYSTEM_SHARE, RESPONDER_SHARE, LOST];

fn table(labels: &[&str], turns: &[Vec<Measured>]) -> Vec<Vec<String>> {
    let heading = [
        "generator",
        "answers per CPU-second",
        "us / it",
        "answers per second",
        "us / it",
        "user CPU",
        "system CPU",
        "responder's CPU",
        "unanswered",
    ];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for (n, (label, measured)) in labels.iter().zip(turns).enumerate() {
        let plain = |figure, decimals| shown(measured, figure, decimals);
        let share = |figure| {
            spread(measured, figure).map_or(String::new(), |spread| format!("{:.0} %", spread.median * 100.0))
        };
        let against_us = |figure| match against(&turns[0], measured, figure) {
            Some(ratio) if n > 0 => ratio.to_string(),
            _ => String::new(),
        };
        rows.push(vec![
            (*label).to_owned(),
            plain(PER_CPU_SECOND, 0),
            against_us(PER_CPU_SECOND),
            plain(PER_SECOND, 0),
            against_us(PER_SECOND),
            share(USER_SHARE),
            share(SYSTEM_SHARE),
            share(RESPONDER_SHARE),
            plain(LOST, 0),
        ]);
    }
    rows
}

fn bar(turns: &[Vec<Measured>]) -> Bar {
    let found = turns.get(1).and_then(|theirs| against(&turns[0], theirs, PER_CPU_SECOND));
    Bar {
        what: "answers per CPU-second, dnsdyno / dnsperf".to_owned(),
        bound: format!(">= {RATIO_BAR:.1}"),
        found: found.map_or("no dnsperf".to_owned(), |ratio| ratio.to_string()),
        met: found.map(|ratio| ratio.median >= RATIO_BAR),
    }
}

/// What dnsdyno said of itself, each once.
fn warnings(ours: &[Measured]) -> Vec<String> {
    let said = ours.iter().flat_map(|measured| &measured.turn.warnings);
    once(said.map(|warning| format!("dnsdyno warned: {warning}")))
}

const OUTSTANDING: u32 = 100;

/// How many times dnsperf's answers per CPU-second ours should be.
const RATIO_BAR: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::CpuTime;
    use std::time::Duration;

    fn measured(answered: u64, cpu_s: u64) -> Measured {
        let cpu = CpuTime { user: Duration::from_secs(cpu_s), system: Duration::ZERO };
        let wall = Duration::from_secs(10);
        let warnings = vec!["hot".to_owned()];
        let turn = Turn { sent: answered, answered, seconds: 10.0, best_qps: None, wall, cpu, warnings };
        Measured { turn, responder_share: 0.5 }
    }

    #[test]
    fn the_bar_is_judged_by_the_ratio_of_answers_per_cpu_second() {
        // Slower by the clock, and cheaper by half and more: met.
        let turns = [vec![measured(100, 1), measured(90, 1)], vec![measured(200, 5), measured(200, 4)]];
        let bar = bar(&turns);
        assert_eq!((bar.met, bar.found.as_str()), (Some(true), "2.15 (1.80..2.50)"));
    }

    #[test]
    fn without_the_peer_nothing_is_judged_and_our_figures_stay() {
        let turns = [vec![measured(100, 1)]];
        assert_eq!(bar(&turns).met, None);
        assert_eq!(table(&["dnsdyno"], &turns)[1][..4], ["dnsdyno", "100 (100..100)", "", "10 (10..10)"]);
        assert_eq!(samples(&["dnsdyno"], &turns, &FIGURES).len(), FIGURES.len());
    }

    #[test]
    fn a_warning_of_every_turn_is_told_once() {
        assert_eq!(warnings(&[measured(1, 1), measured(1, 1)]), ["dnsdyno warned: hot"]);
    }
}
