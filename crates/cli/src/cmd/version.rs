//! `dnsdyno --version --json`: the version, and the formats of files that it writes and reads.

use std::io::Write;

use dnsdyno_campaign::{find, history};
use dnsdyno_executor::{JOURNAL_FORMAT, experiment};
use serde_json::{Value, json};

use crate::exit::{Failure, OK, Outcome};

/// Whether these words of the command line ask for the version in JSON.
pub(crate) fn is_asked_as_json(words: &[String]) -> bool {
    let is_version = |word: &String| matches!(word.as_str(), "--version" | "-V");
    match words {
        [_, first, second] => {
            (is_version(first) && second == "--json") || (first == "--json" && is_version(second))
        }
        _ => false,
    }
}

/// Prints it.
pub(crate) fn print_json() -> Outcome {
    writeln!(std::io::stdout(), "{:#}", version()).map_err(Failure::run_failed)?;
    Ok(OK)
}

fn version() -> Value {
    let format = |written: u32| json!({"written": written, "oldest_read": 1});
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "target": target(),
        "formats": {
            "record": format(dnsdyno_record::FORMAT),
            "finding": format(find::report::FORMAT),
            "history": {"written": history::report::FORMAT},
            "plan": format(dnsdyno_plan::FORMAT),
            "experiment": format(experiment::FORMAT),
            "journal": format(JOURNAL_FORMAT),
        },
    })
}

/// What it was built for, such as `x86_64-linux-musl`.
fn target() -> String {
    let library = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    format!("{}-{}-{library}", std::env::consts::ARCH, std::env::consts::OS)
}
