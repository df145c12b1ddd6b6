//! Servers whose zones are in a database: BIND with our DLZ module, and PowerDNS with gmysql. What each asks of the
//! database is what the database has counted; both give the same answers; and a database that helps an experiment is
//! started once and leaves nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dnsdyno_lab::{LabError, Need, Server, ServerOptions, ServerSpec, require};
use dnsdyno_measure::{Samples, WatchedKind};
use rustix::process::Signal;

use crate::beside::experiment::{nothing_is_left, processes_of};
use crate::support::{Workplace, real_server};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn has_servers() -> bool {
    let programs = [("cc", "gcc"), ("mariadb_config", "libmariadb-dev"), ("kdig", "knot-dnsutils")];
    let programs = programs.map(|(name, package)| Need::Program { name, package });
    let servers = ["mariadb", "bind-dlz", "pdns-mysql"].map(Need::Server);
    require(&[&programs[..], &servers[..]].concat())
}

/// A database with the zones of the experiment, and the module for BIND.
struct Database {
    work: Workplace,
    server: Server,
    module: PathBuf,
}

impl Database {
    /// `None` (reported) where something is not installed.
    fn start() -> Option<Database> {
        if !has_servers() {
            return None;
        }
        let work = Workplace::new();
        work.write("tables.sql", tables());
        let module = work.path("dlz_mysql.so");
        let built = Command::new(root().join("scripts/build-dlz")).arg(&module).status().unwrap();
        assert!(built.success());
        let init_file = work.path("tables.sql").display().to_string();
        let server = real_server("mariadb", &options(&[("init_file", &init_file)]))?;
        Some(Database { work, server, module })
    }

    fn socket(&self) -> String {
        self.server.folder().join("mysql.sock").display().to_string()
    }

    /// BIND with the module, and these values of its template.
    fn bind(&self, values: &[(&str, &str)]) -> Server {
        let (socket, module) = (self.socket(), self.module.display().to_string());
        let usual = [("module", module.as_str()), ("database_socket", &socket)];
        ServerSpec::named("bind-dlz").unwrap().start(&options(&[&usual[..], values].concat())).unwrap()
    }

    /// PowerDNS with these values of its template.
    fn pdns(&self, values: &[(&str, &str)]) -> Server {
        let socket = self.socket();
        let usual = [("database_socket", socket.as_str())];
        ServerSpec::named("pdns-mysql").unwrap().start(&options(&[&usual[..], values].concat())).unwrap()
    }

    /// What a statement gives, by the database's own client.
    fn says(&self, statement: &str) -> String {
        let socket = format!("--socket={}", self.socket());
        let output =
            Command::new("mariadb").args(["--no-defaults", "-N", &socket, "-e", statement]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Sends queries, each answered, and returns what the database has counted meanwhile.
    fn counted(&self, server: &Server, ask: &str, queries: u64) -> Samples {
        let (address, socket) = (server.address(), self.socket());
        let words = format!(
            "run -s {address} --ask '{ask}' --count {queries} --outstanding 10 --watch mariadb={socket} -o run"
        );
        // A folder that is there already is not written again.
        let _ = fs::remove_dir_all(self.work.path("run"));
        self.work.shell(&format!("\"$0\" {words}")).gives(0);
        let digest = self.work.record("run");
        assert_eq!((digest.tally().scheduled, digest.tally().ends.answered), (queries, queries));
        assert_eq!(digest.header.watched[0].software.as_deref(), Some("mariadb"));
        assert_eq!(digest.header.watched[0].settings["innodb_flush_log_at_trx_commit"], "1");
        digest.watched()[0].clone().expect("samples")
    }
}

/// The tables of the experiment, with the names host-0 to host-199.
fn tables() -> String {
    let text = fs::read_to_string(root().join("experiments/dlz-mysql/tables.sql")).unwrap();
    text.replace("LAST", "199")
}

fn options(values: &[(&str, &str)]) -> ServerOptions {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    ServerOptions { values, ready_within: Duration::from_secs(60), ..ServerOptions::default() }
}

const HOSTS: &str = "host-{n:0..199}.dyno.example A";

/// Twice to find the zone (the name itself, and its parent), and what the name of the zone and the name have: records,
/// and for the zone also what makes its authority.
const SELECTS_OF_ANSWER: u64 = 5;

/// The name servers once more, and their addresses: each time from the name of the zone on.
const SELECTS_OF_REST: u64 = 5;

#[test]
fn each_query_to_bind_is_one_update_and_as_many_selects_as_the_module_makes() {
    let Some(database) = Database::start() else { return };
    let count = || -> u64 {
        database.says("SELECT count FROM dlz.data_count WHERE zone = 'dyno.example'").parse().unwrap()
    };
    for (minimal_responses, selects) in
        [("yes", SELECTS_OF_ANSWER), ("no", SELECTS_OF_ANSWER + SELECTS_OF_REST)]
    {
        let server = database.bind(&[("minimal_responses", minimal_responses)]);
        let before = count();
        let samples = database.counted(&server, HOSTS, 400);
        let found = ["statements.update", "statements.select"].map(|name| samples.counter(name));
        assert_eq!(found, [400, 400 * selects], "minimal-responses {minimal_responses}");
        assert_eq!(samples.counter("raw.Com_update"), 400);
        // The database's own counters and the table that the updates are for say the same.
        assert_eq!(count() - before, 400);
    }
    let server = database.bind(&[("count", ""), ("minimal_responses", "yes"), ("connections", "4")]);
    let samples = database.counted(&server, HOSTS, 400);
    assert_eq!(samples.counter("statements.update"), 0);
    assert_eq!(samples.counter("statements.select"), 400 * SELECTS_OF_ANSWER);
    // Four of the module, and one that reads this; the one that read it before may not have gone yet.
    let connected = samples.gauges["raw.Threads_connected"];
    assert!((5..=6).contains(&connected), "{connected} connections");
}

#[test]
fn pdns_asks_the_database_for_what_is_in_none_of_its_caches() {
    let Some(database) = Database::start() else { return };
    let none = [("packet_cache_ttl", "0"), ("query_cache_ttl", "0"), ("negquery_cache_ttl", "0")];
    let selects = |values: &[(&str, &str)], ask: &str| {
        database.counted(&database.pdns(values), ask, 1_000).counter("statements.select")
    };
    let with_caches = selects(&[], "www.test.example A");
    assert!(with_caches < 100, "{with_caches} statements for 1,000 queries of one name");
    let without = selects(&none, "www.test.example A");
    assert!(without >= 1_000, "{without} statements for 1,000 queries");
    // Without the cache of packets, the one of the database's answers is left.
    let without_packets = selects(&[("packet_cache_ttl", "0")], "www.test.example A");
    assert!(without_packets < 100, "{without_packets}");
}

#[test]
fn both_servers_give_the_same_answers_for_all_names() {
    let Some(database) = Database::start() else { return };
    let (bind, pdns) = (database.bind(&[]), database.pdns(&[]));
    let hosts = (0..200).map(|n| format!("host-{n}.dyno.example A"));
    let others =
        ["dyno.example SOA", "dyno.example NS", "dyno.example MX", "www.test.example A", "test.example MX"];
    let absent =
        ["host-200.dyno.example A", "x.test.example A", "host-1.dyno.example AAAA", "www.test.example MX"];
    let names: Vec<String> =
        hosts.chain(others.iter().chain(&absent).map(|name| (*name).to_owned())).collect();
    let answers = |server: &Server| -> BTreeSet<String> {
        let port = server.address().port().to_string();
        let mut kdig = Command::new("kdig");
        kdig.args(["@127.0.0.1", "-p", &port, "+noall", "+answer"]);
        kdig.args(names.iter().flat_map(|name| name.split(' ')));
        let output = kdig.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with(';'));
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let of_bind = answers(&bind);
    assert_eq!(of_bind.len(), 205, "one record each, and none of what is absent");
    assert!(of_bind.contains("host-77.dyno.example. 120 IN A 10.0.0.77"), "{of_bind:?}");
    assert_eq!(of_bind, answers(&pdns));
    // And the same RCODEs.
    let work = &database.work;
    work.write("names.txt", names.join("\n"));
    let rcodes = |server: &Server, run: &str| {
        let address = server.address();
        work.dnsdyno(&format!("run -s {address} -d names.txt --passes 1 --outstanding 5 -o {run}")).gives(0);
        work.record(run).tally().rcodes.iter().collect::<Vec<_>>()
    };
    let of_bind = rcodes(&bind, "bind");
    assert_eq!(of_bind, [(0, 207), (3, 2)]);
    assert_eq!(of_bind, rcodes(&pdns, "pdns"));
}

#[test]
fn a_cache_is_worth_several_times_the_rate_of_a_database_that_is_asked_for_each_query() {
    let Some(database) = Database::start() else { return };
    let rate = |server: &Server, run: &str| {
        let address = server.address();
        let words = format!("run -s {address} --ask 'www.test.example A' --outstanding 20 --for 1s -o {run}");
        database.work.shell(&format!("\"$0\" {words}")).gives(0);
        database.work.record(run).tally().ends.answered
    };
    let bind = rate(&database.bind(&[("minimal_responses", "no")]), "bind");
    let pdns = rate(&database.pdns(&[]), "pdns");
    assert!(bind > 0 && pdns >= 3 * bind, "{bind} and {pdns} answers in a second");
}

#[test]
fn a_wrong_module_or_database_is_told_with_the_log() {
    let Some(database) = Database::start() else { return };
    let (socket, module) = (database.socket(), database.module.display().to_string());
    for (values, words) in [
        ([("module", "/none.so"), ("database_socket", &socket)], "/none.so"),
        (
            [("module", &module), ("database_socket", "/none/mysql.sock")],
            "cannot connect to /none/mysql.sock",
        ),
    ] {
        let Err(LabError::Start(failure)) = ServerSpec::named("bind-dlz").unwrap().start(&options(&values))
        else {
            panic!("it came up with {words}");
        };
        assert!(failure.to_string().contains(words), "{failure}");
        // What a failed start keeps is for a reader.
        fs::remove_dir_all(failure.log_path.parent().unwrap()).unwrap();
    }
    let refused =
        format!("run -s 127.0.0.1 --ask a --count 1 --rate 1k --watch mariadb={}/none", database.socket());
    database.work.dnsdyno(&refused).ends_refused(3, &["--watch mariadb=", "Not a directory"]);
}

/// A small form of the experiment: two servers, one load, runs of a fifth of a second.
fn small(work: &Workplace, run_for: &str) {
    work.write("tables.sql", tables());
    let build = root().join("scripts/build-dlz").display().to_string();
    work.write(
        "x.toml",
        format!(
            r#"
repeats = 2
cool-down = "20ms"
steady = "off"
in-doubt = "keep"
columns = ["UPDATEs = mariadb statements.update / answers", "both = process cpu_ns + mariadb cpu_ns / answers"]

[run]
for = "{run_for}"
ask = ["host-{{rand:0..199}}.dyno.example A"]

[[helper]]
name = "db"
template = "mariadb"
start = "kept"
ready-within = "60s"
values = {{ init_file = "{{here}}/tables.sql" }}

[[server]]
name = "dlz"
template = "bind-dlz"
prepare = """'{build}' '{{work}}/dlz_mysql.so' && \
mariadb --no-defaults --socket='{{db.folder}}/mysql.sock' -e \"SET GLOBAL innodb_flush_log_at_trx_commit = $FLUSH\""""
environment = {{ FLUSH = "0" }}
values = {{ module = "{{work}}/dlz_mysql.so", database_socket = "{{db.folder}}/mysql.sock" }}

[[server]]
name = "pdns"
template = "pdns-mysql"
values = {{ database_socket = "{{db.folder}}/mysql.sock" }}

[[load]]
name = "closed"
outstanding = 20
"#
        ),
    );
}

#[test]
fn a_database_that_is_kept_serves_all_servers_and_is_watched_beside_each() {
    if !has_servers() {
        return;
    }
    let work = Workplace::new();
    small(&work, "200ms");
    let started = work.start("experiment x.toml -o out");
    let pid = u32::try_from(started.pid().as_raw_nonzero().get()).unwrap();
    started.wait().gives(0);
    nothing_is_left(pid);
    let mut databases = BTreeSet::new();
    for run in 1..=6 {
        let digest = work.record(&format!("out/runs/{run:03}"));
        let of = |software: &str, kind: WatchedKind| {
            let watched = &digest.header.watched;
            let is_it =
                |name: &str| watched.iter().position(|one| one.kind == kind && one.label.starts_with(name));
            is_it(software).unwrap_or_else(|| panic!("{watched:?}"))
        };
        databases.insert(digest.header.watched[of("mariadbd", WatchedKind::Process)].label.clone());
        let at = of("MariaDB", WatchedKind::Server);
        let samples = digest.watched()[at].clone().expect("samples");
        if run % 2 == 1 {
            // The check before the load has its update before the first reading.
            assert_eq!(samples.counter("statements.update"), digest.tally().ends.answered, "run {run}");
            assert_eq!(digest.header.watched[at].settings["innodb_flush_log_at_trx_commit"], "0");
        } else {
            assert_eq!(samples.counter("statements.update"), 0, "run {run}");
        }
    }
    assert_eq!(databases.len(), 1, "the database was started once: {databases:?}");
    let results: serde_json::Value = serde_json::from_str(&work.read("out/results.json")).unwrap();
    let beside = |cell: usize| &results["cells"][cell]["beside"];
    assert_eq!([0, 1].map(|cell| beside(cell)["UPDATEs"]["median"].as_f64()), [Some(1.0), Some(0.0)]);
    let of_both = beside(0)["both"]["median"].as_f64().unwrap();
    let of_server = results["cells"][0]["server_cpu_ns_per_answer"]["median"].as_f64().unwrap_or(0.0);
    assert!(of_both > of_server, "the database takes its part: {of_both} and {of_server}");
}

#[test]
fn a_database_does_not_outlive_an_experiment_that_was_killed() {
    if !has_servers() {
        return;
    }
    let work = Workplace::new();
    small(&work, "30s");
    let mut started = work.start("experiment x.toml -o out");
    let pid = u32::try_from(started.pid().as_raw_nonzero().get()).unwrap();
    let is_named = |path: &PathBuf, name: &str| {
        fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == name)
    };
    started.until("a run with its database", || {
        let processes = processes_of(pid);
        ["mariadbd", "named"].iter().all(|name| processes.iter().any(|path| is_named(path, name)))
    });
    // A database that stands still does not follow the signal that it gets when its parent ends.
    let database = processes_of(pid).into_iter().find(|path| is_named(path, "mariadbd")).unwrap();
    let number: i32 = database.file_name().unwrap().to_str().unwrap().parse().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(number).unwrap(), Signal::STOP).unwrap();
    started.signal(Signal::KILL);
    started.wait();
    small(&work, "200ms");
    let next = work.start("experiment x.toml -o other");
    let of_next = u32::try_from(next.pid().as_raw_nonzero().get()).unwrap();
    next.wait().gives(0);
    nothing_is_left(pid);
    nothing_is_left(of_next);
}

#[test]
fn the_experiment_is_valid_in_both_scales_and_mistakes_about_helpers_are_told() {
    let work = Workplace::new();
    let file = root().join("experiments/dlz-mysql.toml").display().to_string();
    work.dnsdyno(&format!("experiment {file} --dry-run")).gives(0);
    work.dnsdyno(&format!("experiment {file} --full --dry-run")).gives(0);
    let server = "[[server]]\nname = \"nsd\"\ntemplate = \"nsd\"\n";
    let load = "[[load]]\nname = \"l\"\nrate = 100\nfor = 1\n";
    let helper = |more: &str| format!("{server}{load}[[helper]]\nname = \"h\"\n{more}");
    for (text, words) in [
        (helper("template = \"nsd\"\nstart = \"kept\"\n"), "it answers queries: remove `start`"),
        (helper("template = \"mariadb\"\nstart = \"kept\"\nstub = \"127.0.0.1:53\"\n"), "it has no `stub`"),
        (format!("{server}start = \"kept\"\n{load}"), "write it at the top of the file"),
        (server.replace("template = \"nsd\"", "template = \"mariadb\"") + load, "make it a [[helper]]"),
    ] {
        work.write("x.toml", text);
        work.dnsdyno("experiment x.toml -o out").ends_refused(2, &[words]);
    }
}
