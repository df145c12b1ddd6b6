//! Whether dnsdyno's memory grows in a long run: its resident size, read each second, at 50,000 queries a second.

use std::time::Duration;

use anyhow::Context;

use crate::programs::{self, Generator, Target};
use crate::report::{Bar, Sample, Section};
use crate::responder::Responder;
use crate::setting::Setting;
use crate::usage::Monitored;

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let responder = Responder::start(setting)?;
    let load = format!("--rate {RATE_QPS} --for {}m --workers 1", setting.minutes);
    let generator = Generator::dnsdyno(setting, &Target::loopback(setting, responder.port()), &load);

    let length = Duration::from_secs(60 * u64::from(setting.minutes));
    let (finished, held) = Monitored::start(&setting.rig, &generator, "generator")?.finish(length)?;
    let (turn, sizes) = (generator.read_turn(&finished)?, held.kib);
    programs::forget_record(&setting.rig)?;

    // A short run has a warm-up too.
    let warm = (length / 10).min(Duration::from_secs(60));
    let growth =
        Growth::of(&sizes, warm.as_secs() as usize).context("the run was too short to judge its memory")?;
    let mut notes: Vec<String> =
        turn.warnings.iter().map(|warning| format!("dnsdyno warned: {warning}")).collect();
    notes.push(format!(
        "{:.0} queries per second sent, {} unanswered, {:.0} % of a CPU.",
        turn.sent as f64 / turn.seconds,
        turn.lost(),
        turn.cpu_share() * 100.0
    ));
    let seconds = warm.as_secs();
    Ok(Section {
        name: "memory",
        method: format!(
            "{RATE_QPS} queries a second for {} min, one worker, against {}. The resident size (VmRSS) is read \
             each second; the largest later value is compared with that after {seconds} s.",
            setting.minutes, setting.against
        ),
        table: growth.table(seconds),
        bars: vec![Bar {
            what: format!("largest resident size / that after {seconds} s"),
            bound: format!("<= {RATIO_BAR:.2}"),
            found: format!("{:.3}", growth.ratio()),
            met: Some(growth.ratio() <= RATIO_BAR),
        }],
        notes,
        commands: vec![responder.command().to_owned(), setting.rig.shown(&generator.call)],
        samples: sizes.iter().map(|kib| sample(&generator.label, *kib)).collect(),
    })
}

/// Resident sizes in KiB.
#[derive(Debug, PartialEq, Eq)]
struct Growth {
    warm: u64,
    largest: u64,
    last: u64,
}

impl Growth {
    /// From one size a second, the first of them after one second.
    fn of(sizes_kib: &[u64], warm_s: usize) -> Option<Self> {
        let after = sizes_kib.get(warm_s.checked_sub(1)?..)?;
        let (warm, later) = after.split_first()?;
        Some(Self { warm: *warm, largest: *later.iter().max()?, last: *later.last()? })
    }

    fn ratio(&self) -> f64 {
        self.largest as f64 / self.warm as f64
    }

    fn table(&self, warm_s: u64) -> Vec<Vec<String>> {
        let heading = ["resident size".to_owned(), "KiB".to_owned()];
        let rows = [
            [format!("after {warm_s} s"), self.warm.to_string()],
            ["largest afterwards".to_owned(), self.largest.to_string()],
            ["at the end".to_owned(), self.last.to_string()],
        ];
        std::iter::once(heading).chain(rows).map(|row| row.to_vec()).collect()
    }
}

fn sample(program: &str, kib: u64) -> Sample {
    Sample { program: program.to_owned(), round: 1, figure: "resident_kib_each_second", value: kib as f64 }
}

const RATE_QPS: u32 = 50_000;

/// The largest ratio of any later size to the one after the warm-up.
const RATIO_BAR: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_judged_from_the_end_of_the_warm_up() {
        let growth = Growth::of(&[10, 100, 104, 120, 110], 2);
        assert_eq!(growth, Some(Growth { warm: 100, largest: 120, last: 110 }));
        assert_eq!(growth.map(|growth| growth.ratio()), Some(1.2));
    }

    #[test]
    fn a_run_that_ends_with_its_warm_up_is_not_judged() {
        assert_eq!(Growth::of(&[10, 100], 2), None);
        assert_eq!(Growth::of(&[], 6), None);
    }
}
