//! What this host did to a run: a server without a CPU, quotas of control groups. Each is provoked, and what the run
//! says is held against the counters of the kernel.
//!
//! Other programs on the host may disturb a run too, so it may be repeated a few times.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use dnsdyno_lab::{CpuGroup, Need, Place, ServerOptions, require, within_tries};
use dnsdyno_measure::{TestBed, Warning};
use dnsdyno_record::Digest;
use dnsdyno_responder::{Faults, Share};
use serde_json::Value;

use crate::support::{Workplace, real_server, responder};

/// The names of what may be said of the test bed.
const OF_BED: [&str; 4] = ["server_starved", "server_throttled", "throttled", "cpu_stolen"];

/// Programs that use all they get of one CPU.
struct Hogs(Vec<Child>);

impl Hogs {
    fn on(cpu: usize, number: usize) -> Hogs {
        let hog = |_| {
            let words = ["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"];
            Command::new("taskset").args(words).spawn().unwrap()
        };
        Hogs((0..number).map(hog).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

/// A process and those that it has started.
fn family(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = children.split_whitespace().map(|child| child.parse::<u32>().unwrap());
    [pid].into_iter().chain(children.flat_map(family)).collect()
}

/// For how long their threads have waited for a CPU so far.
fn waited_ns(pids: &[u32]) -> u64 {
    let threads = pids.iter().flat_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).unwrap());
    let waited = |thread: fs::DirEntry| -> u64 {
        let text = fs::read_to_string(thread.path().join("schedstat")).unwrap();
        text.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    threads.map(|thread| waited(thread.unwrap())).sum()
}

fn bed(digest: &Digest) -> &TestBed {
    digest.arrivals().bed.as_deref().unwrap()
}

fn doubts(digest: &Digest) -> Vec<&'static str> {
    digest.warnings().iter().map(Warning::name).collect()
}

/// Whether it is as expected; the reason otherwise.
fn check(is_so: bool, otherwise: impl std::fmt::Debug) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(format!("{otherwise:?}")) }
}

#[test]
fn a_server_without_a_cpu_is_named_with_the_wait_that_the_kernel_counted() {
    let cpus = dnsdyno_sys::thread::allowed_cpus().unwrap();
    let (Some(of_server), Some(ours)) = (cpus.first(), cpus.last()) else { panic!("a process has a CPU") };
    within_tries(3, "a starved server", |_| {
        let work = Workplace::with_queries();
        let place = Place { cpus: vec![*of_server], ..Place::default() };
        let Some(server) = real_server("nsd", &ServerOptions { place, ..ServerOptions::default() }) else {
            return Ok(());
        };
        // It has forked: the wait is that of a child.
        let pids = family(server.pid());
        // So many that the server's buffer is full before it has its turn.
        let hogs = Hogs::on(*of_server, 40);
        let before_ns = waited_ns(&pids);
        let words = format!(
            "run -s {} -d q.txt --rate 40k --for 3s --timeout 300ms --interval 200ms --workers 1 --quiet -o run",
            server.address()
        );
        let place = Place { cpus: vec![*ours], is_preferred: require(&[Need::Root]), ..Place::default() };
        let ran = work.start_at(&place, &words).wait();
        let by_kernel_ns = waited_ns(&pids) - before_ns;
        drop(hogs);
        let digest = work.record("run");
        let of_server = bed(&digest).server.as_deref().unwrap();
        // The kernel counts from a little before the run to a little after it.
        let nearly = by_kernel_ns / 10 * 8..=by_kernel_ns;
        check(nearly.contains(&of_server.wait_ns), (by_kernel_ns, of_server))?;
        check(of_server.longest_wait_ns <= of_server.wait_ns, of_server)?;
        let shown = work.dnsdyno("show run").gives(0).stdout;
        let named = digest.warnings().into_iter().find_map(|warning| match warning {
            Warning::ServerStarved { waited_ns, lasted_ns, lost, of } => {
                Some((waited_ns, lasted_ns, lost, of))
            }
            _ => None,
        });
        let Some((waited_ns, lasted_ns, lost, of)) = named else {
            return Err(format!("it is not named: {ran:?}\n{shown}\n{:?}", bed(&digest)));
        };
        // One of many that want the CPU.
        check(waited_ns > lasted_ns / 3 && lost > of / 2, (waited_ns, lasted_ns, lost, of))?;
        check(shown.contains("server starved: a thread of it waited"), &shown)
    });
}

#[test]
fn a_server_with_a_quota_is_told_from_one_without_a_cpu() {
    if !require(&[Need::Root]) {
        return;
    }
    within_tries(3, "a throttled server", |_| {
        let work = Workplace::with_queries();
        let group = CpuGroup::new(Duration::from_millis(2), Duration::from_millis(200)).unwrap();
        let Some(server) = real_server("knot", &ServerOptions::default()) else { return Ok(()) };
        group.add(server.pid()).unwrap();
        let before = group.statistic("nr_throttled").unwrap();
        let words = "-d q.txt --rate 5k --for 3s --timeout 500ms --interval 100ms --quiet -o run";
        let ran = work.dnsdyno(&format!("run -s {} {words}", server.address()));
        let by_kernel = group.statistic("nr_throttled").unwrap() - before;
        drop(server);
        let digest = work.record("run");
        let doubts = doubts(&digest);
        let has = doubts.contains(&"server_throttled") && !doubts.contains(&"server_starved");
        check(has, (ran, &doubts, bed(&digest)))?;
        let quota = bed(&digest).server.as_deref().and_then(|server| server.quota.as_deref()).unwrap();
        let nearly = by_kernel / 10 * 8..=by_kernel;
        check(nearly.contains(&quota.throttled_periods) && by_kernel > 5, (by_kernel, quota))
    });
}

#[test]
fn our_own_quota_is_named() {
    if !require(&[Need::Root]) {
        return;
    }
    within_tries(3, "a throttled generator", |_| {
        let work = Workplace::with_queries();
        let group = CpuGroup::new(Duration::from_millis(5), Duration::from_millis(100)).unwrap();
        let Some(server) = real_server("nsd", &ServerOptions::default()) else { return Ok(()) };
        let words = "-d q.txt --rate 100k --for 3s --timeout 500ms --interval 200ms --quiet -o run";
        let run = work.start(&format!("run -s {} {words}", server.address()));
        group.add(run.pid().as_raw_nonzero().get().unsigned_abs()).unwrap();
        let ran = run.wait();
        let by_kernel = group.statistic("nr_throttled").unwrap();
        let digest = work.record("run");
        check(doubts(&digest).contains(&"throttled"), (ran, bed(&digest)))?;
        let quota = bed(&digest).quota.as_deref().unwrap();
        check(quota.throttled_periods > 5 && quota.throttled_periods <= by_kernel, (by_kernel, quota))
    });
}

#[test]
fn a_quiet_run_says_nothing_of_its_host() {
    within_tries(3, "a quiet run", |_| {
        let work = Workplace::with_queries();
        let place = Place { is_preferred: require(&[Need::Root]), ..Place::default() };
        let options = ServerOptions { place: place.clone(), ..ServerOptions::default() };
        let Some(server) = real_server("nsd", &options) else { return Ok(()) };
        let words = format!("run -s {} -d q.txt --rate 1k --for 2s --quiet -o run", server.address());
        work.start_at(&place, &words).wait();
        let digest = work.record("run");
        let of_server = bed(&digest).server.as_deref();
        check(of_server.is_some_and(|server| server.cpu_ns > 0), of_server)?;
        check(doubts(&digest).iter().all(|doubt| !OF_BED.contains(doubt)), (doubts(&digest), bed(&digest)))
    });
}

#[test]
fn a_server_that_drops_queries_is_not_excused_by_a_host_that_is_busy() {
    within_tries(3, "a server that drops", |_| {
        let work = Workplace::new();
        let server = responder(Faults { loss: Share::new(0.1).unwrap(), ..Faults::default() });
        let words = "--ask www.example --rate 2k --for 2s --timeout 200ms --quiet -o run";
        let hogs: Vec<_> =
            dnsdyno_sys::thread::allowed_cpus().unwrap().into_iter().map(|cpu| Hogs::on(cpu, 1)).collect();
        work.dnsdyno(&format!("run -s {} {words}", server.address()));
        drop(hogs);
        let digest = work.record("run");
        check(digest.tally().ends.timed_out > 300, digest.tally().ends)?;
        check(!doubts(&digest).contains(&"server_starved"), (doubts(&digest), bed(&digest)))
    });
}

/// The limit ends with the run, and the record says that it was set.
#[test]
fn idle_cpus_are_kept_ready_while_the_load_runs_unless_they_may_sleep() {
    const LIMIT: &str = "/dev/cpu_dma_latency";
    let limit = || fs::read(LIMIT).unwrap();
    if !require(&[Need::Root]) || !Path::new(LIMIT).exists() {
        println!("skipped: this kernel has no limit for idle CPUs");
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let before = limit();
    for (word, is_set) in [("", true), ("--deep-idle", false)] {
        let load = format!("run -s {} -d q.txt --rate 1k --for 1s {word} -o run-{is_set}", server.address());
        let running = work.start(&load);
        let until = Instant::now() + Duration::from_secs(20);
        let mut was_set = false;
        while Instant::now() < until && !work.has(&format!("run-{is_set}/run.ndjson")) {
            std::thread::sleep(Duration::from_millis(5));
        }
        for _ in 0..50 {
            was_set |= limit() != before;
            std::thread::sleep(Duration::from_millis(10));
        }
        running.wait().gives(0);
        let host: Value = serde_json::from_str(&work.read(&format!("run-{is_set}/host.json"))).unwrap();
        assert_eq!(host.get("idle_exit_limit_us").is_some(), is_set, "{host}");
        assert_eq!((was_set, limit()), (is_set, before.clone()), "{word}");
    }
}
