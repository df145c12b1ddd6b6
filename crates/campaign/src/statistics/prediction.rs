//! Whether a new figure is one of a population that is known from earlier ones, and how far from it.
//!
//! ```text
//!   earlier figures   ○ ○○○○ ○○ ○      ○          new one  ●
//!                     ├──── center ────┤  where 95 of 100 further ones are
//! ```
//!
//! The interval is that of Student for one further figure: it contains the spread of the population and the error of
//! its center. It does not get narrower than the population is, however many figures there are. In contrast to the
//! permutation test it takes the figures as normally distributed; two things keep that from being trusted too much:
//!
//! - A new figure that is the median of three or more is hardly changed by a disturbed one. Then the population's own
//!   outliers are moved to Tukey's outer fences, else one of them would hide every change.
//! - A new figure of one or two runs may itself be disturbed. Then the interval also reaches as far as all but the
//!   farthest 2.5 % of the earlier figures on each side do: of less than 79, as far as the farthest.

use super::{Interval, Shift, mean};

/// A population as earlier figures show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Population {
    center: f64,
    spread: f64,
    count: usize,
    /// Where the farthest figures are that count, from the center; `None` where outliers do not.
    reach: Option<Interval>,
    /// The figure that was held against it.
    new: f64,
    /// How many of the earlier ones are at least as far on its side; 0 where outliers do not count.
    as_far: usize,
}

impl Population {
    /// That of earlier figures, to hold the median of `medians` new figures against; `None` of less than two.
    pub fn new(earlier: &[f64], new: f64, medians: usize) -> Option<Population> {
        if earlier.len() < 2 {
            return None;
        }
        let mut sorted = earlier.to_vec();
        sorted.sort_by(f64::total_cmp);
        let is_alone = medians < ROBUST;
        let figures = if is_alone { sorted.clone() } else { within_fences(&sorted) };
        let (center, count) = (mean(&figures), figures.len());
        let squares = figures.iter().map(|figure| (figure - center).powi(2)).sum::<f64>();
        // Equal figures have no spread; the mean of them may be off by a rounding.
        let is_constant = sorted[0] == sorted[count - 1];
        let spread = if is_constant { 0.0 } else { (squares / (count - 1) as f64).sqrt() };
        let center = if is_constant { sorted[0] } else { center };
        let place = (((count + 1) as f64 * BEYOND) as usize).max(1);
        let reach = Interval { from: sorted[place - 1] - center, to: sorted[count - place] - center };
        let is_as_far =
            |figure: &&f64| if new > center { **figure >= new } else { new == center || **figure <= new };
        let as_far = if is_alone { sorted.iter().filter(is_as_far).count() } else { 0 };
        Some(Population { center, spread, count, reach: is_alone.then_some(reach), new, as_far })
    }

    /// By how much the new figure is above the center, and between which ends that is in truth.
    pub fn shift(&self) -> Shift {
        let half = self.half(self.count);
        let reach = self.reach.unwrap_or(Interval { from: 0.0, to: 0.0 });
        let estimate = self.new - self.center;
        let interval = Interval { from: estimate - half.max(reach.to), to: estimate + half.max(-reach.from) };
        Shift { estimate, interval: Some(interval) }
    }

    /// Of a difference as large, if the new figure is of the population.
    pub fn probability(&self) -> f64 {
        let among = (self.count + 1) as f64;
        let by_rank = 2.0 * self.as_far as f64 / among;
        let by_spread = match () {
            () if self.new == self.center => 1.0,
            // That the odd one is the last one is one of so many cases.
            () if self.never_varied() => 2.0 / among,
            () => {
                let scale = self.spread * (1.0 + 1.0 / self.count as f64).sqrt();
                1.0 - inside(((self.new - self.center) / scale).abs(), self.count - 1)
            }
        };
        by_rank.max(by_spread).clamp(0.0, 1.0)
    }

    /// Whether all earlier figures are equal: then their number alone tells a further one from them.
    pub fn never_varied(&self) -> bool {
        self.spread == 0.0
    }

    /// The earlier figures, all of them equal, with which another one is told from them at `level`.
    pub fn equals_needed(level: f64) -> u32 {
        (2.0 / level).ceil() as u32 - 1
    }

    /// The difference that is found 9 times in 10, where differences are called at `level`.
    pub fn shown(&self, level: f64) -> f64 {
        let quantile = quantile(1.0 - level, self.count - 1) + NINE_OF_TEN;
        quantile * self.spread * (1.0 + 1.0 / self.count as f64).sqrt()
    }

    /// The earlier figures with which one further is told from `difference` away; `None` where no number is enough.
    pub fn needed(&self, difference: f64) -> Option<u32> {
        let is_enough = |count: &u32| self.half(*count as usize) < difference.abs();
        let first = u32::try_from(self.count).unwrap_or(MOST);
        // The interval gets narrower with each figure.
        if first >= MOST || !is_enough(&MOST) {
            return None;
        }
        let (mut below, mut enough) = (first, MOST);
        while enough - below > 1 {
            let middle = below + (enough - below) / 2;
            if is_enough(&middle) { enough = middle } else { below = middle }
        }
        Some(enough)
    }

    /// How far 95 of 100 further figures are from the center, where so many are known.
    fn half(&self, count: usize) -> f64 {
        quantile(1.0 - 2.0 * BEYOND, count - 1) * self.spread * (1.0 + 1.0 / count as f64).sqrt()
    }
}

/// Sorted figures, of which those beyond the outer fences are moved to them.
fn within_fences(sorted: &[f64]) -> Vec<f64> {
    let at = |q: f64| {
        let place = q * (sorted.len() - 1) as f64;
        let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        below + (above - below) * place.fract()
    };
    let (lower, upper) = (at(0.25), at(0.75));
    let width = FENCE * (upper - lower);
    sorted.iter().map(|figure| figure.clamp(lower - width, upper + width)).collect()
}

/// The share of Student's distribution between `-t` and `t` (Abramowitz and Stegun 26.7.3 and 26.7.4, which are exact).
fn inside(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let is_odd = freedom % 2 == 1;
    let (mut term, mut sum) = (if is_odd { cosine } else { 1.0 }, 0.0);
    let mut power = if is_odd { 1 } else { 0 };
    while power + 2 <= freedom {
        sum += term;
        term *= cosine * cosine * (power + 1) as f64 / (power + 2) as f64;
        power += 2;
    }
    match is_odd {
        true => std::f64::consts::FRAC_2_PI * (angle + sine * sum),
        false => sine * sum,
    }
}

/// Below which in size so large a share of Student's distribution is.
fn quantile(share: f64, freedom: usize) -> f64 {
    let (mut below, mut above) = (0.0, 1e3);
    for _ in 0..60 {
        let middle = (below + above) / 2.0;
        if inside(middle, freedom) < share { below = middle } else { above = middle }
    }
    above
}

/// From so many new figures on their median leaves a disturbed one out.
pub const ROBUST: usize = 3;

/// Share of the further figures beyond each end.
const BEYOND: f64 = 0.025;

/// Tukey's outer fences, in widths of the middle half: hardly a figure of a normal distribution is beyond.
const FENCE: f64 = 3.0;

/// The normal quantile of 0.9.
const NINE_OF_TEN: f64 = 1.2816;

/// More are no advice.
const MOST: u32 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantiles_are_those_of_the_tables() {
        for (freedom, quantile_of_table) in
            [(1, 12.7062), (2, 4.3027), (3, 3.1824), (7, 2.3646), (10, 2.2281), (19, 2.0930), (30, 2.0423)]
        {
            let found = quantile(0.95, freedom);
            assert!((found - quantile_of_table).abs() < 0.0001, "{freedom}: {found}");
            assert!((inside(found, freedom) - 0.95).abs() < 1e-9);
        }
        assert!((quantile(0.95, 1_000) - 1.9623).abs() < 0.0001);
    }

    #[test]
    fn the_interval_has_the_spread_of_the_earlier_figures_and_the_error_of_their_center() {
        // Mean 10, standard deviation 2.
        let earlier = [8.0, 12.0, 8.0, 12.0, 10.0, 10.0, 8.0, 12.0, 10.0];
        let deviation = (24.0_f64 / 8.0).sqrt();
        let found = Population::new(&earlier, 13.0, 3).unwrap();
        let Shift { estimate, interval } = found.shift();
        let interval = interval.unwrap();
        let half = 2.3060 * deviation * (1.0_f64 + 1.0 / 9.0).sqrt();
        assert_eq!(estimate, 3.0);
        assert!((interval.from - (3.0 - half)).abs() < 0.001 && (interval.to - (3.0 + half)).abs() < 0.001);
        assert!((found.probability() > 0.05) == (interval.from < 0.0));
    }

    #[test]
    fn an_outlier_widens_the_interval_of_one_run_and_hardly_that_of_a_median() {
        let mut earlier = vec![1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99, 1.0];
        earlier.push(1.4);
        let width = |medians| {
            let interval = Population::new(&earlier, 1.1, medians).unwrap().shift().interval.unwrap();
            interval.to - interval.from
        };
        assert!(width(3) < 0.2 && width(1) > 0.5, "{} {}", width(3), width(1));
        let one = Population::new(&earlier, 1.1, 1).unwrap();
        assert!(one.shift().interval.unwrap().from <= 1.1 - 1.4, "as far as the farthest");
        assert!(one.probability() >= 2.0 / 11.0, "another one was farther");
    }

    #[test]
    fn figures_that_never_varied_tell_a_change_only_by_their_number() {
        let of = |count: usize, new: f64| Population::new(&vec![0.1; count], new, 3).unwrap();
        assert_eq!(of(10, 0.1).probability(), 1.0);
        assert_eq!(of(10, 0.2).probability(), 2.0 / 11.0);
        assert!(of(39, 0.2).probability() <= 0.05 && of(38, 0.2).probability() > 0.05);
        assert_eq!(Population::equals_needed(0.05), 39);
        assert_eq!(of(10, 0.1).shift().interval, Some(Interval { from: 0.0, to: 0.0 }));
        assert!(Population::new(&[1.0], 1.0, 1).is_none());
    }

    #[test]
    fn the_earlier_figures_that_tell_a_difference_are_known_or_none() {
        let earlier = [1.0, 1.02, 0.98, 1.01, 0.99, 1.0, 1.02, 0.98];
        let found = Population::new(&earlier, 1.0, 3).unwrap();
        let needed = found.needed(0.035).unwrap();
        assert!(found.half(needed as usize) < 0.035 && found.half(needed as usize - 1) >= 0.035, "{needed}");
        assert_eq!(found.needed(0.02), None, "the runs spread by more");
    }
}
