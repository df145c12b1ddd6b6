//! Histories of imaginary servers whose steps are known: how often a step is told where there is none, how often one is
//! found, and whether its interval and its place hold.
//!
//! ```text
//! cargo run --release -p dnsdyno-campaign --example history_series -- [SERIES] [FOLDER] [KIND...]
//! ```
//!
//! Of each kind so many series (default 1,000) are made, with the same seeds at each call. With a folder (`-` = none)
//! the series are also written there, a line each, for other programs. A kind is named by words that its name contains.

use std::fmt::Write as _;
use std::path::Path;

use dnsdyno_campaign::statistics::steps::{Steps, find, smallest};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// A kind of history.
struct Kind {
    name: &'static str,
    /// Runs before the step, and after it.
    before: usize,
    after: usize,
    /// By which share the step changes the level.
    step: f64,
    /// By which share the level changes slowly over the whole history.
    drift: f64,
    /// The standard deviation of a run.
    noise: f64,
    /// The share of runs that are disturbed, and lose a third.
    disturbed: f64,
}

const KINDS: &[Kind] = &[
    kind("unchanged", 100, 0, 0.0),
    Kind { disturbed: 0.0, ..kind("unchanged, none disturbed", 100, 0, 0.0) },
    Kind { disturbed: 0.1, ..kind("unchanged, 10 % disturbed", 100, 0, 0.0) },
    Kind { noise: 0.05, ..kind("unchanged, noise 5 %", 100, 0, 0.0) },
    kind("unchanged, 20 runs", 20, 0, 0.0),
    kind("unchanged, 12 runs", 12, 0, 0.0),
    kind("unchanged, 1000 runs", 1_000, 0, 0.0),
    kind("-3 %, 12 runs after", 88, 12, -0.03),
    kind("+3 %, 12 runs after", 88, 12, 0.03),
    kind("-3 %, in the middle", 50, 50, -0.03),
    kind("-10 %, 3 runs after", 97, 3, -0.1),
    kind("+10 %, 3 runs after", 97, 3, 0.1),
    kind("-10 %, 17 before, 3 after", 17, 3, -0.1),
    kind("-5 %, 10 before, 10 after", 10, 10, -0.05),
    Kind { drift: -0.05, ..kind("drift of -5 %", 100, 0, 0.0) },
    Kind { drift: -0.05, ..kind("drift of -5 %, step of +6 %", 60, 40, 0.06) },
];

const fn kind(name: &'static str, before: usize, after: usize, step: f64) -> Kind {
    Kind { name, before, after, step, drift: 0.0, noise: 0.015, disturbed: 0.05 }
}

impl Kind {
    /// The answers per second of each run.
    fn draw(&self, seed: u64) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let runs = self.before + self.after;
        let run = |run: usize| {
            let noise: f64 = StandardNormal.sample(&mut random);
            let step = if run >= self.before { 1.0 + self.step } else { 1.0 };
            let drift = 1.0 + self.drift * run as f64 / (runs - 1) as f64;
            let lost = if random.random::<f64>() < self.disturbed { 2.0 / 3.0 } else { 1.0 };
            100_000.0 * step * drift * lost * (1.0 + self.noise * noise)
        };
        (0..runs).map(run).collect()
    }
}

/// What was found in the series of a kind.
#[derive(Default)]
struct Counts {
    any_step: u32,
    drift: u32,
    /// A step that may have begun where it did.
    found: u32,
    /// Another one beside it.
    others: u32,
    size_held: u32,
    place_off: Vec<usize>,
    smallest: Vec<f64>,
}

impl Counts {
    fn add(&mut self, kind: &Kind, found: &Steps) {
        self.any_step += u32::from(!found.steps.is_empty());
        self.drift += u32::from(found.drift.is_some());
        let near = |at: usize| at.abs_diff(kind.before) <= MOST_OFF;
        let step = found.steps.iter().find(|step| kind.step != 0.0 && near(step.at));
        self.others += u32::from(found.steps.len() > usize::from(step.is_some()));
        if let Some(step) = step {
            self.found += 1;
            let size = (1.0 + kind.step).ln();
            let holds = step.interval.is_some_and(|interval| interval.from <= size && size <= interval.to);
            self.size_held += u32::from(holds);
            self.place_off.push(usize::from(!(step.earliest..=step.latest).contains(&kind.before)));
        }
        let runs = kind.before + kind.after;
        self.smallest.extend(smallest(found.noise, runs - 12.min(runs / 2), 12.min(runs / 2), 0.05));
    }

    fn line(&self, kind: &Kind, series: u64) -> String {
        let of = |count: u32| 100.0 * f64::from(count) / series as f64;
        let held = 100.0 * f64::from(self.size_held) / f64::from(self.found.max(1));
        let places = 100.0 - 100.0 * self.place_off.iter().sum::<usize>() as f64 / self.found.max(1) as f64;
        let smallest = 100.0 * self.smallest.iter().sum::<f64>() / self.smallest.len().max(1) as f64;
        format!(
            "{:<30} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>8.2}",
            kind.name,
            of(self.any_step),
            of(self.found),
            of(self.others),
            of(self.drift),
            held,
            places,
            smallest
        )
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let series: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(1_000);
    let folder = words.next().filter(|folder| folder != "-");
    let asked: Vec<String> = words.collect();
    let is_asked = |kind: &&Kind| asked.is_empty() || asked.iter().any(|word| kind.name.contains(word));
    println!("of 100 series (the interval and the place of 100 steps found; the smallest step in %)");
    println!(
        "{:<30} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "kind", "any step", "found", "others", "drift", "interval", "place", "smallest"
    );
    for kind in KINDS.iter().filter(is_asked) {
        let mut counts = Counts::default();
        let mut lines = String::new();
        for seed in 0..series {
            let figures = kind.draw(seed);
            let scaled: Vec<f64> = figures.iter().map(|figure| figure.ln()).collect();
            counts.add(kind, &find(&scaled, LEAST_NOISE, 1));
            let figures: Vec<String> = figures.iter().map(|figure| format!("{figure:.1}")).collect();
            // Writing to a String cannot fail.
            let _ = writeln!(lines, "{}", figures.join(","));
        }
        println!("{}", counts.line(kind, series));
        if let Some(folder) = &folder {
            let name: String = kind.name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
            let path = Path::new(folder).join(format!("{name}.csv"));
            if let Err(error) = std::fs::write(&path, lines) {
                eprintln!("cannot write {}: {error}", path.display());
            }
        }
    }
}

/// A step is found where it is told so near.
const MOST_OFF: usize = 6;

/// As of rates in a history.
const LEAST_NOISE: f64 = 0.0005;
