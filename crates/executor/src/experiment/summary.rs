//! What an experiment will do, and how long it takes: `--dry-run`.

use dnsdyno_campaign::experiment::{Design, Order};
use dnsdyno_measure::units::{count, length};

use super::setup::{Setup, Wanted};

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
        let lasts = load.lasts_ns.map_or("until its queries are answered".to_owned(), length);
        let steady = match load.strictness.steady_permille {
            Some(permille) => format!("steady within {} %", f64::from(permille) / 10.0),
            None => "not looked at for steadiness".to_owned(),
        };
        lines.push(format!("  load    {}: {lasts}, {steady}", load.name));
    }
    lines.push(String::new());
    lines.push(format!(
        "  {} runs: {} servers × {} loads × ({} + {} repeats), {}",
        count(design.runs()),
        design.subjects.len(),
        design.loads.len(),
        design.dropped,
        design.repeats,
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

fn how(setup: &Setup) -> String {
    if !setup.starts_servers() {
        return "the servers are there already: none is started".to_owned();
    }
    let start =
        if setup.is_fresh { "each server started for each run" } else { "each server kept from run to run" };
    let namespace = match setup.namespace {
        Wanted::WherePossible => "in a network namespace of its own where that is possible",
        Wanted::Always => "in a network namespace of its own",
        Wanted::Never => "on the loopback interface",
    };
    let pin = if setup.pin { "on CPUs of its own" } else { "not pinned to CPUs" };
    format!("{start}, {namespace}, {pin}")
}

fn takes(design: &Design) -> String {
    let all = length(design.lasts_ns(START_NS));
    let open: Vec<&str> =
        design.loads.iter().filter(|load| load.lasts_ns.is_none()).map(|load| load.name.as_str()).collect();
    match open.is_empty() {
        true => format!("about {all}, and more if runs are discarded"),
        false => format!("more than {all}: how long {} lasts is up to the server", open.join(", ")),
    }
}

/// What the start and the end of a server, and the wait for its last answers take, as a rule.
pub const START_NS: u64 = 1_000_000_000;

/// A longer experiment is asked back.
pub const LONGEST_NS: u64 = 24 * 3_600 * 1_000_000_000;
