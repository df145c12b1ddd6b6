//! `dnsdyno diagnose`: which bottleneck a run shows.

use dnsdyno_lab::ServerOptions;
use serde_json::Value;

use crate::respond::RespondProcess;
use crate::support::{Workplace, real_server, responder};

fn diagnosed(work: &Workplace, run: &str) -> Value {
    let ran = work.dnsdyno(&format!("diagnose {run} --json")).gives(0);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_server_that_stands_still_loses_what_its_receive_queue_cannot_hold() {
    let Some(server) = real_server("knot", &ServerOptions::default()) else { return };
    let work = Workplace::with_queries();
    server.pause().unwrap();
    // From many ports, so that each of its sockets gets queries.
    let ran = work.dnsdyno(&format!(
        "run -s {} -d q.txt --count 5000 --rate 5k --clients 64 -t 1s --watch process={} --quiet -o run",
        server.address(),
        server.pid()
    ));
    server.resume().unwrap();

    let digest = work.record("run");
    let drops = digest.watched()[0].as_ref().unwrap().counter("udp.drops");
    assert!(drops > 0, "the queue held all 5,000 queries");
    let found = diagnosed(&work, "run");
    let finding = &found["findings"][0];
    assert_eq!(finding["rule"], "udp-receive-queue", "{found:#}");
    assert_eq!(finding["explains"]["unanswered"], drops, "{found:#}");
    // The others were in the queue until their timeout.
    assert_eq!(found["trouble"]["unanswered"], 5_000, "{found:#}");
    assert_eq!(found["unexplained"], 5_000 - drops, "{found:#}");

    let text = work.dnsdyno("diagnose run").gives(0).stdout;
    for words in ["[udp-receive-queue]", "udp.drops", "udp.receive_buffer_bytes", "try:", "then:"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let said = ran.stdout;
    assert!(said.contains("diagnosis: ") && said.contains("more: dnsdyno diagnose run"), "{said}");
    assert!(said.contains("beside the load") && said.contains("udp.drops"), "{said}");
}

#[test]
fn without_anything_watched_it_says_so_and_what_to_do() {
    let work = Workplace::new();
    let server = RespondProcess::start(&work, "respond --listen 127.0.0.1:0 --loss 10% --seed 3");
    work.dnsdyno(&format!("run -s {} --ask www.example --count 500 -t 300ms --quiet -o run", server.address));
    server.end();
    let found = diagnosed(&work, "run");
    assert_eq!((&found["findings"], &found["watched"]), (&Value::Array(Vec::new()), &Value::Bool(false)));
    assert_eq!(found["unexplained"], found["trouble"]["unanswered"]);
    let text = work.dnsdyno("diagnose run").gives(0).stdout;
    assert!(text.contains("Nothing here explains") && text.contains("--watch auto"), "{text}");
}

#[test]
fn a_run_without_losses_has_nothing_to_explain() {
    let work = Workplace::new();
    let server = responder(Default::default());
    let address = server.address();
    work.dnsdyno(&format!("run -s {address} --ask www.example --count 200 --quiet -o run")).gives(0);
    let found = diagnosed(&work, "run");
    assert_eq!(found["findings"], Value::Array(Vec::new()));
    assert_eq!((&found["trouble"]["unanswered"], &found["unexplained"]), (&Value::from(0), &Value::from(0)));
}
