//! Keepers as processes of their own, with a folder for each test.
#![allow(dead_code)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use dnsdyno_settings::{Item, Restored, undo_left};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The folder of a test: the state of keepers in `state`, files of an imagined kernel in `proc` and `sys`, and files of
/// configuration.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        let folder = TempDir::new().unwrap();
        fs::create_dir_all(folder.path().join("proc/sys/vm")).unwrap();
        Place { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A keeper for this imagined kernel.
    pub(crate) fn keeper(&self) -> Command {
        self.keeper_with("600000", self.folder.path())
    }

    /// A keeper for the real kernel, in a namespace.
    pub(crate) fn keeper_in(&self, namespace: &str) -> Command {
        let mut command = self.keeper_with("600000", Path::new("/"));
        command.arg(namespace);
        command
    }

    pub(crate) fn keeper_with(&self, silence_ms: &str, root: &Path) -> Command {
        let mut command = Command::new(program());
        command.arg(self.path("state")).arg(silence_ms).arg(root);
        command
    }

    /// Makes a file of the imagined kernel.
    pub(crate) fn kernel(&self, name: &str, value: &str) -> Item {
        self.write(&format!("proc/sys/vm/{name}"), &format!("{value}\n"));
        Item::Kernel { path: format!("/proc/sys/vm/{name}").into() }
    }

    pub(crate) fn value(&self, name: &str) -> String {
        self.read(&format!("proc/sys/vm/{name}")).trim_end().to_owned()
    }

    /// Makes a file of configuration.
    pub(crate) fn file(&self, name: &str, content: &str) -> Item {
        self.write(name, content);
        Item::File { path: self.path(name) }
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// What `dnsdyno tune --undo` does.
    pub(crate) fn undo(&self) -> Vec<Restored> {
        undo_left(&self.path("state")).unwrap()
    }

    /// The journals, as one text.
    pub(crate) fn journals(&self) -> String {
        let entries = fs::read_dir(self.path("state/changes")).into_iter().flatten();
        entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
    }
}

/// A keeper whose client is this test by hand, so that either may end at any moment.
pub(crate) struct ByHand {
    pub(crate) child: Child,
    answers: BufReader<ChildStdout>,
}

impl ByHand {
    pub(crate) fn start(mut command: Command) -> ByHand {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut by_hand = ByHand { answers: BufReader::new(child.stdout.take().unwrap()), child };
        assert!(by_hand.answer()["greeting"].is_object());
        by_hand
    }

    fn ask(&mut self, request: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{request}").unwrap();
    }

    pub(crate) fn write(&mut self, item: &Item, value: &str) {
        self.ask(&json!({"write": {"item": item, "value": value}}));
    }

    pub(crate) fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    pub(crate) fn written(&mut self, item: &Item, value: &str) {
        self.write(item, value);
        let answer = self.answer();
        assert!(answer["written"].is_object(), "{answer}");
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// The keeper of the examples, which cargo builds with the tests.
pub(crate) fn program() -> PathBuf {
    let test = env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/keeper");
    assert!(program.is_file(), "{} is missing; run: cargo build --example keeper", program.display());
    program
}

/// Waits until something holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "not within a minute: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// A command, whose output is given.
pub(crate) fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Sends a signal, such as `-KILL`.
pub(crate) fn signal(signal: &str, pid: &str) {
    output_of("/bin/sh", &["-c", &format!("kill {signal} {}", pid.trim())]);
}
