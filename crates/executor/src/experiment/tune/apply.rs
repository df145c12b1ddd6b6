//! A server that is started with some parameters changed.

use dnsdyno_campaign::tune::Changes;

use super::chosen::Chosen;
use super::how::How;
use crate::experiment::kind::Started;

/// What a server is started with under these changes, as far as they are made by its start.
pub(super) fn started_with(base: &Started, changes: &Changes, chosen: &[Chosen]) -> Started {
    let mut started = base.clone();
    for (parameter, value) in of(changes, chosen) {
        let name = parameter.tunable.name.clone();
        match &parameter.how {
            How::Namespace => drop(started.sysctl.insert(name, value.to_owned())),
            How::Setting => drop(started.settings.insert(name, value.to_owned())),
            How::Threads => started.threads = value.parse().unwrap_or(started.threads),
            How::OpenFiles => started.open_files = value.parse().ok(),
            How::Quota => started.cpu_quota = value.parse().ok().map(|percent: f64| percent / 100.0),
            How::Host(_) | How::Configuration => {}
        }
    }
    started
}

/// The parameters that are changed, each with its value.
pub(super) fn of<'a>(
    changes: &'a Changes,
    chosen: &'a [Chosen],
) -> impl Iterator<Item = (&'a Chosen, &'a str)> + 'a {
    changes.iter().filter_map(|(at, value)| {
        let parameter = chosen.get(*at)?;
        Some((parameter, parameter.values.get(*value)?.as_str()))
    })
}

/// The changes in words: `tcp-clients = 600, net.core.rmem_max = 851968`; `the base` where there are none.
pub(super) fn words(changes: &Changes, chosen: &[Chosen]) -> String {
    let each = of(changes, chosen).map(|(parameter, value)| format!("{} = {value}", parameter.tunable.id()));
    let words: Vec<String> = each.collect();
    if words.is_empty() { "the base".to_owned() } else { words.join(", ") }
}
