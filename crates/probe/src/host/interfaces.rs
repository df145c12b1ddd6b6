//! The network interfaces of a namespace of this host: what no file tells of them.

use std::collections::BTreeMap;

use dnsdyno_sys::interface::{DriverStatistics, Interface};
use dnsdyno_sys::netlink::ethtool::Ethtool;
use dnsdyno_sys::netlink::qdisc::{Qdisc, QdiscTable};

use crate::nic;
use crate::source::Reading;

/// The interfaces of the network namespace in which this was opened.
pub(super) struct Interfaces {
    qdiscs: Option<QdiscTable>,
    drivers: Vec<DriverStatistics>,
    /// The names of the interfaces, by their indexes.
    names: BTreeMap<u32, String>,
    /// Their settings.
    pub(super) settings: BTreeMap<String, String>,
    /// What cannot be read.
    pub(super) missing: Vec<String>,
}

impl Interfaces {
    /// Opens those with these names, in the network namespace of this thread.
    pub(super) fn open<'a>(names: impl Iterator<Item = &'a str>) -> Interfaces {
        let mut opened = Interfaces {
            qdiscs: None,
            drivers: Vec::new(),
            names: BTreeMap::new(),
            settings: BTreeMap::new(),
            missing: Vec::new(),
        };
        let mut ethtool = Ethtool::open();
        if let Err(error) = &ethtool {
            opened
                .missing
                .push(format!("rings, coalescing, offloads and speed of network interfaces: {error}"));
        }
        for interface in names.take(MOST_INTERFACES).filter_map(|name| Interface::named(name).ok()) {
            let settings = nic::settings(&interface, ethtool.as_mut().ok());
            let named = |(what, value)| (format!("interface.{}.{what}", interface.name()), value);
            opened.settings.extend(settings.into_iter().map(named));
            opened.names.insert(interface.index(), interface.name().to_owned());
            opened.drivers.extend(DriverStatistics::of(interface));
        }
        match QdiscTable::open() {
            Ok(qdiscs) => opened.add_qdiscs(qdiscs),
            Err(error) => opened.missing.push(format!("queueing disciplines: {error}")),
        }
        opened
    }

    fn add_qdiscs(&mut self, mut table: QdiscTable) {
        for qdisc in table.read().unwrap_or_default() {
            let Some(name) = self.names.get(&qdisc.interface).filter(|_| !qdisc.is_ingress) else { continue };
            let mut rate = qdisc.rate_bytes_per_second;
            if qdisc.kind == "htb" {
                rate = table.class_rate_bytes_per_second(qdisc.interface).unwrap_or_default();
            }
            self.settings.insert(format!("qdisc.{name}.kind"), qdisc.kind);
            if let Some(rate) = rate {
                self.settings.insert(format!("qdisc.{name}.rate_bps"), rate.saturating_mul(8).to_string());
            }
        }
        self.qdiscs = Some(table);
    }

    /// The series of the interfaces now; what has gone since is left out.
    pub(super) fn read(&mut self, reading: &mut Reading) {
        for qdisc in self.qdiscs.as_mut().and_then(|qdiscs| qdiscs.read().ok()).unwrap_or_default() {
            // Without a queue there is nothing to count.
            if let Some(name) = self.names.get(&qdisc.interface).filter(|_| qdisc.kind != "noqueue") {
                count(name, &qdisc, reading);
            }
        }
        for driver in &mut self.drivers {
            let name = driver.interface().name().to_owned();
            for (counter, value) in driver.read().into_iter().flatten() {
                reading.counter(format!("nic.{name}.{counter}"), value);
            }
        }
    }
}

fn count(interface: &str, qdisc: &Qdisc, reading: &mut Reading) {
    let what = if qdisc.is_ingress { "qdisc_ingress" } else { "qdisc" };
    for (counter, value) in [
        ("bytes", qdisc.bytes),
        ("packets", qdisc.packets),
        ("drops", qdisc.drops),
        ("overlimits", qdisc.overlimits),
        ("requeues", qdisc.requeues),
    ] {
        reading.counter(format!("{what}.{interface}.{counter}"), value);
    }
    reading.gauge(format!("{what}.{interface}.backlog_bytes"), qdisc.backlog_bytes);
}

/// Interfaces that are looked at: a host of containers has thousands.
const MOST_INTERFACES: usize = 32;
