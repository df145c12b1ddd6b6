//! The truth of the search: a thousand imaginary servers of each kind, whose limit is known.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::imaginary::{Imaginary, Kind};
use super::*;
use crate::step::Step;
use dnsdyno_plan::Draft;

/// The outcome of a thousand searches.
#[derive(Debug, Default)]
struct Score {
    searches: usize,
    /// The interval held the truth.
    held: usize,
    /// A result without an interval.
    others: Vec<String>,
    errors: Vec<f64>,
    trials: Vec<f64>,
    /// Trials, over the fewest that are possible.
    ratios: Vec<f64>,
    widths: Vec<f64>,
}

fn search(options: Options, server: &mut Imaginary) -> Finding {
    let settings = Settings::new(&options, &Draft::default()).unwrap();
    let mut search = Search::new(settings);
    for _ in 0..2_000 {
        match search.next() {
            Step::Done(finding) => return finding,
            Step::Run(request) => search.learn(&server.trial(&request)),
        }
    }
    panic!("no end: {:?}", search.made());
}

/// The fewest trials that could do, for whoever knows the noise: one for each doubling up to the limit, because nothing
/// is known of the loads above; one for each halving of that octave down to the interval, or to the width of the
/// noise; and then, where one trial tells the limit by no more than its noise, as many as make the interval: each at
/// the load that half of the trials pass, which tells most, 2/π of what its noise leaves (the Fisher information of a
/// probit model).
fn fewest(start: f64, limit: f64, noise: f64, half: f64) -> f64 {
    let doublings = (limit / start).log2().ceil().max(0.0) + 1.0;
    let of_one = 1.96 * noise * (std::f64::consts::PI / 2.0).sqrt();
    let halvings = (2f64.ln() / (2.0 * half.max(of_one))).log2().max(0.0);
    doublings + halvings + (of_one / half).powi(2)
}

fn thousand(kind: Kind, noise: f64, options: &Options, limits: (f64, f64)) -> Score {
    let mut score = Score::default();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    for seed in 0..SEARCHES {
        let limit = limits.0 * (limits.1 / limits.0).powf(rng.random::<f64>());
        let mut server = Imaginary::new(kind, limit, seed);
        let finding = search(options.clone(), &mut server);
        let truth = server.limit_now();
        score.searches += 1;
        score.trials.push(finding.trials.len() as f64);
        let Outcome::Capacity { load, from, to, .. } = finding.outcome else {
            score.others.push(format!("{:?}", finding.outcome));
            continue;
        };
        score.held += usize::from((from..=to).contains(&truth));
        score.errors.push((load / truth).ln().abs());
        let half = (to / from).ln() / 2.0;
        score.widths.push(half);
        let start = finding.trials[0].load;
        score.ratios.push(finding.trials.len() as f64 / fewest(start, truth, noise, half));
    }
    for figures in [&mut score.errors, &mut score.trials, &mut score.ratios, &mut score.widths] {
        figures.sort_by(f64::total_cmp);
    }
    eprintln!(
        "{kind:?}: held {}/{} error {:.4} trials {} (p95 {}) ratio {:.2} half {:.4} others {} {:?}",
        score.held,
        score.searches,
        median(&score.errors),
        median(&score.trials),
        score.trials[score.trials.len() * 95 / 100],
        median(&score.ratios),
        median(&score.widths),
        score.others.len(),
        score.others.first(),
    );
    score
}

fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Score {
    fn is_true(&self) {
        assert!(self.held * 100 >= self.searches * 93, "{} of {}", self.held, self.searches);
        assert!(median(&self.errors) <= 0.02, "{}", median(&self.errors));
        assert!(median(&self.ratios) <= 2.0, "{}", median(&self.ratios));
    }
}

const SEARCHES: u64 = 1_000;
const WIDE: (f64, f64) = (3_000.0, 300_000.0);

fn loss_only() -> Options {
    Options { criteria: vec!["loss<0.1%".into()], ..Options::default() }
}

#[test]
fn a_hard_limit() {
    thousand(Kind::Hard, 0.0, &Options::default(), WIDE).is_true();
}

#[test]
fn a_noise_of_3_percent() {
    thousand(Kind::Noise(0.03), 0.03, &Options::default(), WIDE).is_true();
}

#[test]
fn a_collapse() {
    thousand(Kind::Collapse, 0.0, &Options::default(), WIDE).is_true();
}

#[test]
fn a_limit_that_is_lower_after_an_overload() {
    thousand(Kind::Hysteresis(0.8), 0.0, &Options::default(), WIDE).is_true();
}

#[test]
fn a_limit_that_drifts() {
    thousand(Kind::Drift(-0.003), 0.0, &Options::default(), WIDE).is_true();
}

#[test]
fn a_receive_queue_that_absorbs_bursts() {
    thousand(Kind::Queue(0.5), 0.0, &loss_only(), WIDE).is_true();
}

#[test]
fn bad_seconds_in_one_of_twenty_trials() {
    thousand(Kind::BadSeconds(0.05), 0.0, &Options::default(), WIDE).is_true();
}

#[test]
fn a_queue_of_random_arrivals_and_random_service() {
    let options = Options { criteria: vec!["p99<10ms".into()], trial: Some("4s".into()), start: Some("400".into()), least: Some("300".into()), ..Options::default() };
    thousand(Kind::Mm1(0.01), 0.02, &options, (1_500.0, 2_500.0)).is_true();
}
