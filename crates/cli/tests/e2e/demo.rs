//! The demo, and what the program says of itself.

use serde_json::Value;

use crate::support::Workplace;

#[test]
fn the_demo_runs_without_any_set_up_and_leaves_a_record() {
    let work = Workplace::new();
    let ran = work.dnsdyno("demo --quiet --json -o demo").gives(0);
    let summary: Value = serde_json::from_str(&ran.stdout).unwrap();
    let digest = work.record("demo");
    assert_eq!((digest.tally().scheduled, digest.tally().ends.answered), (220_000, 220_000));
    assert_eq!(digest.rows().len(), 10, "one row a step of the stair");
    assert!(summary.to_string().contains("220000"), "{summary:#}");
    let shown = work.dnsdyno("show demo").gives(0).stdout;
    assert!(shown.contains("response time from when the query was due"), "{shown}");
    assert!(work.read("demo/report.html").contains("<title>demo</title>"), "it leaves a page too");
}

#[test]
fn the_manual_comes_from_the_table_of_flags() {
    let work = Workplace::new();
    work.dnsdyno("man pages").gives(0);
    let (program, run) = (work.read("pages/dnsdyno.1"), work.read("pages/dnsdyno-run.1"));
    assert!(program.contains("Exit codes") || program.contains("Exit"), "{program}");
    assert!(run.contains("outstanding") && run.contains("i\\-may\\-load\\-this\\-server"), "{run}");
    for shell in ["bash", "zsh", "fish"] {
        assert!(work.dnsdyno(&format!("completions {shell}")).gives(0).stdout.contains("outstanding"));
    }
    assert!(work.dnsdyno("--version").gives(0).stdout.starts_with("dnsdyno "));
    assert!(work.dnsdyno("run --help").gives(0).stdout.contains("--plan runs/NAME/plan.toml"));
}
