//! The rows of `data/`: all that may be tuned.

use std::sync::LazyLock;

use serde::Deserialize;

use super::tunable::Tunable;

/// All parameters: those of the host, then those of each server.
pub fn tunables() -> &'static [Tunable] {
    // The files are a part of the program: a test reads them, and they cannot be other ones here.
    static TUNABLES: LazyLock<Vec<Tunable>> =
        LazyLock::new(|| read().unwrap_or_else(|error| panic!("{error}")));
    &TUNABLES
}

/// A parameter by whose it is and its name, as the catalogue or `dnsdyno diagnose` has it: `("bind", "tcp-clients")`,
/// `("kernel", "net.core.rmem_max")`, `("process", "limit.files")`.
pub fn tunable_of(of: &str, name: &str) -> Option<&'static Tunable> {
    let other_name = format!("{of} {name}");
    let is_it = |row: &&Tunable| row.of == of && row.name == name || row.also.contains(&other_name);
    tunables().iter().find(is_it)
}

/// The parameters of a host and of the server of this word.
pub fn tunables_for(server: &str) -> impl Iterator<Item = &'static Tunable> {
    tunables().iter().filter(move |row| row.is_of_host() || row.of == server)
}

fn read() -> Result<Vec<Tunable>, String> {
    let mut all = Vec::new();
    for (name, text) in FILES {
        let file: File = toml::from_str(text).map_err(|error| format!("data/{name}.toml: {error}"))?;
        all.extend(file.tunable.into_iter().map(|row| Tunable { of: name.to_owned(), ..row }));
    }
    Ok(all)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tunable: Vec<Tunable>,
}

/// The files, by whose parameters they have.
const FILES: [(&str, &str); 12] = [
    ("kernel", include_str!("data/kernel.toml")),
    ("card", include_str!("data/card.toml")),
    ("cpu", include_str!("data/cpu.toml")),
    ("memory", include_str!("data/memory.toml")),
    ("limits", include_str!("data/limits.toml")),
    ("bind", include_str!("data/bind.toml")),
    ("nsd", include_str!("data/nsd.toml")),
    ("unbound", include_str!("data/unbound.toml")),
    ("knot", include_str!("data/knot.toml")),
    ("pdns", include_str!("data/pdns.toml")),
    ("pdns-recursor", include_str!("data/pdns-recursor.toml")),
    ("knot-resolver", include_str!("data/knot-resolver.toml")),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::names::{HOST_WORDS, sysctl_path};
    use super::super::tunable::{Access, Needs, Scope, SignMeasure, SignSource};
    use super::super::values::Values;
    use super::*;
    use crate::series::is_series;
    use crate::table::server_of;

    #[test]
    fn the_files_can_be_read_and_each_row_has_a_name_of_its_own() {
        let rows = read().unwrap();
        let ids: BTreeSet<String> = rows.iter().map(Tunable::id).collect();
        assert_eq!(ids.len(), rows.len());
        let other: BTreeSet<&String> = rows.iter().flat_map(|row| &row.also).collect();
        assert_eq!(other.len(), rows.iter().map(|row| row.also.len()).sum::<usize>());
    }

    #[test]
    fn each_number_of_the_three_lists_has_a_row() {
        let rows = || tunables().iter().flat_map(|row| &row.numbers);
        let numbers: BTreeSet<&String> = rows().collect();
        assert_eq!(numbers.len(), rows().count(), "no number stands in two rows");
        let lists = [("k", 21), ("n", 15), ("b", 16)];
        let all =
            lists.iter().flat_map(|(list, last)| (1..=*last).map(move |number| format!("{list}-{number}")));
        let missing: Vec<String> = all.filter(|number| !numbers.contains(number)).collect();
        assert_eq!(missing, [""; 0]);
        assert_eq!(numbers.len(), 52);
    }

    #[test]
    fn a_row_of_a_server_names_a_parameter_of_it() {
        for row in tunables().iter().filter(|row| row.gone.is_none()) {
            match server_of(&row.of) {
                Some(server) => assert!(server.has_parameter(&row.name), "{}", row.id()),
                None => assert!(HOST_WORDS.contains(&row.of.as_str()), "{}", row.id()),
            }
        }
    }

    #[test]
    fn a_sign_names_a_series_that_is_watched() {
        for row in tunables() {
            for sign in &row.signs {
                let series = sign.series.as_str();
                let is_known = match sign.source {
                    SignSource::Server => is_series(series),
                    SignSource::Host => OF_HOSTS.iter().any(|start| series.starts_with(start)),
                    SignSource::Process => {
                        OF_PROCESSES.contains(&series)
                            || series.starts_with("thread.*.")
                            || series.starts_with("cgroup.")
                    }
                };
                assert!(is_known, "{}: {series}", row.id());
                let is_time = matches!(sign.measure, SignMeasure::Share(_));
                assert_eq!(
                    is_time,
                    series.ends_with("_ns") && !series.starts_with("latency"),
                    "{}",
                    row.id()
                );
                if let SignMeasure::Near { times: Some(times), .. } = &sign.measure {
                    let server = server_of(&row.of);
                    assert!(
                        server.is_some_and(|server| server.has_parameter(times)),
                        "{}: {times}",
                        row.id()
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_gone_cannot_be_set_and_all_else_can() {
        for row in tunables() {
            let has_access = row.access != Access::None;
            let has_values = row.values != Values::Nothing;
            assert_eq!((has_access, has_values), (row.gone.is_none(), row.gone.is_none()), "{}", row.id());
        }
    }

    #[test]
    fn access_scope_and_need_fit_each_other() {
        for row in tunables() {
            let id = row.id();
            match &row.access {
                Access::Sysctl => assert!(matches!(row.scope, Scope::Namespace | Scope::Host), "{id}"),
                Access::File { path, .. } => {
                    let is_of_interface = path.contains("{interface}") || path.contains("{irq}");
                    assert_eq!(is_of_interface, row.scope == Scope::Interface, "{id}");
                    assert!(
                        ["/sys/", "/proc/sys/", "/proc/irq/"].iter().any(|start| path.starts_with(start)),
                        "{id}"
                    );
                }
                Access::Ethtool { .. } => assert_eq!(row.scope, Scope::Interface, "{id}"),
                Access::Configuration | Access::Argument(_) | Access::Instances(_) => {
                    assert_eq!(row.scope, Scope::Server, "{id}");
                    assert!(matches!(row.needs, Needs::Reload | Needs::Restart), "{id}");
                }
                Access::Limit(_) | Access::Unit(_) | Access::Quota => {
                    assert_eq!(row.scope, Scope::Server, "{id}")
                }
                Access::None => {}
            }
            let sentences = [&row.meaning].into_iter().chain(&row.memory).chain(&row.risk).chain(&row.gone);
            for sentence in sentences {
                assert!(sentence.ends_with('.') && !sentence.contains('\n'), "{id}: {sentence}");
            }
        }
    }

    /// Values that a host or server may have now.
    fn plausible(row: &Tunable) -> Vec<String> {
        let default = server_of(&row.of).and_then(|server| server.default_of(&row.name)).map(str::to_owned);
        let now = match &row.access {
            Access::Sysctl => std::fs::read_to_string(sysctl_path(&row.name)).ok(),
            _ => None,
        };
        let of_range = match &row.values {
            Values::Number { from, to, .. } => {
                vec![from.to_string(), from.midpoint(*to).to_string(), to.to_string()]
            }
            Values::Words(words) => words.clone(),
            Values::Fields { from, .. } => {
                vec![from.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")]
            }
            Values::CpuMask { .. } => vec!["0".to_owned(), "1".to_owned()],
            Values::Nothing => Vec::new(),
        };
        default.into_iter().chain(now).chain(of_range).collect()
    }

    #[test]
    fn what_is_tried_is_allowed_and_is_not_the_present_value() {
        for row in tunables().iter().filter(|row| row.gone.is_none()) {
            let mut tried = 0;
            for present in plausible(row).iter().map(|text| Some(text.as_str())).chain([None]) {
                for value in row.candidates(present, 4) {
                    tried += 1;
                    assert_eq!(row.allows(&value), Ok(()), "{}", row.id());
                    assert!(
                        !present.is_some_and(|present| row.same(present, &value)),
                        "{}: {value}",
                        row.id()
                    );
                }
            }
            assert!(tried > 0, "{}", row.id());
        }
    }

    #[test]
    fn a_default_is_in_the_range_or_stands_for_what_the_system_has() {
        for row in tunables().iter().filter(|row| row.gone.is_none()) {
            let default = server_of(&row.of).and_then(|server| server.default_of(&row.name));
            let is_special = default.is_none_or(|default| default == "0");
            assert!(is_special || default.is_some_and(|default| row.allows(default).is_ok()), "{}", row.id());
        }
    }

    #[test]
    fn a_parameter_is_found_by_its_name_and_by_that_of_a_diagnosis() {
        let id = |of: &str, name: &str| tunable_of(of, name).map(Tunable::id);
        assert_eq!(id("bind", "tcp-clients").as_deref(), Some("bind tcp-clients"));
        assert_eq!(id("kernel", "net.core.somaxconn").as_deref(), Some("net.core.somaxconn"));
        assert_eq!(id("process", "limit.files").as_deref(), Some("LimitNOFILE"));
        assert_eq!(id("kernel", "cgroup.quota_us").as_deref(), Some("CPUQuota"));
        assert_eq!(id("nsd", "tcp-clients"), None);
    }

    #[test]
    fn a_server_has_the_parameters_of_its_host_and_its_own() {
        let rows: Vec<String> = tunables_for("nsd").map(Tunable::id).collect();
        assert!(rows.contains(&"nsd tcp-count".to_owned()) && rows.contains(&"net.core.rmem_max".to_owned()));
        assert!(!rows.iter().any(|id| id.starts_with("bind ")));
    }

    #[test]
    fn parameters_of_the_kernel_have_the_scope_that_this_kernel_gives_them() {
        if !is_recent_kernel() {
            println!(
                "skipped: this kernel is older than Linux 6.9, and its namespaces have less of their own"
            );
            return;
        }
        // A new network namespace has no file for those of the host, or one that cannot be written.
        let listed = std::process::Command::new("unshare")
            .args(["--net", "find", "/proc/sys/net", "-type", "f", "-perm", "-u=w"])
            .output()
            .ok()
            .filter(|output| output.status.success());
        let Some(listed) = listed else {
            let must_be = std::env::var("DNSDYNO_REQUIRE_PRIVILEGED").as_deref() == Ok("1");
            assert!(!must_be, "unshare --net failed");
            println!("skipped: a network namespace cannot be made here (run as root)");
            return;
        };
        let listed = String::from_utf8(listed.stdout).unwrap();
        let of_namespace: BTreeSet<&str> = listed.lines().collect();
        for row in tunables().iter().filter(|row| row.access == Access::Sysctl) {
            let path = sysctl_path(&row.name);
            if path.exists() && path.starts_with("/proc/sys/net") {
                let is_own = of_namespace.contains(path.to_string_lossy().as_ref());
                assert_eq!(is_own, row.scope == Scope::Namespace, "{}", row.name);
            }
        }
    }

    fn is_recent_kernel() -> bool {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let mut numbers = release.split('.').map_while(|number| number.parse::<u32>().ok());
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 9)
    }

    /// How the series of hosts begin; docs/watch.md.
    const OF_HOSTS: [&str; 18] = [
        "snmp.Udp.",
        "snmp.Tcp.",
        "snmp.Ip.",
        "snmp6.Udp6",
        "snmp6.Ip6",
        "netstat.TcpExt.",
        "softnet.",
        "sockstat.",
        "interface.*.",
        "nic.*.",
        "qdisc.*.",
        "conntrack.",
        "cpu.",
        "cpu*.",
        "pressure.",
        "memory.",
        "files.open",
        "processes.running",
    ];

    const OF_PROCESSES: [&str; 9] = [
        "cpu_ns",
        "cpu_wait_ns",
        "udp.drops",
        "tcp.open",
        "tcp.accept_queue",
        "files.open",
        "tcp.send_queue_bytes",
        "memory_bytes",
        "threads",
    ];
}
