//! A night of tuning whose answer is known.

use std::fs;
use std::path::Path;
use std::time::Duration;

use dnsdyno_lab::{Need, require};
use serde_json::Value;

use crate::beside::tune::NIGHT;
use crate::support::Workplace;

#[test]
fn a_planted_bottleneck_is_found_and_decoys_are_not() {
    if !require(&[Need::Root, Need::Server("nsd")]) {
        return;
    }
    let work = Workplace::with_queries();
    work.write("night.toml", NIGHT);
    let ended = work.start("tune night.toml -o night").wait_within(Duration::from_secs(240)).gives(0);
    let found: Value = serde_json::from_str(&work.read("night/tune.json")).unwrap();
    let changes = found["verdict"]["changes"].as_array().unwrap();
    let names: Vec<&str> = changes.iter().map(|change| change["parameter"].as_str().unwrap()).collect();
    assert_eq!(names, ["CPUQuota"], "{}", ended.stdout);
    let rows = found["parameters"].as_array().unwrap();
    let state = |id: &str| rows.iter().find(|row| row["parameter"] == id).unwrap()["state"].as_str().unwrap();
    // No TCP: the counters of its parameters stand still.
    assert_eq!(state("nsd tcp-count"), "no_effect_possible");
    assert_eq!(state("net.core.somaxconn"), "no_effect_possible");
    assert!(found["verdict"]["together"]["from"].as_f64().unwrap() > 0.0, "{}", ended.stdout);
    assert!(Path::new(&work.path("night/index.html")).exists());
    let installed = work.read("night/install/etc/systemd/system/nsd.service.d/dnsdyno.conf");
    assert!(installed.contains("CPUQuota="), "{installed}");
    // A night that has ended is not made again.
    let trials = fs::read_dir(work.path("night/runs")).unwrap().count();
    work.dnsdyno("tune night.toml -o night").gives(0);
    assert_eq!(fs::read_dir(work.path("night/runs")).unwrap().count(), trials);
}
