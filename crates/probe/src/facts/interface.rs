//! The interface to the server: its link, queues, rings, offloads and interrupts.

use std::collections::BTreeSet;

use dnsdyno_measure::{Fact, Facts};
use dnsdyno_servers::tuning::tunable_of;
use dnsdyno_sys::interface::{Interface, LinkState, numa_nodes};
use dnsdyno_sys::netlink::ethtool::Ethtool;
use dnsdyno_sys::process::CpuList;
use dnsdyno_sys::thread;

use super::needs::Needs;
use crate::files::Files;
use crate::nic;

/// What is known of the interface to the server, if there is one.
pub(super) fn of(needs: &Needs, files: &Files, facts: &mut Facts) {
    facts.number("need.ipv6", Some(needs.ipv6.into()));
    let Some(name) = needs.interface.as_deref() else { return };
    facts.text("interface.name", Some(name));
    let Ok(interface) = Interface::named(name) else { return };
    facts.text(
        "interface.link",
        Some(match interface.link_state() {
            LinkState::Up => "up",
            LinkState::Down => "down",
            LinkState::NoCarrier => "without a carrier",
        }),
    );
    if name == "lo" {
        facts.number("interface.mtu", interface.mtu().ok().map(|octets| octets as u64));
        return;
    }
    for (what, value) in nic::settings(&interface, Ethtool::open().ok().as_mut()) {
        let name = format!("interface.{what}");
        match value.parse() {
            Ok(number) => facts.number(&name, Some(number)),
            Err(_) => facts.text(&name, Some(&value)),
        }
    }
    queues(&interface, files, facts);
    node(&interface, facts);
    rings(facts);
    // A driver that cannot choose the time by itself does not do so.
    if number(facts, "interface.rx_usecs").is_some() && number(facts, "interface.adaptive_rx").is_none() {
        facts.number("interface.adaptive_rx", Some(0));
    }
    interrupts(name, files, facts);
}

/// How many queues there could be more, and what is set where there are too few.
fn queues(interface: &Interface, files: &Files, facts: &mut Facts) {
    let folder = format!("/sys/class/net/{}/", interface.name());
    // Software that spreads packets over CPUs does what queues would do.
    let is_set = |mask: &str| mask.trim().chars().any(|c| !matches!(c, '0' | ','));
    for (end, name) in [("/rps_cpus", "interface.rps_queues"), ("/xps_cpus", "interface.xps_queues")] {
        let masks = files.under(&folder).filter(|(path, _)| path.ends_with(end));
        facts.number(name, Some(masks.filter(|(_, mask)| is_set(mask)).count() as u64));
    }
    let online = CpuList::parse(files.text("/sys/devices/system/cpu/online")).and_then(|list| list.count());
    let Some(cpus) = online.and_then(|cpus| u32::try_from(cpus).ok()) else { return };
    let channels = interface.channels().ok();
    let spare = channels.map_or(0, |channels| channels.most.saturating_sub(channels.now));
    facts.number("interface.spare_queues", Some(spare.into()));
    if let Some(channels) = channels.filter(|_| spare > 0) {
        let wanted = channels.most.min(cpus);
        let words = match channels.are_combined {
            true => format!("combined {wanted}"),
            false => format!("rx {wanted} tx {wanted}"),
        };
        facts.text("need.queues", Some(&words));
    }
    let masks = tunable_of("card", "rps_cpus").map(|row| row.candidates(Some("0"), cpus));
    facts.text("need.rps_cpus", masks.unwrap_or_default().first().map(String::as_str));
}

/// The CPUs of this process from which the card is reached over another node of the host.
fn node(interface: &Interface, facts: &mut Facts) {
    facts.number("numa.nodes", numa_nodes());
    let Some(near) = interface.near_cpus() else { return };
    let allowed = thread::allowed_cpus().ok();
    let far = allowed.map(|cpus| cpus.into_iter().filter(|cpu| !near.contains(*cpu)).count() as u64);
    facts.number("interface.far_cpus", far);
    facts.text("interface.near_cpus", Some(&near.to_string()));
}

/// The lengths of rings that are enough, where they may be longer.
fn rings(facts: &mut Facts) {
    for ring in ["rx_ring", "tx_ring"] {
        let most = number(facts, &format!("interface.{ring}_max"));
        facts.number(&format!("need.{ring}"), most.map(|most| most.min(LONG_RING)));
    }
}

fn number(facts: &Facts, name: &str) -> Option<u64> {
    match facts.get(name) {
        Some(Fact::Number(number)) => Some(*number),
        _ => None,
    }
}

/// Packets of a ring that no burst of a generator fills; longer ones only take memory from the caches of the CPU.
const LONG_RING: u64 = 4_096;

/// The CPUs that take the interrupts of an interface: by its own list of interrupts, or by its name in the table.
fn interrupts(name: &str, files: &Files, facts: &mut Facts) {
    let listed = files.0.keys().filter_map(|path| {
        let (_, irq) = path.split_once("/msi_irqs/")?;
        path.starts_with(&format!("/sys/class/net/{name}/")).then(|| irq.to_owned())
    });
    let named = files.text("/proc/interrupts").lines().filter_map(|line| {
        let (irq, rest) = line.trim_start().split_once(':')?;
        let is_its = |word: &str| word == name || word.starts_with(&format!("{name}-"));
        rest.split_whitespace().any(is_its).then(|| irq.to_owned())
    });
    let irqs: BTreeSet<String> = listed.chain(named).collect();
    let cpus: BTreeSet<&str> = irqs
        .iter()
        .map(|irq| files.text(&format!("/proc/irq/{irq}/effective_affinity_list")).trim())
        .filter(|cpus| !cpus.is_empty())
        .collect();
    if !cpus.is_empty() {
        facts.number("interface.irqs", Some(irqs.len() as u64));
        facts.number("interface.irq_places", Some(cpus.len() as u64));
        facts.text("interface.irq_cpus", Some(&cpus.into_iter().collect::<Vec<_>>().join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(facts: &Facts, name: &str) -> String {
        facts.get(name).map(Fact::to_string).unwrap_or_default()
    }

    fn files_of_interrupts() -> std::collections::BTreeMap<String, String> {
        let table =
            "      CPU0 CPU1\n 24: 5 6 PCI-MSI eth0-rx-0\n 25: 5 6 PCI-MSI eth01-rx-0\n 26: 1 1 x eth0\n";
        [
            ("/proc/interrupts", table),
            ("/proc/irq/24/effective_affinity_list", "1\n"),
            ("/proc/irq/25/effective_affinity_list", "0\n"),
            ("/proc/irq/26/effective_affinity_list", "1\n"),
        ]
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .into()
    }

    #[test]
    fn the_interrupts_of_an_interface_are_found_by_its_name() {
        let mut facts = Facts::default();
        interrupts("eth0", &Files(files_of_interrupts()), &mut facts);
        assert_eq!(["interface.irqs", "interface.irq_cpus"].map(|name| text(&facts, name)), ["2", "1"]);
    }

    #[test]
    fn a_ring_need_not_be_longer_than_it_may_be_nor_than_is_of_use() {
        let mut facts = Facts::default();
        facts.number("interface.rx_ring_max", Some(512));
        facts.number("interface.tx_ring_max", Some(16_384));
        rings(&mut facts);
        assert_eq!(["need.rx_ring", "need.tx_ring"].map(|name| text(&facts, name)), ["512", "4096"]);
    }
}
