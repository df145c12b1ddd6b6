//! What an experiment will do, and how long it takes: `--dry-run`.

use dnsdyno_campaign::experiment::{Design, LoadKind, LoadOf, Order};
use dnsdyno_text::units::{counted, length};

use super::setup::{NamespaceUse, Setup};

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
