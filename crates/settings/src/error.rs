//! What can go wrong, from a single value to the link to a keeper.

use std::io;
use std::path::PathBuf;

/// Why a keeper cannot be used, or does not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// Its program cannot be started.
    #[error("{program} cannot be started: {source}; install it on this host")]
    Start {
        /// The program.
        program: String,
        /// The error of the system.
        source: io::Error,
    },
    /// What was started is no keeper.
    #[error("no keeper answered: {words}; this must work without a question: {command}")]
    NoKeeper {
        /// What was said instead.
        words: String,
        /// What to try by hand.
        command: String,
    },
    /// The keeper is of another version.
    #[error(
        "the keeper speaks version {theirs} of the protocol, not {ours}: install the same dnsdyno on both hosts"
    )]
    Protocol {
        /// The version of the keeper.
        theirs: u32,
        /// The version of this program.
        ours: u32,
    },
    /// The keeper has ended, or the link to it is lost. It restores what it has changed; nothing more can be asked.
    #[error(
        "the link to the keeper is lost: {words}; it restores everything by itself, and where it was killed, \
         `dnsdyno tune --undo` on its host does"
    )]
    Lost {
        /// What is known of the end.
        words: String,
    },
    /// The value cannot be read or written, or the command cannot be started; nothing was changed by it.
    #[error("{0}")]
    Refused(String),
    /// The keeper has no journal any more, and changes nothing without it.
    #[error("{0}")]
    NoJournal(String),
}

/// Why this process cannot be a keeper. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The network namespace cannot be entered.
    #[error(
        "cannot enter the network namespace {name}: {source}; `ip netns` lists those with names, and it needs root"
    )]
    Namespace {
        /// Its name, or the number of a process in it.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// What an earlier keeper left cannot be looked for.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// Threads or handlers of signals cannot be made.
    #[error("cannot start the keeper: {0}; try again when the host has more memory and processes free")]
    Start(#[from] io::Error),
}

/// Why it is not known whether a killed keeper has left something to restore.
#[derive(Debug, thiserror::Error)]
#[error("cannot look for journals in {}: {source}; use the user that has changed the values", folder.display())]
pub struct UndoError {
    /// The folder of the journals.
    pub folder: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

/// Why a value of the host cannot be read or written. Has no content of a file of configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostError {
    #[error("{0}")]
    Place(&'static str),
    #[error("it cannot be read: {0}")]
    Read(io::Error),
    #[error("the system does not take the value: {0}")]
    Write(io::Error),
    #[error("it is no text in UTF-8, which alone can be changed and restored")]
    NotText,
    #[error("it is no regular file")]
    NotAFile,
    #[error("it has more than {0} octets")]
    TooLong(u64),
    #[error("the file has a second name (a hard link), which would keep the old content: remove that name")]
    HardLink,
    #[error("its attribute {name} cannot be kept: {source}")]
    Attribute { name: String, source: io::Error },
    #[error("ethtool cannot be started: {0}; install the package ethtool on this host")]
    NoTool(io::Error),
    #[error("the driver of the card does not let it be changed (ethtool -k: [fixed])")]
    Fixed,
    #[error("ethtool says: {0}")]
    Tool(String),
    #[error("/sys of its network namespace cannot be seen: this needs root and Linux 5.2")]
    UnseenSysfs,
}

/// Why a value is not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("this host does not have it")]
    Missing,
    #[error("someone else has changed it meanwhile, and it is left as it is")]
    ChangedByOther,
    #[error(
        "another dnsdyno has changed it, as its journal {} says: wait for its end, or type `dnsdyno tune --undo` if it \
         was killed", .0.display()
    )]
    Held(PathBuf),
    #[error("the journal cannot be written: {0}; nothing is changed without it, so make space on the disk")]
    Journal(io::Error),
}
