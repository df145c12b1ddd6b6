//! The form of a cure that survives a restart of the host: lines of the files that are read at each start, or commands.

use dnsdyno_measure::{Fact, Facts};
use dnsdyno_servers::tuning::{Change, install_files, tunable_of};
use serde::{Deserialize, Serialize};

/// What makes a cure last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Persistent {
    /// Lines of a file.
    File {
        /// Where it belongs.
        path: String,
        /// The lines. Comments in them say from when on they hold, and what the values were before.
        text: String,
    },
    /// A command that is given once.
    Command {
        /// As it is typed.
        command: String,
    },
}

impl Persistent {
    /// Writes it behind the cure of a finding. What a value was before is not said again.
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Persistent::Command { command } => out.extend(["    for good: $ ", command, "\n"]),
            Persistent::File { path, text } => {
                out.extend(["    for good, in ", path, ":\n"]);
                let lines =
                    text.lines().filter(|line| !(line.starts_with('#') && line.contains(": before, ")));
                lines.for_each(|line| out.extend(["      ", line, "\n"]));
            }
        }
    }
}

/// The keys of a rule that say what makes its cure last. {fact} in them is the value of a fact.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lasts {
    /// What may be tuned.
    #[serde(default)]
    tunes: Vec<Tune>,
    /// Lines of files.
    #[serde(default)]
    files: Vec<FileLines>,
    /// Commands.
    #[serde(default)]
    commands: Vec<String>,
}

/// A parameter that gets a value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tune {
    /// Whose it is, and its name: `card ring.rx`.
    row: String,
    value: String,
    /// Its value before.
    old: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLines {
    path: String,
    text: String,
}

impl Lasts {
    /// What it is on a host with these facts; `filled` puts them into a text.
    pub(super) fn of(&self, facts: &Facts, filled: &dyn Fn(&str) -> String) -> Vec<Persistent> {
        let changes: Vec<Change<'_>> = self.tunes.iter().filter_map(|tune| tune.change(filled)).collect();
        let interface = facts.get("interface.name").map(Fact::to_string);
        let tuned = install_files(&changes, None, interface.as_deref()).into_iter();
        let tuned = tuned.map(|file| Persistent::File { path: file.path, text: file.text });
        let files = self
            .files
            .iter()
            .map(|file| Persistent::File { path: file.path.clone(), text: filled(&file.text) });
        let commands = self.commands.iter().map(|command| Persistent::Command { command: filled(command) });
        tuned.chain(files).chain(commands).collect()
    }

    /// Why parameters cannot be set as they say.
    #[cfg(test)]
    pub(super) fn refused(&self, filled: &dyn Fn(&str) -> String) -> Vec<String> {
        let refuse = |tune: &Tune| match tune.change(filled) {
            None => Some(format!("{} is not in the catalogue", tune.row)),
            Some(change) => change.tunable.allows(change.new.as_deref().unwrap_or_default()).err(),
        };
        self.tunes.iter().filter_map(refuse).collect()
    }
}

impl Tune {
    fn change(&self, filled: &dyn Fn(&str) -> String) -> Option<Change<'static>> {
        let (of, name) = self.row.split_once(' ')?;
        let old = Some(filled(&self.old)).filter(|old| !old.contains('{'));
        Some(Change { tunable: tunable_of(of, name)?, old, new: Some(filled(&self.value)), note: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cure_lasts_in_the_files_that_are_read_at_a_start_and_by_commands() {
        let text = "tunes = [{ row = \"card ring.rx\", value = \"{need}\", old = \"{gone}\" }]\n\
            commands = [\"systemctl disable {name}\"]\n[[files]]\npath = \"/etc/a\"\ntext = \"a={need}\"\n";
        let lasts: Lasts = toml::from_str(text).unwrap();
        let mut facts = Facts::default();
        facts.text("interface.name", Some("eth7"));
        let filled = |text: &str| text.replace("{need}", "4096").replace("{name}", "b");
        let found = lasts.of(&facts, &filled);
        let [Persistent::File { path, text }, file, command] = &found[..] else { panic!("{found:?}") };
        assert_eq!(path, "/etc/udev/rules.d/90-dnsdyno.rules");
        assert!(text.contains("RUN+=\"/usr/sbin/ethtool -G eth7 rx 4096\""), "{text}");
        assert_eq!(*file, Persistent::File { path: "/etc/a".into(), text: "a=4096".into() });
        assert_eq!(*command, Persistent::Command { command: "systemctl disable b".into() });
        assert!(lasts.refused(&filled).is_empty());
        let refusals = lasts.refused(&|_| "7".to_owned());
        assert!(refusals[0].contains("cannot be set to 7"), "{refusals:?}");
        let json = serde_json::to_value(&found).unwrap();
        assert_eq!(
            (&json[1]["text"], &json[2]["command"]),
            (&"a=4096".into(), &"systemctl disable b".into())
        );
    }
}
