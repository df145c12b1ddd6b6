//! The thread that draws: five pictures a second at most, and the keys that the user presses.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_record::Header;
use ratatui_core::backend::Backend;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::queue;
use ratatui_crossterm::crossterm::terminal::{Clear, ClearType};
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGCONT, SIGQUIT, SIGTSTP};
use signal_hook::iterator::Signals;

use crate::options::Options;
use crate::palette::Palette;
use crate::terminal::{Keyboard, Terminal};

/// What is counted, and drawn from a copy so that nothing waits for the drawing.
pub(crate) trait Scene: Send + 'static {
    /// What one picture shows.
    type View;

    /// Changes whenever the picture may.
    fn version(&self) -> u64;

    /// What a picture of this width shows `elapsed_ns` after the start.
    fn view(&self, elapsed_ns: u64, width: u16, options: Options) -> Self::View;

    /// Draws it.
    fn draw(view: &Self::View, options: Options, palette: &Palette, buffer: &mut Buffer);
}

/// What the observer and the thread that draws share.
#[derive(Debug)]
pub(crate) struct Show<S> {
    state: Mutex<S>,
    terminal: Arc<Terminal>,
    /// When the run starts, or how long before now it has started.
    epoch: Epoch,
}

impl<S: Scene> Show<S> {
    /// Enters the screen of the terminal, and begins to draw on it.
    ///
    /// # Errors
    /// There is no thread, or no handler of signals.
    pub(crate) fn begin(terminal: Arc<Terminal>, header: &Header, state: S) -> std::io::Result<Arc<Show<S>>> {
        let show =
            Arc::new(Show { state: Mutex::new(state), terminal, epoch: Epoch::at(header.started_unix_ns) });
        show.restore_on_panic();
        show.restore_on_signals()?;
        let drawing = Drawing::new(Arc::clone(&show));
        thread::Builder::new().name("screen".into()).spawn(move || drawing.run())?;
        Ok(show)
    }

    /// The state, to count in.
    pub(crate) fn state(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves the screen for good.
    pub(crate) fn close(&self) {
        self.terminal.close();
    }

    /// The message of a panic is printed after the screen, not on it.
    fn restore_on_panic(&self) {
        let terminal = Arc::clone(&self.terminal);
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            terminal.close();
            earlier(panic);
        }));
    }

    /// The signals that stop or end a process by default do so after the screen is left.
    fn restore_on_signals(&self) -> std::io::Result<()> {
        let terminal = Arc::clone(&self.terminal);
        let mut signals = Signals::new([SIGTSTP, SIGCONT, SIGQUIT])?;
        thread::Builder::new().name("suspend".into()).spawn(move || {
            for signal in signals.forever() {
                if signal == SIGCONT {
                    terminal.resume();
                    continue;
                }
                terminal.suspend();
                // Of these signals, it cannot fail.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        })?;
        Ok(())
    }
}

/// The start of the run.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    known: Instant,
    /// How long after `known`, in nanoseconds; negative where it was before.
    after_ns: i128,
}

impl Epoch {
    fn at(started_unix_ns: u64) -> Epoch {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now_ns = now.map_or(0, |now| now.as_nanos());
        Epoch { known: Instant::now(), after_ns: i128::from(started_unix_ns) - now_ns as i128 }
    }

    fn elapsed_ns(&self) -> u64 {
        let elapsed_ns = self.known.elapsed().as_nanos() as i128 - self.after_ns;
        u64::try_from(elapsed_ns.max(0)).unwrap_or(u64::MAX)
    }
}

/// The thread that draws.
struct Drawing<S> {
    show: Arc<Show<S>>,
    keyboard: Keyboard,
    palette: Palette,
    options: Options,
    /// What is on the screen, where that is known.
    drawn: Option<(Drawn, Buffer)>,
}

/// What a picture depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Drawn {
    area: Rect,
    options: Options,
    version: u64,
    second: u64,
}

impl<S: Scene> Drawing<S> {
    fn new(show: Arc<Show<S>>) -> Drawing<S> {
        let (keyboard, palette) = (Keyboard::open(), Palette::of_environment());
        Drawing { show, keyboard, palette, options: Options::default(), drawn: None }
    }

    fn run(mut self) {
        while !self.show.terminal.is_closed() {
            if let Some(bytes) = self.picture() {
                self.show.terminal.write(&bytes);
            }
            self.read_keys();
        }
    }

    /// The bytes of the next picture, where the terminal takes one and there is something new.
    fn picture(&mut self) -> Option<Vec<u8>> {
        let terminal = &self.show.terminal;
        let is_fresh = terminal.enter()?;
        if is_fresh {
            self.drawn = None;
        }
        let area = terminal.size().filter(|_| terminal.is_ready())?;
        let elapsed_ns = self.show.epoch.elapsed_ns();
        let state = self.show.state();
        let (version, second) = (state.version(), elapsed_ns / 1_000_000_000);
        let now = Drawn { area, options: self.options, version, second };
        if self.drawn.as_ref().is_some_and(|(drawn, _)| drawn.shows(&now)) {
            return None;
        }
        let view = state.view(elapsed_ns, area.width, self.options);
        drop(state);
        let mut next = Buffer::empty(area);
        S::draw(&view, self.options, &self.palette, &mut next);
        let mut bytes = Vec::new();
        let before = self.drawn.take().map(|(_, buffer)| buffer).filter(|buffer| buffer.area == area);
        let before = match before {
            Some(before) => before,
            None => {
                queue!(bytes, Clear(ClearType::All)).ok()?;
                Buffer::empty(area)
            }
        };
        CrosstermBackend::new(&mut bytes).draw(before.diff(&next).into_iter()).ok()?;
        self.drawn = Some((now, next));
        Some(bytes)
    }

    /// Reads the keys that are pressed until the next picture.
    fn read_keys(&mut self) {
        let until = Instant::now() + PICTURE_EVERY;
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            // The kernel stops a process that reads a terminal from the background.
            if !self.show.terminal.is_in_foreground() {
                thread::sleep(left);
                continue;
            }
            let keys = self.keyboard.wait(left);
            // The keys that begin with it move something, and nothing here moves.
            if keys.first() == Some(&ESCAPE) {
                continue;
            }
            keys.into_iter().for_each(|key| self.press(key));
        }
    }

    fn press(&mut self, key: u8) {
        let options = &mut self.options;
        match key {
            b'q' | b'Q' => {
                // The same as Ctrl-C, the second and the third time too.
                let _ = kill_process(getpid(), Signal::INT);
            }
            b'p' | b'P' => options.is_paused = !options.is_paused,
            b'w' | b'W' => options.is_whole = !options.is_whole,
            b'?' | b'h' | b'H' => options.has_help = !options.has_help,
            _ => {}
        }
    }
}

impl Drawn {
    /// Whether another picture would be the same, or is not wanted.
    fn shows(&self, now: &Drawn) -> bool {
        let is_paused = now.options.is_paused;
        let time = |drawn: &Drawn| (!is_paused).then_some((drawn.version, drawn.second));
        (self.area, self.options, time(self)) == (now.area, now.options, time(now))
    }
}

/// The first byte of a key that is not a character.
const ESCAPE: u8 = 0x1b;

/// Faster than one can read, and little enough work beside the load.
const PICTURE_EVERY: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paused_picture_changes_with_the_terminal_and_the_keys_only() {
        let options = Options { is_paused: true, ..Options::default() };
        let drawn = Drawn { area: Rect::new(0, 0, 80, 24), options, version: 1, second: 1 };
        assert!(drawn.shows(&Drawn { version: 2, second: 2, ..drawn }));
        assert!(!drawn.shows(&Drawn { area: Rect::new(0, 0, 81, 24), ..drawn }));
        let running = Drawn { options: Options::default(), ..drawn };
        assert!(!drawn.shows(&running) && !running.shows(&Drawn { second: 2, ..running }));
        assert!(running.shows(&running));
    }

    #[test]
    fn the_time_of_a_run_begins_at_its_start_also_where_that_is_still_ahead() {
        let now =
            || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
        assert_eq!(Epoch::at(now() + 3_600_000_000_000).elapsed_ns(), 0);
        assert!(Epoch::at(now() - 3_600_000_000_000).elapsed_ns() >= 3_599_000_000_000);
    }
}
