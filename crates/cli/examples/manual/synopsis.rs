//! The synopsis of a command, for its man page and the book: each option with its value, what can be repeated, and the
//! verbs. That of the library leaves the values out.
//!
//! ```text
//!   dnsdyno compare [--fail-if CHANGE]... [--json] RUN... --against RUN...
//! ```

use clap::{Arg, ArgAction, Command};

/// The page of this name with its own synopsis.
pub(crate) fn replaced(program: &Command, name: &str, page: &str) -> String {
    let path = name.trim_end_matches(".1").split('-').skip(1);
    let Some((command, words)) = find(program, path.collect()) else { return page.to_owned() };
    let synopsis = format!("\\fB{}\\fR {}", escaped(&words.join(" ")), parts(command).join(" "));
    let mut lines: Vec<&str> = page.lines().collect();
    match lines.iter().position(|line| *line == ".SH SYNOPSIS") {
        Some(heading) if heading + 1 < lines.len() => lines[heading + 1] = synopsis.trim_end(),
        _ => {}
    }
    lines.join("\n") + "\n"
}

/// The synopsis of a command without marks.
pub(crate) fn plain(command: &Command, words: &str) -> String {
    let mut text = format!("{words} {}", parts(command).join(" "));
    for mark in ["\\fB", "\\fI", "\\fR"] {
        text = text.replace(mark, "");
    }
    text.replace("\\-", "-").trim_end().to_owned()
}

/// The command of a page, whose name has the verbs joined by `-`, which may be in a verb too.
fn find<'a>(program: &'a Command, path: Vec<&str>) -> Option<(&'a Command, Vec<String>)> {
    let mut words = vec![program.get_name().to_owned()];
    let mut command = program;
    let mut rest = path.as_slice();
    while !rest.is_empty() {
        let (verb, taken) = (1..=rest.len())
            .find_map(|taken| Some((command.find_subcommand(rest.get(..taken)?.join("-"))?, taken)))?;
        words.push(verb.get_name().to_owned());
        (command, rest) = (verb, rest.get(taken..)?);
    }
    Some((command, words))
}

fn parts(command: &Command) -> Vec<String> {
    let is_shown = |arg: &&Arg| {
        !arg.is_hide_set()
            && !matches!(
                arg.get_action(),
                ArgAction::Help | ArgAction::HelpLong | ArgAction::HelpShort | ArgAction::Version
            )
    };
    let options: Vec<&Arg> =
        command.get_arguments().filter(is_shown).filter(|arg| !arg.is_positional()).collect();
    let (needed, free): (Vec<&Arg>, Vec<&Arg>) = options.into_iter().partition(|arg| arg.is_required_set());
    let mut parts = Vec::new();
    match free.len() {
        0..=MOST_OPTIONS => {
            parts.extend(free.into_iter().map(|arg| optional(&option(arg), is_repeated(arg))))
        }
        _ => parts.push("[\\fIOPTION\\fR]...".to_owned()),
    }
    for arg in command.get_positionals().filter(is_shown) {
        let value = value(arg);
        let one = if arg.is_required_set() { value } else { format!("[{value}]") };
        parts.push(one);
    }
    // Behind them: one may take all values that follow.
    parts.extend(needed.into_iter().map(option));
    let verbs: Vec<String> = command
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help")
        .map(|verb| format!("\\fB{}\\fR", escaped(verb.get_name())))
        .collect();
    match verbs.len() {
        0 => {}
        1..=MOST_VERBS => parts.push(format!("{} ...", verbs.join("|"))),
        _ => parts.push("\\fIVERB\\fR ...".to_owned()),
    }
    parts
}

fn optional(text: &str, is_repeated: bool) -> String {
    format!("[{text}]{}", if is_repeated { "..." } else { "" })
}

/// An option with its names and its value.
fn option(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("\\fB\\-{short}\\fR"));
    let long = arg.get_long().map(|long| format!("\\fB\\-\\-{}\\fR", escaped(long)));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let takes_value = arg.get_num_args().is_some_and(|values| values.takes_values());
    match takes_value {
        true => format!("{} {}", names.join("|"), value(arg)),
        false => names.join("|"),
    }
}

/// The value of an option or an argument, with dots where there may be several in one place.
fn value(arg: &Arg) -> String {
    let name = arg.get_value_names().and_then(|names| names.first().map(ToString::to_string));
    let name = name.unwrap_or_else(|| arg.get_id().as_str().to_uppercase());
    let several = arg.get_num_args().is_some_and(|values| values.max_values() > 1);
    format!("\\fI{}\\fR{}", escaped(&name), if several { "..." } else { "" })
}

/// Whether an option may be given again.
fn is_repeated(arg: &Arg) -> bool {
    let takes_value = arg.get_num_args().is_some_and(|values| values.takes_values());
    takes_value && matches!(arg.get_action(), ArgAction::Append)
}

fn escaped(text: &str) -> String {
    text.replace('-', "\\-")
}

/// More options are not listed: the sections below have them.
const MOST_OPTIONS: usize = 14;

/// More verbs are not listed.
const MOST_VERBS: usize = 6;
