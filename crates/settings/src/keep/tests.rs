//! A keeper within this process, between two pipes.

use std::fs;
use std::io::PipeWriter;
use std::path::Path;
use std::thread::JoinHandle;

use tempfile::TempDir;

use super::*;

/// A keeper, and a client that is only its pipes.
struct Pair {
    folder: TempDir,
    requests: PipeWriter,
    answers: BufReader<io::PipeReader>,
    keeper: JoinHandle<Kept>,
}

impl Pair {
    fn new(silence: Duration) -> Pair {
        Pair::with(silence, |_| None)
    }

    fn with(silence: Duration, restart: impl FnOnce(&Path) -> Option<String>) -> Pair {
        let folder = TempDir::new().unwrap();
        let sysctl = folder.path().join("proc/sys/vm");
        fs::create_dir_all(&sysctl).unwrap();
        fs::write(sysctl.join("swappiness"), "60\n").unwrap();
        let (input, requests) = io::pipe().unwrap();
        let (answers, output) = io::pipe().unwrap();
        let options = KeeperOptions {
            root: folder.path().to_owned(),
            silence,
            restart: restart(folder.path()),
            ..KeeperOptions::new(folder.path().join("state"))
        };
        let keeper = thread::spawn(move || {
            let (sender, events) = channel();
            read_requests(input, sender).unwrap();
            keep_for(options, events, output).unwrap()
        });
        let mut pair = Pair { folder, requests, answers: BufReader::new(answers), keeper };
        assert!(
            matches!(pair.answer(), Answer::Greeting { protocol: PROTOCOL, restored } if restored.is_empty())
        );
        pair
    }

    fn ask(&mut self, request: &Request) {
        let mut line = serde_json::to_vec(request).unwrap();
        line.push(b'\n');
        self.requests.write_all(&line).unwrap();
    }

    fn answer(&mut self) -> Answer {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn change(&mut self) {
        self.ask(&Request::Write { item: swappiness(), value: "1".to_owned() });
        assert!(matches!(self.answer(), Answer::Written(written) if written.old == "60"));
        assert_eq!(self.value(), "1\n");
    }

    fn value(&self) -> String {
        fs::read_to_string(self.folder.path().join("proc/sys/vm/swappiness")).unwrap()
    }
}

fn swappiness() -> Item {
    Item::Kernel { path: "/proc/sys/vm/swappiness".into() }
}

const LONG: Duration = Duration::from_secs(600);

#[test]
fn the_end_of_the_input_restores() {
    let mut pair = Pair::new(LONG);
    pair.change();
    let Pair { folder, requests, keeper, .. } = pair;
    drop(requests);
    let restored = keeper.join().unwrap().restored;
    assert_eq!(restored, [Restored { item: swappiness(), outcome: RestoredOutcome::Restored }]);
    assert_eq!(fs::read_to_string(folder.path().join("proc/sys/vm/swappiness")).unwrap(), "60\n");
    assert_eq!(fs::read_dir(folder.path().join("state/changes")).unwrap().count(), 0);
}

#[test]
fn silence_restores_although_nothing_was_closed() {
    let mut pair = Pair::new(Duration::from_millis(1_000));
    pair.change();
    // Signs of life keep it.
    for _ in 0..10 {
        thread::sleep(Duration::from_millis(150));
        pair.ask(&Request::Alive);
    }
    assert_eq!(pair.value(), "1\n");
    while !pair.keeper.is_finished() {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(pair.value(), "60\n");
}

#[test]
fn a_client_that_reads_no_answers_does_not_hold_it_up() {
    let mut pair = Pair::new(LONG);
    let file = pair.folder.path().join("large.conf");
    fs::write(&file, "# comment\n".repeat(50_000)).unwrap();
    pair.change();
    for _ in 0..3 {
        pair.ask(&Request::Read { item: Item::File { path: file.clone() } });
    }
    let Pair { folder, requests, keeper, answers } = pair;
    drop(requests);
    assert_eq!(keeper.join().unwrap().restored.len(), 1);
    assert_eq!(fs::read_to_string(folder.path().join("proc/sys/vm/swappiness")).unwrap(), "60\n");
    drop(answers);
}

#[test]
fn a_text_that_is_no_request_ends_it() {
    for text in ["hello\n", "\"alive", "{\"write\":{}}\n"] {
        let mut pair = Pair::new(LONG);
        pair.change();
        pair.requests.write_all(text.as_bytes()).unwrap();
        let Pair { folder, requests, keeper, .. } = pair;
        drop(requests);
        assert_eq!(keeper.join().unwrap().restored.len(), 1);
        assert_eq!(fs::read_to_string(folder.path().join("proc/sys/vm/swappiness")).unwrap(), "60\n");
    }
}

#[test]
fn it_says_why_it_does_not_do_something_without_the_content_of_files() {
    let mut pair = Pair::new(LONG);
    let file = pair.folder.path().join("a.conf");
    fs::write(&file, "key: s3cret").unwrap();
    fs::hard_link(&file, pair.folder.path().join("b.conf")).unwrap();
    let refused = [
        (Item::File { path: file }, "hard link"),
        (Item::File { path: "/none/a.conf".into() }, "cannot be read"),
        (Item::Kernel { path: "/proc/sys/vm/none".into() }, "does not have it"),
        (Item::Kernel { path: "/etc/passwd".into() }, "below /proc/sys"),
    ];
    for (item, why) in refused {
        pair.ask(&Request::Write { item, value: "key: 0ther".to_owned() });
        match pair.answer() {
            Answer::Refused(text) => {
                assert!(text.contains(why) && !text.contains("s3cret") && !text.contains("0ther"), "{text}");
            }
            _ => panic!("{why}"),
        }
    }
    pair.ask(&Request::Read { item: Item::Kernel { path: "/proc/sys/vm/none".into() } });
    assert!(matches!(pair.answer(), Answer::Value(None)));
}

#[test]
fn a_command_of_a_client_that_is_gone_is_ended() {
    let mut pair = Pair::new(LONG);
    pair.change();
    pair.ask(&Request::Run { command: "echo $((6 * 7)); exit 3".to_owned(), within_ms: 60_000 });
    assert!(matches!(pair.answer(), Answer::Ended(end) if end.status == Some(3) && end.printed == "42\n"));
    pair.ask(&Request::Run { command: "sleep 1000".to_owned(), within_ms: 1_000_000 });
    let Pair { requests, keeper, .. } = pair;
    drop(requests);
    assert_eq!(keeper.join().unwrap().restored.len(), 1);
}

#[test]
fn a_server_that_its_client_did_not_start_again_is_started_by_the_keeper() {
    #[derive(Clone, Copy)]
    enum Step {
        Kernel,
        Write,
        Restart,
        CutOff,
        Undo,
    }
    use Step::{CutOff, Kernel, Restart, Undo, Write};
    // What the client asks for before it is gone, and with which configuration the server was started.
    let cases: [(&[Step], &str); 6] = [
        (&[Kernel], ""),
        (&[Kernel, CutOff], "old\n"),
        (&[Write], "old\n"),
        (&[Write, Restart], "new\nold\n"),
        (&[Write, Restart, Undo], "new\nold\n"),
        (&[Write, Restart, Undo, Restart], "new\nold\n"),
    ];
    for (steps, started) in cases {
        let restart =
            |folder: &Path| format!("echo . >&2; cd {}; sleep 0.1; cat conf >> started", folder.display());
        let mut pair = Pair::with(LONG, |folder| Some(restart(folder)));
        let command = restart(pair.folder.path());
        let path = pair.folder.path().join("conf");
        fs::write(&path, "old\n").unwrap();
        for step in steps {
            let run = |within_ms| Request::Run { command: command.clone(), within_ms };
            match step {
                Kernel => pair.change(),
                Write => pair.ask(&Request::Write {
                    item: Item::File { path: path.clone() },
                    value: "new\n".to_owned(),
                }),
                Restart => pair.ask(&run(60_000)),
                CutOff => pair.ask(&run(0)),
                Undo => pair.ask(&Request::Undo),
            }
            let answer = if matches!(step, Kernel) { None } else { Some(pair.answer()) };
            assert!(!matches!(answer, Some(Answer::Refused(_))));
        }
        let Pair { folder, requests, keeper, .. } = pair;
        drop(requests);
        assert_eq!(keeper.join().unwrap().not_started, None);
        assert_eq!(fs::read_to_string(folder.path().join("started")).unwrap_or_default(), started);
    }
    let pair = Pair::with(LONG, |_| Some("echo no; exit 3".to_owned()));
    let path = pair.folder.path().join("conf");
    fs::write(&path, "old\n").unwrap();
    let mut pair = pair;
    pair.ask(&Request::Write { item: Item::File { path }, value: "new\n".to_owned() });
    pair.answer();
    drop(pair.requests);
    assert_eq!(pair.keeper.join().unwrap().not_started.unwrap(), "`echo no; exit 3` failed: no");
}

#[test]
fn without_a_journal_the_client_is_told_so() {
    let mut pair = Pair::new(LONG);
    // A file where the folder of the journals would be.
    fs::create_dir_all(pair.folder.path().join("state")).unwrap();
    fs::write(changes_folder(&pair.folder.path().join("state")), "").unwrap();
    pair.ask(&Request::Write { item: swappiness(), value: "1".to_owned() });
    assert!(matches!(pair.answer(), Answer::NoJournal(why) if why.contains("the journal cannot be written")));
    assert_eq!(pair.value(), "60\n");
    pair.ask(&Request::Write {
        item: Item::Kernel { path: "/proc/sys/vm/none".into() },
        value: "1".to_owned(),
    });
    assert!(matches!(pair.answer(), Answer::Refused(_)));
}
