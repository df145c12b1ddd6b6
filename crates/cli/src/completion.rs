//! What a shell offers for the values of options: closed lists, and the words with which other values begin.
//!
//! The values themselves are checked where they are read; here is only what can be typed. The tests hold that each word
//! is accepted there.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use dnsdyno_campaign::find::Method;

/// All verbs and options, each with the words that its value can be. `with_beginnings`: also words that go on, such as
/// `dot=` and `epc:`.
pub fn command_to_complete(with_beginnings: bool) -> Command {
    with_words(crate::command(), with_beginnings)
}

fn with_words(command: Command, with_beginnings: bool) -> Command {
    let name = command.get_name().to_owned();
    let of = |arg: Arg| {
        let is_here = |row: &&Row| row.verb.is_none_or(|verb| verb == name) && arg.get_id() == row.option;
        let Some(row) = ROWS.iter().find(is_here) else { return arg };
        let mut words: Vec<&'static str> = (row.words)();
        words.retain(|word| with_beginnings || !is_beginning(word));
        if words.is_empty() { arg } else { arg.value_parser(PossibleValuesParser::new(words)) }
    };
    command.mut_args(of).mut_subcommands(|verb| with_words(verb, with_beginnings))
}

/// Whether a value goes on after this word.
fn is_beginning(word: &str) -> bool {
    word.ends_with(['=', ':', '/'])
}

/// An option with its words.
struct Row {
    /// The verb, where the option means something else in others.
    verb: Option<&'static str>,
    /// The name of its field.
    option: &'static str,
    words: fn() -> Vec<&'static str>,
}

const fn row(option: &'static str, words: fn() -> Vec<&'static str>) -> Row {
    Row { verb: None, option, words }
}

const fn of_verb(verb: &'static str, option: &'static str, words: fn() -> Vec<&'static str>) -> Row {
    Row { verb: Some(verb), option, words }
}

/// Options whose values are enumerations of `clap` have theirs already.
const ROWS: &[Row] = &[
    row("family", || vec!["any", "v4", "v6"]),
    row("queries_format", || {
        vec!["auto", "text", "dnsperf", "queryperf", "binary", "csv", "names", "updates"]
    }),
    row("generator", || vec!["static", "numberqname", "randompkt", "randomqname", "randomlabel"]),
    of_verb("run", "source", || vec!["epc:", "stub:"]),
    row("order", || vec!["in-turn", "random", "zipf:"]),
    row("class", || vec!["IN", "CH", "HS", "ANY"]),
    of_verb("run", "transport", transports),
    of_verb("run", "workers", || vec!["auto"]),
    of_verb("find", "transport", transports),
    of_verb("qualify", "transport", transports),
    row("mix", || vec!["udp=", "tcp=", "udp+tcp=", "dot=", "doh=", "doq=", "doh3="]),
    row("tcp_edns", || vec!["same", "none"]),
    row("tls_version", || vec!["1.2", "1.3"]),
    row("http_method", || vec!["get", "post"]),
    row("backend", || vec!["sockets", "xdp", "auto"]),
    row("xdp_mode", || vec!["auto", "native", "generic"]),
    row("xdp_copy", || vec!["auto", "zero-copy", "copy"]),
    row("watch", watched),
    row("find", || vec!["qps", "connections", "clients"]),
    row("method", || Method::ALL.map(|(name, _)| name).into()),
    row("skip", || vec!["stair", "burst", "function", "long"]),
];

fn transports() -> Vec<&'static str> {
    vec!["udp", "tcp", "udp+tcp", "dot", "doh", "doq", "doh3"]
}

fn watched() -> Vec<&'static str> {
    let words = ["auto", "host", "process", "host=", "process=", "ssh://"];
    let statistics = [
        "bind=",
        "unbound=",
        "nsd=",
        "knot=",
        "knot-resolver=",
        "pdns=",
        "dnsdist=",
        "mariadb=",
        "world=",
        "openmetrics=",
    ];
    words.into_iter().chain(statistics).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use dnsdyno_plan::Draft;

    use super::*;
    use crate::args::{Cli, Command as Verb};

    /// Each row is of an option that there is, under the name of its field.
    #[test]
    fn every_row_is_of_an_option() {
        fn has(command: &Command, row: &Row) -> bool {
            let is_here = row.verb.is_none_or(|verb| verb == command.get_name());
            (is_here && command.get_arguments().any(|arg| arg.get_id() == row.option))
                || command.get_subcommands().any(|verb| has(verb, row))
        }
        for row in ROWS {
            assert!(has(&crate::command(), row), "{:?} {}", row.verb, row.option);
        }
    }

    #[test]
    fn every_word_is_a_value_of_its_option() {
        let (mut wrong, mut tried) = (Vec::new(), 0);
        for row in ROWS.iter().filter(|row| !matches!(row.option, "find" | "method" | "skip")) {
            for word in (row.words)().into_iter().filter(|word| !is_beginning(word)) {
                tried += 1;
                let option = format!("--{}={word}", row.option.replace('_', "-"));
                let words =
                    ["dnsdyno", "run", "-s", "127.0.0.1", "--ask", "a.example", "--rate", "1", "--for", "1s"];
                let Ok(cli) = Cli::try_parse_from(words.into_iter().chain([option.as_str()])) else {
                    wrong.push(option);
                    continue;
                };
                let Verb::Run(flags) = cli.command else { panic!("no run") };
                // What it can be combined with is another question; what it can be is not.
                if let Some(error) = refusal(flags.draft)
                    && error.contains(&format!("`{word}`"))
                {
                    wrong.push(format!("{option}: {error}"));
                }
            }
        }
        assert!(wrong.is_empty() && tried > 30, "{tried}: {wrong:?}");
    }

    fn refusal(draft: Draft) -> Option<String> {
        use dnsdyno_runner::{LocalRunner, Runner};
        LocalRunner.validate(&draft).err().map(|error| error.to_string())
    }

    #[test]
    fn the_description_of_the_options_is_whole() {
        command_to_complete(true).debug_assert();
        command_to_complete(false).debug_assert();
    }
}
