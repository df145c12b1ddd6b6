//! What a night would do, before it does it.

use dnsdyno_campaign::tune::Phase;
use dnsdyno_text::units::{count, length, percent};

use super::carry_out::looked;
use super::chosen::wanted;
use super::how::How;
use super::setup::TuneSetup;
use crate::experiment::error::ExperimentError;
use crate::experiment::stop::Stop;
use crate::experiment::watcher::Watcher;

/// What would be tried: each parameter with its present value, what would be set in its place, and where; and how long
/// trials take. The server is started once to read its configuration, if it is one that is started; nothing is set.
///
/// # Errors
/// The server does not start.
pub fn summary(
    setup: &TuneSetup,
    stop: &Stop,
    watcher: &mut dyn Watcher,
) -> Result<Vec<String>, ExperimentError> {
    let (chosen, not_here) = looked(setup, stop, watcher)?;
    let all = wanted(setup.server, &setup.options).map_err(ExperimentError::Settings)?;
    let trial_ns = setup.trial_ns();
    let most = setup.checked.lasts_ns / trial_ns.max(1);
    let mut lines = vec![
        setup.title().to_owned(),
        format!(
            "at most {}: about {} trials of {} each, with the start of the server ({}, {}, {}, {})",
            length(setup.checked.lasts_ns),
            count(most),
            length(trial_ns),
            Phase::Look.name(),
            Phase::Screen.name(),
            Phase::Compare.name(),
            Phase::Confirm.name(),
        ),
        format!(
            "judged by {}; the smallest gain that counts is {}; {} pairs confirm the answer",
            setup.checked.judge.word(),
            percent(setup.checked.smallest_gain),
            setup.checked.pairs
        ),
        format!("of {} parameters of the catalogue {} may be changed:", all.len(), chosen.len()),
    ];
    for one in &chosen {
        let from = one.present.as_deref().unwrap_or("not set");
        let values = one.values.join(", ");
        lines.push(format!("  {} = {from}: {values}  [{}]", one.tunable.id(), place(&one.how)));
    }
    lines.push("not changed:".to_owned());
    lines.extend(not_here.iter().map(|one| format!("  {}: {}", one.id, one.why)));
    Ok(lines)
}

/// Where a parameter is set.
fn place(how: &How) -> String {
    match how {
        How::Namespace => "in the network namespace of the trial".to_owned(),
        How::Setting => "in the configuration that the server is started with".to_owned(),
        How::Threads | How::OpenFiles | How::Quota => "at the start of the server".to_owned(),
        How::Host(items) => {
            let items: Vec<String> = items.iter().map(ToString::to_string).collect();
            format!("on the host, restored: {}", items.join(", "))
        }
        How::Configuration => "in the configuration of the server, restored".to_owned(),
    }
}
