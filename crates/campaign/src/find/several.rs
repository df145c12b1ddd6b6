//! Searches with several goals, of imaginary servers: whether each interval holds its limit, and what they cost beside
//! searches for one goal each.

use super::imaginary::{Imaginary, Kind};
use super::score::{median, search, seconds_of};
use super::truth::{searches, seed};
use super::*;

/// The goals of the example in `docs/find.md`.
const GOALS: [&str; 3] = ["lossless: loss=0", "fast: p99<5ms", "held: loss<0.1%, 60 s"];

/// The limit of each on a server that loses what is too much: p99 is among the lost queries when one of 100 is lost.
const ALLOWS: [f64; 3] = [1.0, 1.0 / 0.99, 1.0 / 0.999];

/// As many trials for one goal as for three: a search that ends because they are used up costs less, and tells less.
fn of_goals(goals: &[&str]) -> Options {
    let goals = goals.iter().map(|goal| (*goal).to_owned()).collect();
    Options { goals, trials: Some("200".into()), ..Options::default() }
}

/// What searches for goals together, and for each alone, have cost and found.
#[derive(Debug)]
struct Several {
    /// Seconds of load, each sorted: of all goals together, and of each goal alone.
    together: Vec<f64>,
    alone: Vec<Vec<f64>>,
    /// Intervals that hold the limit, of each goal, and searches that gave an interval.
    held: Vec<usize>,
    found: Vec<usize>,
}

impl Several {
    /// The limit of the server is the same for each goal; of one that drifts, it is that of the last trial.
    fn of(kind: Kind, goals: &[&str], (first, count): (u64, u64)) -> Several {
        let none = || vec![0; goals.len()];
        let alone = vec![Vec::new(); goals.len()];
        let mut several = Several { together: Vec::new(), alone, held: none(), found: none() };
        for number in 0..count {
            let limit = 3_000.0 * 100f64.powf((number as f64 + 0.5) / count as f64);
            let server = || Imaginary::new(kind, limit, first.wrapping_mul(1_000_003).wrapping_add(number));
            let mut of_all = server();
            let finding = search(of_goals(goals), &mut of_all);
            let truth = of_all.limit_at(finding.trials.len() as f64 - 1.0);
            several.together.push(seconds_of(&finding));
            for (at, goal) in finding.goals.iter().enumerate() {
                let Outcome::Capacity { from, to, .. } = goal.outcome else { continue };
                several.found[at] += 1;
                several.held[at] += usize::from((from..=to).contains(&(truth * ALLOWS[at])));
            }
            for (at, goal) in goals.iter().enumerate() {
                several.alone[at].push(seconds_of(&search(of_goals(&[goal]), &mut server())));
            }
        }
        several.alone.iter_mut().chain([&mut several.together]).for_each(|all| all.sort_by(f64::total_cmp));
        let each: Vec<f64> = several.alone.iter().map(|alone| median(alone)).collect();
        eprintln!(
            "{kind:?} (noise {goals:?}): together {:.0} s (p95 {:.0}), alone {each:.0?} s, {:.2} times the dearest, \
             held \
             {:?} of {:?} of {count}",
            median(&several.together),
            several.together[several.together.len() * 95 / 100],
            several.times_the_dearest(),
            several.held,
            several.found,
        );
        several
    }

    fn times_the_dearest(&self) -> f64 {
        let dearest = self.alone.iter().map(|alone| median(alone)).fold(0.0, f64::max);
        median(&self.together) / dearest
    }

    fn is_true(&self, percent: usize, times: f64) {
        assert!(self.times_the_dearest() <= times, "{self:?}");
        for (held, found) in self.held.iter().zip(&self.found) {
            assert!(held * 100 >= found * percent && *found * 10 >= self.together.len() * 9, "{self:?}");
        }
    }
}

#[test]
fn three_goals_cost_little_more_than_the_dearest_of_them_alone() {
    Several::of(Kind::Hard, &GOALS, (7, 10)).is_true(90, 1.4);
}

#[test]
fn three_goals_on_a_server_with_noise_each_have_an_interval_that_holds_the_limit() {
    Several::of(Kind::Noise(0.03), &GOALS, (7, 10)).is_true(80, 1.4);
}

/// The measure of the method: `cargo test --release -p dnsdyno-campaign a_thousand -- --ignored --nocapture`.
mod a_thousand {
    use super::*;

    #[test]
    #[ignore = "a thousand take minutes"]
    fn with_three_goals() {
        for kind in [Kind::Hard, Kind::Noise(0.03), Kind::Collapse, Kind::Queue(0.5), Kind::Hysteresis(0.8)] {
            Several::of(kind, &GOALS, (seed(), searches())).is_true(90, 1.4);
        }
    }
}
