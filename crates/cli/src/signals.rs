//! The signals of a run: SIGINT (Ctrl-C), SIGTERM and SIGHUP stop it, each further one harder; SIGUSR1 asks for its
//! state.
//!
//! ```text
//!   first    nothing more is sent, outstanding responses are waited for, the record is completed
//!   second   outstanding queries are interrupted, the record is completed; after a second the process ends regardless
//!   third    the process ends
//! ```

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use dnsdyno_executor::experiment::Stop;
use dnsdyno_runner::{Control, StopCause};
use dnsdyno_screen::Leave;
use dnsdyno_sys::memory::before_the_end;
use dnsdyno_sys::process::ignores_signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::exit::code_of_stop;
use crate::message::print_error;

/// Stops the run of `control` at each signal from now on. The screen is left before the process ends.
pub(crate) fn handle_signals(control: Arc<Control>, leave_screen: Leave) -> std::io::Result<()> {
    let leave_at_end = Arc::clone(&leave_screen);
    before_the_end(move || leave_at_end());
    at_signals(move |earlier, cause| stop_run(earlier, cause, &control, &leave_screen))
}

/// As [`handle_signals`], for a program that makes several runs, one after another: from now on signals stop the run of
/// this `control`, and not that of an earlier one. Whoever makes the runs asks [`asked_to_stop`] between them.
pub(crate) fn handle_signals_of_many(control: Arc<Control>, leave_screen: Leave) -> std::io::Result<()> {
    // A signal is for this run or for the one before: with the lock, it is never counted for both.
    let mut many = MANY.lock().unwrap_or_else(PoisonError::into_inner);
    let earlier = many.replace((Arc::clone(&control), leave_screen));
    if let Some(cause) = asked_to_stop() {
        control.stop(cause);
    }
    drop(many);
    if earlier.is_some() {
        return Ok(());
    }
    before_the_end(|| {
        // Whoever has the lock may be the thread that ends.
        if let Ok(Some((_, leave_screen))) = MANY.try_lock().as_deref() {
            leave_screen();
        }
    });
    at_signals(|earlier, cause| {
        let many = MANY.lock().unwrap_or_else(PoisonError::into_inner);
        ASKED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(cause);
        let current = many.clone();
        drop(many);
        if let Some((control, leave_screen)) = current {
            stop_run(earlier, cause, &control, &leave_screen);
        }
    })
}

/// The signal that asked a program of several runs to stop.
pub(crate) fn asked_to_stop() -> Option<StopCause> {
    *ASKED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The run in progress of a program that makes several.
static MANY: Mutex<Option<(Arc<Control>, Leave)>> = Mutex::new(None);

/// What asked it to stop.
static ASKED: Mutex<Option<StopCause>> = Mutex::new(None);

/// Ends the run of `control` at once at the first signal, as the programs do that dnsdyno stands in for; the second
/// ends the process.
pub(crate) fn end_at_signals(control: Arc<Control>) -> std::io::Result<()> {
    at_signals(move |earlier, cause| {
        if earlier > 0 {
            leave(&control, &(Arc::new(|| ()) as Leave));
        }
        control.stop(cause);
        control.stop(cause);
    })
}

/// Stops an experiment at each signal from now on: the first one ends it after the run that is made has ended early,
/// the second one that run at once, the third one the process. Its servers end with it.
pub(crate) fn stop_at_signals(stop: Arc<Stop>) -> std::io::Result<()> {
    at_signals(move |earlier, cause| {
        stop.stop(cause);
        if earlier >= 2 {
            print_error("dnsdyno: ended at once; the same command cleans up and goes on");
            signal_hook::low_level::exit(i32::from(code_of_stop(stop.cause())));
        }
    })
}

/// Ends the process at a signal from now on, after a file that is not complete was removed and `message` printed.
pub(crate) fn clean_up_at_signals(unfinished: PathBuf, message: String) -> std::io::Result<()> {
    at_signals(move |_, cause| {
        let _ = std::fs::remove_file(&unfinished);
        print_error(&message);
        signal_hook::low_level::exit(i32::from(code_of_stop(Some(cause))));
    })
}

/// Calls `act` at each signal from now on, with the number of those before it. If the program was started to ignore
/// SIGHUP, as by `nohup`, it still does.
fn at_signals(mut act: impl FnMut(usize, StopCause) + Send + 'static) -> std::io::Result<()> {
    let hang_up = (!ignores_signal(SIGHUP)).then_some(SIGHUP);
    let mut signals = Signals::new([SIGINT, SIGTERM].into_iter().chain(hang_up))?;
    ask_room_for_thread();
    thread::Builder::new().name("signals".into()).spawn(move || {
        for (earlier, signal) in signals.forever().enumerate() {
            act(earlier, cause_of(signal));
        }
    })?;
    Ok(())
}

/// Asks for the memory of a thread: its stack, and what Rust's library keeps beside it, whose lack would abort the
/// process. Where there is none, the allocator says so and ends the program.
fn ask_room_for_thread() {
    // Looked at, so that the compiler does not leave it out.
    std::hint::black_box(Vec::<u8>::with_capacity(4 << 20));
}

/// Stops a run at a signal, each further one harder.
fn stop_run(earlier: usize, cause: StopCause, control: &Arc<Control>, leave_screen: &Leave) {
    control.stop(cause);
    match earlier {
        0 => {}
        1 => {
            let (control, leave_screen) = (Arc::clone(control), Arc::clone(leave_screen));
            drop(thread::Builder::new().spawn(move || {
                thread::sleep(GRACE);
                leave(&control, &leave_screen)
            }));
        }
        _ => leave(control, leave_screen),
    }
}

/// A flag that SIGUSR1 sets.
pub(crate) fn state_requests() -> std::io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, Arc::clone(&flag))?;
    Ok(flag)
}

fn cause_of(signal: i32) -> StopCause {
    match signal {
        SIGTERM => StopCause::Terminate,
        SIGHUP => StopCause::HangUp,
        _ => StopCause::Interrupt,
    }
}

/// Ends the process at once.
fn leave(control: &Control, leave_screen: &Leave) -> ! {
    leave_screen();
    print_error("dnsdyno: ended before the record was complete; `dnsdyno show` reads it as far as it goes");
    signal_hook::low_level::exit(i32::from(code_of_stop(control.cause())))
}

/// How long the record may take after the second signal.
const GRACE: Duration = Duration::from_secs(1);
