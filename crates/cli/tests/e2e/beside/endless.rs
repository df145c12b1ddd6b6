//! Input without an end, and little memory: each ends in a sentence, in time, and one signal ends any reading.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dnsdyno_lab::{Need, require};
use dnsdyno_responder::Faults;
use rustix::process::Signal;

use crate::support::{Workplace, responder};

#[test]
fn input_without_an_end_ends_in_a_sentence() {
    let work = Workplace::new();
    // Of some kilobytes, it has gigabytes in it.
    let frame = zstd::bulk::compress(&vec![b'a'; 64 << 20], 1).unwrap();
    work.write("bomb.zst", frame.repeat(64));
    // What runs out of memory, or of time (124), has no bound.
    let limited = |script: &str| work.shell(&format!("ulimit -v 1000000; {script}"));
    for (script, says) in [
        ("yes | timeout 50 $0 run -s 127.0.0.1:9 -d -", "standard input has no queries"),
        (
            "yes 'a.example A' | timeout 50 $0 run -s 127.0.0.1:9 -d -",
            "standard input is too large: its queries exceed",
        ),
        ("timeout 50 $0 run -s 127.0.0.1:9 -d /dev/zero", "/dev/zero"),
        ("timeout 50 $0 run -s 127.0.0.1:9 -d /dev/urandom --queries-format text", "/dev/urandom"),
        (
            "timeout 50 $0 run -s 127.0.0.1:9 --zone /dev/zero --origin a",
            "the zone file /dev/zero cannot be used",
        ),
        ("timeout 50 $0 run -s 127.0.0.1:9 --tsig-file /dev/zero --ask a", "--tsig-file"),
        ("timeout 50 $0 run -s 127.0.0.1:9 --source epc:/dev/zero", "longer than 64 MiB"),
        ("timeout 50 $0 run --servers /dev/zero --ask a", "larger than 64 KiB"),
        ("timeout 50 $0 run --plan /dev/zero", "larger than 4 MiB"),
        ("timeout 50 $0 experiment /dev/zero", "longer than 64 MiB"),
        ("timeout 50 $0 qualify -s 127.0.0.1:9 --ask a --function /dev/zero", "longer than 64 MiB"),
        ("timeout 50 $0 run -s 127.0.0.1:9 -d bomb.zst", "longer than 16 MiB"),
        ("timeout 50 $0 dnsperf -s 127.0.0.1 -p 9 -d /dev/zero", "a line has not ended after 1 GiB"),
        // As dnsperf does with a file without a valid line.
        ("yes | timeout 50 $0 dnsperf -s 127.0.0.1 -p 9", "Testing complete (end of file)"),
    ] {
        let ran = limited(script);
        let code = match script {
            yes if yes.contains("yes | timeout 50 $0 dnsperf") => 0,
            other if other.contains("dnsperf") => 1,
            _ => 2,
        };
        assert_eq!(ran.code(), Some(code), "{script}: {}", ran.stderr);
        assert!(ran.stderr.contains(says) || ran.stdout.contains(says), "{script}: {ran:?}");
    }
}

/// Writes comments into a pipe until nobody reads them.
fn feed(pipe: PathBuf) -> JoinHandle<()> {
    thread::spawn(move || {
        let Ok(mut pipe) = File::options().write(true).open(pipe) else { return };
        while pipe.write_all(&b";\n".repeat(1_000)).is_ok() {}
    })
}

#[test]
fn one_signal_ends_the_reading_of_a_pipe_that_gives_nothing_or_never_ends() {
    let work = Workplace::new();
    work.shell("mkfifo silent endless").gives(0);
    for (words, is_open) in [
        ("run -s 127.0.0.1:9 -d silent", false),
        ("run -s 127.0.0.1:9 -d endless", true),
        ("run -s 127.0.0.1:9 --replay silent", false),
        ("run -s 127.0.0.1:9 --zone silent --origin a", false),
        ("find -s 127.0.0.1:9 -d silent --while loss<1% -o found", false),
        ("respond --listen 127.0.0.1:0 --zone silent", false),
        ("capture show silent", false),
        // Last, because it makes the folder of its records before.
        ("dnsperf -s 127.0.0.1 -p 9 -d silent", false),
    ] {
        for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
            // It ends with its reader.
            let feeding = is_open.then(|| feed(work.path("endless")));
            let mut started = work.start(words);
            let pid = started.pid().as_raw_nonzero().get();
            // It waits for the pipe, or reads it.
            let opens = move || {
                let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
                let mut links = fds.filter_map(|fd| std::fs::read_link(fd.path()).ok());
                let syscalls = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
                let mut calls =
                    syscalls.filter_map(|task| std::fs::read_to_string(task.path().join("wchan")).ok());
                match is_open {
                    true => links.any(|link| link.ends_with("endless")),
                    false => calls.any(|call| call.contains("fifo") || call.contains("wait_for_partner")),
                }
            };
            started.until("it reads", opens);
            let since = std::time::Instant::now();
            started.signal(signal);
            let ran = started.wait();
            assert!(since.elapsed() < Duration::from_secs(3), "{words}: {:?}", since.elapsed());
            // Before there is anything to end in order, the signal itself ends the program.
            assert!(
                ran.code().is_none_or(|ended| ended == code || words.starts_with("dnsperf")),
                "{words}: {ran:?}"
            );
            assert!(!work.has("runs") || words.starts_with("dnsperf"), "{words}");
            drop(feeding.map(|feeding| feeding.join()));
        }
    }
}

#[test]
fn sigint_ends_a_background_job_of_a_script_which_shells_start_to_ignore_it() {
    let work = Workplace::new();
    work.shell("mkfifo silent").gives(0);
    for words in ["respond --listen 127.0.0.1:0 --zone silent", "capture show silent"] {
        // A signal that comes before the program has begun is ignored.
        let sends = "for i in $(seq 100); do kill -INT $! || break; sleep 0.1; done 2> /dev/null";
        work.shell(&format!("\"$0\" {words} & {sends}; kill -KILL $! 2> /dev/null; wait $!")).gives(130);
    }
}

#[test]
fn little_memory_ends_in_a_sentence_and_a_record_that_was_begun_is_good() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let to = format!("-s {} -d q.txt --timeout 1s", server.address());
    for (kib, options) in [
        (60_000, "-q 100 --count 1k"),
        (100_000, "-q 100 --count 1k"),
        (200_000, "-q 100 --count 1k"),
        (200_000, "-q 100 --count 1k --workers 64 --clients 640"),
        (400_000, "-q 10k --for 1s --clients 2000"),
        (400_000, "-m tcp -q 500 --count 2k --clients 500 --workers 16"),
        (1_000_000, "--rate 2k --for 1s --interval 100ms"),
    ] {
        let name = format!("of-{kib}-{}", options.len());
        let ran = work.shell(&format!("ulimit -v {kib}; exec \"$0\" run {to} {options} -o {name}"));
        let said = format!("{kib} KiB, {options}: {ran:?}");
        assert!(ran.code().is_some(), "a signal ended it: {said}");
        assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains("memory allocation of"), "{said}");
        match ran.code() {
            Some(0 | 1) => {}
            Some(code) => {
                let tells = ran.stderr.contains("no memory for")
                    || ran.stderr.contains("give this process more memory")
                    || ran.stdout.contains("gives no thread");
                assert!(code == 3 && (tells || ran.stderr.contains("of memory more")), "{said}");
            }
            None => unreachable!(),
        }
        if work.has(&format!("{name}/run.ndjson")) {
            work.dnsdyno(&format!("show {name}")).gives(0);
        }
    }
}

#[test]
fn a_control_group_with_little_memory_bounds_what_is_read() {
    if !require(&[Need::Root]) {
        return;
    }
    let work = Workplace::new();
    // Where version 2 has no controller of memory, version 1 may have it.
    let made = GROUPS.iter().find_map(|(root, limit)| {
        let group = format!("{root}/dnsdyno-e2e-{}", std::process::id());
        std::fs::create_dir(&group).ok()?;
        // Elsewhere it is a folder like any other.
        let is_group = std::path::Path::new(&group).join("cgroup.procs").exists();
        let is_limited = is_group && std::fs::write(format!("{group}/{limit}"), "200000000").is_ok();
        if !is_limited {
            let _ = std::fs::remove_dir(&group);
        }
        is_limited.then_some(group)
    });
    let Some(group) = made else { return eprintln!("skipped: no control group can be made") };
    let ran = work.shell(&format!(
        "echo $$ > {group}/cgroup.procs; yes 'a.example A' | timeout 50 $0 run -s 127.0.0.1:9 -d -"
    ));
    let _ = std::fs::remove_dir(&group);
    ran.ends_refused(2, &["standard input is too large", "this process can have no more memory"]);
}

/// Where control groups are, and the file of their limit.
const GROUPS: [(&str, &str); 2] =
    [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")];
