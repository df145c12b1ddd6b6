//! `dnsdyno doctor`: what is set badly on a host is found, and what it says to type cures it.

use std::process::Command;

use dnsdyno_lab::{Need, VethPair, require};
use serde_json::Value;

use crate::support::{Workplace, has_program};

/// What it finds in a network namespace.
fn examined(pair: &VethPair, words: &str) -> Value {
    let work = Workplace::new();
    let script = format!("ip netns exec {} \"$0\" doctor --json {words}", pair.near().name());
    serde_json::from_str(&work.shell(&script).stdout).unwrap()
}

fn finding<'a>(examination: &'a Value, rule: &str) -> Option<&'a Value> {
    let findings = examination["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["rule"] == rule)
}

#[test]
fn a_bad_parameter_is_found_and_cured_by_the_command_that_is_printed() {
    if !require(&[Need::Root]) || !has_program("sysctl") {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let range = "/proc/sys/net/ipv4/ip_local_port_range";
    pair.near().enter(|| std::fs::write(range, "40000 40100")).unwrap().unwrap();
    let examination = examined(&pair, "");
    let ill = finding(&examination, "local-ports").unwrap();
    assert_eq!((&ill["weight"], &examination["biased"]), (&"bias".into(), &true.into()));
    assert!(ill["finding"].as_str().unwrap().contains("101 local ports"), "{ill}");
    cure(&pair, ill);
    let examination = examined(&pair, "");
    assert_eq!(finding(&examination, "local-ports"), None);
    assert!(examination["fine"].as_array().unwrap().contains(&"local ports".into()));
}

/// Types a command in the namespace.
fn type_in(pair: &VethPair, command: &str) {
    let words = ["netns", "exec", pair.near().name(), "sh", "-c", command];
    let output = Command::new("ip").args(words).output().unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
}

/// Types what a finding says.
fn cure(pair: &VethPair, finding: &Value) {
    let commands = finding["cure"].as_array().unwrap();
    assert!(!commands.is_empty());
    commands.iter().for_each(|command| type_in(pair, command.as_str().unwrap()));
}

/// Does what happens at a start of the host, when what a finding gives for good is installed.
fn start_with(pair: &VethPair, finding: &Value) {
    let work = Workplace::new();
    for file in finding["persistent"].as_array().unwrap() {
        let (path, text) = (file["path"].as_str().unwrap(), file["text"].as_str().unwrap());
        match path {
            "/etc/sysctl.d/90-dnsdyno.conf" => {
                work.write("sysctl.conf", text);
                type_in(pair, &format!("sysctl -p {}", work.path("sysctl.conf").display()));
            }
            "/etc/udev/rules.d/90-dnsdyno.rules" => start_of_interface(pair, text),
            "/etc/systemd/system/dnsdyno-sources.service" => start_of_service(pair, text),
            path => panic!("{path} is not known"),
        }
    }
}

/// Does what a rule of udev says, as udev does when the interface appears.
fn start_of_interface(pair: &VethPair, rules: &str) {
    let rules = rules.replace("\\\n", "");
    let rules = rules.lines().filter(|line| line.contains(r#"KERNEL=="near""#));
    let actions =
        rules.filter_map(|rule| rule.split_once(r#"KERNEL=="near", "#)).map(|(_, action)| action.trim());
    for action in actions {
        let value = |start: &str| Some(action.strip_prefix(start)?.strip_suffix('"')?.replace("$$", "$"));
        match (value(r#"RUN+=""#), value(r#"ATTR{tx_queue_len}=""#)) {
            (Some(command), _) => type_in(pair, &command),
            (_, Some(length)) => {
                let file = "/sys/class/net/near/tx_queue_len";
                type_in(pair, &format!("echo {length} > {file}"));
            }
            _ => panic!("{action} is not known"),
        }
    }
}

/// Does what a service of systemd does when it is started.
fn start_of_service(pair: &VethPair, unit: &str) {
    let unit = unit.replace("\\\n", " ");
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    type_in(pair, &command.replace("$$", "$"));
}

#[test]
fn networks_of_source_addresses_without_a_route_are_found_and_both_forms_of_the_cure_cure_it() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    type_in(&pair, "ip link set lo up; ip route add local 10.79.0.0/24 dev lo");
    // The first addresses are not the lowest ones of their networks.
    for (networks, unrouted) in [
        ("10.77.0.9/24=3,10.79.0.9/24,10.78.0.0/16", "10.77.0.0/24 10.78.0.0/16"),
        ("fd77::9/64", "fd77::/64"),
    ] {
        let words = format!("--source-prefix {networks}");
        for do_cure in [cure, start_with] {
            let examination = examined(&pair, &words);
            let ill = finding(&examination, "source-routes").unwrap();
            assert!(ill["finding"].as_str().unwrap().ends_with(unrouted), "{ill}");
            do_cure(&pair, ill);
            let examination = examined(&pair, &words);
            assert_eq!(finding(&examination, "source-routes"), None);
            let undo = format!("for network in {unrouted}; do ip route del local $network dev lo; done");
            type_in(&pair, &undo);
        }
    }
    assert_eq!(finding(&examined(&pair, ""), "source-routes"), None, "none are asked for");
}

/// A rule, what makes it speak, and a fact with its value then.
type Ill = (&'static str, &'static str, &'static str, Value);

#[test]
fn what_is_set_badly_of_an_interface_is_found_and_both_forms_of_its_cure_cure_it() {
    let ethtool = Need::Program { name: "ethtool", package: "ethtool" };
    if !require(&[Need::Root, ethtool]) || !has_program("sysctl") {
        return;
    }
    let pair = VethPair::new(2).unwrap();
    let words = format!("-s {}", pair.far().ipv4);
    let cases: [Ill; 7] = [
        ("send-checksums", "ethtool -K near tx off", "interface.tx_checksum", "off".into()),
        ("receive-checksums", "ethtool -K near rx off", "interface.rx_checksum", "off".into()),
        ("gro", "ethtool -K near gro off", "interface.gro", "off".into()),
        ("send-queue", "ip link set near txqueuelen 100", "interface.txqueuelen", 100.into()),
        ("queues", "ethtool -L near rx 1 tx 1", "interface.queues", 1.into()),
        (
            "tcp-send-buffer",
            "sysctl -w net.ipv4.tcp_wmem='4096 16384 65536'",
            "tcp.send_buffer_bytes",
            65_536.into(),
        ),
        (
            "tcp-receive-buffer",
            "sysctl -w net.ipv4.tcp_rmem='4096 16384 65536'",
            "net.ipv4.tcp_rmem",
            "4096 16384 65536".into(),
        ),
    ];
    for do_cure in [cure, start_with] {
        cases.iter().for_each(|(_, command, _, _)| type_in(&pair, command));
        let examination = examined(&pair, &words);
        // With one CPU, one queue is enough.
        let has_one_cpu = examination["facts"]["cpu.count"] == 1;
        for (rule, _, fact, value) in cases.iter().filter(|(rule, ..)| *rule != "queues" || !has_one_cpu) {
            assert_eq!(&examination["facts"][fact], value, "{fact}");
            let ill = finding(&examination, rule).unwrap_or_else(|| panic!("{rule}: {examination}"));
            do_cure(&pair, ill);
        }
        let examination = examined(&pair, &words);
        for (rule, ..) in &cases {
            assert_eq!(finding(&examination, rule), None);
        }
    }
}

#[test]
fn packets_of_an_interface_with_one_queue_are_spread_over_the_cpus_by_what_is_printed() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let words = format!("-s {}", pair.far().ipv4);
    for do_cure in [cure, start_with] {
        let examination = examined(&pair, &words);
        if examination["facts"]["cpu.count"] == 1 {
            return;
        }
        do_cure(&pair, finding(&examination, "packet-steering").unwrap());
        let examination = examined(&pair, &words);
        assert_eq!(finding(&examination, "packet-steering"), None);
        assert_eq!(examination["facts"]["interface.rps_queues"], 1);
        type_in(&pair, "echo 0 > /sys/class/net/near/queues/rx-0/rps_cpus");
    }
}

#[test]
fn the_interface_to_the_server_is_looked_at() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let words = format!("-s {}", pair.far().ipv4);
    let examination = examined(&pair, &words);
    assert_eq!(examination["facts"]["interface.name"], "near");
    assert_eq!(finding(&examination, "link"), None);
    // The other end is taken down: the interface has no carrier, and keeps its route.
    pair.far().ip(&["link", "set", "far", "down"]).unwrap();
    let examination = examined(&pair, &words);
    let ill = finding(&examination, "link").unwrap();
    assert!(ill["finding"].as_str().unwrap().ends_with("is without a carrier"), "{ill}");
}

#[test]
fn the_text_says_what_will_bias_the_figures_and_the_exit_code_too() {
    let work = Workplace::new();
    let ran = work.shell("\"$0\" doctor");
    let is_biased = ran.stdout.starts_with("will bias the figures\n  - ");
    assert!(is_biased || ran.stdout.contains("nothing here will bias the figures\n"), "{}", ran.stdout);
    ran.gives(i32::from(is_biased));
    work.shell("\"$0\" doctor -s none.invalid").gives(2).says(&["none.invalid"]);
}
