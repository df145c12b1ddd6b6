//! Hosts and servers that exist in numbers only: what each parameter does is known, so the answer of a night can be
//! held against it.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use super::night::{Changes, Figures, Night, Parameter, Shown};
use super::{Answer, Next, Tuner};

/// A host with a server under a load.
pub(super) struct World {
    pub(super) effects: Vec<Effect>,
    /// What is asked, in queries per second.
    pub(super) offered: f64,
    /// What the server answers where no stage holds it up.
    pub(super) speed: f64,
    /// The standard deviation of a trial.
    pub(super) noise: f64,
    /// The share of trials in which something else took the CPU for a part of the time.
    pub(super) disturbed: f64,
    /// By which share the host changes over a hundred trials.
    pub(super) drift: f64,
    /// Whether the counters of a stage say how much it holds up.
    pub(super) says_what_binds: bool,
    pub(super) made: u32,
    pub(super) random: Xoshiro256PlusPlus,
}

/// What a parameter does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    /// Nothing; `moves` = a counter on which it acts moves all the same.
    None { moves: bool },
    /// Each step multiplies the speed.
    Factor(f64),
    /// A stage lets through so many queries a second: as it is, then with each value.
    Stage(Vec<f64>),
    /// Multiplies what is answered by the first factor, and by the second one where the parameter of this number is
    /// changed too.
    Behind(usize, [f64; 2]),
    /// The server does not start with it.
    Fails,
    /// The host does not take its values.
    NotSet,
    /// No trial with it counts.
    Doubtful,
}

impl World {
    pub(super) fn new(effects: Vec<Effect>, seed: u64) -> World {
        World {
            effects,
            offered: 20_000.0,
            speed: 16_000.0,
            noise: 0.025,
            disturbed: 0.05,
            drift: 0.0,
            says_what_binds: false,
            made: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// A night over it, of 400 trials.
    pub(super) fn night(&self, seed: u64) -> Night {
        let parameter = |(at, effect): (usize, &Effect)| Parameter {
            id: format!("p{at}"),
            values: match effect {
                Effect::Stage(capacities) => (1..capacities.len()).map(|value| value.to_string()).collect(),
                _ => vec!["1".to_owned(), "2".to_owned()],
            },
            is_stepped: true,
            has_signs: !matches!(effect, Effect::Factor(_)),
            is_first: false,
        };
        Night {
            parameters: self.effects.iter().enumerate().map(parameter).collect(),
            smallest_gain: 0.02,
            pairs: 10,
            lasts_ns: 400 * TRIAL_NS,
            trial_ns: TRIAL_NS,
            seed,
            retries: 3,
        }
    }

    /// What a trial would show without noise.
    pub(super) fn truth(&self, changes: &Changes) -> f64 {
        let mut through = self.offered;
        let mut speed = self.speed;
        let mut factor_of_all = 1.0;
        for (at, effect) in self.effects.iter().enumerate() {
            let steps = changes.get(&at).map_or(0, |value| value + 1);
            match effect {
                Effect::Factor(factor) => speed *= factor.powi(steps as i32),
                Effect::Stage(capacities) => through = through.min(capacities[steps]),
                Effect::Behind(other, factors) if steps > 0 => {
                    factor_of_all *= factors[usize::from(changes.contains_key(other))];
                }
                Effect::None { .. } | Effect::Behind(..) => {}
                Effect::Fails | Effect::NotSet | Effect::Doubtful => {}
            }
        }
        through.min(speed) * factor_of_all
    }

    pub(super) fn trial(&mut self, changes: &Changes) -> Shown {
        if changes.keys().any(|at| self.effects[*at] == Effect::Fails) {
            return Shown::Failed("it says: unknown option".to_owned());
        }
        if let Some(at) = changes.keys().find(|at| self.effects[**at] == Effect::NotSet) {
            return Shown::NotSet(vec![(*at, "it is fixed".to_owned())]);
        }
        if changes.keys().any(|at| self.effects[*at] == Effect::Doubtful) {
            return Shown::Doubtful("the generator was the limit".to_owned());
        }
        self.made += 1;
        let truth = self.truth(changes);
        let by: f64 = StandardNormal.sample(&mut self.random);
        let disturbed = self.random.random::<f64>() < self.disturbed;
        let less = if disturbed { 0.5 + 0.4 * self.random.random::<f64>() } else { 1.0 };
        let drift = (self.drift * f64::from(self.made) / 100.0).exp();
        let capacity =
            |at: usize, capacities: &[f64]| capacities[changes.get(&at).map_or(0, |value| value + 1)];
        let moved = self.effects.iter().enumerate().map(|(at, effect)| match effect {
            Effect::None { moves } => *moves,
            Effect::Stage(capacities) => capacity(at, capacities) <= truth,
            _ => true,
        });
        // Of those that hold nothing up, one in ten says the same.
        let accounts_for = self.effects.iter().enumerate().map(|(at, effect)| match effect {
            Effect::Stage(capacities) if capacity(at, capacities) <= truth => 0.9,
            Effect::None { moves: true } if at.is_multiple_of(10) => 0.5,
            _ => 0.0,
        });
        Shown::Counted(Figures {
            gain: truth * (by * self.noise).exp() * less * drift,
            moved: moved.collect(),
            accounts_for: accounts_for.filter(|_| self.says_what_binds).collect(),
            is_saturated: truth >= self.offered,
            memory_bytes: Some(100_000_000 + 1_000_000 * changes.len() as u64),
        })
    }

    /// Carries a whole night out.
    pub(super) fn answer(&mut self, night: Night) -> Answer {
        self.answer_and_trials_of_finds(night).0
    }

    /// The same, with the number of trials after which each change was found.
    pub(super) fn answer_and_trials_of_finds(&mut self, night: Night) -> (Answer, Vec<u32>) {
        let (mut tuner, mut found_after) = (Tuner::new(night), Vec::new());
        for trials in 0..MOST_TRIALS {
            let found = tuner.found_so_far().len();
            found_after.resize(found.max(found_after.len()), trials);
            match tuner.next() {
                Next::Done(answer) => return (*answer, found_after),
                Next::Disturbed(why) => panic!("{why}"),
                Next::Trial(trial) => {
                    let shown = self.trial(&trial.changes);
                    tuner.learn(&shown, TRIAL_NS);
                }
            }
        }
        panic!("a night without an end: {tuner:#?}");
    }
}

/// As of a run of two seconds with the start of its server.
pub(super) const TRIAL_NS: u64 = 3_000_000_000;

const MOST_TRIALS: u32 = 5_000;
