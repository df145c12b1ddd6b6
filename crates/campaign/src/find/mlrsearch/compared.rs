//! What each method gives on the same imaginary servers: its load, whether its interval holds the limit, its width.

use dnsdyno_plan::Draft;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::find::imaginary::{Imaginary, Kind};
use crate::find::{Finding, Options, Outcome, Settings, finder};
use crate::step::Step;

/// What the searches of one kind of server gave.
#[derive(Default)]
struct Row {
    searches: usize,
    /// The interval holds the limit.
    held: usize,
    /// Without an interval.
    others: usize,
    load_s: Vec<f64>,
    widths: Vec<f64>,
    errors: Vec<f64>,
}

/// `cargo test --release -p dnsdyno-campaign --lib compared -- --ignored --nocapture` prints the table of
/// `docs/find.md`; `DNSDYNO_COMPARED` is the number of servers of each kind, `DNSDYNO_TRUTH_SEED` their seed.
#[test]
#[ignore = "thousands of searches take minutes"]
fn methods_on_the_same_servers() {
    let number =
        |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (servers, seed) = (number("DNSDYNO_COMPARED", 100), number("DNSDYNO_TRUTH_SEED", 4_112_026));
    println!("| server | method | load, median | interval holds | width, median | error, median |");
    println!("|---|---|---|---|---|---|");
    for (name, kind) in KINDS {
        for (method, options) in methods(kind) {
            let row = of_each(kind, &options, (seed, servers));
            assert_eq!(row.searches as u64, servers);
            println!("| {name} | {method} | {} |", row.text());
        }
    }
}

/// A few of each, so that the table is made of searches that are true.
#[test]
fn the_bounds_of_every_method_with_trials_hold_a_hard_limit() {
    for (method, options) in methods(Kind::Hard) {
        let row = of_each(Kind::Hard, &options, (7, 10));
        assert_eq!((row.searches, row.others), (10, 0), "{method}");
        let worst = row.errors.last().copied().unwrap();
        assert!(worst < 0.012, "{method}: {worst}");
        // Repeats of the RFCs are equal where the server has no noise: their interval has no width.
        assert!(method.starts_with("rfc") || row.held == 10, "{method}: {} of 10", row.held);
    }
}

fn of_each(kind: Kind, options: &Options, (seed, servers): (u64, u64)) -> Row {
    let mut row = Row::default();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    for number in 0..servers {
        let limit = 3_000.0 * 100f64.powf(rng.random::<f64>());
        let mut server = Imaginary::new(kind, limit, seed.wrapping_mul(1_000_003).wrapping_add(number));
        let finding = search(options, &mut server);
        let truth = server.limit_at(finding.trials.len() as f64 - 1.0);
        row.searches += 1;
        row.load_s.push(finding.trials.iter().map(|trial| trial.lasted_ns as f64 * 1e-9).sum());
        let Outcome::Capacity { load, from, to, .. } = finding.outcome else {
            row.others += 1;
            continue;
        };
        row.held += usize::from((from..=to).contains(&truth));
        row.widths.push(to / from - 1.0);
        row.errors.push((load / truth - 1.0).abs());
    }
    for figures in [&mut row.load_s, &mut row.widths, &mut row.errors] {
        figures.sort_by(f64::total_cmp);
    }
    row
}

fn search(options: &Options, server: &mut Imaginary) -> Finding {
    let mut search = finder(Settings::new(options, &Draft::default()).unwrap());
    for _ in 0..20_000 {
        match search.next() {
            Step::Done(finding) => return finding,
            Step::Run(request) => search.learn(&server.trial(&request)),
        }
    }
    panic!("no end: {options:?}");
}

impl Row {
    fn text(&self) -> String {
        let median = |figures: &[f64]| figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN);
        let others = match self.others {
            0 => String::new(),
            others => format!(", {others} without one"),
        };
        format!(
            "{:.0} s | {} of {}{others} | {:.2} % | {:.2} %",
            median(&self.load_s),
            self.held,
            self.searches,
            median(&self.widths) * 100.0,
            median(&self.errors) * 100.0
        )
    }
}

/// The methods, with their usual settings. Of `mlrsearch` also with one goal, with the settings that FD.io's program
/// has where none are given, and with the goal that the RFC gives for RFC 2544.
fn methods(kind: Kind) -> Vec<(&'static str, Options)> {
    let of = |method: &str, goals: &[&str]| Options {
        method: Some(method.to_owned()),
        goals: goals.iter().map(|text| (*text).to_owned()).collect(),
        ..Options::default()
    };
    // The usual p99 of the search is beyond what a queue of half a second gives.
    let criteria = if matches!(kind, Kind::Queue(_)) { vec!["loss<0.1%".to_owned()] } else { Vec::new() };
    vec![
        ("search", Options { criteria, ..of("search", &[]) }),
        ("mlrsearch", of("mlrsearch", &[])),
        ("mlrsearch, lossless only", of("mlrsearch", &["lossless: loss=0"])),
        ("mlrsearch, `1 s, sum=21 s`", of("mlrsearch", &["lossless: loss=0, 1 s, sum=21 s"])),
        ("mlrsearch, `60 s, exceed=0%`", of("mlrsearch", &["lossless: loss=0, 60 s, exceed=0%"])),
        ("rfc2544", of("rfc2544", &[])),
        ("rfc8219", of("rfc8219", &[])),
    ]
}

/// Those of `docs/find.md` that a loss shows.
const KINDS: [(&str, Kind); 7] = [
    ("a hard limit", Kind::Hard),
    ("a limit that differs by 3 % from trial to trial", Kind::Noise(0.03)),
    ("fewer answers beyond the limit (collapse)", Kind::Collapse),
    ("80 % of the limit after an overload (hysteresis)", Kind::Hysteresis(0.8)),
    ("a limit that falls by 0.3 % in each trial", Kind::Drift(-0.003)),
    ("a receive queue of half a second", Kind::Queue(0.5)),
    ("a bad second in one of 20 trials", Kind::BadSeconds(0.05)),
];
