//! The demo, and what the program says of itself.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::Workplace;

#[test]
fn the_demo_runs_without_any_set_up_and_leaves_a_record() {
    let work = Workplace::new();
    let told = work.dnsdyno("demo --quiet -o demo").gives(0).stdout;
    let summary: Value = serde_json::from_str(&work.dnsdyno("show demo --json").gives(0).stdout).unwrap();
    let digest = work.record("demo");
    assert_eq!((digest.tally().scheduled, digest.tally().ends.answered), (220_000, 220_000));
    assert_eq!(digest.rows().len(), 10, "one row a step of the stair");
    let last: Vec<_> = told.trim_end().lines().rev().take(3).collect();
    assert!(last[0].starts_with("now measure your own server: dnsdyno run"), "{told}");
    assert!(
        last[1..].iter().any(|line| line.starts_with("Held 2,000 to ")),
        "it ends with what it has shown:\n{told}"
    );
    assert!(summary.to_string().contains("220000"), "{summary:#}");
    let shown = work.dnsdyno("show demo").gives(0).stdout;
    assert!(shown.contains("response time from when the query was due"), "{shown}");
    assert!(work.read("demo/report.html").contains("<title>demo</title>"), "it leaves a page too");
}

#[test]
fn the_manual_comes_from_the_table_of_flags() {
    let work = Workplace::new();
    let maker = Path::new(env!("CARGO_BIN_EXE_dnsdyno")).with_file_name("examples").join("manual");
    let check = Command::new(maker).arg("--check").output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
    let docs = |name: &str| {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)).unwrap()
    };
    assert!(docs("man/dnsdyno.1").contains("Exit"));
    let run = docs("man/dnsdyno-run.1");
    assert!(run.contains("outstanding") && run.contains("i\\-may\\-load\\-this\\-server"), "{run}");
    for shell in ["dnsdyno", "_dnsdyno", "dnsdyno.fish"] {
        assert!(docs(&format!("completions/{shell}")).contains("outstanding"));
    }
    assert!(work.dnsdyno("--version").gives(0).stdout.starts_with("dnsdyno "));
    assert!(work.dnsdyno("run --help").gives(0).stdout.contains("--plan runs/NAME/plan.toml"));
}

/// What bash offers for the word that is being typed: `words` with it at the end.
fn offered(words: &[&str]) -> Vec<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/completions/dnsdyno");
    let typed = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let last = words.len() - 1;
    let (cur, prev) = (words[last], words[last - 1]);
    let text = format!(
        "source '{}'; compopt() {{ echo nospace; }}; COMP_WORDS=({typed}); COMP_CWORD={last}; \
         _dnsdyno_word dnsdyno '{cur}' '{prev}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display()
    );
    let ran = Command::new("bash").args(["--norc", "-c", &text]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn bash_offers_the_words_that_an_option_can_have() {
    assert_eq!(offered(&["dnsdyno", "run", "--backend", ""]), ["sockets", "xdp", "auto"]);
    assert_eq!(offered(&["dnsdyno", "run", "--transport", "u"]), ["udp", "udp+tcp"]);
    assert_eq!(offered(&["dnsdyno", "find", "--method", "rfc"]), ["rfc2544", "rfc8219"]);
    assert_eq!(offered(&["dnsdyno", "qualify", "--skip", "b"]), ["burst"]);
    assert_eq!(offered(&["dnsdyno", "run", "--source", "e"]), ["nospace", "epc:"], "and it goes on");
    assert!(offered(&["dnsdyno", "n"]).contains(&"note".to_owned()));
}
