//! The terminal of a run: its modes and its alternate screen, entered and left.
//!
//! ```text
//!   open ──► entered ◄──► suspended (Ctrl-Z, or in the background) ──► closed
//! ```
//!
//! Signals stay switched on: Ctrl-C and Ctrl-Z are the signals that they always are. A terminal is touched only while
//! this process is in its foreground, because the kernel stops a process that does so from the background.
//!
//! A terminal may take nothing for any time. Only the thread that draws waits for it; whoever leaves the screen waits
//! for [`PATIENCE`] at most, and the thread that draws then leaves it as soon as it can.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ratatui_core::layout::Rect;
use ratatui_crossterm::crossterm::cursor::{Hide, Show};
use ratatui_crossterm::crossterm::queue;
use ratatui_crossterm::crossterm::style::ResetColor;
use ratatui_crossterm::crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetpgrp,
    tcgetwinsize, tcsetattr,
};

/// The terminal that standard error is connected to.
#[derive(Debug)]
pub(crate) struct Terminal {
    /// A descriptor of its own: whoever prints a message takes the lock of the standard one.
    out: File,
    held: Mutex<Held>,
    written: Condvar,
}

#[derive(Debug, Default)]
struct Held {
    /// The modes before it was entered; `None` while it is not.
    before: Option<Termios>,
    /// Whether a picture is being written.
    is_writing: bool,
    /// Whether the alternate screen has to be left after that.
    owes_leave: bool,
    /// Whether what is on the screen is unknown.
    is_fresh: bool,
    /// Whether the process is about to be stopped, or is.
    is_suspended: bool,
    is_closed: bool,
}

impl Terminal {
    /// The terminal of standard error; `None` where that is none, or this process is not in its foreground.
    pub(crate) fn of_stderr() -> Option<Terminal> {
        let stderr = std::io::stderr();
        let out = File::from(stderr.as_fd().try_clone_to_owned().ok()?);
        let terminal = Terminal { out, held: Mutex::default(), written: Condvar::new() };
        (stderr.is_terminal() && terminal.is_in_foreground()).then_some(terminal)
    }

    /// Whether it may be touched.
    pub(crate) fn is_in_foreground(&self) -> bool {
        tcgetpgrp(&self.out).is_ok_and(|group| group == getpgrp())
    }

    /// Its size; `None` where it has none.
    pub(crate) fn size(&self) -> Option<Rect> {
        let size = tcgetwinsize(&self.out).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0)?;
        Some(Rect::new(0, 0, size.ws_col.min(MOST_CELLS), size.ws_row.min(MOST_CELLS)))
    }

    /// Whether it has room for more than a few words.
    pub(crate) fn is_large_enough(&self) -> bool {
        self.size().is_some_and(|size| size.width >= SMALLEST.0 && size.height >= SMALLEST.1)
    }

    /// Enters the alternate screen, unless it is entered or closed. Returns whether a picture may be drawn, and
    /// whether what is on the screen is unknown.
    pub(crate) fn enter(&self) -> Option<bool> {
        if !self.is_in_foreground() {
            // Whoever is in the foreground has set its own modes.
            self.lock().before = None;
            return None;
        }
        let mut held = self.lock();
        if held.is_closed || held.is_suspended {
            return None;
        }
        if held.before.is_none() {
            let before = tcgetattr(&self.out).ok()?;
            set_modes(&self.out, &before).ok()?;
            held.before = Some(before);
            held.is_fresh = true;
            let mut bytes = Vec::new();
            queue!(bytes, EnterAlternateScreen, Hide, Clear(ClearType::All)).ok()?;
            drop(held);
            self.write(&bytes);
            held = self.lock();
        }
        Some(std::mem::take(&mut held.is_fresh))
    }

    /// Whether it takes bytes now.
    pub(crate) fn is_ready(&self) -> bool {
        is_ready(&self.out, Duration::ZERO)
    }

    /// Writes a part of a picture, unless the screen has been left. May wait for the terminal.
    pub(crate) fn write(&self, bytes: &[u8]) {
        {
            let mut held = self.lock();
            if held.before.is_none() {
                return;
            }
            held.is_writing = true;
        }
        // A terminal that is gone is no reason to end a run.
        let _ = (&self.out).write_all(bytes);
        let mut held = self.lock();
        held.is_writing = false;
        if std::mem::take(&mut held.owes_leave) {
            let _ = (&self.out).write_all(&leaving());
        }
        self.written.notify_all();
    }

    /// Leaves the alternate screen and restores the modes, until the process [goes on](Self::resume).
    pub(crate) fn suspend(&self) {
        let mut held = self.lock();
        held.is_suspended = true;
        self.leave_with(held);
    }

    /// Leaves it for good.
    pub(crate) fn close(&self) {
        let mut held = self.lock();
        held.is_closed = true;
        self.leave_with(held);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// The process goes on. Where it was stopped without warning, the modes may be others, and so may the screen.
    pub(crate) fn resume(&self) {
        let mut held = self.lock();
        held.is_suspended = false;
        if let Some(before) = held.before.as_ref().filter(|_| self.is_in_foreground()) {
            let _ = set_modes(&self.out, before);
            held.is_fresh = true;
        }
    }

    fn leave_with(&self, held: MutexGuard<'_, Held>) {
        if !self.is_in_foreground() {
            return;
        }
        let waited = self.written.wait_timeout_while(held, PATIENCE, |held| held.is_writing);
        let mut held = waited.unwrap_or_else(PoisonError::into_inner).0;
        let Some(before) = held.before.take() else { return };
        if held.is_writing || !is_ready(&self.out, PATIENCE) {
            held.owes_leave = held.is_writing;
        } else {
            let _ = (&self.out).write_all(&leaving());
        }
        // Keys that were typed for the screen are not for the shell.
        let _ = tcflush(&self.out, QueueSelector::IFlush);
        let _ = tcsetattr(&self.out, OptionalActions::Now, &before);
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Columns of a line on standard error: a log has any.
pub(crate) fn width_of_lines() -> usize {
    let size = tcgetwinsize(std::io::stderr()).ok().filter(|size| size.ws_col > 0);
    size.map_or(usize::MAX, |size| usize::from(size.ws_col))
}

/// The keyboard of the terminal.
#[derive(Debug)]
pub(crate) struct Keyboard(Option<File>);

impl Keyboard {
    pub(crate) fn open() -> Keyboard {
        Keyboard(File::open("/dev/tty").ok())
    }

    /// The keys pressed until `timeout` is over; returns at the first ones.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Vec<u8> {
        let Some(file) = &self.0 else {
            std::thread::sleep(timeout);
            return Vec::new();
        };
        let mut ready = [PollFd::new(file, PollFlags::IN)];
        match poll(&mut ready, Some(&timespec(timeout))) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Vec::new(),
            Ok(_) => {}
            Err(_) => self.0 = None,
        }
        let mut keys = [0; 64];
        let read = self.0.as_ref().map_or(Ok(0), |mut file| std::io::Read::read(&mut file, &mut keys));
        match read {
            Ok(count @ 1..) => keys[..count].to_vec(),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Vec::new(),
            // The terminal is gone.
            Ok(0) | Err(_) => {
                self.0 = None;
                Vec::new()
            }
        }
    }
}

/// Keys are read one by one and not shown; those that send signals still do.
fn set_modes(terminal: &File, before: &Termios) -> rustix::io::Result<()> {
    let mut modes = before.clone();
    modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ECHONL);
    modes.local_modes.insert(LocalModes::ISIG);
    // Ctrl-S would stop the picture.
    modes.input_modes.remove(InputModes::IXON);
    tcsetattr(terminal, OptionalActions::Now, &modes)
}

fn is_ready(terminal: &File, timeout: Duration) -> bool {
    let mut ready = [PollFd::new(terminal, PollFlags::OUT)];
    poll(&mut ready, Some(&timespec(timeout))).is_ok_and(|count| count > 0)
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs() as i64, tv_nsec: i64::from(duration.subsec_nanos()) }
}

fn leaving() -> Vec<u8> {
    let mut bytes = Vec::new();
    // Into memory, which takes everything.
    let _ = queue!(bytes, ResetColor, LeaveAlternateScreen, Show);
    bytes
}

/// How long a terminal that takes nothing is waited for when the screen is left.
const PATIENCE: Duration = Duration::from_millis(500);

/// Columns and lines that are drawn: a terminal may claim any size.
const MOST_CELLS: u16 = 500;

/// Columns and lines below which there are plain lines.
const SMALLEST: (u16, u16) = (24, 6);
