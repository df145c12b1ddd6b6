//! The options of resperf 2.16.

use crate::options::{Long, RECORD, Short, Syntax};
use crate::values::Kind::{self, Double, Flag, Port, Text, Timeval, Uint, Zpint};

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
pub(super) const SYNTAX: Syntax = Syntax { program: "resperf", short: SHORT, long: LONG };

const SHORT: &[Short] = &[
    short('f', Text, Some("family"), "address family of DNS transport, inet or inet6", Some("any")),
    short('M', Text, Some("mode"), "set transport mode: udp, tcp, dot or doh", Some("udp")),
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
    short('t', Timeval, Some("timeout"), "the timeout for query completion in seconds", Some("45")),
    short('b', Uint, Some("buffer_size"), "socket send/receive buffer size in kilobytes", None),
    short('e', Flag, None, "enable EDNS 0", None),
    short('E', Text, Some("code:value"), "send EDNS option", None),
    short('D', Flag, None, "set the DNSSEC OK bit (implies EDNS)", None),
    short('y', Text, Some("[alg:]name:secret"), "the TSIG algorithm, name and secret", None),
    short(
        'i',
        Timeval,
        Some("plot_interval"),
        "the time interval between plot data points, in seconds",
        Some("0.5"),
    ),
    short('m', Double, Some("max_qps"), "the maximum number of queries per second", Some("100000")),
    short('P', Text, Some("plotfile"), "the name of the plot data file", Some("resperf.gnuplot")),
    short('r', Timeval, Some("ramp_time"), "the ramp-up time in seconds", Some("60")),
    short(
        'c',
        Timeval,
        Some("constant_traffic_time"),
        "how long to send constant traffic, in seconds",
        Some("0"),
    ),
    short('L', Double, Some("max_query_loss"), "the maximum acceptable query loss, in percent", Some("100")),
    short('C', Uint, Some("clients"), "the number of clients to act as", Some("1")),
    short('q', Uint, Some("num_outstanding"), "the maximum number of queries outstanding", Some("65536")),
    short('v', Flag, None, "verbose: report additional information to stdout", None),
    short('W', Flag, None, "log warnings and errors to stdout instead of stderr", None),
    short('R', Flag, None, "reopen datafile on end, allow for infinit use of it", None),
    short(
        'F',
        Zpint,
        Some("fall_behind"),
        "the maximum number of queries that is allowed to fall behind, zero to disable",
        Some("1000"),
    ),
];

const fn long(
    name: &'static str,
    kind: Kind,
    value_name: &'static str,
    help: &'static str,
    default: Option<&'static str>,
) -> Long {
    Long { name, kind, value_name, help, default }
}

/// The last that resperf declares is the first that it finds; ours comes after all of resperf's.
const LONG: &[Long] = &[
    long("num-queries-per-conn", Uint, "queries", "Number of queries to send per connection", None),
    long(
        "suppress",
        Text,
        "message[,message,...]",
        "suppress messages/warnings, see dnsperf(1) man-page for list of message types",
        None,
    ),
    long("tls-sni", Text, "tls_sni", "the TLS SNI to use for TLS connections", None),
    long(
        "doh-method",
        Text,
        "doh_method",
        "the HTTP method to use for DNS-over-HTTPS: GET or POST",
        Some("GET"),
    ),
    long(
        "doh-uri",
        Text,
        "doh_uri",
        "the URI to use for DNS-over-HTTPS",
        Some("https://localhost/dns-query"),
    ),
    RECORD,
];
