//! Carries out a search for the number of workers: its trials, of which nothing is kept.

use dnsdyno_campaign::workers::{WorkerSearch, WorkersFound};
use dnsdyno_campaign::{Campaign, Step};
use dnsdyno_runner::{Control, Keep, Observer, Runner};

use crate::make::{MakeError, make};

/// Makes the trials of a search. `None` = the user has stopped it.
///
/// # Errors
/// A trial could not be made.
pub fn find_workers(
    mut search: WorkerSearch,
    runner: &mut dyn Runner,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<Option<WorkersFound>, MakeError> {
    loop {
        let request = match search.next() {
            Step::Done(found) => return Ok(Some(found)),
            Step::Run(request) => request,
        };
        let Some(run) = make(runner, &request.draft, Keep::Memory, control, observer)? else {
            return Ok(None);
        };
        search.learn(&run.digest);
    }
}
