//! The folder of runs over real sockets of loopback: what is shown, and what is refused.

mod support;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use dnsdyno_record::{HostInfo, Line, RunReader, RunWriter};
use dnsdyno_serve::FolderServer;
use serde_json::Value;
use support::{Got, exchange, get, simulated};
use tempfile::TempDir;

/// A folder with a served folder `runs` in it, and what lies beside that.
struct Served {
    around: TempDir,
    server: FolderServer,
}

impl Served {
    /// A server for the runs that `fill` writes.
    fn new(fill: impl FnOnce(&Path)) -> Served {
        let around = tempfile::tempdir().unwrap();
        let runs = around.path().join("runs");
        fs::create_dir(&runs).unwrap();
        fill(&runs);
        let any = "127.0.0.1:0".parse().unwrap();
        let server = FolderServer::start(&runs, any, Vec::new(), "dnsdyno test".into()).unwrap();
        Served { around, server }
    }

    fn address(&self) -> SocketAddr {
        self.server.address()
    }

    fn get(&self, path: &str) -> Got {
        get(self.address(), &format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address()))
    }

    fn json(&self, path: &str) -> Value {
        let got = self.get(path);
        assert_eq!((got.status, got.header("content-type")), (200, Some("application/json")), "{}", got.body);
        serde_json::from_str(&got.body).unwrap()
    }

    /// The entries of the list, by the names of their folders.
    fn listed(&self) -> Vec<(String, String)> {
        let list = self.json("/api/runs");
        let text = |run: &Value, key: &str| run[key].as_str().unwrap().to_owned();
        let runs = list["runs"].as_array().unwrap().iter();
        let mut listed: Vec<_> = runs.map(|run| (text(run, "folder"), text(run, "state"))).collect();
        listed.sort();
        listed
    }
}

#[test]
fn a_client_that_opens_many_connections_and_asks_for_nothing_keeps_nobody_away() {
    let served = Served::new(|_| {});
    let mut silent: Vec<TcpStream> =
        (0..200).map(|_| TcpStream::connect(served.address()).unwrap()).collect();
    // Some begin a request, and do not end it.
    silent.iter_mut().step_by(2).for_each(|stream| drop(stream.write_all(b"GET / HTTP/1.1\r\n")));
    let since = Instant::now();
    for _ in 0..10 {
        assert_eq!(served.get("/api/runs").status, 200);
    }
    assert!(since.elapsed() < Duration::from_secs(3), "{:?}", since.elapsed());
    drop(silent);
}

/// The data of a page.
fn page_data(html: &str) -> Value {
    let script = html.split("id=\"page-data\">").nth(1).unwrap();
    serde_json::from_str(script.split("</script>").next().unwrap()).unwrap()
}

#[test]
fn the_list_and_the_page_of_a_run_show_its_record() {
    let served = Served::new(|runs| {
        simulated(&runs.join("first"), |draft| draft.name = Some("my run".into()));
        simulated(&runs.join("second"), |draft| draft.rate = Some("1k".into()));
        fs::create_dir(runs.join("no run")).unwrap();
        fs::write(runs.join("notes.txt"), "x").unwrap();
    });
    let list = served.get("/");
    assert_eq!((list.status, list.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let data = page_data(&list.body);
    assert_eq!((&data["kind"], &data["live"]["url"]), (&"folder".into(), &"/data".into()));
    assert_eq!(served.listed(), [("first".into(), "ended".into()), ("second".into(), "ended".into())]);
    let runs = served.json("/api/runs")["runs"].clone();
    let first = runs.as_array().unwrap().iter().find(|run| run["folder"] == "first").unwrap().clone();
    assert_eq!((&first["name"], &first["transport"]), (&"my run".into(), &"udp".into()));
    assert_eq!(served.json("/data")["data"]["folder"]["runs"], runs);

    let page = served.get("/runs/first/");
    assert_eq!(page.status, 200);
    let data = page_data(&page.body);
    assert_eq!((&data["kind"], &data["home"], &data["live"]), (&"report".into(), &"/".into(), &Value::Null));
    assert_eq!(data["runs"][0]["files"], "/runs/first/files/");
    assert_eq!(data["runs"][0]["answer"]["sentence"], first["sentence"]);
    assert_eq!(served.get("/runs/first").body, page.body, "kept, and with or without a slash");

    let both = page_data(&served.get("/report?run=first&run=second").body);
    assert_eq!(both["runs"].as_array().unwrap().len(), 2);
    assert_eq!(served.get("/runs/third/").status, 404);
    assert_eq!(served.get("/report?run=first&run=third").status, 404);
}

#[test]
fn two_sides_are_compared_on_a_page_that_says_what_was_not_asked_alike() {
    let served = Served::new(|runs| {
        for (name, seed) in [("a1", "1"), ("a2", "2"), ("b1", "3"), ("b2", "4")] {
            simulated(&runs.join(name), |draft| draft.seed = Some(seed.into()));
        }
        simulated(&runs.join("other"), |draft| draft.rate = Some("1k".into()));
    });
    let got = served.get("/compare?a=a1&a=a2&b=b1&b=b2");
    assert_eq!(got.status, 200, "{}", got.body);
    let data = page_data(&got.body);
    assert_eq!((&data["kind"], &data["home"]), (&"comparison".into(), &"/".into()));
    assert_eq!(data["comparison"]["a"]["runs"].as_array().unwrap().len(), 2);
    assert_eq!(data["runs"][2]["files"], "/runs/b1/files/");
    assert_eq!(data["comparison"]["unlike"], Value::Array(Vec::new()));
    let unlike = page_data(&served.get("/compare?a=a1&b=other").body);
    assert!(!unlike["comparison"]["unlike"].as_array().unwrap().is_empty());
    let twice = served.get("/compare?a=a1&b=a1");
    assert!(twice.status == 422 && twice.body.contains("same run"), "{twice:?}");
}

#[test]
fn the_files_of_a_record_are_sent_as_they_are() {
    let served = Served::new(|runs| drop(simulated(&runs.join("a b"), |_| {})));
    let run = served.around.path().join("runs/a b");
    for file in ["run.ndjson", "plan.toml", "host.json"] {
        let got = served.get(&format!("/runs/a%20b/files/{file}"));
        let content = fs::read_to_string(run.join(file)).unwrap();
        assert_eq!((got.status, &got.body), (200, &content));
        assert_eq!(got.header("content-length"), Some(content.len().to_string().as_str()));
        assert_eq!(got.header("content-disposition"), Some("attachment"));
    }
    fs::write(run.join("private.txt"), "secret").unwrap();
    for file in ["private.txt", "run.ndjson.zst", "..", "%2e%2e%2fx", "nothing"] {
        let got = served.get(&format!("/runs/a%20b/files/{file}"));
        assert!(got.status == 404 && !got.body.contains("secret"), "{file}: {got:?}");
    }
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let served = Served::new(|runs| drop(simulated(&runs.join("run"), |_| {})));
    // A run beside the folder that is served.
    simulated(&served.around.path().join("outside"), |draft| draft.name = Some("SECRET".into()));
    for path in [
        "/runs/../outside/",
        "/runs/..%2foutside/",
        "/runs/%2e%2e%2foutside/",
        "/runs/%2e%2e/",
        "/runs/run/../../../outside/run.ndjson",
        "/runs/run/files/../../../outside/run.ndjson",
        "/runs/run/files/..%2f..%2f..%2foutside%2frun.ndjson",
        "/runs/%2fetc%2fpasswd/",
        "//etc/passwd",
        "/runs/run%00/",
        "/report?run=../outside",
        "/report?run=%2e%2e%2foutside",
        "/compare?a=run&b=..%2Foutside",
    ] {
        let got = served.get(path);
        assert!((400..500).contains(&got.status) && !got.body.contains("SECRET"), "{path}: {got:?}");
    }
}

#[test]
fn symbolic_links_out_of_the_folder_are_listed_as_refused_and_not_followed() {
    let served = Served::new(|runs| drop(simulated(&runs.join("run"), |_| {})));
    let (runs, outside) = (served.around.path().join("runs"), served.around.path().join("outside"));
    simulated(&outside, |draft| draft.name = Some("SECRET".into()));
    symlink(&outside, runs.join("link")).unwrap();
    symlink("run", runs.join("alias")).unwrap();
    fs::create_dir(runs.join("file")).unwrap();
    symlink(outside.join("run.ndjson"), runs.join("file/run.ndjson")).unwrap();
    fs::create_dir(runs.join("plan")).unwrap();
    fs::copy(runs.join("run/run.ndjson"), runs.join("plan/run.ndjson")).unwrap();
    symlink(outside.join("plan.toml"), runs.join("plan/plan.toml")).unwrap();
    let error = || "error".to_owned();
    assert_eq!(
        served.listed(),
        [
            ("alias".into(), "ended".into()),
            ("file".into(), error()),
            ("link".into(), error()),
            ("plan".into(), error()),
            ("run".into(), "ended".into())
        ]
    );
    for path in [
        "/runs/link/",
        "/runs/file/",
        "/runs/file/files/run.ndjson",
        "/runs/plan/files/plan.toml",
        "/runs/plan/",
    ] {
        let got = served.get(path);
        assert!(got.status == 403 && got.body.contains("symbolic link"), "{path}: {got:?}");
    }
    assert_eq!(served.get("/runs/alias/").status, 200, "a link to another run of the folder is one");
}

#[test]
fn a_pipe_in_place_of_a_record_is_not_waited_for() {
    let served = Served::new(|runs| {
        fs::create_dir(runs.join("pipe")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(runs.join("pipe/run.ndjson")).status();
        assert!(made.unwrap().success());
    });
    assert_eq!(served.listed(), [("pipe".into(), "error".into())]);
    let got = served.get("/runs/pipe/");
    assert!(got.status == 403 && got.body.contains("regular file"), "{got:?}");
}

#[test]
fn a_request_under_another_name_is_refused() {
    let served = Served::new(|_| {});
    let port = served.address().port();
    let ask = |host: &str| get(served.address(), &format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")).status;
    assert_eq!(ask(&format!("localhost:{port}")), 200);
    assert_eq!(ask(&format!("127.0.0.1:{port}")), 200);
    for host in ["rebound.example", "127.0.0.1.rebound.example:80", "192.0.2.1", "[::1]"] {
        assert_eq!(ask(host), 421, "{host}");
    }
    let absolute = format!("GET http://rebound.example/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    assert_eq!(get(served.address(), &absolute).status, 421);
    let without = get(served.address(), "GET / HTTP/1.0\r\n\r\n");
    assert!(without.status == 421 && without.body.contains("--host"), "{without:?}");
}

#[test]
fn a_name_that_was_given_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let any = "127.0.0.1:0".parse().unwrap();
    let server =
        FolderServer::start(folder.path(), any, vec!["bench.example".into()], String::new()).unwrap();
    let got = get(server.address(), "GET / HTTP/1.1\r\nHost: bench.example:8053\r\n\r\n");
    assert_eq!(got.status, 200);
}

#[test]
fn only_reading_is_allowed_and_no_response_sets_a_cookie_or_may_be_framed() {
    let served = Served::new(|runs| drop(simulated(&runs.join("run"), |_| {})));
    let host = served.address();
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        let got =
            get(host, &format!("{method} /runs/run/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n"));
        assert_eq!((got.status, got.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
    let head = get(host, &format!("HEAD /runs/run/ HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    for path in ["/", "/runs/run/", "/runs/run/data", "/runs/run/files/run.ndjson", "/nothing", "/api/runs"] {
        let got = served.get(path);
        let policy = got.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{path}");
        assert_eq!(got.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(got.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert!(got.header("set-cookie").is_none() && got.header("access-control-allow-origin").is_none());
    }
}

#[test]
fn a_head_that_is_too_long_or_no_http_is_refused() {
    let served = Served::new(|_| {});
    let long = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    assert_eq!(get(served.address(), &long).status, 431);
    let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(1_000));
    assert_eq!(get(served.address(), &many).status, 431);
    let response = exchange(served.address(), b"\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n");
    let response = String::from_utf8_lossy(&response);
    assert!(response.is_empty() || response.starts_with("HTTP/1.1 400 "), "{response}");
    assert_eq!(served.get("/").status, 200);
}

#[test]
fn a_client_that_sends_nothing_is_given_up_and_does_not_hold_up_others() {
    let served = Served::new(|_| {});
    let mut slow = TcpStream::connect(served.address()).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nHo").unwrap();
    // Fewer than there is room for, so that the next one is answered at once.
    let _silent: Vec<_> = (0..32).map(|_| TcpStream::connect(served.address()).unwrap()).collect();
    assert_eq!(served.get("/").status, 200);
    slow.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).unwrap();
    assert!(!String::from_utf8_lossy(&rest).starts_with("HTTP/1.1 200"), "the server closed the connection");
}

#[test]
fn more_clients_than_there_is_room_for_wait_and_are_answered() {
    let served = Served::new(|_| {});
    let address = served.address();
    let asking: Vec<_> = (0..200)
        .map(|_| std::thread::spawn(move || get(address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").status))
        .collect();
    assert!(asking.into_iter().all(|asked| asked.join().unwrap() == 200));
}

#[test]
fn an_empty_folder_is_an_empty_list() {
    let served = Served::new(|_| {});
    assert_eq!(served.json("/api/runs")["runs"], Value::Array(Vec::new()));
    assert_eq!(served.get("/").status, 200);
}

#[test]
fn a_folder_that_cannot_be_served_is_an_error_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let start = |path: &Path, address: SocketAddr| {
        let started = FolderServer::start(path, address, Vec::new(), String::new());
        started.err().map(|error| error.to_string())
    };
    let any = "127.0.0.1:0".parse().unwrap();
    let missing = start(&folder.path().join("missing"), any).unwrap();
    assert!(missing.contains("missing: No such file") && missing.contains("holds runs"), "{missing}");
    simulated(&folder.path().join("run"), |_| {});
    let run = start(&folder.path().join("run"), any).unwrap();
    assert!(run.contains("is a run; name the folder that holds it"), "{run}");
    let file = start(&folder.path().join("run/run.ndjson"), any).unwrap();
    assert!(file.contains("cannot read the folder"), "{file}");
    let first = FolderServer::start(folder.path(), any, Vec::new(), String::new()).unwrap();
    let in_use = start(folder.path(), first.address()).unwrap();
    assert!(in_use.contains("in use") && in_use.contains("--listen"), "{in_use}");
}

#[test]
fn hostile_names_are_data_and_never_markup() {
    let hostile = "<script>alert(1)<!--";
    let served = Served::new(|runs| {
        simulated(&runs.join(hostile), |draft| {
            draft.name = Some("</script><img src=x onerror=alert(2)>\u{1b}[31m".into());
            draft.note = Some("\"'><b>".into());
        });
    });
    let list = served.get("/").body;
    assert!(!list.contains("<script>alert") && !list.contains("<img src=x") && !list.contains("<!--"));
    assert_eq!(page_data(&list)["folder"]["runs"][0]["folder"], hostile);
    let page = served.get("/runs/%3Cscript%3Ealert%281%29%3C%21--/");
    assert_eq!(page.status, 200);
    assert!(!page.body.contains("<script>alert") && !page.body.contains("<img src=x"));
    assert_eq!(
        page_data(&page.body)["runs"][0]["files"],
        "/runs/%3Cscript%3Ealert%281%29%3C%21%2D%2D/files/"
    );
}

#[test]
fn a_broken_record_is_listed_with_its_error_and_does_not_hide_the_others() {
    let served = Served::new(|runs| {
        simulated(&runs.join("good"), |_| {});
        for (name, content) in [("empty", ""), ("text", "hello\n"), ("newer", "{\"runid\":\"x\"}\n")] {
            fs::create_dir(runs.join(name)).unwrap();
            fs::write(runs.join(name).join("run.ndjson"), content).unwrap();
        }
    });
    let error = || "error".to_owned();
    assert_eq!(
        served.listed(),
        [
            ("empty".into(), error()),
            ("good".into(), "ended".into()),
            ("newer".into(), error()),
            ("text".into(), error())
        ]
    );
    let got = served.get("/runs/text/");
    assert!(got.status == 422 && got.body.contains("not a line of a dnsdyno record"), "{got:?}");
    assert_eq!(served.get("/report?run=good&run=empty").status, 422);
}

#[test]
fn a_run_in_progress_is_shown_as_far_as_it_has_come() {
    let around = tempfile::tempdir().unwrap();
    let whole = around.path().join("whole");
    simulated(&whole, |draft| {
        (draft.rate, draft.duration) = (Some("10".into()), Some("300s".into()));
        (draft.interval, draft.timeout) = (Some("60s".into()), Some("10s".into()));
    });
    let reader = RunReader::open(&whole).unwrap();
    let served = Served::new(|_| {});
    let folder = served.around.path().join("runs/now");
    let mut writer = RunWriter::create(&folder, reader.header(), "", &HostInfo::default()).unwrap();
    let mut lines = reader.map(Result::unwrap);
    let mut shown = |intervals: usize| {
        for line in lines.by_ref().take(intervals) {
            if let Line::Interval(interval) = line {
                writer.interval(&interval).unwrap();
            }
        }
        let is_saved = (0..3_000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            writer.unsaved().bytes == 0
        });
        assert!(is_saved, "{:?}", writer.unsaved());
        served.json("/runs/now/data")["data"].clone()
    };
    let rows = |data: &Value| data["runs"][0]["series"]["levels"][0]["rows"].as_u64().unwrap();
    let one = shown(1);
    assert_eq!(rows(&one), 1);
    assert_eq!(one["live"]["url"], "/runs/now/data");
    assert!(one["live"]["every_ms"].as_u64().unwrap() >= 1_000);
    assert_eq!(served.listed(), [("now".into(), "running".into())]);
    let two = shown(1);
    assert_eq!((rows(&two), &two["live"]["url"]), (2, &"/runs/now/data".into()));
    let said = |data: &Value| data["runs"][0]["messages"][0]["text"].as_str().unwrap().to_owned();
    assert!(said(&two).starts_with("IN PROGRESS: the record goes to 2 min 0 s so far."), "{two}");
    // Its writer goes away without an end of the run.
    drop(writer);
    assert_eq!(served.listed(), [("now".into(), "cut_short".into())]);
    let cut = served.json("/runs/now/data")["data"].clone();
    assert_eq!(cut["live"], Value::Null);
    assert!(
        said(&cut).starts_with("INCOMPLETE: nothing writes this record any more, and it ends at 2 min"),
        "{cut}"
    );
}

/// What a search leaves, as far as the server looks at it, with the record of its only trial.
fn searched(folder: &Path) {
    fs::create_dir_all(folder.join("runs")).unwrap();
    simulated(&folder.join("runs/001"), |draft| draft.port = Some(5300));
    let trial = serde_json::json!({
        "number": 1, "purpose": "near the limit", "load": 2_000.0, "lasted_ns": 1_000_000_000, "queries": 2_000,
        "lost": 0, "answered_qps": 2_000.0, "p50": null, "p99": { "ns": 900_000, "beyond_timeout": false },
        "verdict": "passed", "unmet": [], "undecided": [], "warnings": [],
    });
    let found = serde_json::json!({
        "format": 1, "answer": "capacity at least 2,000 qps", "method": "search", "unit": "qps",
        "criteria": ["loss=0"], "outcome": { "kind": "at_least", "load": 2_000.0, "why": "most" }, "notes": [],
        "trials": [trial], "cut_off": 0,
    });
    fs::write(folder.join("find.json"), found.to_string()).unwrap();
}

#[test]
fn a_search_is_listed_with_its_answer_and_leads_to_its_trials() {
    let served = Served::new(|runs| {
        searched(&runs.join("a search"));
        simulated(&runs.join("run"), |_| {});
    });
    assert_eq!(served.listed(), [("a search".into(), "ended".into()), ("run".into(), "ended".into())]);
    let list = served.json("/api/runs");
    let search = list["runs"].as_array().unwrap().iter().find(|run| run["folder"] == "a search").unwrap();
    assert_eq!(search["sentence"], "The limit is at least 2,000 qps: no higher load was tried.");
    assert_eq!(search["load"], "search for the limit: loss=0");
    let page = served.get("/runs/a%20search/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(
        page.body.contains("The limit is at least 2,000 qps: no higher load was tried."),
        "{}",
        page.body
    );
    assert!(page.body.contains("<a href=\"/runs/a%20search/trials/001/\">1</a>"), "{}", page.body);
    assert!(page.body.contains("<a href=\"/\">All runs</a>"));
    let trial = served.get("/runs/a%20search/trials/001/");
    assert_eq!(trial.status, 200);
    let data = page_data(&trial.body);
    assert_eq!(
        (&data["home"], &data["runs"][0]["files"], &data["live"]),
        (&"/".into(), &Value::Null, &Value::Null)
    );
    // A run is compared with runs, and has no trials; a search has no newer data and no files of its own.
    for (path, status) in [
        ("/compare?a=run&b=a%20search", 400),
        ("/report?run=a%20search", 400),
        ("/runs/a%20search/data", 404),
        ("/runs/a%20search/files/find.json", 404),
        ("/runs/a%20search/trials/002/", 404),
        ("/runs/run/trials/001/", 404),
    ] {
        let got = served.get(path);
        assert_eq!(got.status, status, "{path}: {}", got.body);
    }
    assert!(served.get("/compare?a=run&b=a%20search").body.contains("a search is a search for the limit"));
}

#[test]
fn nothing_of_a_search_leads_out_of_the_folder_and_one_that_cannot_be_read_says_so() {
    let served = Served::new(|_| {});
    let (around, runs) = (served.around.path(), served.around.path().join("runs"));
    searched(&around.join("outside"));
    symlink(around.join("outside"), runs.join("linked")).unwrap();
    fs::create_dir_all(runs.join("half")).unwrap();
    symlink(around.join("outside/runs"), runs.join("half/runs")).unwrap();
    fs::write(runs.join("half/find.json"), "{}").unwrap();
    assert_eq!(served.get("/runs/linked/").status, 403);
    assert_eq!(served.get("/runs/linked/trials/001/").status, 403);
    assert_eq!(served.get("/runs/half/trials/001/").status, 403);
    let half = served.get("/runs/half/");
    assert!(half.status == 422 && half.body.contains("is not the result of a search"), "{}", half.body);
    assert!(served.listed().contains(&("half".into(), "error".into())));
}

#[test]
fn two_servers_of_one_address_are_told_apart_by_their_ports() {
    let served = Served::new(|runs| {
        simulated(&runs.join("one"), |draft| draft.port = Some(5300));
        simulated(&runs.join("two"), |draft| draft.port = Some(5301));
    });
    let list = served.json("/api/runs");
    let mut targets: Vec<_> =
        list["runs"].as_array().unwrap().iter().map(|run| run["target"].as_str().unwrap()).collect();
    targets.sort_unstable();
    assert!(targets[0].ends_with(":5300") && targets[1].ends_with(":5301"), "{targets:?}");
}
