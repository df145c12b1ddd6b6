//! Keepers that are killed, stopped or cut off: afterwards each value is as it was.

mod common;

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use common::{ByHand, Place, output_of, wait_until};
use dnsdyno_settings::{Item, Keeper, KeeperError, Restored, RestoredOutcome};
use serde_json::json;

fn outcomes(restored: &[Restored]) -> Vec<&RestoredOutcome> {
    restored.iter().map(|restored| &restored.outcome).collect()
}

/// A command as a line of the shell.
fn line_of(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(|word| format!("'{}' ", word.to_str().unwrap())).collect()
}

/// Makes a pipe with a name in the place of a file of the imagined kernel: whoever opens it waits for the other end, so
/// that a keeper can be held in the middle of a change.
fn make_pipe(path: &Path) {
    fs::remove_file(path).unwrap();
    output_of("mkfifo", &[path.to_str().unwrap()]);
}

#[test]
fn a_night_ends_with_each_value_as_it_was() {
    let place = Place::new();
    let (swappiness, config) = (place.kernel("swappiness", "60"), place.file("nsd.conf", "server:\n"));
    let mut keeper = Keeper::start(place.keeper()).unwrap();
    assert_eq!(keeper.left(), []);
    assert_eq!(keeper.read(&swappiness).unwrap().as_deref(), Some("60"));
    let written = keeper.write(&swappiness, "1").unwrap();
    assert_eq!((written.old.as_str(), written.became.as_str()), ("60", "1"));
    keeper.write(&config, "server:\n  server-count: 4\n").unwrap();
    assert_eq!(keeper.run("cat nsd.conf; exit 4", Duration::from_secs(60)).unwrap().status, Some(4));
    let restored = keeper.undo().unwrap();
    assert_eq!(outcomes(&restored), [&RestoredOutcome::Restored; 2]);
    assert_eq!(
        (place.value("swappiness"), place.read("nsd.conf")),
        ("60".to_owned(), "server:\n".to_owned())
    );
    // It goes on, and its end restores.
    keeper.write(&swappiness, "2").unwrap();
    assert_eq!(place.value("swappiness"), "2");
    let refused = keeper.write(&Item::File { path: place.path("none") }, "").unwrap_err();
    assert!(matches!(refused, KeeperError::Refused(_)), "{refused}");
    drop(keeper);
    assert_eq!((place.value("swappiness"), place.journals()), ("60".to_owned(), String::new()));
    assert_eq!(place.undo(), []);
}

#[test]
fn a_killed_keeper_is_followed_by_undo() {
    let place = Place::new();
    let (swappiness, config) =
        (place.kernel("swappiness", "60"), place.file("nsd.conf", "server: \u{e4}\r\n\n"));
    fs::set_permissions(place.path("nsd.conf"), std::os::unix::fs::PermissionsExt::from_mode(0o604)).unwrap();
    let before = fs::metadata(place.path("nsd.conf")).unwrap();
    let mut keeper = ByHand::start(place.keeper());
    keeper.written(&swappiness, "1");
    keeper.written(&config, "secret: 1");
    // While it lives, its changes are its own.
    assert_eq!(place.undo(), []);
    keeper.kill();
    assert_eq!((place.value("swappiness"), place.read("nsd.conf")), ("1".to_owned(), "secret: 1".to_owned()));
    // As if it had been killed while it replaced the file once more.
    place.write(".nsd.conf.dnsdyno-new", "half");
    assert_eq!(outcomes(&place.undo()), [&RestoredOutcome::Restored; 2]);
    assert_eq!(
        (place.value("swappiness"), place.read("nsd.conf")),
        ("60".to_owned(), "server: \u{e4}\r\n\n".to_owned())
    );
    let after = fs::metadata(place.path("nsd.conf")).unwrap();
    assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
    assert!(!place.path(".nsd.conf.dnsdyno-new").exists());
    assert_eq!((place.undo(), place.journals()), (vec![], String::new()));
}

#[test]
fn the_next_keeper_restores_first_what_a_killed_one_left_and_tells_it() {
    let place = Place::new();
    let swappiness = place.kernel("swappiness", "60");
    let mut killed = ByHand::start(place.keeper());
    killed.written(&swappiness, "1");
    killed.kill();
    let keeper = Keeper::start(place.keeper()).unwrap();
    assert_eq!(place.value("swappiness"), "60");
    assert_eq!(keeper.left()[0].to_string(), "vm.swappiness has its old value again");
}

#[test]
fn a_keeper_may_be_killed_before_and_after_each_write() {
    // What the keeper reads is given to it, and what it writes is taken, by processes that start no others: those would
    // have the open pipe for a moment, too.
    let shell = |line: &str, place: &Place| {
        output_of("/bin/sh", &["-c", &format!("{line} '{}'", place.path("proc/sys/vm/swappiness").display())])
    };
    let give = |value: &str, place: &Place| shell(&format!("echo {value} >"), place);
    let take = |place: &Place| output_of("cat", &[place.path("proc/sys/vm/swappiness").to_str().unwrap()]);
    let announced = |place: &Place, lines: usize| {
        wait_until("a line in the journal", || place.journals().matches('\n').count() >= lines);
    };
    // Where the keeper is held when it is killed, and what the value is then.
    let phases = [("announced", "60"), ("written", "1"), ("restoring", "1"), ("restored", "60")];
    for (number, (phase, is)) in phases.into_iter().enumerate() {
        let place = Place::new();
        let swappiness = place.kernel("swappiness", "60");
        make_pipe(&place.path("proc/sys/vm/swappiness"));
        let mut keeper = ByHand::start(place.keeper());
        keeper.write(&swappiness, "1");
        give("60", &place);
        announced(&place, 2);
        if number >= 1 {
            assert_eq!(take(&place), "1\n");
        }
        if number >= 2 {
            give("1", &place);
            assert!(keeper.answer()["written"].is_object());
            keeper.child.stdin.take();
            give("1", &place);
            announced(&place, 4);
        }
        if number >= 3 {
            assert_eq!(take(&place), "60\n");
        }
        keeper.kill();
        fs::remove_file(place.path("proc/sys/vm/swappiness")).unwrap();
        place.kernel("swappiness", is);
        let outcome = if is == "60" { RestoredOutcome::WasAlready } else { RestoredOutcome::Restored };
        assert_eq!(outcomes(&place.undo()), [&outcome], "{phase}");
        assert_eq!(
            (place.value("swappiness"), place.journals()),
            ("60".to_owned(), String::new()),
            "{phase}"
        );
    }
}

#[test]
fn a_keeper_may_be_killed_at_any_instant() {
    let place = Place::new();
    let old = "# the old one\n".repeat(1_000);
    let config = place.file("nsd.conf", &old);
    for round in 0..40_u64 {
        let mut keeper = ByHand::start(place.keeper());
        for value in 0..30 {
            keeper.write(&config, &format!("# a new one: {value}\n"));
        }
        // Of later rounds some are killed while they restore.
        if round % 2 == 1 {
            keeper.child.stdin.take();
        }
        let until = Instant::now() + Duration::from_micros(round * 1_500);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        keeper.kill();
        assert!(place.undo().iter().all(Restored::is_settled));
        assert_eq!(place.read("nsd.conf"), old);
        assert_eq!(place.journals(), "");
        assert!(!place.path(".nsd.conf.dnsdyno-new").exists());
    }
}

#[test]
fn a_client_that_dies_is_the_end_of_its_keeper() {
    let place = Place::new();
    let swappiness = place.kernel("swappiness", "60");
    let request = json!({"write": {"item": swappiness, "value": "1"}});
    // The client is a process that asks for this and then waits; the keeper is at the other end of its pipe.
    let pid_file = place.path("client");
    let client =
        format!("{{ echo '{request}'; exec sleep 1000; }} & echo $! > '{}'; wait", pid_file.display());
    let keeper = place.keeper();
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(format!("{{ {client}; }} | {}", line_of(&keeper)));
    let mut shell = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the value is changed", || place.value("swappiness") == "1");
    common::signal("-KILL", &place.read("client"));
    shell.wait().unwrap();
    assert_eq!((place.value("swappiness"), place.journals()), ("60".to_owned(), String::new()));
}

#[test]
fn a_link_that_is_cut_without_a_word_is_noticed_by_the_silence() {
    let place = Place::new();
    let swappiness = place.kernel("swappiness", "60");
    let keeper = place.keeper_with("1500", &place.path(""));
    // Two programs carry the bytes, as the two ends of an `ssh` do. What the shell of the host says comes first.
    let mut link = Command::new("/bin/sh");
    link.arg("-c").arg(format!("echo Welcome; cat | {} | cat", line_of(&keeper)));
    let mut client = Keeper::start(link).unwrap();
    client.write(&swappiness, "1").unwrap();
    // Nothing is said for longer than this keeper waits.
    wait_until("the value is restored", || place.value("swappiness") == "60");
    let lost = (0..3).find_map(|_| client.read(&swappiness).err()).unwrap();
    assert!(matches!(lost, KeeperError::Lost { .. }), "{lost}");
    assert!(matches!(client.undo(), Err(KeeperError::Lost { .. })));
}

#[test]
fn signals_end_a_keeper_and_it_restores() {
    for signal in ["-TERM", "-HUP", "-INT"] {
        let place = Place::new();
        let swappiness = place.kernel("swappiness", "60");
        let mut keeper = ByHand::start(place.keeper());
        keeper.written(&swappiness, "1");
        common::signal(signal, &keeper.child.id().to_string());
        assert!(keeper.child.wait().unwrap().success());
        assert_eq!(
            (place.value("swappiness"), place.journals()),
            ("60".to_owned(), String::new()),
            "{signal}"
        );
    }
}

#[test]
fn a_keeper_that_is_ended_says_why_to_its_client() {
    let place = Place::new();
    let swappiness = place.kernel("swappiness", "60");
    let mut keeper = Keeper::start(place.keeper()).unwrap();
    keeper.write(&swappiness, "1").unwrap();
    let end = keeper.run("kill -TERM $PPID; sleep 1000", Duration::from_secs(600));
    let words = end.map(|end| end.status).unwrap_err().to_string();
    assert!(words.contains("vm.swappiness has its old value again"), "{words}");
    assert_eq!(place.value("swappiness"), "60");
}

#[test]
fn what_is_no_keeper_is_told_with_its_words() {
    let start = |line: &str| {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line);
        Keeper::start(command).unwrap_err().to_string()
    };
    let text = start("echo Permission denied >&2; exit 255");
    assert!(text.starts_with("no keeper answered: Permission denied; this must work without"), "{text}");
    let text = start("echo '{\"greeting\":{\"protocol\":999,\"restored\":[]}}'; cat");
    assert!(text.contains("version 999"), "{text}");
    let missing = Keeper::start(Command::new("/no/such/program")).unwrap_err();
    assert!(matches!(missing, KeeperError::Start { source, .. } if source.kind() == io::ErrorKind::NotFound));
    let place = Place::new();
    let text = Keeper::start(place.keeper_in("no-such-namespace-of-dnsdyno")).unwrap_err().to_string();
    assert!(text.contains("cannot enter the network namespace"), "{text}");
}

#[test]
fn two_keepers_do_not_change_the_same_value() {
    let place = Place::new();
    let (swappiness, config) = (place.kernel("swappiness", "60"), place.file("nsd.conf", "old"));
    let mut first = Keeper::start(place.keeper()).unwrap();
    let mut second = Keeper::start(place.keeper()).unwrap();
    first.write(&swappiness, "1").unwrap();
    let refused = second.write(&swappiness, "2").unwrap_err().to_string();
    assert!(refused.contains("another dnsdyno has changed it"), "{refused}");
    second.write(&config, "new").unwrap();
    drop(first);
    second.write(&swappiness, "2").unwrap();
    drop(second);
    assert_eq!((place.value("swappiness"), place.read("nsd.conf")), ("60".to_owned(), "old".to_owned()));
}

#[test]
fn a_journal_that_cannot_be_read_stays_and_is_told() {
    let place = Place::new();
    fs::create_dir_all(place.path("state/changes")).unwrap();
    place.write("state/changes/1-0.ndjson", "hello\nworld\n");
    for _ in 0..2 {
        let restored = place.undo();
        assert!(!restored[0].is_settled());
        assert!(restored[0].to_string().contains("line 1 is not one of a journal"), "{}", restored[0]);
    }
    assert_eq!(place.journals(), "hello\nworld\n");
}

#[test]
fn a_file_behind_a_symbolic_link_is_changed_and_the_link_stays() {
    let place = Place::new();
    place.write("real.conf", "old");
    std::os::unix::fs::symlink("real.conf", place.path("link.conf")).unwrap();
    let mut keeper = ByHand::start(place.keeper());
    keeper.written(&Item::File { path: place.path("link.conf") }, "new");
    assert_eq!(place.read("real.conf"), "new");
    keeper.kill();
    // The link leads elsewhere meanwhile: the file that was changed is restored.
    place.write("other.conf", "other");
    fs::remove_file(place.path("link.conf")).unwrap();
    std::os::unix::fs::symlink("other.conf", place.path("link.conf")).unwrap();
    assert_eq!(outcomes(&place.undo()), [&RestoredOutcome::Restored]);
    assert_eq!((place.read("real.conf"), place.read("link.conf")), ("old".to_owned(), "other".to_owned()));
}

#[test]
fn a_server_that_was_restarted_lives_on_after_its_keeper() {
    let place = Place::new();
    let mut keeper = Keeper::start(place.keeper()).unwrap();
    let end =
        keeper.run("(while :; do echo tick; sleep 0.02; done) & echo $!", Duration::from_secs(60)).unwrap();
    let server = end.printed.lines().find(|line| line.parse::<u32>().is_ok()).unwrap().to_owned();
    drop(keeper);
    thread::sleep(Duration::from_millis(200));
    // It prints all the time, and was not ended by that.
    let mut state = String::new();
    fs::File::open(format!("/proc/{server}/stat")).unwrap().read_to_string(&mut state).unwrap();
    assert!(!state.contains(") Z "), "{state}");
    common::signal("-KILL", &server);
}
