//! Ctrl-C and its kin: each press asks the run for the next stronger thing.

use std::sync::Arc;
use std::thread;

use dnsdyno_runner::Control;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Presses `control` at each SIGINT, SIGTERM or SIGHUP from now on.
///
/// The first stops sending, the second does not wait for answers; the record is written in both.
pub(crate) fn press_on_signals(control: Arc<Control>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        for _ in signals.forever() {
            control.press();
        }
    })?;
    Ok(())
}
