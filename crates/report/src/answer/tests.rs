//! The sentence for each kind of run.

use dnsdyno_record::Header;

use super::*;
use crate::sample::{self, SECOND};

fn sentence(digest: &Digest) -> String {
    let answer = answer(digest);
    assert!((0..=4).contains(&answer.figures.len()), "{answer:?}");
    answer.sentence
}

/// A run of one rate.
fn steady(qps: u64, lost: u64) -> Digest {
    let mut digest = Digest::new(Header { phases: Vec::new(), ..sample::header() });
    (0..3).for_each(|i| digest.interval(&sample::second(i, qps, lost)));
    digest
}

fn ended(mut digest: Digest) -> Digest {
    digest.sum(&sample::calm_sum(&digest));
    digest
}

#[test]
fn a_rate_that_was_held_is_called_so() {
    let answer = answer(&ended(steady(2_000, 0)));
    assert_eq!(
        answer.sentence,
        "Held 2,000 queries/s with no loss and p99 610 µs, but 40.0 ms at worst (between 0 s and 1 s); the generator \
         was not the limit."
    );
    let shown: Vec<_> =
        answer.figures.iter().map(|f| format!("{} {} {}", f.label, f.value, f.unit)).collect();
    assert_eq!(shown, ["held 2,000 queries/s", "loss 0 %", "p50 510 µs", "p99 610 µs"]);
    assert_eq!((answer.verdict.state, answer.verdict.word), (State::Ok, "generator: ok"));
    let little = sentence(&ended(steady(2_000, 2)));
    assert!(little.starts_with("Held 1,998 queries/s with 0.10 % loss and p99 "), "{little}");
}

/// A run of one rate whose responses take so long, second by second.
fn taking(milliseconds: &[u64]) -> Digest {
    let mut digest = Digest::new(Header { phases: Vec::new(), ..sample::header() });
    (0..).zip(milliseconds).for_each(|(i, ms)| {
        digest.interval(&sample::taking(sample::second(i, 2_000, 0), ms * 1_000_000));
    });
    ended(digest)
}

#[test]
fn a_stall_of_a_moment_is_named_although_it_is_in_no_figure_of_the_whole() {
    let mut digest = Digest::new(Header { phases: Vec::new(), ..sample::header() });
    for index in 0..10 {
        let mut second = sample::taking(sample::second(index, 2_000, 0), 1_340_000);
        if index == 7 {
            // Fewer than a hundredth of all.
            (0..100).for_each(|_| second.tally.response.record(312_000_000));
        }
        digest.interval(&second);
    }
    assert_eq!(
        sentence(&ended(digest)),
        "Held 2,000 queries/s with no loss and p99 1.34 ms, but 312 ms at worst (between 7 s and 8 s); the generator \
         was not the limit."
    );
}

#[test]
fn a_second_with_losses_is_named_where_the_run_has_few() {
    let mut digest = Digest::new(Header { phases: Vec::new(), ..sample::header() });
    (0..20).for_each(|i| digest.interval(&sample::second(i, 2_000, if i == 3 { 36 } else { 0 })));
    let told = sentence(&ended(digest));
    assert!(told.starts_with("Held 1,998 queries/s with 0.09 % loss and p99 "), "{told}");
    assert!(told.contains(", but 1.80 % lost at worst (between 3 s and 4 s); "), "{told}");
    let even = sentence(&ended(steady(2_000, 2)));
    assert!(!even.contains("lost at worst"), "the loss of the run says it: {even}");
}

#[test]
fn a_latency_that_is_long_throughout_has_no_worst_moment() {
    let told = sentence(&taking(&[300; 10]));
    assert!(told.starts_with("Held 2,000 queries/s with no loss and p99 "), "{told}");
    assert!(!told.contains("worst"), "{told}");
}

#[test]
fn a_rate_whose_queue_grew_was_not_held_although_all_was_answered() {
    let told = sentence(&taking(&[50, 100, 150, 200, 250, 300, 350, 400]));
    assert!(
        told.starts_with(
            "Did not hold 2,000 queries/s: the queue grew, by 50.0 ms in each second, with no loss and p99 "
        ),
        "{told}"
    );
}

#[test]
fn a_rate_that_was_not_held_says_what_was_lost() {
    assert_eq!(
        sentence(&ended(steady(2_000, 50))),
        "Of 2,000 queries/s asked, 1,950 were answered: 2.50 % lost, p99 >5 s; the generator was not the limit."
    );
}

#[test]
fn a_stair_says_which_rates_were_held() {
    assert_eq!(
        sentence(&sample::stair()),
        "Held 2,000 to 3,000 queries/s; lost 2.38 % at 4,000/s; p99 40.0 ms at 3,000/s; the generator was not the \
         limit."
    );
    assert_eq!(
        sentence(&sample::at_rates(&[(1_000, 10), (2_000, 20)])),
        "Held none of the rates; lost 1.00 % at 1,000/s, 1.00 % at 2,000/s; the generator was not the limit."
    );
}

#[test]
fn a_stair_names_the_step_whose_p99_is_far_above_the_one_that_is_shown() {
    let mut digest = Digest::new(sample::header());
    for (i, qps, ms) in
        [(0, 2_000, 2), (1, 2_000, 2), (2, 3_000, 482), (3, 3_000, 482), (4, 4_000, 3), (5, 4_000, 3)]
    {
        digest.interval(&sample::taking(sample::second(i, qps, 0), ms * 1_000_000));
    }
    let told = sentence(&ended(digest));
    assert!(told.starts_with("Held 2,000 to 4,000 queries/s with no loss; p99 "), "{told}");
    assert!(told.contains(" at 4,000/s, but 48") && told.contains(" ms at 3,000/s; the generator"), "{told}");
}

#[test]
fn a_stair_names_the_longest_latency_of_a_step_that_stood_still_for_a_moment() {
    let mut digest = Digest::new(sample::header());
    for (i, qps) in [2_000, 2_000, 3_000, 3_000, 4_000, 4_000].into_iter().enumerate() {
        let mut second = sample::taking(sample::second(i as u64, qps, 0), 2_000_000);
        if i == 2 {
            (0..10).for_each(|_| second.tally.response.record(482_000_000));
        }
        digest.interval(&second);
    }
    let told = sentence(&ended(digest));
    assert!(told.contains(" at 4,000/s, but 482 ms at worst (at 3,000/s); "), "{told}");
}

#[test]
fn the_figures_of_a_generator_in_doubt_are_not_called_a_limit() {
    let told = answer(&sample::doubtful());
    assert!(
        told.sentence.ends_with("rate and loss are in doubt, so these figures are not the server's limit.")
    );
    assert_eq!((told.verdict.state, told.verdict.doubts.len()), (State::Doubt, 2));
}

#[test]
fn a_closed_loop_has_no_limit() {
    let mut digest = sample::closed_loop();
    digest.sum.as_mut().unwrap().arrivals.in_flight_max = 100;
    assert_eq!(
        sentence(&digest),
        "Answered 8,875 queries/s with no loss and p99 598 µs, but 40.0 ms at worst (between 0 s and 1 s), with at \
         most 100 queries outstanding; the generator was not in doubt."
    );
    assert!(!sentence(&sample::closed_loop()).contains("limit"));
}

#[test]
fn a_send_only_run_tells_what_was_sent() {
    assert_eq!(
        sentence(&sample::send_only()),
        "Sent 1,000 queries/s, all that were due, without waiting for responses; the generator was not in doubt."
    );
}

#[test]
fn a_run_of_ten_queries_has_no_rate() {
    assert_eq!(
        sentence(&sample::ten_queries()),
        "Answered 10 of 10 queries; that is too short for a rate, which needs 100 queries over 1 s; the generator was \
         not in doubt."
    );
}

#[test]
fn a_run_without_answers_says_so_first() {
    assert_eq!(
        sentence(&sample::silent()),
        "None of 600 queries was answered in time; the generator was not the limit."
    );
}

#[test]
fn a_run_of_refusals_is_that_of_an_error() {
    let mut digest = Digest::new(Header { phases: Vec::new(), ..sample::header() });
    let mut interval = sample::second(0, 2_000, 0);
    interval.tally.rcodes = Default::default();
    interval.tally.rcodes.add(5, 2_000);
    digest.interval(&interval);
    let told = sentence(&ended(digest));
    assert!(
        told.starts_with("All 2,000 responses were REFUSED: the figures are those of this error"),
        "{told}"
    );
}

#[test]
fn a_record_without_its_end_is_told_as_far_as_it_goes_and_without_a_verdict() {
    let cut = taking_without_end();
    assert_eq!(
        sentence(&cut),
        "As far as the record goes: held 2,000 queries/s with no loss and p99 1.00 ms; the record has no end, and so \
         no verdict on the generator."
    );
    let mut running = cut;
    running.in_progress = true;
    assert_eq!(
        sentence(&running),
        "So far: held 2,000 queries/s with no loss and p99 1.00 ms; there is a verdict on the generator when the run \
         has ended."
    );
    let mut empty = Digest::new(sample::header());
    empty.in_progress = true;
    assert!(sentence(&empty).starts_with("So far: no query was due"));
}

fn taking_without_end() -> Digest {
    let mut digest = taking(&[1; 3]);
    digest.sum = None;
    digest
}

#[test]
fn a_run_that_failed_says_until_when() {
    let mut digest = ended(steady(2_000, 0));
    digest.sum.as_mut().unwrap().ended = Ended::Failed { why: "no socket".into() };
    assert!(sentence(&digest).starts_with("Until it failed: held 2,000"), "{}", sentence(&digest));
    assert!(digest.to_ns() >= 3 * SECOND);
}
