//! A row a server program.

use crate::server::{Configuration, Language, Parameter, Server};
use crate::statistics::StatisticsKind;

/// All servers that are known.
pub const SERVERS: [Server; 12] = [
    Server {
        word: "bind",
        processes: &["named"],
        configuration: Some(Configuration {
            option: "-c",
            file_in_folder: None,
            usual: &["/etc/bind/named.conf", "/etc/named.conf"],
            language: Language::Braces,
            folder: Some("directory"),
            statistics: StatisticsKind::Bind,
            to_have_statistics: "statistics-channels { inet 127.0.0.1 port 8053 allow { 127.0.0.1; }; };",
        }),
        parameters: &[
            with_default("tcp-clients", "150"),
            with_default("tcp-listen-queue", "10"),
            with_default("tcp-initial-timeout", "300"),
            with_default("tcp-idle-timeout", "300"),
            with_default("recursive-clients", "1000"),
            with_default("clients-per-query", "10"),
            with_default("max-clients-per-query", "100"),
            named("fetches-per-server"),
            named("fetches-per-zone"),
            with_default("udp-receive-buffer", "0"),
            with_default("udp-send-buffer", "0"),
            with_default("tcp-receive-buffer", "0"),
            with_default("tcp-send-buffer", "0"),
            with_default("edns-udp-size", "1232"),
            with_default("max-udp-size", "1232"),
            named("nocookie-udp-size"),
            with_default("reuseport", "yes"),
            with_default("minimal-responses", "no-auth-recursive"),
            with_default("resolver-query-timeout", "10000"),
            with_default("responses-per-second", "0"),
            named("all-per-second"),
            with_default("slip", "2"),
            named("max-cache-size"),
            with_default("message-compression", "yes"),
            with_default("querylog", "no"),
            named("named -n"),
        ],
    },
    Server {
        word: "unbound",
        processes: &["unbound"],
        configuration: Some(Configuration {
            option: "-c",
            file_in_folder: None,
            usual: &["/etc/unbound/unbound.conf"],
            language: Language::Lines,
            folder: Some("directory"),
            statistics: StatisticsKind::Unbound,
            to_have_statistics: "remote-control: control-enable: yes, server: extended-statistics: yes",
        }),
        parameters: &[
            with_default("num-threads", "1"),
            with_default("so-rcvbuf", "0"),
            with_default("so-sndbuf", "0"),
            with_default("so-reuseport", "yes"),
            with_default("incoming-num-tcp", "10"),
            with_default("outgoing-num-tcp", "10"),
            named("outgoing-range"),
            named("num-queries-per-thread"),
            with_default("wait-limit", "1000"),
            with_default("serve-expired", "no"),
            with_default("jostle-timeout", "200"),
            with_default("tcp-idle-timeout", "30000"),
            with_default("edns-buffer-size", "1232"),
            with_default("max-udp-size", "4096"),
            with_default("ratelimit", "0"),
            with_default("ip-ratelimit", "0"),
            with_default("msg-cache-size", "4m"),
            with_default("rrset-cache-size", "4m"),
            with_default("msg-cache-slabs", "4"),
            with_default("rrset-cache-slabs", "4"),
            with_default("infra-cache-slabs", "4"),
            with_default("infra-cache-numhosts", "10000"),
            with_default("prefetch", "no"),
            with_default("minimal-responses", "yes"),
            with_default("udp-connect", "yes"),
        ],
    },
    Server {
        word: "nsd",
        processes: &["nsd"],
        configuration: Some(Configuration {
            option: "-c",
            file_in_folder: None,
            usual: &["/etc/nsd/nsd.conf"],
            language: Language::Lines,
            folder: Some("zonesdir"),
            statistics: StatisticsKind::Nsd,
            to_have_statistics: "remote-control: control-enable: yes, control-interface: /run/nsd/nsd.ctl",
        }),
        parameters: &[
            with_default("server-count", "1"),
            with_default("tcp-count", "100"),
            with_default("tcp-query-count", "0"),
            with_default("tcp-timeout", "120"),
            named("tcp-listen-queue"),
            with_default("tcp-reject-overflow", "no"),
            with_default("receive-buffer-size", "1048576"),
            with_default("send-buffer-size", "1048576"),
            with_default("reuseport", "no"),
            with_default("ipv4-edns-size", "1232"),
            with_default("ipv6-edns-size", "1232"),
            with_default("minimal-responses", "no"),
            with_default("rrl-ratelimit", "200"),
            with_default("rrl-whitelist-ratelimit", "2000"),
            with_default("rrl-slip", "2"),
        ],
    },
    Server {
        word: "knot",
        processes: &["knotd"],
        configuration: Some(Configuration {
            option: "-c",
            file_in_folder: None,
            usual: &["/etc/knot/knot.conf"],
            language: Language::Lines,
            folder: None,
            statistics: StatisticsKind::Knot,
            to_have_statistics: "control: listen: knot.sock, and template: global-module: mod-stats",
        }),
        parameters: &[
            named("udp-workers"),
            named("tcp-workers"),
            named("tcp-max-clients"),
            with_default("tcp-idle-timeout", "10"),
            with_default("tcp-io-timeout", "500"),
            with_default("udp-max-payload", "1232"),
            with_default("tcp-reuseport", "off"),
            with_default("socket-affinity", "off"),
            named("mod-rrl.rate-limit"),
            named("mod-rrl.slip"),
        ],
    },
    Server {
        word: "pdns",
        processes: &["pdns_server"],
        configuration: Some(Configuration {
            option: "--config-dir",
            file_in_folder: Some("pdns.conf"),
            usual: &["/etc/powerdns/pdns.conf", "/etc/pdns/pdns.conf"],
            language: Language::Lines,
            folder: None,
            statistics: StatisticsKind::Pdns,
            to_have_statistics: "socket-dir=/run/pdns",
        }),
        parameters: &[
            with_default("receiver-threads", "1"),
            with_default("distributor-threads", "3"),
            with_default("reuseport", "no"),
            with_default("max-tcp-connections", "20"),
            with_default("max-tcp-connections-per-client", "0"),
            with_default("tcp-idle-timeout", "5"),
            with_default("queue-limit", "1500"),
            with_default("max-queue-length", "5000"),
            with_default("overload-queue-length", "0"),
            with_default("cache-ttl", "20"),
            with_default("query-cache-ttl", "20"),
            with_default("negquery-cache-ttl", "60"),
            with_default("max-packet-cache-entries", "1000000"),
            with_default("max-cache-entries", "1000000"),
            with_default("zone-cache-refresh-interval", "300"),
            with_default("udp-truncation-threshold", "1232"),
        ],
    },
    Server {
        word: "pdns-recursor",
        processes: &["pdns_recursor"],
        configuration: Some(Configuration {
            option: "--config-dir",
            file_in_folder: Some("recursor.conf"),
            usual: &["/etc/powerdns/recursor.conf"],
            language: Language::Lines,
            folder: None,
            statistics: StatisticsKind::Pdns,
            to_have_statistics: "socket-dir=/run/pdns-recursor",
        }),
        parameters: &[
            with_default("threads", "2"),
            with_default("max-mthreads", "2048"),
            with_default("max-tcp-clients", "128"),
            with_default("max-tcp-per-client", "0"),
            with_default("client-tcp-timeout", "2"),
            with_default("max-concurrent-requests-per-tcp-connection", "10"),
            with_default("pdns-distributes-queries", "yes"),
            with_default("distributor-threads", "0"),
            with_default("reuseport", "no"),
            with_default("max-cache-entries", "1000000"),
            with_default("max-packetcache-entries", "500000"),
            with_default("disable-packetcache", "no"),
            with_default("udp-truncation-threshold", "1232"),
        ],
    },
    Server {
        word: "knot-resolver",
        processes: &["kresd"],
        configuration: Some(Configuration {
            option: "-c",
            file_in_folder: None,
            usual: &["/etc/knot-resolver/kresd.conf"],
            language: Language::Lines,
            folder: None,
            statistics: StatisticsKind::KnotResolver,
            to_have_statistics: "modules.load('stats'), and net.listen('/run/knot-resolver/control', nil, \
                                 { kind = 'control' })",
        }),
        parameters: &[
            with_default("instances", "1"),
            named("cache.size"),
            with_default("net.bufsize", "1232"),
            with_default("net.tcp_pipeline", "100"),
            with_default("net.tcp_in_idle", "10000"),
        ],
    },
    Server {
        word: "dnsdist",
        processes: &["dnsdist"],
        configuration: None,
        parameters: &[
            named("max-outstanding"),
            named("tcp-recv-timeout"),
            named("tcp-send-timeout"),
            named("truncate-tc"),
            named("server-policy"),
            named("stale-cache-entries-ttl"),
        ],
    },
    Server {
        word: "coredns",
        processes: &["coredns"],
        configuration: Some(Configuration {
            option: "-conf",
            file_in_folder: None,
            usual: &["/etc/coredns/Corefile", "Corefile"],
            language: Language::Lines,
            folder: None,
            statistics: StatisticsKind::OpenMetrics,
            to_have_statistics: "prometheus 127.0.0.1:9153",
        }),
        parameters: &[],
    },
    Server { word: "hickory", processes: &["hickory-dns"], configuration: None, parameters: &[] },
    Server {
        word: "mariadb",
        processes: &["mariadbd", "mysqld"],
        configuration: None,
        parameters: &[
            named("innodb_buffer_pool_size"),
            named("innodb_flush_log_at_trx_commit"),
            named("innodb_flush_method"),
            named("max_connections"),
            named("query_cache_size"),
            named("query_cache_type"),
            named("sync_binlog"),
            named("thread_handling"),
        ],
    },
    // One of the verbs of our own program: its process has the name of all of them.
    Server {
        word: "world",
        processes: &["dnsdyno world"],
        configuration: None,
        parameters: &[named("threads")],
    },
];

/// The server of this word.
pub fn server_of(word: &str) -> Option<&'static Server> {
    SERVERS.iter().find(|server| server.word == word)
}

/// The server whose processes have this name. One that renames its processes after their tasks, such as NSD, has it
/// before the first colon.
pub fn server_of_process(name: &str) -> Option<&'static Server> {
    let name = name.split(':').next().unwrap_or(name);
    SERVERS.iter().find(|server| server.processes.contains(&name))
}

/// A parameter whose default depends on the host or the version.
const fn named(name: &'static str) -> Parameter {
    Parameter { name, default: None }
}

const fn with_default(name: &'static str, default: &'static str) -> Parameter {
    Parameter { name, default: Some(default) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::STATISTICS;

    #[test]
    fn each_word_and_each_parameter_stands_once() {
        let mut words: Vec<_> = SERVERS.iter().map(|server| server.word).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), SERVERS.len());
        for server in &SERVERS {
            let mut names: Vec<_> = server.parameters.iter().map(|parameter| parameter.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), server.parameters.len(), "{}", server.word);
        }
    }

    #[test]
    fn a_process_is_known_by_its_name_also_where_it_is_named_after_its_task() {
        assert_eq!(server_of_process("named").map(|server| server.word), Some("bind"));
        assert_eq!(server_of_process("nsd: main").map(|server| server.word), Some("nsd"));
        assert!(server_of_process("bash").is_none());
    }

    #[test]
    fn each_way_has_its_row_and_a_server_that_exists() {
        for row in &STATISTICS {
            assert_eq!((row.kind.row().word, StatisticsKind::of(row.word)), (row.word, Some(row.kind)));
            assert!(row.server.is_none_or(|word| server_of(word).is_some()), "{}", row.word);
            assert!(row.values.contains(&format!("{}=", row.word)), "its example has its word");
        }
    }
}
