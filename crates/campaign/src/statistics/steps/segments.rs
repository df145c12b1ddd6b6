//! The segments of a history: between them its level changes. Of all ways to cut it, that which costs least, where each
//! cut costs [`STEP`] (Potts, 1952; Killick and others, 2012, call it optimal partitioning).
//!
//! The levels are a fixed list, so the best way is found in one pass over the runs: for each level, the least that the
//! runs up to here can cost if the last segment has that level.

use super::cost::{COARSE, FEWEST_AFTER, FEWEST_BEFORE, STEP, cost, fit, levels};

/// A way to cut a history.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Segments {
    /// The first run of each segment but the first.
    pub(super) cuts: Vec<usize>,
    /// What it costs, with its cuts.
    pub(super) cost: f64,
}

impl Segments {
    /// The best way; `figures` are in units of their noise.
    pub(super) fn of(figures: &[f64]) -> Segments {
        let mut cuts = best(figures);
        // The levels of the list are coarse: a cut must also save enough between levels that fit.
        while let Some(place) = weakest(figures, &cuts) {
            cuts.remove(place);
        }
        let cost = ranges(&cuts, figures.len()).map(|(from, to)| fit(&figures[from..to]).1).sum::<f64>();
        let cost = cost + STEP * cuts.len() as f64;
        Segments { cuts, cost }
    }
}

/// The segments between cuts: from the first run to that after the last one.
pub(super) fn ranges(cuts: &[usize], runs: usize) -> impl Iterator<Item = (usize, usize)> {
    let from = std::iter::once(0).chain(cuts.iter().copied());
    let to = cuts.iter().copied().chain(std::iter::once(runs));
    from.zip(to)
}

/// The cut that saves least, if that is less than it costs.
fn weakest(figures: &[f64], cuts: &[usize]) -> Option<usize> {
    let segments: Vec<(usize, usize)> = ranges(cuts, figures.len()).collect();
    let saves = |place: usize| {
        let ((from, cut), (_, to)) = (segments[place], segments[place + 1]);
        let of = |from: usize, to: usize| fit(&figures[from..to]).1;
        of(from, to) - of(from, cut) - of(cut, to)
    };
    let all = (0..cuts.len()).map(|place| (place, saves(place)));
    all.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, saved)| *saved < STEP).map(|(place, _)| place)
}

/// The cuts of the best way over a list of levels.
fn best(figures: &[f64]) -> Vec<usize> {
    let (runs, levels) = (figures.len(), levels(figures, COARSE));
    if runs < FEWEST_BEFORE + FEWEST_AFTER {
        return Vec::new();
    }
    // The least cost of the first so many runs, with where its last segment begins.
    let mut least = vec![(0.0, 0); runs + 1];
    // The same for each level of the last segment.
    let mut at_level = vec![(f64::INFINITY, 0); levels.len()];
    for end in 1..=runs {
        let mut here = (f64::INFINITY, 0);
        for (state, level) in at_level.iter_mut().zip(&levels) {
            state.0 += cost(figures[end - 1], *level);
            if let Some(start) = end.checked_sub(FEWEST_AFTER)
                && (start == 0 || start >= FEWEST_BEFORE)
            {
                let latest: f64 = figures[start..end].iter().map(|figure| cost(*figure, *level)).sum();
                let cut = if start == 0 { 0.0 } else { STEP };
                let begun = least[start].0 + cut + latest;
                if begun < state.0 {
                    *state = (begun, start);
                }
            }
            if state.0 < here.0 {
                here = *state;
            }
        }
        least[end] = here;
    }
    let mut cuts = Vec::new();
    let mut start = least[runs].1;
    while start > 0 {
        cuts.push(start);
        start = least[start].1;
    }
    cuts.reverse();
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(figures: &[f64]) -> Vec<usize> {
        Segments::of(figures).cuts
    }

    #[test]
    fn a_level_that_changes_is_cut_where_it_changes() {
        let noise = [0.3, -0.5, 0.1, 0.6, -0.4, -0.1];
        let figures: Vec<f64> =
            (0..40).map(|run| noise[run % 6] + if (12..25).contains(&run) { 8.0 } else { 0.0 }).collect();
        assert_eq!(cuts(&figures), [12, 25]);
    }

    #[test]
    fn disturbed_runs_are_no_segment_and_three_beside_each_other_at_the_end_are_one() {
        let mut figures = vec![0.0; 40];
        for run in [7, 8, 9, 20, 37, 39] {
            figures[run] = -20.0;
        }
        assert_eq!(cuts(&figures), [0; 0]);
        figures[38] = -20.0;
        assert_eq!(cuts(&figures), [37]);
    }

    #[test]
    fn too_few_runs_have_one_segment() {
        assert_eq!(cuts(&[0.0, 0.0, 0.0, 0.0, 9.0, 9.0, 9.0]), [0; 0]);
        assert_eq!(cuts(&[]), [0; 0]);
    }
}
