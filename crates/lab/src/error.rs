//! What can go wrong when a server is started or stopped. A failed start carries what its reader needs: the
//! command, the end of the log, and where the rest of the log is.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// Why the lab could not start or control a server.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// No template has this name.
    #[error("no server template is named {name:?}; the known ones are: {}", known.join(", "))]
    UnknownServer {
        /// The name asked for.
        name: String,
        /// Every name there is.
        known: Vec<String>,
    },

    /// A server template is not valid TOML or lacks a field.
    #[error("the template of server {server:?} is wrong: {source}")]
    Template {
        /// The server's name.
        server: String,
        /// Where and why, from the TOML parser.
        source: Box<toml::de::Error>,
    },

    /// A template has a placeholder that nothing fills.
    #[error(
        "the template of server {server:?} has {{{placeholder}}}, which has no value; add it to [defaults]"
    )]
    UnknownPlaceholder {
        /// The server's name.
        server: String,
        /// The name between the braces.
        placeholder: String,
    },

    /// The caller set a value, or chose a part, that the template does not have.
    #[error("server {server:?} has no value or part {name:?}; it has: {}", known.join(", "))]
    UnknownValue {
        /// The server's name.
        server: String,
        /// The name that was set or chosen.
        name: String,
        /// The names its template has under `[defaults]` or as `[parts.NAME]`.
        known: Vec<String>,
    },

    /// A parameter cannot be set in the configuration of a server.
    #[error("server {server:?}: {reason}")]
    Setting {
        /// The server's name.
        server: String,
        /// Why, and what to do.
        reason: String,
    },

    /// A stub was requested of a server that only serves zones of its own.
    #[error("server {server:?} cannot resolve through a stub: its template has no [parts.stub]")]
    NoStub {
        /// The server's name.
        server: String,
    },

    /// A hierarchy was given to a server that does not resolve, or not from the root down.
    #[error("server {server:?} cannot resolve from a root of its own: its template has no [parts.hierarchy]")]
    NoHierarchy {
        /// The server's name.
        server: String,
    },

    /// A zone's origin is not a domain name.
    #[error("{origin:?} is not a domain name: {reason}")]
    Origin {
        /// The text given as origin.
        origin: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A network namespace, or an interface in one, could not be made or used.
    #[error("network namespaces: {command:?} failed: {said}")]
    Namespace {
        /// What was tried.
        command: String,
        /// What the system reported.
        said: String,
    },

    /// The program is not on this host.
    #[error("{program} is not installed; run: scripts/install-servers {package}")]
    NotInstalled {
        /// The program looked for in `PATH` and the `sbin` folders.
        program: String,
        /// The Debian package that has it.
        package: String,
    },

    /// The program is not in an unpacked root file system.
    #[error(
        "{} has no program {program}: give the folder of a root file system with it, such as that of mmdebstrap \
         --variant=extract --include={package} SUITE FOLDER, or of dpkg-deb -x for the package {package} and for each \
         that it needs",
        root.display()
    )]
    NotInRoot {
        /// The program looked for in the folders of programs.
        program: String,
        /// The Debian package that has it.
        package: String,
        /// The folder of the root file system.
        root: PathBuf,
    },

    /// Only root starts programs of an unpacked root file system.
    #[error("a program of the root file system {} is started by root only: use sudo", root.display())]
    RootNeedsRights {
        /// The folder of the root file system.
        root: PathBuf,
    },

    /// The server needs the rights of root.
    #[error("{server} needs the rights of root: use sudo")]
    NeedsRights {
        /// The server's name.
        server: String,
    },

    /// The program ran but did not print its version where the template expects it.
    #[error("{program} did not print its version after {expected:?}; it printed: {printed}")]
    NoVersion {
        /// The program.
        program: String,
        /// The text that should precede the version.
        expected: String,
        /// What it printed.
        printed: String,
    },

    /// The address cannot be bound at all, so no port of it can.
    #[error("cannot listen on {address}: {source}; does this host have that address (ip address show)?")]
    Address {
        /// The requested address.
        address: IpAddr,
        /// The system's reason.
        source: io::Error,
    },

    /// Every port tried was taken.
    #[error(
        "no free port on {address} after {tried} tries; stop the programs that use them (ss -lnut shows it)"
    )]
    NoFreePort {
        /// The requested address.
        address: IpAddr,
        /// How many ports were tried.
        tried: u32,
    },

    /// A file, folder or process operation failed.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried, with the path or program.
        what: String,
        /// The system's reason.
        source: io::Error,
    },

    /// The start was called off; nothing of it is left.
    #[error("the start of {server} was called off")]
    Cancelled {
        /// The server's name.
        server: String,
    },

    /// The server was started but does not serve.
    #[error(transparent)]
    Start(Box<StartFailure>),
}

impl LabError {
    /// For `map_err`: names what was tried.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// A server that was started and does not serve. It has been ended; its folder is kept for the reader.
#[derive(Debug, thiserror::Error)]
#[error(
    "{server} does not serve: {reason}\n  command: {command}\n  log: {}\n  last lines of the log:\n{log_tail}",
    log_path.display()
)]
pub struct StartFailure {
    /// The server's name.
    pub server: String,
    /// What was seen.
    pub reason: StartFailureReason,
    /// The command line, as a shell would take it.
    pub command: String,
    /// The last lines that the server wrote, indented; a note where it wrote nothing.
    pub log_tail: String,
    /// The whole log, kept, in a folder with the configuration and the zone.
    pub log_path: PathBuf,
}

/// How a start failed.
#[derive(Debug, thiserror::Error)]
pub enum StartFailureReason {
    /// What makes its folder ready before its first start did not succeed.
    #[error("{program}, which makes its folder ready, {how}")]
    NotInitialised {
        /// The program.
        program: String,
        /// What became of it.
        how: String,
    },
    /// The process ended by itself.
    #[error("it ended by itself ({0})")]
    Ended(ExitStatus),
    /// It runs, but did not answer correctly within the time limit.
    #[error("no correct response within {within:?}; last try: {last}")]
    NoAnswer {
        /// The time limit.
        within: Duration,
        /// What the last question met.
        last: String,
    },
    /// According to its log the port is in use.
    #[error("port {0} was taken by another program")]
    PortTaken(u16),
}
