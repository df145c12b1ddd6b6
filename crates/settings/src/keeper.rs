//! The client of a keeper: whoever wants to change values of a host, here, in a namespace or over `ssh`.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use std::{io, thread};

use dnsdyno_text::shown;
use rustix::process::{Pid, Signal, kill_process};

use crate::error::KeeperError;
use crate::item::Item;
use crate::messages::{Answer, CommandEnd, PROTOCOL, Request, Written};
use crate::restored::Restored;

/// A keeper that was started. When it is dropped, the keeper restores everything and ends; this waits for it.
#[derive(Debug)]
pub struct Keeper {
    /// Lines for the keeper; `None` closes its input.
    requests: Option<Sender<String>>,
    answers: Receiver<Answer>,
    /// The last that it has printed of itself, once it has ended.
    words: Receiver<String>,
    child: Child,
    left: Vec<Restored>,
}

impl Keeper {
    /// Starts a keeper by a command whose input and output are its own (`dnsdyno tune --keeper`, or the same over
    /// `ssh`), and waits for its greeting. Signals of the terminal do not reach it.
    ///
    /// # Errors
    /// It cannot be started, does not answer, or is of another version.
    pub fn start(mut command: Command) -> Result<Keeper, KeeperError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let failed = |source| KeeperError::Start { program: program.clone(), source };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(failed)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(to), Some(from), Some(errors)) = pipes else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        let (requests, answers) = (write_requests(to).map_err(failed)?, read_answers(from).map_err(failed)?);
        let words = read_words(errors).map_err(failed)?;
        let mut keeper = Keeper { requests: Some(requests), answers, words, child, left: Vec::new() };
        match keeper.answers.recv_timeout(GREETING_WITHIN) {
            Ok(Answer::Greeting { protocol: PROTOCOL, restored }) => keeper.left = restored,
            Ok(Answer::Greeting { protocol, .. }) => {
                return Err(KeeperError::Protocol { theirs: protocol, ours: PROTOCOL });
            }
            Ok(_) | Err(_) => {
                let arguments = command.get_args().map(|argument| argument.to_string_lossy());
                let words: Vec<_> = [program.as_str().into()].into_iter().chain(arguments).collect();
                return Err(KeeperError::NoKeeper { words: keeper.last_words(), command: words.join(" ") });
            }
        }
        Ok(keeper)
    }

    /// What the keeper has restored at its start, of earlier ones that were killed.
    pub fn left(&self) -> &[Restored] {
        &self.left
    }

    /// Reads a value; `None` where the host does not have it.
    ///
    /// # Errors
    /// It cannot be read, or the keeper is lost.
    pub fn read(&mut self, item: &Item) -> Result<Option<String>, KeeperError> {
        match self.ask(&Request::Read { item: item.clone() }, ANSWER_WITHIN)? {
            Answer::Value(value) => Ok(value),
            _ => Err(self.lost(ANOTHER_ANSWER)),
        }
    }

    /// Writes a value that is there; the keeper restores the one before the first write.
    ///
    /// # Errors
    /// The system does not take it, someone else has changed it since this keeper did, or the keeper is lost. The value
    /// is then as it was before.
    pub fn write(&mut self, item: &Item, value: &str) -> Result<Written, KeeperError> {
        let request = Request::Write { item: item.clone(), value: value.to_owned() };
        match self.ask(&request, ANSWER_WITHIN)? {
            Answer::Written(written) => Ok(written),
            _ => Err(self.lost(ANOTHER_ANSWER)),
        }
    }

    /// Carries out a command of the shell on the host of the keeper, in its network namespace, and ends it after
    /// `within`. What it leaves in the background lives on.
    ///
    /// # Errors
    /// It cannot be started, or the keeper is lost.
    pub fn run(&mut self, command: &str, within: Duration) -> Result<CommandEnd, KeeperError> {
        let within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        let request = Request::Run { command: command.to_owned(), within_ms };
        match self.ask(&request, within.saturating_add(ANSWER_WITHIN))? {
            Answer::Ended(end) => Ok(end),
            _ => Err(self.lost(ANOTHER_ANSWER)),
        }
    }

    /// Restores all values, the last one first. The keeper can be used further.
    ///
    /// # Errors
    /// The keeper is lost.
    pub fn undo(&mut self) -> Result<Vec<Restored>, KeeperError> {
        match self.ask(&Request::Undo, UNDO_WITHIN)? {
            Answer::Undone(restored) => Ok(restored),
            _ => Err(self.lost(ANOTHER_ANSWER)),
        }
    }

    fn ask(&mut self, request: &Request, within: Duration) -> Result<Answer, KeeperError> {
        let line = serde_json::to_string(request)
            .map_err(|_| KeeperError::Refused("a path that is no text in UTF-8 cannot be used".to_owned()))?;
        let Some(requests) = &self.requests else { return Err(self.lost("it was lost before")) };
        if requests.send(line).is_err() {
            return Err(self.lost("its input is closed"));
        }
        match self.answers.recv_timeout(within) {
            Ok(Answer::Refused(why)) => Err(KeeperError::Refused(why)),
            Ok(Answer::NoJournal(why)) => Err(KeeperError::NoJournal(why)),
            Ok(answer) => Ok(answer),
            Err(RecvTimeoutError::Timeout) => {
                Err(self.lost(&format!("no answer within {} s", within.as_secs())))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let words = self.last_words();
                Err(self.lost(&words))
            }
        }
    }

    /// Gives the keeper up: an answer that comes later would be taken for that to another question.
    fn lost(&mut self, words: &str) -> KeeperError {
        self.requests = None;
        KeeperError::Lost { words: words.to_owned() }
    }

    fn last_words(&mut self) -> String {
        self.requests = None;
        let words = self.words.recv_timeout(LAST_WORDS).unwrap_or_default();
        let ended = self.ended_within(LAST_WORDS);
        match (words.trim(), ended) {
            ("", Some(status)) => format!("it ended ({status})"),
            ("", None) => "it says nothing".to_owned(),
            (words, _) => shown(words, LONGEST_WORDS).into_owned(),
        }
    }

    fn ended_within(&mut self, within: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + within;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < deadline => thread::sleep(LOOK_AGAIN),
                _ => return None,
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.requests = None;
        if self.ended_within(END_WITHIN).is_none() {
            // Never SIGKILL: it may still restore something. SIGTERM ends an `ssh` whose link is lost; the keeper at
            // its other end notices the silence.
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        }
    }
}

/// Writes requests in a thread of its own, and a sign of life where there are none for a while.
fn write_requests(mut to: ChildStdin) -> io::Result<Sender<String>> {
    let (sender, requests) = channel::<String>();
    let alive = serde_json::to_string(&Request::Alive)?;
    thread::Builder::new().name("to keeper".to_owned()).spawn(move || {
        loop {
            let mut line = match requests.recv_timeout(SIGN_OF_LIFE) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => alive.clone(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            line.push('\n');
            if to.write_all(line.as_bytes()).and_then(|()| to.flush()).is_err() {
                return;
            }
        }
    })?;
    Ok(sender)
}

/// Reads answers in a thread of its own. Before the greeting may come what the shell of a host prints.
fn read_answers(from: ChildStdout) -> io::Result<Receiver<Answer>> {
    let (sender, answers) = channel();
    thread::Builder::new().name("from keeper".to_owned()).spawn(move || {
        let mut from = BufReader::new(from);
        let mut has_greeted = false;
        let mut others = 0;
        loop {
            let mut line = Vec::new();
            match from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(1..) => (),
                _ => return,
            }
            match serde_json::from_slice::<Answer>(&line) {
                Ok(answer) => {
                    has_greeted = true;
                    if sender.send(answer).is_err() {
                        return;
                    }
                }
                Err(_) if !has_greeted && others < MOST_LINES_BEFORE => others += 1,
                Err(_) => return,
            }
        }
    })?;
    Ok(answers)
}

/// Reads what the process prints of itself: its last lines.
fn read_words(mut errors: ChildStderr) -> io::Result<Receiver<String>> {
    let (sender, words) = channel();
    thread::Builder::new().name("words".to_owned()).spawn(move || {
        let (mut kept, mut part) = (Vec::new(), [0; 4096]);
        while let Ok(length @ 1..) = errors.read(&mut part) {
            kept.extend_from_slice(part.get(..length).unwrap_or_default());
            let surplus = kept.len().saturating_sub(LONGEST_KEPT);
            kept.drain(..surplus);
        }
        let _ = sender.send(String::from_utf8_lossy(&kept).into_owned());
    })?;
    Ok(words)
}

/// How long a client is silent at most: six of them are the silence after which a keeper gives up.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// For a connection over `ssh`, and for what earlier keepers left.
const GREETING_WITHIN: Duration = Duration::from_secs(60);

/// For a value; a network card may need seconds to change its rings.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// For all values of a night.
const UNDO_WITHIN: Duration = Duration::from_secs(600);

/// How long the end of a keeper is waited for when its client is dropped.
const END_WITHIN: Duration = Duration::from_secs(30);

/// How long the end of a process and its last words are waited for.
const LAST_WORDS: Duration = Duration::from_secs(3);

const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Lines that the shell of another host may print before the greeting.
const MOST_LINES_BEFORE: u32 = 100;

/// Octets of an answer: a file of configuration of the largest size, twice, with each of its octets escaped.
const LONGEST_LINE: u64 = 64 << 20;

/// Octets of its words that are kept.
const LONGEST_KEPT: usize = 4096;

/// Characters of them that a sentence has.
const LONGEST_WORDS: usize = 300;

const ANOTHER_ANSWER: &str = "it gives an answer to another question";
