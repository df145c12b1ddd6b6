//! `dnsdyno diagnose`: which bottleneck a run shows.

use dnsdyno_lab::ServerOptions;
use rustix::process::Signal;
use serde_json::Value;

use crate::beside::experiment::experiment;
use crate::beside::respond::RespondProcess;
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

#[test]
fn of_a_search_the_trial_just_above_the_limit_is_diagnosed() {
    let work = Workplace::new();
    let server = RespondProcess::start(&work, "respond --listen 127.0.0.1:0 --limit 2k --limit-queue 20ms");
    let words = format!(
        "find -s {} --ask www.example --while loss<1% --trial 500ms --rest 0 --from 1k --least 500 --most 20k \
         --trials 12 --precision 20% --timeout 300ms --quiet -o f",
        server.address
    );
    work.dnsdyno(&words);
    server.end();
    let result: Value = serde_json::from_str(&work.read("f/find.json")).unwrap();
    let load = |trial: &&Value| trial["load"].as_f64().unwrap();
    let above = result["outcome"]["from"].as_f64().unwrap_or(0.0);
    let failed = result["trials"].as_array().unwrap().iter().filter(|trial| trial["verdict"] == "failed");
    let lowest =
        failed.filter(|trial| load(trial) >= above).min_by(|a, b| load(a).total_cmp(&load(b))).unwrap();
    let run = format!("f/runs/{:03}", lowest["number"].as_u64().unwrap());

    let found = diagnosed(&work, "f");
    assert_eq!((&found["kind"], &found["answer"]), (&Value::from("search"), &result["answer"]));
    assert_eq!(found["of"]["run"], run, "{found:#}");
    assert_eq!(found["diagnosis"], diagnosed(&work, &run));
    // At the limit itself the queue may only have grown.
    let has_grown = found["of"]["why"].as_str().unwrap().contains("queue that grows");
    assert!(has_grown || found["diagnosis"]["trouble"]["unanswered"].as_u64() > Some(10), "{found:#}");
    let text = work.dnsdyno("diagnose f").gives(0).stdout;
    let says = format!("{run}, the trial with the lowest load that failed at the limit or above: ");
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(&says), "{text}");
}

#[test]
fn of_an_experiment_a_run_of_each_cell_is_diagnosed() {
    let work = Workplace::new();
    let healthy = RespondProcess::start(&work, "respond --listen 127.0.0.1:0");
    let lossy = RespondProcess::start(&work, "respond --listen 127.0.0.1:0 --loss 30% --seed 3");
    let servers = [("healthy", &healthy), ("lossy", &lossy)]
        .map(|(name, server)| format!("[[server]]\nname = \"{name}\"\naddress = \"{}\"\n", server.address));
    let text = format!(
        "repeats = 2\ndrop-first = 0\ncool-down = \"20ms\"\nsteady = \"off\"\nin-doubt = \"keep\"\nwatch = \"off\"\n\
         [run]\nask = [\"www.example\"]\ntimeout = \"300ms\"\n{}\
         [[load]]\nname = \"slow\"\nrate = 200\ncount = 100\n\
         [[load]]\nname = \"limit\"\nfind = {{ while = [\"loss<1%\"], from = \"200\", least = \"200\", most = \"400\", \
         trial = \"500ms\", rest = \"0\", trials = 10 }}\n\
         [[load]]\nname = \"program\"\ncommand = \"echo 'figure: 7'\"\nfigure = \"figure:\"\n",
        servers.concat()
    );
    work.write("x.toml", text);
    experiment(&work, "-o out");
    healthy.end();
    lossy.end();
    let results: Value = serde_json::from_str(&work.read("out/results.json")).unwrap();
    let found = diagnosed(&work, "out");
    assert_eq!(found["kind"], "experiment");
    let cells = found["cells"].as_array().unwrap();
    let names: Vec<_> = cells.iter().map(|cell| format!("{} {}", cell["load"], cell["server"])).collect();
    let wanted: Vec<_> = results["cells"].as_array().unwrap().iter().collect();
    assert_eq!(
        names,
        wanted.iter().map(|cell| format!("{} {}", cell["load"], cell["server"])).collect::<Vec<_>>()
    );
    let lost = |cell: &Value| cell["diagnosis"]["trouble"]["unanswered"].as_u64();
    for (cell, of) in cells.iter().zip(wanted) {
        match of["load"].as_str().unwrap() {
            "slow" => {
                let run = format!("out/runs/{:03}", of["runs"][0].as_u64().unwrap());
                assert_eq!(cell["of"]["run"], run);
                assert_eq!(cell["diagnosis"], diagnosed(&work, &run));
                assert_eq!(lost(cell) > Some(10), of["server"] == "lossy", "{cell:#}");
            }
            "limit" => {
                let search = format!("out/runs/{:03}", of["found"][0]["run"].as_u64().unwrap());
                assert_eq!(cell["of"], diagnosed(&work, &search)["of"], "{cell:#}");
            }
            _ => {
                assert!(cell["not_diagnosed"].as_str().unwrap().contains("a program has put the load on it"))
            }
        }
    }
    let text = work.dnsdyno("diagnose out").gives(0).stdout;
    for words in ["finding", "not explained", "lossy under slow: ", "more: dnsdyno diagnose out/runs/"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_search_that_has_not_ended_says_how_to_go_on() {
    let work = Workplace::new();
    let server = RespondProcess::start(&work, "respond --listen 127.0.0.1:0");
    let words = format!("find -s {} --ask www.example --trial 1s --trials 60 --quiet -o f", server.address);
    let mut search = work.start(&words);
    search.until("a trial", || work.has("f/runs/002"));
    search.signal(Signal::INT);
    search.wait().gives(130);
    server.end();
    work.dnsdyno("diagnose f").gives(2).says(&["f has no results yet", "or name one of its runs, in f/runs"]);
    diagnosed(&work, "f/runs/001");
}

#[test]
fn a_server_that_ends_is_named_by_what_the_network_refuses() {
    let work = Workplace::new();
    let server = responder(Default::default());
    let words = format!(
        "run -s {} --ask www.example --rate 500 --for 3s -t 500ms --interval 200ms --quiet -o run",
        server.address()
    );
    let mut run = work.start(&words);
    run.until("some intervals are over", || {
        work.has("run") && work.read("run/run.ndjson").lines().count() > 4
    });
    server.stop();
    run.wait().gives(0);
    let refused = work.record("run").tally().ends.refused;
    assert!(refused > 100, "{refused}");
    let found = diagnosed(&work, "run");
    assert_eq!(found["findings"][0]["rule"], "closed-port", "{found:#}");
    assert_eq!(found["findings"][0]["explains"]["unanswered"], refused, "{found:#}");
}

#[test]
fn a_closed_port_is_named_over_connections_too() {
    let work = Workplace::new();
    let closed = crate::support::closed_port();
    for (transport, more) in [("tcp", ""), ("dot", "--insecure"), ("doq", "--insecure")] {
        let words = format!("-m {transport} {more} --outstanding 5 --for 1s --quiet -o {transport}");
        work.dnsdyno(&format!("run -s {closed} --ask www.example {words}"));
        let digest = work.record(transport);
        let found = diagnosed(&work, transport);
        assert_eq!(found["findings"][0]["rule"], "closed-port", "{transport}: {found:#}");
        let connections = digest.arrivals().connections.as_ref().unwrap();
        assert_eq!((connections.established, connections.reused), (0, 0), "{transport}");
        assert!(!digest.warnings().iter().any(|warning| warning.name() == "own_share"), "{transport}");
    }
}

/// A server with a limit of its rate of 50, of which nothing but its process is watched: the responses show it.
#[test]
fn a_rate_limit_is_named_by_the_responses_where_the_server_does_not_tell_it() {
    let nsd = [("rrl_ratelimit", "50")];
    let bind = [("more_options", "rate-limit { responses-per-second 50; };")];
    for (name, values) in [("nsd", nsd), ("bind", bind)] {
        let mut options = ServerOptions::default();
        options.values.extend(values.map(|(value, text)| (value.to_owned(), text.to_owned())));
        let Some(server) = real_server(name, &options) else { return };
        let work = Workplace::with_queries();
        let words = format!(
            "run -s {} --ask host-000.dyno.example --rate 1k --for 3s -t 300ms --watch process={} --quiet -o run",
            server.address(),
            server.pid()
        );
        work.dnsdyno(&words);
        let (ends, arrivals) =
            (&work.record("run").tally().ends.clone(), work.record("run").arrivals().clone());
        assert!(ends.timed_out > 1_000 && arrivals.anomalies.truncated > 1_000, "{name}: {ends:?}");
        let found = diagnosed(&work, "run");
        assert_eq!(found["findings"][0]["rule"], "rate-limit", "{name}: {found:#}");
        let verdict = found["verdict"].as_str().unwrap();
        assert!(
            verdict.contains("he server answers as one that limits the rate of its responses"),
            "{verdict}"
        );
        let parameters = found["findings"][0]["parameters"].as_array().unwrap();
        assert!(
            !parameters.is_empty() && parameters.iter().all(|one| one["value"] == "not known"),
            "{found:#}"
        );
    }
}
