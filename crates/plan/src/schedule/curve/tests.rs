//! Curves compared with exact arithmetic and with each other.

use super::*;
use crate::schedule::{Burst, Constant, Ramp, Replay, Stair};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

fn piece(from: f64, to: f64, duration_ns: u64) -> Piece {
    Piece { rate_from_qps: from, rate_to_qps: to, duration_ns, label: format!("{from}-{to}") }
}

fn curve(pieces: &[(f64, f64, u64)]) -> Curve {
    Curve::new(pieces.iter().map(|&(from, to, ns)| piece(from, to, ns)).collect()).expect("a good curve")
}

/// Pieces with rates that a test can iterate over, including pauses, with at least one query.
fn any_pieces() -> impl Strategy<Value = Vec<(f64, f64, u64)>> {
    let rate = || prop_oneof![Just(0.0), 0.0f64..50.0, (1u32..2000).prop_map(f64::from)];
    let length = prop_oneof![1u64..SECOND, (1u64..3000).prop_map(|ms| ms * 1_000_000)];
    let one = (rate(), rate(), length, any::<bool>())
        .prop_map(|(from, to, ns, flat)| (from, if flat { from } else { to }, ns));
    prop::collection::vec(one, 1..8)
        .prop_filter("asks for something", |all| all.iter().any(|(from, to, _)| from + to > 0.0))
}

#[test]
fn a_constant_rate_is_evenly_spaced_from_instant_zero() {
    let shape = Constant { rate_qps: 10.0, duration_ns: Some(SECOND) };
    let curve = shape.curve().expect("a good curve");
    let due: Vec<_> = curve.cursor(0, 1).map(|(_, due_ns)| due_ns).collect();
    assert_eq!(due, (0..10).map(|n| n * 100_000_000).collect::<Vec<_>>());
    assert_eq!(curve.total(), Some(10));
    assert_eq!(curve.due_at(10), None);
    assert_eq!((curve.due_by(0), curve.due_by(99_999_999), curve.due_by(100_000_000)), (1, 1, 2));
    assert_eq!((curve.rate_at(SECOND - 1), curve.rate_at(SECOND)), (10.0, 0.0));
}

#[test]
fn gaps_that_are_not_whole_nanoseconds_do_not_drift() {
    let curve = Constant { rate_qps: 30_000.0, duration_ns: None }.curve().expect("a good curve");
    for n in [1u64, 2, 3, 29_999, 30_000, 1_000_000_007, 100_000_000_000] {
        // Rounded half up, in integers: (10^9 n / 30000 + 1/2).
        let exact = (u128::from(n) * 1_000_000_000 * 2 + 30_000) / 60_000;
        // The last one is due after 38 days, where an f64 has steps of half a nanosecond.
        let due = curve.due_at(n).map(u128::from).expect("an endless curve");
        assert!(due.abs_diff(exact) <= 1, "query {n}: {due}, not {exact}");
    }
}

#[test]
fn two_days_at_a_million_a_second_stay_exact() {
    let two_days = 48 * 3600 * SECOND;
    let curve = Constant { rate_qps: 1e6, duration_ns: Some(two_days) }.curve().expect("a good curve");
    assert_eq!(curve.total(), Some(172_800_000_000));
    assert_eq!(curve.due_at(100_000_000_000), Some(100_000_000_000_000));
    assert_eq!(curve.due_at(172_799_999_999), Some(two_days - 1000));
    assert_eq!(curve.due_by(100_000_000_000_000), 100_000_000_001);
}

#[test]
fn two_days_of_bursts_each_second_end_where_they_should() {
    let shape = Burst {
        base_qps: 1000.1,
        peak_qps: 50_000.3,
        every_ns: SECOND,
        hold_ns: SECOND / 10,
        duration_ns: 48 * 3600 * SECOND,
    };
    // A period has 900.09 + 5000.03 = 5900.12 queries.
    let total = shape.curve().expect("a good curve").total().expect("it ends");
    assert_eq!(total, (5900.12f64 * 172_800.0).ceil() as u64);
}

#[test]
fn a_ramp_from_zero_follows_the_square_root() {
    let shape = Ramp { from_qps: 0.0, to_qps: 100.0, over_ns: 10 * SECOND, hold_ns: 0 };
    let curve = shape.curve().expect("a good curve");
    assert_eq!(curve.total(), Some(500));
    for n in 0..500u64 {
        let want = ((n as f64 / 5.0).sqrt() * 1e9).round() as u64;
        assert!(curve.due_at(n).is_some_and(|due| due.abs_diff(want) <= 1), "query {n}");
    }
    assert_eq!(curve.rate_at(5 * SECOND), 50.0);
}

#[test]
fn a_ramp_down_is_the_mirror_of_a_ramp_up() {
    let up = curve(&[(0.0, 1000.0, 10 * SECOND)]);
    let down = curve(&[(1000.0, 0.0, 10 * SECOND)]);
    assert_eq!((up.total(), down.total()), (Some(5000), Some(5000)));
    for n in 1..5000 {
        let (early, late) = (down.due_at(n).expect("in range"), up.due_at(5000 - n).expect("in range"));
        assert!((early + late).abs_diff(10 * SECOND) <= 1, "query {n}");
    }
}

#[test]
fn a_pause_has_no_query_and_one_at_its_edge_is_due_after_it() {
    let curve =
        curve(&[(0.0, 0.0, SECOND), (10.0, 10.0, SECOND), (0.0, 0.0, 5 * SECOND), (1.0, 1.0, SECOND)]);
    assert_eq!(curve.due_at(0), Some(SECOND));
    assert_eq!(curve.due_at(9), Some(SECOND + 900_000_000));
    assert_eq!(curve.due_at(10), Some(7 * SECOND));
    assert_eq!(curve.total(), Some(11));
    assert_eq!((curve.due_by(SECOND - 1), curve.due_by(4 * SECOND), curve.rate_at(4 * SECOND)), (0, 10, 0.0));
}

#[test]
fn rounding_makes_no_extra_query_at_the_end_of_a_piece() {
    // 0.1 has no exact f64: thirty pieces of 0.1 qps for 10 s are thirty queries.
    assert_eq!(curve(&vec![(0.1, 0.1, 10 * SECOND); 30]).total(), Some(30));
    assert_eq!(curve(&[(33_333.3, 33_333.3, 30 * SECOND)]).total(), Some(999_999));
    assert_eq!(curve(&[(0.001, 0.001, SECOND)]).total(), Some(1));
}

#[test]
fn a_stair_has_a_phase_a_step_and_reaches_its_end_in_both_directions() {
    let labels = |from, to, step| -> Vec<String> {
        let shape = Stair { from_qps: from, to_qps: to, step_qps: step, hold_ns: SECOND };
        shape.curve().expect("a good curve").phases().iter().map(|phase| phase.label.clone()).collect()
    };
    assert_eq!(labels(1e3, 3e3, 1e3), ["1k", "2k", "3k"]);
    assert_eq!(labels(3e3, 1e3, 1e3), ["3k", "2k", "1k"]);
    assert_eq!(labels(2e3, 9e3, 5e3), ["2k", "7k", "9k"]);
    assert_eq!(labels(5e3, 5e3, 1e3), ["5k"]);
    assert_eq!(labels(0.1, 0.3, 0.1).len(), 3);
}

#[test]
fn phases_are_consecutive_and_an_instant_has_one() {
    let shape = Burst {
        base_qps: 10.0,
        peak_qps: 100.0,
        every_ns: 10 * SECOND,
        hold_ns: SECOND,
        duration_ns: 25 * SECOND,
    };
    let curve = shape.curve().expect("a good curve");
    let phases: Vec<_> =
        curve.phases().iter().map(|phase| (phase.label.as_str(), phase.from_ns, phase.to_ns)).collect();
    let second = |n: u64| n * SECOND;
    assert_eq!(
        phases,
        [
            ("base", 0, second(9)),
            ("peak", second(9), second(10)),
            ("base", second(10), second(19)),
            ("peak", second(19), second(20)),
            ("base", second(20), second(25)),
        ]
    );
    assert_eq!(curve.phase_at(0), 0);
    assert_eq!(curve.phase_at(second(9) - 1), 0);
    assert_eq!(curve.phase_at(second(9)), 1);
    assert_eq!(curve.phase_at(second(1000)), 4);
    assert_eq!(curve.total(), Some(90 + 100 + 90 + 100 + 50));
}

#[test]
fn an_endless_curve_has_no_total_and_ends_at_the_limit_of_the_cursor() {
    let curve = Constant { rate_qps: 1000.0, duration_ns: None }.curve().expect("a good curve");
    assert_eq!((curve.total(), curve.duration_ns()), (None, None));
    assert_eq!(curve.due_by(SECOND), 1001);
    assert_eq!(curve.cursor(0, 1).up_to(7).count(), 7);
    assert_eq!(curve.cursor(1, 2).up_to(7).map(|(n, _)| n).collect::<Vec<_>>(), [1, 3, 5]);
    assert_eq!(curve.cursor(7, 1).up_to(7).next(), None);
}

#[test]
fn a_cut_curve_is_the_same_up_to_the_cut() {
    let whole = curve(&[(0.0, 100.0, 10 * SECOND), (100.0, 100.0, 10 * SECOND)]);
    let cut = whole.cut_at(5 * SECOND).expect("a good curve");
    assert_eq!((cut.duration_ns(), cut.total()), (Some(5 * SECOND), Some(125)));
    for n in 0..125 {
        assert_eq!(cut.due_at(n), whole.due_at(n));
    }
    assert_eq!(whole.cut_at(60 * SECOND).as_ref(), Ok(&whole));
    assert_eq!(whole.cut_at(20 * SECOND).as_ref(), Ok(&whole));
    let endless = Constant { rate_qps: 10.0, duration_ns: None }.curve().expect("a good curve");
    assert_eq!(endless.cut_at(SECOND).map(|curve| curve.total()), Ok(Some(10)));
    let silent = curve(&[(0.0, 0.0, SECOND), (1.0, 1.0, SECOND)]);
    assert_eq!(silent.cut_at(SECOND), Err(CurveError::NoQueries));
}

#[test]
fn invalid_pieces_are_refused() {
    let refused = |pieces| Curve::new(pieces).err();
    assert_eq!(refused(vec![]), Some(CurveError::NoPieces));
    assert_eq!(refused(vec![piece(0.0, 0.0, 5)]), Some(CurveError::NoQueries));
    assert_eq!(refused(vec![piece(-1.0, 1.0, 5)]), Some(CurveError::Rate(-1.0)));
    assert!(matches!(refused(vec![piece(f64::NAN, 1.0, 5)]), Some(CurveError::Rate(_))));
    assert_eq!(refused(vec![piece(2e9, 2e9, 5)]), Some(CurveError::Rate(2e9)));
    assert!(matches!(refused(vec![piece(1.0, 1.0, 0)]), Some(CurveError::NoTime(_))));
    let endless = piece(1.0, 1.0, ENDLESS_NS);
    assert!(matches!(refused(vec![endless.clone(), endless]), Some(CurveError::Endless(_))));
    assert!(matches!(refused(vec![piece(1.0, 2.0, ENDLESS_NS)]), Some(CurveError::Endless(_))));
    assert_eq!(refused(vec![piece(1.0, 1.0, ENDLESS_NS - 1)]), Some(CurveError::TooLong));
    let step = |step_qps| Stair { from_qps: 0.0, to_qps: 1e6, step_qps, hold_ns: 1 }.curve().err();
    assert_eq!(step(0.0), Some(CurveError::NoStep));
    assert_eq!(step(0.1), Some(CurveError::TooManyPieces(10_000_000)));
    let burst = |every_ns, hold_ns| {
        Burst { base_qps: 1.0, peak_qps: 2.0, every_ns, hold_ns, duration_ns: 3600 * SECOND }.curve().err()
    };
    assert_eq!(burst(SECOND, SECOND), Some(CurveError::NoGap));
    assert_eq!(burst(0, 0), Some(CurveError::NoGap));
    assert_eq!(burst(1000, 10), Some(CurveError::TooManyPieces(7_200_000_000)));
}

proptest! {
    #[test]
    fn instants_never_go_back_and_due_by_is_the_inverse_of_due_at(
        pieces in any_pieces(), instants in prop::collection::vec(0.0f64..1.1, 20)
    ) {
        let curve = curve(&pieces);
        let (length, total) = (curve.duration_ns().expect("it ends"), curve.total().expect("it ends"));
        let all: Vec<u64> = (0..total).map(|n| curve.due_at(n).expect("in range")).collect();
        prop_assert!(all.is_sorted());
        prop_assert!(all.last().is_some_and(|last| *last < length));
        prop_assert_eq!(curve.due_at(total), None);
        for n in (0..total).step_by(1 + total as usize / 50) {
            let due = all[n as usize];
            let by = curve.due_by(due);
            prop_assert!(by > n && all.get(by as usize).is_none_or(|next| *next > due));
            prop_assert!(due == 0 || curve.due_by(due - 1) <= n);
        }
        for share in instants {
            let t = (share * length as f64) as u64;
            prop_assert_eq!(curve.due_by(t), all.partition_point(|due| *due <= t) as u64);
        }
    }

    #[test]
    fn the_total_is_the_area_within_one_query(pieces in any_pieces()) {
        let area: f64 = pieces.iter().map(|(from, to, ns)| (from + to) / 2.0 * *ns as f64 / 1e9).sum();
        let total = curve(&pieces).total().expect("it ends") as f64;
        prop_assert!((total - area).abs() <= 1.0 + 1e-6, "{} for {}", total, area);
    }

    #[test]
    fn the_workers_of_a_run_share_every_query_once(pieces in any_pieces(), workers in 1u64..9) {
        let curve = curve(&pieces);
        let mut seen = vec![0u8; curve.total().expect("it ends") as usize];
        for worker in 0..workers {
            for (n, due_ns) in curve.cursor(worker, workers) {
                seen[n as usize] += 1;
                prop_assert_eq!(Some(due_ns), curve.due_at(n));
            }
        }
        prop_assert!(seen.iter().all(|times| *times == 1));
    }

    #[test]
    fn a_long_ramp_is_right_far_from_its_start(n in 0u64..86_400_000_000, falls in any::<bool>()) {
        // Half of 48 h times a million a second, up or down: the area at the instant found is n again.
        let length = 48 * 3600 * SECOND;
        let (from, to) = if falls { (1e6, 0.0) } else { (0.0, 1e6) };
        let curve = curve(&[(from, to, length)]);
        let t = curve.due_at(n).expect("in range") as f64 / 1e9;
        let slope = (to - from) / 172_800.0;
        let due = from * t + slope * t * t / 2.0;
        // Half a nanosecond at this rate, and the rounding of the check itself at 10^11.
        prop_assert!((due - n as f64).abs() < 1e-3, "{} for {}", due, n);
    }

    #[test]
    fn a_cursor_may_start_anywhere(pieces in any_pieces(), first in 0u64..5000) {
        let curve = curve(&pieces);
        prop_assert_eq!(curve.cursor(first, 3).next().map(|(_, due_ns)| due_ns), curve.due_at(first));
    }
}

#[test]
fn instants_of_a_source_are_kept_and_distributed_to_workers() {
    let replay = |instants: &[u64]| Replay { instants: instants.into() }.curve();
    let curve = replay(&[0, 5, 5, 9]).expect("a good curve");
    let walked: Vec<_> = (0..2).flat_map(|worker| curve.cursor(worker, 2)).collect();
    assert_eq!(walked, [(0, 0), (2, 5), (1, 5), (3, 9)]);
    assert_eq!(
        (curve.total(), curve.duration_ns(), curve.due_at(2), curve.due_at(4)),
        (Some(4), Some(10), Some(5), None)
    );
    assert_eq!((curve.due_by(4), curve.due_by(5), curve.due_by(100)), (1, 3, 4));
    assert_eq!((curve.rate_at(9), curve.rate_at(10)), (4e8, 0.0));
    assert_eq!(curve.cut_at(9).expect("some are due before").total(), Some(3));
    assert_eq!(curve.cut_at(0), Err(CurveError::NoQueries));
    assert_eq!(replay(&[3, 2]), Err(CurveError::Order(1)));
    assert_eq!(replay(&[]), Err(CurveError::NoQueries));
}
