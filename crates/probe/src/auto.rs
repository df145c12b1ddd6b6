//! What can be found without being told: `--watch auto`.
//!
//! ```text
//!   target ──► who listens there, in this network namespace or in another one of this host
//!                 │ process ──► kind ──► its configuration ──► its statistics, if it allows them
//!                 └ nobody  ──► this host alone, as that of the generator
//! ```
//!
//! It says what it found and how to get more; what cannot be opened is said, and is no error.

mod configuration;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use dnsdyno_plan::ServerWatch;
use dnsdyno_text::shown;

use self::configuration::{Process, Statistics, statistics_of};
use crate::command::Command;
use crate::found::{Asked, is_local};
use crate::opened::Opening;
use crate::place::listeners;
use crate::source::OpenError;
use crate::{host, process, server};

pub(crate) fn open(opening: &mut Opening<'_>) -> Result<(), OpenError> {
    host::open(None, opening)?;
    let (mut namespaces, mut found) = (BTreeSet::new(), BTreeSet::new());
    for target in &opening.targets.addresses {
        let Some(place) = listeners(*target, Asked::Queries)? else {
            opening.notes.push(nobody(*target));
            continue;
        };
        let firsts = place.servers.iter().filter_map(|pids| pids.first().copied());
        for pid in firsts.filter(|pid| found.insert(*pid)).collect::<Vec<_>>() {
            if place.namespace.as_ref().is_some_and(|namespace| namespaces.insert(namespace.clone())) {
                open_or_say(opening, "its network namespace", |opening| host::open(Some(pid), opening));
            }
            open_process(pid, *target, place.namespace.is_some(), opening);
        }
    }
    Ok(())
}

fn nobody(target: SocketAddr) -> String {
    match is_local(target.ip()) {
        true => format!(
            "auto: this host; no process that this user may see listens at {target} (as root all can be seen)"
        ),
        false => format!(
            "auto: this host, as that of the generator; {target} is elsewhere: add --watch ssh://HOST for its host"
        ),
    }
}

/// Watches a process, and its statistics where its configuration allows them.
fn open_process(pid: u32, target: SocketAddr, is_elsewhere: bool, opening: &mut Opening<'_>) {
    open_or_say(opening, "its process", |opening| process::open(Some(pid), opening));
    let Some(watched) = opening.process(pid).cloned() else { return };
    let label = watched.label;
    let Some(software) = watched.software else {
        opening.notes.push(format!("auto: {label} listens at {target}; its kind is not known"));
        return;
    };
    let process = Process { command: Command::of(pid), target: target.ip(), is_elsewhere };
    match statistics_of(&software, &process) {
        Statistics::At(server) => {
            let opens = open_or_say(opening, &format!("the statistics of {label}"), |opening| {
                server::open(&server, opening)
            });
            if opens {
                opening
                    .notes
                    .push(format!("auto: {label} listens at {target}; statistics: {}", place_of(&server)));
            }
        }
        Statistics::Missing(how) => {
            opening.notes.push(format!("auto: {label} listens at {target}; for its statistics {how}"));
        }
    }
}

fn place_of(server: &ServerWatch) -> String {
    shown(&server.at.to_string(), LONGEST_PLACE).into_owned()
}

/// Opens a source; what cannot be opened is a sentence. Returns whether it was opened.
fn open_or_say(
    opening: &mut Opening<'_>,
    what: &str,
    open: impl FnOnce(&mut Opening<'_>) -> Result<(), OpenError>,
) -> bool {
    let result = open(opening);
    if let Err(error) = &result {
        opening.notes.push(format!("auto: {what} cannot be watched: {}", error.reason()));
    }
    result.is_ok()
}

/// Characters of an address or path in a sentence.
const LONGEST_PLACE: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opened::Targets;

    #[test]
    fn a_target_elsewhere_leaves_the_host_of_the_generator_and_says_how_to_see_the_other() {
        let targets = Targets { addresses: vec!["192.0.2.1:53".parse().unwrap()] };
        let mut opening = Opening::new(&targets);
        open(&mut opening).unwrap();
        let opened = opening.finish();
        assert_eq!(opened.sources.len(), 1);
        assert!(opened.notes[0].ends_with("192.0.2.1:53 is elsewhere: add --watch ssh://HOST for its host"));
    }
}
