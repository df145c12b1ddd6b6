//! How evenly a generator sends 30,000 queries a second, by packet times on the veth pair: dnsdyno with one worker and
//! with the default, dnsperf and resperf.

use anyhow::Context;

use crate::capture::Capture;
use crate::figures::{Figure, against, once, samples, shown, spread};
use crate::names;
use crate::pairs::{Spread, in_turn};
use crate::programs::{Generator, Target, Turn};
use crate::report::{Bar, Section};
use crate::rig::find_peer;
use crate::setting::Setting;
use crate::timer::{self, Sleeps};
use crate::veth::{FarEnd, Veth};
use crate::windows::{self, Pacing};

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let rig = &setting.rig;
    let tcpdump = crate::rig::find_program("tcpdump").context("tcpdump is not installed")?;
    let veth = Veth::new(FarEnd::Reflect, 1)?;
    let generators = generators(setting, &veth.target(&names::one(rig)?));
    let sleeps = timer::sleeps(rig.generator_cpu(), 1_000_000_000 / u64::from(RATE_QPS))?;

    let turns = in_turn(setting.pairs, &generators, |round, generator| {
        let capture = Capture::start(rig, &tcpdump, &veth)?;
        let (turn, _) = veth.run(rig, generator, length_s(setting))?;
        let times_ns = capture.finish(rig, names::ONE_BYTES)?;
        let pacing = windows::judge(&times_ns, f64::from(RATE_QPS))
            .with_context(|| format!("{} did not send for two seconds", generator.label))?;
        eprintln!(
            "  {} {}: worst second {}, 10 ms windows {} at the median, gaps {} us at p99",
            round + 1,
            generator.label,
            percent(pacing.second_max),
            percent(pacing.hundredth.median),
            pacing.gap_p99_ns / 1000
        );
        anyhow::Ok(Measured { unseen: turn.sent.abs_diff(times_ns.len() as u64), turn, pacing })
    })?;

    let labels: Vec<&str> = generators.iter().map(|generator| generator.label.as_str()).collect();
    let mut commands = veth.commands();
    commands.push(rig.shown(&Capture::call(rig, &tcpdump, &veth)));
    commands.extend(generators.iter().map(|generator| rig.shown(&generator.call)));
    Ok(Section {
        name: "pacing",
        method: format!(
            "{RATE_QPS} queries a second for {} s, \"{}\", generator, kernel and responder on one CPU, turns of each: \
             {}. tcpdump captures the packets at the near interface, with the kernel's clock, on the other CPU. \
             Windows start with the first query; an incomplete last window is left out. The error is that of the \
             count in a window.",
            length_s(setting),
            names::ONE,
            setting.pairs
        ),
        table: table(&labels, &turns),
        bars: bars(&labels, &turns),
        notes: notes(&labels, &turns).into_iter().chain([floor(&sleeps)]).collect(),
        commands,
        samples: samples(&labels, &turns, &FIGURES),
    })
}

/// The limits of this host, without sending anything.
fn floor(sleeps: &Sleeps) -> String {
    format!(
        "on this host, a loop that only sleeps for the gap of {RATE_QPS} queries a second uses {:.1} us of \
         CPU per sleep and wakes up {:.1} us late at the median, {:.1} us at p99: a generator that sleeps between \
         queries has this cost in addition to sending; one that does not sleep, such as resperf, uses the whole CPU",
        sleeps.cpu_us, sleeps.late_p50_us, sleeps.late_p99_us
    )
}

/// The evaluation needs two whole seconds.
fn length_s(setting: &Setting) -> u32 {
    setting.seconds.max(3)
}

/// dnsdyno first; each generator is bound to one CPU, except for ours with its default of one worker a CPU.
fn generators(setting: &Setting, target: &Target) -> Vec<Generator> {
    let seconds = length_s(setting);
    let one = format!("--rate {RATE_QPS} --for {seconds}s --workers 1");
    let default = format!("--rate {RATE_QPS} --for {seconds}s");
    let mut generators = vec![
        Generator::dnsdyno(setting, target, &one).named("dnsdyno", &[setting.rig.generator_cpu()]),
        Generator::dnsdyno(setting, target, &default).named("dnsdyno, default workers", setting.rig.cpus()),
    ];
    if let Some(dnsperf) = find_peer("dnsperf") {
        // A window that never limits it.
        let load = format!("-Q {RATE_QPS} -q 1000 -c 1 -T 1 -l {seconds}");
        generators.push(Generator::dnsperf(setting, &dnsperf, target, &load));
    }
    if let Some(resperf) = find_peer("resperf") {
        let load = format!("-m {RATE_QPS} -r 0 -c {seconds}");
        generators.push(Generator::resperf(setting, &resperf, target, &load));
    }
    generators
}

/// A turn, and its packet times.
#[derive(Debug)]
struct Measured {
    turn: Turn,
    pacing: Pacing,
    /// The difference between what the generator says it sent and what was captured.
    unseen: u64,
}

const SECOND_MAX: Figure<Measured> = ("error_1s_max", |m| m.pacing.second_max);
const TENTH_MEDIAN: Figure<Measured> = ("error_100ms_median", |m| m.pacing.tenth.median);
const TENTH_P99: Figure<Measured> = ("error_100ms_p99", |m| m.pacing.tenth.p99);
const HUNDREDTH_MEDIAN: Figure<Measured> = ("error_10ms_median", |m| m.pacing.hundredth.median);
const HUNDREDTH_P99: Figure<Measured> = ("error_10ms_p99", |m| m.pacing.hundredth.p99);
const GAP_P50: Figure<Measured> = ("gap_p50_us", |m| m.pacing.gap_p50_ns as f64 / 1000.0);
const GAP_P99: Figure<Measured> = ("gap_p99_us", |m| m.pacing.gap_p99_ns as f64 / 1000.0);
/// How far the gaps are from 1 / rate.
const GAP_P50_ERROR: Figure<Measured> = ("gap_p50_error_us", |m| gap_error_us(m.pacing.gap_p50_ns));
const GAP_P99_ERROR: Figure<Measured> = ("gap_p99_error_us", |m| gap_error_us(m.pacing.gap_p99_ns));
const CPU_SHARE: Figure<Measured> = ("cpu_share", |m| m.turn.cpu_share());
const CPU_PER_QUERY: Figure<Measured> = ("cpu_us_per_query", |m| m.turn.cpu_us_per_query());
const SENT: Figure<Measured> = ("sent", |m| m.turn.sent as f64);
const UNSEEN: Figure<Measured> = ("unseen", |m| m.unseen as f64);
const FIGURES: [Figure<Measured>; 13] = [
    SECOND_MAX,
    TENTH_MEDIAN,
    TENTH_P99,
    HUNDREDTH_MEDIAN,
    HUNDREDTH_P99,
    GAP_P50,
    GAP_P99,
    GAP_P50_ERROR,
    GAP_P99_ERROR,
    CPU_SHARE,
    CPU_PER_QUERY,
    SENT,
    UNSEEN,
];

fn gap_error_us(gap_ns: u64) -> f64 {
    (gap_ns as f64 - 1e9 / f64::from(RATE_QPS)).abs() / 1000.0
}

fn table(labels: &[&str], turns: &[Vec<Measured>]) -> Vec<Vec<String>> {
    let heading = [
        "generator",
        "worst second",
        "100 ms, median / p99",
        "10 ms, median / p99",
        "gap p50 / p99 (us)",
        "CPU",
        "CPU us per query",
        "dnsdyno / peer",
    ];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for (n, (label, measured)) in labels.iter().zip(turns).enumerate() {
        let median = |figure| spread(measured, figure).map_or(f64::NAN, |spread| spread.median);
        let both = |middle, tail| format!("{} / {}", percent(median(middle)), percent(median(tail)));
        let worst = spread(measured, SECOND_MAX).map_or(String::new(), |spread| {
            format!("{} ({}..{})", percent(spread.median), percent(spread.min), percent(spread.max))
        });
        let against_us = against(&turns[0], measured, CPU_PER_QUERY);
        rows.push(vec![
            (*label).to_owned(),
            worst,
            both(TENTH_MEDIAN, TENTH_P99),
            both(HUNDREDTH_MEDIAN, HUNDREDTH_P99),
            format!("{:.1} / {:.1}", median(GAP_P50), median(GAP_P99)),
            format!("{:.0} %", median(CPU_SHARE) * 100.0),
            shown(measured, CPU_PER_QUERY, 2),
            against_us.filter(|_| n > 0).map_or(String::new(), |ratio| ratio.to_string()),
        ]);
    }
    rows
}

/// dnsdyno alone, by its worst turn ("in every second" means in every turn), and compared with resperf.
fn bars(labels: &[&str], turns: &[Vec<Measured>]) -> Vec<Bar> {
    let alone = |what: &str, figure, bound: f64| {
        let worst = spread(&turns[0], figure).map(|spread| spread.max);
        Bar {
            what: format!("dnsdyno, one worker: {what}, worst turn"),
            bound: format!("<= {}", percent(bound)),
            found: worst.map_or(String::new(), percent),
            met: worst.map(|worst| worst <= bound),
        }
    };
    let resperf = labels.iter().position(|label| *label == "resperf").map(|n| &turns[n]);
    let anomalies = |figure: Figure<Measured>, what: &str, tolerance: f64| {
        let both = resperf.and_then(|theirs| Some((spread(&turns[0], figure)?, spread(theirs, figure)?)));
        Bar {
            what: format!("dnsdyno, one worker, compared with resperf: {what}"),
            bound: format!("not worse (tolerance {tolerance})"),
            found: both.map_or("no resperf".to_owned(), |(ours, theirs)| {
                format!("{} against {}", ours.show(4), theirs.show(4))
            }),
            met: both.map(|(ours, theirs): (Spread, Spread)| ours.median <= theirs.median + tolerance),
        }
    };
    let cost = resperf.and_then(|theirs| against(&turns[0], theirs, CPU_PER_QUERY));
    vec![
        alone("error of the count in every second", SECOND_MAX, SECOND_BAR),
        alone("error at the median of 10 ms windows", HUNDREDTH_MEDIAN, HUNDREDTH_BAR),
        anomalies(GAP_P50_ERROR, "error of the gap p50, us", GAP_TOLERANCE_US),
        anomalies(GAP_P99_ERROR, "error of the gap p99, us", GAP_TOLERANCE_US),
        anomalies(HUNDREDTH_MEDIAN, "error of 10 ms windows, median", 0.0),
        anomalies(HUNDREDTH_P99, "error of 10 ms windows, p99", 0.0),
        Bar {
            what: "CPU time of a query, dnsdyno, one worker / resperf".to_owned(),
            bound: format!("< {CPU_BAR}"),
            found: cost.map_or("no resperf".to_owned(), |ratio| ratio.to_string()),
            met: cost.map(|ratio| ratio.median < CPU_BAR),
        },
    ]
}

fn notes(labels: &[&str], turns: &[Vec<Measured>]) -> Vec<String> {
    let mut notes = Vec::new();
    for (label, measured) in labels.iter().zip(turns) {
        let unseen: u64 = measured.iter().map(|one| one.unseen).sum();
        let warnings = measured.iter().flat_map(|one| &one.turn.warnings);
        notes.extend(once(warnings.map(|text| format!("{label} warned: {text}"))));
        if unseen > 0 {
            notes.push(format!(
                "{label}: the captured and the reported number of queries differ by {unseen} over all turns"
            ));
        }
    }
    notes
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

const RATE_QPS: u32 = 30_000;

/// The largest error of the count in any second.
const SECOND_BAR: f64 = 0.001;

/// The largest error at the median of the windows of 10 ms.
const HUNDREDTH_BAR: f64 = 0.01;

/// The limit of dnsdyno's CPU time as a share of resperf's.
const CPU_BAR: f64 = 0.5;

/// Smaller differences do not count: packet timestamps on a busy host are not more exact.
const GAP_TOLERANCE_US: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::CpuTime;
    use crate::windows::Errors;
    use std::time::Duration;

    fn measured(second_max: f64, median: f64) -> Measured {
        let errors = Errors { median, p99: 0.5 };
        let pacing =
            Pacing { second_max, tenth: errors, hundredth: errors, gap_p50_ns: 33_300, gap_p99_ns: 39_000 };
        let cpu = CpuTime { user: Duration::from_secs(1), system: Duration::from_secs(2) };
        let turn = Turn {
            sent: 300_000,
            answered: 300_000,
            seconds: 10.0,
            best_qps: None,
            wall: Duration::from_secs(10),
            cpu,
            warnings: Vec::new(),
        };
        Measured { turn, pacing, unseen: 0 }
    }

    fn met(labels: &[&str], turns: &[Vec<Measured>]) -> Vec<Option<bool>> {
        bars(labels, turns).iter().map(|bar| bar.met).collect()
    }

    #[test]
    fn one_bad_turn_misses_the_bar_of_every_second() {
        let good = met(&["dnsdyno"], &[vec![measured(0.0005, 0.003), measured(0.001, 0.01)]]);
        assert_eq!(good[..2], [Some(true), Some(true)]);
        let bad = met(&["dnsdyno"], &[vec![measured(0.0005, 0.003), measured(0.002, 0.011)]]);
        assert_eq!(bad[..2], [Some(false), Some(false)]);
        assert_eq!(bad[2..], [None; 5], "without resperf there is nothing to compare with");
    }

    #[test]
    fn dnsdyno_is_compared_with_resperf_and_not_with_its_neighbour_in_the_table() {
        let mut cheap = measured(0.0, 0.001);
        cheap.turn.cpu.system = Duration::ZERO;
        cheap.pacing.gap_p99_ns = 39_050;
        let others = vec![vec![cheap], vec![measured(0.0, 0.0)], vec![measured(0.0, 0.001)]];
        let met = met(&["dnsdyno", "dnsperf", "resperf"], &others);
        assert_eq!(met[2..], [Some(true); 5]);
        let mut late = others;
        late[0][0].pacing.gap_p99_ns = 40_000;
        assert_eq!(bars(&["dnsdyno", "dnsperf", "resperf"], &late)[3].met, Some(false));
    }

    #[test]
    fn the_table_has_a_row_for_each_generator_and_the_ratio_of_cost_for_the_others() {
        let table = table(&["dnsdyno", "resperf"], &[vec![measured(0.001, 0.0)], vec![measured(0.0, 0.0)]]);
        assert_eq!(table[1][..3], ["dnsdyno", "0.10 % (0.10 %..0.10 %)", "0.00 % / 50.00 %"]);
        assert_eq!(table[1][4..], ["33.3 / 39.0", "30 %", "10.00 (10.00..10.00)", ""]);
        assert_eq!(table[2][7], "1.00 (1.00..1.00)");
    }

    #[test]
    fn queries_that_were_not_captured_are_reported() {
        let mut odd = measured(0.0, 0.0);
        odd.unseen = 3;
        assert!(notes(&["dnsdyno"], &[vec![odd]])[0].contains("differ by 3 over"));
        assert!(notes(&["dnsdyno"], &[vec![measured(0.0, 0.0)]]).is_empty());
    }
}
