//! A keeper alone, for the tests of this crate: `dnsdyno tune --keeper` without the rest of dnsdyno.
//!
//! ```text
//!   keeper STATE SILENCE_MS ROOT [NAMESPACE]
//! ```

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use dnsdyno_settings::{KeeperOptions, keep};

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let (Some(state), Some(silence), Some(root)) = (arguments.next(), arguments.next(), arguments.next())
    else {
        eprintln!("usage: keeper STATE SILENCE_MS ROOT [NAMESPACE]");
        return ExitCode::from(2);
    };
    let options = KeeperOptions {
        namespace: arguments.next(),
        root: root.into(),
        silence: Duration::from_millis(silence.parse().unwrap_or(30_000)),
        ..KeeperOptions::new(state.into())
    };
    match keep(options) {
        Ok(kept) => {
            kept.restored.iter().for_each(|restored| eprintln!("{restored}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("keeper: {error}");
            ExitCode::FAILURE
        }
    }
}
