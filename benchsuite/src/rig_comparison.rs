//! Generators in turn on the veth pair: their results, the ratios, and where the count of a generator and
//! of the interface differ.

use std::path::PathBuf;

use anyhow::ensure;

use crate::figures::{Figure, against, once, samples, shown};
use crate::programs::{Generator, Turn};
use crate::report::{Bar, Section};
use crate::rig::{find_program, stopped};
use crate::setting::Setting;
use crate::traffic::Traffic;
use crate::veth::Veth;

/// One turn of a generator: what it reports, and what the interfaces counted.
#[derive(Debug, Clone)]
pub(crate) struct Measurement {
    pub(crate) turn: Turn,
    pub(crate) traffic: Traffic,
}

/// Responses a second that the generator received, at the rate of the near interface; responses that it did not read do
/// not count. For a generator with steps: what it reports of the best one.
pub(crate) const ANSWERED: Figure<Measurement> = ("answered_qps", Measurement::answered_qps);
/// As reported by the generator.
pub(crate) const ANSWERED_SAID: Figure<Measurement> =
    ("answered_qps_said", |measurement| measurement.turn.answered_qps());
/// Queries a second that reached the far end.
pub(crate) const SENT: Figure<Measurement> = ("sent_qps", |measurement| measurement.traffic.sent_qps);
/// As reported by the generator.
pub(crate) const SENT_SAID: Figure<Measurement> =
    ("sent_qps_said", |measurement| measurement.turn.sent as f64 / measurement.turn.seconds);
/// CPU time of the generator's process for a query.
pub(crate) const CPU_US: Figure<Measurement> =
    ("cpu_us_per_query", |measurement| measurement.turn.cpu_us_per_query());
const USER_SHARE: Figure<Measurement> = ("user_cpu_share", |measurement| {
    measurement.turn.cpu.user.as_secs_f64() / measurement.turn.wall.as_secs_f64()
});
const SYSTEM_SHARE: Figure<Measurement> = ("system_cpu_share", |measurement| {
    measurement.turn.cpu.system.as_secs_f64() / measurement.turn.wall.as_secs_f64()
});
const UNANSWERED: Figure<Measurement> = ("unanswered", |measurement| measurement.turn.lost() as f64);
const PACKETS_OUT: Figure<Measurement> =
    ("packets_at_far_end", |measurement| measurement.traffic.sent as f64);
const PACKETS_BACK: Figure<Measurement> =
    ("packets_at_near_end", |measurement| measurement.traffic.answered as f64);
const FIGURES: [Figure<Measurement>; 10] = [
    ANSWERED,
    ANSWERED_SAID,
    SENT,
    SENT_SAID,
    CPU_US,
    USER_SHARE,
    SYSTEM_SHARE,
    UNANSWERED,
    PACKETS_OUT,
    PACKETS_BACK,
];

/// The comparison: its generators, and why others are left out.
pub(crate) struct RigComparison<'a> {
    setting: &'a Setting,
    veth: &'a Veth,
    generators: Vec<Generator>,
    notes: Vec<String>,
}

/// The results.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    labels: Vec<String>,
    measurements: Vec<Vec<Measurement>>,
    commands: Vec<String>,
    notes: Vec<String>,
}

/// The target for the ratio of ours to theirs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl<'a> RigComparison<'a> {
    pub(crate) fn on(veth: &'a Veth, setting: &'a Setting) -> Self {
        Self { setting, veth, generators: Vec::new(), notes: Vec::new() }
    }

    /// With this generator.
    pub(crate) fn with(mut self, generator: Generator) -> Self {
        self.generators.push(generator);
        self
    }

    /// With a peer, where its program is installed; `package` says where to get it.
    pub(crate) fn with_peer(
        mut self,
        program: &str,
        package: &str,
        generator: impl FnOnce(PathBuf) -> Generator,
    ) -> Self {
        match find_program(program) {
            Some(path) => self.generators.push(generator(path)),
            None => self.leave_out(format!("{program} is not installed ({package}): left out")),
        }
        self
    }

    /// Notes why a generator is left out.
    pub(crate) fn leave_out(&mut self, why: String) {
        eprintln!("  {why}");
        self.notes.push(why);
    }

    /// Runs all in turn. One that fails is left out from then on, with all its results.
    pub(crate) fn run(mut self, plain: Figure<Measurement>) -> anyhow::Result<Outcome> {
        let setting = self.setting;
        let mut measurements: Vec<Vec<Measurement>> = self.generators.iter().map(|_| Vec::new()).collect();
        let mut failed = vec![false; self.generators.len()];
        for round in 0..setting.pairs {
            for (n, generator) in self.generators.iter().enumerate() {
                if failed[n] {
                    continue;
                }
                match self.veth.run(&setting.rig, generator, setting.seconds) {
                    Ok((turn, traffic)) => {
                        let measurement = Measurement { turn, traffic };
                        eprintln!("  {} {}: {}", round + 1, generator.label, measurement.in_words(plain));
                        measurements[n].push(measurement);
                    }
                    Err(error) => {
                        ensure!(!stopped(), error);
                        let why = format!("{} could not be run: {error:#}", generator.label);
                        eprintln!("  {why}");
                        self.notes.push(why);
                        measurements[n].clear();
                        failed[n] = true;
                    }
                }
            }
        }
        let labels: Vec<String> = self.generators.iter().map(|generator| generator.label.clone()).collect();
        let mut commands = self.veth.commands();
        commands.extend(self.generators.iter().map(|generator| setting.rig.shown(&generator.call)));
        let mut notes = self.notes;
        notes.extend(remarks(&labels, &measurements));
        Ok(Outcome { labels, measurements, commands, notes })
    }
}

impl Measurement {
    fn answered_qps(&self) -> f64 {
        let taken_in = (self.turn.answered as f64 / self.traffic.answered.max(1) as f64).min(1.0);
        self.turn.best_qps.unwrap_or(self.traffic.answered_qps * taken_in)
    }

    fn in_words(&self, plain: Figure<Measurement>) -> String {
        let Turn { sent, answered, seconds, .. } = self.turn;
        let seen = &self.traffic;
        format!(
            "{} {:.4e}; reports {sent} sent, {answered} answered in {seconds:.2} s, the interfaces counted {} and \
             {}; CPU {:.2} us per query, {:.0} % busy",
            plain.0,
            plain.1(self),
            seen.sent,
            seen.answered,
            self.turn.cpu_us_per_query(),
            self.turn.cpu_share() * 100.0
        )
    }
}

impl Outcome {
    /// The turns of a generator; `None` where it has none.
    pub(crate) fn of(&self, label: &str) -> Option<&Vec<Measurement>> {
        let n = self.labels.iter().position(|known| known == label)?;
        self.measurements.get(n).filter(|measurements| !measurements.is_empty())
    }

    /// Ours / theirs of a figure; its median is compared with the target.
    pub(crate) fn bar(&self, ours: &str, theirs: &str, figure: Figure<Measurement>, bound: Bound) -> Bar {
        let ratio = match (self.of(ours), self.of(theirs)) {
            (Some(ours), Some(theirs)) => against(ours, theirs, figure).ok_or("no turns".to_owned()),
            (None, _) => Err(format!("no figures of {ours}, see below")),
            (_, None) => Err(format!("no figures of {theirs}, see below")),
        };
        let (text, met) = match (bound, &ratio) {
            (Bound::AtLeast(least), Ok(ratio)) => (format!(">= {least}"), Some(ratio.median >= least)),
            (Bound::AtMost(most), Ok(ratio)) => (format!("<= {most}"), Some(ratio.median <= most)),
            (Bound::AtLeast(least), Err(_)) => (format!(">= {least}"), None),
            (Bound::AtMost(most), Err(_)) => (format!("<= {most}"), None),
        };
        Bar {
            what: format!("{}, {ours} / {theirs}", figure.0),
            bound: text,
            found: ratio.map_or_else(|why| why, |ratio| ratio.to_string()),
            met,
        }
    }

    /// As a section; `columns` are the figures to show, each with its decimals; ratios are of the first.
    pub(crate) fn section(
        self,
        name: &'static str,
        method: String,
        columns: &[(&str, Figure<Measurement>, usize)],
        bars: Vec<Bar>,
    ) -> Section {
        Section {
            name,
            method,
            table: self.table(columns),
            bars,
            samples: samples(&self.labels, &self.measurements, &FIGURES),
            notes: self.notes,
            commands: self.commands,
        }
    }

    fn table(&self, columns: &[(&str, Figure<Measurement>, usize)]) -> Vec<Vec<String>> {
        let mut heading = vec!["generator".to_owned()];
        heading.extend(columns.iter().map(|(name, ..)| (*name).to_owned()));
        heading.insert(2, format!("{} / peer", self.labels.first().map_or("", String::as_str)));
        let mut table = vec![heading];
        for (n, (label, measurements)) in self.labels.iter().zip(&self.measurements).enumerate() {
            let mut row = vec![label.clone()];
            row.extend(columns.iter().map(|(_, figure, decimals)| shown(measurements, *figure, *decimals)));
            let first = columns.first().map(|(_, figure, _)| *figure);
            let ratio = first
                .and_then(|figure| against(&self.measurements[0], measurements, figure))
                .filter(|_| n > 0);
            row.insert(2, ratio.map_or(String::new(), |ratio| ratio.to_string()));
            table.push(row);
        }
        table
    }
}

/// Remarks on the turns: warnings, and counts that differ from the interface's.
fn remarks(labels: &[String], measurements: &[Vec<Measurement>]) -> Vec<String> {
    let mut remarks = Vec::new();
    for (label, measurements) in labels.iter().zip(measurements) {
        let warnings = measurements.iter().flat_map(|measurement| &measurement.turn.warnings);
        remarks.extend(once(warnings.map(|warning| format!("{label} warned: {warning}"))));
        for (what, pair) in COUNTED {
            let odd: Vec<f64> = measurements
                .iter()
                .map(|measurement| {
                    let (said, seen) = pair(measurement);
                    let odd = said as f64 - seen as f64;
                    if odd.abs() < NEIGHBOURS { 0.0 } else { odd / (seen as f64).max(1.0) }
                })
                .filter(|odd| odd.abs() > TOLERATED)
                .collect();
            let worst = odd.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
            if let Some(worst) = worst {
                remarks.push(format!(
                    "{label}: its count of {what} differs from the interface's by more than 1 % in {} of {} turns, by \
                     {:+.1} % at most",
                    odd.len(),
                    measurements.len(),
                    worst * 100.0
                ));
            }
        }
    }
    remarks
}

/// What both count: as reported, at the interface.
type Counted = (&'static str, fn(&Measurement) -> (u64, u64));
const COUNTED: [Counted; 2] = [
    ("queries sent", |measurement| (measurement.turn.sent, measurement.traffic.sent)),
    ("responses", |measurement| (measurement.turn.answered, measurement.traffic.answered)),
];

/// How far a generator's count may differ from the interface's.
const TOLERATED: f64 = 0.01;

/// Packets that are neither queries nor responses, such as neighbour discovery.
const NEIGHBOURS: f64 = 50.0;

/// The columns of a comparison by responses.
pub(crate) const FOR_ANSWERS: &[(&str, Figure<Measurement>, usize)] = &[
    ("responses per second", ANSWERED, 0),
    ("as reported by the generator", ANSWERED_SAID, 0),
    ("unanswered", UNANSWERED, 0),
    ("CPU us per query", CPU_US, 3),
    ("user CPU share", USER_SHARE, 2),
    ("system CPU share", SYSTEM_SHARE, 2),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::CpuTime;
    use std::time::Duration;

    fn measurement(answered: u64, seen: u64, cpu_ms: u64) -> Measurement {
        let cpu = CpuTime { user: Duration::from_millis(cpu_ms), system: Duration::ZERO };
        let turn = Turn {
            sent: answered,
            answered,
            seconds: 1.0,
            best_qps: None,
            wall: Duration::from_secs(2),
            cpu,
            warnings: vec!["hot".to_owned()],
        };
        let traffic =
            Traffic { sent: seen, answered: seen, sent_qps: seen as f64, answered_qps: seen as f64 };
        Measurement { turn, traffic }
    }

    fn outcome(ours: Vec<Measurement>, theirs: Vec<Measurement>) -> Outcome {
        let labels = vec!["us".to_owned(), "them".to_owned()];
        Outcome { labels, measurements: vec![ours, theirs], ..Outcome::default() }
    }

    #[test]
    fn the_median_ratio_within_rounds_is_compared_with_the_target() {
        let outcome = outcome(
            vec![measurement(400, 400, 1), measurement(900, 900, 1), measurement(400, 400, 1)],
            vec![measurement(100, 100, 1), measurement(100, 100, 1), measurement(90, 90, 1)],
        );
        let bar = outcome.bar("us", "them", ANSWERED, Bound::AtLeast(4.5));
        assert_eq!((bar.met, bar.found.as_str()), (Some(false), "4.44 (4.00..9.00)"));
        assert_eq!(outcome.bar("us", "them", ANSWERED, Bound::AtMost(4.5)).met, Some(true));
    }

    #[test]
    fn without_one_of_the_two_there_is_no_result_and_the_row_says_so() {
        let outcome = outcome(vec![measurement(400, 400, 1)], Vec::new());
        let bar = outcome.bar("us", "them", ANSWERED, Bound::AtLeast(4.5));
        assert_eq!((bar.met, bar.found.as_str()), (None, "no figures of them, see below"));
        let table = outcome.table(FOR_ANSWERS);
        assert_eq!(table[1][..4], ["us", "400 (400..400)", "", "400 (400..400)"]);
        assert_eq!(table[2][..4], ["them", "", "", ""]);
    }

    #[test]
    fn responses_that_were_not_read_do_not_count() {
        assert_eq!(measurement(50, 200, 1).answered_qps(), 50.0);
        // The generator may count a few more than the interface: the rate is that of the interface.
        assert_eq!(measurement(201, 200, 1).answered_qps(), 200.0);
    }

    #[test]
    fn a_count_that_differs_from_the_interface_is_reported() {
        let labels = ["us".to_owned()];
        let remarks =
            remarks(&labels, &[vec![measurement(10_000, 10_090, 1), measurement(9_000, 10_000, 1)]]);
        assert_eq!(remarks[0], "us warned: hot");
        assert!(
            remarks[1].contains("queries sent") && remarks[1].contains("1 of 2 turns, by -10.0 %"),
            "{remarks:?}"
        );
        assert_eq!(remarks.len(), 3);
        assert_eq!(
            super::remarks(&labels, &[vec![measurement(0, 30, 1)]]).len(),
            1,
            "the interface always sees a few other packets"
        );
    }
}
