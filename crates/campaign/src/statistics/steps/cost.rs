//! What a run costs at a level: how badly the level explains its figure.
//!
//! ```text
//!   cost
//!    5 ─────╮           ╭─────      a run farther away than 3.2 times the noise counts as disturbed,
//!            ╲         ╱            and costs the same however far it is
//!    0 ───────╲___●___╱───────
//!                level
//! ```

/// Figures in units of their noise.
pub(super) fn standard(figures: &[f64], noise: f64) -> Vec<f64> {
    figures.iter().map(|figure| figure / noise).collect()
}

/// The cost of a figure at a level; half of its squared distance, and at most [`DISTURBED`].
pub(super) fn cost(figure: f64, level: f64) -> f64 {
    let distance = figure - level;
    (distance * distance / 2.0).min(DISTURBED)
}

/// Whether a figure is so far from a level that it counts as disturbed.
pub(super) fn is_disturbed(figure: f64, level: f64) -> bool {
    cost(figure, level) >= DISTURBED
}

/// The levels that the runs may have: the mean of the figures in each part of this width that has any.
pub(super) fn levels(figures: &[f64], width: f64) -> Vec<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut levels: Vec<(f64, f64, u32)> = Vec::new();
    for figure in sorted {
        match levels.last_mut() {
            Some((from, sum, count)) if figure - *from < width => {
                *sum += figure;
                *count += 1;
            }
            _ => levels.push((figure, figure, 1)),
        }
    }
    levels.into_iter().map(|(_, sum, count)| sum / f64::from(count)).collect()
}

/// The level that explains these figures best, and what they cost at it.
pub(super) fn fit(figures: &[f64]) -> (f64, f64) {
    let total = |level: f64| figures.iter().map(|figure| cost(*figure, level)).sum::<f64>();
    let mut best = (0.0, f64::INFINITY);
    for level in levels(figures, COARSE) {
        let of = total(level);
        if of < best.1 {
            best = (level, of);
        }
    }
    // From there to the mean of those that do not count as disturbed.
    for _ in 0..MOST_PASSES {
        let near = figures.iter().filter(|figure| !is_disturbed(**figure, best.0));
        let (sum, count) = near.fold((0.0, 0_u32), |(sum, count), figure| (sum + figure, count + 1));
        let level = sum / f64::from(count.max(1));
        let of = total(level);
        if of >= best.1 - ROUNDING {
            break;
        }
        best = (level, of);
    }
    best
}

/// The cost of a run that counts as disturbed. Two runs of three at the end of a history must show a step
/// (`2 * DISTURBED > STEP`), three disturbed ones in the middle must not (`3 * DISTURBED < 2 * STEP`), nor two
/// disturbed ones among the last three (`DISTURBED < STEP`).
pub(super) const DISTURBED: f64 = 5.0;

/// What a step must save: with figures that are normally distributed, a difference of four standard errors.
pub(super) const STEP: f64 = 8.0;

/// Runs after a step, at the fewest.
pub const FEWEST_AFTER: usize = 3;

/// Runs before the first step: of fewer, three disturbed ones would look like one.
pub(super) const FEWEST_BEFORE: usize = 5;

/// Width of the levels that are tried first, in units of the noise.
pub(super) const COARSE: f64 = 0.25;

const MOST_PASSES: u32 = 20;

const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disturbed_run_moves_no_level() {
        let (level, cost) = fit(&[10.0, 10.5, 9.5, 10.0, -40.0]);
        assert!((level - 10.0).abs() < 1e-9 && (cost - 0.25 - DISTURBED).abs() < 1e-9, "{level} {cost}");
        assert_eq!(fit(&[]).0, 0.0);
    }

    #[test]
    fn levels_are_where_figures_are() {
        assert_eq!(levels(&[1.0, 9.0, 1.2, 1.1, 9.1], 0.25).len(), 2);
    }

    #[test]
    fn the_costs_keep_their_promises() {
        let promises = [2.0 * DISTURBED > STEP, 3.0 * DISTURBED < 2.0 * STEP, DISTURBED < STEP];
        assert_eq!(promises, [true; 3]);
    }
}
