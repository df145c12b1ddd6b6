//! `docs/first-hour.md`: its commands are typed into one shell, as they stand there and in their order. Each block ends
//! with exit code 0, and prints the lines that stand below it; of each line its label is compared, and no figure.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_lab::{Need, require};

use crate::support::{DNSDYNO, Started, Workplace, check_record, has_program, may_unshare};

/// A block of commands, with what stands below it.
struct Block {
    commands: String,
    prints: String,
}

#[test]
fn every_command_of_the_first_hour_runs_and_prints_what_the_page_shows() {
    let needs = [Need::Root, Need::Server("nsd")];
    if !require(&needs) || !has_program("tcpdump") || !may_unshare("--net") {
        return;
    }
    let work = Workplace::new();
    let folder = Path::new(DNSDYNO).parent().unwrap().display();
    // The ports of the page are free in a network namespace of its own; its user is root already.
    let mut shell = work.start_typing_apart("--net");
    shell.press(&format!("ip link set lo up; sudo() {{ \"$@\"; }}; PATH={folder}:$PATH\n"));
    let blocks = blocks();
    assert!(blocks.len() >= 25, "{} blocks", blocks.len());
    for (number, block) in blocks.iter().enumerate() {
        type_in(&work, &mut shell, number, block);
    }
    shell.wait_within(WHOLE).gives(0);
    let made = fs::read_dir(work.path("first-hour")).unwrap().map(|entry| entry.unwrap().path());
    let records: Vec<_> = made.filter(|path| path.join("run.ndjson").is_file()).collect();
    assert!(records.len() >= 10, "{records:?}");
    for record in &records {
        check_record(record);
    }
}

/// Types a block, and waits until it has ended and has printed its lines: a server in the background prints them when
/// it is ready.
fn type_in(work: &Workplace, shell: &mut Started, number: usize, block: &Block) {
    let [output, code] = ["output", "code"].map(|kind| work.path(&format!("{number}.{kind}")));
    let Block { commands, prints } = block;
    shell.press(&format!(
        "{{\n{commands}}} < /dev/null > {} 2>&1\necho $? > {}\n",
        output.display(),
        code.display()
    ));
    let since = Instant::now();
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    loop {
        // The code is written last.
        let code = read(&code);
        let printed = read(&output);
        // On a busy host a run may be in doubt, and then says something else than what the server did.
        let is_in_doubt = ["in doubt", "undecided", "Undecided"].iter().any(|word| printed.contains(word));
        let lacking = lacking(prints, &printed).filter(|_| !is_in_doubt);
        let has_ended = code.ends_with('\n');
        if has_ended && lacking.is_none() {
            assert_eq!(code, "0\n", "{commands}{printed}");
            return;
        }
        // What runs in the background may print later; of anything else all is there.
        let is_late = since.elapsed() > BOUND || (has_ended && !commands.contains(" &\n"));
        assert!(!is_late, "{commands}exit code {code:?}, without the line {lacking:?} in\n{printed}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The first line of a page that is not among those that were printed, in their order.
fn lacking<'a>(shown: &'a str, printed: &str) -> Option<&'a str> {
    let mut printed = printed.lines().map(label);
    shown.lines().filter(|line| line.trim() != "...").find(|line| {
        let expected = label(line);
        !expected.is_empty() && !printed.any(|line| line == expected)
    })
}

/// The label of a line: what stands before its first figure, colon or gap. Empty for a line that begins with a figure.
/// Of a log of a server it is the message.
fn label(line: &str) -> String {
    let line = line.split_once("notice: ").map_or(line, |(_, message)| message).trim();
    let label = line.split("  ").next().unwrap_or_default();
    let label = label.split_inclusive(':').next().unwrap_or_default();
    let has_digit = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
    label.split(' ').take_while(|word| !has_digit(word)).collect::<Vec<_>>().join(" ")
}

/// The blocks of commands (`sh`), each with the block of output (`text`) that follows it.
fn blocks() -> Vec<Block> {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/first-hour.md")).unwrap();
    let mut found: Vec<Block> = Vec::new();
    let mut parts = page.split("```");
    // Every second part is a block: its language, and its lines.
    while let (Some(_), Some(block)) = (parts.next(), parts.next()) {
        match block.split_once('\n').unwrap() {
            ("sh", commands) => found.push(Block { commands: commands.to_owned(), prints: String::new() }),
            ("text", lines) => found.last_mut().unwrap().prints = lines.to_owned(),
            (language, _) => panic!("a block of {language:?}"),
        }
    }
    found
}

#[test]
fn lines_are_compared_by_their_labels() {
    assert_eq!(label("  answered  24,000  4,800/s  96 %"), "answered");
    assert_eq!(label("generator: ok (the busiest worker used 12 % of a CPU)"), "generator:");
    assert_eq!(label("       0    5,000       5,000   0 %  35.1 µs  4.91 ms"), "");
    assert_eq!(label("[2026-11-27 05:12:12.5] nsd[9]: notice: nsd started (NSD 4.6.1)"), "nsd started (NSD");
    let printed = "server     127.0.0.1:5300 over udp\n  sent  10\n  answered  9\n";
    assert_eq!(lacking("server     192.0.2.1 over udp\n...\n  answered  7\n", printed), None);
    assert_eq!(lacking("  answered  9\n  sent  10\n", printed), Some("  sent  10"), "another order");
    assert_eq!(lacking("  timed out  9\n", printed), Some("  timed out  9"));
}

/// How long a block may take: some seconds, a search or an experiment half a minute, on a busy host more.
const BOUND: Duration = Duration::from_secs(240);

/// The same of the whole page.
const WHOLE: Duration = Duration::from_secs(1800);
