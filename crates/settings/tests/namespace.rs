//! Values of real network namespaces: those of the kernel, of `/sys` and of interfaces.

mod common;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use common::{ByHand, Place, output_of, signal};
use dnsdyno_lab::{Need, VethPair, require};
use dnsdyno_servers::tuning::DeviceGroup;
use dnsdyno_settings::{Item, Keeper, Restored, RestoredOutcome};

fn sysctl(name: &str) -> Item {
    Item::Kernel { path: Path::new("/proc/sys").join(name.replace('.', "/")) }
}

/// A value as another program sees it in the namespace.
fn seen(pair: &VethPair, path: &str) -> String {
    let line = format!("cat '{path}' 2>&1; true");
    output_of("ip", &["netns", "exec", pair.near().name(), "/bin/sh", "-c", &line])
}

/// Kills a keeper that a client has started, as the kernel does when memory is short.
fn kill(keeper: &mut Keeper) {
    let pid = keeper.run("echo $PPID", std::time::Duration::from_secs(60)).unwrap().printed;
    signal("-KILL", &pid);
}

#[test]
fn values_of_a_namespace_are_changed_there_alone_and_restored_after_a_kill() {
    if !require(&[Need::Root]) {
        return;
    }
    let (place, pair) = (Place::new(), VethPair::new(2).unwrap());
    // What the kernel writes in its own way: fields between tabs, a mask, a size that it rounds to a power of two.
    let queue = format!("/sys/class/net/{}/queues/rx-0", pair.near().interface);
    let changes = [
        (sysctl("net.core.somaxconn"), "1234", "/proc/sys/net/core/somaxconn".to_owned()),
        (sysctl("net.ipv4.tcp_rmem"), "4096 131072 7000001", "/proc/sys/net/ipv4/tcp_rmem".to_owned()),
        (
            sysctl("net.ipv4.ip_local_reserved_ports"),
            "53,853",
            "/proc/sys/net/ipv4/ip_local_reserved_ports".to_owned(),
        ),
        (Item::Kernel { path: format!("{queue}/rps_cpus").into() }, "3", format!("{queue}/rps_cpus")),
        (
            Item::Kernel { path: format!("{queue}/rps_flow_cnt").into() },
            "1000",
            format!("{queue}/rps_flow_cnt"),
        ),
    ];
    let all = || changes.iter().map(|(_, _, path)| seen(&pair, path)).collect::<Vec<_>>();
    let of_host = || fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let (before, before_here) = (all(), of_host());
    for is_killed in [false, true] {
        let mut keeper = Keeper::start(place.keeper_in(pair.near().name())).unwrap();
        for (item, value, path) in &changes {
            // A kernel without steering of packets has no such files; the others are seen by the keeper, too.
            if seen(&pair, path).starts_with("cat: ") {
                eprintln!("skipped: this kernel does not have {item}");
                continue;
            }
            let written = keeper.write(item, value).unwrap();
            assert_eq!(format!("{}\n", written.became), seen(&pair, path));
            if path.ends_with("rps_flow_cnt") {
                assert_eq!(written.became, "1024");
            }
        }
        assert_ne!(all(), before);
        assert_eq!(of_host(), before_here);
        if is_killed {
            kill(&mut keeper);
            drop(keeper);
            assert_ne!(all(), before);
            let restored = place.undo();
            assert!(restored.iter().all(|of| of.outcome == RestoredOutcome::Restored), "{restored:?}");
        } else {
            drop(keeper);
        }
        assert_eq!(all(), before);
        assert_eq!((place.journals(), of_host()), (String::new(), before_here.clone()));
    }
}

#[test]
fn a_keeper_may_be_killed_at_any_instant_of_changes_that_the_kernel_rounds() {
    if !require(&[Need::Root]) {
        return;
    }
    let (place, pair) = (Place::new(), VethPair::new(1).unwrap());
    let flows = format!("/sys/class/net/{}/queues/rx-0/rps_flow_cnt", pair.near().interface);
    let paths = [flows.as_str(), "/proc/sys/net/ipv4/ip_default_ttl", "/proc/sys/net/ipv4/tcp_rmem"];
    let items = paths.map(|path| Item::Kernel { path: path.into() });
    let all = || paths.map(|path| seen(&pair, path));
    let before = all();
    for round in 0..30_u64 {
        let mut keeper = ByHand::start(place.keeper_in(pair.near().name()));
        if !before[0].starts_with("cat: ") {
            keeper.written(&items[0], "1000");
            assert_eq!(seen(&pair, &flows), "1024\n");
        }
        for value in 1..20 {
            keeper.write(&items[0], &(1_000 * value).to_string());
            keeper.write(&items[1], &(64 + value).to_string());
            keeper.write(&items[2], &format!("4096 131072 {}", 7_000_000 + value));
        }
        if round % 2 == 1 {
            keeper.child.stdin.take();
        }
        std::thread::sleep(std::time::Duration::from_micros(round * 1_000));
        keeper.kill();
        assert!(place.undo().iter().all(Restored::is_settled));
        assert_eq!((all(), place.journals()), (before.clone(), String::new()));
    }
}

#[test]
fn what_the_kernel_refuses_leaves_the_old_value_and_no_journal() {
    if !require(&[Need::Root]) {
        return;
    }
    let (place, pair) = (Place::new(), VethPair::new(1).unwrap());
    let refused = [
        ("net.ipv4.ip_default_ttl", "999"),
        ("net.ipv4.ip_default_ttl", "many"),
        ("net.ipv4.tcp_rmem", "5000 0 7000000"),
        ("net.ipv4.tcp_available_congestion_control", "none"),
    ];
    let mut keeper = Keeper::start(place.keeper_in(pair.near().name())).unwrap();
    for (name, value) in refused {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        let before = seen(&pair, &path);
        let error = keeper.write(&sysctl(name), value).unwrap_err().to_string();
        assert!(error.starts_with(name) && error.contains("does not take"), "{error}");
        assert_eq!((seen(&pair, &path), place.journals()), (before, String::new()), "{name}");
    }
}

#[test]
fn settings_of_an_interface_are_restored() {
    if !require(&[Need::Root, Need::Program { name: "ethtool", package: "ethtool" }]) {
        return;
    }
    let (place, pair) = (Place::new(), VethPair::new(4).unwrap());
    let interface = pair.near().interface;
    let device =
        |group, key: &str| Item::Device { interface: interface.to_owned(), group, key: key.to_owned() };
    let state =
        |option| output_of("ip", &["netns", "exec", pair.near().name(), "ethtool", option, interface]);
    let before = ["-k", "-l"].map(state);
    for is_killed in [false, true] {
        let mut keeper = Keeper::start(place.keeper_in(pair.near().name())).unwrap();
        for (group, key, value) in [
            (DeviceGroup::Feature, "gro", "on"),
            (DeviceGroup::Feature, "tx", "off"),
            (DeviceGroup::Feature, "tso", "off"),
            (DeviceGroup::Channels, "rx", "2"),
        ] {
            let item = device(group, key);
            let old = keeper.read(&item).unwrap().unwrap();
            let value = if old == value { "off" } else { value };
            assert_eq!(keeper.write(&item, value).unwrap().old, old);
        }
        assert_ne!(["-k", "-l"].map(state), before);
        assert!(keeper.write(&device(DeviceGroup::Channels, "rx"), "4000").is_err());
        assert_eq!(keeper.read(&device(DeviceGroup::Channels, "combined-of-none")).unwrap(), None);
        assert_eq!(keeper.read(&device(DeviceGroup::Ring, "rx-jumbo")).unwrap(), None);
        if is_killed {
            kill(&mut keeper);
            drop(keeper);
            let restored = place.undo();
            assert!(restored.iter().all(|of| of.is_settled()), "{restored:?}");
        } else {
            drop(keeper);
        }
        assert_eq!(["-k", "-l"].map(state), before);
        assert_eq!(place.journals(), "");
    }
}

#[test]
fn a_namespace_that_is_no_more_takes_its_values_along_and_files_are_restored_all_the_same() {
    if !require(&[Need::Root]) {
        return;
    }
    let (place, pair) = (Place::new(), VethPair::new(1).unwrap());
    let config = place.file("nsd.conf", "old");
    let mut keeper = Keeper::start(place.keeper_in(pair.near().name())).unwrap();
    keeper.write(&sysctl("net.core.somaxconn"), "77").unwrap();
    keeper.write(&config, "new").unwrap();
    kill(&mut keeper);
    drop((keeper, pair));
    let before = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let outcomes: Vec<_> = place.undo().into_iter().map(|restored| restored.outcome).collect();
    assert_eq!(outcomes, [RestoredOutcome::Restored, RestoredOutcome::Gone]);
    assert_eq!((place.read("nsd.conf"), place.journals()), ("old".to_owned(), String::new()));
    assert_eq!(fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap(), before);
}

#[test]
fn a_namespace_is_entered_and_found_again_by_a_process_in_it() {
    if !require(&[Need::Root]) {
        return;
    }
    let (place, pair) = (Place::new(), VethPair::new(1).unwrap());
    let mut server = std::process::Command::new("ip");
    let mut server = server.args(["netns", "exec", pair.near().name(), "sleep", "1000"]).spawn().unwrap();
    common::wait_until("the process is in its namespace", || {
        let of = |path: String| fs::metadata(path).map(|file| file.ino()).ok();
        of(format!("/proc/{}/ns/net", server.id())) == of(format!("/run/netns/{}", pair.near().name()))
    });
    let before = seen(&pair, "/proc/sys/net/core/somaxconn");
    let mut keeper = Keeper::start(place.keeper_in(&server.id().to_string())).unwrap();
    keeper.write(&sysctl("net.core.somaxconn"), "77").unwrap();
    kill(&mut keeper);
    drop(keeper);
    // The server was restarted meanwhile: the namespace is found without it.
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(seen(&pair, "/proc/sys/net/core/somaxconn"), "77\n");
    assert_eq!(place.undo()[0].outcome, RestoredOutcome::Restored);
    assert_eq!(seen(&pair, "/proc/sys/net/core/somaxconn"), before);
}
