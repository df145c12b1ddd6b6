//! What a command gives up of the rights that it was started with: before its first thread, or with threads that give
//! up theirs themselves.

use std::path::Path;

use dnsdyno_sys::rights::{self, CapabilitySet, Kept, deny_new_privileges, keep_only};

use crate::message::print_error;

/// Gives up all capabilities but these, and the rights of the programs that this process starts beyond its own. What
/// the kernel refuses is told.
pub(crate) fn keep(kept: CapabilitySet) {
    let given_up =
        [keep_only(kept).map_err(Kept::Capabilities), deny_new_privileges().map_err(Kept::NewPrivileges)];
    tell(
        "keeps rights that it does not need",
        &given_up.into_iter().filter_map(Result::err).collect::<Vec<_>>(),
    );
}

/// Gives up all but reading what is in this folder. What the kernel does not offer is told.
pub(crate) fn only_read(folder: &Path) {
    tell("reads its folder only, and this host does not hold it to that in full", &rights::only_read(folder));
}

fn tell(what: &str, kept: &[Kept]) {
    if !kept.is_empty() {
        let kept: Vec<String> = kept.iter().map(ToString::to_string).collect();
        print_error(&format!("dnsdyno: it {what}: {}", kept.join("; ")));
    }
}
