//! The campaign against imaginary servers: each way to fail, each way to be cut off.

mod world;

use self::world::*;
use super::*;

#[test]
fn a_server_that_holds_every_load_is_qualified_for_at_least_the_top_of_the_stair() {
    let mut world = world(|_| FINE);
    world.results = results(&[]);
    let result = world.qualify(&with_commands());
    assert_eq!(
        (result.verdict, result.capacity_qps, result.at_least),
        (Verdict::Qualified, Some(10.0), true)
    );
    assert_eq!(
        result.sentence,
        "qualified: at least 10 queries/s pass the stair, the burst of 10 min, the function test and the long run \
         of 1 h; that is the highest step of the stair"
    );
    let tests: Vec<_> = result.attempts.iter().map(|attempt| (attempt.test, attempt.passed())).collect();
    assert_eq!(tests, Test::ALL.map(|test| (test, true)));
    let commands = &result.attempts[2].commands;
    assert_eq!((commands[1].times, commands[1].took_ns), (3, Some([10 * MS, 20 * MS, 30 * MS])));
    assert_eq!(result.attempts[3].figures.load_ns, 3_600 * SECOND);
}

#[test]
fn the_stair_ends_at_the_first_step_with_continuous_errors() {
    // From 7 queries/s on, one is lost each second.
    let mut world = world(|now| if now.qps >= 7 { (1, 0, MS) } else { FINE });
    let result = world.qualify(&wanted());
    assert_eq!(
        (result.verdict, result.capacity_qps, result.at_least),
        (Verdict::Qualified, Some(6.0), false)
    );
    let why = "at 7 queries/s the stair's step of 1 min failed: continuous errors (queries without an answer in time \
               for 3 s), 3 s in";
    assert!(result.sentence.contains(why), "{}", result.sentence);
    assert_eq!(result.notes, ["the function test was not made (no --function)"]);
}

#[test]
fn errors_now_and_then_are_tolerated_up_to_their_share() {
    let every =
        |seconds: u64| move |now: &Now| if now.second.is_multiple_of(seconds) { (1, 0, MS) } else { FINE };
    let mut rare = world(every(170));
    let result = rare.qualify(&QualifyOptions { skip: vec!["stair".into()], ..wanted() });
    assert_eq!(result.capacity_qps, Some(10.0), "{}", result.sentence);
    let mut often = world(every(30));
    let result = often.qualify(&wanted());
    assert_eq!((result.verdict, result.capacity_qps), (Verdict::NotQualified, None));
    assert!(result.sentence.contains("2 of 120 queries ended in an error (1.67 %)"), "{}", result.sentence);
}

#[test]
fn answers_with_an_error_are_errors() {
    let mut world = world(|now| if now.qps >= 5 { (0, 1, MS) } else { FINE });
    let result = world.qualify(&wanted());
    assert_eq!(result.capacity_qps, Some(4.0));
    assert!(
        result.sentence.contains("continuous errors (SERVFAIL responses for 3 s)"),
        "{}",
        result.sentence
    );
    let mut same = self::world(|now| if now.qps >= 5 { (0, 1, MS) } else { FINE });
    let result = same.qualify(&QualifyOptions { errors: Some("loss".into()), ..wanted() });
    assert_eq!(result.capacity_qps, Some(10.0));
}

#[test]
fn a_slow_answer_fails_and_one_at_the_bound_does_not() {
    let mut world = world(|now| (0, 0, if now.qps >= 9 { SECOND + 1 } else { SECOND }));
    let result = world.qualify(&wanted());
    assert_eq!(result.capacity_qps, Some(8.0));
    assert!(result.sentence.contains("9 queries/s the stair's step of 1 min failed: a response took 1.00 s"));
}

#[test]
fn a_limit_that_shows_after_eight_minutes_fails_the_burst_and_lowers_the_load() {
    let mut world = world(|now| if now.qps > 4 && now.second >= 480 { (1, 0, MS) } else { FINE });
    let result = world.qualify(&QualifyOptions { stair: Some("2..9".into()), ..wanted() });
    assert_eq!(result.capacity_qps, Some(4.0));
    let why = "; at 5 queries/s the burst failed: continuous errors (queries without an answer in time for 3 s), 8 \
               min 3 s in";
    assert!(result.sentence.ends_with(why), "{}", result.sentence);
    // Burst after burst, each a step lower, and then the long run.
    let bursts = (4..=9).rev().map(|qps| format!("burst: {qps} queries/s"));
    let expected: Vec<_> = bursts.chain(["long run: 4 queries/s".to_owned()]).collect();
    assert_eq!(world.asked[1..], expected[..]);
}

#[test]
fn a_long_run_that_fails_makes_all_tests_again_at_the_lower_load() {
    let mut world = world(|now| if now.qps > 9 && now.second >= 3_000 { (0, 0, 2 * SECOND) } else { FINE });
    world.results = results(&[]);
    let result = world.qualify(&with_commands());
    assert_eq!((result.capacity_qps, result.at_least), (Some(9.0), false));
    assert!(result.sentence.contains("at 10 queries/s the long run failed: a response took 2.00 s"));
    let expected =
        ["burst: 10", "function test: 10", "long run: 10", "burst: 9", "function test: 9", "long run: 9"];
    assert_eq!(world.asked[1..], expected.map(|why| format!("{why} queries/s"))[..]);
}

#[test]
fn a_secondary_that_does_not_follow_fails_the_function_test_by_name() {
    let mut world = world(|_| FINE);
    world.results = results(&[2, 3]);
    let result = world.qualify(&QualifyOptions { stair: Some("2..3".into()), ..with_commands() });
    assert_eq!((result.verdict, result.capacity_qps), (Verdict::NotQualified, None));
    let why = "at the lowest, at 2 queries/s the function test failed: 2 of 6 commands failed: round 2 of \"add\": \
               secondary did not show it within 20.0 ms (1 attempts)";
    assert!(result.sentence.ends_with(why), "{}", result.sentence);
    assert_eq!(result.attempts[2].commands[1].succeeded, 1);
}

#[test]
fn a_command_without_a_result_was_not_carried_out() {
    let mut world = world(|_| FINE);
    world.results = results(&[])[..4].to_vec();
    let result = world.qualify(&QualifyOptions { stair: Some("2..2".into()), ..with_commands() });
    assert!(result.sentence.contains("`add` was not carried out 1 of 3 times"), "{}", result.sentence);
}

#[test]
fn a_server_that_dies_in_the_long_run_ends_it_with_when_it_died() {
    // After the stair and the burst, 20 minutes into the long run.
    let mut world = world(|now| if now.loaded >= 540 + 600 + 1_200 { (now.qps, 0, MS) } else { FINE });
    let result = world.qualify(&wanted());
    assert_eq!((result.verdict, result.capacity_qps), (Verdict::NotQualified, None));
    assert_eq!(
        result.sentence,
        "not qualified: at 10 queries/s the long run failed: the server stopped answering, 20 min 0 s in; it did not \
         answer again"
    );
    assert_eq!(world.asked.len(), 4, "{:?}", world.asked);
}

#[test]
fn a_server_that_dies_and_comes_back_is_tried_at_the_lower_load() {
    let mut world = world(|now| if (1_200..1_204).contains(&now.loaded) { (now.qps, 0, MS) } else { FINE });
    let result = world.qualify(&wanted());
    assert_eq!(result.capacity_qps, Some(9.0), "{}", result.sentence);
    assert!(result.sentence.contains("at 10 queries/s the long run failed: the server stopped answering"));
}

#[test]
fn a_server_that_dies_at_once_or_never_answers_ends_it() {
    let mut dead = world(|now| (now.qps, 0, MS));
    let result = dead.qualify(&wanted());
    let why = "not qualified: at 2 queries/s the stair's step of 1 min failed: the server answered no query";
    assert_eq!((result.sentence.as_str(), dead.asked.len()), (why, 1));
    let mut dies = world(|now| if now.loaded >= 70 { (now.qps, 0, MS) } else { FINE });
    let result = dies.qualify(&wanted());
    let why =
        "at 3 queries/s the stair's step of 1 min failed: the server stopped answering, 10 s in; it did not";
    assert!(result.sentence.contains(why), "{}", result.sentence);
}

#[test]
fn a_test_that_fails_by_what_may_be_ours_is_repeated_and_then_the_capacity_is_at_least_the_load_below() {
    // The first burst fails, and so does its repetition, by queries that were lost in bursts of ours.
    let server = |now: &Now| if now.qps == 10 && now.loaded >= 540 { (1, 0, MS) } else { FINE };
    let mut twice = world(server);
    twice.ours = vec![(2, Ours::Bursts), (3, Ours::Bursts)];
    let result = twice.qualify(&wanted());
    assert_eq!((result.capacity_qps, result.at_least), (Some(9.0), true));
    assert!(result.sentence.contains("at least 9 queries/s pass"), "{}", result.sentence);
    let open = "but the generator or its host may be the reason, so it is not known whether the server holds that load";
    assert!(result.sentence.contains(open), "{}", result.sentence);
    assert!(twice.asked[2].ends_with("a second time"));
    // Once only: the repetition decides.
    let mut once = world(|now: &Now| if (540..560).contains(&now.loaded) { (1, 0, MS) } else { FINE });
    once.ours = vec![(2, Ours::Bursts)];
    let result = once.qualify(&wanted());
    assert_eq!((result.capacity_qps, once.asked.len()), (Some(10.0), 4), "{}", result.sentence);
    assert!(!result.sentence.contains("may be the reason") && result.notes.len() == 1, "{:?}", result.notes);
}

#[test]
fn errors_beyond_what_may_be_ours_fail_a_test_at_once() {
    // SERVFAIL is the server's, whatever else was lost by us.
    let mut world = world(|now: &Now| if now.qps == 10 && now.loaded >= 540 { (1, 1, MS) } else { FINE });
    world.ours = (2..9).map(|run| (run, Ours::Bursts)).collect();
    let result = world.qualify(&wanted());
    assert_eq!((result.capacity_qps, result.at_least), (Some(9.0), false), "{}", result.sentence);
    assert!(!world.asked[2].ends_with("a second time"), "{:?}", world.asked);
}

#[test]
fn a_response_that_was_late_because_its_query_was_is_undecided_and_one_of_a_late_run_that_was_not_fails() {
    let slow = |now: &Now| if now.qps == 10 && now.loaded >= 540 { (0, 0, 2 * SECOND) } else { FINE };
    let mut late = world(slow);
    late.ours = vec![(2, Ours::SendsLate), (3, Ours::SendsLate)];
    let result = late.qualify(&wanted());
    assert_eq!((result.capacity_qps, result.at_least), (Some(9.0), true), "{}", result.sentence);
    assert!(
        result.sentence.contains("a response came 2.00 s after its query was due, at most"),
        "{}",
        result.sentence
    );
    assert!(
        result.notes[1].contains("is undecided: a response came") && result.notes[1].contains("sends_late")
    );
    let mut server = world(slow);
    let result = server.qualify(&wanted());
    assert_eq!((result.capacity_qps, result.at_least), (Some(9.0), false), "{}", result.sentence);
    assert!(result.sentence.contains("the burst failed: a response took 2.00 s"), "{}", result.sentence);
}

#[test]
fn a_load_that_was_not_made_in_its_time_is_not_passed() {
    let mut world = world(|_| FINE);
    world.ours = vec![(2, Ours::IsBehind), (3, Ours::IsBehind)];
    let result = world.qualify(&wanted());
    assert_eq!((result.capacity_qps, result.at_least), (Some(9.0), true), "{}", result.sentence);
    assert!(
        result.sentence.contains("the burst failed: its load took 600 s longer to send"),
        "{}",
        result.sentence
    );
}

#[test]
fn a_generator_that_sends_late_does_not_silence_a_server_and_one_that_drops_its_responses_may() {
    let dies = |now: &Now| if now.loaded >= 600 { (now.qps, 0, MS) } else { FINE };
    let mut late_only = world(dies);
    late_only.ours = vec![(2, Ours::Bursts), (3, Ours::Bursts)];
    let result = late_only.qualify(&wanted());
    assert_eq!((result.verdict, late_only.asked.len()), (Verdict::NotQualified, 3), "{}", result.sentence);
    let mut drops = world(dies);
    drops.ours = (2..40).map(|run| (run, Ours::Drops)).collect();
    let result = drops.qualify(&wanted());
    assert_eq!(result.verdict, Verdict::NotKnown, "{}", result.sentence);
}

#[test]
fn nothing_is_known_where_each_load_failed_by_what_may_be_ours() {
    let mut world = world(|now| if now.second > 10 { (1, 0, MS) } else { FINE });
    world.ours = (1..20).map(|run| (run, Ours::Bursts)).collect();
    let result = world.qualify(&wanted());
    assert_eq!((result.verdict, result.capacity_qps), (Verdict::NotKnown, None));
    assert!(result.sentence.starts_with("not known: no load"), "{}", result.sentence);
    let said = "the stair at 2 queries/s is undecided: 49 of 120 queries ended in an error (40.83 %), at most 49 of \
                them ours";
    assert!(result.notes.iter().any(|note| note.contains(said)), "{:?}", result.notes);
    assert_eq!(world.asked.len(), 2, "the first step twice");
}

#[test]
fn what_the_generator_meets_in_a_test_that_passes_changes_nothing() {
    let mut world = world(|now| if now.qps > 8 { (1, 0, MS) } else { (0, 0, 20 * MS) });
    world.ours = (2..40).map(|run| (run, Ours::SendsLate)).collect();
    let result = world.qualify(&wanted());
    assert_eq!(
        (result.verdict, result.capacity_qps, result.at_least),
        (Verdict::Qualified, Some(8.0), false)
    );
    assert!(!result.notes.iter().any(|note| note.contains("undecided")), "{:?}", result.notes);
}

#[test]
fn a_cut_in_each_test_gives_the_same_verdict_and_the_long_run_tells_its_gap() {
    let server = |now: &Now| if now.qps > 8 { (0, 0, 2 * SECOND) } else { FINE };
    let mut whole = world(server);
    whole.results = results(&[]);
    let expected = whole.qualify(&with_commands());
    let mut cut = world(server);
    cut.results = results(&[]);
    // In the third step of the stair, in the burst, in the function test, and twice in the long run.
    cut.cuts = vec![(1, 150), (3, 500), (5, 30), (7, 1_000), (8, 600)];
    let result = cut.qualify(&with_commands());
    assert_eq!(
        (result.verdict, result.capacity_qps, result.at_least),
        (expected.verdict, expected.capacity_qps, false)
    );
    assert_eq!(result.sentence, expected.sentence);
    assert_eq!(cut.asked[1], "stair: 4 to 10 queries/s", "two steps were whole");
    let long = result.attempts.last().unwrap();
    assert_eq!(long.figures.load_ns, 3_600 * SECOND, "the time of the cut runs counts");
    let counted: Vec<_> = long.runs.iter().map(|run| (run.counted_ns / SECOND, run.cut)).collect();
    assert_eq!(counted, [(1_000, true), (600, true), (2_000, false)]);
    assert_eq!(result.gaps.len(), 2);
    let told: Vec<_> = result.notes.iter().filter(|note| note.contains("without load")).collect();
    assert!(told[0].contains("at 8 queries/s was without load for 90 s, after 16 min 40 s"), "{told:?}");
    assert!(result.notes.iter().any(|note| note == "the burst was cut off and made again from its begin"));
}

#[test]
fn a_capacity_below_the_need_is_not_qualified() {
    let mut world = world(|now| if now.qps > 8 { (1, 0, MS) } else { FINE });
    let result = world.qualify(&QualifyOptions { need: Some("9".into()), ..wanted() });
    assert_eq!(result.verdict, Verdict::NotQualified);
    assert!(result.sentence.contains("8 queries/s pass"), "{}", result.sentence);
    assert!(result.sentence.contains("less than the 9 that are needed"), "{}", result.sentence);
}

#[test]
fn a_rehearsal_says_so() {
    let mut world = world(|_| FINE);
    let result = world.qualify(&QualifyOptions { scale: Some("1/2".into()), ..wanted() });
    assert!(result.sentence.ends_with("(rehearsal at scale 1/2: a burst of 5 min, a long run of 30 min)"));
    assert!(world.asked.len() == 3);
}

#[test]
fn a_long_stair_is_made_in_parts_and_the_conditions_of_the_user_stay() {
    let settings = QualifyOptions { stair: Some("1..100".into()), ..wanted() }.read().unwrap();
    let base = Draft { stop_when: Some(vec!["p99>9s".into()]), ..Draft::default() };
    let Step::Run(request) = Qualify::new(settings, base).next() else { panic!("it has begun") };
    assert_eq!(request.draft.stair.as_deref(), Some("1..60"));
    let conditions = request.draft.stop_when.unwrap();
    assert_eq!(conditions[0], "p99>9s");
    assert_eq!(
        conditions[1..],
        ["loss>0 for 3s", "servfail>0 for 3s", "refused>0 for 3s", "response.slowest>1s"]
    );
    let mut world = world(|_| FINE);
    let result = world.qualify(&QualifyOptions { stair: Some("1..100".into()), ..wanted() });
    assert_eq!((result.capacity_qps, result.attempts[0].steps.len()), (Some(100.0), 100));
}

#[test]
fn a_condition_of_the_user_fails_the_test_in_which_it_holds() {
    let settings = wanted().read().unwrap();
    let base = Draft { stop_when: Some(vec!["max>1ms".into()]), ..Draft::default() };
    let mut campaign = Qualify::new(settings, base);
    let mut world = world(|now| (0, 0, if now.qps > 4 { 2 * MS } else { MS / 2 }));
    let Step::Run(request) = campaign.next() else { panic!("it has begun") };
    campaign.learn(&world.run(&request.draft).0);
    let steps = &campaign.attempts()[0].steps;
    assert_eq!(steps.last().unwrap().failure, Some(Failure::Condition("max>1ms".into())));
    assert_eq!((steps.len(), campaign.attempts()[0].qps), (4, 4.0));
}
