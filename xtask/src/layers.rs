//! One direction: a crate may use crates of lower floors, and of its own floor only where the
//! table says so.

use std::process::Command;

use anyhow::Context;
use serde_json::Value;

/// The floors of the house, as in ARCHITECTURE.md; with those of crates that are planned.
const FLOORS: &[(&str, u8)] = &[
    ("wire", 1),
    ("sys", 1),
    ("measure", 1),
    ("plan", 2),
    ("transport", 2),
    ("responder", 2),
    ("lab", 2),
    ("probe", 2),
    ("record", 3),
    ("engine", 3),
    ("runner", 4),
    ("report", 4),
    ("campaign", 4),
    ("cluster", 5),
    ("cli", 6),
    ("benchsuite", 6),
];

/// Arrows along a floor, with their reason.
const ALONG_A_FLOOR: &[(&str, &str, &str)] =
    &[("engine", "record", "the engine gives its results as the types of the record")];

/// Outside crates that must stay out of some of ours, with the reason.
const KEPT_OUT: &[(&str, &str, &str)] = &[
    ("measure", "libc", "counting needs no system call"),
    ("plan", "libc", "what and when need no system call"),
    ("wire", "libc", "bytes need no system call"),
    ("report", "dnsdyno-engine", "a report reads records only"),
    ("report", "dnsdyno-lab", "a report reads records only"),
    ("campaign", "dnsdyno-engine", "what decides sees a PlanRunner only"),
    ("campaign", "dnsdyno-lab", "what decides sees a PlanRunner only"),
    ("cluster", "dnsdyno-engine", "what decides sees a PlanRunner only"),
    ("cluster", "dnsdyno-lab", "what decides sees a PlanRunner only"),
    ("cli", "dnsdyno-engine", "a verb holds no logic: runs are the runner's"),
    ("cli", "dnsdyno-transport", "a verb holds no logic: runs are the runner's"),
    ("runner", "indicatif", "a runner knows no terminal"),
    ("runner", "signal-hook", "a runner knows no signals: who wants to stop it presses its control"),
    ("engine", "libc", "system calls belong to sys"),
];

/// Arrows that point the wrong way; tests may use what they like.
pub(crate) fn check() -> anyhow::Result<Vec<String>> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version=1", "--no-deps", "--locked"])
        .output()
        .context("cannot run cargo")?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let mut findings = Vec::new();
    for package in metadata["packages"].as_array().context("no packages in the metadata")? {
        let Some(name) = package["name"].as_str().and_then(|name| name.strip_prefix("dnsdyno-")) else {
            continue;
        };
        let Some(floor) = floor_of(name) else {
            findings.push(format!("crate {name} stands on no floor: add it to xtask and ARCHITECTURE.md"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            if dependency["kind"].is_null() {
                let used = dependency["name"].as_str().unwrap_or_default();
                findings.extend(judge(name, floor, used));
            }
        }
    }
    Ok(findings)
}

fn judge(name: &str, floor: u8, used: &str) -> Option<String> {
    if let Some((_, _, why)) = KEPT_OUT.iter().find(|(from, to, _)| *from == name && *to == used) {
        return Some(format!("{name} uses {used}: {why}"));
    }
    let used = used.strip_prefix("dnsdyno-")?;
    let used_floor = floor_of(used).unwrap_or(u8::MAX);
    let along = ALONG_A_FLOOR.iter().any(|(from, to, _)| *from == name && *to == used);
    (used_floor >= floor && !along)
        .then(|| format!("{name} (floor {floor}) uses {used} (floor {used_floor}): arrows point down"))
}

fn floor_of(name: &str) -> Option<u8> {
    FLOORS.iter().find(|(known, _)| *known == name).map(|(_, floor)| *floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_as_it_stands_has_no_arrow_up() {
        assert_eq!(check().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn an_arrow_up_or_along_is_found() {
        assert!(judge("plan", 2, "dnsdyno-engine").is_some());
        assert!(judge("record", 3, "dnsdyno-engine").is_some());
        assert!(judge("engine", 3, "dnsdyno-record").is_none());
        assert!(judge("engine", 3, "dnsdyno-sys").is_none());
        assert!(judge("campaign", 4, "dnsdyno-runner").is_some());
        assert!(judge("cluster", 5, "dnsdyno-runner").is_none());
        assert!(judge("cluster", 5, "dnsdyno-engine").is_some());
        assert!(judge("measure", 1, "libc").is_some());
    }
}
