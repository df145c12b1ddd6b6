//! The order of goals: one that is stricter than another by its text has a limit that is not above that of the other.

use super::finding::{FindNote, GoalFinding, Outcome};
use super::goal::Goal;

/// Holds the intervals of goals to the order of their texts, and says so; where the trials contradict it, it only says
/// so. What is measured is never moved out of its own interval.
pub(super) fn hold(goals: &[Goal], findings: &mut [GoalFinding]) -> Vec<FindNote> {
    let mut notes = Vec::new();
    for (strict_at, strict) in goals.iter().enumerate() {
        for (loose_at, loose) in goals.iter().enumerate() {
            let is_same = loose.implies(strict);
            if strict_at == loose_at || !strict.implies(loose) || (is_same && strict_at > loose_at) {
                continue;
            }
            let (Some(one), Some(other)) = (findings.get(strict_at), findings.get(loose_at)) else {
                continue;
            };
            let Some(order) = Order::of(&one.outcome, &other.outcome) else { continue };
            let is_contradicted = order == Order::Contradicted;
            let mut is_used = false;
            if let Order::Held(low, high) = order {
                for (at, outcome) in [(strict_at, low), (loose_at, high)] {
                    let Some(finding) = findings.get_mut(at) else { continue };
                    is_used |= finding.outcome != outcome;
                    finding.outcome = outcome;
                }
            }
            let name = |goal: &Goal| goal.name.clone().unwrap_or_default();
            let (strict, loose) = (name(strict), name(loose));
            notes.push(FindNote::Order { strict, loose, is_contradicted, is_used });
        }
    }
    notes
}

/// The outcomes of a stricter goal and of a looser one.
#[derive(Debug, PartialEq)]
enum Order {
    /// Held to their order, the stricter first.
    Held(Outcome, Outcome),
    /// The whole interval of the stricter one is above that of the looser one.
    Contradicted,
}

impl Order {
    /// `None` where one of the two has no interval.
    fn of(strict: &Outcome, loose: &Outcome) -> Option<Order> {
        let (
            Outcome::Capacity { load, from, to, interval },
            Outcome::Capacity { load: other, from: other_from, to: other_to, interval: other_interval },
        ) = (strict, loose)
        else {
            return None;
        };
        if from > other_to {
            return Some(Order::Contradicted);
        }
        let (to, other_from) = (to.min(*other_to), other_from.max(*from));
        // Two figures in the wrong order, each within the interval of the other, are one as far as the trials say.
        let middle = (load * other).sqrt();
        let (low, high) = if load > other { (middle, middle) } else { (*load, *other) };
        let low = low.clamp(*from, to);
        let high = high.clamp(other_from, *other_to);
        Some(Order::Held(
            Outcome::Capacity { load: low, from: *from, to, interval: *interval },
            Outcome::Capacity { load: high, from: other_from, to: *other_to, interval: *other_interval },
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::finding::{IntervalKind, Reason};

    fn finding((load, from, to): (f64, f64, f64)) -> GoalFinding {
        GoalFinding {
            name: None,
            criteria: Vec::new(),
            held_ns: None,
            outcome: Outcome::Capacity { load, from, to, interval: IntervalKind::Confidence },
            reason: Reason::Precise,
            notes: Vec::new(),
            trials: Vec::new(),
            load_ns: 0,
            belief: Vec::new(),
        }
    }

    /// The notes and the intervals of a goal without loss and of one with little.
    fn held_to(strict: (f64, f64, f64), loose: (f64, f64, f64)) -> (Vec<FindNote>, Vec<[f64; 3]>) {
        let goals = Goal::read_all(&["loose: loss<1%".to_owned(), "strict: loss<0.1%".to_owned()]).unwrap();
        let mut findings = [finding(loose), finding(strict)];
        let notes = hold(&goals, &mut findings);
        let figures = findings.iter().map(|finding| match finding.outcome {
            Outcome::Capacity { load, from, to, .. } => [load, from, to],
            _ => panic!("{finding:?}"),
        });
        (notes, figures.collect())
    }

    fn note(is_contradicted: bool, is_used: bool) -> Vec<FindNote> {
        let (strict, loose) = ("strict".to_owned(), "loose".to_owned());
        vec![FindNote::Order { strict, loose, is_contradicted, is_used }]
    }

    #[test]
    fn goals_that_are_in_order_stay_as_they_are() {
        let (notes, figures) = held_to((900.0, 880.0, 920.0), (1_000.0, 980.0, 1_020.0));
        assert_eq!(notes, note(false, false));
        assert_eq!(figures, [[1_000.0, 980.0, 1_020.0], [900.0, 880.0, 920.0]]);
    }

    #[test]
    fn a_stricter_goal_whose_interval_reaches_above_the_looser_one_is_held_below_it() {
        let (notes, figures) = held_to((1_010.0, 990.0, 1_030.0), (1_000.0, 980.0, 1_020.0));
        assert_eq!(notes, note(false, true));
        let [loose, strict] = [figures[0], figures[1]];
        assert!(strict[0] <= loose[0] && strict[2] <= loose[2] && strict[1] <= loose[1], "{figures:?}");
        assert_eq!((strict[2], loose[1]), (1_020.0, 990.0));
        assert!([loose, strict].iter().all(|[load, from, to]| from <= load && load <= to), "{figures:?}");
    }

    #[test]
    fn intervals_that_contradict_the_order_are_told_and_not_changed() {
        let (notes, figures) = held_to((1_200.0, 1_180.0, 1_220.0), (1_000.0, 980.0, 1_020.0));
        assert_eq!(notes, note(true, false));
        assert_eq!(figures, [[1_000.0, 980.0, 1_020.0], [1_200.0, 1_180.0, 1_220.0]]);
    }

    #[test]
    fn goals_on_different_quantities_have_no_order() {
        let goals = Goal::read_all(&["a: loss<1%".to_owned(), "b: p99<5ms".to_owned()]).unwrap();
        let mut findings = [finding((1.0, 1.0, 1.0)), finding((9.0, 9.0, 9.0))];
        assert_eq!(hold(&goals, &mut findings), []);
    }
}
