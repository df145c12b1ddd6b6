//! Checks the dependencies between crates: a crate may use crates of lower layers.

use std::process::Command;

use anyhow::Context;
use serde_json::Value;

/// The layer of each crate, as in ARCHITECTURE.md, including planned crates.
const LAYERS: &[(&str, u8)] = &[
    ("text", 1),
    ("wire", 1),
    ("sys", 1),
    ("measure", 2),
    ("capture", 3),
    ("clients", 3),
    ("http", 3),
    ("servers", 3),
    ("queries", 4),
    ("zones", 4),
    ("transport", 4),
    ("responder", 4),
    ("lab", 4),
    ("settings", 4),
    ("plan", 5),
    ("world", 5),
    ("probe", 6),
    ("record", 6),
    ("engine", 7),
    ("report", 7),
    ("runner", 8),
    ("campaign", 8),
    ("cluster", 9),
    ("page", 9),
    ("screen", 9),
    ("serve", 10),
    ("dropin", 10),
    ("executor", 10),
    ("cli", 11),
    ("benchsuite", 11),
    ("fuzz-targets", 11),
];

/// Dependencies that are forbidden, with the reason.
const FORBIDDEN: &[(&str, &str, &str)] = &[
    ("measure", "libc", "counters need no system call"),
    ("plan", "libc", "a plan needs no system call"),
    ("plan", "ring", "what is sent is made by queries"),
    ("wire", "libc", "encoding needs no system call"),
    ("report", "dnsdyno-engine", "a report reads records only"),
    ("report", "dnsdyno-lab", "a report reads records only"),
    ("page", "dnsdyno-engine", "a page reads records only"),
    ("page", "dnsdyno-runner", "a page reads records only"),
    ("campaign", "dnsdyno-engine", "code that chooses runs uses a Runner only"),
    ("campaign", "dnsdyno-lab", "code that chooses runs uses a Runner only"),
    ("cluster", "dnsdyno-engine", "code that chooses runs uses a Runner only"),
    ("cluster", "dnsdyno-lab", "code that chooses runs uses a Runner only"),
    ("cli", "dnsdyno-engine", "a command contains no logic: the runner makes runs"),
    ("cli", "dnsdyno-transport", "a command contains no logic: the runner makes runs"),
    ("runner", "ratatui-core", "a runner uses no terminal"),
    ("runner", "signal-hook", "a runner handles no signals: it is stopped by its control"),
    ("engine", "libc", "system calls belong to sys"),
];

/// Dependencies that are not allowed; those of tests are ignored.
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
        let Some(layer) = layer_of(name) else {
            findings.push(format!("crate {name} has no layer: add it to xtask and ARCHITECTURE.md"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            if dependency["kind"].is_null() {
                let used = dependency["name"].as_str().unwrap_or_default();
                findings.extend(judge(name, layer, used));
            }
        }
    }
    Ok(findings)
}

fn judge(name: &str, layer: u8, used: &str) -> Option<String> {
    if let Some((_, _, why)) = FORBIDDEN.iter().find(|(from, to, _)| *from == name && *to == used) {
        return Some(format!("{name} uses {used}: {why}"));
    }
    let used = used.strip_prefix("dnsdyno-")?;
    let used_layer = layer_of(used).unwrap_or(u8::MAX);
    (used_layer >= layer).then(|| {
        format!("{name} (layer {layer}) uses {used} (layer {used_layer}): a crate uses lower layers")
    })
}

fn layer_of(name: &str) -> Option<u8> {
    LAYERS.iter().find(|(known, _)| *known == name).map(|(_, layer)| *layer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_dependencies_of_this_workspace_are_allowed() {
        assert_eq!(check().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_dependency_on_a_higher_or_the_same_layer_is_found() {
        assert!(judge("plan", 5, "dnsdyno-engine").is_some());
        assert!(judge("record", 6, "dnsdyno-engine").is_some());
        assert!(judge("engine", 7, "dnsdyno-record").is_none());
        assert!(judge("engine", 7, "dnsdyno-sys").is_none());
        assert!(judge("campaign", 8, "dnsdyno-runner").is_some());
        assert!(judge("report", 7, "dnsdyno-campaign").is_some());
        assert!(judge("cluster", 9, "dnsdyno-runner").is_none());
        assert!(judge("cluster", 9, "dnsdyno-engine").is_some());
        assert!(judge("measure", 1, "libc").is_some());
    }
}
