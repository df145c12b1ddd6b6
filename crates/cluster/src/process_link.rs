//! Links over the pipes of a process: an agent that is started here, or by the user's own `ssh` on another host.

use std::io::{self, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_text::shown;

use crate::frame::Frame;
use crate::link::{Link, Receive, Writes};

/// Starts the process and links to it.
///
/// # Errors
/// It cannot be started.
pub(crate) fn start(mut command: Command) -> io::Result<Link> {
    // In a process group of its own: Ctrl-C at the terminal is for the coordinator, which stops its agents.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(to), Some(from), Some(errors)) = pipes else { return Err(io::ErrorKind::BrokenPipe.into()) };
    let words = read_words(errors)?;
    let receive = FromProcess { from: BufReader::new(from), words, child };
    Ok(Link { send: Box::new(Writes(to)), receive: Box::new(receive) })
}

/// The link of an agent to whoever has started it, over its standard input and output.
pub(crate) fn of_this_process() -> Link {
    Link::over(io::stdin(), io::stdout())
}

struct FromProcess {
    from: BufReader<ChildStdout>,
    words: Receiver<String>,
    child: Child,
}

impl Receive for FromProcess {
    fn receive(&mut self) -> io::Result<Option<Frame>> {
        Frame::read(&mut self.from)
    }

    fn last_words(&mut self) -> String {
        let words = self.words.recv_timeout(LAST_WORDS).unwrap_or_default();
        let ended = ended(&mut self.child);
        match (words.trim(), ended) {
            ("", Some(status)) => format!("it ended ({status})"),
            ("", None) => "it ended".to_owned(),
            (words, _) => shown(words, LONGEST_WORDS).to_string(),
        }
    }
}

/// Its standard input is closed by whoever drops the other half; an agent then ends by itself.
impl Drop for FromProcess {
    fn drop(&mut self) {
        if ended(&mut self.child).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Waits a while for the end of a process.
fn ended(child: &mut Child) -> Option<std::process::ExitStatus> {
    let deadline = Instant::now() + LAST_WORDS;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(10)),
            _ => return None,
        }
    }
}

/// Reads what the process prints of itself: its last lines.
fn read_words(mut errors: ChildStderr) -> io::Result<Receiver<String>> {
    let (sender, words) = sync_channel(1);
    thread::Builder::new().name("words".to_owned()).spawn(move || {
        let (mut kept, mut part) = (Vec::new(), [0; 4096]);
        while let Ok(length @ 1..) = errors.read(&mut part) {
            kept.extend_from_slice(&part[..length]);
            let surplus = kept.len().saturating_sub(LONGEST_KEPT);
            kept.drain(..surplus);
        }
        let _ = sender.send(String::from_utf8_lossy(&kept).into_owned());
    })?;
    Ok(words)
}

/// How long the end of a process and its last words are waited for.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Octets of its words that are kept.
const LONGEST_KEPT: usize = 4096;

/// Characters of them that a sentence has.
const LONGEST_WORDS: usize = 300;
