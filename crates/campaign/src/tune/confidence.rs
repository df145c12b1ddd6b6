//! What a few differences say while the night goes on. Nothing that is reported depends on it: the confirmation has
//! intervals of its own.

use crate::statistics::{mean, median};

/// The spread of single differences around the typical one of their group, all groups together: the median of the
/// distances, so that disturbed trials do not widen it. `None` where no group has two differences.
pub(super) fn noise(groups: &[Vec<f64>]) -> Option<f64> {
    let mut distances = Vec::new();
    let mut freedom = (0.0, 0.0);
    for group in groups.iter().filter(|group| group.len() > 1) {
        let center = median(&mut group.clone());
        distances.extend(group.iter().map(|difference| (difference - center).abs()));
        freedom = (freedom.0 + group.len() as f64, freedom.1 + group.len() as f64 - 1.0);
    }
    // Distances from a center that was made of the same differences are too small.
    (!distances.is_empty()).then(|| median(&mut distances) * TO_DEVIATION * freedom.0 / freedom.1)
}

/// The ends of an interval around the mean of the differences of one group, 97.5 % on each side.
pub(super) fn interval(group: &[f64], noise: f64) -> Option<(f64, f64)> {
    let count = group.len();
    if count < 2 {
        return None;
    }
    let center = center(group);
    let own = group.iter().map(|difference| (difference - center).powi(2)).sum::<f64>() / (count - 1) as f64;
    // A group that spreads more than the others is less sure than they are.
    let spread = noise.max(own.sqrt().min(noise * MOST_OWN)).max(SMALLEST_NOISE);
    let reach = student(count - 1) * spread / (count as f64).sqrt();
    Some((center - reach, center + reach))
}

/// The typical difference: the median of many, the mean of few.
pub(super) fn center(group: &[f64]) -> f64 {
    if group.len() >= MANY { median(&mut group.to_vec()) } else { mean(group) }
}

/// The quantile 0.975 of Student's distribution, for a spread that is known from several groups: between that of these
/// degrees of freedom and the normal one.
fn student(freedom: usize) -> f64 {
    match freedom {
        0 | 1 => 6.3,
        2 => 3.4,
        3 => 2.8,
        4 => 2.6,
        _ => 2.3,
    }
}

/// From the median distance to the standard deviation of a normal distribution.
const TO_DEVIATION: f64 = 1.4826;

/// A disturbed trial makes its group this much less sure at most.
const MOST_OWN: f64 = 3.0;

/// No host repeats itself better than to a thousandth.
const SMALLEST_NOISE: f64 = 0.001;

/// From so many differences on their median is better than their mean, which a disturbed trial moves.
const MANY: usize = 5;
