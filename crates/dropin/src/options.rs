//! The options of dnsperf and resperf: tables of short ones, and of long ones after `-O`; the usage that is made of the
//! tables; and reading a command line by them.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::getopt::{Found, Getopt};
use crate::values::{Kind, Value};

/// A short option.
pub(crate) struct Short {
    pub(crate) letter: char,
    pub(crate) kind: Kind,
    /// The name of its value, in the usage and in errors.
    pub(crate) value_name: Option<&'static str>,
    pub(crate) help: &'static str,
    /// Its default, as the usage shows it.
    pub(crate) default: Option<&'static str>,
}

/// A long option, `-O name` or `-O name=value`.
pub(crate) struct Long {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) value_name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) default: Option<&'static str>,
}

/// All options of a program.
pub(crate) struct Syntax {
    /// Its name in the usage.
    pub(crate) program: &'static str,
    /// In the order of the usage; `-h`, `-H` and `-O` follow by themselves.
    pub(crate) short: &'static [Short],
    /// In the order in which a name is searched: the first that begins with what was typed is meant.
    pub(crate) long: &'static [Long],
}

/// Why a program does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Help was asked for: a text for standard error, and success.
    Help(String),
    /// A mistake, followed by the usage; both on standard error.
    Usage(String),
    /// A mistake on standard error, without the usage.
    Bare(String),
    /// A mistake as a warning, followed by the usage.
    Warned(String),
    /// An error.
    Fatal(String),
}

/// The options that were given; the last of each counts.
#[derive(Debug, Default)]
pub(crate) struct Given {
    short: BTreeMap<char, Value>,
    long: BTreeMap<&'static str, Value>,
}

impl Given {
    /// The value of a short option.
    pub(crate) fn get(&self, letter: char) -> Option<&Value> {
        self.short.get(&letter)
    }

    /// The value of a long option.
    pub(crate) fn get_long(&self, name: &str) -> Option<&Value> {
        self.long.get(name)
    }

    /// Whether a short option was given.
    pub(crate) fn has(&self, letter: char) -> bool {
        self.short.contains_key(&letter)
    }

    /// Whether a long option was given.
    pub(crate) fn has_long(&self, name: &str) -> bool {
        self.long.contains_key(name)
    }
}

impl Value {
    /// The text of a value that is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number of a value that is one.
    pub(crate) fn number(&self) -> Option<u32> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The microseconds of a value that is a time.
    pub(crate) fn micros(&self) -> Option<u64> {
        match self {
            Value::Micros(micros) => Some(*micros),
            _ => None,
        }
    }

    /// The number of a value that may have a fraction.
    pub(crate) fn double(&self) -> Option<f64> {
        match self {
            Value::Double(number) => Some(*number),
            _ => None,
        }
    }
}

impl Syntax {
    /// Reads a command line, whose first word is the name of the program as typed.
    pub(crate) fn read(&self, words: &[String]) -> Result<Given, Refusal> {
        let (typed, words) =
            words.split_first().map_or(("", &[][..]), |(typed, rest)| (typed.as_str(), rest));
        let has_value = |letter| self.option(letter).map(|option| option.kind != Kind::Flag);
        let mut getopt = Getopt::new(words, &has_value);
        let mut given = Given::default();
        for found in getopt.by_ref() {
            let (letter, text) = match found {
                Found::Unknown(letter) => {
                    return Err(Refusal::Usage(format!("{typed}: invalid option -- '{letter}'")));
                }
                Found::NoValue(letter) => {
                    return Err(Refusal::Usage(format!(
                        "{typed}: option requires an argument -- '{letter}'"
                    )));
                }
                Found::Flag('h') => return Err(Refusal::Help(self.usage())),
                Found::Flag('H') => return Err(Refusal::Help(self.long_usage())),
                Found::Value('O', text) => {
                    self.read_long(text, &mut given)?;
                    continue;
                }
                Found::Flag(letter) => (letter, ""),
                Found::Value(letter, text) => (letter, text),
            };
            let Some(option) = self.option(letter) else { continue };
            let invalid = || invalid(option.value_name.unwrap_or_default(), text);
            given.short.insert(letter, option.kind.read(text).ok_or_else(invalid)?);
        }
        match getopt.operands().first() {
            Some(operand) => Err(Refusal::Usage(format!("unexpected argument {operand}"))),
            None => Ok(given),
        }
    }

    fn option(&self, letter: char) -> Option<&Short> {
        self.short.iter().chain(&COMMON).find(|option| option.letter == letter)
    }

    /// Reads `name` or `name=value`, where the name may be cut short.
    fn read_long(&self, typed: &str, given: &mut Given) -> Result<(), Refusal> {
        let wrong = || Refusal::Usage(format!("invalid long option: {typed}"));
        let (name, text) = match typed.split_once('=') {
            Some((name, text)) if name.is_empty() || text.is_empty() => return Err(wrong()),
            Some((name, text)) => (name, Some(text)),
            None => (typed, None),
        };
        let option = self.long.iter().find(|option| option.name.starts_with(name)).ok_or_else(wrong)?;
        let value = match (option.kind, text) {
            (Kind::Flag, _) => Value::Given,
            (_, None) => return Err(wrong()),
            (kind, Some(text)) => kind.read(text).ok_or_else(|| invalid(option.value_name, text))?,
        };
        given.long.insert(option.name, value);
        Ok(())
    }

    /// The usage: all options in a paragraph, then one line each.
    pub(crate) fn usage(&self) -> String {
        let mut usage = format!("Usage: {}", self.program);
        let indent = usage.len();
        let mut position = indent;
        for option in self.short.iter().chain(&COMMON) {
            let name = option.value_name.map(|name| format!(" {name}")).unwrap_or_default();
            let length = OPTION_LENGTH + name.len();
            if LINE_LENGTH.saturating_sub(position + 1) < length {
                let _ = write!(usage, "\n{:indent$}", "");
                position = indent;
            }
            let _ = write!(usage, " [-{}{name}]", option.letter);
            position += length;
        }
        usage.push('\n');
        for option in self.short.iter().chain(&COMMON) {
            let _ = writeln!(usage, "  -{} {}{}", option.letter, option.help, in_brackets(option.default));
        }
        usage
    }

    /// The usage of the long options.
    fn long_usage(&self) -> String {
        let mut usage =
            format!("Usage: {} ... -O <name>[=<value>] ...\n\nAvailable long options:\n", self.program);
        for option in self.long {
            let Long { name, value_name, help, .. } = option;
            let value = if option.kind == Kind::Flag { String::new() } else { format!("=<{value_name}>") };
            let _ = writeln!(usage, "  {name}{value}: {help}{}", in_brackets(option.default));
        }
        usage
    }
}

fn invalid(name: &str, text: &str) -> Refusal {
    Refusal::Usage(format!("invalid {name}: {text}"))
}

fn in_brackets(default: Option<&str>) -> String {
    default.map(|default| format!(" (default: {default})")).unwrap_or_default()
}

/// The options that each program has, after its own.
const COMMON: [Short; 3] = [
    Short { letter: 'h', kind: Kind::Flag, value_name: None, help: "print this help", default: None },
    Short { letter: 'H', kind: Kind::Flag, value_name: None, help: "print long options help", default: None },
    Short {
        letter: 'O',
        kind: Kind::Text,
        value_name: None,
        help: "set long options: <name>=<value>",
        default: None,
    },
];

/// The one long option that is ours, the last in the table of each program with `-O`.
pub(crate) const RECORD: Long = Long {
    name: "record",
    kind: Kind::Text,
    value_name: "on|off",
    help: "of dnsdyno: write a record of the run, for dnsdyno report",
    default: Some("on"),
};

/// The columns of the usage.
const LINE_LENGTH: usize = 80;

/// What the usage reserves for an option besides the name of its value.
const OPTION_LENGTH: usize = 6;
