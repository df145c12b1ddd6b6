//! What an experiment will do, and how long it takes: `--dry-run`.

use dnsdyno_campaign::experiment::{Design, LoadKind, LoadOf, Order};
use dnsdyno_text::secret::without_credentials;
use dnsdyno_text::units::{counted, length};

use super::kind::{Kind, Started};
use super::setup::{NamespaceUse, Setup};
use super::timetable::Action;
use super::way::LoadMethod;

/// What will be done, line by line.
pub fn summary(setup: &Setup) -> Vec<String> {
    let design = &setup.design;
    let mut lines = vec![setup.title.clone(), String::new()];
    for subject in &design.subjects {
        let against = subject.against.and_then(|other| design.subjects.get(other));
        let against = against.map_or(String::new(), |other| format!(", compared with {}", other.name));
        let differs =
            if subject.differs.is_empty() { String::new() } else { format!(" ({})", subject.differs) };
        lines.push(format!("  server  {}{differs}{against}", subject.name));
    }
    for load in &design.loads {
        lines.push(format!("  load    {}: {}", load.name, what(load)));
    }
    for column in &design.columns {
        lines.push(format!("  column  {}", column.title));
    }
    let commands = commands(setup);
    if !commands.is_empty() {
        lines.extend([String::new(), "  it runs these commands:".to_owned()]);
        lines.extend(commands);
    }
    lines.push(String::new());
    lines.push(format!(
        "  {}: {} × {}, {}",
        counted(design.runs(), "run", "runs"),
        counted(design.subjects.len() as u64, "server", "servers"),
        times(design),
        match design.order {
            Order::InTurn => "in turn".to_owned(),
            Order::RandomBlocks => format!("in random blocks (seed {})", design.seed),
        }
    ));
    lines.push(format!("  {}", how(setup)));
    lines.push(format!("  takes {}", takes(design)));
    lines.extend(setup.notes.iter().map(|note| format!("  note: {note}")));
    lines
}

/// Every command that the file makes this host run, with whose it is; of variables of the environment, the names.
fn commands(setup: &Setup) -> Vec<String> {
    let mut lines = Vec::new();
    for helper in &setup.helpers {
        of_server(&format!("helper {}", helper.name), &helper.how, &mut lines);
    }
    for (kind, subject) in setup.subjects.iter().zip(&setup.design.subjects) {
        if let Kind::Started(started) = kind {
            of_server(&format!("server {}", subject.name), started, &mut lines);
        }
    }
    let loads = || setup.loads.iter().zip(&setup.design.loads);
    for (how, load) in loads() {
        if let Some(before) = &how.before {
            of_shell(&format!("load {}, before each run", load.name), &before.command, &mut lines);
        }
    }
    for (how, load) in loads() {
        if let LoadMethod::Program(program) = &how.way {
            of_shell(&format!("load {}", load.name), &program.command, &mut lines);
        }
    }
    for event in &setup.events {
        if let Action::Command(command) = &event.action {
            let every =
                event.every_ns.map_or(String::new(), |ns| format!(", and each {} from then on", length(ns)));
            of_shell(&format!("event at {}{every}", length(event.at_ns)), command, &mut lines);
        }
    }
    lines
}

fn of_server(whose: &str, started: &Started, lines: &mut Vec<String>) {
    if let Some(root) = started.spec.root() {
        let folder = without_credentials(&root.folder().display().to_string()).into_owned();
        lines.push(format!("    {whose}: with the programs of the root file system {folder}"));
    }
    for words in started.spec.commands() {
        let words: Vec<String> = words.into_iter().map(quoted).collect();
        lines.push(format!("    {whose}: {}", without_credentials(&words.join(" "))));
    }
    let of_file = [("prepare", &started.prepare), ("ready-when", &started.ready_when)];
    for (key, command) in of_file {
        if let Some(command) = command {
            of_shell(&format!("{whose}, {key}"), command, lines);
        }
    }
    if !started.environment.is_empty() {
        let names: Vec<&str> = started.environment.keys().map(String::as_str).collect();
        lines.push(format!("    {whose}: with {} in the environment", names.join(", ")));
    }
    if !started.sysctl.is_empty() {
        let settings: Vec<String> =
            started.sysctl.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        lines.push(format!("    {whose}: with {} of the kernel", settings.join(", ")));
    }
}

/// A command of the shell, line by line.
fn of_shell(whose: &str, command: &str, lines: &mut Vec<String>) {
    let command = without_credentials(command);
    match command.trim().split_once('\n') {
        None => lines.push(format!("    {whose}: {}", command.trim())),
        Some(_) => {
            lines.push(format!("    {whose}:"));
            lines.extend(command.trim().lines().map(|line| format!("      {line}")));
        }
    }
}

/// A word as the shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%{}".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// What a load is, and how long its run lasts.
fn what(load: &LoadOf) -> String {
    let longest = load.lasts_ns.map_or(String::new(), |ns| format!(", at most {}", length(ns)));
    match (load.kind, load.strictness.steady_permille) {
        (LoadKind::Search, _) => format!("a search for the limit{longest}"),
        (LoadKind::Program, _) => format!("a program in the place of the generator{longest}"),
        (LoadKind::Run, steady) => {
            let lasts = load.lasts_ns.map_or("until its queries are answered".to_owned(), length);
            let steady = match steady {
                Some(permille) => format!("steady within {} %", f64::from(permille) / 10.0),
                None => "not looked at for steadiness".to_owned(),
            };
            format!("{lasts}, {steady}")
        }
    }
}

/// How often each load is made: `2 loads × (1 + 5 repeats)`, and so for each number of repeats.
fn times(design: &Design) -> String {
    let mut kinds: Vec<((u32, u32), u64)> = Vec::new();
    for load in &design.loads {
        let of = (load.dropped, load.repeats);
        match kinds.iter_mut().find(|(known, _)| *known == of) {
            Some((_, loads)) => *loads += 1,
            None => kinds.push((of, 1)),
        }
    }
    let words = |((dropped, repeats), loads): &((u32, u32), u64)| {
        let repeats = counted(u64::from(*repeats), "repeat", "repeats");
        format!("{} × ({dropped} + {repeats})", counted(*loads, "load", "loads"))
    };
    let all = kinds.iter().map(words).collect::<Vec<_>>().join(" and ");
    if kinds.len() > 1 { format!("({all})") } else { all }
}

fn how(setup: &Setup) -> String {
    if !setup.starts_servers() {
        return "the servers are there already: none is started".to_owned();
    }
    let start =
        if setup.is_fresh { "each server started for each run" } else { "each server kept from run to run" };
    let namespace = match setup.namespace {
        NamespaceUse::WherePossible => "in a network namespace of its own where that is possible",
        NamespaceUse::Always => "in a network namespace of its own",
        NamespaceUse::Never => "on the loopback interface",
    };
    let pin = if setup.pin { "on CPUs of its own" } else { "not pinned to CPUs" };
    format!("{start}, {namespace}, {pin}")
}

fn takes(design: &Design) -> String {
    let all = length(design.lasts_ns(START_NS));
    let open: Vec<&str> =
        design.loads.iter().filter(|load| load.lasts_ns.is_none()).map(|load| load.name.as_str()).collect();
    match open.is_empty() {
        true if design.compared_loads() as usize == design.loads.len() => {
            format!("about {all}, and more if runs are discarded")
        }
        true => format!("at most {all}, if no run is discarded: searches and programs usually end before"),
        false => format!("more than {all}: how long {} lasts is up to the server", open.join(", ")),
    }
}

/// What the start and the end of a server, and the wait for its last answers take, as a rule.
pub const START_NS: u64 = 1_000_000_000;

/// A longer experiment is asked back.
pub const LONGEST_NS: u64 = 24 * 3_600 * 1_000_000_000;
