//! How long to hold a response: the distributions, and drawing from them.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, Exp, LogNormal, Normal, Pareto};

use super::error::FaultsError;

/// How long a response is held, from the receipt of its query.
///
/// Draws below 0 count as 0, draws above [`LONGEST_DELAY`] as that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    /// Always the same. Text: `5ms`.
    Fixed(Duration),
    /// Each duration between the two equally likely. Text: `uniform:1ms..5ms`.
    Uniform {
        /// The shortest.
        from: Duration,
        /// The longest.
        to: Duration,
    },
    /// The normal distribution. Text: `normal:5ms,1ms`.
    Normal {
        /// Its mean.
        mean: Duration,
        /// Its standard deviation.
        deviation: Duration,
    },
    /// The exponential distribution. Text: `exp:2ms`.
    Exponential {
        /// Its mean.
        mean: Duration,
    },
    /// The log-normal distribution, the usual shape of a server's latency. Text: `lognormal:2ms,0.5`.
    LogNormal {
        /// Its median.
        median: Duration,
        /// The standard deviation of the logarithm, without unit.
        sigma: f64,
    },
    /// The Pareto distribution: mostly short, and at times very long. Text: `pareto:2ms,2.5`.
    Pareto {
        /// The shortest.
        shortest: Duration,
        /// Its shape, without unit: the share of draws over x times the shortest is x to the power of -shape.
        shape: f64,
    },
}

impl Delay {
    /// The middle of the distribution in nanoseconds: its mean or its median, as it is given.
    pub(crate) fn middle_ns(&self) -> u64 {
        let middle = match *self {
            Delay::Fixed(delay) => delay,
            Delay::Uniform { from, to } => from + to.saturating_sub(from) / 2,
            Delay::Normal { mean, .. } | Delay::Exponential { mean } => mean,
            Delay::LogNormal { median, .. } => median,
            Delay::Pareto { shortest, shape } => {
                shortest.mul_f64(0.5f64.powf(-shape.recip()).clamp(1.0, HIGHEST_FACTOR))
            }
        };
        u64::try_from(middle.as_nanos()).unwrap_or(u64::MAX)
    }

    /// The distribution in nanoseconds; the error says why it is impossible.
    pub(crate) fn sampler(&self) -> Result<Sampler, FaultsError> {
        let ns = |duration: &Duration| duration.as_nanos() as f64;
        let impossible = |reason| FaultsError::Delay { reason };
        let too_long = |duration: &Duration| *duration > LONGEST_DELAY;
        let longest = match self {
            Delay::Fixed(delay) => delay,
            Delay::Uniform { to, .. } => to,
            Delay::Normal { mean, .. } | Delay::Exponential { mean } => mean,
            Delay::LogNormal { median, .. } => median,
            Delay::Pareto { shortest, .. } => shortest,
        };
        if too_long(longest) {
            return Err(impossible("it is longer than an hour"));
        }
        match self {
            Delay::Fixed(delay) => Ok(Sampler::Fixed(delay.as_nanos() as u64)),
            Delay::Uniform { from, to } if from <= to => {
                Ok(Sampler::Uniform(from.as_nanos() as u64, to.as_nanos() as u64))
            }
            Delay::Uniform { .. } => Err(impossible("the shortest is longer than the longest")),
            Delay::Normal { mean, deviation } => Normal::new(ns(mean), ns(deviation))
                .map(Sampler::Normal)
                .map_err(|_| impossible("a standard deviation is a finite duration")),
            Delay::Exponential { mean } if mean.is_zero() => Err(impossible("its mean is 0")),
            Delay::Exponential { mean } => Exp::new(ns(mean).recip())
                .map(Sampler::Exponential)
                .map_err(|_| impossible("its mean is not a duration over 0")),
            Delay::LogNormal { median, .. } if median.is_zero() => Err(impossible("its median is 0")),
            Delay::LogNormal { sigma, .. } if !(0.0..=10.0).contains(sigma) => {
                Err(impossible("sigma is not between 0 and 10"))
            }
            Delay::LogNormal { median, sigma } => LogNormal::new(ns(median).ln(), *sigma)
                .map(Sampler::LogNormal)
                .map_err(|_| impossible("sigma is not between 0 and 10")),
            Delay::Pareto { shortest, .. } if shortest.is_zero() => Err(impossible("its shortest is 0")),
            Delay::Pareto { shape, .. } if !(0.1..=100.0).contains(shape) => {
                Err(impossible("the shape is not between 0.1 and 100"))
            }
            Delay::Pareto { shortest, shape } => Pareto::new(ns(shortest), *shape)
                .map(Sampler::Pareto)
                .map_err(|_| impossible("the shape is not between 0.1 and 100")),
        }
    }
}

/// A [`Delay`] to draw from, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sampler {
    Fixed(u64),
    Uniform(u64, u64),
    Normal(Normal<f64>),
    Exponential(Exp<f64>),
    LogNormal(LogNormal<f64>),
    Pareto(Pareto<f64>),
}

impl Sampler {
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let drawn = match self {
            Sampler::Fixed(ns) => return *ns,
            Sampler::Uniform(from, to) => return rng.random_range(*from..=*to),
            Sampler::Normal(normal) => normal.sample(rng),
            Sampler::Exponential(exponential) => exponential.sample(rng),
            Sampler::LogNormal(log_normal) => log_normal.sample(rng),
            Sampler::Pareto(pareto) => pareto.sample(rng),
        };
        drawn.clamp(0.0, LONGEST_DELAY.as_nanos() as f64) as u64
    }
}

/// No response is held longer than this by a delay.
pub const LONGEST_DELAY: Duration = Duration::from_secs(3600);

/// The median of the flattest Pareto distribution, in its shortest values.
const HIGHEST_FACTOR: f64 = 1024.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Faults;

    /// The given quantile of many draws, in microseconds.
    fn quantile_us(delay: Delay, quantile: f64) -> f64 {
        let faults = Faults { delay: Some(delay), ..Faults::default() };
        let mut decider = faults.decider(0).unwrap();
        let mut drawn: Vec<u64> = (0..100_000).map(|_| decider.decide().delay_ns).collect();
        drawn.sort_unstable();
        drawn[(quantile * 1e5) as usize] as f64 / 1e3
    }

    #[test]
    fn the_middle_is_what_about_half_of_the_draws_do_not_exceed() {
        let ms = Duration::from_millis;
        for delay in [
            Delay::Fixed(ms(5)),
            Delay::Uniform { from: ms(1), to: ms(5) },
            Delay::Normal { mean: ms(5), deviation: ms(1) },
            Delay::LogNormal { median: ms(2), sigma: 0.5 },
            Delay::Pareto { shortest: ms(2), shape: 1.5 },
        ] {
            let (middle, median) = (delay.middle_ns() as f64 / 1e3, quantile_us(delay, 0.5));
            assert!((middle / median - 1.0).abs() < 0.03, "{delay:?}: {middle} {median}");
        }
    }

    #[test]
    fn delays_have_the_quantiles_of_their_distribution() {
        let ms = Duration::from_millis;
        let near = |delay, quantile, expected_us: f64| {
            let got = quantile_us(delay, quantile);
            assert!(
                (got / expected_us - 1.0).abs() < 0.03,
                "{delay:?}: {got} µs at {quantile}, not {expected_us}"
            );
        };
        near(Delay::Fixed(ms(5)), 0.5, 5_000.0);
        near(Delay::Uniform { from: ms(1), to: ms(5) }, 0.25, 2_000.0);
        near(Delay::Uniform { from: ms(1), to: ms(5) }, 0.75, 4_000.0);
        near(Delay::Normal { mean: ms(5), deviation: ms(1) }, 0.5, 5_000.0);
        near(Delay::Normal { mean: ms(5), deviation: ms(1) }, 0.8413, 6_000.0);
        near(Delay::Exponential { mean: ms(2) }, 0.5, 2_000.0 * 2f64.ln());
        near(Delay::Exponential { mean: ms(2) }, 0.99, 2_000.0 * 100f64.ln());
        near(Delay::LogNormal { median: ms(2), sigma: 0.5 }, 0.5, 2_000.0);
        near(Delay::LogNormal { median: ms(2), sigma: 0.5 }, 0.8413, 2_000.0 * 0.5f64.exp());
        near(Delay::Pareto { shortest: ms(2), shape: 2.0 }, 0.5, 2_000.0 * 2f64.sqrt());
        near(Delay::Pareto { shortest: ms(2), shape: 2.0 }, 0.99, 2_000.0 * 10.0);
    }
}
