//! What a command line of dnsperf asks for, checked in the order in which dnsperf checks it: of several mistakes the
//! same one is named.

use crate::common::{Addresses, Messages, Network, recorded};
use crate::console::Console;
use crate::options::{Given, Refusal};
use crate::values::Value;

/// The settings of a run.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) network: Network,
    pub(super) addresses: Addresses,
    pub(super) messages: Messages,
    pub(super) clients: u32,
    pub(super) threads: u32,
    /// Passes through the file; 0 = no limit.
    pub(super) passes: u32,
    /// 0 = no limit.
    pub(super) time_limit_us: u64,
    pub(super) timeout_us: u64,
    pub(super) outstanding: u32,
    pub(super) most_qps: Option<u32>,
    /// 0 = none are printed.
    pub(super) interval_us: u64,
    pub(super) has_interval_details: bool,
    pub(super) has_histogram: bool,
    pub(super) input: Input,
    pub(super) is_verbose: bool,
    pub(super) is_json: bool,
    pub(super) is_recorded: bool,
}

/// What the data file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Text,
    Updates,
    Binary,
}

impl Input {
    /// How its units are called in the statistics.
    pub(super) fn units(self) -> &'static str {
        if self == Input::Updates { "Updates" } else { "Queries" }
    }
}

impl Settings {
    /// Reads them; prints the warnings about changes.
    pub(super) fn read(given: &Given, console: &Console) -> Result<Settings, Refusal> {
        let number = |letter| given.get(letter).and_then(Value::number);
        let micros = |letter| given.get(letter).and_then(Value::micros);
        if given.has('W') {
            console.log_to_out();
        }
        let is_recorded = recorded(given)?;
        let network = Network::read(given, 'm')?;
        let addresses = Addresses::read(given, network.mode)?;
        if given.has('B') && ['D', 'e', 'E', 'u', 'y'].into_iter().any(|letter| given.has(letter)) {
            return Err(Refusal::Bare("-B is mutually exclusive with -D, -e, -E, -u, -y".into()));
        }
        let input = match (given.has('u'), given.has('B')) {
            (true, _) => Input::Updates,
            (false, true) => Input::Binary,
            (false, false) => Input::Text,
        };
        let messages = Messages::read(given)?;
        let time_limit_us = micros('l').unwrap_or(0);
        let passes = number('n').unwrap_or(u32::from(time_limit_us == 0));
        let (clients, most_qps) = (number('c').unwrap_or(1), number('Q'));
        let settings = Settings {
            network,
            addresses,
            messages,
            clients,
            threads: fewer_threads(number('T').unwrap_or(1), most_qps, clients, console),
            passes,
            time_limit_us,
            timeout_us: micros('t').unwrap_or(USUAL_TIMEOUT_US),
            outstanding: number('q').unwrap_or(USUAL_OUTSTANDING),
            most_qps,
            interval_us: micros('S').unwrap_or(0),
            has_interval_details: given.has_long("verbose-interval-stats"),
            has_histogram: given.has_long("latency-histogram"),
            input,
            is_verbose: given.has('v'),
            is_json: given.has('j'),
            is_recorded,
        };
        let excluded = [
            ('v', "Verbose output (-v) is currently not possible while using JSON output (-j)"),
            (
                'W',
                "Logging warnings and errors to stdout (-W) is currently not possible while using JSON output (-j)",
            ),
        ];
        match excluded.into_iter().find(|(letter, _)| settings.is_json && given.has(*letter)) {
            Some((_, why)) => Err(Refusal::Fatal(why.into())),
            None => Ok(settings),
        }
    }

    /// Reduces what a thread may have of outstanding queries and of sockets to what it can have; says so.
    pub(super) fn reduce(&mut self, console: &Console) {
        let (mut outstanding, mut clients) = (0, 0);
        for thread in 0..self.threads {
            let wanted = part(self.outstanding, self.threads, thread);
            if wanted > MOST_OUTSTANDING {
                console.warning(&format!(
                    "requested number of outstanding queries (-q {wanted}) per single thread (-T) exceeds \
                     built-in maximum {MOST_OUTSTANDING}, adjusting"
                ));
            }
            outstanding += wanted.min(MOST_OUTSTANDING);
            let wanted = part(self.clients, self.threads, thread);
            if wanted > MOST_CLIENTS {
                console.warning(&format!(
                    "requested number of clients (-c {wanted}) per thread (-T) exceeds built-in maximum \
                     {MOST_CLIENTS}, adjusting"
                ));
            }
            clients += wanted.min(MOST_CLIENTS);
        }
        (self.outstanding, self.clients) = (outstanding, clients);
    }
}

/// Not more threads than queries in a second, nor than clients.
fn fewer_threads(mut threads: u32, most_qps: Option<u32>, clients: u32, console: &Console) -> u32 {
    if let Some(most_qps) = most_qps.filter(|most| threads > *most) {
        console.warning(&format!(
            "requested max QPS limit (-Q {most_qps}) is lower than number of threads (-T {threads}), lowering \
             number of threads"
        ));
        threads = most_qps;
    }
    if threads > clients {
        console.warning(&format!(
            "requested number of threads (-T {threads}) exceeds number of clients (-c {clients}), lowering \
             number of threads"
        ));
        threads = clients;
    }
    threads
}

/// A thread's part of a number.
fn part(total: u32, threads: u32, thread: u32) -> u32 {
    total / threads + u32::from(thread < total % threads)
}

const USUAL_TIMEOUT_US: u64 = 5_000_000;
const USUAL_OUTSTANDING: u32 = 100;

/// Of a thread.
const MOST_OUTSTANDING: u32 = 65_536;

/// Of a thread.
const MOST_CLIENTS: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::tests::Printed;
    use crate::dnsperf::syntax::SYNTAX;

    fn read(line: &str) -> (Result<Settings, Refusal>, String) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let (console, printed) = Printed::console();
        let mut settings = SYNTAX.read(&words).and_then(|given| Settings::read(&given, &console));
        if let Ok(settings) = &mut settings {
            settings.reduce(&console);
        }
        (settings, printed.error())
    }

    fn good(line: &str) -> Settings {
        read(line).0.unwrap()
    }

    #[test]
    fn one_pass_is_the_default_unless_a_time_is_given() {
        let limits = |line| {
            let settings = good(line);
            (settings.passes, settings.time_limit_us)
        };
        assert_eq!(limits("dnsperf"), (1, 0));
        assert_eq!(limits("dnsperf -l 1.5"), (0, 1_500_000));
        assert_eq!(limits("dnsperf -l 0"), (1, 0));
        assert_eq!(limits("dnsperf -l 1 -n 3"), (3, 1_000_000));
    }

    #[test]
    fn each_mode_has_its_port_and_its_names() {
        let server = |line| good(line).addresses.server.port();
        assert_eq!(server("dnsperf"), 53);
        assert_eq!(server("dnsperf -m tls"), 853);
        assert_eq!(server("dnsperf -m doh -p 0"), 443);
        assert_eq!(server("dnsperf -m dot -p 5353"), 5353);
        assert_eq!(read("dnsperf -m doq").0.unwrap_err(), Refusal::Warned("invalid socket mode".into()));
    }

    #[test]
    fn threads_sockets_and_outstanding_queries_are_reduced_with_a_warning() {
        let (settings, warned) = read("dnsperf -T 8 -c 3 -Q 2");
        assert_eq!(settings.unwrap().threads, 2);
        assert_eq!(
            warned,
            "Warning: requested max QPS limit (-Q 2) is lower than number of threads (-T 8), lowering number of \
             threads\n"
        );
        let (settings, warned) = read("dnsperf -c 600 -T 2 -q 131073");
        let settings = settings.unwrap();
        assert_eq!((settings.clients, settings.outstanding), (512, 131_072));
        assert_eq!(warned.matches("exceeds built-in maximum").count(), 3, "{warned}");
        assert!(warned.contains("(-q 65537)") && warned.contains("(-c 300)"), "{warned}");
    }

    #[test]
    fn binary_input_excludes_what_changes_queries() {
        for more in ["-e", "-D", "-E 10:ab", "-u", "-y a:c2VjcmV0"] {
            let refusal = read(&format!("dnsperf -B {more}")).0.unwrap_err();
            assert_eq!(refusal, Refusal::Bare("-B is mutually exclusive with -D, -e, -E, -u, -y".into()));
        }
    }
}
