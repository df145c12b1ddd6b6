//! SIGINT (Ctrl-C), SIGTERM and SIGHUP: each further signal stops the run harder.

use std::sync::Arc;
use std::thread;

use dnsdyno_runner::Control;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Calls `control.press` at each SIGINT, SIGTERM or SIGHUP from now on.
///
/// The first stops sending, the second also stops waiting for responses; the record is written in both cases.
pub(crate) fn handle_signals(control: Arc<Control>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        for _ in signals.forever() {
            control.press();
        }
    })?;
    Ok(())
}
