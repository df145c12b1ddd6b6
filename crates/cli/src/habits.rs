//! Options of other programs, and what to write here instead.
//!
//! `clap` knows our options only. Who comes from dnsperf, resperf, flamethrower, dnspyre or kxdpgun types theirs: each
//! that has another name here has a row in [`HABITS`]. A short option that exists here has the meaning of dnsperf.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// An option of another program.
struct Habit {
    /// As typed, with its dashes.
    typed: &'static str,
    /// What to write here; `{}` stands for the value.
    here: &'static str,
    /// The value in the advice where none was typed.
    example: &'static str,
}

/// The advice on an error of `clap` for this command line; `None` where `clap` says it best.
pub(crate) fn advice(error: &clap::Error, words: &[String]) -> Option<String> {
    if error.kind() == ErrorKind::InvalidSubcommand && words.get(1).is_some_and(|first| first == "capture") {
        let file = words.get(2)?;
        return Some(format!(
            "a command comes before `{file}`: to say what is in it, `dnsdyno capture show {file}`"
        ));
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return None };
    let first = words.get(1).map_or("", String::as_str);
    if first.starts_with('-') {
        // Behind dnsperf's `-y` is a key.
        let first = if first.starts_with("-y") { "-y" } else { first };
        return Some(format!(
            "a command comes before `{first}`: to put a load on a server, `dnsdyno run {first} ...`"
        ));
    }
    if !typed.starts_with('-') {
        let is_run = first == "run";
        return is_run.then(|| {
            format!(
                "`{typed}` needs an option before it: the server is `-s {typed}`, a name \
         to query `--ask {typed}`"
            )
        });
    }
    if typed[1..].starts_with(|letter: char| letter.is_ascii_digit()) {
        return Some(format!("`{typed}` is neither an option nor a value: numbers are 0 or more"));
    }
    // `--qps=5` and `--qps` are the same option.
    let name = typed.split('=').next().unwrap_or(typed);
    let value = value_of(name, words);
    if name == "-O" {
        return Some(long_option_of_dnsperf(value.unwrap_or("")));
    }
    // Each is about a load.
    let makes_load =
        || matches!(first, "run" | "find" | "qualify" | "tune" | "compare" | "experiment" | "demo");
    let habit = HABITS.iter().find(|habit| habit.typed == name && makes_load())?;
    // What goes on behind the value makes a range or a size of a number, and of nothing else.
    let goes_on = habit.here.split_once("{}").is_some_and(|(_, rest)| !rest.starts_with('`'));
    let is_number = |value: &&str| value.bytes().all(|octet| octet.is_ascii_digit());
    let value = value.filter(|value| !goes_on || is_number(value));
    let here = habit.here.replace("{}", value.unwrap_or(habit.example));
    Some(format!("there is no {name} here: {here}"))
}

/// The value typed for an option: attached to it, or the next word.
fn value_of<'a>(name: &str, words: &'a [String]) -> Option<&'a str> {
    let at = words.iter().position(|word| word.starts_with(name))?;
    match words[at][name.len()..].trim_start_matches('=') {
        "" => words.get(at + 1).map(String::as_str).filter(|next| !next.starts_with('-')),
        attached => Some(attached),
    }
}

/// The advice on dnsperf's `-O NAME=VALUE`.
fn long_option_of_dnsperf(text: &str) -> String {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    // dnsperf takes any prefix of a name.
    let found = LONG_OF_DNSPERF.iter().find(|(full, ..)| !name.is_empty() && full.starts_with(name));
    match found {
        Some((full, here, example)) => {
            let here = here.replace("{}", if value.is_empty() { example } else { value });
            format!("there is no -O here: dnsperf's {full} is {here}")
        }
        None => {
            "there is no -O here: its options have names of their own, see `dnsdyno run --help`".to_owned()
        }
    }
}

const fn habit(typed: &'static str, here: &'static str, example: &'static str) -> Habit {
    Habit { typed, here, example }
}

/// The short options first, by letter.
const HABITS: &[Habit] = &[
    habit(
        "-b",
        "the buffer size (dnsperf, in kB) is `--receive-buffer {}k`, the local address (flamethrower) is \
         --local-address",
        "512",
    ),
    habit("-B", "a binary file of queries (dnsperf, kxdpgun) is `-d FILE --queries-format binary`", ""),
    habit("-C", "the number of clients (resperf) is `--clients {}`", "10"),
    habit("-e", "EDNS (dnsperf) is `--edns-size 4096`, or the size that your clients use, such as 1232", ""),
    habit("-E", "an EDNS option (dnsperf) is `--edns-option {}`", "65001:c0ffee"),
    habit(
        "-F",
        "the address family (flamethrower) is `-f {}`; falling behind (resperf) ends a run with \
         `--stop-when 'behind>=1000'`; CPUs (kxdpgun) are --workers, one each",
        "inet6",
    ),
    habit(
        "-g",
        "a generator of queries (flamethrower) is `--generator {}`, with its arguments in the same word, and its base \
         name with --ask; `-g file` is -d FILE",
        "randomlabel",
    ),
    habit("-H", "the long help (dnsperf) is `dnsdyno run --help`", ""),
    habit("-i", "the interval (resperf, in s) is `--interval {}s`, the file of queries (kxdpgun) is -d", "1"),
    habit("-I", "the interface (kxdpgun) is `--backend xdp --interface {}`", "eth0"),
    habit("-k", "a certificate that is not verified (curl) is `--insecure`", ""),
    habit(
        "-L",
        "the loss that limits the maximum (resperf, in %) ends a load with `--stop-when 'loss>{}% for 3s'`",
        "1",
    ),
    habit("-M", "the transport (resperf) is `-m {}`, the HTTP method (flamethrower) is --http-method", "tcp"),
    habit(
        "-P",
        "the transport (flamethrower) is `-m {}`; resperf's plot file is `dnsdyno export gnuplot RUN`",
        "tcp",
    ),
    habit(
        "-R",
        "the file is read again when it ends (resperf's -R) with --for or --passes; a random order (flamethrower) is \
         `--order random`; the next hop (kxdpgun) is --next-hop",
        "",
    ),
    habit("-S", "statistics (dnsperf, each S seconds) are printed for each interval: `--interval {}s`", "1"),
    habit("-u", "dynamic updates (dnsperf) are `-d FILE --queries-format updates`", ""),
    habit(
        "-v",
        "a line for each query (dnsperf) is `dnsdyno dnsperf -v`; `--verbose` shows each worker, `--quiet` no progress \
         (flamethrower's -v 0); the VLAN (kxdpgun) is --vlan",
        "",
    ),
    habit("-W", "messages (dnsperf: to standard output) go to standard error: add `2>&1`", ""),
    habit(
        "-x",
        "the local port (dnsperf) is `--local-ports {}..65535`, a range with a port for each client",
        "20000",
    ),
    habit("-y", "TSIG (dnsperf) is --tsig-file FILE, or --tsig KEY with the same key", ""),
    habit("--address", "the server is `-s {}`, the address to send from is --local-address", "192.0.2.1"),
    habit("--bind", "the address to send from is `--local-address {}`", "192.0.2.1"),
    habit("--bufsize", "the EDNS UDP payload size is `--edns-size {}`", "1232"),
    habit("--cacert", "the file of trusted certificates is `--ca {}`", "ca.pem"),
    habit(
        "--concurrency",
        "queries at the same time are `--outstanding {}`, connections `--clients {}`",
        "100",
    ),
    habit("--connections", "the number of connections is `--clients {}`", "100"),
    habit("--csv", "the figures as a table are in the record: `dnsdyno show --json RUN`", ""),
    habit("--datafile", "the file of queries is `-d {}`", "queries.txt"),
    habit("--dnssec", "the DO bit is `--dnssec-ok`, or -D", ""),
    habit("--doh", "DNS over HTTPS is `--transport doh`", ""),
    habit("--doh-method", "the HTTP method is `--http-method {}`", "get"),
    habit("--doh-protocol", "DNS over HTTP/2 is `--transport doh`, over HTTP/3 `--transport doh3`", ""),
    habit("--doh3", "DNS over HTTP/3 is `--transport doh3`", ""),
    habit("--domain", "a name to query is `--ask {}`", "www.example"),
    habit("--doq", "DNS over QUIC is `--transport doq`", ""),
    habit("--dot", "DNS over TLS is `--transport dot`", ""),
    habit("--duration", "the length of the run is `--for {}`", "30s"),
    habit("--edns", "EDNS is `--edns-size 1232`", ""),
    habit("--edns0", "the EDNS UDP payload size is `--edns-size {}`", "1232"),
    habit("--ednsopt", "an EDNS option is `--edns-option {}`", "65001:c0ffee"),
    habit("--file", "the file of queries is `-d {}`", "queries.txt"),
    habit("--h3", "DNS over HTTP/3 is `--transport doh3`", ""),
    habit("--host", "the server is `-s {}`", "192.0.2.1"),
    habit("--http3", "DNS over HTTP/3 is `--transport doh3`", ""),
    habit("--in-flight", "the number of outstanding queries is `--outstanding {}`", "100"),
    habit("--input", "the file of queries is `-d {}`", "queries.txt"),
    habit("--limit", "the length of the run is `--for {}`, its number of queries --count", "30s"),
    habit("--loops", "passes through the file are `--passes {}`", "1"),
    habit("--max-outstanding", "the number of outstanding queries is `--outstanding {}`", "100"),
    habit("--max-qps", "a rate that grows is `--ramp 0..{} --over 60s`", "100k"),
    habit("--mode", "the transport is `--transport {}`", "tcp"),
    habit("--nameserver", "the server is `-s {}`", "192.0.2.1"),
    habit("--no-verify", "a certificate that is not verified is `--insecure`", ""),
    habit("--number", "passes through the file are `--passes {}`, the number of queries is --count", "1"),
    habit("--output", "the folder of the record is `--out {}`", "runs/first"),
    habit("--parallel", "queries at the same time are `--outstanding {}`, connections `--clients {}`", "100"),
    habit("--protocol", "the transport is `--transport {}`", "tcp"),
    habit("--qps", "the rate is `--rate {}`", "50k"),
    habit(
        "--qps-flow",
        "steps of a rate are `--stair 1k..5k --step 1k --hold 10s`, or pieces in a plan file",
        "",
    ),
    habit("--qtype", "a type is a part of the query: `--ask 'www.example {}'`", "AAAA"),
    habit("--query-file", "the file of queries is `-d {}`", "queries.txt"),
    habit("--query-per-conn", "the queries of a connection are `--queries-per-connection {}`", "1"),
    habit("--quic", "DNS over QUIC is `--transport doq`", ""),
    habit("--recurse", "the RD bit is set by default; `--no-recursion` clears it", ""),
    habit("--repeat", "passes through the file are `--passes {}`", "1"),
    habit("--requests", "the number of queries is `--count {}`", "10k"),
    habit("--resolver", "the server is `-s {}`", "192.0.2.1"),
    habit("--retries", "queries are not retried: an unanswered query is a loss", ""),
    habit("--runs", "passes through the file are `--passes {}`", "1"),
    habit("--silent", "a run without progress is `--quiet`", ""),
    habit("--target", "the server is `-s {}`", "192.0.2.1"),
    habit("--targets", "the file of servers is `--servers {}`", "servers.txt"),
    habit("--want-recursion", "the RD bit is set by default; `--no-recursion` clears it", ""),
    habit("--fail", "what a run must show is `--expect 'loss<0.1%'`", ""),
    habit("--prometheus", "metrics while it runs are `--metrics {}`", "127.0.0.1:8080"),
    habit("--http-srv", "metrics while it runs are `--metrics {}`", "5001"),
    habit("--request-delay", "a delay between queries is a rate: `--rate 100`", ""),
    habit("--rate-limit-worker", "a rate is that of all workers: `--rate {}`", "1000"),
    habit("--maximum-qps", "steps of a rate are `--stair 10k..{} --step 5k --hold 1s`", "50k"),
    habit("--minimum-success-rate", "a run ends by its losses with `--stop-when 'loss>5% for 1s'`", ""),
    habit("--tcp", "TCP is `--transport tcp`", ""),
    habit("--threads", "the number of threads is `--workers {}`", "2"),
    habit("--time", "the length of the run is `--for {}`", "30s"),
    habit("--tls", "DNS over TLS is `--transport dot`", ""),
    habit("--type", "a type is a part of the query: `--ask 'www.example {}'`", "AAAA"),
    habit("--udp", "UDP is the default, or `--transport udp`", ""),
    habit("--window", "the number of outstanding queries is `--outstanding {}`", "100"),
];

/// dnsperf's long options: the name, what it is here, and a value.
const LONG_OF_DNSPERF: &[(&str, &str, &str)] = &[
    ("doh-method", "`--http-method {}`", "GET"),
    ("doh-uri", "the server, `-s NAME`, and its path, `--http-path /dns-query`", ""),
    ("latency-histogram", "in every record: `dnsdyno show --json RUN`", ""),
    ("num-queries-per-conn", "`--queries-per-connection {}`", "1"),
    ("qps-threshold-wait", "not needed: queries are sent at their instants", ""),
    ("suppress", "`--quiet`", ""),
    ("tls-sni", "`--sni {}`", "dns.example"),
    ("verbose-interval-stats", "in every record: `dnsdyno show --json RUN`", ""),
];

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::args::Cli;

    fn advice_on(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        advice(&Cli::try_parse_from(&words).expect_err(line), &words)
    }

    #[test]
    fn no_option_of_ours_is_in_the_table_and_each_row_is_there_once() {
        let cli = Cli::command();
        let run = cli.find_subcommand("run").expect("a subcommand");
        for (at, habit) in HABITS.iter().enumerate() {
            let name = habit.typed.trim_start_matches('-');
            let is_ours = run.get_arguments().any(|arg| {
                let shorts = arg.get_short_and_visible_aliases().unwrap_or_default();
                let longs = arg.get_long_and_visible_aliases().unwrap_or_default();
                longs.contains(&name) || shorts.iter().any(|short| short.to_string() == name)
            });
            assert!(!is_ours, "{} exists", habit.typed);
            assert!(HABITS[..at].iter().all(|other| other.typed != habit.typed), "{} twice", habit.typed);
        }
    }

    #[test]
    fn every_option_that_the_advice_names_exists() {
        let cli = Cli::command();
        let run = cli.find_subcommand("run").expect("a subcommand");
        let texts = HABITS.iter().map(|habit| habit.here).chain(LONG_OF_DNSPERF.iter().map(|row| row.1));
        for text in texts.filter(|text| !text.contains("show")) {
            for word in text.split([' ', '`', ',', ';', ':']).filter(|word| word.starts_with("--")) {
                let name = word.trim_start_matches('-');
                let known = run
                    .get_arguments()
                    .any(|arg| arg.get_long_and_visible_aliases().unwrap_or_default().contains(&name));
                assert!(known || name == "help", "{word} in: {text}");
            }
        }
    }

    #[test]
    fn the_typed_value_is_in_the_advice() {
        for line in ["dnsdyno run -s ::1 --qps 1000", "dnsdyno run --qps=1000"] {
            assert_eq!(advice_on(line).as_deref(), Some("there is no --qps here: the rate is `--rate 1000`"));
        }
        // It has no queries, and a limit of its own.
        assert_eq!(advice_on("dnsdyno relay --limit 300"), None);
        let x = advice_on("dnsdyno run -x5300").expect("advice");
        assert!(x.contains("`--local-ports 5300..65535`"), "{x}");
        let o = advice_on("dnsdyno run -O num-q=7").expect("advice");
        assert!(o.contains("`--queries-per-connection 7`"), "{o}");
    }

    #[test]
    fn a_missing_command_or_option_is_named() {
        let no_command = advice_on("dnsdyno -s 127.0.0.1 -d q.txt").expect("advice");
        assert!(no_command.contains("`dnsdyno run -s ...`"), "{no_command}");
        let no_option = advice_on("dnsdyno run 192.0.2.1").expect("advice");
        assert!(no_option.contains("`-s 192.0.2.1`"), "{no_option}");
        let negative = advice_on("dnsdyno run --rate -5").expect("advice");
        assert!(negative.contains("`-5` is neither"), "{negative}");
        assert_eq!(advice_on("dnsdyno run --rat 5"), None);
    }
}
