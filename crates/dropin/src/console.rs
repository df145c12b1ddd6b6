//! What a program prints, and where: results on standard output; usage, warnings and errors on standard error, or with
//! `-W` warnings and errors on standard output.

use std::io::{self, BufWriter, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::options::{Refusal, Syntax};

/// The two streams of a program, for all of its threads. A stream that is closed is no reason to end a run, so failures
/// to write are ignored.
pub(crate) struct Console(Mutex<Streams>);

struct Streams {
    out: Box<dyn Write + Send>,
    error: Box<dyn Write + Send>,
    logs_to_out: bool,
}

impl Console {
    /// Those of the process.
    pub(crate) fn standard() -> Console {
        let out = BufWriter::with_capacity(BUFFER_BYTES, io::stdout());
        Console::new(Box::new(out), Box::new(io::stderr()))
    }

    pub(crate) fn new(out: Box<dyn Write + Send>, error: Box<dyn Write + Send>) -> Console {
        Console(Mutex::new(Streams { out, error, logs_to_out: false }))
    }

    /// From now on, warnings and errors go to standard output (`-W`).
    pub(crate) fn log_to_out(&self) {
        self.streams().logs_to_out = true;
    }

    /// Prints a text to standard output as it is. What is printed appears with the next [`Console::flush`] at the
    /// latest.
    pub(crate) fn print(&self, text: &str) {
        let _ = self.streams().out.write_all(text.as_bytes());
    }

    /// Prints a line to standard output.
    pub(crate) fn line(&self, text: &str) {
        self.print(&format!("{text}\n"));
    }

    /// Prints a text of ours, or of the usage, to standard error.
    pub(crate) fn tell(&self, text: &str) {
        let mut streams = self.streams();
        let _ = streams.out.flush();
        let _ = streams.error.write_all(text.as_bytes());
    }

    /// `Warning: …`.
    pub(crate) fn warning(&self, text: &str) {
        self.log(&format!("Warning: {text}\n"));
    }

    /// `Error: …`; the program ends with code 1.
    pub(crate) fn error(&self, text: &str) {
        self.log(&format!("Error: {text}\n"));
    }

    /// Prints why a command line is refused; returns the exit code.
    pub(crate) fn refuse(&self, refusal: &Refusal, syntax: &Syntax) -> u8 {
        match refusal {
            Refusal::Help(text) => {
                self.tell(text);
                return 0;
            }
            Refusal::Usage(text) => self.tell(&format!("{text}\n{}", syntax.usage())),
            Refusal::Bare(text) => self.tell(&format!("{text}\n")),
            Refusal::Warned(text) => {
                self.warning(text);
                self.tell(&syntax.usage());
            }
            Refusal::Fatal(text) => self.error(text),
        }
        1
    }

    /// What was printed appears.
    pub(crate) fn flush(&self) {
        let _ = self.streams().out.flush();
    }

    fn log(&self, text: &str) {
        let mut streams = self.streams();
        let _ = streams.out.flush();
        let stream = if streams.logs_to_out { &mut streams.out } else { &mut streams.error };
        let _ = stream.write_all(text.as_bytes());
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Thousands of lines of `-v` per system call.
const BUFFER_BYTES: usize = 64 * 1024;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::Arc;

    /// A console, and what was printed to it.
    pub(crate) struct Printed(Arc<Mutex<Vec<u8>>>, Arc<Mutex<Vec<u8>>>);

    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Printed {
        pub(crate) fn console() -> (Console, Printed) {
            let printed = Printed(Arc::default(), Arc::default());
            let console = Console::new(Box::new(Kept(printed.0.clone())), Box::new(Kept(printed.1.clone())));
            (console, printed)
        }

        pub(crate) fn out(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }

        pub(crate) fn error(&self) -> String {
            String::from_utf8(self.1.lock().unwrap().clone()).unwrap()
        }
    }

    #[test]
    fn warnings_go_to_standard_error_or_with_the_option_to_standard_output() {
        let (console, printed) = Printed::console();
        console.line("a");
        console.warning("b");
        console.log_to_out();
        console.error("c");
        console.tell("d\n");
        assert_eq!((printed.out(), printed.error()), ("a\nError: c\n".into(), "Warning: b\nd\n".into()));
    }
}
