//! Tuning: the host is as it was, whatever is killed; the catalogue; what is refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use dnsdyno_lab::{Need, Place, Server, ServerOptions, VethPair, require};
use dnsdyno_sys::process;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{DNSDYNO, Remote, Started, Workplace, has_program, real_server};

/// A parameter of a network namespace that no counter tells of: it is tried in each tuning.
const PARAMETER: &str = "net.core.optmem_max";

/// A server in a network namespace, which is tuned where it is.
struct There<'a> {
    work: &'a Workplace,
    pair: VethPair,
    server: Server,
}

impl<'a> There<'a> {
    fn new(work: &'a Workplace) -> Option<There<'a>> {
        if !require(&[Need::Root, Need::Server("nsd")]) {
            return None;
        }
        let pair = VethPair::new(1).unwrap();
        let place = Place::in_namespace(pair.far());
        let options = ServerOptions { address: pair.far().ipv4.into(), place, ..ServerOptions::default() };
        let server = real_server("nsd", &options)?;
        Some(There { work, pair, server })
    }

    /// The value of the parameter in the namespace of the server.
    fn value(&self) -> String {
        let read = || fs::read_to_string("/proc/sys/net/core/optmem_max").unwrap();
        self.pair.far().enter(read).unwrap()
    }

    fn set(&self, value: &str) {
        self.pair.far().enter(|| fs::write("/proc/sys/net/core/optmem_max", value).unwrap()).unwrap();
    }

    fn place(&self) -> Place {
        let state = self.work.path("state").display().to_string();
        let environment = [("STATE_DIRECTORY".to_owned(), state)].into();
        Place { environment, ..Place::in_namespace(self.pair.near()) }
    }

    /// A tuning that has changed the parameter for a trial; with its value before.
    fn in_a_trial(&self) -> (Started<'a>, String) {
        let before = self.value();
        let words = format!(
            "tune -s {} -d q.txt --software nsd --on netns:{} --parameter {PARAMETER} --judge p50 --rate 500 \
             --trial 1s --keep-doubtful --for 5m -o tuning",
            self.server.address(),
            self.pair.far().name(),
        );
        let mut started = self.work.start_at(&self.place(), &words);
        started.until("the parameter is changed", || self.value() != before);
        (started, before)
    }

    /// The keeper of a tuning.
    fn keeper(&self, tuner: &Started<'_>) -> Pid {
        let parent = tuner.pid().as_raw_nonzero().get() as u32;
        let is_keeper = |stat: &process::Stat| stat.parent == parent && !stat.has_ended();
        let keeper = process::all().find(is_keeper).expect("it has a keeper");
        Pid::from_raw(keeper.pid as i32).unwrap()
    }

    fn undo(&self) -> String {
        let ended = self.work.start_at(&self.place(), "tune --undo").wait().gives(0);
        ended.stdout
    }
}

fn until(what: &str, mut seen: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !seen() {
        assert!(Instant::now() < deadline, "not seen: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn kill(pid: Pid) {
    kill_process(pid, Signal::KILL).unwrap();
}

#[test]
fn where_the_tuner_is_killed_its_keeper_restores_what_it_changed() {
    let work = Workplace::with_queries();
    let Some(there) = There::new(&work) else { return };
    let (tuner, before) = there.in_a_trial();
    let keeper = there.keeper(&tuner);
    tuner.signal(Signal::KILL);
    tuner.wait().dies_of(Signal::KILL);
    until("the value is restored", || there.value() == before);
    until("the keeper ends", || {
        process::Stat::of(keeper.as_raw_nonzero().get() as u32).is_none_or(|s| s.has_ended())
    });
    assert_eq!(there.undo(), "nothing is left to restore\n");
    // The same command goes on.
    let (tuner, _) = there.in_a_trial();
    tuner.signal(Signal::INT);
    tuner.wait().gives(130).says(&["goes on after", "the host is as it was"]);
    assert_eq!(there.value(), before);
}

#[test]
fn where_the_keeper_is_killed_another_one_restores_what_it_changed() {
    let work = Workplace::with_queries();
    let Some(there) = There::new(&work) else { return };
    let (mut tuner, before) = there.in_a_trial();
    let keeper = there.keeper(&tuner);
    kill(keeper);
    tuner.until("the value is restored", || there.value() == before);
    // It goes on with another keeper.
    tuner.until("the parameter is changed again", || there.value() != before);
    tuner.signal(Signal::TERM);
    tuner.wait().gives(143);
    assert_eq!(there.value(), before);
}

#[test]
fn where_both_are_killed_the_next_undo_restores_and_leaves_what_others_changed() {
    let work = Workplace::with_queries();
    let Some(there) = There::new(&work) else { return };
    let killed = || {
        let (tuner, before) = there.in_a_trial();
        // The keeper first: it would restore.
        kill(there.keeper(&tuner));
        tuner.signal(Signal::KILL);
        tuner.wait().dies_of(Signal::KILL);
        before
    };
    let before = killed();
    assert_ne!(there.value(), before);
    assert_eq!(there.undo(), format!("{PARAMETER} has its old value again\n"));
    assert_eq!(there.value(), before);

    let before = killed();
    there.set("54321");
    assert_eq!(
        there.undo(),
        format!("{PARAMETER} was set to 54321 by someone else meanwhile and is left as it is\n")
    );
    assert_eq!(there.value(), "54321\n");
    there.set(&before);

    let before = killed();
    let listed =
        there.work.start_at(&there.place(), &format!("tune --list --on netns:{}", there.pair.far().name()));
    let said = listed.wait().gives(0).stderr;
    let restored = format!("left by a tuning that was killed: {PARAMETER} has its old value again");
    assert!(said.contains(&restored), "{said}");
    assert_eq!(there.value(), before);
}

#[test]
fn a_value_that_others_change_between_trials_ends_the_tuning() {
    let work = Workplace::with_queries();
    let Some(there) = There::new(&work) else { return };
    let (tuner, before) = there.in_a_trial();
    there.set("54321");
    let ran = tuner.wait().gives(3);
    for words in ["was set to 54321 by someone else", "its next trials would not begin with the values"] {
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    }
    assert_eq!(there.value(), "54321\n");
    there.set(&before);
}

#[test]
fn the_configuration_of_a_server_is_restored_and_the_server_started_again() {
    let work = Workplace::with_queries();
    let Some(there) = There::new(&work) else { return };
    let config = there.server.config_path();
    let before = fs::read(&config).unwrap();
    work.write("restart", "#!/bin/sh\necho again >> \"$(dirname \"$0\")/restarts\"\n");
    fs::set_permissions(work.path("restart"), fs::Permissions::from_mode(0o755)).unwrap();
    let restarts = || work.read("restarts").lines().count();
    let words = format!(
        "tune -s {} -d q.txt --software nsd --on netns:{} --config {} --restart {} --parameter minimal-responses \
         --judge p50 --rate 500 --trial 1s --keep-doubtful --for 5m -o tuning",
        there.server.address(),
        there.pair.far().name(),
        config.display(),
        work.path("restart").display(),
    );
    for signal in [Signal::KILL, Signal::INT] {
        let mut tuner = work.start_at(&there.place(), &words);
        tuner.until("the configuration is changed", || fs::read(&config).unwrap() != before);
        tuner.until("the server is started again", || work.has("restarts"));
        let made = restarts();
        tuner.signal(signal);
        let ran = tuner.wait();
        assert!(ran.code().is_none_or(|code| code == 130), "{ran:?}");
        until("the configuration is as it was", || fs::read(&config).unwrap() == before);
        until("the server is started with it", || restarts() > made);
    }
}

#[test]
fn a_link_to_another_host_that_is_lost_restores_it() {
    if !require(&[Need::Root, Need::Server("nsd")]) || !has_program("sshd") {
        return;
    }
    let work = Workplace::with_queries();
    let state = work.path("state").display().to_string();
    let force = format!("ForceCommand STATE_DIRECTORY={state} {DNSDYNO} tune --keeper");
    let Some(remote) = Remote::start(&force) else { return };
    let Some(server) = remote.server("nsd") else { return };
    let value = || {
        let read = || fs::read_to_string("/proc/sys/net/core/optmem_max").unwrap();
        remote.pair.far().enter(read).unwrap()
    };
    let before = value();
    let words = format!(
        "tune -s {} -d q.txt --software nsd --on {} --watch host --parameter {PARAMETER} --judge p50 --rate 500 \
         --trial 1s --keep-doubtful --for 5m -o tuning",
        server.address(),
        remote.address(),
    );
    let mut tuner = remote.start_verb(&work, &words);
    tuner.until("the parameter is changed", || value() != before);
    // Nothing comes through any more, and nothing is closed.
    remote.pair.near().ip(&["link", "set", remote.pair.near().interface, "down"]).unwrap();
    until("the keeper there restores it", || value() == before);
    tuner.signal(Signal::KILL);
    tuner.wait().dies_of(Signal::KILL);
}

/// A server that gets a tenth of a CPU, under a load that is more than that.
pub(crate) const NIGHT: &str = r#"
cool-down = "50ms"
in-doubt = "keep"
answers = "any"
steady = "off"

[run]
timeout = "300ms"
interval = "100ms"

[[server]]
name = "nsd"
template = "nsd"
cpu-quota = "5%"

[[load]]
name = "beyond"
rate = "20k"
for = "600ms"

[tune]
parameters = ["CPUQuota", "nsd tcp-count", "net.core.somaxconn", "net.core.optmem_max", "nsd ipv4-edns-size"]
for = "5m"
"#;

#[test]
fn the_catalogue_is_listed_with_the_values_of_this_host() {
    let work = Workplace::new();
    let listed = work.dnsdyno("tune --list --software bind --json").gives(0).stdout;
    let rows: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let row = |id: &str| rows.iter().find(|row| row["parameter"] == id).unwrap_or_else(|| panic!("{id}"));
    let present = row("net.core.somaxconn")["present"].as_str().unwrap();
    assert_eq!(present, fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap().trim_end());
    assert_eq!(row("bind tcp-clients")["numbers"][0], "b-5");
    assert!(row("net.ipv4.tcp_tw_recycle")["not_here"].as_str().unwrap().contains("4.12"));
    assert!(rows.iter().all(|row| row["of"] != "unbound"));
    work.dnsdyno("tune --list --software namd").ends_refused(2, &["namd"]);
    work.dnsdyno("tune --list").gives(0);
}

#[test]
fn without_a_way_to_restart_what_needs_a_restart_is_not_tried() {
    let work = Workplace::with_queries();
    let said = |more: &str| {
        let words = "tune -s 127.0.0.1:5300 -d q.txt --rate 100 --software nsd --dry-run";
        let words = format!("{words} --parameter net.core.rmem_default --parameter {PARAMETER} {more}");
        work.dnsdyno(&words).gives(0).stdout
    };
    let (without, with) = (said(""), said("--restart true"));
    assert!(
        without.contains("net.core.rmem_default: it holds only after the server is started again"),
        "{without}"
    );
    assert!(with.contains("\n  net.core.rmem_default = "), "{with}");
    for printed in [without, with] {
        assert!(printed.contains(&format!("\n  {PARAMETER} = ")), "{printed}");
    }
}

#[test]
fn parameters_that_a_diagnosis_names_come_first() {
    if !require(&[Need::Root, Need::Server("nsd")]) {
        return;
    }
    let work = Workplace::with_queries();
    let pair = VethPair::new(1).unwrap();
    let mut options = ServerOptions {
        address: pair.far().ipv4.into(),
        place: Place::in_namespace(pair.far()),
        ..ServerOptions::default()
    };
    options.values.insert("tcp_clients".to_owned(), "5".to_owned());
    let Some(server) = real_server("nsd", &options) else { return };
    let words = format!(
        "run -s {} -d q.txt --transport tcp --clients 30 --rate 500 --for 2s --timeout 500ms --watch auto -o run",
        server.address()
    );
    work.start_in(pair.near(), &words).wait().gives(0);
    work.write("night.toml", NIGHT);
    let listed = |more: &str| {
        let printed = work.dnsdyno(&format!("tune night.toml --dry-run {more}")).gives(0).stdout;
        let place =
            |name: &str| printed.find(&format!("\n  {name} = ")).unwrap_or_else(|| panic!("{printed}"));
        (place("nsd tcp-count"), place("net.core.optmem_max"))
    };
    let (named, other) = listed("");
    assert!(other < named, "in the order of the catalogue");
    let (named, other) = listed("--from run");
    assert!(named < other, "the limit of connections was diagnosed");
    work.dnsdyno("tune night.toml --dry-run --from nosuch").ends_refused(2, &["nosuch"]);
}

#[test]
fn what_is_wrong_in_a_tuning_is_said_before_anything_is_changed() {
    let work = Workplace::with_queries();
    work.write("night.toml", NIGHT);
    work.dnsdyno("tune").ends_refused(2, &["what is tuned?", "--software"]);
    work.dnsdyno("tune night.toml --parameter net.core.rmemmax").ends_refused(2, &["net.core.rmem_max"]);
    work.dnsdyno("tune night.toml --pairs 3").ends_refused(2, &["from 10 to 200"]);
    work.dnsdyno("tune night.toml --judge p98").ends_refused(2, &["answered, or a percentile"]);
    work.dnsdyno("tune night.toml --rate 5k").ends_refused(2, &["remove the options of -s, or the file"]);
    let search = "find = { method = \"search\", trial = \"200ms\", while = [\"loss<1%\"] }";
    work.write("search.toml", NIGHT.replace("rate = \"20k\"\nfor = \"600ms\"", search));
    work.dnsdyno("tune search.toml --judge p99").ends_refused(2, &["the load is a search", "remove `judge`"]);
    work.dnsdyno("tune --undo --on ssh://ns1").ends_refused(2, &["this host only", "tune --undo` on ns1"]);
    work.dnsdyno("tune -s 127.0.0.1:5300 -d q.txt --software nsd --on ssh:ns1")
        .ends_refused(2, &["ssh://HOST"]);
    let there = "tune -s 127.0.0.1:5300 -d q.txt --rate 100";
    work.dnsdyno(&format!("{there} --software namd")).ends_refused(2, &["--software namd", "bind, unbound"]);
    work.dnsdyno(&format!("{there} --software nsd --on netns:nosuch -o a")).gives(3).says(&["nosuch"]);
    // Nobody answers there.
    let ran =
        work.dnsdyno("tune -s 127.0.0.1:1 -d q.txt --rate 100 --trial 200ms --software nsd -o b").gives(3);
    assert!(ran.stdout.contains("could not be measured as it is"), "{}", ran.stdout);
    work.write("typo.toml", NIGHT.replace("parameters", "parametres"));
    work.dnsdyno("tune typo.toml").ends_refused(2, &["parametres", "did you mean `parameters`?"]);
}
