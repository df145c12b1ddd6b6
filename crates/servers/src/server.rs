//! What is known of a server.

use crate::statistics::StatisticsKind;

/// A server program.
#[derive(Debug)]
pub struct Server {
    /// Its word in records, rules and messages: `bind`.
    pub word: &'static str,
    /// The names of its processes, as the kernel has them. One that renames its processes after their tasks, such as
    /// NSD, has them before the first colon.
    pub processes: &'static [&'static str],
    /// Where its configuration is; `None` where it is not read.
    pub configuration: Option<Configuration>,
    /// The parameters that bear on what is measured.
    pub parameters: &'static [Parameter],
}

/// Where the configuration of a server is, and how it is written.
#[derive(Debug)]
pub struct Configuration {
    /// The option of the command line that names it.
    pub option: &'static str,
    /// Its name, where that option names a folder.
    pub file_in_folder: Option<&'static str>,
    /// Where it is without the option.
    pub usual: &'static [&'static str],
    /// How it is written.
    pub language: Language,
    /// The statement that names the folder in which the server works once it has read its configuration.
    pub folder: Option<&'static str>,
    /// How the statistics that it allows are asked for.
    pub statistics: StatisticsKind,
    /// What to write into it to have them.
    pub to_have_statistics: &'static str,
}

/// How a configuration is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Statements end with semicolons, and blocks stand in braces.
    Braces,
    /// A statement is a line.
    Lines,
}

/// A parameter of a server.
#[derive(Debug)]
pub struct Parameter {
    /// Its name in the server's manual; `-n` of `named` is `named -n`.
    pub name: &'static str,
    /// Its value where the configuration does not set it, in the versions of Debian 12; `None` where that depends on
    /// the host or is not known.
    pub default: Option<&'static str>,
}

impl Server {
    /// Whether one of its parameters has this name.
    pub fn has_parameter(&self, name: &str) -> bool {
        self.parameters.iter().any(|parameter| parameter.name == name)
    }

    /// The default of a parameter, where it is known.
    pub fn default_of(&self, name: &str) -> Option<&'static str> {
        self.parameters.iter().find(|parameter| parameter.name == name)?.default
    }
}
