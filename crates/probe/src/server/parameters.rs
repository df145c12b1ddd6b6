//! The parameters of a server that tells none: from the configuration file of its process, where that is on this host.
//!
//! ```text
//!   BIND   options { tcp-clients 150; rate-limit { responses-per-second 5; }; };    words, braces, semicolons
//!   NSD    server:                                                                    a line for each
//!              tcp-count: 100
//! ```
//!
//! A parameter that is not set there has the default of its version, and is left out.

use std::collections::BTreeMap;

use dnsdyno_measure::{Watched, shown};

use super::common::LONGEST_TEXT;
use crate::files::{FileReader, Files, LocalFiles};
use crate::found::listening_processes;
use crate::opened::Targets;

/// A server whose configuration file can be read.
pub(super) struct Configured {
    /// The name of its program.
    pub(super) program: &'static str,
    /// Where its configuration is, if its command line does not say it.
    pub(super) usual: &'static str,
    /// The parameters in a text, and the files that it includes.
    pub(super) parse: fn(&str) -> Parsed,
    /// Those that bear on what is measured.
    pub(super) wanted: &'static [&'static str],
}

/// What a configuration file contains.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    settings: Vec<(String, String)>,
    includes: Vec<String>,
}

/// Adds the parameters of the server at the targets, or says why they are not known.
pub(super) fn add(configured: &Configured, targets: &Targets, watched: &mut Watched) {
    match read(configured, targets) {
        Ok(settings) => watched.settings.extend(settings),
        Err(why) => watched.missing.push(format!("parameters of {}: {why}", configured.program)),
    }
}

fn read(configured: &Configured, targets: &Targets) -> Result<BTreeMap<String, String>, String> {
    let (pid, file) = configuration(configured, targets)?;
    // As the process sees them: it may have another root.
    let place = |path: &str| match path.strip_prefix('/') {
        Some(path) => format!("/proc/{pid}/root/{path}"),
        None => format!("/proc/{pid}/cwd/{path}"),
    };
    let (mut settings, mut waiting, mut files) = (BTreeMap::new(), vec![file.clone()], 0);
    while let Some(path) = waiting.pop().filter(|_| files < MOST_FILES) {
        let read = texts(&[place(&path)]);
        if read.0.is_empty() && files == 0 {
            return Err(format!(
                "its configuration {} cannot be read: run as root",
                shown(&file, LONGEST_TEXT)
            ));
        }
        for text in read.0.values() {
            files += 1;
            let parsed = (configured.parse)(text);
            waiting.extend(parsed.includes);
            let wanted =
                parsed.settings.into_iter().filter(|(name, _)| configured.wanted.contains(&name.as_str()));
            settings.extend(wanted.map(|(name, value)| (name, shown(&value, LONGEST_TEXT).into_owned())));
        }
    }
    Ok(settings)
}

/// The process, and the path of its configuration file.
fn configuration(configured: &Configured, targets: &Targets) -> Result<(u32, String), String> {
    let program = configured.program;
    let all = texts(&["/proc/*/comm".to_owned()]);
    // The processes of NSD are called `nsd: main`, `nsd: server 1`.
    let is_its = |text: &str| text.trim_end().split(':').next() == Some(program);
    let named: Vec<u32> = all
        .under("/proc/")
        .filter(|(_, name)| is_its(name))
        .filter_map(|(path, _)| path.split('/').nth(2)?.parse().ok())
        .collect();
    let listening: Vec<u32> =
        listening_processes(&targets.addresses).into_iter().filter(|pid| named.contains(pid)).collect();
    // In another network namespace its sockets are not seen.
    let candidates = if listening.is_empty() { named } else { listening };
    let mut found: BTreeMap<String, u32> = BTreeMap::new();
    for pid in candidates {
        let path = format!("/proc/{pid}/cmdline");
        if let Some(file) = file_in(texts(std::slice::from_ref(&path)).text(&path), configured.usual) {
            found.entry(file).or_insert(pid);
        }
    }
    let several = found.len() > 1;
    match found.pop_first() {
        Some((file, pid)) if !several => Ok((pid, file)),
        Some(_) => Err(format!("several processes of {program} run on this host")),
        None => Err(format!("no process of {program} was found on this host")),
    }
}

/// The file after `-c` of a command line; `None` where the program has put something else in its place.
fn file_in(command: &str, usual: &str) -> Option<String> {
    let mut words = command.split('\0').skip(1);
    while let Some(word) = words.next() {
        match word.strip_prefix("-c") {
            Some("") => return words.next().map(str::to_owned),
            Some(path) => return Some(path.to_owned()),
            None => {}
        }
    }
    (!command.is_empty() && !command.contains(": ")).then(|| usual.to_owned())
}

fn texts(paths: &[String]) -> Files {
    LocalFiles.read(paths).unwrap_or_default()
}

/// The options of a configuration of BIND: statements within `options`, and within blocks there.
pub(super) fn of_bind(text: &str) -> Parsed {
    let (mut parsed, mut blocks, mut statement) = (Parsed::default(), Vec::new(), Vec::<&str>::new());
    for word in bind_words(text) {
        match word {
            "{" => blocks.push(statement.drain(..).next().unwrap_or_default()),
            "}" => {
                blocks.pop();
                statement.clear();
            }
            ";" => {
                let is_option = blocks.first() == Some(&"options") && blocks.len() <= 2;
                match statement.as_slice() {
                    ["include", path, ..] if blocks.is_empty() || is_option => {
                        parsed.includes.push((*path).to_owned())
                    }
                    [name, values @ ..] if is_option && !values.is_empty() => {
                        parsed.settings.push(((*name).to_owned(), values.join(" ")));
                    }
                    _ => {}
                }
                statement.clear();
            }
            word => statement.push(word),
        }
    }
    parsed
}

/// The words of a text, without comments and quotes.
fn bind_words(mut rest: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_start();
            let comment_end = match rest {
                text if text.starts_with('#') || text.starts_with("//") => "\n",
                text if text.starts_with("/*") => "*/",
                _ => break,
            };
            rest = rest.split_once(comment_end).map_or("", |(_, after)| after);
        }
        let first = rest.chars().next()?;
        if let Some(quoted) = rest.strip_prefix('"') {
            let (word, after) = quoted.split_once('"').unwrap_or((quoted, ""));
            rest = after;
            return Some(word);
        }
        let is_end = |c: char| c.is_whitespace() || "{};\"#".contains(c);
        let length = if is_end(first) { first.len_utf8() } else { rest.find(is_end).unwrap_or(rest.len()) };
        let (word, after) = rest.split_at(length);
        rest = after;
        Some(word)
    })
}

/// The parameters of a configuration of NSD: those of its section `server`.
pub(super) fn of_nsd(text: &str) -> Parsed {
    let (mut parsed, mut section) = (Parsed::default(), "server");
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim().trim_matches('"');
        match (name, value) {
            ("include", path) => parsed.includes.push(path.to_owned()),
            (name, "") => section = name,
            (name, value) if section == "server" => parsed.settings.push((name.to_owned(), value.to_owned())),
            _ => {}
        }
    }
    parsed
}

/// A configuration in parts has some files; one that includes itself has no end.
const MOST_FILES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(parsed: &Parsed) -> Vec<(&str, &str)> {
        parsed.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    #[test]
    fn the_options_of_bind_are_read_with_comments_quotes_and_blocks() {
        let parsed = of_bind(
            "include \"/etc/bind/more.conf\"; // a comment; with { braces\n\
             options {\n  directory \"/var/cache/bind\"; # tcp-clients 1;\n  tcp-clients 150; /* tcp-clients 2; */\n\
             listen-on port 53 { 127.0.0.1; };\n  rate-limit { responses-per-second 5; };\n};\n\
             zone \"a\" { type primary; tcp-clients 3; };\n",
        );
        assert_eq!(parsed.includes, ["/etc/bind/more.conf"]);
        let expected =
            [("directory", "/var/cache/bind"), ("tcp-clients", "150"), ("responses-per-second", "5")];
        assert_eq!(settings(&parsed), expected);
        for broken in ["options { tcp-clients", "}}};;;{", "\"", "/*", "options { \"", "#"] {
            assert_eq!(settings(&of_bind(broken)), [], "{broken}");
        }
    }

    #[test]
    fn the_parameters_of_nsd_are_those_of_its_section_server() {
        let parsed = of_nsd(
            "include: \"/etc/nsd/nsd.conf.d/*.conf\"\nserver:\n\ttcp-count: 100 # more\n\tchroot: \"\"\n\
             remote-control:\n\tcontrol-enable: yes\n",
        );
        assert_eq!((settings(&parsed), parsed.includes.len()), (vec![("tcp-count", "100")], 1));
    }

    #[test]
    fn the_configuration_file_is_that_of_the_command_line() {
        for (command, file) in [
            ("named\0-g\0-c\0/tmp/a.conf\0", Some("/tmp/a.conf")),
            ("named\0-c/tmp/a.conf\0", Some("/tmp/a.conf")),
            ("named\0-u\0bind\0", Some("/usual")),
            ("nsd: server 1\0", None),
            ("", None),
        ] {
            assert_eq!(file_in(command, "/usual").as_deref(), file, "{command:?}");
        }
    }
}
