//! Makes the runs that a campaign requests, one after another, until it has its result.

use std::path::Path;

use dnsdyno_campaign::{Campaign, Request, Step};
use dnsdyno_runner::FinishedRun;

use crate::journal::{Earlier, Journal, JournalError};
use crate::results;

/// How a campaign ended.
#[derive(Debug)]
pub enum CarriedOut<R> {
    /// It has its result.
    Done(R),
    /// It was stopped, and can be resumed from its folder.
    Stopped,
}

/// Who makes the runs of a campaign, and is told of them.
pub trait Progress {
    /// Why a run failed.
    type Error: From<JournalError>;

    /// Makes a run and writes its record to this folder. `None` = it was stopped by the user: it is not learned.
    ///
    /// # Errors
    /// The run could not be made.
    fn run(&mut self, request: &Request, folder: &Path) -> Result<Option<FinishedRun>, Self::Error>;

    /// So many runs of earlier parts of the campaign were read again, and so many of them had been cut off.
    fn resumed(&mut self, ended: u32, cut: u32);
}

/// Carries a campaign out, from where its journal ends.
///
/// # Errors
/// A run could not be made, or the journal could not be written.
pub fn carry_out<C: Campaign, P: Progress>(
    campaign: &mut C,
    journal: &mut Journal,
    progress: &mut P,
) -> Result<CarriedOut<C::Result>, P::Error> {
    let (mut ended, mut cut) = (0, 0);
    while let Some(earlier) = journal.earlier()? {
        match earlier {
            Earlier::Ended(digest, results) => {
                campaign.learn_commands(&results);
                campaign.learn(&digest);
                ended += 1;
            }
            // A campaign without servers of its own has none that fail.
            Earlier::Failed(_) => ended += 1,
            Earlier::Cut(digest, results) => {
                campaign.learn_commands(&results);
                digest.iter().for_each(|digest| campaign.learn_cut(digest));
                cut += 1;
            }
        }
    }
    if ended + cut > 0 {
        progress.resumed(ended, cut);
    }
    loop {
        let request = match campaign.next() {
            Step::Done(result) => return Ok(CarriedOut::Done(result)),
            Step::Run(request) => request,
        };
        let folder = journal.begin(&request.why)?;
        let Some(run) = progress.run(&request, &folder)? else { return Ok(CarriedOut::Stopped) };
        journal.end()?;
        campaign.learn_commands(&results::read(&folder).map_err(JournalError::from)?);
        campaign.learn(&run.digest);
    }
}
