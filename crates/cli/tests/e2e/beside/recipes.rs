//! Every command line in the documents and in the help is accepted: its options exist, can be combined and have valid
//! values. Nothing is sent: each run is given a server that its last check refuses.

use std::fs;
use std::path::{Path, PathBuf};

use crate::beside::replay::smallest_capture;
use crate::support::Workplace;

#[test]
fn every_command_line_of_the_documents_is_valid() {
    let work = Workplace::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut recipes: Vec<(String, String)> = Vec::new();
    for path in documents(&root) {
        let text = fs::read_to_string(&path).unwrap();
        let lines = in_code_blocks(&text);
        recipes.extend(lines.map(|line| (path.display().to_string(), line)));
    }
    let from_documents = recipes.len();
    for help in ["run --help", "respond --help", "relay --help", "show --help"] {
        let text = work.dnsdyno(help).gives(0).stdout;
        let lines = text.lines().map(str::trim).filter(|line| line.starts_with("dnsdyno "));
        recipes.extend(lines.map(|line| (help.to_owned(), line.to_owned())));
    }
    assert!(from_documents >= 10 && recipes.len() >= from_documents + 10, "{} recipes", recipes.len());
    let wrong: Vec<String> = recipes
        .iter()
        .filter_map(|(origin, line)| Some(format!("{origin}: {}", fault(&work, line)?)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_documents_name_every_metric_of_an_expectation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = |name: &str| fs::read_to_string(root.join("docs").join(name)).unwrap();
    let (notation, numbers) = (page("expectations.md"), page("numbers.md"));
    for group in dnsdyno_plan::expect::METRICS {
        for name in group
            .names
            .split([' ', ',', '(', ')'])
            .filter(|name| !["", "any", "percentile", "RCODE", "or"].contains(name))
        {
            assert!(notation.contains(&format!("`{name}`")), "{name}");
            assert!(numbers.contains(&format!("`{name}`")), "docs/numbers.md: {name}");
        }
    }
    let rows = numbers.lines().filter(|line| line.starts_with("| ")).skip(1);
    let names: Vec<String> = rows
        .filter_map(|row| Some(row.trim_start_matches("| ").split(" | ").next()?.to_lowercase()))
        .collect();
    assert!(names.len() >= 50 && names.is_sorted(), "docs/numbers.md is in alphabetic order");
}

/// The documents of the project, but for those that are made from the help.
fn documents(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["README.md", "METHODOLOGY.md"].map(|name| root.join(name)).into();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("docs/commands") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// The command lines of `dnsdyno` in blocks of code, with their continuations.
fn in_code_blocks(text: &str) -> impl Iterator<Item = String> {
    let joined = text.replace("\\\n", " ");
    let mut is_code = false;
    let mut found = Vec::new();
    for line in joined.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            let line = line.trim_start_matches("$ ").trim();
            if line.starts_with("dnsdyno ") && !line.contains("...") {
                found.push(without_what_follows(line).to_owned());
            }
        }
    }
    found.into_iter()
}

/// A command line without its comment, and without what a shell does with it or after it.
fn without_what_follows(line: &str) -> &str {
    let ends = [" #", " &", ";", " | ", " > "].into_iter().filter_map(|mark| line.find(mark));
    &line[..ends.min().unwrap_or(line.len())]
}

/// What is wrong with a command line, if anything.
fn fault(work: &Workplace, line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let follows =
        |flag: &str| words.iter().position(|word| *word == flag).and_then(|at| words.get(at + 1)).copied();
    if let Some(plan) = follows("--plan") {
        let path = work.path(plan);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "server = \"127.0.0.1\"\nqueries = \"queries.txt\"\n").unwrap();
    }
    if let Some(servers) = follows("--servers") {
        fs::write(work.path(servers), "127.0.0.1\n").unwrap();
    }
    if let Some(capture) = follows("--replay") {
        fs::write(work.path(capture), smallest_capture()).unwrap();
    }
    // A server without an address of its family is refused last of all.
    let (line, code, words) = match (words[1], follows("-s")) {
        ("run", Some(server)) => {
            let line = line.replacen(&format!("-s {server}"), "-s 127.0.0.1", 1);
            (format!("{line} -f v6"), 2, "IPv6 address")
        }
        ("run", None) => (format!("{line} -f v6"), 2, "IPv6 address"),
        _ => (format!("{line} --help"), 0, ""),
    };
    // An IPv4 address of ours has no IPv6 address either. Jobs of CI have their folder in a variable.
    let ran = work.shell(&format!("HISTORY=past; {}", line.replacen("dnsdyno", "exec \"$0\"", 1)));
    let is_valid = ran.code() == Some(code) && ran.stderr.contains(words);
    (!is_valid).then(|| format!("{line}: {:?} {}", ran.code(), ran.stderr))
}
