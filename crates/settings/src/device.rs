//! Settings of network interfaces, read and set by `ethtool`: its text is the same for every driver, and is what the
//! person who checks our work sees.
//!
//! ```text
//!   Current hardware settings:      -g, -l: the name in small letters, with dashes, is the key
//!   RX:             512
//!   Adaptive RX: off  TX: off       -c: adaptive-rx, adaptive-tx
//!   rx-usecs:       3
//!   tx-checksumming: on             -k: a feature, and below it those that it is made of
//!           tx-checksum-ipv4: off [fixed]
//!           tx-checksum-ip-generic: on
//! ```

use std::process::Command;

use dnsdyno_servers::tuning::{DeviceGroup, pairs_to_set};
use dnsdyno_sys::programs::search_path;
use dnsdyno_text::safe;

use crate::error::HostError;

/// A setting of an interface; `None` where there is no such interface, or where it does not have the setting.
pub(crate) fn read(interface: &str, group: DeviceGroup, key: &str) -> Result<Option<String>, HostError> {
    match ethtool(&[group.option_to_show(), interface])? {
        Ok(text) if group == DeviceGroup::Feature && is_fixed(&text, key) => Err(HostError::Fixed),
        Ok(text) => Ok(value_in(&text, group, key)),
        Err(said) if MEANS_MISSING.iter().any(|words| said.contains(words)) => Ok(None),
        Err(said) => Err(HostError::Tool(said)),
    }
}

/// Sets it.
pub(crate) fn write(interface: &str, group: DeviceGroup, key: &str, value: &str) -> Result<(), HostError> {
    let Some(pairs) = pairs_to_set(key, value) else {
        return Err(HostError::Place("a setting of an interface is one word, such as 512 or on"));
    };
    let mut arguments = vec![group.option_to_set(), interface];
    arguments.extend(pairs);
    match ethtool(&arguments)? {
        Ok(_) => Ok(()),
        // It also fails where nothing is to be changed.
        Err(_) if read(interface, group, key)?.as_deref() == Some(value) => Ok(()),
        Err(said) => Err(HostError::Tool(said)),
    }
}

/// Runs `ethtool`: what it prints, or what it says when it fails.
fn ethtool(arguments: &[&str]) -> Result<Result<String, String>, HostError> {
    let mut command = Command::new("ethtool");
    command.args(arguments).env("LC_ALL", "C").env("PATH", search_path());
    let output = command.output().map_err(HostError::NoTool)?;
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    Ok(match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(safe(text(&output.stderr).trim())),
    })
}

fn value_in(text: &str, group: DeviceGroup, key: &str) -> Option<String> {
    let value = match group {
        DeviceGroup::Feature => return feature_in(text, key),
        DeviceGroup::Ring | DeviceGroup::Channels => {
            let current = text.lines().skip_while(|line| !line.starts_with("Current hardware settings"));
            current.filter_map(|line| line.split_once(':')).find(|(name, _)| key_of(name) == key)?.1.trim()
        }
        DeviceGroup::Coalesce => coalesce_in(text, key)?,
    };
    (!value.is_empty() && value != "n/a").then(|| value.to_owned())
}

/// The key of a name with capitals and blanks: `RX Mini` is `rx-mini`.
fn key_of(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace(' ', "-")
}

fn coalesce_in<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        for (name, start) in [("adaptive", "Adaptive RX:"), ("cqe-mode", "CQE mode RX:")] {
            if let Some((rx, tx)) = line.strip_prefix(start).and_then(|rest| rest.split_once("TX:")) {
                return match key.strip_prefix(name) {
                    Some("-rx") => Some(rx.trim()),
                    Some("-tx") => Some(tx.trim()),
                    _ => None,
                };
            }
        }
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

/// A line of the list of features.
struct Feature<'a> {
    name: &'a str,
    is: &'a str,
    /// What was asked for, where it is something else.
    requested: Option<&'a str>,
    is_fixed: bool,
    is_part: bool,
}

impl<'a> Feature<'a> {
    fn parse(line: &'a str) -> Option<Feature<'a>> {
        let (name, value) = line.split_once(':')?;
        let (is, note) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
        let requested = note.strip_prefix("[requested ").and_then(|rest| rest.strip_suffix(']'));
        let is_part = name.starts_with(char::is_whitespace);
        (!is.is_empty()).then(|| Feature {
            name: name.trim(),
            is,
            requested,
            is_fixed: note == "[fixed]",
            is_part,
        })
    }

    fn value(&self) -> String {
        match self.requested {
            Some(requested) => format!("{} [requested {requested}]", self.is),
            None => self.is.to_owned(),
        }
    }
}

/// A feature, and those that it is made of.
fn feature_of<'a>(text: &'a str, key: &str) -> Option<(Feature<'a>, Vec<Feature<'a>>)> {
    let name = FEATURES.iter().find(|(short, _)| *short == key).map_or(key, |(_, name)| name);
    let mut features = text.lines().filter_map(Feature::parse);
    let feature = features.find(|feature| feature.name == name)?;
    let parts = features.take_while(|part| part.is_part && !feature.is_part).collect();
    Some((feature, parts))
}

/// Whether the driver does not let a feature be changed, nor any of those that it is made of.
fn is_fixed(text: &str, key: &str) -> bool {
    feature_of(text, key).is_some_and(|(feature, parts)| {
        feature.is_fixed || !parts.is_empty() && parts.iter().all(|part| part.is_fixed)
    })
}

/// The value of a feature. Of one that is made of several, which do not all have its value, these with theirs:
/// setting it to `on` or `off` would set them all.
fn feature_in(text: &str, key: &str) -> Option<String> {
    let (feature, parts) = feature_of(text, key)?;
    let parts: Vec<Feature<'_>> = parts.into_iter().filter(|part| !part.is_fixed).collect();
    if parts.iter().all(|part| part.requested.is_none() && part.is == feature.is) {
        return Some(feature.value());
    }
    let pairs: Vec<String> =
        parts.iter().map(|part| format!("{} {}", part.name, part.requested.unwrap_or(part.is))).collect();
    Some(pairs.join(" "))
}

/// What `ethtool` says where an interface, or a setting of it, is not there.
const MEANS_MISSING: [&str; 3] = ["No such device", "Operation not supported", "not supported by the driver"];

/// The short names that `ethtool -K` takes, and the names that `ethtool -k` prints, of its manual.
const FEATURES: [(&str, &str); 12] = [
    ("rx", "rx-checksumming"),
    ("tx", "tx-checksumming"),
    ("sg", "scatter-gather"),
    ("tso", "tcp-segmentation-offload"),
    ("ufo", "udp-fragmentation-offload"),
    ("gso", "generic-segmentation-offload"),
    ("gro", "generic-receive-offload"),
    ("lro", "large-receive-offload"),
    ("rxvlan", "rx-vlan-offload"),
    ("txvlan", "tx-vlan-offload"),
    ("ntuple", "ntuple-filters"),
    ("rxhash", "receive-hashing"),
];

#[cfg(test)]
mod tests {
    use super::*;

    const RING: &str = "Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t4096\nRX Mini:\tn/a\nTX:\t\t4096\n\
        Current hardware settings:\nRX:\t\t512\nRX Mini:\tn/a\nTX:\t\t256\nTX push:\toff\n";
    const COALESCE: &str = "Coalesce parameters for eth0:\nAdaptive RX: on  TX: off\nstats-block-usecs:\tn/a\n\n\
        rx-usecs:\t3\nrx-frames:\tn/a\n\nCQE mode RX: n/a  TX: off\n";
    const FEATURES_OF_ONE: &str = "Features for eth0:\nrx-checksumming: on [fixed]\ntx-checksumming: on\n\
        \ttx-checksum-ipv4: off [fixed]\n\ttx-checksum-ip-generic: on\n\ttx-checksum-sctp: on\n\
        scatter-gather: on\n\ttx-scatter-gather: on\n\ttx-scatter-gather-fraglist: off\n\
        tcp-segmentation-offload: off\n\ttx-tcp-segmentation: off [requested on]\n\ttx-tcp-ecn: off\n\
        generic-receive-offload: on\nlarge-receive-offload: off [requested on]\n";

    fn value(text: &str, group: DeviceGroup, key: &str) -> String {
        value_in(text, group, key).unwrap_or_else(|| "none".to_owned())
    }

    #[test]
    fn rings_and_channels_are_those_of_now_and_not_the_largest_ones() {
        let keys = ["rx", "tx", "tx-push", "rx-mini", "cqe-size"];
        assert_eq!(
            keys.map(|key| value(RING, DeviceGroup::Ring, key)),
            ["512", "256", "off", "none", "none"]
        );
        let channels = "Channel parameters for eth0:\nPre-set maximums:\nCombined:\t8\n\
            Current hardware settings:\nRX:\t\tn/a\nCombined:\t2\n";
        assert_eq!(value(channels, DeviceGroup::Channels, "combined"), "2");
        assert_eq!(value(channels, DeviceGroup::Channels, "rx"), "none");
    }

    #[test]
    fn two_settings_in_a_line_are_told_apart() {
        let keys = ["adaptive-rx", "adaptive-tx", "rx-usecs", "rx-frames", "cqe-mode-rx", "cqe-mode-tx"];
        let values = keys.map(|key| value(COALESCE, DeviceGroup::Coalesce, key));
        assert_eq!(values, ["on", "off", "3", "none", "none", "off"]);
    }

    #[test]
    fn a_feature_that_is_fixed_is_known() {
        let text = format!("{FEATURES_OF_ONE}rx-vlan-offload: off\n\ta: off [fixed]\n\tb: on [fixed]\n");
        let fixed = ["rx", "tx-checksum-ipv4", "rxvlan", "a"];
        assert!(fixed.iter().all(|key| is_fixed(&text, key)));
        let free = ["tx", "tx-checksum-sctp", "sg", "gro", "lro", "nosuch"];
        assert!(!free.iter().any(|key| is_fixed(&text, key)));
    }

    #[test]
    fn features_have_short_and_long_names_and_parts() {
        let keys = ["rx", "gro", "generic-receive-offload", "lro", "tx", "tx-checksum-sctp", "ntuple"];
        let values = keys.map(|key| value(FEATURES_OF_ONE, DeviceGroup::Feature, key));
        assert_eq!(values, ["on", "on", "on", "off [requested on]", "on", "on", "none"]);
        // Parts with other values than the whole are given one by one.
        let mixed = value(FEATURES_OF_ONE, DeviceGroup::Feature, "sg");
        assert_eq!(mixed, "tx-scatter-gather on tx-scatter-gather-fraglist off");
        let mixed = value(FEATURES_OF_ONE, DeviceGroup::Feature, "tso");
        assert_eq!(mixed, "tx-tcp-segmentation on tx-tcp-ecn off");
    }
}
