//! The size of an effect that does not depend on units.

/// The probability that a figure of `b` is above one of `a`, with half of the equal pairs: A12 of Vargha and Delaney
/// (2000). 0.5 = no effect, 1 = each of `b` is above each of `a`. `None` where a side is empty.
pub fn effect(a: &[f64], b: &[f64]) -> Option<f64> {
    let pairs = a.len() * b.len();
    let above = |x: f64, y: f64| match y.total_cmp(&x) {
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Less => 0.0,
    };
    let sum: f64 = a.iter().flat_map(|x| b.iter().map(move |y| above(*x, *y))).sum();
    (pairs > 0).then(|| sum / pairs as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effect_is_the_share_of_pairs_in_which_the_second_is_above() {
        assert_eq!(effect(&[1.0, 2.0], &[3.0, 4.0]), Some(1.0));
        assert_eq!(effect(&[1.0, 2.0], &[1.0, 2.0]), Some(0.5));
        assert_eq!(effect(&[1.0, 4.0], &[2.0, 3.0]), Some(0.5));
        assert_eq!(effect(&[2.0, 2.0], &[1.0, 2.0, 3.0]), Some(0.5));
        assert_eq!(effect(&[], &[1.0]), None);
    }
}
