//! A run to be exported: its digest, and its intervals one after the other.

use std::path::{Path, PathBuf};

use dnsdyno_measure::{Latency, Tally};
use dnsdyno_record::expect::{Expectations, Judged};
use dnsdyno_record::{Digest, Headline, Interval, Line, ReadError, RunReader};

use crate::export::ExportError;

/// A run to be exported.
#[derive(Debug)]
pub struct Run {
    path: PathBuf,
    /// Its summary.
    pub(crate) digest: Digest,
}

impl Run {
    /// Reads the summary of the record at `path`, a run's folder or its file.
    ///
    /// # Errors
    /// As [`Digest::read`].
    pub fn read(path: &Path) -> Result<Run, ExportError> {
        Ok(Run { path: path.to_owned(), digest: Digest::read(path)? })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The name of its folder, or of its file where that was named: short, and known to the user.
    pub(crate) fn name(&self) -> String {
        let full = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let name = if full.is_file() { full.file_stem() } else { full.file_name() };
        name.map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// The intervals of its summary. A run that goes on has more of them by now.
    pub(crate) fn intervals(&self) -> Result<impl Iterator<Item = Result<Interval, ReadError>>, ReadError> {
        let most = usize::try_from(self.digest.intervals).unwrap_or(usize::MAX);
        let intervals = RunReader::open(&self.path)?.filter_map(|line| match line {
            Ok(Line::Interval(interval)) => Some(Ok(*interval)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        });
        Ok(intervals.take(most))
    }

    /// The latency that is first in its summary, including the unanswered queries.
    pub(crate) fn latency<'a>(&self, tally: &'a Tally) -> Latency<'a> {
        self.digest.header.latency_of(tally)
    }

    /// The word for that latency.
    pub(crate) fn latency_word(&self) -> &'static str {
        match self.digest.header.headline {
            Headline::Response => "response",
            Headline::Service => "service",
        }
    }

    /// What its plan expects of it, and the outcomes.
    pub(crate) fn judged(&self) -> Result<(Expectations, Judged), ExportError> {
        let expectations = Expectations::of_plan(&self.path)?;
        let judged = expectations.judge(&self.digest, &self.path)?;
        Ok((expectations, judged))
    }
}
