//! How evenly a generator holds 30,000 queries a second, judged by packet times on the loopback interface: us, with
//! one worker and with the default, dnsperf and resperf.

use crate::capture::Capture;
use crate::pairs::{Spread, in_turn, ratio};
use crate::programs::{Generator, QUERY_BYTES, Turn};
use crate::report::{Bar, Sample, Section};
use crate::responder::Responder;
use crate::rig::find_peer;
use crate::windows::{self, Pacing};
use crate::{Setting, programs};
use anyhow::Context;

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let rig = &setting.rig;
    let tcpdump = crate::rig::find_program("tcpdump").context("tcpdump is not installed")?;
    let responder = Responder::start(setting)?;
    let port = responder.port();
    let generators = generators(setting, port);

    let turns = in_turn(setting.pairs, &generators, |round, generator| {
        let capture = Capture::start(rig, &tcpdump, port)?;
        let turn = generator.run(rig, setting.seconds)?;
        let times_ns = capture.finish(rig, QUERY_BYTES)?;
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
    let watch = [responder.command().to_owned(), rig.shown(&Capture::call(rig, &tcpdump, port))];
    let commands = generators.iter().map(|generator| rig.shown(&generator.call));
    Ok(Section {
        name: "pacing",
        method: format!(
            "{RATE_QPS} queries a second for {} s, \"{}\" against {}, turns of each: {}. tcpdump takes the \
             packets on the loopback interface with the kernel's clock, on the responder's CPU. Windows begin with \
             the first query, the last one is left out where it is not whole; the error is that of the count in a \
             window.",
            setting.seconds,
            programs::QUERY,
            setting.against,
            setting.pairs
        ),
        table: table(&labels, &turns),
        bars: bars(&turns[0]),
        notes: notes(&labels, &turns),
        commands: watch.into_iter().chain(commands).collect(),
        samples: samples(&labels, &turns),
    })
}

/// Us first; each generator is bound to one CPU, except for ours with its default of one worker a CPU.
fn generators(setting: &Setting, port: u16) -> Vec<Generator> {
    let seconds = setting.seconds;
    let one = format!("--rate {RATE_QPS} --for {seconds}s --workers 1");
    let default = format!("--rate {RATE_QPS} --for {seconds}s");
    let mut generators = vec![
        Generator::dnsdyno(setting, port, &one).named("dnsdyno", &[setting.rig.generator_cpu()]),
        Generator::dnsdyno(setting, port, &default).named("dnsdyno, default workers", setting.rig.cpus()),
    ];
    if let Some(dnsperf) = find_peer("dnsperf") {
        // Room enough that its window never holds it back.
        let load = format!("-Q {RATE_QPS} -q 1000 -c 1 -T 1 -l {seconds}");
        generators.push(Generator::dnsperf(setting, &dnsperf, port, &load));
    }
    if let Some(resperf) = find_peer("resperf") {
        let load = format!("-m {RATE_QPS} -r 0 -c {seconds}");
        generators.push(Generator::resperf(setting, &resperf, port, &load));
    }
    generators
}

/// A turn, and what the wire showed of it.
#[derive(Debug)]
struct Measured {
    turn: Turn,
    pacing: Pacing,
    /// The difference between what the generator says it sent and what was captured.
    unseen: u64,
}

/// A figure of a turn: its name in `raw.csv`, and how to get it.
type Figure = (&'static str, fn(&Measured) -> f64);

const SECOND_MAX: Figure = ("error_1s_max", |m| m.pacing.second_max);
const TENTH_MEDIAN: Figure = ("error_100ms_median", |m| m.pacing.tenth.median);
const TENTH_P99: Figure = ("error_100ms_p99", |m| m.pacing.tenth.p99);
const HUNDREDTH_MEDIAN: Figure = ("error_10ms_median", |m| m.pacing.hundredth.median);
const HUNDREDTH_P99: Figure = ("error_10ms_p99", |m| m.pacing.hundredth.p99);
const GAP_P50: Figure = ("gap_p50_us", |m| m.pacing.gap_p50_ns as f64 / 1000.0);
const GAP_P99: Figure = ("gap_p99_us", |m| m.pacing.gap_p99_ns as f64 / 1000.0);
const CPU_SHARE: Figure = ("cpu_share", |m| m.turn.cpu_share());
const CPU_PER_QUERY: Figure = ("cpu_us_per_query", |m| m.turn.cpu_us_per_query());
const SENT: Figure = ("sent", |m| m.turn.sent as f64);
const UNSEEN: Figure = ("unseen", |m| m.unseen as f64);
const FIGURES: [Figure; 11] = [
    SECOND_MAX,
    TENTH_MEDIAN,
    TENTH_P99,
    HUNDREDTH_MEDIAN,
    HUNDREDTH_P99,
    GAP_P50,
    GAP_P99,
    CPU_SHARE,
    CPU_PER_QUERY,
    SENT,
    UNSEEN,
];

fn values(measured: &[Measured], figure: Figure) -> Vec<f64> {
    measured.iter().map(figure.1).collect()
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
        "us / it",
    ];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for (n, (label, measured)) in labels.iter().zip(turns).enumerate() {
        let median = |figure| Spread::of(&values(measured, figure)).map_or(f64::NAN, |spread| spread.median);
        let both = |middle, tail| format!("{} / {}", percent(median(middle)), percent(median(tail)));
        let worst = Spread::of(&values(measured, SECOND_MAX)).map_or(String::new(), |spread| {
            format!("{} ({}..{})", percent(spread.median), percent(spread.min), percent(spread.max))
        });
        let against_us = ratio(&values(&turns[0], CPU_PER_QUERY), &values(measured, CPU_PER_QUERY));
        rows.push(vec![
            (*label).to_owned(),
            worst,
            both(TENTH_MEDIAN, TENTH_P99),
            both(HUNDREDTH_MEDIAN, HUNDREDTH_P99),
            format!("{:.1} / {:.1}", median(GAP_P50), median(GAP_P99)),
            format!("{:.0} %", median(CPU_SHARE) * 100.0),
            Spread::of(&values(measured, CPU_PER_QUERY)).map_or(String::new(), |spread| spread.to_string()),
            against_us.filter(|_| n > 0).map_or(String::new(), |ratio| ratio.to_string()),
        ]);
    }
    rows
}

/// Judged on the worst of our turns: "in every second" means in every turn.
fn bars(ours: &[Measured]) -> Vec<Bar> {
    let judged = |what: &str, figure, bound: f64| {
        let worst = Spread::of(&values(ours, figure)).map(|spread| spread.max);
        Bar {
            what: format!("dnsdyno, one worker: {what}, worst turn"),
            bound: format!("<= {}", percent(bound)),
            found: worst.map_or(String::new(), percent),
            met: worst.map(|worst| worst <= bound),
        }
    };
    vec![
        judged("error of the count in every second", SECOND_MAX, SECOND_BAR),
        judged("error at the median of 10 ms windows", HUNDREDTH_MEDIAN, HUNDREDTH_BAR),
    ]
}

fn notes(labels: &[&str], turns: &[Vec<Measured>]) -> Vec<String> {
    let mut notes = Vec::new();
    for (label, measured) in labels.iter().zip(turns) {
        let unseen: u64 = measured.iter().map(|one| one.unseen).sum();
        let found =
            measured.iter().flat_map(|one| &one.turn.warnings).map(|text| format!("{label} warned: {text}"));
        let lost = (unseen > 0).then(|| {
            format!("{label}: what was captured and what it says it sent differ by {unseen} queries over all turns")
        });
        for note in found.chain(lost) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

fn samples(labels: &[&str], turns: &[Vec<Measured>]) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (label, measured) in labels.iter().zip(turns) {
        // The label's comma would be a column.
        let program = label.replace(", ", " with ");
        for (n, one) in measured.iter().enumerate() {
            samples.extend(FIGURES.map(|(figure, get)| Sample {
                program: program.clone(),
                round: n + 1,
                figure,
                value: get(one),
            }));
        }
    }
    samples
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

const RATE_QPS: u32 = 30_000;

/// The largest error of the count in any second.
const SECOND_BAR: f64 = 0.001;

/// The largest error at the median of the windows of 10 ms.
const HUNDREDTH_BAR: f64 = 0.01;

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
            wall: Duration::from_secs(10),
            cpu,
            warnings: Vec::new(),
        };
        Measured { turn, pacing, unseen: 0 }
    }

    #[test]
    fn one_bad_turn_misses_the_bar_of_every_second() {
        let met = |turns: &[Measured]| bars(turns).iter().map(|bar| bar.met).collect::<Vec<_>>();
        assert_eq!(met(&[measured(0.0005, 0.003), measured(0.001, 0.01)]), [Some(true), Some(true)]);
        assert_eq!(met(&[measured(0.0005, 0.003), measured(0.002, 0.011)]), [Some(false), Some(false)]);
    }

    #[test]
    fn the_table_has_a_row_for_each_generator_and_the_ratio_of_cost_for_the_others() {
        let table = table(&["dnsdyno", "resperf"], &[vec![measured(0.001, 0.0)], vec![measured(0.0, 0.0)]]);
        assert_eq!(table[1][..3], ["dnsdyno", "0.10 % (0.10 %..0.10 %)", "0.00 % / 50.00 %"]);
        assert_eq!(table[1][4..], ["33.3 / 39.0", "30 %", "10.00 (10.00..10.00)", ""]);
        assert_eq!(table[2][7], "1.00 (1.00..1.00)");
    }

    #[test]
    fn queries_that_the_capture_did_not_see_are_told() {
        let mut odd = measured(0.0, 0.0);
        odd.unseen = 3;
        assert!(notes(&["dnsdyno"], &[vec![odd]])[0].contains("differ by 3 queries"));
        assert!(notes(&["dnsdyno"], &[vec![measured(0.0, 0.0)]]).is_empty());
    }
}
