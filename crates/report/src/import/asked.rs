//! What a command line of dnsperf asked: its options without those that say which server, from where, or what is
//! printed.

use dnsdyno_text::secret::words_without_secrets;

/// A command line of dnsperf, as its words.
pub(super) struct CommandLine {
    /// Each option with its value.
    options: Vec<(char, String)>,
}

impl CommandLine {
    /// Reads the words after the program's name.
    pub(super) fn new(words: &[String]) -> CommandLine {
        let words = words_without_secrets(words);
        let mut options = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut letters = word.strip_prefix('-').unwrap_or_default().chars();
            while let Some(letter) = letters.next() {
                if FLAGS.contains(letter) {
                    options.push((letter, String::new()));
                    continue;
                }
                let rest: String = letters.collect();
                let value = if rest.is_empty() { words.next().cloned().unwrap_or_default() } else { rest };
                options.push((letter, value));
                break;
            }
        }
        CommandLine { options }
    }

    /// What it asked, in an order that does not depend on that of the words.
    pub(super) fn asked(&self) -> String {
        let is_asked = |(letter, value): &&(char, String)| {
            let prints = PRINTS.iter().any(|name| value.starts_with(name));
            !(NOT_ASKED.contains(*letter) || *letter == 'O' && prints)
        };
        let text = |(letter, value): &(char, String)| match letter {
            // The same queries may be in another folder.
            'd' => format!("-d {}", value.rsplit('/').next().unwrap_or(value)),
            _ => format!("-{letter} {value}").trim_end().to_owned(),
        };
        let mut asked: Vec<String> = self.options.iter().filter(is_asked).map(text).collect();
        asked.sort();
        asked.join(" ")
    }

    /// The timeout in nanoseconds.
    pub(super) fn timeout_ns(&self) -> f64 {
        let seconds = self.last('t').and_then(|value| value.parse::<f64>().ok());
        seconds.filter(|seconds| *seconds > 0.0 && seconds.is_finite()).unwrap_or(DEFAULT_TIMEOUT_S) * 1e9
    }

    /// Whether a rate is asked for.
    pub(super) fn has_rate(&self) -> bool {
        self.last('Q').is_some()
    }

    fn last(&self, letter: char) -> Option<&str> {
        self.options.iter().rev().find(|(known, _)| *known == letter).map(|(_, value)| value.as_str())
    }
}

/// Options without a value.
const FLAGS: &str = "eDuBvWjhH";

/// Which server, from where, and what is printed.
const NOT_ASKED: &str = "spaxSvWjhH";

/// Values of -O that say what is printed.
const PRINTS: [&str; 4] = ["suppress", "latency-histogram", "verbose-interval-stats", "tls-sslkeylogfile"];

const DEFAULT_TIMEOUT_S: f64 = 5.0;
