//! Loads of experiments that are no run of ours: searches for the limit and other programs; on a server whose limit is
//! known, stopped and resumed, and with programs that fail or never end. And what loads share with `dnsdyno run`.

use dnsdyno_lab::{Need, require};
use dnsdyno_responder::Faults;
use rustix::process::Signal;
use serde_json::Value;

use crate::beside::experiment::{SHORT, experiment, nothing_is_left, results};
use crate::support::{Workplace, responder};

/// An experiment with a server that answers 2,000 queries a second and holds a tenth of a second of them.
fn of_2000(work: &Workplace, loads: &str) {
    let template = format!(
        "package = \"none\"\nprogram = \"{}\"\nconfig = \"\"\n\
         command = [\"respond\", \"--listen\", \"{{address}}:{{port}}\", \"--limit\", \"2k\", \"--for\", \"300s\"]\n\
         version = {{ arguments = [\"--version\"], after = \"dnsdyno \" }}\n\
         [ready]\ntype = \"A\"\ntransports = [\"udp\"]\nport_taken = [\"in use\"]\n",
        env!("CARGO_BIN_EXE_dnsdyno")
    );
    work.write("limited.toml", &template);
    let server = "[[server]]\nname = \"limited\"\ntemplate = \"./limited.toml\"\n";
    work.write("x.toml", format!("{SHORT}ask = [\"www.example A\"]\n{server}{loads}"));
}

/// A search whose trials are short; the options of all runs have a length, which is none of its trials.
const SEARCH: &str = r#"
[[load]]
name = "limit"
timeout = "1s"

[load.find]
from = "1k"
least = "1k"
most = "20k"
trial = "1s"
rest = "0"
trials = 10
precision = "10%"
while = ["loss<1%", "p99<150ms"]
"#;

/// What the first cell has found.
fn found(results: &Value) -> &Value {
    &results["cells"][0]["found"][0]
}

#[test]
fn the_limit_of_a_server_is_searched_and_is_a_row_of_the_results() {
    let work = Workplace::new();
    let run = "[[load]]\nname = \"slow\"\nrate = 200\n";
    of_2000(&work, &format!("{SEARCH}{run}"));
    let planned = work.dnsdyno("experiment x.toml --dry-run").gives(0).stdout;
    assert!(planned.contains("limit: a search for the limit, at most "), "{planned}");
    assert!(
        planned.contains("4 runs: 1 server × (1 load × (0 + 1 repeat) and 1 load × (1 + 2 repeats))"),
        "{planned}"
    );
    assert!(planned.contains("takes at most "), "{planned}");

    let ran = experiment(&work, "-o out").gives(0);
    let results = results(&work, "out");
    let of_search = found(&results);
    let answer = of_search["answer"].as_str().unwrap();
    // On a busy host the generator may be in doubt, or a trial fail by the host: then it is less, never more.
    let figure = &of_search["figure"];
    match figure["value"].as_f64() {
        Some(value) => {
            assert!(value < 2_400.0, "{of_search}");
            assert!(answer.starts_with("capacity ") && figure["unit"] == "qps", "{of_search}");
            assert_eq!(
                figure["at_least"].as_bool(),
                Some(answer.starts_with("capacity at least")),
                "{of_search}"
            );
        }
        None => assert!(
            ["no capacity", "not met", "nothing can be said"].iter().any(|said| answer.starts_with(said))
        ),
    }
    // The same in each form, and as the search itself has it.
    assert!(ran.stdout.contains(&format!("limited under limit: {}", &answer[..20])), "{}", ran.stdout);
    let markdown = work.read("out/results.md");
    assert!(
        markdown.contains("## Searches and programs") && markdown.contains("| limit | limited |"),
        "{markdown}"
    );
    let page = work.read("out/index.html");
    assert!(page.contains("Searches and programs") && page.contains("limited under limit, run 1"));
    // One load has runs: its servers stand beside each other.
    assert!(page.contains(">Under slow</h2>") && page.contains(">server</text>"), "{page}");
    let own: Value = serde_json::from_str(&work.read("out/runs/001/find.json")).unwrap();
    assert_eq!(own["answer"], answer);
    for trial in own["trials"].as_array().unwrap() {
        let load = trial["load"].as_f64().unwrap();
        assert!(load < 2_400.0 || trial["verdict"] != "passed", "{trial}");
    }
    // The other load has its usual figures, and the search none.
    let cells = results["cells"].as_array().unwrap();
    assert_eq!(cells[0]["runs"].as_array().unwrap().len(), 0);
    assert_eq!(
        (cells[1]["runs"].as_array().unwrap().len(), cells[1]["found"].as_array().unwrap().len()),
        (2, 0)
    );
    assert_eq!(work.read("out/results.csv").lines().count(), 3);
}

/// The numbers of the trials that a search has begun, with those that were cut off and made again.
fn trials_begun(work: &Workplace) -> Vec<u64> {
    if !work.has("out/runs/001/journal.ndjson") {
        return Vec::new();
    }
    let journal = work.read("out/runs/001/journal.ndjson");
    let lines = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line["began"].as_u64()).collect()
}

#[test]
fn a_search_that_was_killed_goes_on_with_its_next_trial() {
    let work = Workplace::new();
    of_2000(&work, SEARCH);
    for (signal, trials) in [(Signal::KILL, 2), (Signal::INT, 4)] {
        let mut started = work.start("experiment x.toml -o out");
        let pid = u32::try_from(started.pid().as_raw_nonzero().get()).unwrap();
        started.until("some trials", || trials_begun(&work).len() > trials);
        started.signal(signal);
        started.wait();
        if signal == Signal::INT {
            nothing_is_left(pid);
        }
    }
    let begun = trials_begun(&work);
    let ran = experiment(&work, "-o out").gives(0);
    assert!(ran.stderr.contains("the search goes on after "), "{}", ran.stderr);
    let all = trials_begun(&work);
    assert_eq!(all[..begun.len()], begun[..]);
    // Only a trial that was cut off is begun again.
    let mut different = all.clone();
    different.dedup();
    assert!(all.len() - different.len() <= 2, "{all:?}");
    assert_eq!(different, (1..=different.len() as u64).collect::<Vec<_>>());
    assert!(!work.has("out/runs/001-cut-1") && !work.has("out/runs/002"));
    // And the whole is made once.
    experiment(&work, "-o out").gives(0);
    assert_eq!(trials_begun(&work), all);
}

#[test]
fn programs_in_the_place_of_the_generator_give_their_figures_or_their_failure() {
    let work = Workplace::new();
    let loads = r#"
[[load]]
name = "says"
command = "echo asked at {server.address} $DNSDYNO_SERVER_PORT; echo rate: 1,234.5 qps of $(wc -l < {queries})"
figure = "rate:"

[[load]]
name = "fails"
command = "echo no luck; exit 3"

[[load]]
name = "never"
command = "echo waits; sleep 600 & sleep 600"
within = "300ms"

[[load]]
name = "mute"
command = "echo rate: none"
figure = "rate:"
"#;
    of_2000(&work, loads);
    let ran = experiment(&work, "-o out").gives(1);
    for words in [
        "discarded: limited: the program ended with exit status: 3",
        "the last line that it printed: no luck",
        "discarded: limited: the program had not ended after ",
        "and was ended; the last line that it printed: waits",
        "has printed no number after `rate:`",
    ] {
        assert!(ran.stderr.contains(words), "{words} is missing: {}", ran.stderr);
    }
    let results = results(&work, "out");
    let states: Vec<&str> =
        results["cells"].as_array().unwrap().iter().map(|cell| cell["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["complete", "not_measured", "not_measured", "not_measured"]);
    let says = found(&results);
    assert_eq!(
        (says["figure"]["value"].as_f64(), says["figure"]["unit"].as_str()),
        (Some(1234.5), Some("rate"))
    );
    let text = says["text"].as_array().unwrap();
    let asked_at: Vec<&str> = text[0].as_str().unwrap().split(' ').collect();
    assert!(asked_at[2].starts_with('1') && asked_at[3].parse::<u16>().is_ok(), "{says}");
    assert!(text[1].as_str().unwrap().ends_with("qps of 1"), "{says}");
    // Two count after the one that is dropped; each has its own output.
    assert_eq!(results["cells"][0]["found"].as_array().unwrap().len(), 2);
    assert!(work.read("out/runs/001/output.txt").contains("rate: 1,234.5 qps"));
    assert!(work.read("out/results.md").contains("rate: 1,234.5 qps of 1"));
}

#[test]
fn the_original_and_our_personality_send_the_same_number_of_queries() {
    if !require(&[Need::Program { name: "dnsperf", package: "dnsperf" }, Need::Server("nsd")]) {
        return;
    }
    let work = Workplace::new();
    let server = "[[server]]\nname = \"nsd\"\ntemplate = \"nsd\"\n";
    let load = |name: &str, program: &str| {
        format!(
            "[[load]]\nname = \"{name}\"\nrepeats = 1\ndrop-first = 0\nfigure = \"Queries sent:\"\n\
             command = \"{program} -s {{server.address}} -p {{server.port}} -d {{queries}} -q 5 -n 4\"\n"
        )
    };
    let loads = [load("original", "dnsperf"), load("own", "{dnsdyno} dnsperf")].concat();
    work.write("x.toml", format!("{SHORT}{server}{loads}"));
    experiment(&work, "-o out").gives(0);
    let results = results(&work, "out");
    let sent = |at: usize| results["cells"][at]["found"][0]["figure"]["value"].as_f64();
    // The 125 queries of the testbed, four times.
    assert_eq!((sent(0), sent(1)), (Some(500.0), Some(500.0)), "{results}");
}

#[test]
fn a_run_falls_back_to_sockets_where_af_xdp_cannot_be_had() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    // Nobody sends over AF_XDP to an address of the host itself.
    let there = format!("[[server]]\nname = \"there\"\naddress = \"{}\"\n", server.address());
    let run = "backend = \"auto\"\nask = [\"www.example A\"]\n";
    let load = "[[load]]\nname = \"l\"\nrate = 100\nrepeats = 1\ndrop-first = 0\n";
    work.write("x.toml", format!("{SHORT}{run}{there}{load}"));
    experiment(&work, "-o out").gives(0);
    let header = work.record("out/runs/001").header;
    assert!(header.backend.xdp.is_none(), "{:?}", header.backend);
    assert!(header.backend.why.is_some_and(|why| !why.is_empty()), "it says why");
}

#[test]
fn mistakes_of_searches_and_programs_are_told_before_anything_is_made() {
    let work = Workplace::new();
    let cases: [(&str, &[&str]); 9] = [
        ("find = { methd = \"ramp\" }", &["line ", "has no key `methd`: did you mean `method`?"]),
        ("find = \"rmp\"", &["load `l`", "rmp"]),
        ("find = \"ramp\"", &["load `l`", "most"]),
        ("find = { most = \"1k\" }\nrate = 100", &["load `l`", "rate"]),
        ("find = \"search\"\ncommand = \"true\"", &["`find` and `command`"]),
        ("find = \"search\"\nsteady = \"1%\"", &["`steady` is of a load of `dnsdyno run`"]),
        ("rate = 100\nfigure = \"x\"", &["`figure` is of a load with `command`"]),
        ("command = \"true\"\nrate = 100", &["the options of a program are words of its `command`"]),
        ("command = \"true\"\nfigure = \" \"", &["`figure` has the words before the figure"]),
    ];
    for (keys, words) in cases {
        of_2000(&work, &format!("[[load]]\nname = \"l\"\n{keys}\n"));
        experiment(&work, "-o out").ends_refused(2, words);
        assert!(!work.has("out"), "nothing is made");
    }
    let event = "[[event]]\nat = 0\npause = \"1s\"\nloads = [\"limit\"]\n";
    of_2000(&work, &format!("{SEARCH}{event}"));
    experiment(&work, "-o out").ends_refused(2, &["a search has many"]);
}
