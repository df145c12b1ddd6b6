//! What decides needs no more than a `PlanRunner`: a search over the trait, on imaginary servers.

use std::path::Path;

use dnsdyno_plan::{Draft, Plan};
use dnsdyno_record::{Digest, Ended};
use dnsdyno_runner::{FinishedRun, ImaginaryRunner, Keep, PlanRunner, SimConfig, validate};

fn plan(rate: u64, duration: &str) -> Plan {
    let draft = Draft {
        server: Some("127.0.0.1".into()),
        ask: Some(vec!["www.example A".into()]),
        rate: Some(rate.to_string()),
        duration: Some(duration.into()),
        timeout: Some("100ms".into()),
        interval: Some("100ms".into()),
        seed: Some("7".into()),
        ..Draft::default()
    };
    validate(&draft).unwrap()
}

/// An imaginary server of this capacity, with a short queue.
fn server(capacity_qps: u64) -> ImaginaryRunner {
    let server = SimConfig { service_ns: 1_000_000_000 / capacity_qps, queue: 5, ..SimConfig::default() };
    ImaginaryRunner { server, keep: Keep::Memory }
}

/// The highest rate of which the server answers all but a hundredth, to a hundredth of it. Knows of whatever
/// makes the runs that it is a `PlanRunner`.
fn find_limit<R: PlanRunner>(runner: &mut R) -> Result<u64, R::Error> {
    let (mut held, mut broken) = (1_000, 20_000);
    while broken - held > held / 100 {
        let rate = (held + broken) / 2;
        let digest = runner.run(&plan(rate, "500ms"))?.digest;
        let (answered, scheduled) = (digest.tally().ends.answered, digest.tally().scheduled);
        *(if answered * 100 >= scheduled * 99 { &mut held } else { &mut broken }) = rate;
    }
    Ok(held)
}

#[test]
fn a_search_finds_the_capacity_of_every_imaginary_server() {
    for capacity in (2_000..20_000).step_by(3_000) {
        let limit = find_limit(&mut server(capacity)).unwrap();
        assert!(limit.abs_diff(capacity) < capacity / 25, "{limit} of a capacity of {capacity}");
    }
}

#[test]
fn a_run_says_how_it_ended_and_what_the_generator_was_worth() {
    let FinishedRun { digest, folder, incomplete } = server(5_000).run(&plan(1_000, "500ms")).unwrap();
    assert_eq!((digest.ended(), digest.is_complete()), (Some(&Ended::ByTime), true));
    assert_eq!((digest.tally().scheduled, digest.tally().ends.answered), (500, 500));
    assert_eq!((digest.warnings(), folder, incomplete.is_none()), (vec![], None, true));
    // A link that holds one message at a time keeps the generator from sending.
    let mut narrow = server(5_000);
    narrow.server.capacity = 1;
    let digest = narrow.run(&plan(20_000, "500ms")).unwrap().digest;
    let names: Vec<_> = digest.warnings().iter().map(|warning| warning.name()).collect();
    assert_eq!(names, ["sends_late", "sends_missing"]);
    let sum = digest.sum.as_ref().unwrap();
    assert!(sum.evidence.datagrams_only && sum.evidence.lasted_ns > 0, "{:?}", sum.evidence);
}

#[test]
fn the_record_of_a_folder_and_that_of_memory_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let in_folder = folder.path().join("run");
    let mut kept = ImaginaryRunner { keep: Keep::Folder(in_folder.clone()), ..server(3_000) };
    let kept = kept.run(&plan(4_000, "1s")).unwrap();
    assert_eq!(kept.folder.as_deref(), Some(Path::new(&in_folder)));
    let read = Digest::read(&in_folder).unwrap();
    let memory = server(3_000).run(&plan(4_000, "1s")).unwrap().digest;
    assert_eq!(read.sum, memory.sum);
    assert_eq!((read.rows(), read.warnings()), (memory.rows(), memory.warnings()));
    assert!(memory.tally().ends.timed_out > 500, "{:?}", memory.tally().ends);
    // A run is never overwritten.
    let mut again = ImaginaryRunner { keep: Keep::Folder(in_folder), ..server(3_000) };
    let error = again.run(&plan(4_000, "1s")).unwrap_err();
    assert!(!error.is_bad_input() && error.to_string().contains("never overwritten"), "{error}");
}
