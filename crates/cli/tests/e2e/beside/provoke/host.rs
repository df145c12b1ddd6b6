//! What a host gives: CPU time, a link, a table of connections, whole packets.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use dnsdyno_lab::CpuGroup;

use super::scene::{Measured, Scene};

/// A server of one thread on a host of several CPUs: it gets more than it can answer, from a window that its queue does
/// not hold.
pub(super) fn one_busy_thread() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["unbound"])?;
    let server = scene.server("unbound", |options| {
        options.receive_buffer_bytes = 1 << 20;
        options.values.insert("clients".to_owned(), "10.77.0.0/24".to_owned());
    });
    let load = "-d q.txt --clients 1 --workers 1 --outstanding 4000 --for 3s --timeout 300ms";
    let measured = scene.load(&server, load);
    let busy_ns = times_of_threads(server.pid());
    assert!(matches!(busy_ns[..], [most] if most > 2_000_000_000), "{busy_ns:?}");
    Some((scene, measured))
}

/// How long each thread of a process was running, or ready to run where something else had the CPU.
fn times_of_threads(process: u32) -> Vec<u64> {
    let folder = format!("/proc/{process}/task");
    let threads = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let time = |thread: PathBuf| -> u64 {
        let text = fs::read_to_string(thread.join("schedstat")).unwrap();
        text.split_whitespace().take(2).map(|ns| ns.parse::<u64>().unwrap()).sum()
    };
    threads.map(time).collect()
}

/// A server with a quota of 1/200 of a CPU, before all other programs of the host: it waits for nothing else.
pub(super) fn throttled_server() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["knot"])?;
    let group = CpuGroup::new(Duration::from_millis(1), Duration::from_millis(200)).unwrap();
    group.put_first().unwrap();
    let server = scene.server("knot", |_| ());
    group.add(server.pid()).unwrap();
    let measured = scene.load(&server, "-d q.txt --rate 5k --for 3s --timeout 500ms");
    let throttled = group.statistic("nr_throttled").unwrap_or_default();
    assert!(throttled > 5 && measured.unanswered() > 500, "{throttled}: {:?}", measured.ends());
    drop(server);
    Some((scene, measured))
}

/// A generator with a quota of a tenth of a CPU.
pub(super) fn starved_generator() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["nsd"])?;
    let group = CpuGroup::new(Duration::from_millis(5), Duration::from_millis(100)).unwrap();
    let server = scene.server("nsd", |_| ());
    let load = "-d q.txt --rate 100k --for 3s --timeout 500ms";
    let measured =
        scene.load_with(&server, load, |run| group.add(run.pid().as_raw_nonzero().get() as u32).unwrap());
    let throttled = group.statistic("nr_throttled").unwrap_or_default();
    assert!(throttled > 5 && measured.ends().not_sent.total() > 1_000, "{throttled}: {:?}", measured.ends());
    Some((scene, measured))
}

/// Responses through a link of 1 Mbit/s that drops what waits too long.
pub(super) fn shaped_link() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["nsd"])?;
    let server = scene.server("nsd", |_| ());
    scene.shape(scene.far(), "1mbit", "20kb");
    let measured = scene.load(&server, "-d q.txt --rate 5k --for 3s --timeout 500ms");
    assert!(measured.unanswered() > 1_000, "{:?}", measured.ends());
    assert!(scene.dropped_by_queue(scene.far()) >= 1_000);
    Some((scene, measured))
}

/// A firewall whose table of connections is full: clients that it does not know yet are dropped.
pub(super) fn full_connection_table() -> Option<(Scene, Measured)> {
    let scene = Scene::with_programs(&["nsd"], &[("nft", "nftables"), ("conntrack", "conntrack")])?;
    let server = scene.server("nsd", |_| ());
    let rule =
        "table inet firewall { chain input { type filter hook input priority 0; ct state new accept; }; }";
    scene.filter(scene.far(), rule);
    scene.fill_connection_table(scene.far());
    let before = scene.connection_table(scene.far(), "drop");
    let measured = scene.load(&server, "-d q.txt --rate 1k --for 2s --timeout 500ms");
    let dropped = scene.connection_table(scene.far(), "drop") - before;
    // Several datagrams may be one packet there.
    assert!(dropped > 100 && measured.unanswered() == 2_000, "{dropped}: {:?}", measured.ends());
    Some((scene, measured))
}

/// Responses in two packets, of which a firewall on the way lets only the first pass.
pub(super) fn lost_fragments() -> Option<(Scene, Measured)> {
    let scene = Scene::with_programs(&["bind"], &[("nft", "nftables")])?;
    let server = scene.server("bind", |options| {
        options.parts.push("statistics".to_owned());
        options.values.insert("more_options".to_owned(), "max-udp-size 4096;".to_owned());
    });
    // Before fragments are put together. The kernel gives up on the rest after a second instead of 30.
    scene.set(scene.near(), &[("ipv4/ipfrag_time", "1")]);
    let rule = "table ip path { chain first { type filter hook prerouting priority -500; \
                ip frag-off & 0x1fff != 0 drop; }; }";
    scene.filter(scene.near(), rule);
    let load = "--ask host-000.dyno.example --ask large.dyno.example/TXT --edns-size 4096 --rate 200 --for 3s \
                --timeout 1500ms";
    let measured = scene.load(&server, load);
    let (made, failed) = (measured.far.of_name("Ip.FragOKs"), measured.near.of_name("Ip.ReasmFails"));
    assert!(made > 200 && failed > 100, "{made} {failed}");
    assert_eq!(measured.unanswered(), measured.ends().total() / 2, "{:?}", measured.ends());
    Some((scene, measured))
}

/// One packet of ten is lost where neither host sees it.
pub(super) fn lossy_path() -> Option<(Scene, Measured)> {
    let scene = Scene::with_programs(&["bind"], &[("nft", "nftables")])?;
    let server = scene.server("bind", |options| options.parts.push("statistics".to_owned()));
    let rule = "table netdev path { chain first { type filter hook ingress device near priority 0; \
                udp sport != 0 numgen inc mod 10 == 0 drop; }; }";
    scene.filter(scene.near(), rule);
    let measured = scene.load(&server, "-d q.txt --rate 1k --for 3s --timeout 500ms");
    assert_eq!(measured.unanswered(), measured.ends().total() / 10, "{:?}", measured.ends());
    Some((scene, measured))
}
