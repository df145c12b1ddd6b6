//! Sockets, ports, tables of the kernel, and the interface to the server.

use std::collections::BTreeSet;
use std::net::UdpSocket;

use dnsdyno_measure::Facts;
use dnsdyno_sys::interface::{Interface, LinkState};
use dnsdyno_sys::socket;

use super::needs::Needs;
use super::values::{number, word};
use crate::files::Files;

pub(super) fn of_files(files: &Files, facts: &mut Facts) {
    for name in
        ["net.core.rmem_max", "net.core.wmem_max", "net.core.netdev_max_backlog", "net.ipv4.tcp_tw_reuse"]
    {
        facts.number(name, number(files, &format!("/proc/sys/{}", name.replace('.', "/"))));
    }
    let range = word(files, "/proc/sys/net/ipv4/ip_local_port_range");
    let ends = range.and_then(|range| {
        let (first, last) = range.split_once(char::is_whitespace)?;
        Some((first.trim().parse::<u64>().ok()?, last.trim().parse::<u64>().ok()?))
    });
    facts.number("ports.count", ends.map(|(first, last)| (last + 1).saturating_sub(first)));
    facts.text("ports.range", ends.map(|(first, last)| format!("{first} to {last}")).as_deref());
    let tcp = files.text("/proc/net/sockstat").lines().find_map(|line| line.strip_prefix("TCP: "));
    let waiting = tcp.and_then(|line| line.split(' ').skip_while(|word| *word != "tw").nth(1)?.parse().ok());
    facts.number("ports.time_wait", waiting);

    let entries = number(files, "/proc/sys/net/netfilter/nf_conntrack_count");
    let most = number(files, "/proc/sys/net/netfilter/nf_conntrack_max");
    facts.number("conntrack.entries", entries);
    facts.number("conntrack.max", most);
    facts.number("conntrack.free", most.zip(entries).map(|(most, entries)| most.saturating_sub(entries)));

    let limit = files.text("/proc/self/limits").lines().find_map(|line| line.strip_prefix("Max open files"));
    let mut limits = limit.into_iter().flat_map(str::split_whitespace).map(|word| match word {
        "unlimited" => Some(u64::MAX),
        word => word.parse().ok(),
    });
    facts.number("files.limit", limits.next().flatten());
    facts.number("files.limit_hard", limits.next().flatten());

    let addresses = files.text("/proc/net/if_inet6");
    // Address, index, prefix, scope (20 is the link's), flags, name.
    let is_routed = |line: &&str| line.split_whitespace().nth(3).is_some_and(|scope| scope == "00");
    facts.number(
        "ipv6.addresses",
        Some(addresses.lines().filter(is_routed).count() as u64).filter(|_| !files.0.is_empty()),
    );
    xdp(files, facts);
}

/// Whether AF_XDP can be used, as far as files say it.
fn xdp(files: &Files, facts: &mut Facts) {
    let (protocols, status) = (files.text("/proc/net/protocols"), files.text("/proc/self/status"));
    let rights = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let Some(rights) = rights.and_then(|rights| u64::from_str_radix(rights.trim(), 16).ok()) else { return };
    let has = |capability: u32| rights & (1 << capability) != 0;
    let lacks = [("CAP_NET_ADMIN", has(12)), ("CAP_NET_RAW", has(13)), ("CAP_BPF", has(39) || has(21))];
    let lacking: Vec<&str> = lacks.iter().filter(|(_, has)| !has).map(|(name, _)| *name).collect();
    let why_not = if !protocols.lines().any(|line| line.starts_with("XDP ")) && !protocols.is_empty() {
        "this kernel is built without CONFIG_XDP_SOCKETS".to_owned()
    } else if !lacking.is_empty() {
        format!("this user lacks {}", lacking.join(", "))
    } else {
        facts.number("xdp.possible", Some(1));
        return;
    };
    facts.number("xdp.possible", Some(0));
    facts.text("xdp.why_not", Some(&why_not));
}

/// The interface to the server, if it is known.
pub(super) fn of_interface(needs: &Needs, files: &Files, facts: &mut Facts) {
    facts.number("need.ipv6", Some(needs.ipv6.into()));
    let Some(name) = needs.interface.as_deref() else { return };
    facts.text("interface.name", Some(name));
    let folder = format!("/sys/class/net/{name}");
    facts.number("interface.mtu", number(files, &format!("{folder}/mtu")));
    facts.number("interface.speed_mbps", number(files, &format!("{folder}/speed")));
    let is_loopback = name == "lo";
    let Ok(interface) = Interface::named(name) else { return };
    facts.text(
        "interface.link",
        Some(match interface.link_state() {
            LinkState::Up => "up",
            LinkState::Down => "down",
            LinkState::NoCarrier => "without a carrier",
        }),
    );
    if is_loopback {
        return;
    }
    facts.text("interface.gro", interface.joins_arrivals().ok().map(|on| if on { "on" } else { "off" }));
    facts.number("interface.rx_queues", Some(u64::from(interface.queues())));
    // Software that spreads packets over CPUs does what queues would do.
    let masks = files.under(&folder).filter(|(path, _)| path.ends_with("/rps_cpus"));
    let is_set = |mask: &str| mask.trim().chars().any(|c| !matches!(c, '0' | ','));
    facts.number("interface.rps_queues", Some(masks.filter(|(_, mask)| is_set(mask)).count() as u64));
    interrupts(name, files, facts);
}

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

/// The receive buffer that a socket of this user gets when it asks for so much.
pub(super) fn receive_buffer_bytes(asked: u64) -> Option<u64> {
    let socket = UdpSocket::bind("127.0.0.1:0").or_else(|_| UdpSocket::bind("[::1]:0")).ok()?;
    let given = socket::set_receive_buffer(&socket, usize::try_from(asked).ok()?).ok()?;
    // The kernel doubles what is asked for, for its own overhead.
    Some(given as u64 / 2)
}

#[cfg(test)]
mod tests {
    use dnsdyno_measure::Fact;

    use super::*;

    fn facts(files: &[(&str, &str)]) -> Facts {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let mut facts = Facts::default();
        of_files(&Files(files), &mut facts);
        interrupts("eth0", &Files(files_of_interrupts()), &mut facts);
        facts
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
    fn ports_files_tables_and_rights_are_read() {
        let facts = facts(&[
            ("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
            ("/proc/net/sockstat", "sockets: used 1\nTCP: inuse 5 orphan 0 tw 28 alloc 9 mem 1\n"),
            ("/proc/sys/net/netfilter/nf_conntrack_count", "10\n"),
            ("/proc/sys/net/netfilter/nf_conntrack_max", "100\n"),
            (
                "/proc/self/limits",
                "Max open files            1024                 unlimited            files\n",
            ),
            ("/proc/self/status", "CapEff:\t0000000000003000\n"),
            ("/proc/net/protocols", "protocol\nXDP 1\n"),
            (
                "/proc/net/if_inet6",
                "00000000000000000000000000000001 01 80 10 80 lo\nfd77 02 40 00 80 eth0\n",
            ),
        ]);
        let all: Vec<String> = [
            "ports.count",
            "ports.range",
            "ports.time_wait",
            "conntrack.free",
            "files.limit",
            "files.limit_hard",
            "xdp.why_not",
            "ipv6.addresses",
            "interface.irqs",
            "interface.irq_cpus",
        ]
        .map(|name| facts.get(name).map(Fact::to_string).unwrap_or_default())
        .into();
        let expected = [
            "28232",
            "32768 to 60999",
            "28",
            "90",
            "1024",
            "18446744073709551615",
            "this user lacks CAP_BPF",
            "1",
            "2",
            "1",
        ];
        assert_eq!(all, expected);
    }
}
