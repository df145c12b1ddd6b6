//! One connection: the user's own `ssh` as a child process, and what it prints.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_text::shown;

use super::protocol::{END, GREETING, request};

/// A connection that has answered.
pub(crate) struct Link {
    child: Child,
    to: Option<ChildStdin>,
    answers: Receiver<Answer>,
    /// What `ssh` says about itself, once it has ended.
    words: Receiver<String>,
    number: u64,
    /// Since when an answer is outstanding. Nothing else is asked before it is there: a connection that stands still
    /// would take a few requests and then block whoever writes.
    waiting_since: Option<Instant>,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// None yet.
    Late,
    /// The connection has ended, with these words.
    Gone(String),
}

enum Answer {
    Greeting,
    Files { number: u64, text: String },
}

impl Link {
    /// Starts this command and waits until the other side is ready.
    ///
    /// # Errors
    /// The words of `ssh`, for the user.
    pub(crate) fn open(mut command: Command) -> Result<Link, String> {
        // In a process group of its own: a Ctrl-C at the terminal is for the run, which then reads for the last time.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| {
            let program = command.get_program().display();
            format!("{program} cannot be started: {error}; install an SSH client (package openssh-client)")
        })?;
        let (to, from, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (answer_sender, answers) = sync_channel(1);
        let (word_sender, words) = sync_channel(1);
        if let (Some(from), Some(errors)) = (from, errors) {
            thread::spawn(move || pass_answers(from, &answer_sender));
            thread::spawn(move || {
                let mut text = Vec::new();
                // What it cannot read, the user does not see.
                let _ = errors.take(MOST_WORDS).read_to_end(&mut text);
                let _ = word_sender.send(String::from_utf8_lossy(&text).into_owned());
            });
        }
        let mut link = Link { child, to, answers, words, number: 0, waiting_since: None };
        match link.answers.recv_timeout(LONGEST_LOGIN) {
            Ok(Answer::Greeting) => Ok(link),
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("there is no shell within {} s", LONGEST_LOGIN.as_secs()))
            }
            _ => Err(link.last_words()),
        }
    }

    /// Asks for these files, and the entries of these folders, and waits for the answer until the deadline.
    pub(crate) fn ask(
        &mut self,
        files: &[String],
        folders: &[String],
        deadline: Instant,
    ) -> Result<String, Trouble> {
        if self.waiting_since.is_some() {
            self.wait(deadline)?;
        }
        self.number += 1;
        let text = request(self.number, files, folders);
        let sent = self.to.as_mut().map(|to| to.write_all(text.as_bytes()).and_then(|()| to.flush()));
        if !matches!(sent, Some(Ok(()))) {
            return Err(Trouble::Gone(self.last_words()));
        }
        self.waiting_since = Some(Instant::now());
        self.wait(deadline)
    }

    /// How long an answer has been outstanding.
    pub(crate) fn silent_for(&self) -> Duration {
        self.waiting_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn wait(&mut self, deadline: Instant) -> Result<String, Trouble> {
        match self.answers.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Answer::Files { number, text }) if number == self.number => {
                self.waiting_since = None;
                Ok(text)
            }
            Err(RecvTimeoutError::Timeout) => Err(Trouble::Late),
            Ok(_) | Err(RecvTimeoutError::Disconnected) => Err(Trouble::Gone(self.last_words())),
        }
    }

    /// What `ssh` said at its end. It may leave a process behind that keeps the pipe open (`ControlPersist`).
    fn last_words(&mut self) -> String {
        self.to = None;
        let words = self.words.recv_timeout(LONGEST_END).unwrap_or_default();
        let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        match lines.is_empty() {
            true => "the connection was closed without a word".to_owned(),
            false => shown(&lines.join("; "), MOST_SHOWN).into_owned(),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The end of its input ends the other side, too. Where the process has ended, both fail.
        self.to = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads what the other side prints, until its end or until nobody wants it.
fn pass_answers(from: ChildStdout, answers: &SyncSender<Answer>) {
    let mut from = BufReader::new(from);
    let mut has_greeted = false;
    let mut text = Vec::new();
    loop {
        let begin = text.len();
        let room = MOST_ANSWER.saturating_sub(begin as u64);
        let is_line = (&mut from).take(room).read_until(b'\n', &mut text).is_ok() && text.ends_with(b"\n");
        if !is_line || text.len() == begin {
            return;
        }
        let line = text[begin..].trim_ascii_end();
        let answer = if !has_greeted {
            has_greeted = line == GREETING.as_bytes();
            has_greeted.then_some(Answer::Greeting)
        } else {
            let number = line.strip_prefix(END.as_bytes());
            let number = number.and_then(|number| str::from_utf8(number).ok()?.parse().ok());
            number.map(|number| Answer::Files {
                number,
                text: String::from_utf8_lossy(&text[..begin]).into_owned(),
            })
        };
        if let Some(answer) = answer {
            text.clear();
            if answers.send(answer).is_err() {
                return;
            }
        }
    }
}

/// How long a login may take: an address that does not answer, keys, the scripts of the user's shell there.
const LONGEST_LOGIN: Duration = Duration::from_secs(20);

/// How long the words of `ssh` are waited for after its end.
const LONGEST_END: Duration = Duration::from_millis(500);

/// The octets of an answer. The counters of a host are some ten thousand; a server with thousands of sockets a million.
const MOST_ANSWER: u64 = 16 << 20;

/// What is kept of the words of `ssh`, in octets.
const MOST_WORDS: u64 = 64 << 10;

/// What is shown of them.
const MOST_SHOWN: usize = 400;
