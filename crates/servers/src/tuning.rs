//! What may be changed to let a server hold more: the parameters of kernel, network card, CPU, memory, limits and
//! servers, what follows from them by text alone, and how a configuration is edited.
//!
//! ```text
//!   data/*.toml ──► catalogue ──► Tunable ──► candidates, allows, same      values as text
//!   named.conf, nsd.conf, … ──► value_in, with_value ──► the text with one statement changed
//!   changes ──► install_files ──► sysctl.d, drop-in of systemd, udev rule, lines of the configuration
//! ```
//!
//! Nothing here reads or writes a file, or knows whether a change helps: what is tried, and what came of it, is for
//! whoever uses this.

mod catalogue;
mod configuration;
mod install;
mod names;
mod pairs;
mod steps;
mod tunable;
mod values;

pub use catalogue::{tunable_of, tunables, tunables_for};
pub use configuration::{EditError, value_in, with_value};
pub use install::{Change, InstallFile, install_files, reversed};
pub use names::{HOST_WORDS, sysctl_path};
pub use pairs::pairs_to_set;
pub use steps::{LineOfSteps, Step, StepTarget};
pub use tunable::{Access, DeviceGroup, Needs, Scope, Sign, SignMeasure, SignSource, Tunable};
pub use values::Values;
