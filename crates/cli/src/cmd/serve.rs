//! `dnsdyno serve`: shows a folder of runs in a browser.

use std::path::PathBuf;

use clap::Args;

use crate::exit::{Failure, Outcome};

#[derive(Debug, Args)]
pub(crate) struct ServeFlags {
    /// Folders of runs
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
}

pub(crate) fn serve(_flags: &ServeFlags) -> Outcome {
    Err(Failure::run_failed(anyhow::anyhow!("not built yet")))
}
