//! A pipe in the place of a file of a record: each reader refuses it at once, and waits for nobody.

use crate::support::{Workplace, responder};
use dnsdyno_responder::Faults;

#[test]
fn a_pipe_in_the_place_of_a_record_is_refused_at_once() {
    let (work, server) = (Workplace::new(), responder(Faults::default()));
    work.dnsdyno(&format!("run -s {} --ask www.example --count 5 --quiet -o good", server.address()))
        .gives(0);
    work.shell("mkdir bad && mkfifo bad/run.ndjson && cp good/plan.toml bad/").gives(0);
    for words in [
        "show bad",
        "diagnose bad",
        "export --format json bad",
        "compare good --against bad",
        "report bad --out page.html",
    ] {
        let ran = work.dnsdyno(words);
        assert_eq!(ran.code(), Some(2), "{words}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("not a regular file"), "{words}: {}", ran.stderr);
    }
}
