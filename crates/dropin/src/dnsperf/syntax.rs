//! The options of dnsperf 2.16.

use crate::options::{Long, RECORD, Short, Syntax};
use crate::values::Kind::{self, Flag, Port, Text, Timeval, Uint, Zpint};

const fn short(
    letter: char,
    kind: Kind,
    value_name: Option<&'static str>,
    help: &'static str,
    default: Option<&'static str>,
) -> Short {
    Short { letter, kind, value_name, help, default }
}

/// All of them.
pub(super) const SYNTAX: Syntax = Syntax { program: "dnsperf", short: SHORT, long: LONG };

const SHORT: &[Short] = &[
    short('f', Text, Some("family"), "address family of DNS transport, inet or inet6", Some("any")),
    short('m', Text, Some("mode"), "set transport mode: udp, tcp, dot or doh", Some("udp")),
    short('s', Text, Some("server_addr"), "the server to query", Some("127.0.0.1")),
    short(
        'p',
        Port,
        Some("port"),
        "the port on which to query the server",
        Some("udp/tcp 53, DoT 853 or DoH 443"),
    ),
    short('a', Text, Some("local_addr"), "the local address from which to send queries", None),
    short('x', Port, Some("local_port"), "the local port from which to send queries", Some("0")),
    short('d', Text, Some("datafile"), "the input data file", Some("stdin")),
    short('c', Uint, Some("clients"), "the number of clients to act as", None),
    short('T', Uint, Some("threads"), "the number of threads to run", None),
    short('n', Uint, Some("maxruns"), "run through input at most N times", None),
    short('l', Timeval, Some("timelimit"), "run for at most this many seconds", None),
    short('b', Uint, Some("buffer_size"), "socket send/receive buffer size in kilobytes", None),
    short('t', Timeval, Some("timeout"), "the timeout for query completion in seconds", Some("5")),
    short('e', Flag, None, "enable EDNS 0", None),
    short('E', Text, Some("code:value"), "send EDNS option", None),
    short('D', Flag, None, "set the DNSSEC OK bit (implies EDNS)", None),
    short('y', Text, Some("[alg:]name:secret"), "the TSIG algorithm, name and secret (base64)", None),
    short('q', Uint, Some("num_queries"), "the maximum number of queries outstanding", Some("100")),
    short('Q', Uint, Some("max_qps"), "limit the number of queries per second", None),
    short('S', Timeval, Some("stats_interval"), "print qps statistics every N seconds", None),
    short('u', Flag, None, "send dynamic updates instead of queries", None),
    short('B', Flag, None, "read input file as TCP-stream binary format", None),
    short('v', Flag, None, "verbose: report each query and additional information to stdout", None),
    short('j', Flag, None, "use JSON output for run information and statistics", None),
    short('W', Flag, None, "log warnings and errors to stdout instead of stderr", None),
];

/// The last that dnsperf declares is the first that it finds. Ours come after all of dnsperf's, so that no name which
/// dnsperf accepts means them.
const LONG: &[Long] = &[
    Long {
        name: "tls-sslkeylogfile",
        kind: Flag,
        value_name: "",
        help: "enable logging TLS secrets to SSLKEYLOGFILE",
        default: None,
    },
    Long {
        name: "tls-session-resumption",
        kind: Flag,
        value_name: "",
        help: "enable TLS session resumption",
        default: None,
    },
    Long {
        name: "tls-sni",
        kind: Text,
        value_name: "tls_sni",
        help: "the TLS SNI to use for TLS connections",
        default: None,
    },
    Long {
        name: "qps-threshold-wait",
        kind: Zpint,
        value_name: "microseconds",
        help: "minimum threshold for enabling wait in rate limiting",
        default: Some("4294967295"),
    },
    Long {
        name: "latency-histogram",
        kind: Flag,
        value_name: "",
        help: "collect and print detailed latency histograms",
        default: None,
    },
    Long {
        name: "verbose-interval-stats",
        kind: Flag,
        value_name: "",
        help: "print detailed statistics for each stats_interval",
        default: None,
    },
    Long {
        name: "num-queries-per-conn",
        kind: Uint,
        value_name: "queries",
        help: "Number of queries to send per connection",
        default: None,
    },
    Long {
        name: "suppress",
        kind: Text,
        value_name: "message[,message,...]",
        help: "suppress messages/warnings, see man-page for list of message types",
        default: None,
    },
    Long {
        name: "doh-method",
        kind: Text,
        value_name: "doh_method",
        help: "the HTTP method to use for DNS-over-HTTPS: GET or POST",
        default: Some("GET"),
    },
    Long {
        name: "doh-uri",
        kind: Text,
        value_name: "doh_uri",
        help: "the URI to use for DNS-over-HTTPS",
        default: Some("https://localhost/dns-query"),
    },
    RECORD,
];
