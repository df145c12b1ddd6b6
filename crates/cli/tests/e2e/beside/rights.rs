//! The rights of running programs, as the kernel tells them: started as root, they keep what they need.

use std::fs;
use std::os::unix::fs::symlink;

use dnsdyno_responder::Faults;
use dnsdyno_sys::process;
use dnsdyno_sys::rights::CapabilitySet;
use rustix::process::{Pid, Signal};

use crate::beside::serve::{address_of, get, json};
use crate::support::{Started, Workplace, responder};

/// What the kernel tells of a thread.
#[derive(Clone, Debug)]
struct Thread {
    name: String,
    status: String,
}

impl Thread {
    fn field(&self, key: &str) -> &str {
        let mut fields = self.status.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(name, _)| *name == key).unwrap_or_else(|| panic!("{key}: {self:?}")).1.trim()
    }

    /// A set of capabilities.
    fn set(&self, key: &str) -> CapabilitySet {
        CapabilitySet::from_bits_retain(u64::from_str_radix(self.field(key), 16).unwrap())
    }

    fn has_no_capability(&self) -> bool {
        ["CapInh", "CapPrm", "CapEff", "CapAmb"].iter().all(|key| self.set(key).is_empty())
    }
}

/// The threads of a process, its first one first.
fn threads(pid: Pid) -> Vec<Thread> {
    let tasks = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).unwrap();
    let mut numbers: Vec<u32> =
        tasks.map(|task| task.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect();
    numbers.sort_unstable();
    let thread = |number: u32| {
        let of = |file: &str| fs::read_to_string(format!("/proc/{number}/{file}")).ok();
        Some(Thread { name: of("comm")?.trim().to_owned(), status: of("status")? })
    };
    // One may have ended meanwhile.
    numbers.into_iter().filter_map(thread).collect()
}

/// The threads as soon as this holds of them.
fn threads_when(started: &mut Started<'_>, what: &str, seen: impl Fn(&[Thread]) -> bool) -> Vec<Thread> {
    let mut last = Vec::new();
    let pid = started.pid();
    started.until(what, || {
        last = threads(pid);
        seen(&last)
    });
    last
}

/// What only somebody who has taken over the program has a use for.
fn of_nobody() -> CapabilitySet {
    CapabilitySet::SYS_MODULE
        | CapabilitySet::SYS_RAWIO
        | CapabilitySet::SYS_TIME
        | CapabilitySet::SYS_BOOT
        | CapabilitySet::SETUID
        | CapabilitySet::SETPCAP
        | CapabilitySet::CHOWN
        | CapabilitySet::MKNOD
}

/// A folder `runs` with a run of this name.
fn with_run(name: &str) -> Workplace {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words = format!("run -s {} -d q.txt --rate 500 --for 100ms -o runs/{name}", server.address());
    work.dnsdyno(&words).gives(0);
    work
}

#[test]
fn each_thread_of_the_server_of_pages_has_no_capability_and_a_filter_of_system_calls() {
    let work = with_run("a");
    let mut serving = work.start("serve --listen 127.0.0.1:0");
    let address = address_of(&work, &mut serving);
    // Threads that read records are there too, and all kinds of pages are made with what is left.
    for path in ["/", "/runs/a/", "/history", "/report?run=a", "/runs/a/files/plan.toml", "/api/runs"] {
        assert_eq!(get(address, path).0, "HTTP/1.1 200 OK", "{path}");
    }
    let threads = threads(serving.pid());
    assert!(threads.len() >= 3, "{threads:?}");
    for thread in &threads {
        assert!(thread.has_no_capability(), "{thread:?}");
        assert_eq!(thread.field("NoNewPrivs"), "1", "{thread:?}");
        if !work.stderr().contains("no filter of system calls") {
            assert_eq!(thread.field("Seccomp"), "2", "{thread:?}");
        }
    }
    serving.signal(Signal::INT);
    serving.wait().gives(0);
}

#[test]
fn what_takes_the_place_of_the_served_folder_is_not_read() {
    let work = with_run("a");
    // The private folder has what looks like runs.
    fs::rename(work.path("runs"), work.path("private")).unwrap();
    fs::create_dir(work.path("runs")).unwrap();
    let mut serving = work.start("serve --listen 127.0.0.1:0");
    let address = address_of(&work, &mut serving);
    assert_eq!(json(address, "/api/runs")["runs"].as_array().unwrap().len(), 0);
    if work.stderr().contains("no Landlock") {
        println!("skipped: {}", work.stderr());
    } else {
        fs::rename(work.path("runs"), work.path("before")).unwrap();
        symlink(work.path("private"), work.path("runs")).unwrap();
        let (status, body) = get(address, "/api/runs");
        assert_eq!(status, "HTTP/1.1 500 Internal Server Error", "{body}");
        assert!(body.contains("Permission denied"), "{body}");
        let (status, body) = get(address, "/runs/a/files/plan.toml");
        assert!(status.starts_with("HTTP/1.1 4"), "{status}: {body}");
        // The folder itself is read wherever it is.
        fs::remove_file(work.path("runs")).unwrap();
        fs::rename(work.path("before"), work.path("runs")).unwrap();
        assert_eq!(json(address, "/api/runs")["runs"].as_array().unwrap().len(), 0);
    }
    serving.signal(Signal::INT);
    serving.wait().gives(0);
}

#[test]
fn a_worker_has_no_capability_and_its_process_only_those_of_a_run() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words = format!("run -s {} -d q.txt --rate 200 --for 20s --metrics 0 -o now", server.address());
    let mut run = work.start(&words);
    let is_worker = |thread: &&Thread| thread.name.starts_with("dnsdyno") && thread.has_no_capability();
    let threads = threads_when(&mut run, "a worker has given up its capabilities", |threads| {
        threads.iter().skip(1).any(|thread| is_worker(&thread))
    });
    for thread in &threads {
        assert!((thread.set("CapPrm") & of_nobody()).is_empty(), "{thread:?}");
        assert!((thread.set("CapBnd") & of_nobody()).is_empty() || !is_root(), "{thread:?}");
        assert_eq!(thread.field("NoNewPrivs"), "1", "{thread:?}");
    }
    let http = threads.iter().find(|thread| thread.name == "http").unwrap();
    assert!(http.has_no_capability(), "{http:?}");
    run.signal(Signal::INT);
    run.wait().gives(130);
}

#[test]
fn the_trials_that_find_the_number_of_workers_have_no_other_rights_than_their_run() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words = format!("run -s {} -d q.txt --rate 200 --for 20s --workers auto", server.address());
    let mut run = work.start(&words);
    let threads = threads_when(&mut run, "a trial runs", |threads| {
        threads.iter().skip(1).any(|thread| thread.name.starts_with("dnsdyno") && thread.has_no_capability())
    });
    // The thread of signals stays for the run.
    assert!(threads.iter().any(|thread| thread.name == "signals"), "{threads:?}");
    for thread in &threads {
        assert!((thread.set("CapPrm") & of_nobody()).is_empty(), "{thread:?}");
        assert_eq!(thread.field("NoNewPrivs"), "1", "{thread:?}");
    }
    run.signal(Signal::INT);
    run.wait().gives(130);
}

#[test]
fn the_responder_has_no_capability_once_it_listens() {
    let work = Workplace::new();
    let mut responding =
        work.start("respond --listen 127.0.0.1:0 --threads 2 --dot 127.0.0.1:0 --doq 127.0.0.1:0");
    responding.until("it listens", || work.stderr().contains("listening on"));
    let threads = threads_when(&mut responding, "all have given up their capabilities", |threads| {
        threads.iter().all(Thread::has_no_capability)
    });
    assert!(threads.len() >= 7, "{threads:?}");
    assert_eq!(threads[0].field("NoNewPrivs"), "1");
    responding.signal(Signal::INT);
    responding.wait().gives(0);
}

#[test]
fn an_agent_has_only_the_capabilities_of_a_run() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words = format!("run --on local:1 -s {} -d q.txt --rate 200 --for 20s -o now", server.address());
    let mut run = work.start(&words);
    let own = run.pid().as_raw_nonzero().get() as u32;
    let mut agents = Vec::new();
    run.until("the agent makes its load", || {
        agents = process::all().filter(|one| one.parent == own && one.name == "dnsdyno").collect();
        work.path("now").join("run.ndjson").exists() && !agents.is_empty()
    });
    let agent = Pid::from_raw(agents[0].pid as i32).unwrap();
    for thread in threads(agent) {
        assert!((thread.set("CapPrm") & of_nobody()).is_empty(), "{thread:?}");
        assert_eq!(thread.field("NoNewPrivs"), "1", "{thread:?}");
    }
    run.signal(Signal::INT);
    run.wait().gives(130);
}

fn is_root() -> bool {
    process::effective_user() == 0
}
