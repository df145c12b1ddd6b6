//! A host that is watched over SSH: a real `sshd` in a network namespace, with keys of its own.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use dnsdyno_measure::Samples;
use dnsdyno_record::Digest;
use rustix::process::Signal;

use crate::support::{Remote, Workplace, has_program};

fn samples(digest: &Digest, source: usize) -> &Samples {
    digest.watched()[source].as_ref().expect("samples of the whole run")
}

/// The names of series that begin so.
fn names(samples: &Samples, prefixes: &[&str]) -> BTreeSet<String> {
    let all = samples.counters.keys().chain(samples.gauges.keys());
    all.filter(|name| prefixes.iter().any(|prefix| name.starts_with(prefix))).cloned().collect()
}

#[test]
fn over_ssh_the_same_series_are_read_as_on_the_host_itself() {
    let Some(remote) = Remote::start("") else { return };
    let Some(server) = remote.server("knot") else { return };
    let work = Workplace::with_queries();
    let (address, pid, ssh) = (server.address(), server.pid(), remote.address());
    // Enough of them for the server to use some ticks of 10 ms, in which the kernel counts CPU time.
    let load = format!("-s {address} -d q.txt --count 20000 --outstanding 20");
    let ways = [format!("--watch {ssh} -o run"), format!("--watch host={pid} --watch process={pid} -o near")];
    let said = format!("knotd ({pid}) at 10.77.0.2");
    for (way, said) in ways.iter().zip([&[said.as_str()][..], &[]]) {
        remote.run(&work, &format!("{load} {way}")).wait().gives(0).says(said);
    }
    let (digest, near) = (work.record("run"), work.record("near"));
    assert_eq!((digest.tally().ends.answered, digest.events.as_slice()), (20_000, &[][..]));
    let (host, process, near_host, near_process) =
        (samples(&digest, 0), samples(&digest, 1), samples(&near, 0), samples(&near, 1));
    let of_host = [
        "snmp.",
        "snmp6.",
        "netstat.",
        "softnet.",
        "softirq.",
        "sockstat.",
        "cpu",
        "memory.",
        "interface.far.",
    ];
    assert_eq!(names(host, &of_host), names(near_host, &of_host));
    let of_process =
        ["cpu_ns", "thread.", "context_switches.", "udp.", "socket.udp.", "memory", "files.", "threads"];
    assert_eq!(names(process, &of_process), names(near_process, &of_process));
    for name in ["snmp.Udp.InDatagrams", "snmp.Udp.OutDatagrams", "snmp.Udp.RcvbufErrors"] {
        assert_eq!(host.counter(name), near_host.counter(name), "{name}");
    }
    assert_eq!(host.counter("snmp.Udp.InDatagrams"), 20_000);
    assert!(process.counter("cpu_ns") > 0 && process.counter("udp.drops") == 0, "{process:?}");
    assert_eq!(digest.header.watched[0].label, "10.77.0.2");
    let parameter = "net.ipv4.ip_local_port_range";
    assert_eq!(digest.header.watched[0].settings[parameter], near.header.watched[0].settings[parameter]);
    // In both ways at once they are watched once.
    let both = format!("{load} --watch {ssh} --watch host={pid} --watch process={pid} -o both");
    remote.run(&work, &both).wait().gives(0);
    assert_eq!(work.record("both").header.watched.len(), 2, "{:?}", work.record("both").header.watched);
}

#[test]
fn a_connection_that_is_cut_in_the_middle_is_an_event_and_comes_back_with_nothing_lost() {
    let Some(remote) = Remote::start("") else { return };
    let Some(server) = remote.server("knot") else { return };
    let work = Workplace::with_queries();
    let (address, ssh) = (server.address(), remote.address());
    let words = format!("-s {address} -d q.txt --rate 50 --for 100s --timeout 500ms --watch {ssh} -o run");
    let before = received(&remote);
    let mut run = remote.run(&work, &words);
    let last_has = |is_read: bool| {
        let intervals = work.intervals("run");
        let last = intervals.last().map(|interval| interval.watched.first().is_some_and(Option::is_some));
        last == Some(is_read)
    };
    run.until("the first samples", || last_has(true));
    remote.pair.near().ip(&["link", "set", "near", "down"]).unwrap();
    let cut = Instant::now();
    run.until("an interval without samples", || last_has(false) && cut.elapsed() > Duration::from_secs(5));
    remote.pair.near().ip(&["link", "set", "near", "up"]).unwrap();
    run.until("samples again", || last_has(true));
    run.signal(Signal::INT);
    run.wait().gives(130);
    let digest = work.record("run");
    for source in ["10.77.0.2", "knotd"] {
        let events = digest.events.iter().filter(|event| event.message.starts_with(source));
        let kinds: Vec<_> = events.map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["watch_lost", "watch_back"], "{:?}", digest.events);
    }
    // What happened while nothing could be read is in the first samples after it.
    let counted = samples(&digest, 0).counter("snmp.Udp.InDatagrams");
    assert!(counted > 0);
    assert_eq!(counted, received(&remote) - before);
}

/// The datagrams that programs at the far end have received so far.
fn received(remote: &Remote) -> u64 {
    let snmp = || fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let snmp = remote.pair.far().enter(snmp).unwrap();
    let counts = snmp.lines().rfind(|line| line.starts_with("Udp: ")).unwrap();
    counts.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_host_that_lets_nobody_in_is_an_error_before_the_run_in_the_words_of_ssh() {
    let Some(remote) = Remote::start("") else { return };
    let work = Workplace::with_queries();
    let (ssh, far) = (remote.address(), remote.pair.far().ipv4);
    let refused = |ssh: &str, words: &[&str]| {
        let words = [words, &["cannot connect", "ssh -o BatchMode=yes"]].concat();
        remote.run(&work, &format!("-s {far} -d q.txt --count 1 --watch {ssh}")).wait().gives(3).says(&words);
    };
    remote.configure("other_key", "known_hosts");
    refused(&ssh, &["Permission denied (publickey"]);
    fs::write(remote.path("none"), "").unwrap();
    remote.configure("user_key", "none");
    refused(&ssh, &["Host key verification failed"]);
    refused("ssh://none.invalid", &["Could not resolve hostname none.invalid"]);
    refused(&format!("ssh://{far}:1"), &["Connection refused"]);
    assert!(!work.has("runs"));
}

#[test]
fn a_host_with_busybox_and_a_part_of_the_files_is_watched_by_those_and_the_rest_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    if !has_program("busybox") {
        return;
    }
    for part in ["bin", "dev", "proc/net", "proc/self/ns"] {
        fs::create_dir_all(root.join(part)).unwrap();
    }
    let busybox =
        ["/bin/busybox", "/usr/bin/busybox"].into_iter().find(|path| Path::new(path).exists()).unwrap();
    fs::copy(busybox, root.join("bin/busybox")).unwrap();
    ["sh", "grep", "ls", "sed"]
        .iter()
        .for_each(|name| symlink("busybox", root.join("bin").join(name)).unwrap());
    fs::write(root.join("dev/null"), "").unwrap();
    ["stat", "net/snmp"]
        .iter()
        .for_each(|file| drop(fs::copy(format!("/proc/{file}"), root.join("proc").join(file))));
    let force = format!("ForceCommand exec chroot {} /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"", root.display());
    let Some(remote) = Remote::start(&force) else { return };
    let Some(server) = remote.server("nsd") else { return };
    let work = Workplace::with_queries();
    let words = format!("-s {} -d q.txt --count 100 --watch {} -o run", server.address(), remote.address());
    remote.run(&work, &words).wait().gives(0).says(&["no process that this user may see listens"]);
    let digest = work.record("run");
    let [host] = digest.header.watched.as_slice() else { panic!("{:?}", digest.header.watched) };
    assert!(!host.missing.is_empty());
    let host = samples(&digest, 0);
    // The files there are copies that do not change.
    assert_eq!(host.counters.get("snmp.Udp.InDatagrams"), Some(&0));
    assert!(names(host, &["softnet.", "netstat."]).is_empty(), "{host:?}");
}
