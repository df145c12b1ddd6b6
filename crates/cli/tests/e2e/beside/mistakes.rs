//! What a stranger types wrongly: each mistake with the exact words of the answer and the exit code.
//!
//! They are in `mistakes.txt`: what is typed, as in a shell, the start of a line of the answer on standard error, and
//! the exit code. `{here}` is the working folder with the files of [`FILES`], `{server}` a responder that answers.

use crate::support::{Workplace, responder};

/// The files in the working folder.
const FILES: &[(&str, &[u8])] = &[
    ("q.txt", b"www.example A\n"),
    ("empty.txt", b""),
    ("comments.txt", b"; only a comment\n"),
    ("zone.txt", b"www.example. 3600 IN A 192.0.2.1\nmail IN A 192.0.2.2\n"),
    ("origin.txt", b"$ORIGIN example.\nwww A\n"),
    ("q.gz", b"\x1f\x8b\x08\0"),
    ("utf16.txt", b"\xff\xfew\0w\0"),
    ("c.pcap", b"\xd4\xc3\xb2\xa1\x02\0"),
    ("bin", b"a\0b"),
    ("most.txt", b"www.example A\nbad\nworse\n"),
    ("tranco.csv", b"1,google.com\n2,b.com\n"),
    ("latin1.txt", b"b\xfccher A\n"),
    ("unknown.toml", b"rate = 5\nretries = 3\n"),
    ("syntax.toml", b"rate = \n"),
    ("type.toml", b"rate = true\n"),
    ("exp.toml", b"server = \"127.0.0.1\"\nqueries = \"q.txt\"\nexpect = [\"p99\"]\n"),
    ("ca.txt", b"not PEM"),
    ("file", b""),
    ("full/run.ndjson", b"{}"),
    ("folder/file", b""),
];

#[test]
fn every_mistake_is_answered_with_its_words_and_its_exit_code() {
    let work = Workplace::new();
    for (name, content) in FILES {
        if let Some((folder, _)) = name.split_once('/') {
            std::fs::create_dir_all(work.path(folder)).unwrap();
        }
        work.write(name, content);
    }
    let server = responder(Default::default());
    let here = work.path("").canonicalize().unwrap().display().to_string();
    let mut wrong = Vec::new();
    let mistakes: Vec<_> = include_str!("mistakes.txt").split("\n\n").filter_map(mistake).collect();
    assert!(mistakes.len() >= 60, "{} mistakes", mistakes.len());
    for (typed, words, code) in &mistakes {
        let line = typed.replace("{server}", &server.address().to_string());
        let script = line.replacen("dnsdyno", "exec \"$0\"", 1);
        let ran = work.shell(&script);
        let words = words.replace("{here}", &here);
        let is_answered = ran.stderr.lines().any(|said| said.starts_with(&words));
        if ran.code() != Some(*code) || !is_answered {
            wrong.push(format!("{typed}\n  expected {code}: {words}\n  is {:?}: {}", ran.code(), ran.stderr));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), mistakes.len(), wrong.join("\n"));
}

/// What is typed, the words and the exit code; `None` for the title of a group.
fn mistake(block: &str) -> Option<(&str, &str, i32)> {
    let mut lines = block.trim().lines();
    let typed = lines.next()?.strip_prefix("$ ")?;
    Some((typed, lines.next().unwrap(), lines.next().unwrap().parse().unwrap()))
}
