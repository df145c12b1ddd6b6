//! The connection to a host that is kept for a whole run: shared by the sources there, made anew when it is lost.
//!
//! ```text
//!   SshFiles ──► request ──► a thread that has the Link ──► ssh ──► sh on the other side
//!   SshFiles ──►                    │ lost
//!                                   └──► a thread that connects, with growing pauses
//! ```

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::link::{Link, Trouble};
use super::protocol;
use crate::files::{FileReader, Files};
use crate::source::ReadError;

/// The files of another host.
#[derive(Clone)]
pub(crate) struct SshFiles {
    requests: Sender<Request>,
    /// How long a reading may take, in milliseconds; shared by all readers of the connection.
    patience_ms: Arc<AtomicU64>,
}

/// Makes the command that connects.
pub(crate) type Connect = Box<dyn Fn() -> Command + Send + Sync>;

struct Request {
    files: Vec<String>,
    folders: Vec<String>,
    deadline: Instant,
    answer: SyncSender<Result<String, String>>,
}

impl SshFiles {
    /// Connects.
    ///
    /// # Errors
    /// The words of `ssh`, for the user.
    pub(crate) fn open(connect: Connect) -> Result<SshFiles, String> {
        let link = Link::open(connect())?;
        let (requests, received) = channel();
        thread::spawn(move || {
            Keeper { connect: connect.into(), state: State::Connected(link) }.run(&received)
        });
        Ok(SshFiles { requests, patience_ms: Arc::new(PATIENCE_AT_START_MS.into()) })
    }

    /// From now on, a reading that takes long is given up.
    pub(crate) fn hurry(&self) {
        self.patience_ms.store(PATIENCE_MS, Ordering::Relaxed);
    }

    fn ask(&self, files: Vec<String>, folders: Vec<String>) -> Result<String, ReadError> {
        let (answer, answers) = sync_channel(1);
        let patience = Duration::from_millis(self.patience_ms.load(Ordering::Relaxed));
        let deadline = Instant::now() + patience;
        let late = || format!("there is no answer over SSH within {} s", patience.as_secs());
        let answer = match self.requests.send(Request { files, folders, deadline, answer }) {
            Ok(()) => answers.recv_timeout(patience + MARGIN).unwrap_or_else(|_| Err(late())),
            Err(_) => Err(late()),
        };
        answer.map_err(ReadError)
    }
}

impl FileReader for SshFiles {
    fn read(&mut self, paths: &[String]) -> Result<Files, ReadError> {
        let (folders, files): (Vec<_>, Vec<_>) = paths.iter().cloned().partition(|path| path.ends_with('/'));
        let answer = self.ask(files, folders)?;
        Ok(protocol::files(&answer, paths))
    }
}

/// Has the connection, or waits for a new one.
struct Keeper {
    connect: Arc<dyn Fn() -> Command + Send + Sync>,
    state: State,
}

enum State {
    Connected(Link),
    /// Why the last one ended, or why there is no new one.
    Connecting(String, Receiver<Result<Link, String>>),
}

impl Keeper {
    /// Answers requests until nobody makes them any more.
    fn run(mut self, requests: &Receiver<Request>) {
        while let Ok(request) = requests.recv() {
            // Whoever asked may have given up.
            if Instant::now() < request.deadline {
                let _ = request.answer.send(self.answer(&request));
            }
        }
    }

    fn answer(&mut self, request: &Request) -> Result<String, String> {
        self.take_new_link();
        let link = match &mut self.state {
            State::Connecting(why, _) => return Err(format!("the SSH connection is lost ({why})")),
            State::Connected(link) => link,
        };
        let why = match link.ask(&request.files, &request.folders, request.deadline) {
            Ok(answer) => return Ok(answer),
            Err(Trouble::Late) if link.silent_for() < LONGEST_SILENCE => {
                return Err("the SSH connection gives no answer".to_owned());
            }
            Err(Trouble::Late) => format!("no answer for {} s", LONGEST_SILENCE.as_secs()),
            Err(Trouble::Gone(words)) => words,
        };
        let lost = format!("the SSH connection is lost ({why})");
        let (sender, links) = sync_channel(1);
        let connect = self.connect.clone();
        self.state = State::Connecting(why, links);
        thread::spawn(move || connect_again(&*connect, &sender));
        Err(lost)
    }

    fn take_new_link(&mut self) {
        let State::Connecting(why, links) = &mut self.state else { return };
        match links.try_recv() {
            Ok(Ok(link)) => self.state = State::Connected(link),
            Ok(Err(words)) => *why = words,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
        }
    }
}

/// Connects, until it succeeds or nobody waits for it.
fn connect_again(connect: &dyn Fn() -> Command, links: &SyncSender<Result<Link, String>>) {
    let mut pause = FIRST_PAUSE;
    loop {
        thread::sleep(pause);
        let link = Link::open(connect());
        let is_done = link.is_ok();
        if links.send(link).is_err() || is_done {
            return;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// How long a reading in a run may take.
const PATIENCE_MS: u64 = 2_000;

/// How long a reading before the run may take: the sockets of every process of a host.
const PATIENCE_AT_START_MS: u64 = 15_000;

/// What passing an answer on may take.
const MARGIN: Duration = Duration::from_millis(50);

/// A connection that gives no answer for so long is given up; a route that comes back is sooner found by a new one.
const LONGEST_SILENCE: Duration = Duration::from_secs(8);

/// The pause before the first attempt to connect again; each following one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest one.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;
    use crate::files::LocalFiles;

    /// The other side, with this program as the user's shell there.
    fn here(shell: &'static str) -> Connect {
        Box::new(move || {
            let mut command = Command::new(shell);
            command.args(["-c", protocol::COMMAND]);
            command
        })
    }

    fn paths(root: &Path, paths: &[&str]) -> Vec<String> {
        paths.iter().map(|path| root.join(path).to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn the_other_side_gives_the_same_files_and_links_as_this_one() {
        let folder = tempfile::tempdir().unwrap();
        for (path, bytes) in [
            ("1/stat", &b"one\n"[..]),
            ("22/stat", b"two\n\n= 1\n.\n/x:1\n"),
            ("22/cmdline", b"a\0b\xff\n"),
            ("a b/stat", b"blank\n"),
            ("x", b"ex\n"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        fs::create_dir(folder.path().join("fd")).unwrap();
        symlink("socket:[8812]", folder.path().join("fd/12")).unwrap();
        let asked = paths(
            folder.path(),
            &["*/stat", "22/stat", "22/cmdline", "x", "x", "none", "none/*", "fd/", "none/"],
        );
        for shell in ["sh", "bash"] {
            let mut there = SshFiles::open(here(shell)).unwrap();
            assert_eq!(there.read(&asked).unwrap(), LocalFiles.read(&asked).unwrap());
            assert_eq!(there.read(&asked[..1]).unwrap(), LocalFiles.read(&asked[..1]).unwrap());
            assert_eq!(there.read(&[]).unwrap(), Files::default());
        }
    }

    #[test]
    fn what_a_login_prints_is_passed_over() {
        let connect = || {
            let mut command = Command::new("sh");
            command.arg("-c").arg(format!("echo Welcome; echo = 1; {}", protocol::COMMAND));
            command
        };
        let mut there = SshFiles::open(Box::new(connect)).unwrap();
        let asked = ["/proc/version".to_owned()];
        assert_eq!(there.read(&asked).unwrap(), LocalFiles.read(&asked).unwrap());
    }

    #[test]
    fn who_cannot_connect_hears_the_words_of_ssh() {
        let words = |script: &'static str| {
            let connect = move || {
                let mut command = Command::new("sh");
                command.args(["-c", script]);
                command
            };
            SshFiles::open(Box::new(connect)).err().unwrap()
        };
        assert_eq!(words("echo No route; echo; printf 'to \\033[2Jhost' >&2; exit 255"), "to \\u{1b}[2Jhost");
        assert_eq!(words("exit 1"), "the connection was closed without a word");
        assert_eq!(words("yes | head -c 20000000"), "the connection was closed without a word");
        let none = SshFiles::open(Box::new(|| Command::new("/none/ssh"))).err().unwrap();
        assert!(none.contains("install an SSH client"), "{none}");
    }

    #[test]
    fn a_lost_connection_is_an_error_until_a_new_one_is_made_in_the_background() {
        let folder = tempfile::tempdir().unwrap();
        let cut = folder.path().join("cut");
        let refused = folder.path().join("refused");
        // Answers once, then ends as soon as there is a file; logs in only while there is none of the other.
        let (cut_path, refused_path) = (cut.clone(), refused.clone());
        let connect = move || {
            let mut command = Command::new("sh");
            let script = r#"[ -e "$1" ] && { echo "no route" >&2; exit 255; }
                echo "dnsdyno 1"
                while read -r line; do
                    case $line in
                        .) [ -e "$0" ] && { echo "cut off" >&2; exit 255; } ;;
                        *) echo "= $line" ;;
                    esac
                done"#;
            command.arg("-c").arg(script).arg(&cut_path).arg(&refused_path);
            command
        };
        let mut files = SshFiles::open(Box::new(connect)).unwrap();
        files.hurry();
        let mut read = || files.read(&[]).map_err(|ReadError(why)| why);
        assert_eq!(read(), Ok(Files::default()));
        fs::write(&refused, "").unwrap();
        fs::write(&cut, "").unwrap();
        let until = |read: &mut dyn FnMut() -> Result<Files, String>,
                     wanted: &dyn Fn(&Result<Files, String>) -> bool| {
            let deadline = Instant::now() + Duration::from_secs(30);
            loop {
                let began = Instant::now();
                let got = read();
                assert!(began.elapsed() < Duration::from_secs(12), "a reading blocks");
                if wanted(&got) {
                    return;
                }
                assert!(Instant::now() < deadline, "{got:?}");
                thread::sleep(Duration::from_millis(20));
            }
        };
        let says = |words: &'static str| {
            move |got: &Result<Files, String>| {
                got.as_ref().err().is_some_and(|why| *why == format!("the SSH connection is lost ({words})"))
            }
        };
        until(&mut read, &says("cut off"));
        until(&mut read, &says("no route"));
        fs::remove_file(&cut).unwrap();
        fs::remove_file(&refused).unwrap();
        until(&mut read, &Result::is_ok);
    }

    #[test]
    fn an_answer_that_is_late_delays_nothing_and_is_not_taken_for_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "new\n").unwrap();
        // The first answer comes when the file is asked for the second time, or never.
        let connect = || {
            let mut command = Command::new("sh");
            command.args(["-c", r#"echo "dnsdyno 1"; sleep 3; echo "/x:old"; echo "= 1"; cat > /dev/null"#]);
            command
        };
        let mut files = SshFiles::open(Box::new(connect)).unwrap();
        files.hurry();
        let asked = ["/x".to_owned()];
        assert!(files.read(&asked).is_err());
        let second = files.read(&asked);
        assert!(second.as_ref().map_or(true, |files| files.text("/x") != "old\n"), "{second:?}");
    }
}
