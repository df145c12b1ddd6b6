//! Loads that take longer to send than their schedule, and servers that answer less than they are asked: against the
//! responder held to a known limit.

use std::time::Duration;

use dnsdyno_responder::{Faults, Share};

use crate::support::{Workplace, responder};

/// What answers so many queries a second, and loses none.
fn limited_to(limit: &str) -> Faults {
    let limit = Some(limit.parse().unwrap());
    Faults { limit, limit_queue: Some(Duration::from_secs(9)), ..Faults::default() }
}

#[test]
fn a_rate_that_a_window_held_back_is_that_of_the_time_until_all_was_sent() {
    let work = Workplace::with_queries();
    let server = responder(limited_to("400"));
    let words = "--rate 1k --outstanding 10 --for 2s --timeout 9s --expect rate<450 --expect rate>350 -o run";
    let ran = work.dnsdyno(&format!("run -s {} -d q.txt {words}", server.address())).gives(0);
    assert!(ran.stdout.contains("load 2 s, sent in "), "{}", ran.stdout);
    let shown: serde_json::Value =
        serde_json::from_str(&work.dnsdyno("show --json run").gives(0).stdout).unwrap();
    let answered = shown["answered_qps"].as_f64().unwrap();
    assert!((350.0..450.0).contains(&answered), "{shown:#}");
    // A rate that is held back so long is not held.
    let github = work.dnsdyno("export github run").gives(0).stdout;
    assert!(github.contains("Did not hold"), "{github}");
}

#[test]
fn a_window_that_alone_has_set_the_rate_is_told_from_a_limit_that_was_reached() {
    let work = Workplace::with_queries();
    let server = responder(limited_to("400"));
    let window = |limit: u32| {
        let words = format!("--outstanding 10 --rate-limit {limit} --for 2s -o to-{limit}");
        work.dnsdyno(&format!("run -s {} -d q.txt {words}", server.address())).gives(0);
        work.record(&format!("to-{limit}")).sum.unwrap().evidence.window
    };
    assert_eq!((window(10_000), window(100)), (10, 0));
}

#[test]
fn the_busiest_worker_is_that_of_the_load_and_not_of_the_wait_for_the_last_responses() {
    let work = Workplace::with_queries();
    let server = responder(Faults { loss: Share::new(1.0).unwrap(), ..Faults::default() });
    let words = "--rate 20k --for 2s --timeout 3s --workers 1 -o run";
    work.dnsdyno(&format!("run -s {} -d q.txt {words}", server.address())).gives(1);
    let cpu_ns: Vec<u64> = work.intervals("run").iter().map(|second| second.workers[0].cpu_ns).collect();
    assert!(cpu_ns.len() > 3, "{cpu_ns:?}");
    let of_load = (cpu_ns[0] + cpu_ns[1]) as f64 / 2e9;
    let busiest = work.record("run").sum.unwrap().evidence.busiest_worker_cpu;
    assert!((busiest - of_load).abs() < 1e-6, "{busiest} {of_load} {cpu_ns:?}");
}

#[test]
fn a_step_of_three_seconds_and_a_ramp_beyond_the_limit_of_the_server_are_not_held() {
    let work = Workplace::with_queries();
    let server = responder(limited_to("800"));
    let run = |load: &str| {
        let words = format!("run -s {} -d q.txt --timeout 9s {load}", server.address());
        work.dnsdyno(&words).gives(0).stdout
    };
    let stair = run("--stair 400..1200 --step 400 --hold 3s -o stair");
    assert!(stair.contains("the queue grew by") && !stair.contains("400 to 1,200"), "{stair}");
    let ramp = run("--ramp 200..1600 --over 8s -o ramp");
    assert!(ramp.contains("the queue grew by"), "{ramp}");
    // With a hold the ramp still is judged by its seconds, not at its mean rate.
    let held = run("--ramp 100..700 --over 4s --hold 2s -o held");
    assert!(held.contains("held ") && held.contains(" to 700 queries/s"), "{held}");
}

#[test]
fn clients_that_are_busy_are_the_reason_of_a_load_that_takes_longer() {
    let work = Workplace::with_queries();
    let server = responder(limited_to("100"));
    let words = "--rate 300 --for 1s -m tcp --clients 2 --queries-per-connection 1 --timeout 9s";
    let said = work.dnsdyno(&format!("run -s {} -d q.txt {words} -o run", server.address())).gives(0).stdout;
    assert!(said.contains("sends behind") && said.contains("add --clients"), "{said}");
    assert!(!said.contains("this host cannot make this load"), "{said}");
}
