//! The keeper: the process that changes values of its host for a client, and restores them when that is no more.
//!
//! It ends, and restores everything, when its input ends, when nothing has come for a while (a link was lost), and at
//! SIGTERM, SIGHUP or SIGINT. So the death of the client, a cut link and a usual end are one case.
//!
//! One thread decides and changes; others only read the input, write the output and wait for signals, so that neither
//! a client that is stopped nor a full pipe keeps it from restoring.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::changes::Changes;
use crate::command;
use crate::error::{KeepError, Refusal};
use crate::host::{Host, ThisHost};
use crate::item::Item;
use crate::journal::make_folder;
use crate::left::{self, changes_folder, undo_left};
use crate::messages::{Answer, CommandEnd, PROTOCOL, Request};
use crate::namespace;
use crate::restored::{Restored, RestoredOutcome};

/// How a keeper is run.
#[derive(Clone, Debug)]
pub struct KeeperOptions {
    /// The folder in which it has its journal; usually [`crate::state_folder`].
    pub state: PathBuf,
    /// The network namespace whose values are changed, by its name for `ip netns` or the number of a process in it.
    pub namespace: Option<String>,
    /// What stands before the paths of files of the kernel: `/`, but in tests.
    pub root: PathBuf,
    /// After how much time without a message the client counts as gone. It sends one every five seconds.
    pub silence: Duration,
    /// The command that starts the server again. A client that was killed before it has done so leaves that to the
    /// keeper.
    pub restart: Option<String>,
}

/// What a keeper has done when its client was gone.
#[derive(Debug)]
pub struct Kept {
    /// What was restored.
    pub restored: Vec<Restored>,
    /// Why the server was not started again, where it had to be.
    pub not_started: Option<String>,
}

impl KeeperOptions {
    /// A keeper for the namespace in which it is started.
    pub fn new(state: PathBuf) -> KeeperOptions {
        KeeperOptions { state, namespace: None, root: PathBuf::from("/"), silence: SILENCE, restart: None }
    }
}

/// Is a keeper for the client at standard input and output, until that is gone; returns what was done at the end. First
/// it restores what earlier keepers left that were killed, and tells that in its greeting. The calling thread stays in
/// the network namespace of the options.
///
/// # Errors
/// The namespace cannot be entered, or the keeper cannot begin; then nothing was changed.
pub fn keep(options: KeeperOptions) -> Result<Kept, KeepError> {
    let (sender, events) = channel();
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT])?;
    let told = sender.clone();
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            let _ = told.send(Event::End);
        }
    })?;
    read_requests(io::stdin(), sender)?;
    keep_for(options, events, io::stdout())
}

/// What happens to a keeper.
enum Event {
    Request(Request),
    /// The input has ended, or a signal has come.
    End,
}

struct Attending {
    changes: Changes,
    host: ThisHost,
    events: Receiver<Event>,
    answers: Sender<Answer>,
    /// When the last message came.
    heard: Instant,
    has_ended: bool,
    /// Whether a file was changed, or the server stopped, since it was started again.
    needs_restart: bool,
    options: KeeperOptions,
}

fn keep_for(
    options: KeeperOptions,
    events: Receiver<Event>,
    output: impl Write + Send + 'static,
) -> Result<Kept, KeepError> {
    // Before the namespace is entered: other journals are of other ones.
    let restored = undo_left(&options.state)?;
    let (host, name) = enter(&options)?;
    let header = left::header(&options.root, name)?;
    let answers = write_answers(output)?;
    let _ = answers.send(Answer::Greeting { protocol: PROTOCOL, restored });
    let mut attending = Attending {
        changes: Changes::none(&changes_folder(&options.state), header),
        host,
        events,
        answers,
        heard: Instant::now(),
        has_ended: false,
        needs_restart: false,
        options,
    };
    attending.attend();
    let restored = attending.undo();
    Ok(Kept { restored, not_started: attending.start_again() })
}

fn enter(options: &KeeperOptions) -> Result<(ThisHost, Option<String>), KeepError> {
    let Some(name) = &options.namespace else { return Ok((ThisHost::usual(&options.root), None)) };
    let entered = namespace::enter(name);
    let named = entered.map_err(|source| KeepError::Namespace { name: name.clone(), source })?;
    Ok((ThisHost::of_entered_namespace(&options.root), named))
}

impl Attending {
    /// Does what the client asks for, until that is gone.
    fn attend(&mut self) {
        while !self.has_ended {
            let left = self.options.silence.saturating_sub(self.heard.elapsed());
            if let Some(request) = self.hear(left) {
                let answer = self.answer(request);
                // A command that was ended with the keeper has no answer that its client could rely on.
                self.has_ended = self.has_ended || self.answers.send(answer).is_err();
            }
        }
    }

    /// Waits for a request, at most this long.
    fn hear(&mut self, wait: Duration) -> Option<Request> {
        match self.events.recv_timeout(wait) {
            Ok(Event::Request(request)) => {
                self.heard = Instant::now();
                (!matches!(request, Request::Alive)).then_some(request)
            }
            Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => {
                self.has_ended = true;
                None
            }
            Err(RecvTimeoutError::Timeout) => {
                self.has_ended |= self.heard.elapsed() >= self.options.silence;
                None
            }
        }
    }

    fn answer(&mut self, request: Request) -> Answer {
        match request {
            Request::Read { item } => match self.host.read(&item) {
                Ok(value) => Answer::Value(value),
                Err(error) => Answer::Refused(format!("{item}: {error}")),
            },
            Request::Write { item, value } => {
                self.needs_restart |= is_file(&item);
                match self.changes.write(&mut self.host, &item, &value) {
                    Ok(written) => Answer::Written(written),
                    Err(refusal @ Refusal::Journal(_)) => Answer::NoJournal(format!("{item}: {refusal}")),
                    Err(refusal) => Answer::Refused(format!("{item}: {refusal}")),
                }
            }
            Request::Run { command, within_ms } => self.run(&command, Duration::from_millis(within_ms)),
            Request::Undo => Answer::Undone(self.undo()),
            // `hear` keeps it.
            Request::Alive => Answer::Refused("a sign of life has no answer".to_owned()),
        }
    }

    fn undo(&mut self) -> Vec<Restored> {
        let restored = self.changes.undo(&mut self.host, false);
        let is_restored = |one: &Restored| matches!(one.outcome, RestoredOutcome::Restored);
        self.needs_restart |= restored.iter().any(|one| is_file(&one.item) && is_restored(one));
        restored
    }

    /// Starts a server again whose client was gone before it did. Returns why that failed, in words.
    fn start_again(&mut self) -> Option<String> {
        let command = self.options.restart.as_ref().filter(|_| self.needs_restart)?;
        let mut goes_on = |wait| {
            thread::sleep(wait);
            true
        };
        let folder = &self.options.state;
        let ended = make_folder(folder)
            .and_then(|()| command::carry_out(command, RESTART_WITHIN, folder, &mut goes_on));
        match ended {
            Ok(CommandEnd { status: Some(0), .. }) => None,
            Ok(CommandEnd { printed, .. }) => Some(format!("`{command}` failed: {}", printed.trim())),
            Err(error) => Some(format!("`{command}` cannot be carried out: {error}")),
        }
    }

    /// Carries out a command, and ends it when the client is gone.
    fn run(&mut self, line: &str, within: Duration) -> Answer {
        let is_restart = self.options.restart.as_deref() == Some(line);
        // One that is cut off may have stopped the server.
        self.needs_restart |= is_restart;
        let folder = self.options.state.clone();
        if let Err(error) = make_folder(&folder) {
            return Answer::Refused(format!("the folder {} cannot be made: {error}", folder.display()));
        }
        let mut goes_on = |wait| {
            // A client asks for nothing before it has its answer.
            let _ = self.hear(wait);
            !self.has_ended
        };
        match command::carry_out(line, within, &folder, &mut goes_on) {
            Ok(end) => {
                self.needs_restart &= !(is_restart && end.status == Some(0));
                Answer::Ended(end)
            }
            Err(error) => Answer::Refused(format!("the command cannot be carried out: {error}")),
        }
    }
}

fn is_file(item: &Item) -> bool {
    matches!(item, Item::File { .. })
}

/// Reads requests in a thread of its own, so that silence is noticed.
fn read_requests(input: impl Read + Send + 'static, events: Sender<Event>) -> io::Result<()> {
    thread::Builder::new().name("requests".to_owned()).spawn(move || {
        let mut input = BufReader::new(input);
        loop {
            let mut line = Vec::new();
            let read = input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
            // Half a line is the end of a client; another text is not of a client.
            let request = match read {
                Ok(1..) if line.ends_with(b"\n") => serde_json::from_slice(&line).ok(),
                _ => None,
            };
            let is_end = request.is_none();
            if events.send(request.map_or(Event::End, Event::Request)).is_err() || is_end {
                return;
            }
        }
    })?;
    Ok(())
}

/// Writes answers in a thread of its own: a client that is stopped, and reads nothing, must not hold up the keeper.
fn write_answers(mut output: impl Write + Send + 'static) -> io::Result<Sender<Answer>> {
    let (sender, answers) = channel::<Answer>();
    thread::Builder::new().name("answers".to_owned()).spawn(move || {
        for answer in answers {
            let Ok(mut line) = serde_json::to_vec(&answer) else { return };
            line.push(b'\n');
            if output.write_all(&line).and_then(|()| output.flush()).is_err() {
                return;
            }
        }
    })?;
    Ok(sender)
}

/// Six signs of life: a link that is slow for a while is not lost.
const SILENCE: Duration = Duration::from_secs(30);

/// How long a server may take to start again: a resolver writes its cache to the disk, or there are many zones.
pub const RESTART_WITHIN: Duration = Duration::from_secs(300);

/// Octets of a request: a file of configuration of the largest size, with each of its octets escaped.
const LONGEST_LINE: u64 = 32 << 20;

#[cfg(test)]
mod tests;
