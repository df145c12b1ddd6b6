//! The truth of the search: a thousand imaginary servers of each kind, whose limit is known.

use std::collections::BTreeMap;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::imaginary::{Imaginary, Kind};
use super::*;
use crate::step::{Campaign, Step};
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
    /// Trials of all searches, by what they were for.
    purposes: BTreeMap<&'static str, usize>,
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
/// probit model). Where a failure lowers the limit, a trial at a low load must follow each: the first, which ends the
/// doubling, and half of the halvings.
fn fewest(kind: Kind, start: f64, limit: f64, noise: f64, half: f64) -> f64 {
    let doublings = (limit / start).log2().ceil().max(0.0) + 1.0;
    let of_one = 1.96 * noise * (std::f64::consts::PI / 2.0).sqrt();
    let halvings = (2f64.ln() / (2.0 * half.max(of_one))).log2().max(0.0);
    let recoveries = if matches!(kind, Kind::Hysteresis(_)) { 1.0 + halvings / 2.0 } else { 0.0 };
    doublings + halvings + recoveries + (of_one / half).powi(2)
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
            settings.criteria().unmet(&run, &trial, &[]).is_empty()
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

fn of_each(kind: Kind, noise: f64, options: &Options, limits: (f64, f64), searches: u64) -> Score {
    let mut score = Score::default();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut drawn = None;
    for seed in 0..searches {
        let limit = limits.0 * (limits.1 / limits.0).powf(rng.random::<f64>());
        let mut server = Imaginary::new(kind, limit, seed);
        let finding = search(options.clone(), &mut server);
        let truth = server.limit_at(instant(&finding));
        score.searches += 1;
        score.trials.push(finding.trials.len() as f64);
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
    for figures in [&mut score.errors, &mut score.trials, &mut score.ratios, &mut score.widths] {
        figures.sort_by(f64::total_cmp);
    }
    eprintln!(
        "{kind:?} (noise {drawn:?}): held {}/{} error {:.4} trials {} (p95 {}) ratio {:.2} half {:.4} others {} {:?} \
         means {:?}",
        score.held,
        score.searches,
        median(&score.errors),
        median(&score.trials),
        score.trials[score.trials.len() * 95 / 100],
        median(&score.ratios),
        median(&score.widths),
        score.others.len(),
        score.others.first(),
        score.purposes.iter().map(|(of, count)| (*of, count / score.searches)).collect::<Vec<_>>(),
    );
    score
}

/// The trial of which the result is: the last one where a drift is told, else the middle one of those near the limit.
fn instant(finding: &Finding) -> f64 {
    let last = finding.trials.len() as f64 - 1.0;
    if finding.notes.iter().any(|note| matches!(note, FindNote::Drift { .. })) {
        return last;
    }
    let near = finding.trials.iter().position(|trial| trial.purpose == Purpose::Near);
    (near.unwrap_or(0) as f64 + last) / 2.0
}

fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Score {
    fn is_true(&self, most_ratio: f64) {
        // Of few searches, two or three more may miss or take long by chance.
        let (percent, slack) = if self.searches < 1_000 { (86, 1.15) } else { (93, 1.0) };
        assert!(self.held * 100 >= self.searches * percent, "{} of {}", self.held, self.searches);
        assert!(median(&self.errors) <= 0.02, "{}", median(&self.errors));
        assert!(median(&self.ratios) <= most_ratio * slack, "{}", median(&self.ratios));
    }
}

/// Of each kind; all of them with `--ignored`.
const FEW: u64 = 25;
const ALL: u64 = 1_000;
const WIDE: (f64, f64) = (3_000.0, 300_000.0);

/// Times the fewest trials that are possible.
const RATIO: f64 = 2.0;

/// The same where a drift is slow enough to be taken for noise: whoever knows that there is none sees it in a few
/// trials. This is more than the twice that is wanted.
const RATIO_DRIFT: f64 = 3.3;

/// The same where the limit is lower after an overload: that must be seen before it can be allowed for. This too is
/// more than is wanted.
const RATIO_HYSTERESIS: f64 = 2.5;

/// Arrivals at which p99 is 2.5 times the service time in M/D/4, for a service time of 2 ms: by a simulation of
/// 1,500,000 queries at each of nine rates.
const P99_IS_5_MS: f64 = 2.8155 / 0.002;

/// The noise is that of the draws of the server.
const DRAWN: f64 = f64::NAN;
const TRIALS_FOR_NOISE: usize = 100;

fn options(texts: &[&str]) -> Options {
    Options { criteria: texts.iter().map(|text| (*text).to_owned()).collect(), ..Options::default() }
}

/// Short trials at low rates, so that queues are simulated query by query.
fn of_queues(criterion: &str) -> Options {
    Options {
        trial: Some("30s".into()),
        start: Some("400".into()),
        least: Some("300".into()),
        ..options(&[criterion])
    }
}

macro_rules! truths {
    ($($name:ident: $kind:expr, $noise:expr, $options:expr, $limits:expr, $ratio:expr;)+) => {
        $(
            #[test]
            fn $name() {
                of_each($kind, $noise, &$options, $limits, FEW).is_true($ratio);
            }
        )+

        /// The measure of the method: `cargo test --release -p dnsdyno-campaign a_thousand -- --ignored --nocapture`.
        #[test]
        #[ignore = "a thousand of each take minutes"]
        fn a_thousand_of_each() {
            let scores = [$( (of_each($kind, $noise, &$options, $limits, ALL), $ratio) ),+];
            scores.iter().for_each(|(score, most_ratio)| score.is_true(*most_ratio));
        }
    };
}

truths! {
    a_hard_limit: Kind::Hard, 0.0, options(&[]), WIDE, RATIO;
    a_noise_of_3_percent: Kind::Noise(0.03), 0.03, options(&[]), WIDE, RATIO;
    a_collapse: Kind::Collapse, 0.0, options(&[]), WIDE, RATIO;
    a_limit_that_is_lower_after_an_overload: Kind::Hysteresis(0.8), 0.0, options(&[]), WIDE, RATIO_HYSTERESIS;
    a_limit_that_drifts: Kind::Drift(-0.003), 0.0, options(&[]), WIDE, RATIO_DRIFT;
    a_receive_queue_that_absorbs_bursts: Kind::Queue(0.5), 0.0, options(&["loss<0.1%"]), WIDE, RATIO;
    bad_seconds_in_one_of_twenty_trials: Kind::BadSeconds(0.05), 0.0, options(&[]), WIDE, RATIO;
    random_arrivals_and_four_servers: Kind::Mdc(0.002), DRAWN, of_queues("p99<5ms"), (P99_IS_5_MS, P99_IS_5_MS), RATIO;
    random_arrivals_and_random_service: Kind::Mm1(0.01), DRAWN, of_queues("p99<10ms"), (1_500.0, 2_500.0), RATIO;
}

#[test]
fn what_is_not_a_capacity_is_told_as_what_it_is() {
    let of = |kind, options: Options, ours: f64| {
        let mut server = Imaginary::new(kind, 20_000.0, 1);
        server.ours = ours;
        search(options, &mut server)
    };
    let slow = of(Kind::Slow, options(&[]), f64::INFINITY);
    assert!(matches!(slow.outcome, Outcome::NotMet { lowest, .. } if lowest == 100.0), "{:?}", slow.outcome);
    assert!(slow.trials.len() <= 6, "{}", slow.trials.len());
    let most = of(Kind::Hard, Options { most: Some("10k".into()), ..options(&[]) }, f64::INFINITY);
    let Outcome::AtLeast { load, why: Why::Most } = most.outcome else { panic!("{:?}", most.outcome) };
    assert!((9_500.0..=10_000.0).contains(&load), "{load}");
    // The generator is in doubt from 12,000 on: the limit of the server is never named.
    let ours = of(Kind::Hard, options(&[]), 12_000.0);
    let Outcome::AtLeast { load, why: Why::Generator } = ours.outcome else { panic!("{:?}", ours.outcome) };
    assert!((10_000.0..=12_000.0).contains(&load), "{load}");
    assert!(ours.notes.iter().any(|note| matches!(note, FindNote::Doubt { .. })), "{:?}", ours.notes);
    // And where the server's limit is lower, it is found.
    let below = of(Kind::Hard, options(&[]), 30_000.0);
    let Outcome::Capacity { from, to, .. } = below.outcome else { panic!("{:?}", below.outcome) };
    assert!((from..=to).contains(&20_000.0), "{from}..{to}");
    let none = of(Kind::Hard, options(&[]), 10.0);
    assert!(matches!(none.outcome, Outcome::InDoubt { .. }), "{:?}", none.outcome);
    let half = of(Kind::BadSeconds(0.5), options(&[]), f64::INFINITY);
    let Outcome::Unstable { share, .. } = half.outcome else { panic!("{:?}", half.outcome) };
    assert!((0.3..0.7).contains(&share), "{share}");
}

#[test]
fn on_a_host_that_is_often_busy_the_limit_of_the_server_is_found_or_a_bound_that_is_true() {
    let mut found = 0;
    for seed in 0..20 {
        let mut server = Imaginary::new(Kind::Hard, 20_000.0, seed);
        server.in_doubt = 0.2;
        match search(options(&[]), &mut server).outcome {
            Outcome::Capacity { from, to, .. } => {
                assert!((from..=to).contains(&20_000.0), "{from}..{to}");
                found += 1;
            }
            Outcome::AtLeast { load, why: Why::Generator } => assert!(load <= 20_000.0, "{load}"),
            other => assert!(matches!(other, Outcome::InDoubt { .. }), "{other:?}"),
        }
    }
    assert!(found >= 12, "{found} of 20");
}

#[test]
fn what_else_is_to_be_known_is_told() {
    let notes = |kind, seed| search(options(&[]), &mut Imaginary::new(kind, 20_000.0, seed)).notes;
    // Noise may by chance look like less of it, and then nothing is told.
    let has = |kind, wanted: &dyn Fn(&FindNote) -> bool| {
        let others: Vec<_> =
            (0..10).map(|seed| notes(kind, seed)).filter(|notes| !notes.iter().any(wanted)).collect();
        assert!(others.len() <= 3, "{kind:?}: {} of 10: {others:?}", others.len());
    };
    has(Kind::Collapse, &|note| matches!(note, FindNote::Collapse { .. }));
    has(Kind::Noise(0.05), &|note| matches!(note, FindNote::Noise { .. }));
    has(Kind::Hysteresis(0.7), &|note| matches!(note, FindNote::Hysteresis { .. }));
    has(Kind::Drift(-0.01), &|note| matches!(note, FindNote::Drift { .. }));
    has(Kind::Cold, &|note| matches!(note, FindNote::Warm { trials: 4 }));
    let plain = notes(Kind::Hard, 1);
    assert!(plain.is_empty(), "{plain:?}");
}

#[test]
fn a_search_that_learns_the_same_records_again_is_in_the_same_state() {
    let settings = Settings::new(&options(&[]), &Draft::default()).unwrap();
    let mut server = Imaginary::new(Kind::Noise(0.03), 40_000.0, 5);
    let (mut search, mut records) = (Search::new(settings.clone()), Vec::new());
    for _ in 0..15 {
        let Step::Run(request) = search.next() else { break };
        records.push(server.trial(&request));
        search.learn(&records[records.len() - 1]);
    }
    let mut again = Search::new(settings);
    records.iter().for_each(|record| again.learn(record));
    let (Step::Run(a), Step::Run(b)) = (search.next(), again.next()) else { panic!("too short") };
    assert_eq!((a.draft, a.why, search.made().trials), (b.draft, b.why, again.made().trials));
}
