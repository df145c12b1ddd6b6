//! `dnsdyno export`: writes a run in the format of another program.

use std::path::PathBuf;

use clap::Args;

use crate::exit::{Failure, Outcome};

#[derive(Debug, Args)]
pub(crate) struct ExportFlags {
    /// Folders of runs
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
}

pub(crate) fn export(_flags: &ExportFlags) -> Outcome {
    Err(Failure::run_failed(anyhow::anyhow!("not built yet")))
}
