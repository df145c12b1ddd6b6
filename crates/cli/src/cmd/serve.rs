//! `dnsdyno serve`: shows a folder of runs in a browser.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use dnsdyno_serve::{BoundFolder, ServeError, parse_listen};
use dnsdyno_text::shown;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit::{Failure, OK, Outcome};
use crate::message::print_error;
use crate::rights;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeFlags {
    /// Folder that holds the folders of runs
    #[arg(default_value = "runs", value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Address and port to serve at; a port alone is one of 127.0.0.1, and port 0 is a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8530", value_parser = parse_listen)]
    pub(crate) listen: SocketAddr,
    /// Another name by which browsers may ask for it, such as that of this host; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
}

pub(crate) fn serve(flags: &ServeFlags) -> Outcome {
    // Before the address is printed: who reads it may end the program at once.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Failure::run_failed)?;
    let made_by = format!("dnsdyno {}", env!("CARGO_PKG_VERSION"));
    let failed = |error| match error {
        ServeError::Listen { .. } => Failure::run_failed(error),
        ServeError::Folder { .. } | ServeError::IsRun { .. } => Failure::bad_input(error),
    };
    let bound = BoundFolder::new(&flags.folder, flags.listen, flags.host.clone(), made_by).map_err(failed)?;
    // Between the last file that it opens and its first thread.
    rights::only_read(bound.root());
    let server = bound.start().map_err(failed)?;
    let address = server.address();
    if !address.ip().is_loopback() {
        print_error(
            "dnsdyno: whoever can reach this address can read all runs of the folder: there is no password and no \
             encryption",
        );
    }
    let folder = flags.folder.display().to_string();
    let folder = shown(&folder, LONGEST_PATH);
    writeln!(std::io::stdout(), "serving {folder} at http://{address}/ (Ctrl-C ends it)")
        .map_err(Failure::run_failed)?;
    signals.forever().next();
    drop(server);
    Ok(OK)
}

/// Characters of a path, which no system exceeds.
const LONGEST_PATH: usize = 4_096;

const EXAMPLES: &str = "\
Examples:
  dnsdyno serve
  dnsdyno serve results --listen 8080
  dnsdyno serve --listen 192.0.2.7:8530 --host bench.example

It only reads: runs are made by `dnsdyno run`. A run in progress is shown as far as it has come.
After its start the kernel lets it read this folder and nothing else. A new folder in its place is not read: start it
again. Where the kernel cannot do that, it says so.";
