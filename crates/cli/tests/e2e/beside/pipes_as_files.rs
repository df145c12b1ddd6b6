//! A pipe in the place of a file of a record: each reader refuses it at once, and waits for nobody.

use dnsdyno_responder::Faults;

use crate::support::{DNSDYNO, Workplace, responder};

#[test]
fn a_pipe_in_the_place_of_a_record_is_refused_at_once() {
    let (work, server) = (Workplace::new(), responder(Faults::default()));
    work.dnsdyno(&format!("run -s {} --ask www.example --count 5 --quiet -o good", server.address()))
        .gives(0);
    work.shell("mkdir bad && mkfifo bad/run.ndjson && cp good/plan.toml bad/").gives(0);
    for (words, says) in [
        ("show bad", "not a regular file"),
        ("diagnose bad", "not a regular file"),
        ("export json bad", "not a regular file"),
        ("compare good --against bad", "is not a run"),
        ("report bad --out page.html", "is not a run"),
    ] {
        // With the code 124 it would have waited.
        let ran = work.shell(&format!("timeout 30 {DNSDYNO} {words}")).gives(2);
        assert!(ran.stderr.contains(says), "{words}: {}", ran.stderr);
    }
}
