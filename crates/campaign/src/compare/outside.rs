//! Comparisons with the past and with results of other programs, of runs whose truth is known.

use std::path::Path;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use dnsdyno_plan::expect::{ChangeBound, ComparedMetric};
use dnsdyno_record::{Ended, Headline};
use dnsdyno_report::import::import;

use super::design::{Units, fewest_units};
use super::equals::Noise;
use super::figure::Figure;
use super::figures::{Kind, Row};
use super::sample::{MADE, SECOND, SyntheticRun, run};
use super::*;

fn quick() -> Settings {
    Settings { resamples: 200, ..Settings::default() }
}

const HOUR_S: u64 = 3_600;

/// A run that is slower by this factor, in the session of this number.
fn earlier(session: u64, number: u64, slower: f64) -> ComparedRun {
    let made = SyntheticRun { slower, started_s: session * 24 * HOUR_S + number * 60, ..MADE };
    run(&format!("past-{session}-{number}"), made)
}

/// A past of so many sessions of one run, with a noise of 2 %.
fn sessions(count: u64) -> Past {
    let slower = |n: u64| 1.0 + [0.0, 0.02, -0.02, 0.01, -0.01][(n % 5) as usize];
    Past { runs: (0..count).map(|n| earlier(n, 0, slower(n))).collect(), left_out: LeftOut::default() }
}

/// Three new runs, all slower by this factor and nearly equal among themselves.
fn new(slower: f64) -> Vec<ComparedRun> {
    (0..3).map(|n| earlier(1_000, n, slower * (1.0 + n as f64 * 0.001))).collect()
}

fn bounded(past: Past, candidate: Vec<ComparedRun>, bound: &str) -> Comparison {
    let settings = Settings { fail_if: vec![ChangeBound::parse(bound).unwrap()], ..quick() };
    compare_with_past(past, candidate, &settings).unwrap()
}

#[test]
fn a_bound_on_the_past_is_kept_exceeded_or_not_judged_by_the_spread_between_its_sessions() {
    let state = |slower, bound| bounded(sessions(12), new(slower), bound).bounds[0].state;
    assert_eq!(state(1.0, "p99 +5%"), BoundState::Kept);
    assert_eq!(state(1.1, "p99 +5%"), BoundState::Exceeded);
    assert_eq!(state(1.1, "p99 +20%"), BoundState::Kept);
    // The new runs agree to 0.2 %, which says nothing of the days.
    let close = bounded(sessions(12), new(1.02), "p99 +5%");
    assert!(
        matches!(close.bounds[0].state, BoundState::NotJudged(NotJudged::ReachesBeyond { .. })),
        "{close:?}"
    );
    assert_eq!(close.outcome, Outcome::NoDifference);
    let words = report::comparison(&close, 400);
    assert!(words.contains("the baseline is the past: 12 sessions of the same kind"), "{words}");
    let worse = bounded(sessions(12), new(1.1), "p99 +5%");
    assert_eq!((worse.outcome, worse.baseline.len()), (Outcome::Worse, 12));
    assert!(!worse.notes.iter().any(|note| matches!(note, Note::NotInterleaved { .. })));
}

#[test]
fn a_past_of_one_value_says_how_long_it_must_be_to_tell_another_value_from_chance() {
    let past = |count| {
        let runs = (0..count).map(|n| earlier(n, 0, 1.0)).collect();
        Past { runs, left_out: LeftOut::default() }
    };
    let equal = (0..3).map(|n| earlier(1_000, n, 5.0)).collect::<Vec<_>>();
    let short = bounded(past(38), equal.clone(), "p99 +100%");
    assert_eq!(short.bounds[0].state, BoundState::NotJudged(NotJudged::NeverVaried { units: 39 }));
    let words = report::comparison(&short, 400);
    assert!(
        words.contains("the past has one value, so another one may be chance: a past of about 39"),
        "{words}"
    );
    assert_eq!(bounded(past(39), equal, "p99 +100%").bounds[0].state, BoundState::Exceeded);
}

#[test]
fn a_short_past_judges_nothing_and_says_how_long_it_must_be() {
    let short = bounded(sessions(7), new(1.3), "p99 +5%");
    assert_eq!(short.bounds[0].state, BoundState::NotJudged(NotJudged::TooFewRuns));
    assert_eq!(short.outcome, Outcome::TooFew);
    let words = report::comparison(&short, 400);
    assert!(words.contains("at least 8 are needed for 3 new runs (a pause of an hour"), "{words}");
    let one = bounded(sessions(19), new(1.3)[..1].to_vec(), "p99 +5%");
    assert!(
        report::comparison(&one, 400).contains("at least 20 are needed for 1 new run; fewer for 3"),
        "{one:?}"
    );
    let enough = bounded(sessions(20), new(1.3)[..1].to_vec(), "p99 +5%");
    assert_eq!(enough.bounds[0].state, BoundState::Exceeded);
}

#[test]
fn runs_of_one_session_are_single_only_for_new_runs_of_it() {
    let past = |session| {
        let runs = (0..10).map(|n| earlier(session, n, 1.0 + (n % 3) as f64 * 0.01)).collect();
        Past { runs, left_out: LeftOut::default() }
    };
    let same = bounded(past(999), (0..3).map(|n| earlier(999, 20 + n, 1.2)).collect(), "p99 +5%");
    let described = same.past.clone().unwrap();
    assert_eq!((described.units, described.are_sessions), (10, false));
    assert_eq!(same.bounds[0].state, BoundState::Exceeded);
    let other = bounded(past(3), new(1.2), "p99 +5%");
    assert_eq!(other.past.as_ref().unwrap().units, 1, "one session");
    assert_eq!(other.bounds[0].state, BoundState::NotJudged(NotJudged::TooFewRuns));
    // Of five sessions and the one of the new runs, only its own runs are held against them.
    let mut mixed = past(999);
    mixed.runs = (0..5).map(|n| earlier(n, 0, 1.5)).chain(mixed.runs).collect();
    let mixed = bounded(mixed, (0..3).map(|n| earlier(999, 20 + n, 1.0)).collect(), "p99 +5%");
    assert_eq!((mixed.past.as_ref().unwrap().units, mixed.baseline.len()), (10, 10));
    assert_eq!(mixed.bounds[0].state, BoundState::Kept);
}

#[test]
fn a_session_is_one_unit_however_many_runs_it_has() {
    // Each day differs by up to 4 %, and its runs agree.
    let day = |n: u64| 1.0 + [0.0, 0.04, -0.04, 0.02, -0.02][(n % 5) as usize];
    let runs = (0..10).flat_map(|n| (0..6).map(move |i| earlier(n, i, day(n)))).collect();
    let past = Past { runs, left_out: LeftOut::default() };
    let found = bounded(past, new(1.05), "p99 +3%");
    assert_eq!((found.past.as_ref().unwrap().units, found.baseline.len()), (10, 60));
    assert_eq!(found.outcome, Outcome::NoDifference, "within what days differ by");
}

/// What new runs have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Day {
    /// Nothing: each has the noise of a run of the past.
    Each,
    /// All of their noise is that of their day.
    Shared,
}

/// How often a difference is called, of new runs that are as those of the past.
fn alarms(noise: Noise, units: usize, new_runs: usize, day: Day) -> usize {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let settings = Settings { resamples: 1, ..Settings::default() };
    let sessions = Units { runs: (0..units).map(|unit| vec![unit]).collect(), are_sessions: true };
    let design = Design { runs: units, past: Some(&sessions), settings: &settings };
    let mut differs = || {
        let mut figures: Vec<f64> = (0..units + new_runs).map(|_| noise.draw(&mut random).exp()).collect();
        if day == Day::Shared {
            let shared = figures[units];
            figures[units..].fill(shared);
        }
        let figure = |value: &f64| Figure { value: *value, beyond_timeout: false };
        let row = Row::exact("p99", Kind::Duration, true, figures.iter().map(figure).collect());
        Outcome::of(&design.metrics(vec![row]), &settings) != Outcome::NoDifference
    };
    (0..TRIALS).filter(|_| differs()).count()
}

/// With a share of 5 %, the standard error of 1,500 is 0.56 %: the bound is 5 % and two of them.
const TRIALS: usize = 1_500;

#[test]
fn a_new_run_of_the_past_is_called_different_in_at_most_one_of_twenty() {
    let cases = [(1, Day::Each), (3, Day::Each), (3, Day::Shared)];
    for (new_runs, day) in cases {
        for noise in [Noise::Normal, Noise::Disturbed, Noise::Steps] {
            for units in [fewest_units(new_runs), 40] {
                let share = alarms(noise, units, new_runs, day) as f64 / TRIALS as f64;
                eprintln!("{noise:?}, {new_runs} new, {day:?}, against {units}: {:.1} %", share * 100.0);
                // A day that is disturbed as a whole is a change, whatever made it.
                let is_disturbed_day = noise == Noise::Disturbed && day == Day::Shared;
                assert!(
                    share <= if is_disturbed_day { 0.15 } else { 0.0613 },
                    "{noise:?} {day:?} {units}: {share}"
                );
            }
        }
    }
}

#[test]
fn the_past_is_what_is_of_the_kind_and_earlier_and_whole() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, change: &dyn Fn(&mut dnsdyno_record::Header)| {
        sample::write(&folder.path().join(name), &|header| {
            header.started_unix_ns = 1_000 * SECOND;
            change(header);
        })
    };
    write("a", &|_| {});
    write("b", &|header| header.started_unix_ns = 1_500 * SECOND);
    write("later", &|header| header.started_unix_ns = 9_000 * SECOND);
    write("load", &|header| header.load = "2,000 queries/s for 2 s".into());
    write("server", &|header| header.target = "192.0.2.9".into());
    write("port", &|header| header.address = "[::1]:54".parse().unwrap());
    std::fs::create_dir(folder.path().join("broken")).unwrap();
    std::fs::write(folder.path().join("broken/run.ndjson"), "no record\n").unwrap();
    sample::write_ended(&folder.path().join("interrupted"), Ended::Interrupted, &|_| {});
    let candidate = write("new", &|header| header.started_unix_ns = 5_000 * SECOND);
    let names = ["a", "b", "later", "load", "server", "port", "broken", "interrupted", "new", "a"];
    let paths: Vec<_> = names.iter().map(|name| folder.path().join(name)).collect();
    let past = Past::find(&paths, &[ComparedRun::read(&candidate).unwrap()], false);
    let found: Vec<_> = past.runs.iter().map(|run| run.path.clone()).collect();
    assert_eq!(found, [folder.path().join("a"), folder.path().join("b")]);
    let left_out = &past.left_out;
    assert_eq!((left_out.later, left_out.unreadable, left_out.unfinished), (1, 1, 1));
    assert_eq!(left_out.other_kind, [("load".to_owned(), 1), ("server".to_owned(), 2)].into());
    let first = Past::find(&paths, &[ComparedRun::read(&candidate).unwrap()], true);
    assert_eq!((first.runs.len(), first.left_out.first), (1, 1));
    let none = Past::find(&paths[3..4], &[ComparedRun::read(&candidate).unwrap()], false);
    let error = compare_with_past(none, vec![ComparedRun::read(&candidate).unwrap()], &quick()).unwrap_err();
    assert!(error.to_string().contains("1 of another kind (load 1)"), "{error}");
}

/// A result of dnsperf 2.16 with a histogram, whose latencies are longer by a factor.
fn dnsperf(folder: &Path, name: &str, slower: f64) -> Subject {
    let second = |us: f64| format!("{:.6}", us * slower / 1e6);
    let rows = [(2_000.0, 2_063.0, 600), (2_064.0, 2_127.0, 390), (2_128.0, 2_191.0, 1_010)];
    let rows = rows.map(|(from, to, n)| format!("  {} - {}:  {n}\n", second(from), second(to))).concat();
    let average = second(2_100.0);
    let text = format!(
        "DNS Performance Testing Tool\nVersion 2.16.0\n\n\
         [Status] Command line: dnsperf -s 192.0.2.1 -d q -Q 1000 -l 2 -O latency-histogram\n\
         [Status] Testing complete (time limit)\n\nStatistics:\n\n\
         \x20 Queries sent:         2000\n  Queries completed:    2000 (100.00%)\n\
         \x20 Queries lost:         0 (0.00%)\n\n  Response codes:       NOERROR 2000 (100.00%)\n\
         \x20 Average packet size:  request 30, response 45\n  Run time (s):         2.000000\n\
         \x20 Queries per second:   1000.000000\n\n  Average Latency (s):  {average}\n\
         \x20 Latency bucket (s):   answer count\n{rows}\n"
    );
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    let result = import(&path).unwrap().unwrap();
    ImportedRun { label: path.display().to_string(), path, result }.into()
}

#[test]
fn results_of_dnsperf_are_compared_with_each_other_and_their_buckets_are_no_difference() {
    let folder = tempfile::tempdir().unwrap();
    let side = |name: &str, slower: f64| -> Vec<Subject> {
        let one =
            |i: u32| dnsperf(folder.path(), &format!("{name}{i}"), slower * (1.0 + f64::from(i) * 0.001));
        (0..5).map(one).collect()
    };
    let settings = Settings { fail_if: vec![ChangeBound::parse("p99 +5%").unwrap()], ..quick() };
    let found = compare_subjects(side("a", 1.0), side("b", 1.2), &settings).unwrap();
    assert_eq!((found.metrics[0].name.as_str(), found.outcome), ("p99", Outcome::Worse));
    assert_eq!(found.bounds[0].state, BoundState::Exceeded);
    assert!(found.asked.starts_with("dnsperf 2.16.0 -Q 1000 -d q -l 2"), "{}", found.asked);
    // 2 % are less than a bucket is wide; the averages differ all the same.
    let near = compare_subjects(side("c", 1.0), side("d", 1.02), &settings).unwrap();
    let by_name = |name: &str| near.metrics.iter().find(|metric| metric.name == name).unwrap();
    assert_eq!((by_name("p99").verdict, by_name("p99").is_rounded), (Verdict::MayBeOurs, true));
    assert_eq!(by_name("avg").verdict, Verdict::Worse);
    assert!(report::comparison(&near, 200).contains("may be rounding"));
    let one = compare_subjects(
        vec![dnsperf(folder.path(), "x", 1.0)],
        vec![dnsperf(folder.path(), "y", 1.2)],
        &settings,
    );
    assert_eq!(one.unwrap().bounds[0].state, BoundState::NotJudged(NotJudged::TooFewRuns));
    let twice = vec![dnsperf(folder.path(), "x", 1.0), dnsperf(folder.path(), "z", 1.0)];
    let error = compare_subjects(twice, side("b", 1.0), &settings).unwrap_err();
    assert!(error.to_string().contains("are the same run"), "{error}");
    // Other files with the same figures are other runs.
    let alike = vec![dnsperf(folder.path(), "x", 1.0), dnsperf(folder.path(), "w", 1.0)];
    std::fs::write(folder.path().join("w"), "other").unwrap();
    assert!(compare_subjects(alike, side("b", 1.2), &settings).is_ok());
}

#[test]
fn a_result_beside_our_runs_is_compared_by_the_service_time_and_what_it_lacks_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/src/import/samples");
    let imported = |name: &str| -> Subject {
        let path = samples.join(name);
        let result = import(&path).unwrap().unwrap();
        ImportedRun { label: name.to_owned(), path, result }.into()
    };
    let ours = || vec![Subject::from(run("a", MADE)), run("b", SyntheticRun { started_s: 5, ..MADE }).into()];
    let with = |other: Vec<Subject>| compare_subjects(ours(), other, &quick()).unwrap();
    let text = with(vec![imported("dnsperf-2.10.txt")]);
    let names: Vec<_> = text.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, ["avg", "rate", "loss"], "its text has no percentiles");
    let words = report::comparison(&text, 2_000);
    assert!(words.contains("p50, p90, p99 are left out: not in the format of dnsperf-2.10.txt"), "{words}");
    assert!(
        words.contains("looks like a difference of the servers; latencies count from the sending"),
        "{words}"
    );
    assert_eq!(text.outcome, Outcome::TooFew);
    let by = Settings { by: ComparedMetric::parse("p99").ok(), ..quick() };
    let error = compare_subjects(ours(), vec![imported("dnsperf-2.10.txt")], &by).unwrap_err();
    assert!(error.to_string().contains("whose format does not have it"), "{error}");
    // Shotgun counts from when a query was due, dnsperf from its sending.
    let both = with(vec![imported("dnsperf-2.10.txt"), imported("shotgun-dns-metrics.ndjson")]);
    assert!(both.metrics.iter().all(|metric| metric.kind != Kind::Duration), "{:?}", both.metrics);
    assert!(report::comparison(&both, 2_000).contains("count latencies from different instants"));
    let _ = folder;
}

#[test]
fn the_lines_of_shotgun_have_its_loss_and_its_percentiles() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/src/import/samples/shotgun-dns-metrics.ndjson");
    let result = import(&path).unwrap().unwrap();
    let run = ImportedRun { label: "s".into(), path, result };
    let figure = |name: &str| run.figure(&ComparedMetric::parse(name).unwrap());
    let loss = figure("loss").unwrap();
    assert!((loss.figure.value - 0.03).abs() < 1e-12 && loss.without_ours == loss.figure.value, "{loss:?}");
    assert_eq!(loss.whole, 1_000);
    // Of 1,000 the 975th is unanswered.
    assert!(figure("p97.5").unwrap().figure.beyond_timeout);
    let nxdomain = figure("nxdomain").unwrap();
    assert!((nxdomain.figure.value - 70.0 / 970.0).abs() < 1e-12);
    assert_eq!(figure("p99.9"), Err(Missing::TooFew));
    assert_eq!(figure("service.p50"), Err(Missing::NotInFormat));
    assert_eq!(run.result.latency_from, Headline::Response);
}
