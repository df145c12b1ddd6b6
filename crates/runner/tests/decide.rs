//! Code that chooses runs needs only a `Runner`: a search with this trait, on simulated servers.

use std::path::Path;

use dnsdyno_plan::Draft;
use dnsdyno_record::{Digest, Ended};
use dnsdyno_runner::{
    Control, FinishedRun, Keep, RunError, RunJob, Runner, SimConfig, SimulatedRunner, StopCause,
};

fn draft(rate: u64, duration: &str) -> Draft {
    Draft {
        server: Some("127.0.0.1".into()),
        ask: Some(vec!["www.example A".into()]),
        rate: Some(rate.to_string()),
        duration: Some(duration.into()),
        timeout: Some("100ms".into()),
        interval: Some("100ms".into()),
        seed: Some("7".into()),
        ..Draft::default()
    }
}

/// A simulated server of this capacity, with a short queue.
fn server(capacity_qps: u64) -> SimulatedRunner {
    let server = SimConfig { service_ns: 1_000_000_000 / capacity_qps, queue: 5, ..SimConfig::default() };
    SimulatedRunner { server }
}

/// Makes a run, with its record in this place.
fn make(runner: &mut dyn Runner, draft: &Draft, keep: Keep) -> Result<FinishedRun, RunError> {
    let plans = runner.validate(draft)?;
    runner.run(&RunJob::new(&plans, keep), &Control::default(), &mut ())
}

fn made(runner: &mut dyn Runner, draft: &Draft) -> FinishedRun {
    make(runner, draft, Keep::Memory).unwrap()
}

/// The highest rate at which the server answers 99 % of the queries, with an error of 1 %.
fn find_limit(runner: &mut dyn Runner) -> u64 {
    let (mut low, mut high) = (1_000, 20_000);
    while high - low > low / 100 {
        let rate = (low + high) / 2;
        let digest = made(runner, &draft(rate, "500ms")).digest;
        let (answered, scheduled) = (digest.tally().ends.answered, digest.tally().scheduled);
        *(if answered * 100 >= scheduled * 99 { &mut low } else { &mut high }) = rate;
    }
    low
}

#[test]
fn a_search_finds_the_capacity_of_every_simulated_server() {
    for capacity in (2_000..20_000).step_by(3_000) {
        let limit = find_limit(&mut server(capacity));
        assert!(limit.abs_diff(capacity) < capacity / 25, "{limit} of a capacity of {capacity}");
    }
}

#[test]
fn a_run_reports_its_end_and_the_warnings_of_the_generator() {
    let FinishedRun { digest, each, folder, incomplete } = made(&mut server(5_000), &draft(1_000, "500ms"));
    assert_eq!((digest.ended(), digest.is_complete()), (Some(&Ended::ByTime), true));
    assert_eq!((digest.tally().scheduled, digest.tally().ends.answered), (500, 500));
    assert_eq!((digest.warnings(), folder, incomplete.is_none(), each), (vec![], None, true, vec![]));
    // A link with a capacity of one message prevents the generator from sending.
    let mut narrow = server(5_000);
    narrow.server.capacity = 1;
    let digest = made(&mut narrow, &draft(20_000, "500ms")).digest;
    let names: Vec<_> = digest.warnings().iter().map(|warning| warning.name()).collect();
    assert_eq!(names, ["sends_behind", "sends_missing"]);
    let sum = digest.sum.as_ref().unwrap();
    assert!(sum.evidence.datagrams_only && sum.evidence.lasted_ns > 0, "{:?}", sum.evidence);
}

#[test]
fn the_expectations_and_conditions_of_a_plan_are_judged_during_the_run() {
    let draft = Draft {
        expect_each: Some(vec!["loss<1%".into()]),
        stop_when: Some(vec!["loss>5% for 300ms".into()]),
        ..draft(1_000, "1s")
    };
    let calm = made(&mut server(5_000), &draft);
    assert_eq!(calm.digest.ended(), Some(&Ended::ByTime));
    assert_eq!((calm.each[0].judged, calm.each[0].missed), (10, 0));
    // Long enough that the collector, which is not simulated, sees the losses long before its end.
    let draft = Draft { rate: Some("4k".into()), duration: Some("20m".into()), ..draft };
    let ended = made(&mut server(3_000), &draft);
    assert_eq!(ended.digest.ended(), Some(&Ended::ByCondition { condition: "loss>5% for 300ms".into() }));
    assert!(ended.each[0].missed >= 3, "{:?}", ended.each[0]);
}

#[test]
fn a_run_is_ended_by_its_control() {
    let mut runner = server(5_000);
    let plans = runner.validate(&draft(1_000, "48h")).unwrap();
    let control = Control::default();
    control.stop(StopCause::Terminate);
    let run = runner.run(&RunJob::new(&plans, Keep::Memory), &control, &mut ()).unwrap();
    assert_eq!(run.digest.ended(), Some(&Ended::Terminated));
}

#[test]
fn the_record_in_a_folder_equals_that_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let in_folder = folder.path().join("run");
    let keep = || Keep::Folder(in_folder.clone());
    let kept = make(&mut server(3_000), &draft(4_000, "1s"), keep()).unwrap();
    assert_eq!(kept.folder.as_deref(), Some(Path::new(&in_folder)));
    let read = Digest::read(&in_folder).unwrap();
    let memory = made(&mut server(3_000), &draft(4_000, "1s")).digest;
    assert_eq!(read.sum, memory.sum);
    assert_eq!((read.rows(), read.warnings()), (memory.rows(), memory.warnings()));
    assert!(memory.tally().ends.timed_out > 500, "{:?}", memory.tally().ends);
    // A run is never overwritten.
    let error = make(&mut server(3_000), &draft(4_000, "1s"), keep()).unwrap_err();
    assert!(!error.is_bad_input() && error.to_string().contains("never overwritten"), "{error}");
}

#[test]
fn the_draft_of_a_plan_gives_the_same_run_at_another_host() {
    let mut runner = server(3_000);
    let plans = runner.validate(&Draft { seed: None, ..draft(4_000, "1s") }).unwrap();
    let sent = plans.plan.draft.to_toml().unwrap();
    let here = runner.run(&RunJob::new(&plans, Keep::Memory), &Control::default(), &mut ()).unwrap();
    let there = made(&mut runner, &Draft::from_toml(&sent).unwrap());
    assert_eq!(here.digest.sum, there.digest.sum);
}
