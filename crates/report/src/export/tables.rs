//! Our own tables, of which `report` has the columns and keys: the summary as JSON, and every counter as CSV.

use std::io::Write;

use serde_json::Map;

use crate::expect::expectations_json;
use crate::export::{ExportError, Run};
use crate::{EveryCounter, write_json};

/// The object of the summary with all intervals, and the outcomes of the expectations of the plan, if it has any.
pub(crate) fn json(run: &Run, mut out: &mut dyn Write) -> Result<(), ExportError> {
    let (_, judged) = run.judged()?;
    let mut more = Map::new();
    if let Some(outcomes) = expectations_json(&judged.of_run, &judged.of_each) {
        more.insert("expectations".to_owned(), outcomes);
    }
    let intervals = run.intervals()?.map(|interval| interval.map_err(ExportError::from));
    write_json(&mut out, &run.digest, more, intervals)
}

/// One table of all runs.
pub(crate) fn csv(runs: &[Run], out: &mut dyn Write) -> Result<(), ExportError> {
    let mut table = EveryCounter::new(out, runs.iter().map(|run| &run.digest))?;
    for run in runs {
        table.start(&run.digest);
        for interval in run.intervals()? {
            table.interval(&run.digest.header, &interval?)?;
        }
    }
    Ok(table.finish()?)
}
