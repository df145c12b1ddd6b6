//! `--workers auto`: what the trials before a run send, what they find, and who refuses them.

use dnsdyno_responder::Faults;
use dnsdyno_sys::thread::allowed_cpus;
use rustix::process::Signal;

use crate::support::{Workplace, closed_port, responder};

/// Numbers of workers that are tried at first: 1, 2, 4, … all CPUs.
fn first_counts() -> usize {
    let cpus = allowed_cpus().unwrap().len();
    (0..).take_while(|power| 1_usize << power < cpus).count() + 1
}

#[test]
fn trials_send_the_peak_of_the_load_and_the_fewest_workers_that_do_it_in_time_make_the_run() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let load = "--ramp 1k..2k --over 400ms --workers auto -o run";
    let ran = work.dnsdyno(&format!("run -s {} --ask www.example {load}", server.address())).completes();
    let trials = first_counts() * 3;
    let ran = ran.says(&[&format!("at least {trials} trials of 1 s"), "they load the server"]);
    let digest = work.record("run");
    let (workers, reason) = (digest.header.workers, digest.header.workers_reason.clone().unwrap());
    // On a busy host one may not be enough.
    let is_found = reason == "by trials: the fewest that send 2k qps in time"
        || reason.starts_with("by trials: none sends 2k qps in time; queries/s ");
    assert!(is_found, "{reason}");
    let shown = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(&reason), "{shown}");
    // The record repeats the run without trials.
    assert!(work.read("run/plan.toml").contains(&format!("\nworkers = {workers}\n")));
    // What is between two numbers may be tried too.
    let of_trials = server.stop().udp.counts.received - digest.tally().requests;
    let rounds = (of_trials as f64 / (3.0 * 2_000.0)).round();
    // A busy host may drop some at the server's socket.
    assert!(
        (rounds * 3.0 * 2_000.0 - of_trials as f64).abs() < 60.0 * rounds,
        "{of_trials} queries of trials"
    );
    assert!(rounds >= (trials / 3) as f64, "{of_trials} queries of trials");
    assert!(!work.has("runs"), "a trial has left a record");
}

#[test]
fn a_closed_loop_gets_the_fewest_workers_with_nearly_the_most_answers() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let load = "--outstanding 50 --for 200ms --workers auto --quiet -o run";
    let ran = work.dnsdyno(&format!("run -s {} --ask www.example {load}", server.address())).completes();
    assert_eq!(ran.stderr, "", "trials of a quiet run");
    let digest = work.record("run");
    let reason = digest.header.workers_reason.clone().unwrap();
    let figures = reason.strip_prefix("by trials: answers/s ").unwrap();
    let figure = |figure: &str| {
        let (qps, workers) = figure.split_once(" with ").unwrap();
        (workers.parse::<u32>().unwrap(), qps.replace(',', "").parse::<f64>().unwrap())
    };
    let figures: Vec<(u32, f64)> = figures.split(", ").map(figure).collect();
    let most = figures.iter().map(|(_, qps)| *qps).fold(0.0, f64::max);
    // The printed figures are rounded.
    let enough: Vec<u32> =
        figures.iter().filter(|(_, qps)| *qps >= most * 0.97 - 1.0).map(|(workers, _)| *workers).collect();
    assert!(most > 0.0 && figures.len() >= first_counts(), "{reason}");
    assert_eq!(Some(&digest.header.workers), enough.first(), "{reason}");
    // Three trials of each, and no median is more than what was answered.
    let answered = server.stop().udp.counts.received - digest.tally().requests;
    assert!(answered as f64 > figures.iter().map(|(_, qps)| qps).sum::<f64>(), "{answered} of {reason}");
}

#[test]
fn who_cannot_make_trials_says_what_to_write() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let address = server.address();
    work.write("plan.toml", format!("server = \"{address}\"\nqueries = \"q.txt\"\nworkers = \"all\"\n"));
    for (words, said) in [
        (format!("find -s {address} -d q.txt --workers auto"), "only `dnsdyno run` on this host"),
        (format!("qualify -s {address} -d q.txt --workers auto"), "only `dnsdyno run` on this host"),
        (format!("run -s {address} -d q.txt --workers auto --on local:2"), "--on makes the load on others"),
        (format!("run -s {address} -d q.txt --workers auto --part 1/2"), "--part is one of its parts"),
        (format!("run -s {address} -d q.txt --workers auto --backend xdp"), "a worker for each queue"),
        (format!("run -s {address} -d q.txt --workers many"), "such as 4, or `auto`"),
        (format!("run -s {address} -d none.txt --workers auto"), "none.txt"),
        (format!("run -s {address} -d - --workers auto"), "can be read once only"),
        (format!("run -s {address} -d /dev/stdin --workers auto"), "can be read once only"),
        (
            format!("run -s {address} -d q.txt --queries-format updates --workers auto"),
            "updates change the zone",
        ),
        ("run --plan plan.toml".to_owned(), "such as 4, or `auto`"),
    ] {
        let ran = work.dnsdyno(&words).ends_refused(2, &[said]);
        assert!(!ran.stderr.contains("they load the server"), "{words}: {}", ran.stderr);
    }
    assert_eq!(server.stop().udp.counts.received, 0);
}

#[test]
fn ctrl_c_in_a_trial_ends_the_program_and_leaves_no_record() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let words = format!("run -s {} --ask www.example --rate 100 --for 9s --workers auto", server.address());
    let mut stopped = work.start(&words);
    stopped.until("a trial runs", || server.book().udp.counts.received > 10);
    stopped.signal(Signal::INT);
    let ran = stopped.wait();
    assert_eq!(ran.code(), Some(130), "{}", ran.stderr);
    let ran = ran.says(&["stopped in the trials"]);
    assert!(!work.has("runs"), "{}", ran.stderr);
    assert!(server.stop().udp.counts.received <= 100, "the next trial began");
}

#[test]
fn a_server_that_is_not_there_is_told_by_the_first_trial() {
    let work = Workplace::new();
    let address = closed_port();
    let ran = work.checked(&format!("run -s {address} --ask www.example --workers auto"));
    assert_eq!(ran.code(), Some(3));
    ran.says(&["nothing listens on this port"]);
}
