//! Rights that a thread gives up, and with it each thread and program that it starts from then on.
//!
//! ```text
//!   capabilities          what root may do beside others         capget(2), the bounding set
//!   new privileges        those of a program that is started     PR_SET_NO_NEW_PRIVS
//!   files                 where it may read, nowhere to write    Landlock, Linux 5.13 and later
//!   system calls          what it may ask of the kernel          seccomp
//! ```
//!
//! Each is a property of a thread. Whoever means the whole process gives them up before it starts a thread. None of
//! them can be had back.

mod calls;
mod capabilities;
mod files;

use std::io;
use std::path::Path;

pub use capabilities::{CapabilitySet, keep_only, of_bpf};

/// A right that the kernel does not let this thread give up.
#[derive(Debug, thiserror::Error)]
pub enum Kept {
    /// Capabilities.
    #[error("its capabilities stay ({0})")]
    Capabilities(#[source] io::Error),
    /// Those of programs with the set-user-ID bit.
    #[error("programs that it starts may have more rights ({0})")]
    NewPrivileges(#[source] io::Error),
    /// Files outside of what it reads.
    #[error("no Landlock ({0})")]
    Files(#[source] files::NotConfined),
    /// System calls that it does not need.
    #[error("no filter of system calls ({0})")]
    Calls(#[source] calls::NotFiltered),
}

/// Gives up all rights but those of a server of files whose socket listens already: it reads what is in `folder`,
/// answers over connections that it accepts, and starts threads. It has no capability, writes no file, opens no socket
/// and starts no program.
///
/// Returns what the kernel does not offer or refuses, in a container for example; the rest holds all the same. What an
/// older Landlock cannot deny (cutting a file short before Linux 6.2, TCP before 6.7) is not told: the filter of system
/// calls denies it too.
pub fn only_read(folder: &Path) -> Vec<Kept> {
    let given_up = [
        keep_only(CapabilitySet::empty()).map_err(Kept::Capabilities),
        deny_new_privileges().map_err(Kept::NewPrivileges),
        files::only_read(folder).map_err(Kept::Files),
        // Last: the others are system calls that it denies.
        calls::only_those_of_a_reader().map_err(Kept::Calls),
    ];
    given_up.into_iter().filter_map(Result::err).collect()
}

/// From now on no program that this thread starts has more rights than this thread, whatever the bits of its file are.
///
/// # Errors
/// The kernel is older than Linux 3.5.
pub fn deny_new_privileges() -> io::Result<()> {
    Ok(rustix::thread::set_no_new_privs(true)?)
}

#[cfg(test)]
mod tests;
