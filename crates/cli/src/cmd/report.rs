//! `dnsdyno report`: writes runs as one HTML page.

use std::path::PathBuf;

use clap::Args;

use crate::exit::{Failure, Outcome};

#[derive(Debug, Args)]
pub(crate) struct ReportFlags {
    /// Folders of runs
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
}

pub(crate) fn report(_flags: &ReportFlags) -> Outcome {
    Err(Failure::run_failed(anyhow::anyhow!("not built yet")))
}
