//! How true searches of imaginary servers are: how often the interval holds the limit, how large the error is, and how
//! many trials were made, compared with the fewest that could do.

use std::collections::BTreeMap;

use dnsdyno_plan::Draft;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::imaginary::{Imaginary, Kind};
use super::*;
use crate::step::Step;

/// The outcome of a thousand searches.
#[derive(Debug, Default)]
pub(super) struct Score {
    pub(super) searches: usize,
    /// The interval held the truth.
    pub(super) held: usize,
    /// A result without an interval.
    others: Vec<String>,
    pub(super) errors: Vec<f64>,
    trials: Vec<f64>,
    /// Seconds of load.
    pub(super) seconds: Vec<f64>,
    /// Trials, over the fewest that are possible.
    pub(super) ratios: Vec<f64>,
    widths: Vec<f64>,
    /// Trials of all searches, by what they were for.
    purposes: BTreeMap<&'static str, usize>,
}

pub(super) fn search(options: Options, server: &mut Imaginary) -> Finding {
    let settings = Settings::new(&options, &Draft::default()).unwrap();
    let mut search = finder(settings);
    for _ in 0..2_000 {
        match search.next() {
            Step::Done(finding) => return finding,
            Step::Run(request) => search.learn(&server.trial(&request)),
        }
    }
    panic!("no end: {:?}", search.made());
}

/// The fewest trials that could do, for whoever knows the kind of the server and its noise: one for each doubling up to
/// the limit, because nothing is known of the loads above; one for each halving of that octave down to the interval, or
/// to the width of the noise, because a trial says yes or no, which is one bit; and then, where one trial tells the
/// limit by no more than its noise, as many as make the interval: each at the load that half of the trials pass, which
/// tells most, 2/π of what its noise leaves (the Fisher information of a probit model).
///
/// Where a failure lowers the limit, a trial at a low load must follow each, which says nothing about the limit: one
/// after the doubling, and one after each failure among the halvings. A failure then costs two trials, a success one,
/// and the best division is not in halves: with costs of 1 and 2, each trial gives at most log2 of the golden ratio,
/// 0.694 bits (x⁻¹ + x⁻² = 1; Shannon 1948, symbols of unequal duration). How much lower the limit is then need not be
/// known: the lowest loads of the doubling are low enough.
///
/// Where a share of the trials fails whatever its load, a trial gives less than one bit: the capacity of Shannon's
/// Z-channel, 0.857 for one in twenty. Only the halvings are counted so, not what the doubling loses.
///
/// Of a drift, the rate is a second unknown, and nothing is added for it. A bound from information has no term for it:
/// the values of limit and rate that are left may be many, as long as they agree on the limit now. So for a drift this
/// is the count of somebody who knows the rate, and the ratio is too high rather than too low.
fn fewest(kind: Kind, start: f64, limit: f64, noise: f64, half: f64) -> f64 {
    let doublings = (limit / start).log2().ceil().max(0.0) + 1.0;
    let of_one = 1.96 * noise * (std::f64::consts::PI / 2.0).sqrt();
    let halvings = (2f64.ln() / (2.0 * half.max(of_one))).log2().max(0.0);
    let lapse = if let Kind::BadSeconds(share) = kind { share } else { 0.0 };
    let capacity = (1.0 + (1.0 - lapse) * lapse.powf(lapse / (1.0 - lapse))).log2();
    let recoveries = if matches!(kind, Kind::Hysteresis(_)) {
        let golden = (1.0 + 5f64.sqrt()) / 2.0;
        1.0 + halvings * (1.0 / golden.log2() - 1.0)
    } else {
        0.0
    };
    doublings + halvings / capacity + recoveries + (of_one / half).powi(2)
}

/// The noise of a server whose trials differ by chance: from the shares of trials that pass 2 % below and above its
/// limit.
fn noise_of(kind: Kind, limit: f64, options: &Options) -> f64 {
    let settings = Settings::new(options, &Draft::default()).unwrap();
    let mut server = Imaginary::new(kind, limit, 99);
    let mut passed = |load: f64| {
        let request = settings.request(Purpose::Near, load, 0);
        let made = (0..TRIALS_FOR_NOISE).filter(|_| {
            let run = server.trial(&request);
            let trial = trial::Trial::of(1, Purpose::Near, load, 0, &run);
            let judged = settings.criteria().judge(&run, &trial, &[]);
            judged.unmet.is_empty() && judged.undecided.is_empty()
        });
        made.count() as f64 / TRIALS_FOR_NOISE as f64
    };
    let place = |share: f64| {
        let at = (-4_000..4_000).find(|at| belief::normal(f64::from(*at) / 1_000.0) >= share);
        f64::from(at.unwrap_or(4_000)) / 1_000.0
    };
    let (below, above) = (passed(limit * 0.98), passed(limit * 1.02));
    0.04 / (place(below) - place(above)).max(0.01)
}

pub(super) fn of_each(
    kind: Kind,
    noise: f64,
    options: &Options,
    limits: (f64, f64),
    (first, searches): (u64, u64),
) -> Score {
    let mut score = Score::default();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(first);
    let mut drawn = None;
    for number in 0..searches {
        let limit = limits.0 * (limits.1 / limits.0).powf(rng.random::<f64>());
        let mut server = Imaginary::new(kind, limit, first.wrapping_mul(SEEDS_APART).wrapping_add(number));
        let finding = search(options.clone(), &mut server);
        // Where the limit moves, the result is that of the last trial.
        let truth = server.limit_at(finding.trials.len() as f64 - 1.0);
        score.searches += 1;
        score.trials.push(finding.trials.len() as f64);
        score.seconds.push(seconds_of(&finding));
        let purposes = finding.trials.iter().map(|trial| trial.purpose.text());
        purposes.for_each(|purpose| *score.purposes.entry(purpose).or_default() += 1);
        let Outcome::Capacity { load, from, to, .. } = finding.outcome else {
            score.others.push(format!("{:?}", finding.outcome));
            continue;
        };
        score.held += usize::from((from..=to).contains(&truth));
        score.errors.push((load / truth).ln().abs());
        let half = (to / from).ln() / 2.0;
        score.widths.push(half);
        let start = finding.trials[0].load;
        let noise =
            if noise.is_nan() { *drawn.get_or_insert_with(|| noise_of(kind, truth, options)) } else { noise };
        score.ratios.push(finding.trials.len() as f64 / fewest(kind, start, truth, noise, half));
    }
    for figures in
        [&mut score.errors, &mut score.trials, &mut score.seconds, &mut score.ratios, &mut score.widths]
    {
        figures.sort_by(f64::total_cmp);
    }
    eprintln!(
        "{kind:?} (noise {drawn:?}): held {}/{} error {:.4} trials {} (p95 {}) load {:.0} s (p95 {:.0}) ratio {:.2} \
         half {:.4} others {} {:?} \
         means {:?}",
        score.held,
        score.searches,
        median(&score.errors),
        median(&score.trials),
        score.trials[score.trials.len() * 95 / 100],
        median(&score.seconds),
        score.seconds[score.seconds.len() * 95 / 100],
        median(&score.ratios),
        median(&score.widths),
        score.others.len(),
        score.others.first(),
        score.purposes.iter().map(|(of, count)| (*of, count / score.searches)).collect::<Vec<_>>(),
    );
    score
}

/// The seconds of load of a search.
pub(super) fn seconds_of(finding: &Finding) -> f64 {
    finding.trials.iter().map(|trial| trial.lasted_ns as f64 * 1e-9).sum()
}

pub(super) fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Score {
    pub(super) fn is_true(&self, most_ratio: f64, most_s: f64) {
        // Of few searches, two or three more may miss or take long by chance.
        let (percent, slack) = if self.searches < 1_000 { (86, 1.15) } else { (93, 1.0) };
        assert!(self.held * 100 >= self.searches * percent, "{} of {}", self.held, self.searches);
        assert!(median(&self.errors) <= 0.02, "{}", median(&self.errors));
        assert!(median(&self.ratios) <= most_ratio * slack, "{}", median(&self.ratios));
        assert!(median(&self.seconds) <= most_s * slack, "{} s", median(&self.seconds));
    }
}

/// More than there are searches, so that those of two seeds are different.
const SEEDS_APART: u64 = 1_000_003;

/// Trials at each of the two loads whose shares that pass give the noise.
const TRIALS_FOR_NOISE: usize = 100;
