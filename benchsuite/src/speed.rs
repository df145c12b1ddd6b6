//! Responses that a generator receives per second of its own CPU time: dnsdyno and dnsperf, 100 queries outstanding,
//! one thread, one socket.
//!
//! The CPU time is that of the whole process, with loading and reporting. The responder has its own CPU where there are
//! two, so the cost of the generator is separate from the speed of the responder.

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
            "  {} {}: {:.0} responses per CPU-second, {:.0} per second",
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
             loopback interface, queries that are sent to the kernel as one segmented message stay one packet, in both \
             directions if the responder does the same; a network card separates them.",
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
        "responses per CPU-second",
        "dnsdyno / peer",
        "responses per second",
        "dnsdyno / peer",
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
        what: "responses per CPU-second, dnsdyno / dnsperf".to_owned(),
        bound: format!(">= {RATIO_BAR:.1}"),
        found: found.map_or("no dnsperf".to_owned(), |ratio| ratio.to_string()),
        met: found.map(|ratio| ratio.median >= RATIO_BAR),
    }
}

/// The warnings of dnsdyno, each once.
fn warnings(ours: &[Measured]) -> Vec<String> {
    let said = ours.iter().flat_map(|measured| &measured.turn.warnings);
    once(said.map(|warning| format!("dnsdyno warned: {warning}")))
}

const OUTSTANDING: u32 = 100;

/// The smallest ratio of responses per CPU-second, dnsdyno / dnsperf.
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
    fn the_ratio_of_responses_per_cpu_second_is_compared_with_the_target() {
        // Fewer responses, for less than half the CPU time: met.
        let turns = [vec![measured(100, 1), measured(90, 1)], vec![measured(200, 5), measured(200, 4)]];
        let bar = bar(&turns);
        assert_eq!((bar.met, bar.found.as_str()), (Some(true), "2.15 (1.80..2.50)"));
    }

    #[test]
    fn without_the_peer_there_is_no_ratio_and_our_figures_stay() {
        let turns = [vec![measured(100, 1)]];
        assert_eq!(bar(&turns).met, None);
        assert_eq!(table(&["dnsdyno"], &turns)[1][..4], ["dnsdyno", "100 (100..100)", "", "10 (10..10)"]);
        assert_eq!(samples(&["dnsdyno"], &turns, &FIGURES).len(), FIGURES.len());
    }

    #[test]
    fn a_warning_of_every_turn_is_reported_once() {
        assert_eq!(warnings(&[measured(1, 1), measured(1, 1)]), ["dnsdyno warned: hot"]);
    }
}
