//! The settings of a network interface that bear on packets, by the names that `--watch host` and `dnsdyno doctor` have
//! for them: lengths of its queues and rings, how long its interrupts wait, what it does itself.

use std::collections::BTreeMap;

use dnsdyno_sys::interface::Interface;
use dnsdyno_sys::netlink::ethtool::{Ethtool, NicSettings};

/// Those that the interface has, and that can be read. `ethtool` is opened in its network namespace.
pub(crate) fn settings(
    interface: &Interface,
    ethtool: Option<&mut Ethtool>,
) -> BTreeMap<&'static str, String> {
    let mut found = BTreeMap::from([("queues", interface.queues().to_string())]);
    found.extend(interface.channels().ok().map(|channels| ("queues_max", channels.most.to_string())));
    found.extend(interface.mtu().ok().map(|octets| ("mtu", octets.to_string())));
    found.extend(interface.driver().ok().map(|name| ("driver", name)));
    found.extend(interface.send_queue_length().ok().map(|packets| ("txqueuelen", packets.to_string())));
    if let Some(ethtool) = ethtool {
        of_driver(&ethtool.settings(interface.index()), &mut found);
    }
    found
}

/// Those that its driver tells.
fn of_driver(settings: &NicSettings, found: &mut BTreeMap<&'static str, String>) {
    let numbers = [
        ("speed_mbps", settings.speed_mbps),
        ("rx_ring", settings.rx_ring),
        ("rx_ring_max", settings.rx_ring_max),
        ("tx_ring", settings.tx_ring),
        ("tx_ring_max", settings.tx_ring_max),
        ("rx_usecs", settings.rx_usecs),
        ("rx_frames", settings.rx_frames),
        ("tx_usecs", settings.tx_usecs),
        ("adaptive_rx", settings.adaptive_rx.map(u32::from)),
        ("adaptive_tx", settings.adaptive_tx.map(u32::from)),
    ];
    found.extend(numbers.into_iter().filter_map(|(name, value)| Some((name, value?.to_string()))));
    let Some(features) = &settings.features else { return };
    for (name, of_kernel) in OFFLOADS {
        let is_on = of_kernel.iter().any(|feature| features.contains(*feature));
        found.insert(name, if is_on { "on" } else { "off" }.to_owned());
    }
}

/// Offloads by names as those of `ethtool -k`, and by those of the kernel, of which one is enough.
const OFFLOADS: [(&str, &[&str]); 7] = [
    ("gro", &["rx-gro"]),
    ("gso", &["tx-generic-segmentation"]),
    ("lro", &["rx-lro"]),
    ("tso", &["tx-tcp-segmentation"]),
    ("rx_checksum", &["rx-checksum"]),
    ("tx_checksum", &["tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6"]),
    ("rx_hash", &["rx-hashing"]),
];

#[cfg(test)]
mod tests {
    use dnsdyno_sys::programs::search_path;

    use super::*;

    #[test]
    fn the_settings_of_a_driver_have_their_names() {
        let settings = NicSettings {
            rx_ring: Some(256),
            rx_ring_max: Some(4_096),
            adaptive_rx: Some(true),
            features: Some(["rx-gro", "tx-checksum-ipv6"].map(str::to_owned).into()),
            ..NicSettings::default()
        };
        let mut found = BTreeMap::new();
        of_driver(&settings, &mut found);
        let expected = [
            ("adaptive_rx", "1"),
            ("gro", "on"),
            ("gso", "off"),
            ("lro", "off"),
            ("rx_checksum", "off"),
            ("rx_hash", "off"),
            ("rx_ring", "256"),
            ("rx_ring_max", "4096"),
            ("tso", "off"),
            ("tx_checksum", "on"),
        ];
        assert_eq!(found, expected.map(|(name, value)| (name, value.to_owned())).into());
    }

    /// The numbers behind these words in what `ethtool` prints with an option, in their order.
    fn told(option: &str, interface: &str, words: &str) -> Vec<String> {
        let mut command = std::process::Command::new("ethtool");
        let output = command.args([option, interface]).env("PATH", search_path()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let values = text.lines().filter_map(|line| line.strip_prefix(words).map(str::trim));
        values.filter(|value| value.parse::<u32>().is_ok()).map(str::to_owned).collect()
    }

    #[test]
    fn rings_and_waits_of_the_interfaces_of_this_host_are_those_that_ethtool_tells() {
        let ethtool = dnsdyno_lab::Need::Program { name: "ethtool", package: "ethtool" };
        if !dnsdyno_lab::require(&[ethtool]) {
            return;
        }
        for entry in std::fs::read_dir("/sys/class/net").unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let Ok(interface) = Interface::named(&name) else { continue };
            let found = settings(&interface, Ethtool::open().ok().as_mut());
            let of =
                |names: &[&str]| names.iter().filter_map(|name| found.get(name).cloned()).collect::<Vec<_>>();
            assert_eq!(of(&["rx_ring_max", "rx_ring"]), told("-g", &name, "RX:"), "{name}");
            assert_eq!(of(&["tx_ring_max", "tx_ring"]), told("-g", &name, "TX:"), "{name}");
            assert_eq!(of(&["rx_usecs"]), told("-c", &name, "rx-usecs:"), "{name}");
            assert_eq!(of(&["tx_usecs"]), told("-c", &name, "tx-usecs:"), "{name}");
            assert_eq!(of(&["rx_frames"]), told("-c", &name, "rx-frames:"), "{name}");
        }
    }

    #[test]
    fn the_settings_of_the_loopback_are_those_of_the_kernel() {
        let lo = Interface::named("lo").unwrap();
        let found = settings(&lo, Ethtool::open().ok().as_mut());
        let file = |name: &str| std::fs::read_to_string(format!("/sys/class/net/lo/{name}")).unwrap();
        assert_eq!(
            (found["mtu"].as_str(), found["txqueuelen"].as_str()),
            (file("mtu").trim(), file("tx_queue_len").trim())
        );
        assert!(!found.contains_key("rx_ring") && !found.contains_key("queues_max"), "{found:?}");
    }
}
