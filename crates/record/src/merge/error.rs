//! Why records cannot be joined.

use std::io;
use std::path::PathBuf;

use dnsdyno_text::units::{count, counted};

use crate::{ReadError, WriteError};

/// Why records cannot be joined.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// No record has anything.
    #[error("there is no record to join: name the folders of runs that were made with --part")]
    Nothing,
    /// A record cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The joined record cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A run goes on.
    #[error("the run in {} goes on: join its record when it has ended", path.display())]
    InProgress {
        /// Its folder.
        path: PathBuf,
    },
    /// A plan cannot be read.
    #[error("{} does not say which part of the load it is: {why}", path.display())]
    Plan {
        /// The plan.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A run was no part.
    #[error(
        "{} is a whole run, not a part of one: its plan.toml has no `part`. Runs of one load that several processes \
         make together are made with --part; to set runs against each other, see `dnsdyno compare`",
        path.display()
    )]
    Whole {
        /// Its folder.
        path: PathBuf,
    },
    /// Records of different loads.
    #[error(
        "{} and {} are not parts of one load: they differ in {}; give the records of one load only",
        one.display(), other.display(), differences.join(", in ")
    )]
    Differ {
        /// The first record.
        one: PathBuf,
        /// The other one.
        other: PathBuf,
        /// What differs: `the load (1,000 queries/s, 2,000 queries/s)`.
        differences: Vec<String>,
    },
    /// Two records of one part.
    #[error(
        "{} (part {one_part}) and {} (part {other_part}) have workers of the load in common: give each part once",
        one.display(), other.display()
    )]
    Overlap {
        /// The first record.
        one: PathBuf,
        /// Its part.
        one_part: String,
        /// The other one.
        other: PathBuf,
        /// Its part.
        other_part: String,
    },
    /// The records in a run have less than the run.
    #[error(
        "the records of the agents in {} have less than its record, which stays as it is: {}, {}, and in the record \
         {}, {}. Join them into a folder of its own with --out",
        path.display(), partial(now.0), queries(now.1), partial(before.0), queries(before.1)
    )]
    Less {
        /// The run.
        path: PathBuf,
        /// Partial intervals and queries of the agents' records.
        now: (u64, u64),
        /// Those of its record.
        before: (u64, u64),
    },
    /// A source was watched by the host that started the run, and not by an agent.
    #[error(
        "{} also has what was watched from this host, and the records of its agents do not: it would be lost; join \
         them into a folder of its own with --out",
        path.display()
    )]
    Watched {
        /// The run.
        path: PathBuf,
    },
    /// A file or a folder cannot be put where it belongs.
    #[error("cannot write {}: {source}; choose a folder that you may write to, with free space", path.display())]
    Place {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

fn partial(intervals: u64) -> String {
    format!("{} partial", counted(intervals, "interval is", "intervals are"))
}

fn queries(queries: u64) -> String {
    format!("{} queries", count(queries))
}
