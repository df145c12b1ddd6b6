//! Files that a thread may open, by Landlock.

use std::error::Error;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, PathBeneath, PathFd, RestrictionStatus, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};

/// Why files are not confined.
#[derive(Debug, thiserror::Error)]
pub enum NotConfined {
    /// The kernel was built without it, is too old, or a container hides it.
    #[error("the kernel does not offer it: Linux 5.13 or later does")]
    Lacks,
    /// It was not chosen when the kernel was started.
    #[error("it is not among the security modules that the kernel was started with")]
    Off,
    /// The folder is gone, or the kernel refuses it.
    #[error("{0}")]
    Refused(String),
}

/// Lets the calling thread read the files and folders in `folder`, and nothing else: it opens no other file, writes
/// none, starts none, and neither binds nor connects a TCP socket.
///
/// What the kernel is too old for is left out.
pub(super) fn only_read(folder: &Path) -> Result<(), NotConfined> {
    let status = restrict(folder).map_err(|error| NotConfined::Refused(error.to_string()))?;
    match (status.landlock, status.ruleset) {
        (LandlockStatus::NotImplemented, _) => Err(NotConfined::Lacks),
        (LandlockStatus::NotEnabled, _) => Err(NotConfined::Off),
        (_, RulesetStatus::NotEnforced) => Err(NotConfined::Lacks),
        _ => Ok(()),
    }
}

fn restrict(folder: &Path) -> Result<RestrictionStatus, Box<dyn Error>> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?
        .add_rule(PathBeneath::new(PathFd::new(folder)?, read))?;
    Ok(rules.restrict_self()?)
}

/// What is asked for: the newest that the tests have seen at work. An older kernel takes what it knows of it.
const KNOWN: ABI = ABI::V7;
