//! Bounds of runs whose lateness and server are known.

use super::*;

const PART: OwnPart<'static> =
    OwnPart { open_loop: true, workers: 1, has_waited: false, loses_answers: false, departure: None };

/// 2,000 queries that the server answered in `service_ns`, the last `late` of them sent `late_ns` late.
fn run(service_ns: u64, late: u64, late_ns: u64) -> Tally {
    let mut tally = Tally::new(1);
    for n in 0..2_000 {
        let lateness_ns = if n >= 2_000 - late { late_ns } else { 1_000 };
        tally.lateness.record(lateness_ns);
        tally.own_delay.record(lateness_ns);
        tally.service.record(service_ns);
        tally.response.record(service_ns + lateness_ns);
        tally.response_least.record(service_ns);
        tally.ends.answered += 1;
    }
    tally
}

/// 2,000 queries that were sent in time and answered in 50 to 249.9 µs.
fn spread() -> Tally {
    let mut tally = run(1_000, 0, 0);
    (tally.response, tally.service) = Default::default();
    (0..2_000).for_each(|n| tally.response.record(51_000 + 100 * n));
    (0..2_000).for_each(|n| tally.service.record(50_000 + 100 * n));
    tally.response_least = tally.service.clone();
    tally
}

fn at(tally: &Tally, q: f64) -> (u64, u64) {
    match PART.percentiles(tally).at(q).unwrap() {
        Bounds { upper: Quantile::At(upper_ns), lower: Quantile::At(lower_ns) } => (lower_ns, upper_ns),
        bounds => panic!("{bounds:?}"),
    }
}

#[test]
fn a_percentile_that_few_late_queries_cannot_reach_is_near_exact() {
    let (lower_ns, upper_ns) = at(&run(69_000, 5, 338_000), 0.5);
    assert!(lower_ns > 67_500 && upper_ns < 71_000, "{lower_ns} {upper_ns}");
    assert!(!PART.percentiles(&run(69_000, 5, 338_000)).at(0.99).unwrap().is_wide());
}

#[test]
fn a_percentile_among_late_queries_is_at_least_that_of_the_others() {
    let late = run(69_000, 30, 338_000);
    let (lower_ns, upper_ns) = at(&late, 0.99);
    assert!(lower_ns.abs_diff(68_000) < 1_500 && upper_ns.abs_diff(407_000) < 4_000, "{lower_ns} {upper_ns}");
    let bounds = PART.percentiles(&late).at(0.99).unwrap();
    assert!(bounds.is_wide() && bounds.ours_ns() == Some(upper_ns - lower_ns), "{bounds:?}");
}

#[test]
fn a_small_lateness_of_every_query_is_a_small_part() {
    let (lower_ns, upper_ns) = at(&run(20_000_000, 2_000, 338_000), 0.99);
    assert!(upper_ns - lower_ns < 338_000 + 400_000, "{lower_ns} {upper_ns}");
    assert!(!PART.percentiles(&run(20_000_000, 2_000, 338_000)).at(0.99).unwrap().is_wide());
}

#[test]
fn what_one_worker_sends_late_may_delay_the_queries_of_all() {
    let mut tally = spread();
    // Eighteen were sent in time, but behind late ones.
    (0..18).for_each(|_| tally.own_delay.record(4_000_000));
    let ours_ns =
        |workers| OwnPart { workers, ..PART }.percentiles(&tally).at(0.95).unwrap().ours_ns().unwrap();
    // A rank is 100 ns here.
    assert!(ours_ns(1).abs_diff(1_000 + 18 * 100) < 2_500, "{}", ours_ns(1));
    assert!(ours_ns(8).abs_diff(1_000 + 8 * 18 * 100) < 2_500, "{}", ours_ns(8));
}

#[test]
fn queries_that_left_after_their_instant_of_sending_lower_the_lower_end() {
    let tally = spread();
    let mut departure = Histogram::new();
    (0..9).for_each(|_| departure.record(10_000));
    departure.record(500_000);
    let part = OwnPart { departure: Some(&departure), ..PART };
    let ours_ns = |q| part.percentiles(&tally).at(q).unwrap().ours_ns().unwrap();
    // One in ten may have left 500 µs late, and each 10 µs: 200 ranks of 100 ns, and 10 µs.
    assert!(ours_ns(0.5).abs_diff(1_000 + 10_000 + 200 * 100) < 3_000, "{}", ours_ns(0.5));
}

#[test]
fn a_wait_of_ours_that_is_no_lateness_is_left_out_of_the_lower_end() {
    let mut tally = run(69_000, 0, 0);
    tally.response = run(5_000_000, 0, 0).response;
    tally.response_least = tally.response.clone();
    let ours_ns =
        |has_waited| OwnPart { has_waited, ..PART }.percentiles(&tally).at(0.9).unwrap().ours_ns().unwrap();
    assert!(ours_ns(false) < 50_000 && ours_ns(true) > 4_900_000);
}

#[test]
fn losses_are_beyond_the_timeout_unless_they_may_be_ours() {
    let mut tally = run(69_000, 0, 0);
    tally.ends.timed_out = 200;
    let bounds = PART.percentiles(&tally).at(0.99).unwrap();
    assert_eq!(bounds, Bounds::exact(Quantile::BeyondTimeout));
    assert!(!bounds.is_wide());
    let dropped = OwnPart { loses_answers: true, ..PART }.percentiles(&tally).at(0.99).unwrap();
    assert!(dropped.is_wide() && dropped.ours_ns().is_none(), "{dropped:?}");
}

#[test]
fn a_closed_loop_has_no_lateness() {
    let tally = run(69_000, 30, 338_000);
    let part = OwnPart { open_loop: false, ..PART };
    assert!(part.percentiles(&tally).at(0.99).unwrap().ours_ns().unwrap() < 700);
}

#[test]
fn a_record_without_own_delays_is_judged_by_its_lateness() {
    let mut old = run(69_000, 30, 338_000);
    old.own_delay = Histogram::new();
    assert!(PART.percentiles(&old).at(0.99).unwrap().is_wide());
}

#[test]
fn a_percentile_that_too_few_queries_are_beyond_has_no_ends() {
    assert_eq!(PART.percentiles(&run(69_000, 0, 0)).at(0.999), None);
}
