//! Designs that try many parameters in few trials: each trial has about half of them changed, so that each parameter
//! is judged by all trials at once (Plackett and Burman, 1946).
//!
//! ```text
//!   trial   a b c d e f g      the effect of a: the mean of the trials that change it less the mean of the others;
//!     1     1 0 0 1 0 1 1      each other parameter is changed in half of both
//!     2     1 1 0 0 1 0 1
//!     …     0 0 0 0 0 0 0
//! ```

/// The trials of a design for so many parameters: by trial, then by parameter, whether it is changed. Their number is
/// the next that a design exists for above that of the parameters; it is a multiple of 4, at least 4.
pub(super) fn plackett_burman(parameters: usize) -> Vec<Vec<bool>> {
    let matrix = (1..).map(|quarter| quarter * 4).filter(|size| *size > parameters).find_map(hadamard);
    // The first column is constant.
    let rows = matrix.unwrap_or_default().into_iter();
    rows.map(|row| row.into_iter().skip(1).take(parameters).collect()).collect()
}

/// The effect of each parameter on a figure of each trial: the mean of the trials that change it less that of the
/// others. Trials without a figure are left out.
pub(super) fn effects(design: &[Vec<bool>], figures: &[Option<f64>]) -> Vec<f64> {
    let parameters = design.first().map_or(0, Vec::len);
    let of = |parameter: usize| {
        let mean = |changed: bool| {
            let of_level = design.iter().zip(figures).filter(|(row, _)| row.get(parameter) == Some(&changed));
            let known: Vec<f64> = of_level.filter_map(|(_, figure)| *figure).collect();
            crate::statistics::mean(&known)
        };
        mean(true) - mean(false)
    };
    (0..parameters).map(of).collect()
}

/// The spread of an effect that is none, from all effects, most of which are none (Lenth, 1989).
pub(super) fn spread_of_none(effects: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = effects.iter().map(|effect| effect.abs()).collect();
    let first = 1.5 * crate::statistics::median(&mut sizes);
    sizes.retain(|size| *size <= 2.5 * first);
    1.5 * crate::statistics::median(&mut sizes)
}

/// A square matrix of `true` and `false` whose rows agree with each other in half of the columns, with a first row and
/// column of `false`; `None` where neither construction gives one of this size.
fn hadamard(size: usize) -> Option<Vec<Vec<bool>>> {
    match size {
        1 => Some(vec![vec![false]]),
        2 => Some(vec![vec![false, false], vec![false, true]]),
        _ if !size.is_multiple_of(4) => None,
        _ => paley(size).or_else(|| doubled(&hadamard(size / 2)?)),
    }
}

/// Sylvester's construction.
fn doubled(half: &[Vec<bool>]) -> Option<Vec<Vec<bool>>> {
    let twice = |row: &Vec<bool>, other: bool| -> Vec<bool> {
        row.iter().copied().chain(row.iter().map(|changed| changed ^ other)).collect()
    };
    let upper = half.iter().map(|row| twice(row, false));
    Some(upper.chain(half.iter().map(|row| twice(row, true))).collect())
}

/// Paley's construction, where the size less one is a prime: by the squares modulo that prime.
fn paley(size: usize) -> Option<Vec<Vec<bool>>> {
    let prime = size - 1;
    if prime < 3 || (2..prime).take_while(|d| d * d <= prime).any(|d| prime.is_multiple_of(d)) {
        return None;
    }
    let is_square = |value: usize| (1..=prime / 2).any(|root| root * root % prime == value);
    let row = |at: usize| -> Vec<bool> {
        let of = |column: usize| {
            let difference = (column + prime - at) % prime;
            difference == 0 || !is_square(difference)
        };
        std::iter::once(false).chain((0..prime).map(of)).collect()
    };
    Some(std::iter::once(vec![false; size]).chain((0..prime).map(row)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_parameter_is_changed_in_half_of_the_trials_and_each_pair_in_a_quarter() {
        for parameters in 1..=90 {
            let design = plackett_burman(parameters);
            let trials = design.len();
            assert!(trials > parameters && trials <= parameters + 12, "{trials} for {parameters}");
            let of = |column: usize| design.iter().map(move |row| row[column]);
            for a in 0..parameters {
                assert_eq!(of(a).filter(|changed| *changed).count() * 2, trials, "{parameters}: {a}");
                for b in 0..a {
                    let both = of(a).zip(of(b)).filter(|(a, b)| *a && *b).count();
                    assert_eq!(both * 4, trials, "{parameters}: {a} and {b}");
                }
            }
        }
    }

    #[test]
    fn the_effects_of_a_sum_are_its_terms() {
        let design = plackett_burman(11);
        let figure = |row: &Vec<bool>| f64::from(row[2]) * 3.0 - f64::from(row[7]) + 10.0;
        let figures: Vec<Option<f64>> = design.iter().map(|row| Some(figure(row))).collect();
        let found = effects(&design, &figures);
        for (at, effect) in found.iter().enumerate() {
            let expected = [0.0, 3.0, -1.0][usize::from(at == 2) + 2 * usize::from(at == 7)];
            assert!((effect - expected).abs() < 1e-9, "{at}: {effect}");
        }
        assert_eq!(spread_of_none(&found), 0.0);
    }
}
