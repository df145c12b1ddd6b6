//! What an experiment knows already: the runs, searches and programs of its earlier parts.

use dnsdyno_campaign::experiment::{Experiment, LoadKind};

use super::error::ExperimentError;
use super::found;
use super::watcher::Watcher;
use crate::Journal;
use crate::journal::{Earlier, Left};

/// Learns the runs of earlier parts of an experiment from its journal.
pub(super) fn replay(
    experiment: &mut Experiment,
    journal: &mut Journal,
    watcher: &mut dyn Watcher,
) -> Result<(), ExperimentError> {
    let (mut ended, mut cut) = (0, 0);
    loop {
        let has_record = experiment.next_kind().is_none_or(|kind| kind == LoadKind::Run);
        let learned = match has_record {
            true => match journal.earlier()? {
                Some(Earlier::Ended(digest, _)) => Some(experiment.learn(&digest)),
                Some(Earlier::Failed(why)) => Some(experiment.learn_failed(&why)),
                // It is made again, and says nothing: nobody knows whether the server stood still with the host.
                Some(Earlier::Cut(..)) => None,
                None => break,
            },
            false => match journal.left() {
                Some(Left::Ended(folder)) => Some(experiment.learn_found(found::kept(&folder)?)),
                Some(Left::Failed(why)) => Some(experiment.learn_failed(&why)),
                Some(Left::Cut) => None,
                None => break,
            },
        };
        match learned {
            Some(_) => ended += 1,
            None => cut += 1,
        }
    }
    if ended + cut > 0 {
        watcher.resumed(ended, cut);
    }
    Ok(())
}
