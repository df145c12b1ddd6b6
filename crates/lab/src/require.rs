//! One place that decides what a test does when the host lacks something it needs: skip with a printed reason, or,
//! where everything must be tested (CI), fail.

use std::env;
use std::io::{self, Write};

use crate::ServerSpec;

/// Something that a test needs of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need<'a> {
    /// The server of this name in `testbed/servers`, installed.
    Server(&'a str),
    /// A program in the search path, and the package that has it.
    Program {
        /// Its name, such as `kdig`.
        name: &'a str,
        /// What `scripts/install-servers` installs for it.
        package: &'a str,
    },
    /// The rights of root.
    Root,
}

/// Whether the host has all of `needs`. If not: says on standard error what is missing and returns false, for the
/// test to return; with `DNSDYNO_REQUIRE_PRIVILEGED=1` the test fails instead.
///
/// # Panics
/// When something is missing and `DNSDYNO_REQUIRE_PRIVILEGED=1` says that nothing may be, and always when there is
/// no template of a server's name: that is an error in the test, and a skip would hide it for ever.
pub fn require(needs: &[Need<'_>]) -> bool {
    let missing: Vec<String> = needs.iter().filter_map(Need::missing).collect();
    let strict = env::var_os(STRICT_VARIABLE).is_some_and(|value| value == "1");
    match decide(&missing, strict) {
        Decision::Run => true,
        Decision::Skip(reason) => {
            // Not eprintln!, which the test harness would hide: a skipped test must be seen.
            let _ = writeln!(io::stderr(), "skipped: {reason}");
            false
        }
        Decision::Fail(reason) => panic!("{STRICT_VARIABLE}=1, but {reason}"),
    }
}

impl Need<'_> {
    /// What is missing and how to get it; nothing when the need is met.
    fn missing(&self) -> Option<String> {
        match self {
            Self::Server(name) => {
                let spec = ServerSpec::named(name).unwrap_or_else(|error| panic!("{error}"));
                spec.program().err().map(|error| error.to_string())
            }
            Self::Program { name, package } => {
                let paths = env::var_os("PATH").unwrap_or_default();
                let is_there = env::split_paths(&paths).any(|folder| folder.join(name).is_file());
                (!is_there).then(|| format!("{name} is missing; run: scripts/install-servers {package}"))
            }
            Self::Root if rustix::process::geteuid().is_root() => None,
            Self::Root => Some("the test needs the rights of root".to_owned()),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Decision {
    Run,
    Skip(String),
    Fail(String),
}

fn decide(missing: &[String], strict: bool) -> Decision {
    match (missing, strict) {
        ([], _) => Decision::Run,
        (missing, false) => Decision::Skip(missing.join("; ")),
        (missing, true) => Decision::Fail(missing.join("; ")),
    }
}

const STRICT_VARIABLE: &str = "DNSDYNO_REQUIRE_PRIVILEGED";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_runs_when_nothing_is_missing() {
        assert_eq!(decide(&[], false), Decision::Run);
        assert_eq!(decide(&[], true), Decision::Run);
    }

    #[test]
    fn a_missing_thing_skips_the_test_unless_nothing_may_be_missing() {
        let missing = ["nsd is not installed".to_owned(), "no root".to_owned()];
        assert_eq!(decide(&missing, false), Decision::Skip("nsd is not installed; no root".to_owned()));
        assert_eq!(decide(&missing, true), Decision::Fail("nsd is not installed; no root".to_owned()));
    }

    #[test]
    #[should_panic(expected = "no server template is named \"no-such-server\"")]
    fn a_server_without_a_template_fails_the_test_at_once() {
        require(&[Need::Server("no-such-server")]);
    }
}
