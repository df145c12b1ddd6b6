//! How long to hold a response: the distributions, and drawing from them.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, Exp, LogNormal, Normal};

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
}

impl super::Service {
    /// The mean time of a service, in nanoseconds.
    pub(crate) fn mean_ns(&self) -> u64 {
        let mean = match self.time {
            Delay::Fixed(delay) => delay,
            Delay::Uniform { from, to } => (from + to) / 2,
            Delay::Normal { mean, .. } | Delay::Exponential { mean } => mean,
            Delay::LogNormal { median, sigma } => median.mul_f64((sigma * sigma / 2.0).exp().min(1e6)),
        };
        u64::try_from(mean.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Delay {
    /// The distribution in nanoseconds; the error says why it is impossible.
    pub(super) fn sampler(&self) -> Result<Sampler, FaultsError> {
        let ns = |duration: &Duration| duration.as_nanos() as f64;
        let impossible = |reason| FaultsError::Delay { reason };
        let too_long = |duration: &Duration| *duration > LONGEST_DELAY;
        let longest = match self {
            Delay::Fixed(delay) => delay,
            Delay::Uniform { to, .. } => to,
            Delay::Normal { mean, .. } | Delay::Exponential { mean } => mean,
            Delay::LogNormal { median, .. } => median,
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
        }
    }
}

/// A [`Delay`] to draw from, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sampler {
    Fixed(u64),
    Uniform(u64, u64),
    Normal(Normal<f64>),
    Exponential(Exp<f64>),
    LogNormal(LogNormal<f64>),
}

impl Sampler {
    #[inline]
    pub(super) fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let drawn = match self {
            Sampler::Fixed(ns) => return *ns,
            Sampler::Uniform(from, to) => return rng.random_range(*from..=*to),
            Sampler::Normal(normal) => normal.sample(rng),
            Sampler::Exponential(exponential) => exponential.sample(rng),
            Sampler::LogNormal(log_normal) => log_normal.sample(rng),
        };
        drawn.clamp(0.0, LONGEST_DELAY.as_nanos() as f64) as u64
    }
}

/// No response is held longer than this by a delay.
pub const LONGEST_DELAY: Duration = Duration::from_secs(3600);

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
    }
}
