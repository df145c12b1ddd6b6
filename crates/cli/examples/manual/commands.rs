//! The chapter of the commands, `docs/commands`: a page for each verb, with the text of its help in Markdown.
//!
//! ```text
//!   clap::Command ──► heading, text, synopsis, options by their groups, what stands behind them
//!        └─ verbs of a verb follow on its page, one level lower
//! ```

use std::collections::BTreeMap;

use clap::{Arg, Command};

use crate::synopsis;

/// `README.md`, which lists the verbs, and a page for each of them, by their paths in `docs`.
pub(crate) fn pages(program: &Command) -> BTreeMap<String, String> {
    let verbs = || program.get_subcommands().filter(|verb| verb.get_name() != "help");
    let mut pages: BTreeMap<String, String> = verbs()
        .map(|verb| {
            let name = verb.get_name();
            let page = page(verb, &format!("{} {name}", program.get_name()), 1);
            (format!("commands/{name}.md"), format!("{MADE}{page}"))
        })
        .collect();
    pages.insert("commands/README.md".to_owned(), list(program, verbs()));
    pages
}

/// Where a verb is explained, by its name: the document, from the folder of the pages, and its title.
const CHAPTERS: &[(&str, &str, &str)] = &[
    ("agent", "../agents.md", "One load from many machines"),
    ("agents", "../agents.md", "One load from many machines"),
    ("capture", "../captures.md", "Captures"),
    ("compare", "../comparing.md", "Comparing two versions of a server"),
    ("data", "../data.md", "Zones made by rule"),
    ("demo", "../first-hour.md", "A first hour"),
    ("diagnose", "../diagnose.md", "What broke first"),
    ("doctor", "../doctor.md", "Before a run"),
    ("epc", "../clients.md", "Simulated clients with caches"),
    ("experiment", "../experiment.md", "Experiments"),
    ("export", "../formats/exports.md", "Exports"),
    ("find", "../find.md", "Finding the limit"),
    ("history", "../history.md", "A memory of runs"),
    ("install-links", "../differences.md", "What differs from dnsperf"),
    ("merge", "../../METHODOLOGY.md#several-hosts-and-processes", "Several hosts and processes"),
    ("qualify", "../qualify.md", "Qualify a server"),
    ("relay", "../relay.md", "A path with delay and loss"),
    ("report", "../report.md", "The report page"),
    ("respond", "../loads.md#a-reference-server-with-faults", "A reference server with faults"),
    ("run", "../loads.md", "Every kind of load"),
    ("show", "../formats/run.md", "The record of a run"),
    ("tune", "../tune.md", "Tuning"),
    ("watch", "../watch.md", "Watching the server, its host and its process"),
    ("world", "../world.md", "An Internet in a box"),
];

/// Above each page.
const MADE: &str = "<!-- Made from the options by `make manual`. -->\n\n";

fn list<'a>(program: &Command, verbs: impl Iterator<Item = &'a Command>) -> String {
    let mut out = format!(
        "{MADE}# The commands\n\n{}\n\nThe man pages have the same text: `man dnsdyno-run`.\n\n\
         | command | what it does |\n|---|---|\n",
        escaped(&long_text(program))
    );
    for verb in verbs {
        let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
        let name = verb.get_name();
        out.push_str(&format!("| [`{name}`]({name}.md) | {} |\n", escaped(&about).replace('|', "\\|")));
    }
    out + &after(program)
}

/// The link to the chapter of a verb.
fn chapter(verb: &Command) -> String {
    let chapter = CHAPTERS.iter().find(|(name, ..)| *name == verb.get_name());
    chapter.map_or_else(String::new, |(_, path, title)| format!("Explained in: [{title}]({path})\n\n"))
}

/// A command with its own verbs, below a heading of this level.
fn page(command: &Command, words: &str, level: usize) -> String {
    let marks = "#".repeat(level);
    let mut out = format!("{marks} {words}\n\n{}\n\n", escaped(&long_text(command)));
    if level == 1 {
        out.push_str(&chapter(command));
    }
    out.push_str(&format!("```text\n{}\n```\n", synopsis::plain(command, words)));
    for (group, options) in groups(command) {
        out.push_str(&format!("\n{marks}# {group}\n\n"));
        options.iter().for_each(|option| out.push_str(&entry(option)));
    }
    out.push_str(&after(command));
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        out.push('\n');
        out.push_str(&page(verb, &format!("{words} {}", verb.get_name()), level + 1));
    }
    out
}

fn long_text(command: &Command) -> String {
    command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default()
}

/// What stands behind the options of the help: examples and exit codes, as they are there.
fn after(command: &Command) -> String {
    let text = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    text.map_or_else(String::new, |text| format!("\n```text\n{}\n```\n", text.trim_end()))
}

/// The options by their headings, in the order of the help: arguments, options without a heading, the others.
fn groups(command: &Command) -> Vec<(&str, Vec<&Arg>)> {
    let mut groups: Vec<(&str, Vec<&Arg>)> = Vec::new();
    let is_shown = |arg: &&Arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str());
    for arg in command.get_arguments().filter(is_shown) {
        let usual = if arg.is_positional() { "Arguments" } else { "Options" };
        let heading = arg.get_help_heading().unwrap_or(usual);
        match groups.iter_mut().find(|(name, _)| *name == heading) {
            Some((_, options)) => options.push(arg),
            None => groups.push((heading, vec![arg])),
        }
    }
    groups.sort_by_key(|(name, _)| match *name {
        "Arguments" => 0,
        "Options" => 1,
        _ => 2,
    });
    groups
}

/// An option as an item of a list: its names with their value, its help, and what it is without being given.
fn entry(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut paragraphs = vec![format!("- {}: {}", names(arg), escaped(&help).replace("\n\n", "\n\n  "))];
    paragraphs.extend(remarks(arg));
    paragraphs.join(" ") + "\n"
}

/// `` `-s`, `--server <SERVER>` ``.
fn names(arg: &Arg) -> String {
    let named = || arg.get_value_names().and_then(|names| names.first().map(ToString::to_string));
    let value = match takes_value(arg) {
        true => format!("<{}>", named().unwrap_or_else(|| arg.get_id().as_str().to_uppercase())),
        false => String::new(),
    };
    if arg.is_positional() {
        return format!("`{value}`");
    }
    let short = arg.get_short().map(|short| format!("`-{short}`"));
    let long = arg.get_long().map(|long| format!("`{}`", format!("--{long} {value}").trim_end()));
    short.into_iter().chain(long).collect::<Vec<_>>().join(", ")
}

/// What clap itself writes behind the help of an option.
fn remarks(arg: &Arg) -> Vec<String> {
    let mut remarks = Vec::new();
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if takes_value(arg) && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        remarks.push(format!("[default: {}]", escaped(&defaults.join(" "))));
    }
    if let Some(aliases) = arg.get_visible_aliases().filter(|aliases| !aliases.is_empty()) {
        let aliases: Vec<String> = aliases.iter().map(|alias| format!("`--{alias}`")).collect();
        remarks.push(format!("[alias: {}]", aliases.join(", ")));
    }
    let words: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if takes_value(arg) && !words.is_empty() && !arg.is_hide_possible_values_set() {
        remarks.push(format!("[one of: {}]", words.join(", ")));
    }
    remarks
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|values| values.takes_values())
}

/// Text in which Markdown sees no marks of its own, but for code.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    let mut is_code = false;
    for c in text.chars() {
        is_code ^= c == '`';
        if !is_code && matches!(c, '<' | '>' | '*' | '_' | '~' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
