//! The parameters of a kernel that bear on DNS.

use std::collections::BTreeMap;

use dnsdyno_sys::process::CpuList;

use crate::files::FileReader;
use crate::source::ReadError;

/// The values of those that exist, by their names.
pub(super) fn read(reader: &mut dyn FileReader, whose: Whose) -> Result<BTreeMap<String, String>, ReadError> {
    let names = OF_HOST.iter().chain(OF_NAMESPACE.iter().filter(|_| whose == Whose::HostAndNamespace));
    let paths: Vec<(&str, String)> =
        names.map(|name| (*name, format!("/proc/sys/{}", name.replace('.', "/")))).collect();
    let files = reader.read(&paths.iter().map(|(_, path)| path.clone()).collect::<Vec<_>>())?;
    let mut settings: BTreeMap<String, String> = paths
        .iter()
        .map(|(name, path)| ((*name).to_owned(), words(files.text(path))))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let files = reader.read(&[ONLINE.to_owned()])?;
    if let Some(count) = CpuList::parse(files.text(ONLINE)).and_then(|cpus| cpus.count()) {
        settings.insert("cpus".to_owned(), count.to_string());
    }
    Ok(settings)
}

/// Which parameters are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Those that are the same in each namespace.
    Host,
    /// Those of the namespace in which the reader is, too.
    HostAndNamespace,
}

/// The version of the kernel.
pub(super) fn kernel(reader: &mut dyn FileReader) -> Result<Option<String>, ReadError> {
    let path = "/proc/sys/kernel/osrelease".to_owned();
    let files = reader.read(std::slice::from_ref(&path))?;
    Ok(Some(words(files.text(&path)))
        .filter(|version| !version.is_empty())
        .map(|version| format!("Linux {version}")))
}

fn words(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Parameters that all network namespaces of a host share.
const OF_HOST: [&str; 12] = [
    "fs.file-max",
    "fs.nr_open",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.dev_weight",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.rps_sock_flow_entries",
    "net.ipv4.tcp_mem",
    "net.ipv4.udp_mem",
    "vm.swappiness",
];

/// Parameters that a network namespace may have of its own.
const OF_NAMESPACE: [&str; 37] = [
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_no_pmtu_disc",
    "net.ipv4.ipfrag_high_thresh",
    "net.ipv4.ipfrag_time",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_max_orphans",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_syn_retries",
    "net.ipv4.tcp_synack_retries",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_recycle",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_tw_reuse_delay",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_rmem_min",
    "net.ipv4.udp_wmem_min",
    "net.ipv6.ip6frag_high_thresh",
    "net.netfilter.nf_conntrack_buckets",
    "net.netfilter.nf_conntrack_max",
    "net.netfilter.nf_conntrack_udp_timeout",
    "net.netfilter.nf_conntrack_udp_timeout_stream",
    "net.netfilter.nf_conntrack_tcp_timeout_time_wait",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::LocalFiles;

    #[test]
    fn the_parameters_of_this_host_are_read() {
        let all = read(&mut LocalFiles, Whose::HostAndNamespace).unwrap();
        let file = |name| words(&std::fs::read_to_string(format!("/proc/sys/net/{name}")).unwrap());
        assert_eq!(all["net.core.somaxconn"], file("core/somaxconn"));
        assert_eq!(all["net.ipv4.tcp_rmem"], file("ipv4/tcp_rmem"));
        let online = std::fs::read_to_string(ONLINE).unwrap();
        assert_eq!(all["cpus"], CpuList::parse(&online).unwrap().count().unwrap().to_string());
        let shared = read(&mut LocalFiles, Whose::Host).unwrap();
        assert!(shared.contains_key("fs.file-max") && !shared.contains_key("net.core.somaxconn"));
        assert!(kernel(&mut LocalFiles).unwrap().unwrap().starts_with("Linux "));
    }
}
