//! Sockets, their buffers, ports, and tables of the kernel.

use std::io;
use std::net::{IpAddr, UdpSocket};

use dnsdyno_measure::Facts;
use dnsdyno_sys::netlink::route::is_taken_here;

use super::needs::Needs;
use super::values::{number, word};
use crate::files::Files;

pub(super) fn of_files(files: &Files, facts: &mut Facts) {
    for name in SYSCTLS {
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

/// What a connection may get as a buffer, and the values of the parameter that let it get what a run needs, where it
/// gets less: least, at the beginning, most.
pub(super) fn tcp_buffers(needs: &Needs, files: &Files, facts: &mut Facts) {
    for (name, buffer) in [("tcp_wmem", "tcp.send_buffer_bytes"), ("tcp_rmem", "tcp.receive_buffer_bytes")] {
        let Some(text) = word(files, &format!("/proc/sys/net/ipv4/{name}")) else { continue };
        let values: Vec<u64> = text.split_whitespace().filter_map(|value| value.parse().ok()).collect();
        let [least, first, most] = values[..] else { continue };
        facts.text(&format!("net.ipv4.{name}"), Some(&format!("{least} {first} {most}")));
        facts.number(buffer, Some(most));
        if most < needs.send_buffer_bytes {
            let wanted = format!("{least} {first} {}", needs.send_buffer_bytes);
            facts.text(&format!("need.{name}"), Some(&wanted));
        }
    }
}

/// The networks of source addresses that this host takes no packets to, of one family.
pub(super) fn source_routes(needs: &Needs, facts: &mut Facts) {
    let unrouted: Vec<_> = needs.sources.iter().filter(|(address, _)| !is_taken_here(*address)).collect();
    facts.number("sources.unrouted", Some(unrouted.len() as u64));
    if let Some((address, _)) = unrouted.first() {
        let text = |(address, length): &&(IpAddr, u8)| format!("{address}/{length}");
        let networks: Vec<_> = unrouted.iter().take(MOST_NETWORKS).map(text).collect();
        facts.text("sources.networks", Some(&networks.join(" ")));
        facts.text("sources.family", Some(if address.is_ipv4() { "-4" } else { "-6" }));
    }
}

/// Networks that are named at once, so that none is cut where a command is printed; the others follow at the next look.
const MOST_NETWORKS: usize = 4;

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

/// The buffer that a socket of this user gets when it asks for so much: `set` asks for it.
pub(super) fn buffer_bytes(asked: u64, set: fn(&UdpSocket, usize) -> io::Result<usize>) -> Option<u64> {
    let socket = UdpSocket::bind("127.0.0.1:0").or_else(|_| UdpSocket::bind("[::1]:0")).ok()?;
    let given = set(&socket, usize::try_from(asked).ok()?).ok()?;
    // The kernel doubles what is asked for, for its own overhead.
    Some(given as u64 / 2)
}

/// Parameters that are a number. `udp_wmem_min` has no effect in any kernel.
const SYSCTLS: [&str; 8] = [
    "net.core.netdev_max_backlog",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.udp_rmem_min",
    "net.ipv4.udp_wmem_min",
];

#[cfg(test)]
mod tests {
    use dnsdyno_measure::Fact;

    use super::*;

    fn facts(files: &[(&str, &str)]) -> Facts {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let mut facts = Facts::default();
        let files = Files(files);
        of_files(&files, &mut facts);
        tcp_buffers(&Needs { send_buffer_bytes: 1 << 20, ..Needs::default() }, &files, &mut facts);
        facts
    }

    #[test]
    fn ports_files_tables_and_rights_are_read() {
        let facts = facts(&[
            ("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
            ("/proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t524288\n"),
            ("/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
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
            "tcp.send_buffer_bytes",
            "need.tcp_wmem",
            "need.tcp_rmem",
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
            "524288",
            "4096 16384 1048576",
            "",
        ];
        assert_eq!(all, expected);
    }
}
