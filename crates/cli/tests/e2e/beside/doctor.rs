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
    for command in ill["cure"].as_array().unwrap() {
        let words = ["netns", "exec", pair.near().name(), "sh", "-c", command.as_str().unwrap()];
        assert!(Command::new("ip").args(words).output().unwrap().status.success(), "{command}");
    }
    let examination = examined(&pair, "");
    assert_eq!(finding(&examination, "local-ports"), None);
    assert!(examination["fine"].as_array().unwrap().contains(&"local ports".into()));
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
