//! Generators in turn against one server on the loopback, compared by one figure.

use crate::figures::{Figure, against, once, samples, shown};
use crate::pairs::in_turn;
use crate::programs::{Generator, Turn};
use crate::report::{Bar, Section};
use crate::setting::Setting;

/// Responses (one for each transaction) per second of the generator's CPU time.
pub(crate) const PER_CPU_SECOND: Figure<Turn> = ("answered_per_cpu_second", Turn::answered_per_cpu_second);
/// Responses a second, as reported by the generator.
pub(crate) const PER_SECOND: Figure<Turn> = ("answered_qps", Turn::answered_qps);
const CPU_SHARE: Figure<Turn> = ("cpu_share", Turn::cpu_share);
const UNANSWERED: Figure<Turn> = ("unanswered", |turn| turn.lost() as f64);
const FIGURES: [Figure<Turn>; 4] = [PER_CPU_SECOND, PER_SECOND, CPU_SHARE, UNANSWERED];

/// The generators, and the figure that decides.
#[derive(Debug)]
pub(crate) struct LoopbackComparison {
    pub(crate) name: &'static str,
    pub(crate) method: String,
    /// The commands that started the servers.
    pub(crate) servers: Vec<String>,
    pub(crate) ours: Generator,
    /// The first is compared with ours, the others are only shown. Empty where none is installed.
    pub(crate) theirs: Vec<Generator>,
    pub(crate) figure: Figure<Turn>,
    /// The smallest ratio of ours to theirs.
    pub(crate) bar: f64,
}

impl LoopbackComparison {
    /// Runs all in turn.
    pub(crate) fn run(self, setting: &Setting) -> anyhow::Result<Section> {
        let Self { name, method, servers, ours, theirs, figure, bar } = self;
        let generators: Vec<Generator> = std::iter::once(ours).chain(theirs).collect();
        let turns = in_turn(setting.pairs, &generators, |round, generator| {
            let turn = generator.run(&setting.rig, setting.seconds)?;
            eprintln!(
                "  {} {}: {:.0} responses per CPU-second, {:.0} per second, {} unanswered",
                round + 1,
                generator.label,
                turn.answered_per_cpu_second(),
                turn.answered_qps(),
                turn.lost()
            );
            anyhow::Ok(turn)
        })?;
        let labels: Vec<&str> = generators.iter().map(|generator| generator.label.as_str()).collect();
        let commands = generators.iter().map(|generator| setting.rig.shown(&generator.call));
        let warned = turns.iter().flatten().flat_map(|turn| &turn.warnings);
        let ratio = turns.get(1).and_then(|theirs| against(&turns[0], theirs, figure));
        Ok(Section {
            name,
            method: format!("{method} Turns of each: {}, of {} s.", setting.pairs, setting.seconds),
            table: table(&labels, &turns),
            bars: vec![Bar {
                what: format!("{}, {}", figure.0, labels[..labels.len().min(2)].join(" / ")),
                bound: format!(">= {bar}"),
                found: ratio.map_or("the peer is not installed".to_owned(), |ratio| ratio.to_string()),
                met: ratio.map(|ratio| ratio.median >= bar),
            }],
            notes: once(warned.map(|warning| format!("dnsdyno warned: {warning}"))),
            samples: samples(&labels, &turns, &FIGURES),
            commands: servers.into_iter().chain(commands).collect(),
        })
    }
}

fn table(labels: &[&str], turns: &[Vec<Turn>]) -> Vec<Vec<String>> {
    let heading = [
        "generator",
        "responses per CPU-second",
        "dnsdyno / peer",
        "responses per second",
        "dnsdyno / peer",
        "CPU",
        "unanswered",
    ];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for (n, (label, theirs)) in labels.iter().zip(turns).enumerate() {
        let against_us = |figure| match against(&turns[0], theirs, figure) {
            Some(ratio) if n > 0 => ratio.to_string(),
            _ => String::new(),
        };
        rows.push(vec![
            (*label).to_owned(),
            shown(theirs, PER_CPU_SECOND, 0),
            against_us(PER_CPU_SECOND),
            shown(theirs, PER_SECOND, 0),
            against_us(PER_SECOND),
            shown(theirs, CPU_SHARE, 2),
            shown(theirs, UNANSWERED, 0),
        ]);
    }
    rows
}
