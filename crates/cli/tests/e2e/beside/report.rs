//! The report page: each figure on it is that of `show` and of the record, nothing in a record becomes markup, and
//! what is no record, or no page of ours, is refused.

mod page;

use std::collections::BTreeMap;
use std::fs;

use dnsdyno_measure::{Latency, Quantile};
use dnsdyno_record::figures::{longest, sent};
use dnsdyno_record::{Digest, Headline, Interval, Row};
use dnsdyno_responder::{Config, Faults, Responder, Rule, Running, Share, Transport};
use dnsdyno_wire::{rcode_name, type_name};
use serde_json::Value;

use crate::support::{Workplace, responder};
use page::{Cell, Page};

const ASK: &str = "--ask www.example --ask mail.example/AAAA --quiet -o run";

/// The page of the run in the folder.
fn page_of(work: &Workplace, run: &str) -> Page {
    let ran = work.dnsdyno(&format!("report {run}")).gives(0);
    assert_eq!((ran.stdout.trim_end(), ran.stderr.as_str()), (format!("{run}/report.html").as_str(), ""));
    Page::read(work.read(&format!("{run}/report.html")))
}

/// Makes a run against this server, and checks its page.
fn agrees(server: Running, load: &str) {
    let work = Workplace::new();
    work.dnsdyno(&format!("run -s {} {load} {ASK}", server.address())).completes();
    server.stop();
    check_page(&work, "run");
}

/// Checks the page of a run against its summary, and against each of its intervals.
fn check_page(work: &Workplace, name: &str) {
    let page = page_of(work, name);
    let digest = work.record(name);
    is_the_summary(work, name, &page, &digest);
    has_the_texts_of_the_summary(&page, &digest);
    has_each_interval(&page, &digest, &work.intervals(name));
}

#[track_caller]
fn is_the_summary(work: &Workplace, name: &str, page: &Page, digest: &Digest) {
    let shown = work.dnsdyno(&format!("show --json {name}")).gives(0).stdout;
    let mut shown: Value = serde_json::from_str(&shown).unwrap();
    shown.as_object_mut().unwrap().remove("intervals");
    let run = page.run(0);
    assert_eq!(run["summary"], shown);
    assert_eq!(run["run_id"], digest.header.run_id.as_str());
    assert_eq!(run["to_ns"], digest.to_ns());
    let told = dnsdyno_report::answer(digest);
    assert_eq!(run["answer"]["sentence"], told.sentence.as_str());
    assert_eq!(run["verdict"]["word"], told.verdict.word);
    let escaped = told.sentence.replace('>', "&gt;").replace('\'', "&#39;");
    assert!(page.html.contains(&escaped), "a browser without scripts has the answer");
}

/// Each row of the tables that a summary has too is one of its lines.
#[track_caller]
fn has_the_texts_of_the_summary(page: &Page, digest: &Digest) {
    let text = dnsdyno_report::summary(digest, 1_000) + &dnsdyno_report::workers(digest, 1_000);
    let of_summary = ["steps", "time", "latencies", "ends", "members", "workers"];
    let tables = page.run(0)["tables"].as_array().unwrap();
    for table in tables.iter().filter(|table| of_summary.contains(&table["id"].as_str().unwrap())) {
        for row in table["rows"].as_array().unwrap() {
            let cells: Vec<_> = row.as_array().unwrap().iter().map(|cell| cell.as_str().unwrap()).collect();
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let wanted = words(&cells.join(" "));
            assert!(text.lines().any(|line| words(line) == wanted), "{cells:?} is no line of\n{text}");
        }
    }
}

/// The columns have what the record has, row by row, and nothing else.
#[track_caller]
fn has_each_interval(page: &Page, digest: &Digest, intervals: &[Interval]) {
    let columns = page.columns(0, 0);
    let heat = (!page.run(0)["series"]["levels"][0]["heat"].is_null()).then(|| page.heat(0, 0));
    assert!(columns.values().all(|cells| cells.len() == intervals.len()));
    for name in ["from_ns", "covered_ns", "scheduled", "sent", "ends.answered"] {
        assert!(columns.contains_key(name), "{name}");
    }
    for (at, interval) in intervals.iter().enumerate() {
        let expected = cells_of(digest, interval);
        for (name, cells) in &columns {
            let none = if is_figure(name) { Cell::Nothing } else { Cell::Number(0) };
            assert_eq!(cells[at], expected.get(name).copied().unwrap_or(none), "{name} of interval {at}");
        }
        for (name, cell) in &expected {
            let is_there = columns.contains_key(name) || *cell == Cell::Number(0) || *cell == Cell::Nothing;
            assert!(is_there, "{name} {cell:?} of interval {at} is not on the page");
        }
        let latency = digest.header.latency_of(&interval.tally).answered;
        if let Some(heat) = &heat {
            for (bucket, count) in &heat[at] {
                let from = |bucket: u64| (8 + bucket % 8) << (bucket / 8 - 3);
                let within =
                    latency.buckets().filter(|b| (from(*bucket)..from(bucket + 1)).contains(&b.from_ns));
                assert_eq!(within.map(|b| b.count).sum::<u64>(), *count, "interval {at}, bucket {bucket}");
            }
        }
        let in_cells: u64 = heat.iter().flat_map(|heat| &heat[at]).map(|(_, count)| count).sum();
        assert_eq!(in_cells, latency.count());
    }
}

/// Whether an interval may have no such figure.
fn is_figure(name: &str) -> bool {
    let ends = [".p50", ".p99", ".p99_9", ".max", ".min", ".avg", ".p25", ".p75", ".p90", ".p95"];
    ends.iter().any(|end| name.ends_with(end))
}

/// The cells of an interval, from the JSON of its line in the record.
fn cells_of(digest: &Digest, interval: &Interval) -> BTreeMap<String, Cell> {
    let (header, row) = (&digest.header, Row::of(interval));
    let mut cells = BTreeMap::new();
    let tally = serde_json::to_value(&interval.tally).unwrap();
    add_counts(&mut cells, "", &tally, digest);
    add_counts(&mut cells, "arrivals", &serde_json::to_value(&interval.arrivals).unwrap(), digest);
    add_counts(&mut cells, "workers", &serde_json::to_value(&interval.workers).unwrap(), digest);
    for (name, number) in [
        ("from_ns", interval.from_ns),
        ("covered_ns", interval.covered_ns()),
        ("idle_ns", interval.to_ns - interval.from_ns - interval.covered_ns()),
        ("asked_micro", row.asked_micro),
        ("sent", sent(&interval.tally)),
    ] {
        cells.insert(name.to_owned(), Cell::Number(number));
    }
    let latency = header.latency_of(&interval.tally);
    for (key, q) in [
        ("p25", 0.25),
        ("p50", 0.5),
        ("p75", 0.75),
        ("p90", 0.9),
        ("p95", 0.95),
        ("p99", 0.99),
        ("p99_9", 0.999),
    ] {
        cells.insert(format!("latency.{key}"), cell(latency.percentile(q)));
    }
    let exact = latency.answered.exact();
    cells.insert("latency.max".into(), cell(longest(latency)));
    cells.insert("latency.min".into(), cell(exact.map(|exact| Quantile::At(exact.min_ns))));
    cells.insert("latency.avg".into(), cell(latency.answered.mean_ns().map(Quantile::At)));
    let other = match header.headline {
        Headline::Response => ("service", interval.tally.service_latency()),
        Headline::Service => ("response", interval.tally.response_latency()),
    };
    add_durations(&mut cells, other.0, other.1);
    for (n, member) in interval.tally.members.iter().enumerate() {
        add_durations(&mut cells, &format!("members.{n}.response"), member.response_latency());
        add_durations(&mut cells, &format!("members.{n}.service"), member.service_latency());
    }
    cells
}

/// Each count in the JSON by its path, and the figures of each histogram that is not a latency with losses.
fn add_counts(cells: &mut BTreeMap<String, Cell>, path: &str, json: &Value, digest: &Digest) {
    let name = |key: &str| match path {
        "rcodes" => rcode_name(key.parse().unwrap()).into_owned(),
        "types" => type_name(digest.header.types[key.parse::<usize>().unwrap()]).into_owned(),
        _ => key.to_owned(),
    };
    let below = |key: &str| if path.is_empty() { name(key) } else { format!("{path}.{}", name(key)) };
    match json {
        Value::Number(number) => _ = cells.insert(path.to_owned(), Cell::Number(number.as_u64().unwrap())),
        Value::Object(object) if object.contains_key("sum_squares_ns2") => {
            // The headline latency has columns of its own.
            let is_headline = path.ends_with("response") || path.ends_with("service");
            let histogram = (!is_headline).then(|| serde_json::from_str(&json.to_string()).unwrap());
            let histogram = histogram.as_ref();
            histogram.into_iter().for_each(|answered| {
                add_durations(cells, path, Latency { answered, unanswered: 0 });
            });
        }
        Value::Object(object) => object.iter().for_each(|(key, v)| add_counts(cells, &below(key), v, digest)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(n, v)| add_counts(cells, &below(&n.to_string()), v, digest));
        }
        _ => {}
    }
}

fn add_durations(cells: &mut BTreeMap<String, Cell>, path: &str, latency: Latency<'_>) {
    cells.insert(format!("{path}.count"), Cell::Number(latency.count()));
    cells.insert(format!("{path}.p50"), cell(latency.percentile(0.5)));
    cells.insert(format!("{path}.p99"), cell(latency.percentile(0.99)));
    cells.insert(format!("{path}.max"), cell(longest(latency)));
}

fn cell(quantile: Option<Quantile>) -> Cell {
    match quantile {
        None => Cell::Nothing,
        Some(Quantile::BeyondTimeout) => Cell::Beyond,
        Some(Quantile::At(ns)) => Cell::Number(ns),
    }
}

fn share(part: f64) -> Share {
    Share::new(part).unwrap()
}

fn start(config: Config) -> Running {
    Responder::start(config).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_page_of_a_run_over_udp_with_losses_has_the_figures_of_its_record() {
    let faults = Faults { loss: share(0.1), ..Faults::default() };
    agrees(responder(faults), "--rate 2k --for 2s --timeout 200ms");
}

#[test]
fn the_page_of_a_closed_loop_over_tcp_has_the_figures_of_its_record() {
    agrees(responder(Faults::default()), "--transport tcp --outstanding 20 --clients 4 --for 1s");
}

#[test]
fn the_page_of_a_run_over_doh_has_the_figures_of_its_record() {
    let free = "127.0.0.1:0".parse().unwrap();
    let server = start(Config { doh: vec![free], ..Config::default() });
    let work = Workplace::new();
    let address = server.addresses_of(Transport::Doh)[0];
    work.dnsdyno(&format!("run -s {address} --transport doh --insecure --rate 500 --for 1s {ASK}")).gives(0);
    check_page(&work, "run");
    let tables = page_of(&work, "run").run(0)["tables"].to_string();
    assert!(tables.contains("\"handshakes\"") && tables.contains("HTTP 200"), "{tables}");
    server.stop();
}

#[test]
fn the_page_of_a_run_with_fallback_has_the_figures_of_its_record() {
    let server = start(Config { rule: Rule::Truncate(Box::default()), ..Config::default() });
    agrees(server, "--transport udp+tcp --rate 1k --for 1s");
}

#[test]
fn the_page_of_a_mix_has_the_figures_of_its_record() {
    agrees(responder(Faults::default()), "--mix udp=60,tcp=40 --clients 4 --rate 2k --for 1s");
}

#[test]
fn the_page_of_a_ramp_has_the_figures_of_its_record_and_its_rates() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    work.dnsdyno(&format!("run -s {} --ramp 100..2k --over 3s --interval 100ms {ASK}", server.address()))
        .gives(0);
    server.stop();
    check_page(&work, "run");
    let page = page_of(&work, "run");
    let load = &page.run(0)["load_response"];
    let asked: Vec<_> =
        load["points"].as_array().unwrap().iter().map(|p| p["asked_qps"].as_f64().unwrap()).collect();
    assert!(asked.len() >= 20 && asked.is_sorted(), "{asked:?}");
    assert!(asked[0] < 300.0 && *asked.last().unwrap() > 1_800.0, "{asked:?}");
    assert!(load["knee"]["rule"].as_str().unwrap().contains("1 query in 1,000"), "{load}");
}

#[test]
fn the_page_of_a_stair_has_the_figures_of_its_record_and_its_knee() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let load =
        "--stair 500..1500 --step 500 --hold 1s --expect loss<1% --expect p50>100s --expect-each loss<=100%";
    work.dnsdyno(&format!("run -s {} {load} {ASK}", server.address())).gives(1);
    server.stop();
    let page = page_of(&work, "run");
    let digest = work.record("run");
    has_the_texts_of_the_summary(&page, &digest);
    has_each_interval(&page, &digest, &work.intervals("run"));
    let run = page.run(0);
    assert_eq!(run["phases"].as_array().unwrap().len(), 3);
    assert_eq!(run["load_response"]["points"].as_array().unwrap().len(), 3);
    let steps = &run["summary"]["steps"];
    assert_eq!(run["load_response"]["knee"]["held_qps"], steps["held_to_qps"]);
    let expected = run["expectations"].as_array().unwrap();
    let states: Vec<_> = expected.iter().map(|e| e["state"].clone()).collect();
    assert_eq!(states, ["pass", "fail", "pass"]);
    let lines = expected.iter().map(|e| &e["limit"]);
    let lines: Vec<_> =
        lines.map(|l| (l["of"].as_str(), l["value"].as_f64(), l["slowest"].as_f64())).collect();
    let wanted = [("loss", 0.01, None), ("latency", 100e9, Some(0.5)), ("loss", 1.0, None)];
    assert_eq!(lines, wanted.map(|(of, value, slowest)| (Some(of), Some(value), slowest)));
}

#[test]
fn the_page_of_a_send_only_run_has_the_figures_of_its_record() {
    agrees(responder(Faults::default()), "--send-only --rate 1k --for 1s");
}

#[test]
fn a_record_that_was_cut_short_has_a_page_that_says_so() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    work.dnsdyno(&format!("run -s {} --rate 500 --for 2s {ASK}", server.address())).gives(0);
    server.stop();
    let whole = work.read("run/run.ndjson");
    work.write("run/run.ndjson", &whole[..whole.trim_end().rfind('\n').unwrap() + 20]);
    check_page(&work, "run");
    let page = page_of(&work, "run");
    let run = page.run(0);
    // On a busy host its intervals alone may put the generator in doubt.
    assert_ne!(run["verdict"]["state"], "ok");
    assert!(run["answer"]["sentence"].as_str().unwrap().starts_with("As far as the record goes: "), "{run}");
    let first = &run["messages"][0];
    assert_eq!(first["kind"], "warning");
    assert!(
        first["text"].as_str().unwrap().starts_with("INCOMPLETE: nothing writes this record any more"),
        "{first}"
    );
}

#[test]
fn a_record_without_intervals_has_an_honest_page() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    work.dnsdyno(&format!("run -s {} --rate 500 --for 1s {ASK}", server.address())).gives(0);
    server.stop();
    let whole = work.read("run/run.ndjson");
    work.write("run/run.ndjson", &whole[..=whole.find('\n').unwrap()]);
    check_page(&work, "run");
    let page = page_of(&work, "run");
    assert_eq!(page.run(0)["series"]["levels"][0]["rows"], 0);
    assert_eq!(page.run(0)["curves"], Value::Array(Vec::new()));
    assert!(
        page.run(0)["answer"]["sentence"]
            .as_str()
            .unwrap()
            .starts_with("As far as the record goes: no query was due")
    );
}

#[test]
fn a_run_without_any_answer_says_so_on_its_page() {
    let faults = Faults { loss: share(1.0), ..Faults::default() };
    let work = Workplace::new();
    let server = responder(faults);
    work.dnsdyno(&format!("run -s {} --rate 200 --for 1s --timeout 100ms {ASK}", server.address())).gives(1);
    server.stop();
    let page = page_of(&work, "run");
    assert!(
        page.run(0)["answer"]["sentence"].as_str().unwrap().starts_with("None of 200 queries was answered")
    );
    assert!(page.run(0)["series"]["levels"][0]["heat"].is_null());
    let curve = &page.run(0)["curves"][0];
    assert!(curve["ns"].as_array().unwrap().iter().all(Value::is_null), "{curve}");
}

/// Markup that would leave its place, and what a terminal would act on.
const HOSTILE: &str =
    "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>-->\"'&\u{1b}]0;x\u{7}\u{202e}";

#[test]
fn nothing_in_a_record_or_in_a_title_becomes_markup() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let words = format!("run -s {} --rate 200 --for 1s --name NAME --note NOTE {ASK}", server.address());
    work.dnsdyno(&words).gives(0);
    server.stop();
    let harmless = page_of(&work, "run");
    let record = work.read("run/run.ndjson");
    let json = serde_json::to_string(HOSTILE).unwrap();
    let lines = record
        .replace("\"NAME\"", &json)
        .replace("\"NOTE\"", &json)
        .replace("200 queries/s", &json[1..json.len() - 1]);
    work.write("run/run.ndjson", lines);
    work.write("run/plan.toml", HOSTILE);
    work.write("run/host.json", format!("{{\"os\":{json}}}"));
    work.write("title.txt", HOSTILE);
    work.shell("exec \"$0\" report run --title \"$(cat title.txt)\" -o page.html").gives(0);
    let page = Page::read(work.read("page.html"));
    let run = page.run(0);
    assert_eq!((page.data["title"].as_str(), run["label"].as_str()), (Some(HOSTILE), Some(HOSTILE)));
    assert_eq!(run["made"]["plan"], HOSTILE);
    assert!(
        run["messages"][0]["text"].as_str().unwrap().contains("the expectations of this run are not known")
    );
    // The tags are those of the other page, and one more line of a list for the message.
    let tags = |html: &str| html.matches('<').count();
    assert_eq!(tags(&page.html), tags(&harmless.html) + 2);
    assert!(!page.html.contains("<img") && !page.html.contains('\u{1b}') && !page.html.contains('\u{202e}'));
    assert!(page.html.contains("<title>&lt;/script&gt;&lt;script&gt;alert(1)"));
}

#[test]
fn a_page_has_no_address_outside_itself_and_forbids_any() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    work.dnsdyno(&format!("run -s {} --rate 200 --for 1s {ASK}", server.address())).gives(0);
    server.stop();
    let html = page_of(&work, "run").html;
    assert!(
        html.contains("content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'")
    );
    for outside in [" src=\"http", " href=\"http", "url(http", "@import", "<link"] {
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn several_runs_are_on_one_page_with_labels_of_their_own_and_one_curve_of_their_rates() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    for (run, rate) in [("runs/a", 200), ("runs/b", 400)] {
        let words =
            format!("run -s {} --rate {rate} --for 1s --name same --ask www.example", server.address());
        work.dnsdyno(&format!("{words} --quiet -o {run}")).gives(0);
    }
    server.stop();
    let ran = work.dnsdyno("report runs/b runs/a").gives(0);
    assert_eq!(ran.stdout, "report.html\n");
    let page = Page::read(work.read("report.html"));
    assert_eq!((&page.run(0)["label"], &page.run(1)["label"]), (&"same".into(), &"same (a)".into()));
    let asked = |n: usize| page.data["load_response"]["points"][n]["asked_qps"].as_f64();
    assert_eq!((asked(0), asked(1)), (Some(200.0), Some(400.0)));
    // A folder of runs is all of them.
    work.dnsdyno("report runs -o all.html --title both").gives(0);
    let all = Page::read(work.read("all.html"));
    assert_eq!((all.data["runs"].as_array().unwrap().len(), &all.data["title"]), (2, &"both".into()));
}

#[test]
fn what_is_no_page_of_ours_is_not_overwritten() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    work.dnsdyno(&format!("run -s {} --rate 200 --for 1s {ASK}", server.address())).gives(0);
    server.stop();
    work.write("notes.html", "<html>mine</html>");
    work.dnsdyno("report run -o notes.html").ends_refused(2, &["notes.html exists", "-o"]);
    assert_eq!(work.read("notes.html"), "<html>mine</html>");
    page_of(&work, "run");
    page_of(&work, "run");
    work.dnsdyno("report run -o no/such/folder.html")
        .ends_refused(3, &["cannot write no/such/folder.html", "-o"]);
}

#[test]
fn what_is_no_record_is_refused_with_a_message() {
    let work = Workplace::new();
    fs::create_dir(work.path("empty")).unwrap();
    work.dnsdyno("report empty").ends_refused(2, &["empty is not a run, and has no runs in it"]);
    work.dnsdyno("report none").ends_refused(2, &["cannot open none", "name a run's folder"]);
    work.write("newer.ndjson", "{\"runid\":\"r\",\"type\":\"header\",\"dnsdyno\":{\"format\":99}}\n");
    work.dnsdyno("report newer.ndjson").ends_refused(2, &["format 99", "use the version that wrote it"]);
    assert!(!work.has("report.html"));
}
