//! What a command line of queryperf asks for, and what the directives at the start of its input change.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use dnsdyno_text::shown;

use crate::common::is_readable;
use crate::console::Console;
use crate::getopt::{Found, Getopt};

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) server: String,
    pub(super) port: u16,
    pub(super) family: Family,
    pub(super) outstanding: u32,
    pub(super) timeout_s: u32,
    /// `None` = standard input.
    pub(super) file: Option<String>,
    pub(super) buffer_kb: Option<u32>,
    pub(super) time_limit_s: Option<u32>,
    pub(super) is_one_pass: bool,
    /// Of the intermediate statistics; 0 = none.
    pub(super) interval_s: u32,
    /// The table of round-trip times: its length, and the length of an entry in microseconds.
    pub(super) entries: u32,
    pub(super) entry_us: u32,
    pub(super) histogram_file: Option<String>,
    /// 0 = as fast as answers return.
    pub(super) target_qps: u32,
    pub(super) has_edns: bool,
    pub(super) dnssec_ok: bool,
    pub(super) recursion_desired: bool,
    pub(super) counts_rcodes: bool,
    pub(super) is_verbose: bool,
    pub(super) ignores_directives: bool,
    /// What the command line gave, and no directive at the start changes.
    pub(super) given: Given,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    server: bool,
    port: bool,
    outstanding: bool,
    timeout: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Any,
    V4,
    V6,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            server: USUAL_SERVER.to_owned(),
            port: USUAL_PORT,
            family: Family::Any,
            outstanding: USUAL_OUTSTANDING,
            timeout_s: USUAL_TIMEOUT_S,
            file: None,
            buffer_kb: None,
            time_limit_s: None,
            is_one_pass: false,
            interval_s: 0,
            entries: USUAL_ENTRIES,
            entry_us: USUAL_ENTRY_US,
            histogram_file: None,
            target_qps: 0,
            has_edns: false,
            dnssec_ok: false,
            recursion_desired: true,
            counts_rcodes: false,
            is_verbose: false,
            ignores_directives: false,
            given: Given::default(),
        }
    }
}

impl Settings {
    /// Reads a command line; the mistake is a text for standard error, before the usage.
    pub(super) fn read(words: &[String]) -> Result<Settings, String> {
        let (typed, words) = words.split_first().map_or(("", words), |(typed, rest)| (typed.as_str(), rest));
        let has_value = |letter: char| match letter {
            'f' | 'q' | 't' | 'i' | 'd' | 's' | 'p' | 'l' | 'b' | 'r' | 'T' | 'u' | 'H' => Some(true),
            'n' | '1' | 'e' | 'D' | 'c' | 'v' | 'R' | 'h' => Some(false),
            _ => None,
        };
        let mut settings = Settings::default();
        for found in Getopt::new(words, &has_value) {
            match found {
                Found::Flag('h') => return Err(String::new()),
                Found::Flag(letter) => settings.set(letter),
                Found::Value(letter, value) => settings.set_value(letter, value)?,
                Found::Unknown(letter) => {
                    return Err(format!(
                        "{typed}: invalid option -- '{letter}'\nInvalid option: -{letter}\n"
                    ));
                }
                Found::NoValue(letter) => {
                    return Err(format!(
                        "{typed}: option requires an argument -- '{letter}'\nInvalid option: -{letter}\n"
                    ));
                }
            }
        }
        settings.is_one_pass |= settings.time_limit_s.is_none();
        Ok(settings)
    }

    fn set(&mut self, letter: char) {
        match letter {
            'n' => self.ignores_directives = true,
            '1' => self.is_one_pass = true,
            'e' => self.has_edns = true,
            'D' => (self.has_edns, self.dnssec_ok) = (true, true),
            'c' => self.counts_rcodes = true,
            'R' => self.recursion_desired = false,
            _ => self.is_verbose = true,
        }
    }

    fn set_value(&mut self, letter: char, value: &str) -> Result<(), String> {
        let text = || shown(value, LONGEST_SHOWN);
        let whole = |kind: &str| uint(value).ok_or_else(|| format!("{kind}: -{letter} {}\n", text()));
        let other = |kind: &str| uint(value).ok_or_else(|| format!("Invalid {kind}: {}\n", text()));
        match letter {
            'f' => {
                self.family = match value {
                    "inet" => Family::V4,
                    "inet6" => Family::V6,
                    "any" => Family::Any,
                    _ => return Err(format!("Invalid address family: {}\n", text())),
                }
            }
            'q' => {
                let valid = uint(value).filter(|number| *number > 0);
                self.outstanding = valid
                    .ok_or_else(|| format!("Option requires a positive integer value: -q {}\n", text()))?;
                self.given.outstanding = true;
            }
            't' => {
                self.timeout_s = whole("Option requires a positive integer value")?;
                self.given.timeout = true;
            }
            'd' if value.is_empty() => {
                return Err("Error: null datafile name\nError setting datafile name: \n".to_owned());
            }
            'd' => self.file = Some(value.to_owned()),
            's' if value.is_empty() => {
                return Err("Error: null server name\nError setting server name: \n".to_owned());
            }
            's' => {
                self.server = value.to_owned();
                self.given.server = true;
            }
            'p' => {
                let port =
                    uint(value).and_then(|number| u16::try_from(number).ok()).filter(|port| *port < u16::MAX);
                self.port = port.ok_or_else(|| {
                    format!("Option requires a positive integer between 0 and 65534: -p {}\n", text())
                })?;
                self.given.port = true;
            }
            'l' => self.time_limit_s = Some(whole("Option requires a positive integer")?),
            'b' => self.buffer_kb = Some(whole("Option requires a positive integer")?),
            'i' => self.interval_s = other("interval")?,
            'r' => self.entries = other("RTT array size")?,
            'u' => self.entry_us = other("RTT unit")?,
            'T' => self.target_qps = other("target qps")?,
            _ => self.histogram_file = Some(value.to_owned()),
        }
        Ok(())
    }

    /// Whether the file of the input can be opened.
    pub(super) fn check_file(&self) -> Result<(), String> {
        match &self.file {
            Some(name) if !is_readable(name) && !Path::new(name).is_dir() => {
                Err(format!("Error: unable to open datafile: {}\n", shown(name, LONGEST_SHOWN)))
            }
            _ => Ok(()),
        }
    }

    /// The address of the server.
    pub(super) fn address(&self) -> Result<SocketAddr, String> {
        let fits = |address: &SocketAddr| match self.family {
            Family::Any => true,
            Family::V4 => address.is_ipv4(),
            Family::V6 => address.is_ipv6(),
        };
        let found = (self.server.as_str(), self.port).to_socket_addrs().ok();
        found.and_then(|mut found| found.find(fits)).ok_or_else(|| {
            format!("Error: getaddrinfo({}, {}) failed\n", shown(&self.server, LONGEST_SHOWN), self.port)
        })
    }

    /// Follows a directive of the input, a line that begins with `#`. Only those before the first query can be
    /// followed: a run has one server.
    pub(super) fn follow(&mut self, line: &str, is_at_start: bool, console: &Console) {
        let say = |text: String| console.tell(&format!("{text}\n"));
        let safe = shown(line, LONGEST_SHOWN);
        if self.ignores_directives || !is_at_start {
            return say(format!("Ignoring configuration change: {safe}"));
        }
        let rest = &line[1..];
        if rest.is_empty() {
            return say(format!("Invalid config: No directive present: {safe}"));
        }
        if rest.starts_with(BLANKS) {
            return say(format!("Invalid config: Space before directive or no directive present: {safe}"));
        }
        let mut words = rest.split(BLANKS).filter(|word| !word.is_empty());
        let directive = words.next().unwrap_or_default();
        let is_given = match directive {
            "server" => self.given.server,
            "port" => self.given.port,
            "maxqueries" => self.given.outstanding,
            "maxwait" => self.given.timeout,
            _ => return say(format!("Invalid config: Bad directive: {safe}")),
        };
        let Some(value) = words.next() else {
            return say(format!("Invalid config: No value present: {safe}"));
        };
        if words.next().is_some() {
            say(format!("Config warning: trailing garbage: {safe}"));
        }
        if is_given {
            return say(format!("Config change overridden by command line: {directive}"));
        }
        let number = uint(value).filter(|number| *number > 0);
        let port = number.and_then(|number| u16::try_from(number).ok());
        match (directive, number, port) {
            ("server", ..) => self.server = value.to_owned(),
            ("port", _, Some(port)) => self.port = port,
            ("maxqueries", Some(number), _) => self.outstanding = number,
            ("maxwait", Some(number), _) => self.timeout_s = number,
            _ => say(format!("Invalid config: Bad value for {directive}: {}", shown(value, LONGEST_SHOWN))),
        }
    }
}

/// The whole text as a number, of digits only.
fn uint(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

const BLANKS: [char; 3] = [' ', '\t', '\n'];

const USUAL_SERVER: &str = "127.0.0.1";
const USUAL_PORT: u16 = 53;
const USUAL_OUTSTANDING: u32 = 20;
const USUAL_TIMEOUT_S: u32 = 5;
const USUAL_ENTRIES: u32 = 50_000;
const USUAL_ENTRY_US: u32 = 100;

/// Characters of what the user gave that are shown.
const LONGEST_SHOWN: usize = 4_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::tests::Printed;

    fn read(line: &str) -> Result<Settings, String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Settings::read(&words)
    }

    #[test]
    fn one_pass_is_usual_unless_a_time_is_given() {
        let passes = |line| read(line).map(|settings| (settings.is_one_pass, settings.time_limit_s)).unwrap();
        assert_eq!(passes("queryperf"), (true, None));
        assert_eq!(passes("queryperf -l 5"), (false, Some(5)));
        assert_eq!(passes("queryperf -1 -l5"), (true, Some(5)));
        assert_eq!(read("queryperf -T100 -ecv").map(|s| (s.target_qps, s.has_edns)), Ok((100, true)));
    }

    #[test]
    fn mistakes_have_the_texts_of_the_original() {
        let wrong = |line| read(line).unwrap_err();
        assert_eq!(wrong("queryperf -q x"), "Option requires a positive integer value: -q x\n");
        assert_eq!(wrong("queryperf -l -1"), "Option requires a positive integer: -l -1\n");
        assert_eq!(
            wrong("queryperf -p 65535"),
            "Option requires a positive integer between 0 and 65534: -p 65535\n"
        );
        assert_eq!(wrong("queryperf -T 1.5"), "Invalid target qps: 1.5\n");
        assert_eq!(wrong("queryperf -f x"), "Invalid address family: x\n");
        assert_eq!(wrong("queryperf -h"), "");
        assert_eq!(wrong("queryperf -X"), "queryperf: invalid option -- 'X'\nInvalid option: -X\n");
    }

    #[test]
    fn directives_at_the_start_change_what_the_command_line_did_not_give() {
        let (console, printed) = Printed::console();
        let mut settings = read("queryperf -q 7").unwrap();
        for line in [
            "#server 192.0.2.1",
            "#port 5353",
            "#maxqueries 9",
            "#maxwait 2 s",
            "#",
            "# x",
            "#port 0",
            "#x 1",
        ] {
            settings.follow(line, true, &console);
        }
        settings.follow("#port 99", false, &console);
        let Settings { server, port, outstanding, timeout_s, .. } = &settings;
        assert_eq!((server.as_str(), *port, *outstanding, *timeout_s), ("192.0.2.1", 5_353, 7, 2));
        assert_eq!(
            printed.error(),
            "Config change overridden by command line: maxqueries\n\
             Config warning: trailing garbage: #maxwait 2 s\n\
             Invalid config: No directive present: #\n\
             Invalid config: Space before directive or no directive present: # x\n\
             Invalid config: Bad value for port: 0\n\
             Invalid config: Bad directive: #x 1\n\
             Ignoring configuration change: #port 99\n"
        );
    }
}
