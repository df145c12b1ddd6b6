//! The rate of answers of each interval, a number a line.

use std::io::Write;

use crate::export::{ExportError, Run};

pub(crate) fn write(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    writeln!(out, "{}", run.digest.tally().ends.answered)?;
    Ok(())
}
