//! The ways in which a parameter is set for a trial.

use dnsdyno_settings::Item;

/// How a parameter is set for a trial.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum How {
    /// In the network namespace that is made for the trial.
    Namespace,
    /// In the configuration that the server is started with.
    Setting,
    /// By the number of threads that it is started with.
    Threads,
    /// By the limit of open files of its process.
    OpenFiles,
    /// By the quota of its control group.
    Quota,
    /// On the host, by the keeper, which restores it.
    Host(Vec<Item>),
    /// In the configuration of a server that is there, by the keeper.
    Configuration,
}
