//! The parameters of a server that tells none: from the configuration file of its process, where that is on this host.
//!
//! ```text
//!   BIND   options { tcp-clients 150; rate-limit { responses-per-second 5; }; };    words, braces, semicolons
//!   NSD    server:                                                                    a line for each
//!              tcp-count: 100
//! ```
//!
//! A parameter that is not set in a configuration that was read whole has the default of its version. Where a part of
//! it cannot be read, nothing is known of any: that part may set it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dnsdyno_measure::Watched;
use dnsdyno_servers::{Configuration, SERVERS, Server, StatisticsKind, server_of};
use dnsdyno_text::shown;

use super::common::LONGEST_TEXT;
use crate::command::Command;
use crate::files::{FileReader, Files, LocalFiles};
use crate::written::{Form, tokens};

/// A server whose configuration file is read.
pub(super) struct Configured<'a> {
    pub(super) server: &'a Server,
    /// The parameters in a text.
    pub(super) parse: fn(&str) -> Vec<Parameter>,
}

impl Configured<'_> {
    /// The name of its program, for people.
    fn program(&self) -> &str {
        self.server.processes.first().unwrap_or(&self.server.word)
    }
}

/// The names of the parameters of the servers that are asked in this way.
pub(super) fn parameters_of(kind: StatisticsKind) -> impl Iterator<Item = &'static str> {
    let is_asked = move |server: &&Server| {
        let in_configuration = server.configuration.as_ref().map(|configuration| configuration.statistics);
        kind.row().server == Some(server.word) || in_configuration == Some(kind)
    };
    SERVERS.iter().filter(is_asked).flat_map(|server| server.parameters).map(|parameter| parameter.name)
}

/// Whether one of these has this name.
pub(super) fn has_parameter(kind: StatisticsKind, name: &str) -> bool {
    parameters_of(kind).any(|parameter| parameter == name)
}

/// The option of the command line that a parameter is, such as `named -n`.
fn option_of(name: &str) -> Option<&str> {
    name.split_once(' ').map(|(_, option)| option)
}

/// A parameter and its value.
pub(super) type Parameter = (String, String);

/// The processes that answer where statistics are asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    /// Those that are seen.
    pub(super) pids: Vec<u32>,
    /// Whether they are processes of this host.
    pub(super) are_here: bool,
}

/// Adds the parameters of the server that is asked in this way, or says why they are not known; `parse` finds them in
/// its configuration.
pub(super) fn add(
    kind: StatisticsKind,
    parse: fn(&str) -> Vec<Parameter>,
    owners: &Owners,
    watched: &mut Watched,
) {
    if let Some(server) = kind.row().server.and_then(server_of) {
        add_of(&Configured { server, parse }, owners, watched);
    }
}

fn add_of(configured: &Configured<'_>, owners: &Owners, watched: &mut Watched) {
    match read(configured, owners) {
        Ok(settings) => {
            let names = configured.server.parameters.iter().map(|parameter| parameter.name);
            let unset = names.filter(|name| !settings.contains_key(*name)).map(str::to_owned);
            watched.unset.extend(unset);
            watched.settings.extend(settings);
        }
        Err(why) => watched.missing.push(format!("parameters of {}: {why}", configured.program())),
    }
}

fn read(configured: &Configured<'_>, owners: &Owners) -> Result<BTreeMap<String, String>, String> {
    let Some(configuration) = &configured.server.configuration else { return Ok(BTreeMap::new()) };
    let form = Form::of(configuration);
    let (command, file) = process(configured, configuration, owners)?;
    let cannot =
        |path: &str| format!("its configuration {} cannot be read: run as root", shown(path, LONGEST_TEXT));
    let whole = command.read(&command.configuration(&file, &form)?, &form);
    let whole = whole.ok_or_else(|| cannot(&file))?;
    if let Some(part) = whole.unread.first() {
        return Err(cannot(part));
    }
    let text = |value: &str| shown(value, LONGEST_TEXT).into_owned();
    let mut settings = BTreeMap::<String, String>::new();
    for (name, value) in (configured.parse)(&whole.text) {
        if configured.server.has_parameter(&name) {
            settings.insert(name, text(&value));
        }
    }
    for parameter in configured.server.parameters {
        let value = option_of(parameter.name).and_then(|option| command.option(option));
        settings.extend(value.map(|value| (parameter.name.to_owned(), text(value))));
    }
    Ok(settings)
}

/// The process of the server, and the path of its configuration file.
fn process(
    configured: &Configured<'_>,
    configuration: &Configuration,
    owners: &Owners,
) -> Result<(Command, String), String> {
    let (server, program) = (configured.server, configured.program());
    let all = texts(&["/proc/*/comm".to_owned()]);
    // The processes of NSD are called `nsd: main`, `nsd: server 1`.
    let is_its =
        |text: &str| text.trim_end().split(':').next().is_some_and(|name| server.processes.contains(&name));
    let named: Vec<u32> = all
        .under("/proc/")
        .filter(|(_, name)| is_its(name))
        .filter_map(|(path, _)| path.split('/').nth(2)?.parse().ok())
        .collect();
    let own: Vec<u32> = owners.pids.iter().copied().filter(|pid| named.contains(pid)).collect();
    // Whose socket it is may not be seen, as a user other than root.
    let candidates = match own.is_empty() {
        true if owners.are_here && owners.pids.is_empty() => named,
        _ => own,
    };
    let mut found: BTreeMap<(String, Option<PathBuf>), Command> = BTreeMap::new();
    for pid in candidates {
        let command = Command::of(pid);
        if command.is_known() {
            let usual = configuration.usual.first().copied().unwrap_or_default();
            let file = command.option(configuration.option).unwrap_or(usual).to_owned();
            let folder =
                std::fs::read_link(format!("/proc/{pid}/cwd")).ok().filter(|_| !file.starts_with('/'));
            found.entry((file, folder)).or_insert(command);
        }
    }
    let several = found.len() > 1;
    match found.pop_first() {
        Some(((file, _), command)) if !several => Ok((command, file)),
        Some(_) => Err(format!(
            "several processes of {program} run on this host, and whose statistics these are is not seen: run as root"
        )),
        None => Err(format!("no process of {program} was found that has these statistics on this host")),
    }
}

fn texts(paths: &[String]) -> Files {
    LocalFiles.read(paths).unwrap_or_default()
}

/// The options of a configuration of BIND: statements within `options` and `view`, and within blocks there.
pub(super) fn of_bind(text: &str) -> Vec<Parameter> {
    let mut options: Vec<Parameter> = Vec::new();
    let mut of_views: Vec<Parameter> = Vec::new();
    let (mut blocks, mut statement) = (Vec::new(), Vec::<&str>::new());
    for word in tokens(text) {
        match word {
            "{" => blocks.push(statement.drain(..).next().unwrap_or_default()),
            "}" => {
                blocks.pop();
                statement.clear();
            }
            ";" => {
                let of = match blocks.first() {
                    Some(&"options") if blocks.len() <= 2 => Some(&mut options),
                    // Zones are blocks of views too.
                    Some(&"view")
                        if blocks.get(1).is_none_or(|block| *block != "zone") && blocks.len() <= 2 =>
                    {
                        Some(&mut of_views)
                    }
                    _ => None,
                };
                if let (Some(of), [name, values @ ..]) = (of, statement.as_slice())
                    && !values.is_empty()
                {
                    of.push(((*name).to_owned(), values.join(" ")));
                }
                statement.clear();
            }
            word => statement.push(word),
        }
    }
    // What a view sets holds there instead.
    for (name, value) in of_views {
        let in_view = format!("{value} (in a view)");
        match options.iter_mut().find(|(option, _)| *option == name) {
            Some((_, known)) => *known = format!("{known}; {in_view}"),
            None => options.push((name, in_view)),
        }
    }
    options
}

/// The parameters of a configuration of NSD: those of its section `server`.
pub(super) fn of_nsd(text: &str) -> Vec<Parameter> {
    let (mut settings, mut section) = (Vec::new(), "server");
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let Some((name, value)) = line.split_once(':') else { continue };
        match (name, value.trim()) {
            (name, "") => section = name,
            (name, value) if section == "server" => {
                settings.push((name.to_owned(), value.trim_matches(['"', '\'']).to_owned()));
            }
            _ => {}
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use std::fs;

    use dnsdyno_measure::{Side, WatchedKind};
    use dnsdyno_servers::Language;

    use super::*;

    fn pairs(settings: &[Parameter]) -> Vec<(&str, &str)> {
        settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    #[test]
    fn the_options_of_bind_are_read_with_comments_quotes_blocks_and_views() {
        let settings = of_bind(
            "// a comment; with { braces\n\
             options {\n  directory \"/var/cache/bind\"; # tcp-clients 1;\n  tcp-clients 150; /* tcp-clients 2; */\n\
             listen-on port 53 { 127.0.0.1; };\n  rate-limit { responses-per-second 5; };\n};\n\
             zone \"a\" { type primary; tcp-clients 3; };\n\
             view \"v\" { minimal-responses yes; rate-limit { responses-per-second 9; }; zone \"b\" { type hint; \
             }; };\n",
        );
        let expected = [
            ("directory", "/var/cache/bind"),
            ("tcp-clients", "150"),
            ("responses-per-second", "5; 9 (in a view)"),
            ("minimal-responses", "yes (in a view)"),
        ];
        assert_eq!(pairs(&settings), expected);
        for broken in ["options { tcp-clients", "}}};;;{", "\"", "/*", "options { \"", "#"] {
            assert_eq!(pairs(&of_bind(broken)), [], "{broken}");
        }
    }

    #[test]
    fn the_parameters_of_nsd_are_those_of_its_section_server() {
        let settings = of_nsd(
            "server:\n\ttcp-count: 100 # more\n\tchroot: \"\"\n\treuseport: yes\nremote-control:\n\t\
             control-enable: yes\n",
        );
        assert_eq!(pairs(&settings), [("tcp-count", "100"), ("chroot", ""), ("reuseport", "yes")]);
    }

    /// What is known of the parameters of this process, which is taken for NSD with this configuration.
    fn known(text: &str) -> Watched {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("nsd.conf");
        fs::write(&file, text).unwrap();
        let leaked = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let own = leaked(fs::read_to_string("/proc/self/comm").unwrap().trim().to_owned());
        let parameter = |name| dnsdyno_servers::Parameter { name, default: None };
        let server = Server {
            word: "nsd",
            processes: Box::leak(Box::new([own])),
            configuration: Some(Configuration {
                option: "-c",
                file_in_folder: None,
                usual: Box::leak(Box::new([leaked(file.display().to_string())])),
                language: Language::Lines,
                folder: Some("zonesdir"),
                statistics: StatisticsKind::Nsd,
                to_have_statistics: "",
            }),
            parameters: Box::leak(Box::new(["tcp-count", "reuseport", "nsd --none"].map(parameter))),
        };
        let configured = Configured { server: &server, parse: of_nsd };
        let mut watched = Watched {
            kind: WatchedKind::Server,
            side: Side::Server,
            label: "NSD".into(),
            software: None,
            version: None,
            settings: BTreeMap::new(),
            unset: Vec::new(),
            missing: Vec::new(),
        };
        let owners = Owners { pids: vec![std::process::id()], are_here: true };
        add_of(&configured, &owners, &mut watched);
        watched
    }

    #[test]
    fn what_a_configuration_that_was_read_whole_does_not_set_is_told_as_unset() {
        let watched = known("server:\n  tcp-count: 7\n");
        assert_eq!(watched.settings, [("tcp-count".to_owned(), "7".to_owned())].into());
        assert_eq!(
            (watched.unset, watched.missing),
            (vec!["reuseport".into(), "nsd --none".into()], Vec::new())
        );
    }

    #[test]
    fn of_a_configuration_of_which_a_part_cannot_be_read_nothing_is_known() {
        let watched = known("server:\n  tcp-count: 7\n  include: \"/none/more.conf\"\n");
        assert_eq!((watched.settings.len(), watched.unset.len()), (0, 0));
        assert!(watched.missing[0].contains("/none/more.conf cannot be read: run as root"), "{watched:?}");
    }
}
