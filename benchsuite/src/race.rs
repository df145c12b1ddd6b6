//! Generators in turn on the cable: what each did, who did better, and where an account and the cable disagree.

use std::path::PathBuf;

use anyhow::ensure;

use crate::cable::Cable;
use crate::figures::{Figure, against, once, samples, shown};
use crate::link::Link;
use crate::programs::{Generator, Turn};
use crate::report::{Bar, Section};
use crate::rig::{find_program, stopped};
use crate::setting::Setting;

/// One turn of a generator, by its own account and by the cable's.
#[derive(Debug, Clone)]
pub(crate) struct Lap {
    pub(crate) turn: Turn,
    pub(crate) link: Link,
}

/// Answers a second that the generator took in. The clock is the cable's; what came and was not taken in does not
/// count. For a generator that goes through steps it is its own account of the best one.
pub(crate) const ANSWERED: Figure<Lap> = ("answered_qps", Lap::answered_qps);
/// By the generator's own account.
pub(crate) const ANSWERED_SAID: Figure<Lap> = ("answered_qps_said", |lap| lap.turn.answered_qps());
/// Queries a second that reached the far end.
pub(crate) const SENT: Figure<Lap> = ("sent_qps", |lap| lap.link.sent_qps);
/// By the generator's own account.
pub(crate) const SENT_SAID: Figure<Lap> = ("sent_qps_said", |lap| lap.turn.sent as f64 / lap.turn.seconds);
/// CPU time of the generator's process for a query.
pub(crate) const CPU_US: Figure<Lap> = ("cpu_us_per_query", |lap| lap.turn.cpu_us_per_query());
const USER_SHARE: Figure<Lap> =
    ("user_cpu_share", |lap| lap.turn.cpu.user.as_secs_f64() / lap.turn.wall.as_secs_f64());
const SYSTEM_SHARE: Figure<Lap> =
    ("system_cpu_share", |lap| lap.turn.cpu.system.as_secs_f64() / lap.turn.wall.as_secs_f64());
const UNANSWERED: Figure<Lap> = ("unanswered", |lap| lap.turn.lost() as f64);
const PACKETS_OUT: Figure<Lap> = ("packets_at_far_end", |lap| lap.link.sent as f64);
const PACKETS_BACK: Figure<Lap> = ("packets_at_near_end", |lap| lap.link.answered as f64);
const FIGURES: [Figure<Lap>; 10] = [
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

/// The race: who is in it, and who is not and why.
pub(crate) struct Race<'a> {
    setting: &'a Setting,
    cable: &'a Cable,
    generators: Vec<Generator>,
    notes: Vec<String>,
}

/// What came out.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    labels: Vec<String>,
    laps: Vec<Vec<Lap>>,
    commands: Vec<String>,
    notes: Vec<String>,
}

/// What ours is to reach of theirs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl<'a> Race<'a> {
    pub(crate) fn on(cable: &'a Cable, setting: &'a Setting) -> Self {
        Self { setting, cable, generators: Vec::new(), notes: Vec::new() }
    }

    /// With this generator.
    pub(crate) fn with(mut self, generator: Generator) -> Self {
        self.generators.push(generator);
        self
    }

    /// With a peer, where its program is installed; the name of its Debian package tells how to get it.
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

    /// Says why somebody is not in the race.
    pub(crate) fn leave_out(&mut self, why: String) {
        eprintln!("  {why}");
        self.notes.push(why);
    }

    /// Runs all, in turn. One that fails is out of the race from then on; nothing that it did counts.
    pub(crate) fn run(mut self, plain: Figure<Lap>) -> anyhow::Result<Outcome> {
        let setting = self.setting;
        let mut laps: Vec<Vec<Lap>> = self.generators.iter().map(|_| Vec::new()).collect();
        let mut failed = vec![false; self.generators.len()];
        for round in 0..setting.pairs {
            for (n, generator) in self.generators.iter().enumerate() {
                if failed[n] {
                    continue;
                }
                match self.cable.run(&setting.rig, generator, setting.seconds) {
                    Ok((turn, link)) => {
                        let lap = Lap { turn, link };
                        eprintln!("  {} {}: {}", round + 1, generator.label, lap.in_words(plain));
                        laps[n].push(lap);
                    }
                    Err(error) => {
                        ensure!(!stopped(), error);
                        let why = format!("{} could not be run: {error:#}", generator.label);
                        eprintln!("  {why}");
                        self.notes.push(why);
                        laps[n].clear();
                        failed[n] = true;
                    }
                }
            }
        }
        let labels: Vec<String> = self.generators.iter().map(|generator| generator.label.clone()).collect();
        let mut commands = self.cable.commands();
        commands.extend(self.generators.iter().map(|generator| setting.rig.shown(&generator.call)));
        let mut notes = self.notes;
        notes.extend(remarks(&labels, &laps));
        Ok(Outcome { labels, laps, commands, notes })
    }
}

impl Lap {
    fn answered_qps(&self) -> f64 {
        let taken_in = (self.turn.answered as f64 / self.link.answered.max(1) as f64).min(1.0);
        self.turn.best_qps.unwrap_or(self.link.answered_qps * taken_in)
    }

    fn in_words(&self, plain: Figure<Lap>) -> String {
        let Turn { sent, answered, seconds, .. } = self.turn;
        let seen = &self.link;
        format!(
            "{} {:.4e}; says {sent} sent, {answered} answered in {seconds:.2} s, the cable saw {} and {}; CPU {:.2} us \
             per query, {:.0} % busy",
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
    pub(crate) fn of(&self, label: &str) -> Option<&Vec<Lap>> {
        let n = self.labels.iter().position(|known| known == label)?;
        self.laps.get(n).filter(|laps| !laps.is_empty())
    }

    /// Ours / theirs of a figure, judged by the median.
    pub(crate) fn bar(&self, ours: &str, theirs: &str, figure: Figure<Lap>, bound: Bound) -> Bar {
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

    /// All of it; `columns` are the figures to show, each with its decimals, the first of them compared with ours.
    pub(crate) fn section(
        self,
        name: &'static str,
        method: String,
        columns: &[(&str, Figure<Lap>, usize)],
        bars: Vec<Bar>,
    ) -> Section {
        Section {
            name,
            method,
            table: self.table(columns),
            bars,
            samples: samples(&self.labels, &self.laps, &FIGURES),
            notes: self.notes,
            commands: self.commands,
        }
    }

    fn table(&self, columns: &[(&str, Figure<Lap>, usize)]) -> Vec<Vec<String>> {
        let mut heading = vec!["generator".to_owned()];
        heading.extend(columns.iter().map(|(name, ..)| (*name).to_owned()));
        heading.insert(2, format!("{} / it", self.labels.first().map_or("", String::as_str)));
        let mut table = vec![heading];
        for (n, (label, laps)) in self.labels.iter().zip(&self.laps).enumerate() {
            let mut row = vec![label.clone()];
            row.extend(columns.iter().map(|(_, figure, decimals)| shown(laps, *figure, *decimals)));
            let first = columns.first().map(|(_, figure, _)| *figure);
            let ratio = first.and_then(|figure| against(&self.laps[0], laps, figure)).filter(|_| n > 0);
            row.insert(2, ratio.map_or(String::new(), |ratio| ratio.to_string()));
            table.push(row);
        }
        table
    }
}

/// What a reader must know of the turns: warnings, and accounts that the cable contradicts.
fn remarks(labels: &[String], laps: &[Vec<Lap>]) -> Vec<String> {
    let mut remarks = Vec::new();
    for (label, laps) in labels.iter().zip(laps) {
        let warnings = laps.iter().flat_map(|lap| &lap.turn.warnings);
        remarks.extend(once(warnings.map(|warning| format!("{label} warned: {warning}"))));
        for (what, pair) in COUNTED {
            let odd: Vec<f64> = laps
                .iter()
                .map(|lap| {
                    let (said, seen) = pair(lap);
                    let odd = said as f64 - seen as f64;
                    if odd.abs() < NEIGHBOURS { 0.0 } else { odd / (seen as f64).max(1.0) }
                })
                .filter(|odd| odd.abs() > TOLERATED)
                .collect();
            let worst = odd.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
            if let Some(worst) = worst {
                remarks.push(format!(
                    "{label}: its count of {what} and the cable's differ by more than 1 % in {} of {} turns, by \
                     {:+.1} % at most",
                    odd.len(),
                    laps.len(),
                    worst * 100.0
                ));
            }
        }
    }
    remarks
}

/// What both count: by its own account, by the cable's.
type Counted = (&'static str, fn(&Lap) -> (u64, u64));
const COUNTED: [Counted; 2] = [
    ("queries sent", |lap| (lap.turn.sent, lap.link.sent)),
    ("answers", |lap| (lap.turn.answered, lap.link.answered)),
];

/// How far an account may be from what the cable saw.
const TOLERATED: f64 = 0.01;

/// Packets that are no queries and no answers: neighbours are looked for on the cable, too.
const NEIGHBOURS: f64 = 50.0;

/// The columns of a race for answers.
pub(crate) const FOR_ANSWERS: &[(&str, Figure<Lap>, usize)] = &[
    ("answers per second", ANSWERED, 0),
    ("by its own account", ANSWERED_SAID, 0),
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

    fn lap(answered: u64, seen: u64, cpu_ms: u64) -> Lap {
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
        let link = Link { sent: seen, answered: seen, sent_qps: seen as f64, answered_qps: seen as f64 };
        Lap { turn, link }
    }

    fn outcome(ours: Vec<Lap>, theirs: Vec<Lap>) -> Outcome {
        let labels = vec!["us".to_owned(), "them".to_owned()];
        Outcome { labels, laps: vec![ours, theirs], ..Outcome::default() }
    }

    #[test]
    fn the_bar_is_judged_by_the_median_ratio_within_rounds() {
        let outcome = outcome(
            vec![lap(400, 400, 1), lap(900, 900, 1), lap(400, 400, 1)],
            vec![lap(100, 100, 1), lap(100, 100, 1), lap(90, 90, 1)],
        );
        let bar = outcome.bar("us", "them", ANSWERED, Bound::AtLeast(4.5));
        assert_eq!((bar.met, bar.found.as_str()), (Some(false), "4.44 (4.00..9.00)"));
        assert_eq!(outcome.bar("us", "them", ANSWERED, Bound::AtMost(4.5)).met, Some(true));
    }

    #[test]
    fn without_one_of_the_two_nothing_is_judged_and_the_row_says_so() {
        let outcome = outcome(vec![lap(400, 400, 1)], Vec::new());
        let bar = outcome.bar("us", "them", ANSWERED, Bound::AtLeast(4.5));
        assert_eq!((bar.met, bar.found.as_str()), (None, "no figures of them, see below"));
        let table = outcome.table(FOR_ANSWERS);
        assert_eq!(table[1][..4], ["us", "400 (400..400)", "", "400 (400..400)"]);
        assert_eq!(table[2][..4], ["them", "", "", ""]);
    }

    #[test]
    fn answers_that_were_not_taken_in_do_not_count() {
        assert_eq!(lap(50, 200, 1).answered_qps(), 50.0);
        // A few packets that are no answers came as well, or not all answers were on the cable: the clock is its own.
        assert_eq!(lap(201, 200, 1).answered_qps(), 200.0);
    }

    #[test]
    fn an_account_that_the_cable_contradicts_is_told() {
        let labels = ["us".to_owned()];
        let remarks = remarks(&labels, &[vec![lap(10_000, 10_090, 1), lap(9_000, 10_000, 1)]]);
        assert_eq!(remarks[0], "us warned: hot");
        assert!(
            remarks[1].contains("queries sent") && remarks[1].contains("1 of 2 turns, by -10.0 %"),
            "{remarks:?}"
        );
        assert_eq!(remarks.len(), 3);
        assert_eq!(
            super::remarks(&labels, &[vec![lap(0, 30, 1)]]).len(),
            1,
            "the cable is never quite empty"
        );
    }
}
