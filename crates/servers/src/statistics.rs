//! The ways to ask a server for its statistics, as `--watch` names them.

/// A way to ask for statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatisticsKind {
    /// BIND: its statistics channel, as JSON or XML, or the file of its statistics.
    Bind,
    /// Unbound: its control protocol, over TLS or a local socket.
    Unbound,
    /// NSD: its control protocol, over TLS or a local socket.
    Nsd,
    /// Knot DNS: its control socket, or the file of its statistics.
    Knot,
    /// Knot Resolver: its control socket.
    KnotResolver,
    /// PowerDNS Authoritative Server and Recursor: API, or control socket.
    Pdns,
    /// dnsdist: its API.
    Dnsdist,
    /// MariaDB or MySQL, the database behind a server: `SHOW GLOBAL STATUS` over its local socket.
    MariaDb,
    /// `dnsdyno world`, the name servers behind a resolver: the sums of its book, at its local socket.
    World,
    /// Any program with a Prometheus endpoint.
    OpenMetrics,
}

/// A row of [`STATISTICS`].
#[derive(Debug)]
pub struct Statistics {
    /// The way.
    pub kind: StatisticsKind,
    /// Its word in `--watch`.
    pub word: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// The word of the server that is asked in this way, where there is one only.
    pub server: Option<&'static str>,
    /// The port of the protocol, where it has one of its own.
    pub usual_port: Option<u16>,
    /// Where it can be asked for.
    pub places: &'static [Place],
    /// What follows its word, for an error.
    pub values: &'static str,
}

/// Where statistics are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `http://127.0.0.1:8053/`.
    Url,
    /// `127.0.0.1:8953`.
    Address,
    /// A local socket, or a file.
    Path,
}

impl StatisticsKind {
    /// The row of this way.
    pub fn row(self) -> &'static Statistics {
        // The rows stand in the order of the kinds; a test holds that.
        &STATISTICS[self as usize]
    }

    /// The way of this word.
    pub fn of(word: &str) -> Option<StatisticsKind> {
        STATISTICS.iter().find(|row| row.word == word).map(|row| row.kind)
    }
}

/// All ways, in the order of the documentation.
pub const STATISTICS: [Statistics; 10] = [
    Statistics {
        kind: StatisticsKind::Bind,
        word: "bind",
        name: "BIND",
        server: Some("bind"),
        usual_port: None,
        places: &[Place::Url, Place::Path],
        values: "a URL, such as bind=http://127.0.0.1:8053/, or the file that `rndc stats` writes, such as \
                 bind=/var/cache/bind/named.stats,rndc",
    },
    Statistics {
        kind: StatisticsKind::Unbound,
        word: "unbound",
        name: "Unbound",
        server: Some("unbound"),
        usual_port: Some(8953),
        places: &[Place::Address, Place::Path],
        values: "ADDRESS:PORT or a local socket, such as unbound=127.0.0.1:8953,keys=/etc/unbound",
    },
    Statistics {
        kind: StatisticsKind::Nsd,
        word: "nsd",
        name: "NSD",
        server: Some("nsd"),
        usual_port: Some(8952),
        places: &[Place::Address, Place::Path],
        values: "ADDRESS:PORT or a local socket, such as nsd=/run/nsd/nsd.ctl",
    },
    Statistics {
        kind: StatisticsKind::Knot,
        word: "knot",
        name: "Knot DNS",
        server: Some("knot"),
        usual_port: None,
        places: &[Place::Path],
        values: "its control socket or its file of statistics, such as knot=/run/knot/knot.sock",
    },
    Statistics {
        kind: StatisticsKind::KnotResolver,
        word: "knot-resolver",
        name: "Knot Resolver",
        server: Some("knot-resolver"),
        usual_port: None,
        places: &[Place::Path],
        values: "the control socket of a process, such as knot-resolver=/run/knot-resolver/control/1",
    },
    Statistics {
        kind: StatisticsKind::Pdns,
        word: "pdns",
        name: "PowerDNS",
        server: Some("pdns"),
        usual_port: None,
        places: &[Place::Url, Place::Path],
        values: "a URL or its control socket, such as pdns=http://127.0.0.1:8081/,keys=FILE with the API key in it",
    },
    Statistics {
        kind: StatisticsKind::Dnsdist,
        word: "dnsdist",
        name: "dnsdist",
        server: Some("dnsdist"),
        usual_port: None,
        places: &[Place::Url],
        values: "a URL, such as dnsdist=http://127.0.0.1:8083/,keys=FILE with the API key in it",
    },
    Statistics {
        kind: StatisticsKind::MariaDb,
        word: "mariadb",
        name: "MariaDB",
        server: Some("mariadb"),
        usual_port: None,
        places: &[Place::Path],
        values: "its local socket, such as mariadb=/run/mysqld/mysqld.sock",
    },
    Statistics {
        kind: StatisticsKind::World,
        word: "world",
        name: "dnsdyno world",
        server: Some("world"),
        usual_port: None,
        places: &[Place::Path],
        values: "the local socket of `dnsdyno world --counters`, such as world=/tmp/world.counters",
    },
    Statistics {
        kind: StatisticsKind::OpenMetrics,
        word: "openmetrics",
        name: "metrics",
        server: None,
        usual_port: None,
        places: &[Place::Url],
        values: "a URL, such as openmetrics=http://127.0.0.1:9153/metrics",
    },
];
