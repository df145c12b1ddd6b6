//! `dnsdyno compare`: says whether two sets of runs differ.

use std::path::PathBuf;

use clap::Args;

use crate::exit::{Failure, Outcome};

#[derive(Debug, Args)]
pub(crate) struct CompareFlags {
    /// Folders of runs
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
}

pub(crate) fn compare(_flags: &CompareFlags) -> Outcome {
    Err(Failure::run_failed(anyhow::anyhow!("not built yet")))
}
